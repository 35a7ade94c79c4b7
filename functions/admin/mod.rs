//! The function `admin` executes operators' orders. It has no route and no schedule; IAM decides who may invoke it.

pub mod order;

use fanfold_core::limits::ADMIN_TIME_LEFT_MIN;
use fanfold_core::registry::{FunctionSpec, QUEUES, QueueSpec};
use fanfold_core::{Time, UserId, UserRef};
use fanfold_kinds::doctor::{self, Doctor};
use fanfold_kinds::export::ExportPlace;
use fanfold_kinds::people::items::Profile;
use fanfold_kinds::{App, erase, export, memory, rebuild};
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::clock::{self, Deadline};
use fanfold_runtime::invoke::invoked;
use fanfold_runtime::sqs::DeadLetters;
use fanfold_runtime::{Config, StartError};
use serde::Serialize;
use serde_json::{Value, json};

use crate::admin::order::{AdminOrder, Refusal, user};

/// Dead letters that one order returns to their queue.
const REDRIVE_MAX: usize = 5_000;

/// The stores and queues of operators' orders.
#[derive(Clone)]
pub struct Admin {
    pub app: App,
    /// The dead-letter queue of each queue.
    pub dead_letters: Vec<(&'static QueueSpec, DeadLetters)>,
    pub doctor: Doctor,
}

impl Admin {
    /// Makes the clients from the settings. An error names the setting that is missing or malformed.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, StartError> {
        let app = App::new(sdk, config)?;
        let dead_letters = QUEUES.iter().map(|queue| {
            let letters = DeadLetters::new(&app.outbox, config, queue)?;
            Ok::<_, StartError>((*queue, letters))
        });
        Ok(Self {
            dead_letters: dead_letters.collect::<Result<_, _>>()?,
            doctor: Doctor::new(sdk, &app.outbox, config)?,
            app,
        })
    }
}

pub(crate) async fn run(function: &'static FunctionSpec) -> Result<(), StartError> {
    invoked(function, &[], Admin::new, async |admin: &Admin, payload, deadline| {
        Ok(Box::pin(execute(admin, order::read(payload)?, clock::now(), deadline)).await?)
    })
    .await
}

/// Executes an order. Returns the result as JSON, or a [`Refusal`] that says why the order was not executed.
pub async fn execute(
    admin: &Admin,
    order: AdminOrder,
    now: Time,
    deadline: Deadline,
) -> Result<Value, Refusal> {
    let app = &admin.app;
    match order {
        AdminOrder::RebuildFeed { of: text } => {
            if let Some(feed) = order::shared_feed(&text)? {
                let rebuilt = Box::pin(rebuild::rebuild_one(app, feed, now)).await?;
                return Ok(json!({"feed": rebuilt.ok_or(Refusal::Busy)?}));
            }
            let profile = find(app, &user(&text)?).await?;
            let rebuilt = Box::pin(rebuild::rebuild_user(app, profile, now)).await?;
            answer(rebuilt.ok_or(Refusal::Busy)?)
        }
        AdminOrder::DropUser { user: text } => {
            let id = id_of(app, &user(&text)?).await?;
            answer(Box::pin(erase::drop_user(app, id, now, deadline)).await?)
        }
        AdminOrder::Export { user: text, after } => {
            let user = find(app, &user(&text)?).await?.id;
            let from = after.map_or(Ok(ExportPlace::FIRST), |after| after.parse())?;
            answer(Box::pin(export::export(app, user, from, now)).await?)
        }
        AdminOrder::Redrive { queue: name } => {
            let known = admin.dead_letters.iter().find(|(queue, _)| queue.name == name);
            let (queue, letters) = known.ok_or_else(|| Refusal::Queue(name.clone()))?;
            let time_is_up = || deadline.is_within(ADMIN_TIME_LEFT_MIN);
            let redriven = Box::pin(letters.redrive(REDRIVE_MAX, time_is_up)).await?;
            tracing::info!(
                queue = queue.name,
                redriven.moved,
                redriven.left,
                "returned dead letters to their queue"
            );
            answer(redriven)
        }
        AdminOrder::BeginMemory => answer(Box::pin(memory::begin(&app.valkey, now)).await),
        AdminOrder::Doctor => {
            answer(Box::pin(doctor::diagnose(&admin.doctor, &app.valkey, now)).await)
        }
    }
}

async fn find(app: &App, user: &UserRef) -> Result<Profile, Refusal> {
    let profile = app.users.find(user).await?;
    profile.ok_or_else(|| Refusal::NoSuchUser(user.clone()))
}

/// The id of the user to erase. An id also works after the first step, which removes the profile and the handle.
async fn id_of(app: &App, user: &UserRef) -> Result<UserId, Refusal> {
    match user {
        UserRef::Id(id) => Ok(*id),
        UserRef::Handle(_) => Ok(find(app, user).await?.id),
    }
}

/// The result of an order as JSON.
fn answer(result: impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(result).map_err(Refusal::Order)
}
