//! DynamoDB: the truth. Three tables, each with the string keys `pk` and `sk` (users: `pk` alone)
//! and the TTL attribute `expires_at` (seconds).
//!
//! | table | pk | sk | holds |
//! | --- | --- | --- | --- |
//! | users | `user#<user>` | | profile and counters; while the user is dropped, how far that got |
//! | users | `handle#<handle>` | | whose handle it is |
//! | users | `pulled-authors` | | the authors whose posts are not pushed |
//! | posts | `<author>` | `<post>` | a post, or its tombstone |
//! | posts | `key#<user>#<hash>` | `-` | what an `Idempotency-Key` made |
//! | posts | `receipt#<post>` | `-` | how the fan-out of a post goes on |
//! | posts | `receipt#<post>` | `<partition>` | the same for one partition of followers |
//! | graph | `following#<user>` | `<author>` | a relation, or its tombstone |
//! | graph | `followers#<author>#<shard>` | `<bucket><user>` | the other direction |

mod batch;
mod form;
pub mod graph;
pub mod posts;
mod probe;
pub mod pulled;
pub mod receipts;
mod retry;
mod transact;
pub mod users;

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use form::{Stored, changed, check, read, read_key, write};
pub use graph::GraphStore;
pub use posts::PostStore;
pub use probe::TableProbe;
pub use pulled::PulledStore;
pub use receipts::ReceiptStore;
pub use retry::{look_again, pause};
pub use users::UserStore;

type Item = HashMap<String, AttributeValue>;

fn text(value: impl ToString) -> AttributeValue {
    AttributeValue::S(value.to_string())
}

fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn key(pk: impl ToString, sk: impl ToString) -> Item {
    HashMap::from([("pk".to_owned(), text(pk)), ("sk".to_owned(), text(sk))])
}
