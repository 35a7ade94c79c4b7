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
//! | [`target`] | a round, with its copy |
//! | `copied` | how a round is copied |
//! | [`source`] | what copies are made from |
//! | [`fallen`] | places members on copies, and removes those who fell out |
//! | [`events`] | handles the events |
//! | [`compare`] | compares copies with their rows |

pub mod cards;
pub mod change;
pub mod compare;
mod copied;
pub mod events;
pub mod fallen;
pub mod items;
pub mod messages;
pub(crate) mod owned;
pub mod read;
pub mod round;
pub mod settings;
pub mod source;

use fanfold_core::board::Day;
use fanfold_core::{BoardId, BoardName, Time, UserId};
use fanfold_engines::card::Wanted;
use fanfold_engines::reading::ReadContext;

use crate::boards::items::StoredBoard;
use crate::{App, Error};
use round::BoardRound;

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
async fn find(app: &App, board: &BoardRef, now: Time) -> Result<StoredBoard, Error> {
    let id = BoardId::of(board.owner, &board.name);
    let wanted = Wanted::default().and::<Option<Box<StoredBoard>>>([id]);
    let mut cards = wanted.read(&app.valkey, app, &ReadContext::new(now)).await?;
    let found = cards.take::<App, Option<Box<StoredBoard>>>(&id).flatten().map(|board| *board);
    // another name of the owner can have the same hash
    found.filter(|found| found.name == board.name).ok_or_else(|| board.missing())
}

/// The round of a board that a request means. Fails with [`Error::NoSuchBoard`] and [`Error::NoSuchRound`].
async fn meant(app: &App, board: &BoardRef, now: Time) -> Result<BoardRound, Error> {
    let found = find(app, board, now).await?;
    let round = match board.day {
        None => found.settings.round(now),
        Some(day) => found.settings.round_of(day, now).ok_or(Error::NoSuchRound(day))?,
    };
    Ok(BoardRound::new(found, round, now))
}
