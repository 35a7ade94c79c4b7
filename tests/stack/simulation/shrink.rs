//! Plays histories, and makes one that went wrong as short as it can be.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::apps::{Apps, PEOPLE, identity};
use super::cloud::Cloud;
use super::plan::Plan;
use super::play::{Counts, Play, Wrong};
use super::server::Server;
use super::tasks;

/// What a thread plays histories with.
pub struct Theatre {
    server: Server,
    runtime: tokio::runtime::Runtime,
    /// Everyone has a profile.
    start: Cloud,
}

impl Theatre {
    pub fn new() -> Self {
        let server = Server::start();
        let runtime = tasks::runtime();
        let apps = Apps::new(&server);
        apps.steps.set_free(true);
        runtime.block_on(async {
            for name in PEOPLE {
                let put = fanfold_users::handler::put_profile;
                put(&apps.users, &identity(name), name, name).await.expect("a profile");
            }
        });
        let start = apps.cloud.lock().clone();
        Self { server, runtime, start }
    }

    /// Plays a plan from the beginning. A panic is a history that went wrong, too.
    pub fn play(&self, plan: &Plan) -> Result<Counts, Wrong> {
        let apps = Rc::new(Apps::new(&self.server));
        *apps.cloud.lock() = self.start.clone();
        apps.valkey.start_anew();
        let steps = apps.steps.clone();
        let played = catch_unwind(AssertUnwindSafe(|| {
            self.runtime.block_on(Play::new(apps, plan.clone()).run())
        }));
        played.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let why = format!("panicked: {}", text.unwrap_or_default());
            Err(Wrong { why, log: steps.log() })
        })
    }
}

/// Takes away what it goes wrong without, and tells the rest.
pub fn shortest(theatre: &Theatre, mut plan: Plan, mut wrong: Wrong) -> String {
    let (start, seed, whole) = (Instant::now(), plan.seed, plan.actions.len());
    let time = Duration::from_secs(super::number("FANFOLD_SHRINK_S", 40));
    let still = |plan: &Plan| theatre.play(plan).err();
    for faultless in [(0, 0), (0, plan.valkey_fault_in), (plan.cloud_fault_in, 0)] {
        let (cloud_fault_in, valkey_fault_in) = faultless;
        let calmer = Plan { cloud_fault_in, valkey_fault_in, ..plan.clone() };
        if let Some(found) = still(&calmer) {
            (plan, wrong) = (calmer, found);
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
            // without them the dice fall otherwise: a few throws each
            let found = (0..4).find_map(|throw| {
                let plan = Plan { seed: shorter.seed.wrapping_add(throw << 48), ..shorter.clone() };
                Some((still(&plan)?, plan))
            });
            match found {
                Some((found, shorter)) => (plan, wrong) = (shorter, found),
                None => at += size,
            }
        }
        size /= 2;
    }
    let mut text = format!(
        "seed {seed} goes wrong: {}\n{} of its {whole} actions are enough:\n\n",
        wrong.why,
        plan.actions.len()
    );
    for line in &wrong.log {
        // a String takes whatever is written to it
        let _written = writeln!(text, "{line}");
    }
    let _written = writeln!(text, "\n{}", wrong.why);
    let _written = writeln!(text, "again: FANFOLD_SEED={seed} cargo local test simulation");
    text
}
