// Who is signed in, in this tab: tokens of the stack's user pool, or of the operator's issuer (OpenID Connect).

/** How visitors sign in: the server writes it into the document. */
const signIn = JSON.parse(document.querySelector('meta[name="fanfold-sign-in"]').content);
const STORED = "fanfold.session";
const ENDED = "fanfold.ended";
/** Tokens are renewed after this part of their life. */
const RENEWED_AFTER = 0.8;

/** The session: {access, refresh, renewAt}. Null: nobody is signed in. */
const session = watchable(kept("sessionStorage", STORED));
/** Why a session ended without the user, as text for the next sign-in. */
const ended = watchable(kept("sessionStorage", ENDED) ?? "");

session.watch(() => keep("sessionStorage", STORED, session.get()));
keep("sessionStorage", ENDED, null);

/** An error whose message is for the user. */
class Refused extends Error {
  constructor(message, kind = "") {
    super(message);
    this.kind = kind;
  }
}

const NO_ANSWER = "NoAnswer";

/** Calls a service that signs users in. */
async function reach(address, options) {
  const silent = new Refused("The sign-in service does not answer. Check your connection, and try again.", NO_ANSWER);
  const answer = await fetch(address, options).catch(() => {
    throw silent;
  });
  if (answer.status >= 500) throw silent;
  return answer;
}

/** What the tab keeps of a user. */
const OF_USER = [STORED, "fanfold.draft", "fanfold.pull", "fanfold.own-post"];

/**
 * Ends the session. The document begins again: requests that are under way end, and nothing is left of the user. With a reason,
 * the user did not ask for it, and finds the same view after the next sign-in.
 */
function signOut(why = "") {
  const old = session.get();
  if (!old) return;
  for (const name of OF_USER) keep("sessionStorage", name, null);
  if (why) keep("sessionStorage", ENDED, why);
  else {
    if (signIn.kind === "oidc") keep("sessionStorage", ASK, true);
    else if (old.refresh) revoke(old.refresh);
  }
  location.replace(`${location.pathname}${location.search}`);
  if (why && location.hash) location.reload();
}

let renewal = null;

/** The access token, renewed if it ends soon. `force` renews it in any case. Null: nobody is signed in. */
async function token(force = false) {
  const now = session.get();
  if (!now) return null;
  if (!force && now.renewAt > Date.now()) return now.access;
  // requests at the same time share one renewal
  renewal ??= renew(now).finally(() => (renewal = null));
  return renewal;
}

async function renew(old) {
  try {
    if (!old.refresh) throw new Refused("there is no refresh token");
    const answer =
      signIn.kind === "pool"
        ? await pool("InitiateAuth", {
            AuthFlow: "REFRESH_TOKEN_AUTH",
            ClientId: signIn.client,
            AuthParameters: { REFRESH_TOKEN: old.refresh },
          }).then(({ AuthenticationResult: done }) => ({ access: done.AccessToken, refresh: done.RefreshToken, seconds: done.ExpiresIn }))
        : await oidcToken({ grant_type: "refresh_token", refresh_token: old.refresh });
    // a sign-out or another sign-in may have come first
    if (session.get() !== old) return session.get()?.access ?? null;
    const refresh = answer.refresh ?? old.refresh;
    session.set(sessionOf(answer.access, refresh, answer.seconds));
    return answer.access;
  } catch (error) {
    // without an answer, the session may be valid still
    if (!(error instanceof Refused) || error.kind === NO_ANSWER) throw error;
    if (session.get() === old) signOut("Your session has ended. Sign in again.");
    return null;
  }
}

// ---- the stack's user pool (Amazon Cognito) ----

/** What users read for the errors of the pool that they can do something about: of one operation, or of all. */
const POOL_ERRORS = {
  "ConfirmSignUp.NotAuthorizedException": "This account is confirmed. Sign in.",
  "ForgotPassword.InvalidParameterException": "No email address of this account is confirmed, so nothing can be sent to it.",
  NotAuthorizedException: "The name or the password is wrong.",
  UserNotFoundException: "The name or the password is wrong.",
  AliasExistsException: "There is an account with this email address. Sign in with it, or choose another password for it.",
  UsernameExistsException: "This user name is taken. Choose another one, or sign in.",
  CodeMismatchException: "This is not the code. Check it, and try again.",
  InvalidPasswordException: "The password needs at least 12 characters, with capital and small letters, digits and signs.",
  InvalidParameterException: "The user name must not have spaces or look like an email address, and the email address must be complete.",
  CodeDeliveryFailureException: "No email can be sent to this address. Check it, and try again.",
  ExpiredCodeException: "The code is too old. Ask for a new one.",
  LimitExceededException: "There were too many tries. Wait a few minutes, and try again.",
  TooManyRequestsException: "There were too many tries. Wait a few minutes, and try again.",
};

async function pool(operation, body) {
  const answer = await reach(signIn.url, {
    method: "POST",
    headers: poolHeaders(operation),
    body: JSON.stringify(body),
  });
  const told = await answer.json().catch(() => ({}));
  if (answer.ok) return told;
  const kind = String(told.__type ?? "").split("#").pop();
  const known = POOL_ERRORS[`${operation}.${kind}`] ?? POOL_ERRORS[kind];
  throw new Refused(known ?? "That did not work. Try again.", kind);
}

/** A session. A token that nobody can renew is used until the API refuses it. */
function sessionOf(access, refresh, seconds) {
  return { access, refresh, renewAt: refresh ? Date.now() + seconds * 1000 * RENEWED_AFTER : Number.MAX_SAFE_INTEGER };
}

const fromPool = (result) => sessionOf(result.AccessToken, result.RefreshToken, result.ExpiresIn);

/** Makes the refresh token useless. The document may end before the answer. */
function revoke(refresh) {
  const body = JSON.stringify({ ClientId: signIn.client, Token: refresh });
  fetch(signIn.url, { method: "POST", keepalive: true, headers: poolHeaders("RevokeToken"), body }).catch(() => {});
}

const poolHeaders = (operation) => ({
  "Content-Type": "application/x-amz-json-1.1",
  "X-Amz-Target": `AWSCognitoIdentityProviderService.${operation}`,
});

async function signInToPool(name, password) {
  const done = await pool("InitiateAuth", {
    AuthFlow: "USER_PASSWORD_AUTH",
    ClientId: signIn.client,
    AuthParameters: { USERNAME: name, PASSWORD: password },
  });
  if (!done.AuthenticationResult) {
    throw new Refused("This account needs another step to sign in, which this page does not support.");
  }
  start(fromPool(done.AuthenticationResult));
}

const signUpToPool = (name, email, password) =>
  pool("SignUp", {
    ClientId: signIn.client,
    Username: name,
    Password: password,
    UserAttributes: [{ Name: "email", Value: email }],
  });

const confirmSignUp = (name, code) =>
  pool("ConfirmSignUp", { ClientId: signIn.client, Username: name, ConfirmationCode: code });

const sendCodeAgain = (name) =>
  pool("ResendConfirmationCode", { ClientId: signIn.client, Username: name });

const forgetPassword = (name) => pool("ForgotPassword", { ClientId: signIn.client, Username: name });

const resetPassword = (name, code, password) =>
  pool("ConfirmForgotPassword", { ClientId: signIn.client, Username: name, ConfirmationCode: code, Password: password });

/** The handles of the demo users of this machine, and the code that its user pool takes, because it sends no emails. */
const demoUsers = signIn.demo?.users ?? [];
const demoCode = signIn.demo?.code;

const signInAsDemo = (name) => signInToPool(name, signIn.demo.password);

function start(next) {
  ended.set("");
  keep("sessionStorage", ASK, null);
  session.set(next);
}

// ---- the operator's issuer: authorization code with PKCE ----

const PENDING = "fanfold.sign-in";
/** Set after a sign-out: the issuer then asks who signs in, although it may know. */
const ASK = "fanfold.ask";
const SCOPES = ["openid", "offline_access"];

/** Random bytes as text that may stand in an address. */
function randomText(bytes = 32) {
  return base64url(crypto.getRandomValues(new Uint8Array(bytes)));
}

function base64url(bytes) {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function issuer() {
  const address = `${signIn.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const answer = await reach(address);
  if (!answer.ok) throw new Refused("The sign-in service is not set up as the page expects.");
  return answer.json();
}

const here = () => `${location.origin}${location.pathname}`;

/** Leaves the page for that of the issuer. */
async function goToIssuer() {
  const { authorization_endpoint, scopes_supported: known } = await issuer();
  const [verifier, state] = [randomText(), randomText(16)];
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  keep("sessionStorage", PENDING, { verifier, state, at: location.hash });
  const address = new URL(authorization_endpoint);
  const query = {
    response_type: "code",
    client_id: signIn.client,
    redirect_uri: here(),
    scope: SCOPES.filter((scope) => !known || known.includes(scope)).join(" "),
    audience: signIn.audience,
    state,
    code_challenge: base64url(new Uint8Array(hash)),
    code_challenge_method: "S256",
    ...(kept("sessionStorage", ASK) ? { prompt: "login" } : {}),
  };
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  location.assign(address);
}

async function oidcToken(fields) {
  const { token_endpoint } = await issuer();
  const answer = await reach(token_endpoint, {
    method: "POST",
    body: new URLSearchParams({ client_id: signIn.client, ...fields }),
  });
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok || !told.access_token) {
    throw new Refused(told.error_description ?? "The sign-in service refused. Sign in again.");
  }
  return { access: told.access_token, refresh: told.refresh_token, seconds: told.expires_in ?? 3600 };
}

/** Ends a sign-in that the issuer has sent back to this page. */
async function returnFromIssuer() {
  const query = new URLSearchParams(location.search);
  const pending = kept("sessionStorage", PENDING);
  if (signIn.kind !== "oidc" || !pending || !query.has("state")) return;
  keep("sessionStorage", PENDING, null);
  history.replaceState(history.state, "", `${location.pathname}${pending.at}`);
  route.set(parts());
  try {
    if (query.get("state") !== pending.state) throw new Refused("This sign-in belongs to another window.");
    if (!query.has("code")) {
      throw new Refused(query.get("error_description") ?? "The sign-in was not completed.");
    }
    const { access, refresh, seconds } = await oidcToken({
      grant_type: "authorization_code",
      code: query.get("code"),
      redirect_uri: here(),
      code_verifier: pending.verifier,
    });
    start(sessionOf(access, refresh, seconds));
  } catch (error) {
    ended.set(error instanceof Refused ? error.message : "Signing in failed. Try again.");
  }
}

/** How visitors sign in: "pool", "oidc" or "none". */
const signInKind = signIn.kind;
