// Tags: the posts of one, those that the user follows, and those of everybody.

/** The path of a tag in the API. */
const tagPath = (tag, rest = "") => `/v1/tags/${encodeURIComponent(`#${tag}`)}${rest}`;

const TagLink = ({ tag, name }) => html`<a href=${to("tags", tag)} dir="auto">#${name}</a>`;

/** A list of tags. */
const TagLinks = ({ tags, label }) =>
  tags?.length > 0 && html`<ul class="tags" aria-label=${label}>${tags.map((tag) => html`<li key=${tag.tag}><${TagLink} ...${tag} /></li>`)}</ul>`;

/** The posts with a tag. */
function TagPosts({ tag }) {
  const [found, error, again] = useRead(`tag:${tag}`, () => call("GET", tagPath(tag)));
  useTitle(`#${found?.name ?? tag}`);
  if (error?.status === 400) return html`<${Nothing} title="No such tag" text="A tag has letters." />`;
  if (error) return html`<${Trouble} error=${error} again=${again} />`;
  if (!found) return html`<${Skeleton} lines=${2} />`;
  return html`
    <section class="author" aria-label="Tag">
      <span class="sign sign-large sign-0" aria-hidden="true">#</span>
      <div>
        <h1 dir="auto">#${found.name}</h1>
        <p class="hint">${counted(found.posts, "post", "posts")} of ${counted(found.authors, "author", "authors")} in the last seven days</p>
      </div>
      <${FollowTag} key=${found.tag} tag=${found} changed=${again} />
    </section>
    <${FeedOf} key=${found.tag} name=${`tag-posts:${found.tag}`} path=${tagPath(found.tag, "/posts")} label="Posts with #${found.name}" empty="No post has #${found.name}." />
  `;
}

function FollowTag({ tag: { name, following }, changed }) {
  const [follows, setFollows] = useState(following);
  async function change() {
    setFollows(!follows);
    try {
      await call(follows ? "DELETE" : "PUT", tagPath(name, "/follow"));
      announce(follows ? `You no longer follow #${name}.` : `You follow #${name}.`);
      forgetLists("tags-timeline");
      changed();
    } catch (error) {
      setFollows(follows);
      announce(inWords(error));
    }
  }
  return html`
    <button type="button" class="button ${follows ? "" : "button-main"}" onClick=${change}>
      ${follows ? "Unfollow" : "Follow"}<span class="visually-hidden"> #${name}</span>
    </button>
  `;
}

/** The followed tags with their posts, and a search. */
function Tags() {
  useTitle("Tags");
  const [found, error, again] = useRead("tags", () => call("GET", "/v1/tags"));
  if (error) return html`<${Trouble} error=${error} again=${again} />`;
  const empty = html`<h2>No posts yet</h2><p>Choose a tag in a post and follow it, or look at the <a href=${to("trending", "tags")}>tags in use</a>.</p>`;
  return html`
    <h1 class="title">Tags</h1>
    <${FindTag} />
    <${TagLinks} tags=${found?.items} label="Tags that you follow" />
    <${FeedOf} name="tags-timeline" path="/v1/tags/timeline" label="Posts of the tags that you follow" empty=${empty} />
  `;
}

/** Finds a tag by its beginning. */
function FindTag() {
  const [text, setText] = useState("");
  const [found, setFound] = useState([]);
  const beginning = text.trim();
  useEffect(() => {
    if (beginning === "") return void setFound([]);
    const reader = new AbortController();
    const timer = setTimeout(() => {
      call("GET", "/v1/tags", { query: { q: beginning }, signal: reader.signal, once: true }).then(({ items }) => setFound(items), () => {});
    }, 150);
    return () => (clearTimeout(timer), reader.abort());
  }, [beginning]);
  const submit = (event) => {
    event.preventDefault();
    if (beginning) go(to("tags", beginning.replace(/^[#\uff03\ufe5f]/, "")));
  };
  return html`
    <form class="find" role="search" onSubmit=${submit}>
      <${Field} label="Find a tag" value=${text} change=${setText} maxlength="100" autocomplete="off" />
      <${TagLinks} tags=${found} label="Tags that begin like this" />
    </form>
  `;
}

/** Tags by the authors who used them in the last day. */
function TagsInUse({ list, empty }) {
  return html`
    <ol class="people" aria-busy=${list.isLoading ? "true" : "false"}>
      ${list.items.map(
        ({ rank, authors, tag }) => html`
          <li key=${tag.tag} class="person">
            <span class="rank" data-rank>${rank}</span>
            <div class="person-body"><span class="name"><${TagLink} ...${tag} /></span><p class="hint">${counted(authors, "author", "authors")} in the last day</p></div>
          </li>
        `,
      )}
    </ol>
    <${ListEnd} list=${list} empty=${empty} />
  `;
}

/** Whether there is a feed of everybody. */
const isPublic = watchable(false);

async function askPublic() {
  try {
    await call("GET", "/v1/public", { query: { limit: 1 }, once: true });
    isPublic.set(true);
  } catch {
    // the operator has not turned it on
  }
}

/** The posts of everybody. */
function Everybody() {
  useTitle("Everybody");
  return html`
    <h1 class="visually-hidden">Everybody</h1>
    <${HomeTabs} part="everybody" />
    <${FeedOf} name="public" path="/v1/public" label="Posts of everybody" end="Older posts are with their authors." empty="Nobody has posted lately." />
  `;
}

/** The home feed, and that of everybody. */
function HomeTabs({ part }) {
  if (!useValue(isPublic)) return null;
  const tabs = [["", "Following"], ["everybody", "Everybody"]];
  return html`
    <nav class="tabs" aria-label="Feeds">
      ${tabs.map(([segment, text]) => html`<a href="#/${segment}" aria-current=${segment === part ? "page" : undefined}>${text}</a>`)}
    </nav>
  `;
}
