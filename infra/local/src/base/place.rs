//! Paths. Everything that the tool writes is under `target/local`.

use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().and_then(Path::parent).unwrap_or(here)
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

/// The state of the system that `cargo local` runs. Other commands read it.
pub fn state_file() -> PathBuf {
    local().join("running.json")
}

/// The settings of the functions, for `cargo lambda watch --env-file`.
pub fn env_file() -> PathBuf {
    local().join("functions.env")
}

/// The settings of the functions, for `sam local --env-vars`.
pub fn sam_file() -> PathBuf {
    local().join("sam-env.json")
}

/// A Python program of the tool.
pub fn script(name: &str) -> PathBuf {
    root().join("infra/local/cloud").join(name)
}

/// The template of the deployed system.
pub fn template() -> PathBuf {
    root().join("infra/template.yaml")
}
