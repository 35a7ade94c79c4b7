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
    state.set(withMarks(state, post));
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
