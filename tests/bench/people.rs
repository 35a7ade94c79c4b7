//! Users, their posts, and the items that the store has for them.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fanfold_core::{PostId, Time, UserId};
use fanfold_kinds::people::items::HeadBounds;
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
    let mut profile = profile_item(user, followers, partitions);
    // it says nothing about posts that are put without their heads
    profile["head_floor"] = json!({"N": u64::MAX.to_string()});
    emulator.put(USERS, profile);
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
        "head_floor": number(0),
    })
}

/// Puts an author with these posts, newest first.
fn put_author(emulator: &Emulator, author: UserId, posts: &[PostId]) {
    let mut profile = profile_item(author, 1, 1);
    let head = |post: &PostId| json!(STANDARD.encode(post.head().to_be_bytes()));
    profile["posts"] = json!({"N": posts.len().to_string()});
    profile["heads"] =
        json!({"BS": posts.iter().take(HeadBounds::USUAL.kept).map(head).collect::<Vec<_>>()});
    if let Some(floor) = posts.get(HeadBounds::USUAL.kept) {
        profile["head_floor"] = json!({"N": floor.head().to_string()});
    }
    emulator.put(USERS, profile);
    posts.iter().for_each(|post| put_post(emulator, *post));
}

pub fn put_post(emulator: &Emulator, post: PostId) {
    emulator.put(POSTS, post_item(post));
}

/// Puts a post whose text begins with these tags.
pub fn put_tagged(emulator: &Emulator, post: PostId, tags: &[&str]) {
    let (mut text, mut entities) = (String::new(), Vec::new());
    for tag in tags {
        let start = text.len();
        text = format!("{text}#{tag} ");
        entities.push(format!("{start}-{}#{tag}", text.len() - 1));
    }
    let mut item = post_item(post);
    item["text"] = json!({"S": format!("{text}{TEXT}")});
    item["entities"] = json!({"S": entities.join(" ")});
    emulator.put(POSTS, item);
}

fn post_item(post: PostId) -> Value {
    let (author, id) = (post.author().to_string(), post.to_string());
    json!({"pk": {"S": author}, "sk": {"S": id}, "v": {"N": "1"}, "text": {"S": TEXT}})
}

/// Puts a reader, and the authors that the reader follows, each with this many posts, an hour apart. The posts of
/// different authors alternate, one second apart, so that a page has posts of many authors.
pub fn put_reader(emulator: &Emulator, reader: UserId, authors: &[UserId], posts: u64, now: Time) {
    put_reader_of(emulator, reader, authors, (posts, Duration::from_secs(3_600)), now);
}

/// The same, with another time between the posts of an author.
pub fn put_reader_of(
    emulator: &Emulator,
    reader: UserId,
    authors: &[UserId],
    (posts, apart): (u64, Duration),
    now: Time,
) {
    emulator.put(USERS, profile_item(reader, 0, 1));
    for (place, author) in authors.iter().enumerate() {
        emulator.put(
            GRAPH,
            json!({
                "pk": {"S": format!("following#{reader}")}, "sk": {"S": author.to_string()},
                "v": {"N": "1"}, "relation": {"S": "following"}, "partition": {"N": "0"},
                "changed_at_ms": {"N": (now - Duration::from_secs(200 * 86_400)).to_string()},
            }),
        );
        let posts = (0..posts).map(|turn| {
            let age = apart * turn as u32 + Duration::from_secs(place as u64 + 1);
            PostId::new(now - age, place as u16, *author)
        });
        put_author(emulator, *author, &posts.collect::<Vec<_>>());
    }
}
