// Tags: their posts, the followed ones, those in use, and the feed of everybody.

import assert from "node:assert/strict";

import { freshName, people } from "./api.mjs";
import { until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { announced, articles, box, button, feed, goTo, heading, home, link, loaded, shows } from "./view.mjs";

/** A tag that no other test uses. */
const fresh = () => freshName("Tag").replaceAll(/[^A-Za-z0-9]/g, "_");

test("tags::a_tag_leads_to_its_posts_and_is_followed", async (desk) => {
  const [author, other, reader] = await people("alder", "beech", "cedar");
  await reader.follow(author);
  const tag = fresh();
  const one = await author.post(`First #${tag}.`);
  const two = await other.post(`Second #${tag.toUpperCase()}`);
  const path = `/v1/tags/${tag}`;
  await until("both posts are there", async () => (await reader.call("GET", `${path}/posts`)).items.length === 2);
  const tab = await desk.open("", { as: reader });
  await home(tab);
  await link(articles(tab, one), `#${tag}`).click();
  await heading(tab, `#${tag}`).waitFor();
  await shows(tab, [two, one]);
  await tab.getByText("2 posts of 2 authors").waitFor();
  await button(tab, `Follow #${tag}`).click();
  await announced(tab, `You follow #${tag}.`);
  assert.equal((await reader.call("GET", path)).following, true);
  await goTo(tab, "Tags");
  await shows(tab, [two, one]);
  await link(tab.getByLabel("Tags that you follow", { exact: true }), `#${tag}`).click();
  await button(tab, `Unfollow #${tag}`).click();
  await announced(tab, `You no longer follow #${tag}.`);
  await goTo(tab, "Tags");
  await tab.getByRole("heading", { name: "No posts yet" }).waitFor();
});

test("tags::a_tag_is_found_by_its_beginning", async (desk) => {
  const [author] = await people("dogwood");
  const tag = fresh();
  await author.post(`#${tag} #${tag}_more`);
  await until("it is known", async () => (await author.call("GET", `/v1/tags?q=${tag}`)).items.length === 2);
  const tab = await desk.open("#/tags", { as: author });
  // nobody has asked for this before: an environment of the function keeps what it found for 5 s
  await box(tab, "Find a tag").fill(`#${tag.toLowerCase()}_m`);
  const found = tab.getByLabel("Tags that begin like this");
  await link(found, `#${tag}_more`).click();
  await heading(tab, `#${tag}_more`).waitFor();
  await goTo(tab, "Tags");
  await box(tab, "Find a tag").fill("Nobody_uses_this");
  await box(tab, "Find a tag").press("Enter");
  await tab.getByText("No post has #Nobody_uses_this.", { exact: false }).waitFor();
  await tab.goto(`${tab.url().split("#")[0]}#/tags/12`);
  await heading(tab, "No such tag").waitFor();
});

test("tags::tags_in_use_are_ranked_beside_trending_posts", async (desk) => {
  const [one, two] = await people("elm", "fir");
  const tag = fresh();
  for (const user of [one, two]) await user.post(`#${tag}`);
  const has = async () => (await one.call("GET", "/v1/rankings/tags-day?limit=100")).items.some((item) => item.tag.name === tag);
  await until("it is in the ranking", has, 30_000);
  const tab = await desk.open("#/trending", { as: one });
  await link(tab, "Tags").last().click();
  const item = tab.getByRole("listitem").filter({ hasText: `#${tag}` });
  await item.getByText("2 authors in the last day").waitFor();
  await link(item, `#${tag}`).click();
  await heading(tab, `#${tag}`).waitFor();
});

test("tags::the_feed_of_everybody_is_beside_the_home_feed", async (desk) => {
  const [stranger, reader] = await people("ginkgo", "hazel");
  const post = await stranger.post("To everybody.");
  await until("it is there", async () => (await reader.call("GET", "/v1/public")).items.some((item) => item.id === post.id));
  const tab = await desk.open("", { as: reader });
  await home(tab);
  assert.equal(await articles(tab, post).count(), 0);
  await link(tab, "Everybody").click();
  await feed(tab, "Posts of everybody").waitFor();
  await articles(tab, post).waitFor();
  await link(tab, "Following").click();
  await home(tab);
  await loaded(tab);
  assert.equal(await articles(tab, post).count(), 0);
});
