//! The stores, functions and followers of a fan-out, and the measurement of one post.

use std::cell::Cell;
use std::time::Instant;

use fanfold_core::{PostId, UserId};
use fanfold_kinds::posts::messages::PostPublished;
use fanfold_runtime::clock::now;

use super::MIB;
use super::feeds::make_live;
use crate::emulator::crowd::partitions_of;
use crate::emulator::{Counts, Emulator};
use crate::handlers::{Deliver, Dispatch, event};
use crate::server::{Server, home};
use crate::{MEMORY, people};

/// The number of concurrent environments of the deliver function.
const DELIVERS: usize = 4;

/// The measurements of one post, from dispatch to the last delivery.
pub struct Run {
    pub wall_s: f64,
    pub server_cpu_s: f64,
    pub peak_mib: f64,
    pub counts: Counts,
    pub commands: f64,
    pub net_bytes: f64,
    pub deliver_s: f64,
    pub dispatch_s: f64,
}

pub struct Setup {
    pub emulator: Emulator,
    pub server: Server,
    pub dispatch: Dispatch,
    delivers: Vec<Deliver>,
    followers: Vec<UserId>,
    posts: u64,
}

impl Setup {
    pub fn new(most: usize) -> Self {
        Self::with(most, &[])
    }

    /// With these settings, which are numbers.
    pub fn with(most: usize, settings: &[(&str, usize)]) -> Self {
        let (emulator, mut server) = (Emulator::default(), Server::start());
        let followers: Vec<UserId> = (0..most as u64).map(people::user).collect();
        make_live(&mut server, &followers);
        let (sdk, config) = (emulator.sdk(), server.config_with(settings));
        let dispatch = Dispatch::new(&sdk, &config);
        let delivers = (0..DELIVERS).map(|_| Deliver::new(&sdk, &config)).collect();
        Self { emulator, server, dispatch, delivers, followers, posts: 0 }
    }

    pub fn add_author(&self, number: u64, count: usize) -> UserId {
        let author = people::author(number);
        people::put_profile(&self.emulator, author, count, partitions_of(count));
        self.emulator.put_crowd(author, &self.followers[..count]);
        author
    }

    pub fn run(&mut self, author: UserId, count: usize) -> Run {
        self.posts += 1;
        let post = PostId::new(now(), self.posts as u16 + 10, author);
        people::put_post(&self.emulator, post);
        let _before = self.emulator.take_counts();
        let (before, cpu) = (self.server.info("stats"), self.server.cpu_s());
        let held = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let start = Instant::now();
        let (dispatch_s, deliver_s) = crate::runtime().block_on(self.fan_out(post));
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

    /// Fans a post out. Returns the seconds that dispatch worked, and that all delivers worked in total.
    async fn fan_out(&self, post: PostId) -> (f64, f64) {
        let (cutting, deliver_s) = (Cell::new(true), Cell::new(0.0));
        let dispatch = async {
            let start = Instant::now();
            self.dispatch.take(&PostPublished::new(post)).await;
            let mut dispatch_s = start.elapsed().as_secs_f64();
            // one after the other, because they would share one core here
            while let Some(part) = self.emulator.take_event() {
                let start = Instant::now();
                self.dispatch.take(&part).await;
                dispatch_s += start.elapsed().as_secs_f64();
            }
            cutting.set(false);
            self.emulator.wake();
            dispatch_s
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

    /// Asserts that the feeds of all followers have the post, and that no other feed has it.
    fn check(&mut self, post: PostId, count: usize) {
        let member = fanfold_core::order::member(post);
        let keys: Vec<String> = self.followers[..count].iter().map(|user| home(*user)).collect();
        let found = self.server.count_with(&keys, &member);
        assert_eq!(found, count, "feeds that have the post");
        let rest = &self.followers[count..self.followers.len().min(count + 1_000)];
        let keys: Vec<String> = rest.iter().map(|user| home(*user)).collect();
        assert_eq!(self.server.count_with(&keys, &member), 0, "feeds that wrongly have the post");
    }
}
