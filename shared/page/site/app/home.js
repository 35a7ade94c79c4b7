// The home feed: endless, without repeats or gaps while others post. New posts wait behind a button.

const NEWER_MAX = 100;
const POLL_MS = 5000;
const POLL_MS_MAX = 60_000;
/** Each time of so many, the newest posts are read, which also shows posts that were delivered late, and deletions. */
const CHECK_EACH = 6;
/** After a follow or an unfollow, the feed changes a moment later. It is read again after these times. */
const SETTLE_MS = [700, 2500, 6000];
/** With more posts than this, showing new ones begins the feed again. */
const RENDERED_MAX = 400;

const NAME = "home";
/** The home feed, and what is known of newer posts. `isMore`: there are more of them than the page has asked for. */
let feed = null;
const waiting = watchable({ ids: [], isMore: false });

/** The pause between two polls. Tests name a shorter one in the address. */
const pollMs = () => {
  const asked = Number(new URLSearchParams(location.search).get("poll")) || POLL_MS;
  return Math.min(Math.max(asked, 500), POLL_MS_MAX);
};

function homeFeed() {
  if (feed) return feed;
  const read = async (cursor, signal) => {
    const page = await readFeed("/v1/timeline", { cursor }, { signal });
    if (cursor === null) {
      list.newest = page.newest_cursor;
      // a feed that begins again has what polls have found meanwhile; the next poll finds what is newer
      if (list.items.length === 0) waiting.set({ ids: [], isMore: false });
    }
    return { items: remembered(page.items), next_cursor: page.next_cursor };
  };
  const list = listOf(NAME, read);
  feed = list;
  return list;
}

function wait(ids, isMore = false) {
  const now = waiting.get();
  const known = new Set(now.ids);
  const all = [...ids.filter((id) => !known.has(id) && !feed.keys.has(id)), ...now.ids];
  if (all.length > NEWER_MAX || isMore || now.isMore) waiting.set({ ids: [], isMore: true });
  else if (all.length > now.ids.length) waiting.set({ ids: all, isMore: false });
}

/** Asks for posts that are newer than the newest known one. */
async function poll() {
  const list = feed;
  const query = { newer_than: list.newest, limit: NEWER_MAX };
  const page = await call("GET", "/v1/timeline", { query, once: true });
  if (list !== feed || list.newest !== query.newer_than) return;
  list.newest = page.newest_cursor;
  wait(remembered(page.items), page.next_cursor !== null);
}

/** Compares the newest posts with what is shown. */
async function check() {
  const list = feed;
  const before = list.items;
  const page = await call("GET", "/v1/timeline", { query: { limit: NEWER_MAX }, once: true });
  if (list !== feed || list.items.length === 0) return;
  const ids = remembered(page.items);
  const last = page.next_cursor === null ? "" : ids.at(-1);
  const present = new Set(ids);
  // a page is complete down to its last post: what it does not have was deleted, or its author is not followed any more
  list.remove(before.filter((id) => id >= last && !present.has(id)));
  const lowest = list.isEnded ? "" : (list.items.at(-1) ?? "");
  // a feed that has ended goes on if an author was followed elsewhere: there may be more than these
  list.goesOn = list.isEnded && page.next_cursor !== null && !ids.every((id) => list.keys.has(id));
  wait(ids.filter((id) => id >= lowest));
}

/** The feed follows the relations of the user: it is read again while the change arrives. */
function followChanged() {
  const list = homeFeed();
  waiting.set({ ids: [], isMore: false });
  for (const after of [0, ...SETTLE_MS]) setTimeout(() => list === feed && list.reread(), after);
}

async function showNew() {
  const { ids, isMore } = waiting.get();
  waiting.set({ ids: [], isMore: false });
  scrollTo({ top: 0 });
  // some between may not be known, or they are too many to keep
  if (isMore || feed.goesOn || feed.items.length > RENDERED_MAX) await feed.reset();
  else feed.insert(ids);
  // the button has gone
  document.querySelector("#main article")?.focus({ preventScroll: true });
}

/** Polls while the view is there. After failures, it waits longer. */
function usePolls(list) {
  useEffect(() => {
    let [isThere, times, pause] = [true, 0, pollMs()];
    (async () => {
      while (isThere) {
        await new Promise((done) => setTimeout(done, pause));
        if (!isThere || document.hidden || !online.get() || !list.newest) continue;
        times += 1;
        try {
          await (times % CHECK_EACH === 0 ? check() : poll());
          pause = pollMs();
        } catch {
          pause = Math.min(pause * 2, POLL_MS_MAX);
        }
      }
    })();
    return () => (isThere = false);
  }, [list]);
}

/** The button for new posts. It renders by itself, so that a poll does not render the feed. */
function NewPosts() {
  const { ids, isMore } = useValue(waiting);
  const without = useValue(gone);
  useValue(homeFeed().changed);
  const fresh = ids.filter((id) => !without.has(id) && !feed.keys.has(id)).length;
  const isSome = fresh > 0 || isMore;
  return html`
    <div role="status" class="visually-hidden">${isSome ? "There are new posts." : ""}</div>
    <div class="pill-place">
      ${isSome &&
      html`<button type="button" class="pill" onClick=${showNew}>
        ${isMore ? `${NEWER_MAX}+` : fresh} new ${fresh === 1 && !isMore ? "post" : "posts"}
      </button>`}
    </div>
  `;
}

function Home() {
  useTitle("");
  const list = homeFeed();
  useValue(list.changed);
  usePolls(list);
  usePull(list);
  useEffect(() => {
    if (list.items.length === 0) list.more();
  }, [list]);
  return html`
    <h1 class="visually-hidden">Home</h1>
    <${HomeTabs} part="" />
    <${Composer} posted=${(id) => list.insert([id])} />
    <${NewPosts} />
    <${Feed} list=${list} label="Home feed" end="You have reached the first post."
      empty=${html`<h2>Your feed is empty</h2>
        <p>Write the first post above, or follow somebody: the <a href=${to("trending", "authors")}>authors with the most likes</a> are a good start.</p>`} />
  `;
}

/** The link to the home feed, when the home feed is shown already, leads to its beginning and reads it again. */
function homeAgain() {
  scrollTo({ top: 0 });
  const { ids, isMore } = waiting.get();
  if (ids.length || isMore) showNew();
  else feed.reread();
}
