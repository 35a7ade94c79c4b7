//! Wires the function `deliver`.

use fanfold_deliver::{App, handler};
use fanfold_store::sqs::{Moment, consume};
use lambda_runtime::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let handle = async |app: &App, message, at: Moment| {
        handler::deliver(app, &message, at.now_ms).await.map(drop)
    };
    consume("CHUNKS_QUEUE_URL", "CHUNKS_DEAD_QUEUE_URL", App::new, handle).await
}
