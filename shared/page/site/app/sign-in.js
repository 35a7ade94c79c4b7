// What visitors see who are not signed in.

function SignedOut() {
  useTitle("Sign in");
  const why = useValue(ended);
  return html`
    <main class="welcome" tabindex="-1">
      <div class="welcome-text">
        <p class="brand"><${Mark} />Fanfold</p>
        <h1>The posts of the people you follow. All of them, newest first.</h1>
        <p class="lead">
          This page runs on a Fanfold stack: serverless functions, queues, and a cache that may forget everything. Sign in, post, follow,
          and watch each post arrive.
        </p>
        <ul class="claims">
          <li><b>Nothing is lost.</b> A post that was accepted reaches every feed.</li>
          <li><b>Nothing is guessed.</b> Time decides the order, and likes decide what trends.</li>
          <li><b>Nothing is hidden.</b> The page shows how long it took, and where it came from.</li>
        </ul>
        <p class="more"><a href="/docs">API reference</a></p>
      </div>
      <section class="sheet" aria-labelledby="sign-in">
        <h2 id="sign-in">Sign in</h2>
        <div role="alert">${why && html`<p class="problem">${why}</p>`}</div>
        ${signInKind === "pool" && html`<${PoolForms} />`}
        ${signInKind === "oidc" && html`<${IssuerButton} />`}
        ${signInKind === "none" && html`<p>Signing in on this page is not set up. The API takes the tokens of its operator's issuer.</p>`}
      </section>
    </main>
  `;
}

function IssuerButton() {
  const { submit, isBusy, error } = useSubmit(goToIssuer);
  return html`
    <form onSubmit=${submit}>
      <p>You sign in at the service of the operator, which then brings you back.</p>
      <${Problem} error=${error} />
      <button class="button button-main" aria-disabled=${isBusy ? "true" : "false"}>Sign in</button>
    </form>
  `;
}

/** The forms for the stack's own user pool: sign in, create an account, confirm it. */
function PoolForms() {
  const [form, setForm] = useState("in");
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [told, setTold] = useState("");
  const act = {
    in: () => signInToPool(name.trim(), password),
    up: () => signUpToPool(name.trim(), email.trim(), password),
    code: () => confirmSignUp(name.trim(), code.trim()).then(() => signInToPool(name.trim(), password)),
  }[form];
  const run = async () => {
    try {
      await act();
      if (form === "up") setForm("code");
    } catch (error) {
      if (error.kind !== "UserNotConfirmedException") throw error;
      setForm("code");
    }
  };
  const { submit, isBusy, error } = useSubmit(run);
  const userName = html`<${Field} label="User name" value=${name} change=${setName} required autocomplete="username" autocapitalize="none" spellcheck=${false} />`;
  const secret = (kind, hint) => html`<${Field} label="Password" type="password" value=${password} change=${setPassword} required autocomplete=${kind} hint=${hint} />`;
  const back = html`<button type="button" class="link" onClick=${() => setForm("in")}>Back to sign in</button>`;
  const sendAgain = () =>
    sendCodeAgain(name.trim()).then(
      () => setTold("A new code is on its way."),
      (failed) => setTold(failed.message),
    );
  return html`
    ${form === "in" && demoUsers.length > 0 && html`<${DemoUsers} />`}
    <form key=${form} onSubmit=${submit}>
      ${form === "in" && html`${userName}${secret("current-password")}`}
      ${form === "up" &&
      html`${userName}
        <${Field} label="Email" type="email" value=${email} change=${setEmail} required autocomplete="email" hint="You get a code at this address." />
        ${secret("new-password", "At least 12 characters, with capital and small letters, digits and signs.")}`}
      ${form === "code" &&
      html`<p>We have sent a code to your email address.</p>
        <${Field} label="Code from the email" value=${code} change=${setCode} required inputmode="numeric" autocomplete="one-time-code" />`}
      <${Problem} error=${error} />
      <div role="status" class="hint">${told}</div>
      <button class="button button-main button-wide" aria-disabled=${isBusy ? "true" : "false"}>
        ${{ in: "Sign in", up: "Create account", code: "Confirm" }[form]}
      </button>
      <p class="other">
        ${form === "in"
          ? html`<button type="button" class="link" onClick=${() => setForm("up")}>Create an account</button>`
          : back}
        ${form === "code" && html` <button type="button" class="link" onClick=${sendAgain}>Send a new code</button>`}
      </p>
    </form>
  `;
}

/** One click signs in as a demo user. They exist on a developer's machine alone. */
function DemoUsers() {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState("");
  const enter = (name) => {
    setBusy(name);
    signInAsDemo(name).catch((failed) => {
      setError(failed);
      setBusy("");
    });
  };
  return html`
    <p>One click signs in as a demo user. Another window can be another user.</p>
    <div class="demo-users">
      ${demoUsers.map(
        (name) => html`<button type="button" class="demo-user" disabled=${busy !== ""} onClick=${() => enter(name)}>
          <${Sign} handle=${name} name=${name} /><span><span class="visually-hidden">Continue as </span>@${name}</span>
        </button>`,
      )}
    </div>
    <${Problem} error=${error} />
    <p class="or"><span>or with an account of your own</span></p>
  `;
}
