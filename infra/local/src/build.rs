//! The functions' binaries.

use std::path::PathBuf;
use std::process::Command;

use crate::failure::{Done, failure};
use crate::tools::Tools;
use crate::{place, process};

/// cargo-lambda with the system's own compiler: these binaries run here, and its linker makes
/// sure that they would run on Amazon Linux 2023 too.
pub fn cargo_lambda(tools: &Tools, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.arg("lambda").args(arguments).current_dir(place::root());
    command.env("PATH", tools.path()).env("CARGO_LAMBDA_COMPILER", "cargo");
    command
}

/// Builds all functions as they are deployed, and says where they lie.
pub fn functions(tools: &Tools, quiet: bool) -> Done<PathBuf> {
    let command = cargo_lambda(tools, &["build", "--release", "--locked"]);
    if quiet {
        let log = place::local().join("build.log");
        process::run_logged("cargo lambda build", command, &log)?;
    } else if !process::run(command)?.success() {
        return Err(failure("cargo lambda build failed, for the reason above"));
    }
    Ok(place::target().join("lambda"))
}
