//! Paths. Everything that the tool writes is under `target/local`.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::base::failure::{Done, failure};

static ROOT: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    find_root(package.as_deref(), &std::env::current_dir().unwrap_or_default())
});

/// The repository. A path that was compiled in would be the earlier one if the repository was moved or copied with its
/// `target`, because cargo does not compile again then.
pub fn root() -> &'static Path {
    ROOT.as_deref().unwrap_or(Path::new("."))
}

/// Fails outside of a repository.
pub fn check() -> Done<()> {
    match &*ROOT {
        Some(_) => Ok(()),
        None => Err(failure("no repository of Fanfold is here; run `cargo local` in its folder")),
    }
}

/// The repository around the package that cargo runs, or else around the working directory.
fn find_root(package: Option<&Path>, here: &Path) -> Option<PathBuf> {
    let is_root = |folder: &&Path| folder.join("infra/local/Cargo.toml").is_file();
    let mut starts = package.into_iter().chain([here]);
    starts.find_map(|start| start.ancestors().find(is_root)).map(Path::to_owned)
}

/// The folder that cargo builds in, whatever sets it: the one that this program is in. cargo marks it with a file, and also
/// the folder in it of each target that is named on the command line.
pub fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let is_marked = |folder: &&Path| folder.join("CACHEDIR.TAG").is_file();
    let above = program.ancestors().skip_while(|folder| !is_marked(folder));
    match above.take_while(is_marked).last() {
        Some(target) => target.to_owned(),
        None => root().join("target"),
    }
}

/// The folder for everything that the tool writes.
pub fn local() -> PathBuf {
    target().join("local")
}

/// A folder for each system that `cargo local` runs, named after the port of its API.
pub fn runs() -> PathBuf {
    local().join("runs")
}

/// A Python program of the tool.
pub fn script(name: &str) -> PathBuf {
    root().join("infra/local/cloud").join(name)
}

/// The template of the deployed system.
pub fn template() -> PathBuf {
    root().join("infra/template.yaml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_where_the_tool_runs() {
        let folder = std::env::temp_dir().join(format!("fanfold-place-{}", std::process::id()));
        let [first, copy] = ["first", "copy"].map(|name| folder.join(name));
        for repository in [&first, &copy] {
            let package = repository.join("infra/local");
            std::fs::create_dir_all(&package).unwrap();
            std::fs::write(package.join("Cargo.toml"), "").unwrap();
        }
        let package = copy.join("infra/local");
        assert_eq!(find_root(Some(&package), &first), Some(copy.clone()));
        // without cargo
        assert_eq!(find_root(None, &package), Some(copy.clone()));
        assert_eq!(find_root(Some(&folder), &copy), Some(copy));
        assert_eq!(find_root(None, &folder), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
