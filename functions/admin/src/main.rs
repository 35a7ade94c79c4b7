//! Wires the function `admin`.

use fanfold_admin::{App, handler, order};
use fanfold_store::clock::Deadline;
use fanfold_store::{Config, aws, clock, log};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::init();
    let app = App::new(&aws::sdk_config().await, &Config::from_env())
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    let app = &app;
    let handle = async |event: LambdaEvent<Value>| -> Result<Value, Error> {
        let deadline = Deadline::at_ms(event.context.deadline);
        let order = order::read(event.payload)?;
        Ok(Box::pin(handler::obey(app, order, clock::now_ms(), deadline)).await?)
    };
    lambda_runtime::run(service_fn(handle)).await
}
