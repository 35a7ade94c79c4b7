// Uses the API through a client that openapi-typescript and openapi-fetch make from its description. FANFOLD_URL names the
// API, FANFOLD_TOKENS the tokens of two users.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import createClient from "openapi-fetch";
import type { paths } from "./fanfold.d.ts";
import type { components } from "./fanfold.d.ts";

type Problem = components["schemas"]["ProblemBody"];
type Feed = components["schemas"]["FeedView"];

function setting(name: string): string {
  const value = process.env[name];
  assert(value, `${name} is not set`);
  return value;
}

const url = setting("FANFOLD_URL");

function connect(token: string) {
  return createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });
}

/** The body of a success. */
function got<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  assert(answer.data !== undefined, `${answer.response.status}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

/** The body of an error of the API: a problem, in contrast to a message of the gateway. */
function problem(answer: { error?: Problem | { message: string }; response: Response }): Problem {
  assert(answer.error && "type" in answer.error, `${answer.response.status} is no problem`);
  assert.equal(answer.response.headers.get("content-type"), "application/problem+json");
  return answer.error;
}

const [first, second] = setting("FANFOLD_TOKENS").split(" ");
const ash = connect(first ?? "");
const birch = connect(second ?? "");

// profiles, and an error
got(await ash.PUT("/v1/me", { body: { handle: "ts_ash", name: "Ash" } }));
const taken = problem(await birch.PUT("/v1/me", { body: { handle: "ts_ash", name: "Birch" } }));
assert.deepEqual([taken.status, taken.type], [409, "/problems/handle-taken"]);
got(await birch.PUT("/v1/me", { body: { handle: "ts_birch", name: "Birch" } }));

// posts, a follow and a like
const posts: string[] = [];
for (const text of ["one", "two", "three"]) {
  const post = got(await birch.POST("/v1/posts", { body: { text } }));
  assert("created_at" in post, "a post that is published at once");
  posts.unshift(post.id);
}
const path = { user: "@ts_birch" };
assert.equal((await ash.PUT("/v1/users/{user}/follow", { params: { path } })).response.status, 204);
const liked = { params: { path: { id: posts[0] ?? "" } } };
assert.equal((await ash.PUT("/v1/posts/{id}/like", liked)).response.status, 204);
assert.equal(got(await ash.GET("/v1/users/{user}", { params: { path } })).you_follow, true);
assert.equal(got(await ash.GET("/v1/posts/{id}", liked)).liked, true);

// the feed, page by page; a follow changes it a moment later
async function feed(): Promise<Feed["items"]> {
  const items: Feed["items"] = [];
  let cursor: string | null = null;
  do {
    const query = cursor === null ? { limit: 2 } : { limit: 2, cursor };
    const page: Feed = got(await ash.GET("/v1/timeline", { params: { query } }));
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return items;
}
let ids: string[] = [];
for (let tries = 0; tries < 300 && ids.length < posts.length; tries += 1) {
  ids = (await feed()).map((post) => post.id);
  await sleep(100);
}
assert.deepEqual(ids, posts);

// a score of 64 bits, which a number of JavaScript cannot hold
const most = "9223372036854775807";
const board = { board: "race" };
got(await ash.PUT("/v1/leaderboards/{board}", { params: { path: board }, body: {} }));
const member = { params: { path: { ...board, member: "birch" } } };
const set = await ash.PUT("/v1/leaderboards/{board}/members/{member}", { ...member, body: { scores: [most] } });
assert.deepEqual([got(set).scores, got(set).rank], [[most], 1]);
const more = await ash.PATCH("/v1/leaderboards/{board}/members/{member}", { ...member, body: { add: ["1"] } });
assert.equal(problem(more).type, "/problems/score-overflow");
assert.deepEqual(got(await ash.GET("/v1/leaderboards/{board}/members/{member}", member)).scores, [most]);
