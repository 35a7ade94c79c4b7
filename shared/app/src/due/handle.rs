//! The handler of due items.

use std::time::Duration;

use fanfold_core::limits::DUE_LOOK_AHEAD;
use fanfold_core::message::{ItemDue, PostEvent, TimerFired};
use fanfold_core::registry::{DUE_ITEMS, POST_EVENTS, TIMER_EVENTS, WEBHOOKS};
use fanfold_core::{DueItem, Time};
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::log::Chain;
use fanfold_runtime::sqs::Queue;
use fanfold_runtime::{Config, StartError, StoreError};
use fanfold_store::dynamo::posts::PostStore;
use fanfold_store::dynamo::{DueStore, UserStore};
use fanfold_store::valkey::Valkey;

use super::{delay_until, scheduled, timers};

/// The stores and the queues of the function that publishes and fires what is due.
#[derive(Clone)]
pub struct Due {
    pub due: DueStore,
    pub posts: PostStore,
    pub users: UserStore,
    pub valkey: Valkey,
    pub events: Queue<PostEvent>,
    pub items: Queue<ItemDue>,
    pub timer_events: Queue<TimerFired>,
    /// `None`: the operator gave no address for webhooks.
    pub webhooks: Option<Queue<TimerFired>>,
}

/// The result of handling the message of a due item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    /// The post is published, or the timer fired.
    Done,
    /// The item is gone, or has another time, or was done before.
    NothingToDo,
    /// The message came before the item's time. It was sent again, or a look-ahead hands it on again.
    Early,
}

impl Due {
    /// Makes the clients from the settings. An error names the setting that is missing or malformed.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, StartError> {
        let webhooks = match config.text("WEBHOOK_URL") {
            Ok(_) => Some(Queue::new(sdk, config, WEBHOOKS)?),
            Err(_) => None,
        };
        Ok(Self {
            due: DueStore::new(sdk, config)?,
            posts: PostStore::new(sdk, config)?,
            users: UserStore::new(sdk, config)?,
            valkey: Valkey::new(sdk, config)?,
            events: Queue::new(sdk, config, POST_EVENTS)?,
            items: Queue::new(sdk, config, DUE_ITEMS)?,
            timer_events: Queue::new(sdk, config, TIMER_EVENTS)?,
            webhooks,
        })
    }
}

/// Handles the message of a due item. Reads the item: only the entry that it has now is due.
///
/// Fails with [`StoreError::NotCommittedYet`] if the item is not committed yet; the message is then tried again.
pub async fn handle(app: &Due, message: &ItemDue, now: Time) -> Result<Handled, StoreError> {
    let entry = &message.entry;
    // mutation: due-early
    if now < entry.at {
        return wait(app, message, now).await;
    }
    let handled = match &entry.item {
        DueItem::Post(id) => scheduled::publish_due(app, *id, message, now).await?,
        DueItem::Timer(owner, name) => timers::fire(app, (*owner, name), message, now).await?,
    };
    // without this, a look-ahead hands the entry on again, which leads to nothing
    if let Err(error) = app.valkey.due_done(std::slice::from_ref(entry)).await {
        tracing::warn!(%entry, error = %Chain(&error), "still in the index of due items");
    }
    Ok(handled)
}

/// A message came before its time: clocks differ. By the clock of this function, the item is not due yet.
async fn wait(app: &Due, message: &ItemDue, now: Time) -> Result<Handled, StoreError> {
    let left = message.entry.at.since(now);
    if left <= DUE_LOOK_AHEAD {
        let delay = delay_until(message.entry.at, now).max(Duration::from_secs(1));
        app.items.send_after(message, delay).await?;
    } else {
        app.valkey.due_again(&message.entry).await?;
    }
    Ok(Handled::Early)
}
