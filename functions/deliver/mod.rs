//! The function `deliver` pushes posts to the feeds of the followers in chunks, and to the feeds of tags.

use fanfold_core::registry::FunctionSpec;
use fanfold_kinds::App;
use fanfold_kinds::subscriptions::deliver;
use fanfold_runtime::sqs::{Incoming, consume_batches};
use fanfold_runtime::{StartError, clock};

pub(crate) async fn run(function: &'static FunctionSpec) -> Result<(), StartError> {
    consume_batches(function, App::new, async |app: &App, chunks, _| {
        let incoming = chunks.into_iter().map(|Incoming { message, trace }| (message, trace));
        let (orders, traces): (Vec<_>, Vec<_>) = incoming.unzip();
        deliver(app, orders, &traces, clock::now()).await
    })
    .await
}
