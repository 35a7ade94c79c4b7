//! Versions of a board that is made again and again: which one was begun last, and which one is ready.
//!
//! The names of the versions are hints: a version that is not there, or whose rebuild has died, is as if it had no name. Two
//! readers who begin different versions at the same time therefore cost one more rebuild, and nothing else.

use std::time::Duration;

use fanfold_core::limits::BOARD_REBUILD_KEPT;
use fanfold_core::time::millis;
use fanfold_core::{Board, RoundId, Time};
use fanfold_runtime::StoreError;

use crate::valkey::{Key, Valkey, failed};

/// The newest versions of a board.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Versions {
    /// The one that was begun last.
    pub begun: Option<u64>,
    /// The one that was ready last.
    pub ready: Option<u64>,
}

impl Valkey {
    /// The newest versions. `id` names all versions together.
    pub async fn board_versions(&self, id: RoundId) -> Result<Versions, StoreError> {
        let [begun, ready] = self.keys.board_versions(id);
        let mut command = begun.command("MGET");
        command.arg(&ready);
        let found: Result<(Option<u64>, Option<u64>), _> =
            command.query_async(&mut self.link.clone()).await;
        let (begun, ready) = found.map_err(failed("reading the versions of a board"))?;
        Ok(Versions { begun, ready })
    }

    /// Notes that a version was begun.
    pub async fn note_begun(&self, id: RoundId, version: u64) -> Result<(), StoreError> {
        let [begun, _] = self.keys.board_versions(id);
        self.note_version(&begun, version, BOARD_REBUILD_KEPT).await
    }

    /// Notes that a version is ready, which Valkey keeps for this long.
    pub async fn note_ready(
        &self,
        id: RoundId,
        version: u64,
        kept: Duration,
    ) -> Result<(), StoreError> {
        // a late message makes an old version
        // mutation: board-newest
        if self.board_versions(id).await?.ready.is_some_and(|newest| newest > version) {
            return Ok(());
        }
        let [_, ready] = self.keys.board_versions(id);
        self.note_version(&ready, version, kept).await
    }

    async fn note_version(
        &self,
        key: &Key,
        version: u64,
        kept: Duration,
    ) -> Result<(), StoreError> {
        let mut command = key.command("SET");
        command.arg(version).arg("PX").arg(millis(kept));
        let noted: Result<String, _> = command.query_async(&mut self.link.clone()).await;
        noted.map(drop).map_err(failed("noting the version of a board"))
    }

    /// Whether the rebuild of a board that is built has a lease at this time.
    pub async fn has_board_lease(&self, board: &Board, now: Time) -> Result<bool, StoreError> {
        let [_, scores, ..] = self.keys.board(board.id);
        let mut command = scores.command("HGET");
        let state: Result<Option<String>, _> =
            command.arg("").query_async(&mut self.link.clone()).await;
        let state = state.map_err(failed("reading the state of a board"))?;
        Ok(state.as_deref().and_then(lease_of).is_some_and(|lease| lease > now))
    }
}

/// The end of the lease in the state of a board that is built (see `lua/_board.lua`).
fn lease_of(state: &str) -> Option<Time> {
    let mut parts = state.split(':');
    let letter = parts.next()?;
    // the generation has no colon
    let until = parts.nth(1)?;
    if letter == "R" {
        return None;
    }
    until.parse().ok().map(Time::from_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_board_that_is_built_has_a_lease() {
        assert_eq!(lease_of("B:generation:500:token"), Some(Time::from_ms(500)));
        for other in
            ["R:generation:700", "R:generation:500:5", "", "B:generation", "B:generation:x:token"]
        {
            assert_eq!(lease_of(other), None, "{other}");
        }
    }
}
