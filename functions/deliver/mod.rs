//! The function `deliver` pushes posts to the feeds of the followers in chunks.

use fanfold_core::registry::{BULK_CHUNKS, CHUNKS};
use fanfold_kinds::fanout::deliver::{Deliver, deliver_from};
use fanfold_runtime::sqs::{Incoming, consume_batches};
use fanfold_runtime::{StartError, clock};

pub(crate) async fn run() -> Result<(), StartError> {
    consume_batches(&[CHUNKS, BULK_CHUNKS], Deliver::new, async |app: &Deliver, chunks, _| {
        let incoming = chunks.into_iter().map(|Incoming { message, trace }| (message, trace));
        let (chunks, traces): (Vec<_>, Vec<_>) = incoming.unzip();
        deliver_from(app, &chunks, &traces, clock::now()).await
    })
    .await
}
