// Writing and deleting posts: the counter, refusals, and the dialog before a deletion.

import assert from "node:assert/strict";

import { people } from "./api.mjs";
import { until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { alert, announced, articles, box, button, compose, dialog, home, left, shows } from "./view.mjs";

const FAMILY = "👨‍👩‍👧‍👦";
const LIMIT = 500;
/** Texts within all other limits, whose characters are hard to count. */
const TEXTS = [
  "plain",
  "  white space around it \n",
  "two\nlines",
  `${FAMILY} and ${FAMILY}`,
  "e\u0301 n\u0303 a\u0302\u0323",
  "🇩🇪🇫🇷🇯🇵 👍🏽 1️⃣ ☂️",
  "கணிதம் हिन्दी ไทย 한국어",
  "한국어 in parts",
  "\t tab",
  "क्षत्रिय",
];
/** Texts that the API accepts or refuses at a limit: of characters, and of bytes. */
const LIMITS = [
  ["x".repeat(500), true],
  ["x".repeat(501), false],
  [` ${"x".repeat(500)}\n`, true],
  [FAMILY.repeat(163), true], // 4,075 bytes
  [FAMILY.repeat(164), false], // 4,100 bytes
  ["e\u0301".repeat(500), true],
  ["e\u0301".repeat(501), false],
  ["👍🏽".repeat(500), true],
  ["👍🏽".repeat(513), false],
  [" \n\t ", false],
];

test("posts::the_counter_counts_as_the_server_does", async (desk) => {
  const [author] = await people("acacia");
  const tab = await desk.open("", { as: author });
  await home(tab);
  assert.equal(await left(tab), LIMIT);
  // a text that is too long is refused with the number of its characters
  const servers = await Promise.all(
    TEXTS.map(async (text) => {
      const { status, body } = await author.send("POST", "/v1/posts", { text: `${text.trim()} ${"x".repeat(LIMIT)}` });
      assert.equal(status, 422, JSON.stringify(body));
      return Number(body.detail.match(/has (\d+) characters/)[1]) - LIMIT - 1;
    }),
  );
  for (const [at, text] of TEXTS.entries()) {
    await box(tab, "Your post").fill(text);
    await until(`${JSON.stringify(text)} has ${servers[at]} characters`, async () => (await left(tab)) === LIMIT - servers[at]);
  }
});

test("posts::the_page_refuses_what_the_server_refuses", async (desk) => {
  const [author] = await people("beech");
  const tab = await desk.open("", { as: author });
  await home(tab);
  for (const [text, isAccepted] of LIMITS) {
    const { status } = await author.send("POST", "/v1/posts", { text });
    assert.equal(status === 201, isAccepted, `${status} for ${text.slice(0, 20)}…`);
    await box(tab, "Your post").fill(text);
    await until(`${JSON.stringify(text.slice(0, 20))}… is ${isAccepted ? "accepted" : "refused"}`, async () => {
      return (await button(tab, "Post").isDisabled()) === !isAccepted;
    });
  }
});

test("posts::what_only_the_server_can_refuse_is_explained_and_kept", async (desk) => {
  const [author] = await people("cherry");
  const tab = await desk.open("", { as: author });
  await home(tab);
  const text = "left-to-right \u202e override";
  await box(tab, "Your post").fill(text);
  await button(tab, "Post").click();
  await alert(tab, /U\+202E|direction/);
  assert.equal(await box(tab, "Your post").inputValue(), text);
});

test("posts::a_post_is_published_and_deleted_after_a_question", async (desk) => {
  const [author] = await people("elder");
  const kept = await author.post("This one stays.");
  const tab = await desk.open("", { as: author });
  await home(tab);
  const article = await compose(tab, "This one goes.");
  await announced(tab, /Posted/);
  assert.equal(await box(tab, "Your post").inputValue(), "");
  const id = await article.getAttribute("data-id");
  assert.equal((await author.call("GET", `/v1/posts/${id}`)).text, "This one goes.");

  await button(article, "Delete post").click();
  const question = dialog(tab, "Delete this post?");
  await button(question, "Keep").click();
  await question.waitFor({ state: "detached" });
  assert.equal((await author.send("GET", `/v1/posts/${id}`)).status, 200);
  await button(article, "Delete post").click();
  await button(question, "Delete").click();
  await article.waitFor({ state: "detached" });
  assert.equal((await author.send("GET", `/v1/posts/${id}`)).status, 404);
  await tab.reload();
  await home(tab);
  await shows(tab, [kept]);
});

test("posts::only_own_posts_can_be_deleted", async (desk) => {
  const [author, reader] = await people("fig", "grape");
  await reader.follow(author);
  const post = await author.post("Not yours.");
  const tab = await desk.open(`#/p/${post.id}`, { as: reader });
  await articles(tab, post).waitFor();
  assert.equal(await button(tab, "Delete post").count(), 0);
});

for (const [name, reloads] of [
  ["one_click_too_many_publishes_one_post", false],
  ["a_draft_and_its_key_survive_a_reload", true],
]) {
  test(`posts::${name}`, async (desk) => {
    const [author] = await people("juniper");
    const tab = await desk.open("", { as: author });
    await home(tab);
    // the first answer is lost, after the post was published
    let answers = 0;
    await tab.route("**/v1/posts", async (route) => {
      const answer = await route.fetch();
      if (answers++ === 0) return route.abort();
      return route.fulfill({ response: answer });
    });
    const publish = async () => {
      await button(tab, "Post").click();
      await until("the text field is empty", async () => (await box(tab, "Your post").inputValue()) === "");
      await articles(tab).first().waitFor();
      return (await author.all(`/v1/users/${author.id}/posts`)).length;
    };
    await box(tab, "Your post").fill("Only once.");
    await button(tab, "Post").click();
    await alert(tab);
    if (reloads) {
      await tab.reload();
      await home(tab);
    }
    assert.equal(await box(tab, "Your post").inputValue(), "Only once.");
    assert.equal(await publish(), 1, "the repetition has the same Idempotency-Key");
    await box(tab, "Your post").fill("Only once.");
    assert.equal(await publish(), 2, "another post has another key, also with the same text");
  });
}
