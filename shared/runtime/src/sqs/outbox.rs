//! Sends messages, one by one or in batches.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use fanfold_core::limits::{SEND_BATCH_BYTES_MAX, SEND_BATCH_MAX, TRIES_MAX};
use fanfold_core::message::Message;
use fanfold_core::registry::{QUEUES, QueueSpec, TIMER_EVENTS};

use super::record::attributes;
use super::text::body;
use crate::config::{Config, ConfigError};
use crate::error::StoreError;
use crate::retry::pause;
use crate::store::StoreName;
use crate::trace::Trace;

/// Sends messages to their queues. Each message has the id of the HTTP request that caused it as the attribute `request`.
#[derive(Clone)]
pub struct Outbox {
    pub(super) client: Client,
    urls: Arc<Vec<(&'static QueueSpec, StoreName)>>,
}

/// A message of a batch.
struct ToSend {
    body: String,
    delay_s: i32,
    group: Option<String>,
}

/// The proof that the event of a commit was sent. A commit that has an event takes it, so that the commit cannot run
/// before the event. Only [`Outbox::announce`] and its kind make one, for one commit.
#[must_use]
pub struct Announced<M>(PhantomData<fn(M)>);

impl<M> Announced<M> {
    /// A proof without an event, for tests of a store alone.
    #[doc(hidden)]
    pub fn assumed() -> Self {
        Self(PhantomData)
    }
}

impl Outbox {
    /// Reads the URLs of the queues that the function lists. Fails if a setting is missing.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        let queues = QUEUES.iter().chain([&TIMER_EVENTS]);
        let urls = queues.map(|queue| Ok((*queue, StoreName::read(config, queue.url)?)));
        let urls = urls.collect::<Result<_, ConfigError>>()?;
        Ok(Self { client: Client::new(sdk), urls: Arc::new(urls) })
    }

    /// Sends a message to its queues.
    pub async fn send<M: Message>(&self, message: &M) -> Result<(), StoreError> {
        self.send_after(message, Duration::ZERO).await
    }

    /// Sends a message that is delivered `delay` later at the earliest, in whole seconds.
    pub async fn send_after<M: Message>(
        &self,
        message: &M,
        delay: Duration,
    ) -> Result<(), StoreError> {
        for queue in M::QUEUES {
            self.send_on(queue, message, delay).await?;
        }
        Ok(())
    }

    /// Sends an event to its queues before its commit. Returns the proof that the commit takes.
    pub async fn announce<M: Message>(&self, event: &M) -> Result<Announced<M>, StoreError> {
        self.send(event).await?;
        Ok(Announced(PhantomData))
    }

    /// Sends an event before its commit, to be delivered `delay` later at the earliest. Returns the proof that the commit
    /// takes.
    pub async fn announce_after<M: Message>(
        &self,
        event: &M,
        delay: Duration,
    ) -> Result<Announced<M>, StoreError> {
        self.send_after(event, delay).await?;
        Ok(Announced(PhantomData))
    }

    /// Sends the events of one commit before it, to one queue. Returns the proof that the commit takes.
    pub async fn announce_all_on<M: Message>(
        &self,
        queue: &'static QueueSpec,
        events: &[M],
    ) -> Result<Announced<M>, StoreError> {
        self.send_all_on(queue, events).await?;
        Ok(Announced(PhantomData))
    }

    /// Sends a message to one queue, to be delivered `delay` later at the earliest.
    pub async fn send_on<M: Message>(
        &self,
        queue: &'static QueueSpec,
        message: &M,
        delay: Duration,
    ) -> Result<(), StoreError> {
        let doing = "sending a message";
        let (url, body) = (self.url::<M>(doing, queue)?, body(doing, message)?);
        tracing::debug!(queue = url, bytes = body.len(), "sending a message");
        let call = self.client.send_message().queue_url(url).message_body(body);
        let call = call.set_message_group_id(message.group());
        let call = call.set_delay_seconds(Some(delay.as_secs() as i32).filter(|delay| *delay > 0));
        let request = attributes(Trace::current().request.as_ref())?;
        let sent = call.set_message_attributes(request).send().await;
        sent.map_err(StoreError::sqs(doing))?;
        Ok(())
    }

    /// Sends all messages to one queue in batches. Messages of a batch that SQS does not take are sent again, up to
    /// [`TRIES_MAX`] times, except those that it can never take, which stop no others. After another error, some messages may
    /// have been sent.
    pub async fn send_all_on<M: Message>(
        &self,
        queue: &'static QueueSpec,
        messages: &[M],
    ) -> Result<(), StoreError> {
        let delayed: Vec<_> = messages.iter().map(|message| (message, Duration::ZERO)).collect();
        self.send_all_after_on(queue, delayed).await
    }

    /// The same, for messages that are each delivered after a delay at the earliest, in whole seconds.
    pub async fn send_all_after_on<'a, M: Message>(
        &self,
        queue: &'static QueueSpec,
        messages: impl IntoIterator<Item = (&'a M, Duration)>,
    ) -> Result<(), StoreError> {
        let doing = "sending messages";
        let url = self.url::<M>(doing, queue)?;
        let (mut batch, mut bytes, mut refused) = (Vec::new(), 0, Ok(()));
        for (message, delay) in messages {
            let body = match body(doing, message) {
                Ok(body) => body,
                Err(error) => {
                    lasting(Err(error), &mut refused)?;
                    continue;
                }
            };
            if batch.len() == SEND_BATCH_MAX || bytes + body.len() > SEND_BATCH_BYTES_MAX {
                let sent = self.send_batch(doing, url, std::mem::take(&mut batch)).await;
                lasting(sent, &mut refused)?;
                bytes = 0;
            }
            bytes += body.len();
            let (delay_s, group) = (delay.as_secs() as i32, message.group());
            batch.push(ToSend { body, delay_s, group });
        }
        lasting(self.send_batch(doing, url, batch).await, &mut refused)?;
        refused
    }

    /// The URL of a queue for a message. Fails if the function does not list the queue.
    fn url<M: Message>(
        &self,
        doing: &'static str,
        queue: &'static QueueSpec,
    ) -> Result<&str, StoreError> {
        debug_assert!(queue.messages.contains(&M::TYPE), "{} on {}", M::TYPE, queue.name);
        let url = self.urls.iter().find(|(known, _)| *known == queue);
        let source = ConfigError::Missing(queue.url);
        url.ok_or(StoreError::Unlisted { doing, source })?.1.get(doing)
    }

    async fn send_batch(
        &self,
        doing: &'static str,
        url: &str,
        messages: Vec<ToSend>,
    ) -> Result<(), StoreError> {
        let (all, request) = (messages.len(), attributes(Trace::current().request.as_ref())?);
        let mut left: Vec<(String, ToSend)> =
            messages.into_iter().enumerate().map(|(i, message)| (i.to_string(), message)).collect();
        let (mut reason, mut refused) = (String::new(), None);
        for tried in 0..TRIES_MAX {
            if left.is_empty() {
                break;
            }
            let entries: Result<Vec<_>, _> = left
                .iter()
                .map(|(id, ToSend { body, delay_s, group })| {
                    let entry = SendMessageBatchRequestEntry::builder().id(id).message_body(body);
                    let entry = entry.set_delay_seconds(Some(*delay_s).filter(|delay| *delay > 0));
                    let entry = entry.set_message_group_id(group.clone());
                    entry.set_message_attributes(request.clone()).build()
                })
                .collect();
            let call = self.client.send_message_batch().queue_url(url);
            let answer =
                call.set_entries(Some(entries.map_err(StoreError::request(doing))?)).send().await;
            let answer = answer.map_err(StoreError::sqs(doing))?;
            let failed = |id: &str| answer.failed().iter().find(|failed| failed.id() == id);
            left.retain(|(id, _)| match failed(id) {
                Some(failed) => {
                    let error = StoreError::of_entry(doing, failed.code(), failed.message());
                    let is_lasting = error.is_some();
                    refused = refused.take().or(error);
                    !is_lasting
                }
                None => false,
            });
            if let Some(failed) = answer.failed().first() {
                reason = format!("{} {}", failed.code(), failed.message().unwrap_or_default());
                pause(tried).await;
            }
        }
        match left.len() {
            0 => refused.map_or(Ok(()), Err),
            left => Err(StoreError::SqsPartial { doing, left, all, reason }),
        }
    }
}

/// Keeps the first error that another try does not change. Returns any other error.
fn lasting(
    sent: Result<(), StoreError>,
    refused: &mut Result<(), StoreError>,
) -> Result<(), StoreError> {
    match sent {
        Err(error) if error.is_lasting() => {
            if refused.is_ok() {
                *refused = Err(error);
            }
            Ok(())
        }
        other => other,
    }
}
