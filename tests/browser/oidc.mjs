// Signing in at an issuer of the operator: authorization code with PKCE, against a small issuer.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:http";

import { people } from "./api.mjs";
import { rewrite } from "./account.mjs";
import { until } from "./desk.mjs";
import { test } from "./suite.mjs";
import { alert, button, heading, home, link } from "./view.mjs";

const CLIENT = "page-of-tests";
const AUDIENCE = "fanfold";

/** An issuer whose only user is `user`. It refuses requests that the specifications do not allow. */
class Issuer {
  codes = new Map();
  /** What the next sign-in answers instead. */
  instead = null;
  tokens = [];
  /** What it was asked to prompt, for each sign-in. */
  prompts = [];
  /** The refresh token that it accepts. Each can be used once. */
  refresh = null;

  constructor(user) {
    this.user = user;
    this.server = createServer((request, answer) => this.answer(request, answer).catch((error) => refuse(answer, error)));
  }

  async start() {
    await new Promise((resume) => this.server.listen(0, "127.0.0.1", resume));
    this.url = `http://127.0.0.1:${this.server.address().port}/realm`;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }

  async answer(request, answer) {
    const { pathname, searchParams } = new URL(request.url, this.url);
    answer.setHeader("Access-Control-Allow-Origin", "*");
    if (pathname === "/realm/.well-known/openid-configuration") {
      return send(answer, 200, {
        issuer: this.url,
        authorization_endpoint: `${this.url}/authorize`,
        token_endpoint: `${this.url}/token`,
      });
    }
    if (pathname === "/realm/authorize") return this.authorize(searchParams, answer);
    if (pathname === "/realm/token") {
      const parts = [];
      for await (const part of request) parts.push(part);
      return this.token(new URLSearchParams(Buffer.concat(parts).toString()), answer);
    }
    return send(answer, 404, {});
  }

  authorize(asked, answer) {
    assert.equal(asked.get("response_type"), "code");
    assert.equal(asked.get("client_id"), CLIENT);
    assert.equal(asked.get("audience"), AUDIENCE);
    assert.equal(asked.get("code_challenge_method"), "S256");
    assert.match(asked.get("code_challenge"), /^[\w-]{43}$/);
    assert.ok(asked.get("state").length >= 16);
    assert.ok(asked.get("scope").split(" ").includes("openid"));
    this.prompts.push(asked.get("prompt"));
    const code = `code-${this.codes.size}`;
    this.codes.set(code, { challenge: asked.get("code_challenge"), to: asked.get("redirect_uri") });
    const back = new URL(asked.get("redirect_uri"));
    for (const [name, value] of Object.entries({ code, state: asked.get("state"), ...this.instead })) {
      if (value === null) back.searchParams.delete(name);
      else back.searchParams.set(name, value);
    }
    this.instead = null;
    // the browser of a test cannot change a document that a redirection leads to
    answer.writeHead(200, { "Content-Type": "text/html" });
    answer.end(`<!doctype html><title>Issuer</title><a href="${back.href.replaceAll("&", "&amp;")}">Continue</a>`);
  }

  async token(asked, answer) {
    this.tokens.push(asked.get("grant_type"));
    assert.equal(asked.get("client_id"), CLIENT);
    if (asked.get("grant_type") === "refresh_token") {
      assert.equal(asked.get("refresh_token"), this.refresh);
      // the API accepts the former token, too: only the page can tell them apart
      await this.user.signIn();
    } else {
      assert.equal(asked.get("grant_type"), "authorization_code");
      const given = this.codes.get(asked.get("code"));
      this.codes.delete(asked.get("code"));
      assert.ok(given, "a code can be used once");
      assert.equal(asked.get("redirect_uri"), given.to);
      assert.match(asked.get("code_verifier"), /^[\w.~-]{43,128}$/);
      assert.equal(createHash("sha256").update(asked.get("code_verifier")).digest("base64url"), given.challenge);
    }
    this.refresh = `refresh-${this.tokens.length}`;
    const { token } = this.user;
    send(answer, 200, { access_token: token, refresh_token: this.refresh, token_type: "Bearer", expires_in: 3600 });
  }
}

function send(answer, status, body) {
  answer.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

function refuse(answer, error) {
  send(answer, 400, { error: "invalid_request", error_description: error.message });
}

/** Goes to the issuer and comes back. */
async function visit(tab) {
  await button(tab, "Sign in").click();
  await link(tab, "Continue").click();
}

/** Makes the page's token so old that it is renewed. */
async function age(tab) {
  await tab.evaluate(() => {
    const session = JSON.parse(sessionStorage["fanfold.session"]);
    sessionStorage["fanfold.session"] = JSON.stringify({ ...session, renewAt: Date.now() - 1 });
  });
}

/** A window whose page signs in at an issuer. `body` gets both. */
async function withIssuer(desk, body, at = "") {
  const [user] = await people("ebony");
  const issuer = new Issuer(user);
  await issuer.start();
  desk.allowed.push(issuer.url);
  const settings = { kind: "oidc", issuer: issuer.url, client: CLIENT, audience: AUDIENCE };
  try {
    const prepare = (tab) => rewrite(tab, () => settings, [new URL(issuer.url).origin]);
    await body(await desk.open(at, { prepare }), issuer, user);
  } finally {
    issuer.stop();
  }
}

test("oidc::a_visitor_signs_in_at_the_issuer_and_comes_back", async (desk) => {
  await withIssuer(
    desk,
    async (tab, issuer) => {
      await visit(tab);
      await until("the view of before", () => tab.url().endsWith("#/likes"));
      await heading(tab, "Likes").waitFor();
      assert.deepEqual(issuer.tokens, ["authorization_code"]);
      assert.doesNotMatch(tab.url(), /code=|state=/);
      await tab.goto(tab.url().replace("#/likes", "#/"));
      await home(tab);
      await tab.reload();
      await home(tab);
      assert.deepEqual(issuer.tokens, ["authorization_code"]);
    },
    "#/likes",
  );
});

test("oidc::a_session_is_renewed_with_the_refresh_token", async (desk) => {
  await withIssuer(desk, async (tab, issuer, user) => {
    await visit(tab);
    await home(tab);
    const used = new Set();
    tab.on("request", async (request) => used.add(await request.headerValue("authorization")));
    for (const grants of [2, 3]) {
      const old = user.token;
      await age(tab);
      used.clear();
      await tab.reload();
      await home(tab);
      assert.notEqual(user.token, old);
      await until("the page sends the new token", () => used.has(`Bearer ${user.token}`));
      assert.ok(!used.has(`Bearer ${old}`), "the page does not send the old one");
      assert.deepEqual(issuer.tokens, ["authorization_code", "refresh_token", "refresh_token"].slice(0, grants));
    }
    // a refresh token that the issuer does not accept
    issuer.refresh = "withdrawn";
    await age(tab);
    await tab.reload();
    await tab.getByText(/session has ended/i).waitFor();
    await button(tab, "Sign in").waitFor();
  });
});

test("oidc::after_a_sign_out_the_issuer_asks_who_it_is", async (desk) => {
  await withIssuer(desk, async (tab, issuer) => {
    await visit(tab);
    await home(tab);
    await button(tab, "Sign out").click();
    await button(tab, "Sign in").waitFor();
    const stored = () => tab.evaluate(() => Object.keys(sessionStorage));
    assert.deepEqual(await stored(), ["fanfold.ask"], "nothing of the user is left");
    await visit(tab);
    await home(tab);
    assert.deepEqual(issuer.prompts, [null, "login"]);
    assert.deepEqual(await stored(), ["fanfold.session"]);
  });
});

test("oidc::an_answer_with_another_state_is_refused", async (desk) => {
  await withIssuer(desk, async (tab, issuer) => {
    issuer.instead = { state: "of-somebody-else" };
    await visit(tab);
    await tab.getByText(/another window/).waitFor();
    assert.deepEqual(issuer.tokens, [], "no token is asked for");
    await visit(tab);
    await home(tab);
  });
});

test("oidc::a_refusal_of_the_issuer_is_shown", async (desk) => {
  await withIssuer(desk, async (tab, issuer) => {
    issuer.instead = { code: null, error: "access_denied", error_description: "You said no." };
    await visit(tab);
    await tab.getByText("You said no.").waitFor();
    // a code that the issuer does not know
    issuer.instead = { code: "another-code" };
    await visit(tab);
    await tab.getByText("a code can be used once").waitFor();
    await button(tab, "Sign in").waitFor();
  });
});

test("oidc::an_issuer_that_does_not_answer_is_explained", async (desk) => {
  await withIssuer(desk, async (tab, issuer) => {
    issuer.stop();
    await button(tab, "Sign in").click();
    await alert(tab, /does not answer/);
  });
});
