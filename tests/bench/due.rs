//! `due`: four ways to find 100 due items among those that wait: a scan of all, an index by hour in the table, Fanfold's
//! sorted set, and keyspace notifications. Each call to DynamoDB takes 5 ms longer, and each call to SQS 3 ms.
//!
//! | module | contains |
//! | --- | --- |
//! | [`items`] | the items that wait, in DynamoDB and in Valkey |
//! | [`table`] | a scan, the index by hour, and a queue for each hour |
//! | [`expired`] | keyspace notifications |
//!
//! The sorted set takes 0.94 ms among 10,000 items and 1.09 among 1,000,000, although the bench loads all of them;
//! look-aheads load only those of the next one to two hours. The index by hour takes 7.5 and 8.1 ms, and would do. But a
//! look-ahead notes who has taken an item and until when: in the table, two write units for each note, of the hour that is
//! in use most. A queue for each hour takes 1,377 ms among 1,000,000: it has no order by time, so all its messages are
//! received. Items that are cancelled or moved would have a message, too, and SQS delays one by 15 minutes at most.
//!
//! `simulation::due_crowd` measures how late items are, in virtual time: of 5,000 posts at 500 a second, half are published
//! 0.9 s after their time, 99 % within 1.5 s, the last one after 1.6 s, and none early. Most of this is the delay of SQS,
//! which takes whole seconds.

mod expired;
mod items;
mod table;

use std::time::{Duration, Instant};

use fanfold_core::DuePart;
use fanfold_core::limits::DUE_BATCH;
use fanfold_engines::valkey::Valkey;
use futures::future::try_join_all;

use crate::emulator::{Delays, Emulator};
use crate::report::{Report, short, thousands};
use crate::server::Server;
use crate::stats::median;
use crate::{Pace, runtime};
use items::{DUE, NOW};

const DELAYS: Delays = Delays { dynamodb: Duration::from_millis(5), sqs: Duration::from_millis(3) };

/// The numbers of items that wait.
pub const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
/// The sizes of a quick run. The figures have the names of the others.
const SIZES_QUICK: [usize; 3] = [1_000, 3_000, 10_000];
/// The ways that the plot shows, by their name in figures.
pub const WAYS: [(&str, &str); 4] = [
    ("scan", "scan of all"),
    ("hour_queue", "a queue for each hour"),
    ("hours", "index by hour, in the table"),
    ("sorted_set", "sorted set"),
];

/// One way, measured.
pub struct Way {
    ms: f64,
    read_units: f64,
    calls: f64,
}

pub fn run(pace: &Pace, report: &mut Report) {
    let (sizes, rounds) = if pace.quick { (SIZES_QUICK, 5) } else { (SIZES, 51) };
    let mut rows = Vec::new();
    for (size, name) in sizes.into_iter().zip(SIZES) {
        let waiting = items::waiting(size);
        let emulator = Emulator::default();
        items::put(&emulator, &waiting);
        emulator.set_delays(DELAYS);
        let mut server = Server::start();
        let ways = [
            ("scan", table::scan(&emulator, if pace.quick { 1 } else { 3 })),
            ("hours", table::hours(&emulator, &server, rounds.min(9))),
            ("hour_queue", table::hour_queue(&emulator, &server, rounds.min(3))),
            ("sorted_set", sorted_set(&emulator, &server, &waiting, rounds)),
        ];
        for (way, found) in ways {
            let (_, title) = WAYS.into_iter().find(|(known, _)| *known == way).expect("a way");
            rows.push(vec![
                thousands(size as f64),
                title.to_owned(),
                short(found.ms),
                short(found.read_units),
                short(found.calls),
            ]);
            report.set(format!("due_{way}_ms_{name}"), found.ms);
            report.set(format!("due_{way}_read_units_{name}"), found.read_units);
        }
        drop(emulator);
        let heard = expired::hear(&mut server, size, pace.quick);
        let late = heard.late_ms.map(|(p50, p99)| {
            report.set(format!("due_notified_late_p50_ms_{name}"), p50);
            report.set(format!("due_notified_late_p99_ms_{name}"), p99);
            format!("{} to {} late", short(p50), short(p99))
        });
        report.set(format!("due_notified_missing_{name}"), heard.missing);
        report.set(format!("due_notified_lost_{name}"), heard.lost);
        rows.push(vec![
            thousands(size as f64),
            "keyspace notifications".to_owned(),
            late.unwrap_or_default(),
            "0".to_owned(),
            format!("{} of {DUE} not in time, {} of {DUE} lost", heard.missing, heard.lost),
        ]);
    }
    let ms =
        |report: &Report, way: &str, size: usize| report.summary[&format!("due_{way}_ms_{size}")];
    let growth = ms(report, "sorted_set", SIZES[2]) / ms(report, "sorted_set", SIZES[0]);
    report.set("due_sorted_set_1m_vs_10k", growth);
    let faster = ms(report, "scan", SIZES[2]) / ms(report, "sorted_set", SIZES[2]);
    report.set("due_sorted_set_vs_scan_1m", faster);
    let head = ["waiting", "way", "p50 ms", "read units", "calls"];
    let title = "due: 100 due items among those that wait (DynamoDB 5 ms longer, SQS 3 ms)";
    report.table("due", title, &head, rows);
}

/// Takes the due items of all parts, as a look-ahead does.
fn sorted_set(
    emulator: &Emulator,
    server: &Server,
    waiting: &items::Waiting,
    rounds: usize,
) -> Way {
    let runtime = runtime();
    let valkey = Valkey::new(&emulator.sdk(), &server.config()).expect("Valkey");
    runtime.block_on(async {
        items::load(&valkey, waiting).await;
        emulator.take_counts();
        let (mut ms, mut calls) = (Vec::new(), 0);
        for round in 0..=rounds {
            let start = Instant::now();
            let takes = DuePart::all().map(|part| valkey.take_due(part, DUE_BATCH, NOW));
            let taken = try_join_all(takes).await.expect("taken");
            // the first round loads the scripts and opens connections
            if round > 0 {
                ms.push(start.elapsed().as_secs_f64() * 1e3);
            }
            calls = taken.len();
            let entries: Vec<_> = taken.into_iter().flat_map(|taken| taken.entries).collect();
            assert_eq!(entries.len(), DUE, "all that is due, and nothing else");
            for entry in &entries {
                valkey.due_again(entry).await.expect("returned");
            }
        }
        let units = emulator.take_counts().units;
        Way { ms: median(ms), read_units: units.reads, calls: calls as f64 }
    })
}
