//! The settings of boards.

use std::collections::HashSet;

use fanfold_core::board::{MergeOf, MergeSource};
use fanfold_core::id::Identity;
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::limits::BOARDS_MAX;
use fanfold_core::{BoardId, UserId};
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{Item, Stored, key, number, read, text, write};
use fanfold_runtime::StoreError;
use fanfold_runtime::sqs::Announced;
use serde::{Deserialize, Serialize};

use super::{BoardStore, StoredBoard};
use crate::boards::messages::BoardChanged;
use crate::people::items::{Counter, Owner, UserStore};

#[derive(Serialize, Deserialize)]
struct BoardItem {
    sk: String,
    v: u32,
    /// Of two states of a board, the one that was read is known by these.
    token: String,
    revision: u64,
    board: StoredBoard,
}

impl Stored for BoardItem {
    const V: u32 = 1;
}

/// The names of the writes of a transaction about a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BoardWrite {
    /// The settings.
    Board,
    /// The counter of the owner.
    Owner,
}

/// The result of storing the settings of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoardPut {
    /// They are stored.
    Done,
    /// The board changed since it was read.
    Raced,
    /// The owner has no profile, or it belongs to another identity, or the owner has too many boards.
    Refused,
}

/// Why a board ends.
#[derive(Clone, Copy)]
pub enum BoardEnd<'a> {
    /// Its owner deletes it. The owner's counter changes.
    Deleted(&'a UserStore),
    /// Its owner is being dropped, and has no counter any more.
    OwnerDropped,
}

impl BoardStore {
    /// Reads a board. `None` if it does not exist.
    pub async fn board(&self, id: BoardId) -> Result<Option<StoredBoard>, StoreError> {
        let doing = "reading a board";
        let item = self.table.get(doing, board_key(id)).await?;
        Ok(item.map(|item| read::<BoardItem>(doing, item)).transpose()?.map(|item| item.board))
    }

    /// Reads the boards of several ids, which must differ. Missing ones are left out.
    pub async fn boards(&self, ids: &[BoardId]) -> Result<Vec<StoredBoard>, StoreError> {
        let doing = "reading boards";
        let keys = ids.iter().map(|id| board_key(*id)).collect();
        let items = self.table.get_all(doing, keys).await?;
        items.into_iter().map(|item| Ok(read::<BoardItem>(doing, item)?.board)).collect()
    }

    /// The boards that a board is merged from, in the same order. `None`: there is no such board.
    pub async fn sources(&self, merge: &MergeOf) -> Result<Vec<Option<StoredBoard>>, StoreError> {
        let id = |source: &MergeSource| BoardId::of(source.owner, &source.name);
        let ids: HashSet<BoardId> = merge.boards.iter().map(id).collect();
        let found = self.boards(&ids.into_iter().collect::<Vec<_>>()).await?;
        let of = |source: &MergeSource| {
            let is_it = |found: &&StoredBoard| {
                // another name of the owner can have the same hash
                found.id == id(source) && found.name == source.name
            };
            found.iter().find(is_it).cloned()
        };
        Ok(merge.boards.iter().map(of).collect())
    }

    /// The boards of a user, by name.
    pub async fn of_owner(&self, owner: UserId) -> Result<Vec<StoredBoard>, StoreError> {
        let doing = "listing boards";
        let (mut boards, mut after) = (Vec::new(), None);
        loop {
            let board = |item| Ok(read::<BoardItem>(doing, item)?.board);
            let page = self.page_of(doing, &boards_pk(owner), after, None, board).await?;
            boards.extend(page.rows);
            after = page.next_after;
            // a bound: an owner has at most so many
            if after.is_none() || boards.len() as u64 > BOARDS_MAX {
                boards.sort_by(|a, b| a.name.cmp(&b.name));
                return Ok(boards);
            }
        }
    }

    /// Stores a board, in place of `old`, which was read before. A new one counts.
    pub async fn put_board(
        &self,
        _sent: Announced<BoardChanged>,
        users: &UserStore,
        owner: &Identity,
        old: Option<&StoredBoard>,
        new: &StoredBoard,
    ) -> Result<BoardPut, StoreError> {
        let doing = "storing a board";
        let item = BoardItem {
            sk: new.id.name.to_string(),
            v: BoardItem::V,
            token: new.token.clone(),
            revision: new.revision,
            board: new.clone(),
        };
        let item = write(doing, &boards_pk(new.id.owner), &item)?;
        let put = self.table.put(item);
        let put = match old {
            None => put.condition("attribute_not_exists(pk)"),
            Some(old) => put
                .condition(AS_READ)
                .name("#token", "token")
                .value(":v", number(BoardItem::V))
                .value(":token", text(&old.token))
                .value(":revision", number(old.revision)),
        };
        let mut transaction = Transaction::new(doing);
        transaction.add(BoardWrite::Board, put);
        if old.is_none() {
            let counter = Counter::Boards.add(users.table(), 1, Owner::Is(owner));
            transaction.add(BoardWrite::Owner, counter);
        }
        Ok(result(&transaction.commit().await?))
    }

    /// Removes the settings of a board that is as it was read. Its scores stay; the handler of the event removes them.
    pub async fn end_board(
        &self,
        _sent: Announced<BoardChanged>,
        old: &StoredBoard,
        end: BoardEnd<'_>,
    ) -> Result<BoardPut, StoreError> {
        let delete = self
            .table
            .delete(board_key(old.id))
            .condition(AS_READ)
            .name("#token", "token")
            .value(":v", number(BoardItem::V))
            .value(":token", text(&old.token))
            .value(":revision", number(old.revision));
        let mut transaction = Transaction::new("removing a board");
        transaction.add(BoardWrite::Board, delete);
        if let BoardEnd::Deleted(users) = end {
            let counter = Counter::Boards.add(users.table(), -1, Owner::User(old.id.owner));
            transaction.add(BoardWrite::Owner, counter);
        }
        Ok(result(&transaction.commit().await?))
    }
}

/// The condition that a board is as it was read.
const AS_READ: &str = "v <= :v AND #token = :token AND revision = :revision";

fn result(outcome: &CommitResult<BoardWrite>) -> BoardPut {
    match outcome {
        CommitResult::Done => BoardPut::Done,
        // another request may have made this board, and reached the limit with it
        outcome if outcome.refused(BoardWrite::Board) => BoardPut::Raced,
        outcome if outcome.refused(BoardWrite::Owner) => BoardPut::Refused,
        CommitResult::Refused(_) => BoardPut::Raced,
    }
}

fn boards_pk(owner: UserId) -> Pk {
    ItemKind::Board.pk(owner)
}

fn board_key(id: BoardId) -> Item {
    key(&boards_pk(id.owner), id.name)
}
