//! The function `audit` compares some live feeds with DynamoDB, on a schedule.

use fanfold_kinds::audit::{Audit, audit};
use fanfold_runtime::invoke::invoked;
use fanfold_runtime::{StartError, clock, metrics};

pub(crate) async fn run() -> Result<(), StartError> {
    // the content of the schedule's event does not matter
    invoked(metrics::AUDIT, Audit::new, async |app: &Audit, _, deadline| {
        Ok(audit(app, clock::now(), deadline).await?)
    })
    .await
}
