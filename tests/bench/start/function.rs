//! The process of a function, with the environment variables that Lambda would set.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use fanfold_core::registry::QUEUES;

use crate::harness::setting;

/// A URL at which nothing answers.
const NOWHERE: &str = "http://127.0.0.1:1";

/// What a function reaches.
pub struct Reach<'a> {
    pub runtime: &'a str,
    /// The URL of AWS.
    pub endpoint: &'a str,
    pub valkey: &'a str,
    /// A file of certificates that the function trusts.
    pub trust: Option<&'a Path>,
}

impl<'a> Reach<'a> {
    /// Nothing but the runtime API.
    pub fn of(runtime: &'a str) -> Self {
        Self { runtime, endpoint: NOWHERE, valkey: "rediss://127.0.0.1:1", trust: None }
    }
}

pub struct Function {
    pub name: &'static str,
    pub started: Instant,
    child: Child,
}

fn binary() -> PathBuf {
    PathBuf::from(setting("FANFOLD_BOOTSTRAP"))
}

pub fn size_mb() -> f64 {
    std::fs::metadata(binary()).expect("a binary").len() as f64 / 1e6
}

impl Function {
    pub fn start(name: &'static str, reach: &Reach<'_>) -> Self {
        let mut command = Command::new(binary());
        command.env_clear().envs([
            ("_HANDLER", name),
            ("AWS_LAMBDA_RUNTIME_API", reach.runtime),
            ("AWS_LAMBDA_FUNCTION_NAME", name),
            ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_ENDPOINT_URL", reach.endpoint),
            ("REDIS_URL", reach.valkey),
            ("USERS_TABLE", "users"),
            ("POSTS_TABLE", "posts"),
            ("GRAPH_TABLE", "graph"),
            ("DUE_TABLE", "due"),
            ("MARKS_TABLE", "marks"),
            ("BOARDS_TABLE", "boards"),
            ("TIMER_EVENTS_QUEUE_URL", "http://127.0.0.1:1/queue"),
            ("DOCTOR_QUEUE_URL", "http://127.0.0.1:1/queue"),
        ]);
        for queue in QUEUES {
            for name in [queue.url, queue.dead_url] {
                command.env(name, "http://127.0.0.1:1/queue");
            }
        }
        if let Some(file) = reach.trust {
            command.env("SSL_CERT_FILE", file);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        Self { name, started, child: command.spawn().expect("started") }
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a process").is_some()
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _status = self.child.wait();
    }
}
