use aws_config::SdkConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName};
use fanfold_core::limits::{PROBE_HIDES_S, PROBE_LOOKS_MAX, PROBE_WAIT_S, SEND_BATCH_MAX};

use crate::clock;
use crate::config::{Config, ConfigError};
use crate::error::StoreError;

/// A queue that no function takes messages from.
#[derive(Clone)]
pub struct QueueProbe {
    client: Client,
    url: String,
}

impl QueueProbe {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { client: Client::new(sdk), url: config.text("DOCTOR_QUEUE_URL")? })
    }

    /// Sends a message and receives it. Returns by how many ms, at the least, the clock of SQS differs from
    /// this function's; nothing, if the message does not arrive.
    pub async fn send_and_receive(&self) -> Result<Option<u64>, StoreError> {
        let doing = "sending a message to the queue for checks";
        let before_ms = clock::now_ms();
        let send = self.client.send_message().queue_url(&self.url).message_body("check");
        let sent = send.send().await;
        let sent = sent.map_err(|error| StoreError::Sqs { doing, source: error.into() })?;
        let after_ms = clock::now_ms();
        let id = sent.message_id.unwrap_or_default();
        let message = self.receive(&id).await?;
        let at_ms = message.and_then(|message| {
            let name = MessageSystemAttributeName::SentTimestamp;
            message.attributes?.get(&name)?.parse::<u64>().ok()
        });
        let apart =
            |at_ms: u64| before_ms.saturating_sub(at_ms).max(at_ms.saturating_sub(after_ms));
        Ok(at_ms.map(apart))
    }

    /// Takes messages until this one is among them, and deletes it. Others belong to other checks.
    async fn receive(&self, id: &str) -> Result<Option<Message>, StoreError> {
        let doing = "receiving a message from the queue for checks";
        for _ in 0..PROBE_LOOKS_MAX {
            let call = self.client.receive_message().queue_url(&self.url);
            let call = call.max_number_of_messages(SEND_BATCH_MAX as i32);
            let call = call.wait_time_seconds(PROBE_WAIT_S).visibility_timeout(PROBE_HIDES_S);
            let call =
                call.message_system_attribute_names(MessageSystemAttributeName::SentTimestamp);
            let answer = call.send().await;
            let answer = answer.map_err(|error| StoreError::Sqs { doing, source: error.into() })?;
            let mut messages = answer.messages.unwrap_or_default().into_iter();
            if let Some(message) = messages.find(|m| m.message_id.as_deref() == Some(id)) {
                let delete = self.client.delete_message().queue_url(&self.url);
                let deleted =
                    delete.set_receipt_handle(message.receipt_handle.clone()).send().await;
                deleted.map_err(|error| StoreError::Sqs { doing, source: error.into() })?;
                return Ok(Some(message));
            }
        }
        Ok(None)
    }
}
