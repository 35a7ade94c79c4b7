use std::collections::HashMap;

use aws_config::SdkConfig;
use aws_lambda_events::sqs::SqsMessage;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::MessageAttributeValue;
use fanfold_core::limits::{
    ANEW_DELAY_S_MAX, ANEW_MAX, QUEUE_TRIES_DEFAULT, QUEUE_TRIES_MAX, QUEUE_TRIES_MIN,
    REASON_CHARS_MAX,
};

use crate::clock;
use crate::config::{Config, ConfigError};
use crate::error::StoreError;
use crate::measure;
use crate::origin::ForeignId;

/// How often a message has started anew.
pub(super) const ANEW: &str = "anew";
/// Why a message is in the dead-letter queue.
pub(super) const REASON: &str = "reason";
/// The HTTP request that set the work off.
pub(super) const REQUEST: &str = "request";

/// What becomes of a message that failed too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// To the end of its queue: it failed because of what lay around it.
    Anew,
    /// To the dead-letter queue: it would fail again.
    Dead,
}

/// The settings that hold the URL of a queue, and of its dead-letter queue.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    pub queue: &'static str,
    pub dead: &'static str,
}

/// A function's own queues, and where their dead letters go.
#[derive(Clone)]
pub struct Letters(Option<Known>);

#[derive(Clone)]
struct Known {
    client: Client,
    /// The URLs of each queue and its dead-letter queue.
    queues: Vec<(String, String)>,
    tries: u64,
}

impl Known {
    /// The queue that a message came from: its ARN ends with the name, as its URL does.
    fn queues_of(&self, record: &SqsMessage) -> Option<&(String, String)> {
        if let [only] = self.queues.as_slice() {
            return Some(only);
        }
        let name = record.event_source_arn.as_deref()?.rsplit(':').next()?;
        self.queues.iter().find(|(queue, _)| queue.rsplit('/').next() == Some(name))
    }
}

impl Letters {
    pub fn new(sdk: &SdkConfig, config: &Config, sources: &[Source]) -> Result<Self, ConfigError> {
        let urls = |source: &Source| Ok((config.text(source.queue)?, config.text(source.dead)?));
        Ok(Self(Some(Known {
            client: Client::new(sdk),
            queues: sources.iter().map(urls).collect::<Result<_, ConfigError>>()?,
            tries: config.number(
                "QUEUE_TRIES",
                QUEUE_TRIES_DEFAULT,
                QUEUE_TRIES_MIN..=QUEUE_TRIES_MAX,
            )?,
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
        let Some((queue, dead)) = known.queues_of(record) else { return Ok(false) };
        let came = record.attributes.get("ApproximateReceiveCount");
        let came = came.and_then(|count| count.parse::<u64>().ok()).unwrap_or(1);
        let body = record.body.clone().unwrap_or_default();
        // half of the tries are left to functions that die, of which nobody takes note here
        if came * 2 <= known.tries || body.is_empty() {
            return Ok(false);
        }
        let anew: u64 = told(record, ANEW).and_then(|anew| anew.parse().ok()).unwrap_or_default();
        let is_anew = fate == Fate::Anew && anew < ANEW_MAX;
        let message = known.client.send_message().message_body(body);
        let message = message.set_message_attributes(attributes(request_of(record).as_ref())?);
        let message = if is_anew {
            let delay_s = (clock::random() % (ANEW_DELAY_S_MAX + 1)) as i32;
            let message = message.queue_url(queue).delay_seconds(delay_s);
            message.message_attributes(ANEW, attribute("Number", (anew + 1).to_string())?)
        } else {
            let message = message.queue_url(dead);
            message.message_attributes(REASON, attribute("String", reason_of(reason))?)
        };
        let doing = "passing on a message that failed";
        message.send().await.map_err(|error| StoreError::Sqs { doing, source: error.into() })?;
        let message_id = record.message_id.as_deref();
        if is_anew {
            tracing::info!(message_id, anew, "starts anew");
            measure::anew();
        } else {
            tracing::error!(message_id, "a dead letter");
            measure::dead();
        }
        Ok(true)
    }
}

/// What an attribute of a message says.
fn told<'a>(record: &'a SqsMessage, name: &str) -> Option<&'a str> {
    record.message_attributes.get(name)?.string_value.as_deref()
}

/// The HTTP request that a message comes from.
pub(super) fn request_of(record: &SqsMessage) -> Option<ForeignId> {
    ForeignId::parse(told(record, REQUEST)?)
}

/// Says of a message that is sent which HTTP request it comes from.
pub(super) fn attributes(
    request: Option<&ForeignId>,
) -> Result<Option<HashMap<String, MessageAttributeValue>>, StoreError> {
    let Some(request) = request else { return Ok(None) };
    let value = attribute("String", request.to_string())?;
    Ok(Some(HashMap::from([(REQUEST.to_owned(), value)])))
}

/// A reason as it goes with a dead letter, and into the log: it may hold a bit of what cannot be read.
pub(super) fn reason_of(reason: impl ToString) -> String {
    let reason = reason.to_string();
    reason.chars().filter(|c| !c.is_control()).take(REASON_CHARS_MAX).collect()
}

fn attribute(kind: &str, value: String) -> Result<MessageAttributeValue, StoreError> {
    let doing = "describing a message";
    let attribute = MessageAttributeValue::builder().data_type(kind).string_value(value).build();
    attribute.map_err(|error| StoreError::Sqs { doing, source: error.into() })
}
