use aws_config::SdkConfig;
use aws_lambda_events::sqs::SqsMessage;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::MessageAttributeValue;
use fanfold_core::limits::{
    ANEW_DELAY_S_MAX, ANEW_MAX, QUEUE_TRIES_DEFAULT, QUEUE_TRIES_MAX, REASON_CHARS_MAX,
};

use crate::clock;
use crate::config::{Config, ConfigError};
use crate::error::StoreError;

/// How often a message has started anew.
const ANEW: &str = "anew";
/// Why a message is in the dead-letter queue.
const REASON: &str = "reason";

/// What becomes of a message that failed too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// To the end of its queue: it failed because of what lay around it.
    Anew,
    /// To the dead-letter queue: it would fail again.
    Dead,
}

/// A function's own queue, and where its dead letters go.
#[derive(Clone)]
pub struct Letters(Option<Known>);

#[derive(Clone)]
struct Known {
    client: Client,
    queue: String,
    dead: String,
    tries: u64,
}

impl Letters {
    /// The settings' names: of the queue's URL, and of its dead-letter queue's.
    pub fn new(
        sdk: &SdkConfig,
        config: &Config,
        queue: &'static str,
        dead: &'static str,
    ) -> Result<Self, ConfigError> {
        Ok(Self(Some(Known {
            client: Client::new(sdk),
            queue: config.text(queue)?,
            dead: config.text(dead)?,
            tries: config.number("QUEUE_TRIES", QUEUE_TRIES_DEFAULT, 1..=QUEUE_TRIES_MAX)?,
        })))
    }

    /// Everything is left to SQS.
    pub fn none() -> Self {
        Self(None)
    }

    /// Takes care of a message that failed, before SQS gives it up. True: it is done with where it
    /// was.
    pub(super) async fn settle(
        &self,
        record: &SqsMessage,
        fate: Fate,
        reason: &str,
    ) -> Result<bool, StoreError> {
        let Some(known) = &self.0 else { return Ok(false) };
        let came = record.attributes.get("ApproximateReceiveCount");
        let came = came.and_then(|count| count.parse::<u64>().ok()).unwrap_or(1);
        let body = record.body.clone().unwrap_or_default();
        // half of the tries are left to functions that die, of which nobody takes note here
        if came * 2 <= known.tries || body.is_empty() {
            return Ok(false);
        }
        let anew = record.message_attributes.get(ANEW);
        let anew: u64 = anew
            .and_then(|attribute| attribute.string_value.as_deref()?.parse().ok())
            .unwrap_or_default();
        let message = known.client.send_message().message_body(body);
        let message = if fate == Fate::Anew && anew < ANEW_MAX {
            let delay_s = (clock::random() % (ANEW_DELAY_S_MAX + 1)) as i32;
            let message = message.queue_url(&known.queue).delay_seconds(delay_s);
            message.message_attributes(ANEW, attribute("Number", (anew + 1).to_string())?)
        } else {
            let reason = reason.chars().filter(|c| !c.is_control()).take(REASON_CHARS_MAX);
            let message = message.queue_url(&known.dead);
            message.message_attributes(REASON, attribute("String", reason.collect())?)
        };
        let doing = "passing on a message that failed";
        message.send().await.map_err(|error| StoreError::Sqs { doing, source: error.into() })?;
        Ok(true)
    }
}

fn attribute(kind: &str, value: String) -> Result<MessageAttributeValue, StoreError> {
    let doing = "describing a message that failed";
    let attribute = MessageAttributeValue::builder().data_type(kind).string_value(value).build();
    attribute.map_err(|error| StoreError::Sqs { doing, source: error.into() })
}
