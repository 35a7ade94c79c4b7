//! Tools with pinned versions: Python packages, each set in a virtual environment of its own, and programs of crates.io.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::failure::{Doing as _, Done, failure};
use crate::base::{host, place, process, progress};

/// An environment whose tools are installed.
#[derive(Clone)]
pub struct Tools(PathBuf);

impl Tools {
    /// The local cloud, Valkey and cargo-lambda.
    pub fn cloud(quiet: bool) -> Done<Self> {
        Self::install(CLOUD, CLOUD_PINS, quiet)
    }

    /// The SAM CLI.
    pub fn sam(quiet: bool) -> Done<Self> {
        Self::install_on(NEWEST_OF_SAM, "sam", "requirements-sam.txt", quiet)
    }

    /// A Valkey of the oldest version that the tests run on. It is empty on machines that no package has one for.
    pub fn older_valkey() -> Done<Self> {
        Self::install("valkey-8", "requirements-valkey-8.txt", false)
    }

    /// The scanner of templates.
    pub fn checks(quiet: bool) -> Done<Self> {
        Self::install("checks", "requirements-checks.txt", quiet)
    }

    /// The fuzzer of the API.
    pub fn fuzz(quiet: bool) -> Done<Self> {
        Self::install("fuzz", "requirements-fuzz.txt", quiet)
    }

    /// The generator of the Python client.
    pub fn clients(quiet: bool) -> Done<Self> {
        Self::install("clients", "requirements-clients.txt", quiet)
    }

    /// Node.js.
    pub fn node(quiet: bool) -> Done<Self> {
        Self::install("node", "requirements-node.txt", quiet)
    }

    /// uv, which installs in seconds the packages that pip installs in minutes.
    pub fn uv(quiet: bool) -> Done<Self> {
        Self::install(UV, "requirements-uv.txt", quiet)
    }

    /// Installs the packages once, and again if the pins or the Python have changed. Another thread, or another
    /// `cargo local`, that installs the same packages waits until they are there.
    fn install(name: &str, pins: &str, quiet: bool) -> Done<Self> {
        Self::install_on(NEWEST_PYTHON, name, pins, quiet)
    }

    /// Does what [`Tools::install`] does, with a Python that is not newer than `newest`.
    fn install_on(newest: (u32, u32), name: &str, pins: &str, quiet: bool) -> Done<Self> {
        let home = place::local().join(name);
        let pins_file = place::script(pins);
        let pins = std::fs::read_to_string(&pins_file).doing(pins_file.display())?;
        if is_installed(&home, &pins) {
            return Ok(Self(home));
        }
        let python = python(newest)?;
        // several first starts at the same time must not delete each other's files
        let _lock = lock(&place::local().join(format!("install-{name}.lock")))?;
        if is_installed(&home, &pins) {
            return Ok(Self(home));
        }
        progress::step(quiet, &format!("installing the {name} tools (once)"), || {
            let log = place::local().join(format!("install-{name}.log"));
            // pip can do all of it, on machines that uv has no package for and with settings that uv does not know
            let with_uv = || with_uv(&Self::uv(quiet)?, python, &home, &pins_file, &log);
            if name == UV || with_uv().is_err() {
                with_pip(python, &home, &pins_file, &log)?;
            }
            let stamp = home.join(STAMP);
            std::fs::write(&stamp, stamp_of(&home, &pins)).doing(stamp.display())
        })?;
        Ok(Self(home))
    }

    /// The variables that make uv take packages from where files and variables tell pip to take them.
    pub fn uv_sources(&self) -> Done<Vec<(&'static str, String)>> {
        let mut list = self.python();
        list.args(["-m", "pip", "--disable-pip-version-check", "config", "list"]);
        let listed = list.output().doing("reading the settings of pip")?;
        let mut variables = sources_of_pip(&String::from_utf8_lossy(&listed.stdout));
        variables.push(("UV_CACHE_DIR", place::local().join("uv-cache").display().to_string()));
        Ok(variables)
    }

    /// The path of a program of these tools.
    pub fn bin(&self, program: &str) -> PathBuf {
        self.0.join("bin").join(program)
    }

    /// A command that runs the Python of these tools. Its compiled files stay out of the repository.
    pub fn python(&self) -> Command {
        let mut python = Command::new(self.bin("python"));
        python.env("PYTHONPYCACHEPREFIX", place::local().join("pycache"));
        python
    }

    /// On Linux, a command that ends when this process ends, however that ends. A server that is started in another way
    /// survives if this process is killed.
    pub fn with_parent(&self, command: Command) -> Command {
        if !host::IS_LINUX {
            return command;
        }
        let mut python = self.python();
        python.arg(place::script("parent.py")).arg(std::process::id().to_string());
        python.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => python.env(name, value),
                None => python.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            python.current_dir(folder);
        }
        python
    }

    /// The folder of a Python package, if it is installed.
    pub fn package(&self, package: &str) -> Option<PathBuf> {
        let pythons = std::fs::read_dir(self.0.join("lib")).ok()?;
        let mut folders =
            pythons.flatten().map(|python| python.path().join("site-packages").join(package));
        folders.find(|folder| folder.is_dir())
    }

    /// `PATH` with these tools in front.
    pub fn path(&self) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        format!("{}:{path}", self.0.join("bin").display())
    }
}

/// The file in an environment that says what was installed.
const STAMP: &str = "installed.txt";

/// The pins, and the folder: programs of an environment contain its path, so one that was moved or copied is made again.
fn stamp_of(home: &Path, pins: &str) -> String {
    format!("# {}\n{pins}", home.display())
}

/// Whether the environment has these packages, and works: it does not without the Python that made it.
fn is_installed(home: &Path, pins: &str) -> bool {
    let installed = std::fs::read_to_string(home.join(STAMP));
    installed.is_ok_and(|installed| installed == stamp_of(home, pins))
        && home.join("bin/python").exists()
}

/// Fails if a Python is missing that the local cloud is still to be installed with. Called before the build, which takes
/// minutes.
pub fn check_python() -> Done<()> {
    // pins that cannot be read are reported by the installation
    let pins = std::fs::read_to_string(place::script(CLOUD_PINS)).unwrap_or_default();
    match is_installed(&place::local().join(CLOUD), &pins) {
        true => Ok(()),
        false => python(NEWEST_PYTHON).map(drop),
    }
}

/// Waits until no other process has this lock, and takes it. It ends with the file that is returned.
pub fn lock(path: &Path) -> Done<File> {
    let file = File::create(path).doing(path.display())?;
    while let Err(error) = file.try_lock() {
        match error {
            TryLockError::WouldBlock => process::pause()?,
            TryLockError::Error(error) => return Err(error).doing(path.display()),
        }
    }
    Ok(file)
}

/// The environment of the local cloud.
const CLOUD: &str = "cloud";
const CLOUD_PINS: &str = "requirements-cloud.txt";
/// The environment of uv.
const UV: &str = "uv";

/// Creates an empty environment, instead of an existing one.
fn make(python: &Path, home: &Path, options: &[&str], log: &Path) -> Done<()> {
    if home.exists() {
        std::fs::remove_dir_all(home).doing(home.display())?;
    }
    let mut make = Command::new(python);
    make.args(["-m", "venv"]).args(options).arg(home);
    process::run_logged("python3 -m venv", make, log)
}

fn with_pip(python: &Path, home: &Path, pins: &Path, log: &Path) -> Done<()> {
    make(python, home, &[], log)?;
    let mut install = Command::new(home.join("bin/python"));
    install.args(["-m", "pip", "install", "--disable-pip-version-check", "--quiet", "-r"]);
    install.arg(pins);
    process::run_logged("pip install", install, log)
}

fn with_uv(uv: &Tools, python: &Path, home: &Path, pins: &Path, log: &Path) -> Done<()> {
    make(python, home, &["--without-pip"], log)?;
    let mut install = Command::new(uv.bin("uv"));
    install.args(["pip", "install", "--no-config", "--quiet", "--python"]).envs(uv.uv_sources()?);
    install.arg(home.join("bin/python")).arg("-r").arg(pins);
    process::run_logged("uv pip install", install, log)
}

/// The variable of uv for folders with packages.
pub const FOLDERS: &str = "UV_FIND_LINKS";

/// The variables that give uv the package sources that pip is set to.
fn sources_of_pip(settings: &str) -> Vec<(&'static str, String)> {
    let names = [
        ("index-url", "UV_DEFAULT_INDEX"),
        ("extra-index-url", "UV_INDEX"),
        ("find-links", FOLDERS),
        ("cert", "SSL_CERT_FILE"),
    ];
    let value = |name: &str, variable: &str| {
        let value = setting_of_pip(settings, name)?;
        // uv separates folders by commas, and indexes by spaces
        Some(if variable == FOLDERS { value.replace(' ', ",") } else { value })
    };
    names
        .into_iter()
        .filter_map(|(name, variable)| Some((variable, value(name, variable)?)))
        .collect()
}

/// A setting in the lines of `pip config list`, such as `global.cert='/etc/ca.pem'`. The last one counts, and several
/// values are separated by spaces.
fn setting_of_pip(settings: &str, name: &str) -> Option<String> {
    let mut lines = settings.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.rsplit('.').next() == Some(name)).then(|| value.trim_matches('\''))
    });
    let words = lines.next_back()?.replace("\\n", " ");
    let words: Vec<&str> = words.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// A program of crates.io, built once. Unoptimised, because building it takes longer than running it.
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
        install.env("CARGO_PROFILE_DEV_DEBUG", "false");
        // the version's own lock file, and nothing of this workspace's settings
        install.current_dir(place::local());
        let log = place::local().join(format!("install-{name}.log"));
        process::run_logged("cargo install", install, &log)?;
        std::fs::remove_dir_all(home.join("build")).doing(home.display())
    })?;
    Ok(program)
}

/// The oldest Python that the tools run on.
const OLDEST_PYTHON: (u32, u32) = (3, 11);
/// The newest Python on which the packages for `cargo local` can be installed.
const NEWEST_PYTHON: (u32, u32) = (3, 15);
/// The newest Python on which the packages of the SAM CLI can be installed, which the tests use.
const NEWEST_OF_SAM: (u32, u32) = (3, 14);

/// The Python that makes the environments: the first one on the PATH that is new enough, and not too new.
fn python((_, newest): (u32, u32)) -> Done<&'static Path> {
    let names =
        ["python3", "python", "python3.15", "python3.14", "python3.13", "python3.12", "python3.11"];
    let (major, minor) = OLDEST_PYTHON;
    let check = format!(
        "import sys; print(sys.version.split()[0])\n\
         if not ({major}, {minor}) <= sys.version_info[:2] <= ({major}, {newest}): sys.exit(1)\n\
         import venv, ensurepip"
    );
    let mut unusable = None;
    for name in names {
        let Ok(checked) = Command::new(name).args(["-c", check.as_str()]).output() else {
            continue;
        };
        if checked.status.success() {
            return Ok(Path::new(name));
        }
        let version = String::from_utf8_lossy(&checked.stdout).trim().to_owned();
        unusable.get_or_insert(format!("{name} is {version}"));
    }
    let found = unusable.unwrap_or_else(|| "no Python is on the PATH".to_owned());
    Err(failure(format!(
        "{found}; install Python {major}.{minor} to {major}.{newest} with its venv module, as python3 on the PATH"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_made_again_where_it_was_moved_to() {
        let folder = std::env::temp_dir().join(format!("fanfold-tools-{}", std::process::id()));
        let [first, moved] = ["first", "moved"].map(|name| folder.join(name));
        std::fs::create_dir_all(first.join("bin")).unwrap();
        std::fs::write(first.join(STAMP), stamp_of(&first, "a==1\n")).unwrap();
        assert!(!is_installed(&first, "a==1\n"), "it has no Python");
        std::fs::write(first.join("bin/python"), "").unwrap();
        assert!(is_installed(&first, "a==1\n") && !is_installed(&first, "a==2\n"));
        std::fs::rename(&first, &moved).unwrap();
        assert!(!is_installed(&moved, "a==1\n"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn settings_of_pip_are_read() {
        let listed = "global.cert='/etc/ca.pem'\nglobal.index-url='https://a.example/simple'\n\
            :env:.index-url='https://b.example/simple'\n:env:.find-links='\\n/one\\n/two'\n";
        let expected = [
            ("UV_DEFAULT_INDEX", "https://b.example/simple"),
            (FOLDERS, "/one,/two"),
            ("SSL_CERT_FILE", "/etc/ca.pem"),
        ];
        let expected = expected.map(|(name, value)| (name, value.to_owned()));
        assert_eq!(sources_of_pip(listed), expected);
    }
}
