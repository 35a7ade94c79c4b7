//! The floor: what the commands alone take that any reader of a live feed would send.

use std::time::Instant;

use fanfold_core::PostId;
use fanfold_core::limits::BUCKETS_DEFAULT;
use fanfold_store::clock::now_ms;
use fanfold_store::valkey::{Address, Feed, Keys, Link, Read, Valkey};
use redis::RedisResult;

use super::LIMIT;
use crate::Pace;
use crate::people;
use crate::report::{Report, short};
use crate::server::{Server, home};
use crate::stats::{median, percentile};

/// The script, and ZSCORE and ZRANGE sent at once, in turn on one connection.
pub async fn against_bare(pace: &Pace, report: &mut Report, server: &Server) {
    let (rounds, times) = if pace.quick { (5, 1_000) } else { (9, 5_000) };
    let settings = server.config().feeds().expect("settings");
    let link = Link::to(Address::parse(&server.url()).expect("an address")).expect("a link");
    let (valkey, reader) = (Valkey::over(link.clone(), &settings), people::user(100));
    let (feed, now) = (Feed::home(reader), now_ms());
    let live = Keys::new(BUCKETS_DEFAULT).live(reader.bucket(BUCKETS_DEFAULT));
    let seen = redis::cmd("ZSCORE").arg(live).arg(home(reader)).to_owned();
    let entries = redis::cmd("ZRANGE").arg(home(reader)).arg(1).arg(LIMIT + 1).to_owned();
    let (mut ours, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (mut script, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..times {
            let start = Instant::now();
            let read = valkey.read(feed, PostId::MAX, LIMIT + 1, now).await.expect("a page");
            script.push(start.elapsed().as_secs_f64() * 1e6);
            let (mut first, mut second) = (link.clone(), link.clone());
            let start = Instant::now();
            let (seen, entries): (RedisResult<Option<f64>>, RedisResult<Vec<Vec<u8>>>) =
                futures::join!(seen.query_async(&mut first), entries.query_async(&mut second));
            bare.push(start.elapsed().as_secs_f64() * 1e6);
            let (entries, Read::Known(held)) = (entries.expect("entries"), read) else {
                panic!("the feed is live")
            };
            assert!(seen.expect("a score").is_some() && entries.len() == held.slice.posts.len());
        }
        ours.push(percentile(script, 50.0));
        floors.push(percentile(bare, 50.0));
    }
    let ratio = median(ours.iter().zip(&floors).map(|(ours, floor)| ours / floor));
    let (ours, floor) = (median(ours), median(floors));
    let rows = vec![vec!["21 entries".to_owned(), short(ours), short(floor), short(ratio)]];
    let head = ["page", "script p50 µs", "ZSCORE and ZRANGE p50 µs", "ratio"];
    report.table("read_bare", "read: the script against bare commands", &head, rows);
    report.set("read_script_p50_us", ours);
    report.set("read_bare_p50_us", floor);
    report.set("read_vs_bare", ratio);
}
