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
    Object.assign(this, { status, title, type, wait });
  }
}

/** Reads that come while something is being prepared are repeated so often. */
const REPEATS_MAX = 2;
const REPEAT_MS_MAX = 2000;

/** Whether the answer says that the same read will succeed soon. */
const isSoon = (answer) => answer.status === 503 && Number(answer.headers.get("Retry-After")) > 0;

/**
 * Calls the API. `query` and `body` are objects, `key` is an Idempotency-Key. A read is repeated if its answer is being
 * prepared, but not with `once`. Returns the parsed answer; null without one. Throws `Failed`.
 */
async function call(method, path, { query = {}, body, key, signal, once = false } = {}) {
  let answer = await send(method, path, { query, body, key, signal });
  // the clock of this device may be wrong, or the issuer has withdrawn the token
  if (answer.status === 401 && (await token(true))) answer = await send(method, path, { query, body, key, signal });
  for (let times = 0; method === "GET" && !once && isSoon(answer) && times < REPEATS_MAX; times += 1) {
    const wait = Math.min(Number(answer.headers.get("Retry-After")) * 1000, REPEAT_MS_MAX);
    await new Promise((done) => setTimeout(done, wait));
    answer = await send(method, path, { query, body, key, signal });
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

async function send(method, path, { query, body, key, signal }) {
  const address = new URL(path, location.origin);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) address.searchParams.set(name, value);
  }
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
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

/** What a user reads about an error. */
function inWords(error) {
  if (!(error instanceof Failed)) return "Something went wrong on this page. Reload it.";
  if (error.status === 429) return `You do this too often. Try again in ${Math.max(1, error.wait)} s.`;
  if (error.status === 503) return "The system is busy. Nothing was lost; try again.";
  return `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}`;
}
