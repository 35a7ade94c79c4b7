// Begins here: which view is shown for an address.

/** The view of an address. */
function View({ segments }) {
  const [first = "", second = "", third = "", fourth = ""] = segments;
  const kind = MARKS.find(({ place }) => place === first);
  if (kind) return html`<${Marked} key=${first} kind=${kind} />`;
  switch (first) {
    case "":
      return html`<${Home} />`;
    case "u":
      return html`<${Author} key=${second} handle=${second} part=${third} />`;
    case "id":
      return html`<${Author} key=${second} id=${second} part=${third} />`;
    case "profile":
      return html`<${Author} handle=${me.get().handle} part=${second} />`;
    case "p":
      return html`<${SinglePost} key=${second} id=${second} />`;
    case "trending":
      return html`<${Trending} part=${second} />`;
    case "tags":
      return second ? html`<${TagPosts} key=${second} tag=${second} />` : html`<${Tags} />`;
    case "everybody":
      return html`<${Everybody} />`;
    case "boards":
      return second ? html`<${Board} key="${second}/${third}/${fourth}" owner=${second} name=${third} member=${fourth} />` : html`<${Boards} />`;
    case "scheduled":
      return html`<${Scheduled} />`;
    case "status":
      return html`<${Status} />`;
    default:
      return html`<${Nothing} title="No such page" text="The address leads nowhere." />`;
  }
}

function SignedIn() {
  const user = useValue(me);
  const segments = useValue(route);
  const [error, setError] = useState(null);
  const [times, again] = useAgain();
  useEffect(() => {
    setError(null);
    readMe().catch(setError);
    askPublic();
  }, [times]);
  usePlace(segments.join("/"));
  if (error && user === undefined) return html`<main class="lone"><${Trouble} error=${error} again=${again} /></main>`;
  if (user === undefined) return html`<main class="lone"><${Skeleton} lines=${3} /></main>`;
  if (user === null) return html`<${FirstProfile} />`;
  return html`<${Frame} segments=${segments}><${View} segments=${segments} /><//>`;
}

function App() {
  const now = useValue(session);
  return html`
    ${now ? html`<${SignedIn} />` : html`<${SignedOut} />`}
    <${Notices} />
  `;
}

await returnFromIssuer();
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);
