//! The errors of calls to stores. `Display` names the operation. The cause is the `source`; the log prints the
//! whole chain once.

use std::error::Error;

use aws_sdk_sqs::error::ProvideErrorMetadata;

use crate::config::ConfigError;

/// The cause of an error.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A failed call to DynamoDB, Valkey, SQS or the receiver of webhooks. `doing` names the operation, such as "reading a
/// post".
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// DynamoDB did not answer, or refused the call.
    #[error("{doing} in DynamoDB")]
    DynamoDb { doing: &'static str, source: BoxError },
    /// DynamoDB refused the call, because a table, a partition or an item is at its limit.
    #[error("{doing} in DynamoDB, which is at a limit")]
    Throttled { doing: &'static str, source: BoxError },
    /// Every try conflicted with another call, or was carried out only in part.
    #[error("{doing} in DynamoDB: gave up after {tries} tries")]
    GaveUp { doing: &'static str, tries: u32 },
    /// An item cannot be read. Another try does not help.
    #[error("{doing}: the item does not have the expected form")]
    Item { doing: &'static str, source: BoxError },
    /// DynamoDB or SQS refuses the content or the size of an item or a message. Another try does not help.
    #[error("{doing}: {service} refuses the content or the size: {reason}")]
    Refused { doing: &'static str, service: &'static str, reason: String },
    /// A request or a message cannot be made. Another try does not help.
    #[error("{doing}: the request cannot be made")]
    Request { doing: &'static str, source: BoxError },
    /// A newer function wrote the item, in a form that this one does not know.
    #[error("{doing}: the item has version {v}, but this function knows only {known}")]
    Newer { doing: &'static str, v: u64, known: u32 },
    /// Valkey did not answer, refused the call, or gave an unknown answer.
    #[error("{doing} in Valkey")]
    Valkey { doing: &'static str, source: BoxError },
    /// SQS did not answer, or refused the call.
    #[error("{doing} on SQS")]
    Sqs { doing: &'static str, source: BoxError },
    /// SQS refused a part of a batch.
    #[error("{doing} on SQS: {left} of {all} messages were refused: {reason}")]
    SqsPartial { doing: &'static str, left: usize, all: usize, reason: String },
    /// The receiver did not take a webhook. The source is the reason, without the receiver's address.
    #[error("posting a webhook")]
    Webhook { source: BoxError },
    /// The event's commit is not visible yet.
    #[error("{what} is not committed yet")]
    NotCommittedYet { what: &'static str },
    /// At every try, another caller changed the data meanwhile.
    #[error("{what} changes faster than it can be read")]
    Unsettled { what: &'static str },
    /// A newer function made a due item of a kind that this one does not know.
    #[error("no kind of due items has the tag {tag:?}")]
    UnknownTag { tag: String },
    /// A defect: the function uses a table or a queue that it does not list in the registry.
    #[error("{doing}")]
    Unlisted { doing: &'static str, source: ConfigError },
    /// A defect of a handler of batches: each message must have one outcome.
    #[error("the handler returned {outcomes} outcomes for {messages} messages")]
    Outcomes { messages: usize, outcomes: usize },
}

impl StoreError {
    /// For `map_err`: wraps an error of DynamoDB.
    pub fn dynamo<E>(doing: &'static str) -> impl FnOnce(E) -> Self
    where
        E: ProvideErrorMetadata + Into<BoxError>,
    {
        move |error| match refusal(DYNAMO_REFUSALS, error.code(), error.message()) {
            Some(reason) => Self::Refused { doing, service: "DynamoDB", reason },
            None if error.code().is_some_and(|code| DYNAMO_LIMITS.contains(&code)) => {
                Self::Throttled { doing, source: error.into() }
            }
            None => Self::DynamoDb { doing, source: error.into() },
        }
    }

    /// The error of a write of a transaction that was cancelled for this reason. `None`: another try may help.
    pub fn of_cancelled(
        doing: &'static str,
        code: Option<&str>,
        message: Option<&str>,
    ) -> Option<Self> {
        let reason = refusal(DYNAMO_REFUSALS, code, message)?;
        Some(Self::Refused { doing, service: "DynamoDB", reason })
    }

    /// For `map_err`: wraps an error of Valkey.
    pub fn valkey<E: Into<BoxError>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Valkey { doing, source: source.into() }
    }

    /// For `map_err`: wraps an error of SQS.
    pub fn sqs<E>(doing: &'static str) -> impl FnOnce(E) -> Self
    where
        E: ProvideErrorMetadata + Into<BoxError>,
    {
        move |error| match refusal(SQS_REFUSALS, error.code(), error.message()) {
            Some(reason) => Self::Refused { doing, service: "SQS", reason },
            None => Self::Sqs { doing, source: error.into() },
        }
    }

    /// The error of a message of a batch that SQS refused. `None`: another try may help.
    pub fn of_entry(doing: &'static str, code: &str, message: Option<&str>) -> Option<Self> {
        let reason = refusal(SQS_REFUSALS, Some(code), message)?;
        Some(Self::Refused { doing, service: "SQS", reason })
    }

    /// For `map_err`: wraps the reason why a request cannot be made.
    pub fn request<E: Into<BoxError>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Request { doing, source: source.into() }
    }

    /// Whether another try would fail for the same reason, at any time.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::Item { .. } | Self::Refused { .. } | Self::Request { .. })
    }

    /// Whether DynamoDB took a call not at all, or only in part.
    pub fn is_throttled(&self) -> bool {
        matches!(self, Self::Throttled { .. } | Self::GaveUp { .. })
    }

    /// Whether Valkey caused the error.
    pub fn is_valkey(&self) -> bool {
        matches!(self, Self::Valkey { .. })
    }
}

/// Refusals because of content or size, which no other try changes: the end of the error's code, and a part of its message. A
/// `ValidationException` with another message is that of a bad deployment, such as a missing table key, and goes away with the
/// next one.
type Refusals = &'static [(&'static str, &'static str)];

/// Of `SendMessage`, and of each entry of `SendMessageBatch` (API reference of SQS).
const SQS_REFUSALS: Refusals = &[
    ("InvalidMessageContents", ""),
    ("InvalidParameterValue", "must be shorter than"),
    ("InvalidParameterValueException", "must be shorter than"),
    ("BatchRequestTooLong", ""),
];

/// The codes of calls that DynamoDB refuses because something is at its limit.
const DYNAMO_LIMITS: [&str; 3] =
    ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"];

/// Of writes, and of each write of a transaction (API reference and quotas of DynamoDB).
const DYNAMO_REFUSALS: Refusals = &[
    ("ValidationException", "exceeded the maximum allowed size"),
    ("ValidationException", "exceeded the maximum size limit"),
    ("ValidationException", "exceeded the size limit"),
    ("ValidationException", "empty string value"),
    ("ValidationException", "Number overflow"),
    ("ValidationError", "exceeded the maximum allowed size"),
    ("ValidationError", "exceeded the maximum size limit"),
    ("ValidationError", "Number overflow"),
    ("ValidationException", "Nesting Levels have exceeded supported limits"),
    ("ValidationError", "Nesting Levels have exceeded supported limits"),
    ("ItemCollectionSizeLimitExceeded", ""),
    ("ItemCollectionSizeLimitExceededException", ""),
];

/// The text of an error that is one of these refusals.
fn refusal(refusals: Refusals, code: Option<&str>, message: Option<&str>) -> Option<String> {
    let (code, message) = (code?, message.unwrap_or_default());
    let is_one = |(end, part): &(&str, &str)| code.ends_with(end) && message.contains(part);
    refusals.iter().any(is_one).then(|| format!("{code}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::StoreError;

    #[test]
    fn refusals_of_content_or_size_are_lasting_and_others_are_not() {
        let sqs = |code, message| StoreError::of_entry("sending", code, Some(message));
        let dynamo = |code, message| StoreError::of_cancelled("storing", Some(code), Some(message));
        let too_long = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.";
        let too_large = "Item size has exceeded the maximum allowed size";
        for lasting in [
            sqs("InvalidMessageContents", "Message contains invalid characters"),
            sqs("InvalidParameterValue", too_long),
            sqs("AWS.SimpleQueueService.BatchRequestTooLong", ""),
            dynamo("ValidationError", too_large),
            dynamo("ValidationException", too_large),
            dynamo(
                "ValidationException",
                "Item size to update has exceeded the maximum allowed size",
            ),
        ] {
            assert!(lasting.is_some_and(|error| error.is_lasting()));
        }
        for other in [
            sqs("InvalidParameterValue", "Value 901 for parameter DelaySeconds is invalid"),
            sqs("InternalError", "try again"),
            dynamo("ValidationException", "The provided key element does not match the schema"),
            dynamo("ThrottlingException", "throughput exceeds the limit"),
            dynamo("ConditionalCheckFailed", "The conditional request failed"),
        ] {
            assert!(other.is_none(), "{other:?}");
        }
    }
}
