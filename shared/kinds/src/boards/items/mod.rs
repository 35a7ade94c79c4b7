//! Boards: their settings, the scores of their members, and the rows of rankings.
//!
//! A request may change the scores of many members, and many requests one board. No item is therefore written by each
//! change of a board: the rows of a round have [`BOARD_PARTS`] partition keys, and a change writes the row of its member
//! alone. Each change gives the row a greater revision, so that of two states the newer one is known. A member that was
//! removed leaves its revision for a day.

mod rankings;
mod rows;
mod scores;
mod settings;

use fanfold_core::board::{BoardSettings, Round};
use fanfold_core::id::Identity;
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::limits::BOARD_PARTS;
use fanfold_core::{BoardId, BoardName, MemberName, RoundId, Scores, Second, Time};
use fanfold_engines::table::{Item, Stored, Table, key};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::people::items::identity_text;
pub(crate) use rankings::AuthorRow;
pub use rows::{RowPage, all_rows};
pub use scores::{Added, Addition, ScoreKey};
pub use settings::{BoardEnd, BoardPut};

/// A board as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredBoard {
    /// The id.
    pub id: BoardId,
    /// The name.
    pub name: BoardName,
    /// The whole identity of the owner.
    identity: String,
    /// Random. Boards of one name that follow each other have different ones.
    pub token: String,
    /// The number of changes. The first settings count as one.
    pub revision: u64,
    /// The number of changes that need another copy in Valkey.
    pub layout: u64,
    /// When the board was made.
    #[serde(rename = "created_at_ms")]
    pub created_at: Time,
    /// The settings.
    pub settings: BoardSettings,
}

impl StoredBoard {
    /// A new board.
    pub fn new(
        owner: &Identity,
        name: BoardName,
        settings: BoardSettings,
        token: String,
        now: Time,
    ) -> Self {
        Self {
            id: BoardId::of(owner.user(), &name),
            name,
            identity: identity_text(owner),
            token,
            revision: 1,
            layout: 0,
            created_at: now,
            settings,
        }
    }

    /// The board with other settings.
    #[must_use]
    pub fn with(&self, settings: BoardSettings) -> Self {
        let layout = self.layout + u64::from(settings.need_another_copy(&self.settings));
        Self { layout, revision: self.revision + 1, settings, ..self.clone() }
    }

    /// Whether the board belongs to this identity. Two identities can have the same user id.
    pub fn is_of(&self, identity: &Identity) -> bool {
        self.identity == identity_text(identity)
    }

    /// The rows of a round.
    pub fn rows(&self, round: Round) -> StoredRound {
        let id = RoundId::of_rows(self.id, &self.token, round);
        StoredRound { id, expire: self.settings.rows_expire(round) }
    }
}

/// The rows of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredRound {
    /// The id.
    pub id: RoundId,
    /// When they expire. `None`: never.
    pub expire: Option<Second>,
}

impl StoredRound {
    fn key(&self, member: &MemberName) -> Item {
        key(&scores_pk(self.id, part(member)), member)
    }
}

/// The scores of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The member.
    pub member: MemberName,
    /// The revision. Each change has a greater one, also a removal.
    pub revision: u64,
    /// The scores. `None`: the member was removed.
    pub scores: Option<Scores>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ScoreItem {
    sk: MemberName,
    v: u32,
    revision: u64,
    #[serde(default)]
    s0: Option<i64>,
    #[serde(default)]
    s1: Option<i64>,
    #[serde(default)]
    s2: Option<i64>,
    #[serde(default)]
    s3: Option<i64>,
}

impl Stored for ScoreItem {
    const V: u32 = 1;
}

impl From<ScoreItem> for Row {
    fn from(item: ScoreItem) -> Self {
        let scores = [item.s0, item.s1, item.s2, item.s3].into_iter().map_while(|score| score);
        let scores: Vec<i64> = scores.collect();
        Self { member: item.sk, revision: item.revision, scores: Scores::new(&scores).ok() }
    }
}

/// The boards table.
#[derive(Clone)]
pub struct BoardStore {
    table: Table,
}

impl BoardStore {
    /// The store over its table.
    pub fn new(table: Table) -> Self {
        Self { table }
    }
}

/// The part of the rows of a round that a member is in.
fn part(member: &MemberName) -> u8 {
    part_of(member.as_str())
}

/// The part that a text is in.
fn part_of(text: &str) -> u8 {
    let hash: [u8; 32] = Sha256::digest(text).into();
    let [first, ..] = hash;
    // mutation: board-parts
    first % BOARD_PARTS
}

fn scores_pk(rows: RoundId, part: u8) -> Pk {
    ItemKind::Score.pk(format_args!("{rows}#{part}"))
}
