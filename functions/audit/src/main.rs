//! Wires the function `audit`.

use fanfold_audit::{App, handler};
use fanfold_store::clock::Deadline;
use fanfold_store::origin::Origin;
use fanfold_store::{Config, aws, clock, log, measure};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::init();
    measure::init(measure::AUDIT);
    let app = App::new(&aws::sdk_config().await, &Config::from_env())
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    let app = &app;
    // what the schedule sends does not matter
    let handle = async |event: LambdaEvent<Value>| -> Result<_, Error> {
        let deadline = Deadline::at_ms(event.context.deadline);
        let audit = handler::audit(app, clock::now_ms(), deadline);
        let audited = Origin::of_invocation(&event.context).scope(audit).await;
        measure::flush();
        Ok(audited?)
    };
    lambda_runtime::run(service_fn(handle)).await
}
