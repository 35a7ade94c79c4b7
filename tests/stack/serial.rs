//! Tests of the deployed stack that disturb other tests. They run one after the other, while no other test
//! runs.

mod deployment;
mod rights;

use crate::harness::client::Client;
use crate::harness::{eventually, setting};

pub async fn redis() -> redis::aio::MultiplexedConnection {
    let client = redis::Client::open(setting("REDIS_URL")).expect("a client");
    client.get_multiplexed_async_connection().await.expect("Valkey")
}

/// A reader, an author that the reader follows, and the posts in the reader's feed.
pub async fn people() -> (Client, Client, Vec<String>) {
    let (reader, author) = (Client::new().await, Client::new().await);
    reader.put(&format!("/v1/users/{}/follow", author.id)).await;
    reader.get("/v1/timeline").await;
    let mut posts = Vec::new();
    for n in 0..6 {
        posts.insert(0, author.publish(&format!("post {n}")).await);
    }
    eventually("the pushes", async || {
        (reader.get("/v1/timeline").await.ids() == posts).then_some(())
    })
    .await;
    (reader, author, posts)
}

#[tokio::test]
async fn a_walk_continues_when_valkey_is_emptied_between_two_pages() {
    let (reader, author, mut posts) = people().await;
    let first = reader.get("/v1/timeline?limit=3").await;
    assert_eq!((first.ids(), first.text("/source").as_str()), (posts[..3].to_vec(), "cache"));
    let () = redis::cmd("FLUSHALL").query_async(&mut redis().await).await.expect("emptied");
    let cursor = first.text("/next_cursor");
    let second = reader.get(&format!("/v1/timeline?limit=3&cursor={cursor}")).await;
    assert_eq!((second.ids(), second.text("/source").as_str()), (posts[3..].to_vec(), "rebuild"));
    assert_eq!(reader.get("/v1/timeline").await.text("/source"), "cache");
    // pushes arrive again
    posts.insert(0, author.publish("after the loss").await);
    eventually("the push", async || {
        (reader.get("/v1/timeline").await.ids() == posts).then_some(())
    })
    .await;
}

#[tokio::test]
async fn scripts_that_valkey_lost_are_sent_again() {
    let (reader, author, posts) = people().await;
    let forget = redis::cmd("SCRIPT").arg("FLUSH").to_owned();
    let () = forget.query_async(&mut redis().await).await.expect("forgotten");
    assert_eq!(reader.get("/v1/timeline").await.ids(), posts);
    let () = forget.query_async(&mut redis().await).await.expect("forgotten");
    let id = author.publish("one more").await;
    eventually("the push", async || {
        (reader.get("/v1/timeline").await.ids()[0] == id).then_some(())
    })
    .await;
}
