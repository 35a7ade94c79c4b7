//! `rank`: boards against plain sorted sets. The server's CPU for one operation, each in a request of its own.
//!
//! | way | does |
//! | --- | --- |
//! | ours | one script call; the scores are exact, and the rank belongs to them |
//! | plain | ZADD and ZREVRANK, in one message; one score, which is a double |
//! | steps | the commands of our script, without the script: HGET, then the others in one message |
//! | optimistic | the same commands with WATCH and MULTI, by eight writers at once |
//! | packed | two scores packed into one double; ZADD and ZREVRANK, in one message |
//!
//! | module | contains |
//! | --- | --- |
//! | [`ours`] | boards |
//! | [`plain`] | the other ways |
//! | [`optimistic`] | eight writers with WATCH and MULTI |
//! | [`merge`] | ten boards merged into one, against `ZUNIONSTORE` |
//!
//! Only the ratios of one run are meaningful. About 15 µs of each request are the server's wake-up. On a machine with other
//! work, the server is woken up less often, and the same commands take less CPU: there, a set took 40.5 µs and the plain
//! commands 10.2 µs (0.24 ×), instead of 58.4 and 35.3 µs (0.60 ×). Of a set, `INFO` takes 2.3 µs; each function of a script
//! costs about 0.2 µs in each call.
//!
//! Of pairs of members with the same first score, and second scores that differ by less than 1,024, packed scores lose the
//! order of none with 24 or 26 bits each, 7.8 % with 30, 69 % with 32, and 100 % with 40: a double has 53.

mod merge;
mod optimistic;
mod ours;
mod plain;

use crate::harness::dice::Dice;
use crate::report::{Report, short, thousands};
use crate::server::Server;
use crate::stats::median;
use crate::{Pace, runtime};

/// The numbers of members.
pub const SIZES: [u64; 2] = [1_000, 1_000_000];
/// The sizes of a quick run. The figures have the names of the others.
const SIZES_QUICK: [u64; 2] = [1_000, 5_000];
/// The ways that the plot shows, by their name in figures.
pub const WAYS: [(&str, &str); 4] = [
    ("ours", "Fanfold"),
    ("plain", "ZADD, ZREVRANK"),
    ("steps", "same steps, no script"),
    ("optimistic", "WATCH, MULTI, 8 writers"),
];
/// The members of a page.
const PAGE: u64 = 50;
/// The scores are below this, so that some members have the same ones.
const SCORES: u64 = 500_000;

/// A change of a random member.
struct Change {
    member: u64,
    score: i64,
}

/// Random changes, the same ones for each way.
struct Changes {
    members: u64,
    dice: Dice,
}

impl Iterator for Changes {
    type Item = Change;

    fn next(&mut self) -> Option<Change> {
        let (member, score) = (self.dice.below(self.members), self.dice.below(SCORES));
        Some(Change { member, score: score as i64 })
    }
}

/// The score of each member at first.
fn first_score(member: u64) -> i64 {
    (Dice(member).next() % SCORES) as i64
}

fn name(member: u64) -> String {
    format!("member-{member:07}")
}

/// The server's CPU for each of `count` operations, in µs.
fn measured(server: &mut Server, count: usize, work: impl FnOnce(&mut Server)) -> f64 {
    let before = server.cpu_s();
    work(server);
    (server.cpu_s() - before) * 1e6 / count as f64
}

pub fn run(pace: &Pace, report: &mut Report) {
    let (sizes, rounds, count) =
        if pace.quick { (SIZES_QUICK, 1, 300) } else { (SIZES, 5, 10_000) };
    let runtime = runtime();
    let mut rows = Vec::new();
    for (size, name) in sizes.into_iter().zip(SIZES) {
        let mut server = Server::start();
        let ours = ours::Ours::new(&mut server, &runtime, size);
        plain::load(&mut server, size);
        let mut found: Vec<(&str, &str, Vec<f64>)> = Vec::new();
        let mut note = |work: &'static str, way: &'static str, us: f64| match found
            .iter_mut()
            .find(|(a, b, _)| (*a, *b) == (work, way))
        {
            Some((_, _, all)) => all.push(us),
            None => found.push((work, way, vec![us])),
        };
        let mut lost = Vec::new();
        for round in 0..rounds {
            let changes = || Changes { members: size, dice: Dice(round) }.take(count);
            note("set", "ours", measured(&mut server, count, |s| ours.put(s, changes())));
            note(
                "set",
                "ours, 4 scores, dense",
                measured(&mut server, count, |s| ours.put_four(s, changes())),
            );
            note("set", "plain", measured(&mut server, count, |s| plain::set(s, changes())));
            note("set", "packed", measured(&mut server, count, |s| plain::packed(s, changes())));
            note("set", "steps", measured(&mut server, count, |s| plain::steps(s, changes())));
            note("add", "plain", measured(&mut server, count, |s| plain::add(s, changes())));
            let (url, before) = (server.url(), server.cpu_s());
            let tries = optimistic::set(&url, changes());
            note("set", "optimistic", (server.cpu_s() - before) * 1e6 / count as f64);
            lost.push(tries as f64 / count as f64);
            note("rank", "ours", measured(&mut server, count, |s| ours.ranks(s, changes())));
            note("rank", "plain", measured(&mut server, count, |s| plain::rank(s, changes())));
            note("page", "ours", measured(&mut server, count, |s| ours.pages(s, changes())));
            note("page", "plain", measured(&mut server, count, |s| plain::page(s, changes())));
        }
        let of = |work: &str, way: &str| {
            let all = found.iter().find(|(a, b, _)| (*a, *b) == (work, way));
            all.map(|(_, _, all)| all.clone()).expect("measured")
        };
        // an addition is computed by DynamoDB; for Valkey it is a set
        for (work, own) in [("set", "set"), ("add", "set"), ("rank", "rank"), ("page", "page")] {
            let ratios = of(work, "plain").into_iter().zip(of(own, "ours"));
            let ratio = median(ratios.map(|(plain, ours)| plain / ours));
            report.set(format!("rank_{work}_vs_plain_{name}"), ratio);
        }
        for way in ["steps", "optimistic", "packed"] {
            let ratios = of("set", way).into_iter().zip(of("set", "ours"));
            let ratio = median(ratios.map(|(other, ours)| other / ours));
            report.set(format!("rank_set_vs_{way}_{name}"), ratio);
        }
        report.set(format!("rank_lost_tries_{name}"), median(lost.clone()));
        for (work, way, all) in &found {
            let us = median(all.iter().copied());
            report.set(
                format!("rank_{work}_us_{}_{name}", way.replace(", ", "_").replace(' ', "_")),
                us,
            );
            let own = median(of(if *work == "add" { "set" } else { work }, "ours"));
            let lost = median(lost.clone());
            let note = if *way == "optimistic" {
                format!("{} lost tries for each", short(lost))
            } else {
                String::new()
            };
            rows.push(vec![
                thousands(size as f64),
                (*work).to_owned(),
                (*way).to_owned(),
                short(us),
                short(us / own),
                note,
            ]);
        }
        report.set(format!("rank_bytes_per_member_{name}"), ours.bytes_per_member());
        if name == SIZES[1] {
            report.set("rank_generation_us", ours::generation_us(&mut server, count));
        }
    }
    let head = ["members", "operation", "way", "server µs", "times ours", ""];
    report.table("rank", "rank: server CPU for one operation", &head, rows);
    packed_loses(report);
    merge::run(pace, report);
}

/// The share of pairs of members whose order is lost or wrong if two scores are packed into one double. Both members have
/// the same first score, and their second scores differ by less than 1,024.
fn packed_loses(report: &mut Report) {
    let mut dice = Dice(3);
    let mut rows = Vec::new();
    for bits in [24, 26, 30, 32, 36, 40] {
        let (mut wrong, pairs) = (0_u32, 100_000);
        for _ in 0..pairs {
            let random = |dice: &mut Dice| dice.next() >> (64 - bits);
            let one = [random(&mut dice), random(&mut dice)];
            let two = [one[0], one[1] ^ (1 + dice.below(999))];
            let pack =
                |[first, second]: [u64; 2]| first as f64 * (1_u64 << bits) as f64 + second as f64;
            let packed = pack(one).partial_cmp(&pack(two));
            wrong += u32::from(packed != Some(one.cmp(&two)));
        }
        let percent = f64::from(wrong) * 100.0 / f64::from(pairs);
        report.set(format!("rank_packed_wrong_percent_{bits}_bits"), percent);
        rows.push(vec![bits.to_string(), short(percent)]);
    }
    let head = ["bits of each score", "order lost or wrong, %"];
    let title = "rank: two scores in one double; pairs with the same first score whose second ones differ by less than 1,024";
    report.table("rank_packed", title, &head, rows);
}
