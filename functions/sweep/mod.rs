//! The function `sweep` drops feeds that nobody reads, on a schedule.

use fanfold_kinds::sweep::{Sweep, sweep};
use fanfold_runtime::invoke::invoked;
use fanfold_runtime::{StartError, clock};

pub(crate) async fn run() -> Result<(), StartError> {
    // the content of the schedule's event does not matter
    invoked(&[], Sweep::new, async |app: &Sweep, _, _| Ok(sweep(app, clock::now()).await?)).await
}
