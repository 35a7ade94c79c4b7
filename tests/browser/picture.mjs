// The picture of the page that README begins with.

import { cast } from "./cast.mjs";
import { URL_OF_API, each } from "./api.mjs";
import { Desk, WIDE, until } from "./desk.mjs";
import { settled } from "./looks.mjs";
import { articles, compose, goTo, home, loaded } from "./view.mjs";

const TEXT = "Minutes of the reading group are up. We disagreed about everything except the cake.";
/** The ages that posts of the cast are shown with, newest first, in minutes. In truth all of them are seconds old. */
const AGES = [0.1, 2, 7, 18, 41, 66, 130, 185, 260, 320, 410, 505, 640];

/** Makes the picture. */
export async function picture(browser, path) {
  const { users, viewer } = await cast();
  // those who read get the next post pushed
  await each(Object.values(users), 3, (user) => user.call("GET", "/v1/timeline"));
  const desk = new Desk(browser);
  const tab = await desk.open("", { as: viewer, size: WIDE, media: { colorScheme: "light" } });
  await home(tab);
  await compose(tab, TEXT);
  await until(
    "the delivery is complete",
    async () =>
      await tab
        .getByRole("progressbar")
        .first()
        .evaluate((one) => one.value === one.max),
  );
  // load times for the panel
  const toggle = tab.getByRole("switch", { name: "Read pages by pull" });
  for (let visit = 0; visit < 40; visit += 1) {
    if (visit === 24) await toggle.click();
    await goTo(tab, "Likes");
    await goTo(tab, "Profile");
    await articles(tab).first().waitFor();
    await loaded(tab);
  }
  await tab.route(`${URL_OF_API}/v1/timeline*`, age);
  await goTo(tab, "Home");
  await home(tab);
  await until("the posts have their ages", async () => {
    await tab.getByRole("link", { name: "Fanfold, home" }).click();
    return articles(tab).getByText("7 min").first().isVisible();
  });
  await until("the page stands still", () =>
    tab.evaluate(() => (scrollTo(0, 0), document.activeElement.blur(), scrollY === 0)),
  );
  await tab.mouse.move(700, 895);
  await settled(tab);
  await tab.screenshot({ path });
  desk.check();
  await desk.close();
  console.log(`the picture is ${path}`);
}

async function age(route) {
  const answer = await route.fetch();
  const page = await answer.json();
  page.items?.forEach((post, at) => {
    post.created_at = new Date(Date.now() - (AGES[at] ?? 700 + at * 60) * 60_000).toISOString();
  });
  await route.fulfill({ response: answer, json: page });
}
