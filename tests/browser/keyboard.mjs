// The page by keyboard alone.

import assert from "node:assert/strict";

import { each, people } from "./api.mjs";
import { NARROW, WIDE, until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { articles, box, button, dialog, feed, home, link, navigation, signIn } from "./view.mjs";

const focused = (locator) => locator.evaluate((one) => one === document.activeElement);

/** Presses Tab until an element has the focus. */
async function tabTo(tab, locator, key = "Tab") {
  for (let presses = 0; presses < 80; presses += 1) {
    if (await focused(locator)) return;
    await tab.keyboard.press(key);
  }
  assert.fail(`Tab does not reach ${locator}`);
}

for (const [name, size] of [
  ["wide", WIDE],
  ["narrow", NARROW],
]) {
  test(`keyboard::tab_reaches_everything_in_a_${name}_window`, async (desk) => {
    const [author] = await people("orca");
    await author.post("With a link: https://example.com/ and a picture: https://pictures.example/a.png");
    await author.post("Another one.");
    const tab = await desk.open("", { as: author, size });
    await home(tab);
    await box(tab, "Your post").fill("A text.");
    await tab.evaluate(() => document.activeElement.blur());
    const wanted = await tab.evaluate(() => {
      const all = [...document.querySelectorAll("a[href], button, input, textarea, select, [tabindex='0']")];
      const seen = all.filter((one) => !one.disabled && one.checkVisibility({ visibilityProperty: true }) && one.tabIndex >= 0);
      return seen.map((one, at) => (one.dataset.order = String(at)));
    });
    assert.ok(wanted.length > 15, String(wanted.length));
    const reached = new Set();
    const invisible = [];
    for (let presses = 0; presses < wanted.length + 5; presses += 1) {
      await tab.keyboard.press("Tab");
      const at = await tab.evaluate(() => {
        const one = document.activeElement;
        const style = getComputedStyle(one);
        const marked =
          (style.outlineStyle !== "none" && Number.parseFloat(style.outlineWidth) >= 1) || style.boxShadow !== "none";
        const { width, height, bottom, top } = one.getBoundingClientRect();
        return {
          order: one.dataset.order,
          html: one.outerHTML.slice(0, 100),
          marked,
          isSeen: width > 1 && height > 1 && bottom > 0 && top < innerHeight,
        };
      });
      reached.add(at.order);
      if (at.order && !(at.marked && at.isSeen)) invisible.push(at.html);
    }
    assert.deepEqual(
      wanted.filter((order) => !reached.has(order)),
      [],
      "what Tab does not reach",
    );
    assert.deepEqual(invisible, [], "what has the focus without showing it");
  });
}

test("keyboard::a_user_signs_in_posts_likes_and_deletes", async (desk) => {
  const [author] = await people("seal");
  const tab = await desk.open();
  await button(tab, "Sign in").waitFor();
  await tabTo(tab, box(tab, "User name or email"));
  await tab.keyboard.type(author.handle);
  await tab.keyboard.press("Tab");
  await tab.keyboard.type("Fanfold-tests-1");
  await tab.keyboard.press("Enter");
  await home(tab);
  await tabTo(tab, box(tab, "Your post"));
  await tab.keyboard.type("By keyboard alone.");
  await tabTo(tab, button(tab, "Post"));
  await tab.keyboard.press("Enter");
  const article = articles(tab).filter({ hasText: "By keyboard alone." });
  await article.waitFor();
  const like = button(article, /^Like/);
  await tabTo(tab, like);
  await tab.keyboard.press("Space");
  await until("the like", async () => (await like.getAttribute("aria-pressed")) === "true");
  const remove = button(article, "Delete post");
  await tabTo(tab, remove);
  await tab.keyboard.press("Enter");
  const question = dialog(tab, "Delete this post?");
  await question.waitFor();
  assert.ok(await question.evaluate((one) => one.contains(document.activeElement)), "the focus is in the dialog");
  for (let presses = 0; presses < 6; presses += 1) {
    await tab.keyboard.press("Tab");
    const isInside = await question.evaluate(
      (one) => one.contains(document.activeElement) || document.activeElement === document.body,
    );
    assert.ok(isInside, "the focus stays in the dialog");
  }
  await tab.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
  await until("the focus returns to the button", () => focused(remove), 3000);
  await tab.keyboard.press("Enter");
  await tabTo(tab, button(question, "Delete"));
  await tab.keyboard.press("Enter");
  await article.waitFor({ state: "detached" });
});

test("keyboard::page_keys_move_between_articles", async (desk) => {
  const [author] = await people("walrus");
  await each(Array.from({ length: 8 }), 4, (_, number) => author.post(`Post ${number}.`));
  const tab = await desk.open("", { as: author });
  await home(tab);
  await articles(tab).nth(7).waitFor();
  const at = () => tab.evaluate(() => document.activeElement.closest("article")?.getAttribute("aria-posinset"));
  await articles(tab).first().focus();
  for (const [key, place] of [
    ["PageDown", "2"],
    ["PageDown", "3"],
    ["PageUp", "2"],
    ["PageDown", "3"],
  ]) {
    await tab.keyboard.press(key);
    await until(`${key} leads to ${place}`, async () => (await at()) === place);
  }
  // also from inside an article
  await button(articles(tab).nth(2), /^Like/).focus();
  await tab.keyboard.press("PageDown");
  await until("the next article", async () => (await at()) === "4");
  await tab.keyboard.press("Control+End");
  await until("behind the feed", async () => !(await feed(tab).evaluate((one) => one.contains(document.activeElement))));
  await articles(tab).nth(3).focus();
  await tab.keyboard.press("Control+Home");
  await until("before the feed", async () => !(await feed(tab).evaluate((one) => one.contains(document.activeElement))));
});

test("keyboard::a_new_view_is_announced_and_begins_with_its_heading", async (desk) => {
  const [user] = await people("narwhal");
  const tab = await desk.open("", { as: user });
  await home(tab);
  const title = await tab.title();
  await tabTo(tab, link(navigation(tab), "Trending"));
  await tab.keyboard.press("Enter");
  await until("the title of the view", async () => (await tab.title()) !== title);
  assert.equal(await tab.getByRole("heading", { level: 1 }).count(), 1);
  assert.equal(await link(navigation(tab), "Trending").getAttribute("aria-current"), "page");
});

test("keyboard::a_link_leads_past_the_navigation", async (desk) => {
  const [user] = await people("manatee");
  const tab = await desk.open();
  await signIn(tab, user.handle);
  await home(tab);
  await tab.reload();
  await home(tab);
  await tab.keyboard.press("Tab");
  const skip = tab.locator(":focus");
  assert.match(await skip.innerText(), /skip|content/i);
  await tab.keyboard.press("Enter");
  await tab.keyboard.press("Tab");
  assert.ok(await tab.getByRole("main").evaluate((one) => one.contains(document.activeElement)), "the focus is in the content");
});
