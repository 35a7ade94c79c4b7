//! The function `lookahead` hands on what is due within two minutes, on a schedule.

use fanfold_core::registry::FunctionSpec;
use fanfold_kinds::App;
use fanfold_kinds::due::look_ahead;
use fanfold_runtime::invoke::invoked;
use fanfold_runtime::{StartError, clock, metrics};

pub(crate) async fn run(function: &'static FunctionSpec) -> Result<(), StartError> {
    // the content of the schedule's event does not matter
    let handle = async |app: &App, _, deadline| Ok(look_ahead(app, clock::now(), deadline).await?);
    invoked(function, metrics::LOOK_AHEAD, App::new, handle).await
}
