//! Cards: what pages show comes from Valkey, and is never older than an acknowledged change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use fanfold_core::limits::{CARD_ANSWER_WITHIN, CARD_LEASE, CARD_MARK_WITHIN, COMMIT_GRACE};
use fanfold_core::{Bucket, FeedId, PostId, Relation, RelationChange, Time, UserId, UserRef};
use fanfold_engines::card::Wanted;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{Answers, CardId, CardRead, FeedSettings, Fill, Link, Valkey};
use fanfold_functions::admin::execute;
use fanfold_functions::admin::order::AdminOrder;
use fanfold_kinds::follows::items::Committed;
use fanfold_kinds::home::{self, Span};
use fanfold_kinds::people::cards::UserCard;
use fanfold_kinds::people::items::ProfilePut;
use fanfold_kinds::people::messages::ProfileChanged;
use fanfold_kinds::posts;
use fanfold_kinds::posts::items::{Deleted, PostState};
use fanfold_kinds::posts::messages::PostDeleted;
use fanfold_kinds::present::{self, Viewer};
use fanfold_kinds::subscriptions::ChangeEvent;
use fanfold_kinds::{App, follows, people};
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Announced;
use fanfold_runtime::{Config, StoreError};
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Cmd, RedisFuture, Value};

use crate::harness::valkeys::Node;
use crate::harness::world::{Message, World};

const LONG: Duration = Duration::from_secs(3_600);

/// What a reader is shown of a post.
async fn shown(world: &World, post: PostId) -> Option<(String, UserCard)> {
    let reader = Viewer::of(world.id("a reader"));
    match posts::read(&world.app, &reader, post, world.now()).await {
        Ok(shown) => Some((shown.post.text, shown.author)),
        Err(fanfold_kinds::Error::NoSuchPost(_)) => None,
        Err(error) => panic!("{error:?}"),
    }
}

async fn look(world: &World, user: UserRef) -> Option<UserCard> {
    let (reader, reading) = (Viewer::of(world.id("a reader")), ReadContext::new(world.now()));
    match present::user(&world.app, &reader, &user, &reading).await {
        Ok(user) => Some(user),
        Err(fanfold_kinds::Error::NoSuchUser(_)) => None,
        Err(error) => panic!("{error:?}"),
    }
}

pub async fn user(world: &World, name: &str) -> UserCard {
    look(world, UserRef::Id(world.id(name))).await.expect("a profile")
}

/// Reads one card. With a token, takes its lease if it is missing.
pub async fn read_card(valkey: &Valkey, id: &CardId, token: &str, now: Time) -> CardRead {
    let mut read = valkey.read_cards(std::slice::from_ref(id), token, now).await;
    let (_, cards) = read.pop().expect("a bucket");
    cards.expect("an answer").pop().expect("a card")
}

fn fill(id: &CardId, text: &str) -> Fill {
    Fill { id: *id, text: Some(text.as_bytes().to_vec()), kept: LONG, counts: true }
}

async fn all_messages(world: &World, name: &str) -> Vec<Message> {
    let messages = world.take().await;
    assert!(!messages.is_empty(), "{name} sends an event");
    messages
}

#[tokio::test]
async fn a_page_reads_no_item_whose_card_is_there() {
    // other worlds have the same handles
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url())]).await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    world.home("birch").await;
    let post = world.publish("ash", "text").await;
    world.drain().await;
    let (viewer, now) = (Viewer::of(world.id("birch")), world.now());
    let feed = FeedId::home(viewer.user);
    let first = world.page(feed, Span::ALL, 10).await;
    user(&world, "ash").await;
    look(&world, UserRef::Handle("ash".parse().unwrap())).await.expect("ash");
    // the same page without tables
    let none = ["USERS_TABLE", "POSTS_TABLE", "GRAPH_TABLE"].map(|table| (table, "no-table"));
    let config = world.config_with(&none);
    let timeline = App::new(&world.sdk, &config).unwrap();
    let page =
        home::page(&timeline, &viewer, feed, Span::ALL, 10, &ReadContext::new(now)).await.unwrap();
    assert_eq!((page, first.ids().next()), (first.clone(), Some(post)));
    let posts = App::new(&world.sdk, &config).unwrap();
    assert_eq!(posts::read(&posts, &viewer, post, now).await.unwrap(), first.posts[0]);
    for ash in [UserRef::Id(world.id("ash")), UserRef::Handle("ash".parse().unwrap())] {
        let found = present::user(&timeline, &viewer, &ash, &ReadContext::new(now)).await.unwrap();
        assert_eq!((found.name.as_str(), found.posts, found.followers), ("ash", 1, 1));
    }
    // a card that is missing needs the table
    world.app.valkey.cards_changed(&[CardId::user(world.id("ash"))]).await.unwrap();
    assert!(
        home::page(&timeline, &viewer, feed, Span::ALL, 10, &ReadContext::new(now)).await.is_err()
    );
}

#[tokio::test]
async fn the_next_request_shows_each_change() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "text").await;
    let (text, author) = shown(&world, post).await.expect("the post");
    assert_eq!((text.as_str(), author.posts, author.followers), ("text", 1, 0));
    assert_eq!(user(&world, "birch").await.following, 0);
    world.rename("ash", "ash2", "Ash the second").await;
    let (_, author) = shown(&world, post).await.expect("the post");
    assert_eq!((author.handle.as_str(), author.name.as_str()), ("ash2", "Ash the second"));
    world.drain().await;
    world.follow("birch", "ash").await;
    assert_eq!(
        (user(&world, "birch").await.following, user(&world, "ash").await.followers),
        (1, 0)
    );
    world.drain().await; // counts the followers
    assert_eq!(user(&world, "ash").await.followers, 1);
    world.unfollow("birch", "ash").await;
    assert_eq!(user(&world, "birch").await.following, 0);
    let second = world.publish("ash", "second").await;
    assert_eq!(user(&world, "ash").await.posts, 2);
    world.delete("ash", post).await;
    assert_eq!(shown(&world, post).await, None);
    assert_eq!(user(&world, "ash").await.posts, 1);
    // a user who is dropped: nobody sees the profile, although the order has time for the posts and a follower alone
    world.follow("birch", "ash").await;
    world.drain().await;
    shown(&world, second).await.expect("the post");
    let drop = || AdminOrder::DropUser { user: world.id("ash").to_string() };
    execute(&world.admin, drop(), world.now(), Deadline::at(Time::EPOCH)).await.unwrap();
    assert_eq!(look(&world, UserRef::Id(world.id("ash"))).await, None);
    execute(&world.admin, drop(), world.now(), Deadline::NONE).await.unwrap();
    assert_eq!(shown(&world, second).await, None);
    assert_eq!(look(&world, UserRef::Id(world.id("ash"))).await, None);
    let (birch, reading) = (Some(world.id("birch")), ReadContext::new(world.now()));
    let read = present::all_posts(&world.app, birch, &[second], &present::Cards::new(), &reading)
        .await
        .unwrap();
    assert_eq!((&read[&second].state, &read[&second].author), (&PostState::Deleted, &None));
    // a new user, who was asked for before
    assert_eq!(look(&world, UserRef::Id(world.id("cedar"))).await, None);
    world.rename("cedar", "cedar", "Cedar").await;
    assert_eq!(user(&world, "cedar").await.name, "Cedar");
}

/// Whether one user follows another, as the first one is shown on the profile of the second one.
async fn follows(world: &World, viewer: &str, user: &str) -> bool {
    let (viewer, user) = (Viewer::of(world.id(viewer)), UserRef::Id(world.id(user)));
    let reading = ReadContext::new(world.now());
    present::profile(&world.app, &viewer, &user, &reading).await.expect("a profile").is_followed
}

#[tokio::test]
async fn the_next_request_shows_whom_the_viewer_follows() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    assert!(!follows(&world, "birch", "ash").await);
    world.follow("birch", "ash").await;
    assert!(follows(&world, "birch", "ash").await);
    // each viewer has their own relations
    assert!(!follows(&world, "ash", "birch").await && !follows(&world, "cedar", "ash").await);
    assert!(!follows(&world, "birch", "birch").await);
    // lists of users show the same
    world.follow("birch", "cedar").await;
    world.follow("cedar", "ash").await;
    let (viewer, ash) = (Viewer::of(world.id("birch")), world.id("ash"));
    let reading = ReadContext::new(world.now());
    let page = follows::followers(&world.app, &viewer, ash, None, 10, &reading);
    let page = page.await.unwrap().items.into_iter();
    let shown: BTreeMap<_, _> = page.map(|seen| (seen.card.id, seen.is_followed)).collect();
    let expected = [("birch", false), ("cedar", true)].map(|(name, is)| (world.id(name), is));
    assert_eq!(shown, BTreeMap::from(expected));
    // no call to DynamoDB
    let none = ["USERS_TABLE", "GRAPH_TABLE"].map(|table| (table, "no-table"));
    let config = world.config_with(&none);
    let app = App::new(&world.sdk, &config).unwrap();
    let user = UserRef::Id(ash);
    let profile = present::profile(&app, &viewer, &user, &reading).await.unwrap();
    assert!(profile.is_followed);
    world.unfollow("birch", "ash").await;
    assert!(!follows(&world, "birch", "ash").await);
    // the writer reaches DynamoDB alone, so the event marks the card
    let away = world.config_with(&[("REDIS_URL", "redis://127.0.0.1:1")]);
    let away = App::new(&world.sdk, &away).unwrap();
    let (birch, to) = (world.identity("birch"), UserRef::Id(ash));
    follows::relate(&away, &birch, &to, Relation::Following, world.now()).await.unwrap();
    assert!(!follows(&world, "birch", "ash").await, "the writer did not mark the card");
    world.drain().await;
    assert!(follows(&world, "birch", "ash").await);
    // the relations of a dropped user end, before any event of this is handled
    let valkey = &world.app.valkey;
    let relation = |viewer, user| CardId::relation(world.id(viewer), world.id(user));
    for (viewer, user) in [("birch", "cedar"), ("cedar", "ash")] {
        assert!(follows(&world, viewer, user).await);
        let read = read_card(valkey, &relation(viewer, user), "", world.now()).await;
        assert_eq!(read, CardRead::Known(b"true".to_vec()));
    }
    let drop = AdminOrder::DropUser { user: world.id("cedar").to_string() };
    execute(&world.admin, drop, world.now(), Deadline::NONE).await.unwrap();
    for (viewer, user) in [("birch", "cedar"), ("cedar", "ash")] {
        let read = read_card(valkey, &relation(viewer, user), "", world.now()).await;
        assert_eq!(read, CardRead::Unknown, "{viewer} {user}");
    }
}

/// A caller who asks for very many users who do not exist must not fill Valkey.
#[tokio::test]
async fn nothing_is_kept_of_a_relation_to_a_user_who_does_not_exist() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    let viewer = Viewer::of(world.id("ash"));
    let reading = ReadContext::new(world.now());
    for nobody in (0..20).map(UserId) {
        let profile = present::profile(&world.app, &viewer, &UserRef::Id(nobody), &reading).await;
        assert!(matches!(profile, Err(fanfold_kinds::Error::NoSuchUser(_))));
    }
    assert_eq!(node.cli(&["KEYS", "follows:*"]), "");
    assert_eq!(world.app.valkey.sample_cards(Bucket(0), 100).await.unwrap(), [] as [CardId; 0]);
}

/// The writer dies after its commit, before it marks the cards. Its event does so.
#[tokio::test]
async fn the_event_of_a_dead_writer_marks_the_cards() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let (first, second) =
        (world.publish("ash", "first").await, world.publish("ash", "second").await);
    world.drain().await;
    let (users, posts) = (&world.app.users, &world.app.posts);
    let (ash, now) = (world.identity("ash"), world.now());
    shown(&world, first).await.expect("the post");
    let deleted = posts.delete(Announced::assumed(), users, &ash, first, now).await;
    assert_eq!(deleted.unwrap(), Deleted::Deleted);
    assert!(shown(&world, first).await.is_some(), "the writer did not mark the card");
    world.handle(&Message::Deleted(PostDeleted { post: first, deleted_at: now })).await.unwrap();
    assert_eq!(shown(&world, first).await, None);
    assert_eq!(user(&world, "ash").await.posts, 1);
    // a changed profile
    let handle = "ash".parse().unwrap();
    let put = users.put_profile(Announced::assumed(), &ash, &handle, "Other").await;
    assert!(matches!(put.unwrap(), ProfilePut::Changed(_)));
    assert_eq!(user(&world, "ash").await.name, "ash", "the writer did not mark the card");
    let event = ProfileChanged { user: world.id("ash"), changed_at: now, revision: Some(2) };
    world.handle(&Message::Profile(event)).await.unwrap();
    assert_eq!(user(&world, "ash").await.name, "Other");
    // a post that was published, and a relation: the writer reaches DynamoDB alone
    let away = [("REDIS_URL", "redis://127.0.0.1:1")];
    let config = world.config_with(&away);
    user(&world, "birch").await;
    let posts = App::new(&world.sdk, &config).unwrap();
    posts::publish(&posts, &ash, "third", None, now).await.unwrap();
    assert_eq!(user(&world, "ash").await.posts, 1, "the writer did not mark the card");
    world.drain().await;
    assert_eq!(user(&world, "ash").await.posts, 2);
    shown(&world, second).await.expect("the post");
    posts::delete(&posts, &ash, second, now).await.unwrap();
    assert!(shown(&world, second).await.is_some(), "the writer did not mark the card");
    world.drain().await;
    assert_eq!((shown(&world, second).await, user(&world, "ash").await.posts), (None, 1));
    let app = App::new(&world.sdk, &config).unwrap();
    let (birch, to) = (world.identity("birch"), UserRef::Id(world.id("ash")));
    follows::relate(&app, &birch, &to, Relation::Following, now).await.unwrap();
    assert_eq!(user(&world, "birch").await.following, 0, "the writer did not mark the card");
    world.drain().await;
    assert_eq!(user(&world, "birch").await.following, 1);
    let app = App::new(&world.sdk, &config).unwrap();
    people::put_profile(&app, &birch, "birch", "Birch", now).await.unwrap();
    assert_eq!(user(&world, "birch").await.name, "birch", "the writer did not mark the card");
    world.drain().await;
    assert_eq!(user(&world, "birch").await.name, "Birch");
}

/// The event goes out before the commit, so its handler waits for the commit.
#[tokio::test]
async fn an_event_waits_for_its_commit() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let post = world.publish("ash", "text").await;
    world.drain().await;
    let event = Message::Deleted(PostDeleted { post, deleted_at: world.now() });
    let renamed =
        ProfileChanged { user: world.id("ash"), changed_at: world.now(), revision: Some(2) };
    let renamed = Message::Profile(renamed);
    for event in [&event, &renamed] {
        let handled = world.handle(event).await;
        assert!(matches!(handled, Err(StoreError::NotCommittedYet { .. })), "{handled:?}");
    }
    // a writer that has not committed by now never will
    world.advance(COMMIT_GRACE + Duration::from_secs(1));
    for event in [&event, &renamed] {
        world.handle(event).await.unwrap();
    }
    assert!(shown(&world, post).await.is_some());
}

#[tokio::test]
async fn a_writer_sends_its_event_before_it_commits() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "text").await;
    world.drain().await;
    world.delete("ash", post).await;
    let sent = all_messages(&world, "deleting").await;
    let [Message::Deleted(of_post), Message::Like(ChangeEvent::PostDeleted(of_likes))] = &sent[..]
    else {
        panic!("{sent:?}");
    };
    assert_eq!((of_post.post, of_likes.post), (post, post));
    world.rename("ash", "ash2", "Ash").await;
    let sent = all_messages(&world, "renaming").await;
    assert!(matches!(&sent[..], [Message::Profile(_)]), "{sent:?}");
    // a handle that is taken changes nothing, so there is no event
    let (ash, now) = (world.identity("ash"), world.now());
    let taken = people::put_profile(&world.app, &ash, "birch", "Ash", now).await;
    assert!(matches!(taken, Err(fanfold_kinds::Error::HandleTaken(_))));
    assert!(world.take().await.is_empty());
}

/// A reader that read the item before a commit fills the card after it.
#[tokio::test]
async fn a_fill_never_replaces_something_newer() {
    let world = World::new().await;
    let (valkey, now) = (&world.app.valkey, world.now());
    let id = CardId::user(world.id("ash"));
    assert_eq!(read_card(valkey, &id, "one", now).await, CardRead::Leased);
    assert_eq!(read_card(valkey, &id, "two", now).await, CardRead::Busy);
    valkey.cards_changed(std::slice::from_ref(&id)).await.unwrap();
    valkey.fill_cards(&[fill(&id, "old")], "one", now).await.unwrap();
    assert_eq!(read_card(valkey, &id, "", now).await, CardRead::Unknown);
    // a reader that is too slow loses its lease to the next one
    assert_eq!(read_card(valkey, &id, "two", now).await, CardRead::Leased);
    let later = now + CARD_LEASE + Duration::from_millis(1);
    assert_eq!(read_card(valkey, &id, "three", later).await, CardRead::Leased);
    valkey.fill_cards(&[fill(&id, "two")], "two", now).await.unwrap();
    valkey.fill_cards(&[fill(&id, "three")], "three", now).await.unwrap();
    assert_eq!(read_card(valkey, &id, "", later).await, CardRead::Known(b"three".to_vec()));
    // also after a card was there
    valkey.cards_changed(std::slice::from_ref(&id)).await.unwrap();
    assert_eq!(read_card(valkey, &id, "four", later).await, CardRead::Leased);
    valkey.cards_changed(std::slice::from_ref(&id)).await.unwrap();
    valkey.fill_cards(&[fill(&id, "four")], "four", now).await.unwrap();
    assert_eq!(read_card(valkey, &id, "", later).await, CardRead::Unknown);
}

#[tokio::test]
async fn cards_of_another_memory_are_ignored() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    let (valkey, now) = (&world.app.valkey, world.now());
    let feed = FeedId::home(world.id("birch"));
    valkey.begin(feed, "first", now).await.unwrap();
    let (filled, leased) = (CardId::user(UserId(1)), CardId::user(UserId(2)));
    for id in [&filled, &leased] {
        assert_eq!(read_card(valkey, id, "one", now).await, CardRead::Leased);
    }
    valkey.fill_cards(&[fill(&filled, "text")], "one", now).await.unwrap();
    assert_eq!(read_card(valkey, &filled, "", now).await, CardRead::Known(b"text".to_vec()));
    execute(&world.admin, AdminOrder::BeginMemory, now, Deadline::NONE).await.unwrap();
    assert_eq!(read_card(valkey, &filled, "", now).await, CardRead::Unknown);
    // a lease of before is no lease now
    valkey.fill_cards(&[fill(&leased, "text")], "one", now).await.unwrap();
    assert_eq!(read_card(valkey, &leased, "two", now).await, CardRead::Leased);
}

#[tokio::test]
async fn the_memory_of_cards_is_bounded() {
    const MIB: u64 = 1024 * 1024;
    let node = Node::start(&[]);
    let settings = [("REDIS_URL", &*node.url()), ("BUCKETS", "1"), ("CARD_MEMORY", "1")];
    let world = World::with(&settings).await;
    let (valkey, now) = (&world.app.valkey, world.now());
    let used = || {
        let info = node.cli(&["INFO", "memory"]);
        let used = info.lines().find_map(|line| line.trim().strip_prefix("used_memory_dataset:"));
        used.and_then(|used| used.parse::<u64>().ok()).expect("the used memory")
    };
    let before = used();
    for size in [80, 4_096, 300] {
        let text = "x".repeat(size);
        for n in 0..6_000_u128 {
            let id = CardId::post(PostId(n << 64));
            valkey.cards_changed(std::slice::from_ref(&id)).await.unwrap();
            read_card(valkey, &id, "one", now).await;
            valkey.fill_cards(&[fill(&id, &text)], "one", now).await.unwrap();
        }
        let (taken, keys) = (used() - before, node.cli(&["DBSIZE"]));
        println!("cards of {size} bytes: {taken} bytes, {keys} keys");
        // the oldest are dropped, and the newest are there
        assert!(taken < MIB * 11 / 10, "cards of {size} bytes take {taken}");
        for (n, is_there) in [(0_u128, false), (5_999, true)] {
            let id = CardId::post(PostId(n << 64));
            let read = read_card(valkey, &id, "", now).await;
            assert_eq!(matches!(read, CardRead::Known(_)), is_there, "card {n}");
        }
    }
}

/// The card of a handle can be old. The user's card decides.
#[tokio::test]
async fn a_handle_leads_to_the_user_who_has_it() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let ash = UserRef::Handle("ash".parse().unwrap());
    assert_eq!(look(&world, ash.clone()).await.map(|user| user.id), Some(world.id("ash")));
    world.rename("ash", "ash2", "Ash").await;
    assert_eq!(look(&world, ash.clone()).await, None);
    world.rename("birch", "ash", "Birch").await;
    assert_eq!(look(&world, ash.clone()).await.map(|user| user.id), Some(world.id("birch")));
    let ash2 = UserRef::Handle("ash2".parse().unwrap());
    assert_eq!(look(&world, ash2.clone()).await.map(|user| user.id), Some(world.id("ash")));
    // the writer died after it had marked the user's card
    let (users, valkey) = (&world.app.users, &world.app.valkey);
    let (identity, handle) = (world.identity("ash"), "ash3".parse().unwrap());
    users.put_profile(Announced::assumed(), &identity, &handle, "Ash").await.unwrap();
    valkey.cards_changed(&[CardId::user(world.id("ash"))]).await.unwrap();
    assert_eq!(look(&world, ash2.clone()).await, None);
    // a follow by handle, too
    world.rename("birch", "birch", "Birch").await;
    world.rename("ash", "ash", "Ash").await;
    let (birch, now) = (world.identity("birch"), world.now());
    let follow = follows::relate(&world.app, &birch, &ash2, Relation::Following, now).await;
    assert!(matches!(follow, Err(fanfold_kinds::Error::NoSuchUser(_))), "{follow:?}");
    follows::relate(&world.app, &birch, &ash, Relation::Following, now).await.unwrap();
    let change = world.app.graph.relation(world.id("birch"), world.id("ash")).await.unwrap();
    assert_eq!(change.map(|change| change.relation), Some(Relation::Following));
}

#[tokio::test]
async fn the_audit_finds_a_card_that_differs() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "text").await;
    world.drain().await;
    shown(&world, post).await.expect("the post");
    let audit = async || {
        let audited = fanfold_kinds::audit::audit(&world.app, world.now(), Deadline::NONE).await;
        audited.unwrap()
    };
    let right = audit().await;
    assert!(right.cards >= 2 && right.cards_differed == 0, "{right:?}");
    // nobody marks the card of the changed profile
    let (ash, handle) = (world.identity("ash"), "ash".parse().unwrap());
    world.app.users.put_profile(Announced::assumed(), &ash, &handle, "Other").await.unwrap();
    let (_, author) = shown(&world, post).await.expect("the post");
    assert_eq!(author.name, "ash");
    assert_eq!(audit().await.cards_differed, 1);
    let (_, author) = shown(&world, post).await.expect("the post");
    assert_eq!(author.name, "Other");
    assert_eq!(audit().await.cards_differed, 0);
    // a changed relation
    assert!(!follows(&world, "birch", "ash").await);
    let (graph, birch) = (&world.app.graph, world.identity("birch"));
    let profile = world.app.users.profile(world.id("ash")).await.unwrap().expect("ash");
    let change = RelationChange { relation: Relation::Following, at: world.now() };
    let (sent, users) = (Announced::assumed(), &world.app.users);
    let committed = graph.commit(sent, users, &birch, &profile, None, change).await.unwrap();
    assert_eq!(committed, Committed::Done);
    assert!(!follows(&world, "birch", "ash").await);
    assert_eq!(audit().await.cards_differed, 1);
    assert!(follows(&world, "birch", "ash").await);
}

#[tokio::test]
async fn without_valkey_everything_comes_from_dynamodb() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let post = world.publish("ash", "text").await;
    let config = world.config_with(&[("REDIS_URL", "redis://127.0.0.1:1")]);
    let cards = App::new(&world.sdk, &config).unwrap();
    let (birch, reading) = (Some(world.id("birch")), ReadContext::new(world.now()));
    let read =
        present::all_posts(&cards, birch, &[post], &present::Cards::new(), &reading).await.unwrap();
    assert!(matches!(&read[&post].state, PostState::Published(post) if post.text == "text"));
    assert_eq!(read[&post].author.as_ref().map(|author| author.posts), Some(1));
}

/// A user who was asked for before the profile was made.
#[tokio::test]
async fn the_card_of_a_new_user_counts_in_the_memory() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    let (valkey, now) = (&world.app.valkey, world.now());
    let id = CardId::user(world.id("ash"));
    let listed = async || valkey.sample_cards(Bucket(0), 10).await.unwrap();
    assert_eq!(look(&world, UserRef::Id(world.id("ash"))).await, None);
    assert!(matches!(read_card(valkey, &id, "", now).await, CardRead::Known(_)));
    // so that nobody can fill the memory with users who do not exist
    assert_eq!(listed().await, []);
    let key = valkey.keys().card(id);
    let lives = node.cli(&["PTTL", &key]).trim().parse::<u64>().unwrap();
    assert!(lives <= 10_000, "{lives} ms");
    world.rename("ash", "ash", "Ash").await;
    assert_eq!(user(&world, "ash").await.name, "Ash");
    assert_eq!(listed().await, [id]);
}

/// Pages of many long posts fill more than one card in each call.
#[tokio::test]
async fn pages_of_many_cards_are_bounded_too() {
    let node = Node::start(&[]);
    let settings = [("REDIS_URL", &*node.url()), ("BUCKETS", "1"), ("CARD_MEMORY", "1")];
    let world = World::with(&settings).await;
    let (valkey, now) = (&world.app.valkey, world.now());
    let text = "x".repeat(4_096);
    for page in 0..30_u128 {
        let ids: Vec<CardId> =
            (0..100).map(|n| CardId::post(PostId((page * 100 + n) << 64))).collect();
        valkey.read_cards(&ids, "one", now).await;
        let fills: Vec<Fill> = ids.iter().map(|id| fill(id, &text)).collect();
        valkey.fill_cards(&fills, "one", now).await.unwrap();
    }
    let keys: usize = node
        .cli(&["DBSIZE"])
        .trim()
        .trim_start_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .unwrap();
    assert!((100..300).contains(&keys), "{keys} keys");
}

/// A real server. After the first command of the next read, a replica that has missed a write takes its place.
struct FailsOver {
    connection: MultiplexedConnection,
    /// The commands that happen then.
    lost: Mutex<Vec<Cmd>>,
    names: Mutex<Vec<String>>,
}

impl Answers for FailsOver {
    fn answer<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let mut connection = self.connection.clone();
            let Some(redis::Arg::Simple(name)) = command.args_iter().next() else { panic!() };
            self.names.lock().unwrap().push(String::from_utf8_lossy(name).into_owned());
            let answer = connection.req_packed_command(command).await?.extract_error();
            let lost = std::mem::take(&mut *self.lost.lock().unwrap());
            for command in lost {
                connection.req_packed_command(&command).await?.extract_error()?;
            }
            answer
        })
    }
}

/// Cards that are all there are read by simple commands. Between these, the server may be replaced.
#[tokio::test]
async fn a_server_that_is_replaced_during_a_read_shows_no_old_card() {
    let node = Node::start(&["--enable-debug-command", "yes"]);
    let client = redis::Client::open(node.url()).unwrap();
    let connection = client.get_multiplexed_async_connection().await.unwrap();
    let server =
        Arc::new(FailsOver { connection, lost: Mutex::default(), names: Mutex::default() });
    let settings = [("REDIS_URL", &*node.url()), ("BUCKETS", "1")];
    let settings = FeedSettings::read(&Config::from_pairs(settings)).unwrap();
    let valkey = Valkey::over(Link::given(server.clone()), &settings);
    let (id, now) = (CardId::user(UserId(1)), Time::from_ms(1_000));
    // before the bucket has a memory, and with one
    for memory in [false, true] {
        if memory {
            valkey.begin(FeedId::home(UserId(2)), "first", now).await.unwrap();
        }
        assert_eq!(read_card(&valkey, &id, "one", now).await, CardRead::Leased);
        valkey.fill_cards(&[fill(&id, "a: text")], "one", now).await.unwrap();
        server.names.lock().unwrap().clear();
        let known = CardRead::Known(b"a: text".to_vec());
        assert_eq!(read_card(&valkey, &id, "two", now).await, known);
        assert_eq!(*server.names.lock().unwrap(), ["MGET", "INFO"], "no script");

        let keys = node.cli(&["KEYS", "user:*"]);
        let key = keys.trim();
        let old = node.cli(&["GET", key]);
        valkey.cards_changed(std::slice::from_ref(&id)).await.unwrap();
        let mut change = redis::cmd("DEBUG");
        change.arg("CHANGE-REPL-ID");
        let mut restore = redis::cmd("SET");
        restore.arg(key).arg(old.trim());
        *server.lost.lock().unwrap() = vec![restore, change];
        assert_eq!(read_card(&valkey, &id, "three", now).await, CardRead::Leased);
        node.cli(&["FLUSHALL"]);
    }
}

/// A message that orders a rebuild is tried again with the same token. If the server was replaced between the two tries, both
/// begin a memory, but the cards of the first do not belong to the second.
#[tokio::test]
async fn a_rebuild_that_begins_two_memories_makes_two_of_them() {
    let node = Node::start(&["--enable-debug-command", "yes"]);
    let client = redis::Client::open(node.url()).unwrap();
    let settings = [("REDIS_URL", &*node.url()), ("BUCKETS", "1")];
    let settings = FeedSettings::read(&Config::from_pairs(settings)).unwrap();
    for is_cluster in [false, true] {
        let connection = client.get_multiplexed_async_connection().await.unwrap();
        let server =
            Arc::new(FailsOver { connection, lost: Mutex::default(), names: Mutex::default() });
        let link = if is_cluster { Link::given_cluster(server) } else { Link::given(server) };
        let valkey = Valkey::over(link, &settings);
        let (id, feed, now) =
            (CardId::user(UserId(1)), FeedId::home(UserId(2)), Time::from_ms(1_000));
        valkey.begin(feed, "token", now).await.unwrap();
        assert_eq!(read_card(&valkey, &id, "one", now).await, CardRead::Leased);
        valkey.fill_cards(&[fill(&id, "old")], "one", now).await.unwrap();
        let known = CardRead::Known(b"old".to_vec());
        assert_eq!(read_card(&valkey, &id, "two", now).await, known);
        node.cli(&["DEBUG", "CHANGE-REPL-ID"]);
        valkey.begin(feed, "token", now).await.unwrap();
        assert_eq!(read_card(&valkey, &id, "three", now).await, CardRead::Leased);
        node.cli(&["FLUSHALL"]);
    }
}

/// A replica may be behind: it shows and fills no cards, and a mark that it does not know the card for does not count.
#[tokio::test]
async fn a_replica_neither_shows_nor_marks_nor_fills_cards() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    world.people(&["ash", "birch"]).await;
    let valkey = &world.app.valkey;
    let id = CardId::user(world.id("ash"));
    user(&world, "ash").await;
    let other = CardId::user(world.id("birch"));
    assert_eq!(read_card(valkey, &other, "one", world.now()).await, CardRead::Leased);
    assert!(matches!(read_card(valkey, &id, "", world.now()).await, CardRead::Known(_)));
    valkey.cards_changed(std::slice::from_ref(&CardId::user(UserId(1)))).await.unwrap();
    node.cli(&["CONFIG", "SET", "replica-read-only", "no"]); // so that the scripts alone refuse
    node.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    let mut read = valkey.read_cards(std::slice::from_ref(&id), "", world.now()).await;
    assert!(read.pop().expect("a bucket").1.is_err());
    assert!(valkey.cards_changed(std::slice::from_ref(&id)).await.is_err());
    assert!(valkey.fill_cards(&[fill(&other, "old")], "one", world.now()).await.is_err());
}

/// A call that was repeated because its connection was cut can run again much later, after its lease was ended.
#[tokio::test]
async fn a_late_repetition_of_a_read_gets_no_lease() {
    let world = World::new().await;
    let (valkey, now) = (&world.app.valkey, world.now());
    for n in [1, 2] {
        let id = CardId::user(world.id("ash"));
        assert_eq!(read_card(valkey, &id, "one", now).await, CardRead::Leased);
        // the answer was lost, so the reader asks again
        assert_eq!(read_card(valkey, &id, "one", now).await, CardRead::Leased);
        valkey.cards_changed(std::slice::from_ref(&id)).await.unwrap();
        assert_eq!(read_card(valkey, &id, "one", now).await, CardRead::Unknown, "{n}");
        valkey.fill_cards(&[fill(&id, "old")], "one", now).await.unwrap();
        assert_eq!(read_card(valkey, &id, "", now).await, CardRead::Unknown);
        // the second time, the name of the card is in the queue
        assert_eq!(read_card(valkey, &id, "two", now).await, CardRead::Leased);
        valkey.fill_cards(&[fill(&id, "new")], "two", now).await.unwrap();
        valkey.cards_changed(std::slice::from_ref(&id)).await.unwrap();
    }
}

/// The first request with a key died after its commit. The second one shows the post to the next request.
#[tokio::test]
async fn a_repeated_request_marks_the_cards() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let (ash, now) = (world.identity("ash"), world.now());
    assert_eq!(user(&world, "ash").await.posts, 0);
    let config = world.config_with(&[("REDIS_URL", "redis://127.0.0.1:1")]);
    let without_valkey = App::new(&world.sdk, &config).unwrap();
    posts::publish(&without_valkey, &ash, "text", Some("key"), now).await.unwrap();
    assert_eq!(user(&world, "ash").await.posts, 0, "the writer did not mark the card");
    posts::publish(&world.app, &ash, "text", Some("key"), now).await.unwrap();
    assert_eq!(user(&world, "ash").await.posts, 1);
}

/// An expired tombstone is no error: the post stays deleted.
#[tokio::test]
async fn the_card_of_a_post_stays_right_when_its_tombstone_expires() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let post = world.publish("ash", "text").await;
    world.delete("ash", post).await;
    assert_eq!(shown(&world, post).await, None);
    let id = CardId::post(post);
    let valkey = &world.app.valkey;
    assert!(matches!(read_card(valkey, &id, "", world.now()).await, CardRead::Known(_)));
    let table = world.config.text("POSTS_TABLE").unwrap();
    let key = |name: &str, value: String| (name.to_owned(), AttributeValue::S(value));
    let keys = [key("pk", world.id("ash").to_string()), key("sk", post.to_string())];
    let dynamo = aws_sdk_dynamodb::Client::new(&world.sdk);
    let gone = dynamo.delete_item().table_name(table).set_key(Some(keys.into()));
    gone.send().await.unwrap();
    let cards = Wanted::default().and::<PostState>([post]);
    let compared = cards.differing(valkey, &world.app, world.now()).await.unwrap();
    assert_eq!((compared.cards, compared.differing.len()), (1, 0));
}

/// A server that hangs delays a request for half a second, not for as long as a call may take.
#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_delays_cards_by_a_bounded_time() {
    struct Hangs;
    impl Answers for Hangs {
        fn answer<'a>(&'a self, _: &'a Cmd) -> RedisFuture<'a, Value> {
            Box::pin(std::future::pending())
        }
    }
    let settings = Config::from_pairs([("REDIS_URL", "redis://not-asked.invalid")]);
    let settings = FeedSettings::read(&settings).unwrap();
    let valkey = Valkey::over(Link::given(Arc::new(Hangs)), &settings);
    let start = tokio::time::Instant::now();
    let ids: Vec<CardId> = (0..20).map(|n| CardId::user(UserId(n))).collect();
    for (_, read) in valkey.read_cards(&ids, "one", Time::from_ms(1)).await {
        assert!(read.is_err_and(|error| error.is_valkey()));
    }
    assert_eq!(start.elapsed(), CARD_ANSWER_WITHIN);
    fanfold_engines::card::changed(&valkey, &ids).await;
    assert_eq!(start.elapsed(), CARD_ANSWER_WITHIN + CARD_MARK_WITHIN);
}
