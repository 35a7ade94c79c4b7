//! `cargo local test`: the tests, from the form of the source to the tools around the stack.
//!
//! | module | does |
//! | --- | --- |
//! | [`checks`] | runs checks that need no server: format, lints, templates, dependencies, platforms |
//! | [`cargo`] | commands of cargo |
//! | [`suite`] | runs tests with cargo, with the servers that they need |
//! | [`needs`] | knows which tests need which servers |
//! | [`all`] | runs the tests of every day, or all tests, in order |
//! | [`deployed`] | the deployed stack, and the tools that its tests use |
//! | [`browser`] | the page in Chromium |
//! | [`clients`] | generated clients of other languages |
//! | [`mutations`] | deliberate errors, each of which a test must find |
//! | [`engine`] | a container engine, for `sam local` |
//! | [`progress`] | how far a run is |
//! | [`report`] | counts what passed, failed and was skipped |
//! | [`libtest`] | reads the output of tests |
//!
//! The tests run with `cargo test`. cargo-nextest would run each test in a process of its own, which helps where tests
//! disturb each other; here they share servers, and one binary runs them all in threads. It would also be a program that
//! takes minutes to compile before the first test.

mod all;
mod browser;
mod cargo;
mod checks;
mod clients;
mod deployed;
mod engine;
mod libtest;
mod mutations;
mod needs;
mod progress;
mod report;
mod suite;

use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::base::failure::{Doing as _, Done, failure};
use crate::base::{place, process, tools};
use report::Report;

#[derive(clap::Args)]
pub struct Test {
    /// Run only the tests whose name contains this, with the servers that they need; `fuzz` runs the fuzzer,
    /// `browser` the tests of the page in Chromium, and `clients` the generated clients
    filter: Option<String>,
    /// Run also the tests that build releases, or that need other machines, versions and tools
    #[arg(long, conflicts_with_all = ["filter", "soak", "faults", "mutations"])]
    all: bool,
    /// Run only what is random, from fresh seeds: simulated histories for the given time, such as 90s, 10m or 2h, unit
    /// tests, and the fuzzer. What fails prints how to repeat it
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "filter")]
    soak: Option<Duration>,
    /// Run only the fault test for three minutes: the deployed stack under load while its parts fail
    #[arg(long, conflicts_with_all = ["filter", "soak"])]
    faults: bool,
    /// Apply deliberate errors to a copy of the code, one at a time, and check that a test fails for each; prints a table
    #[arg(long, value_name = "NAME,…", num_args = 0..=1, default_missing_value = "",
        conflicts_with_all = ["filter", "soak", "faults"])]
    mutations: Option<String>,
    /// Count a skipped step as a failure, except those that no installation makes possible
    #[arg(long)]
    no_skips: bool,
}

/// The optimisation of every build during tests; Cargo.toml says why.
const OPTIMISED: (&str, &str) = ("CARGO_PROFILE_DEV_OPT_LEVEL", "1");

/// Runs the tests of every day, or those that the options name. A failed test does not stop the others.
pub fn run(test: &Test) -> Done<ExitCode> {
    let (variable, level) = OPTIMISED;
    if std::env::var_os(variable).is_none() {
        // all programs that this one starts inherit the variable
        let doing = "starting again with the variables of tests";
        let mut again = Command::new(std::env::current_exe().doing(doing)?);
        return Err(again.args(std::env::args_os().skip(1)).env(variable, level).exec())
            .doing(doing);
    }
    tools::check_python()?;
    std::fs::create_dir_all(place::local()).doing(place::local().display())?;
    if let Some(name) = &test.mutations {
        return mutations::run(name);
    }
    let mut report = Report::new(test.no_skips);
    match test {
        Test { soak: Some(time), .. } => suite::soak(&mut report, *time)?,
        Test { faults: true, .. } => deployed::faults(&mut report)?,
        Test { filter: Some(filter), .. } if filter == deployed::FUZZ => {
            deployed::fuzz_alone(&mut report)?;
        }
        Test { filter: Some(filter), .. } if filter == browser::BROWSER => {
            browser::alone(&mut report)?
        }
        Test { filter: Some(filter), .. } if filter == clients::CLIENTS => {
            clients::alone(&mut report)?
        }
        Test { filter: Some(filter), .. } => suite::matching(&mut report, filter)?,
        Test { all, .. } => {
            report = report.with_progress(all::progress(*all));
            all::run(&mut report, *all)?;
        }
    }
    Ok(report.close())
}

/// A time of at least a second.
fn duration(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time.as_secs() == 0 { Err("must be at least 1 s".to_owned()) } else { Ok(time) }
}

/// Writes the description of the API, and the routes of the template, from the handlers. The test that compares them with the
/// files does the work.
pub fn write_openapi() -> Done<ExitCode> {
    let mut test = Command::new("cargo");
    test.args(["test", "--quiet", "-p", "fanfold-tests", "--test", "stack", "openapi::the_files"]);
    test.current_dir(place::root()).env("FANFOLD_WRITE_OPENAPI", "1");
    match process::run(test)?.success() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(failure("the description of the API was not written; the reason is above")),
    }
}
