// The home feed: two users in two windows, endless scrolling while others post, and what happens to it after a follow.

import assert from "node:assert/strict";

import { each, people } from "./api.mjs";
import { until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { articles, button, compose, feed, goTo, heading, home, ids, link, loaded, shows } from "./view.mjs";

const PILL = /^\d+\+? new posts?$/;
/** For this time after a change, the feed is the one of before. */
const TOO_SOON_MS = 1500;
/** After this time, reads of the feed wait for the change. The page begins its last one later. */
const PATIENCE_MS = 4000;

test("feeds::a_post_of_one_user_is_seen_by_another_in_another_window", async (desk) => {
  const [ash, birch] = await people("ash", "birch");
  await birch.follow(ash);
  const before = await ash.post("The first leaves are out.");
  const [one, two] = await Promise.all([desk.open("", { as: ash }), desk.open("", { as: birch })]);
  await Promise.all([home(one), home(two)]);
  await shows(two, [before]);
  const article = await compose(one, "Good morning, forest.");
  const id = await article.getAttribute("data-id");
  assert.deepEqual(await ids(one), [id, before.id], "the author sees the own post at once, on top");
  await button(two, "1 new post").waitFor();
  assert.deepEqual(await ids(two), [before.id], "a new post waits until the reader asks for it");
  await button(two, "1 new post").click();
  await shows(two, [id, before.id]);
  await button(two, PILL).waitFor({ state: "detached" });
  await ash.post("And another one.");
  await ash.post("And a third one.");
  await button(two, "2 new posts").click();
  await until("four posts", async () => (await ids(two)).length === 4);
});

test("feeds::three_hundred_posts_are_scrolled_without_gaps_while_others_post", async (desk) => {
  const [reader, cedar, dogwood] = await people("hazel", "cedar", "dogwood");
  await reader.follow(cedar, dogwood);
  const numbers = Array.from({ length: 300 }, (_, number) => number);
  await each(numbers, 8, (number) =>
    (number % 2 ? cedar : dogwood).post(`Ring ${number} of a tree.\n${"Wood. ".repeat(number % 9)}`),
  );
  const published = await until("all posts are in the feed", async () => {
    const all = await reader.all("/v1/timeline");
    return all.length === 300 && all.map((post) => post.id);
  });
  const tab = await desk.open("", { as: reader });
  await home(tab);
  // while the reader scrolls, each of the authors posts again and again
  let isOver = false;
  let others = 0;
  const posting = (async () => {
    while (!isOver) {
      await cedar.post(`While you read, ${others++}.`);
      await dogwood.post(`While you read, ${others++}.`);
    }
  })();
  const places = new Map();
  const note = async () => {
    const seen = await articles(tab).evaluateAll((all) =>
      all.map((one) => [Number(one.getAttribute("aria-posinset")), one.dataset.id]),
    );
    for (const [place, id] of seen) {
      assert.ok(!places.has(place) || places.get(place) === id, `the post at place ${place} has changed`);
      places.set(place, id);
    }
  };
  await tab.mouse.move(600, 500);
  const reachesEnd = tab.getByText("You have reached the first post.");
  await until(
    "the end of the feed",
    async () => {
      await tab.mouse.wheel(0, 2500);
      await note();
      return reachesEnd.isVisible();
    },
    90_000,
  );
  await note();
  isOver = true;
  await posting;
  const scrolled = [...places.entries()].sort(([a], [b]) => a - b);
  assert.deepEqual(
    scrolled.map(([place]) => place),
    scrolled.map((_, at) => at + 1),
    "no place is missing",
  );
  const read = scrolled.map(([, id]) => id);
  assert.equal(new Set(read).size, read.length, "no post is shown twice");
  const byApi = (await reader.all("/v1/timeline")).map((post) => post.id);
  assert.deepEqual(read, byApi.slice(byApi.indexOf(read[0])), "the page shows what the API has, in its order");
  assert.deepEqual(read.slice(-300), published);
  assert.ok(others > 4, "others have posted in the meantime");
  // the new ones wait
  await button(tab, PILL).waitFor({ state: "attached" });
  const sizes = await articles(tab).evaluateAll((all) => all.map((one) => one.getAttribute("aria-setsize")));
  assert.ok(
    sizes.every((size) => size === String(read.length)),
    "at the end, the size of the feed is known",
  );
});

test("feeds::after_an_absence_with_very_many_posts_the_feed_has_no_gap", async (desk) => {
  const [reader, author] = await people("spruce", "yarrow");
  await reader.follow(author);
  await author.post("Before.");
  const tab = await desk.open("", { as: reader });
  await home(tab);
  await articles(tab).first().waitFor();
  await tab.context().setOffline(true);
  await each(Array.from({ length: 120 }), 8, (_, number) => author.post(`Meanwhile, ${number}.`));
  const published = await until("all posts are in the feed", async () => {
    const all = await reader.all("/v1/timeline");
    return all.length === 121 && all.map((post) => post.id);
  });
  await tab.context().setOffline(false);
  await button(tab, /^\d+\+ new posts$/).click();
  await tab.mouse.move(600, 500);
  await until("the whole feed", async () => {
    await tab.mouse.wheel(0, 2500);
    return (await ids(tab)).length >= published.length;
  });
  await shows(tab, published);
});

test("feeds::more_than_a_hundred_new_posts_are_not_kept", async (desk) => {
  const [reader, author] = await people("larkspur", "sorrel");
  await reader.follow(author);
  const before = await author.post("Before.");
  const tab = await desk.open("", { as: reader });
  await shows(tab, [before]);
  // several polls find them; a post that is delivered late may be missing in the number
  for (const least of [30, 70]) {
    await each(Array.from({ length: 40 }), 8, (_, number) => author.post(`Blade ${number}.`));
    await until(`more than ${least} new posts`, async () => {
      const [number] = (await button(tab, PILL).innerText()).match(/^\d+(?= )/);
      return Number(number) > least;
    });
  }
  await each(Array.from({ length: 40 }), 8, (_, number) => author.post(`Blade ${number}.`));
  await button(tab, "100+ new posts").waitFor();
  assert.deepEqual(await ids(tab), [before.id], "new posts wait");
  const all = await until("all posts are in the feed", async () => {
    const found = await reader.all("/v1/timeline");
    return found.length === 121 && found.map((post) => post.id);
  });
  // a poll finds one more before the page that has it comes
  let isLate = false;
  const isFirstPage = ({ pathname, search }) => pathname === "/v1/timeline" && !/newer_than|cursor|limit=100/.test(search);
  await tab.route(isFirstPage, async (route) => {
    if (!isLate) {
      isLate = true;
      all.unshift((await author.post("Late.")).id);
      await button(tab, PILL).waitFor();
    }
    await route.continue();
  });
  await button(tab, "100+ new posts").click();
  await until("the page with the last post", async () => isLate && (await ids(tab))[0] === all[0]);
  const first = all.slice(0, 20);
  await until("the first page", async () => {
    assert.deepEqual((await ids(tab)).slice(0, first.length), first);
    return true;
  });
  await loaded(tab);
  // the second page is near the window, and may have come
  assert.ok((await ids(tab)).length <= 2 * first.length, "the page does not show all of them at once");
  assert.equal(await button(tab, PILL).count(), 0);
});

test("feeds::the_feed_follows_suit_when_an_author_is_followed_and_unfollowed", async (desk) => {
  const [reader, author] = await people("linden", "maple");
  await each(Array.from({ length: 45 }), 8, (_, number) => author.post(`Leaf ${number}.`));
  const own = [await reader.post("Mine."), await reader.post("Mine, too.")].reverse();
  // the poll for new posts is too slow to help
  const tab = await desk.open("", { as: reader, query: "?poll=60000" });
  await shows(tab, own);
  await tab.mouse.move(600, 500);
  // a change arrives a moment after its answer, sooner or later on different machines: the page reads the feed several times
  let [changedAt, before, arrival] = [0, null, null];
  await tab.route("**/v1/timeline*", async (route) => {
    const passed = Date.now() - changedAt;
    if (passed < TOO_SOON_MS && !route.request().url().includes("cursor=")) return route.fulfill({ json: before });
    if (passed > PATIENCE_MS) await arrival;
    return route.continue();
  });
  const change = async (from, to, size) => {
    before = await reader.call("GET", "/v1/timeline");
    let arrived;
    [changedAt, arrival] = [Date.now(), new Promise((resume) => (arrived = resume))];
    await button(tab, from).click();
    await button(tab, to).waitFor();
    await goTo(tab, "Home");
    const wanted = await until(
      `${size} posts in the feed of the API`,
      async () => {
        const all = await reader.all("/v1/timeline");
        return all.length === size && all.map((post) => post.id);
      },
      60_000,
    );
    arrived();
    await until(`${size} posts, in the order of the API`, async () => {
      await tab.mouse.wheel(0, 2500);
      assert.deepEqual(await ids(tab), wanted);
      return true;
    });
    await tab.getByText("You have reached the first post.").waitFor();
    assert.equal(await button(tab, PILL).count(), 0, "nothing waits for a click");
  };
  await tab.evaluate((handle) => (location.hash = `#/u/${handle}`), author.handle);
  await heading(tab, "Maple").waitFor();
  await change(/^Follow @/, /^Unfollow @/, 47);
  await tab.evaluate((handle) => (location.hash = `#/u/${handle}`), author.handle);
  await heading(tab, "Maple").waitFor();
  await change(/^Unfollow @/, /^Follow @/, 2);
  await shows(tab, own);
});

test("feeds::an_author_who_is_followed_elsewhere_comes_completely", async (desk) => {
  const [reader, author] = await people("walnut", "medlar");
  await each(Array.from({ length: 30 }), 8, (_, number) => author.post(`Shell ${number}.`));
  const own = await reader.post("Mine.");
  const tab = await desk.open("", { as: reader });
  await shows(tab, [own]);
  await reader.follow(author);
  await tab.mouse.move(600, 500);
  await until("all posts, in the order of the API", async () => {
    if (await button(tab, PILL).isVisible()) await button(tab, PILL).click();
    await tab.mouse.wheel(0, 2500);
    assert.deepEqual(
      await ids(tab),
      (await reader.all("/v1/timeline")).map((post) => post.id),
    );
    return (await ids(tab)).length === 31;
  });
});

test("feeds::back_and_forward_keep_the_place", async (desk) => {
  const [reader, author] = await people("alder", "poplar");
  await reader.follow(author);
  await each(Array.from({ length: 60 }), 8, (_, number) => author.post(`Post ${number}.\nWith a second line.`));
  await until("all posts are in the feed", async () => (await reader.all("/v1/timeline")).length === 60);
  const tab = await desk.open("", { as: reader });
  await home(tab);
  await tab.mouse.move(600, 500);
  const seen = () =>
    tab.evaluate(() => document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest("article")?.dataset.id);
  /** Scrolls down, follows a link of the post in the middle of the window, and comes back to the same place. */
  const leaveAndReturn = async (name, arrived) => {
    await until("fifty posts", async () => {
      await tab.mouse.wheel(0, 1500);
      return (await articles(tab).last().getAttribute("aria-posinset")) >= 50;
    });
    await loaded(tab);
    // an article stands still in the middle of the window
    let middle = null;
    await until("the page stands still", async () => {
      const before = middle;
      middle = await seen();
      return middle && middle === before;
    });
    const scrolled = await tab.evaluate(() => scrollY);
    assert.ok(scrolled > 1000, String(scrolled));
    await link(articles(tab, middle), name).first().click();
    await arrived();
    await until("a new view begins at the top", () => tab.evaluate(() => scrollY === 0));
    await tab.goBack();
    await until("the same post is in the middle again", async () => (await seen()) === middle);
    assert.ok(Math.abs((await tab.evaluate(() => scrollY)) - scrolled) < 5);
    await tab.goForward();
    await arrived();
    await tab.goBack();
    await until("the same post is in the middle again", async () => (await seen()) === middle);
    await tab.goForward();
    await arrived();
  };
  await leaveAndReturn(/Poplar/, () => heading(tab, "Poplar").waitFor());
  // the page of an author has a head, which is read before the posts
  await leaveAndReturn(/^(now|\d+ (s|min))$/, () => heading(tab, "Post by Poplar").waitFor());
});

test("feeds::articles_say_where_they_are", async (desk) => {
  const [author] = await people("rowan");
  await each(Array.from({ length: 30 }), 8, (_, number) => author.post(`Berry ${number}.`));
  const tab = await desk.open(`#/u/${author.handle}`, { as: author });
  const list = feed(tab, `Posts by @${author.handle}`);
  await list.waitFor();
  await until("twenty articles", async () => (await articles(tab).count()) >= 20);
  const first = articles(tab).first();
  assert.equal(await first.getAttribute("aria-posinset"), "1");
  assert.equal(await first.getAttribute("tabindex"), "0");
  const label = await first.evaluate((one) => {
    const names = (one.getAttribute("aria-labelledby") ?? "")
      .split(" ")
      .map((id) => document.getElementById(id)?.textContent ?? "");
    return one.getAttribute("aria-label") ?? names.join(" ");
  });
  assert.match(label, /Rowan/);
});
