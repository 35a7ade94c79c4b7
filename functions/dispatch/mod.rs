//! The function `dispatch` starts the fan-out of a published post: it pushes the post to a small audience, and cuts a
//! larger one into chunks.

use fanfold_core::registry::{BULK_EVENTS, POST_EVENTS};
use fanfold_kinds::fanout::dispatch::{Dispatch, handle};
use fanfold_runtime::StartError;
use fanfold_runtime::sqs::{Moment, consume};

pub(crate) async fn run() -> Result<(), StartError> {
    let handle = async |app: &Dispatch, message, at: Moment| {
        handle(app, &message, at.now, at.deadline).await
    };
    consume(&[POST_EVENTS, BULK_EVENTS], Dispatch::new, handle).await
}
