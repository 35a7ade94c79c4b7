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

/** What users are told who need a code. On a developer's machine, nobody gets an email. */
const whereCodeIs = demoCode ? `No email is sent on this machine: the code is ${demoCode}.` : "Enter the code from our email. No email? Send a new code.";

/** The forms for the stack's own user pool: what each does with what was typed, and which one follows. */
const POOL_FORMS = {
  in: { label: "Sign in", act: ({ name, password }) => signInToPool(name, password) },
  up: { label: "Create account", act: ({ name, email, password }) => signUpToPool(name, email, password), next: "code" },
  code: {
    label: "Confirm",
    act: ({ name, code, password }) => confirmSignUp(name, code).then(() => signInToPool(name, password)),
    again: sendCodeAgain,
  },
  forgot: { label: "Send a code", act: ({ name }) => forgetPassword(name), next: "reset" },
  reset: {
    label: "Save password",
    act: ({ name, code, password }) => resetPassword(name, code, password).then(() => signInToPool(name, password)),
    again: forgetPassword,
  },
};

function PoolForms() {
  const [form, show] = useState("in");
  const [typed, setTyped] = useState({ name: "", email: "", password: "", code: "" });
  // another form is another element, so what one said does not stay under the next
  return html`
    ${form === "in" && demoUsers.length > 0 && html`<${DemoUsers} />`}
    <${PoolForm} key=${form} form=${form} show=${show} typed=${typed} type=${(more) => setTyped((now) => ({ ...now, ...more }))} />
  `;
}

function PoolForm({ form, show, typed, type }) {
  const [told, setTold] = useState("");
  const { label, act, next, again } = POOL_FORMS[form];
  const done = { ...typed, name: typed.name.trim(), email: typed.email.trim(), code: typed.code.trim() };
  const { submit, isBusy, error } = useSubmit(async () => {
    try {
      await act(done);
      if (next) show(next);
    } catch (error) {
      if (error.kind !== "UserNotConfirmedException") throw error;
      show("code");
    }
  });
  const field = (name, label, rest) => html`<${Field} label=${label} value=${typed[name]} change=${(value) => type({ [name]: value })} required ...${rest} />`;
  const user = (label) => field("name", label, { autocomplete: "username", autocapitalize: "none", spellcheck: false });
  const code = () => field("code", "Code", { inputmode: "numeric", autocomplete: "one-time-code" });
  const secret = (label = "Password") =>
    field("password", label, {
      type: "password",
      autocomplete: form === "in" ? "current-password" : "new-password",
      hint: form === "in" ? undefined : "At least 12 characters, with capital and small letters, digits and signs.",
    });
  const sendAgain = () =>
    again(done.name).then(
      () => setTold(demoCode ? whereCodeIs : "A new code is on its way."),
      (failed) => setTold(failed.message),
    );
  return html`
    <form onSubmit=${submit}>
      ${form === "in" && html`${user("User name or email")}${secret()}`}
      ${form === "up" &&
      html`${user("User name")}
        ${field("email", "Email", { type: "email", autocomplete: "email", hint: demoCode ? "No email is sent on this machine." : "You get a code at this address, and can sign in with it." })}
        ${secret()}`}
      ${form === "code" && html`<p>${whereCodeIs}</p>${code()}`}
      ${form === "forgot" && html`<p>A code proves that the account is yours. Then you choose another password.</p>${user("User name or email")}`}
      ${form === "reset" && html`<p>${demoCode ? whereCodeIs : "If there is such an account, we have sent a code to its email address."}</p>${code()}${secret("New password")}`}
      <${Problem} error=${error} />
      <div role="status" class="hint">${told}</div>
      <button class="button button-main button-wide" aria-disabled=${isBusy ? "true" : "false"}>${label}</button>
      <p class="other">
        ${form === "in"
          ? html`<button type="button" class="link" onClick=${() => show("up")}>Create an account</button>${" "}
              <button type="button" class="link" onClick=${() => (type({ password: "", code: "" }), show("forgot"))}>Forgot your password?</button>`
          : html`<button type="button" class="link" onClick=${() => show("in")}>Back to sign in</button>`}
        ${again && html` <button type="button" class="link" onClick=${sendAgain}>Send a new code</button>`}
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
