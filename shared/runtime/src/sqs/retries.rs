//! The waits of failed messages, and the end of their tries: requeue or dead letter.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_lambda_events::sqs::SqsMessage;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::ChangeMessageVisibilityBatchRequestEntry;
use fanfold_core::Time;
use fanfold_core::limits::{
    CONCURRENCY, QUEUE_TRIES_DEFAULT, QUEUE_TRIES_MAX, QUEUE_TRIES_MIN, REQUEUES_MAX,
    SEND_BATCH_MAX, SEND_DELAY_MAX, WEBHOOK_IN_FLIGHT_MAX, WEBHOOK_TRIED_FOR,
};
use fanfold_core::registry::QueueSpec;
use futures::stream::{self, StreamExt as _};

use super::record::{
    REASON, REQUEUED, SINCE, attribute, attribute_of, attributes, group_of, id, reason_of,
    receives, request_of,
};
use crate::clock;
use crate::config::{Config, ConfigError};
use crate::error::StoreError;
use crate::log::Chain;
use crate::metrics;
use crate::trace::Trace;

/// The shortest wait of a failed message.
const RETRY_MIN: Duration = Duration::from_secs(1);
/// The longest wait of a failed message.
const RETRY_MAX: Duration = Duration::from_secs(300);
/// The time since the first failure during which [`SHORT_RETRY_MAX`] applies. A message that fails for less
/// than this may have met several short outages.
const SHORT_OUTAGE: Duration = Duration::from_secs(300);
/// The longest wait of a message that has failed for less than [`SHORT_OUTAGE`].
const SHORT_RETRY_MAX: Duration = Duration::from_secs(8);

/// The divisor that gives the wait of a failed message: the time since its first failure, divided by this.
/// A message is therefore delayed by at most a quarter of the outage, from [`RETRY_MIN`] to the longest wait of its pace.
const RETRY_PART_OF_OUTAGE: u32 = 4;
/// The time since the first failure during which a message about something uncommitted is tried again every
/// [`RETRY_MIN`].
const UNCOMMITTED_RETRIES_WITHIN: Duration = Duration::from_secs(3);
/// The time between later tries of a message about something uncommitted. Most such commits never happen. The
/// message is done after `COMMIT_GRACE`, before its tries are used up.
const UNCOMMITTED_RETRY: Duration = Duration::from_secs(10);

/// The action of the runner on a message after half of its tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Sends the message to the end of its queue as a new message, because a later try can succeed.
    Requeue,
    /// Sends the message to the dead-letter queue, because it would fail again.
    Dead,
}

/// How the waits of a failed message grow, and when its tries end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// A store failed, or the body cannot be read.
    Store,
    /// The message's post or relation is not committed yet.
    Uncommitted,
    /// The receiver of webhooks did not take the message.
    Webhook,
}

impl Pace {
    /// The pace of a message that failed with this error.
    pub(super) fn of(error: &StoreError) -> Self {
        match error {
            StoreError::NotCommittedYet { .. } => Self::Uncommitted,
            StoreError::Webhook { .. } => Self::Webhook,
            _ => Self::Store,
        }
    }

    /// How long a message waits that has failed for this long, in whole seconds.
    fn wait(self, failing_for: Duration) -> Duration {
        let max = match self {
            Self::Uncommitted if failing_for < UNCOMMITTED_RETRIES_WITHIN => return RETRY_MIN,
            Self::Uncommitted => return UNCOMMITTED_RETRY,
            Self::Store if failing_for < SHORT_OUTAGE => SHORT_RETRY_MAX,
            Self::Store => RETRY_MAX,
            Self::Webhook => SEND_DELAY_MAX,
        };
        whole_seconds(failing_for / RETRY_PART_OF_OUTAGE).clamp(RETRY_MIN, max)
    }

    /// How long a message is tried after its first failure. `None`: until it was requeued [`REQUEUES_MAX`] times.
    fn tried_for(self) -> Option<Duration> {
        (self == Self::Webhook).then_some(WEBHOOK_TRIED_FOR)
    }
}

/// A message that failed.
pub(super) struct Failed {
    pub record: SqsMessage,
    pub trace: Trace,
    pub fate: Fate,
    pub reason: String,
    pub pace: Pace,
    /// The body that is sent in place of the message, if a part of the message is done.
    pub rest: Option<String>,
}

/// Handles the failed messages of a function's queues.
#[derive(Clone)]
pub struct Retries(Option<Targets>);

/// The queues that failed messages are sent to.
#[derive(Clone)]
struct Targets {
    client: Client,
    /// The URLs of each queue and its dead-letter queue.
    queues: Vec<(String, String)>,
    tries: u64,
}

impl Targets {
    /// The queue of a message, with its dead-letter queue. The queue's ARN and URL end with the same name.
    fn queues_of(&self, record: &SqsMessage) -> Option<&(String, String)> {
        if let [only] = self.queues.as_slice() {
            return Some(only);
        }
        let name = record.event_source_arn.as_deref()?.rsplit(':').next()?;
        self.queues.iter().find(|(queue, _)| queue.rsplit('/').next() == Some(name))
    }
}

impl Retries {
    /// Reads the URLs of these queues and `QUEUE_TRIES`. Fails if a setting is missing or bad.
    pub fn new(
        sdk: &SdkConfig,
        config: &Config,
        queues: &[&QueueSpec],
    ) -> Result<Self, ConfigError> {
        let urls = |queue: &&QueueSpec| Ok((config.text(queue.url)?, config.text(queue.dead_url)?));
        Ok(Self(Some(Targets {
            client: Client::new(sdk),
            queues: queues.iter().map(urls).collect::<Result<_, ConfigError>>()?,
            tries: config.number(
                "QUEUE_TRIES",
                QUEUE_TRIES_DEFAULT,
                QUEUE_TRIES_MIN..=QUEUE_TRIES_MAX,
            )?,
        })))
    }

    /// Leaves all failed messages to SQS: none is requeued, and each waits for its visibility timeout.
    pub fn none() -> Self {
        Self(None)
    }

    /// Requeues failed messages, sends them to the dead-letter queue, or shortens their wait. Returns the ids of
    /// the messages that SQS must deliver again.
    pub(super) async fn settle(&self, failed: Vec<Failed>) -> Vec<String> {
        let now = clock::now();
        let settled: Vec<Option<Failed>> = stream::iter(failed)
            .map(|failed| {
                let trace = failed.trace.clone();
                trace.scope(self.pass_on(failed, now))
            })
            .buffer_unordered(CONCURRENCY)
            .collect()
            .await;
        let returned: Vec<Failed> = settled.into_iter().flatten().collect();
        if let Err(error) = self.shorten_waits(&returned, now).await {
            tracing::warn!(error = %Chain(&error), "the wait of failed messages was not shortened");
        }
        returned.into_iter().map(|failed| id(&failed.record).to_owned()).collect()
    }

    /// Requeues a failed message or makes it a dead letter, if it was received too often, has a rest, or has been tried
    /// for as long as its pace allows. Returns the message if SQS must deliver it again.
    async fn pass_on(&self, failed: Failed, now: Time) -> Option<Failed> {
        match self.try_to_pass_on(&failed, now).await {
            Ok(true) => None,
            Ok(false) => Some(failed),
            Err(error) => {
                let message_id = id(&failed.record);
                let error = Chain(&error);
                tracing::warn!(message_id, %error, "not sent on: SQS delivers it again");
                Some(failed)
            }
        }
    }

    async fn try_to_pass_on(&self, failed: &Failed, now: Time) -> Result<bool, StoreError> {
        let Failed { record, fate, reason, pace, rest, .. } = failed;
        let Some(targets) = &self.0 else { return Ok(false) };
        let Some((queue, dead)) = targets.queues_of(record) else { return Ok(false) };
        let body = rest.clone().or_else(|| record.body.clone()).unwrap_or_default();
        // the other half of the tries is for functions that die, which this code cannot notice
        let is_over = is_over(failed, now);
        let is_long = *pace == Pace::Webhook && delay(failed, now) > WEBHOOK_IN_FLIGHT_MAX;
        let is_early = receives(record) * 2 <= targets.tries && !is_over && !is_long;
        let is_rest = rest.is_some() && *fate == Fate::Requeue;
        if is_early && !is_rest || body.is_empty() {
            return Ok(false);
        }
        let requeues = attribute_of(record, REQUEUED).and_then(|requeues| requeues.parse().ok());
        let requeues: u64 = requeues.unwrap_or_default();
        let is_requeue = *fate == Fate::Requeue && requeues < REQUEUES_MAX && !is_over;
        let message = targets.client.send_message().message_body(body);
        let message = message.set_message_group_id(group_of(record));
        let message = message.set_message_attributes(attributes(request_of(record).as_ref())?);
        let message = if is_requeue {
            let delay = delay(failed, now).min(SEND_DELAY_MAX);
            let message = message.queue_url(queue).delay_seconds(delay.as_secs() as i32);
            let since = (now - failing_for(failed, now)).to_string();
            let since = attribute_of(record, SINCE).map_or(since, str::to_owned);
            message
                .message_attributes(REQUEUED, attribute("Number", (requeues + 1).to_string())?)
                .message_attributes(SINCE, attribute("Number", since)?)
        } else {
            let message = message.queue_url(dead);
            message.message_attributes(REASON, attribute("String", reason_of(reason))?)
        };
        let doing = "sending on a failed message";
        message.send().await.map_err(StoreError::sqs(doing))?;
        let message_id = record.message_id.as_deref();
        match (is_requeue, rest) {
            (true, Some(_)) => {
                tracing::info!(message_id, "the rest of the message was sent as a new message")
            }
            (true, None) => {
                tracing::info!(message_id, requeues, "requeued");
                metrics::requeued();
            }
            (false, _) => {
                tracing::error!(message_id, "became a dead letter");
                metrics::dead();
            }
        }
        Ok(true)
    }

    /// Makes messages visible again after their wait, which is at most an hour. SQS would hide them for the queue's
    /// visibility timeout, and takes up to 12 hours.
    async fn shorten_waits(&self, failed: &[Failed], now: Time) -> Result<(), StoreError> {
        let doing = "shortening the waits of messages";
        let Some(targets) = &self.0 else { return Ok(()) };
        for (queue, _) in &targets.queues {
            let mut entries = Vec::new();
            for (nth, one) in failed.iter().enumerate() {
                let record = &one.record;
                let is_from = targets.queues_of(record).is_some_and(|(from, _)| from == queue);
                let Some(handle) = record.receipt_handle.as_deref().filter(|_| is_from) else {
                    continue;
                };
                let entry = ChangeMessageVisibilityBatchRequestEntry::builder()
                    .id(nth.to_string())
                    .receipt_handle(handle)
                    .visibility_timeout(delay(one, now).as_secs() as i32);
                entries.push(entry.build().map_err(StoreError::request(doing))?);
            }
            for entries in entries.chunks(SEND_BATCH_MAX) {
                let call = targets.client.change_message_visibility_batch().queue_url(queue);
                let answer = call.set_entries(Some(entries.to_vec())).send().await;
                let answer = answer.map_err(StoreError::sqs(doing))?;
                if let Some(first) = answer.failed().first() {
                    let (left, all) = (answer.failed().len(), entries.len());
                    let text = first.message().unwrap_or_default();
                    let reason = format!("{} {text}", first.code());
                    return Err(StoreError::SqsPartial { doing, left, all, reason });
                }
            }
        }
        Ok(())
    }
}

/// The time since the first failure of a message, in whole seconds. Without the attribute `since`, it is computed from
/// the number of receives. The time of the first receive is not used, because that function may have been killed.
fn failing_for(Failed { record, pace, .. }: &Failed, now: Time) -> Duration {
    if let Some(since) = attribute_of(record, SINCE).and_then(|ms| ms.parse().ok()) {
        return whole_seconds(now.since(Time::from_ms(since)));
    }
    (1..receives(record).min(QUEUE_TRIES_MAX)).fold(Duration::ZERO, |sum, _| sum + pace.wait(sum))
}

/// Whether a message has been tried for as long as its pace allows.
fn is_over(failed: &Failed, now: Time) -> bool {
    failed.pace.tried_for().is_some_and(|longest| failing_for(failed, now) >= longest)
}

/// SQS takes whole seconds.
fn whole_seconds(length: Duration) -> Duration {
    Duration::from_secs(length.as_secs())
}

/// The time until a message is tried again, in whole seconds.
fn delay(failed: &Failed, now: Time) -> Duration {
    failed.pace.wait(failing_for(failed, now))
}

#[cfg(test)]
mod tests {
    use aws_lambda_events::sqs::SqsMessageAttribute;

    use fanfold_core::limits::COMMIT_GRACE;

    use super::*;

    const NOW: Time = Time::from_ms(1_800_000_000_000);

    fn failed(receives: u64, since_s: Option<u64>, pace: Pace) -> Failed {
        let mut record = SqsMessage::default();
        record.attributes.insert("ApproximateReceiveCount".to_owned(), receives.to_string());
        if let Some(since_s) = since_s {
            let mut attribute = SqsMessageAttribute::default();
            attribute.string_value = Some((NOW - Duration::from_secs(since_s)).to_string());
            record.message_attributes.insert(SINCE.to_owned(), attribute);
        }
        let (trace, fate, reason) = (Trace::default(), Fate::Requeue, String::new());
        Failed { record, trace, fate, reason, pace, rest: None }
    }

    fn delay_s(receives: u64, since_s: Option<u64>) -> u64 {
        delay(&failed(receives, since_s, Pace::Store), NOW).as_secs()
    }

    #[test]
    fn a_message_waits_a_quarter_of_its_outage() {
        assert_eq!([1, 2, 5, 8, 9, 10].map(|receives| delay_s(receives, None)), [1, 1, 1, 1, 2, 2]);
        assert_eq!([0, 5, 12, 40, 299].map(|s| delay_s(1, Some(s))), [1, 1, 3, 8, 8]);
        assert_eq!(
            [400, 1_000, 3_600, 1_000_000].map(|s| delay_s(1, Some(s))),
            [100, 250, 300, 300]
        );
        // an outage of an hour takes tens of tries, one of a week about two thousand
        let tries = |outage_s| {
            let (mut tries, mut failing_for) = (0, Duration::ZERO);
            while failing_for < Duration::from_secs(outage_s) {
                failing_for += Pace::Store.wait(failing_for);
                tries += 1;
            }
            tries
        };
        assert!((40..80).contains(&tries(3_600)) && tries(7 * 86_400) < 3_000, "{}", tries(3_600));
    }

    /// The event of a writer that died is tried until the grace period has passed.
    #[test]
    fn an_event_without_a_commit_ends_before_its_tries() {
        let (mut receives, mut waited) = (1, Duration::ZERO);
        while waited <= COMMIT_GRACE {
            waited += delay(&failed(receives, None, Pace::Uncommitted), NOW);
            receives += 1;
        }
        // the last of these receives ends the message
        assert!((receives - 1) * 2 <= QUEUE_TRIES_DEFAULT + 2, "{receives}");
    }

    #[test]
    fn a_webhook_waits_a_quarter_of_the_time_and_is_tried_for_a_day() {
        let webhook = |since_s| failed(1, Some(since_s), Pace::Webhook);
        let delay_s = |since_s| delay(&webhook(since_s), NOW).as_secs();
        assert_eq!([0, 40, 400, 4_000, 14_400, 80_000].map(delay_s), [1, 10, 100, 900, 900, 900]);
        let day_s = WEBHOOK_TRIED_FOR.as_secs();
        assert!(!is_over(&webhook(day_s - 1), NOW) && is_over(&webhook(day_s), NOW));
        assert!(!is_over(&failed(1, None, Pace::Webhook), NOW));
        // the tries of other messages do not end with time
        for pace in [Pace::Store, Pace::Uncommitted] {
            assert!(!is_over(&failed(1, Some(10 * day_s), pace), NOW), "{pace:?}");
        }
        let (mut tries, mut failing_for) = (0, Duration::ZERO);
        while failing_for < WEBHOOK_TRIED_FOR {
            failing_for += Pace::Webhook.wait(failing_for);
            tries += 1;
        }
        assert!((100..150).contains(&tries) && tries < REQUEUES_MAX, "{tries}");
    }
}
