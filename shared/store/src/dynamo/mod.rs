//! DynamoDB: the truth. Three tables, each with the string keys `pk` and `sk` (users: `pk` alone)
//! and the TTL attribute `expires_at` (seconds).
//!
//! | table | pk | sk | holds |
//! | --- | --- | --- | --- |
//! | users | `user#<user>` | | profile and counters |
//! | users | `handle#<handle>` | | whose handle it is |
//! | posts | `<author>` | `<post>` | a post, or its tombstone |
//! | posts | `key#<user>#<hash>` | `-` | what an `Idempotency-Key` made |
//! | graph | `following#<user>` | `<author>` | a relation, or its tombstone |
//! | graph | `followers#<author>#<shard>` | `<bucket><user>` | the other direction |

mod batch;
pub mod graph;
pub mod posts;
mod retry;
mod transact;
pub mod users;

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Serialize, de::DeserializeOwned};

pub use graph::GraphStore;
pub use posts::PostStore;
pub use retry::{look_again, pause};
pub use users::UserStore;

use crate::error::StoreError;

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

fn write<T: Serialize>(doing: &'static str, item: &T) -> Result<Item, StoreError> {
    serde_dynamo::to_item(item).map_err(|error| StoreError::Item { doing, source: error.into() })
}

fn read<T: DeserializeOwned>(doing: &'static str, item: Item) -> Result<T, StoreError> {
    serde_dynamo::from_item(item).map_err(|error| StoreError::Item { doing, source: error.into() })
}
