//! The deployed stack, where a test disturbs what others rely on. These run one after the other,
//! when nothing else runs.

mod deployment;
mod rights;

use fanfold_core::UserId;
use fanfold_store::valkey::{Feed, Keys};

use crate::harness::client::Client;
use crate::harness::{eventually, setting};

async fn redis() -> redis::aio::MultiplexedConnection {
    let client = redis::Client::open(setting("REDIS_URL")).expect("a client");
    client.get_multiplexed_async_connection().await.expect("Valkey")
}

async fn people() -> (Client, Client, Vec<String>) {
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
async fn valkey_emptied_between_two_reads_costs_a_rebuild_and_nothing_else() {
    let (reader, author, mut posts) = people().await;
    let first = reader.get("/v1/timeline?limit=3").await;
    assert_eq!((first.ids(), first.text("/source").as_str()), (posts[..3].to_vec(), "cache"));
    let () = redis::cmd("FLUSHALL").query_async(&mut redis().await).await.expect("emptied");
    let cursor = first.text("/next_cursor");
    let second = reader.get(&format!("/v1/timeline?limit=3&cursor={cursor}")).await;
    assert_eq!((second.ids(), second.text("/source").as_str()), (posts[3..].to_vec(), "rebuild"));
    assert_eq!(reader.get("/v1/timeline").await.text("/source"), "cache");
    // and pushes land again
    posts.insert(0, author.publish("after the loss").await);
    eventually("the push", async || {
        (reader.get("/v1/timeline").await.ids() == posts).then_some(())
    })
    .await;
}

#[tokio::test]
async fn scripts_that_valkey_forgot_are_sent_again() {
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

/// The schedule itself, on the deployed stack: a feed that fell due is gone within two minutes,
/// though nobody calls the function.
#[tokio::test]
async fn the_schedule_drops_a_feed_that_nobody_reads() {
    let (reader, _, posts) = people().await;
    let user: UserId = reader.id.parse().expect("an id");
    let (keys, feed) = (Keys::new(256), Feed::home(user));
    let live = keys.live(keys.bucket(user));
    let mut connection = redis().await;
    // as if it had last been read 8 days ago
    let long_ago = fanfold_store::clock::now_ms() - 8 * 24 * 3_600_000;
    let mut age = redis::cmd("ZADD");
    age.arg(&live).arg("XX").arg(long_ago).arg(keys.feed(feed));
    let () = age.query_async(&mut connection).await.expect("aged");
    let mut left = true;
    for _ in 0..240 {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let exists = redis::cmd("EXISTS").arg(keys.feed(feed)).to_owned();
        left = exists.query_async(&mut connection).await.expect("asked");
        if !left {
            break;
        }
    }
    assert!(!left, "the feed is still there after two minutes");
    let returned = reader.get("/v1/timeline").await;
    assert_eq!((returned.ids(), returned.text("/source").as_str()), (posts, "rebuild"));
}
