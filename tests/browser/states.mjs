// Each state of the page: a picture of it at two widths in two themes, an audit of it, and whether it fits a narrow window.

import assert from "node:assert/strict";

import { PASSWORD, User, freshName, people } from "./api.mjs";
import { cast } from "./cast.mjs";
import { OUTSIDE, WIDE, until } from "./desk.mjs";
import { look, settled } from "./looks.mjs";
import { test } from "./suite.mjs";
import { alert, articles, box, button, dialog, goTo, heading, home, link, loaded } from "./view.mjs";

const API = "**/v1/**";
/** A place of the page that shows something of the cast. */
const ready = async (tab, what) => {
  await what.first().waitFor();
  await loaded(tab);
};

const main = (tab) => tab.getByRole("main");

/** States that a user of the cast reaches by an address: what is there when it is shown. */
const PLACES = {
  home: ["#/", (tab) => articles(tab)],
  author: ["#/u/priya", (tab) => heading(tab, "Priya Raman")],
  profile: ["#/profile", (tab) => button(tab, "Edit profile")],
  followers: ["#/u/priya/followers", (tab) => main(tab).getByText("@")],
  following: ["#/u/mira/following", (tab) => main(tab).getByText("@")],
  "boards-of-author": ["#/u/mira/boards", (tab) => link(tab, /half marathon/)],
  trending: ["#/trending", (tab) => articles(tab)],
  "trending-week": ["#/trending/week", (tab) => articles(tab)],
  "trending-authors": ["#/trending/authors", (tab) => tab.locator("[data-rank]")],
  "trending-tags": ["#/trending/tags", (tab) => tab.locator("[data-rank]")],
  everybody: ["#/everybody", (tab) => articles(tab)],
  tags: ["#/tags", (tab) => articles(tab)],
  tag: ["#/tags/reading", (tab) => articles(tab)],
  boards: ["#/boards", (tab) => link(tab, /half marathon/)],
  scheduled: ["#/scheduled", (tab) => button(tab, "Edit")],
  likes: ["#/likes", (tab) => articles(tab)],
  status: ["#/status", (tab) => tab.getByRole("table", { name: "Load times" })],
};

for (const [name, [address, what]] of Object.entries(PLACES)) {
  test(`states::${name}`, async (desk) => {
    const { viewer } = await cast();
    const tab = await desk.open(address, { as: viewer });
    await ready(tab, what(tab));
    await look(desk, tab, name);
  });
}

test("states::board", async (desk) => {
  const { viewer, board } = await cast();
  const tab = await desk.open(`#/boards/${viewer.id}/${encodeURIComponent(board)}`, { as: viewer });
  await ready(tab, tab.getByRole("rowheader", { name: "Jonas" }));
  await look(desk, tab, "board");
});

test("states::board_around_a_member", async (desk) => {
  const { viewer } = await cast();
  const tab = await desk.open(`#/boards/${viewer.id}/bouldering`, { as: viewer });
  await ready(tab, link(tab, "priya"));
  await look(desk, tab, "board-two-scores");
  await link(tab, "priya").click();
  await ready(tab, link(tab, "@priya"));
  await look(desk, tab, "board-around");
});

test("states::post_with_likes_and_delivery", async (desk) => {
  const { viewer } = await cast();
  const post = (await viewer.all(`/v1/users/${viewer.id}/posts`)).find((one) => one.like_count > 0);
  const tab = await desk.open(`#/p/${post.id}`, { as: viewer });
  await ready(tab, link(tab, /Amina Haddad/));
  await look(desk, tab, "post");
});

test("states::signed_out", async (desk) => {
  const tab = await desk.open();
  await button(tab, "Sign in").waitFor();
  await look(desk, tab, "signed-out");
  await box(tab, "User name or email").fill(freshName("nobody"));
  await tab.getByLabel("Password", { exact: true }).fill("wrong");
  await button(tab, "Sign in").click();
  await alert(tab, /.../);
  await look(desk, tab, "signed-out-wrong");
  await button(tab, "Create an account").click();
  await look(desk, tab, "sign-up");
  const name = freshName("lime");
  await box(tab, "User name").fill(name);
  await box(tab, "Email").fill(`${name}@example.com`);
  await tab.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await button(tab, "Create account").click();
  await box(tab, "Code").waitFor();
  await look(desk, tab, "sign-up-code");
  await button(tab, "Back to sign in").click();
  await button(tab, "Forgot your password?").click();
  await box(tab, "User name or email").fill(freshName("nobody"));
  await look(desk, tab, "forgotten");
  await button(tab, "Send a code").click();
  await box(tab, "Code").waitFor();
  await look(desk, tab, "forgotten-code");
});

test("states::first_profile", async (desk) => {
  const user = await User.withoutProfile(freshName("pine"));
  const tab = await desk.open("", { as: user });
  await box(tab, "Handle").waitFor();
  await look(desk, tab, "first-profile");
});

test("states::empty", async (desk) => {
  const [user] = await people("dune");
  const tab = await desk.open("", { as: user });
  for (const place of ["Home", "Likes", "Scheduled", "Boards", "Profile"]) {
    await goTo(tab, place);
    await loaded(tab);
    await look(desk, tab, `empty-${place.toLowerCase()}`);
  }
});

test("states::writing", async (desk) => {
  const [user] = await people("heath");
  const tab = await desk.open("", { as: user });
  await home(tab);
  await box(tab, "Your post").fill(`A text with a family, 👨‍👩‍👧‍👦, and two lines.\n${"Another one. ".repeat(40)}`);
  await look(desk, tab, "writing-too-long");
  await box(tab, "Your post").fill("A text for tomorrow.");
  await button(tab, "Schedule").click();
  await tab.getByLabel("Publish at").waitFor();
  await look(desk, tab, "writing-scheduled");
});

test("states::new_posts_wait", async (desk) => {
  const [reader, author] = await people("brook", "river");
  await reader.follow(author);
  await author.post("Here before.");
  const tab = await desk.open("", { as: reader });
  await home(tab);
  await author.post("New.");
  await button(tab, "1 new post").waitFor();
  await look(desk, tab, "new-posts");
});

test("states::dialogs", async (desk) => {
  const [author] = await people("mesa");
  await author.post("To be deleted.");
  await author.call("POST", "/v1/posts", { text: "Later.", publish_at: new Date(Date.now() + 86_400_000).toISOString() });
  const tab = await desk.open("", { as: author });
  await home(tab);
  const shown = async (name, title) => {
    const opened = dialog(tab, title);
    await opened.waitFor();
    await look(desk, tab, name);
    await tab.keyboard.press("Escape");
    await opened.waitFor({ state: "detached" });
  };
  await button(tab, "Delete post").click();
  await shown("dialog-delete", "Delete this post?");
  await goTo(tab, "Scheduled");
  await button(tab, "Edit").click();
  await shown("dialog-scheduled", "Edit scheduled post");
  await button(tab, "Cancel post").click();
  await shown("dialog-cancel", "Cancel this post?");
  await goTo(tab, "Profile");
  await button(tab, "Edit profile").click();
  await shown("dialog-profile", "Edit profile");
});

test("states::long_names", async (desk) => {
  const user = await User.make(
    "",
    "Wolfeschlegelsteinhausenbergerdorff von und zu Ach",
    freshName("a_handle_as_long_as").padEnd(30, "_"),
  );
  await user.post(
    `Donaudampfschifffahrtsgesellschaftskapitän.${"\n".repeat(3)}https://example.com/${"a-long-path/".repeat(12)}`,
  );
  const tab = await desk.open("#/profile", { as: user });
  await ready(tab, articles(tab));
  await look(desk, tab, "long-names");
});

test("states::loading", async (desk) => {
  const { viewer } = await cast();
  const tab = await desk.open("#/status", { as: viewer });
  await tab.getByRole("table", { name: "Load times" }).waitFor();
  const waiting = [];
  await tab.route("**/v1/timeline*", (route) => void waiting.push(route));
  await goTo(tab, "Home");
  await tab.locator('[aria-busy="true"], .skeleton').first().waitFor({ state: "attached" });
  await look(desk, tab, "loading");
  await until("the page has asked", () => waiting.length > 0);
  await Promise.all(waiting.map((route) => route.continue()));
  await tab.unroute("**/v1/timeline*");
  await articles(tab).first().waitFor();
});

test("states::down_and_offline", async (desk) => {
  const { viewer } = await cast();
  const tab = await desk.open("#/status", { as: viewer });
  await tab.getByRole("table", { name: "Load times" }).waitFor();
  await tab.route(API, (route) => route.abort());
  await goTo(tab, "Home");
  await alert(main(tab), /.../);
  await look(desk, tab, "down");
  await tab.unroute(API);
  await button(main(tab), "Try again").click();
  await articles(tab).first().waitFor();
  await tab.context().setOffline(true);
  await tab.getByRole("status").filter({ hasText: "You are offline" }).waitFor();
  await look(desk, tab, "offline");
  await tab.context().setOffline(false);
});

test("states::not_found", async (desk) => {
  const { viewer } = await cast();
  const tab = await desk.open("#/u/nobody_has_this", { as: viewer });
  await heading(tab, "No such user").waitFor();
  await look(desk, tab, "no-such-user");
  await tab.goto(tab.url().replace(/#.*/, "#/no/such/page"));
  await heading(tab, "No such page").waitFor();
  await look(desk, tab, "no-such-page");
});

test("states::picture", async (desk) => {
  const { users, viewer } = await cast();
  const [post] = (await viewer.all(`/v1/users/${users.kofi.id}/posts`)).filter((one) => one.text.includes("harbour"));
  desk.allowed.push(OUTSIDE);
  const drawing =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 500" width="800" height="500"><rect width="800" height="500" fill="#9cc3d5"/>' +
    '<path d="M0 330h800v170H0z" fill="#3f6c7d"/><path d="M240 330l60-190 60 190z" fill="#f3e9d8"/><path d="M200 330h240l-40 50H240z" fill="#7a3f2a"/></svg>';
  const prepare = (tab) =>
    tab.route(`${OUTSIDE}/**`, (route) => route.fulfill({ contentType: "image/svg+xml", body: drawing }));
  const tab = await desk.open(`#/p/${post.id}`, { as: viewer, prepare });
  await button(tab, /Show picture/).click();
  await until("the picture is there", () =>
    articles(tab, post)
      .locator("img")
      .evaluate((one) => one.naturalWidth > 0),
  );
  await look(desk, tab, "picture");
});

test("states::a_chosen_theme_is_kept", async (desk) => {
  const { viewer } = await cast();
  const tab = await desk.open("", { as: viewer, media: { colorScheme: "light" } });
  await home(tab);
  const colour = () => tab.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const [light, seen] = [await colour(), new Set()];
  for (let time = 0; time < 3; time += 1) {
    await button(tab, /^Theme/).click();
    await settled(tab);
    const theme = await tab.evaluate(() => document.documentElement.dataset.theme ?? "system");
    seen.add(theme);
    assert.match(
      await button(tab, /^Theme/).evaluate((one) => one.getAttribute("aria-label") ?? one.textContent),
      new RegExp(theme, "i"),
    );
    assert.equal((await colour()) === light, theme !== "dark", theme);
    if (theme === "dark") {
      await tab.reload();
      await home(tab);
      assert.notEqual(await colour(), light, "a reload keeps the theme");
    }
  }
  assert.deepEqual([...seen].sort(), ["dark", "light", "system"]);
});

test("states::nothing_moves_for_those_who_ask_for_it", async (desk) => {
  const { viewer } = await cast();
  const tab = await desk.open("", { as: viewer, size: WIDE, media: { reducedMotion: "reduce" } });
  await home(tab);
  const moving = () =>
    tab.evaluate(() => {
      const seconds = (text) =>
        Math.max(...text.split(",").map((one) => Number.parseFloat(one) * (one.trim().endsWith("ms") ? 0.001 : 1)));
      return [...document.querySelectorAll("*")]
        .filter((one) => {
          const style = getComputedStyle(one);
          const isAnimated = style.animationName !== "none" && seconds(style.animationDuration) > 0.01;
          return isAnimated || seconds(style.transitionDuration) > 0.01 || style.scrollBehavior === "smooth";
        })
        .map((one) => one.outerHTML.slice(0, 80));
    });
  assert.deepEqual(await moving(), []);
  await tab.route("**/v1/timeline*", () => {});
  await goTo(tab, "Likes");
  await goTo(tab, "Home");
  await button(articles(tab).first().or(main(tab)), /./)
    .first()
    .hover();
  assert.deepEqual(await moving(), []);
});
