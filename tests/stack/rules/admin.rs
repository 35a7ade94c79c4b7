//! Orders of operators: feeds are rebuilt, dead letters come back, and of a user who is dropped nothing
//! is left but what expires.

use fanfold_admin::handler::obey;
use fanfold_admin::order::{Order, read};
use fanfold_core::limits::DROP_SETTLES_MS;
use fanfold_core::{PostId, order};
use fanfold_store::clock::Deadline;
use fanfold_store::dynamo::posts::RequestKey;
use fanfold_store::http::Kind;
use fanfold_store::valkey::Feed;
use serde_json::{Value, json};

use super::only_stored;
use crate::harness::aws;
use crate::harness::traces::{in_member, in_text};
use crate::harness::world::World;

const OTHERS: [&str; 5] = ["birch", "cedar", "dogwood", "elm", "fir"];

async fn order_within(world: &World, order: Value, deadline: Deadline) -> Result<Value, String> {
    let order: Order = read(order).map_err(|refusal| refusal.to_string())?;
    let done = obey(&world.admin, order, world.now(), deadline).await;
    done.map_err(|refusal| refusal.to_string())
}

async fn order(world: &World, order: Value) -> Value {
    order_within(world, order, Deadline::NONE).await.expect("obeyed")
}

/// Gives the order to drop ash until it is done; gives the sums, and how many orders it took.
async fn drop_ash(world: &World, deadline: Deadline) -> (Value, usize) {
    let mut sums = json!({});
    for orders in 1..200 {
        let drop = json!({"do": "drop-user", "user": world.id("ash").to_string()});
        let dropped = order_within(world, drop, deadline).await.expect("obeyed");
        for name in ["posts", "followers", "following", "receipt_rows", "keys", "feeds"] {
            let sum = sums[name].as_u64().unwrap_or(0) + dropped[name].as_u64().expect("a count");
            sums[name] = json!(sum);
        }
        if dropped["done"] == true {
            return (sums, orders);
        }
        // the world's clock stands still while an order is at work
        world.advance(dropped["wait_ms"].as_u64().expect("a time") + 2_000);
    }
    panic!("it is never done");
}

/// Ash is large enough to be pulled, follows and is followed, has unfollowed and been unfollowed,
/// posted with keys and deleted, and everybody reads.
async fn world() -> (World, Vec<PostId>) {
    let settings = [("PULL_FOLLOWERS", "3"), ("SMALL_FOLLOWERS", "1"), ("CHUNK_FOLLOWERS", "1")];
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
        world.advance(1);
        let (ash, key) = (world.identity("ash"), format!("key {number}"));
        let key = RequestKey::new(ash.user(), &key, "text");
        let publish = fanfold_posts::handler::publish;
        let post = publish(&world.posts, &ash, "a secret", Some(key), world.now()).await;
        posts.push(post.expect("a post").0.id);
        world.publish("cedar", "text").await;
        world.drain().await;
    }
    world.delete("ash", posts[1]).await;
    world.unfollow("fir", "ash").await;
    world.unfollow("ash", "fir").await;
    world.drain().await;
    assert!(!world.home("elm").await.is_empty());
    (world, posts)
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

fn tells(world: &World, value: &Value) -> bool {
    let text = |text: &str| in_text(world.id("ash"), text) || ["ash", "a secret"].contains(&text);
    match value {
        Value::String(value) => text(value) || text(value.trim_start_matches("handle#")),
        Value::Array(values) => values.iter().any(|value| tells(world, value)),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| text(name) || tells(world, value))
        }
        _ => false,
    }
}

/// What tells of ash, each as its table, or Valkey, and the start of its key. Nothing does for ever.
async fn traces(world: &World) -> Vec<String> {
    let mut traces = Vec::new();
    for table in ["USERS_TABLE", "POSTS_TABLE", "GRAPH_TABLE"] {
        for item in items(world, table).await.iter().filter(|item| tells(world, item)) {
            let pk = item["pk"]["S"].as_str().expect("a key");
            assert!(item["expires_at"]["N"].is_string(), "it stays for ever: {item}");
            traces.push(format!("{table} {}", pk.split('#').next().unwrap_or_default()));
        }
    }
    let mut redis = world.redis().await;
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query_async(&mut redis).await.unwrap();
    for key in keys {
        let sorted = ["home:", "author:", "live:", "rel:"].iter().any(|kind| key.starts_with(kind));
        let mut members: Vec<Vec<u8>> = Vec::new();
        if sorted {
            let mut all = redis::cmd("ZRANGE");
            members = all.arg(&key).arg(0).arg(-1).query_async(&mut redis).await.unwrap();
        }
        let ash = world.id("ash");
        if in_text(ash, &key) || members.iter().any(|member| in_member(ash, member)) {
            // a relation is forgotten by the sweep, which goes by this list
            let tag = key.split(['{', '}']).nth(1).expect("a hash tag");
            let rels = format!("rels:{{{tag}}}");
            let listed = redis::cmd("ZSCORE").arg(rels).arg(&key).to_owned();
            let listed: Option<f64> = listed.query_async(&mut redis).await.unwrap();
            let expires: i64 = redis::cmd("PTTL").arg(&key).query_async(&mut redis).await.unwrap();
            assert!(expires > 0 || listed.is_some(), "it stays for ever: {key}");
            traces.push(format!("VALKEY {}", key.split(':').next().unwrap_or_default()));
        }
    }
    traces.sort();
    traces.dedup();
    traces
}

/// Counters, and feeds as readers find them.
async fn others_are_right(world: &World) {
    let graph = items(world, "GRAPH_TABLE").await;
    let pk = |item: &Value| item["pk"]["S"].as_str().unwrap_or_default().to_owned();
    for other in OTHERS {
        let (id, profile) = (world.id(other), world.users.users.profile(world.id(other)).await);
        let profile = profile.unwrap().expect("a profile");
        let following = graph.iter().filter(|item| pk(item) == format!("following#{id}"));
        let following = following.filter(|item| item["relation"]["S"] == "following").count();
        let followers = format!("followers#{id}#");
        let followers = graph.iter().filter(|item| pk(item).starts_with(&followers)).count();
        let counts = (profile.following, profile.followers);
        assert_eq!(counts, (following as u64, followers as u64), "{other}");
        let fanned = world.home(other).await;
        assert!(fanned.iter().all(|post| post.author() != world.id("ash")), "{other}");
        world.forget(&[other]).await;
        assert_eq!(world.home(other).await, fanned, "{other}");
    }
    assert_eq!(world.home("birch").await.len(), 4, "cedar's posts are there");
}

const EXPIRING: [&str; 2] = ["GRAPH_TABLE following", "VALKEY rel"];

#[tokio::test]
async fn nothing_tells_of_a_user_who_was_dropped_but_what_expires() {
    let (world, posts) = world().await;
    let (sums, orders) = drop_ash(&world, Deadline::NONE).await;
    let counts = ["posts", "followers", "following", "keys"].map(|name| sums[name].as_u64());
    assert_eq!(counts, [3, 4, 4, 4].map(Some), "{sums}");
    assert!(sums["receipt_rows"].as_u64() >= Some(posts.len() as u64), "{sums}");
    assert_eq!(orders, 2, "one waits for what is under way");
    world.drain().await;
    assert_eq!(traces(&world).await, EXPIRING);
    others_are_right(&world).await;
    assert!(world.dispatch.pulled.all().await.unwrap().is_empty());
    // twice is fine
    let (again, orders) = drop_ash(&world, Deadline::NONE).await;
    assert_eq!((again["posts"].as_u64(), orders), (Some(0), 1));
    // and who comes back is somebody new
    world.people(&["ash"]).await;
    let ash = world.users.users.profile(world.id("ash")).await.unwrap().expect("a profile");
    assert_eq!((ash.posts, ash.followers, ash.following), (0, 0, 0));
    world.follow("elm", "ash").await;
    let post = world.publish("ash", "anew").await;
    world.drain().await;
    assert!(world.home("elm").await.contains(&post));
}

/// Time is up after each piece of work, and others are at work in between.
#[tokio::test]
async fn a_user_is_dropped_piece_by_piece() {
    let (world, _) = world().await;
    let hurry = Deadline::at_ms(0);
    let drop = json!({"do": "drop-user", "user": "@ash"});
    let first = order_within(&world, drop.clone(), hurry).await.expect("obeyed");
    assert_eq!((&first["done"], &first["user"]), (&json!(false), &json!(world.id("ash"))));
    // from the first step on nobody is let in
    let refused = world.try_publish("ash", "more").await.expect_err("refused");
    assert_eq!(refused.kind, Kind::ProfileMissing);
    let put = fanfold_users::handler::put_profile;
    let refused = put(&world.users, &world.identity("ash"), "ash", "Ash").await;
    assert_eq!(refused.expect_err("refused").kind, Kind::Unavailable);
    let user = fanfold_store::http::UserRef::Id(world.id("ash"));
    let refused = fanfold_users::handler::find(&world.users, &user).await;
    assert_eq!(refused.expect_err("refused").kind, Kind::NoSuchUser);
    let said = order_within(&world, drop, hurry).await.expect_err("the handle is free");
    assert!(said.starts_with("user: @ash"), "{said}");
    let (_, orders) = drop_ash(&world, hurry).await;
    assert!(orders > 3, "{orders} orders");
    world.drain().await;
    assert_eq!(traces(&world).await, EXPIRING);
    others_are_right(&world).await;
}

/// What was on its way when ash was dropped comes late, and does no harm.
#[tokio::test]
async fn messages_that_arrive_after_their_user_was_dropped_do_no_harm() {
    let settings = [("SMALL_FOLLOWERS", "1"), ("CHUNK_FOLLOWERS", "1"), ("BULK_FOLLOWERS", "2")];
    let world = World::with(&settings).await;
    world.people(&["ash"]).await;
    world.people(&OTHERS).await;
    for other in OTHERS {
        world.follow(other, "ash").await;
        world.home(other).await;
    }
    world.follow("birch", "cedar").await;
    let mut late = world.take().await; // follows
    world.publish("ash", "late").await;
    only_stored(&world, "ash").await;
    for _ in 0..3 {
        let events = world.take().await;
        for event in &events {
            world.handle(event).await.expect("handled");
        }
        late.extend(events); // chunks and parts among them
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
    expected.push("POSTS_TABLE receipt"); // counts of chunks, for a while
    expected.sort_unstable();
    assert_eq!(traces(&world).await, expected);
    others_are_right(&world).await;
}

#[tokio::test]
async fn feeds_are_given_up_and_rebuilt() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    world.home("birch").await;
    let posts = [world.publish("ash", "text").await, world.publish("birch", "text").await];
    world.drain().await;
    let keys = world.timeline.feeds.valkey.keys();
    let mut miss = redis::cmd("ZREM");
    miss.arg(keys.feed(Feed::home(world.id("birch")))).arg(&order::member(posts[0])[..]);
    let () = miss.query_async(&mut world.redis().await).await.unwrap();
    assert_eq!(world.home("birch").await.len(), 1, "it is wrong");
    let rebuilt = order(&world, json!({"do": "rebuild-feed", "user": "@birch"})).await;
    let feed = |entries| json!({"entries": entries, "floor_ms": 0});
    let user = json!(world.id("birch"));
    let expected = json!({"user": user, "handle": "birch", "home": feed(2), "author": feed(1)});
    assert_eq!(rebuilt, expected);
    assert_eq!(world.home("birch").await.len(), 2);
    let nobody = json!({"do": "rebuild-feed", "user": "@nobody"});
    let said = order_within(&world, nobody, Deadline::NONE).await.expect_err("refused");
    assert_eq!(said, "user: @nobody has no profile here");
}

#[tokio::test]
async fn dead_letters_come_back_without_what_was_noted_of_their_death() {
    let world = World::new().await;
    let dead = world.config.text("CHUNKS_DEAD_QUEUE_URL").unwrap();
    let text = |text: &str| json!({"DataType": "String", "StringValue": text});
    for number in 0..23 {
        let attributes = match number {
            0 => json!({"kept": text("as it was")}),
            _ => {
                json!({"reason": text("it was odd"), "anew": text("3"), "kept": text("as it was")})
            }
        };
        let letter = json!({
            "QueueUrl": dead, "MessageBody": format!("{number}"), "MessageAttributes": attributes,
        });
        aws("AmazonSQS.SendMessage", "1.0", &letter).await;
    }
    let redrive = json!({"do": "redrive", "queue": "chunks"});
    let hurried = order_within(&world, redrive.clone(), Deadline::at_ms(0)).await.expect("obeyed");
    assert_eq!((&hurried["moved"], &hurried["left"]), (&json!(10), &json!(13)), "{hurried}");
    let redriven = order(&world, redrive.clone()).await;
    assert_eq!((&redriven["moved"], &redriven["left"]), (&json!(13), &json!(0)), "{redriven}");
    let reasons = |answer: &Value, reason: &str| answer["reasons"][reason].as_u64().unwrap_or(0);
    let odd = reasons(&hurried, "it was odd") + reasons(&redriven, "it was odd");
    let unknown = "it was taken too often";
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
    let said = order_within(&world, nowhere, Deadline::NONE).await.expect_err("refused");
    assert!(said.starts_with("queue: \"chunk\" is none of post-events, "), "{said}");
}

/// An order that was left behind cannot fall on who came back: it has the user to itself.
#[tokio::test]
async fn two_orders_do_not_work_on_one_user() {
    let (world, _) = world().await;
    let lease_until_ms = world.now() + 65_000;
    let users = &world.admin.users;
    users.begin_to_drop(world.id("ash"), world.now(), lease_until_ms).await.unwrap();
    let drop = json!({"do": "drop-user", "user": world.id("ash").to_string()});
    let busy = order(&world, drop.clone()).await;
    assert_eq!((&busy["done"], &busy["posts"]), (&json!(false), &json!(0)), "{busy}");
    let wait_ms = busy["wait_ms"].as_u64().expect("a time");
    assert!((60_000..=65_000).contains(&wait_ms), "{busy}");
    world.advance(wait_ms + 1_000); // it died
    let dropped = order(&world, drop).await;
    assert_eq!(dropped["posts"], 3, "{dropped}");
    let wait_ms = dropped["wait_ms"].as_u64().expect("a time");
    assert!((1..=DROP_SETTLES_MS).contains(&wait_ms), "{dropped}");
}
