// Users of the deployed stack, who call its API directly.

import assert from "node:assert/strict";

export const URL_OF_API = process.env.FANFOLD_URL;
/** The AWS services of this machine. */
export const ENDPOINT = process.env.AWS_ENDPOINT_URL;
const stack = JSON.parse(process.env.FANFOLD_STACK ?? "{}");
export const CLIENT = stack.UserPoolClientId;
export const PASSWORD = "Fanfold-tests-1";
/** The code that the local cloud "sends" to everybody. */
export const CODE = "123456";

/** Times that a request is sent for which the server has no time. */
const TRIES = 4;

/** Makes the names of different runs differ. */
const RUN = Date.now().toString(36).slice(-4);
let users = 0;

/** A name that nobody has. */
export const freshName = (name) => `${name}_${RUN}${(users++).toString(36)}`;

/** Calls the user pool. */
export async function pool(operation, body) {
  const send = () =>
    fetch(ENDPOINT, {
      method: "POST",
      headers: {
        "Content-Type": "application/x-amz-json-1.1",
        "X-Amz-Target": `AWSCognitoIdentityProviderService.${operation}`,
      },
      body: JSON.stringify(body),
    });
  // the server may close a connection while a request is on its way
  const answer = await send().catch(send);
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(`${operation}: ${answer.status} ${JSON.stringify(told)}`);
  return told;
}

/** A user who has signed up. */
export class User {
  /** A user with a profile. Nobody else has the handle, unless `handle` names it. */
  static async make(word, name = word, handle = freshName(word)) {
    const user = await User.withoutProfile(handle);
    const profile = await user.call("PUT", "/v1/me", { handle, name });
    return Object.assign(user, { name: profile.name, id: profile.id });
  }

  static async withoutProfile(handle) {
    const user = Object.assign(new User(), { handle });
    const UserAttributes = [{ Name: "email", Value: `${handle}@example.com` }];
    const signUp = { ClientId: CLIENT, Username: handle, Password: PASSWORD, UserAttributes };
    await pool("SignUp", signUp).catch((error) => {
      // a user of an earlier run exists
      if (!error.message.includes("UsernameExistsException")) throw error;
    });
    await pool("ConfirmSignUp", { ClientId: CLIENT, Username: handle, ConfirmationCode: CODE }).catch((error) => {
      if (!error.message.includes("NotAuthorizedException")) throw error;
    });
    await user.signIn();
    return user;
  }

  async signIn() {
    const { AuthenticationResult } = await pool("InitiateAuth", {
      AuthFlow: "USER_PASSWORD_AUTH",
      ClientId: CLIENT,
      AuthParameters: { USERNAME: this.handle, PASSWORD },
    });
    this.tokens = AuthenticationResult;
    return this.tokens;
  }

  get token() {
    return this.tokens.AccessToken;
  }

  /** What the page keeps in a tab in which this user is signed in. */
  session() {
    const { AccessToken, RefreshToken, ExpiresIn } = this.tokens;
    return JSON.stringify({ access: AccessToken, refresh: RefreshToken, ends: Date.now() + ExpiresIn * 1000 });
  }

  /** Sends a request. Returns the status and the parsed body. */
  async send(method, path, body, more = {}) {
    const headers = { Authorization: `Bearer ${this.token}`, ...more };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const answer = await fetch(`${URL_OF_API}${path}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, body: text ? JSON.parse(text) : null };
  }

  /** Sends a request that must succeed, again if a slow machine made a store or a function too slow. Returns the parsed body. */
  async call(method, path, body) {
    // of the routes that are used here, all others are idempotent
    const key = method === "POST" && path === "/v1/posts" ? { "Idempotency-Key": crypto.randomUUID() } : {};
    let answer = await this.send(method, path, body, key);
    for (let again = 1; again < TRIES && [502, 503].includes(answer.status); again++) answer = await this.send(method, path, body, key);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  post(text) {
    return this.call("POST", "/v1/posts", { text });
  }

  follow(...authors) {
    return Promise.all(authors.map((author) => this.call("PUT", `/v1/users/${author.id}/follow`)));
  }

  like(...posts) {
    return Promise.all(posts.map((post) => this.call("PUT", `/v1/posts/${post.id}/like`)));
  }

  /** All items of a list, over its pages. */
  async all(path) {
    const items = [];
    let cursor = null;
    do {
      const page = await this.call("GET", `${path}?limit=100${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
      items.push(...page.items);
      cursor = page.next_cursor;
    } while (cursor);
    return items;
  }
}

/** Users with profiles, made at the same time. */
export const people = (...words) => Promise.all(words.map((word) => User.make(word, word[0].toUpperCase() + word.slice(1))));

/** Does something for each of many values, a few at a time and in order. */
export async function each(values, atOnce, action) {
  const waiting = values.map((value, number) => [number, value]);
  const results = [];
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) results[next[0]] = await action(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
