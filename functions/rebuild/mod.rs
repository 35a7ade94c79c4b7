//! The function `rebuild` rebuilds home feeds of many authors, which would delay a request.

use fanfold_app::rebuild::{Rebuilds, rebuild};
use fanfold_core::registry::REBUILDS;
use fanfold_runtime::StartError;
use fanfold_runtime::sqs::{Moment, consume};

pub(crate) async fn run() -> Result<(), StartError> {
    let handle =
        async |app: &Rebuilds, message, at: Moment| rebuild(app, &message, at.now).await.map(drop);
    consume(&[REBUILDS], Rebuilds::new, handle).await
}
