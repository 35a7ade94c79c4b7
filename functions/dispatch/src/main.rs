//! Wires the function `dispatch`.

use aws_lambda_events::sqs::SqsEvent;
use fanfold_dispatch::{App, handler};
use fanfold_store::clock::Deadline;
use fanfold_store::sqs::{Letters, batch};
use fanfold_store::{Config, aws, clock, log};
use lambda_runtime::{Error, LambdaEvent, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::init();
    let (sdk, config) = (aws::sdk_config().await, Config::from_env());
    let app = App::new(&sdk, &config)
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    let (queue, dead) = ("POST_EVENTS_QUEUE_URL", "POST_EVENTS_DEAD_QUEUE_URL");
    let letters = Letters::new(&sdk, &config, queue, dead)
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    let (app, letters) = (&app, &letters);
    let handle = async |event: LambdaEvent<SqsEvent>| {
        let deadline = Deadline::at_ms(event.context.deadline);
        let each = async |message| {
            handler::dispatch(app, &message, clock::now_ms(), deadline).await.map(drop)
        };
        Ok::<_, Error>(batch::run(event.payload, letters, each).await)
    };
    lambda_runtime::run(service_fn(handle)).await
}
