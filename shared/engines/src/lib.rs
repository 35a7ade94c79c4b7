//! The mechanisms that every kind of data uses. They know no kind.
//!
//! | module | contains |
//! | --- | --- |
//! | [`table`] | items in DynamoDB: their versions and keys, rows, batches and transactions |
//! | [`valkey`] | feeds, cards, copies and counters in Valkey; one function for each script in `valkey/lua` |
//! | [`idempotency`] | what a request with an `Idempotency-Key` made |
//! | [`outbox`] | sends an event before its commit |
//! | [`card`] | what pages show of items, from Valkey, else from DynamoDB |
//! | [`due`] | finds and hands on items whose time has come |
//! | [`list`] | fills the pages of lists |
//! | [`feed`] | reads and rebuilds feeds, over a source of their posts |
//! | [`mark`] | what users put on posts, such as likes |
//! | [`rank`] | copies of rows in Valkey, which ranks them |
//! | [`reading`] | the state of one request that reads |
//! | [`tally`] | many changes lead to one count a second |
//! | [`recent`] | what an environment of a function has read or done lately |
//! | [`rounds`] | takes batches from several keys in turn |
//! | [`buckets`] | the number of buckets |

pub mod buckets;
pub mod card;
pub mod due;
pub mod feed;
pub mod idempotency;
pub mod list;
pub mod mark;
pub mod outbox;
pub mod rank;
pub mod reading;
pub mod recent;
pub mod rounds;
pub mod table;
pub mod tally;
pub mod valkey;
