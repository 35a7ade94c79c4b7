// The posts that the page knows. Every view of a post shows the same state: a like in one list is seen in all.

const known = new Map();
/** The ids of posts that are gone. Lists leave them out. */
const gone = watchable(new Set());
/** The newest post of the user in this tab, for its delivery status. */
const ownPost = watchable(sessionStorage.getItem("fanfold.own-post"));

ownPost.watch(() => sessionStorage.setItem("fanfold.own-post", ownPost.get() ?? ""));

/** The state of a post. Null until it is known. */
function postOf(id) {
  if (!known.has(id)) known.set(id, watchable(null));
  return known.get(id);
}

/** Notes posts that the server has answered, and returns their ids. */
function remembered(posts) {
  return posts.map((post) => {
    const state = postOf(post.id);
    // an answer may be older than a like that is under way
    if (!state.get()?.changing) state.set(post);
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
  if (!before || before.changing) return;
  const liked = !before.liked;
  const like_count = Math.max(0, before.like_count + (liked ? 1 : -1));
  state.set({ ...before, liked, like_count, changing: true });
  try {
    await call(liked ? "PUT" : "DELETE", `/v1/posts/${id}/like`);
    state.set({ ...before, liked, like_count });
  } catch (error) {
    state.set(before);
    if (error.status === 404) forgetPosts([id]);
    announce(inWords(error));
  }
}

/** Deletes an own post. */
async function deletePost(id) {
  await call("DELETE", `/v1/posts/${id}`);
  forgetPosts([id]);
  if (ownPost.get() === id) ownPost.set(null);
  announce("The post is deleted.");
}
