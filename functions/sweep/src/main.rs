//! Wires the function `sweep`.

use fanfold_store::origin::Origin;
use fanfold_store::{Config, aws, clock, log};
use fanfold_sweep::{App, handler};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::init();
    let app = App::new(&aws::sdk_config().await, &Config::from_env())
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    let app = &app;
    // what the schedule sends does not matter
    let handle = async |event: LambdaEvent<Value>| -> Result<_, Error> {
        let sweep = handler::sweep(app, clock::now_ms());
        Ok(Origin::of_invocation(&event.context).scope(sweep).await?)
    };
    lambda_runtime::run(service_fn(handle)).await
}
