// The reference of the API, and the pages of problem types.

import assert from "node:assert/strict";

import { URL_OF_API, people } from "./api.mjs";
import { until } from "./desk.mjs";
import { look, overflow } from "./looks.mjs";
import { test } from "./suite.mjs";

test("reference::every_operation_is_shown_and_one_is_tried_out", async (desk) => {
  const [user] = await people("gull");
  const description = await (await fetch(`${URL_OF_API}/openapi.json`)).json();
  const operations = Object.values(description.paths).flatMap((path) =>
    Object.keys(path).filter((key) => /^(get|put|post|patch|delete)$/.test(key)),
  );
  const tab = await desk.open("/docs");
  await until("all operations", async () => (await tab.locator(".opblock").count()) === operations.length);
  await tab.locator(".authorize").first().click();
  const form = tab.locator(".auth-container");
  await form.locator("input").first().fill(user.token);
  await form
    .getByRole("button", { name: "Apply credentials" })
    .or(form.getByRole("button", { name: "Authorize" }))
    .first()
    .click();
  await tab.locator(".close-modal, .btn-done").first().click();
  const block = tab
    .locator(".opblock")
    .filter({ has: tab.locator('[data-path="/v1/me"]') })
    .filter({ has: tab.locator(".opblock-summary-method", { hasText: "GET" }) });
  await block.locator(".opblock-summary-control").click();
  await block.getByRole("button", { name: "Try it out" }).click();
  await block.getByRole("button", { name: "Execute" }).click();
  const answer = block.locator(".live-responses-table .response").first();
  await answer.waitFor();
  assert.match(await answer.innerText(), /200/);
  await until("the profile", async () => (await answer.innerText()).includes(user.handle));
});

test("reference::it_looks_right", async (desk) => {
  const tab = await desk.open("/docs");
  await until("operations", async () => (await tab.locator(".opblock").count()) > 30);
  await tab.screenshot({ path: `${process.env.FANFOLD_SCREENSHOTS}/docs-1440-light.png` });
  await tab.setViewportSize({ width: 390, height: 844 });
  await tab.screenshot({ path: `${process.env.FANFOLD_SCREENSHOTS}/docs-390-light.png` });
  assert.deepEqual(await overflow(tab), []);
});

test("reference::an_address_that_does_not_exist_is_a_page", async (desk) => {
  desk.absent.push("/nowhere");
  const tab = await desk.open("/nowhere");
  await tab.getByRole("heading", { level: 1, name: "No such page" }).waitFor();
  await look(desk, tab, "nowhere");
  await tab.getByRole("link", { name: "the first page" }).click();
  await tab.getByRole("button", { name: "Sign in" }).waitFor();
});

test("reference::the_type_of_a_problem_is_a_page", async (desk) => {
  const [user] = await people("tern");
  const { body } = await user.send("POST", "/v1/posts", { text: "" });
  const tab = await desk.open(body.type);
  await tab.getByRole("heading", { level: 1, name: body.title }).waitFor();
  await tab.getByText("What to do").waitFor();
  await look(desk, tab, "problem");
  for (const link of await tab.getByRole("navigation").getByRole("link").all()) {
    const answer = await fetch(new URL(await link.getAttribute("href"), URL_OF_API));
    assert.equal(answer.status, 200, answer.url);
  }
});
