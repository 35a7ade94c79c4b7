// Bookmarks: the ribbon below a post, and the own list.

import assert from "node:assert/strict";

import { people } from "./api.mjs";
import { until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { articles, button, feed, goTo, home } from "./view.mjs";

test("bookmarks::a_post_is_bookmarked_listed_and_removed", async (desk) => {
  const [author, reader] = await people("fern", "moss");
  await reader.follow(author);
  const posts = [await author.post("Kept."), await author.post("Not kept.")];
  const tab = await desk.open("", { as: reader });
  await home(tab);
  const ribbon = button(articles(tab, posts[0]), "Bookmark");
  const says = (pressed) => until(`pressed: ${pressed}`, async () => (await ribbon.getAttribute("aria-pressed")) === pressed);
  await says("false");
  await ribbon.click();
  await says("true");
  await until("the API knows it", async () => (await reader.call("GET", `/v1/posts/${posts[0].id}`)).bookmarked);
  await goTo(tab, "Bookmarks");
  const list = feed(tab, "Posts that you bookmarked");
  await articles(list).first().waitFor();
  assert.deepEqual(await articles(list).evaluateAll((all) => all.map((one) => one.dataset.id)), [posts[0].id]);
  await tab.reload();
  await says("true");
  await ribbon.click();
  await says("false");
  await until("the API has none", async () => (await reader.call("GET", "/v1/bookmarks")).items.length === 0);
});
