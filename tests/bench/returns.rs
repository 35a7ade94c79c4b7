//! `returns`: what the return of a reader without a live feed costs, with (a) a query for each author, (b) heads, (c) a kept feed
//! and (d) both, and when it is cheaper to drop a feed than to keep it.
//!
//! | authors × posts | calls: a, b, d | read units: a, b, d | ms: a, b, d | US$ a million returns: a, b, d |
//! | --- | --- | --- | --- | --- |
//! | 3 × 80 | 6, 6, 4 | 9, 9, 7 | 13, 20, 13 | 1.12, 1.12, 0.88 |
//! | 3 × 80, the copy is too old | 6, 6, 7 | 9, 9, 10 | 13, 20, 20 | 1.12, 1.12, 1.25 |
//! | 10 × 80, 10 × 10 | 13, 3, 4 | 13, 13, 14 | 15, 14, 14 | 1.62, 1.62, 1.75 |
//! | 100 × 10 | 103, 4, 5 | 105, 105, 106 | 25, 15, 15 | 13.1, 13.1, 13.2 |
//! | 1,000 × 10 | 1,003, 13, 14 | 1,026, 1,026, 1,027 | 137, 37, 37 | 128, 128, 128 |
//! | 5,000 × 10 | 5,004, 54, 55 | 5,123, 5,123, 5,124 | 668, 145, 155 | 640, 640, 640 |
//!
//! DynamoDB charges a unit for each author, in a query as in a batch. Only three busy authors, of whom a feed needs more
//! than their heads, are read in another round of calls. A copy saves that round: until an author's 24 newest posts are newer
//! than the copy, after a day if the author posts every hour, and after 24 if once a day. So absences of an hour and of a week
//! are the first line for authors who post daily, and the second for those who post hourly; after a month, it is the second for
//! both. A copy costs US$ 1.25 per million sweeps, and only feeds are kept that have more than 24 posts of an author. (c) is
//! computed: without heads, a query asks each author what came since. That costs the units of (d) and the calls of (a).
//!
//! **Decision.** A kept feed makes one kind of return a third faster, and costs five times what it saves. So feeds are not kept
//! unless `FeedsKeptDays` is set.
//!
//! The second table is a model: a million readers who come in visits, each with an average pause between them. A feed is in
//! memory from a visit until [`InactiveAfter`](fanfold_core::limits::INACTIVE_AFTER_DEFAULT) has passed, or until the next
//! visit; a visit after that is a return. The milliseconds and units of a return are those of the first table.

use std::time::{Duration, Instant};

use fanfold_core::{FeedId, PostId, Slice, Time, UserId};
use fanfold_engines::feed::{Contents, PostSource as _};
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::App;
use fanfold_kinds::feeds::kept::items::KeptFeed;
use fanfold_kinds::people::items::HeadBounds;
use fanfold_runtime::clock::now;

use crate::emulator::Emulator;
use crate::harness::dice::Dice;
use crate::report::{Report, short, thousands};
use crate::server::Server;
use crate::stats::median;
use crate::{Pace, people, prices};

/// Followed authors, posts of each, and the hours between two of them. A feed needs more of three busy authors than they have
/// heads.
const CASES: [(u64, u64, u64); 7] = [
    (3, 80, 1),
    (3, 80, 24),
    (10, 80, 1),
    (10, 10, 24),
    (100, 10, 24),
    (1_000, 10, 24),
    (5_000, 10, 24),
];
const DELAY: Duration = Duration::from_millis(5);

/// A way to rebuild a feed: its name, how the request reads, and how long ago the copy of the feed was made.
type Way = (&'static str, fn(Time) -> ReadContext, Option<Duration>);
const HOUR: Duration = Duration::from_secs(3_600);
const WAYS: [Way; 5] = [
    ("queries", ReadContext::from_posts, None),
    ("heads", ReadContext::without_valkey, None),
    ("kept 1 h ago", ReadContext::new, Some(HOUR)),
    ("kept 7 d ago", ReadContext::new, Some(HOUR.saturating_mul(7 * 24))),
    ("kept 30 d ago", ReadContext::new, Some(HOUR.saturating_mul(30 * 24))),
];

pub fn run(pace: &Pace, report: &mut Report) {
    let mut rows = Vec::new();
    for (authors, posts, hours) in CASES {
        let emulator = Emulator::default();
        let (server, reader) = (Server::start(), people::user(authors * 100 + posts));
        let followed: Vec<UserId> =
            (0..authors).map(|n| people::author(authors * 100_000 + posts * 7_000 + n)).collect();
        let busy = (posts, HOUR * hours as u32);
        people::put_reader_of(&emulator, reader, &followed, busy, now());
        let mut app = App::new(&emulator.sdk(), &server.config()).expect("the stores");
        let (runtime, mut found) = (crate::runtime(), Vec::<Vec<PostId>>::new());
        let (reading, count) = (ReadContext::from_posts(now()), (authors * posts).min(1_000));
        let all = app.pull(FeedId::home(reader), PostId::MAX, count as usize, &reading);
        let all = runtime.block_on(all).expect("read").posts;
        let every = if hours == 1 { "an hour" } else { "a day" };
        for (name, reading, absence) in WAYS {
            let times = if pace.quick || authors > 100 { 1 } else { 5 };
            let mut ms = Vec::new();
            app.settings.kept.keep = absence.map_or(Duration::ZERO, |absence| absence * 2);
            runtime.block_on(app.kept.forget(reader)).expect("forgotten");
            emulator.take_counts();
            if let Some(absence) = absence {
                let memory = runtime.block_on(app.valkey.memory(reader)).expect("Valkey");
                let copy = copy(&all, now() - absence, app.valkey.keep(), memory);
                let kept =
                    Some((reader, copy)).filter(|(_, copy)| copy.is_of_use(HeadBounds::USUAL));
                let put =
                    app.kept.put(kept.into_iter().collect(), now().expires_after(absence * 2));
                runtime.block_on(put).expect("kept");
            }
            let written = emulator.take_counts().units.writes;
            emulator.set_delay(DELAY);
            for _ in 0..times {
                let (feed, reading) = (FeedId::home(reader), reading(now()));
                let start = Instant::now();
                let contents = app.contents(feed, String::new(), false, &reading);
                let Contents::Read(read) = runtime.block_on(contents).expect("read") else {
                    panic!("it is read at once")
                };
                found.push(read.slice.posts);
                ms.push(start.elapsed().as_secs_f64() * 1e3);
            }
            emulator.set_delay(Duration::ZERO);
            let counts = emulator.take_counts();
            let per = |count: f64| count / f64::from(times);
            let (ms, units) = (median(ms), per(counts.units.reads));
            let row = [
                format!("{} × {posts}, {every} apart, {name}", thousands(authors as f64)),
                short(per(counts.all_calls() as f64)),
                short(per(counts.sequential as f64)),
                short(units),
                short(ms),
                short(units * prices::READ_UNIT * 1e6),
                short(written * prices::WRITE_UNIT * 1e6),
            ];
            rows.push(row.to_vec());
            let key = format!("{name}_{authors}_{posts}_{hours}").replace(' ', "_");
            report.set(format!("return_units_{key}"), units);
            report.set(format!("return_ms_{key}"), ms);
        }
        assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "all ways give the same feed");
    }
    let head = [
        "authors × posts",
        "calls",
        "in a row",
        "read units",
        "ms",
        "US$ a million",
        "US$ a million sweeps",
    ];
    report.table(
        "returns",
        "a return: the posts of a feed from DynamoDB (5 ms more for each call)",
        &head,
        rows,
    );
    curve(report);
}

/// The copy of a feed that was made at this time.
fn copy(posts: &[PostId], made_at: Time, keep: usize, memory: String) -> KeptFeed {
    let posts = posts.iter().copied().filter(|post| post.time() < made_at).collect();
    let Slice { posts, bound } = Slice::head(posts, keep, PostId::MIN);
    KeptFeed { posts, bound, pulled: Vec::new(), made_at, memory }
}

/// The average pauses between visits, and the parts of the readers who have them.
const READERS: [(Duration, f64); 4] = [
    (Duration::from_secs(4 * 3_600), 0.2),
    (Duration::from_secs(24 * 3_600), 0.3),
    (Duration::from_secs(7 * 24 * 3_600), 0.3),
    (Duration::from_secs(30 * 24 * 3_600), 0.2),
];
/// The numbers of followed authors whose returns were measured, and the parts of the readers who follow so many.
const FOLLOWED: [(u64, f64); 3] = [(10, 0.3), (100, 0.6), (1_000, 0.1)];
const MONTH_S: f64 = 30.0 * 24.0 * 3_600.0;
/// The times after which an unread feed is dropped, in seconds.
pub const AFTER_S: [u64; 6] = [600, 3_600, 6 * 3_600, 24 * 3_600, 3 * 24 * 3_600, 7 * 24 * 3_600];
/// The bytes of a live feed (`deliver`), with the memory that a server has free.
const FEED_BYTES: f64 = 2_730.0 * 1.25;
/// The memory of the function that answers pages.
const TIMELINE_GB: f64 = 0.25;
/// The milliseconds of a page of a live feed.
const CACHED_MS: f64 = 1.0;
/// Pauses that are drawn for each kind of reader.
const PAUSES: usize = 20_000;

/// The costs of a million readers in a month, and the time of the first page of a visit.
fn curve(report: &mut Report) {
    let mut rows = Vec::new();
    for after in AFTER_S.map(|seconds| seconds as f64) {
        let (mut memory_gb_h, mut returns, mut units, mut gb_s) = (0.0, 0.0, 0.0, 0.0);
        let (mut first_pages, mut dice) = (Vec::new(), Dice(7));
        for (pause, part) in READERS {
            let pause = pause.as_secs_f64();
            let readers = 1e6 * part;
            let visits = readers * MONTH_S / pause;
            // pauses differ: they have an exponential distribution
            let mut drawn =
                || -pause * (1.0 - dice.below(1 << 30) as f64 / f64::from(1 << 30)).ln();
            let pauses: Vec<f64> = (0..PAUSES).map(|_| drawn()).collect();
            let of_pauses = |value: &dyn Fn(f64) -> f64| {
                pauses.iter().map(|pause| value(*pause)).sum::<f64>() / PAUSES as f64
            };
            let live_s = visits * of_pauses(&|pause| pause.min(after));
            memory_gb_h += live_s * FEED_BYTES / 1e9 / 3_600.0;
            let back = of_pauses(&|pause| f64::from(u8::from(pause > after)));
            first_pages.push((CACHED_MS, visits * (1.0 - back)));
            for (authors, part) in FOLLOWED {
                let of =
                    |what: &str| report.summary[&format!("return_{what}_heads_{authors}_10_24")];
                let count = visits * back * part;
                returns += count;
                units += count * of("units");
                gb_s += count * of("ms") / 1e3 * TIMELINE_GB;
                first_pages.push((of("ms") + CACHED_MS, count));
            }
        }
        let back_usd = units * prices::READ_UNIT + gb_s * prices::LAMBDA_GB_S;
        let [serverless, nodes] = prices::MEMORY_GB_H.map(|price| memory_gb_h * price);
        let [p50, p99] = [50.0, 99.0].map(|percent| weighted(&mut first_pages, percent));
        let numbers = [
            returns / 1e6,
            memory_gb_h / MONTH_S * 3_600.0,
            back_usd,
            serverless,
            serverless + back_usd,
            nodes,
            nodes + back_usd,
            p50,
            p99,
        ];
        let hours = format!("{} h", short(after / 3_600.0));
        rows.push([vec![hours], numbers.map(short).to_vec()].concat());
        for (key, value) in [
            ("usd_serverless", serverless + back_usd),
            ("usd_nodes", nodes + back_usd),
            ("p50_ms", p50),
            ("p99_ms", p99),
        ] {
            report.set(format!("idle_{key}_{}", after as u64), value);
        }
    }
    let head = [
        "InactiveAfter",
        "million returns",
        "memory GB",
        "returns US$",
        "Serverless US$",
        "with returns",
        "nodes US$",
        "with returns",
        "first page p50 ms",
        "p99",
    ];
    let title = "a million readers in a month, by the time after which an unread feed is dropped";
    report.table("idle", title, &head, rows);
}

/// A percentile of values with weights.
fn weighted(values: &mut [(f64, f64)], percent: f64) -> f64 {
    values.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let all: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut before = 0.0;
    for (value, weight) in values.iter() {
        before += weight;
        if before >= all * percent / 100.0 {
            return *value;
        }
    }
    values.last().map_or(f64::NAN, |(value, _)| *value)
}
