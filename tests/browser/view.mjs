// What a user finds and does on the page, in the page's own words. Tests use nothing else of it but these names.

import assert from "node:assert/strict";

import { PASSWORD } from "./api.mjs";
import { until } from "./desk.mjs";

/** The feed of this name. */
export const feed = (tab, name = "Home feed") => tab.getByRole("feed", { name });

/** The articles of the page, or the one of a post. */
export const articles = (tab, post) => tab.locator(post ? `article[data-id="${post.id ?? post}"]` : "article[data-id]");

/** The ids of the articles, in their order on the page. */
export const ids = (tab) => articles(tab).evaluateAll((all) => all.map((one) => one.dataset.id));

export const button = (place, name) => place.getByRole("button", { name, exact: typeof name === "string" });

export const link = (place, name) => place.getByRole("link", { name, exact: typeof name === "string" });

export const box = (place, name) => place.getByRole("textbox", { name, exact: typeof name === "string" });

export const heading = (tab, name) => tab.getByRole("heading", { name, level: 1 });

export const dialog = (tab, name) => tab.getByRole("dialog", { name });

export const navigation = (tab) => tab.getByRole("navigation", { name: "Main" });

/** Follows a link of the navigation. */
export const goTo = (tab, name) => link(navigation(tab), name).click();

/** Waits until the page shows an error in words. Returns the words. */
export async function alert(tab, words) {
  const found = tab.getByRole("alert").filter({ hasText: words }).first();
  await found.waitFor();
  return found;
}

/** Waits until the page announces something. */
export const announced = (tab, words) =>
  tab.getByRole("status").filter({ hasText: words }).first().waitFor({ state: "attached" });

export async function signIn(tab, name, password = PASSWORD) {
  await box(tab, "User name or email").fill(name);
  await tab.getByLabel("Password", { exact: true }).fill(password);
  await button(tab, "Sign in").click();
}

/** Waits until the home feed of a user is there. */
export const home = async (tab) => {
  await box(tab, "Your post").waitFor();
  await loaded(tab);
};

/** Waits until nothing is loading. */
export const loaded = (tab) =>
  until("everything is loaded", async () => (await tab.locator('[aria-busy="true"], .skeleton').count()) === 0);

/** Publishes a post with the composer. Returns its article. */
export async function compose(tab, text) {
  await box(tab, "Your post").fill(text);
  await button(tab, "Post").click();
  const article = articles(tab).filter({ hasText: text }).first();
  await article.waitFor();
  return article;
}

/** The characters that are left, as the page counts them. */
export const left = async (tab) =>
  Number((await tab.locator("[data-counter]").innerText()).replace("−", "-").match(/-?\d+/)[0]);

/** Asserts that the page shows these posts, in this order. */
export async function shows(tab, posts) {
  const wanted = posts.map((post) => post.id ?? post);
  await until(`the posts ${wanted.join(", ")}`, async () => {
    assert.deepEqual(await ids(tab), wanted);
    return true;
  });
}
