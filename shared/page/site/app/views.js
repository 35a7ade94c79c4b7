// Smaller views: one post with its thread, and rankings.

/** One post with its thread and the users who like it. Its author also sees its delivery. */
function SinglePost({ id }) {
  const read = () => call("GET", `/v1/posts/${encodeURIComponent(id)}`).then((post) => remembered([post]) && post);
  const [post, error, again] = useRead(`post:${id}`, read);
  const own = useValue(me);
  const isGone = useValue(gone).has(id);
  const thread = useThread(id);
  useTitle(post ? `${post.author.name}: ${post.text.slice(0, 60)}` : "Post");
  if (isGone || error?.status === 404 || error?.status === 400) {
    return html`<${Nothing} title="No such post" text="It was deleted, or never existed." />`;
  }
  if (error) return html`<${Trouble} error=${error} again=${again} />`;
  if (!post) return html`<${Skeleton} lines=${1} />`;
  return html`
    <h1 class="visually-hidden">Post by ${post.author.name}</h1>
    <${Ancestors} list=${thread} />
    <div class="feed feed-single"><${Post} id=${id} /></div>
    <${ReplyForm} key=${id} id=${id} list=${thread} />
    <${Replies} id=${id} list=${thread} />
    ${post.author.id === own?.id && html`<section class="sheet-part"><${Delivery} id=${id} title=${html`<h2>Delivery of this post</h2>`} /></section>`}
    <h2 class="part">Liked by</h2>
    <${Likers} id=${id} />
  `;
}

function Likers({ id }) {
  const post = useValue(postOf(id));
  // the own like is in the list at once
  return html`<${People} key=${String(post?.liked)} name="likers:${id}:${post?.liked}" path="/v1/posts/${id}/likes" empty="Nobody likes this post yet." />`;
}

const RANKINGS = [
  ["", "posts-day", "Today"],
  ["week", "posts-week", "This week"],
  ["authors", "authors", "Authors"],
  ["tags", "tags-day", "Tags"],
];

/** Posts and authors by likes, and tags in use. */
function Trending({ part }) {
  const [, name, label] = RANKINGS.find(([segment]) => segment === part) ?? RANKINGS[0];
  useTitle("Trending");
  return html`
    <h1 class="title">Trending</h1>
    <nav class="tabs" aria-label="Rankings">
      ${RANKINGS.map(
        ([segment, , text]) =>
          html`<a href=${segment ? to("trending", segment) : to("trending")} aria-current=${segment === part ? "page" : undefined}>${text}</a>`,
      )}
    </nav>
    <${Ranking} key=${name} name=${name} label=${label} />
  `;
}

function Ranking({ name }) {
  const read = async (cursor, signal) => {
    const page = await call("GET", `/v1/rankings/${name}`, { query: { cursor }, signal });
    list.madeAt = page.made_at;
    for (const { post, user } of page.items) {
      if (post) remembered([post]);
      if (user) seen([user]);
    }
    return page;
  };
  const list = useList(`ranking:${name}`, read, ({ post, user, tag }) => tag?.tag ?? (post ?? user).id);
  const likes = (number) => counted(number, "like", "likes");
  const of = { "posts-day": "in the last day", "posts-week": "in the last week" }[name];
  const empty = html`<h2>Nothing is trending yet</h2><p>Likes lead to this list, a few seconds later.</p>`;
  if (name === "tags-day") {
    const none = html`<h2>No tags yet</h2><p>Write a word with # in a post.</p>`;
    return html`<${TagsInUse} list=${list} empty=${none} /><${MadeAt} time=${list.madeAt} />`;
  }
  if (name === "authors") {
    return html`
      <ol class="people" aria-busy=${list.isLoading ? "true" : "false"}>
        ${list.items.map((item) => html`<${Person} key=${item.user.id} user=${item.user} rank=${item.rank} note=${likes(item.likes)} />`)}
      </ol>
      <${ListEnd} list=${list} empty=${empty} />
      <${MadeAt} time=${list.madeAt} />
    `;
  }
  const ids = list.items.map(({ post }) => post.id);
  const ranks = new Map(list.items.map((item) => [item.post.id, item.rank]));
  const notes = new Map(list.items.map((item) => [item.post.id, `${likes(item.likes)} ${of}`]));
  return html`
    <${Feed} list=${list} all=${ids} label="Trending posts" ranks=${ranks} notes=${notes} empty=${empty} />
    <${MadeAt} time=${list.madeAt} />
  `;
}

const MadeAt = ({ time }) => time && html`<p class="end">As of ${moment(time)}. A new list is made about once a minute.</p>`;
