//! Random sequences of Lua scripts, compared with a plain model of each script.

mod due;
mod limit;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use fanfold_core::limits::{FEED_CAP_DEFAULT, MEMORY_BEGINS_WITHIN, TRIM_POST_IN, trim_to};
use fanfold_core::{Bucket, FeedId, PostId, Relation, RelationChange, Slice, Time, UserId};
use fanfold_engines::valkey::{
    Address, Backfill, CachedSlice, Chosen, FeedSettings, Push, Pushed, Read, RebuildStart,
    RelationApplied, Valkey,
};
use fanfold_runtime::aws::SdkConfig;

use crate::harness::dice::{Dice, fresh};
use crate::harness::setting;

const CAP: usize = 10;

/// The expected data of Valkey.
#[derive(Default)]
struct Model {
    live: HashMap<FeedId, Time>,
    feeds: HashMap<FeedId, FeedModel>,
    locks: HashMap<FeedId, u64>,
    relations: BTreeMap<(UserId, UserId), RelationChange>,
    /// The time when the server's memory began, if it has one.
    memory: Option<Time>,
}

/// The model never trims. A feed must show all of `posts` above its floor.
#[derive(Default, Clone)]
struct FeedModel {
    posts: BTreeSet<PostId>,
    /// All posts, also those that an unfollow removed: they may have caused a trim before.
    ever: BTreeSet<PostId>,
    /// The highest floor of a rebuild or a backfill.
    floor: Time,
    built: bool,
    /// The authors to which the feed has pointers.
    pulled: BTreeSet<UserId>,
    /// The memory in which the feed was begun.
    memory: Time,
}

fn settings() -> FeedSettings {
    FeedSettings {
        card_memory: 1,
        redis: Address::parse(&format!("{}/2", setting("REDIS_URL"))).expect("a url"),
        iam: None,
        authority: None,
        buckets: 1,
        cap: CAP,
        inactive_after: Duration::from_secs(100),
    }
}

fn valkey(settings: &FeedSettings) -> Valkey {
    Valkey::with_settings(&SdkConfig::builder().build(), settings).expect("Valkey")
}

async fn redis() -> redis::aio::MultiplexedConnection {
    let client = redis::Client::open(format!("{}/2", setting("REDIS_URL"))).expect("a client");
    client.get_multiplexed_async_connection().await.expect("Valkey")
}

/// A feed shows exactly the posts that belong in it, down to its floor. The floor is no higher than a rebuild or a
/// backfill set it, unless a trim left a full block above it.
async fn check(valkey: &Valkey, model: &Model, key: FeedId, now: Time, history: &[String]) {
    let read = valkey.read(key, PostId::MAX, 1_000, now).await.expect("read");
    let known = model
        .live
        .get(&key)
        .and_then(|_| model.feeds.get(&key))
        .filter(|f| f.built && Some(f.memory) == model.memory);
    match (read, known) {
        (Read::Unknown, None) => {}
        (Read::Known(CachedSlice { slice, pulled }), Some(known)) => {
            let pulled: BTreeSet<UserId> = pulled.into_iter().collect();
            assert_eq!(pulled, known.pulled, "{history:#?}");
            let floor = slice.floor();
            let above = |time: Time| known.posts.iter().rev().filter(move |p| p.time() > time);
            let expected: Vec<PostId> = above(floor).copied().collect();
            assert_eq!(slice.posts, expected, "above {floor} after {history:#?}");
            assert!(floor >= known.floor, "{floor} < {} after {history:#?}", known.floor);
            if floor > known.floor {
                let kept = known.ever.iter().filter(|post| post.time() >= floor).count();
                // pointers replace posts
                let least = trim_to(CAP).saturating_sub(5);
                assert!(kept >= least, "{kept} are left after {history:#?}");
            }
        }
        (read, _) => panic!("{read:?} after {history:#?}"),
    }
}

#[tokio::test]
async fn the_scripts_match_the_model() {
    for seed in 0..60u64 {
        one_history(seed).await;
    }
}

/// A reader may return after the sweep found a due feed and before it drops it.
#[tokio::test]
async fn a_feed_that_was_read_during_the_sweep_is_kept() {
    let mut connection = redis().await;
    let (live, feed) = (format!("live:{{t{:x}}}", fresh()), format!("home:{{t{:x}}}:x", fresh()));
    let mut set = redis::pipe();
    let other = format!("{feed}2");
    set.cmd("ZADD").arg(&live).arg(500).arg(&feed).arg(100).arg(&other);
    set.cmd("ZADD").arg(&feed).arg(0).arg("F");
    let () = set.ignore().query_async(&mut connection).await.expect("set");
    let expire = include_str!("../../shared/engines/src/valkey/lua/expire.lua");
    let dropped: u64 = redis::Script::new(expire)
        .key(&live)
        .key(&feed)
        .key(&other)
        .arg(400)
        .invoke_async(&mut connection)
        .await
        .expect("the script");
    let left = redis::cmd("ZRANGE").arg(&live).arg(0).arg(-1).to_owned();
    let left: Vec<String> = left.query_async(&mut connection).await.expect("read");
    let kept = redis::cmd("EXISTS").arg(&feed).to_owned();
    let kept: bool = kept.query_async(&mut connection).await.expect("read");
    assert_eq!((dropped, left, kept), (1, vec![feed], true));
}

/// With default settings, a feed has at most the 128 members of a compact list, although only one push in four
/// checks its length. A feed that grew longer by chance becomes compact again.
#[tokio::test]
async fn a_feed_stays_a_compact_list() {
    let settings = FeedSettings { cap: FEED_CAP_DEFAULT, buckets: 256, ..settings() };
    let (valkey, mut connection) = (valkey(&settings), redis().await);
    let (reader, author, mut dice) = (UserId(fresh()), UserId(fresh()), Dice(5));
    let feed = FeedId::home(reader);
    assert_eq!(
        valkey.begin(feed, "1", Time::from_ms(1)).await.expect("begun"),
        RebuildStart::Begun
    );
    assert!(valkey.commit(feed, "1", &Slice::EMPTY, &[]).await.expect("committed"));
    let key = valkey.keys().feed(feed);
    let mut push = async |at: u64, unique: u64| {
        let post = PostId::new(Time::from_ms(at), unique as u16, author);
        let chosen = Chosen::At(Time::from_ms(u64::MAX >> 8));
        let push = Push { post, feeds: vec![feed], chosen, pointer: false };
        assert_eq!(valkey.push(&push).await.expect("pushed").delivered, 1);
        let mut query = redis::pipe();
        query.cmd("ZCARD").arg(&key).cmd("OBJECT").arg("ENCODING").arg(&key);
        let (length, encoding): (usize, String) =
            query.query_async(&mut connection).await.expect("an answer");
        (length, encoding == "listpack")
    };
    let mut outgrown = 0;
    for at in 1..=4_000 {
        let (length, compact) = push(at, dice.next()).await;
        assert!(at < 200 || length >= trim_to(FEED_CAP_DEFAULT), "{length}");
        outgrown += usize::from(!compact);
    }
    assert!(outgrown < 20, "in {outgrown} of 4,000 pushes the feed was longer");
    for at in 5_000..5_150 {
        push(at, 1).await; // none of these pushes checks the length
    }
    assert!(!push(5_150, 1).await.1, "the feed is still a compact list");
    let (length, compact) = push(5_151, 0).await;
    assert!(length <= trim_to(FEED_CAP_DEFAULT) + 2 && compact, "{length}");
}

async fn one_history(seed: u64) {
    let (valkey, mut dice, mut model) = (valkey(&settings()), Dice(seed), Model::default());
    // users of this run only
    let base = fresh() & !0xff;
    let users: Vec<UserId> = (0..3).map(|n| UserId(base + n)).collect();
    let keys: Vec<FeedId> = users.iter().map(|user| FeedId::home(*user)).collect();
    let (mut now, mut tokens, mut history) = (Time::from_ms(1_000), HashMap::new(), Vec::new());
    let mut connection = redis().await;
    forget(&mut connection, &valkey).await;
    for _ in 0..120 {
        now += Duration::from_millis(dice.below(3));
        let (user, author) = (*dice.pick(&users), *dice.pick(&users));
        let key = FeedId::home(user);
        match dice.below(41) {
            40 => {
                now += Duration::from_millis(1);
                forget(&mut connection, &valkey).await;
                history.push("the server loses its memory".to_owned());
                model.memory = None;
                model.relations.clear();
            }
            0..16 => {
                let time = now - Duration::from_millis(dice.below(40));
                let post = PostId::new(time, dice.below(3) as u16, author);
                history.push(format!("push {post} of {author} at {time}"));
                let feeds: Vec<FeedId> = users.iter().copied().map(FeedId::home).collect();
                // the followers may have been read before the server's memory begins
                let later = now + Duration::from_secs(1_000);
                let chosen = *dice.pick(&[Time::EPOCH, later, later]);
                let pointer = dice.one_in(6);
                let mut order =
                    Push { post, feeds: feeds.clone(), chosen: Chosen::At(chosen), pointer };
                let pushed = valkey.push(&order).await.expect("push");
                let late = chosen == Time::EPOCH && !model.live.is_empty();
                let pushed = match (pushed.forgotten.first(), model.memory) {
                    (Some(forgotten), Some(memory)) => {
                        let live = |feed: &FeedId| model.live.contains_key(feed);
                        let live: Vec<FeedId> = feeds.iter().copied().filter(live).collect();
                        assert_eq!(
                            (chosen, &forgotten.feeds),
                            (Time::EPOCH, &live),
                            "{history:#?}"
                        );
                        assert!(
                            forgotten
                                .memory
                                .contains(&format!(":{}:", memory + MEMORY_BEGINS_WITHIN))
                        );
                        order.chosen = Chosen::Since(forgotten.memory.clone());
                        valkey.push(&order).await.expect("push")
                    }
                    (None, memory) if !late || memory.is_none() => pushed,
                    _ => panic!("{pushed:?} after {history:#?}"),
                };
                let Pushed { delivered, not_live, unfollowed, .. } = pushed;
                let expected = push(&mut model, post, &users, pointer);
                assert_eq!((delivered, not_live, unfollowed), expected, "{history:#?}");
                let looked = ((post.0 >> 64) as u16).is_multiple_of(TRIM_POST_IN);
                if looked && pushed.delivered > 0 && pushed.unfollowed == 0 {
                    for feed in model.live.keys().copied().collect::<Vec<_>>() {
                        let held = valkey.peek(feed, 1_000).await.expect("read").known();
                        let count = held.map_or(0, |held| held.slice.posts.len());
                        assert!(count <= CAP, "{count}: {history:#?}");
                    }
                }
            }
            16..24 => {
                let token = dice.next();
                let begun = valkey.begin(key, &token.to_string(), now).await.expect("begin");
                history.push(format!("begin {user}: {begun:?}"));
                assert_eq!(begun, begin(&mut model, key, token, now), "{history:#?}");
                if begun == RebuildStart::Begun {
                    tokens.insert(key, token);
                }
            }
            24..28 => {
                let slice = some_slice(&mut dice, &users, now);
                let token = match dice.below(4) {
                    0 => dice.next(), // a lost lease
                    _ => tokens.get(&key).copied().unwrap_or(7),
                };
                let pulled: Vec<UserId> =
                    users.iter().copied().filter(|_| dice.one_in(4)).collect();
                let done = valkey.commit(key, &token.to_string(), &slice, &pulled).await;
                let done = done.expect("commit");
                history.push(format!("commit {user} {slice:?}: {done}"));
                assert_eq!(done, commit(&mut model, key, token, &slice, &pulled), "{history:#?}");
            }
            28..36 => {
                let relation = *dice.pick(&[Relation::Following, Relation::NotFollowing]);
                let change =
                    RelationChange { relation, at: now - Duration::from_millis(dice.below(4)) };
                let backfill = (relation == Relation::Following && !dice.one_in(6))
                    .then(|| some_slice(&mut dice, &[author], now));
                let pulled = dice.one_in(3);
                let backfill = backfill.map(|slice| Backfill { slice, pulled });
                let mut memory = valkey.memory(user).await.expect("a memory");
                assert_eq!(memory.is_empty(), model.memory.is_none(), "{history:#?}");
                if dice.one_in(6) {
                    memory = "another".to_owned();
                }
                let related = valkey.relate(user, author, change, backfill.clone(), &memory).await;
                let related = related.expect("relate");
                history.push(format!("{user} {change:?} {author} {backfill:?}: {related:?}"));
                let same = memory != "another";
                let expected = relate(&mut model, key, author, change, backfill.as_ref(), same);
                match (related, expected) {
                    (RelationApplied::Done(_), RelationApplied::Done(_)) => {}
                    (related, expected) => assert_eq!(related, expected, "{history:#?}"),
                }
            }
            _ => {
                let until = now - Duration::from_millis(dice.below(30));
                history.push(format!("expire until {until}"));
                // other runs share the bucket's `live`, but not these times
                valkey.expire(Bucket(0), until, 200).await.expect("expire");
                let gone: Vec<FeedId> =
                    model.live.iter().filter(|(_, at)| **at <= until).map(|(k, _)| *k).collect();
                for key in gone {
                    model.live.remove(&key);
                    model.feeds.remove(&key);
                }
            }
        }
        for key in &keys {
            check(&valkey, &model, *key, Time::EPOCH, &history).await;
        }
    }
    valkey.expire(Bucket(0), Time::from_ms(u64::MAX >> 12), 200).await.expect("cleared");
}

/// Deletes the memory, as an eviction or the promotion of a replica does.
async fn forget(connection: &mut redis::aio::MultiplexedConnection, valkey: &Valkey) {
    let () = redis::cmd("DEL")
        .arg(valkey.keys().memory(Bucket(0)))
        .query_async(connection)
        .await
        .expect("forgotten");
}

fn some_slice(dice: &mut Dice, authors: &[UserId], now: Time) -> Slice {
    let mut posts: Vec<PostId> = (0..dice.below(9))
        .map(|_| {
            PostId::new(
                now - Duration::from_millis(dice.below(40)),
                dice.below(3) as u16,
                *dice.pick(authors),
            )
        })
        .collect();
    posts.sort_unstable_by(|a, b| b.cmp(a));
    posts.dedup();
    let whole = posts.is_empty() || dice.one_in(2);
    let bound = if whole { PostId::MIN } else { posts[posts.len() - 1].previous() };
    Slice { posts, bound }
}

/// Pushes a post. Returns the number of feeds with the post, of feeds that are not live, and of readers who
/// unfollowed.
fn push(model: &mut Model, post: PostId, users: &[UserId], pointer: bool) -> (u64, u64, u64) {
    if model.memory.is_none() {
        return (0, users.len() as u64, 0);
    }
    let (mut delivered, mut not_live, mut unfollowed) = (0, 0, 0);
    for user in users {
        let change = model.relations.get(&(*user, post.author()));
        if !model.live.contains_key(&FeedId::home(*user)) {
            not_live += 1;
        } else if change.is_some_and(|change| change.relation == Relation::NotFollowing) {
            unfollowed += 1;
        } else {
            let feed = model.feeds.entry(FeedId::home(*user)).or_default();
            feed.posts.insert(post);
            feed.ever.insert(post);
            feed.pulled.extend(pointer.then(|| post.author()));
            delivered += 1;
        }
    }
    (delivered, not_live, unfollowed)
}

fn begin(model: &mut Model, key: FeedId, token: u64, now: Time) -> RebuildStart {
    if model.locks.contains_key(&key) {
        return RebuildStart::Busy;
    }
    let memory = *model.memory.get_or_insert(now);
    let is_live = model.live.contains_key(&key);
    let begun = is_live && model.feeds.get(&key).is_some_and(|feed| feed.memory == memory);
    if begun && model.feeds.get(&key).is_some_and(|feed| feed.built) {
        return RebuildStart::Built;
    }
    if !begun {
        model.live.entry(key).or_insert(now);
        model.feeds.insert(key, FeedModel { memory, ..FeedModel::default() });
    }
    model.locks.insert(key, token);
    RebuildStart::Begun
}

fn commit(model: &mut Model, key: FeedId, token: u64, slice: &Slice, pulled: &[UserId]) -> bool {
    if model.locks.get(&key) != Some(&token) {
        return false;
    }
    model.locks.remove(&key);
    if !model.live.contains_key(&key) {
        return false;
    }
    let feed = model.feeds.entry(key).or_default();
    if Some(feed.memory) != model.memory {
        return false;
    }
    let relations = &model.relations;
    let follows = |author: UserId| {
        let change = relations.get(&(key.user(), author));
        change.is_none_or(|change| change.relation == Relation::Following)
    };
    feed.pulled.extend(pulled.iter().filter(|author| follows(**author)));
    for post in &slice.posts {
        if follows(post.author()) {
            feed.posts.insert(*post);
            feed.ever.insert(*post);
        }
    }
    feed.floor = feed.floor.max(slice.floor());
    feed.built = true;
    true
}

fn relate(
    model: &mut Model,
    key: FeedId,
    author: UserId,
    change: RelationChange,
    backfill: Option<&Backfill>,
    same_memory: bool,
) -> RelationApplied {
    if !same_memory {
        return RelationApplied::Again;
    }
    if model.memory.is_none() {
        return RelationApplied::NotLive;
    }
    let is_live = model.live.contains_key(&key);
    let known = model.relations.get(&(key.user(), author)).copied();
    if known.is_some_and(|known| known != change && !change.wins_over(known)) {
        return RelationApplied::Stale;
    }
    model.relations.insert((key.user(), author), change);
    if !is_live {
        return RelationApplied::NotLive;
    }
    let feed = model.feeds.entry(key).or_default();
    if change.relation == Relation::NotFollowing {
        feed.posts.retain(|post| post.author() != author);
        feed.pulled.remove(&author);
        return RelationApplied::Done(0);
    }
    let Some(backfill) = backfill else { return RelationApplied::Recorded };
    feed.posts.extend(&backfill.slice.posts);
    feed.ever.extend(&backfill.slice.posts);
    feed.pulled.extend(backfill.pulled.then_some(author));
    feed.floor = feed.floor.max(backfill.slice.floor());
    RelationApplied::Done(0)
}
