// Scheduled posts: written, changed and cancelled.

import assert from "node:assert/strict";

import { people } from "./api.mjs";
import { until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { announced, box, button, dialog, goTo, home } from "./view.mjs";

/** A time in some hours, in the form of the field and as the API has it. The browser of the tests is in Berlin. */
function inHours(hours) {
  const time = new Date(Math.floor(Date.now() / 60_000) * 60_000 + hours * 3_600_000);
  const field = new Intl.DateTimeFormat("sv", { timeZone: "Europe/Berlin", dateStyle: "short", timeStyle: "short" }).format(
    time,
  );
  return { field: field.replace(" ", "T"), sent: time.toISOString() };
}

test("scheduled::a_post_is_scheduled_changed_and_cancelled", async (desk) => {
  const [author] = await people("anise");
  const tab = await desk.open("", { as: author });
  await home(tab);
  const opens = button(tab, "Schedule");
  assert.equal(await opens.getAttribute("aria-expanded"), "false");
  await box(tab, "Your post").fill("Good year, forest.");
  await opens.click();
  const [soon, later] = [inHours(30), inHours(50)];
  await tab.getByLabel("Publish at").fill(soon.field);
  await button(tab, "Schedule post").click();
  await announced(tab, /Scheduled/);
  const scheduled = async () => (await author.call("GET", "/v1/scheduled")).items;
  const [item] = await until("the post waits", async () => (await scheduled()).length === 1 && scheduled());
  assert.deepEqual([item.text, item.publish_at], ["Good year, forest.", soon.sent]);

  await goTo(tab, "Scheduled");
  await tab.getByText("Good year, forest.").waitFor();
  await button(tab, "Edit").click();
  const form = dialog(tab, "Edit scheduled post");
  assert.equal(await box(form, "Text").inputValue(), "Good year, forest.");
  assert.equal(await form.getByLabel("Publish at").inputValue(), soon.field);
  await box(form, "Text").fill("Happy new year, forest.");
  await form.getByLabel("Publish at").fill(later.field);
  await button(form, "Save").click();
  await form.waitFor({ state: "detached" });
  await tab.getByText("Happy new year, forest.").waitFor();
  const [changed] = await scheduled();
  assert.deepEqual([changed.text, changed.publish_at], ["Happy new year, forest.", later.sent]);

  await button(tab, "Cancel post").click();
  const question = dialog(tab, "Cancel this post?");
  await button(question, "Keep").click();
  await question.waitFor({ state: "detached" });
  assert.equal((await scheduled()).length, 1);
  await button(tab, "Cancel post").click();
  await button(question, "Cancel post").click();
  await tab.getByText("Happy new year, forest.").waitFor({ state: "detached" });
  assert.equal((await scheduled()).length, 0);
});

test("scheduled::a_time_that_is_too_early_is_explained", async (desk) => {
  const [author] = await people("borage");
  const tab = await desk.open("", { as: author });
  await home(tab);
  await box(tab, "Your post").fill("Too early.");
  await button(tab, "Schedule").click();
  const at = tab.getByLabel("Publish at");
  await at.fill(inHours(-1).field);
  await button(tab, "Schedule post").click();
  await until("the time is refused", async () => {
    const isMarked = await at.evaluate((field) => !field.validity.valid);
    return isMarked || (await tab.getByRole("alert").allInnerTexts()).join("") !== "";
  });
  assert.equal(await box(tab, "Your post").inputValue(), "Too early.");
  assert.equal((await author.call("GET", "/v1/scheduled")).items.length, 0);
});
