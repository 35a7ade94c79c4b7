//! `cargo local bench`: builds the functions and runs the benches, which are in `tests/bench`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::base::failure::{Doing as _, Done, failure};
use crate::base::progress::step;
use crate::base::tools::Tools;
use crate::base::{place, process};
use crate::launch::build::{self, Build};
use crate::launch::valkey;

/// The benches.
const PARTS: [&str; 11] = [
    "deliver", "fanout", "sizes", "read", "write", "rebuild", "returns", "start", "cost", "due",
    "rank",
];

#[derive(clap::Args)]
pub struct Bench {
    /// Run only these benches
    #[arg(value_name = "NAME", value_parser = PARTS)]
    names: Vec<String>,
    /// Repeat less often: everything within a minute, once it is built
    #[arg(long)]
    quick: bool,
    /// Replace the plots that the documents show
    #[arg(long, conflicts_with = "names")]
    publish: bool,
}

/// The folder of the plots that the documents show, and the plots.
const PUBLISHED: (&str, [&str; 4]) =
    ("tests/bench", ["bench.svg", "due.svg", "rank.svg", "idle.svg"]);

pub fn run(bench: &Bench) -> Done<ExitCode> {
    std::fs::create_dir_all(place::local()).doing(place::local().display())?;
    if !process::run(command("bench", bench.quick, &bench.names, &folder())?)?.success() {
        return Err(failure("the benches failed; the reason is above"));
    }
    if bench.publish {
        let (shown, plots) = PUBLISHED;
        for plot in plots {
            let drawn = folder().join(plot);
            std::fs::copy(&drawn, place::root().join(shown).join(plot)).doing(drawn.display())?;
            println!("{shown}/{plot} is the new plot");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder for figures and the plot.
fn folder() -> PathBuf {
    place::target().join("bench")
}

/// The quick benches as a test: with the profile of the other tests, which saves minutes of compiling, and figures that
/// are not written to `target/bench`.
pub fn test() -> Done<(Command, PathBuf)> {
    let folder = place::local().join("bench");
    Ok((command("test", true, &[], &folder)?, folder))
}

/// The build of [`test`].
pub fn build() -> Command {
    let mut build = cargo("test");
    build.arg("--no-run");
    build
}

fn cargo(profile: &str) -> Command {
    let mut cargo = build::cargo();
    cargo.args(["bench", "--profile", profile, "--locked", "--quiet"]);
    cargo.args(["-p", "fanfold-tests", "--bench", "bench"]);
    cargo
}

/// A run of benches. Removes what an earlier run left in the folder.
fn command(profile: &str, quick: bool, names: &[String], folder: &Path) -> Done<Command> {
    let tools = Tools::cloud(false)?;
    let bootstrap = match names.is_empty() || names.iter().any(|name| name == "start") {
        true => step(false, "building the functions", || Build::Release.run(false))?,
        false => PathBuf::new(),
    };
    if folder.exists() {
        std::fs::remove_dir_all(folder).doing(folder.display())?;
    }
    let mut bench = cargo(profile);
    bench.arg("--").args(quick.then_some("--quick")).args(names);
    bench.env("FANFOLD_CLOUD_TOOLS", tools.bin("")).env("FANFOLD_VALKEY", valkey::program(&tools)?);
    bench.env("FANFOLD_BOOTSTRAP", bootstrap);
    bench.env("FANFOLD_BENCH_FOLDER", folder);
    Ok(bench)
}

/// The number of figures that a whole run wrote. (The benches themselves fail if a figure with a target is missing.)
pub fn figures(folder: &Path) -> Done<usize> {
    let file = folder.join("summary.json");
    let text = std::fs::read_to_string(&file).doing(file.display())?;
    let summary: Value =
        serde_json::from_str(&text).map_err(|e| failure(format!("{}: {e}", file.display())))?;
    match summary.as_object() {
        Some(figures) if figures.values().all(Value::is_number) && !figures.is_empty() => {
            Ok(figures.len())
        }
        _ => Err(failure(format!("{} is not an object of numbers", file.display()))),
    }
}
