//! Bringing dead letters back to their queue, once what was wrong is mended.

use std::collections::BTreeMap;

use aws_config::SdkConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{Message, QueueAttributeName};
use fanfold_core::limits::{REDRIVE_REASONS_MAX, SEND_BATCH_MAX};
use futures::stream::{self, StreamExt as _};
use serde::Serialize;

use super::Source;
use super::letters::{ANEW, REASON};
use crate::config::{Config, ConfigError};
use crate::error::StoreError;

/// A queue and its dead-letter queue.
#[derive(Clone)]
pub struct DeadLetters {
    client: Client,
    queue: String,
    dead: String,
}

/// What was brought back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Redriven {
    pub moved: u64,
    /// Of those that lay there when it began.
    pub left: u64,
    /// Why letters were there, and how many for each reason.
    pub reasons: BTreeMap<String, u64>,
}

const NO_REASON: &str = "it was taken too often";
const OTHER_REASONS: &str = "other reasons";

impl DeadLetters {
    pub fn new(sdk: &SdkConfig, config: &Config, source: Source) -> Result<Self, ConfigError> {
        let (queue, dead) = (config.text(source.queue)?, config.text(source.dead)?);
        Ok(Self { client: Client::new(sdk), queue, dead })
    }

    /// Moves what lies there now, up to `most` letters, for as long as there is time. What is still
    /// poison comes back.
    pub async fn redrive(
        &self,
        most: usize,
        time_is_up: impl Fn() -> bool,
    ) -> Result<Redriven, StoreError> {
        let waiting = self.waiting().await?;
        let (mut redriven, most) = (Redriven::default(), waiting.min(most as u64));
        while redriven.moved < most {
            let count = (most - redriven.moved).min(SEND_BATCH_MAX as u64) as i32;
            let letters = self.take(count).await?;
            if letters.is_empty() {
                break; // they may be with somebody else
            }
            let moves: Vec<_> = letters.into_iter().map(|letter| self.bring_back(letter)).collect();
            let mut moved = stream::iter(moves).buffer_unordered(SEND_BATCH_MAX);
            while let Some(reason) = moved.next().await {
                redriven.count(reason?);
            }
            if time_is_up() {
                break;
            }
        }
        redriven.left = waiting.saturating_sub(redriven.moved);
        Ok(redriven)
    }

    async fn waiting(&self) -> Result<u64, StoreError> {
        let doing = "counting dead letters";
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let call = self.client.get_queue_attributes().queue_url(&self.dead);
        let answer = call.attribute_names(name.clone()).send().await;
        let answer = answer.map_err(|error| StoreError::Sqs { doing, source: error.into() })?;
        let count = answer.attributes.and_then(|mut all| all.remove(&name));
        Ok(count.and_then(|count| count.parse().ok()).unwrap_or_default())
    }

    async fn take(&self, count: i32) -> Result<Vec<Message>, StoreError> {
        let doing = "taking dead letters";
        let call = self.client.receive_message().queue_url(&self.dead);
        let call = call.max_number_of_messages(count).message_attribute_names("All");
        let answer = call.send().await;
        let answer = answer.map_err(|error| StoreError::Sqs { doing, source: error.into() })?;
        Ok(answer.messages.unwrap_or_default())
    }

    /// First to the queue, then out of here: twice is harmless, lost is not. Gives the reason why it
    /// was here.
    async fn bring_back(&self, letter: Message) -> Result<Option<String>, StoreError> {
        let doing = "bringing a dead letter back";
        let mut attributes = letter.message_attributes.unwrap_or_default();
        attributes.remove(ANEW);
        let reason = attributes.remove(REASON).and_then(|reason| reason.string_value);
        let send = self.client.send_message().queue_url(&self.queue).set_message_body(letter.body);
        let attributes = (!attributes.is_empty()).then_some(attributes);
        let sent = send.set_message_attributes(attributes).send().await;
        sent.map_err(|error| StoreError::Sqs { doing, source: error.into() })?;
        let delete = self.client.delete_message().queue_url(&self.dead);
        let deleted = delete.set_receipt_handle(letter.receipt_handle).send().await;
        deleted.map_err(|error| StoreError::Sqs { doing, source: error.into() })?;
        Ok(reason)
    }
}

impl Redriven {
    fn count(&mut self, reason: Option<String>) {
        self.moved += 1;
        let mut reason = reason.unwrap_or_else(|| NO_REASON.to_owned());
        if self.reasons.len() >= REDRIVE_REASONS_MAX && !self.reasons.contains_key(&reason) {
            reason = OTHER_REASONS.to_owned();
        }
        *self.reasons.entry(reason).or_default() += 1;
    }
}
