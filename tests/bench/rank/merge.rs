//! Ten boards merged into one, against `ZUNIONSTORE` of ten plain sorted sets.
//!
//! Half of the 100,000 members of each board are also on the next one, so there are 550,000. Fanfold takes 20.8 to 22.4 s
//! (with the emulated DynamoDB in the same process), 4.7 to 4.8 s of server CPU and 19,220 read units; its longest command
//! takes 14 ms. `ZUNIONSTORE` is one command of 0.91 to 1.05 s; its sets must be in one slot, and its scores are doubles.

use std::collections::BTreeMap;
use std::time::Instant;

use fanfold_core::board::MergeBy;
use fanfold_core::id::Identity;
use fanfold_core::limits::{BOARD_MERGE_MAX, BOARD_MERGED_EVERY, BOARD_PARTS};
use fanfold_core::{BoardName, Time};
use fanfold_engines::valkey::PageOf;
use fanfold_kinds::App;
use fanfold_kinds::boards::events::continue_round;
use fanfold_kinds::boards::items::{StoredBoard, StoredRound};
use fanfold_kinds::boards::read::page;
use fanfold_kinds::boards::round::BoardRound;
use fanfold_kinds::boards::{BoardRef, settings};
use fanfold_kinds::people::put_profile;
use fanfold_runtime::clock::Deadline;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;

use super::name;
use crate::emulator::{BOARDS, Emulator};
use crate::harness::dice::Dice;
use crate::report::{Report, short, thousands};
use crate::server::Server;
use crate::stats::median;
use crate::{Pace, runtime};

const NOW: Time = Time::from_ms(1_800_000_000_000);
/// The ways to merge, and how figures and Valkey call them.
const WAYS: [(MergeBy, &str, &str); 3] = [
    (MergeBy::Sum, "sum", "SUM"),
    (MergeBy::Minimum, "minimum", "MIN"),
    (MergeBy::Maximum, "maximum", "MAX"),
];
/// A plain client merges in the server: all sets are in one slot.
const PLAIN: &str = "merge:{1}";
/// The rows of one page that are compared.
const PAGE: u64 = 100;

/// One merge, measured.
struct Merge {
    seconds: f64,
    /// The server's CPU.
    server_s: f64,
    /// The longest time for which the server answered nobody else.
    blocked_ms: f64,
    read_units: f64,
}

/// The boards, and the same scores as plain sorted sets.
struct Boarded {
    emulator: Emulator,
    server: Server,
    boards: App,
    owner: Identity,
    /// The members of each board.
    members: u64,
}

/// The score of a member on a board.
fn score(board: u64, member: u64) -> i64 {
    (Dice(board * 1_000_003 + member).next() % 1_000_000) as i64
}

/// The members of a board: half of them are on the next board too.
fn members(board: u64, count: u64) -> std::ops::Range<u64> {
    board * count / 2..board * count / 2 + count
}

fn board_name(board: u64) -> BoardName {
    format!("board-{board}").parse().expect("a name")
}

impl Boarded {
    async fn new(members_each: u64) -> Self {
        let (emulator, mut server) = (Emulator::default(), Server::start());
        let (sdk, config) = (emulator.sdk(), server.config());
        let owner = Identity::of("https://issuer.example", "merge");
        let profiles = App::new(&sdk, &config).expect("profiles");
        put_profile(&profiles, &owner, "merge", "merge", NOW).await.expect("a profile");
        let boards = App::new(&sdk, &config).expect("boards");
        for board in 0..BOARD_MERGE_MAX as u64 {
            let stored = put(&boards, &owner, &board_name(board), None).await;
            let rows = stored.rows(stored.settings.round(NOW));
            for member in members(board, members_each) {
                emulator.put(BOARDS, row(rows, member, score(board, member)));
            }
            let key = format!("{PLAIN}:{board}");
            server.send(members(board, members_each).map(|member| {
                let mut add = redis::cmd("ZADD");
                add.arg(&key).arg(score(board, member)).arg(name(member));
                add
            }));
        }
        Self { emulator, server, boards, owner, members: members_each }
    }

    /// Measures some work.
    fn measured(&mut self, work: impl FnOnce(&mut Self)) -> Merge {
        let slow = |work: &str| redis::cmd("SLOWLOG").arg(work).to_owned();
        for (setting, value) in [("slowlog-log-slower-than", 100), ("slowlog-max-len", 100_000)] {
            self.server.query::<()>(redis::cmd("CONFIG").arg("SET").arg(setting).arg(value));
        }
        self.server.query::<()>(&slow("RESET"));
        let _before = self.emulator.take_counts();
        let (before, start) = (self.server.cpu_s(), Instant::now());
        work(self);
        let seconds = start.elapsed().as_secs_f64();
        let server_s = self.server.cpu_s() - before;
        type Slow = (u64, u64, u64, Vec<redis::Value>, String, String);
        let slow: Vec<Slow> = self.server.query(slow("GET").arg(-1));
        let blocked = slow.iter().map(|(_, _, us, ..)| *us).max().unwrap_or_default();
        let read_units = self.emulator.take_counts().units.reads;
        Merge { seconds, server_s, blocked_ms: blocked as f64 / 1e3, read_units }
    }

    /// Makes the copy of a merged board, as the function `rebuild` does, and compares its first page.
    fn ours(&mut self, runtime: &Runtime, (by, called): (MergeBy, &str), now: Time) -> Merge {
        let called: BoardName = called.parse().expect("a name");
        let stored = runtime.block_on(put(&self.boards, &self.owner, &called, Some(by)));
        let merge = self.measured(|own| {
            runtime.block_on(async {
                let round = stored.settings.round(now);
                let target = BoardRound::new(stored, round, now);
                let order = target.order("bench");
                let made = continue_round(&own.boards, &order, now, Deadline::NONE);
                made.await.expect("merged");
            });
        });
        let board = BoardRef { owner: self.owner.user(), name: called, day: None };
        let first = PageOf::Rank { from: 1, limit: PAGE };
        let shown = runtime.block_on(page(&self.boards, &board, first, now)).expect("a page").page;
        let expected = self.expected(by);
        assert_eq!(shown.members, expected.len() as u64);
        let found = shown.rows.iter().map(|row| (row.scores.as_slice()[0], row.member.to_string()));
        assert!(found.eq(expected.into_iter().take(PAGE as usize)), "another page");
        merge
    }

    /// All merged scores, best first.
    fn expected(&self, by: MergeBy) -> Vec<(i64, String)> {
        let mut merged = BTreeMap::new();
        for board in 0..BOARD_MERGE_MAX as u64 {
            for member in members(board, self.members) {
                let own = score(board, member);
                let merge = |known: &mut i64| {
                    *known = match by {
                        MergeBy::Sum => *known + own,
                        MergeBy::Minimum => own.min(*known),
                        MergeBy::Maximum => own.max(*known),
                    };
                };
                merged.entry(member).and_modify(merge).or_insert(own);
            }
        }
        let mut all: Vec<_> = merged.into_iter().map(|(member, own)| (own, name(member))).collect();
        all.sort_by(|(one, a), (two, b)| two.cmp(one).then_with(|| a.cmp(b)));
        all
    }

    /// Merges the plain sorted sets.
    fn plain(&mut self, by: &str) -> Merge {
        self.measured(|own| {
            let mut union = redis::cmd("ZUNIONSTORE");
            union.arg(format!("{PLAIN}:{by}")).arg(BOARD_MERGE_MAX);
            for board in 0..BOARD_MERGE_MAX {
                union.arg(format!("{PLAIN}:{board}"));
            }
            let _members: u64 = own.server.query(union.arg("AGGREGATE").arg(by));
        })
    }
}

/// Makes a board, or one that is merged from all others.
async fn put(
    boards: &App,
    owner: &Identity,
    name: &BoardName,
    merge: Option<MergeBy>,
) -> StoredBoard {
    let sources = || {
        (0..BOARD_MERGE_MAX as u64).map(|board| {
        json!({"owner": owner.user().to_string(), "name": board_name(board).to_string()})
    })
    };
    let merge = merge.map(|by| json!({"by": by, "boards": sources().collect::<Vec<_>>()}));
    let settings = json!({
        "orders": ["descending"], "ranks": "competition", "period": "all", "zone": "UTC",
        "kept_days": 1, "open": false, "writers": [], "merge": merge,
    });
    let settings = serde_json::from_value(settings).expect("settings");
    settings::put(boards, owner, name, settings, NOW).await.expect("a board").0
}

/// The row of a member, as the store writes it.
fn row(rows: StoredRound, member: u64, score: i64) -> serde_json::Value {
    let [first, ..] = <[u8; 32]>::from(Sha256::digest(name(member)));
    json!({
        "pk": {"S": format!("scores#{}#{}", rows.id, first % BOARD_PARTS)}, "sk": {"S": name(member)},
        "v": {"N": "1"}, "revision": {"N": "1"}, "s0": {"N": score.to_string()},
    })
}

/// Measures merges of ten boards.
pub fn run(pace: &Pace, report: &mut Report) {
    let (members, rounds) = if pace.quick { (1_000, 1) } else { (100_000, 3) };
    let runtime = runtime();
    let mut boarded = runtime.block_on(Boarded::new(members));
    let mut rows = Vec::new();
    for (by, name, valkey) in WAYS {
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            // each in another minute: a merge is made once a minute
            ours.push(boarded.ours(&runtime, (by, name), NOW + BOARD_MERGED_EVERY * round));
            plain.push(boarded.plain(valkey));
        }
        let ratios = plain.iter().zip(&ours).map(|(plain, ours)| plain.server_s / ours.server_s);
        report.set(format!("rank_merge_{name}_vs_plain"), median(ratios));
        for (way, merges) in [("ours", ours), ("plain", plain)] {
            let of = |value: fn(&Merge) -> f64| median(merges.iter().map(value));
            let (seconds, server) = (of(|merge| merge.seconds), of(|merge| merge.server_s));
            let (blocked, units) = (of(|merge| merge.blocked_ms), of(|merge| merge.read_units));
            report.set(format!("rank_merge_{name}_seconds_{way}"), seconds);
            report.set(format!("rank_merge_{name}_blocked_ms_{way}"), blocked);
            rows.push(vec![
                name.to_owned(),
                way.to_owned(),
                short(seconds),
                short(server),
                short(blocked),
                thousands(units),
            ]);
        }
    }
    let title = format!("rank: 10 boards of {} members merged", thousands(members as f64));
    let head = ["by", "way", "seconds", "server CPU, s", "longest command, ms", "read units"];
    report.table("rank_merge", &title, &head, rows);
}
