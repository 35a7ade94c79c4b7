//! Rule 11: an item is published or fired at its time or later. A scheduled post is published once, and what is forgotten is
//! found again. Each test has a Valkey server of its own, because all worlds share the index of due items.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::config::BehaviorVersion;
use fanfold_core::limits::{
    COMMIT_GRACE, DUE_HANDED_ON_LEASE, DUE_LEASE, DUE_OVERDUE_AFTER, SCHEDULED_MAX,
    TIMERS_MAX_DEFAULT,
};
use fanfold_core::{DueEntry, DuePart, FeedId, PostId, Time, TimerName};
use fanfold_engines::due::{DueIndex, HandOn, Handled, ItemDue, LookedAhead};
use fanfold_engines::table::Tables;
use fanfold_engines::valkey::{Answers, FeedSettings, Link, Loaded, Valkey};
use fanfold_kinds::due::{handle, look_ahead};
use fanfold_kinds::fanout::dispatch::{Dispatched, dispatch};
use fanfold_kinds::people::items::{HeadBounds, Heads};
use fanfold_kinds::posts::entities::Entities;
use fanfold_kinds::posts::extras::Extras;
use fanfold_kinds::posts::items::Post;
use fanfold_kinds::posts::messages::PostPublished;
use fanfold_kinds::scheduled::items::{ScheduleResult, Scheduled, ScheduledState};
use fanfold_kinds::scheduled::{self, NewScheduled, ScheduledEdit};
use fanfold_kinds::timers::items::{Timer, TimerPut};
use fanfold_kinds::timers::{self, NewTimer};
use fanfold_kinds::{App, Error};
use fanfold_runtime::StoreError;
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Announced;
use redis::{Cmd, RedisFuture};
use serde_json::json;

use crate::harness::aws;
use crate::harness::valkeys::Node;
use crate::harness::world::{Message, World};

const MINUTE: Duration = Duration::from_secs(60);
const NO_VALKEY: (&str, &str) = ("REDIS_URL", "redis://127.0.0.1:1");

async fn world() -> (World, Node) {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url())]).await;
    // early in an hour, because the index is loaded by the hour
    let hour = 60 * MINUTE;
    let into = Duration::from_millis(world.now().ms() % hour.as_millis() as u64);
    world.advance(hour - into + MINUTE);
    world.people(&["ash", "birch"]).await;
    // the first look-ahead loads the index, which is empty
    look(&world).await;
    (world, node)
}

async fn look(world: &World) -> LookedAhead {
    look_ahead(&world.app, world.now(), Deadline::NONE).await.expect("looked ahead")
}

async fn schedule_with(posts: &App, world: &World, ahead: Duration) -> Scheduled {
    let new = NewScheduled { post: "later".into(), publish_at: world.now() + ahead, key: None };
    let item = scheduled::schedule(posts, &world.identity("ash"), new, world.now()).await;
    item.expect("scheduled")
}

async fn schedule(world: &World, ahead: Duration) -> Scheduled {
    schedule_with(&world.app, world, ahead).await
}

/// Handles the message that a look-ahead sends.
async fn arrives(world: &World, entry: DueEntry) -> Handled {
    handle(&world.app, &ItemDue::new(entry), world.now()).await.expect("handled")
}

async fn read(world: &World, item: &Scheduled) -> Result<Scheduled, Error> {
    scheduled::read(&world.app, &world.identity("ash"), item.id).await
}

async fn posts_of_ash(world: &World) -> Vec<PostId> {
    world.walk(FeedId::author(world.id("ash")), 7).await
}

/// The world's stores with look-aheads that take few entries at once.
fn with_batch(world: &World, due_batch: usize) -> App {
    let mut app = world.app.clone();
    app.settings.due_batch = due_batch;
    app
}

#[tokio::test]
async fn a_scheduled_post_is_published_once_and_not_before_its_time() {
    let (world, _node) = world().await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let item = schedule(&world, 10 * MINUTE).await;
    assert_eq!(look(&world).await.handed_on, 0);
    assert!(posts_of_ash(&world).await.is_empty());
    world.advance(9 * MINUTE);
    assert_eq!(look(&world).await.handed_on, 1);
    assert_eq!(look(&world).await.handed_on, 0, "its message is under way");
    // the clock of this function is behind
    assert_eq!(arrives(&world, item.entry()).await, Handled::Early);
    assert_eq!(read(&world, &item).await.unwrap(), item);
    world.advance(MINUTE);
    assert_eq!(look(&world).await.handed_on, 0, "its message is under way");
    assert_eq!(arrives(&world, item.entry()).await, Handled::Done);
    assert_eq!(arrives(&world, item.entry()).await, Handled::NothingToDo);
    world.drain().await;
    for user in ["ash", "birch"] {
        assert_eq!(world.home(user).await, [item.post], "{user}");
    }
    assert_eq!(item.post.time(), item.publish_at);
    let found = read(&world, &item).await.unwrap();
    assert_eq!((found.state, found.post), (ScheduledState::Published, item.post));
    let ash = world.app.users.profile(world.id("ash")).await.unwrap().unwrap();
    assert_eq!((ash.posts, ash.scheduled), (1, 0));
    world.advance(DUE_HANDED_ON_LEASE + 3 * MINUTE);
    let looked = look(&world).await;
    assert_eq!((looked.handed_on, looked.overdue), (0, 0), "nothing is left in the index");
}

/// A post that is due before the next look-ahead.
#[tokio::test]
async fn a_near_item_is_handed_on_by_its_request() {
    let (world, node) = world().await;
    let item = schedule(&world, MINUTE).await;
    assert_eq!(look(&world).await.handed_on, 0, "the request sent the message");
    node.cli(&["FLUSHALL"]);
    assert_eq!(look(&world).await.handed_on, 0, "the row of the index says so");
    world.advance(MINUTE);
    assert_eq!(arrives(&world, item.entry()).await, Handled::Done);
    assert_eq!(posts_of_ash(&world).await, [item.post]);
}

/// The message of a near item goes out before the commit.
#[tokio::test]
async fn the_message_of_an_item_waits_for_its_commit() {
    let (world, _node) = world().await;
    let (due, users, posts) = (&world.app.scheduled, &world.app.users, &world.app.posts);
    let now = world.now();
    let item = Scheduled {
        id: fanfold_core::ScheduledId::new(now, 1, world.id("ash")),
        in_reply_to: None,
        extras: Extras::default(),
        text: "late commit".to_owned(),
        publish_at: now,
        post: PostId::new(now, 1, world.id("ash")),
        revision: 1,
        state: ScheduledState::Waiting,
    };
    let message = ItemDue::announced(item.entry(), now);
    let error = handle(&world.app, &message, now).await.unwrap_err();
    assert!(matches!(error, StoreError::NotCommittedYet { .. }), "{error:?}");
    let (sent, ash) = (HandOn::Sent(Announced::assumed()), world.identity("ash"));
    let stored = due.schedule(&sent, (users, posts), &ash, &item, None, now).await;
    assert_eq!(stored.unwrap(), ScheduleResult::Done);
    assert_eq!(handle(&world.app, &message, now).await.unwrap(), Handled::Done);
    // a commit that never comes
    let never = timer_entry(&world, "never", now);
    let message = ItemDue::announced(never, now);
    let later = now + COMMIT_GRACE + Duration::from_millis(1);
    assert_eq!(handle(&world.app, &message, later).await.unwrap(), Handled::NothingToDo);
}

fn timer_entry(world: &World, name: &str, at: Time) -> DueEntry {
    timers::items::entry(world.id("ash"), &name.parse().unwrap(), at)
}

#[tokio::test]
async fn what_valkey_loses_is_loaded_again() {
    let (world, node) = world().await;
    let near = schedule(&world, 5 * MINUTE).await;
    let far = schedule(&world, 90 * MINUTE).await;
    let farther = schedule(&world, 30 * 60 * MINUTE).await;
    node.cli(&["FLUSHALL"]);
    world.advance(4 * MINUTE);
    let looked = look(&world).await;
    assert_eq!((looked.handed_on, looked.loaded), (1, 16));
    world.advance(MINUTE);
    assert_eq!(arrives(&world, near.entry()).await, Handled::Done);
    assert_eq!(look(&world).await.loaded, 0, "the index is there");
    // one after the other comes into the horizon
    for item in [far, farther] {
        let ahead = item.publish_at.since(world.now());
        world.advance(ahead - 100 * Duration::from_secs(1));
        assert_eq!(look(&world).await.handed_on, 1);
        world.advance(100 * Duration::from_secs(1));
        assert_eq!(arrives(&world, item.entry()).await, Handled::Done);
    }
}

/// The writer dies after its commit, or cannot reach Valkey.
#[tokio::test]
async fn an_item_that_valkey_never_learned_of_is_found_when_it_is_overdue() {
    let (world, _node) = world().await;
    let broken = App::new(&world.sdk, &world.config_with(&[NO_VALKEY])).unwrap();
    let item = schedule_with(&broken, &world, 5 * MINUTE).await;
    world.advance(4 * MINUTE);
    assert_eq!(look(&world).await.handed_on, 0);
    world.advance(MINUTE + DUE_OVERDUE_AFTER + Duration::from_secs(1));
    let looked = look(&world).await;
    assert_eq!((looked.overdue, looked.handed_on), (1, 1));
    assert!(looked.oldest_ms > 20_000, "{looked:?}");
    assert_eq!(arrives(&world, item.entry()).await, Handled::Done);
    assert_eq!(look(&world).await.overdue, 0);
}

/// Valkey does not answer, or refuses writes because it is full.
#[tokio::test]
async fn without_valkey_items_are_handed_on_from_dynamodb() {
    let (world, node) = world().await;
    let first = schedule(&world, 10 * MINUTE).await;
    let second = schedule(&world, 26 * MINUTE).await;
    let (owner, name) = (world.id("ash"), &name("renew"));
    put(&world, "renew", 200 * MINUTE, None).await.unwrap();
    let config = world.config_with(&[NO_VALKEY]);
    let away = App::new(&world.sdk, &config).unwrap();
    // both are due, but not overdue
    for (advance, due) in [(10 * MINUTE, &first), (16 * MINUTE, &second)] {
        world.advance(advance);
        let looked = look_ahead(&away, world.now(), Deadline::NONE).await;
        assert!(matches!(looked, Err(StoreError::Valkey { .. })), "{looked:?}");
        assert!(handed_on(&world).await.contains(&due.entry()));
    }
    // nobody notes what is under way: an overdue item is sent again in one minute of four
    let mut sent_after = Vec::new();
    for minute in 1..13 {
        world.advance(MINUTE);
        look_ahead(&away, world.now(), Deadline::NONE).await.unwrap_err();
        if handed_on(&world).await.contains(&second.entry()) {
            sent_after.push(minute);
        }
    }
    let first_minute = sent_after[0];
    assert_eq!(sent_after, [first_minute, first_minute + 4, first_minute + 8]);
    assert_eq!(arrives(&world, first.entry()).await, Handled::Done);
    node.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    world.advance(MINUTE * first_minute);
    let looked = look_ahead(&world.app, world.now(), Deadline::NONE).await;
    assert!(matches!(looked, Err(StoreError::Valkey { .. })), "{looked:?}");
    assert_eq!(handed_on(&world).await, [second.entry()]);
    assert_eq!(arrives(&world, second.entry()).await, Handled::Done);
    assert!(world.app.timers.timer(owner, name).await.unwrap().is_some(), "not due yet");
}

/// The entries whose messages can be received, by their time.
async fn handed_on(world: &World) -> Vec<DueEntry> {
    let messages = world.take().await.into_iter();
    let mut entries: Vec<DueEntry> = messages
        .filter_map(|message| match message {
            Message::Due(message) => Some(message.entry),
            _ => None,
        })
        .collect();
    entries.sort_unstable();
    entries
}

/// The hour of an item is long over when the functions run again.
#[tokio::test]
async fn items_are_found_after_an_outage_of_days() {
    let (world, node) = world().await;
    let item = schedule(&world, 90 * MINUTE).await;
    node.cli(&["FLUSHALL"]);
    world.advance(Duration::from_secs(3 * 24 * 3_600));
    assert_eq!(look(&world).await.handed_on, 1);
    // nobody handles its message for hours: its own hour is still asked
    world.advance(5 * 60 * MINUTE);
    let looked = look(&world).await;
    assert_eq!((looked.overdue, looked.handed_on), (1, 1));
    assert_eq!(arrives(&world, item.entry()).await, Handled::Done);
    // the hours in between are empty: each look-ahead leaves one of them behind
    let oldest = async || *world.app.due_index.checked().await.unwrap().values().min().unwrap();
    let before = oldest().await;
    for ahead in 1..4 {
        look(&world).await;
        assert_eq!(oldest().await.start(), before.start() + ahead * 60 * MINUTE);
    }
}

/// The clock of one look-ahead is hours ahead. Then nobody runs for hours, and Valkey loses its data.
#[tokio::test]
async fn an_hour_that_was_noted_too_early_is_still_asked() {
    let (world, node) = world().await;
    let ahead = world.now() + 3 * 60 * MINUTE;
    look_ahead(&world.app, ahead, Deadline::NONE).await.expect("looked ahead");
    let item = schedule(&world, 30 * MINUTE).await;
    node.cli(&["FLUSHALL"]);
    world.advance(4 * 60 * MINUTE);
    let looked = look(&world).await;
    assert_eq!((looked.overdue, looked.handed_on), (1, 1));
    assert_eq!(arrives(&world, item.entry()).await, Handled::Done);
}

/// SQS delivers the messages of other groups first while one group has very many.
#[tokio::test]
async fn messages_are_in_the_group_of_their_owner() {
    let (world, _node) = world().await;
    schedule(&world, 3 * MINUTE).await;
    world.advance(3 * MINUTE);
    // one is sent by itself, the other one in a batch
    put(&world, "renew", Duration::ZERO, None).await.unwrap();
    assert_eq!(look(&world).await.handed_on, 1);
    let ash = world.id("ash").to_string();
    assert_eq!(world.groups("DUE_ITEMS_QUEUE_URL", 2).await, [ash.clone(), ash]);
}

/// An hour that was noted too early is noted again.
#[tokio::test]
async fn a_noted_hour_goes_back() {
    let (world, node) = world().await;
    let item = schedule(&world, 5 * MINUTE).await;
    let (due, part) = (&world.app.due_index, item.entry().part());
    due.set_checked(part, item.entry().hour().next()).await.unwrap();
    node.cli(&["FLUSHALL"]);
    // the hour of the item is over and the present one
    world.advance(70 * MINUTE);
    assert_eq!(look(&world).await.overdue, 1);
    assert!(due.checked().await.unwrap()[&part] <= item.entry().hour());
}

/// The row of the index for an entry.
async fn put_row(world: &World, sk: &str, entry: &DueEntry) {
    let pk = format!("due#{}#{}", entry.hour(), entry.part());
    let row = json!({"pk": {"S": pk}, "sk": {"S": sk}, "v": {"N": "1"}});
    let put = json!({"TableName": world.config.text("DUE_TABLE").unwrap(), "Item": row});
    aws("DynamoDB_20120810.PutItem", "1.0", &put).await;
}

/// Somebody removed an item from the table by hand.
#[tokio::test]
async fn an_entry_without_its_item_is_removed() {
    let (world, _node) = world().await;
    let entry = timer_entry(&world, "gone", world.now() - 10 * MINUTE);
    put_row(&world, &entry.to_string(), &entry).await;
    let looked = look(&world).await;
    assert_eq!((looked.overdue, looked.handed_on), (1, 1));
    world.take().await;
    assert_eq!(arrives(&world, entry).await, Handled::NothingToDo);
    let looked = look(&world).await;
    assert_eq!((looked.overdue, looked.handed_on), (0, 0));
    // one whose item waits is not: the item may have moved back
    let (timer, post) = (
        put(&world, "renew", 5 * MINUTE, None).await.unwrap().0,
        schedule(&world, 5 * MINUTE).await,
    );
    let strays = [
        (timer.entry(), world.app.timers.stray(timer.owner, &timer.name, timer.due_at)),
        (post.entry(), world.app.scheduled.stray(post.id, post.publish_at)),
    ];
    for (entry, stray) in strays {
        assert!(!world.app.due_index.remove_stray(&entry, stray).await.unwrap(), "{entry}");
    }
}

/// A newer version made the entry, and was then rolled back.
#[tokio::test]
async fn an_unknown_entry_does_not_hold_up_the_others() {
    let (world, node) = world().await;
    let item = schedule(&world, 5 * MINUTE).await;
    let part = item.entry().part();
    let ms = item.publish_at.ms() - 1;
    let of_ash = format!("{ms:015}#list#{}#7", world.id("ash"));
    let key = format!("due:{{{part}}}");
    for unknown in [format!("{ms:015}#list#7"), of_ash.clone()] {
        put_row(&world, &unknown, &item.entry()).await;
        node.cli(&["ZADD", &key, &ms.to_string(), &unknown]);
    }
    world.advance(4 * MINUTE);
    assert_eq!(look(&world).await.handed_on, 1);
    node.cli(&["FLUSHALL"]);
    world.advance(2 * MINUTE);
    let looked = look(&world).await;
    assert_eq!((looked.handed_on, looked.overdue), (1, 3), "they count as overdue");
    let away = App::new(&world.sdk, &world.config_with(&[NO_VALKEY])).unwrap();
    world.take().await;
    look_ahead(&away, item.publish_at, Deadline::NONE).await.unwrap_err();
    assert_eq!(handed_on(&world).await, [item.entry()]);
    // its message waits for a newer function
    let message = ItemDue::new(of_ash.parse().unwrap());
    let error = handle(&world.app, &message, world.now()).await.unwrap_err();
    assert!(matches!(error, StoreError::UnknownTag { .. }), "{error:?}");
}

/// Two requests put a timer of the same name, which is the last that its owner may have.
#[tokio::test]
async fn a_race_for_the_last_timer_is_not_the_limit() {
    let (world, _node) = world().await;
    let (timer, _) = put(&world, "renew", 5 * MINUTE, None).await.unwrap();
    set_numbers(&world).await;
    let (sent, users, ash) =
        (HandOn::Sent(Announced::assumed()), &world.app.users, world.identity("ash"));
    let other = Timer { revision: "other".to_owned(), ..timer };
    let raced = world.app.timers.put_timer(&sent, users, &ash, None, &other).await.unwrap();
    assert_eq!(raced, TimerPut::Raced);
}

/// What Valkey knows is handed on although DynamoDB does not answer.
#[tokio::test]
async fn without_dynamodb_known_items_are_handed_on() {
    let (world, _node) = world().await;
    let item = schedule(&world, 3 * MINUTE).await;
    world.advance(3 * MINUTE);
    let silent = silent_server();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let mut sdk =
        SdkConfig::builder().behavior_version(BehaviorVersion::latest()).endpoint_url(url);
    sdk.set_credentials_provider(world.sdk.credentials_provider())
        .set_region(world.sdk.region().cloned());
    let sdk = sdk.build();
    let table = Tables::new(&sdk, &world.config).table("DUE_TABLE").unwrap();
    let slow = App { due_index: DueIndex::new(table), ..world.app.clone() };
    let look = look_ahead(&slow, world.now(), Deadline::NONE);
    let looked = tokio::time::timeout(Duration::from_secs(2), look).await;
    assert!(looked.is_err(), "DynamoDB does not answer: {looked:?}");
    assert_eq!(handed_on(&world).await, [item.entry()]);
}

/// A server that takes connections and never answers.
fn silent_server() -> std::net::TcpListener {
    std::net::TcpListener::bind("127.0.0.1:0").expect("a port")
}

/// A server that counts commands and never answers.
#[derive(Default)]
struct Silent(AtomicU64);

impl Answers for Silent {
    fn answer<'a>(&'a self, _: &'a Cmd) -> RedisFuture<'a, redis::Value> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::pending())
    }
}

/// Valkey does not answer: the first item waits for it, and the others do not ask it.
#[tokio::test]
async fn a_silent_valkey_makes_few_items_wait() {
    let (world, _node) = world().await;
    let (silent, mut due) = (Arc::new(Silent::default()), world.app.clone());
    let settings = FeedSettings::read(&world.config).unwrap();
    due.valkey = Valkey::over(Link::given(silent.clone()), &settings);
    let mut items = Vec::new();
    for _ in 0..6 {
        items.push(schedule(&world, MINUTE).await);
    }
    world.advance(MINUTE);
    let mut commands = Vec::new();
    for item in &items {
        let message = ItemDue::new(item.entry());
        assert_eq!(handle(&due, &message, world.now()).await.unwrap(), Handled::Done);
        commands.push(silent.0.load(Ordering::Relaxed));
    }
    assert!(commands[0] > 0 && commands.iter().all(|all| *all == commands[0]), "{commands:?}");
}

/// A client had no answer and repeats its request. The first one did not reach Valkey, and sent no message because the item
/// was due later than the next look-aheads. The second one changes nothing, and adds the entry for the next look-ahead.
#[tokio::test]
async fn a_repeated_request_hands_its_item_on() {
    let (world, _node) = world().await;
    let away = world.config_with(&[NO_VALKEY]);
    let mut first = world.app.clone();
    first.valkey = Valkey::new(&world.sdk, &away).unwrap();
    let (ash, due_at) = (world.identity("ash"), world.now() + Duration::from_secs(125));
    let new = NewTimer { due_at, every: None, payload: json!(1) };
    let put = timers::put(&first, &ash, &name("renew"), new.clone(), world.now()).await;
    put.expect("put without Valkey");
    assert_eq!(handed_on(&world).await, []);
    world.advance(Duration::from_secs(65));
    let (timer, is_new) =
        timers::put(&world.app, &ash, &name("renew"), new, world.now()).await.expect("put");
    assert!(!is_new);
    assert_eq!(handed_on(&world).await, []);
    assert_eq!(look(&world).await.handed_on, 1);
    world.advance(MINUTE);
    assert_eq!(arrives(&world, timer.entry()).await, Handled::Done);
}

/// The times of a timer that repeats stay those that were asked for, also if the request is repeated later.
#[tokio::test]
async fn a_timer_that_repeats_keeps_its_times() {
    let (world, _node) = world().await;
    let (ash, every) = (world.identity("ash"), Some("P1D".parse().unwrap()));
    let due_at = world.now() - 10 * 24 * 60 * MINUTE - MINUTE;
    let new = NewTimer { due_at, every, payload: json!(1) };
    let (timer, _) =
        timers::put(&world.app, &ash, &name("daily"), new, world.now()).await.expect("put");
    assert_eq!(timer.due_at, world.now() + 24 * 60 * MINUTE - MINUTE);
    assert_eq!(handed_on(&world).await, []);
}

/// Lambda would kill a look-ahead that takes too long, and its items would wait for their leases.
#[tokio::test]
async fn a_look_ahead_ends_in_time() {
    let (world, _node) = world().await;
    for _ in 0..3 {
        schedule(&world, 3 * MINUTE).await;
    }
    world.advance(2 * MINUTE);
    let soon = Deadline::at(fanfold_runtime::clock::now() + Duration::from_secs(4));
    let away = App::new(&world.sdk, &world.config_with(&[NO_VALKEY])).unwrap();
    look_ahead(&away, world.now() + MINUTE, soon).await.unwrap_err();
    assert_eq!(handed_on(&world).await, []);
    let looked = look_ahead(&world.app, world.now(), soon).await.unwrap();
    assert_eq!(looked.handed_on, 0, "the time is over");
    assert_eq!(look(&world).await.handed_on, 3, "the next one goes on");
}

/// The clock of one look-ahead is two days ahead.
#[tokio::test]
async fn a_clock_that_jumps_loses_nothing_and_publishes_nothing_early() {
    let (world, node) = world().await;
    let now = world.now();
    let first = schedule(&world, 100 * MINUTE).await;
    let jumped = look_ahead(&world.app, now + 48 * 60 * MINUTE, Deadline::NONE).await;
    assert_eq!(jumped.expect("looked ahead").handed_on, 1);
    assert_eq!(arrives(&world, first.entry()).await, Handled::Early);
    // the hours ahead are noted as empty, and then get an item; nobody runs, and Valkey loses it
    let second = schedule(&world, 200 * MINUTE).await;
    world.advance(99 * MINUTE);
    assert_eq!(look(&world).await.handed_on, 1);
    world.advance(MINUTE);
    assert_eq!(arrives(&world, first.entry()).await, Handled::Done);
    node.cli(&["FLUSHALL"]);
    world.advance(12 * 60 * MINUTE);
    assert_eq!(look(&world).await.handed_on, 1);
    assert_eq!(arrives(&world, second.entry()).await, Handled::Done);
}

/// The clock of one look-ahead is two days ahead. Its messages arrive before it notes that they are under way, or it dies.
#[tokio::test]
async fn a_lease_by_a_clock_that_is_ahead_makes_nothing_late() {
    let (world, _node) = world().await;
    let (valkey, now) = (&world.app.valkey, world.now());
    let ahead = now + 48 * 60 * MINUTE;
    let first = schedule(&world, 50 * MINUTE).await;
    let part = first.entry().part();
    let taken = valkey.take_due(part, 10, ahead).await.unwrap();
    assert_eq!(taken.entries, [first.entry()]);
    assert_eq!(arrives(&world, first.entry()).await, Handled::Early);
    valkey.due_handed_on(part, (taken.lease, &taken.entries), ahead).await.unwrap();
    world.advance(49 * MINUTE);
    let looked = look(&world).await;
    assert_eq!((looked.handed_on, looked.overdue), (1, 0));
    let second = schedule(&world, 10 * MINUTE).await;
    let taken = valkey.take_due(part, 10, ahead).await.unwrap();
    assert!(taken.entries.contains(&second.entry()));
    valkey.due_handed_on(part, (taken.lease, &taken.entries), ahead).await.unwrap();
    world.advance(MINUTE);
    assert_eq!(arrives(&world, first.entry()).await, Handled::Done);
    world.advance(9 * MINUTE + DUE_OVERDUE_AFTER);
    let looked = look(&world).await;
    assert_eq!((looked.handed_on, looked.overdue), (1, 1));
}

/// A look-ahead whose clock was two days ahead loaded the index so far. Items that are made later belong to it.
#[tokio::test]
async fn an_index_that_was_loaded_too_far_gets_every_new_item() {
    let (world, _node) = world().await;
    let ahead = world.now() + 48 * 60 * MINUTE;
    look_ahead(&world.app, ahead, Deadline::NONE).await.expect("looked ahead");
    schedule(&world, 6 * 60 * MINUTE).await;
    world.advance(6 * 60 * MINUTE - MINUTE);
    let looked = look(&world).await;
    assert_eq!((looked.handed_on, looked.overdue), (1, 0));
}

#[tokio::test]
async fn cancelling_and_publishing_say_which_was_first() {
    let (world, _node) = world().await;
    let (ash, now) = (world.identity("ash"), world.now());
    let item = schedule(&world, 5 * MINUTE).await;
    for _ in 0..2 {
        scheduled::cancel(&world.app, &ash, item.id, now).await.unwrap();
    }
    assert!(matches!(read(&world, &item).await, Err(Error::NoSuchScheduled(_))));
    world.advance(5 * MINUTE);
    assert_eq!(arrives(&world, item.entry()).await, Handled::NothingToDo);
    let item = schedule(&world, 5 * MINUTE).await;
    world.advance(5 * MINUTE);
    assert_eq!(arrives(&world, item.entry()).await, Handled::Done);
    let now = world.now();
    let late = scheduled::cancel(&world.app, &ash, item.id, now).await;
    assert!(matches!(late, Err(Error::AlreadyPublished { post }) if post == item.post));
    let change = ScheduledEdit { text: Some("other"), ..ScheduledEdit::default() };
    let late = scheduled::change(&world.app, &ash, item.id, change, now).await;
    assert!(matches!(late, Err(Error::AlreadyPublished { .. })), "{late:?}");
    assert_eq!(posts_of_ash(&world).await, [item.post]);
    let birch = world.identity("birch");
    let foreign = scheduled::cancel(&world.app, &birch, item.id, now).await;
    assert!(matches!(foreign, Err(Error::NoSuchScheduled(_))), "{foreign:?}");
}

#[tokio::test]
async fn a_changed_time_is_the_time_of_publication() {
    let (world, _node) = world().await;
    let (ash, now) = (world.identity("ash"), world.now());
    let item = schedule(&world, 10 * MINUTE).await;
    let change = |text, ahead| {
        let publish_at = Some(now + ahead);
        let (ash, id) = (&ash, item.id);
        let change = ScheduledEdit { text, publish_at, ..ScheduledEdit::default() };
        scheduled::change(&world.app, ash, id, change, now)
    };
    let sooner = change(Some("sooner"), 5 * MINUTE).await.unwrap();
    world.advance(4 * MINUTE);
    assert_eq!(look(&world).await.handed_on, 1);
    let later = change(None, 20 * MINUTE).await.unwrap();
    assert_eq!(later.text, "sooner");
    world.advance(MINUTE);
    assert_eq!(arrives(&world, sooner.entry()).await, Handled::NothingToDo);
    world.advance(5 * MINUTE);
    assert_eq!(arrives(&world, item.entry()).await, Handled::NothingToDo);
    world.advance(9 * MINUTE);
    assert_eq!(look(&world).await.handed_on, 1);
    world.advance(MINUTE);
    assert_eq!(arrives(&world, later.entry()).await, Handled::Done);
    let posts = world.app.posts.published(&posts_of_ash(&world).await).await.unwrap();
    let texts: Vec<(PostId, String)> =
        posts.into_values().map(|post| (post.id, post.text)).collect();
    assert_eq!(texts, [(later.post, "sooner".to_owned())]);
}

#[tokio::test]
async fn a_key_makes_one_scheduled_post() {
    let (world, _node) = world().await;
    let (ash, now) = (world.identity("ash"), world.now());
    let send = |text: &'static str, ahead| {
        let new = NewScheduled { post: text.into(), publish_at: now + ahead, key: Some("a key") };
        scheduled::schedule(&world.app, &ash, new, now)
    };
    let item = send("later", 5 * MINUTE).await.unwrap();
    assert_eq!(send("later", 5 * MINUTE).await.unwrap(), item);
    for other in [send("other", 5 * MINUTE).await, send("later", 6 * MINUTE).await] {
        assert!(matches!(other, Err(Error::KeyReused)), "{other:?}");
    }
    // a text that looks like the fields of the first request
    let text = format!("{} later", item.publish_at);
    let alike =
        fanfold_kinds::posts::publish(&world.app, &ash, text.as_str(), Some("a key"), now).await;
    assert!(matches!(alike, Err(Error::KeyReused)), "{alike:?}");
    let now_published =
        fanfold_kinds::posts::publish(&world.app, &ash, "later", Some("a key"), now);
    assert!(matches!(now_published.await, Err(Error::KeyReused)));
    scheduled::cancel(&world.app, &ash, item.id, now).await.unwrap();
    let again = send("later", 5 * MINUTE).await;
    assert!(matches!(again, Err(Error::ScheduledCancelled(id)) if id == item.id), "{again:?}");
}

/// Sets the numbers of ash's scheduled posts and timers to the greatest ones.
async fn set_numbers(world: &World) {
    let set = json!({
        "TableName": world.config.text("USERS_TABLE").unwrap(),
        "Key": {"pk": {"S": format!("user#{}", world.id("ash"))}},
        "UpdateExpression": "SET scheduled = :scheduled, timers = :timers",
        "ExpressionAttributeValues": {
            ":scheduled": {"N": SCHEDULED_MAX.to_string()}, ":timers": {"N": TIMERS_MAX_DEFAULT.to_string()},
        },
    });
    aws("DynamoDB_20120810.UpdateItem", "1.0", &set).await;
}

#[tokio::test]
async fn times_and_numbers_are_bounded() {
    let (world, _node) = world().await;
    let (ash, now) = (world.identity("ash"), world.now());
    let at = |publish_at: Time| {
        let new = NewScheduled { post: "later".into(), publish_at, key: None };
        scheduled::schedule(&world.app, &ash, new, now)
    };
    for bad in [now, now + Duration::from_millis(59_999), now + Duration::from_secs(367 * 86_400)] {
        let refused = at(bad).await;
        assert!(matches!(refused, Err(Error::TimeRange { .. })), "{refused:?}");
    }
    at(now + MINUTE).await.unwrap();
    at(now + Duration::from_secs(366 * 86_400)).await.unwrap();
    set_numbers(&world).await;
    let refused = at(now + 5 * MINUTE).await;
    assert!(matches!(refused, Err(Error::ScheduledLimit { max: SCHEDULED_MAX })), "{refused:?}");
    let refused = put(&world, "one", MINUTE, None).await;
    assert!(matches!(refused, Err(Error::TimersLimit { max: TIMERS_MAX_DEFAULT })), "{refused:?}");
    let payload = json!("x".repeat(4_100));
    let new = NewTimer { due_at: now, every: None, payload };
    let refused = timers::put(&world.app, &ash, &name("big"), new, now).await;
    assert!(matches!(refused, Err(Error::PayloadTooBig { found: 4_102, .. })), "{refused:?}");
}

/// The time in the id of a late post is long over, but its commit may be under way.
#[tokio::test]
async fn a_late_publication_is_not_taken_for_a_failed_commit() {
    let (world, _node) = world().await;
    let now = world.now();
    let post = PostId::new(now - Duration::from_secs(3_600), 1, world.id("ash"));
    let event = PostPublished::scheduled(post, now);
    let early = dispatch(&world.app, &event, now, Deadline::NONE).await;
    assert!(matches!(early, Err(StoreError::NotCommittedYet { .. })), "{early:?}");
    let (app, ash) = (&world.app, world.identity("ash"));
    let one = Post::new(post, "late", Entities::default());
    let users = (&app.users, HeadBounds::USUAL, &Heads::EMPTY);
    app.posts
        .create(Announced::assumed(), users, &ash, (&one, &app.replies), None, now)
        .await
        .unwrap();
    let done = dispatch(&world.app, &event, now, Deadline::NONE).await.unwrap();
    assert!(matches!(done, Dispatched::Pushed(_)), "{done:?}");
}

fn name(text: &str) -> TimerName {
    text.parse().unwrap()
}

async fn put(
    world: &World,
    timer: &str,
    ahead: Duration,
    every: Option<&str>,
) -> Result<(Timer, bool), Error> {
    let every = every.map(|every| every.parse().unwrap());
    let (due_at, payload) = (world.now() + ahead, json!({"renew": [7, null]}));
    let new = NewTimer { due_at, every, payload };
    timers::put(&world.app, &world.identity("ash"), &name(timer), new, world.now()).await
}

#[tokio::test]
async fn a_timer_fires_at_each_of_its_times() {
    let (world, _node) = world().await;
    let (timer, is_new) = put(&world, "renew", 5 * MINUTE, Some("PT2M")).await.unwrap();
    assert!(is_new);
    world.advance(4 * MINUTE);
    assert_eq!(look(&world).await.handed_on, 1);
    assert_eq!(arrives(&world, timer.entry()).await, Handled::Early);
    world.advance(MINUTE + Duration::from_secs(7));
    assert_eq!(arrives(&world, timer.entry()).await, Handled::Done);
    assert_eq!(arrives(&world, timer.entry()).await, Handled::NothingToDo);
    let [fired] = &world.timer_events().await[..] else { panic!("one message") };
    assert_eq!((fired.owner, &*fired.name.to_string()), (world.id("ash"), "renew"));
    assert_eq!((&*fired.due_at, fired.missed), (&*timer.due_at.rfc3339(), 0));
    assert_eq!(fired.payload, json!({"renew": [7, null]}));
    // seven seconds late, but the next time is computed from the due time
    let ash = world.identity("ash");
    let next = timers::read(&world.app, &ash, &timer.name).await.unwrap();
    assert_eq!(next.due_at, timer.due_at + 2 * MINUTE);
    // nobody ran for a while: the times in between are skipped
    world.advance(7 * MINUTE);
    assert_eq!(arrives(&world, next.entry()).await, Handled::Done);
    let [missed] = &world.timer_events().await[..] else { panic!("one message") };
    assert_eq!(missed.missed, 2);
    assert_ne!(missed.id, fired.id);
    let next = timers::read(&world.app, &ash, &timer.name).await.unwrap();
    assert_eq!(next.due_at, timer.due_at + 8 * MINUTE);
    timers::delete(&world.app, &ash, &timer.name, world.now()).await.unwrap();
    world.advance(MINUTE);
    assert_eq!(arrives(&world, next.entry()).await, Handled::NothingToDo);
    assert!(world.timer_events().await.is_empty());
    let profile = world.app.users.profile(world.id("ash")).await.unwrap().unwrap();
    assert_eq!(profile.timers, 0);
}

#[tokio::test]
async fn a_timer_in_the_past_fires_at_once_and_ends() {
    let (world, _node) = world().await;
    let payload = json!([12.088995980580641, 0.17151709517771863, u64::MAX, i64::MIN]);
    let new = NewTimer { due_at: Time::EPOCH, every: None, payload: payload.clone() };
    let (ash, now) = (world.identity("ash"), world.now());
    let (timer, _) = timers::put(&world.app, &ash, &name("past"), new, now).await.unwrap();
    assert_eq!(timer.due_at, now);
    let messages = world.take().await;
    let [Message::Due(message)] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!(handle(&world.app, message, now).await.unwrap(), Handled::Done);
    let [fired] = &world.timer_events().await[..] else { panic!("one message") };
    assert_eq!(fired.payload.to_string(), payload.to_string());
    let gone = timers::read(&world.app, &ash, &timer.name).await;
    assert!(matches!(gone, Err(Error::NoSuchTimer(_))), "{gone:?}");
}

/// The function dies after it sent the message of a timer: the repetition has the same id.
#[tokio::test]
async fn a_repeated_message_of_a_timer_has_the_same_id() {
    let (world, _node) = world().await;
    let (timer, _) = put(&world, "renew", 5 * MINUTE, None).await.unwrap();
    world.advance(5 * MINUTE);
    let mut broken = world.app.clone();
    let none = world.config_with(&[("USERS_TABLE", "no-table")]);
    broken.users = App::new(&world.sdk, &none).unwrap().users;
    let message = ItemDue::new(timer.entry());
    handle(&broken, &message, world.now()).await.unwrap_err();
    assert_eq!(handle(&world.app, &message, world.now()).await.unwrap(), Handled::Done);
    let fired = world.timer_events().await;
    assert_eq!(fired.len(), 2);
    assert_eq!(fired[0], fired[1]);
    // the same name and time, but another timer
    let (other, is_new) = put(&world, "renew", Duration::ZERO, None).await.unwrap();
    assert!(is_new && other.revision != timer.revision);
}

#[tokio::test]
async fn a_replaced_timer_fires_as_it_is_now() {
    let (world, _node) = world().await;
    let (old, _) = put(&world, "renew", 5 * MINUTE, None).await.unwrap();
    let (new, is_new) = put(&world, "renew", 10 * MINUTE, None).await.unwrap();
    assert!(!is_new);
    world.advance(5 * MINUTE);
    assert_eq!(arrives(&world, old.entry()).await, Handled::NothingToDo);
    world.advance(5 * MINUTE);
    assert_eq!(arrives(&world, new.entry()).await, Handled::Done);
    let fired = world.timer_events().await;
    assert_eq!(fired.len(), 1);
    assert_eq!(fired[0].due_at, new.due_at.rfc3339());
}

/// Many items, scheduled in reverse order, some for the same time.
#[tokio::test]
async fn two_look_aheads_hand_on_each_item_once() {
    let (world, _node) = world().await;
    let mut items = Vec::new();
    for n in (0..30u32).rev() {
        items.push(schedule(&world, 3 * MINUTE + Duration::from_secs(u64::from(n / 3))).await);
    }
    items.sort_by_key(Scheduled::entry);
    let times =
        |items: &[Scheduled]| -> Vec<Time> { items.iter().map(|item| item.publish_at).collect() };
    let page = scheduled::list(&world.app, world.id("ash"), None, 100).await.unwrap();
    assert_eq!(times(&page.items), times(&items));
    world.advance(4 * MINUTE);
    let small = with_batch(&world, 4);
    let (now, none) = (world.now(), Deadline::NONE);
    let (one, two) = futures::join!(look_ahead(&small, now, none), look_ahead(&small, now, none));
    assert_eq!(one.unwrap().handed_on + two.unwrap().handed_on, 30);
    let entries: Vec<DueEntry> = items.iter().map(Scheduled::entry).collect();
    assert_eq!(handed_on(&world).await, entries, "each once");
    // pages of the list
    let (mut after, mut walked) = (None, Vec::new());
    loop {
        let page = scheduled::list(&world.app, world.id("ash"), after, 7).await.unwrap();
        walked.extend(page.items);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(times(&walked), times(&items));
}

#[tokio::test]
async fn what_is_due_first_is_handed_on_first() {
    let (world, _node) = world().await;
    let mut items = Vec::new();
    for n in (0..9).rev() {
        items.push(schedule(&world, 3 * MINUTE + Duration::from_secs(n)).await);
    }
    world.advance(4 * MINUTE);
    let small = with_batch(&world, 2);
    look_ahead(&small, world.now(), Deadline::NONE).await.unwrap();
    items.reverse();
    let entries: Vec<DueEntry> = items.iter().map(Scheduled::entry).collect();
    let received: Vec<DueEntry> = world
        .take()
        .await
        .into_iter()
        .filter_map(|message| match message {
            Message::Due(message) => Some(message.entry),
            _ => None,
        })
        .collect();
    for (place, entry) in received.iter().enumerate() {
        // a batch of two is sent in any order
        assert!(entries[place / 2 * 2..].iter().take(2).any(|one| one == entry), "{received:?}");
    }
    assert_eq!(received.len(), 9);
}

/// A look-ahead dies after it took an item.
#[tokio::test]
async fn a_claim_is_a_lease() {
    let (world, _node) = world().await;
    let item = schedule(&world, 3 * MINUTE).await;
    world.advance(2 * MINUTE);
    let (valkey, part) = (&world.app.valkey, item.entry().part());
    let taken = valkey.take_due(part, 10, world.now()).await.unwrap();
    assert_eq!(taken.entries, [item.entry()]);
    assert_eq!(look(&world).await.handed_on, 0, "another look-ahead has the lease");
    world.advance(DUE_LEASE);
    assert_eq!(look(&world).await.handed_on, 1);
    world.advance(DUE_HANDED_ON_LEASE);
    assert_eq!(look(&world).await.handed_on, 1, "its message was lost");
}

/// A writer adds an item while a look-ahead loads the index, after it read the item's hour.
#[tokio::test]
async fn a_load_misses_no_item_that_is_written_meanwhile() {
    let (world, node) = world().await;
    node.cli(&["FLUSHALL"]);
    let (valkey, now) = (&world.app.valkey, world.now());
    let until = now + 60 * MINUTE;
    let entry = timer_entry(&world, "meanwhile", now + 10 * MINUTE);
    let part = entry.part();
    let load = valkey.begin_due(part, "one", until).await.unwrap();
    assert_eq!(load.complete, Time::EPOCH);
    valkey.add_due(&entry, false, now).await.unwrap();
    assert_eq!(valkey.load_due((part, &load.token), [], until, now).await.unwrap(), Loaded::Done);
    let taken = valkey.take_due(part, 10, entry.at).await.unwrap();
    assert_eq!((taken.complete, taken.entries), (Some(until), vec![entry.clone()]));
    // another load began after the data was lost: the first one changes nothing
    node.cli(&["FLUSHALL"]);
    valkey.begin_due(part, "two", until).await.unwrap();
    assert_eq!(valkey.load_due((part, &load.token), [], until, now).await.unwrap(), Loaded::Lost);
    // without a load, nothing is known, and writers add nothing
    let other = DuePart((part.0 + 1) % 16);
    node.cli(&["FLUSHALL"]);
    valkey.add_due(&entry, false, now).await.unwrap();
    for part in [part, other] {
        let taken = valkey.take_due(part, 10, entry.at).await.unwrap();
        assert_eq!((taken.complete, taken.entries), (None, Vec::new()));
    }
}

/// The data of another server, or of an earlier state of this one, is not used.
#[tokio::test]
async fn an_index_of_another_generation_is_loaded_again() {
    let node = Node::start(&["--enable-debug-command", "yes"]);
    let world = World::with(&[("REDIS_URL", &node.url())]).await;
    world.people(&["ash"]).await;
    look(&world).await;
    schedule(&world, 5 * MINUTE).await;
    node.cli(&["DEL", "due:{0}", "due:{1}"]);
    node.cli(&["DEBUG", "CHANGE-REPL-ID"]);
    world.advance(4 * MINUTE);
    let looked = look(&world).await;
    assert_eq!((looked.loaded, looked.handed_on), (16, 1));
}
