// Runs the browser tests in Chromium: `node main.mjs`. FANFOLD_CHROMIUM names the program, FANFOLD_URL and the other variables
// of the stack the page, and FANFOLD_SCREENSHOTS the folder for screenshots. FANFOLD_BROWSER selects the tests whose name
// contains it, and FANFOLD_PICTURE names a file for the picture of README, which is made first. With
// FANFOLD_BROWSER_TIMES, the time of each test is printed.

import { readdirSync } from "node:fs";

import { chromium } from "playwright-core";

import { picture } from "./picture.mjs";
import { run } from "./suite.mjs";

// every file of the folder may have tests
for (const file of readdirSync(import.meta.dirname).sort()) {
  if (file.endsWith(".mjs") && file !== "main.mjs") await import(`./${file}`);
}

/** Tests at the same time. Most of their time is spent in the functions of the stack. */
const AT_ONCE = 3;

// What Chromium does by itself is off. It ends with this program, however that ends: it reads its orders from a pipe.
const browser = await chromium.launch({
  executablePath: process.env.FANFOLD_CHROMIUM,
  args: [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
try {
  if (process.env.FANFOLD_PICTURE) await picture(browser, process.env.FANFOLD_PICTURE);
  const isGood = await run(browser, process.env.FANFOLD_BROWSER ?? "", AT_ONCE);
  process.exitCode = isGood ? 0 : 1;
} finally {
  await browser.close();
}
