// Collects tests, and runs them. It prints a line for each, and a result, in cargo's form, which `cargo local test` counts.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { Desk } from "./desk.mjs";

/** The time that one test may take. */
const TEST_MS = 180_000;
/** The folder for screenshots. */
export const FOLDER = process.env.FANFOLD_SCREENSHOTS;

const tests = [];

/** A test. `body` gets a desk, which opens windows of the browser and checks them at the end. */
export function test(name, body) {
  tests.push({ name, body });
}

/** Runs the tests whose name contains a text. Returns whether all of them passed, and at least one. */
export async function run(browser, filter, atOnce) {
  await mkdir(FOLDER, { recursive: true });
  const chosen = tests.filter(({ name }) => name.includes(filter));
  console.log(`running ${chosen.length} tests`);
  const waiting = [...chosen];
  const failures = [];
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [began, failure] = [Date.now(), await outcome(browser, next)];
      if (process.env.FANFOLD_BROWSER_TIMES) console.log(`${Date.now() - began} ms: ${next.name}`);
      console.log(`test ${next.name} ... ${failure ? "FAILED" : "ok"}`);
      if (failure) failures.push({ name: next.name, failure });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  for (const { name, failure } of failures) console.log(`\n---- ${name} ----\n${failure}`);
  const passed = chosen.length - failures.length;
  const isGood = failures.length === 0 && passed > 0;
  console.log(`test result: ${isGood ? "ok" : "FAILED"}. ${passed} passed; ${failures.length} failed; 0 ignored`);
  return isGood;
}

/** Runs one test. Returns why it failed, or null. */
async function outcome(browser, { name, body }) {
  const desk = new Desk(browser);
  let clock;
  const late = new Promise((_, reject) => {
    clock = setTimeout(() => reject(new Error(`it took longer than ${TEST_MS / 1000} s`)), TEST_MS);
  });
  try {
    await Promise.race([body(desk), late]);
    desk.check();
    return null;
  } catch (error) {
    const pictures = await desk.pictures(join(FOLDER, `failed-${name.replaceAll("::", "-")}`));
    return [error.stack ?? String(error), ...desk.troubles, ...pictures].join("\n");
  } finally {
    clearTimeout(clock);
    await desk.close();
  }
}
