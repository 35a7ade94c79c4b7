//! Items with a time of their own, of any kind. An item is a tag, an owner and a key; a [`DueKind`] says what to do with those
//! of its tag.
//!
//! DynamoDB has the items, and an index of them by hour. Valkey has a sorted set of those that are due within the next hour
//! or two. A look-ahead runs every minute, takes what is due within two minutes, and hands it on to SQS with the delay that
//! is left. What is due sooner is handed on by the request that makes it. The handler of the messages has each item published
//! or fired by its kind.
//!
//! **The law.** An entry is written and removed in the transaction that makes, moves or ends its item, and that transaction takes
//! a [`HandOn`]: so somebody hands on every item, whatever dies. An item is handled at its time or later by the clock of its
//! handler, never earlier. An entry is a hint: its item says whether it is due, so an entry too many leads to nothing, and the
//! index in Valkey may be lost.
//!
//! | module | does |
//! | --- | --- |
//! | `kind` | what the engine asks of a kind |
//! | `engine` | hands on an item before its commit, and adds its entry to Valkey after it |
//! | `hand_on` | the proof that somebody hands an item on |
//! | `index` | the index in DynamoDB |
//! | `message` | the message of an entry |
//! | `lookahead`, `look`, `check` | find and hand on what is due |
//! | `handle` | handles the message of an entry |
//! | `lease` | one function at a time fires or publishes an item |
//! | `forget` | removes the items of a user |
//! | `pause` | leaves Valkey alone for a while |

mod check;
mod engine;
mod forget;
mod hand_on;
mod handle;
mod index;
mod kind;
mod lease;
mod look;
mod lookahead;
mod message;
mod pause;

pub use engine::{Due, OVERTAKEN_AFTER};
pub use forget::{ForgottenItems, forgotten};
pub use hand_on::HandOn;
pub use handle::handle;
pub use index::{DueIndex, Indexed};
pub use kind::{DueKind, Handled, Handling, Showing};
pub use lease::{EntryLease, HANDLED_ELSEWHERE};
pub use lookahead::{LookedAhead, look_ahead};
pub use message::ItemDue;
pub use pause::Pause;
