//! The function `due` publishes scheduled posts and fires timers, when their time has come.

use fanfold_core::registry::DUE_ITEMS;
use fanfold_kinds::due::handle::{Due, handle};
use fanfold_runtime::StartError;
use fanfold_runtime::sqs::{Moment, consume};

pub(crate) async fn run() -> Result<(), StartError> {
    let handle =
        async |app: &Due, message, at: Moment| handle(app, &message, at.now).await.map(drop);
    consume(&[DUE_ITEMS], Due::new, handle).await
}
