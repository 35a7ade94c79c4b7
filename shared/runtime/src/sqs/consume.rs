//! Runs the functions of queues: one message at a time, or a whole batch.

use aws_config::SdkConfig;
use aws_lambda_events::sqs::SqsEvent;
use fanfold_core::Time;
use fanfold_core::message::Received;
use fanfold_core::registry::{FunctionSpec, Trigger};
use lambda_runtime::{LambdaEvent, service_fn};

use super::{Incoming, Outcome, Retries, batch};
use crate::clock::{self, Deadline};
use crate::config::Config;
use crate::error::StoreError;
use crate::trace::Trace;
use crate::{StartError, aws, log, metrics};

/// When a message is handled.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The present time.
    pub now: Time,
    /// The end of the invocation.
    pub deadline: Deadline,
}

/// Runs a function of queues for the life of its environment. `make` builds its stores when it starts. `handle`
/// gets the messages one by one, several at the same time.
pub async fn consume<A, M, H>(
    function: &'static FunctionSpec,
    make: impl FnOnce(&SdkConfig, &Config) -> Result<A, StartError>,
    handle: H,
) -> Result<(), StartError>
where
    M: Received,
    H: AsyncFn(&A, M, Moment) -> Result<(), StoreError>,
{
    consume_batches(function, make, async |app: &A, messages: Vec<Incoming<M>>, deadline| {
        let one =
            async |message| handle(app, message, Moment { now: clock::now(), deadline }).await;
        batch::each(messages, &one).await
    })
    .await
}

/// Runs a function of queues for the life of its environment. `make` builds its stores when it starts. `handle`
/// gets all messages of a batch, and returns one outcome for each, in their order.
pub async fn consume_batches<A, M, H>(
    function: &'static FunctionSpec,
    make: impl FnOnce(&SdkConfig, &Config) -> Result<A, StartError>,
    handle: H,
) -> Result<(), StartError>
where
    M: Received,
    H: AsyncFn(&A, Vec<Incoming<M>>, Deadline) -> Vec<Outcome<M>>,
{
    log::init();
    metrics::init(metrics::QUEUES);
    let queues = match function.trigger {
        Trigger::Queues(queues) => queues,
        _ => &[],
    };
    let (sdk, config) = (aws::sdk_config().await, Config::from_env().of(function));
    let made = make(&sdk, &config)
        .and_then(|app| Ok((app, Retries::new(&sdk, &config, queues)?)))
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    let ((app, retries), handle) = (&made, &handle);
    let take = async |event: LambdaEvent<SqsEvent>| {
        let deadline = Deadline::at(Time::from_ms(event.context.deadline));
        let all = async |messages| handle(app, messages, deadline).await;
        let run = batch::run(event.payload, retries, all);
        let response = Trace::of_invocation(&event.context).scope(run).await;
        metrics::flush();
        Ok::<_, StartError>(response)
    };
    lambda_runtime::run(service_fn(take)).await
}
