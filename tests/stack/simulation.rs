//! Simulated histories. Many clients and handlers work at the same time. They use the real scripts
//! on a real Valkey, and a DynamoDB and SQS in memory. The seed decides when each of their calls to
//! a store is made. Messages arrive twice, late and out of order. Calls fail with or without effect.
//! Workers die between any two steps. Valkey loses its data or falls back to an older state.
//!
//! During a history, every reader must see each post that no worker is handling any more. At rest,
//! every live feed, and every walk down its pages, must equal the result computed from the tables.
//!
//! | module | contains |
//! | --- | --- |
//! | [`plan`] | the actions of a history |
//! | [`play`] | runs a plan and checks it |
//! | [`history`] | the engine of the other histories |
//! | [`steps`], [`tasks`] | one call at a time, in a chosen order |
//! | [`cloud`], [`expression`] | DynamoDB and SQS |
//! | [`units`] | the units that DynamoDB charges |
//! | [`capacity`] | DynamoDB's limits per second for an item and a partition key |
//! | [`crowd`] | thousands of users act at once |
//! | [`server`] | a Valkey server for each thread, with faults |
//! | [`apps`] | the handlers over these stores |
//! | [`oracle`] | the expected content of feeds |
//! | [`likeness`] | the simulated DynamoDB gives the same answers as the local cloud's |
//! | [`due`] | items fall due while everything goes wrong |
//! | [`likes`] | posts are liked while everything goes wrong |
//! | [`boards`] | scores of boards change while everything goes wrong |
//! | [`due_crowd`] | thousands of items fall due in a short time |
//! | [`dropping`] | a user is erased while everything else goes on |
//! | [`calls`] | how many calls each operation makes |
//! | [`rows`] | short and empty pages of DynamoDB end no list |
//! | [`refusals`] | texts and sizes that SQS or DynamoDB refuses |
//! | [`stampede`] | all readers return at once |
//! | [`shrink`] | shortens a history that failed |

mod apps;
mod boards;
mod calls;
mod capacity;
mod cloud;
mod crowd;
mod crowd_tags;
mod dropping;
mod due;
mod due_crowd;
mod expression;
mod history;
mod kept;
mod likeness;
mod likes;
mod oracle;
mod plan;
mod play;
mod refusals;
mod reserved;
mod rows;
mod server;
mod shrink;
mod stampede;
mod steps;
mod tasks;
mod threads;
mod units;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use history::Counts;
use plan::Plan;
use shrink::Runner;

/// The number in an environment variable, or a default.
fn env_number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, not a number"))
    })
}

/// The seconds of a soak. 0: the day's tests, which play the same histories in every run.
fn soak_s() -> u64 {
    env_number("FANFOLD_SOAK_S", 0)
}

/// The first seed: `FANFOLD_SEED`, or 1, or a fresh one in a soak.
fn first_seed() -> u64 {
    let usual = if soak_s() > 0 { crate::harness::dice::fresh() >> 16 } else { 1 };
    env_number("FANFOLD_SEED", usual)
}

/// Runs 800 histories, or as many as fit in a soak. (`--mutations` runs up to 3,000 of them.)
#[test]
fn every_history_leaves_every_feed_right() {
    let first = first_seed();
    let total = run_all("FANFOLD_HISTORIES", first, if soak_s() > 0 { u64::MAX } else { 800 });
    // Only here: the same histories give the same counts in every run, and fresh ones may give smaller counts by chance.
    if first == 1 && total["histories"] >= 500 {
        for (name, least) in [
            ("pulled", 50),
            ("rests", 5),
            ("grown", 50),
            ("partitions", 50),
            ("divided", 20),
            ("cards", 2_000),
            ("profiles", 50),
            ("relations", 50),
        ] {
            let count = total.get(name).copied().unwrap_or_default();
            assert!(count > least, "{name}: {count}, too few for the histories to prove anything");
        }
    }
}

/// The share of a soak that each kind of histories may take that runs on one thread.
const SOAK_SHARES: u64 = 4;

/// The seeds of histories on one thread: the usual number, or as an environment variable says, or as many as fit in their share
/// of a soak.
fn seeds_of(variable: &str, usual: u64) -> impl Iterator<Item = u64> {
    let (first, soak, begun) = (first_seed(), soak_s(), Instant::now());
    let count = env_number(variable, if soak > 0 { u64::MAX } else { usual });
    println!("histories from seed {first} on");
    let in_time = move || soak == 0 || begun.elapsed() < Duration::from_secs(soak / SOAK_SHARES);
    (first..first.saturating_add(count)).take_while(move |_| in_time())
}

/// Runs `count` histories, unless the environment variable `setting` gives another count. Returns the sums of their
/// counters.
fn run_all(setting: &str, first: u64, count: u64) -> Counts {
    let count = env_number(setting, count);
    let soak = soak_s();
    println!("histories from seed {first} on");
    let (start, next) = (Instant::now(), AtomicU64::new(0));
    let (total, failure) = (Mutex::new(Counts::default()), Mutex::new(None));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let runner = Runner::new();
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    let late = soak > 0 && start.elapsed() > Duration::from_secs(soak);
                    if nth >= count || late || lock(&failure).is_some() {
                        return;
                    }
                    let plan = Plan::new(first + nth);
                    match runner.run(&plan) {
                        Ok(counts) => history::add(&mut lock(&total), counts),
                        Err(_) if lock(&failure).is_some() => return,
                        Err(found) => {
                            let mut failure = lock(&failure);
                            *failure = Some(shrink::shortest(&runner, plan, found));
                        }
                    }
                }
            });
        }
    });
    let total = lock(&total).clone();
    println!("histories from seed {first}: {total:?}, {} s", start.elapsed().as_secs());
    if let Some(text) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        panic!("{text}");
    }
    total
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
