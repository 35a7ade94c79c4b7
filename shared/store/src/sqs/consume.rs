use std::error::Error;

use aws_config::SdkConfig;
use aws_lambda_events::sqs::SqsEvent;
use lambda_runtime::{LambdaEvent, service_fn};
use serde::de::DeserializeOwned;

use super::{Letters, batch};
use crate::clock::{self, Deadline};
use crate::config::Config;
use crate::error::StoreError;
use crate::{aws, log};

type Failure = Box<dyn Error + Send + Sync>;

/// When a message is handled, and until when.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub now_ms: u64,
    pub deadline: Deadline,
}

/// Runs a function that takes the messages of a queue, for the life of its environment. The
/// settings' names: of the queue's URL, and of its dead-letter queue's.
pub async fn consume<A, M, H>(
    queue: &'static str,
    dead: &'static str,
    make: impl FnOnce(&SdkConfig, &Config) -> Result<A, Failure>,
    handle: H,
) -> Result<(), Failure>
where
    M: DeserializeOwned,
    H: AsyncFn(&A, M, Moment) -> Result<(), StoreError>,
{
    log::init();
    let (sdk, config) = (aws::sdk_config().await, Config::from_env());
    let made = make(&sdk, &config)
        .and_then(|app| Ok((app, Letters::new(&sdk, &config, queue, dead)?)))
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    let ((app, letters), handle) = (&made, &handle);
    let take = async |event: LambdaEvent<SqsEvent>| {
        let deadline = Deadline::at_ms(event.context.deadline);
        let each = async |message| {
            handle(app, message, Moment { now_ms: clock::now_ms(), deadline }).await
        };
        Ok::<_, Failure>(batch::run(event.payload, letters, each).await)
    };
    lambda_runtime::run(service_fn(take)).await
}
