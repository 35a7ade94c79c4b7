// Likes, who gave them, one's own, and the rankings that count them.

import assert from "node:assert/strict";

import { each, people } from "./api.mjs";
import { until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { articles, button, feed, goTo, heading, home, ids, link, loaded } from "./view.mjs";

/** The posts on a page, unless a client asks for another number. */
const PAGE = 20;

test("likes::a_like_is_given_and_taken_back", async (desk) => {
  const [author, fan, reader] = await people("peach", "quince", "raspberry");
  await reader.follow(author);
  const post = await author.post("Like me.");
  await fan.like(post);
  await until("the like is counted", async () => (await reader.call("GET", `/v1/posts/${post.id}`)).like_count === 1);
  const tab = await desk.open("", { as: reader });
  await home(tab);
  const like = button(articles(tab, post), /^Like/);
  const says = (pressed, count) =>
    until(`${count} likes, ${pressed}`, async () => {
      const [state, text] = [await like.getAttribute("aria-pressed"), (await like.innerText()).trim()];
      return state === String(pressed) && (text || "0") === String(count);
    });
  await says(false, 1);
  assert.match(await like.evaluate((one) => one.getAttribute("aria-label") ?? one.textContent), /1 like(?!s)/);
  await like.click();
  await says(true, 2);
  await until("the API knows the like", async () => (await reader.call("GET", `/v1/posts/${post.id}`)).liked);
  await tab.reload();
  await says(true, 2);
  await like.click();
  await says(false, 1);
  await until("the API has no like", async () => !(await reader.call("GET", `/v1/posts/${post.id}`)).liked);
});

test("likes::the_page_of_a_post_names_who_likes_it", async (desk) => {
  const [author, one, two] = await people("sage", "thyme", "mint");
  const post = await author.post("Herbs.");
  await one.like(post);
  await two.like(post);
  const tab = await desk.open(`#/p/${post.id}`, { as: author });
  await articles(tab, post).waitFor();
  for (const user of [one, two]) await link(tab, new RegExp(user.name)).first().waitFor();
  await link(tab, /Thyme/).first().click();
  await until("the page of the user", () => tab.url().endsWith(`#/u/${one.handle}`));
});

test("likes::own_likes_are_listed_newest_like_first", async (desk) => {
  const [author, reader] = await people("basil", "dill");
  const posts = [await author.post("Old."), await author.post("New.")];
  for (const post of [...posts].reverse()) await reader.like(post);
  const tab = await desk.open("", { as: reader });
  await home(tab);
  await goTo(tab, "Likes");
  const list = feed(tab, "Posts that you like");
  await list.waitFor();
  await until("both posts", async () => (await articles(list).count()) === 2);
  const shown = await articles(list).evaluateAll((all) => all.map((one) => one.dataset.id));
  assert.deepEqual(
    shown,
    posts.map((post) => post.id),
  );
});

test("likes::trending_posts_and_authors_are_those_of_the_api", async (desk) => {
  const [author, one, two] = await people("saffron", "clove", "cumin");
  const posts = [await author.post("Most liked."), await author.post("Second.")];
  await one.like(...posts);
  await two.like(posts[0]);
  const ranking = async (name) => {
    const { items } = await one.call("GET", `/v1/rankings/${name}?limit=20`);
    return items.map(({ rank, post, user }) => [String(rank), post?.id ?? user.handle]);
  };
  await until(
    "the likes are in the rankings",
    async () => (await ranking("posts-day")).length > 1 && (await ranking("authors")).length > 0,
    40_000,
  );
  const tab = await desk.open("#/trending", { as: one });
  const list = feed(tab, "Trending posts");
  // a rank, and the last part of the address that a link in the same place has
  const ranked = (place) =>
    place.evaluateAll((all) =>
      all.map((one) => [
        one.querySelector("[data-rank]").textContent.trim(),
        one.dataset.id ?? one.querySelector("a").hash.split("/").pop(),
      ]),
    );
  const shown = {
    "posts-day": ["Today", () => ranked(articles(list))],
    "posts-week": ["This week", () => ranked(articles(list))],
    authors: [
      "Authors",
      () =>
        ranked(
          tab
            .getByRole("main")
            .getByRole("listitem")
            .filter({ has: tab.locator("[data-rank]") }),
        ),
    ],
  };
  for (const [name, [click, read]] of Object.entries(shown)) {
    await link(tab.getByRole("navigation", { name: "Rankings" }), click).click();
    // other tests give likes, too: what the API had before or after is right
    await until(
      `the page shows ${name}`,
      async () => {
        const before = await ranking(name);
        await tab.reload();
        await tab.locator("[data-rank]").first().waitFor();
        await loaded(tab);
        const [found, after] = [await read(), await ranking(name)];
        assert.ok(found.length >= Math.min(before.length, 20) - 1);
        const matches = (wanted) =>
          JSON.stringify(found.slice(0, wanted.length)) === JSON.stringify(wanted.slice(0, found.length));
        return matches(before) || matches(after);
      },
      40_000,
    );
  }
});

test("likes::trending_goes_on_to_its_end", async (desk) => {
  const [author, fan] = await people("ginger", "fennel");
  const posts = await each(Array.from({ length: 25 }), 8, (_, number) => author.post(`Root ${number}.`));
  await each(posts, 8, (post) => fan.like(post));
  const ranking = async () => (await fan.all("/v1/rankings/posts-day")).map(({ post }) => post.id);
  await until(
    "the likes are in the ranking",
    async () => {
      const ranked = new Set(await ranking());
      return posts.every((post) => ranked.has(post.id));
    },
    40_000,
  );
  const tab = await desk.open("#/status", { as: fan });
  let reads = 0;
  tab.on("request", (request) => (reads += request.url().includes("/v1/rankings/") ? 1 : 0));
  await tab.mouse.move(600, 500);
  // other tests give likes, too: what the API had before or after is right
  await until(
    "the whole ranking",
    async () => {
      const before = await ranking();
      await goTo(tab, "Status");
      await heading(tab, "Status").waitFor();
      reads = 0;
      await goTo(tab, "Trending");
      await articles(tab).first().waitFor();
      await until("the end of the feed", async () => {
        await tab.mouse.wheel(0, 2500);
        const size = await articles(tab).last().getAttribute("aria-setsize");
        return Number(size) === (await articles(tab).count());
      });
      const [found, after] = [await ids(tab), await ranking()];
      assert.ok(reads >= 2 && reads <= Math.ceil(found.length / PAGE) + 1, `${reads} reads for ${found.length} posts`);
      assert.equal(new Set(found).size, found.length, "no post is shown twice");
      return [before, after].some((wanted) => JSON.stringify(wanted) === JSON.stringify(found));
    },
    40_000,
  );
});
