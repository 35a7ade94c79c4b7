// The posts that the page knows. Every view of a post shows the same state: a like in one list is seen in all.

const known = new Map();
/** The ids of posts that are gone. Lists leave them out. */
const gone = watchable(new Set());
/** The newest post of the user in this tab, for its delivery status. */
const ownPost = watchable(kept("sessionStorage", "fanfold.own-post"));

ownPost.watch(() => keep("sessionStorage", "fanfold.own-post", ownPost.get()));

/** Posts that are kept although no list has them. */
const KNOWN_MAX = 1500;
/** For this time after a change, answers do not change it back: they may be older. The number of likes takes seconds, too. */
const SETTLED_MS = 5000;

/** Forgets posts that nothing shows, and that no list will show again. */
function tidy() {
  if (known.size <= KNOWN_MAX) return;
  const listed = listedIds();
  for (const [id, state] of known) {
    if (!state.isWatched() && !listed.has(id)) known.delete(id);
  }
}

/** The state of a post. Null until it is known. */
function postOf(id) {
  if (!known.has(id)) known.set(id, watchable(null));
  return known.get(id);
}

/** Notes posts that the server has answered, and returns their ids. */
function remembered(posts) {
  tidy();
  return posts.map((post) => {
    const state = postOf(post.id);
    const { liked, like_count } = state.get() ?? {};
    const isSettled = !(state.settledAt > Date.now());
    state.set(isSettled ? post : { ...post, liked, like_count });
    return post.id;
  });
}

/** Shows the present name and handle of an author on the known posts. */
function renameAuthor({ id, handle, name }) {
  for (const state of known.values()) {
    const post = state.get();
    if (post?.author.id === id) state.set({ ...post, author: { id, handle, name } });
  }
}

function forgetPosts(ids) {
  if (ids.some((id) => !gone.get().has(id))) gone.set(new Set([...gone.get(), ...ids]));
}

/** Likes a post or takes the like back. It is shown at once, and taken back if the server refuses. */
async function changeLike(id) {
  const state = postOf(id);
  const before = state.get();
  if (!before || state.isChanging) return;
  const liked = !before.liked;
  const like_count = Math.max(0, before.like_count + (liked ? 1 : -1));
  state.isChanging = true;
  state.settledAt = Infinity;
  state.set({ ...before, liked, like_count });
  try {
    await call(liked ? "PUT" : "DELETE", `/v1/posts/${id}/like`);
    state.settledAt = Date.now() + SETTLED_MS;
  } catch (error) {
    state.settledAt = 0;
    state.set({ ...state.get(), liked: before.liked, like_count: before.like_count });
    if (error.status === 404) forgetPosts([id]);
    announce(inWords(error));
  }
  state.isChanging = false;
}

/** Deletes an own post. */
async function deletePost(id) {
  await call("DELETE", `/v1/posts/${id}`);
  dropPost(id);
  announce("The post is deleted.");
}

/** Notes that an own post is gone. */
function dropPost(id) {
  forgetPosts([id]);
  if (ownPost.get() === id) ownPost.set(null);
}
