//! `read`: a page of a home feed from the cache, against the same page by pull at read time. The pull is
//! that of a tutorial: it reads the followees, queries the newest posts of each one at the same time,
//! merges them, and reads the texts. Also the page against bare commands for the same bytes, its calls and cost
//! against reading items, a page of a tag against one of home, and the memory of cards.

mod against_bare;
mod bare;
mod items;
mod memory;
mod tags;

use std::time::{Duration, Instant};

use fanfold_core::{FeedId, PostId, UserId};
use fanfold_engines::feed::Source;
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::home::{self, FeedPage, Span};
use fanfold_kinds::present::Viewer;
use fanfold_kinds::{App, Error};
use fanfold_runtime::clock::now;
use futures::future::try_join_all;

use crate::emulator::Emulator;
use crate::report::{Report, short};
use crate::server::Server;
use crate::stats::percentile;
use crate::{Pace, people};

const FOLLOWEES: [u64; 3] = [10, 100, 1_000];
const POSTS_EACH: u64 = 10;
const LIMIT: usize = 20;
/// About the duration of a DynamoDB call on AWS.
const DELAY: Duration = Duration::from_millis(5);

/// The stores that a page is read from.
struct Stores {
    app: App,
}

impl Stores {
    fn new(emulator: &Emulator, server: &Server) -> Self {
        let (sdk, config) = (emulator.sdk(), server.config());
        Self { app: App::new(&sdk, &config).expect("the stores") }
    }

    /// The first page of a home feed, for its owner.
    async fn page(&self, reader: UserId) -> Result<FeedPage, Error> {
        let (viewer, feed) = (Viewer::of(reader), FeedId::home(reader));
        let reading = ReadContext::new(now());
        home::page(&self.app, &viewer, feed, Span::ALL, LIMIT, &reading).await
    }
}

pub fn run(pace: &Pace, report: &mut Report) {
    let runtime = crate::runtime();
    let (emulator, mut server) = (Emulator::default(), Server::start());
    let stores = Stores::new(&emulator, &server);
    let mut rows = Vec::new();
    for count in FOLLOWEES {
        let reader = people::user(count);
        let authors: Vec<UserId> = (0..count).map(|n| people::author(count * 10 + n)).collect();
        people::put_reader(&emulator, reader, &authors, POSTS_EACH, now());
        let (feed, reading) = (FeedId::home(reader), ReadContext::new(now()));
        runtime.block_on(stores.app.feeds().rebuild(feed, None, &reading)).expect("rebuilt");
        runtime.block_on(stores.page(reader)).expect("a page, which fills the cards");
        for delay in [Duration::ZERO, DELAY] {
            emulator.set_delay(delay);
            let times = match (pace.quick, delay.is_zero()) {
                (_, false) => 15,
                (true, _) => (10_000 / count as usize).clamp(20, 200),
                (false, _) => (100_000 / count as usize).clamp(100, 2_000),
            };
            let [cache, pull] = runtime.block_on(both(&stores, reader, times));
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
    let servers = (&stores, &emulator, &server);
    runtime.block_on(against_bare::page(pace, report, servers));
    runtime.block_on(against_bare::script(pace, report, servers));
    runtime.block_on(tags::compare(pace, report, (&stores, &emulator)));
    items::compare(pace, report, (&stores, &emulator, &mut server), &runtime);
    memory::of_cards(pace, report);
}

/// Milliseconds of each page, alternately from the cache and by pull.
async fn both(stores: &Stores, reader: UserId, times: usize) -> [Vec<f64>; 2] {
    let (mut cache, mut pull) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let start = Instant::now();
        let page = stores.page(reader).await.expect("a page");
        cache.push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        let pulled = pull_page(&stores.app, reader).await;
        pull.push(start.elapsed().as_secs_f64() * 1e3);
        assert_eq!(page.source, Source::Cache);
        let ids: Vec<PostId> = page.ids().collect();
        assert_eq!((ids.len(), ids), (LIMIT, pulled), "both show the same page");
    }
    [cache, pull]
}

/// The first page by pull, as in a tutorial.
async fn pull_page(app: &App, reader: UserId) -> Vec<PostId> {
    let followed = app.graph.following(reader, false).await.expect("relations");
    let authors = followed.iter().map(|followed| followed.author).chain([reader]);
    let queries = authors.map(|author| app.posts.by_author(author, PostId::MAX, LIMIT));
    let slices = try_join_all(queries).await.expect("posts");
    let mut newest: Vec<PostId> = slices.into_iter().flat_map(|slice| slice.posts).collect();
    newest.sort_unstable_by(|a, b| b.cmp(a));
    newest.truncate(LIMIT);
    let texts = app.posts.published(&newest).await.expect("texts");
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
