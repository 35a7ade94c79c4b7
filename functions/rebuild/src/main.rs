//! Wires the function `rebuild`.

use fanfold_rebuild::{App, handler};
use fanfold_store::sqs::{Moment, consume};
use lambda_runtime::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let handle = async |app: &App, message, at: Moment| {
        handler::rebuild(app, &message, at.now_ms).await.map(drop)
    };
    consume("REBUILDS_QUEUE_URL", "REBUILDS_DEAD_QUEUE_URL", App::new, handle).await
}
