//! The tests of every day, and all tests, in order. All tests are those of every day, and those that build releases, or that
//! need other machines, versions and tools.

use std::time::Duration;

use super::deployed::{self, Deployed, FAULTS};
use super::progress::Progress;
use super::report::Report;
use super::suite;
use super::{browser, cargo, checks, clients};
use crate::base::failure::Done;
use crate::base::tools::Tools;
use crate::base::{host, place};
use crate::bench;
use crate::launch::servers::Servers;
use crate::launch::{Up, build, valkey};

/// The progress of a run. The first one takes this time on two cores without builds.
pub fn progress(all: bool) -> Progress {
    let (file, minutes) = if all { ("steps-of-all.json", 38) } else { ("steps.json", 20) };
    Progress::new(place::local().join(file), Duration::from_secs(60 * minutes))
}

/// Runs the tests of every day, or all tests.
pub fn run(report: &mut Report, all: bool) -> Done<()> {
    // while cargo compiles for the first checks; the step that needs the tools reports what could not be installed
    std::thread::spawn(move || {
        let tools =
            [Tools::cloud, Tools::node, Tools::sam, Tools::checks, Tools::fuzz, Tools::clients];
        // the tests of every day need the first two
        let needed = if all { tools.len() } else { 2 };
        tools.iter().take(needed).filter(|install| install(false).is_ok()).count()
    });
    // programs that use one processor, while cargo compiles
    let beside = report.beside(move |report| {
        checks::documents(report)?;
        if all {
            checks::templates(report)?;
            checks::packages(report)?;
        }
        Ok(())
    });
    checks::source(report)?;
    suite::units(report)?;
    report.add(beside)?;
    if all {
        checks::vulnerabilities(report)?;
        checks::macos(report)?;
    }
    // its last link uses one processor, and histories have a clock of their own
    let release = (all && host::IS_LINUX)
        .then(|| report.beside(|_| build::Build::Release.run(true).map(drop)));
    suite::simulation(report)?;
    if let Some(release) = release {
        report.add(release)?;
    }
    if all {
        benches(report)?;
        older_valkey(report)?;
    }
    system(report, all)
}

/// The quick benches. They must measure every figure; no speed is required.
fn benches(report: &mut Report) -> Done<()> {
    let (bench, folder) = bench::test()?;
    report.check("benches", bench)?;
    report.hold("the benches' figures", bench::figures(&folder).map(drop));
    Ok(())
}

/// The tests of clusters that depend on the client alone: how it connects, and what it does when a connection is lost.
const CLIENT: [&str; 3] = [
    "a_server_that_hangs_or_restarts_empty",
    "connections_that_are_cut_during_a_call",
    "the_url_gives_the_kind_of_server",
];

/// Runs the tests that depend on the version of Valkey on Valkey 8.1: scripts, and how clusters fail over, move slots and
/// lose data. All other tests run only on the tools' version.
fn older_valkey(report: &mut Report) -> Done<()> {
    let (scripts, clusters) = ("scripts on Valkey 8.1", "clusters on Valkey 8.1");
    let program = match valkey::older_program()? {
        Ok(program) => program,
        Err(why) => {
            report.skip(scripts, why);
            report.skip(clusters, why);
            return Ok(());
        }
    };
    let up = Up { port: None, aws_port: None, valkey_port: None, containers: None };
    let servers = Servers::start(Tools::cloud(false)?, &up, false)?;
    let (server, url) = valkey::start_anywhere(&program, &place::local().join("valkey-8.log"))?;
    let mut of_server = vec!["cluster::", "--test-threads=1"];
    of_server.extend(CLIENT.iter().flat_map(|name| ["--skip", name]));
    for (name, arguments) in [(scripts, vec!["scripts::"]), (clusters, of_server)] {
        let mut test = cargo::stack(&arguments, &servers.tools)?;
        servers.environment(&mut test)?;
        test.env("FANFOLD_VALKEY", &program).env("REDIS_URL", &url);
        report.tests(name, test)?;
    }
    drop(server);
    Ok(())
}

const GRAVITON: &str = "sam_build_makes_graviton";

/// Tests that do not run together with the rest: each has a step of its own.
const APART: [&str; 13] = [
    "serial::",
    "tools::",
    "binaries::",
    "faults::",
    "cluster::",
    "tls::",
    "simulation::dropping",
    "simulation::due",
    "simulation::likes",
    "simulation::boards",
    "simulation::every",
    "simulation::stampede",
    "simulation::crowd",
];

/// The tests that need the deployed stack.
fn system(report: &mut Report, all: bool) -> Done<()> {
    let deployed = Deployed::start(all)?;
    let tools = &deployed.system.servers.tools;
    let mut stacks = checks::python(tools, "test_stacks.py");
    stacks.arg("--bootstrap").arg(&deployed.system.bootstrap);
    stacks.arg("--valkey").arg(valkey::program(tools)?);
    report.tests("updates and deletions of stacks", stacks)?;
    let apart: Vec<&str> = APART.iter().flat_map(|name| ["--skip", name]).collect();
    report.tests("the stack", deployed.test(&apart)?)?;
    if all {
        deployed::FUZZ_SEEDS
            .into_iter()
            .try_for_each(|seed| deployed::fuzz(report, &deployed, seed))?;
    }
    browser::check(report, &deployed, all)?;
    if all {
        clients::check(report, &deployed)?;
        report.tests("clusters", deployed.test(&["cluster::", "--test-threads=1"])?)?;
        report.tests("TLS and IAM", deployed.test(&["tls::", "--test-threads=1"])?)?;
    }
    report.tests(
        "the stack, tests that disturb others",
        deployed.test(&["serial::", "--test-threads=1"])?,
    )?;
    if all {
        release(report, &deployed)?;
        let tools = ["tools::", "--skip", "sam_", "--test-threads=1"];
        report.tests("the tools", deployed.test(&tools)?)?;
        sam(report, &deployed)?;
        // ends the system's Valkey
        report.tests("faults", deployed.test(&FAULTS)?)?;
    }
    // last, when the functions have made their calls
    report.check("the rights of functions, and their calls", deployed.system.policies(all))
}

/// The release binary: its size, its start and what it contains.
fn release(report: &mut Report, deployed: &Deployed) -> Done<()> {
    if !host::IS_LINUX {
        report.skip("the release binary", "it is built for Linux; this machine does not run Linux");
        return Ok(());
    }
    build::Build::Release.run(false)?;
    let binaries = ["binaries::", "--test-threads=1", "--show-output"];
    report.tests("the release binary", deployed.test(&binaries)?)
}

/// The SAM CLI: build, deploy, and the functions in containers.
fn sam(report: &mut Report, deployed: &Deployed) -> Done<()> {
    if !host::IS_LINUX {
        report.skip("sam build, sam deploy and sam local", "they are tested on Linux only");
        return Ok(());
    }
    let build = ["tools::sam", "--skip", "sam_local", "--skip", GRAVITON, "--test-threads=1"];
    report.tests("sam build and sam deploy", deployed.test(&build)?)?;
    let graviton = "aarch64-unknown-linux-gnu";
    match checks::has_target(graviton) {
        true => {
            report.tests("sam build for arm64", deployed.test(&[GRAVITON, "--show-output"])?)?
        }
        false => report.skip("sam build for arm64", &checks::no_target(graviton)),
    }
    match deployed.no_engine() {
        None => report.tests("sam local", deployed.test(&["sam_local", "--test-threads=1"])?)?,
        Some(why) => report.skip("sam local", why),
    }
    Ok(())
}
