// What a browser loads for the page, compressed, and from where.

import assert from "node:assert/strict";

import { URL_OF_API } from "./api.mjs";
import { test } from "./suite.mjs";
import { button } from "./view.mjs";

/** The compressed size of all files of the page together, in bytes. */
const BYTES_MAX = 60_000;

test("weight::the_page_is_small_and_its_files_are_kept", async (desk) => {
  const answers = [];
  const prepare = (tab) => void tab.on("response", (answer) => answers.push(answer));
  const tab = await desk.open("", { prepare, fresh: true });
  await button(tab, "Sign in").waitFor();
  await tab.evaluate(() => document.fonts.ready);
  await tab.waitForLoadState("networkidle");
  const files = answers.filter((answer) => answer.url().startsWith(URL_OF_API) && !answer.url().includes("/v1/"));
  const sizes = await Promise.all(files.map(async (file) => [(await file.request().sizes()).responseBodySize, file.url()]));
  const total = sizes.reduce((sum, [bytes]) => sum + bytes, 0);
  assert.ok(files.length >= 4, sizes.join("\n"));
  assert.ok(total > 5_000 && total < BYTES_MAX, `${total} bytes:\n${sizes.join("\n")}`);
  for (const file of files) {
    const { "cache-control": kept, "content-encoding": packed } = await file.allHeaders();
    const isDocument = file.request().isNavigationRequest();
    assert.match(kept, isDocument ? /no-cache/ : /immutable/, file.url());
    if (/\.(js|mjs|css|svg)$/.test(file.url())) assert.equal(packed, "gzip", file.url());
  }
  const policy = (await files.find((file) => file.request().isNavigationRequest()).allHeaders())["content-security-policy"];
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe|\*/);
});
