// The profile of the user who is signed in.

/** The own profile. Undefined: not read yet. Null: there is none. */
const me = watchable(undefined);

async function readMe() {
  try {
    me.set(await call("GET", "/v1/me"));
  } catch (error) {
    if (error.status !== 404) throw error;
    me.set(null);
  }
}

async function saveProfile(handle, name, about) {
  const wanted = handle.trim().replace(/^@/, "").toLowerCase();
  const profile = await call("PUT", "/v1/me", { body: { handle: wanted, name, about } });
  renameAuthor(profile);
  me.set(profile);
}

/** The fields of a profile. */
function ProfileForm({ profile = { handle: "", name: "" }, saved = () => {}, close = null }) {
  const [handle, setHandle] = useState(profile.handle);
  const [name, setName] = useState(profile.name);
  const [about, setAbout] = useState(profile.about);
  // what was not changed here stays as it is, also if it was changed elsewhere
  const changed = () => ({
    bio: about.bio === profile.about.bio ? undefined : about.bio,
    links: about.links === profile.about.links ? undefined : told(about.links),
  });
  const { submit, isBusy, error } = useSubmit(() => saveProfile(handle, name, about && changed()), saved);
  return html`
    <form onSubmit=${submit}>
      <${Field} label="Handle" value=${handle} change=${setHandle} required maxlength="31" autocapitalize="none" spellcheck=${false}
        autocomplete="off" hint="1 to 30 of the letters a to z, digits and _. Others find you by it." />
      <${Field} label="Name" value=${name} change=${setName} required maxlength="200" hint="Up to 50 characters, in any script." />
      ${about && html`<${AboutFields} about=${about} change=${(next) => setAbout({ ...about, ...next })} isBusy=${isBusy} />`}
      <${Problem} error=${error} />
      <div class="buttons">
        ${close && html`<button type="button" class="button" onClick=${close}>Cancel</button>`}
        <button class="button button-main" aria-disabled=${isBusy ? "true" : "false"}>Save profile</button>
      </div>
    </form>
  `;
}

const LINKS_MAX = 4;

/** The links that have an address. */
const told = (links) => links.filter((link) => link.url.trim() !== "");

/** The fields for what a user says: the bio, the links, and one link more. */
function AboutFields({ about: { bio, links }, change, isBusy }) {
  const rows = [...links, { label: "", url: "" }].slice(0, LINKS_MAX);
  const put = (at, next) => change({ links: rows.map((link, row) => (row === at ? { ...link, ...next } : link)).filter((link) => link.url || link.label) });
  return html`
    <div class="field">
      <span aria-hidden="true"><b>About you</b></span>
      <${TextField} label="About you" value=${bio} change=${(next) => change({ bio: next })} rows=${3} isBusy=${isBusy} />
    </div>
    ${rows.map(
      ({ label, url }, at) => html`
        <div class="fields" key=${at}>
          <${Field} label="Link ${at + 1}" type="url" value=${url} change=${(next) => put(at, { url: next })} maxlength="2048" placeholder="https://" />
          <${Field} label="Label ${at + 1}" value=${label} change=${(next) => put(at, { label: next })} maxlength="200" />
        </div>
      `,
    )}
  `;
}

/** What a user says. */
function About({ about: { bio, links } }) {
  if (!bio && !links.length) return null;
  return html`
    <div class="about">
      ${bio && html`<p class="text" dir="auto">${bio}</p>`}
      <ul class="links">
        ${links.filter(({ url }) => URL.canParse(url)).map(({ label, url }) => html`<li key=${url}><a href=${url} target="_blank" rel=${ELSEWHERE} title=${url}>${label || new URL(url).host}</a></li>`)}
      </ul>
    </div>
  `;
}

/** What new users see first. */
function FirstProfile() {
  useTitle("Your profile");
  return html`
    <main class="lone" tabindex="-1">
      <div class="sheet">
        <h1>Choose your profile</h1>
        <p>This is how others see you. You can change both later.</p>
        <${ProfileForm} />
      </div>
      <button type="button" class="button button-quiet" onClick=${() => signOut()}>Sign out</button>
    </main>
  `;
}
