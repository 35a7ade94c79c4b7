//! `fanout`: one post from dispatch to the last delivery, in one process, with the real handlers, a real
//! Valkey, and the emulated DynamoDB and SQS. Several functions take batches of ten chunks.
//!
//! The feeds are live and short. `deliver` measures the cost of an insert into a full feed.
//!
//! A dispatch reads about 700,000 followers a second on a whole core, so it is not the limit. A core of Valkey takes
//! 240,000 to 300,000 deliveries a second (4.2 to 3.4 µs each, by machine). Thirty million live followers are 1,024
//! partitions in 128 parts, and take two minutes of one core of Valkey. The shards of a cluster divide this work, because
//! they divide the buckets.

mod feeds;
mod memory;
pub mod setup;

use fanfold_core::PostId;
use fanfold_runtime::clock::now;

pub use feeds::simple_command_cpu_us;

use crate::Pace;
use crate::emulator::assert_agrees_with_the_model;
use crate::report::{Report, short, thousands};
use crate::stats::median;
use setup::{Run, Setup};

pub const SIZES: [usize; 4] = [100, 10_000, 100_000, 1_000_000];
const MIB: f64 = 1024.0 * 1024.0;

pub fn run(pace: &Pace, report: &mut Report) {
    assert_agrees_with_the_model();
    let mut setup = Setup::new(SIZES[SIZES.len() - 1]);
    let mut rows = Vec::new();
    let mut dispatch_peaks = Vec::new();
    for (place, count) in SIZES.into_iter().enumerate() {
        let times = match (pace.quick, count) {
            (true, 1_000_000) => 1,
            (false, 1_000_000) | (true, _) => 3,
            (false, _) => 9,
        };
        let author = setup.add_author(place as u64, count);
        let runs: Vec<Run> = (0..times).map(|_| setup.run(author, count)).collect();
        let dispatch_peak = memory::dispatch_peak_mib(
            &setup.emulator,
            &setup.dispatch,
            PostId::new(now(), 9, author),
        );
        dispatch_peaks.push(dispatch_peak);
        summarize(report, count, &runs, dispatch_peak, &mut rows);
    }
    report.set("simple_command_cpu_us", simple_command_cpu_us(&mut setup.server));
    let head = [
        "followers",
        "ms to the last",
        "followers/s",
        "server µs/follower",
        "peak MiB, all",
        "peak MiB, dispatch",
    ];
    report.table("fanout", "fan-out: one post, dispatch and deliver in one process", &head, rows);
    report.set("dispatch_peak_mib_1m_minus_10k", dispatch_peaks[3] - dispatch_peaks[1]);
    let ratio = report.summary["fanout_ms_1000000"] / report.summary["fanout_ms_100000"];
    report.set("fanout_time_1m_vs_100k", ratio);
    let per_s = report.summary["fanout_followers_per_s_1000000"];
    report.set("fanout_followers_per_s_1m", per_s);
}

fn summarize(
    report: &mut Report,
    count: usize,
    runs: &[Run],
    dispatch_peak: f64,
    rows: &mut Vec<Vec<String>>,
) {
    let of = |value: fn(&Run) -> f64| median(runs.iter().map(value));
    let (ms, followers) = (of(|run| run.wall_s) * 1e3, count as f64);
    let cpu_us = of(|run| run.server_cpu_s) * 1e6 / followers;
    let peak = of(|run| run.peak_mib);
    rows.push(vec![
        thousands(followers),
        short(ms),
        thousands(followers / ms * 1e3),
        short(cpu_us),
        short(peak),
        short(dispatch_peak),
    ]);
    let mut set = |name: &str, value: f64| report.set(format!("fanout_{name}_{count}"), value);
    set("ms", ms);
    set("followers_per_s", followers / ms * 1e3);
    set("cpu_us", cpu_us);
    set("peak_mib", peak);
    set("dispatch_peak_mib", dispatch_peak);
    set("server_cpu_s", of(|run| run.server_cpu_s));
    set("server_commands", of(|run| run.commands));
    set("server_net_bytes", of(|run| run.net_bytes));
    set("dispatch_s", of(|run| run.dispatch_s));
    set("deliver_s", of(|run| run.deliver_s));
    set("messages", of(|run| run.counts.messages as f64));
    set("sqs_requests", of(|run| run.counts.sqs_requests as f64));
    set("batches", of(|run| run.counts.batches as f64));
    set("read_units", of(|run| run.counts.units.reads));
    set("write_units", of(|run| run.counts.units.writes));
    set("aws_calls", of(|run| run.counts.all_calls() as f64));
}
