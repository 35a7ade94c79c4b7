// The form in which posts are written: now, or for a time.

const CHARACTERS_MAX = 500;
const BYTES_MAX = 4096;
// a minute, and the seconds that the field leaves out
const AHEAD_MS_MIN = 120_000;

/** What is wrong with the length of a text, or how much room is left. */
function room(text) {
  const { characters, bytes } = lengthOf(text);
  const left = CHARACTERS_MAX - characters;
  if (left < 0) return { left, problem: `${counted(-left, "character", "characters")} too many.` };
  if (bytes > BYTES_MAX) return { left, problem: `The text has ${bytes} bytes. At most ${BYTES_MAX} are allowed.` };
  return { left, problem: "" };
}

/** The field for a text, with its counter. */
function TextField({ label, value, change, rows = 2, placeholder = "", isBusy }) {
  const { left, problem } = room(value);
  const [id] = useState(() => `text-${randomText(6)}`);
  const onKeyDown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form.requestSubmit();
  };
  return html`
    <div class="text-field">
      <label class="visually-hidden" for=${id}>${label}</label>
      <div class="growing" data-value="${value} ">
        <textarea id=${id} rows=${rows} placeholder=${placeholder} aria-describedby="${id}-room" dir="auto"
          aria-invalid=${problem ? "true" : "false"} readonly=${isBusy} value=${value} onKeyDown=${onKeyDown}
          onInput=${(event) => change(event.currentTarget.value)}></textarea>
      </div>
      <p class="room ${left < 50 ? "room-low" : ""} ${problem ? "room-none" : ""}" id="${id}-room">
        <span data-counter class=${left < 0 ? "visually-hidden" : ""}>${left}</span><span class="visually-hidden"> characters left.</span> ${problem}
      </p>
    </div>
  `;
}

/** Whether a text can be sent. */
const isSendable = (text) => text.trim() !== "" && room(text).problem === "";

/** Says why a text cannot be sent. */
function refuseUnsendable(text) {
  if (!isSendable(text)) throw new Refused(room(text).problem || "Write something first.");
}

/** A dialog in which a text is changed. `form` is the state of `useSubmit`, and `children` are further fields. */
function TextDialog({ title, text, change, form: { submit, isBusy, error }, close, children }) {
  return html`
    <${Dialog} title=${title} close=${close}>
      <form onSubmit=${submit}>
        <${TextField} label="Text" value=${text} change=${change} rows=${4} isBusy=${isBusy} />
        ${children}
        <${Problem} error=${error} />
        <div class="buttons">
          <button type="button" class="button" onClick=${close}>Close</button>
          <button class="button button-main" aria-disabled=${isBusy || !isSendable(text) ? "true" : "false"}>Save</button>
        </div>
      </form>
    <//>
  `;
}

/** A field for a time, in the zone of the reader. */
function TimeField({ value, change }) {
  return html`<${Field} label="Publish at" type="datetime-local" value=${value} change=${change} required
    min=${localTime(Date.now() + AHEAD_MS_MIN)} hint="In your time zone, at least a minute ahead." />`;
}

/** A time that a user has chosen, in UTC. When clocks go forward, an hour is missing. */
function chosenTime(at) {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) throw new Refused("Choose a day and a time.");
  if (localTime(time) !== at) throw new Refused("This time does not exist in your time zone: the clocks go forward.");
  return time.toISOString();
}

const DRAFT = "fanfold.draft";

/** The text that is being written, the time for it, and the key of its request. */
const emptyDraft = { text: "", at: null, key: null };

function Composer({ posted }) {
  const [{ text, at, key }, setDraft] = useState(() => kept("sessionStorage", DRAFT) ?? emptyDraft);
  const change = (next) => {
    keep("sessionStorage", DRAFT, next);
    setDraft(next);
  };
  async function send() {
    refuseUnsendable(text);
    const body = at === null ? { text } : { text, publish_at: chosenTime(at) };
    // the same key as long as the same post is tried, also after a reload: it is published once
    const used = key ?? randomText(16);
    change({ text, at, key: used });
    return call("POST", "/v1/posts", { body, key: used });
  }
  const { submit, isBusy, error } = useSubmit(send, (made) => {
    change(emptyDraft);
    if (at === null) {
      remembered([made]);
      ownPost.set(made.id);
      forgetLists("posts:");
      posted(made.id);
      announce("Posted");
    } else {
      forgetLists("scheduled");
      announce(`Scheduled for ${moment(made.publish_at)}`);
    }
  });
  const schedule = () => change({ text, at: at === null ? localTime(Date.now() + 3_600_000) : null, key: null });
  return html`
    <form class="composer" onSubmit=${submit} aria-label="New post">
      <${TextField} label="Your post" value=${text} change=${(next) => change({ text: next, at, key: null })} placeholder="What is going on?" isBusy=${isBusy} />
      ${at !== null && html`<${TimeField} value=${at} change=${(next) => change({ text, at: next, key: null })} />`}
      <${Problem} error=${error} />
      <div class="buttons">
        <button type="button" class="button button-quiet" aria-expanded=${at === null ? "false" : "true"} onClick=${schedule}>
          <${Icon} name="scheduled" />${at === null ? "Schedule" : "Post now instead"}
        </button>
        <button class="button button-main" aria-disabled=${isBusy || !isSendable(text) ? "true" : "false"}>${at === null ? "Post" : "Schedule post"}</button>
      </div>
    </form>
  `;
}
