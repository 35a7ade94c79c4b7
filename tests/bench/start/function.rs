//! One process of a function, with the environment that Lambda would give it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::harness::setting;

pub struct Function {
    pub name: &'static str,
    pub started: Instant,
    child: Child,
}

fn binary(name: &str) -> PathBuf {
    PathBuf::from(setting("FANFOLD_BINARIES")).join(name).join("bootstrap")
}

pub fn size_mb(name: &str) -> f64 {
    std::fs::metadata(binary(name)).expect("a binary").len() as f64 / 1e6
}

impl Function {
    pub fn start(name: &'static str, runtime: &str, endpoint: &str, trust: Option<&Path>) -> Self {
        let mut command = Command::new(binary(name));
        command.env_clear().envs([
            ("AWS_LAMBDA_RUNTIME_API", runtime),
            ("AWS_LAMBDA_FUNCTION_NAME", name),
            ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_ENDPOINT_URL", endpoint),
            ("REDIS_URL", "rediss://127.0.0.1:1"),
            ("USERS_TABLE", "users"),
            ("POSTS_TABLE", "posts"),
            ("GRAPH_TABLE", "graph"),
            ("DOCTOR_QUEUE_URL", "http://127.0.0.1:1/queue"),
        ]);
        for queue in
            ["POST_EVENTS", "BULK_EVENTS", "CHUNKS", "BULK_CHUNKS", "GRAPH_EVENTS", "REBUILDS"]
        {
            for kind in ["QUEUE_URL", "DEAD_QUEUE_URL"] {
                command.env(format!("{queue}_{kind}"), "http://127.0.0.1:1/queue");
            }
        }
        if let Some(file) = trust {
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
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}
