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

async function saveProfile(handle, name) {
  const wanted = handle.trim().replace(/^@/, "").toLowerCase();
  const profile = await call("PUT", "/v1/me", { body: { handle: wanted, name } });
  renameAuthor(profile);
  me.set(profile);
}

/** The fields of a profile. */
function ProfileForm({ profile = { handle: "", name: "" }, saved = () => {}, close = null }) {
  const [handle, setHandle] = useState(profile.handle);
  const [name, setName] = useState(profile.name);
  const { submit, isBusy, error } = useSubmit(() => saveProfile(handle, name), saved);
  return html`
    <form onSubmit=${submit}>
      <${Field} label="Handle" value=${handle} change=${setHandle} required maxlength="31" autocapitalize="none" spellcheck=${false}
        autocomplete="off" hint="1 to 30 of the letters a to z, digits and _. Others find you by it." />
      <${Field} label="Name" value=${name} change=${setName} required maxlength="200" hint="Up to 50 characters, in any script." />
      <${Problem} error=${error} />
      <div class="buttons">
        ${close && html`<button type="button" class="button" onClick=${close}>Cancel</button>`}
        <button class="button button-main" aria-disabled=${isBusy ? "true" : "false"}>Save profile</button>
      </div>
    </form>
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
