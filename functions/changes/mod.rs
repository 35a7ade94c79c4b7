//! The function `changes` applies changed relations to home feeds, counts followers and likes, and corrects copies of boards.

use fanfold_core::registry::FunctionSpec;
use fanfold_kinds::App;
use fanfold_kinds::subscriptions::ChangeEvent;
use fanfold_runtime::StartError;
use fanfold_runtime::sqs::{Moment, consume};

pub(crate) async fn run(function: &'static FunctionSpec) -> Result<(), StartError> {
    let handle = async |app: &App, message: ChangeEvent, at: Moment| {
        message.handle(app, at.now, at.deadline).await
    };
    consume(function, App::new, handle).await
}
