//! The central rule of all writers: the event goes out before the commit.
//!
//! If a writer dies between the two, the event finds nothing, which does no harm. In the other order, a post would
//! reach nobody, or no feed would learn of a changed relation. The types hold the order: a commit of a store that has an
//! event takes the proof that the event was sent.

use std::time::Duration;

use fanfold_core::message::Message;
use fanfold_core::registry::QueueSpec;
use fanfold_runtime::StoreError;
use fanfold_runtime::sqs::{Announced, Outbox};

/// Sends the event, then runs the commit that the event announces. If the event cannot be sent, nothing is committed.
pub async fn announced<M: Message, T, F: Future<Output = Result<T, StoreError>>>(
    outbox: &Outbox,
    event: &M,
    commit: impl FnOnce(Announced<M>) -> F,
) -> Result<T, StoreError> {
    // mutation: event-before-commit
    let sent = outbox.announce(event).await?;
    commit(sent).await
}

/// The same, for an event that is delivered `delay` later at the earliest.
pub async fn announced_after<M: Message, T, F: Future<Output = Result<T, StoreError>>>(
    outbox: &Outbox,
    event: &M,
    delay: Duration,
    commit: impl FnOnce(Announced<M>) -> F,
) -> Result<T, StoreError> {
    let sent = outbox.announce_after(event, delay).await?;
    commit(sent).await
}

/// The same, for a commit that several events announce on one queue.
pub async fn all_announced<M: Message, T, F: Future<Output = Result<T, StoreError>>>(
    outbox: &Outbox,
    queue: &'static QueueSpec,
    events: &[M],
    commit: impl FnOnce(Announced<M>) -> F,
) -> Result<T, StoreError> {
    let sent = outbox.announce_all_on(queue, events).await?;
    commit(sent).await
}
