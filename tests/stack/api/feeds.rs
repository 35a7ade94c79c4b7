//! Home feeds and author feeds.

use std::collections::BTreeMap;

use futures::future::join_all;

use crate::harness::client::Client;
use crate::harness::dice::Dice;
use crate::harness::eventually;

#[tokio::test]
async fn the_author_sees_a_post_in_the_next_request() {
    let author = Client::new().await;
    for n in 0..5 {
        let id = author.publish(&format!("post {n}")).await;
        assert_eq!(author.get("/v1/timeline?limit=1").await.ids()[..], [id.as_str()]);
        let feed = author.get(&format!("/v1/users/{}/posts?limit=1", author.id)).await;
        assert_eq!(feed.ids(), [id]);
    }
}

#[tokio::test]
async fn an_empty_feed_has_a_cursor_for_newer_posts() {
    let reader = Client::signed_in().await;
    let empty = reader.get("/v1/timeline").await;
    assert_eq!((empty.ids().len(), empty.body["next_cursor"].is_null()), (0, true));
    assert_eq!(reader.get("/v1/timeline").await.text("/source"), "cache");
    let author = Client::new().await;
    let empty = author.get("/v1/timeline").await;
    let id = author.publish("first").await;
    let newest = empty.text("/newest_cursor");
    let since = author.get(&format!("/v1/timeline?newer_than={newest}")).await;
    assert_eq!(since.ids(), [id]);
    let newest = since.text("/newest_cursor");
    let since = author.get(&format!("/v1/timeline?newer_than={newest}")).await;
    assert!(since.ids().is_empty());
    assert_eq!(since.text("/newest_cursor"), newest, "nothing is newer, so the cursor is the same");
}

#[tokio::test]
async fn follow_and_unfollow_take_effect_through_the_queue() {
    let (reader, author) = (Client::new().await, Client::new().await);
    let before = author.publish("before the follow").await;
    assert!(reader.get("/v1/timeline").await.ids().is_empty());
    let follow = format!("/v1/users/@{}/follow", author.handle);
    reader.put(&follow).await;
    let is = async |expected: &[&String]| {
        let ids = reader.get("/v1/timeline").await.ids();
        (ids.iter().collect::<Vec<_>>() == expected).then_some(())
    };
    eventually("the backfill", async || is(&[&before]).await).await;
    let after = author.publish("after the follow").await;
    eventually("the push", async || is(&[&after, &before]).await).await;
    let item = reader.get("/v1/timeline?limit=1").await;
    assert_eq!(item.text("/items/0/author/handle"), author.handle);
    assert_eq!(
        (item.text("/items/0/text"), item.text("/source")),
        ("after the follow".into(), "cache".into())
    );
    reader.delete(&follow).await;
    eventually("the removal", async || is(&[]).await).await;
}

#[tokio::test]
async fn a_cursor_at_a_deleted_post_works() {
    let author = Client::new().await;
    let mut posts = Vec::new();
    for n in 0..6 {
        posts.insert(0, author.publish(&format!("post {n}")).await);
    }
    let first = author.get("/v1/timeline?limit=2").await;
    assert_eq!(first.ids(), posts[..2]);
    // the post at the cursor, and the next one
    for post in &posts[1..3] {
        author.delete(&format!("/v1/posts/{post}")).await;
    }
    let next = first.text("/next_cursor");
    let second = author.get(&format!("/v1/timeline?limit=2&cursor={next}")).await;
    assert_eq!(second.ids(), posts[3..5]);
    assert_eq!(author.walk("/v1/timeline", 2).await, [&posts[..1], &posts[3..]].concat());
}

/// 20 users publish 200 posts, follow and unfollow. At rest every timeline equals the merge of the author feeds.
#[tokio::test]
async fn after_a_burst_every_timeline_merges_its_authors() {
    let users: Vec<Client> = join_all((0..20).map(|_| Client::new())).await;
    // half of the readers have live feeds from the start, the others return after the burst
    join_all(users.iter().take(10).map(|user| user.get("/v1/timeline"))).await;
    let burst = users.iter().enumerate().map(|(index, user)| {
        let (users, mut dice) = (&users, Dice(index as u64));
        async move {
            let mut follows = BTreeMap::new();
            for n in 0..10 {
                for _ in 0..2 {
                    let other = &users[(index + 1 + dice.below(19) as usize) % 20];
                    let path = format!("/v1/users/{}/follow", other.id);
                    let follow = !dice.one_in(4);
                    let answer =
                        if follow { user.put(&path).await } else { user.delete(&path).await };
                    assert_eq!(answer.status, 204, "{answer:?}");
                    follows.insert(other.id.clone(), follow);
                }
                user.publish(&format!("post {n} of {index}")).await;
            }
            follows
        }
    });
    let follows = join_all(burst).await;
    let mut posts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for user in &users {
        let feed = user.walk(&format!("/v1/users/{}/posts", user.id), 100).await;
        assert_eq!(feed.len(), 10);
        posts.insert(&user.id, feed);
    }
    for (user, follows) in users.iter().zip(&follows) {
        let followed = follows.iter().filter(|(_, follows)| **follows).map(|(id, _)| id.as_str());
        let mut expected: Vec<String> =
            followed.chain([user.id.as_str()]).flat_map(|id| posts[id].clone()).collect();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        let what = format!("the timeline of {}", user.id);
        eventually(&what, async || (user.walk("/v1/timeline", 30).await == expected).then_some(()))
            .await;
    }
}
