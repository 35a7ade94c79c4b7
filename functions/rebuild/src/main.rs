//! Wires the function `rebuild`.

use fanfold_rebuild::{App, handler};
use fanfold_store::sqs::{Moment, Source, consume};
use lambda_runtime::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let handle = async |app: &App, message, at: Moment| {
        handler::rebuild(app, &message, at.now_ms).await.map(drop)
    };
    let source = Source { queue: "REBUILDS_QUEUE_URL", dead: "REBUILDS_DEAD_QUEUE_URL" };
    consume(&[source], App::new, handle).await
}
