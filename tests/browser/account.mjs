// Signing up, in and out, the first profile, and what a tab remembers.

import assert from "node:assert/strict";

import { CLIENT, CODE, PASSWORD, URL_OF_API, User, freshName, people, pool } from "./api.mjs";
import { NARROW, until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { alert, articles, box, button, compose, goTo, heading, home, link, signIn } from "./view.mjs";

const password = (tab, label = "Password") => tab.getByLabel(label, { exact: true });

/** Asserts that the page shows no error. */
const noAlert = async (tab) => assert.equal((await tab.getByRole("alert").allInnerTexts()).join("").trim(), "");

/** Fills in the form for a new account, and sends it. */
async function signUp(tab, name, email = `${name}@example.com`) {
  await button(tab, "Create an account").click();
  await box(tab, "User name").fill(name);
  await box(tab, "Email").fill(email);
  await password(tab).fill(PASSWORD);
  await button(tab, "Create account").click();
}

test("account::a_visitor_signs_up_with_a_code_and_makes_a_profile", async (desk) => {
  const tab = await desk.open();
  const name = freshName("rowan");
  await button(tab, "Create an account").click();
  await box(tab, "User name").fill(name);
  await box(tab, "Email").fill(`${name}@example.com`);
  const password = tab.getByLabel("Password", { exact: true });
  assert.equal(await password.getAttribute("type"), "password");

  await password.fill("short");
  await button(tab, "Create account").click();
  await until("a short password is refused", async () => {
    const isMarked = await password.evaluate((field) => !field.validity.valid);
    return isMarked || (await tab.getByRole("alert").allInnerTexts()).join("") !== "";
  });
  await password.fill(PASSWORD);
  await button(tab, "Create account").click();

  const code = box(tab, "Code");
  await tab.getByText(`the code is ${CODE}`).waitFor();
  await code.fill("000000");
  await button(tab, "Confirm").click();
  await alert(tab, /code/i);
  await code.fill(CODE);
  await button(tab, "Confirm").click();

  await tab.getByRole("heading", { name: "Choose your profile" }).waitFor();
  const handle = box(tab, "Handle");
  await handle.fill(name);
  await box(tab, "Name").fill("Rowan");
  await button(tab, "Save profile").click();
  await home(tab);
  await goTo(tab, "Profile");
  await heading(tab, "Rowan").waitFor();
  await tab.getByText(`@${name}`).first().waitFor();

  // the name and the address have no case, and both sign in
  for (const other of [name.toUpperCase(), `${name}@Example.com`]) {
    await button(tab, "Sign out").click();
    await tab.getByRole("region", { name: "Sign in" }).waitFor();
    await signIn(tab, other);
    await goTo(tab, "Profile");
    await heading(tab, "Rowan").waitFor();
  }
});

test("account::a_name_that_is_taken_and_a_wrong_password_are_explained", async (desk) => {
  const [user] = await people("yew");
  const tab = await desk.open();
  await heading(tab).waitFor();
  await signIn(tab, user.handle, "Not-the-password-1");
  await alert(tab, /wrong/);
  // an error belongs to its form
  await button(tab, "Create an account").click();
  await box(tab, "Email").waitFor();
  await noAlert(tab);
  await button(tab, "Back to sign in").click();
  await signUp(tab, user.handle.toUpperCase());
  await alert(tab, /taken/);
  await button(tab, "Back to sign in").click();
  await noAlert(tab);
  await button(tab, "Forgot your password?").click();
  await noAlert(tab);
  await button(tab, "Back to sign in").click();
  await signIn(tab, user.handle);
  await home(tab);
});

test("account::an_email_address_belongs_to_one_account", async (desk) => {
  const [user] = await people("yarrow");
  const tab = await desk.open();
  await signUp(tab, `${user.handle}@example.com`, `${user.handle}2@example.com`);
  await alert(tab, /look like an email/);
  await button(tab, "Back to sign in").click();
  await signUp(tab, freshName("yarrow"), `${user.handle.toUpperCase()}@example.com`);
  await box(tab, "Code").fill(CODE);
  await button(tab, "Confirm").click();
  await alert(tab, /is an account with this email/);
  await button(tab, "Back to sign in").click();
  await signIn(tab, `${user.handle}@example.com`);
  await goTo(tab, "Profile");
  await heading(tab, user.name).waitFor();
});

test("account::a_forgotten_password_is_replaced_with_a_code", async (desk) => {
  const [user] = await people("rue");
  const tab = await desk.open();
  const forget = async (name) => {
    await button(tab, "Forgot your password?").click();
    await box(tab, "User name or email").fill(name);
    await button(tab, "Send a code").click();
    await box(tab, "Code").waitFor();
  };
  // nobody learns whether there is an account
  await forget(freshName("nobody"));
  await box(tab, "Code").fill(CODE);
  await password(tab, "New password").fill(PASSWORD);
  await button(tab, "Save password").click();
  await alert(tab, /not the code/);
  await button(tab, "Back to sign in").click();
  await forget(`${user.handle}@example.com`);
  await tab.getByText(`the code is ${CODE}`).waitFor();
  await box(tab, "Code").fill("000000");
  const other = `${PASSWORD}-other`;
  await password(tab, "New password").fill(other);
  await button(tab, "Save password").click();
  await alert(tab, /not the code/);
  await button(tab, "Send a new code").click();
  await box(tab, "Code").fill(CODE);
  await password(tab, "New password").fill("short");
  await button(tab, "Save password").click();
  await alert(tab, /12 characters/);
  await password(tab, "New password").fill(other);
  await button(tab, "Save password").click();
  await home(tab);
  await goTo(tab, "Profile");
  await heading(tab, user.name).waitFor();
  await button(tab, "Sign out").click();
  await tab.getByRole("region", { name: "Sign in" }).waitFor();
  await signIn(tab, user.handle);
  await alert(tab, /wrong/);
  await signIn(tab, user.handle, other);
  await home(tab);
});

test("account::where_emails_are_sent_the_page_names_no_code", async (desk) => {
  const tab = await desk.open("", { prepare: (tab) => rewrite(tab, (settings) => ({ ...settings, demo: null })) });
  await signUp(tab, freshName("sorrel"));
  await tab.getByText("Enter the code from our email. No email? Send a new code.").waitFor();
  await button(tab, "Back to sign in").click();
  await button(tab, "Forgot your password?").click();
  await box(tab, "User name or email").fill(freshName("nobody"));
  await button(tab, "Send a code").click();
  await tab.getByText(/If there is such an account, we have sent a code/).waitFor();
  assert.ok(!(await tab.locator("main").innerText()).includes(CODE));
});

test("account::a_handle_that_is_taken_or_malformed_is_explained", async (desk) => {
  const [other] = await people("oak");
  const user = await User.withoutProfile(freshName("holly"));
  const tab = await desk.open("", { as: user });
  await tab.getByRole("heading", { name: "Choose your profile" }).waitFor();
  await box(tab, "Name").fill("Holly");
  await box(tab, "Handle").fill(other.handle);
  await button(tab, "Save profile").click();
  await alert(tab, /taken|belongs|another/i);
  await box(tab, "Handle").fill("Not a handle!");
  await button(tab, "Save profile").click();
  await until("the form of a handle is explained", async () => {
    const isMarked = await box(tab, "Handle").evaluate((field) => !field.validity.valid);
    return (
      isMarked ||
      /a to z/.test(
        await tab
          .getByRole("alert")
          .allInnerTexts()
          .then((all) => all.join(" ")),
      )
    );
  });
  await box(tab, "Handle").fill(user.handle);
  await button(tab, "Save profile").click();
  await home(tab);
});

/** Whether the user pool refuses a refresh token. */
async function isRefused(token) {
  const AuthParameters = { REFRESH_TOKEN: token };
  const request = pool("InitiateAuth", { AuthFlow: "REFRESH_TOKEN_AUTH", ClientId: CLIENT, AuthParameters });
  return request.then(
    () => false,
    (error) => /NotAuthorizedException/.test(error.message),
  );
}

test("account::a_reload_keeps_the_user_and_a_sign_out_forgets_it", async (desk) => {
  const [user, next] = await people("elm", "birch");
  const tab = await desk.open();
  await signIn(tab, user.handle);
  await home(tab);
  await tab.reload();
  await home(tab);
  // all that a tab keeps of a user
  await compose(tab, "I was here.");
  await box(tab, "Your post").fill("Not ready yet.");
  await tab.getByRole("switch", { name: "Read pages by pull" }).click();
  const stored = () => tab.evaluate(() => ({ ...sessionStorage }));
  await until("the tab keeps four things", async () => Object.keys(await stored()).length === 4);
  const { refresh } = JSON.parse((await stored())["fanfold.session"]);
  assert.ok(refresh);
  // answers for the user are still under way
  const waiting = [];
  await tab.route("**/v1/**", (route) => void waiting.push(route));
  await goTo(tab, "Profile");
  await until("the page has asked", () => waiting.length > 0);
  await button(tab, "Sign out").click();
  await tab.getByRole("region", { name: "Sign in" }).waitFor();
  assert.deepEqual(await stored(), {}, "something of the user is left in the tab");
  const kept = await tab.evaluate(() => JSON.stringify({ ...localStorage }));
  assert.ok(
    !kept.includes(user.handle) && !kept.includes(user.token.slice(0, 20)),
    "something of the user is left in the browser",
  );
  await until("the refresh token is useless", () => isRefused(refresh));
  await tab.unroute("**/v1/**");
  await Promise.allSettled(waiting.map((route) => route.continue()));
  await signIn(tab, next.handle);
  await home(tab);
  assert.equal(await box(tab, "Your post").inputValue(), "");
  assert.equal(await articles(tab).count(), 0);
  await goTo(tab, "Profile");
  await heading(tab, next.name).waitFor();
  await button(tab, "Sign out").click();
  await tab.getByRole("region", { name: "Sign in" }).waitFor();
  await tab.reload();
  await tab.getByRole("region", { name: "Sign in" }).waitFor();
});

test("account::a_narrow_window_has_a_sign_out", async (desk) => {
  const [user] = await people("fir");
  const tab = await desk.open("#/profile", { as: user, size: NARROW });
  await heading(tab, "Fir").waitFor();
  await button(tab, "Sign out").click();
  await tab.getByRole("region", { name: "Sign in" }).waitFor();
});

test("account::a_second_tab_can_be_another_user", async (desk) => {
  const [one, two] = await people("ivy", "moss");
  const first = await desk.open();
  await signIn(first, one.handle);
  await home(first);
  const second = await desk.open("", { beside: first });
  await signIn(second, two.handle);
  await home(second);
  for (const [tab, user] of [
    [first, one],
    [second, two],
  ]) {
    await tab.reload();
    await home(tab);
    await goTo(tab, "Profile");
    await heading(tab, user.name).waitFor();
  }
});

test("account::an_invalid_token_is_renewed_or_leads_to_the_sign_in", async (desk) => {
  const [user] = await people("aspen");
  const tab = await desk.open();
  await signIn(tab, user.handle);
  await home(tab);
  let refused = 0;
  // the API refuses the first token, as if it had ended
  const [, spoilt] = (await tab.evaluate(() => sessionStorage["fanfold.session"])).match(/"access":"([^"]+)"/);
  await tab.route("**/v1/**", (route) => {
    const headers = { ...route.request().headers() };
    if (headers.authorization === `Bearer ${spoilt}`) {
      refused += 1;
      headers.authorization = "Bearer not.a.token";
    }
    return route.continue({ headers });
  });
  await goTo(tab, "Trending");
  await link(tab, "Today").waitFor();
  await until("the page has sent the first token", () => refused > 0);
  await goTo(tab, "Home");
  await home(tab);
  // then it refuses every token, and the user pool renews none any more
  await pool("GlobalSignOut", { AccessToken: user.token });
  await tab.unroute("**/v1/**");
  await tab.route("**/v1/**", (route) => {
    return route.continue({ headers: { ...route.request().headers(), authorization: "Bearer not.a.token" } });
  });
  // the page asks for new posts by itself
  await tab.getByRole("region", { name: "Sign in" }).waitFor();
  await tab.getByText(/session has ended/i).waitFor();
  await tab.unroute("**/v1/**");
  await signIn(tab, user.handle);
  await home(tab);
});

test("account::the_demo_users_of_this_machine_sign_in_with_one_click", async (desk) => {
  const [user] = await people("larch");
  const change = (settings) => ({ ...settings, demo: { users: [user.handle], password: PASSWORD, code: CODE } });
  const tab = await desk.open("", { prepare: (tab) => rewrite(tab, change) });
  await button(tab, `Continue as @${user.handle}`).click();
  await home(tab);
});

test("account::a_page_without_an_issuer_says_so", async (desk) => {
  const tab = await desk.open("", { prepare: (tab) => rewrite(tab, () => ({ kind: "none" })) });
  await heading(tab).waitFor();
  await tab.getByText(/not set up/i).waitFor();
  assert.equal(await box(tab, "User name").count(), 0);
});

/** Changes how visitors sign in, and the origins that the document may call. */
export async function rewrite(tab, change, origins = []) {
  // the browser takes a changed document for one of the internet, whose calls to this machine need a permission
  await tab.context().grantPermissions(["local-network-access"]);
  await tab.route(new RegExp(`^${URL_OF_API}/(\\?.*)?$`), async (route) => {
    const answer = await route.fetch();
    const text = await answer.text();
    const [, before] = text.match(/name="fanfold-sign-in" content="([^"]*)"/);
    const settings = change(JSON.parse(before.replaceAll("&quot;", '"').replaceAll("&amp;", "&")));
    const after = JSON.stringify(settings).replaceAll("&", "&amp;").replaceAll('"', "&quot;");
    const headers = { ...answer.headers() };
    const policy = headers["content-security-policy"];
    headers["content-security-policy"] = policy.replace("connect-src 'self'", ["connect-src 'self'", ...origins].join(" "));
    await route.fulfill({ response: answer, headers, body: text.replace(before, after) });
  });
}
