//! The parts of a message that the batch runner reads and writes: its id, its body, and its attributes.

use std::collections::HashMap;

use aws_lambda_events::sqs::SqsMessage;
use aws_sdk_sqs::types::MessageAttributeValue;

use super::text::is_carried;
use crate::error::StoreError;
use crate::trace::ForeignId;

/// The longest reason that is sent with a dead letter, in characters.
const REASON_CHARS_MAX: usize = 500;

/// How often a message was requeued.
pub(super) const REQUEUED: &str = "requeued";
/// When a requeued message first failed, in ms since 1970.
pub(super) const SINCE: &str = "since";
/// Why a message is in the dead-letter queue.
pub(super) const REASON: &str = "reason";
/// The id of the HTTP request that caused the message.
pub(super) const REQUEST: &str = "request";

/// The id that SQS gave the message.
pub(super) fn id(record: &SqsMessage) -> &str {
    record.message_id.as_deref().unwrap_or_default()
}

/// The body of a message.
pub(super) fn body(record: &SqsMessage) -> &str {
    record.body.as_deref().unwrap_or_default()
}

/// How often SQS has delivered a message.
pub(super) fn receives(record: &SqsMessage) -> u64 {
    let count = record.attributes.get("ApproximateReceiveCount");
    count.and_then(|count| count.parse().ok()).unwrap_or(1)
}

/// The message group of a message.
pub(super) fn group_of(record: &SqsMessage) -> Option<String> {
    record.attributes.get("MessageGroupId").cloned()
}

/// The value of an attribute of a message.
pub(super) fn attribute_of<'a>(record: &'a SqsMessage, name: &str) -> Option<&'a str> {
    record.message_attributes.get(name)?.string_value.as_deref()
}

/// The id of the HTTP request that caused a message.
pub(super) fn request_of(record: &SqsMessage) -> Option<ForeignId> {
    ForeignId::parse(attribute_of(record, REQUEST)?)
}

/// The attributes of a message that this HTTP request causes.
pub(super) fn attributes(
    request: Option<&ForeignId>,
) -> Result<Option<HashMap<String, MessageAttributeValue>>, StoreError> {
    let Some(request) = request else { return Ok(None) };
    let value = attribute("String", request.to_string())?;
    Ok(Some(HashMap::from([(REQUEST.to_owned(), value)])))
}

/// A reason for the log and for a dead letter, at most [`REASON_CHARS_MAX`] characters of those that SQS
/// takes, because it can contain a part of the body.
pub(super) fn reason_of(reason: impl ToString) -> String {
    let reason = reason.to_string();
    reason.chars().filter(|c| is_carried(*c)).take(REASON_CHARS_MAX).collect()
}

/// An attribute of a message, of this data type.
pub(super) fn attribute(kind: &str, value: String) -> Result<MessageAttributeValue, StoreError> {
    let doing = "building an attribute of a message";
    let attribute = MessageAttributeValue::builder().data_type(kind).string_value(value).build();
    attribute.map_err(StoreError::request(doing))
}
