//! Orders of operators: rebuild feeds, return dead letters, drop a user. Only expiring data is left of a dropped
//! user.

use std::time::Duration;

use fanfold_core::content::Data;
use fanfold_core::kinds::{ItemKind, KeyKind, Phase, Removal};
use fanfold_core::limits::DROP_SETTLES;
use fanfold_core::time::millis;
use fanfold_core::{FeedId, PostId, Scores, Slice, TagHash, Time, UserRef, order};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{Older, RebuildStart};
use fanfold_functions::admin::execute;
use fanfold_functions::admin::order::{AdminOrder, read};
use fanfold_kinds::boards::change::{ScoreChange, What};
use fanfold_kinds::boards::{self, BoardRef};
use fanfold_kinds::feeds::kept::items::KeptFeed;
use fanfold_kinds::marks::MarkKind;
use fanfold_kinds::people::about::AboutChange;
use fanfold_kinds::posts::PostEdit;
use fanfold_kinds::posts::extras::ExtrasChange;
use fanfold_kinds::present::{self, Viewer};
use fanfold_kinds::scheduled::{self, NewScheduled};
use fanfold_kinds::tags::names::NamedTag;
use fanfold_kinds::timers::{self, NewTimer};
use fanfold_kinds::{Error, people, posts, tags};
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Announced;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::store_without_delivery;
use crate::harness::traces::{in_member, in_text};
use crate::harness::world::World;
use crate::harness::{aws, board_settings};

const OTHERS: [&str; 5] = ["birch", "cedar", "dogwood", "elm", "fir"];

async fn order_within(world: &World, order: Value, deadline: Deadline) -> Result<Value, String> {
    let order: AdminOrder = read(order).map_err(|refusal| refusal.to_string())?;
    let done = execute(&world.admin, order, world.now(), deadline).await;
    done.map_err(|refusal| refusal.to_string())
}

async fn order(world: &World, order: Value) -> Value {
    order_within(world, order, Deadline::NONE).await.expect("done")
}

/// Repeats the order to drop ash until it is done. Returns the sums of its counts and the number of orders.
async fn drop_ash(world: &World, deadline: Deadline) -> (Value, usize) {
    let mut sums = json!({});
    for orders in 1..200 {
        let drop = json!({"do": "drop-user", "user": world.id("ash").to_string()});
        let dropped = order_within(world, drop, deadline).await.expect("done");
        for (name, count) in dropped.as_object().expect("an object") {
            let Some(count) = count.as_u64().filter(|_| name != "wait_ms") else { continue };
            sums[name] = json!(sums[name].as_u64().unwrap_or(0) + count);
        }
        if dropped["done"] == true {
            return (sums, orders);
        }
        // the world's clock stands still while an order runs
        world.advance(Duration::from_millis(dropped["wait_ms"].as_u64().expect("a time") + 2_000));
    }
    panic!("not done after 200 orders");
}

/// A world with everything that can belong to ash: pulled posts, relations in both directions, ended relations,
/// idempotency keys, a deleted post, live feeds of all users, a rebuild that is under way, and counted writes.
async fn world() -> (World, Vec<PostId>) {
    let settings = [
        ("PULL_FOLLOWERS", "3"),
        ("SMALL_FOLLOWERS", "1"),
        ("CHUNK_FOLLOWERS", "1"),
        // so few that a write is remembered for longer than the test takes
        ("POSTS_PER_MINUTE", "12"),
        ("PUBLIC_DAYS", "2"),
    ];
    let world = World::with(&settings).await;
    world.people(&["ash"]).await;
    world.people(&OTHERS).await;
    for other in OTHERS {
        world.follow(other, "ash").await;
        world.follow("ash", other).await;
    }
    world.follow("birch", "cedar").await;
    world.drain().await;
    for other in OTHERS {
        world.home(other).await;
    }
    world.home("ash").await;
    let mut posts = Vec::new();
    for number in 0..4 {
        world.advance(Duration::from_millis(1));
        let (ash, key) = (world.identity("ash"), format!("key {number}"));
        let post = posts::publish(&world.app, &ash, "a secret", Some(&key), world.now()).await;
        posts.push(post.expect("a post").post.id);
        let other = world.publish("cedar", "text").await;
        for (author, answered) in [("ash", other), ("cedar", posts[number])] {
            if number < 2 {
                world.reply(author, answered).await;
            }
        }
        for (fan, marked) in [("ash", other), ("ash", posts[number]), ("birch", posts[number])] {
            for kind in MarkKind::ALL {
                world.mark(fan, *kind, marked, true).await;
            }
        }
        world.drain().await;
    }
    world.delete("ash", posts[1]).await;
    world.unfollow("fir", "ash").await;
    world.unfollow("ash", "fir").await;
    world.drain().await;
    assert!(!world.home("elm").await.is_empty());
    let (valkey, feed) = (&world.app.valkey, FeedId::author(world.id("ash")));
    valkey.invalidate(feed).await.unwrap();
    assert_eq!(valkey.begin(feed, "1", world.now()).await.unwrap(), RebuildStart::Begun);
    let older = Older {
        relation_changes: 0,
        read_at: world.now(),
        before: PostId::MAX,
        slice: Slice { posts: vec![posts[0]], bound: PostId::MIN },
    };
    valkey.keep_older(world.id("ash"), &older).await.unwrap();
    let copy = KeptFeed {
        posts: vec![posts[0]],
        bound: PostId::MIN,
        pulled: vec![world.id("ash")],
        made_at: world.now(),
        memory: "a memory".to_owned(),
    };
    let until = world.now().expires_after(Duration::from_secs(3_600));
    world.app.kept.put(vec![(world.id("ash"), copy)], until).await.unwrap();
    say_more(&world, posts[2]).await;
    plan_ahead(&world).await;
    make_a_board(&world).await;
    posts::read(&world.app, &Viewer::of(world.id("ash")), posts[0], world.now()).await.unwrap();
    check_every_kind_exists(&world).await;
    (world, posts)
}

/// A post of ash is edited and has data, and ash has a bio, which is read.
async fn say_more(world: &World, post: PostId) {
    let (ash, now) = (world.identity("ash"), world.now());
    let about = AboutChange::new(Some("a secret"), None, None).unwrap();
    let new = people::NewProfile { name: "Ash", about };
    people::put_profile(&world.app, &ash, "ash", new, now).await.unwrap();
    let data = RawValue::from_string(json!({"key": "a secret"}).to_string()).unwrap();
    let data = Some(Data::new(&data).unwrap());
    let extras = ExtrasChange::new(Some(data), None).unwrap();
    let edit = PostEdit { text: Some("a secret #owls"), extras };
    assert_eq!(posts::edit(&world.app, &ash, post, edit, None, now).await.unwrap().post.version, 2);
    let (viewer, reading) = (Viewer::of(ash.user()), ReadContext::new(now));
    let seen = present::profile(&world.app, &viewer, &UserRef::Id(ash.user()), &reading).await;
    assert_eq!(seen.unwrap().about.bio, "a secret");
    let owls = NamedTag::new("owls").unwrap();
    tags::cases::follow(&world.app, &ash, &owls, true, now).await.unwrap();
    world.drain().await;
    for feed in [FeedId::of_tag(&owls.tag), FeedId::tag(TagHash::PUBLIC)] {
        assert!(world.walk(feed, 9).await.contains(&post));
    }
}

/// Two posts of ash are scheduled, one of them with a key, and a timer is put. Valkey's index has their entries.
async fn plan_ahead(world: &World) {
    let (ash, now) = (world.identity("ash"), world.now());
    let at = |minutes: u64| now + Duration::from_secs(60 * minutes);
    let part = timers::items::entry(ash.user(), &"renew".parse().unwrap(), at(20)).part();
    world.app.valkey.begin_due(part, "1", at(60)).await.unwrap();
    for (minutes, key) in [(10, None), (15, Some("a key of later"))] {
        let new = NewScheduled { post: "a secret".into(), publish_at: at(minutes), key };
        scheduled::schedule(&world.app, &ash, new, now).await.unwrap();
    }
    let new = NewTimer { due_at: at(20), every: None, payload: json!("a secret") };
    timers::put(&world.app, &ash, &"renew".parse().unwrap(), new, now).await.unwrap();
}

/// Ash has a board with dense ranks. A score has the bytes of ash's id, and a member its text.
async fn make_a_board(world: &World) {
    let (ash, name) = (world.identity("ash"), "a secret".parse().unwrap());
    let settings =
        board_settings(json!({"orders": ["ascending"], "ranks": "dense", "kept_days": 1}));
    boards::settings::put(&world.app, &ash, &name, settings, world.now()).await.unwrap();
    let board = BoardRef { owner: ash.user(), name, day: None };
    let score = Scores::new(&[(ash.user().0 ^ 1 << 63) as i64]).unwrap();
    let text = ash.user().to_string();
    for (member, what) in [
        ("x", What::Set(score)),
        (text.as_str(), What::Set(score)),
        (text.as_str(), What::Remove),
        ("a secret", What::Set(score)),
    ] {
        let change = ScoreChange { member: member.parse().unwrap(), what };
        let now = world.now();
        boards::change::change(&world.app, &ash, &board, &[change], None, now).await.unwrap();
    }
}

async fn items(world: &World, table: &'static str) -> Vec<Value> {
    let (mut items, mut start) = (Vec::new(), Value::Null);
    loop {
        let mut scan = json!({"TableName": world.config.text(table).unwrap()});
        if !start.is_null() {
            scan["ExclusiveStartKey"] = start;
        }
        let page = aws("DynamoDB_20120810.Scan", "1.0", &scan).await;
        items.extend(page["Items"].as_array().expect("items").iter().cloned());
        start = page["LastEvaluatedKey"].clone();
        if start.is_null() {
            return items;
        }
    }
}

/// An item without what a post says of the posts that it answers.
fn of_others(mut item: Value) -> Value {
    let kind = item["pk"]["S"].as_str().and_then(ItemKind::of);
    let fields = item.as_object_mut().expect("an item");
    match kind {
        Some(ItemKind::Post) => fields.remove("above"),
        Some(ItemKind::Reply) => fields.remove("pk"),
        _ => None,
    };
    item
}

/// Whether a value contains data about ash.
fn is_about_ash(world: &World, value: &Value) -> bool {
    let text =
        |text: &str| in_text(world.id("ash"), text) || text == "ash" || text.contains("a secret");
    match value {
        Value::String(value) => text(value) || text(value.trim_start_matches("handle#")),
        Value::Array(values) => values.iter().any(|value| is_about_ash(world, value)),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| text(name) || is_about_ash(world, value))
        }
        _ => false,
    }
}

/// A kind of data in one of the stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Item(ItemKind),
    Key(KeyKind),
}

impl Kind {
    fn all() -> impl Iterator<Item = Self> {
        ItemKind::ALL.iter().copied().map(Self::Item).chain(KeyKind::all().map(Self::Key))
    }

    fn removal(self) -> Removal {
        match self {
            Self::Item(kind) => kind.removal(),
            Self::Key(kind) => kind.removal(),
        }
    }
}

/// An item or a key with data about ash.
#[derive(Debug)]
struct Trace {
    kind: Kind,
    /// The table, or VALKEY.
    store: &'static str,
    key: String,
    expires: bool,
}

/// Everything with data about ash in both stores.
async fn traces(world: &World) -> Vec<Trace> {
    let mut traces = Vec::new();
    for store in
        ["USERS_TABLE", "POSTS_TABLE", "GRAPH_TABLE", "DUE_TABLE", "MARKS_TABLE", "BOARDS_TABLE"]
    {
        let about = |item: &&Value| is_about_ash(world, &of_others((*item).clone()));
        for item in items(world, store).await.iter().filter(about) {
            let key = item["pk"]["S"].as_str().expect("a key").to_owned();
            let kind = ItemKind::of(&key).unwrap_or_else(|| panic!("{key} is of no known kind"));
            let expires = item["expires_at"]["N"].is_string();
            traces.push(Trace { kind: Kind::Item(kind), store, key, expires });
        }
    }
    let mut redis = world.redis().await;
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query_async(&mut redis).await.unwrap();
    for key in keys {
        let form = redis::cmd("TYPE").arg(&key).to_owned();
        let form: String = form.query_async(&mut redis).await.unwrap();
        let members: Vec<Vec<u8>> = match form.as_str() {
            "zset" => {
                let mut all = redis::cmd("ZRANGE");
                all.arg(&key).arg(0).arg(-1).query_async(&mut redis).await.unwrap()
            }
            "string" => {
                vec![redis::cmd("GET").arg(&key).query_async(&mut redis).await.unwrap()]
            }
            "hash" => {
                let mut all = redis::cmd("HGETALL");
                all.arg(&key).query_async(&mut redis).await.unwrap()
            }
            "list" => {
                let mut all = redis::cmd("LRANGE");
                all.arg(&key).arg(0).arg(-1).query_async(&mut redis).await.unwrap()
            }
            // the key expired in the meantime
            "none" => continue,
            other => panic!("this test cannot read {key}, a {other}"),
        };
        let ash = world.id("ash");
        let of_other = KeyKind::of(&key) == Some(KeyKind::PostCard) && !in_text(ash, &key);
        if in_text(ash, &key) || !of_other && members.iter().any(|member| in_member(ash, member)) {
            // the sweep drops the relations in this list, and their entries in it
            let tag = key.split(['{', '}']).nth(1).expect("a hash tag");
            let rels = format!("rels:{{{tag}}}");
            let listed = redis::cmd("ZSCORE").arg(rels).arg(&key).to_owned();
            let listed: Option<f64> = listed.query_async(&mut redis).await.unwrap();
            let expires: i64 = redis::cmd("PTTL").arg(&key).query_async(&mut redis).await.unwrap();
            let kind = KeyKind::of(&key).unwrap_or_else(|| panic!("{key} is of no known kind"));
            let expires = expires > 0 || listed.is_some() || kind == KeyKind::Rels;
            traces.push(Trace { kind: Kind::Key(kind), store: "VALKEY", key, expires });
        }
    }
    traces
}

/// Fails unless the stores have data about ash of every kind that is removed.
async fn check_every_kind_exists(world: &World) {
    let traces = traces(world).await;
    for kind in Kind::all().filter(|kind| matches!(kind.removal(), Removal::In(_))) {
        assert!(traces.iter().any(|trace| trace.kind == kind), "ash has no data: {kind:?}");
    }
}

/// The places with data about ash: the table (or Valkey) and the start of the key. Fails if something does not expire.
async fn places(world: &World) -> Vec<String> {
    let mut places = Vec::new();
    for trace in traces(world).await.iter().filter(|trace| !is_private_mark(world, trace)) {
        assert!(trace.expires, "it does not expire: {trace:?}");
        // names of cards that were dropped with the user may be left, until they expire
        if trace.kind == Kind::Key(KeyKind::Cards) {
            continue;
        }
        let start = trace.key.split(['#', ':']).next().unwrap_or_default();
        places.push(format!("{} {start}", trace.store));
    }
    places.sort();
    places.dedup();
    places
}

/// Fails if more is left of ash than what other users own and what stays.
async fn check_ash_is_gone(world: &World) {
    assert_eq!(places(world).await, EXPIRING);
    for trace in traces(world).await {
        let stays = matches!(trace.kind.removal(), Removal::Stays(_));
        assert!(stays || !in_text(world.id("ash"), &trace.key), "it is left: {trace:?}");
    }
}

/// Whether it is the private mark that another user put on a post of ash. Reading removes it.
fn is_private_mark(world: &World, trace: &Trace) -> bool {
    let of_other = !in_text(world.id("ash"), &trace.key);
    let mut private = MarkKind::ALL.iter().map(|kind| kind.spec()).filter(|spec| !spec.is_public);
    of_other
        && private.any(|spec| [spec.by_post, spec.by_time].map(Kind::Item).contains(&trace.kind))
}

/// Checks the counters and feeds of the other users.
async fn check_others(world: &World, cedars_replies: usize) {
    let graph = items(world, "GRAPH_TABLE").await;
    let pk = |item: &Value| item["pk"]["S"].as_str().unwrap_or_default().to_owned();
    for other in OTHERS {
        let (id, profile) = (world.id(other), world.app.users.profile(world.id(other)).await);
        let profile = profile.unwrap().expect("a profile");
        let following = graph.iter().filter(|item| pk(item) == format!("following#{id}"));
        let following = following.filter(|item| item["relation"]["S"] == "following").count();
        let followers = format!("followers#{id}#");
        let followers = graph.iter().filter(|item| pk(item).starts_with(&followers)).count();
        let counts = (profile.following, profile.followers);
        assert_eq!(counts, (following as u64, followers as u64), "{other}");
        let cached = world.home(other).await;
        assert!(cached.iter().all(|post| post.author() != world.id("ash")), "{other}");
        world.forget(&[other]).await;
        assert_eq!(world.home(other).await, cached, "{other}");
    }
    let posts = items(world, "POSTS_TABLE").await;
    let of_cedar = posts.iter().filter(|item| pk(item) == world.id("cedar").to_string());
    let replies = of_cedar.filter(|item| item["above"]["S"].is_string()).count();
    let all = (world.home("birch").await.len(), replies);
    assert_eq!(all, (4 + cedars_replies, cedars_replies), "a post of cedar is missing");
}

const EXPIRING: [&str; 3] = ["GRAPH_TABLE following", "VALKEY rel", "VALKEY rels"];

#[tokio::test]
async fn data_is_removed_in_the_phases_of_its_kind() {
    let (world, _) = world().await;
    let drop = json!({"do": "drop-user", "user": world.id("ash").to_string()});
    assert_eq!(order(&world, drop).await["done"], false, "it waits for work that is under way");
    world.drain().await;
    let left = traces(&world).await;
    for kind in Kind::all() {
        let Removal::In(phases) = kind.removal() else { continue };
        assert!(!phases.is_empty(), "{kind:?}");
        // the profile becomes the note of the removal
        let is_note = kind == Kind::Item(ItemKind::User);
        let is_early = phases.iter().all(|phase| matches!(phase, Phase::Deny | Phase::Empty));
        let own = |trace: &&Trace| trace.kind == kind && in_text(world.id("ash"), &trace.key);
        let left = left.iter().find(own);
        assert!(!is_early || is_note || left.is_none_or(|left| left.expires), "{left:?}");
    }
}

#[tokio::test]
async fn only_expiring_data_is_left_of_a_dropped_user() {
    let (world, posts) = world().await;
    let (sums, orders) = drop_ash(&world, Deadline::NONE).await;
    let counts =
        ["posts", "likes", "boards", "scheduled", "timers", "followers", "following", "keys"];
    let counts = counts.map(|name| sums[name].as_u64());
    assert_eq!(counts, [5, 7, 1, 2, 1, 4, 4, 5].map(Some), "{sums}");
    assert!(sums["receipt_rows"].as_u64() >= Some(posts.len() as u64), "{sums}");
    assert_eq!(orders, 2, "the first order waits for work that is under way");
    world.drain().await;
    check_ash_is_gone(&world).await;
    check_others(&world, 2).await;
    assert!(world.app.pulled.all().await.unwrap().is_empty());
    // the order can be repeated
    let (again, orders) = drop_ash(&world, Deadline::NONE).await;
    assert_eq!((again["posts"].as_u64(), orders), (None, 1));
    world.drain().await;
    // a user who returns is a new user
    world.people(&["ash"]).await;
    let ash = world.app.users.profile(world.id("ash")).await.unwrap().expect("a profile");
    assert_eq!((ash.posts, ash.followers, ash.following), (0, 0, 0));
    world.follow("elm", "ash").await;
    let post = world.publish("ash", "again").await;
    world.drain().await;
    assert!(world.home("elm").await.contains(&post));
}

/// The time of each order ends after one piece of work. Other requests arrive between the orders.
#[tokio::test]
async fn a_user_is_dropped_in_several_calls() {
    let (world, _) = world().await;
    let hurry = Deadline::at(Time::EPOCH);
    let drop = json!({"do": "drop-user", "user": "@ash"});
    let first = order_within(&world, drop.clone(), hurry).await.expect("done");
    assert_eq!((&first["done"], &first["user"]), (&json!(false), &json!(world.id("ash"))));
    // from the first step on, the requests of the user are refused
    let refused = world.try_publish("ash", "more").await.expect_err("refused");
    assert!(matches!(refused, Error::ProfileMissing), "{refused:?}");
    let refused =
        people::put_profile(&world.app, &world.identity("ash"), "ash", "Ash", world.now()).await;
    assert!(matches!(refused, Err(Error::BeingDropped { .. })), "{refused:?}");
    let user = UserRef::Id(world.id("ash"));
    let refused = people::find(&world.app.users, &user).await;
    assert!(matches!(refused, Err(Error::NoSuchUser(_))), "{refused:?}");
    let error = order_within(&world, drop, hurry).await.expect_err("refused");
    assert!(error.starts_with("user: @ash"), "{error}");
    let (_, orders) = drop_ash(&world, hurry).await;
    assert!(orders > 3, "{orders} orders");
    world.drain().await;
    check_ash_is_gone(&world).await;
    check_others(&world, 2).await;
}

/// The messages about the posts of a dropped user were lost.
#[tokio::test]
async fn versions_are_erased_without_messages() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let (post, ash) = (world.publish("ash", "one").await, world.identity("ash"));
    posts::edit(&world.app, &ash, post, "two", None, world.now()).await.unwrap();
    let versions = async || world.app.posts.versions(post).await.unwrap().len();
    assert!(versions().await > 0);
    drop_ash(&world, Deadline::NONE).await;
    assert_eq!(versions().await, 0);
}

/// Messages that were under way when ash was dropped arrive late. They restore nothing.
#[tokio::test]
async fn late_messages_of_a_dropped_user_restore_nothing() {
    let settings = [("SMALL_FOLLOWERS", "1"), ("CHUNK_FOLLOWERS", "1"), ("BULK_FOLLOWERS", "2")];
    let world = World::with(&settings).await;
    world.people(&["ash"]).await;
    world.people(&OTHERS).await;
    for other in OTHERS {
        world.follow(other, "ash").await;
        world.home(other).await;
    }
    world.follow("birch", "cedar").await;
    let mut late = world.take().await; // the follows
    for follow in &late {
        world.handle(follow).await.expect("handled");
    }
    world.drain().await; // the followers are counted
    world.publish("ash", "late").await;
    store_without_delivery(&world, "ash").await;
    for _ in 0..3 {
        let events = world.take().await;
        for event in &events {
            world.handle(event).await.expect("handled");
        }
        late.extend(events); // includes chunks and parts
    }
    for _ in 0..4 {
        world.publish("cedar", "text").await;
    }
    drop_ash(&world, Deadline::NONE).await;
    for message in late.iter().chain(&late) {
        world.handle(message).await.expect("handled");
    }
    world.drain().await;
    let mut expected = Vec::from(EXPIRING);
    expected.push("POSTS_TABLE receipt"); // the counts of chunks expire later
    expected.sort_unstable();
    assert_eq!(places(&world).await, expected);
    check_others(&world, 0).await;
}

#[tokio::test]
async fn feeds_are_dropped_and_rebuilt() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    world.home("birch").await;
    let posts = [world.publish("ash", "text").await, world.publish("birch", "text").await];
    world.drain().await;
    let keys = world.app.valkey.keys();
    let mut remove = redis::cmd("ZREM");
    remove.arg(keys.feed(FeedId::home(world.id("birch")))).arg(&order::member(posts[0])[..]);
    let () = remove.query_async(&mut world.redis().await).await.unwrap();
    assert_eq!(world.home("birch").await.len(), 1, "the feed is not wrong");
    let rebuilt = order(&world, json!({"do": "rebuild-feed", "of": "@birch"})).await;
    let feed = |entries| json!({"entries": entries, "floor_ms": 0});
    let user = json!(world.id("birch"));
    let expected = json!({"user": user, "handle": "birch", "home": feed(2), "author": feed(1)});
    assert_eq!(rebuilt, expected);
    assert_eq!(world.home("birch").await.len(), 2);
    // a shared feed that lacks a post
    let feed = FeedId::of_tag(&"tag".parse().unwrap());
    let tagged = world.publish("ash", "#tag").await;
    world.drain().await;
    world.walk(feed, 9).await;
    world.app.valkey.remove(feed, &[tagged]).await.unwrap();
    let rebuilt = order(&world, json!({"do": "rebuild-feed", "of": "#tag"})).await;
    assert_eq!(rebuilt, json!({"feed": {"entries": 1, "floor_ms": 0}}));
    let live = world.app.valkey.peek(feed, 9).await.unwrap().known().unwrap();
    assert_eq!(live.slice.posts, [tagged]);
    let nobody = json!({"do": "rebuild-feed", "of": "@nobody"});
    let error = order_within(&world, nobody, Deadline::NONE).await.expect_err("refused");
    assert_eq!(error, "user: @nobody has no profile in this system");
}

#[tokio::test]
async fn dead_letters_return_without_the_attributes_of_their_failure() {
    let world = World::new().await;
    let dead = world.config.text("CHUNKS_DEAD_URL").unwrap();
    let text = |text: &str| json!({"DataType": "String", "StringValue": text});
    for number in 0..23 {
        let attributes = match number {
            0 => json!({"kept": text("as it was")}),
            _ => {
                json!({"reason": text("it was odd"), "requeued": text("3"), "kept": text("as it was")})
            }
        };
        let letter = json!({
            "QueueUrl": dead, "MessageBody": format!("{number}"), "MessageAttributes": attributes,
        });
        aws("AmazonSQS.SendMessage", "1.0", &letter).await;
    }
    let redrive = json!({"do": "redrive", "queue": "chunks"});
    let hurried =
        order_within(&world, redrive.clone(), Deadline::at(Time::EPOCH)).await.expect("done");
    assert_eq!((&hurried["moved"], &hurried["left"]), (&json!(10), &json!(13)), "{hurried}");
    let redriven = order(&world, redrive.clone()).await;
    assert_eq!((&redriven["moved"], &redriven["left"]), (&json!(13), &json!(0)), "{redriven}");
    let reasons = |answer: &Value, reason: &str| answer["reasons"][reason].as_u64().unwrap_or(0);
    let odd = reasons(&hurried, "it was odd") + reasons(&redriven, "it was odd");
    let unknown = "received too often without success";
    assert_eq!((odd, reasons(&hurried, unknown) + reasons(&redriven, unknown)), (22, 1));
    assert_eq!(world.length("CHUNKS_QUEUE_URL").await, 23);
    let url = world.config.text("CHUNKS_QUEUE_URL").unwrap();
    let take =
        json!({"QueueUrl": url, "MessageAttributeNames": ["All"], "MaxNumberOfMessages": 10});
    for message in aws("AmazonSQS.ReceiveMessage", "1.0", &take).await["Messages"]
        .as_array()
        .expect("messages")
    {
        let attributes = message["MessageAttributes"].as_object().expect("attributes");
        assert_eq!(attributes.keys().collect::<Vec<_>>(), ["kept"]);
        assert_eq!(attributes["kept"]["StringValue"], "as it was");
    }
    let again = order(&world, redrive).await;
    assert_eq!(again, json!({"moved": 0, "left": 0, "reasons": {}}));
    let nowhere = json!({"do": "redrive", "queue": "chunk"});
    let error = order_within(&world, nowhere, Deadline::NONE).await.expect_err("refused");
    assert!(error.starts_with("queue: \"chunk\" is not one of post-events, "), "{error}");
}

/// An order leases the user, so an old order cannot drop a user who returned.
#[tokio::test]
async fn only_one_order_at_a_time_works_on_a_user() {
    let (world, _) = world().await;
    let lease_until = world.now() + Duration::from_secs(65);
    let users = &world.admin.app.users;
    users
        .begin_drop(Announced::assumed(), world.id("ash"), world.now(), lease_until)
        .await
        .unwrap();
    let drop = json!({"do": "drop-user", "user": world.id("ash").to_string()});
    let busy = order(&world, drop.clone()).await;
    assert_eq!((&busy["done"], &busy["posts"]), (&json!(false), &Value::Null), "{busy}");
    let wait_ms = busy["wait_ms"].as_u64().expect("a time");
    assert!((60_000..=65_000).contains(&wait_ms), "{busy}");
    world.advance(Duration::from_millis(wait_ms + 1_000)); // the first order died
    let dropped = order(&world, drop).await;
    assert_eq!(dropped["posts"], 5, "{dropped}");
    let wait_ms = dropped["wait_ms"].as_u64().expect("a time");
    assert!((1..=millis(DROP_SETTLES)).contains(&wait_ms), "{dropped}");
}
