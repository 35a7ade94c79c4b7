//! The function `sweep` drops feeds that nobody reads, on a schedule.

use fanfold_core::registry::FunctionSpec;
use fanfold_kinds::App;
use fanfold_kinds::sweep::sweep;
use fanfold_runtime::invoke::invoked;
use fanfold_runtime::{StartError, clock};

pub(crate) async fn run(function: &'static FunctionSpec) -> Result<(), StartError> {
    // the content of the schedule's event does not matter
    invoked(function, &[], App::new, async |app: &App, _, _| Ok(sweep(app, clock::now()).await?))
        .await
}
