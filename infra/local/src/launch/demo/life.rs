//! The demo users' own life: the threads that run while the system does.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use super::api::{Api, Person};
use super::calls;
use super::fill;
use super::names;
use super::parallel;
use super::people::PEOPLE;
use super::texts::Texts;
use super::village::Village;
use super::{authors, newcomers, readers};
use crate::base::failure::{Done, failure};
use crate::base::progress::step;
use crate::launch::system::System;

/// Threads that read and like.
const READERS: u64 = 2;

/// Demo users and what they do.
#[derive(Clone, Copy, clap::Args)]
pub struct Demo {
    /// Number of demo users. From the 13th on, they are made while the system already runs
    #[arg(long, value_name = "N", default_value_t = PEOPLE.len() as u16)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=names::PEOPLE_MAX as i64))]
    people: u16,
    /// Most posts that demo users publish a minute by themselves; they also like, follow, unfollow and delete
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u16).range(1..=600))]
    posts_per_minute: Option<u16>,
}

/// The threads of the demo users.
pub struct Life {
    village: Arc<Village>,
    threads: Vec<JoinHandle<()>>,
    /// How many people there will be.
    count: usize,
    /// Whether people act by themselves.
    acts: bool,
}

/// Gives the likes of the built-in posts. There are many, so the system is usable before.
fn give_likes(village: &Village, likes: &[(Arc<Person>, String)]) {
    let give = |(fan, post): &(Arc<Person>, String)| {
        if village.is_over() {
            return Err(failure("stopped"));
        }
        village.count("likes", calls::mark(&village.api, fan, post, "like"));
        Ok(())
    };
    let _all_or_stopped = parallel::for_each(likes, give);
}

impl Life {
    /// Makes the built-in demo data, and begins what goes on in the background.
    pub fn start(system: &System, demo: Demo) -> Done<Self> {
        let (api, mut people) = (Api::of(system)?, names::people(demo.people.into()));
        let newcomers = people.split_off(people.len().min(PEOPLE.len()));
        let filled =
            step(false, "making demo users, follows and posts", || fill::fill(&api, &people))?;
        let seed = fastrand::u64(..);
        let per_minute = demo.posts_per_minute.map_or(0, usize::from);
        let village = Arc::new(Village::new(api, filled.people));
        let mut life =
            Self { village, threads: Vec::new(), count: demo.people.into(), acts: per_minute > 0 };
        let texts = (per_minute == 0).then(|| Texts::new(seed));
        life.spawn(move |village| {
            give_likes(village, &filled.likes);
            if !newcomers.is_empty() {
                newcomers::make(village, &newcomers, texts, seed);
            }
        });
        if per_minute > 0 {
            life.spawn(move |village| authors::post(village, per_minute, seed));
            for number in 1..=READERS {
                let seed = seed.wrapping_add(number);
                life.spawn(move |village| readers::read(village, per_minute, seed));
            }
        }
        Ok(life)
    }

    fn spawn(&mut self, run: impl FnOnce(&Village) + Send + 'static) {
        let village = self.village.clone();
        self.threads.push(std::thread::spawn(move || run(&village)));
    }

    /// The people, for the welcome.
    pub fn people(&self) -> String {
        let built_in: Vec<&str> =
            PEOPLE.iter().map(|(handle, _)| *handle).take(self.count).collect();
        match self.count - built_in.len() {
            0 => built_in.join(", "),
            more => format!("{}, and {more} more", built_in.join(", ")),
        }
    }

    /// Prints a line about failed calls, if there were any; at most one a minute.
    pub fn report(&self) {
        if let Some(line) = self.village.tally.complaint(Instant::now()) {
            eprintln!("  {line}");
        }
    }

    /// Asks the threads to end. A call that is under way may take a while, so its server is stopped before [`Self::wait`].
    pub fn end(&self) {
        self.village.end();
    }

    /// Waits for the threads, and prints what they did.
    pub fn wait(self) {
        for thread in self.threads {
            // a thread that failed has printed why
            let _failed = thread.join();
        }
        let summary = self.village.tally.summary().filter(|_| self.acts);
        if let Some(line) = summary {
            eprintln!("{line}");
        }
    }
}
