// The picture of the page that README begins with.

import { cast } from "./cast.mjs";
import { Desk, WIDE, until } from "./desk.mjs";
import { settled } from "./looks.mjs";
import { articles, goTo, home, loaded } from "./view.mjs";

/** Makes the picture. */
export async function picture(browser, path) {
  const { viewer } = await cast();
  const desk = new Desk(browser);
  const tab = await desk.open("", { as: viewer, size: WIDE, context: { colorScheme: "light" } });
  await home(tab);
  await articles(tab).nth(5).waitFor();
  // load times for the panel
  const visits = Array.from({ length: 12 }, (_, number) => number);
  const toggle = tab.getByRole("switch", { name: "Read pages by pull" });
  for (const number of visits) {
    if (number === 6 || number === 10) await toggle.click();
    await goTo(tab, "Likes");
    await goTo(tab, "Profile");
    await articles(tab).first().waitFor();
    await loaded(tab);
  }
  await goTo(tab, "Home");
  await home(tab);
  await until("the page stands still", () => tab.evaluate(() => (scrollTo(0, 0), document.activeElement.blur(), scrollY === 0)));
  await tab.mouse.move(700, 895);
  await settled(tab);
  await tab.screenshot({ path });
  desk.check();
  await desk.close();
  console.log(`the picture is ${path}`);
}
