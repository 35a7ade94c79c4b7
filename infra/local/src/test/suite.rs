//! Runs of tests with cargo, with the servers that they need.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::cargo::{UNITS, cargo, stack};
use super::deployed::{self, Deployed};
use super::needs::{self, Level};
use super::report::{Report, STEP_WITHIN};
use crate::base::failure::{Doing as _, Done, failure};
use crate::base::tools::Tools;
use crate::launch::servers::Servers;
use crate::launch::{Up, build};

pub fn units(report: &mut Report) -> Done<()> {
    report.tests("unit tests", cargo(&UNITS))
}

const SIMULATION: [&str; 5] =
    ["simulation::", "--skip", "likeness::", "--test-threads=1", "--show-output"];
/// The test that plays histories on all processors.
const HISTORIES: &str = "simulation::every_";

/// Simulated histories, which are the same every time. Then the other simulations, each of which uses one processor.
pub fn simulation(report: &mut Report) -> Done<()> {
    let tools = Tools::cloud(false)?;
    let histories = [HISTORIES, "--test-threads=1", "--show-output"];
    report.tests("simulated histories", stack(&histories, &tools)?)?;
    let others = ["simulation::", "--skip", "likeness::", "--skip", HISTORIES, "--show-output"];
    report.tests("other simulations", stack(&others, &tools)?)
}

/// Fresh seeds: simulated histories for the given time, the unit tests once, and the fuzzer for a third of the time, at least
/// once. What fails prints how to repeat it.
pub fn soak(report: &mut Report, time: Duration) -> Done<()> {
    let mut soak = stack(&SIMULATION, &Tools::cloud(false)?)?;
    soak.env("FANFOLD_SOAK_S", time.as_secs().to_string());
    // the histories of feeds run for this time, and the others together
    report.tests_within("simulated histories", soak, 2 * time + STEP_WITHIN)?;
    let seed = fastrand::u32(..).to_string();
    let name = format!("unit tests; to repeat: {RANDOM_TESTS}={seed} cargo test --workspace --lib");
    let mut units = cargo(&UNITS);
    units.env(RANDOM_TESTS, seed);
    report.tests(&name, units)?;
    let (deployed, begun) = (Deployed::start(false)?, Instant::now());
    loop {
        deployed::fuzz(report, &deployed, fastrand::u32(..))?;
        if begun.elapsed() > time / 3 {
            return Ok(());
        }
    }
}

/// The seed of the tests with random values. `.cargo/config.toml` gives the usual one.
const RANDOM_TESTS: &str = "PROPTEST_RNG_SEED";

/// The tests whose name contains a text, with no more servers than they need. If there are none, the unit tests.
pub fn matching(report: &mut Report, filter: &str) -> Done<()> {
    let tools = Tools::cloud(false)?;
    let name = format!("the tests with {filter} in their name");
    let Some(needs) = needs::of_list(&list(stack(&[filter, "--list"], &tools)?)?) else {
        return matching_units(report, &name, filter);
    };
    let arguments = [filter, "--test-threads=1", "--show-output"];
    if needs.release {
        build::Build::Release.run(false)?;
    }
    match needs.servers {
        Level::Tools => report.tests(&name, stack(&arguments, &tools)?),
        Level::Servers => {
            let up = Up { port: None, aws_port: None, valkey_port: None, containers: None };
            let servers = Servers::start(tools, &up, false)?;
            let mut test = stack(&arguments, &servers.tools)?;
            servers.environment(&mut test)?;
            report.tests(&name, test)
        }
        Level::Stack => report.tests(&name, Deployed::start(needs.sam)?.test(&arguments)?),
    }
}

/// The unit tests whose name contains a text.
fn matching_units(report: &mut Report, name: &str, filter: &str) -> Done<()> {
    let units = [&UNITS[..], &[filter, "--"]].concat();
    if needs::names(&list(cargo(&[&units[..], &["--list"]].concat()))?).next().is_none() {
        let why = format!(
            "no test in tests/stack and no unit test has a name that contains {filter}; \
             `cargo test -p fanfold-tests --test stack -- --list` prints names"
        );
        return Err(failure(why));
    }
    report.tests(name, cargo(&[&units[..], &["--show-output"]].concat()))
}

/// What a run of tests lists, after building them.
fn list(mut list: Command) -> Done<String> {
    let output = list.stderr(Stdio::inherit()).output().doing("listing the tests")?;
    if !output.status.success() {
        return Err(failure("the tests could not be built; the reason is above"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
