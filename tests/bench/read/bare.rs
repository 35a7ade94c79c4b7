//! The floor: what the commands alone take that any reader of a live feed would send, for the page with
//! its texts, and for what Valkey has of it.

use std::collections::HashMap;
use std::time::Instant;

use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use fanfold_core::limits::BUCKETS_DEFAULT;
use fanfold_core::{PostId, UserId, order};
use fanfold_store::clock::now_ms;
use fanfold_store::feeds::{Feeds, Span};
use fanfold_store::valkey::{Access, Address, Feed, Keys, Link, Read, Valkey};
use redis::{Cmd, RedisResult};

use super::LIMIT;
use crate::Pace;
use crate::emulator::Emulator;
use crate::people;
use crate::report::{Report, short};
use crate::server::{Server, home};
use crate::stats::{median, percentile};

/// A whole page, and bare commands that move the same bytes: ZSCORE and ZRANGE at once, then one
/// BatchGetItem.
pub async fn page_against_bare(
    pace: &Pace,
    report: &mut Report,
    (feeds, emulator, server): (&Feeds, &Emulator, &Server),
) {
    let (rounds, times) = if pace.quick { (5, 200) } else { (9, 1_000) };
    let (reader, dynamo) = (people::user(100), aws_sdk_dynamodb::Client::new(&emulator.sdk()));
    let config = server.config();
    let table = config.text("POSTS_TABLE").expect("a table");
    let link = link(server);
    let (seen, entries) = commands(reader);
    let (mut ours, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (mut pages, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..times {
            let start = Instant::now();
            let page = feeds.page(Feed::home(reader), Span::ALL, LIMIT, now_ms()).await;
            pages.push(start.elapsed().as_secs_f64() * 1e6);
            assert_eq!(page.expect("a page").posts.len(), LIMIT);
            let (mut first, mut second) = (link.clone(), link.clone());
            let start = Instant::now();
            let (_, members): (RedisResult<Option<f64>>, RedisResult<Vec<Vec<u8>>>) =
                futures::join!(seen.query_async(&mut first), entries.query_async(&mut second));
            let members = members.expect("entries");
            let posts = members.iter().filter_map(|member| order::post(member));
            let keys = posts.map(|post| {
                HashMap::from([
                    ("pk".to_owned(), AttributeValue::S(post.author().to_string())),
                    ("sk".to_owned(), AttributeValue::S(post.to_string())),
                ])
            });
            let wanted = KeysAndAttributes::builder().set_keys(Some(keys.collect()));
            let wanted = wanted.consistent_read(true).build().expect("keys");
            let texts = dynamo.batch_get_item().request_items(&table, wanted).send().await;
            bare.push(start.elapsed().as_secs_f64() * 1e6);
            let texts = texts.expect("texts").responses.expect("texts");
            assert_eq!(texts[&table].len(), LIMIT + 1);
        }
        ours.push(percentile(pages, 50.0));
        floors.push(percentile(bare, 50.0));
    }
    let ratio = median(ours.iter().zip(&floors).map(|(ours, floor)| ours / floor));
    let (ours, floor) = (median(ours), median(floors));
    let rows = vec![vec!["20 posts".to_owned(), short(ours), short(floor), short(ratio)]];
    let head = ["page", "p50 µs", "ZSCORE, ZRANGE and BatchGetItem p50 µs", "ratio"];
    report.table(
        "read_page_bare",
        "read: a page with its texts against bare commands",
        &head,
        rows,
    );
    report.set("read_page_p50_us", ours);
    report.set("read_page_bare_p50_us", floor);
    report.set("read_vs_bare", ratio);
}

fn link(server: &Server) -> Link {
    let address = Address::parse(&server.url()).expect("an address");
    Link::to(address, Access::default()).expect("a link")
}

fn commands(reader: UserId) -> (Cmd, Cmd) {
    let live = Keys::new(BUCKETS_DEFAULT).live(reader.bucket(BUCKETS_DEFAULT));
    let seen = redis::cmd("ZSCORE").arg(live).arg(home(reader)).to_owned();
    (seen, redis::cmd("ZRANGE").arg(home(reader)).arg(1).arg(LIMIT + 1).to_owned())
}

/// The script, and ZSCORE and ZRANGE sent at once, in turn on one connection.
pub async fn script_against_bare(pace: &Pace, report: &mut Report, server: &Server) {
    let (rounds, times) = if pace.quick { (5, 1_000) } else { (9, 5_000) };
    let settings = server.config().feeds().expect("settings");
    let link = link(server);
    let (valkey, reader) = (Valkey::over(link.clone(), &settings), people::user(100));
    let (feed, now) = (Feed::home(reader), now_ms());
    let (seen, entries) = commands(reader);
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
    report.set("read_script_vs_bare", ratio);
}
