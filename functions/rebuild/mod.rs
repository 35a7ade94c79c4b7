//! The function `rebuild` rebuilds home feeds of many authors and copies of large boards, which would delay a request.

use fanfold_core::registry::FunctionSpec;
use fanfold_kinds::App;
use fanfold_kinds::subscriptions::RebuildOrder;
use fanfold_runtime::StartError;
use fanfold_runtime::sqs::{Moment, consume};

pub(crate) async fn run(function: &'static FunctionSpec) -> Result<(), StartError> {
    let handle = async |app: &App, message: RebuildOrder, at: Moment| {
        message.handle(app, at.now, at.deadline).await
    };
    consume(function, App::new, handle).await
}
