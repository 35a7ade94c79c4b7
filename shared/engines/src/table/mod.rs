//! Items in DynamoDB, the source of truth.
//!
//! | module | contains |
//! | --- | --- |
//! | `keys` | the kinds of items and their keys |
//! | `form` | the versions of items |
//! | `rows` | the rows under one partition key |
//! | `batch` | many items at once |
//! | `transact` | transactions whose writes have names |
//! | `probe` | a check of a table |

mod attribute;
pub mod batch;
mod form;
mod keys;
mod probe;
pub mod rows;
pub mod transact;

pub use attribute::{Item, number, text};
pub use form::{Stored, changed, check, read, read_key, write};
pub use keys::{ItemKind, Pk, hashed, key, pk_only};
pub use probe::TableProbe;
