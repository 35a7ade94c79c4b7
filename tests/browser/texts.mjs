// Texts are shown as text, and nothing of another host is loaded until the reader asks for it.

import assert from "node:assert/strict";

import { people } from "./api.mjs";
import { OUTSIDE, until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { articles, button, heading, home } from "./view.mjs";

/** A picture of one pixel. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const MARKUP = [
  '<img src=x onerror="document.title=1">',
  "<b>bold</b> &amp; <script>document.title = 1</script>",
  "</article><style>* { display: none }</style>",
  "javascript:alert(1) data:text/html,<b>1</b> [a](javascript:alert(1))",
  'https://example.com/?a=<b>&c="d"',
];

test("texts::markup_is_shown_as_text", async (desk) => {
  const [author] = await people("thorn");
  await author.call("PUT", "/v1/me", { handle: author.handle, name: "<i>Thorn</i> &amp; co" });
  const posts = [];
  for (const text of MARKUP) posts.push(await author.post(text));
  const tab = await desk.open("", { as: author });
  await home(tab);
  for (const post of posts) {
    const shown = articles(tab, post);
    await shown.waitFor();
    assert.equal(await shown.locator("[data-text]").evaluate((one) => one.textContent.trim()), post.text);
    assert.equal(await shown.locator("b, i:not([class]), script, style, img").count(), 0, post.text);
    const links = await shown.locator("[data-text] a").evaluateAll((all) => all.map((one) => [one.protocol, one.rel]));
    for (const [protocol, rel] of links) {
      assert.ok(["https:", "http:"].includes(protocol), protocol);
      assert.match(rel, /noopener/);
      assert.match(rel, /noreferrer/);
    }
    await tab.goto(`${tab.url().split("#")[0]}#/p/${post.id}`);
    await articles(tab, post).waitFor();
    await tab.goBack();
    await home(tab);
  }
  assert.match(await tab.title(), /Fanfold/);
  await tab.goto(`${tab.url().split("#")[0]}#/u/${author.handle}`);
  await heading(tab, "<i>Thorn</i> &amp; co").waitFor();
});

test("texts::a_mention_leads_to_its_user_after_a_change_of_the_handle", async (desk) => {
  const [author, other] = await people("birch", "cedar");
  const post = await author.post(`🌿 @${other.handle}, @nobody_at_all: https://example.com/@${other.handle}.`);
  const handle = `${other.handle}_2`;
  await other.call("PUT", "/v1/me", { handle, name: "Renamed" });
  const tab = await desk.open("", { as: author });
  const links = articles(tab, post).locator("[data-text] a");
  await links.first().waitFor();
  assert.deepEqual(await links.allInnerTexts(), [`@${other.handle}`, `https://example.com/@${other.handle}`]);
  await links.first().click();
  await heading(tab, "Renamed").waitFor();
});

test("texts::lines_and_long_words_stay_inside_the_window", async (desk) => {
  const [author] = await people("willow");
  const post = await author.post(`one\ntwo\n\n${"W".repeat(400)}`);
  const tab = await desk.open("", { as: author, size: { width: 360, height: 740 } });
  const text = articles(tab, post).locator("[data-text]");
  await text.waitFor();
  assert.match(await text.innerText(), /^one\ntwo\n\nW/);
  assert.ok(await tab.evaluate(() => document.scrollingElement.scrollWidth <= innerWidth), "the page scrolls sideways");
});

test("texts::a_picture_is_loaded_after_a_click_alone", async (desk) => {
  const [author, reader] = await people("palm", "reed");
  await reader.follow(author);
  const post = await author.post(`Look at this: ${OUTSIDE}/tree.png`);
  const broken = await author.post(`And at that: ${OUTSIDE}/gone.jpg.`);
  const requests = [];
  desk.allowed.push(OUTSIDE);
  const prepare = (tab) =>
    tab.route(`${OUTSIDE}/**`, (route) => {
      requests.push(route.request());
      const isThere = route.request().url().endsWith("tree.png");
      return isThere ? route.fulfill({ contentType: "image/png", body: PIXEL }) : route.abort();
    });
  const tab = await desk.open("", { as: reader, prepare });
  await home(tab);
  await button(articles(tab, post), /Show picture/).waitFor();
  await tab.waitForLoadState("networkidle");
  assert.equal(requests.length, 0, "nothing of another host is loaded before the click");
  await button(articles(tab, post), /Show picture/).click();
  const picture = articles(tab, post).locator("img");
  await until("the picture is there", () => picture.evaluate((one) => one.complete && one.naturalWidth === 1));
  assert.notEqual(await picture.getAttribute("alt"), null);
  assert.deepEqual(
    requests.map((request) => request.url()),
    [`${OUTSIDE}/tree.png`],
  );
  const { referer, cookie, authorization } = requests[0].headers();
  assert.deepEqual([referer, cookie, authorization], [undefined, undefined, undefined]);
  await button(articles(tab, broken), /Show picture/).click();
  await articles(tab, broken)
    .getByText(/cannot be loaded/)
    .waitFor();
});
