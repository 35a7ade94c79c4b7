//! The runner of functions that schedules or operators invoke.

use aws_config::SdkConfig;
use fanfold_core::Time;
use fanfold_core::registry::FunctionSpec;
use lambda_runtime::{LambdaEvent, service_fn};
use serde::Serialize;
use serde_json::Value;

use crate::clock::Deadline;
use crate::config::Config;
use crate::trace::Trace;
use crate::{StartError, aws, log, metrics};

/// Runs a function for the life of its environment. `make` builds its stores when it starts. `handle` gets the
/// event and the time at which Lambda ends the invocation. `always` are the metrics that every invocation
/// writes.
pub async fn invoked<A, T, H>(
    function: &'static FunctionSpec,
    always: &[&'static str],
    make: impl FnOnce(&SdkConfig, &Config) -> Result<A, StartError>,
    handle: H,
) -> Result<(), StartError>
where
    T: Serialize,
    H: AsyncFn(&A, Value, Deadline) -> Result<T, StartError>,
{
    log::init();
    if !always.is_empty() {
        metrics::init(always);
    }
    let app = make(&aws::sdk_config().await, &Config::from_env().of(function))
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    let (app, handle) = (&app, &handle);
    let invocation = async |event: LambdaEvent<Value>| {
        let deadline = Deadline::at(Time::from_ms(event.context.deadline));
        let trace = Trace::of_invocation(&event.context);
        let handled = trace.scope(Box::pin(handle(app, event.payload, deadline))).await;
        metrics::flush();
        handled
    };
    lambda_runtime::run(service_fn(invocation)).await
}
