//! The function `dispatch` starts the fan-out of a published post: it pushes the post to a small audience, and cuts a
//! larger one into chunks.

use fanfold_core::registry::FunctionSpec;
use fanfold_kinds::App;
use fanfold_kinds::subscriptions::PostEvent;
use fanfold_runtime::StartError;
use fanfold_runtime::sqs::{Moment, consume};

pub(crate) async fn run(function: &'static FunctionSpec) -> Result<(), StartError> {
    let handle = async |app: &App, message: PostEvent, at: Moment| {
        message.handle(app, at.now, at.deadline).await
    };
    consume(function, App::new, handle).await
}
