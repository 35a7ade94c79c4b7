// The address of what is shown, after the `#`, and the place on the page of each entry of the browser's history.

const PLACES_MAX = 100;
/** The places to which a reader may go back: the scrolled pixels, by the id of the entry of the history. */
const places = new Map();
let entry = null;

/** The parts of the address: `#/u/ash/followers` is ["u", "ash", "followers"]. */
const route = watchable(parts());
/** Whether the present view was reached by going back or forward, or by reloading. Then it shows what it had shown. */
let isReturn = false;

function parts() {
  const segments = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean);
  return segments.map((segment) => {
    try {
      return decodeURIComponent(segment);
    } catch {
      return segment;
    }
  });
}

/** The address of a view. */
const to = (...segments) => `#/${segments.map(encodeURIComponent).join("/")}`;

history.scrollRestoration = "manual";

function enter() {
  isReturn = typeof history.state?.entry === "string";
  if (!isReturn) history.replaceState({ entry: randomText(8) }, "");
  entry = history.state.entry;
}

enter();
addEventListener("scroll", () => remember(), { passive: true });

function remember() {
  places.delete(entry);
  places.set(entry, scrollY);
  if (places.size > PLACES_MAX) places.delete(places.keys().next().value);
}

function moved() {
  if (history.state?.entry === entry) return;
  enter();
  route.set(parts());
}

addEventListener("popstate", moved);
addEventListener("hashchange", moved);

/** Where the reader was in this entry of the history. */
const place = () => places.get(entry) ?? 0;

/** Scrolls to where the reader was, after the view was rendered. A new view begins at the top. */
function usePlace(key) {
  const isFirst = useRef(true);
  useLayoutEffect(() => {
    scrollTo(0, isReturn ? place() : 0);
    // the next Tab begins in the new view, which screen readers read
    if (!isFirst.current) document.getElementById("main")?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [key]);
}

/** Shows another view, as if a link was followed. */
function go(address) {
  location.hash = address;
}
