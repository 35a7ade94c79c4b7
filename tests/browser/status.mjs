// The panel: load times by source, reading by pull on purpose, and the delivery of one's last post.

import assert from "node:assert/strict";

import { each, people } from "./api.mjs";
import { NARROW, until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { articles, button, compose, dialog, goTo, heading, home, link, loaded, shows } from "./view.mjs";

const panel = (tab) => tab.getByRole("region", { name: "How Fanfold is doing" });

/** The number of pages in a row of the table of load times. */
async function pages(tab, row) {
  const found = panel(tab).getByRole("table", { name: "Load times" }).getByRole("row", { name: row });
  if ((await found.count()) === 0) return 0;
  return Number((await found.getByRole("cell").first().innerText()).match(/\d+/)?.[0] ?? 0);
}

/** The numbers of the delivery, by their names. */
async function numbers(tab) {
  const all = await panel(tab).locator("dl > div").allInnerTexts();
  return Object.fromEntries(all.map((text) => text.split(/\s*\n\s*/)));
}

/** Reads a page of a feed again: a link leads to a fresh one. */
async function readAgain(tab) {
  await goTo(tab, "Likes");
  await heading(tab, "Likes").waitFor();
  await goTo(tab, "Profile");
  await articles(tab).first().waitFor();
  await loaded(tab);
}

test("status::pages_are_counted_by_their_source_and_read_by_pull_on_purpose", async (desk) => {
  const [reader, author] = await people("amber", "topaz");
  await reader.follow(author);
  await author.post("A stone.");
  await reader.post("My own.");
  const tab = await desk.open("", { as: reader });
  await home(tab);
  await until("a page from the cache is counted", async () => {
    if ((await pages(tab, "From the cache")) > 0) return true;
    await readAgain(tab);
    return false;
  });
  assert.equal(await pages(tab, "By pull"), 0);
  const toggle = panel(tab).getByRole("switch", { name: "Read pages by pull" });
  assert.equal(await toggle.isChecked(), false);
  await toggle.click();
  await until("the switch is on", () => toggle.isChecked());
  for (const count of [1, 2]) {
    await until(`${count} pages by pull`, async () => {
      if ((await pages(tab, "By pull")) >= count) return true;
      await readAgain(tab);
      return false;
    });
  }
  assert.match(await panel(tab).locator("[data-last-source]").innerText(), /pull/i);
  const row = panel(tab).getByRole("row", { name: "By pull" });
  const times = (await row.getByRole("cell").allInnerTexts()).slice(1).map((text) => Number.parseFloat(text.replace(",", "")));
  assert.equal(times.length, 3);
  const [average, least, most] = times;
  assert.ok(least > 0 && least <= average && average <= most, times.join(" "));
  const plots = panel(tab).locator("svg[role=img]");
  assert.ok((await plots.count()) > 0);
  for (const plot of await plots.all()) {
    const name = await plot.evaluate((one) => one.getAttribute("aria-label") ?? one.querySelector("title")?.textContent ?? "");
    assert.ok(name.length > 5, "a plot has a name");
  }
  await toggle.click();
  const [byPull, others] = [await pages(tab, "By pull"), await pages(tab, "From the cache")];
  await until("a page from the cache", async () => {
    await readAgain(tab);
    return (await pages(tab, "From the cache")) > others;
  });
  assert.equal(await pages(tab, "By pull"), byPull);
});

test("status::a_user_who_reads_too_much_by_pull_is_told_so", async (desk) => {
  const [reader] = await people("opal");
  await reader.post("Mine.");
  const tab = await desk.open("", { as: reader });
  await home(tab);
  await panel(tab).getByRole("switch", { name: "Read pages by pull" }).click();
  // another client of the user spends what is allowed, and each second what is added
  let isOver = false;
  let refused = 0;
  const spend = async () => {
    while (!isOver) {
      const { status } = await reader.send("GET", "/v1/timeline?source=pull&limit=1");
      refused += status === 429 ? 1 : 0;
    }
  };
  const spending = each([1, 2, 3, 4], 4, spend);
  const told = panel(tab).getByText(/The limit is reached/);
  try {
    await until("the API refuses", () => refused > 0);
    await until("the limit is told", async () => {
      await readAgain(tab);
      return told.isVisible();
    });
  } finally {
    isOver = true;
    await spending;
  }
  assert.equal(await articles(tab).count(), 1, "the page is shown nevertheless");
  assert.ok((await pages(tab, "From the cache")) > 0);
});

test("status::a_refusal_of_the_gateway_is_not_repeated", async (desk) => {
  const [reader] = await people("onyx");
  const post = await reader.post("Mine.");
  const tab = await desk.open("#/likes", { as: reader });
  await heading(tab, "Likes").waitFor();
  // the answer of the gateway does not say how long to wait
  let asked = 0;
  await tab.route(
    (url) => url.searchParams.get("source") === "pull",
    (route) => {
      asked += 1;
      return route.fulfill({ status: 429, contentType: "application/json", body: '{"message":"Too Many Requests"}' });
    },
  );
  await panel(tab).getByRole("switch", { name: "Read pages by pull" }).click();
  await goTo(tab, "Profile");
  await panel(tab)
    .getByText(/The limit is reached/)
    .waitFor();
  await shows(tab, [post]);
  assert.equal(asked, 1, "the page is asked for by pull once");
});

test("status::the_delivery_of_the_last_post_fills", async (desk) => {
  const [author, ...followers] = await people("ruby", "agate", "beryl", "coral", "garnet", "jade");
  await Promise.all(followers.map((one) => one.follow(author)));
  await Promise.all(followers.map((one) => one.call("GET", "/v1/timeline")));
  const tab = await desk.open("", { as: author });
  await home(tab);
  // the first receipt comes from the middle of the fan-out, and later ones wait until it was seen
  let receipts = 0;
  let goOn;
  const isSeen = new Promise((resume) => (goOn = resume));
  await tab.route("**/v1/posts/*/delivery", async (route) => {
    if (receipts++ > 0) return isSeen.then(() => route.continue());
    const answer = await route.fetch();
    const json = { ...(await answer.json()), state: "under_way", progress: 0.4, delivered: 2, lag_ms: null };
    return route.fulfill({ response: answer, json });
  });
  const article = await compose(tab, "To all of you.");
  const id = await article.getAttribute("data-id");
  const receipt = panel(tab).getByRole("progressbar").first();
  await panel(tab).getByText("The post is on its way.").waitFor();
  assert.deepEqual(await receipt.evaluate((one) => [one.value, one.max]), [40, 100]);
  assert.equal((await numbers(tab)).Pushed, "2");
  goOn();
  await until(
    "the delivery is complete",
    async () => {
      const [now, most] = await receipt.evaluate((one) => [one.value, one.max]);
      return now === most && most > 0;
    },
    40_000,
  );
  const told = await author.call("GET", `/v1/posts/${id}/delivery`);
  assert.equal(told.state, "complete");
  const shown = await numbers(tab);
  assert.equal(shown.Followers, String(told.followers));
  assert.equal(shown.Pushed, String(told.delivered));
  assert.ok(told.delivered > 0, "somebody has read lately");
  await goTo(tab, "Status");
  await tab.getByRole("main").getByRole("progressbar").first().waitFor();
});

test("status::the_switch_reads_the_shown_feed_again_at_once", async (desk) => {
  const [reader] = await people("agate");
  await reader.post("Mine.");
  const tab = await desk.open("", { as: reader });
  await home(tab);
  const toggle = panel(tab).getByRole("switch", { name: "Read pages by pull" });
  await toggle.click();
  await until("the home feed is read by pull", async () => (await pages(tab, "By pull")) === 1);
  await goTo(tab, "Profile");
  await until("the author feed is read by pull", async () => (await pages(tab, "By pull")) === 2);
  const before = await pages(tab, "From the cache");
  await toggle.click();
  await until("the author feed is read from the cache", async () => (await pages(tab, "From the cache")) > before);
  await goTo(tab, "Home");
  await until("and so is the home feed, which waited", async () => (await pages(tab, "From the cache")) > before + 1);
  assert.equal(await pages(tab, "By pull"), 2);
});

test("status::the_page_of_a_post_shows_the_delivery_of_this_post_alone", async (desk) => {
  const [author, other] = await people("quartz", "mica");
  const own = await author.post("Mine.");
  const foreign = await other.post("Not mine.");
  await author.post("My last one.");
  const tab = await desk.open("", { as: author });
  await home(tab);
  await panel(tab).getByText("Delivery of your last post").waitFor();
  await panel(tab).getByRole("progressbar").waitFor();
  const [page] = tab.url().split("#");
  for (const [id, title, receipts] of [
    [foreign.id, "Post by Mica", []],
    ["01M7YZ0V042DVTFTPP3HS0JN1E", "No such post", []],
    [own.id, "Post by Quartz", ["Delivery of this post"]],
  ]) {
    await tab.goto(`${page}#/p/${id}`);
    await heading(tab, title).waitFor({ state: "attached" });
    await loaded(tab);
    assert.deepEqual(await tab.getByRole("heading", { name: /^Delivery of/ }).allInnerTexts(), receipts, title);
    assert.equal(await tab.getByRole("progressbar").count(), receipts.length, title);
  }
});

test("status::after_a_deletion_the_post_before_is_the_last_one", async (desk) => {
  const [author] = await people("spar");
  const asked = [];
  const first = await author.post("The first.");
  const second = await author.post("The second.");
  const tab = await desk.open("", { as: author });
  tab.on("request", (request) => request.url().endsWith("/delivery") && asked.push(request.url()));
  await home(tab);
  const remove = async (post) => {
    await button(articles(tab, post), "Delete post").click();
    await button(dialog(tab, "Delete this post?"), "Delete").click();
    await articles(tab, post).waitFor({ state: "detached" });
  };
  await panel(tab).getByText("All followers have it.").waitFor();
  await remove(second);
  await until("the delivery of the first post", () => asked.some((url) => url.includes(first.id)));
  await panel(tab).getByText("All followers have it.").waitFor();
  assert.equal(await panel(tab).getByText("You have not posted yet.").count(), 0);
  await remove(first);
  await panel(tab).getByText("You have not posted yet.").waitFor();
  await tab.getByRole("main").getByText("Your feed is empty").waitFor();
});

test("status::a_narrow_window_has_a_page_for_it", async (desk) => {
  const [reader] = await people("pearl");
  await reader.post("Mine.");
  const tab = await desk.open("", { as: reader, size: NARROW });
  await home(tab);
  assert.equal(
    await panel(tab)
      .isVisible()
      .catch(() => false),
    false,
  );
  await goTo(tab, "Profile");
  await link(tab.getByRole("main"), "Status").click();
  await panel(tab).getByRole("table", { name: "Load times" }).waitFor();
  await loaded(tab);
});
