// How a state of the page looks: pictures of it, audits with axe-core, and nothing that is cut off.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

import { NARROW, NARROWEST, WIDE, until } from "./desk.mjs";
import { FOLDER } from "./suite.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Looks at the present state of a tab: in both themes, at two widths, and whether it fits the narrowest one. The desk gets what
 * is found, so that a test that looks at several states makes all pictures.
 */
export async function look(desk, tab, name) {
  const found = new Map();
  const note = (where, findings) => {
    for (const what of findings) found.set(what, [...(found.get(what) ?? []), where]);
  };
  const size = tab.viewportSize();
  await tab.evaluate(axe);
  for (const [width, window] of [
    [1440, WIDE],
    [390, NARROW],
  ]) {
    await tab.setViewportSize(window);
    for (const colorScheme of ["light", "dark"]) {
      await tab.emulateMedia({ colorScheme });
      await settled(tab);
      await tab.screenshot({ path: join(FOLDER, `${name}-${width}-${colorScheme}.png`) });
      // the dark theme differs in its colours alone
      note(`${width} ${colorScheme}`, await audit(tab, colorScheme === "dark" ? ["color-contrast"] : null));
    }
  }
  await tab.setViewportSize(NARROWEST);
  await settled(tab);
  note(`${NARROWEST.width}`, await overflow(tab));
  await tab.emulateMedia({ colorScheme: null });
  await tab.setViewportSize(size);
  desk.troubles.push(...[...found].map(([what, where]) => `${name} (${where.join(", ")}): ${what}`));
}

/** Waits until the page has drawn its new form, and nothing in it moves any more. */
export async function settled(tab) {
  await tab.evaluate(() =>
    document.fonts.ready.then(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))),
  );
  await until("nothing moves", () =>
    tab.evaluate(() =>
      document
        .getAnimations()
        .every((one) => one.playState !== "running" || one.effect.getComputedTiming().endTime === Infinity),
    ),
  );
}

/** The serious findings, and skipped levels of headings, of all rules of axe-core, or of some. The policy allows no script tag, so axe-core is evaluated. */
async function audit(tab, rules) {
  return tab.evaluate(async (runOnly) => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"], ...(runOnly && { runOnly }) });
    // those who hear a page find their way by its headings
    const serious = violations.filter(({ id, impact }) => ["serious", "critical"].includes(impact) || id === "heading-order");
    return serious.flatMap(({ id, help, nodes }) =>
      nodes.map((node) => `${id} (${help}): ${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`),
    );
  }, rules);
}

/** What reaches out of the window at its side. */
export async function overflow(tab) {
  return tab.evaluate(() => {
    if (document.scrollingElement.scrollWidth <= innerWidth) return [];
    const wide = [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1);
    return [
      `the page is ${document.scrollingElement.scrollWidth} pixels wide: ${wide.slice(-3).map((one) => one.outerHTML.slice(0, 120))}`,
    ];
  });
}
