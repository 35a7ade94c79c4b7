//! Boards: members ranked by up to four scores.
//!
//! | module | contains |
//! | --- | --- |
//! | [`names`] | the names of boards and members |
//! | [`scores`] | scores, their order and their encoding, and ranks |
//! | [`id`] | the ids of boards and rounds |
//! | [`period`] | days, periods and time zones |
//! | [`settings`] | what the owner of a board chooses |

pub mod id;
pub mod names;
pub mod period;
pub mod scores;
pub mod settings;

pub use id::{BoardId, RoundId};
pub use names::{BoardError, BoardName, MemberName};
pub use period::{Day, Period, Round, Zone};
pub use scores::{Board, MergeBy, Merged, Order, Orders, Ranks, Scores};
pub use settings::{BoardSettings, MergeOf, MergeSource};
