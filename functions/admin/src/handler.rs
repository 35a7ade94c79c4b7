//! Decides what becomes of an order.

use std::error::Error;

use fanfold_core::UserId;
use fanfold_core::limits::{ADMIN_TIME_LEFT_MIN_MS, DROP_SETTLES_MS, REDRIVE_MAX};
use fanfold_core::message::RelationChanged;
use fanfold_store::Config;
use fanfold_store::aws::SdkConfig;
use fanfold_store::clock::Deadline;
use fanfold_store::dynamo::users::Profile;
use fanfold_store::dynamo::{ReceiptStore, UserStore};
use fanfold_store::feeds::Feeds;
use fanfold_store::http::UserRef;
use fanfold_store::sqs::{DeadLetters, Queue};
use serde::Serialize;
use serde_json::Value;

use crate::doctor::Doctor;
use crate::order::{Order, QUEUES, Refusal, user};
use crate::{doctor, drop, feed, memory};

#[derive(Clone)]
pub struct App {
    pub users: UserStore,
    pub receipts: ReceiptStore,
    pub feeds: Feeds,
    pub events: Queue<RelationChanged>,
    pub letters: Vec<(&'static str, DeadLetters)>,
    pub doctor: Doctor,
    /// See [`DROP_SETTLES_MS`].
    pub drop_settles_ms: u64,
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut letters = Vec::new();
        for (name, source) in QUEUES {
            letters.push((name, DeadLetters::new(sdk, config, source)?));
        }
        Ok(Self {
            users: UserStore::new(sdk, config)?,
            receipts: ReceiptStore::new(sdk, config)?,
            feeds: Feeds::new(sdk, config)?,
            events: Queue::new(sdk, config, "GRAPH_EVENTS_QUEUE_URL")?,
            letters,
            doctor: Doctor::new(sdk, config)?,
            drop_settles_ms: DROP_SETTLES_MS,
        })
    }
}

/// Does what is ordered, and answers what was done.
pub async fn obey(
    app: &App,
    order: Order,
    now_ms: u64,
    deadline: Deadline,
) -> Result<Value, Refusal> {
    match order {
        Order::RebuildFeed { user: text } => {
            let profile = find(app, &user(&text)?).await?;
            answer(Box::pin(feed::rebuild(app, profile, now_ms)).await?)
        }
        Order::DropUser { user: text } => {
            let id = to_drop(app, &user(&text)?).await?;
            answer(Box::pin(drop::drop_user(app, id, now_ms, deadline)).await?)
        }
        Order::Redrive { queue } => {
            let known = app.letters.iter().find(|(name, _)| *name == queue);
            let (_, letters) = known.ok_or_else(|| Refusal::Queue(queue.clone()))?;
            let is_up = || deadline.is_within_ms(ADMIN_TIME_LEFT_MIN_MS);
            let redriven = Box::pin(letters.redrive(REDRIVE_MAX, is_up)).await?;
            tracing::info!(queue, redriven.moved, redriven.left, "brought dead letters back");
            answer(redriven)
        }
        Order::BeginMemory => answer(Box::pin(memory::begin(&app.feeds.valkey, now_ms)).await),
        Order::Doctor => {
            answer(Box::pin(doctor::diagnose(&app.doctor, &app.feeds.valkey, now_ms)).await)
        }
    }
}

async fn find(app: &App, user: &UserRef) -> Result<Profile, Refusal> {
    let profile = app.users.find(user).await?;
    profile.ok_or_else(|| Refusal::NoSuchUser(user.clone()))
}

/// By the id one can go on after the first step, which takes the profile.
async fn to_drop(app: &App, user: &UserRef) -> Result<UserId, Refusal> {
    match user {
        UserRef::Id(id) => Ok(*id),
        UserRef::Handle(_) => Ok(find(app, user).await?.id),
    }
}

fn answer(done: impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(done).map_err(Refusal::Order)
}
