//! Removing a board from Valkey.

use fanfold_core::{Board, RoundId};
use fanfold_runtime::error::StoreError;

use crate::valkey::probe::Cause;
use crate::valkey::{Valkey, failed};

impl Valkey {
    /// Removes a board from Valkey. A rebuild that is under way is lost.
    pub async fn drop_board(&self, board: &Board) -> Result<(), StoreError> {
        self.unlink_board(board.id).await
    }

    /// Removes the board with this id from Valkey, and its name from the list of its bucket.
    pub async fn forget_board(&self, id: RoundId, named: &str) -> Result<(), StoreError> {
        let list = self.keys.boards(id.bucket(self.keys.buckets()));
        let mut remove = list.command("ZREM");
        let removed: Result<u64, _> = remove.arg(named).query_async(&mut self.link.clone()).await;
        removed.map_err(failed("forgetting a board"))?;
        self.unlink_board(id).await
    }

    async fn unlink_board(&self, id: RoundId) -> Result<(), StoreError> {
        let mut unlink = redis::cmd("UNLINK");
        for key in self.keys.board(id) {
            unlink.arg(key);
        }
        let removed: Result<u64, _> = unlink.query_async(&mut self.link.clone()).await;
        removed.map(drop).map_err(failed("dropping a board"))
    }

    /// The answer of a call that changes a board. If a full server refused the change, the board is dropped, because readers
    /// would get ranks without it.
    pub(super) async fn or_drop<T>(
        &self,
        board: &Board,
        answer: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if answer.as_ref().is_err_and(|error| Cause::of(error) == Cause::Full) {
            self.drop_board(board).await?;
        }
        answer
    }
}
