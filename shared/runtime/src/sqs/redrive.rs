//! Returns dead letters to their queue, after an operator has repaired the cause.

use std::collections::BTreeMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{Message, QueueAttributeName};
use fanfold_core::limits::SEND_BATCH_MAX;
use fanfold_core::registry::QueueSpec;
use futures::stream::{self, StreamExt as _};
use serde::Serialize;

use super::Outbox;
use super::record::{REASON, REQUEUED, SINCE};
use crate::config::{Config, ConfigError};
use crate::error::StoreError;

/// Different reasons of dead letters that an answer lists. Further ones are counted together.
const REDRIVE_REASONS_MAX: usize = 50;

/// A queue and its dead-letter queue.
#[derive(Clone)]
pub struct DeadLetters {
    client: Client,
    queue: String,
    dead: String,
}

/// The result of a redrive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Redriven {
    /// Dead letters that were returned to their queue.
    pub moved: u64,
    /// Dead letters that remain, of those that were there at the start.
    pub left: u64,
    /// The number of returned dead letters for each reason.
    pub reasons: BTreeMap<String, u64>,
}

/// The reason of dead letters that SQS itself moved to the dead-letter queue.
const NO_REASON: &str = "received too often without success";
const OTHER_REASONS: &str = "other reasons";

impl DeadLetters {
    /// Reads the URLs of both queues. Fails if a setting is missing. The client is that of the outbox.
    pub fn new(outbox: &Outbox, config: &Config, spec: &QueueSpec) -> Result<Self, ConfigError> {
        let (queue, dead) = (config.text(spec.url)?, config.text(spec.dead_url)?);
        Ok(Self { client: outbox.client.clone(), queue, dead })
    }

    /// Returns the present dead letters to their queue, at most `most`, until `time_is_up`. Messages that still
    /// cannot be handled become dead letters again.
    pub async fn redrive(
        &self,
        most: usize,
        time_is_up: impl Fn() -> bool,
    ) -> Result<Redriven, StoreError> {
        let waiting = self.waiting().await?;
        let (mut redriven, most) = (Redriven::default(), waiting.min(most as u64));
        while redriven.moved < most {
            let count = (most - redriven.moved).min(SEND_BATCH_MAX as u64) as i32;
            let letters = self.receive(count).await?;
            if letters.is_empty() {
                break; // another receiver may have the others
            }
            let moves: Vec<_> =
                letters.into_iter().map(|letter| self.move_to_queue(letter)).collect();
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

    /// The approximate number of dead letters.
    async fn waiting(&self) -> Result<u64, StoreError> {
        let doing = "counting dead letters";
        let name = QueueAttributeName::ApproximateNumberOfMessages;
        let call = self.client.get_queue_attributes().queue_url(&self.dead);
        let answer = call.attribute_names(name.clone()).send().await;
        let answer = answer.map_err(StoreError::sqs(doing))?;
        let count = answer.attributes.and_then(|mut all| all.remove(&name));
        Ok(count.and_then(|count| count.parse().ok()).unwrap_or_default())
    }

    async fn receive(&self, count: i32) -> Result<Vec<Message>, StoreError> {
        let doing = "receiving dead letters";
        let call = self.client.receive_message().queue_url(&self.dead);
        let call = call.max_number_of_messages(count).message_attribute_names("All");
        let answer = call.send().await;
        let answer = answer.map_err(StoreError::sqs(doing))?;
        Ok(answer.messages.unwrap_or_default())
    }

    /// Sends a dead letter to the queue, then deletes it in the dead-letter queue. If this fails in between, the
    /// message arrives twice, which is harmless. Returns the reason why it was a dead letter.
    async fn move_to_queue(&self, letter: Message) -> Result<Option<String>, StoreError> {
        let doing = "returning a dead letter to its queue";
        let mut attributes = letter.message_attributes.unwrap_or_default();
        attributes.remove(REQUEUED);
        attributes.remove(SINCE);
        let reason = attributes.remove(REASON).and_then(|reason| reason.string_value);
        let send = self.client.send_message().queue_url(&self.queue).set_message_body(letter.body);
        let attributes = (!attributes.is_empty()).then_some(attributes);
        let sent = send.set_message_attributes(attributes).send().await;
        sent.map_err(StoreError::sqs(doing))?;
        let delete = self.client.delete_message().queue_url(&self.dead);
        let deleted = delete.set_receipt_handle(letter.receipt_handle).send().await;
        deleted.map_err(StoreError::sqs(doing))?;
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
