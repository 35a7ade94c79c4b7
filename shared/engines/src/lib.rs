//! The mechanisms that every kind of data uses. They know no kind.
//!
//! | module | contains |
//! | --- | --- |
//! | [`table`] | items in DynamoDB: their versions and keys, rows, batches and transactions |
//! | [`valkey`] | feeds, cards, copies and counters in Valkey; one function for each script in `valkey/lua` |
//! | [`outbox`] | sends an event before its commit |
//! | [`tally`] | many changes lead to one count a second |
//! | [`buckets`] | the number of buckets |

pub mod buckets;
pub mod outbox;
pub mod table;
pub mod tally;
pub mod valkey;
