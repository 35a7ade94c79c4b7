//! Boards: rankings of members by their scores.
//!
//! DynamoDB has the scores. Valkey has copies of rounds, which rank their members. A copy is made when somebody reads or
//! changes a board, and is never shown before it is complete.
//!
//! | module | contains |
//! | --- | --- |
//! | [`settings`] | make, change, list and delete a board |
//! | [`change`] | set, add to and remove scores |
//! | [`read`] | ranks, pages, ranges and percentiles |
//! | [`copy`] | makes copies, and calls them |
//! | [`apply`] | handles the events |
//! | [`compare`] | compares copies with their rows |

pub mod change;
pub mod compare;
pub mod copy;
pub mod events;
pub mod items;
pub mod read;
pub mod settings;

use std::time::Duration;

use crate::boards::items::{BoardStore, StoredBoard};
use crate::cards::BoardCards;
use crate::feeds::ReadContext;
use crate::people::items::UserStore;
use fanfold_core::board::Day;
use fanfold_core::limits::{BOARD_ROWS_IN_REQUEST, COMMIT_GRACE};
use fanfold_core::message::GraphEvent;
use fanfold_core::{BoardId, BoardName, Time, UserId};
use fanfold_engines::valkey::{Valkey, WriteKind, WriteLimit};
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::sqs::Queue;
use fanfold_runtime::{Config, StartError};

use crate::{Error, graph, orders};
use copy::{Copies, Target};

/// The stores, the queues and the write limit of the use cases of boards.
#[derive(Clone)]
pub struct Boards {
    pub copies: Copies,
    pub users: UserStore,
    pub events: Queue<GraphEvent>,
    pub limit: WriteLimit,
    /// The delay of events: longer than a writer lives.
    pub event_delay: Duration,
}

impl Boards {
    /// Makes the clients from the settings. An error names the setting that is missing or malformed.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, StartError> {
        Ok(Self {
            copies: Copies::new(sdk, config)?,
            users: UserStore::new(sdk, config)?,
            events: graph::events(sdk, config)?,
            limit: WriteLimit::read(config, WriteKind::Board)?,
            event_delay: COMMIT_GRACE,
        })
    }

    /// The cards of boards, from the same stores.
    fn cards(&self) -> BoardCards {
        BoardCards { valkey: self.copies.valkey.clone(), boards: self.copies.boards.clone() }
    }
}

impl Copies {
    /// Makes the clients from the settings. An error names the setting that is missing or malformed.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, StartError> {
        Ok(Self {
            boards: BoardStore::new(sdk, config)?,
            users: UserStore::new(sdk, config)?,
            valkey: Valkey::new(sdk, config)?,
            rebuilds: orders::queue(sdk, config)?,
            rows_in_request: BOARD_ROWS_IN_REQUEST,
        })
    }
}

/// The name of a board in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardRef {
    /// The owner.
    pub owner: UserId,
    /// The name.
    pub name: BoardName,
    /// A day of the period whose round is meant. `None`: the present round.
    pub day: Option<Day>,
}

impl BoardRef {
    fn missing(&self) -> Error {
        Error::NoSuchBoard { owner: self.owner, name: self.name.clone() }
    }
}

/// The board with this name, from its card. Fails with [`Error::NoSuchBoard`].
async fn find(app: &Boards, board: &BoardRef, now: Time) -> Result<StoredBoard, Error> {
    let id = BoardId::of(board.owner, &board.name);
    let found = app.cards().boards(&[id], &ReadContext::new(now)).await?.remove(&id);
    // another name of the owner can have the same hash
    found.filter(|found| found.name == board.name).ok_or_else(|| board.missing())
}

/// The round of a board that a request means. Fails with [`Error::NoSuchBoard`] and [`Error::NoSuchRound`].
async fn target(app: &Boards, board: &BoardRef, now: Time) -> Result<Target, Error> {
    let found = find(app, board, now).await?;
    let round = match board.day {
        None => found.settings.round(now),
        Some(day) => found.settings.round_of(day, now).ok_or(Error::NoSuchRound(day))?,
    };
    Ok(Target::new(found, round, now))
}
