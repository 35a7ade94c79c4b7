//! Runs programs.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{root, setting};

pub fn event(function: &str) -> PathBuf {
    root().join(format!("tests/events/{function}.json"))
}

/// A command in the repository, with the local tools on its `PATH`.
pub fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    let path = format!("{}:{}", setting("FANFOLD_CLOUD_TOOLS"), setting("PATH"));
    command.env("PATH", path).env("CARGO_LAMBDA_COMPILER", "cargo").env("SAM_CLI_TELEMETRY", "0");
    command
}

pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a command to its end.
pub fn run(mut command: Command) -> Ended {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs a command that must succeed. Returns its output.
pub fn succeed(command: Command) -> String {
    let what = format!("{command:?}");
    let ended = run(command);
    assert_eq!(ended.code, Some(0), "{what}\n{}\n{}", ended.stdout, ended.stderr);
    ended.stdout
}

/// A program in the background. Dropping it stops the program and all its children.
pub struct Background {
    pub child: Child,
}

impl Background {
    pub fn start(mut command: Command) -> Self {
        command.process_group(0);
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self { child }
    }

    pub fn signal(&self, signal: &str) {
        let group = format!("-{}", self.child.id());
        let sent = Command::new("kill").args([signal, "--", &group]).status();
        sent.expect("kill runs");
    }

    /// Waits for the end of the program. Returns the exit code.
    pub fn end_within(&mut self, limit: Duration) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status.code();
            }
            assert!(start.elapsed() < limit, "the program does not end within {limit:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal("-TERM");
            std::thread::sleep(Duration::from_millis(500));
            self.signal("-KILL");
            let _status = self.child.wait();
        }
    }
}

/// A free port.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
