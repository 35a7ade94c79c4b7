// Edits: the dialog of an own post, the mark that a reader sees, and the versions behind it.

import assert from "node:assert/strict";

import { people } from "./api.mjs";
import { until } from "./desk.mjs";
import { look } from "./looks.mjs";
import { test } from "./suite.mjs";
import { alert, announced, articles, box, button, dialog, home } from "./view.mjs";

const change = (user, post, text) => user.call("PATCH", `/v1/posts/${post.id}`, { text });

test("edits::an_own_post_is_edited_and_its_versions_are_shown", async (desk) => {
  const [author, reader] = await people("larch", "cedar");
  await reader.follow(author);
  const post = await author.post(`First, for @${reader.handle}.`);
  const tab = await desk.open("", { as: author });
  await home(tab);
  const article = articles(tab, post);
  assert.equal(await button(article, "edited").count(), 0);
  await button(article, "Edit post").click();
  const form = dialog(tab, "Edit post");
  assert.equal(await box(form, "Text").inputValue(), `First, for @${reader.handle}.`);
  await box(form, "Text").fill(`Second, for @${reader.handle}.`);
  await button(form, "Save").click();
  await announced(tab, /saved/);
  await form.waitFor({ state: "detached" });
  await article.filter({ hasText: "Second" }).waitFor();
  const { version, text, entities } = await reader.call("GET", `/v1/posts/${post.id}`);
  assert.deepEqual([version, text, entities[0].user], [2, `Second, for @${reader.handle}.`, reader.id]);

  const other = await desk.open("", { as: reader });
  await home(other);
  const seen = articles(other, post);
  assert.equal(await button(seen, "Edit post").count(), 0, "of another user");
  await button(seen, "edited").click();
  const versions = dialog(other, "Versions of this post");
  await versions.locator('[data-version="1"]').filter({ hasText: "First" }).waitFor();
  assert.deepEqual(await versions.locator("[data-version]").evaluateAll((all) => all.map((one) => one.dataset.version)), ["2", "1"]);
  await look(desk, other, "versions");
  await button(versions, "Close").click();
  await versions.waitFor({ state: "detached" });
});

test("edits::an_edit_of_an_older_version_is_refused_and_kept", async (desk) => {
  const [author] = await people("maple");
  const post = await author.post("As written.");
  const tab = await desk.open("", { as: author });
  await home(tab);
  await button(articles(tab, post), "Edit post").click();
  await change(author, post, "As another tab wrote it.");
  const form = dialog(tab, "Edit post");
  // the list behind the form shows the other text, and the form is still about the earlier one
  await articles(tab, post).filter({ hasText: "As another tab wrote it." }).waitFor();
  await box(form, "Text").fill("As this tab wants it.");
  await button(form, "Save").click();
  await alert(form, /changed elsewhere/);
  assert.equal(await box(form, "Text").inputValue(), "As this tab wants it.");
  await until("the other text stays", async () => (await author.call("GET", `/v1/posts/${post.id}`)).text === "As another tab wrote it.");
});
