//! The function `rebuild` rebuilds home feeds of many authors and copies of large boards, which would delay a request.

use fanfold_core::registry::REBUILDS;
use fanfold_kinds::rebuild::{Rebuilds, handle};
use fanfold_runtime::StartError;
use fanfold_runtime::sqs::{Moment, consume};

pub(crate) async fn run() -> Result<(), StartError> {
    let handle = async |app: &Rebuilds, message, at: Moment| {
        handle(app, &message, at.now, at.deadline).await
    };
    consume(&[REBUILDS], Rebuilds::new, handle).await
}
