//! Reading items by their keys, always with strong consistency.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::KeysAndAttributes;
use fanfold_core::limits::{BATCH_GET_MAX, CONCURRENCY, TRIES_MAX};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::Item;
use super::retry::pause;
use crate::error::StoreError;

/// Reads one item, if it exists.
pub async fn get_one(
    client: &Client,
    table: &str,
    doing: &'static str,
    key: Item,
) -> Result<Option<Item>, StoreError> {
    let call = client.get_item().table_name(table).set_key(Some(key)).consistent_read(true);
    Ok(call.send().await.map_err(StoreError::dynamo(doing))?.item)
}

/// Reads the items that exist under these keys, which must differ.
pub async fn get_all(
    client: &Client,
    table: &str,
    doing: &'static str,
    keys: Vec<Item>,
) -> Result<Vec<Item>, StoreError> {
    let batches: Vec<_> =
        keys.chunks(BATCH_GET_MAX).map(|batch| get_batch(client, table, doing, batch)).collect();
    let found: Vec<Vec<Item>> =
        stream::iter(batches).buffer_unordered(CONCURRENCY).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

async fn get_batch(
    client: &Client,
    table: &str,
    doing: &'static str,
    keys: &[Item],
) -> Result<Vec<Item>, StoreError> {
    let (mut keys, mut found) = (keys.to_vec(), Vec::new());
    for tried in 0..TRIES_MAX {
        let wanted = KeysAndAttributes::builder()
            .set_keys(Some(keys))
            .consistent_read(true)
            .build()
            .map_err(StoreError::dynamo(doing))?;
        let answer = client.batch_get_item().request_items(table, wanted).send().await;
        let answer = answer.map_err(StoreError::dynamo(doing))?;
        found.extend(answer.responses.unwrap_or_default().remove(table).unwrap_or_default());
        let left = answer.unprocessed_keys.unwrap_or_default().remove(table);
        keys = left.map(|left| left.keys).unwrap_or_default();
        if keys.is_empty() {
            return Ok(found);
        }
        pause(tried).await;
    }
    Err(StoreError::GaveUp { doing, tries: TRIES_MAX })
}
