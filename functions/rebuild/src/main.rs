//! Wires the function `rebuild`.

use aws_lambda_events::sqs::SqsEvent;
use fanfold_rebuild::{App, handler};
use fanfold_store::sqs::{Letters, batch};
use fanfold_store::{Config, aws, clock, log};
use lambda_runtime::{Error, LambdaEvent, service_fn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::init();
    let (sdk, config) = (aws::sdk_config().await, Config::from_env());
    let app = App::new(&sdk, &config)
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    let (queue, dead) = ("REBUILDS_QUEUE_URL", "REBUILDS_DEAD_QUEUE_URL");
    let letters = Letters::new(&sdk, &config, queue, dead)
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    let (app, letters) = (&app, &letters);
    let handle = async |event: LambdaEvent<SqsEvent>| {
        let each = async |message| handler::rebuild(app, &message, clock::now_ms()).await.map(drop);
        Ok::<_, Error>(batch::run(event.payload, letters, each).await)
    };
    lambda_runtime::run(service_fn(handle)).await
}
