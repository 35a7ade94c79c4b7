//! Boards in Valkey (`lua/_board.lua`): ranks of members by their scores.
//!
//! | module | contains |
//! | --- | --- |
//! | [`answer`] | the parts of the scripts' answers |
//! | [`drop`] | removing a board, also one whose change a full server refused |
//! | [`put`] | changes of members, with their new ranks |
//! | [`read`] | ranks of members, pages, ranges and percentiles |
//! | [`rebuild`] | loading a board from DynamoDB |
//! | [`versions`] | the newest versions of a board that is made again and again |

mod answer;
mod drop;
mod put;
mod read;
mod rebuild;
mod versions;

pub use answer::BoardAnswer;
pub use put::{BoardChange, Placed, PutDone};
pub use read::{BoardPage, PageOf, Ranked, RankedMember, Standing, Standings};
pub use rebuild::{BoardBegun, BoardCommit, BoardLoaded};
pub use versions::Versions;
