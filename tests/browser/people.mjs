// Pages of authors: their posts, followers and following, and the own profile.

import assert from "node:assert/strict";

import { people } from "./api.mjs";
import { until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { alert, articles, box, button, dialog, goTo, heading, link, shows } from "./view.mjs";

test("people::an_author_is_followed_and_the_numbers_change", async (desk) => {
  const [reader, author, other] = await people("wren", "robin", "finch");
  await other.follow(author);
  await author.follow(other);
  const post = await author.post("A song.");
  await until("the follower is counted", async () => (await reader.call("GET", `/v1/users/${author.id}`)).followers === 1);
  const tab = await desk.open(`#/u/${author.handle}`, { as: reader });
  await heading(tab, "Robin").waitFor();
  await shows(tab, [post]);
  await link(tab, /1.*Followers?/s)
    .or(link(tab, /Followers?.*1/s))
    .first()
    .waitFor();
  await button(tab, /^Follow @/).click();
  await button(tab, /^Unfollow @/).waitFor();
  await until("the API knows it", async () => (await reader.call("GET", `/v1/users/${author.id}`)).you_follow);
  await link(tab, /Followers?/)
    .first()
    .click();
  await until("the address", () => tab.url().endsWith("/followers"));
  for (const user of [reader, other])
    await link(tab.getByRole("main"), new RegExp(`@${user.handle}|${user.name}`))
      .first()
      .waitFor();
  await link(tab.getByRole("main"), /Following/)
    .first()
    .click();
  await link(tab.getByRole("main"), /Finch/).first().click();
  await heading(tab, "Finch").waitFor();
  for (const end of ["/following", "/followers", `/u/${author.handle}`]) {
    await tab.goBack();
    await until("the address", () => tab.url().endsWith(end));
    await heading(tab, "Robin").waitFor();
  }
  await shows(tab, [post]);
  await button(tab, /^Unfollow @/).click();
  await button(tab, /^Follow @/).waitFor();
  await until("the API knows it", async () => !(await reader.call("GET", `/v1/users/${author.id}`)).you_follow);
});

test("people::a_follow_changes_the_number_of_followers_and_it_stays", async (desk) => {
  const [reader, author] = await people("lark", "plover");
  const tab = await desk.open(`#/u/${author.handle}`, { as: reader });
  const number = async () => Number((await link(tab.getByRole("main"), /^Followers/).innerText()).match(/\d+/)[0]);
  const known = async () => (await reader.call("GET", `/v1/users/${author.id}`)).followers;
  for (const [name, followers] of [
    [/^Follow @/, 1],
    [/^Unfollow @/, 0],
  ]) {
    await button(tab, name).click();
    await until("the number is shown at once", async () => (await number()) === followers, 1000);
    // the first answers are older than the count, and the last ones have it
    const end = Date.now() + 7500;
    while (Date.now() < end || (await known()) !== followers) {
      assert.equal(await number(), followers);
      await new Promise((resume) => setTimeout(resume, 100));
    }
    assert.equal(await number(), followers);
  }
});

test("people::a_profile_is_changed_and_every_post_shows_the_new_name", async (desk) => {
  const [user, other] = await people("swift", "crane");
  const post = await user.post("Mine.");
  const tab = await desk.open("#/profile", { as: user });
  await heading(tab, "Swift").waitFor();
  assert.equal(await button(tab, /^(Follow|Unfollow)/).count(), 0, "nobody follows oneself");
  await button(tab, "Edit profile").click();
  const form = dialog(tab, "Edit profile");
  assert.equal(await box(form, "Name").inputValue(), "Swift");
  await box(form, "Handle").fill(other.handle);
  await button(form, "Save profile").click();
  await alert(tab, /taken|belongs|another/i);
  await box(form, "Handle").fill("no handle!");
  await button(form, "Save profile").click();
  await alert(tab, /^\s*A handle has 1 to 30/);
  await box(form, "Handle").fill(user.handle);
  await box(form, "Name").fill("Apus apus");
  await button(form, "Save profile").click();
  await form.waitFor({ state: "detached" });
  await heading(tab, "Apus apus").waitFor();
  await link(articles(tab, post), /Apus apus/)
    .first()
    .waitFor();
  assert.equal((await user.call("GET", "/v1/me")).name, "Apus apus");
  await goTo(tab, "Home");
  await link(articles(tab, post), /Apus apus/)
    .first()
    .waitFor();
});

test("people::who_and_what_does_not_exist_is_said", async (desk) => {
  const [user] = await people("stork");
  const places = {
    "#/u/nobody_has_this": "No such user",
    "#/p/01M7YZ0V042DVTFTPP3HS0JN1E": "No such post",
    "#/no/such/page": "No such page",
  };
  const tab = await desk.open("", { as: user });
  const [page] = tab.url().split("#");
  for (const [address, title] of Object.entries(places)) {
    await tab.goto(page + address);
    await heading(tab, title).waitFor();
    await link(tab, "To the home feed").waitFor();
  }
});
