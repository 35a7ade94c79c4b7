// Threads: a reply is written and shown under the post that it answers, and what is gone leaves a place.

import assert from "node:assert/strict";

import { people } from "./api.mjs";
import { until } from "./desk.mjs";
import { look } from "./looks.mjs";
import { test } from "./suite.mjs";
import { articles, box, button, home, link, shows } from "./view.mjs";

const answer = (user, post, text) => user.call("POST", "/v1/posts", { text, in_reply_to: post.id });

test("threads::a_reply_is_written_below_the_post", async (desk) => {
  const [author, reader] = await people("clover", "sorrel");
  await reader.follow(author);
  const post = await author.post("A question.");
  const tab = await desk.open("", { as: reader });
  await home(tab);
  await link(articles(tab, post), /^Reply/).click();
  await box(tab, "Your reply").fill("An answer.");
  await button(tab, "Reply").click();
  const reply = articles(tab).filter({ hasText: "An answer." });
  await reply.waitFor();
  await until("the API has the reply", async () => (await author.call("GET", `/v1/posts/${post.id}`)).reply_count === 1);
  const { items } = await author.call("GET", `/v1/posts/${post.id}/context`);
  assert.deepEqual([items[0].text, items[0].in_reply_to, items[0].root], ["An answer.", post.id, post.id]);
  assert.equal(await box(tab, "Your reply").inputValue(), "");
  await link(reply, "In reply to a post").waitFor();
});

test("threads::the_page_of_a_reply_shows_the_thread_around_it", async (desk) => {
  const [author, reader] = await people("yarrow", "tansy");
  const root = await author.post("The root.");
  const first = await answer(reader, root, "First answer.");
  const second = await answer(reader, root, "Second answer.");
  const under = await answer(author, first, "Under the first answer.");
  const deep = await answer(reader, under, "Deep down.");
  const tab = await desk.open(`#/p/${root.id}`, { as: reader });
  // each under the one that it answers
  await shows(tab, [root, first, under, deep, second]);
  await look(desk, tab, "thread");
  await author.call("DELETE", `/v1/posts/${under.id}`);
  await tab.goto(`${tab.url().split("#")[0]}#/p/${deep.id}`);
  await shows(tab, [root, first, deep]);
  await tab.locator(`[data-gone="${under.id}"]`).waitFor();
});
