//! Reading many items by their keys, always strongly consistent; writing and deleting many items.

use aws_sdk_dynamodb::types::{DeleteRequest, KeysAndAttributes, PutRequest, WriteRequest};
use fanfold_core::limits::{CONCURRENCY, TRIES_MAX};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::retry::pause;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::Item;
use super::name::Table;

/// Items that DynamoDB takes in one `BatchGetItem`.
const BATCH_GET_MAX: usize = 100;
/// Items that DynamoDB takes in one `BatchWriteItem`.
const BATCH_WRITE_MAX: usize = 25;

impl Table {
    /// Reads the items with these keys, which must differ. Missing items are left out; the order is not defined.
    pub async fn get_all(
        &self,
        doing: &'static str,
        keys: Vec<Item>,
    ) -> Result<Vec<Item>, StoreError> {
        self.get_parts(doing, keys, None).await
    }

    /// The same, with these attributes alone. (A read of them costs as much as one of the whole items.)
    pub async fn get_parts(
        &self,
        doing: &'static str,
        keys: Vec<Item>,
        attributes: Option<&'static str>,
    ) -> Result<Vec<Item>, StoreError> {
        let batches: Vec<_> = keys
            .chunks(BATCH_GET_MAX)
            .map(|batch| get_batch(self, doing, batch, attributes))
            .collect();
        let found: Vec<Vec<Item>> =
            stream::iter(batches).buffer_unordered(CONCURRENCY).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Deletes the items with these keys, which must differ. Missing items are not an error.
    pub async fn delete_all(&self, doing: &'static str, keys: Vec<Item>) -> Result<(), StoreError> {
        let deletes: Result<Vec<WriteRequest>, StoreError> = keys
            .into_iter()
            .map(|key| {
                let delete = DeleteRequest::builder().set_key(Some(key)).build();
                let delete = delete.map_err(StoreError::request(doing))?;
                Ok(WriteRequest::builder().delete_request(delete).build())
            })
            .collect();
        write_all(self, doing, deletes?, TRIES_MAX).await
    }

    /// Writes these items, whose keys must differ, and replaces existing ones.
    pub async fn put_all(&self, doing: &'static str, items: Vec<Item>) -> Result<(), StoreError> {
        self.put_within(doing, items, TRIES_MAX).await
    }

    /// The same, with at most so many tries of each batch.
    pub async fn put_within(
        &self,
        doing: &'static str,
        items: Vec<Item>,
        tries: u32,
    ) -> Result<(), StoreError> {
        let puts: Result<Vec<WriteRequest>, StoreError> = items
            .into_iter()
            .map(|item| {
                let put = PutRequest::builder().set_item(Some(item)).build();
                let put = put.map_err(StoreError::request(doing))?;
                Ok(WriteRequest::builder().put_request(put).build())
            })
            .collect();
        write_all(self, doing, puts?, tries).await
    }
}

async fn get_batch(
    table: &Table,
    doing: &'static str,
    keys: &[Item],
    attributes: Option<&'static str>,
) -> Result<Vec<Item>, StoreError> {
    let name = table.name(doing)?;
    let (mut keys, mut found) = (keys.to_vec(), Vec::new());
    for tried in 0..TRIES_MAX {
        let wanted = KeysAndAttributes::builder()
            .set_keys(Some(keys))
            .consistent_read(true)
            .set_projection_expression(attributes.map(str::to_owned))
            .build()
            .map_err(StoreError::request(doing))?;
        let answer = table.client.batch_get_item().request_items(name, wanted).send().await;
        let answer = answer.map_err(StoreError::dynamo(doing))?;
        found.extend(answer.responses.unwrap_or_default().remove(name).unwrap_or_default());
        let left = answer.unprocessed_keys.unwrap_or_default().remove(name);
        keys = left.map(|left| left.keys).unwrap_or_default();
        if keys.is_empty() {
            return Ok(found);
        }
        pause(tried).await;
    }
    Err(StoreError::GaveUp { doing, tries: TRIES_MAX })
}

async fn write_all(
    table: &Table,
    doing: &'static str,
    writes: Vec<WriteRequest>,
    tries: u32,
) -> Result<(), StoreError> {
    let batches: Vec<_> = writes
        .chunks(BATCH_WRITE_MAX)
        .map(|batch| write_batch(table, doing, batch.to_vec(), tries))
        .collect();
    stream::iter(batches).buffer_unordered(CONCURRENCY).try_collect().await
}

async fn write_batch(
    table: &Table,
    doing: &'static str,
    mut writes: Vec<WriteRequest>,
    tries: u32,
) -> Result<(), StoreError> {
    let name = table.name(doing)?;
    for tried in 0..tries {
        let call = table.client.batch_write_item().request_items(name, writes);
        let answer = call.send().await.map_err(StoreError::dynamo(doing))?;
        writes = answer.unprocessed_items.unwrap_or_default().remove(name).unwrap_or_default();
        if writes.is_empty() {
            return Ok(());
        }
        pause(tried).await;
    }
    Err(StoreError::GaveUp { doing, tries })
}
