//! What earlier versions left on queues, in tables and in clients' hands: `tests/fixtures/v1` holds it
//! as it was written. Today's code reads all of it, and still writes exactly that.
//!
//! Whoever changes a form makes it version 2: the files of `v1` stay as they are, and so do the tests that
//! read them (with what their content means by then); what is written moves to files in `v2`, and the
//! tests of what is written go with it. `shared/core/src/message.rs` and
//! `shared/store/src/dynamo/form.rs` say how such a change is brought out.

mod items;
mod newer;

use std::fmt::Debug;

use fanfold_core::fanout::{Part, Share};
use fanfold_core::message::{DeliverChunk, PostPublished, RebuildFeed, RelationChanged};
use fanfold_core::{Cursor, ListKind, PostId, UserId};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// One body a line, in the order of these messages.
fn agree<M: Serialize + DeserializeOwned + PartialEq + Debug>(lines: &str, messages: &[M]) {
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), messages.len());
    for (line, message) in lines.into_iter().zip(messages) {
        let read: M = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(&read, message, "{line}");
        assert_eq!(serde_json::to_string(message).expect("JSON"), line);
    }
}

fn post() -> PostId {
    "01M7YZ0V042DVTFTPP3HS0JN1E".parse().expect("an id")
}

#[test]
fn posts_that_were_published() {
    let part = |first, end, range| PostPublished::part(post(), Part { first, end, range });
    agree(
        include_str!("../fixtures/v1/post-published.jsonl"),
        &[
            PostPublished::new(post()),
            part(0, 8, 0),
            part(3, 8, 7),
            PostPublished { bulk: true, ..part(8, 16, 0) },
            PostPublished { pointer: true, ..part(0, 1, 63) },
            PostPublished { bulk: true, pointer: true, ..part(1016, 1024, 1) },
        ],
    );
}

#[test]
fn chunks_to_deliver() {
    let followers = || vec![UserId(0), UserId(0xa7ea_d61c_7209_542e), UserId(u64::MAX)];
    let chunk = || DeliverChunk::new(post(), 1_767_225_600_123, followers());
    let share = |shard, from, to| Some(Share { shard, from, to });
    agree(
        include_str!("../fixtures/v1/deliver-chunk.jsonl"),
        &[
            chunk(),
            DeliverChunk { share: share(0, 0, 64), ..chunk() },
            DeliverChunk { share: share(1023, 5, 6), pointer: true, ..chunk() },
            DeliverChunk { pointer: true, ..chunk() },
            DeliverChunk { share: share(2, 63, 64), followers: Vec::new(), ..chunk() },
        ],
    );
}

#[test]
fn relations_that_changed_and_feeds_to_rebuild() {
    let change = RelationChanged::new(UserId(1), UserId(0xa7ea_d61c_7209_542e), 1_767_225_600_123);
    agree(include_str!("../fixtures/v1/relation-changed.jsonl"), &[change]);
    let rebuild = RebuildFeed::new(UserId(0xa7ea_d61c_7209_542e), "00f1c3a5b7d9e0ff".to_owned());
    agree(include_str!("../fixtures/v1/rebuild-feed.jsonl"), &[rebuild]);
}

#[test]
fn cursors_that_were_given_out() {
    let cursors: Value =
        serde_json::from_str(include_str!("../fixtures/v1/cursors.json")).expect("JSON");
    let mut lists = Vec::new();
    for given in cursors.as_array().expect("a list") {
        let text = |name: &str| given[name].as_str().unwrap_or_default();
        let kind = match text("list") {
            "home" => ListKind::Home,
            "author" => ListKind::Author,
            "followers" => ListKind::Followers,
            "following" => ListKind::Following,
            other => panic!("{other}"),
        };
        let post = |name| text(name).parse().expect("a post");
        let place = match kind {
            ListKind::Home | ListKind::Author => {
                Cursor::Feed { before: post("before"), after: post("after") }
            }
            ListKind::Followers | ListKind::Following => Cursor::User {
                shard: given["shard"].as_u64().expect("a partition") as u16,
                user: text("user").parse().expect("a user"),
            },
        };
        let owner = text("owner").parse().expect("an owner");
        assert_eq!(Cursor::decode(text("cursor"), kind, owner), Ok(place), "{given}");
        assert_eq!(place.encode(kind, owner), text("cursor"), "{given}");
        lists.push(kind as u8);
    }
    lists.sort_unstable();
    lists.dedup();
    assert_eq!(lists.len(), 4, "every list has a cursor");
}
