//! Runs histories, and shortens one that failed as far as possible.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::config::retry::RetryConfig;

use super::apps::{Apps, cloud_with_profiles};
use super::cloud::Cloud;
use super::history::Counts;
use super::plan::{Partitions, Plan, PushFaults};
use super::play::{Failure, play};
use super::server::Server;
use super::tasks;

/// Runs the histories of one thread, on a Valkey server of its own.
pub struct Runner {
    server: Server,
    runtime: tokio::runtime::Runtime,
    /// Clouds in which every user has a profile, by the number of partitions of a new author.
    starts: Vec<(u16, Cloud)>,
}

impl Runner {
    pub fn new() -> Self {
        let (server, runtime) = (Server::start(), tasks::runtime());
        let start = |first: u16| (first, cloud_with_profiles(&server, &runtime, first));
        let starts = [1, 2].map(start).to_vec();
        Self { server, runtime, starts }
    }

    /// Runs a plan from the beginning. A panic is a failure of the history, too.
    pub fn run(&self, plan: &Plan) -> Result<Counts, Failure> {
        let Partitions { first, followers, per_part } = plan.partitions;
        let settings = [
            ("FOLLOWER_PARTITIONS", first.to_string()),
            ("FOLLOWERS_PER_PARTITION", followers.to_string()),
        ];
        let mut apps = Apps::on(&self.server, &settings, RetryConfig::disabled(), plan.is_cluster);
        apps.app.settings.partitions_per_part = per_part;
        if plan.is_public {
            apps.app.settings.public.kept = Duration::from_secs(30 * 24 * 3_600);
        }
        let (_, start) = self.starts.iter().find(|(of, _)| *of == first).expect("a start");
        let steps = apps.steps.clone();
        let result = catch_unwind(AssertUnwindSafe(|| {
            self.runtime.block_on(play(apps, start, plan.clone()))
        }));
        result.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let reason = format!("panicked: {}", text.unwrap_or_default());
            Err(Failure { reason, log: steps.log() })
        })
    }
}

/// Removes the faults and the actions without which the plan still fails. Returns a report of the rest.
pub fn shortest(runner: &Runner, mut plan: Plan, mut failure: Failure) -> String {
    let (start, seed, whole) = (Instant::now(), plan.seed, plan.actions.len());
    let time = Duration::from_secs(super::env_number("FANFOLD_SHRINK_S", 40));
    let fails = |plan: &Plan| runner.run(plan).err();
    let calmer = Plan { push_faults: PushFaults::default(), ..plan.clone() };
    if let Some(found) = fails(&calmer) {
        (plan, failure) = (calmer, found);
    }
    for fewer_faults in [(0, 0), (0, plan.valkey_fault_in), (plan.cloud_fault_in, 0)] {
        let (cloud_fault_in, valkey_fault_in) = fewer_faults;
        let calmer = Plan { cloud_fault_in, valkey_fault_in, ..plan.clone() };
        if let Some(found) = fails(&calmer) {
            (plan, failure) = (calmer, found);
            break;
        }
    }
    let mut size = plan.actions.len() / 2;
    while size > 0 && start.elapsed() < time {
        let mut at = 0;
        while at < plan.actions.len() && start.elapsed() < time {
            let mut shorter = plan.clone();
            let end = (at + size).min(shorter.actions.len());
            shorter.actions.drain(at..end);
            // the random numbers differ without these actions, so try a few seeds
            let found = (0..4).find_map(|attempt| {
                let plan =
                    Plan { seed: shorter.seed.wrapping_add(attempt << 48), ..shorter.clone() };
                Some((fails(&plan)?, plan))
            });
            match found {
                Some((found, shorter)) => (plan, failure) = (shorter, found),
                None => at += size,
            }
        }
        size /= 2;
    }
    let mut text = format!(
        "seed {seed} fails: {}\n{} of its {whole} actions are enough:\n\n",
        failure.reason,
        plan.actions.len()
    );
    for line in &failure.log {
        // a write to a String cannot fail
        let _written = writeln!(text, "{line}");
    }
    let _written = writeln!(text, "\n{}", failure.reason);
    let _written = writeln!(
        text,
        "repeat: FANFOLD_SEED={seed} FANFOLD_HISTORIES=1 cargo local test every_history"
    );
    text
}
