// A post in a list, and on a page of its own.

/** A post. `position` and `size` are its place in the feed. */
function Post({ id, position, size = -1, rank = null, note = "", depth = 0 }) {
  const post = useValue(postOf(id));
  const user = useValue(me);
  const [open, setOpen] = useState("");
  const close = () => setOpen("");
  if (!post) return null;
  const { author } = post;
  const isOwn = author.id === user?.id;
  return html`
    <article class=${depth ? `post depth-${depth}` : "post"} data-id=${id} tabindex="0" aria-posinset=${position} aria-setsize=${size}
      aria-labelledby="author-${id}" aria-describedby="text-${id}">
      ${rank === null ? "" : html`<span class="rank" data-rank>${rank}</span>`}
      <${Sign} handle=${author.handle} name=${author.name} />
      <div class="post-body">
        <header>
          <a class="name" id="author-${id}" href=${to("u", author.handle)} dir="auto">${author.name}</a>
          <span class="handle">@${author.handle}</span>
          <a class="time" href=${to("p", id)}><${Ago} time=${post.created_at} /></a>
          <${EditedMark} post=${post} />
        </header>
        ${post.in_reply_to && html`<a class="hint" href=${to("p", post.in_reply_to)}>In reply to a post</a>`}
        <div id="text-${id}"><${Text} post=${post} /></div>
        <footer>
          <${ReplyLink} post=${post} />
          <${MarkButtons} post=${post} />
          ${note && html`<span class="hint">${note}</span>`}
          ${isOwn &&
          html`<span class="own">
            <button type="button" aria-label="Edit post" title="Edit post" onClick=${() => setOpen("edit")}><${Icon} name="edit" /></button>
            <button type="button" class="delete" aria-label="Delete post" title="Delete post" onClick=${() => setOpen("delete")}>
              <${Icon} name="delete" />
            </button>
          </span>`}
        </footer>
      </div>
      ${open === "edit" && html`<${EditPost} post=${post} close=${close} />`}
      ${open === "delete" &&
      html`<${Confirm} title="Delete this post?" text="It disappears from every feed. This cannot be undone." yes="Delete" no="Keep"
        act=${() => deletePost(id)} close=${close} />`}
    </article>
  `;
}

/** A feed of posts: a list, and the ids of its items if these are not the ids. `notes`, `ranks` and `depths` are by id. */
function Feed({ list, all = list.items, label, empty, end, ranks = null, notes = null, depths = null }) {
  const without = useValue(gone);
  const ids = all.filter((id) => !without.has(id));
  const size = list.isEnded ? ids.length : -1;
  return html`
    <div role=${ids.length || list.isLoading ? "feed" : undefined} aria-label=${ids.length || list.isLoading ? label : undefined} aria-busy=${list.isLoading ? "true" : "false"} class="feed" onKeyDown=${moveInFeed}>
      ${ids.map(
        (id, index) =>
          html`<${Post} key=${id} id=${id} position=${index + 1} size=${size} rank=${ranks?.get(id) ?? null} note=${notes?.get(id) ?? ""} depth=${depths?.get(id) ?? 0} />`,
      )}
    </div>
    <${ListEnd} list=${list} shown=${ids.length} empty=${empty} end=${end} />
  `;
}

const FOCUSABLE = "a[href], button:not(:disabled), input, select, textarea, [tabindex='0']";

/** Moves the focus to what is before or behind an element. */
function leave(element, isBack) {
  const side = isBack ? Node.DOCUMENT_POSITION_PRECEDING : Node.DOCUMENT_POSITION_FOLLOWING;
  const all = [...document.querySelectorAll(FOCUSABLE)].filter((one) => one.checkVisibility() && !element.contains(one));
  const there = all.filter((one) => element.compareDocumentPosition(one) & side);
  (isBack ? there.at(-1) : there[0])?.focus();
}

/** The keys that the role `feed` promises: Page Down and Page Up move between posts, Control and End or Home leave the feed. */
function moveInFeed(event) {
  if (event.ctrlKey && ["End", "Home"].includes(event.key)) {
    event.preventDefault();
    leave(event.currentTarget, event.key === "Home");
    return;
  }
  const step = { PageDown: 1, PageUp: -1 }[event.key];
  const post = event.target.closest("article");
  if (!step || !post || event.target.closest("dialog")) return;
  const next = step > 0 ? post.nextElementSibling : post.previousElementSibling;
  if (!next) return;
  event.preventDefault();
  next.focus();
}
