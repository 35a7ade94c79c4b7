// The posts that wait for their time.

/** How long after its time a post is normally published, and how often the list is read at least. */
const LATE_MS = 2500;
const AGAIN_MS_MAX = 600_000;

function Scheduled() {
  useTitle("Scheduled posts");
  const read = (cursor, signal) => call("GET", "/v1/scheduled", { query: { cursor }, signal });
  const list = useList("scheduled", read, (post) => post.id);
  const next = list.items[0]?.publish_at;
  useEffect(() => {
    if (!next) return;
    // when the first one is published, it leaves the list
    const left = Math.max(0, new Date(next) - Date.now());
    const timer = setTimeout(() => list.reread(), Math.min(left + LATE_MS, AGAIN_MS_MAX));
    return () => clearTimeout(timer);
  }, [next, list.changed.get()]);
  return html`
    <h1 class="title">Scheduled posts</h1>
    <ul class="cards" aria-busy=${list.isLoading ? "true" : "false"}>
      ${list.items.map((post) => html`<${Waiting} key=${post.id} post=${post} changed=${() => list.reread()} />`)}
    </ul>
    <${ListEnd} list=${list} empty=${html`<h2>No post waits</h2><p>On the home feed, choose “Schedule” below what you write.</p>`} />
  `;
}

function Waiting({ post, changed }) {
  const [open, setOpen] = useState("");
  const close = () => setOpen("");
  return html`
    <li class="card">
      <p class="when"><${Icon} name="scheduled" /><time datetime=${post.publish_at}>${moment(post.publish_at)}</time></p>
      <${Text} post=${{ ...post, entities: [] }} />
      <div class="buttons">
        <button type="button" class="button" onClick=${() => setOpen("edit")}>Edit</button>
        <button type="button" class="button" onClick=${() => setOpen("cancel")}>Cancel post</button>
      </div>
      ${open === "edit" && html`<${Edit} post=${post} changed=${changed} close=${close} />`}
      ${open === "cancel" &&
      html`<${Confirm} title="Cancel this post?" text="It is not published, and its text is deleted." yes="Cancel post" no="Keep"
        act=${() => orPublished(call("DELETE", `/v1/scheduled/${post.id}`)).then(() => announce("The post is cancelled."))}
        close=${() => (close(), changed())} />`}
    </li>
  `;
}

/** A change that comes too late is told in words. */
const orPublished = (change) =>
  change.catch((error) => {
    if (error.status !== 409 && error.status !== 404) throw error;
    throw new Refused("It is too late: the post is published.");
  });

function Edit({ post, changed, close }) {
  const [text, setText] = useState(post.text);
  const [at, setAt] = useState(localTime(post.publish_at));
  async function save() {
    refuseUnsendable(text);
    const body = { text };
    // the field has whole minutes: a time that was not touched stays as it is
    if (at !== localTime(post.publish_at)) body.publish_at = chosenTime(at);
    return orPublished(call("PATCH", `/v1/scheduled/${post.id}`, { body }));
  }
  const form = useSubmit(save, () => {
    announce("The post is saved.");
    close();
    changed();
  });
  return html`
    <${TextDialog} title="Edit scheduled post" text=${text} change=${setText} form=${form} close=${close}>
      <${TimeField} value=${at} change=${setAt} />
    <//>
  `;
}
