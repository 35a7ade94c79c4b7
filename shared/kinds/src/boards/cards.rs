//! The card of a board: its settings.

use std::collections::HashMap;

use fanfold_core::board::id::NameHash;
use fanfold_core::kinds::KeyKind;
use fanfold_core::{BoardId, UserId};
use fanfold_engines::card::{Card, Fetched, Text};
use fanfold_engines::valkey::CardId;
use serde::{Deserialize, Serialize};

use super::items::StoredBoard;
use crate::App;

/// In JSON. Names are short, because they are stored with each card.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoardText {
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    board: Option<Box<StoredBoard>>,
}

/// The board, if it exists.
impl Card<App> for Option<Box<StoredBoard>> {
    type Of = BoardId;

    fn id(board: &BoardId) -> CardId {
        CardId::board(*board)
    }

    fn of(id: CardId) -> Option<BoardId> {
        let (owner, name) = id.ids(KeyKind::BoardCard)?;
        Some(BoardId { owner: UserId(owner), name: NameHash(name) })
    }

    fn fetch(app: &App, ids: Vec<BoardId>) -> Fetched<'_, BoardId, Self> {
        Box::pin(async move {
            let found = app.boards.boards(&ids).await?.into_iter();
            let mut found: HashMap<BoardId, StoredBoard> =
                found.map(|board| (board.id, board)).collect();
            let card = |id| (id, found.remove(&id).map(Box::new));
            Ok(ids.into_iter().map(card).collect())
        })
    }

    fn text(&self) -> Option<Text> {
        let keep = if self.is_some() { Text::of } else { Text::of_nothing };
        serde_json::to_vec(&BoardText { board: self.clone() }).ok().map(keep)
    }

    fn decode(_: &BoardId, text: &[u8]) -> Option<Self> {
        serde_json::from_slice::<BoardText>(text).ok().map(|text| text.board)
    }
}
