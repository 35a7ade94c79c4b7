//! `cargo local bench`: builds what is measured, and measures it. The benches are in `tests/bench`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::failure::{Doing as _, Done, failure};
use crate::progress::step;
use crate::tools::Tools;
use crate::{Bench, build, place, process};

/// The parts that may be named.
const PARTS: [&str; 7] = ["deliver", "fanout", "sizes", "read", "rebuild", "start", "cost"];
/// What README shows.
const PUBLISHED: &str = "tests/bench/bench.svg";

pub fn run(bench: &Bench) -> Done<ExitCode> {
    if let Some(name) = bench.names.iter().find(|name| !PARTS.contains(&name.as_str())) {
        return Err(failure(format!("there is no bench {name:?}; there are {}", PARTS.join(", "))));
    }
    std::fs::create_dir_all(place::local()).doing(place::local().display())?;
    if !process::run(command("bench", bench.quick, &bench.names, &folder())?)?.success() {
        return Err(failure("the benches went wrong, for the reason above"));
    }
    if bench.publish {
        let (drawn, shown) = (folder().join("bench.svg"), place::root().join(PUBLISHED));
        std::fs::copy(&drawn, &shown).doing(drawn.display())?;
        println!("{PUBLISHED} is the new plot");
    }
    Ok(ExitCode::SUCCESS)
}

/// Where figures and plot go.
fn folder() -> PathBuf {
    place::target().join("bench")
}

/// The quick benches as a test: with the build that the other tests use, which saves minutes of
/// compiling. Its figures judge nothing, and leave those in `target/bench` alone.
pub fn test() -> Done<(Command, PathBuf)> {
    let folder = place::local().join("bench");
    Ok((command("test", true, &[], &folder)?, folder))
}

/// The benches, ready to run; what an earlier run wrote there is gone.
fn command(profile: &str, quick: bool, names: &[String], folder: &Path) -> Done<Command> {
    let tools = Tools::cloud(false)?;
    let binaries = match names.is_empty() || names.iter().any(|name| name == "start") {
        true => step(false, "building the functions", || build::functions(&tools, false))?,
        false => PathBuf::new(),
    };
    if folder.exists() {
        std::fs::remove_dir_all(folder).doing(folder.display())?;
    }
    let mut bench = Command::new("cargo");
    bench.args(["bench", "--profile", profile, "--locked", "--quiet"]).current_dir(place::root());
    bench.args(["-p", "fanfold-tests", "--bench", "bench", "--"]);
    bench.args(quick.then_some("--quick")).args(names);
    bench.env("FANFOLD_CLOUD_TOOLS", tools.bin("")).env("FANFOLD_BINARIES", binaries);
    bench.env("FANFOLD_BENCH_FOLDER", folder);
    Ok(bench)
}

/// Whether a whole run left its figures. (That none of those with a target lacks, it sees to itself.)
pub fn figures(folder: &Path) -> Done<usize> {
    let file = folder.join("summary.json");
    let text = std::fs::read_to_string(&file).doing(file.display())?;
    let summary: Value =
        serde_json::from_str(&text).map_err(|e| failure(format!("{}: {e}", file.display())))?;
    match summary.as_object() {
        Some(figures) if figures.values().all(Value::is_number) && !figures.is_empty() => {
            Ok(figures.len())
        }
        _ => Err(failure(format!("{} is no object of numbers", file.display()))),
    }
}
