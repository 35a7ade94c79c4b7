//! The function `lookahead` hands on what is due within two minutes, on a schedule.

use fanfold_kinds::due::lookahead::{LookAhead, look_ahead};
use fanfold_runtime::invoke::invoked;
use fanfold_runtime::{StartError, clock, metrics};

pub(crate) async fn run() -> Result<(), StartError> {
    // the content of the schedule's event does not matter
    let handle =
        async |app: &LookAhead, _, deadline| Ok(look_ahead(app, clock::now(), deadline).await?);
    invoked(metrics::LOOK_AHEAD, LookAhead::new, handle).await
}
