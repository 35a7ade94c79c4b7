//! A million live feeds.

use std::time::Duration;

use fanfold_core::limits::BUCKETS_DEFAULT;
use fanfold_core::{Bucket, UserId, order};
use fanfold_engines::valkey::Keys;
use fanfold_runtime::clock::now;

use crate::server::{Server, home};

/// Makes the home feeds of these users live, with a memory and a floor and no entries.
pub fn make_live(server: &mut Server, users: &[UserId]) {
    let (memory, keys, now) = (server.memory(), Keys::new(BUCKETS_DEFAULT), now());
    server.send(
        keys.all_buckets()
            .map(|bucket| redis::cmd("SET").arg(keys.memory(bucket)).arg(&memory).to_owned()),
    );
    let (mark, floor) = (format!("M{memory}"), order::score(now - Duration::from_secs(1)));
    server.send(users.iter().map(|user| {
        let mut feed = redis::cmd("ZADD");
        feed.arg(home(*user)).arg("-inf").arg(&mark).arg(floor).arg(order::FLOOR).to_owned()
    }));
    let mut by_bucket = vec![Vec::new(); usize::from(BUCKETS_DEFAULT)];
    for user in users {
        by_bucket[usize::from(user.bucket(BUCKETS_DEFAULT).0)].push(*user);
    }
    server.send(by_bucket.iter().enumerate().flat_map(|(bucket, users)| {
        let key = keys.live(Bucket(bucket as u16));
        users.chunks(500).map(move |users| {
            let mut live = redis::cmd("ZADD");
            live.arg(&key);
            for user in users {
                live.arg(now.ms()).arg(home(*user));
            }
            live
        })
    }));
}

/// Server CPU, in µs, of a SET of a small value in a pipeline of many.
pub fn simple_command_cpu_us(server: &mut Server) -> f64 {
    const TIMES: u32 = 200_000;
    let before = server.cpu_s();
    server.send(
        (0..TIMES).map(|n| {
            redis::cmd("SET").arg(format!("simple:{}", n % 1_000)).arg("value").to_owned()
        }),
    );
    (server.cpu_s() - before) * 1e6 / f64::from(TIMES)
}
