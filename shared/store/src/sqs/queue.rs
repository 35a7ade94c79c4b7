use std::marker::PhantomData;

use aws_config::SdkConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use fanfold_core::limits::{SEND_BATCH_BYTES_MAX, SEND_BATCH_MAX, TRIES_MAX};
use serde::Serialize;

use super::letters::attributes;
use crate::config::{Config, ConfigError};
use crate::dynamo::pause;
use crate::error::StoreError;
use crate::origin::Origin;

/// A queue whose messages are `M`s. With each goes, beside its body, the HTTP request that it comes from.
pub struct Queue<M> {
    client: Client,
    url: String,
    messages: PhantomData<fn(M)>,
}

impl<M> Clone for Queue<M> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone(), url: self.url.clone(), messages: PhantomData }
    }
}

impl<M: Serialize> Queue<M> {
    /// `setting` names the variable that holds the queue's URL.
    pub fn new(
        sdk: &SdkConfig,
        config: &Config,
        setting: &'static str,
    ) -> Result<Self, ConfigError> {
        let url = config.text(setting)?;
        Ok(Self { client: Client::new(sdk), url, messages: PhantomData })
    }

    pub async fn send(&self, message: &M) -> Result<(), StoreError> {
        let doing = "sending a message";
        let body = body(doing, message)?;
        tracing::debug!(queue = self.url, bytes = body.len(), "sends a message");
        let call = self.client.send_message().queue_url(&self.url).message_body(body);
        let request = attributes(Origin::current().request.as_ref())?;
        let sent = call.set_message_attributes(request).send().await;
        sent.map_err(|error| StoreError::Sqs { doing, source: error.into() })?;
        Ok(())
    }

    /// Sends all messages, ten at a time. What SQS refuses of a batch is sent again.
    pub async fn send_all(&self, messages: &[M]) -> Result<(), StoreError> {
        let doing = "sending messages";
        let mut batch = Vec::new();
        let mut bytes = 0;
        for message in messages {
            let body = body(doing, message)?;
            if batch.len() == SEND_BATCH_MAX || bytes + body.len() > SEND_BATCH_BYTES_MAX {
                self.send_batch(doing, std::mem::take(&mut batch)).await?;
                bytes = 0;
            }
            bytes += body.len();
            batch.push(body);
        }
        self.send_batch(doing, batch).await
    }

    async fn send_batch(&self, doing: &'static str, bodies: Vec<String>) -> Result<(), StoreError> {
        let (all, request) = (bodies.len(), attributes(Origin::current().request.as_ref())?);
        let mut left: Vec<(String, String)> =
            bodies.into_iter().enumerate().map(|(i, body)| (i.to_string(), body)).collect();
        let mut reason = String::new();
        for tried in 0..TRIES_MAX {
            if left.is_empty() {
                return Ok(());
            }
            let error = |error: aws_sdk_sqs::error::BuildError| StoreError::Sqs {
                doing,
                source: error.into(),
            };
            let entries: Result<Vec<_>, _> = left
                .iter()
                .map(|(id, body)| {
                    let entry = SendMessageBatchRequestEntry::builder().id(id).message_body(body);
                    entry.set_message_attributes(request.clone()).build()
                })
                .collect();
            let call = self.client.send_message_batch().queue_url(&self.url);
            let answer = call.set_entries(Some(entries.map_err(error)?)).send().await;
            let answer = answer.map_err(|error| StoreError::Sqs { doing, source: error.into() })?;
            left.retain(|(id, _)| answer.failed().iter().any(|failed| failed.id() == id));
            if let Some(failed) = answer.failed().first() {
                reason = format!("{} {}", failed.code(), failed.message().unwrap_or_default());
                pause(tried).await;
            }
        }
        match left.len() {
            0 => Ok(()),
            left => Err(StoreError::SqsPartial { doing, left, all, reason }),
        }
    }
}

fn body<M: Serialize>(doing: &'static str, message: &M) -> Result<String, StoreError> {
    serde_json::to_string(message).map_err(|error| StoreError::Sqs { doing, source: error.into() })
}
