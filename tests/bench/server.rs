//! A Valkey server for a bench, with the server's own measurements.

use std::collections::HashMap;

use fanfold_core::UserId;
use fanfold_runtime::Config;
use redis::{Cmd, Connection, FromRedisValue, Pipeline};

use crate::emulator;
use crate::harness::valkeys::Node;

/// The number of commands in a pipeline.
pub const PIPELINE: usize = 500;

pub struct Server {
    node: Node,
    connection: Connection,
    /// The part of the server's replication id that is in the names of its memories.
    generation: String,
}

impl Server {
    /// Starts a server with default settings that writes nothing to disk.
    pub fn start() -> Self {
        let node = Node::start(&[]);
        let client = redis::Client::open(node.url()).expect("a client");
        let mut connection = client.get_connection().expect("Valkey");
        let info: String =
            redis::cmd("INFO").arg("replication").query(&mut connection).expect("INFO");
        let id = info.split_once("master_replid:").expect("a replication id").1;
        let generation = id.get(..8).expect("a replication id").to_owned();
        Self { node, connection, generation }
    }

    pub fn url(&self) -> String {
        self.node.url()
    }

    pub fn config(&self) -> Config {
        self.config_with(&[])
    }

    /// The functions' settings, with some that are numbers.
    pub fn config_with(&self, settings: &[(&str, usize)]) -> Config {
        emulator::config(&self.url(), settings)
    }

    /// The name of a bucket's memory that began long ago.
    pub fn memory(&self) -> String {
        format!("{}:1000:bench", self.generation)
    }

    pub fn query<T: FromRedisValue>(&mut self, command: &Cmd) -> T {
        command.query(&mut self.connection).expect("Valkey")
    }

    pub fn pipe<T: FromRedisValue>(&mut self, pipeline: &Pipeline) -> T {
        pipeline.query(&mut self.connection).expect("Valkey")
    }

    /// Sends many commands, in pipelines, and ignores the answers.
    pub fn send(&mut self, commands: impl IntoIterator<Item = Cmd>) {
        let mut commands = commands.into_iter().peekable();
        while commands.peek().is_some() {
            let mut pipeline = Pipeline::with_capacity(PIPELINE);
            for command in commands.by_ref().take(PIPELINE) {
                pipeline.add_command(command).ignore();
            }
            self.pipe::<()>(&pipeline);
        }
    }

    /// The numbers in a section of `INFO`.
    pub fn info(&mut self, section: &str) -> HashMap<String, f64> {
        let text: String = self.query(redis::cmd("INFO").arg(section));
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
    }

    /// Seconds of CPU that the server has used, including system calls.
    pub fn cpu_s(&mut self) -> f64 {
        let info = self.info("cpu");
        info["used_cpu_user"] + info["used_cpu_sys"]
    }

    /// Server CPU, in µs, of a GET of 1 KB, which ElastiCache Serverless counts as one processing unit
    /// (ECPU). The commands are sent in pipelines, where they are cheapest, so that the number of ECPUs of
    /// other work is not underestimated.
    pub fn ecpu_us(&mut self, count: usize) -> f64 {
        self.query::<()>(redis::cmd("SET").arg("one-kb").arg("x".repeat(1_000)));
        let before = self.cpu_s();
        let mut left = count;
        while left > 0 {
            let mut pipeline = Pipeline::with_capacity(PIPELINE);
            for _ in 0..left.min(PIPELINE) {
                pipeline.cmd("GET").arg("one-kb");
            }
            self.pipe::<Vec<String>>(&pipeline);
            left -= left.min(PIPELINE);
        }
        let us = (self.cpu_s() - before) * 1e6 / count as f64;
        self.query::<()>(redis::cmd("DEL").arg("one-kb"));
        us
    }

    pub fn memory_bytes(&mut self) -> f64 {
        self.info("memory")["used_memory"]
    }

    /// The number of these feeds that have a member.
    pub fn count_with(&mut self, keys: &[String], member: &[u8]) -> usize {
        let mut found = 0;
        for keys in keys.chunks(PIPELINE) {
            let mut pipeline = Pipeline::with_capacity(PIPELINE);
            for key in keys {
                pipeline.cmd("ZSCORE").arg(key).arg(member);
            }
            found += self.pipe::<Vec<Option<f64>>>(&pipeline).iter().flatten().count();
        }
        found
    }
}

/// The key of a home feed, with the default number of buckets.
pub fn home(user: UserId) -> String {
    let keys = fanfold_engines::valkey::Keys::new(fanfold_core::limits::BUCKETS_DEFAULT);
    keys.feed(fanfold_core::FeedId::home(user)).to_string()
}
