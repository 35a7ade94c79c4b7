//! `deliver`: the deliver handler against other ways to deliver a post.
//!
//! | variant | does |
//! | --- | --- |
//! | ours | the deliver handler: takes an SQS event of ten chunks, and acknowledges all |
//! | pipeline | ZADD and ZREMRANGEBYRANK for each follower, live or not; feeds of 500 entries |
//! | script | one script call per follower: checks that the feed is live, ZADD, trim; our layout |
//! | ceiling | only ZADD, for each live follower; our layout, trimmed outside the measurement |
//!
//! Each variant has its own server with full feeds. The variants take turns. Each turn delivers new posts
//! until the server has used enough CPU.
//!
//! A quarter of the server's time is the search for the member in the compact list (`perf`: `lpFind` and its comparisons).
//! Bare ZADDs have the same cost. Newest first (negated scores) halves the cost of an insert into a compact list.

use std::time::Duration;

mod baselines;
mod feeds;
mod ours;
mod turn;
mod variant;

use fanfold_core::{PostId, Time, UserId};
use fanfold_runtime::clock::now;

use crate::harness::dice::Dice;
use crate::report::{Report, short, thousands};
use crate::stats::median;
use crate::{Pace, people};
use baselines::{Ceiling, Plain, Script};
use feeds::Layout;
use ours::Ours;
use turn::{Turn, take_turn};
use variant::Variant;

const LIVE_PERCENT: [u64; 3] = [100, 20, 5];
const NAMES: [&str; 4] = ["ours", "pipeline", "script", "ceiling"];

/// The followers of an author, and those with live feeds among them.
pub struct Audience {
    pub author: UserId,
    /// In bucket order, as dispatch reads them.
    pub followers: Vec<UserId>,
    pub live: Vec<UserId>,
}

impl Audience {
    pub fn new(count: u64, live_percent: u64) -> Self {
        let mut numbered: Vec<(u64, UserId)> = (0..count).map(|n| (n, people::user(n))).collect();
        numbered
            .sort_by_key(|(_, user)| (user.bucket(fanfold_core::limits::BUCKETS_DEFAULT), *user));
        let live = numbered.iter().filter(|(n, _)| n % 100 < live_percent).map(|(_, user)| *user);
        let live = live.collect();
        let followers = numbered.into_iter().map(|(_, user)| user).collect();
        Self { author: people::author(0), followers, live }
    }
}

/// New posts, each one millisecond after the one before.
pub struct Posts {
    author: UserId,
    next: Time,
    dice: Dice,
}

impl Posts {
    pub fn next(&mut self) -> PostId {
        self.next += Duration::from_millis(1);
        // the store uses these bits to choose the posts with which it checks lengths
        PostId::new(self.next, self.dice.next() as u16, self.author)
    }
}

pub fn run(pace: &Pace, report: &mut Report) {
    let (count, rounds, cpu_s, units) = match pace.quick {
        true => (5_000, 3, 0.1, 20_000),
        false => (20_000, 5, 1.0, 200_000),
    };
    let runtime = crate::runtime();
    let all = Audience::new(count, 100);
    let mut posts = Posts { author: all.author, next: now(), dice: Dice(5) };
    let mut plain = Plain::new(&all);
    let mut ours = Ours::new(&all);
    let mut others: Vec<Box<dyn Variant>> =
        vec![Box::new(Script::new(&all)), Box::new(Ceiling::new(&all))];
    let bytes = [plain.feeds.bytes_per_feed(&all), ours.feeds.bytes_per_feed(&all)];
    sizes(report, bytes);
    let mut rows = Vec::new();
    for live in LIVE_PERCENT {
        let audience = Audience::new(count, live);
        ours.feeds.drop_all_but(&all, &audience);
        // a bare ZADD cannot skip followers without a live feed
        others.truncate(if live == 100 { 2 } else { 1 });
        for other in &mut others {
            other.feeds().drop_all_but(&all, &audience);
        }
        let mut turns: Vec<Vec<Turn>> = Vec::new();
        for _ in 0..rounds {
            let mut round = vec![
                take_turn(&mut ours, &audience, &mut posts, cpu_s, &runtime),
                take_turn(&mut plain, &audience, &mut posts, cpu_s, &runtime),
            ];
            for other in &mut others {
                round.push(take_turn(other.as_mut(), &audience, &mut posts, cpu_s, &runtime));
            }
            turns.push(round);
        }
        summarize(report, live, &turns, &mut rows);
        if live == 100 {
            let unit_us = median((0..rounds).map(|_| ours.feeds.server.ecpu_us(units)));
            let deliver_us = median(turns.iter().map(|round| round[0].cpu_us));
            report.set("ecpu_us", unit_us);
            report.set("ecpu_per_delivery", deliver_us / unit_us);
        }
    }
    let head = ["live", "variant", "server µs/follower", "wall µs/follower", "times ours"];
    let title = format!(
        "deliver: {} followers, 256 buckets; medians of {rounds} turns of {cpu_s} s of server CPU",
        thousands(count as f64)
    );
    report.table("deliver", &title, &head, rows);
}

fn sizes(report: &mut Report, [plain, ours]: [f64; 2]) {
    let rows = vec![
        vec![format!("{} entries, server default", Layout::PLAIN_ENTRIES), thousands(plain)],
        vec![
            "ours: 80 to 105 entries, compact, with its entry in `live`".to_owned(),
            thousands(ours),
        ],
    ];
    let title = "bytes per feed, of all memory that the server uses";
    report.table("bytes", title, &["layout", "bytes"], rows);
    report.set("bytes_per_feed_pipeline", plain);
    report.set("bytes_per_feed", ours);
    report.set("bytes_per_feed_vs_pipeline", ours / plain);
}

fn summarize(report: &mut Report, live: u64, turns: &[Vec<Turn>], rows: &mut Vec<Vec<String>>) {
    let against =
        ["", "deliver_vs_pipeline", "deliver_vs_script_per_follower", "deliver_vs_ceiling"];
    let measured = turns.first().map_or(0, Vec::len);
    for (place, name) in NAMES.iter().enumerate().take(measured) {
        let cpu = median(turns.iter().map(|round| round[place].cpu_us));
        let wall = median(turns.iter().map(|round| round[place].wall_us));
        let times = median(turns.iter().map(|round| round[place].cpu_us / round[0].cpu_us));
        rows.push(vec![
            format!("{live} %"),
            (*name).to_owned(),
            short(cpu),
            short(wall),
            short(times),
        ]);
        report.set(format!("deliver_cpu_us_{name}_live{live}"), cpu);
        report.set(format!("deliver_wall_us_{name}_live{live}"), wall);
        match *name {
            "ours" => {}
            "ceiling" => report.set(against[place], times),
            _ => report.set(format!("{}_live{live}", against[place]), times),
        }
    }
}
