// Calls of the API, and the times that pages of feeds took.

/** The pages of feeds that are kept for the status panel. */
const LOADS_MAX = 100;
const PULL = "fanfold.pull";
/** An answer 429 without a time is one of the gateway. */
const PAUSE_S = 5;

/** The last loads of pages of feeds, oldest first: {source, ms}. */
const loads = watchable([]);
/** Whether pages of feeds are read by pull, on purpose. */
const pull = watchable(kept("sessionStorage", PULL) === true);
/** Until when the API refuses pages by pull, in milliseconds. */
const pullsRefusedUntil = watchable(0);
/** Whether the browser has a network. */
const online = watchable(navigator.onLine);

pull.watch(() => keep("sessionStorage", PULL, pull.get()));
addEventListener("online", () => online.set(true));
addEventListener("offline", () => online.set(false));

/** An answer that is not a success. `status` is 0 if there was no answer. */
class Failed extends Error {
  constructor(status, title, detail, type = "", wait = 0) {
    super(detail || title);
    Object.assign(this, { status, title, type, wait, detail });
  }
}

/** Reads that come while something is being prepared are repeated so often. */
const REPEATS_MAX = 2;
const REPEAT_MS_MAX = 2000;

/** Whether the answer says that the same read will succeed soon. */
const isSoon = (answer) => answer.status === 503 && Number(answer.headers.get("Retry-After")) > 0;

/**
 * Calls the API. `query` and `body` are objects, `key` is an Idempotency-Key, `ifMatch` an ETag. A read is repeated if its
 * answer is being prepared, but not with `once`. Returns the parsed answer; null without one. Throws `Failed`.
 */
async function call(method, path, { once = false, ...request } = {}) {
  let answer = await send(method, path, request);
  // the clock of this device may be wrong, or the issuer has withdrawn the token
  if (answer.status === 401 && (await token(true))) answer = await send(method, path, request);
  for (let times = 0; method === "GET" && !once && isSoon(answer) && times < REPEATS_MAX; times += 1) {
    const wait = Math.min(Number(answer.headers.get("Retry-After")) * 1000, REPEAT_MS_MAX);
    await new Promise((done) => setTimeout(done, wait));
    answer = await send(method, path, request);
  }
  if (answer.status === 401) {
    signOut("Your session has ended. Sign in again.");
    throw new Failed(401, "Signed out", "");
  }
  const text = await answer.text();
  let told = null;
  try {
    told = text ? JSON.parse(text) : null;
  } catch {
    throw new Failed(answer.status, "The answer cannot be read", "");
  }
  if (answer.ok) return told;
  const wait = Number(answer.headers.get("Retry-After") ?? 0);
  throw new Failed(answer.status, told?.title ?? told?.message ?? "Error", told?.detail ?? "", told?.type ?? "", wait);
}

async function send(method, path, { query = {}, body, key, ifMatch, signal }) {
  const address = new URL(path, location.origin);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) address.searchParams.set(name, value);
  }
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  if (ifMatch) headers["If-Match"] = ifMatch;
  try {
    const bearer = await token();
    if (bearer) headers.Authorization = `Bearer ${bearer}`;
    return await fetch(address, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failed(0, "No answer", navigator.onLine ? "The server does not answer." : "You are offline.");
  }
}

/** Reads a page of a feed, and notes how long it took. With `pull`, it is read by pull if the user's limit allows it. */
async function readFeed(path, query, options = {}, mayPull = true) {
  const began = performance.now();
  const byPull = mayPull && pull.get() && Date.now() >= pullsRefusedUntil.get();
  let page;
  try {
    page = await call("GET", path, { ...options, query: byPull ? { ...query, source: "pull" } : query });
  } catch (error) {
    if (!byPull || error.status !== 429) throw error;
    pullsRefusedUntil.set(Date.now() + (error.wait || PAUSE_S) * 1000);
    return readFeed(path, query, options, false);
  }
  const load = { source: page.source, ms: performance.now() - began };
  loads.set([...loads.get(), load].slice(-LOADS_MAX));
  return page;
}

/** What users read about the problems of the API, by type. Details are for developers: they name fields and routes. */
const WORDS = {
  "invalid-id": "This name is not allowed. Use letters, digits and single spaces.",
  "invalid-body": "A value is not allowed here.",
  "invalid-cursor": "This list has changed. Reload the page.",
  "not-yours": "Only the owner can do this.",
  "no-such-user": "This user does not exist any more.",
  "no-such-post": "This post does not exist any more.",
  "no-such-scheduled-post": "This post does not wait any more.",
  "no-such-board": "This board does not exist any more.",
  "no-such-member": "This member is not on the board.",
  "handle-taken": "Another user has this handle. Choose another one.",
  "identity-clash": "This account cannot have a profile here. Sign in with another account.",
  "profile-missing": "You have no profile any more. Reload the page.",
  "board-fixed": "There is a board with this name, and this cannot be changed on it.",
  "already-published": "It is too late: the post is published.",
  "post-deleted": "This was posted before, and deleted since. Change the text to post it again.",
  "idempotency-key-reused": "This was sent before, with another text. Change the text, and try again.",
  "invalid-content": "A link must begin with https:// and be one address.",
  "body-too-large": "This is too long.",
  "follow-self": "You cannot follow yourself.",
  "other-version": "This post was changed elsewhere. Copy your text, close this, and read the post again.",
  "versions-limit": "This post was edited as often as a post can be. Publish another one.",
  "following-limit": "You follow as many users as one user may. Unfollow somebody first.",
  "invalid-time": "Choose a time that is at least a minute and at most 366 days ahead.",
  "scheduled-limit": "You have as many scheduled posts as one user may. Cancel one first, or wait.",
  "boards-limit": "You have as many boards as one user may.",
  "invalid-board": "These settings of a board are not allowed.",
  "invalid-scores": "Give a whole number for each score.",
  "content-refused": "This cannot be stored. Change it.",
  damaged: "This cannot be shown, because something stored is damaged.",
};
const FIELDS = { text: "The text", name: "The name", handle: "The handle", bio: "What you say", label: "A label" };
/** What can be wrong with a text: what the detail says, and what users read after the name of the field. */
const FLAWS = [
  [/direction of writing/, "has an invisible sign that changes the direction of writing"],
  [/invisible/, "has an invisible character"],
  [/private use/, "has a character without a meaning"],
  [/control character/, "has a control character"],
  [/no visible character/, "is empty"],
  [/combining mark/, "begins with an accent that has no letter"],
  [/character of \d+ code points/, "has a character with too many marks"],
  [/at most/, "is too long"],
];

/** What is wrong with a text that the API refused. */
function flawOf(detail) {
  if (detail.startsWith("handle must")) return "A handle has 1 to 30 of the letters a to z, digits and _.";
  const [field] = detail.split(" ");
  const [, flaw] = FLAWS.find(([said]) => said.test(detail)) ?? [, "is not allowed"];
  const code = detail.match(/U\+[0-9A-F]{4,6}/);
  return `${FIELDS[field] ?? "This"} ${flaw}${code ? ` (${code[0]}). Remove it.` : "."}`;
}

/** What a user reads about an error. */
function inWords(error) {
  if (!(error instanceof Failed)) return "Something went wrong on this page. Reload it.";
  // words of this page
  if (error.status === 0) return error.message;
  if (error.status === 429) return `You do this too often. Try again in ${Math.max(1, error.wait)} s.`;
  if (error.status === 503) return "The system is busy. Nothing was lost; try again.";
  const kind = error.type.replace("/problems/", "");
  if (kind === "invalid-text") return flawOf(error.detail);
  return WORDS[kind] ?? (error.status < 500 ? "This is not possible." : "Something went wrong on the server. Try again.");
}
