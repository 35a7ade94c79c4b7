//! The function `webhook` posts the timers that were due to the operator's address.

use fanfold_core::registry::FunctionSpec;
use fanfold_kinds::webhook::{Webhook, deliver};
use fanfold_runtime::StartError;
use fanfold_runtime::sqs::{Moment, consume};

pub(crate) async fn run(function: &'static FunctionSpec) -> Result<(), StartError> {
    let handle = async |app: &Webhook, message, at: Moment| deliver(app, &message, at.now).await;
    consume(function, Webhook::new, handle).await
}
