//! The deployed stack, and the tools that its tests use.

use std::process::Command;

use super::engine::{self, Engine};
use super::report::Report;
use super::{cargo, checks};
use crate::base::failure::{Done, failure};
use crate::base::place;
use crate::base::tools::Tools;
use crate::launch::Up;
use crate::launch::build::Build;
use crate::launch::system::{Start, System};

/// Parameters of the stack under test. The fault test kills functions often, so messages become visible again soon. An
/// audience of more than six followers is large, and authors with 13 followers are pulled. The tests' authors post more
/// often than people do.
const PARAMETERS: [(&str, &str); 11] = [
    ("ProfileChangesPerMinute", "300"),
    ("PostsPerMinute", "30000"),
    ("BoardChangesPerMinute", "60000"),
    // so few that a test can spend them
    ("PullQueriesPerMinute", "6000"),
    ("QueueVisibility", "40"),
    ("QueueTries", "6"),
    ("SmallFollowers", "2"),
    ("ChunkFollowers", "2"),
    ("BulkFollowers", "6"),
    ("PullFollowers", "13"),
    ("FeedsKeptDays", "1"),
];

pub struct Deployed {
    pub system: System,
    sam: Option<Sam>,
}

/// What the tests of the SAM CLI need.
struct Sam {
    tools: Tools,
    /// A container engine, or the reason why there is none.
    engine: Result<Engine, String>,
}

impl Deployed {
    /// Starts the stack, with the SAM CLI and a container engine if asked for.
    pub fn start(with_sam: bool) -> Done<Self> {
        let sam = match with_sam {
            true => {
                let (tools, engine) = (Tools::sam(false)?, engine::find(&place::local())?);
                Some(Sam { tools, engine })
            }
            false => None,
        };
        let engine = sam.as_ref().and_then(|sam| sam.engine.as_ref().ok());
        let containers = engine.map(|engine| engine.bridge);
        let start = Start {
            up: Up { port: None, aws_port: None, valkey_port: None, containers },
            quiet: false,
            build: Build::Dev,
            parameters: PARAMETERS.map(|(name, value)| (name, value.to_owned())).to_vec(),
        };
        Ok(Self { system: System::start(start)?, sam })
    }

    /// Why no container can run, if so.
    pub fn no_engine(&self) -> Option<&str> {
        self.sam.as_ref().and_then(|sam| sam.engine.as_ref().err()).map(String::as_str)
    }

    /// A run of tests with this stack.
    pub fn test(&self, arguments: &[&str]) -> Done<Command> {
        let mut test = cargo::stack(arguments, &self.system.servers.tools)?;
        self.system.environment(&mut test)?;
        if let Some(sam) = &self.sam {
            test.env("FANFOLD_SAM", sam.tools.bin("sam"));
            if let Ok(Engine { host: Some(host), .. }) = &sam.engine {
                test.env("DOCKER_HOST", host);
            }
        }
        Ok(test)
    }
}

/// The filter that selects the fuzzer.
pub const FUZZ: &str = "fuzz";
/// Callers of the fuzzer: the first one sends the requests, which can name the others.
const FUZZ_USERS: u32 = 4;

/// The seeds of each run of the tests, so that none fails by chance. A seed with which `--soak` finds something is added here.
pub const FUZZ_SEEDS: [u32; 1] = [
    // a name that the description allowed and the API refused
    3_516_384_601,
];
/// The setting of another seed.
const FUZZ_SEED: &str = "FANFOLD_FUZZ_SEED";

/// The fuzzer, with a stack of its own, from the seed of the environment or the usual ones.
pub fn fuzz_alone(report: &mut Report) -> Done<()> {
    let seeds = match std::env::var(FUZZ_SEED) {
        Ok(seed) => vec![seed.parse().map_err(|error| failure(format!("{FUZZ_SEED}: {error}")))?],
        Err(_) => FUZZ_SEEDS.to_vec(),
    };
    let deployed = Deployed::start(false)?;
    seeds.into_iter().try_for_each(|seed| fuzz(report, &deployed, seed))
}

/// Fuzzes the deployed API with requests that are generated from its description.
pub fn fuzz(report: &mut Report, deployed: &Deployed, seed: u32) -> Done<()> {
    let pool = deployed.system.user_pool()?;
    // each run has users of its own: an earlier one may have changed theirs
    let user = |number| pool.token(&format!("fuzz-{seed}-{number}"));
    let tokens = (0..FUZZ_USERS).map(user).collect::<Done<Vec<_>>>()?;
    let mut fuzz = checks::python(&Tools::fuzz(false)?, "fuzz.py");
    fuzz.arg(place::local().join("fuzz-run")).env("FANFOLD_URL", &deployed.system.servers.url);
    fuzz.env("FANFOLD_FUZZ_TOKENS", tokens.join(" "));
    fuzz.env(FUZZ_SEED, seed.to_string());
    report.check("the API, fuzzed (schemathesis)", fuzz)
}

/// The tests of the fault run.
pub const FAULTS: [&str; 3] = ["faults::", "--test-threads=1", "--show-output"];
/// Seconds of load when the fault test runs alone.
const FAULTS_S: u64 = 180;

/// The fault test, with a stack of its own.
pub fn faults(report: &mut Report) -> Done<()> {
    let deployed = Deployed::start(false)?;
    let mut faults = deployed.test(&FAULTS)?;
    faults.env("FANFOLD_FAULTS_S", FAULTS_S.to_string());
    report.tests("faults", faults)
}
