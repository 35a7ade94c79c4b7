//! Kept feeds: a return takes from a copy what a query would give, and no copy is used after a change that it lacks.

use std::time::Duration;

use super::cloud::Faults;
use crate::harness::any::AnyMessage;
use crate::harness::dice::Dice;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use fanfold_core::{FeedId, PostId, Relation, Time, UserRef};
use fanfold_engines::due::ItemDue;
use fanfold_engines::feed::Source;
use fanfold_kinds::fanout::deliver::deliver;
use fanfold_kinds::fanout::dispatch::dispatch;
use fanfold_kinds::feeds::kept::items::KeptFeed;
use fanfold_kinds::follows::messages::RelationChanged;
use fanfold_kinds::owned::Audited;
use fanfold_kinds::posts::messages::PostPublished;
use fanfold_kinds::rebuild::rebuild_user;
use fanfold_kinds::scheduled::{self, NewScheduled};
use fanfold_kinds::subscriptions::ChunkOrder;
use fanfold_kinds::sweep::sweep;
use fanfold_kinds::{audit, due, follows, people, posts};
use fanfold_runtime::clock::Deadline;

use super::apps::{Apps, POSTS, START, id, identity};
use super::calls::{handle_all, take};
use super::oracle::Truth;
use super::server::Server;
use super::tasks::runtime;
use crate::harness::world::page;
use fanfold_functions::admin::execute;
use fanfold_functions::admin::order::AdminOrder;
use fanfold_kinds::home::Span;

const READER: &str = "reader";
/// Two busy authors: a feed needs more of their posts than they have heads.
const AUTHORS: [&str; 2] = ["ash", "birch"];
const MINUTE: Duration = Duration::from_secs(60);

/// A reader of two busy authors, whose feed was dropped and kept.
struct Return {
    apps: Apps,
    now: Time,
}

impl Return {
    async fn new(server: &Server, keep: Duration) -> Self {
        fastrand::seed(7);
        let settings = [("FEED_CAP", "40".to_owned())];
        let mut apps = Apps::with(server, &settings, RetryConfig::disabled());
        apps.valkey.reset();
        apps.steps.set_free(true);
        apps.app.settings.kept.keep = keep;
        // heads are read from profiles
        apps.app.settings.hot_followers = u64::MAX;
        apps.app.settings.inline_authors = 9;
        let mut it = Self { apps, now: START };
        for name in AUTHORS.into_iter().chain([READER, "cedar"]) {
            people::put_profile(&it.apps.app, &identity(name), name, name, it.now)
                .await
                .expect("a profile");
        }
        for author in AUTHORS {
            it.relate(author, Relation::Following).await;
        }
        handle_all(&it.apps, it.now).await;
        for _ in 0..15 {
            for author in AUTHORS {
                it.publish(author).await;
            }
        }
        it.check().await;
        it
    }

    /// Time passes, and the sweep drops the feed.
    async fn drop_feed(&mut self) {
        self.now += 5 * MINUTE;
        let mut app = self.apps.app.clone();
        app.settings.inactive_after = Duration::ZERO;
        sweep(&app, self.now).await.expect("swept");
        self.now += 5 * MINUTE;
    }

    async fn relate(&mut self, author: &str, relation: Relation) {
        self.now += Duration::from_millis(1);
        let user = UserRef::Id(id(author));
        let relate = follows::relate;
        relate(&self.apps.app, &identity(READER), &user, relation, self.now)
            .await
            .expect("related");
    }

    async fn publish(&mut self, author: &str) -> PostId {
        self.now += Duration::from_millis(1);
        let post = publish(&self.apps, author, self.now).await;
        handle_all(&self.apps, self.now).await;
        post
    }

    /// Reads all pages, which must show what the tables have. Returns the number of queries for posts of the first one.
    async fn check(&mut self) -> usize {
        self.check_of(READER).await
    }

    async fn check_of(&mut self, reader: &str) -> usize {
        let (feed, mut span, mut walked) = (FeedId::home(id(reader)), Span::ALL, Vec::new());
        self.apps.cloud.lock().queries.clear();
        let mut queries = None;
        loop {
            let page = page(&self.apps.app, feed, span, 20, self.now).await.expect("a page");
            walked.extend(page.ids());
            let made = self.apps.cloud.lock().queries.get(POSTS).copied().unwrap_or_default();
            queries.get_or_insert(made);
            match page.next_before {
                Some(before) => span.before = before,
                None => break,
            }
        }
        assert_eq!(walked, Truth::of(&self.apps.cloud.lock()).home(id(reader)));
        queries.unwrap_or_default()
    }
}

/// Publishes a post, whose event waits.
async fn publish(apps: &Apps, author: &str, now: Time) -> PostId {
    let author = identity(author);
    posts::publish(&apps.app, &author, "text", None, now).await.expect("a post").post.id
}

fn with(test: impl AsyncFn(&Server)) {
    let server = Server::start();
    runtime().block_on(test(&server));
}

/// A return with a copy makes no query for posts. Without one, it queries each author below the heads.
#[test]
fn a_return_takes_from_the_copy_what_is_below_the_heads() {
    with(async |server| {
        for (keep, queries) in [(Duration::ZERO, 2), (100 * MINUTE, 0)] {
            let mut reader = Return::new(server, keep).await;
            reader.drop_feed().await;
            assert_eq!(reader.check().await, queries, "kept for {keep:?}");
        }
        // a copy that has expired, and that DynamoDB has not removed yet
        let mut reader = Return::new(server, MINUTE).await;
        reader.drop_feed().await;
        assert_eq!(reader.check().await, 2);
    });
}

/// New posts, deletions and unfollows since the copy was made are honoured, and the copy is used.
#[test]
fn posts_deletions_and_unfollows_since_are_honoured() {
    with(async |server| {
        let mut reader = Return::new(server, 100 * MINUTE).await;
        reader.drop_feed().await;
        let old = Truth::of(&reader.apps.cloud.lock()).author(id("ash"));
        for post in [old[0], old[9]] {
            posts::delete(&reader.apps.app, &identity("ash"), post, reader.now)
                .await
                .expect("deleted");
        }
        reader.publish("birch").await;
        assert_eq!(reader.check().await, 0);
        // dropped from a full server: the copy is used again
        reader.apps.app.valkey.drop_feeds(id(READER)).await.expect("dropped");
        reader.relate("birch", Relation::NotFollowing).await;
        handle_all(&reader.apps, reader.now).await;
        reader.check().await;
    });
}

/// After each of these changes, the copy must not be used for the author.
#[test]
fn a_copy_is_not_used_after_a_change_that_it_lacks() {
    with(async |server| {
        for change in [
            "the author is followed again",
            "the floor of the heads has risen",
            "a scheduled post was published late",
            "a post was dispatched late",
            "a chunk was delivered late",
            "a follow was handled late",
        ] {
            println!("{change}");
            let mut reader = Return::new(server, 100 * MINUTE).await;
            let ash = identity("ash");
            let (mut late, mut chunks) = (None, Vec::new());
            match change {
                "a scheduled post was published late" => {
                    let publish_at = reader.now + MINUTE;
                    let new = NewScheduled { post: "later".into(), publish_at, key: None };
                    scheduled::schedule(&reader.apps.app, &ash, new, reader.now)
                        .await
                        .expect("scheduled");
                    reader.apps.cloud.lock().sent.clear();
                    reader.now += 2 * MINUTE;
                    for _ in 0..6 {
                        reader.publish("ash").await;
                    }
                }
                "a post was dispatched late" | "a chunk was delivered late" => {
                    // its event waits in a queue, or its chunk
                    let event = PostPublished::new(publish(&reader.apps, "ash", reader.now).await);
                    take(&reader.apps);
                    if change == "a chunk was delivered late" {
                        reader.apps.app.settings.fanout.small = 0;
                        let dispatch =
                            dispatch(&reader.apps.app, &event, reader.now, Deadline::NONE);
                        dispatch.await.expect("dispatched");
                    }
                    chunks = take(&reader.apps).unwrap_or_default();
                    late = Some(event);
                    for _ in 0..6 {
                        reader.publish("ash").await;
                    }
                }
                "a follow was handled late" => {
                    reader.relate("cedar", Relation::NotFollowing).await;
                    for _ in 0..9 {
                        publish(&reader.apps, "cedar", reader.now).await;
                        reader.now += Duration::from_millis(1);
                    }
                    handle_all(&reader.apps, reader.now).await;
                    reader.relate("cedar", Relation::Following).await;
                    reader.apps.cloud.lock().sent.clear();
                }
                _ => {}
            }
            reader.drop_feed().await;
            match change {
                "the author is followed again" => {
                    for relation in [Relation::NotFollowing, Relation::Following] {
                        reader.relate("ash", relation).await;
                        handle_all(&reader.apps, reader.now).await;
                    }
                }
                "the floor of the heads has risen" => {
                    for _ in 0..6 {
                        reader.publish("ash").await;
                    }
                }
                "a scheduled post was published late" => {
                    let item = reader.apps.app.scheduled.soonest(ash.user(), None, 1).await;
                    let item = item.expect("read").items.remove(0);
                    let (message, now) = (ItemDue::new(item.entry()), reader.now);
                    due::handle(&reader.apps.app, &message, now).await.expect("published");
                    handle_all(&reader.apps, now).await;
                }
                "a chunk was delivered late" => {
                    let chunk = chunks.into_iter().find_map(|(_, message)| match message {
                        AnyMessage::Chunk(ChunkOrder::DeliverChunk(chunk)) => Some(chunk),
                        _ => None,
                    });
                    let chunk = chunk.expect("a chunk");
                    let delivered = deliver(&reader.apps.app, &[chunk], &[], reader.now).await;
                    assert!(delivered[0].is_done(), "{delivered:?}");
                }
                "a post was dispatched late" => {
                    let event = late.expect("an event");
                    dispatch(&reader.apps.app, &event, reader.now, Deadline::NONE)
                        .await
                        .expect("dispatched");
                    handle_all(&reader.apps, reader.now).await;
                }
                "a follow was handled late" => {
                    let row = reader.apps.app.graph.relation(id(READER), id("cedar")).await;
                    let changed_at = row.expect("read").expect("a relation").at;
                    let (follower, author) = (id(READER), id("cedar"));
                    let event = RelationChanged { follower, author, changed_at };
                    let handled =
                        follows::events::relation_changed(&reader.apps.app, &event, reader.now);
                    handled.await.expect("handled");
                }
                _ => unreachable!("{change}"),
            }
            assert!(reader.check().await > 0, "{change}: the copy is used");
        }
    });
}

/// The posts of an author who was pulled are not in the copy.
#[test]
fn a_copy_is_not_used_for_authors_who_were_pulled() {
    with(async |server| {
        let mut reader = Return::new(server, 100 * MINUTE).await;
        reader.apps.app.settings.fanout.pull = 1;
        for _ in 0..9 {
            reader.publish("ash").await;
        }
        let pulled = reader.apps.app.pulled.all().await.expect("read");
        assert!(pulled.contains_key(&id("ash")), "{pulled:?}");
        reader.apps.app.settings.fanout.pull = 0;
        reader.drop_feed().await;
        let copy = reader.apps.app.kept.of(id(READER), reader.now).await.expect("read");
        assert_eq!(copy.expect("a copy").pulled, [id("ash")]);
        // followers are pushed to again, so nothing is merged when the feed is read
        reader.apps.app.pulled.release(id("ash")).await.expect("released");
        assert!(reader.check().await > 0, "the copy is used");
    });
}

/// A post reaches its author's own feed by dispatch alone, if the request did not reach Valkey.
#[test]
fn a_late_push_to_the_feed_of_the_author_is_noted() {
    with(async |server| {
        let mut reader = Return::new(server, 100 * MINUTE).await;
        reader.check_of("ash").await;
        reader.apps.valkey.set_faults(Faults { one_in: 1, dice: Dice(1) });
        let event = PostPublished::new(publish(&reader.apps, "ash", reader.now).await);
        reader.apps.valkey.set_faults(Faults::default());
        take(&reader.apps);
        for _ in 0..6 {
            reader.publish("ash").await;
        }
        reader.drop_feed().await;
        // its followers are reached by a chunk, which waits
        reader.apps.app.settings.fanout.small = 0;
        dispatch(&reader.apps.app, &event, reader.now, Deadline::NONE).await.expect("dispatched");
        take(&reader.apps);
        reader.check_of("ash").await;
    });
}

/// A new memory, as after a restore of tables, makes copies void.
#[test]
fn a_copy_of_another_memory_is_not_used() {
    with(async |server| {
        let mut reader = Return::new(server, 100 * MINUTE).await;
        reader.drop_feed().await;
        let order = AdminOrder::BeginMemory;
        let begun = execute(&reader.apps.admin, order, reader.now, Deadline::NONE).await;
        begun.expect("begun");
        assert_eq!(reader.check().await, 2);
    });
}

/// Copies of feeds that were wrong are found by the audit of the feeds that are made from them, and do no more harm.
#[test]
fn the_audit_removes_a_copy_that_is_wrong() {
    with(async |server| {
        for is_operator in [false, true] {
            let mut reader = Return::new(server, 100 * MINUTE).await;
            reader.drop_feed().await;
            let (app, feed) = (&reader.apps.app, FeedId::home(id(READER)));
            let wrong = app.kept.of(id(READER), reader.now).await.expect("read").expect("a copy");
            let wrong = KeptFeed { posts: Vec::new(), ..wrong };
            let until = reader.now.expires_after(MINUTE);
            app.kept.put(vec![(id(READER), wrong)], until).await.expect("kept");
            let shown = page(app, feed, Span::ALL, 40, reader.now).await.expect("a page");
            assert!(shown.ids().count() < 20, "the copy is used");
            if is_operator {
                let profile = app.users.profile(id(READER)).await.expect("read");
                rebuild_user(app, profile.expect("a profile"), reader.now).await.expect("rebuilt");
            } else {
                let mut audited = Audited::default();
                audit::check(app, feed, reader.now, &mut audited).await.expect("checked");
                assert_eq!((audited.differed, audited.repaired), (1, 1));
            }
            reader.check().await;
            // dropped from a full server, without a new copy
            reader.apps.app.valkey.drop_feeds(id(READER)).await.expect("dropped");
            reader.check().await;
        }
    });
}

/// The sweep keeps what it reads before it drops the feed, so that no failure between the two loses a copy.
#[test]
fn a_feed_that_cannot_be_kept_is_not_dropped() {
    with(async |server| {
        let mut reader = Return::new(server, 100 * MINUTE).await;
        reader.now += 5 * MINUTE;
        let mut app = reader.apps.app.clone();
        app.settings.inactive_after = Duration::ZERO;
        reader.apps.cloud.lock().faults = Faults { one_in: 1, dice: Dice(1) };
        sweep(&app, reader.now).await.expect_err("no copy");
        reader.apps.cloud.lock().faults = Faults::default();
        let feed = FeedId::home(id(READER));
        let shown = page(&app, feed, Span::ALL, 3, reader.now).await.expect("a page");
        assert_eq!(shown.source, Source::Cache);
    });
}
