use std::error::Error;

use aws_config::SdkConfig;
use aws_lambda_events::sqs::SqsEvent;
use lambda_runtime::{LambdaEvent, service_fn};
use serde::de::DeserializeOwned;

use super::{Incoming, Letters, Source, batch};
use crate::clock::{self, Deadline};
use crate::config::Config;
use crate::error::StoreError;
use crate::origin::Origin;
use crate::{aws, log, measure};

type Failure = Box<dyn Error + Send + Sync>;

/// When a message is handled, and until when.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub now_ms: u64,
    pub deadline: Deadline,
}

/// Runs a function that takes the messages of its queues one by one, for the life of its environment.
pub async fn consume<A, M, H>(
    sources: &[Source],
    make: impl FnOnce(&SdkConfig, &Config) -> Result<A, Failure>,
    handle: H,
) -> Result<(), Failure>
where
    M: DeserializeOwned,
    H: AsyncFn(&A, M, Moment) -> Result<(), StoreError>,
{
    consume_batches(sources, make, async |app: &A, messages: Vec<Incoming<M>>, deadline| {
        let one = async |message| {
            handle(app, message, Moment { now_ms: clock::now_ms(), deadline }).await
        };
        batch::each(messages, &one).await
    })
    .await
}

/// The same for one that takes all messages of a batch at once.
pub async fn consume_batches<A, M, H>(
    sources: &[Source],
    make: impl FnOnce(&SdkConfig, &Config) -> Result<A, Failure>,
    handle: H,
) -> Result<(), Failure>
where
    M: DeserializeOwned,
    H: AsyncFn(&A, Vec<Incoming<M>>, Deadline) -> Vec<Result<(), StoreError>>,
{
    log::init();
    measure::init(measure::QUEUES);
    let (sdk, config) = (aws::sdk_config().await, Config::from_env());
    let made = make(&sdk, &config)
        .and_then(|app| Ok((app, Letters::new(&sdk, &config, sources)?)))
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    let ((app, letters), handle) = (&made, &handle);
    let take = async |event: LambdaEvent<SqsEvent>| {
        let deadline = Deadline::at_ms(event.context.deadline);
        let all = async |messages| handle(app, messages, deadline).await;
        let run = batch::run(event.payload, letters, all);
        let response = Origin::of_invocation(&event.context).scope(run).await;
        measure::flush();
        Ok::<_, Failure>(response)
    };
    lambda_runtime::run(service_fn(take)).await
}
