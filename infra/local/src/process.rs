//! Programs. Each runs in a process group of its own and is stopped with all of its children.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::{Doing as _, Done, failure};

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
const POLL: Duration = Duration::from_millis(20);
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// From now on Ctrl-C and its like set a flag; [`interrupted`] reads it.
pub fn watch_signals() {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if let Err(error) = signal_hook::flag::register(signal, INTERRUPTED.clone()) {
            eprintln!("cargo local: signal {signal} is not watched: {error}");
        }
    }
}

pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

pub fn is_running(pid: i32) -> bool {
    pid > 0 && Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// A pause that Ctrl-C ends.
pub fn pause() -> Done<()> {
    std::thread::sleep(POLL);
    if interrupted() { Err(failure("interrupted")) } else { Ok(()) }
}

/// A longer one.
pub fn sleep(time: Duration) -> Done<()> {
    let start = Instant::now();
    while start.elapsed() < time {
        pause()?;
    }
    Ok(())
}

/// A program in the background. Dropping it stops it.
pub struct Running {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Running {
    /// Starts a server; what it prints goes to a file.
    pub fn start(name: &'static str, mut command: Command, log: &Path) -> Done<Self> {
        let file = File::create(log).doing(log.display())?;
        let errors = file.try_clone().doing(log.display())?;
        command.stdin(Stdio::null()).stdout(file).stderr(errors).process_group(0);
        let child = command.spawn().doing(format!("starting {name}"))?;
        Ok(Self { name, child, log: log.to_owned() })
    }

    /// Waits until the server answers.
    pub fn ready(&mut self, within: Duration, answers: impl Fn() -> bool) -> Done<()> {
        let start = Instant::now();
        while !answers() {
            if self.child.try_wait().doing(self.name)?.is_some() {
                let why = format!("{} ended at once: {}", self.name, last_line(&self.log));
                return Err(failure(why));
            }
            if start.elapsed() > within {
                let log = self.log.display();
                return Err(failure(format!("{} does not answer, see {log}", self.name)));
            }
            pause()?;
        }
        Ok(())
    }

    pub fn ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub fn log(&self) -> &Path {
        &self.log
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

/// Asks the whole group to end, and after a while makes it.
fn stop(child: &mut Child) {
    let group = Pid::from_child(child);
    // a group that is gone already is what we want
    let _gone = kill_process_group(group, Signal::TERM);
    let start = Instant::now();
    while matches!(child.try_wait(), Ok(None)) && start.elapsed() < STOP_WITHIN {
        std::thread::sleep(POLL);
    }
    let _gone = kill_process_group(group, Signal::KILL);
    let _status = child.wait();
}

/// Runs a program to its end. Ctrl-C stops it.
pub fn run(mut command: Command) -> Done<ExitStatus> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child =
        command.stdin(Stdio::null()).process_group(0).spawn().doing(format!("starting {name}"))?;
    loop {
        if let Some(status) = child.try_wait().doing(&name)? {
            return Ok(status);
        }
        if let Err(interrupted) = pause() {
            stop(&mut child);
            return Err(interrupted);
        }
    }
}

/// Runs a program whose output only matters if it fails: then its last line is the reason.
pub fn run_logged(what: &str, mut command: Command, log: &Path) -> Done<()> {
    let file = File::create(log).doing(log.display())?;
    command.stdout(file.try_clone().doing(log.display())?).stderr(file);
    if run(command)?.success() {
        return Ok(());
    }
    Err(failure(format!("{what} failed: {} (all of it: {})", last_line(log), log.display())))
}

fn last_line(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines = || text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().find(|line| line.starts_with("error") || line.starts_with("ERROR"));
    error.or_else(|| lines().next()).unwrap_or("it said nothing").to_owned()
}
