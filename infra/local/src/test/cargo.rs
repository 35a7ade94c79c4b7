//! Commands of cargo.

use std::process::Command;

use crate::base::failure::Done;
use crate::base::tools::Tools;
use crate::launch::{build, valkey};

/// A cargo command in the repository.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = build::cargo();
    cargo.args(arguments);
    cargo
}

/// Unit tests, which need no server: those of the libraries, and of this tool.
pub const UNITS: [&str; 6] = ["test", "--workspace", "--lib", "--bin", "fanfold-local", "--locked"];

/// The tests that need servers.
pub const STACK: [&str; 6] = ["test", "--locked", "-p", "fanfold-tests", "--test", "stack"];

/// A run of the tests that need servers. They find the tools by `FANFOLD_CLOUD_TOOLS` (the folder of Python) and
/// `FANFOLD_VALKEY` (a valkey-server), which they start servers of their own with.
pub fn stack(arguments: &[&str], tools: &Tools) -> Done<Command> {
    let mut test = cargo(&STACK);
    test.arg("--").args(arguments).env("FANFOLD_CLOUD_TOOLS", tools.bin(""));
    test.env("FANFOLD_VALKEY", valkey::program(tools)?);
    // where the step for binaries, and only that, leaves the release build
    test.env("FANFOLD_BINARIES", build::release_folder());
    Ok(test)
}
