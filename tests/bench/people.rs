//! Users, their posts, and the items that the store has for them.

use std::time::Duration;

use fanfold_core::{PostId, Time, UserId};
use serde_json::{Value, json};

use crate::emulator::{Emulator, GRAPH, POSTS, USERS};
use crate::harness::dice::Dice;

/// The number of the first author. Followers and readers have lower numbers.
const AUTHORS_FROM: u64 = 1 << 40;
/// The text of every post.
pub const TEXT: &str =
    "The ferry leaves at seven, and nobody on the island has ever seen it leave late.";

/// The user with this number. The id is a hash of the number.
pub fn user(number: u64) -> UserId {
    UserId(Dice(number).next())
}

pub fn author(number: u64) -> UserId {
    user(AUTHORS_FROM + number)
}

pub fn put_profile(emulator: &Emulator, user: UserId, followers: usize, partitions: u16) {
    emulator.put(USERS, profile_item(user, followers, partitions));
}

pub fn profile_item(user: UserId, followers: usize, partitions: u16) -> Value {
    let text = |text: String| json!({"S": text});
    let number = |number: u64| json!({"N": number.to_string()});
    json!({
        "pk": text(format!("user#{user}")), "v": number(1), "user": text(user.to_string()),
        "identity": text("0".repeat(43)), "handle": text(format!("h{user}")),
        "name": text(format!("Name of {user}")), "posts": number(1),
        "followers": number(followers as u64), "following": number(0), "relation_changes": number(0),
        "scheduled": number(0), "timers": number(0), "boards": number(0),
        "followers_changes": number(followers as u64), "revision": number(1), "follower_partitions": number(u64::from(partitions)),
    })
}

pub fn put_post(emulator: &Emulator, post: PostId) {
    emulator.put(POSTS, post_item(post));
}

fn post_item(post: PostId) -> Value {
    let (author, id) = (post.author().to_string(), post.to_string());
    json!({"pk": {"S": author}, "sk": {"S": id}, "v": {"N": "1"}, "text": {"S": TEXT}})
}

/// Puts a reader, and the authors that the reader follows, each with this many posts. The posts of
/// different authors alternate, one second apart, so that a page has posts of many authors.
pub fn put_reader(emulator: &Emulator, reader: UserId, authors: &[UserId], posts: u64, now: Time) {
    put_profile(emulator, reader, 0, 1);
    for (place, author) in authors.iter().enumerate() {
        put_profile(emulator, *author, 1, 1);
        emulator.put(
            GRAPH,
            json!({
                "pk": {"S": format!("following#{reader}")}, "sk": {"S": author.to_string()},
                "v": {"N": "1"}, "relation": {"S": "following"}, "partition": {"N": "0"},
                "changed_at_ms": {"N": (now - Duration::from_secs(86_400)).to_string()},
            }),
        );
        for turn in 0..posts {
            let age = Duration::from_secs(turn * 3_600 + place as u64 + 1);
            put_post(emulator, PostId::new(now - age, place as u16, *author));
        }
    }
}
