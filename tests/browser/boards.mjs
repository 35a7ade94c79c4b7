// Leaderboards: made, filled, paged and shown on the page.

import assert from "node:assert/strict";

import { people } from "./api.mjs";
import { until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { box, button, goTo, heading, home, link } from "./view.mjs";

/** The cells of each row of a board: rank, member, scores. */
const cells = (tab, board) =>
  tab
    .getByRole("table", { name: board })
    .locator("tbody tr")
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent.trim()).slice(0, 3)));

test("boards::a_board_is_made_and_scores_are_set", async (desk) => {
  const [owner] = await people("otter");
  const tab = await desk.open("", { as: owner });
  await home(tab);
  await goTo(tab, "Boards");
  await box(tab, "Board name").fill("river race");
  await tab.getByLabel("Order").selectOption({ index: 0 });
  await button(tab, "Create board").click();
  const boards = await until("the board is there", async () => {
    const { items } = await owner.call("GET", "/v1/leaderboards");
    return items.length === 1 && items;
  });
  assert.equal(boards[0].name, "river race");
  await until("the page shows the board", () => tab.url().endsWith(`#/boards/${owner.id}/river%20race`));
  for (const [member, score] of [
    ["otter", "1500"],
    ["beaver", "9007199254740993"],
    ["heron", "-3"],
  ]) {
    await box(tab, "Member").fill(member);
    await box(tab, "Score 1").fill(score);
    await button(tab, "Save scores").click();
    await tab.getByRole("table", { name: "river race" }).getByText(member, { exact: true }).waitFor();
  }
  await until("the ranks", async () => {
    const shown = (await cells(tab, "river race")).map((row) =>
      row.map((cell) => cell.replace(/[,\u202f\u00a0 ]/g, "").replace("−", "-")),
    );
    assert.deepEqual(shown, [
      ["1", "beaver", "9007199254740993"],
      ["2", "otter", "1500"],
      ["3", "heron", "-3"],
    ]);
    return true;
  });
  await box(tab, "Member").fill("otter");
  await box(tab, "Score 1").fill("not a number");
  await button(tab, "Save scores").click();
  await until("a score that is no number is refused", async () => {
    const isMarked = await box(tab, "Score 1").evaluate((field) => !field.validity.valid);
    return isMarked || (await tab.getByRole("alert").allInnerTexts()).join("") !== "";
  });
});

test("boards::places_are_paged", async (desk) => {
  const [owner, reader] = await people("badger", "vole");
  await owner.call("PUT", "/v1/leaderboards/digs", { orders: ["descending"] });
  const changes = Array.from({ length: 60 }, (_, at) => ({ member: `member ${at}`, set: [String(1000 - at)] }));
  await owner.call("POST", "/v1/leaderboards/digs/members", { changes });
  const tab = await desk.open(`#/u/${owner.handle}/boards`, { as: reader });
  await link(tab, /digs/).first().click();
  await tab.getByRole("table", { name: "digs" }).waitFor();
  const first = await until("the first places", async () => {
    const shown = await cells(tab, "digs");
    return shown[0]?.[1] === "member 0" && shown;
  });
  assert.equal(await button(tab, "Save scores").count(), 0, "only the owner and the writers set scores");
  let seen = [...first];
  while (
    await button(tab, "Next places")
      .isEnabled()
      .catch(() => false)
  ) {
    const last = seen.at(-1)[1];
    await button(tab, "Next places").click();
    await until("the next places", async () => {
      const shown = await cells(tab, "digs");
      if (shown.length === 0 || shown.some((row) => row[1] === last)) return false;
      seen = [...seen, ...shown];
      return true;
    });
    if (seen.length >= 60) break;
  }
  assert.deepEqual(
    seen.map((row) => row[1]),
    changes.map((change) => change.member),
  );
  await button(tab, "Previous places").click();
  await until("the places before", async () => !(await cells(tab, "digs")).some((row) => row[1] === "member 59"));
});

test("boards::orders_the_owner_and_places_of_members_are_shown", async (desk) => {
  const [owner, reader] = await people("hare", "lynx");
  await owner.call("PUT", "/v1/leaderboards/duel", { orders: ["descending", "ascending"] });
  const others = Array.from({ length: 50 }, (_, at) => ({ member: `member ${at}`, set: [String(1000 - at), String(at)] }));
  const changes = [...others, { member: reader.handle, set: ["1", "2"] }];
  await owner.call("POST", "/v1/leaderboards/duel/members", { changes });
  const tab = await desk.open(`#/boards/${owner.id}/duel`, { as: reader });
  const main = tab.getByRole("main");
  await main.getByText("Score 1: highest first, Score 2: lowest first").waitFor();
  await link(main, `@${owner.handle}`).waitFor();
  await link(main, "member 3").click();
  await main.getByText("Around member 3").waitFor();
  const row = tab.getByRole("table", { name: "duel" }).locator("tr.own");
  await until("the member is marked", async () => (await row.innerText()).includes("member 3"));
  await link(main, "Whole board").click();
  await button(tab, "Next places").click();
  await link(main, "member 30").click();
  await until("the neighbours", async () => {
    const shown = (await cells(tab, "duel")).map((cells) => cells[1]);
    return shown[0] === "member 21" && shown.at(-1) === "member 40";
  });
  // a member with the name of a user
  await tab.goto(`${tab.url().split("#")[0]}#/boards/${owner.id}/duel/${reader.handle}`);
  await link(main, `@${reader.handle}`).click();
  await heading(tab, "Lynx").waitFor();
  await tab.goto(`${tab.url().split("#")[0]}#/boards/${owner.id}/duel/nobody`);
  await heading(tab, "No such member").waitFor();
});

test("boards::a_board_that_does_not_exist_is_said", async (desk) => {
  const [user] = await people("mole");
  const tab = await desk.open(`#/boards/${user.id}/nothing`, { as: user });
  await heading(tab, "No such board").waitFor();
  await tab.goto(`${tab.url().split("#")[0]}#/boards`);
  await box(tab, "Board name").fill("twice");
  await button(tab, "Create board").click();
  await until("the board is there", async () => (await user.call("GET", "/v1/leaderboards")).items.length === 1);
});
