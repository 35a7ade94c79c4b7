//! The check of SQS, for `doctor`. It uses a separate queue.

use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use fanfold_core::Time;
use fanfold_core::limits::SEND_BATCH_MAX;

use super::Outbox;
use crate::clock;
use crate::config::{Config, ConfigError};
use crate::error::StoreError;

/// Times that a check receives from the queue for checks, until it finds its message.
const PROBE_LOOKS_MAX: u32 = 3;
/// How long each of these receives waits.
const PROBE_WAIT: Duration = Duration::from_secs(2);
/// How long a receive hides the messages of other checks.
const PROBE_HIDES: Duration = Duration::from_secs(1);

/// The queue for checks, from which no function takes messages.
#[derive(Clone)]
pub struct QueueProbe {
    client: Client,
    url: String,
}

impl QueueProbe {
    /// Reads the URL of the queue (`DOCTOR_QUEUE_URL`). The client is that of the outbox.
    pub fn new(outbox: &Outbox, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { client: outbox.client.clone(), url: config.text("DOCTOR_QUEUE_URL")? })
    }

    /// Sends a message and receives it. Returns the least possible difference between the clocks of SQS and of
    /// this function. `None` if the message does not arrive.
    pub async fn send_and_receive(&self) -> Result<Option<Duration>, StoreError> {
        let doing = "sending a message to the queue for checks";
        let before = clock::now();
        let send = self.client.send_message().queue_url(&self.url).message_body("check");
        let sent = send.send().await;
        let sent = sent.map_err(StoreError::sqs(doing))?;
        let after = clock::now();
        let id = sent.message_id.unwrap_or_default();
        let message = self.receive(&id).await?;
        let at = message.and_then(|message| {
            let name = MessageSystemAttributeName::SentTimestamp;
            message.attributes?.get(&name)?.parse().ok().map(Time::from_ms)
        });
        let apart = |at: Time| before.since(at).max(at.since(after));
        Ok(at.map(apart))
    }

    /// Receives until this message arrives, and deletes it. The other messages belong to other checks.
    async fn receive(&self, id: &str) -> Result<Option<Message>, StoreError> {
        let doing = "receiving a message from the queue for checks";
        for _ in 0..PROBE_LOOKS_MAX {
            let call = self.client.receive_message().queue_url(&self.url);
            let call = call.max_number_of_messages(SEND_BATCH_MAX as i32);
            let call = call.wait_time_seconds(PROBE_WAIT.as_secs() as i32);
            let call = call.visibility_timeout(PROBE_HIDES.as_secs() as i32);
            let call =
                call.message_system_attribute_names(MessageSystemAttributeName::SentTimestamp);
            let answer = call.send().await;
            let answer = answer.map_err(StoreError::sqs(doing))?;
            let mut messages = answer.messages.unwrap_or_default().into_iter();
            if let Some(message) = messages.find(|m| m.message_id.as_deref() == Some(id)) {
                let delete = self.client.delete_message().queue_url(&self.url);
                let deleted =
                    delete.set_receipt_handle(message.receipt_handle.clone()).send().await;
                deleted.map_err(StoreError::sqs(doing))?;
                return Ok(Some(message));
            }
        }
        Ok(None)
    }
}
