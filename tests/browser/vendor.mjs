// The files of other projects that the page contains are those of the packages that tests/node/package.json pins.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import { test } from "./suite.mjs";

const FILES = {
  "preact.mjs": "preact/dist/preact.mjs",
  "hooks.mjs": "preact/hooks/dist/hooks.mjs",
  "htm.mjs": "htm/dist/htm.mjs",
  "aleo-600.woff2": "@fontsource/aleo/files/aleo-latin-600-normal.woff2",
  "swagger-ui-bundle.js": "swagger-ui-dist/swagger-ui-bundle.js",
  "swagger-ui.css": "swagger-ui-dist/swagger-ui.css",
};

/** The content as the build serves it: browsers cannot find a package by its name. */
const served = (name, content) =>
  name === "hooks.mjs" ? Buffer.from(content.toString().replace('from"preact"', 'from"./preact.mjs"')) : content;

test("vendor::files_of_other_projects_are_those_of_their_packages", async () => {
  const page = await (await fetch(`${process.env.FANFOLD_URL}/`)).text();
  const folder = page.match(/\/assets\/[0-9a-f]+\//)[0];
  for (const [name, path] of Object.entries(FILES)) {
    const wanted = await readFile(new URL(`../node_modules/${path}`, import.meta.url));
    const answer = await fetch(`${process.env.FANFOLD_URL}${folder}${name}`);
    assert.equal(answer.status, 200, name);
    const content = Buffer.from(await answer.arrayBuffer());
    assert.ok(served(name, wanted).equals(content), `${name} differs from ${path}`);
  }
});
