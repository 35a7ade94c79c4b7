//! `cargo local bench`: measures speed, size and cost. Each figure is compared with a baseline or a
//! limit from the same run.
//!
//! | module | contains |
//! | --- | --- |
//! | [`deliver`] | the deliver handler against the plain pipeline, a script per follower, bare ZADDs |
//! | [`fanout`] | dispatch and deliver in one process, 100 to 1,000,000 followers |
//! | [`sizes`] | the measurements behind the default sizes of a fan-out |
//! | [`read`] | a page from the cache against a pull at read time, and against reading items; the memory of cards |
//! | [`write`] | the calls of a publication and of a follow |
//! | [`rebuild`] | a returning reader's feed against one query after another |
//! | [`returns`] | what a return costs, and when it is cheaper to drop a feed than to keep it |
//! | [`due`] | due items found by a scan, an index by hour, a sorted set, and keyspace notifications |
//! | [`rank`] | boards against plain sorted sets, transactions, and scores packed into a double |
//! | [`start`] | the release binaries: start, first HTTPS request, size, loads of a page over HTTP |
//! | [`cost`], [`prices`] | the cost of a million deliveries |
//! | [`targets`], [`report`], [`plot`] | targets, tables and plot of the figures |
//! | [`handlers`] | the only calls to the functions |
//! | [`emulator`], [`server`], [`people`] | DynamoDB and SQS in memory, a real Valkey, and their users |
//! | [`http`] | HTTP on a stream, for servers that a function calls |

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a bench fails like a test: with a panic"
)]

mod cost;
mod deliver;
mod due;
mod emulator;
mod fanout;
mod handlers;
mod harness;
mod http;
mod people;
mod plot;
mod prices;
mod rank;
mod read;
mod rebuild;
mod report;
mod returns;
mod server;
mod simulation;
mod sizes;
mod start;
mod stats;
mod targets;
mod write;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use peak_alloc::PeakAlloc;
use tokio::runtime::Runtime;

use report::Report;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The duration of the measurements.
pub struct Pace {
    /// Fewer and shorter measurements, which only show that the benches work.
    pub quick: bool,
}

type Part = (&'static str, fn(&Pace, &mut Report));

const PARTS: [Part; 11] = [
    ("deliver", deliver::run),
    ("fanout", fanout::run),
    ("sizes", sizes::run),
    ("read", read::run),
    ("write", write::run),
    ("rebuild", rebuild::run),
    ("returns", returns::run),
    ("due", due::run),
    ("rank", rank::run),
    ("start", start::run),
    ("cost", cost::run),
];

/// A runtime with one thread, as in a function.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let (options, names): (Vec<_>, Vec<_>) =
        arguments.iter().map(String::as_str).partition(|word| word.starts_with('-'));
    let known: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
    let unknown = names.iter().find(|name| !known.contains(name));
    if let Some(word) = options.iter().find(|option| **option != "--quick").or(unknown) {
        eprintln!("bench: unknown argument {word:?}; use --quick or {}", known.join(", "));
        return ExitCode::FAILURE;
    }
    let (pace, start) = (Pace { quick: options.contains(&"--quick") }, Instant::now());
    let mut report = Report::default();
    report.set("quick", f64::from(u8::from(pace.quick)));
    for (name, run) in PARTS {
        if names.is_empty() || names.contains(&name) {
            let start = Instant::now();
            run(&pace, &mut report);
            println!("  ({name}: {:.0} s)", start.elapsed().as_secs_f64());
        }
    }
    finish(&report, names.is_empty(), start)
}

fn finish(report: &Report, all: bool, start: Instant) -> ExitCode {
    targets::print(report);
    let folder = PathBuf::from(harness::setting("FANFOLD_BENCH_FOLDER"));
    let mut files = report.write(&folder).expect("figures written");
    files.extend(plot::draw(report, &folder));
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    println!("\n{:.0} s; written: {}", start.elapsed().as_secs_f64(), files.join(", "));
    let missing = targets::missing(report);
    if all && !missing.is_empty() {
        eprintln!("bench: not measured: {}", missing.join(", "));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
