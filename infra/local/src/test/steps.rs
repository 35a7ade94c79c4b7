//! What `cargo local test` does, in order.

use std::process::Command;

use super::checks;
use super::report::Report;
use crate::failure::Done;
use crate::system::{Start, System};
use crate::tools::Tools;
use crate::{bench, engine, place, valkey};

pub fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(arguments).current_dir(place::root());
    cargo
}

/// What needs no server.
pub fn units(report: &mut Report) -> Done<()> {
    report.tests("unit tests", cargo(&["test", "--workspace", "--lib", "--locked"]))?;
    report.tests("the tool's own tests", cargo(&["test", "-p", "fanfold-local", "--locked"]))
}

/// A run of the tests that need servers.
fn servers(arguments: &[&str], tools: &Tools) -> Command {
    let mut test = cargo(&["test", "--locked", "-p", "fanfold-tests", "--test", "stack", "--"]);
    test.args(arguments).env("FANFOLD_CLOUD_TOOLS", tools.bin(""));
    test
}

const SIMULATION: [&str; 5] =
    ["simulation::", "--skip", "likeness::", "--test-threads=1", "--show-output"];

/// Simulated histories, always the same ones.
pub fn simulation(report: &mut Report) -> Done<()> {
    report.tests("simulated histories", servers(&SIMULATION, &Tools::cloud(false)?))
}

/// Simulated histories that nobody has seen yet, for so many seconds.
pub fn soak(report: &mut Report, seconds: u64) -> Done<()> {
    let mut soak = servers(&SIMULATION, &Tools::cloud(false)?);
    soak.env("FANFOLD_SOAK_S", seconds.to_string());
    report.tests("simulated histories", soak)
}

/// Messages that fail come back soon, so the tests need not wait for minutes; the fault run kills
/// functions more often than anybody else does; a handful of followers is a large audience, and a
/// dozen and one a very large one.
const PARAMETERS: [(&str, &str); 6] = [
    ("QueueVisibility", "20"),
    ("QueueTries", "6"),
    ("SmallFollowers", "2"),
    ("ChunkFollowers", "2"),
    ("BulkFollowers", "6"),
    ("PullFollowers", "13"),
];

/// The benches, quickly: they must measure everything, however fast it is.
pub fn bench(report: &mut Report) -> Done<()> {
    let (bench, folder) = bench::test()?;
    report.check("benches", bench)?;
    report.hold("the benches' figures", bench::figures(&folder).map(drop));
    Ok(())
}

/// The deployed stack with all that its tests need.
struct Deployed {
    system: System,
    sam: Tools,
    engine: Result<engine::Engine, String>,
}

impl Deployed {
    fn start() -> Done<Self> {
        let engine = engine::find(&place::local())?;
        let start = Start {
            quiet: false,
            parameters: PARAMETERS.map(|(name, value)| (name, value.to_owned())).to_vec(),
            containers: engine.as_ref().ok().map(|engine| engine.bridge),
            ..Start::default()
        };
        Ok(Self { system: System::start(start)?, sam: Tools::sam(false)?, engine })
    }

    fn test(&self, arguments: &[&str]) -> Done<Command> {
        let mut test = servers(arguments, &self.system.tools);
        self.system.environment(&mut test)?;
        test.env("FANFOLD_SAM", self.sam.bin("sam"));
        if let Ok(engine::Engine { host: Some(host), .. }) = &self.engine {
            test.env("DOCKER_HOST", host);
        }
        Ok(test)
    }
}

/// Those tests whose name holds a text.
pub fn part(report: &mut Report, filter: &str) -> Done<()> {
    let deployed = Deployed::start()?;
    let arguments = [filter, "--test-threads=1", "--show-output"];
    report.tests("the stack, in part", deployed.test(&arguments)?)
}

const FAULTS: [&str; 3] = ["faults::", "--test-threads=1", "--show-output"];
/// How long the load goes on when it is the only test.
const FAULTS_S: u64 = 180;

/// The deployed stack while its parts are disturbed.
pub fn faults(report: &mut Report) -> Done<()> {
    let deployed = Deployed::start()?;
    let mut faults = deployed.test(&FAULTS)?;
    faults.env("FANFOLD_FAULTS_S", FAULTS_S.to_string());
    report.tests("faults", faults)
}

const GRAVITON: &str = "sam_build_makes_graviton";

/// Whether the compiler has what functions for Graviton are linked with.
fn graviton() -> bool {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", "aarch64-unknown-linux-gnu"]);
    let said = rustc.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    said.is_ok_and(|folder| std::path::Path::new(folder.trim()).is_dir())
}

/// What needs the whole system.
pub fn system(report: &mut Report) -> Done<()> {
    let deployed = Deployed::start()?;
    let (tools, binaries) = (&deployed.system.tools, deployed.system.binaries());
    let mut stacks = checks::python(tools, "test_stacks.py");
    stacks.arg("--binaries").arg(binaries).arg("--valkey").arg(valkey::program(tools)?);
    report.tests("stacks that are updated, deleted, and side by side", stacks)?;
    let apart = [
        "serial::",
        "tools::",
        "binaries::",
        "faults::",
        "cluster::",
        "tls::",
        "simulation::dropping",
        "simulation::every",
        "simulation::stampede",
    ];
    let apart: Vec<&str> = apart.iter().flat_map(|name| ["--skip", name]).collect();
    report.tests("the stack", deployed.test(&apart)?)?;
    report.tests("clusters", deployed.test(&["cluster::", "--test-threads=1"])?)?;
    report.tests("TLS and IAM", deployed.test(&["tls::", "--test-threads=1"])?)?;
    report.tests("the stack, one by one", deployed.test(&["serial::", "--test-threads=1"])?)?;
    let binaries = ["binaries::", "--test-threads=1", "--show-output"];
    report.tests("binaries", deployed.test(&binaries)?)?;
    let tools = ["tools::", "--skip", "sam_local", "--skip", GRAVITON, "--test-threads=1"];
    report.tests("the tools", deployed.test(&tools)?)?;
    match graviton() {
        true => {
            report.tests("sam build for arm64", deployed.test(&[GRAVITON, "--show-output"])?)?
        }
        false => report.skip("sam build for arm64", "rustup target add aarch64-unknown-linux-gnu"),
    }
    match &deployed.engine {
        Ok(_) => report.tests("sam local", deployed.test(&["sam_local", "--test-threads=1"])?)?,
        Err(why) => report.skip("sam local", why),
    }
    // it ends the system's Valkey
    report.tests("faults", deployed.test(&FAULTS)?)?;
    // last: all that functions do was done by now
    report.check("what functions may do, and do", deployed.system.policies())
}
