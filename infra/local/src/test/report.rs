//! Counts what passed, what failed and what was skipped.

use std::process::{Command, ExitCode, ExitStatus};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::libtest::Results;
use super::progress::Progress;
use crate::base::failure::{Done, failure};
use crate::base::process;

/// The time that a step may take. The longest one takes ten minutes on two slow cores, without compiling.
pub const STEP_WITHIN: Duration = Duration::from_secs(30 * 60);

/// The exit code of a check that could not be made: `EX_TEMPFAIL` of sysexits.
const IMPOSSIBLE: i32 = 75;

#[derive(Default)]
pub struct Report {
    passed: usize,
    failed: Vec<String>,
    skipped: Vec<String>,
    no_skips: bool,
    /// Of a run of all tests.
    progress: Option<Progress>,
    /// What steps beside the others have printed.
    kept: Option<Vec<String>>,
}

/// Steps that run beside others.
pub struct Beside(JoinHandle<Done<Report>>);

/// The steps that may be skipped even if the caller allows no skips, because they depend on other machines.
const SKIPS: [&str; 3] = [
    "known vulnerabilities (cargo-deny)", // needs access to github.com
    "the tool on macOS (cargo check)",    // some package sources have no standard library for macOS
    "Python packages for every platform", // the package index may be unreachable
];

impl Report {
    /// A report in which a skip counts as a failure, unless it is one of [`SKIPS`].
    pub fn new(no_skips: bool) -> Self {
        Self { no_skips, ..Self::default() }
    }

    /// The same, for a run that shows its progress.
    pub fn with_progress(self, progress: Progress) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Runs steps beside those of this report, in a thread. [`Report::add`] prints what they printed.
    pub fn beside(&self, steps: impl FnOnce(&mut Report) -> Done<()> + Send + 'static) -> Beside {
        let mut report = Self { kept: Some(Vec::new()), ..Self::new(self.no_skips) };
        Beside(std::thread::spawn(move || steps(&mut report).map(|()| report)))
    }

    /// Waits for steps that run beside the others, and adds their results.
    pub fn add(&mut self, beside: Beside) -> Done<()> {
        let Ok(ended) = beside.0.join() else { return Err(failure("a step panicked")) };
        let report = ended?;
        report.kept.iter().flatten().for_each(|line| println!("{line}"));
        self.passed += report.passed;
        self.failed.extend(report.failed);
        self.skipped.extend(report.skipped);
        Ok(())
    }

    fn say(&mut self, line: impl Into<String>) {
        match &mut self.kept {
            Some(kept) => kept.push(line.into()),
            None => println!("{}", line.into()),
        }
    }

    /// Runs a program that prints its output itself, or for this report.
    fn run(&mut self, command: Command) -> Done<Option<ExitStatus>> {
        match self.kept.is_some() {
            true => process::run_lines(command, STEP_WITHIN, |line| self.say(line)),
            false => process::run_within(command, STEP_WITHIN),
        }
    }

    /// A check that counts as one test: a program that must succeed.
    pub fn check(&mut self, name: &str, command: Command) -> Done<()> {
        let start = self.begin(name);
        let ended = self.run(command)?;
        if let Some(status) = self.in_time(name, ended, start) {
            self.one(name, status.success());
            self.end(name, status.success(), start);
        }
        Ok(())
    }

    /// A check that this program has made.
    pub fn hold(&mut self, name: &str, outcome: Done<()>) {
        let start = self.begin(name);
        if let Err(why) = &outcome {
            self.say(why.to_string());
        }
        self.one(name, outcome.is_ok());
        self.end(name, outcome.is_ok(), start);
    }

    /// A run of `cargo test`. Its tests are counted one by one.
    pub fn tests(&mut self, name: &str, command: Command) -> Done<()> {
        self.tests_within(name, command, STEP_WITHIN)
    }

    /// A run of `cargo test` that may take this time.
    pub fn tests_within(&mut self, name: &str, command: Command, within: Duration) -> Done<()> {
        let start = self.begin(name);
        let mut results = Results::default();
        let ended = process::run_lines(command, within, |line| {
            results.read(line);
            self.say(line);
        })?;
        let Results { passed, failed, failures, .. } = results;
        self.passed += passed;
        self.failed.extend(failures.into_iter().map(|test| format!("{name}: {test}")));
        let Some(status) = self.in_time(name, ended, start) else { return Ok(()) };
        // a run that fails without a failed test was not built, or died; a run without any test is a failure too
        if (!status.success() && failed == 0) || (status.success() && passed == 0) {
            self.failed.push(format!("{name}: {status}, {passed} tests passed"));
        }
        self.end(name, status.success(), start);
        Ok(())
    }

    /// A check that may turn out to be impossible: then its program exits with [`IMPOSSIBLE`] and the last line that it
    /// prints is the reason. It is skipped, which is not a success.
    pub fn check_if_possible(&mut self, name: &str, command: Command) -> Done<()> {
        let start = self.begin(name);
        let mut last = String::new();
        let ended = process::run_lines(command, STEP_WITHIN, |line| {
            self.say(line);
            if !line.trim().is_empty() {
                line.trim().clone_into(&mut last);
            }
        })?;
        let Some(status) = self.in_time(name, ended, start) else { return Ok(()) };
        if status.code() == Some(IMPOSSIBLE) {
            self.skip(name, if last.is_empty() { "it gave no reason" } else { &last });
            return Ok(());
        }
        self.one(name, status.success());
        self.end(name, status.success(), start);
        Ok(())
    }

    /// The status of a step that ended by itself. A step that took too long was stopped, and counts as failed.
    fn in_time(
        &mut self,
        name: &str,
        ended: Option<ExitStatus>,
        start: Instant,
    ) -> Option<ExitStatus> {
        if ended.is_none() {
            let hung = format!("{name}: it hung, and was stopped after {} s", seconds(start));
            self.say(format!("==> {hung}"));
            self.failed.push(hung);
        }
        ended
    }

    /// A test that is not run, with the reason.
    pub fn skip(&mut self, name: &str, why: &str) {
        let skipped = format!("{name} ({why})");
        self.say(format!("skipped: {skipped}"));
        if self.no_skips && !SKIPS.contains(&name) {
            self.failed.push(format!("{skipped}: it was skipped, and --no-skips is set"));
        } else {
            self.skipped.push(skipped);
        }
    }

    fn begin(&mut self, name: &str) -> Instant {
        let progress = self.progress.as_mut().map(|progress| progress.begin(name));
        self.say(format!("\n==> {}", progress.as_deref().unwrap_or(name)));
        Instant::now()
    }

    fn end(&mut self, name: &str, passed: bool, start: Instant) {
        let how = if passed { "passed" } else { "FAILED" };
        self.say(format!("==> {name}: {how} in {} s", seconds(start)));
        if let Some(progress) = &mut self.progress {
            progress.end(name, start.elapsed());
        }
    }

    /// The number of failures so far.
    pub fn failures(&self) -> usize {
        self.failed.len()
    }

    fn one(&mut self, name: &str, passed: bool) {
        if passed { self.passed += 1 } else { self.failed.push(name.to_owned()) }
    }

    /// Prints what failed and what was skipped, and ends with a summary.
    pub fn close(self) -> ExitCode {
        println!();
        if let Some(Err(why)) = self.progress.as_ref().map(Progress::keep) {
            println!("the times of the steps could not be kept for the next run: {why}");
        }
        for name in &self.failed {
            println!("failed: {name}");
        }
        for name in &self.skipped {
            println!("skipped: {name}");
        }
        let skipped = match self.skipped.len() {
            0 => String::new(),
            count => format!(", {count} skipped"),
        };
        println!("{} passed, {} failed{skipped}", self.passed, self.failed.len());
        if self.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn seconds(start: Instant) -> String {
    format!("{:.0}", start.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::Report;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn tests_are_counted_and_a_run_that_hangs_fails_with_its_name() {
        let mut report = Report::default();
        report.tests("good", shell("echo 'test result: ok. 2 passed; 0 failed;'")).unwrap();
        report.tests("empty", shell("echo 'test result: ok. 0 passed; 0 failed;'")).unwrap();
        // what it started itself hangs, too
        let hangs = shell("echo 'test a ... FAILED'; sleep 60 & sleep 60");
        report.tests_within("hangs", hangs, Duration::from_millis(300)).unwrap();
        assert_eq!(report.passed, 2);
        let [empty, failed, hung] = report.failed.as_slice() else { panic!("{:?}", report.failed) };
        assert_eq!(empty, "empty: exit status: 0, 0 tests passed");
        assert_eq!(failed, "hangs: a");
        assert!(hung.starts_with("hangs: it hung, and was stopped after "), "{hung}");
    }

    #[test]
    fn steps_beside_others_are_added_with_what_they_printed() {
        let mut report = Report::default();
        let beside = report.beside(|beside| {
            beside.check("good", shell("echo one"))?;
            beside.check("bad", shell("exit 1"))?;
            assert!(beside.kept.as_ref().is_some_and(|kept| kept.contains(&"one".to_owned())));
            beside.tests("three", shell("echo 'test result: ok. 3 passed; 0 failed;'"))
        });
        report.add(beside).unwrap();
        assert_eq!((report.passed, report.failed), (4, vec!["bad".to_owned()]));
        assert!(report.skipped.is_empty());
    }

    #[test]
    fn an_impossible_check_is_skipped_with_its_last_line() {
        let mut report = Report::default();
        report.check_if_possible("index", shell("echo one; echo no network; exit 75")).unwrap();
        report.check_if_possible("other", shell("exit 1")).unwrap();
        assert_eq!((report.passed, report.skipped.len(), report.failed.len()), (0, 1, 1));
    }
}
