//! Wires the function `dispatch`.

use fanfold_dispatch::{App, handler};
use fanfold_store::sqs::{Moment, consume};
use lambda_runtime::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let handle = async |app: &App, message, at: Moment| {
        handler::dispatch(app, &message, at.now_ms, at.deadline).await.map(drop)
    };
    consume("POST_EVENTS_QUEUE_URL", "POST_EVENTS_DEAD_QUEUE_URL", App::new, handle).await
}
