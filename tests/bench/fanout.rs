//! `fanout`: one post from dispatch to the last delivery, in one process: the real handlers, a real
//! Valkey, the emulated DynamoDB and SQS. Chunks are taken in batches of ten, several at a time.
//!
//! The feeds are live and short: what an insert into a full feed costs, `deliver` says.

mod feeds;
mod memory;

use std::cell::Cell;
use std::time::Instant;

use fanfold_core::limits::follower_shards;
use fanfold_core::{PostId, UserId};
use fanfold_dispatch::handler::Dispatched;
use fanfold_store::clock::now_ms;

use crate::emulator::{Counts, Emulator, agrees_with_the_model};
use crate::handlers::{Deliver, Dispatch, event};
use crate::report::{Report, short, thousands};
use crate::server::{Server, home};
use crate::stats::median;
use crate::{MEMORY, Pace, people};

pub const SIZES: [usize; 4] = [100, 10_000, 100_000, 1_000_000];
/// Environments of the deliver function at the same time.
const DELIVERS: usize = 4;
pub const MIB: f64 = 1024.0 * 1024.0;

/// The whole way of one post.
struct Run {
    wall_s: f64,
    server_cpu_s: f64,
    peak_mib: f64,
    counts: Counts,
    commands: f64,
    net_bytes: f64,
    deliver_s: f64,
    dispatch_s: f64,
}

struct Stage {
    emulator: Emulator,
    server: Server,
    dispatch: Dispatch,
    delivers: Vec<Deliver>,
    followers: Vec<UserId>,
    posts: u64,
}

pub fn run(pace: &Pace, report: &mut Report) {
    agrees_with_the_model();
    let mut stage = Stage::new(SIZES[SIZES.len() - 1]);
    let mut rows = Vec::new();
    let mut dispatch_peaks = Vec::new();
    for (place, count) in SIZES.into_iter().enumerate() {
        let times = match (pace.quick, count) {
            (true, 1_000_000) => 1,
            (false, 1_000_000) | (true, _) => 3,
            (false, _) => 9,
        };
        let author = stage.add_author(place as u64, count);
        let runs: Vec<Run> = (0..times).map(|_| stage.run(author, count)).collect();
        let dispatch_peak = memory::dispatch_peak_mib(&stage.emulator, &stage.dispatch, || {
            PostId::new(now_ms(), 9, author)
        });
        dispatch_peaks.push(dispatch_peak);
        summarize(report, count, &runs, dispatch_peak, &mut rows);
    }
    report.set("simple_command_cpu_us", feeds::simple_command_cpu_us(&mut stage.server));
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

impl Stage {
    fn new(most: usize) -> Self {
        let (emulator, mut server) = (Emulator::default(), Server::start());
        let followers: Vec<UserId> = (0..most as u64).map(people::user).collect();
        feeds::make_live(&mut server, &followers);
        let (sdk, config) = (emulator.sdk(), server.config());
        let dispatch = Dispatch::new(&sdk, &config);
        let delivers = (0..DELIVERS).map(|_| Deliver::new(&sdk, &config)).collect();
        Self { emulator, server, dispatch, delivers, followers, posts: 0 }
    }

    fn add_author(&self, number: u64, count: usize) -> UserId {
        let (author, shards) = (people::author(number), follower_shards(count as u64));
        people::put_profile(&self.emulator, author, count, shards);
        self.emulator.put_crowd(author, &self.followers[..count], shards);
        author
    }

    fn run(&mut self, author: UserId, count: usize) -> Run {
        self.posts += 1;
        let post = PostId::new(now_ms(), self.posts as u16 + 10, author);
        people::put_post(&self.emulator, post);
        let _before = self.emulator.take_counts();
        let (before, cpu) = (self.server.info("stats"), self.server.cpu_s());
        let held = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let start = Instant::now();
        let (dispatch_s, deliver_s) = crate::runtime().block_on(self.whole_way(post));
        let wall_s = start.elapsed().as_secs_f64();
        let peak_mib = MEMORY.peak_usage().saturating_sub(held) as f64 / MIB;
        let server_cpu_s = self.server.cpu_s() - cpu;
        let after = self.server.info("stats");
        let since = |name: &str| after[name] - before[name];
        let run = Run {
            wall_s,
            server_cpu_s,
            peak_mib,
            counts: self.emulator.take_counts(),
            commands: since("total_commands_processed"),
            net_bytes: since("total_net_input_bytes") + since("total_net_output_bytes"),
            deliver_s,
            dispatch_s,
        };
        self.check(post, count);
        run
    }

    /// Seconds that the functions were at it: dispatch, and all delivers together.
    async fn whole_way(&self, post: PostId) -> (f64, f64) {
        let (cutting, deliver_s) = (Cell::new(true), Cell::new(0.0));
        let dispatch = async {
            let start = Instant::now();
            let done = self.dispatch.take(post).await;
            assert!(matches!(done, Dispatched::Cut { .. } | Dispatched::Pushed { .. }), "{done:?}");
            cutting.set(false);
            self.emulator.wake();
            start.elapsed().as_secs_f64()
        };
        let delivers = self.delivers.iter().map(async |deliver| {
            while let Some(bodies) = self.emulator.take_chunks(|| cutting.get()).await {
                let start = Instant::now();
                deliver.take(event(bodies)).await;
                deliver_s.set(deliver_s.get() + start.elapsed().as_secs_f64());
            }
        });
        let (dispatch_s, _) = futures::join!(dispatch, futures::future::join_all(delivers));
        (dispatch_s, deliver_s.get())
    }

    /// Every follower's feed has the post, and nobody else's.
    fn check(&mut self, post: PostId, count: usize) {
        let member = fanfold_core::order::member(post);
        let keys: Vec<String> = self.followers[..count].iter().map(|user| home(*user)).collect();
        let got = self.server.holding(&keys, &member);
        assert_eq!(got, count, "feeds that have the post");
        let rest = &self.followers[count..self.followers.len().min(count + 1_000)];
        let keys: Vec<String> = rest.iter().map(|user| home(*user)).collect();
        assert_eq!(self.server.holding(&keys, &member), 0, "feeds that should not have the post");
    }
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
    let calls = |run: &Run| run.counts.calls.values().sum::<u64>() as f64;
    set("aws_calls", median(runs.iter().map(calls)));
}
