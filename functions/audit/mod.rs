//! The function `audit` compares some live feeds with DynamoDB, on a schedule.

use fanfold_core::registry::FunctionSpec;
use fanfold_kinds::App;
use fanfold_kinds::audit::audit;
use fanfold_runtime::invoke::invoked;
use fanfold_runtime::{StartError, clock, metrics};

pub(crate) async fn run(function: &'static FunctionSpec) -> Result<(), StartError> {
    // the content of the schedule's event does not matter
    invoked(function, metrics::AUDIT, App::new, async |app: &App, _, deadline| {
        Ok(audit(app, clock::now(), deadline).await?)
    })
    .await
}
