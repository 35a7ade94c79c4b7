//! `sizes`: the measurements behind the default sizes of a fan-out: the number of followers in a message,
//! and the largest audience that needs no messages.
//!
//! 100,000 followers, per million deliveries:
//!
//! | followers in a message | time | server CPU per follower | messages | SQS requests | write units |
//! | --- | --- | --- | --- | --- | --- |
//! | 250, 500 | 505, 518 ms | 3.45 µs | 2,610 | 870 | 2,700 |
//! | 1,000 | 452 ms | 3.10 µs | 1,330 | 760 | 1,420 |
//! | 2,000 | 456 ms | 3.13 µs | 600 | 530 | 690 |
//! | 5,000 | 507 ms | 3.42 µs | 290 | 480 | 380 |
//!
//! A message has at least one range, about 390 followers of a full partition. Without messages, a fan-out to 100 followers
//! takes 2.9 ms instead of 4.5, to 2,000 13.7 ms instead of 15.4, and to 5,000 27 ms both ways.

use crate::Pace;
use crate::fanout::setup::{Run, Setup};
use crate::report::{Report, short, thousands};
use crate::stats::median;

pub fn run(pace: &Pace, report: &mut Report) {
    chunks(pace, report);
    at_once(pace, report);
}

/// Measures the same audience with smaller and larger messages.
fn chunks(pace: &Pace, report: &mut Report) {
    let (count, times) = if pace.quick { (20_000, 3) } else { (100_000, 9) };
    let mut rows = Vec::new();
    for chunk in [250, 500, 1_000, 2_000, 5_000] {
        let mut setup = Setup::with(count, &[("CHUNK_FOLLOWERS", chunk), ("SMALL_FOLLOWERS", 0)]);
        let author = setup.add_author(0, count);
        let runs: Vec<Run> = (0..times).map(|_| setup.run(author, count)).collect();
        let of = |value: fn(&Run) -> f64| median(runs.iter().map(value));
        let (ms, cpu_us) =
            (of(|run| run.wall_s) * 1e3, of(|run| run.server_cpu_s) * 1e6 / count as f64);
        let million = 1e6 / count as f64;
        rows.push(vec![
            thousands(chunk as f64),
            short(ms),
            short(cpu_us),
            thousands(of(|run| run.counts.messages as f64) * million),
            thousands(of(|run| run.counts.sqs_requests as f64) * million),
            thousands(of(|run| run.counts.units.writes) * million),
        ]);
        report.set(format!("chunk_{chunk}_ms"), ms);
        report.set(format!("chunk_{chunk}_cpu_us"), cpu_us);
    }
    let head = [
        "followers in a message",
        "ms",
        "server µs/follower",
        "messages",
        "SQS requests",
        "write units",
    ];
    let title = format!(
        "sizes: {} followers, by followers in a message (last three columns: per million deliveries)",
        thousands(count as f64)
    );
    report.table("chunks", &title, &head, rows);
}

/// Measures small audiences, pushed by dispatch itself and through messages.
fn at_once(pace: &Pace, report: &mut Report) {
    let times = if pace.quick { 5 } else { 25 };
    let mut rows = Vec::new();
    for count in [100, 1_000, 2_000, 5_000] {
        let mut row = vec![thousands(count as f64)];
        for (name, small) in [("at_once", 10_000), ("messages", 0)] {
            let mut setup = Setup::with(count, &[("SMALL_FOLLOWERS", small)]);
            let author = setup.add_author(0, count);
            let runs: Vec<Run> = (0..times).map(|_| setup.run(author, count)).collect();
            let of = |value: fn(&Run) -> f64| median(runs.iter().map(value));
            let calls = of(|run| run.counts.all_calls() as f64);
            let (ms, dispatch_ms) = (of(|run| run.wall_s) * 1e3, of(|run| run.dispatch_s) * 1e3);
            row.extend([short(ms), short(dispatch_ms), short(calls)]);
            report.set(format!("small_{count}_{name}_ms"), ms);
        }
        rows.push(row);
    }
    let head = [
        "followers",
        "at once ms",
        "dispatch ms",
        "AWS calls",
        "messages ms",
        "dispatch ms",
        "AWS calls",
    ];
    report.table("at_once", "sizes: small audiences, at once and through messages", &head, rows);
}
