//! Boards in Valkey (`lua/_board.lua`): ranks of members by their scores.
//!
//! | module | contains |
//! | --- | --- |
//! | [`answer`] | the parts of the scripts' answers |
//! | [`put`] | changes of members, with their new ranks |
//! | [`read`] | ranks of members, pages, ranges and percentiles |
//! | [`rebuild`] | loading a board from DynamoDB |

mod answer;
mod put;
mod read;
mod rebuild;

pub use answer::BoardAnswer;
pub use put::{BoardChange, Placed, PutDone};
pub use read::{BoardPage, PageOf, Ranked, Row, Standing, Standings};
pub use rebuild::{BoardBegun, BoardCommit, BoardLoaded};
