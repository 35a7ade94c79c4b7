//! Wires the function `deliver`.

use fanfold_core::message::DeliverChunk;
use fanfold_deliver::{App, handler};
use fanfold_store::clock;
use fanfold_store::sqs::{Incoming, Source, consume_batches};
use lambda_runtime::Error;

const SOURCES: [Source; 2] = [
    Source { queue: "CHUNKS_QUEUE_URL", dead: "CHUNKS_DEAD_QUEUE_URL" },
    Source { queue: "BULK_CHUNKS_QUEUE_URL", dead: "BULK_CHUNKS_DEAD_QUEUE_URL" },
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    consume_batches(&SOURCES, App::new, async |app: &App, chunks, _| {
        let taken = chunks.into_iter().map(|Incoming { message, origin }| (message, origin));
        let (chunks, origins): (Vec<DeliverChunk>, Vec<_>) = taken.unzip();
        handler::deliver_from(app, &chunks, &origins, clock::now_ms()).await
    })
    .await
}
