// How the system is doing: how long pages take, where they come from, and the delivery of the last post.

const SOURCES = [
  ["cache", "From the cache"],
  ["pull", "By pull"],
  ["rebuild", "Rebuilt"],
];
const WHERE = {
  cache: "from the cache, in Valkey",
  pull: "by pull, from DynamoDB and the author feeds",
  rebuild: "from the cache, after the feed was rebuilt",
};

function Status() {
  useTitle("Status");
  return html`<h1 class="title">Status</h1>
    <${Panel} /><div class="narrow-only buttons"><${AccountButtons} /></div>`;
}

function Panel() {
  const all = useValue(loads);
  const isPull = useValue(pull);
  const refused = useValue(pullsRefusedUntil);
  const isPost = useValue(route)[0] === "p";
  const last = all.at(-1);
  const seconds = useCountdown(isPull ? refused : 0);
  return html`
    <section class="panel" aria-labelledby="panel-title">
      <h2 id="panel-title">How Fanfold is doing</h2>
      <p class="last" data-last-source=${last?.source ?? ""}>
        ${last
          ? html`<span class="dot dot-${last.source}"></span>The last page came ${WHERE[last.source]}, in <b>${inMs(last.ms)}</b>.`
          : "No page was read yet."}
      </p>
      <${Plots} all=${all} />
      <table aria-label="Load times">
        <caption>In ms, of the last ${LOADS_MAX} pages of feeds that this browser read</caption>
        <thead><tr><th scope="col"><span class="visually-hidden">Source</span></th><th scope="col">Pages</th><th scope="col">Average</th><th scope="col">Min<span class="visually-hidden">imum</span></th><th scope="col">Max<span class="visually-hidden">imum</span></th></tr></thead>
        <tbody>${SOURCES.map(([source, label]) => html`<${Times} source=${source} label=${label} times=${timesOf(all, source)} />`)}</tbody>
      </table>
      <label class="switch">
        <input type="checkbox" role="switch" checked=${isPull} onChange=${(event) => pull.set(event.currentTarget.checked)} />
        <span>Read pages by pull</span>
      </label>
      <p class="hint">Pages of feeds then come from DynamoDB, to compare. Each user may read a limited number a minute.</p>
      <div role="status">${seconds > 0 && html`<p class="hint">The limit is reached: pages come from the cache for ${seconds} s.</p>`}</div>
      ${!isPost && html`<${LastDelivery} />`}
    </section>
  `;
}

/** The delivery of the user's last post. A page of a post shows that of the post itself, if it is the user's. */
function LastDelivery() {
  const own = useValue(ownPost);
  const [isNone, setNone] = useState(false);
  useEffect(() => {
    setNone(false);
    if (own) return;
    // it may have been written in another window, or the one after it was deleted
    call("GET", `/v1/users/${me.get().id}/posts`, { query: { limit: 5 } }).then(
      ({ items }) => {
        const newest = items.find(({ id }) => !gone.get().has(id));
        if (!newest) setNone(true);
        else if (!ownPost.get()) ownPost.set(newest.id);
      },
      () => {},
    );
  }, [own]);
  if (own) return html`<${Delivery} key=${own} id=${own} title=${html`<h3>Delivery of your last post</h3>`} />`;
  return html`<h3>Delivery of your last post</h3>${isNone && html`<p class="hint">You have not posted yet.</p>`}`;
}

/** The seconds that are left until a time. */
function useCountdown(until) {
  const [, again] = useAgain();
  const left = Math.ceil((until - Date.now()) / 1000);
  useEffect(() => {
    if (left <= 0) return;
    const timer = setTimeout(again, 1000);
    return () => clearTimeout(timer);
  });
  return left;
}

const timesOf = (all, source) => all.filter((load) => load.source === source).map((load) => load.ms);

function Times({ source, label, times }) {
  const average = times.reduce((sum, ms) => sum + ms, 0) / times.length;
  const cells = times.length ? [average, Math.min(...times), Math.max(...times)].map((ms) => ms.toFixed(0)) : ["–", "–", "–"];
  return html`
    <tr>
      <th scope="row"><span class="dot dot-${source}"></span>${label}</th>
      <td>${times.length}</td>
      ${cells.map((cell) => html`<td>${cell}</td>`)}
    </tr>
  `;
}

const [WIDTH, HEIGHT] = [150, 64];
const SHOWN_MAX = 50;

/** A plot for the cache and one for pulls, side by side, with the same scale. */
function Plots({ all }) {
  if (all.length === 0) return null;
  const highest = Math.max(...all.map((load) => load.ms), 1);
  return html`
    <div class="plots">
      ${SOURCES.slice(0, 2).map(([source, label]) => html`<${Plot} source=${source} label=${label} times=${timesOf(all, source)} highest=${highest} />`)}
    </div>
  `;
}

function Plot({ source, label, times, highest }) {
  const shown = times.slice(-SHOWN_MAX);
  const step = WIDTH / SHOWN_MAX;
  // the newest one is at the right
  const free = SHOWN_MAX - shown.length;
  const bars = shown.map((ms, index) => {
    const height = Math.max(1.5, (ms / highest) * (HEIGHT - 4));
    return html`<rect x=${(free + index) * step} y=${HEIGHT - height} width=${step - 0.8} height=${height} />`;
  });
  const said = shown.length ? `${shown.length} pages, the last one in ${inMs(shown.at(-1))}` : "no pages yet";
  return html`
    <figure>
      <svg role="img" class="plot plot-${source}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-label="${label}: ${said}">
        <path class="plot-base" d="M0 ${HEIGHT - 0.5}H${WIDTH}" />${bars}
      </svg>
      <figcaption>${label}<span class="hint">${shown.length ? `up to ${inMs(highest)}` : "none yet"}</span></figcaption>
    </figure>
  `;
}

const STATES = {
  pending: "The fan-out begins …",
  under_way: "The post is on its way.",
  complete: "All followers have it.",
  pulled: "Followers get it when they read: you have so many that your posts are not pushed.",
};
const RECEIPT_MS = [300, 500, 800, 1200, 2000, 3000];

/** The delivery receipt of an own post. It is read again until the delivery is complete. */
function Delivery({ id, title }) {
  const [receipt, setReceipt] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let isThere = true;
    (async () => {
      for (let time = 0; isThere && time < 200; time += 1) {
        try {
          const read = await call("GET", `/v1/posts/${id}/delivery`);
          if (!isThere) return;
          setReceipt(read);
          setError(null);
          if (read.state === "complete" || read.state === "pulled") return;
        } catch (failed) {
          if (!isThere) return;
          setError(failed);
          if (failed.status === 404) dropPost(id);
          if (failed.status === 404 || failed.status === 403) return;
        }
        do await new Promise((done) => setTimeout(done, RECEIPT_MS[time] ?? 5000));
        while (isThere && document.hidden);
      }
    })();
    return () => (isThere = false);
  }, [id]);
  const percent = Math.round((receipt?.progress ?? 0) * 100);
  return html`
    <div class="delivery">
      ${title}
      <progress max="100" value=${receipt?.state === "pulled" ? 100 : percent} aria-label="Delivered part"></progress>
      ${error && !receipt && html`<p class="hint">${inWords(error)}</p>`}
      ${receipt &&
      html`
        <p>${STATES[receipt.state]}${receipt.lag_ms === null ? "" : html` <b>${inMs(receipt.lag_ms)}</b> after it was published.`}</p>
        <dl>
          <div><dt>Followers</dt><dd>${receipt.followers === null ? "–" : count(receipt.followers)}</dd></div>
          <div><dt>Pushed</dt><dd>${count(receipt.delivered)}</dd></div>
          <div><dt>Not reading now</dt><dd>${count(receipt.not_live)}</dd></div>
        </dl>
      `}
    </div>
  `;
}
