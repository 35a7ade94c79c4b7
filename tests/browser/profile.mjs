// What users say about themselves, and what posts have beside their texts.

import assert from "node:assert/strict";

import { people } from "./api.mjs";
import { OUTSIDE, until } from "./desk.mjs";
import { look } from "./looks.mjs";
import { test } from "./suite.mjs";
import { alert, announced, articles, box, button, dialog, heading, link } from "./view.mjs";

test("profile::a_bio_and_links_are_written_and_shown", async (desk) => {
  const [author, reader] = await people("hazel", "rowan");
  // what the page does not know stays as it is
  const data = '{"b":1.10,"a":[]}';
  await author.call("PUT", "/v1/me", { handle: author.handle, name: author.name, about: { data: JSON.parse(data) } });
  const tab = await desk.open(`#/u/${author.handle}`, { as: author });
  await button(tab, "Edit profile").click();
  const form = dialog(tab, "Edit profile");
  await box(form, "About you").fill("I sleep by day.");
  await box(form, "Link 1").fill("http://example.com");
  await button(form, "Save profile").click();
  await alert(form, /https/);
  await box(form, "Link 1").fill("https://example.com/nest");
  await box(form, "Label 1").fill("Nest");
  await box(form, "Link 2").fill("https://example.com/tree");
  await button(form, "Save profile").click();
  await announced(tab, /saved/);
  await form.waitFor({ state: "detached" });
  await tab.getByText("I sleep by day.").waitFor();
  const { about } = await reader.call("GET", `/v1/users/@${author.handle}`);
  const links = [
    { label: "Nest", url: "https://example.com/nest" },
    { label: "", url: "https://example.com/tree" },
  ];
  assert.deepEqual(about, { bio: "I sleep by day.", links, data: { a: [], b: 1.1 } });
  const other = await desk.open(`#/u/${author.handle}`, { as: reader });
  await heading(other, author.name).waitFor();
  assert.equal(await link(other, "Nest").getAttribute("href"), links[0].url);
  assert.equal(await link(other, "example.com").getAttribute("href"), links[1].url);
  await look(desk, other, "bio");
});

test("profile::pictures_of_a_post_are_shown_on_request_with_their_descriptions", async (desk) => {
  const [author] = await people("alder");
  desk.allowed.push(OUTSIDE);
  const file = (name, more) => ({ url: `${OUTSIDE}/${name}`, media_type: "image/png", ...more });
  const attachments = [
    file("owl.png", { alt: "An owl.", width: 640, height: 480 }),
    file("gone.png"),
    file("hoot.ogg", { media_type: "audio/ogg", alt: "The owl hoots." }),
  ];
  const post = await author.call("POST", "/v1/posts", { text: "Look.", attachments });
  const tab = await desk.open("", { as: author });
  const asked = [];
  await tab.route(`${OUTSIDE}/**`, (route) => {
    asked.push(route.request().url());
    if (route.request().url().endsWith("gone.png")) return route.abort();
    return route.fulfill({ contentType: "image/svg+xml", body: '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="480"/>' });
  });
  const article = articles(tab, post);
  await article.waitFor();
  assert.equal(await link(article, "The owl hoots.").getAttribute("href"), attachments[2].url);
  await button(article, /Show picture.*An owl/).click();
  const picture = article.getByRole("img", { name: "An owl." });
  await until("the picture is there", async () => (await picture.evaluate((image) => image.naturalWidth)) === 640);
  await button(article, /Show picture/).click();
  await article.getByText("The picture cannot be loaded.").waitFor();
  assert.deepEqual(asked, [attachments[0].url, attachments[1].url], "after a click alone");
});
