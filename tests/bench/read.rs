//! `read`: a page of a home feed from the cache, against the same page by pull at read time, as a
//! tutorial would write it: whom does the reader follow, a query of each one's newest posts, all at
//! once, one merge, and the texts. And the script that reads, against bare commands for the same bytes.

mod bare;

use std::time::{Duration, Instant};

use fanfold_core::{PostId, UserId};
use fanfold_store::clock::now_ms;
use fanfold_store::feeds::{Feeds, Page, Reading, Source, Span};
use fanfold_store::valkey::Feed;
use futures::future::try_join_all;

use crate::emulator::Emulator;
use crate::report::{Report, short};
use crate::server::Server;
use crate::stats::percentile;
use crate::{Pace, people};

const FOLLOWEES: [u64; 3] = [10, 100, 1_000];
const POSTS_EACH: u64 = 10;
const LIMIT: usize = 20;
/// What a DynamoDB call takes on AWS, about.
const DELAY: Duration = Duration::from_millis(5);

pub fn run(pace: &Pace, report: &mut Report) {
    let runtime = crate::runtime();
    let (emulator, server) = (Emulator::default(), Server::start());
    let feeds = Feeds::new(&emulator.sdk(), &server.config()).expect("feeds");
    let mut rows = Vec::new();
    for count in FOLLOWEES {
        let reader = people::user(count);
        let authors: Vec<UserId> = (0..count).map(|n| people::author(count * 10 + n)).collect();
        people::put_reader(&emulator, reader, &authors, POSTS_EACH, now_ms());
        runtime
            .block_on(feeds.rebuild(Feed::home(reader), None, &Reading::new(now_ms())))
            .expect("rebuilt");
        for delay in [Duration::ZERO, DELAY] {
            emulator.set_delay(delay);
            let times = match (pace.quick, delay.is_zero()) {
                (_, false) => 15,
                (true, _) => (10_000 / count as usize).clamp(20, 200),
                (false, _) => (100_000 / count as usize).clamp(100, 2_000),
            };
            let [cache, pull] = runtime.block_on(both(&feeds, reader, times));
            let name = match delay.is_zero() {
                true => format!("{count}"),
                false => format!("{count}_delayed"),
            };
            record(report, &name, &cache, &pull, &mut rows);
        }
        emulator.set_delay(Duration::ZERO);
    }
    let head = ["followees", "cache p50 ms", "p99", "pull p50 ms", "p99", "p50 faster by", "p99"];
    let title = "read: a page of 20 with texts, from the cache and by pull (delayed: 5 ms for each DynamoDB call)";
    report.table("read", title, &head, rows);
    runtime.block_on(bare::page_against_bare(pace, report, (&feeds, &emulator, &server)));
    runtime.block_on(bare::script_against_bare(pace, report, &server));
}

/// Milliseconds of each page, from the cache and by pull in turn.
async fn both(feeds: &Feeds, reader: UserId, times: usize) -> [Vec<f64>; 2] {
    let (mut cache, mut pull) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let start = Instant::now();
        let page =
            feeds.page(Feed::home(reader), Span::ALL, LIMIT, now_ms()).await.expect("a page");
        cache.push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        let pulled = tutorial(feeds, reader).await;
        pull.push(start.elapsed().as_secs_f64() * 1e3);
        let Page { posts, source, .. } = page;
        assert_eq!(source, Source::Cache);
        let ids: Vec<PostId> = posts.iter().map(|post| post.id).collect();
        assert_eq!((ids.len(), ids), (LIMIT, pulled), "both show the same page");
    }
    [cache, pull]
}

async fn tutorial(feeds: &Feeds, reader: UserId) -> Vec<PostId> {
    let mut authors = feeds.graph.following(reader).await.expect("relations");
    authors.push(reader);
    let queries = authors.iter().map(|author| feeds.posts.by_author(*author, PostId::MAX, LIMIT));
    let slices = try_join_all(queries).await.expect("posts");
    let mut newest: Vec<PostId> = slices.into_iter().flat_map(|slice| slice.posts).collect();
    newest.sort_unstable_by(|a, b| b.cmp(a));
    newest.truncate(LIMIT);
    let texts = feeds.posts.published(&newest).await.expect("texts");
    newest.retain(|post| texts.contains_key(post));
    newest
}

fn record(
    report: &mut Report,
    name: &str,
    cache: &[f64],
    pull: &[f64],
    rows: &mut Vec<Vec<String>>,
) {
    let p = |values: &[f64], percent| percentile(values.iter().copied(), percent);
    let [c50, c99, p50, p99] = [p(cache, 50.0), p(cache, 99.0), p(pull, 50.0), p(pull, 99.0)];
    let numbers = [c50, c99, p50, p99, p50 / c50, p99 / c99].map(short);
    rows.push([vec![name.replace('_', ", ")], numbers.to_vec()].concat());
    for (key, value) in [
        ("read_cache_p50_ms", c50),
        ("read_cache_p99_ms", c99),
        ("read_pull_p50_ms", p50),
        ("read_pull_p99_ms", p99),
    ] {
        report.set(format!("{key}_{name}"), value);
    }
    report.set(format!("read_vs_pull_{name}"), p50 / c50);
}
