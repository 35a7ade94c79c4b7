// What the page shows when the API is down, busy or out of reach, and when there is nothing to show.

import assert from "node:assert/strict";

import { URL_OF_API, each, people } from "./api.mjs";
import { until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { alert, articles, box, button, goTo, heading, home, shows } from "./view.mjs";

const API = "**/v1/**";
const BUSY = {
  status: 503,
  contentType: "application/problem+json",
  body: JSON.stringify({
    type: "/problems/unavailable",
    title: "Unavailable",
    status: 503,
    detail: "a store did not answer in time",
  }),
};

for (const [name, answer] of [
  ["the_api_is_down", (route) => route.abort("connectionrefused")],
  ["the_api_is_busy", (route) => route.fulfill(BUSY)],
]) {
  test(`errors::${name}_and_comes_back`, async (desk) => {
    const [author] = await people("flint");
    const post = await author.post("Still here.");
    const tab = await desk.open("#/status", { as: author });
    await tab.getByRole("region", { name: "How Fanfold is doing" }).first().waitFor();
    await tab.route(API, answer);
    for (const place of ["Home", "Trending", "Boards", "Scheduled", "Likes"]) {
      await goTo(tab, place);
      const words = await alert(tab.getByRole("main"), /.../);
      assert.doesNotMatch(await words.innerText(), /undefined|null|\[object|Failed to fetch|TypeError/);
      await button(words, "Try again").waitFor();
    }
    // the alert of the place before may still be there
    const asked = tab.waitForRequest((request) => new URL(request.url()).pathname.endsWith("/timeline"));
    await goTo(tab, "Home");
    await asked;
    const words = await alert(tab.getByRole("main"), /.../);
    await tab.unroute(API);
    await button(words, "Try again").click();
    await shows(tab, [post]);
  });

  test(`errors::a_text_is_kept_while_${name}`, async (desk) => {
    const [author] = await people("slate");
    const tab = await desk.open("", { as: author });
    await home(tab);
    await tab.route(API, answer);
    await box(tab, "Your post").fill("Do not lose me.");
    await button(tab, "Post").click();
    await alert(tab, /.../);
    assert.equal(await box(tab, "Your post").inputValue(), "Do not lose me.");
    await tab.unroute(API);
    await button(tab, "Post").click();
    await articles(tab).filter({ hasText: "Do not lose me." }).waitFor();
  });
}

test("errors::problems_are_told_in_words_and_not_as_developers_read_them", async (desk) => {
  const [author] = await people("schist");
  const tab = await desk.open("", { as: author });
  await home(tab);
  const text = async (path) => (await fetch(`${URL_OF_API}${path}`)).text();
  const types = new Set((await text("/problems/unavailable")).match(/\/problems\/[a-z-]+/g));
  assert.ok(types.size > 30, [...types].join(" "));
  const told = new Map();
  for (const type of types) {
    const status = Number((await text(type)).match(/class="status">(\d+)/)[1]);
    // ends the session
    if (status === 401) continue;
    const problem = { type, title: "Raw_title", status, detail: "raw_field must be 1 of RAW" };
    const body = JSON.stringify(problem);
    await tab.route("**/v1/posts", (route) => route.fulfill({ status, contentType: "application/problem+json", body }));
    await box(tab, "Your post").fill(`A text for ${type}.`);
    await button(tab, "Post").click();
    const said = await until(`words for ${type}`, async () => {
      const words = await tab.getByRole("form", { name: "New post" }).getByRole("alert").innerText();
      return words !== "" && words;
    });
    assert.doesNotMatch(said, /raw/i, type);
    assert.match(said, /^[A-Z].*\.$/, type);
    told.set(type, said);
    await tab.unroute("**/v1/posts");
    await tab.reload();
    await home(tab);
  }
  assert.match(told.get("/problems/invalid-time"), /at least a minute and at most 366 days/);
});

test("errors::what_is_being_prepared_is_asked_for_again", async (desk) => {
  const [author] = await people("basalt");
  const post = await author.post("A moment later.");
  const answers = [];
  const prepare = (tab) =>
    tab.route("**/v1/timeline*", (route) => {
      answers.push(route.request().url());
      return answers.length > 1 ? route.continue() : route.fulfill({ ...BUSY, headers: { "retry-after": "1" } });
    });
  const tab = await desk.open("", { as: author, prepare });
  await shows(tab, [post]);
  assert.equal(answers[0], answers[1], "the same page is asked for");
});

test("errors::the_page_itself_begins_while_the_api_is_down", async (desk) => {
  const [author] = await people("chalk");
  const post = await author.post("Still here.");
  const tab = await desk.open("", { as: author, prepare: (tab) => tab.route(API, (route) => route.abort()) });
  const words = await alert(tab, /.../);
  await tab.unroute(API);
  await button(words, "Try again").click();
  await shows(tab, [post]);
});

test("errors::the_next_page_of_a_feed_fails_and_is_read_again", async (desk) => {
  const [author] = await people("clay");
  const posts = await Promise.all(Array.from({ length: 45 }, (_, number) => author.post(`Brick ${number}.`)));
  const isNext = (url) => url.pathname.endsWith("/timeline") && url.searchParams.has("cursor");
  const prepare = (tab) => tab.route(isNext, (route) => route.fulfill(BUSY));
  const tab = await desk.open("", { as: author, prepare });
  await home(tab);
  await tab.mouse.move(600, 500);
  const words = await until("the failure is shown", async () => {
    await tab.mouse.wheel(0, 2000);
    const found = tab.getByRole("alert").filter({ has: button(tab, "Try again") });
    return (await found.count()) > 0 && found.first();
  });
  await tab.unroute(isNext);
  await button(words, "Try again").click();
  await until("all posts", async () => {
    await tab.mouse.wheel(0, 2000);
    return (await articles(tab).count()) === posts.length;
  });
});

test("errors::an_offline_browser_is_told_so_and_goes_on_later", async (desk) => {
  const [author] = await people("marl");
  const posts = await each(Array.from({ length: 25 }), 8, (_, number) => author.post(`Layer ${number}.`));
  // the network fails while the second page is on its way
  const isNext = (url) => url.pathname.endsWith("/timeline") && url.searchParams.has("cursor");
  let goOffline;
  const isOffline = new Promise((resume) => (goOffline = resume));
  const fail = (route) => isOffline.then(() => route.abort("internetdisconnected"));
  const tab = await desk.open("", { as: author, prepare: (tab) => tab.route(isNext, fail) });
  await box(tab, "Your post").waitFor();
  await articles(tab).first().waitFor();
  const told = tab.getByRole("status").filter({ hasText: "You are offline" });
  assert.equal(await told.count(), 0);
  await tab.context().setOffline(true);
  await told.waitFor();
  goOffline();
  await tab.mouse.move(600, 500);
  await tab.mouse.wheel(0, 2500);
  await alert(tab, /offline/i);
  await tab.mouse.wheel(0, -10_000);
  await box(tab, "Your post").fill("From the mountain.");
  await button(tab, "Post").click();
  await alert(tab.getByRole("form", { name: "New post" }), /offline/i);
  assert.equal(await box(tab, "Your post").inputValue(), "From the mountain.");
  await tab.unroute(isNext);
  await tab.context().setOffline(false);
  await told.waitFor({ state: "detached" });
  // nobody clicks, and the feed goes on
  await until("all posts", async () => (await articles(tab).count()) === posts.length);
  await button(tab, "Post").click();
  await articles(tab).filter({ hasText: "From the mountain." }).waitFor();
});

test("errors::empty_lists_say_what_to_do", async (desk) => {
  const [user] = await people("sand");
  const tab = await desk.open("", { as: user });
  await home(tab);
  assert.equal(await articles(tab).count(), 0);
  for (const place of ["Home", "Likes", "Scheduled", "Boards"]) {
    await goTo(tab, place);
    const empty = tab.getByRole("main").locator(".empty").first();
    await empty.waitFor();
    assert.ok((await empty.innerText()).length > 15, place);
  }
  await goTo(tab, "Profile");
  await heading(tab, "Sand").waitFor();
  await tab.getByRole("main").getByText("You have not posted yet.").waitFor();
});
