//! The number of an author's followers, and the number of partitions for them.

use std::collections::BTreeSet;

use fanfold_core::{PostId, UserId, UserRef};
use fanfold_engines::valkey::CountRequest;
use fanfold_functions::users;
use fanfold_functions::users::query::ListQuery;
use fanfold_kinds::follows;
use fanfold_kinds::follows::events::relation_changed;
use fanfold_kinds::follows::items::Counting;
use fanfold_kinds::people::items::{Profile, Total};
use fanfold_kinds::present::Viewer;

use crate::harness::world::{Message, World};

async fn profile(world: &World, name: &str) -> Profile {
    world.app.users.profile(world.id(name)).await.unwrap().unwrap()
}

fn counts(messages: &[Message]) -> usize {
    messages.iter().filter(|message| matches!(message, Message::Count(_))).count()
}

/// Handles all messages except those that count. Returns the number of messages that count.
async fn handle_all_but_counts(world: &World) -> usize {
    for message in world.take().await {
        assert!(!matches!(message, Message::Count(_)));
        world.handle(&message).await.unwrap();
    }
    let sent = world.take().await;
    let counts = counts(&sent);
    assert_eq!(sent.len(), counts);
    for message in sent {
        world.send_back(&message).await;
    }
    counts
}

#[tokio::test]
async fn many_changes_lead_to_one_count() {
    let world = World::new().await;
    let fans = ["birch", "cedar", "dogwood", "elm"];
    world.people(&["ash"]).await;
    world.people(&fans).await;
    for fan in fans {
        world.follow(fan, "ash").await;
    }
    assert_eq!(profile(&world, "ash").await.followers, 0, "the followers are counted later");
    assert_eq!(handle_all_but_counts(&world).await, 1);
    world.drain().await;
    assert_eq!(profile(&world, "ash").await.followers, 4);
    // a change after a count has begun leads to another count
    world.unfollow("elm", "ash").await;
    assert_eq!(handle_all_but_counts(&world).await, 1);
    world.drain().await;
    assert_eq!(profile(&world, "ash").await.followers, 3);
}

/// A function relies only on a count that was sent.
#[tokio::test]
async fn a_function_that_dies_before_it_sends_a_count_does_not_block_the_count() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    let (valkey, of) = (&world.app.valkey, &follows::events::counted(world.id("ash")));
    assert_eq!(valkey.request_count(of, "dead").await.unwrap(), CountRequest::Send);
    assert_eq!(valkey.request_count(of, "another").await.unwrap(), CountRequest::Sending);
    world.drain().await;
    assert_eq!(profile(&world, "ash").await.followers, 1);
    // a count that begins before its sender records it is not relied on
    assert_eq!(valkey.request_count(of, "slow").await.unwrap(), CountRequest::Send);
    valkey.begin_count(of).await.unwrap();
    assert_eq!(valkey.count_requested(of, "slow").await.unwrap(), CountRequest::Send);
    assert_eq!(valkey.request_count(of, "next").await.unwrap(), CountRequest::Send);
    assert_eq!(valkey.count_requested(of, "next").await.unwrap(), CountRequest::Queued);
    assert_eq!(valkey.request_count(of, "third").await.unwrap(), CountRequest::Queued);
}

#[tokio::test]
async fn a_total_of_fewer_changes_never_replaces_a_later_one() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.unfollow("birch", "ash").await;
    world.drain().await;
    let before = profile(&world, "ash").await;
    assert_eq!((before.followers, before.followers_changes), (0, 2));
    let late = Total { followers: 1, changes: 1, partitions: before.follower_partitions };
    assert!(!world.app.users.put_total(&before, late).await.unwrap());
    let fewer = Total { followers: 1, changes: 3, partitions: 1 };
    assert!(
        !world.app.users.put_total(&before, fewer).await.unwrap(),
        "the number of partitions fell"
    );
    assert_eq!(profile(&world, "ash").await, before);
    let graph = &world.app.graph;
    let counted = graph.count_followers(&world.app.users, world.id("ash")).await;
    assert_eq!(counted.unwrap(), Counting::Known);
    let nobody = graph.count_followers(&world.app.users, UserId(7)).await;
    assert_eq!(nobody.unwrap(), Counting::NoProfile);
}

/// Followers come one by one, and the number of partitions grows. All followers are listed, reached and removed.
#[tokio::test]
async fn followers_in_many_partitions_are_listed_reached_and_removed() {
    for (first, per) in [("1", "1"), ("1", "2"), ("2", "3"), ("4", "1")] {
        let settings = [
            ("FOLLOWER_PARTITIONS", first),
            ("FOLLOWERS_PER_PARTITION", per),
            ("SMALL_FOLLOWERS", "0"),
            ("CHUNK_FOLLOWERS", "1"),
            ("BULK_FOLLOWERS", "3"),
        ];
        let mut world = World::with(&settings).await;
        world.app.settings.partitions_per_part = 2;
        let fans: Vec<String> = (0..9).map(|n| format!("fan{n}")).collect();
        let fans: Vec<&str> = fans.iter().map(String::as_str).collect();
        world.people(&["ash"]).await;
        world.people(&fans).await;
        for fan in &fans {
            world.follow(fan, "ash").await;
            world.drain().await;
        }
        let ash = profile(&world, "ash").await;
        let grown = 9 / per.parse::<u16>().unwrap() + 1;
        let least = grown.next_power_of_two().max(first.parse().unwrap());
        assert_eq!((ash.followers, ash.follower_partitions), (9, least), "{first} {per}");
        let mut expected: BTreeSet<UserId> = fans.iter().map(|fan| world.id(fan)).collect();
        for limit in [1, 2, 9] {
            assert_eq!(list_followers(&world, limit).await, expected, "{first} {per} {limit}");
        }
        for fan in &fans {
            world.home(fan).await;
        }
        let post = world.publish("ash", "text").await;
        world.drain().await;
        let receipt = world.app.receipts.receipt(post).await.unwrap();
        assert!(receipt.completed_at.is_some());
        assert_eq!((receipt.followers, receipt.reached.delivered), (Some(9), 9));
        for fan in &fans {
            assert_eq!(world.home(fan).await, [post]);
        }
        // a follower from a time with fewer partitions is removed from the right partition
        for fan in &fans[..4] {
            world.unfollow(fan, "ash").await;
            expected.remove(&world.id(fan));
        }
        world.drain().await;
        assert_eq!(list_followers(&world, 2).await, expected);
        let ash = profile(&world, "ash").await;
        assert_eq!(
            (ash.followers, ash.follower_partitions),
            (5, least),
            "the number of partitions fell"
        );
        assert_eq!(world.home("fan0").await, [] as [PostId; 0]);
    }
}

/// All followers of ash, read page by page. Fails if a follower is listed twice.
async fn list_followers(world: &World, limit: usize) -> BTreeSet<UserId> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let (ash, query) = (UserRef::Id(world.id("ash")), ListQuery::page(limit, cursor));
        let viewer = Viewer::of(world.id("ash"));
        let page = users::followers(&world.app, &viewer, &ash, &query, world.now()).await.unwrap();
        assert!(page.next_cursor.is_none() || page.items.len() == limit);
        all.extend(page.items.iter().map(|user| user.id.parse::<UserId>().unwrap()));
        cursor = page.next_cursor;
        if cursor.is_none() {
            let distinct: BTreeSet<UserId> = all.iter().copied().collect();
            assert_eq!(distinct.len(), all.len());
            return distinct;
        }
    }
}

#[tokio::test]
async fn a_repeated_event_counts_once() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    let messages = world.take().await;
    for _ in 0..3 {
        for message in &messages {
            let Message::Relation(event) = message else { continue };
            relation_changed(&world.app, event, world.now()).await.unwrap();
        }
        world.drain().await;
        assert_eq!(profile(&world, "ash").await.followers, 1);
    }
}
