//! The tests of the page in Chromium, with the deployed stack.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::deployed::Deployed;
use super::report::Report;
use crate::base::failure::{Doing as _, Done};
use crate::base::node::Node;
use crate::base::{place, process};

/// The filter that selects these tests.
pub const BROWSER: &str = "browser";
/// What the names of the tests of every day contain.
const OF_EVERY_DAY: &str = "keyboard::";
const STEP: &str = "the page, in Chromium";
/// The names of the program, on Debian and elsewhere.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The browser tests, with a stack of their own.
pub fn alone(report: &mut Report) -> Done<()> {
    match chromium() {
        Some(_) => check(report, &Deployed::start(false)?, true),
        None => skip(report),
    }
}

/// Runs `tests/browser`, or the part of every day, with the deployed stack. Screenshots are left in `target/browser`. With
/// `FANFOLD_PICTURE=1`, the picture for README is made before the tests.
pub fn check(report: &mut Report, deployed: &Deployed, all: bool) -> Done<()> {
    let Some(chromium) = chromium() else { return skip(report) };
    let node = Node::install(false)?;
    let sources = place::root().join("tests/browser");
    let folder = place::target().join("browser");
    // pictures and profiles of an earlier run
    if folder.exists() {
        std::fs::remove_dir_all(&folder).doing(folder.display())?;
    }
    let profiles = folder.join("profiles");
    std::fs::create_dir_all(&profiles).doing(profiles.display())?;
    let mut command = node.run(node.copy(&sources)?.join("main.mjs"));
    deployed.system.environment(&mut command)?;
    command.env("FANFOLD_CHROMIUM", chromium).env("FANFOLD_SCREENSHOTS", &folder);
    if !all {
        command.env("FANFOLD_BROWSER", OF_EVERY_DAY);
    }
    // where the browser makes its profile, which is a new one each time
    command.env("TMPDIR", profiles);
    if std::env::var_os("FANFOLD_PICTURE").is_some() {
        command.env("FANFOLD_PICTURE", sources.join("page.png"));
    }
    // the browser ends with Node.js, and Node.js with this program
    report.tests(STEP, deployed.system.servers.tools.with_parent(command))
}

fn skip(report: &mut Report) -> Done<()> {
    report.skip(STEP, "no program chromium is on the PATH");
    Ok(())
}

fn chromium() -> Option<PathBuf> {
    find(&std::env::var_os("PATH")?)
}

/// The first of the programs that is in one of the folders of a search path.
fn find(path: &OsStr) -> Option<PathBuf> {
    PROGRAMS.iter().find_map(|name| process::find_in(path, name).ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::find;

    #[test]
    fn the_first_name_counts_before_the_first_folder() {
        let folder = std::env::temp_dir().join(format!("fanfold-chromium-{}", std::process::id()));
        let [one, two] = ["one", "two"].map(|name| folder.join(name));
        let path = std::env::join_paths([&one, &two]).unwrap();
        assert_eq!(find(&path), None);
        for program in [one.join("google-chrome"), two.join("chromium")] {
            std::fs::create_dir_all(program.parent().unwrap()).unwrap();
            std::fs::write(&program, "").unwrap();
            assert_ne!(find(&path), Some(program.clone()), "it is no program yet");
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        assert_eq!(find(&path), Some(two.join("chromium")));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
