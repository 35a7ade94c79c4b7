//! The Python tools, pinned, in environments of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Doing as _, Done, failure};
use crate::{place, process, progress};

/// An environment whose tools are installed.
#[derive(Clone)]
pub struct Tools(PathBuf);

impl Tools {
    /// Valkey, the local cloud and cargo-lambda.
    pub fn cloud(quiet: bool) -> Done<Self> {
        Self::install("cloud", "requirements-cloud.txt", quiet)
    }

    /// The SAM CLI.
    pub fn sam(quiet: bool) -> Done<Self> {
        Self::install("sam", "requirements-sam.txt", quiet)
    }

    /// The scanner of templates.
    pub fn checks(quiet: bool) -> Done<Self> {
        Self::install("checks", "requirements-checks.txt", quiet)
    }

    /// Installs once; again only if the pins changed.
    fn install(name: &str, pins: &str, quiet: bool) -> Done<Self> {
        let home = place::local().join(name);
        let pins_file = place::script(pins);
        let pins = std::fs::read_to_string(&pins_file).doing(pins_file.display())?;
        let stamp = home.join("installed.txt");
        if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == pins) {
            return Ok(Self(home));
        }
        let python = python()?;
        progress::step(quiet, &format!("installing the {name} tools (once)"), || {
            let log = place::local().join(format!("install-{name}.log"));
            if home.exists() {
                std::fs::remove_dir_all(&home).doing(home.display())?;
            }
            let mut make = Command::new(python);
            make.args(["-m", "venv"]).arg(&home);
            process::run_logged("python3 -m venv", make, &log)?;
            let mut install = Command::new(home.join("bin/python"));
            install.args(["-m", "pip", "install", "--disable-pip-version-check", "--quiet", "-r"]);
            install.arg(&pins_file);
            process::run_logged("pip install", install, &log)?;
            std::fs::write(&stamp, pins).doing(stamp.display())
        })?;
        Ok(Self(home))
    }

    pub fn bin(&self, program: &str) -> PathBuf {
        self.0.join("bin").join(program)
    }

    pub fn python(&self) -> Command {
        Command::new(self.bin("python"))
    }

    /// The folder of the Python packages' own binaries.
    pub fn package(&self, package: &str) -> Done<PathBuf> {
        let lib = self.0.join("lib");
        let found = std::fs::read_dir(&lib).doing(lib.display())?.flatten().find_map(|entry| {
            let folder = entry.path().join("site-packages").join(package);
            folder.is_dir().then_some(folder)
        });
        found.ok_or_else(|| failure(format!("{package} is not in {}", lib.display())))
    }

    /// `PATH` with these tools in front.
    pub fn path(&self) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        format!("{}:{path}", self.0.join("bin").display())
    }
}

/// A program from crates.io, which is built once. Unoptimised: it takes longer to build than to run.
pub fn cargo_tool(name: &str, version: &str) -> Done<PathBuf> {
    let home = place::local().join(format!("{name}-{version}"));
    let program = home.join("bin").join(name);
    if program.exists() {
        return Ok(program);
    }
    progress::step(false, &format!("building {name} (once)"), || {
        let mut install = Command::new("cargo");
        install.args(["install", "--locked", "--debug", "--quiet", "--version", version, name]);
        install.arg("--root").arg(&home).arg("--target-dir").arg(home.join("build"));
        // the version's own lock file, and nothing of this workspace's settings
        install.current_dir(place::local());
        let log = place::local().join(format!("install-{name}.log"));
        process::run_logged("cargo install", install, &log)?;
        std::fs::remove_dir_all(home.join("build")).doing(home.display())
    })?;
    Ok(program)
}

/// The Python that makes the environments.
fn python() -> Done<&'static Path> {
    for name in ["python3", "python"] {
        let check = "import sys, venv; sys.exit(sys.version_info < (3, 10))";
        let checked = Command::new(name).args(["-c", check]).output();
        if checked.is_ok_and(|checked| checked.status.success()) {
            return Ok(Path::new(name));
        }
    }
    Err(failure("Python 3.10 or newer is needed, with its venv module, as python3 on the PATH"))
}
