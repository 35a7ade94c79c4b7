//! The stores of Fanfold: DynamoDB, Valkey, and feeds over both.
//!
//! | module | contains |
//! | --- | --- |
//! | [`dynamo`] | users, posts and relations in DynamoDB, the source of truth |
//! | [`valkey`] | feeds in Valkey; one function for each script in `valkey/lua` |
//! | [`buckets`] | the number of buckets |
//! | [`cards`] | what pages show of posts, users and relations: from Valkey, else from DynamoDB |
//! | [`feeds`] | reading and rebuilding feeds, over both stores |

pub mod buckets;
pub mod cards;
pub mod dynamo;
pub mod feeds;
pub mod valkey;
