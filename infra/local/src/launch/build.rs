//! Builds the binary of all functions. `_HANDLER` names the function that it runs.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::failure::{Done, failure};
use crate::base::tools::Tools;
use crate::base::{host, place, process};

/// The package and the binary of the functions.
const PACKAGE: &str = "fanfold-functions";
const BINARY: &str = "fanfold";
/// The features that tests add to dependencies: with them, the functions' build and the tests share every dependency.
const DEV_FEATURE: &str = "dev-build";

/// How the functions are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// With the development profile, which compiles in a fraction of the time of a release. `cargo local` and the stack
    /// under test run this build. Only tests of the release binary (its size, its start, `sam build`) need a release
    /// build.
    Dev,
    /// The release build, as it is deployed to AWS.
    Release,
}

impl Build {
    /// The command of [`Build::Dev`].
    pub fn development() -> Command {
        let mut build = cargo();
        build.args(["build", "--features", DEV_FEATURE]).args(FUNCTIONS);
        build
    }

    /// Builds the functions and returns the path of the binary.
    pub fn run(self, quiet: bool) -> Done<PathBuf> {
        let (command, binary) = match self {
            Build::Dev => (Self::development(), place::target().join("debug").join(BINARY)),
            // cargo-lambda builds for Linux. Elsewhere, a release is a binary of the machine itself.
            Build::Release if host::IS_LINUX => (cargo_lambda(&Tools::cloud(quiet)?), release()),
            Build::Release => {
                (release_by(&["build", "--release"]), place::target().join("release").join(BINARY))
            }
        };
        if quiet {
            process::run_logged("cargo build", command, &place::local().join("build.log"))?;
        } else if !process::run(command)?.success() {
            return Err(failure("cargo could not build the functions; the reason is above"));
        }
        Ok(binary)
    }
}

/// Whether development builds are checked by clippy.
static LINTED: AtomicBool = AtomicBool::new(false);

/// From now on, clippy's compiler makes development builds, in which a warning is an error. `cargo clippy` would check every
/// dependency once more, for a third of the time of the build.
pub fn set_linted(is_linted: bool) {
    LINTED.store(is_linted, Ordering::Relaxed);
}

/// A cargo command for a development build. (The compiler is an option, because programs that cargo runs inherit variables, and
/// would use it for releases.)
pub fn cargo() -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(place::root());
    if LINTED.load(Ordering::Relaxed) {
        // what `cargo clippy -- --deny warnings` sets
        cargo.args(["--config", "build.rustc-workspace-wrapper='clippy-driver'"]);
        cargo.env("CLIPPY_ARGS", ["--deny", "warnings", ""].join("__CLIPPY_HACKERY__"));
    }
    cargo
}

/// The arguments that select the functions.
const FUNCTIONS: [&str; 5] = ["--locked", "-p", PACKAGE, "--bin", BINARY];

/// The folder in which cargo-lambda leaves the release binary, as `fanfold/bootstrap`.
pub fn release_folder() -> PathBuf {
    place::target().join("lambda")
}

fn release() -> PathBuf {
    release_folder().join(BINARY).join("bootstrap")
}

fn release_by(words: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(words).args(FUNCTIONS).current_dir(place::root());
    cargo
}

/// cargo-lambda with this system's own compiler: the binary runs here, and a test checks that it also runs on Amazon
/// Linux 2023.
fn cargo_lambda(tools: &Tools) -> Command {
    let mut command = release_by(&["lambda", "build", "--release"]);
    command.env("PATH", tools.path()).env("CARGO_LAMBDA_COMPILER", "cargo");
    // the folder is the same for any settings of the caller
    command.arg("--lambda-dir").arg(release_folder());
    command
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{BINARY, DEV_FEATURE, PACKAGE, place};

    /// The features of each crate that the functions are made of, as cargo resolves them for a selection of packages.
    fn features(selection: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
        let mut tree = std::process::Command::new("cargo");
        tree.args(["tree", "--locked", "--prefix", "none", "--format", "{p}|{f}"]);
        let tree = tree.args(selection).current_dir(place::root()).output().expect("cargo tree");
        assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
        let mut crates = BTreeMap::new();
        for line in String::from_utf8_lossy(&tree.stdout).lines() {
            let (package, features) = line.trim_end_matches(" (*)").split_once('|').expect("|");
            // a crate may be there twice, for the machine and for build scripts and macros
            let known: &mut BTreeSet<String> = crates.entry(package.to_owned()).or_default();
            known.extend(features.split(',').filter(|name| !name.is_empty()).map(str::to_owned));
        }
        crates
    }

    /// If this fails, add the features that it prints to the feature `dev-build` in functions/Cargo.toml. Otherwise each
    /// crate that it prints, and all that depend on it, is compiled once for the functions and once for the tests.
    #[test]
    fn the_functions_and_the_tests_share_every_dependency() {
        let functions = ["-p", PACKAGE, "--edges", "normal,build", "--features", DEV_FEATURE];
        let (functions, tests) = (features(&functions), features(&["-p", "fanfold-tests"]));
        assert!(functions.len() > 100, "{BINARY} has {} dependencies", functions.len());
        let differ: Vec<_> = functions
            .iter()
            .filter(|(package, features)| tests.get(*package) != Some(features))
            .map(|(package, features)| (package, features, tests.get(package)))
            .collect();
        assert!(differ.is_empty(), "{differ:#?}");
    }
}
