//! Users, their posts, and the items that the store keeps of them.

use fanfold_core::{PostId, UserId};
use serde_json::{Value, json};

use crate::emulator::{Emulator, GRAPH, POSTS, USERS};
use crate::harness::dice::Dice;

/// Authors' first number; followers and readers have lower ones.
const AUTHORS_FROM: u64 = 1 << 40;
const TEXT: &str =
    "The ferry leaves at seven, and nobody on the island has ever seen it leave late.";

/// The same user for the same number. Ids are hashes.
pub fn user(number: u64) -> UserId {
    UserId(Dice(number).next())
}

pub fn author(number: u64) -> UserId {
    user(AUTHORS_FROM + number)
}

pub fn put_profile(emulator: &Emulator, user: UserId, followers: usize, shards: u16) {
    emulator.put(USERS, profile_item(user, followers, shards));
}

pub fn profile_item(user: UserId, followers: usize, shards: u16) -> Value {
    let text = |text: String| json!({"S": text});
    let number = |number: u64| json!({"N": number.to_string()});
    json!({
        "pk": text(format!("user#{user}")), "v": number(1), "user": text(user.to_string()),
        "identity": text("0".repeat(43)), "handle": text(format!("h{user}")),
        "name": text(format!("Name of {user}")), "posts": number(1),
        "followers": number(followers as u64), "following": number(0),
        "follower_shards": number(u64::from(shards)),
    })
}

pub fn put_post(emulator: &Emulator, post: PostId) {
    emulator.put(POSTS, post_item(post));
}

fn post_item(post: PostId) -> Value {
    let (author, id) = (post.author().to_string(), post.to_string());
    json!({"pk": {"S": author}, "sk": {"S": id}, "v": {"N": "1"}, "text": {"S": TEXT}})
}

/// A reader, and the authors whom they follow, each with this many posts; the authors' posts of the
/// same turn are a second apart, so that a page has posts of many.
pub fn put_reader(
    emulator: &Emulator,
    reader: UserId,
    authors: &[UserId],
    posts: u64,
    now_ms: u64,
) {
    put_profile(emulator, reader, 0, 1);
    for (place, author) in authors.iter().enumerate() {
        put_profile(emulator, *author, 1, 1);
        emulator.put(
            GRAPH,
            json!({
                "pk": {"S": format!("following#{reader}")}, "sk": {"S": author.to_string()},
                "v": {"N": "1"}, "relation": {"S": "following"}, "shard": {"N": "0"},
                "changed_at_ms": {"N": (now_ms - 86_400_000).to_string()},
            }),
        );
        for turn in 0..posts {
            let age_ms = turn * 3_600_000 + 1_000 * place as u64 + 1_000;
            put_post(emulator, PostId::new(now_ms - age_ms, place as u16, *author));
        }
    }
}
