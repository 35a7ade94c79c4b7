//! The schedule of the deployed stack. Its test waits for minutes, so it runs beside the other tests: it changes a feed
//! of its own only.

use std::time::Duration;

use fanfold_core::{FeedId, UserId};
use fanfold_engines::valkey::Keys;
use fanfold_runtime::clock;

use crate::serial::{people, redis};

/// The schedule of the deployed stack drops a due feed within two minutes. The test does not call the function.
#[tokio::test]
async fn the_schedule_drops_a_feed_that_nobody_reads() {
    let (reader, _, posts) = people().await;
    let user: UserId = reader.id.parse().expect("an id");
    let (keys, feed) = (Keys::new(256), FeedId::home(user));
    let live = keys.live(keys.bucket(user));
    let mut connection = redis().await;
    // as if the last read was 8 days ago
    let long_ago = clock::now() - Duration::from_secs(8 * 24 * 3_600);
    let mut age = redis::cmd("ZADD");
    age.arg(&live).arg("XX").arg(long_ago.ms()).arg(keys.feed(feed));
    let () = age.query_async(&mut connection).await.expect("aged");
    let mut left = true;
    for _ in 0..240 {
        tokio::time::sleep(Duration::from_millis(500)).await;
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
