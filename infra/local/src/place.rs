//! Where things are. All that the tool makes lies under `target/local`.

use std::path::{Path, PathBuf};

pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().and_then(Path::parent).unwrap_or(here)
}

pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => root().join(target),
        None => root().join("target"),
    }
}

pub fn local() -> PathBuf {
    target().join("local")
}

/// What the running system tells the other commands.
pub fn state_file() -> PathBuf {
    local().join("running.json")
}

/// Settings of the functions, for `cargo lambda watch`.
pub fn env_file() -> PathBuf {
    local().join("functions.env")
}

pub fn script(name: &str) -> PathBuf {
    root().join("infra/local/cloud").join(name)
}

/// The same for `sam local --env-vars`.
pub fn sam_file() -> PathBuf {
    local().join("sam-env.json")
}
