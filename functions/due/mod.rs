//! The function `due` publishes scheduled posts and fires timers, when their time has come.

use fanfold_core::registry::FunctionSpec;
use fanfold_kinds::App;
use fanfold_kinds::due::handle;
use fanfold_runtime::StartError;
use fanfold_runtime::sqs::{Moment, consume};

pub(crate) async fn run(function: &'static FunctionSpec) -> Result<(), StartError> {
    let handle =
        async |app: &App, message, at: Moment| handle(app, &message, at.now).await.map(drop);
    consume(function, App::new, handle).await
}
