//! Messages, items and cursors of earlier versions. `tests/fixtures/v1` contains them as version 1 wrote them. The
//! present code reads all of them, and writes exactly the same form.
//!
//! A changed form is version 2. The files in `v1` do not change, and the tests still read them, with the meaning
//! that their content then has. The files of the new form are in `v2`, and the tests of written data use those.
//! `shared/core/src/message.rs` and `shared/engines/src/table/form.rs` say how to deploy such a change.

mod items;
mod newer;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::PathBuf;

use fanfold_core::board::{Period, Round};
use fanfold_core::fanout::{FanoutPart, Share};
use fanfold_core::message::Received;
use fanfold_core::{
    BoardId, FeedId, FeedKind, List, Partition, PostId, Ranking, ScheduledId, Snapshot, TagHash,
    Time, TimerName, UserId,
};
use fanfold_engines::due::ItemDue;
use fanfold_engines::table::ByTime;
use fanfold_kinds::boards::messages::{BoardChanged, RebuildBoard, ScoresChanged};
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_kinds::feeds::messages::RebuildFeed;
use fanfold_kinds::follows::messages::{CountFollowers, RelationChanged};
use fanfold_kinds::follows::{FollowersOf, FollowingOf};
use fanfold_kinds::likes::LikersOf;
use fanfold_kinds::likes::messages::CountLikes;
use fanfold_kinds::marks::messages::MarkChanged;
use fanfold_kinds::marks::{MarkKind, MarkedBy};
use fanfold_kinds::people::messages::ProfileChanged;
use fanfold_kinds::posts::messages::{PostDeleted, PostEdited, PostPublished};
use fanfold_kinds::rankings::PlacesOf;
use fanfold_kinds::rankings::messages::RebuildRanking;
use fanfold_kinds::replies::RepliesTo;
use fanfold_kinds::replies::messages::CountReplies;
use fanfold_kinds::scheduled::ScheduledOf;
use fanfold_kinds::subscriptions::{ChangeEvent, ChunkOrder, PostEvent, RebuildOrder};
use fanfold_kinds::tags::cases::TagsTimeline;
use fanfold_kinds::tags::messages::UpdateTagFeeds;
use fanfold_kinds::timers::TimersOf;
use fanfold_kinds::timers::messages::TimerFired;
use fanfold_kinds::{scheduled, timers};
use serde_json::Value;

use crate::harness::root;

/// Compares messages with the lines of a file, in the same order and in both directions.
fn check_lines<M: Received + PartialEq + Debug>(lines: &str, messages: &[M]) {
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), messages.len());
    for (line, message) in lines.into_iter().zip(messages) {
        let read = M::decode(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(&read, message, "{line}");
        assert_eq!(message.encode().expect("JSON"), line);
    }
}

fn post() -> PostId {
    "01M7YZ0V042DVTFTPP3HS0JN1E".parse().expect("an id")
}

#[test]
fn post_published_messages_keep_their_form() {
    let part = |first, end, range| PostPublished::part(post(), FanoutPart { first, end, range });
    check_lines(
        include_str!("../fixtures/v1/post-published.jsonl"),
        &[
            PostPublished::new(post()),
            part(0, 8, 0),
            part(3, 8, 7),
            PostPublished { bulk: true, ..part(8, 16, 0) },
            PostPublished { pointer: true, ..part(0, 1, 63) },
            PostPublished { bulk: true, pointer: true, ..part(1016, 1024, 1) },
            PostPublished::scheduled(post(), Time::from_ms(1_767_225_600_123)),
        ],
    );
}

#[test]
fn deliver_chunk_messages_keep_their_form() {
    let followers = || vec![UserId(0), UserId(0xa7ea_d61c_7209_542e), UserId(u64::MAX)];
    let chunk = || DeliverChunk::new(post(), Time::from_ms(1_767_225_600_123), followers());
    let share = |partition, from, to| Some(Share { partition: Partition(partition), from, to });
    check_lines(
        include_str!("../fixtures/v1/deliver-chunk.jsonl"),
        &[
            chunk(),
            DeliverChunk { share: share(0, 0, 64), ..chunk() },
            DeliverChunk { share: share(1023, 5, 6), pointer: true, ..chunk() },
            DeliverChunk { pointer: true, ..chunk() },
            DeliverChunk { share: share(2, 63, 64), followers: Vec::new(), ..chunk() },
            DeliverChunk { share: share(2, 3, 64), reached: Some(items::reached(5)), ..chunk() },
        ],
    );
}

#[test]
fn update_tag_feeds_messages_keep_their_form() {
    let update = ChunkOrder::from(UpdateTagFeeds { post: post() });
    check_lines(include_str!("../fixtures/v1/update-tag-feeds.jsonl"), &[update]);
}

#[test]
fn messages_about_changed_posts_and_profiles_keep_their_form() {
    let (at, user) = (Time::from_ms(1_767_225_600_123), UserId(0xa7ea_d61c_7209_542e));
    let deleted = PostDeleted { post: post(), deleted_at: at };
    let (of_posts, of_likes) = (PostEvent::from(deleted.clone()), ChangeEvent::from(deleted));
    check_lines(include_str!("../fixtures/v1/post-deleted.jsonl"), &[of_posts]);
    check_lines(include_str!("../fixtures/v1/post-deleted.jsonl"), &[of_likes]);
    let edited = ChangeEvent::from(PostEdited { post: post(), version: 2, edited_at: at });
    check_lines(include_str!("../fixtures/v1/post-edited.jsonl"), &[edited]);
    let changed =
        |revision| ChangeEvent::ProfileChanged(ProfileChanged { user, changed_at: at, revision });
    let changed = [changed(Some(2)), changed(None)];
    check_lines(include_str!("../fixtures/v1/profile-changed.jsonl"), &changed);
}

#[test]
fn relation_count_and_rebuild_messages_keep_their_form() {
    let count = CountFollowers { author: UserId(0xa7ea_d61c_7209_542e) };
    check_lines(
        include_str!("../fixtures/v1/count-followers.jsonl"),
        &[ChangeEvent::CountFollowers(count)],
    );
    let change = RelationChanged {
        follower: UserId(1),
        author: UserId(0xa7ea_d61c_7209_542e),
        changed_at: Time::from_ms(1_767_225_600_123),
    };
    check_lines(
        include_str!("../fixtures/v1/relation-changed.jsonl"),
        std::slice::from_ref(&change),
    );
    check_lines(
        include_str!("../fixtures/v1/relation-changed.jsonl"),
        &[ChangeEvent::RelationChanged(change)],
    );
    let rebuild =
        RebuildFeed { user: UserId(0xa7ea_d61c_7209_542e), lease: "00f1c3a5b7d9e0ff".to_owned() };
    check_lines(include_str!("../fixtures/v1/rebuild-feed.jsonl"), &[rebuild]);
}

#[test]
fn messages_about_marks_keep_their_form() {
    let (at, user) = (Time::from_ms(1_767_225_600_123), UserId(0xa7ea_d61c_7209_542e));
    let changed = |token: Option<&str>| {
        ChangeEvent::from(MarkChanged {
            kind: MarkKind::Like,
            user,
            post: post(),
            token: token.map(str::to_owned),
            changed_at: at,
        })
    };
    let lines = include_str!("../fixtures/v1/mark-changed.jsonl");
    check_lines(lines, &[changed(Some("00f1c3a5b7d9e0ff")), changed(None)]);
    let count = ChangeEvent::from(CountLikes { post: post() });
    check_lines(include_str!("../fixtures/v1/count-likes.jsonl"), &[count]);
    let count = ChangeEvent::from(CountReplies { post: post() });
    check_lines(include_str!("../fixtures/v1/count-replies.jsonl"), &[count]);
}

#[test]
fn messages_about_boards_keep_their_form() {
    let owner = UserId(0xa7ea_d61c_7209_542e);
    let board = BoardId::of(owner, &"a game".parse().expect("a name"));
    let token = || "00f1c3a5b7d9e0ff".to_owned();
    let week: Round = "2026-01-05".parse().expect("a round");
    let members = || ["one", "Räuber"].map(|name| name.parse().expect("a name")).to_vec();
    let scores = [Round::ALL, week].map(|round| {
        ChangeEvent::from(ScoresChanged { board, token: token(), round, members: members() })
    });
    check_lines(include_str!("../fixtures/v1/scores-changed.jsonl"), &scores);
    let changed = [(Period::All, Round::ALL, 0), (Period::Week, week, 3)];
    let changed = changed.map(|(period, first, layout)| {
        ChangeEvent::from(BoardChanged { board, token: token(), period, first, layout })
    });
    check_lines(include_str!("../fixtures/v1/board-changed.jsonl"), &changed);
    let first = RebuildBoard {
        board,
        token: token(),
        round: week,
        version: 0,
        lease: "a lease".to_owned(),
        part: 0,
        after: None,
    };
    let later = RebuildBoard { version: 7, part: 5, ..first.clone() };
    let [_, after] = members().try_into().expect("two members");
    let within = RebuildBoard { part: 5, after: Some(after), ..first.clone() };
    let orders = [first, later, within].map(RebuildOrder::from);
    check_lines(include_str!("../fixtures/v1/rebuild-board.jsonl"), &orders);
}

#[test]
fn messages_about_rankings_keep_their_form() {
    let at = Time::from_ms(1_767_225_600_000);
    let first = |ranking| RebuildRanking::new(Snapshot { ranking, at }, "a lease".to_owned());
    let [day, week, authors, tags] = Ranking::ALL.map(first);
    let orders = [day, RebuildRanking { part: 5, ..week }, authors, tags].map(RebuildOrder::from);
    check_lines(include_str!("../fixtures/v1/rebuild-ranking.jsonl"), &orders);
}

#[test]
fn messages_about_due_items_keep_their_form() {
    let at = Time::from_ms(1_767_225_600_123);
    let owner = UserId(0xa7ea_d61c_7209_542e);
    let name = || TimerName::try_from("renew-7".to_owned()).expect("a name");
    let timer = timers::items::entry(owner, &name(), at);
    let scheduled = scheduled::items::entry(ScheduledId(post()), at);
    let due = [ItemDue::new(timer), ItemDue::announced(scheduled, at)];
    check_lines(include_str!("../fixtures/v1/item-due.jsonl"), &due);
    let fired = |missed| {
        let payload = serde_json::json!({"renew": 7});
        TimerFired::new((owner, name()), "00f1c3a5b7d9e0ff", at, missed, payload)
    };
    check_lines(include_str!("../fixtures/v1/timer-fired.jsonl"), &[fired(0), fired(2)]);
}

/// The cursor of a place keeps its form. Returns the code of its list.
fn keeps<L: List<Place: PartialEq + Debug>>(list: &L, place: L::Place, given: &Value) -> u8 {
    let cursor = given["cursor"].as_str().expect("a cursor");
    assert_eq!(list.cursor(&place), cursor, "{given}");
    assert_eq!(list.place(cursor), Ok(place), "{given}");
    list.code()
}

#[test]
fn cursors_keep_their_form() {
    let cursors: Value =
        serde_json::from_str(include_str!("../fixtures/v1/cursors.json")).expect("JSON");
    let mut lists = Vec::new();
    for given in cursors.as_array().expect("a list") {
        let text = |name: &str| given[name].as_str().unwrap_or_default();
        let owner = || text("owner").parse().expect("an owner");
        let number = |name: &str| given[name].as_u64().expect("a number");
        let at = || Time::from_ms(number("at_ms"));
        let post = |name| text(name).parse().expect("a post");
        let user = || text("user").parse::<UserId>().expect("a user");
        let span = || (post("before"), post("after"));
        let in_partition = || (Partition(number("partition") as u16), user());
        let code = match text("list") {
            "home" => keeps(&FeedId::home(owner()), span(), given),
            "author" => keeps(&FeedId::author(owner()), span(), given),
            "tag" => keeps(&FeedId::tag(TagHash(owner().0)), span(), given),
            "public" => keeps(&FeedId::tag(TagHash::PUBLIC), span(), given),
            "tags timeline" => keeps(&TagsTimeline(owner()), span(), given),
            "followers" => keeps(&FollowersOf(owner()), in_partition(), given),
            "following" => keeps(&FollowingOf(owner()), in_partition(), given),
            "scheduled" => {
                let id = text("id").parse().expect("an id");
                keeps(&ScheduledOf(owner()), (at(), id), given)
            }
            "timers" => keeps(&TimersOf(owner()), text("name").parse().expect("a name"), given),
            "marks" => keeps(&MarkedBy(MarkKind::Like, owner()), (at(), post("post")), given),
            "likers" => keeps(&LikersOf(post("owner")), (at(), user()), given),
            "replies" => {
                let order = match text("order") {
                    "newest" => ByTime::NewestFirst,
                    _ => ByTime::OldestFirst,
                };
                keeps(&RepliesTo(post("owner"), order), (at(), post("post")), given)
            }
            "ranking" => {
                let ranking = text("owner").parse().expect("a ranking");
                keeps(&PlacesOf(ranking), (at(), number("place")), given)
            }
            other => panic!("{other}"),
        };
        lists.push((text("list").to_owned(), code));
    }
    lists.sort_unstable();
    lists.dedup();
    let codes: BTreeSet<u8> = lists.iter().map(|(_, code)| *code).collect();
    assert_eq!(codes.len(), lists.len(), "lists have different codes");
    let mut files = Vec::new();
    ["shared/core/src", "shared/kinds/src"]
        .iter()
        .for_each(|folder| crate::house::files(&root().join(folder), &mut files));
    let text = |file: &PathBuf| std::fs::read_to_string(file).expect("a source");
    let declared =
        |file| text(file).lines().filter(|line| line.starts_with("impl List for")).count();
    let declared: usize = files.iter().map(declared).sum();
    // each kind of feed has a code of its own
    assert_eq!(lists.len(), declared + FeedKind::ALL.len() - 1, "every list has a cursor here");
    let mut codes: Vec<u8> = codes.into_iter().filter(|code| *code != b'l').collect();
    codes.extend(MarkKind::ALL.iter().map(|kind| kind.spec().code));
    let all = codes.len();
    assert_eq!(BTreeSet::from_iter(codes).len(), all, "lists of marks have codes of their own");
}
