// Lists that are read page by page while the reader scrolls. They stay in memory, so that going back shows them at once.

const LISTS_MAX = 30;
const lists = new Map();

/** A list. `read(cursor)` returns {items, next_cursor}, and `keyOf(item)` what makes an item unique. */
class List {
  constructor(read, keyOf) {
    this.read = read;
    this.keyOf = keyOf;
    this.changed = watchable(0);
    this.items = [];
    this.keys = new Set();
    this.cursor = null;
    this.isEnded = false;
    this.isLoading = false;
    this.error = null;
    this.reader = null;
  }

  show() {
    this.changed.set(this.changed.get() + 1);
  }

  /** Reads the next page, unless this is under way, or the list has ended. */
  async more() {
    if (this.isLoading || this.isEnded) return;
    const reader = this.begin();
    this.show();
    try {
      const page = await this.read(this.cursor, reader.signal);
      if (reader !== this.reader) return;
      this.add(page.items);
      this.cursor = page.next_cursor;
      this.isEnded = !page.next_cursor;
    } catch (error) {
      if (error.name === "AbortError" || reader !== this.reader) return;
      this.error = error;
    }
    this.isLoading = false;
    this.show();
  }

  /** Adds items at the end, without those that are there. */
  add(items) {
    for (const item of items) {
      const key = this.keyOf(item);
      if (this.keys.has(key)) continue;
      this.keys.add(key);
      this.items.push(item);
    }
  }

  /** Adds items of a feed where they belong: feeds are in descending order of ids. */
  insert(ids) {
    this.late?.push(...ids);
    const fresh = [...new Set(ids)].filter((id) => !this.keys.has(id));
    if (fresh.length === 0) return;
    for (const id of fresh) this.keys.add(id);
    this.items = [...this.items, ...fresh].sort((a, b) => (a < b ? 1 : a > b ? -1 : 0));
    this.show();
  }

  /** Reads again as many items as are shown, and then shows the present ones in their place. */
  async reread() {
    const reader = this.begin();
    const [wanted, items] = [Math.max(1, this.items.length), []];
    this.late = [];
    try {
      let cursor = null;
      do {
        const page = await this.read(cursor, reader.signal);
        if (reader !== this.reader) return;
        items.push(...page.items);
        cursor = page.next_cursor;
      } while (cursor && items.length < wanted);
      Object.assign(this, { items: [], keys: new Set(), cursor, isEnded: !cursor, isLoading: false });
      this.add(items);
      this.insert(this.late);
    } catch (error) {
      if (error.name === "AbortError" || reader !== this.reader) return;
      Object.assign(this, { error: this.items.length ? null : error, isLoading: false });
    }
    this.late = null;
    this.show();
  }

  /** Begins a read. One that is under way ends. */
  begin() {
    this.reader?.abort();
    this.reader = new AbortController();
    Object.assign(this, { isLoading: true, error: null, late: null });
    return this.reader;
  }

  /** Removes items. */
  remove(keys) {
    if (keys.length === 0) return;
    for (const key of keys) this.keys.delete(key);
    this.items = this.items.filter((item) => this.keys.has(this.keyOf(item)));
    this.show();
  }

  /** Begins again with the first page. */
  reset() {
    this.reader?.abort();
    this.late = null;
    Object.assign(this, { items: [], keys: new Set(), cursor: null, isEnded: false, isLoading: false, error: null });
    return this.more();
  }
}

/** The list with this name. It is made when it is asked for first, and again when a link leads to its view. */
function listOf(name, read, keyOf = (item) => item) {
  let list = lists.get(name);
  if (!list) list = new List(read, keyOf);
  lists.delete(name);
  lists.set(name, list);
  if (lists.size > LISTS_MAX) lists.delete(lists.keys().next().value);
  return list;
}

/** The ids of all items of all lists. */
function listedIds() {
  const items = [...lists.values()].flatMap((list) => list.items);
  return new Set(items.map((item) => item.id ?? item.post?.id ?? item));
}

/** Forgets the lists whose names begin like this: their next view reads them again. */
function forgetLists(beginning = "") {
  for (const name of [...lists.keys()]) {
    if (name.startsWith(beginning)) lists.delete(name);
  }
}

/** A list for a component. It is read again if the view was reached by a link and not by going back. */
function useList(name, read, keyOf) {
  const made = useRef({});
  if (made.current.name !== name) {
    if (!isReturn) forgetLists(name);
    made.current = { name, list: listOf(name, read, keyOf) };
  }
  const { list } = made.current;
  useValue(list.changed);
  useEffect(() => {
    if (list.items.length === 0 && !list.error) list.more();
  }, [list]);
  return list;
}

/** Reads a feed again that was read before the user turned reading by pull on or off. */
function usePull(list) {
  const isPull = useValue(pull);
  useEffect(() => {
    const before = list.isPull ?? isPull;
    list.isPull = isPull;
    if (before !== isPull) list.reread();
  }, [list, isPull]);
}

/** The part below the items: it reads more when it comes near the window, and says what is under way. */
function ListEnd({ list, shown = list.items.length, empty, end = "" }) {
  const mark = useRef(null);
  useEffect(() => {
    const watcher = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && !list.error && list.more(), {
      rootMargin: "1200px",
    });
    watcher.observe(mark.current);
    return () => watcher.disconnect();
    // a page that leaves the mark near the window must lead to another one
  }, [list, list.items.length, list.isLoading]);
  return html`
    <div class="list-end" ref=${mark}>
      ${list.error && html`<${Trouble} error=${list.error} again=${() => list.more()} />`}
      ${!list.error && list.isLoading && html`<${Skeleton} lines=${list.items.length ? 1 : 3} />`}
      ${list.isEnded && shown === 0 && html`<div class="empty">${empty}</div>`}
      ${list.isEnded && shown > 0 && end && html`<p class="end">${end}</p>`}
    </div>
  `;
}

/** A failure, with a button that tries again. */
function Trouble({ error, again }) {
  useEffect(() => {
    if (error.status !== 0) return;
    const retryOnline = () => again();
    addEventListener("online", retryOnline, { once: true });
    return () => removeEventListener("online", retryOnline);
  }, [error]);
  const retry = () => {
    // the button disappears
    document.getElementById("main")?.focus({ preventScroll: true });
    again();
  };
  return html`
    <div class="trouble" role="alert">
      <p>${inWords(error)}</p>
      <button type="button" class="button" onClick=${retry}>Try again</button>
    </div>
  `;
}

/** Grey shapes in the place of what is being read. */
function Skeleton({ lines }) {
  return html`
    <div class="skeletons" role="presentation">
      ${Array.from({ length: lines }, () => html`<div class="skeleton"><i></i><i></i><i></i></div>`)}
      <span class="visually-hidden">Loading</span>
    </div>
  `;
}

const READ_MAX = 60;
/** What was read, by name. */
const readings = new Map();

/**
 * One thing that is read when the view is shown: [value, error, read again]. `name` says what it is. Going back shows what it
 * was, until it is read again.
 */
function useRead(name, read, reasons = []) {
  const [state, setState] = useState(() => ({ value: isReturn ? readings.get(name) : undefined }));
  const [times, again] = useAgain();
  useEffect(() => {
    let isWanted = true;
    read().then(
      (value) => {
        readings.delete(name);
        readings.set(name, value);
        if (readings.size > READ_MAX) readings.delete(readings.keys().next().value);
        if (isWanted) setState({ value });
      },
      (error) => isWanted && setState(({ value }) => (error.status === 0 && value ? { value } : { error })),
    );
    return () => (isWanted = false);
  }, [name, ...reasons, times]);
  return [state.value, state.error, again];
}
