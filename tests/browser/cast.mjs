// People with names and things to say, whom pictures of the page show.

import { User, each } from "./api.mjs";
import { until } from "./desk.mjs";

const PEOPLE = [
  ["mira", "Mira Okafor"],
  ["jonas", "Jonas Lindqvist"],
  ["priya", "Priya Raman"],
  ["tomas", "Tomás Herrera"],
  ["lena", "Lena Hoffmann"],
  ["kofi", "Kofi Mensah"],
  ["yuki", "Yuki Tanaka 田中"],
  ["amina", "Amina Haddad"],
  ["owen", "Owen Gallagher"],
];
/** The author, and the text. */
const POSTS = [
  ["owen", "First frost on the allotment this morning. The kale does not mind. #weather"],
  [
    "lena",
    "Reading about how lighthouse keepers logged the weather every three hours for a century. The handwriting changes, the columns never do. #Reading #weather",
  ],
  ["kofi", "Jollof for eleven people tonight. The big pot is out."],
  ["yuki", "散歩日和。The ginkgo avenue is fully yellow, go this week if you can."],
  ["jonas", "Small win: the build went from six minutes to ninety seconds. The fix was deleting things."],
  ["mira", "Moved the whole reading group to Thursday so that nobody has to choose between books and football. #reading"],
  ["tomas", "Half marathon done in 1:42:10. My knees would like to speak to the organiser. 🏃 #running"],
  [
    "priya",
    "The telescope is collimated, the sky is clear, and for once nobody on our street has their floodlight on. Saturn looks like a drawing of Saturn.",
  ],
  ["jonas", "A queue is a promise with a date on it.\n\nA cache is a promise without one."],
  ["lena", "The library now lends out cake tins. I have never been prouder of this town."],
  ["kofi", "Photos from the harbour at low tide: https://pictures.example/harbour.jpg"],
  ["amina", "Does anybody have a good method for learning the names of forty new students in a week?"],
];
/** Who likes the post at a place. */
const LIKES = [
  [7, ["mira", "jonas", "lena", "kofi", "amina", "owen", "tomas"]],
  [8, ["mira", "priya", "lena", "owen"]],
  [9, ["mira", "amina", "yuki", "owen", "jonas", "kofi"]],
  [6, ["priya", "kofi", "amina"]],
  [3, ["lena", "mira", "tomas", "amina"]],
  [5, ["amina", "lena", "kofi"]],
  [11, ["owen", "priya"]],
  [10, ["lena", "tomas", "mira"]],
  [2, ["tomas", "owen"]],
];
const BOARD = "half marathon, minutes";
const TIMES = [
  ["Tomás", "102"],
  ["Amina", "109"],
  ["Jonas", "118"],
  ["Kofi", "121"],
  ["Yuki", "126"],
  ["Owen", "139"],
  ["Lena", "147"],
];

let made;

/** The people, by their handles. They are made once for all tests. */
export const cast = () => (made ??= make());

async function make() {
  const users = Object.fromEntries(
    await each(PEOPLE, 4, async ([handle, name]) => [handle, await User.make(handle, name, handle)]),
  );
  const all = Object.values(users);
  const viewer = users.mira;
  // a system that runs longer has them already
  if ((await viewer.call("GET", "/v1/me")).posts > 0) return { users, viewer, board: BOARD };
  await each(all, 4, (user) =>
    user.follow(...all.filter((other) => other !== user && (user === viewer || (other.handle + user.handle).length % 3))),
  );
  const posts = [];
  for (const [author, text] of POSTS) posts.push(await users[author].post(text));
  await each(
    LIKES.flatMap(([place, fans]) => fans.map((fan) => [posts[place], users[fan]])),
    6,
    ([post, fan]) => fan.like(post),
  );
  for (const tag of ["reading", "Weather"]) await viewer.call("PUT", `/v1/tags/${tag}/follow`);
  await viewer.call("PUT", `/v1/leaderboards/${encodeURIComponent(BOARD)}`, { orders: ["ascending"] });
  const changes = TIMES.map(([member, minutes]) => ({ member, set: [minutes] }));
  await viewer.call("POST", `/v1/leaderboards/${encodeURIComponent(BOARD)}/members`, { changes });
  await viewer.call("PUT", "/v1/leaderboards/bouldering", { orders: ["descending", "ascending"] });
  const climbs = ["mira", "tomas", "priya", "lena"].map((member, place) => ({ member, set: [String(24 - place), String(3 * place + 9)] }));
  await viewer.call("POST", "/v1/leaderboards/bouldering/members", { changes: climbs });
  await viewer.call("PUT", "/v1/leaderboards/books%20read", { orders: ["descending"], period: "week" });
  const hours = (count) => new Date(Date.now() + count * 3_600_000).toISOString();
  await viewer.call("POST", "/v1/posts", {
    text: "Reading group tonight, at seven. Bring the second half.",
    publish_at: hours(9),
  });
  await viewer.call("POST", "/v1/posts", {
    text: "One week until the winter fair. We still need a person who owns a kettle.",
    publish_at: hours(75),
  });
  await until(
    "likes are counted",
    async () => {
      const page = await viewer.call("GET", "/v1/timeline?limit=50");
      const ranked = await viewer.call("GET", "/v1/rankings/posts-week");
      const wanted = LIKES.every(
        ([place, fans]) => page.items.find((item) => item.id === posts[place].id)?.like_count === fans.length,
      );
      return wanted && ranked.items.length > 0;
    },
    60_000,
  );
  return { users, viewer, board: BOARD };
}
