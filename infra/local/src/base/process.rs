//! Programs. Each runs in a process group of its own and is stopped with all of its children.
//!
//! The crates `process-wrap` and `command-group` wrap the same two calls (`process_group(0)` of the standard library and
//! a signal to the group), and would add `nix` and their own type of child. They do not have the parts that are long
//! here: a stop with a time limit, Ctrl-C while a program runs, and the last line of a log as the reason.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead as _, BufReader, IsTerminal as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::base::failure::{Doing as _, Done, Failure, failure};

/// The last signal that asked the tool to stop, or 0.
static SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
const POLL: Duration = Duration::from_millis(20);
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Makes Ctrl-C, TERM and HUP set a flag, which [`interrupted`] reads.
pub fn watch_signals() {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let number = usize::try_from(signal).unwrap_or_default();
        if let Err(error) = signal_hook::flag::register_usize(signal, SIGNAL.clone(), number) {
            eprintln!("cargo local: cannot handle signal {signal}: {error}");
        }
    }
}

/// Whether the user has asked the tool to stop.
pub fn interrupted() -> bool {
    SIGNAL.load(Ordering::Relaxed) != 0
}

/// The signal that asked the tool to stop.
fn received() -> Signal {
    match SIGNAL.load(Ordering::Relaxed) as i32 {
        SIGTERM => Signal::TERM,
        SIGHUP => Signal::HUP,
        _ => Signal::INT,
    }
}

/// The file of a program: at a path, or in the first folder of the search path that has it.
pub fn find_program(name: &str) -> Done<PathBuf> {
    find_in(&std::env::var_os("PATH").unwrap_or_default(), name)
}

/// The file of a program, in one of the folders of a search path.
pub fn find_in(path: &OsStr, name: &str) -> Done<PathBuf> {
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    let found = match name.contains('/') {
        true => Some(PathBuf::from(name)).filter(is_program),
        false => std::env::split_paths(path).map(|folder| folder.join(name)).find(is_program),
    };
    found.ok_or_else(|| match name.contains('/') {
        true => failure(format!("{name} is no program")),
        false => failure(format!("no program {name} is on the PATH")),
    })
}

/// Whether a process with this id exists.
pub fn is_running(pid: i32) -> bool {
    pid > 0 && Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// Waits for a moment. Fails if the user has asked the tool to stop.
pub fn pause() -> Done<()> {
    std::thread::sleep(POLL);
    if interrupted() { Err(stopped()) } else { Ok(()) }
}

fn stopped() -> Failure {
    failure("stopped by a signal")
}

/// Waits for the given time. Fails if the user asks the tool to stop.
pub fn sleep(time: Duration) -> Done<()> {
    let start = Instant::now();
    while start.elapsed() < time {
        pause()?;
    }
    Ok(())
}

/// A program in the background. Dropping this stops the program.
pub struct Running {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Running {
    /// Starts a server, which writes its output to a file.
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
        loop {
            let answered = answers();
            // also after an answer, which may be another program's if the server did not get its port
            if self.child.try_wait().doing(self.name)?.is_some() {
                let why = format!("{} ended when it started: {}", self.name, last_line(&self.log));
                return Err(failure(why));
            }
            if answered {
                return Ok(());
            }
            if start.elapsed() > within {
                let log = self.log.display();
                return Err(failure(format!("{} does not answer; read its log {log}", self.name)));
            }
            pause()?;
        }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the program has ended.
    pub fn ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// The file with the output.
    pub fn log(&self) -> &Path {
        &self.log
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

/// Asks the whole group to end, and kills what is left after [`STOP_WITHIN`].
fn stop(child: &mut Child) {
    let group = Pid::from_child(child);
    // an error means that the group has ended already
    let _gone = kill_process_group(group, Signal::TERM);
    let start = Instant::now();
    while matches!(child.try_wait(), Ok(None)) && start.elapsed() < STOP_WITHIN {
        std::thread::sleep(POLL);
    }
    let _gone = kill_process_group(group, Signal::KILL);
    let _status = child.wait();
}

/// Runs a program until it ends. Ctrl-C stops it.
pub fn run(command: Command) -> Done<ExitStatus> {
    loop_until_ended(command, None)?.ok_or_else(|| failure("a program without a limit hung"))
}

/// Runs a program until it ends. Ctrl-C stops it, and so does the end of the time: then there is no status.
pub fn run_within(command: Command, within: Duration) -> Done<Option<ExitStatus>> {
    loop_until_ended(command, Some(within))
}

fn loop_until_ended(mut command: Command, within: Option<Duration>) -> Done<Option<ExitStatus>> {
    let (name, start) = (name_of(&command), Instant::now());
    let mut child =
        command.stdin(Stdio::null()).process_group(0).spawn().doing(format!("starting {name}"))?;
    loop {
        if let Some(status) = child.try_wait().doing(&name)? {
            return Ok(Some(status));
        }
        if within.is_some_and(|within| start.elapsed() > within) {
            stop(&mut child);
            return Ok(None);
        }
        if let Err(interrupted) = pause() {
            stop(&mut child);
            return Err(interrupted);
        }
    }
}

/// Runs a program as [`run_within`] does, and passes on each line of its output. What it started and left running is
/// stopped when it ends.
pub fn run_lines(
    mut command: Command,
    within: Duration,
    mut each: impl FnMut(&str),
) -> Done<Option<ExitStatus>> {
    let (name, start) = (name_of(&command), Instant::now());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    let mut child = command.spawn().doing(format!("starting {name}"))?;
    let (sender, lines) = mpsc::channel();
    let output = child.stdout.take();
    // a thread, because reading waits; it ends with the last program that has the other end
    std::thread::spawn(move || {
        let mut output = BufReader::new(output?);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
            sender.send(text).ok()?;
            line.clear();
        }
        Some(())
    });
    let mut ended: Option<(ExitStatus, Instant)> = None;
    loop {
        let mut all_read = false;
        match lines.recv_timeout(POLL) {
            Ok(line) => each(&line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                all_read = true;
                std::thread::sleep(POLL);
            }
        }
        if ended.is_none()
            && let Some(status) = child.try_wait().doing(&name)?
        {
            // what it left running has the other end of its output
            stop(&mut child);
            ended = Some((status, Instant::now()));
        }
        if let Some((status, at)) = ended
            && (all_read || at.elapsed() > STOP_WITHIN)
        {
            return Ok(Some(status));
        }
        if interrupted() || start.elapsed() > within {
            stop(&mut child);
            lines.try_iter().for_each(|line| each(&line));
            return if interrupted() { Err(stopped()) } else { Ok(None) };
        }
    }
}

/// Runs a program of the user. Returns its exit code, or 128 and the number of the signal that ended it. If the user
/// asks the tool to stop, the program gets a signal and time to end, then TERM, then KILL.
pub fn run_for_user(mut command: Command) -> Done<u8> {
    let name = name_of(&command);
    // A program that may read the terminal stays in the terminal's group, which gets Ctrl-C from the terminal. Any other
    // has a group of its own, so that its children are stopped, too.
    let in_own_group = !std::io::stdin().is_terminal();
    if in_own_group {
        command.process_group(0);
    }
    let mut child = command.spawn().doing(format!("starting {name}"))?;
    let send = |child: &Child, signal: Signal| {
        let pid = Pid::from_child(child);
        // an error means that it has ended
        let _gone = match in_own_group {
            true => kill_process_group(pid, signal),
            false => kill_process(pid, signal),
        };
    };
    let mut signals = [Signal::TERM, Signal::KILL].into_iter();
    let mut asked: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait().doing(&name)? {
            if in_own_group && asked.is_some() {
                send(&child, Signal::KILL);
            }
            let stopped_by = SIGNAL.load(Ordering::Relaxed) as i32;
            let signal = status.signal().or((stopped_by != 0).then_some(stopped_by));
            let code = signal.map_or(status.code().unwrap_or(1), |signal| 128 + signal);
            return Ok(u8::try_from(code).unwrap_or(1));
        }
        if interrupted() {
            match asked {
                // the terminal has sent the first signal to its group; any other group gets the one that the tool got
                None => {
                    if in_own_group {
                        send(&child, received());
                    }
                    asked = Some(Instant::now());
                }
                Some(at) if at.elapsed() < STOP_WITHIN => {}
                Some(_) => {
                    send(&child, signals.next().unwrap_or(Signal::KILL));
                    asked = Some(Instant::now());
                }
            }
        }
        std::thread::sleep(POLL);
    }
}

fn name_of(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// Runs a program and writes its output to a file. If the program fails, the last line of the output is the reason.
pub fn run_logged(what: &str, mut command: Command, log: &Path) -> Done<()> {
    let file = File::create(log).doing(log.display())?;
    command.stdout(file.try_clone().doing(log.display())?).stderr(file);
    if run(command)?.success() {
        return Ok(());
    }
    Err(failure(format!("{what} failed: {} (the output is in {})", last_line(log), log.display())))
}

fn last_line(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines = || text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().find(|line| line.starts_with("error") || line.starts_with("ERROR"));
    error.or_else(|| lines().next()).unwrap_or("it printed nothing").to_owned()
}
