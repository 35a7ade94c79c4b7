//! Wires the function `dispatch`.

use fanfold_dispatch::{App, handler};
use fanfold_store::sqs::{Moment, Source, consume};
use lambda_runtime::Error;

const SOURCES: [Source; 2] = [
    Source { queue: "POST_EVENTS_QUEUE_URL", dead: "POST_EVENTS_DEAD_QUEUE_URL" },
    Source { queue: "BULK_EVENTS_QUEUE_URL", dead: "BULK_EVENTS_DEAD_QUEUE_URL" },
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let handle = async |app: &App, message, at: Moment| {
        handler::dispatch(app, &message, at.now_ms, at.deadline).await.map(drop)
    };
    consume(&SOURCES, App::new, handle).await
}
