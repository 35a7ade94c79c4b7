//! Items in DynamoDB, the source of truth.
//!
//! | module | contains |
//! | --- | --- |
//! | `keys` | the kinds of items and their keys |
//! | `form` | the versions of items |
//! | `rows` | the rows under one partition key |
//! | `name` | the tables, over one client |
//! | `batch` | many items at once |
//! | `write` | a write of one item, alone or in a transaction |
//! | `transact` | transactions whose writes have names |
//! | `probe` | a check of a table |

mod attribute;
mod batch;
mod form;
mod keys;
mod list;
mod name;
mod probe;
pub mod rows;
pub mod transact;
mod write;

pub use attribute::{
    Item, Value, flag, ids, ids_of, length_of, number, numbers, text, words, words_of,
};
pub use form::{Stored, check, read, read_key, write};
pub use keys::{hashed, key, owner, pk_only, time_and_id, timed};
pub use list::ByTime;
pub use name::{Table, Tables};
pub use probe::TableProbe;
pub use serde_dynamo::number_set;
pub use write::Write;
