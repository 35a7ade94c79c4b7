// Marks that the user puts on posts. Each kind has a button on every post, a list, and a link in the navigation.

/**
 * The kinds of marks. `path` ends the route, `field` says in a post whether the user put the mark, and `count` how many did.
 * `shape` is the icon.
 */
const MARKS = [
  {
    path: "like",
    field: "liked",
    count: "like_count",
    place: "likes",
    title: "Likes",
    button: "Like",
    shape: "M12 19.500S4.500 15 4.500 9.600A4 4 0 0 1 12 7.700a4 4 0 0 1 7.500 1.900C19.500 15 12 19.500 12 19.500z",
    label: "Posts that you like",
    empty: "You like no post yet. Choose the heart below a post.",
  },
  {
    path: "bookmark",
    field: "bookmarked",
    place: "bookmarks",
    title: "Bookmarks",
    button: "Bookmark",
    shape: "M7 4.500h10V20l-5-4-5 4z",
    label: "Posts that you bookmarked",
    empty: "You have no bookmarks yet. Choose the ribbon below a post. Only you see your bookmarks.",
  },
];

for (const { place, shape } of MARKS) SHAPES[place] = shape;

/** The fields of a post that a mark changes. */
const fieldsOf = ({ field, count }, post) => (count ? { [field]: post[field], [count]: post[count] } : { [field]: post[field] });

/** A post that the server has answered, without what is older than what the page knows: the content, and the user's marks. */
function withMarks(state, answered) {
  const known = state.get();
  const { text, entities, data, attachments, version, edited_at } = known?.version > answered.version ? known : answered;
  const post = { ...answered, text, entities, data, attachments, version, edited_at };
  const now = Date.now();
  const newer = MARKS.filter(({ field }) => state.marks?.[field] > now).map((kind) => fieldsOf(kind, state.get()));
  return Object.assign({}, post, ...newer);
}

/** Puts a mark, or removes it. It is shown at once, and taken back if the server refuses. */
async function changeMark(kind, id) {
  const state = postOf(id);
  const before = state.get();
  state.marks ??= {};
  if (!before || state.marks[kind.field] === Infinity) return;
  const isPut = !before[kind.field];
  const after = { ...before, [kind.field]: isPut };
  if (kind.count) after[kind.count] = Math.max(0, before[kind.count] + (isPut ? 1 : -1));
  state.marks[kind.field] = Infinity;
  state.set(after);
  try {
    await call(isPut ? "PUT" : "DELETE", `/v1/posts/${id}/${kind.path}`);
    state.marks[kind.field] = Date.now() + SETTLED_MS;
  } catch (error) {
    state.marks[kind.field] = 0;
    state.set({ ...state.get(), ...fieldsOf(kind, before) });
    if (error.status === 404) forgetPosts([id]);
    announce(inWords(error));
  }
}

/** The buttons of a post. */
function MarkButtons({ post }) {
  return MARKS.map((kind) => {
    const { path, field, place, button } = kind;
    const number = kind.count && post[kind.count];
    return html`
      <button type="button" class="toggle" aria-pressed=${post[field] ? "true" : "false"}
        aria-label=${kind.count ? `${button}, ${counted(number, path, place)}` : button} title=${kind.count ? undefined : button}
        onClick=${() => changeMark(kind, post.id)}>
        <${Icon} name=${place} filled=${post[field]} />${kind.count && html`<span>${count(number)}</span>`}
      </button>
    `;
  });
}

/** The posts that the user marked. */
function Marked({ kind }) {
  useTitle(kind.title);
  const read = async (cursor, signal) => {
    const page = await call("GET", `/v1/${kind.place}`, { query: { cursor }, signal });
    return { items: remembered(page.items), next_cursor: page.next_cursor };
  };
  const list = useList(kind.place, read);
  return html`
    <h1 class="title">${kind.title}</h1>
    <${Feed} list=${list} label=${kind.label} empty=${kind.empty} />
  `;
}
