// Windows of the browser, and what must never happen in them: violations of the Content-Security-Policy, errors of scripts,
// files that are missing, and requests to other hosts.

import assert from "node:assert/strict";

import { ENDPOINT, URL_OF_API } from "./api.mjs";

export const NARROW = { width: 390, height: 844 };
export const WIDE = { width: 1440, height: 900 };
/** The narrowest window in which nothing may be cut off. */
export const NARROWEST = { width: 360, height: 740 };

/** The time within which the page must do what a test waits for. */
export const WITHIN_MS = 20_000;

/** The host that answers requests for pictures, in tests that allow them. */
export const OUTSIDE = "https://pictures.example";

/** Contexts of the browser that no test uses now. */
const idle = [];

/** The windows of one test. */
export class Desk {
  constructor(browser) {
    this.browser = browser;
    this.contexts = [];
    /** What must not happen. */
    this.troubles = [];
    /** Addresses of other hosts that a test expects. */
    this.allowed = [];
    /** Paths that a test expects to lead nowhere. */
    this.absent = [];
  }

  /**
   * Opens a window at an address of the page, such as `#/trending`. With `as`, this user is signed in. `beside` opens a second
   * tab beside another one, instead of a window with a storage of its own. `media` is what the user prefers. `prepare` gets the
   * tab before it loads anything. A `fresh` window has no files of the page yet.
   */
  async open(address = "", { as, beside, size = WIDE, query = "?poll=500", prepare, media, fresh } = {}) {
    const context = beside?.context() ?? (await this.context(fresh));
    const tab = await context.newPage();
    await tab.setViewportSize(size);
    if (media) await tab.emulateMedia(media);
    if (as) await tab.addInitScript(keep, [new URL(URL_OF_API).origin, await as.session()]);
    await tab.addInitScript(reportViolations);
    this.watch(tab);
    await prepare?.(tab);
    await tab.goto(`${URL_OF_API}/${address.startsWith("/") ? address.slice(1) : query + address}`);
    return tab;
  }

  /** A context of the browser that no other test uses now. Earlier tests have filled its cache with the files of the page. */
  async context(fresh) {
    const context = (!fresh && idle.pop()) || (await this.browser.newContext({ locale: "en-GB", timezoneId: "Europe/Berlin" }));
    context.setDefaultTimeout(WITHIN_MS);
    this.contexts.push(context);
    return context;
  }

  watch(tab) {
    tab.on("console", (message) => {
      // the browser says so for each answer that is not a success, which tests ask for
      const isAnswer = /^(Failed to load resource|Access to .* blocked by CORS)/.test(message.text());
      if (message.type() === "error" && !isAnswer) this.troubles.push(`console: ${message.text()}`);
    });
    tab.on("pageerror", (error) => this.troubles.push(`script: ${error.stack ?? error}`));
    tab.on("request", (request) => {
      const isOwn = [URL_OF_API, ENDPOINT, ...this.allowed, "data:", "blob:"].some((own) => request.url().startsWith(own));
      if (!isOwn) this.troubles.push(`a request to another host: ${request.url()}`);
    });
    tab.on("response", (response) => {
      const path = response.url().slice(URL_OF_API.length);
      const isFile = response.url().startsWith(URL_OF_API) && !path.startsWith("/v1/");
      if (isFile && response.status() >= 400 && !this.absent.includes(path)) this.troubles.push(`${response.status()} for the file ${path}`);
    });
  }

  /** Fails if something happened that must not. */
  check() {
    assert.equal(this.troubles.join("\n"), "");
  }

  /** A picture of each tab, as it looks now. Returns their files. */
  async pictures(beginning) {
    const tabs = this.contexts.flatMap((context) => context.pages());
    const taken = tabs.map(async (tab, number) => {
      const path = `${beginning}-${number + 1}.png`;
      await tab.screenshot({ path, timeout: 5000 });
      return `screenshot (${tab.url()}): ${path}`;
    });
    return (await Promise.allSettled(taken)).map(({ value, reason }) => value ?? `no screenshot: ${reason}`);
  }

  /** Closes all windows. Their contexts serve other tests. */
  async close() {
    await Promise.all(this.contexts.map((context) => leave(context).catch(() => context.close())));
  }
}

/** Takes from a context what a test left in it, except the cached files. */
async function leave(context) {
  await Promise.all([context.setOffline(false), context.clearPermissions(), context.clearCookies()]);
  const [tab, ...others] = context.pages();
  await tab.evaluate(() => localStorage.clear());
  await Promise.all([tab, ...others].map((one) => one.close()));
  idle.push(context);
}

/** Runs in each document. */
function reportViolations() {
  addEventListener("securitypolicyviolation", (event) => {
    console.error(`violation of ${event.violatedDirective}: ${event.blockedURI} at ${event.sourceFile}:${event.lineNumber}`);
  });
}

/** Runs in each document: signs a user in, in this tab, unless the tab has done so. */
function keep([origin, session]) {
  if (location.origin !== origin || sessionStorage.getItem("kept")) return;
  sessionStorage.setItem("kept", "once");
  sessionStorage.setItem("fanfold.session", session);
}

/** Waits until a condition holds. `what` says what is waited for. Returns what the condition returned. */
export async function until(what, condition, within = WITHIN_MS) {
  const end = Date.now() + within;
  let last;
  while (Date.now() < end) {
    try {
      const found = await condition();
      if (found) return found;
      last = undefined;
    } catch (error) {
      last = error;
    }
    await new Promise((resume) => setTimeout(resume, 50));
  }
  throw new Error(`waited ${within} ms in vain: ${what}${last ? ` (${last.message ?? last})` : ""}`, { cause: last });
}
