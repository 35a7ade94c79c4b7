// Authors: their pages, lists of users, and follow buttons.

/** Users whose relation was changed on this page: what is shown is newer than what lists say. */
const relations = new Map();

function relationOf(user) {
  if (!relations.has(user.id)) relations.set(user.id, watchable(user.you_follow));
  return relations.get(user.id);
}

/** The followers of a user. The server counts those of this page a moment later; until then, they are added here. */
function followersOf(user) {
  const { ahead } = relationOf(user);
  return user.followers + (ahead?.of === user.followers ? ahead.change : 0);
}

/** Notes users that the server has answered. */
function seen(users) {
  for (const user of users) {
    const relation = relationOf(user);
    if (relation.ahead?.of !== user.followers) relation.ahead = null;
    if (!(relation.settledAt > Date.now())) relation.set(user.you_follow);
  }
  return users;
}

function FollowButton({ user, changed = () => {} }) {
  const relation = relationOf(user);
  const follows = useValue(relation);
  if (user.id === me.get()?.id) return null;
  async function change() {
    if (relation.isChanging) return;
    relation.isChanging = true;
    relation.settledAt = Infinity;
    const before = relation.ahead;
    relation.ahead = { of: user.followers, change: followersOf(user) - user.followers + (follows ? -1 : 1) };
    relation.set(!follows);
    try {
      await call(follows ? "DELETE" : "PUT", `/v1/users/${user.id}/follow`);
      announce(follows ? `You no longer follow @${user.handle}.` : `You follow @${user.handle}.`);
      forgetLists("users:");
      followChanged();
      readMe().catch(() => {});
      changed();
      relation.settledAt = Date.now() + SETTLED_MS;
    } catch (error) {
      relation.settledAt = 0;
      relation.ahead = before;
      relation.set(follows);
      announce(inWords(error));
    }
    relation.isChanging = false;
  }
  return html`
    <button type="button" class="button ${follows ? "" : "button-main"}" onClick=${change}>
      ${follows ? "Unfollow" : "Follow"}<span class="visually-hidden"> @${user.handle}</span>
    </button>
  `;
}

/** A user in a list. */
function Person({ user, rank = null, note = "" }) {
  useValue(relationOf(user));
  const followers = counted(followersOf(user), "follower", "followers");
  return html`
    <li class="person">
      ${rank === null ? "" : html`<span class="rank" data-rank>${rank}</span>`}
      <${Sign} handle=${user.handle} name=${user.name} />
      <div class="person-body">
        <a class="name" href=${to("u", user.handle)} dir="auto">${user.name}</a>
        <span class="handle">@${user.handle}</span>
        <p class="hint">${note ? `${note} · ${followers}` : `${followers} · ${counted(user.posts, "post", "posts")}`}</p>
      </div>
      <${FollowButton} user=${user} />
    </li>
  `;
}

/** A list of users by pages. */
function People({ name, path, empty }) {
  const read = async (cursor, signal) => {
    const page = await call("GET", path, { query: { cursor, limit: 30 }, signal });
    return { items: seen(page.items), next_cursor: page.next_cursor };
  };
  const list = useList(name, read, (user) => user.id);
  return html`
    <ul class="people" aria-busy=${list.isLoading ? "true" : "false"}>
      ${list.items.map((user) => html`<${Person} key=${user.id} user=${user} />`)}
    </ul>
    <${ListEnd} list=${list} empty=${empty} />
  `;
}

/** The page of an author, by handle or by id. */
function Author({ handle, id, part }) {
  const own = useValue(me);
  const which = id ? encodeURIComponent(id) : `@${encodeURIComponent(handle)}`;
  const read = () => call("GET", `/v1/users/${which}`).then((user) => seen([user])[0]);
  // the own numbers change with what the user does on other views
  const [user, error, again] = useRead(`user:${which}`, read, [own?.name, own?.following]);
  // the server counts a follow of this page a moment later
  const changed = () => SETTLE_MS.forEach((after) => setTimeout(again, after));
  useTitle(user ? `${user.name} (@${user.handle})` : which);
  if (error) {
    if (error.status === 404 || error.status === 400) return html`<${Nothing} title="No such user" text=${id ? "This user has left." : `Nobody has the handle @${handle}.`} />`;
    return html`<${Trouble} error=${error} again=${again} />`;
  }
  if (!user) return html`<${Skeleton} lines=${2} />`;
  return html`<${Profile} ...${{ user, handle: user.handle, part, own, changed }} />`;
}

function Profile({ user, handle, part, own, changed }) {
  const [isEditing, setEditing] = useState(false);
  useValue(relationOf(user));
  const isOwn = user.id === own?.id;
  const tabs = [
    ["", "Posts", user.posts],
    ["followers", "Followers", followersOf(user)],
    ["following", "Following", user.following],
    ["boards", "Boards", null],
  ];
  return html`
    <section class="author" aria-label="Profile">
      <${Sign} handle=${user.handle} name=${user.name} large />
      <div>
        <h1 dir="auto">${user.name}</h1>
        <p class="handle">@${user.handle}</p>
      </div>
      ${isOwn
        ? html`<button type="button" class="button" onClick=${() => setEditing(true)}>Edit profile</button>`
        : html`<${FollowButton} user=${user} changed=${changed} />`}
    </section>
    <${About} about=${isOwn ? own.about : user.about} />
    <nav class="tabs" aria-label="Parts of the profile">
      ${tabs.map(
        ([name, label, number]) => html`
          <a href=${name ? to("u", handle, name) : to("u", handle)} aria-current=${part === name ? "page" : undefined}>
            ${label}${number === null ? "" : html` <span class="number">${count(number)}</span>`}
          </a>
        `,
      )}
    </nav>
    ${part === "" && html`<${AuthorFeed} key=${user.id} user=${user} isOwn=${isOwn} />`}
    ${part === "followers" && html`<${People} key="followers" name="users:${user.id}:followers" path="/v1/users/${user.id}/followers" empty="Nobody follows @${handle} yet." />`}
    ${part === "following" && html`<${People} key="following" name="users:${user.id}:following" path="/v1/users/${user.id}/following" empty="@${handle} follows nobody yet." />`}
    ${part === "boards" && html`<${BoardsOf} key="boards" user=${user} />`}
    ${isEditing &&
    html`<${Dialog} title="Edit profile" close=${() => setEditing(false)}>
      <${ProfileForm} profile=${own} close=${() => setEditing(false)} saved=${() => {
        setEditing(false);
        announce("The profile is saved.");
        if (me.get().handle !== handle) go(to("u", me.get().handle));
      }} />
    <//>`}
    ${isOwn && html`<div class="narrow-only buttons"><a class="button button-quiet" href=${to("status")}><${Icon} name="status" />Status</a><${AccountButtons} /></div>`}
  `;
}

/** The posts of a feed of the API. */
function FeedOf({ name, path, ...texts }) {
  const read = async (cursor, signal) => {
    const page = await readFeed(path, { cursor }, { signal });
    return { items: remembered(page.items), next_cursor: page.next_cursor };
  };
  const list = useList(name, read);
  usePull(list);
  return html`<${Feed} list=${list} end="You have reached the first post." ...${texts} />`;
}

const AuthorFeed = ({ user, isOwn }) => html`
  <${FeedOf} name=${`posts:${user.id}`} path=${`/v1/users/${user.id}/posts`} label="Posts by @${user.handle}"
    empty=${isOwn ? "You have not posted yet." : `@${user.handle} has not posted yet.`} />
`;

/** What is shown instead of something that does not exist. */
function Nothing({ title, text }) {
  return html`
    <div class="empty">
      <h1>${title}</h1>
      <p>${text}</p>
      <a class="button" href="#/">To the home feed</a>
    </div>
  `;
}
