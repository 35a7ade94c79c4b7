//! Counts what passed, what failed and what was skipped.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use crate::failure::{Doing as _, Done};
use crate::process;

#[derive(Default)]
pub struct Report {
    passed: usize,
    failed: Vec<String>,
    skipped: Vec<String>,
}

impl Report {
    /// A check that is one test: a program that must succeed.
    pub fn check(&mut self, name: &str, command: Command) -> Done<()> {
        let start = begin(name);
        let passed = process::run(command)?.success();
        self.one(name, passed);
        end(name, passed, start);
        Ok(())
    }

    /// A check that was made here.
    pub fn hold(&mut self, name: &str, outcome: Done<()>) {
        let start = begin(name);
        if let Err(why) = &outcome {
            println!("{why}");
        }
        self.one(name, outcome.is_ok());
        end(name, outcome.is_ok(), start);
    }

    /// A run of `cargo test`, whose tests are counted one by one.
    pub fn tests(&mut self, name: &str, mut command: Command) -> Done<()> {
        let start = begin(name);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .doing(format!("starting the tests {name}"))?;
        let (mut passed, mut failed) = (0, 0);
        for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
            let line = line.doing(format!("reading the tests {name}"))?;
            let result = line.strip_prefix("test result: ");
            if let Some(result) = result {
                passed += count(result, "passed");
                failed += count(result, "failed");
            } else if line.ends_with("... FAILED") {
                let test = line.trim_start_matches("test ").trim_end_matches(" ... FAILED");
                self.failed.push(format!("{name}: {test}"));
            }
            println!("{line}");
        }
        let status = child.wait().doing(format!("the tests {name}"))?;
        self.passed += passed;
        // a run that ends badly without a failed test did not build, or died; one without any
        // test found none, which is no success either
        if (!status.success() && failed == 0) || (status.success() && passed == 0) {
            self.failed.push(format!("{name}: {status}, {passed} tests passed"));
        }
        end(name, status.success(), start);
        if process::interrupted() { Err(crate::failure::failure("interrupted")) } else { Ok(()) }
    }

    pub fn skip(&mut self, name: &str, why: &str) {
        println!("skipped: {name} ({why})");
        self.skipped.push(name.to_owned());
    }

    pub fn one(&mut self, name: &str, passed: bool) {
        if passed { self.passed += 1 } else { self.failed.push(name.to_owned()) }
    }

    /// Says how it went; the last line counts.
    pub fn close(self) -> ExitCode {
        println!();
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

fn count(result: &str, what: &str) -> usize {
    let words: Vec<&str> = result.split([' ', ';']).collect();
    let place = words.iter().position(|word| *word == what);
    let number = place.and_then(|at| at.checked_sub(1)).and_then(|at| words.get(at));
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn begin(name: &str) -> Instant {
    println!("\n==> {name}");
    Instant::now()
}

fn end(name: &str, passed: bool, start: Instant) {
    let how = if passed { "passed" } else { "FAILED" };
    println!("==> {name}: {how} in {:.0} s", start.elapsed().as_secs_f64());
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_are_counted() {
        let result = "FAILED. 24 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!((super::count(result, "passed"), super::count(result, "failed")), (24, 2));
        assert_eq!(super::count("", "passed"), 0);
    }
}
