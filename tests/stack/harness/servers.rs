//! Servers that a test starts for itself.

use std::path::PathBuf;

use super::setting;

/// The program `valkey-server` that the local tool chose.
pub fn valkey_server() -> PathBuf {
    PathBuf::from(setting("FANFOLD_VALKEY"))
}
