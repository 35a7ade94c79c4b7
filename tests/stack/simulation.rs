//! Simulated histories. Many clients and handlers are at work at once, over the real scripts on a
//! real Valkey and a DynamoDB and SQS in memory; each of their calls to a store is made when the
//! seed says so. Messages come twice, late and out of order, calls fail with or without effect,
//! workers die between any two steps, and Valkey loses its data or falls back to an older state.
//!
//! While a history goes on, every reader must be shown what nobody is at work on any more. At rest,
//! every live feed and every walk down its pages must be what a plain look at the tables gives.
//!
//! | module | holds |
//! | --- | --- |
//! | [`plan`] | what a history does |
//! | [`play`] | does it, and checks |
//! | [`steps`], [`tasks`] | one call at a time, in an order of our choosing |
//! | [`cloud`], [`expression`] | DynamoDB and SQS |
//! | [`units`] | what DynamoDB would charge for |
//! | [`server`] | a Valkey for each thread, with its faults |
//! | [`apps`] | the handlers over these |
//! | [`oracle`] | what feeds should hold |
//! | [`likeness`] | that the simulated DynamoDB answers as the local cloud does |
//! | [`dropping`] | a user is dropped while all of this goes on |
//! | [`stampede`] | everyone returns at once |
//! | [`shrink`] | makes a history that went wrong as short as it can be |

mod apps;
mod cloud;
mod dropping;
mod expression;
mod likeness;
mod oracle;
mod plan;
mod play;
mod server;
mod shrink;
mod stampede;
mod steps;
mod tasks;
mod units;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use plan::Plan;
use shrink::Theatre;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, not a number"))
    })
}

/// 2,000 histories, or as many as fit in `FANFOLD_SOAK_S` seconds, from `FANFOLD_SEED` on.
#[test]
fn every_history_leaves_every_feed_right() {
    let soak = number("FANFOLD_SOAK_S", 0);
    // a soak looks where nobody has looked before
    let fresh = if soak > 0 { crate::harness::dice::fresh() >> 16 } else { 1 };
    let first = number("FANFOLD_SEED", fresh);
    let count = number("FANFOLD_HISTORIES", if soak > 0 { u64::MAX } else { 2_000 });
    let (start, next) = (Instant::now(), AtomicU64::new(0));
    let (done, calls, reads) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let pulled = AtomicU64::new(0);
    let wrong = Mutex::new(None);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let theatre = Theatre::new();
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    let late = soak > 0 && start.elapsed() > Duration::from_secs(soak);
                    if nth >= count || late || is_some(&wrong) {
                        return;
                    }
                    let plan = Plan::new(first + nth);
                    match theatre.play(&plan) {
                        Ok(counts) => {
                            done.fetch_add(1, Ordering::Relaxed);
                            calls.fetch_add(counts.calls, Ordering::Relaxed);
                            reads.fetch_add(counts.reads, Ordering::Relaxed);
                            pulled.fetch_add(counts.pulled, Ordering::Relaxed);
                        }
                        Err(_) if is_some(&wrong) => return,
                        Err(found) => {
                            let mut wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner);
                            *wrong = Some(shrink::shortest(&theatre, plan, found));
                        }
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!(
        "{} histories from seed {first}, {} calls in an order of their own, {} reads, {} posts of \
         authors who are pulled, {} s",
        done.load(Ordering::Relaxed),
        calls.load(Ordering::Relaxed),
        reads.load(Ordering::Relaxed),
        pulled.load(Ordering::Relaxed),
        start.elapsed().as_secs()
    );
    if let Some(text) = wrong {
        panic!("{text}");
    }
    let enough = done.load(Ordering::Relaxed) < 500 || pulled.load(Ordering::Relaxed) > 100;
    assert!(enough, "hardly an author is ever pulled");
}

fn is_some(wrong: &Mutex<Option<String>>) -> bool {
    wrong.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}
