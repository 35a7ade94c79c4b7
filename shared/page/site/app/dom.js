// The libraries of the page: preact renders, htm parses templates.
import { h, render } from "./preact.mjs";
import { useEffect, useLayoutEffect, useRef, useState } from "./hooks.mjs";
import htm from "./htm.mjs";

const html = htm.bind(h);

/** A value that components can watch. */
function watchable(value) {
  const watchers = new Set();
  return {
    get: () => value,
    isWatched: () => watchers.size > 0,
    set(next) {
      value = next;
      for (const watcher of [...watchers]) watcher();
    },
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

/** The value of a watchable. The component renders again when it changes. */
function useValue(source) {
  const [, again] = useState({});
  const seen = source.get();
  useLayoutEffect(() => {
    // it may have changed between the rendering and now
    if (source.get() !== seen) again({});
    return source.watch(() => again({}));
  }, [source]);
  return seen;
}

/** A number of this component that increases each time when the returned function is called: a reason to run effects again. */
function useAgain() {
  const [times, setTimes] = useState(0);
  return [times, () => setTimes((before) => before + 1)];
}

/** A value that a tab or a browser keeps. Null: there is none, or it cannot be read. */
function kept(storage, name) {
  try {
    return JSON.parse(window[storage].getItem(name));
  } catch {
    return null;
  }
}

/** Keeps a value. Null removes it. A browser may forbid it; then the value ends with the document. */
function keep(storage, name, value) {
  try {
    if (value === null) window[storage].removeItem(name);
    else window[storage].setItem(name, JSON.stringify(value));
  } catch {
    // nothing is lost that the page needs
  }
}

/** Sets the title of the document. */
function useTitle(title) {
  useEffect(() => {
    document.title = title ? `${title} · Fanfold` : "Fanfold";
  }, [title]);
}
