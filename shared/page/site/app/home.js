// The home feed: endless, without repeats or gaps while others post. New posts wait behind a button.

const NEWER_MAX = 100;
const POLL_MS = Math.max(500, Number(new URLSearchParams(location.search).get("poll")) || 5000);
/** Each time of so many, the first page is read, which also shows posts that were delivered late, and deletions. */
const CHECK_EACH = 6;
/** After a follow or an unfollow, the feed changes a moment later. It is read again after these times. */
const SETTLE_MS = [700, 2500, 6000];

const NAME = "home";
/** The home feed of this user, and what is known of newer posts: {ids, isMore}. */
let feed = null;
const waiting = watchable({ ids: [], isMore: false });

function homeFeed() {
  if (feed) return feed;
  const read = async (cursor, signal) => {
    const page = await readFeed("/v1/timeline", { cursor }, { signal });
    if (cursor === null) list.newest = page.newest_cursor;
    return { items: remembered(page.items), next_cursor: page.next_cursor };
  };
  const list = listOf(NAME, read);
  feed = list;
  return list;
}

/** Forgets the home feed, as for another user. */
function forgetHome() {
  forgetLists(NAME);
  feed = null;
  waiting.set({ ids: [], isMore: false });
}

function wait(ids, isMore = false) {
  const known = new Set(waiting.get().ids);
  const fresh = ids.filter((id) => !known.has(id) && !feed.keys.has(id));
  if (fresh.length || isMore) waiting.set({ ids: [...fresh, ...known], isMore: isMore || waiting.get().isMore });
}

/** Asks for posts that are newer than the newest known one. */
async function poll() {
  const list = feed;
  const query = { newer_than: list.newest, limit: NEWER_MAX };
  const page = await call("GET", "/v1/timeline", { query });
  if (list !== feed) return;
  list.newest = page.newest_cursor;
  wait(remembered(page.items), page.next_cursor !== null);
}

/** Compares the first page with what is shown. `isDirect` shows new posts at once instead of behind the button. */
async function check(isDirect) {
  const list = feed;
  const before = list.items;
  const page = await call("GET", "/v1/timeline", {});
  if (list !== feed || list.items.length === 0) return;
  const ids = remembered(page.items);
  const last = page.next_cursor === null ? "" : ids.at(-1);
  const present = new Set(ids);
  // a page is complete down to its last post
  const lost = before.filter((id) => id >= last && !present.has(id));
  if (isDirect) {
    for (const id of lost) list.keys.delete(id);
    list.items = list.items.filter((id) => !lost.includes(id));
    list.insert(ids.filter((id) => id >= list.items.at(-1) || list.isEnded));
    list.show();
  } else {
    // a post of an author who was unfollowed elsewhere leaves with the next reload; a deleted one is gone at once
    await Promise.all(lost.slice(0, 5).map(forgetIfDeleted));
    wait(ids.filter((id) => list.isEnded || id >= (list.items.at(-1) ?? "")));
  }
}

const forgetIfDeleted = (id) =>
  call("GET", `/v1/posts/${id}`).catch((error) => {
    if (error.status === 404) forgetPosts([id]);
  });

/** The feed follows the relations of the user: it is read again while the change arrives. */
function followChanged() {
  if (!feed) return;
  feed.reset();
  waiting.set({ ids: [], isMore: false });
  for (const after of SETTLE_MS) setTimeout(() => feed && check(true).catch(() => {}), after);
}

function showNew() {
  const { ids, isMore } = waiting.get();
  waiting.set({ ids: [], isMore: false });
  scrollTo({ top: 0 });
  // so many that some between are not known: the feed begins again
  if (isMore) feed.reset();
  else feed.insert(ids);
}

function Home() {
  useTitle("");
  const list = homeFeed();
  useValue(list.changed);
  const news = useValue(waiting);
  const without = useValue(gone);
  useEffect(() => {
    if (list.items.length === 0) list.more();
    let [isThere, times] = [true, 0];
    (async () => {
      while (isThere) {
        await new Promise((done) => setTimeout(done, POLL_MS));
        if (!isThere || document.hidden || !online.get() || !list.newest) continue;
        times += 1;
        await (times % CHECK_EACH === 0 ? check(false) : poll()).catch(() => {});
      }
    })();
    return () => (isThere = false);
  }, [list]);
  const fresh = news.ids.filter((id) => !without.has(id)).length;
  return html`
    <h1 class="visually-hidden">Home</h1>
    <${Composer} posted=${(id) => list.insert([id])} />
    <div class="pill-place" aria-live="polite">
      ${(fresh > 0 || news.isMore) &&
      html`<button type="button" class="pill" onClick=${showNew}>
        ${news.isMore ? `${NEWER_MAX}+` : fresh} new ${fresh === 1 && !news.isMore ? "post" : "posts"}
      </button>`}
    </div>
    <${Feed} list=${list} label="Home feed" end="You have reached the first post."
      empty=${html`<h2>Your feed is empty</h2>
        <p>Write the first post above, or follow somebody: the <a href=${to("trending", "authors")}>authors with the most likes</a> are a good start.</p>`} />
  `;
}

/** The link to the home feed, when the home feed is shown already, leads to its beginning and reads it again. */
function homeAgain() {
  scrollTo({ top: 0 });
  if (waiting.get().ids.length || waiting.get().isMore) showNew();
  else check(true).catch(() => {});
}
