// Leaderboards: those of a user, and one of them with its members.

const PLACES = 20;

const boardPath = (name) => `/v1/leaderboards/${encodeURIComponent(name)}`;

/** The boards of a user. The user's own can be made here. */
function BoardsOf({ user }) {
  const isOwn = user.id === me.get()?.id;
  const read = () => call("GET", "/v1/leaderboards", { query: { owner: user.id } });
  const [boards, error, again] = useRead(`boards:${user.id}`, read);
  if (error) return html`<${Trouble} error=${error} again=${again} />`;
  if (!boards) return html`<${Skeleton} lines=${2} />`;
  return html`
    ${boards.items.length === 0 && html`<div class="empty">${isOwn ? "You have no leaderboard yet." : `@${user.handle} has no leaderboard.`}</div>`}
    <ul class="cards">
      ${boards.items.map(
        (board) => html`
          <li>
            <a class="card" href=${to("boards", board.owner, board.name)}>
              <strong dir="auto">${board.name}</strong>
              <span class="hint">${inShort(board)}</span>
            </a>
          </li>
        `,
      )}
    </ul>
    ${isOwn && html`<${NewBoard} />`}
  `;
}

const ORDERS = { descending: "Highest score first", ascending: "Lowest score first" };

/** In which order the scores count. */
function inOrder(orders) {
  if (orders.length === 1) return ORDERS[orders[0]];
  return orders.map((order, index) => `Score ${index + 1}: ${ORDERS[order].split(" ")[0].toLowerCase()} first`).join(", ");
}

function inShort({ orders, period, merge, open }) {
  const times = { all: "", day: "each day", week: "each week", month: "each month" }[period];
  const parts = [inOrder(orders), times, merge && "merged", open && "open to everybody"];
  return parts.filter(Boolean).join(" · ");
}

function NewBoard() {
  const [name, setName] = useState("");
  const [order, setOrder] = useState("descending");
  const make = () => call("PUT", boardPath(name), { body: { orders: [order] } });
  const { submit, isBusy, error } = useSubmit(make, (board) => go(to("boards", board.owner, board.name)));
  return html`
    <form class="sheet-part" onSubmit=${submit} aria-labelledby="new-board">
      <h2 id="new-board">New board</h2>
      <${Field} label="Board name" value=${name} change=${setName} required maxlength="128" />
      <div class="field">
        <label for="new-board-order">Order</label>
        <select id="new-board-order" value=${order} onChange=${(event) => setOrder(event.currentTarget.value)}>
          ${Object.entries(ORDERS).map(([value, label]) => html`<option value=${value}>${label}</option>`)}
        </select>
      </div>
      <${Problem} error=${error} />
      <div class="buttons"><button class="button button-main" aria-disabled=${isBusy || !name.trim() ? "true" : "false"}>Create board</button></div>
    </form>
  `;
}

/** The own boards. */
function Boards() {
  useTitle("Leaderboards");
  const user = useValue(me);
  return html`
    <h1 class="title">Leaderboards</h1>
    <${BoardsOf} user=${user} />
    <p class="end">The boards of others are on their profiles.</p>
  `;
}

/** A board, from a place on, or around a member. */
function Board({ owner, name, member }) {
  const [offset, setOffset] = useState(0);
  const own = useValue(me);
  const read = () =>
    member
      ? call("GET", `${boardPath(name)}/around/${encodeURIComponent(member)}`, { query: { owner, above: 9, below: 10 } })
      : call("GET", boardPath(name), { query: { owner, offset, limit: PLACES } });
  const [page, error, again] = useRead(`board:${owner}/${name}/${member}/${offset}`, read);
  useTitle(name);
  if (error?.type === "/problems/no-such-member") {
    return html`<${Nothing} title="No such member" text="${member} is not on this board." />`;
  }
  if (error?.status === 404 || error?.status === 400) return html`<${Nothing} title="No such board" text="It was deleted, or never existed." />`;
  if (error) return html`<${Trouble} error=${error} again=${again} />`;
  if (!page) return html`<${Skeleton} lines=${3} />`;
  const { board, items, members } = page;
  const mayWrite = !board.merge && (board.open || board.owner === own?.id || board.writers.includes(own?.id));
  const scores = board.orders.map((_, index) => (board.orders.length === 1 ? "Score" : `Score ${index + 1}`));
  return html`
    <h1 class="title" dir="auto">${board.name}</h1>
    <p class="hint">${inShort(board)} · ${counted(members, "member", "members")}${page.round.ends_at ? ` · until ${moment(page.round.ends_at)}` : ""}</p>
    <p class="hint"><${UserLink} key=${owner} before="By " user=${owner} /></p>
    ${member &&
    html`<p class="hint">Around <b dir="auto">${member}</b>. <a href=${to("boards", owner, name)}>Whole board</a> <${UserLink} key=${member} before="· Profile of " user="@${member}" /></p>`}
    ${items.length === 0
      ? html`<div class="empty">This board has no members yet.</div>`
      : html`
          <div class="wide">
            <table class="board" aria-label=${board.name}>
              <thead><tr><th scope="col">Rank</th><th scope="col">Member</th>${scores.map((score) => html`<th scope="col" class="score">${score}</th>`)}</tr></thead>
              <tbody>
                ${items.map(
                  (item) => html`
                    <tr key=${item.member} class=${item.member === (member || own?.handle) ? "own" : ""}>
                      <td data-rank>${item.rank}</td>
                      <th scope="row" dir="auto"><a href=${to("boards", owner, name, item.member)}>${item.member}</a></th>
                      ${item.scores.map((score) => html`<td class="score">${score}</td>`)}
                    </tr>
                  `,
                )}
              </tbody>
            </table>
          </div>
        `}
    <div class="buttons">
      ${offset > 0 && html`<button type="button" class="button" onClick=${() => setOffset(Math.max(0, offset - PLACES))}>Previous places</button>`}
      ${!member && offset + PLACES < members && html`<button type="button" class="button" onClick=${() => setOffset(offset + PLACES)}>Next places</button>`}
    </div>
    ${mayWrite && html`<${SetScores} key="${owner}/${name}" board=${board} changed=${again} />`}
  `;
}

/** A link to a user, by id or @handle, if there is one. */
function UserLink({ before, user }) {
  const isPossible = /^(@[a-z0-9_]{1,30}|[0-9a-f]{16})$/.test(user);
  const read = async () => isPossible && seen([await call("GET", `/v1/users/${user}`)])[0];
  const [found] = useRead(`link:${user}`, read);
  return found && html`${before}<a href=${to("u", found.handle)}>@${found.handle}</a>`;
}

function SetScores({ board, changed }) {
  const [member, setMember] = useState("");
  const [scores, setScores] = useState(board.orders.map(() => ""));
  const send = () =>
    call("PUT", `${boardPath(board.name)}/members/${encodeURIComponent(member)}`, { query: { owner: board.owner }, body: { scores } });
  const { submit, isBusy, error } = useSubmit(send, (done) => {
    announce(done.rank === null ? "The scores are saved." : `${done.member} is now at rank ${done.rank}.`);
    setMember("");
    setScores(board.orders.map(() => ""));
    changed();
  });
  return html`
    <form class="sheet-part" onSubmit=${submit} aria-labelledby="set-scores">
      <h2 id="set-scores">Set scores</h2>
      <div class="fields">
        <${Field} label="Member" value=${member} change=${setMember} required maxlength="128" />
        ${scores.map(
          (score, index) => html`<${Field} label=${`Score ${index + 1}`} value=${score} required inputmode="numeric" pattern="-?[0-9]+"
            title="A whole number" change=${(next) => setScores(scores.with(index, next))} />`,
        )}
      </div>
      <${Problem} error=${error} />
      <div class="buttons"><button class="button button-main" aria-disabled=${isBusy ? "true" : "false"}>Save scores</button></div>
    </form>
  `;
}
