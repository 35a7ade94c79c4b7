// A thread: a post with the posts above it, the replies below it, and the form for a reply.

const DEPTH_MAX = 5;

SHAPES.reply = "M10 6.500 4.500 12l5.500 5.500V14c5 0 7.500 1.500 9.500 4.500-.5-5.500-3.500-8.500-9.500-9z";

/** The link to the thread of a post, with the number of replies. */
function ReplyLink({ post: { id, reply_count } }) {
  return html`
    <a class="toggle" href=${to("p", id)} aria-label="Reply, ${counted(reply_count, "reply", "replies")}">
      <${Icon} name="reply" /><span>${count(reply_count)}</span>
    </a>
  `;
}

/** The posts above, and the replies, which come in the order of their times. */
function useThread(id) {
  const read = async (cursor, signal) => {
    const page = await call("GET", `/v1/posts/${encodeURIComponent(id)}/context`, { query: { cursor, order: "oldest" }, signal });
    remembered(page.ancestors.flatMap(({ post }) => post ?? []));
    list.ancestors = page.ancestors;
    return { items: remembered(page.items), next_cursor: page.next_cursor };
  };
  const list = useList(`replies:${id}`, read);
  return list;
}

/** The posts above a post. One that is gone has a place, too. */
function Ancestors({ list }) {
  const without = useValue(gone);
  if (!list.ancestors?.length) return null;
  const place = ({ id, post }) =>
    post && !without.has(id) ? html`<${Post} key=${id} id=${id} />` : html`<p key=${id} class="end" data-gone=${id}>This post is gone.</p>`;
  return html`<section class="ancestors" aria-label="Earlier in this thread">${list.ancestors.map(place)}</section>`;
}

/** The replies below a post, each under the one that it answers. */
function Replies({ id, list }) {
  const below = new Map();
  // ids sort by time; an own reply may be added before the page that has it
  for (const reply of [...list.items].sort()) {
    const above = postOf(reply).get()?.in_reply_to;
    below.set(above, [...(below.get(above) ?? []), reply]);
  }
  // what answers a post that is gone is under the post itself
  const isShown = new Set([id, ...list.items]);
  const begins = (of) => (isShown.has(of) ? of === id : true);
  const all = [];
  const depths = new Map();
  const add = (reply, depth) => {
    all.push(reply);
    depths.set(reply, Math.min(depth, DEPTH_MAX));
    for (const next of below.get(reply) ?? []) add(next, depth + 1);
  };
  for (const [above, replies] of below) if (begins(above)) for (const reply of replies) add(reply, 0);
  return html`<${Feed} list=${list} all=${all} depths=${depths} label="Replies" empty="Nobody has answered yet." />`;
}

/** The form for a reply. */
function ReplyForm({ id, list }) {
  const [{ text, key }, setDraft] = useState(emptyDraft);
  async function send() {
    refuseUnsendable(text);
    // the same key as long as the same reply is tried: it is published once
    const used = key ?? randomText(16);
    setDraft({ text, key: used });
    return call("POST", "/v1/posts", { body: { text, in_reply_to: id }, key: used });
  }
  const { submit, isBusy, error } = useSubmit(send, (made) => {
    setDraft(emptyDraft);
    remembered([made]);
    const answered = postOf(id);
    if (answered.get()) answered.set({ ...answered.get(), reply_count: answered.get().reply_count + 1 });
    list.add([made.id]);
    list.show();
    announce("Posted");
  });
  return html`
    <form class="composer" onSubmit=${submit} aria-label="New reply">
      <${TextField} label="Your reply" value=${text} change=${(next) => setDraft({ text: next, key: null })} placeholder="Reply to this post" isBusy=${isBusy} />
      <${Problem} error=${error} />
      <div class="buttons">
        <span></span>
        <button class="button button-main" aria-disabled=${isBusy || !isSendable(text) ? "true" : "false"}>Reply</button>
      </div>
    </form>
  `;
}
