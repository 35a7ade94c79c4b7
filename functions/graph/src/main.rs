//! Wires the function `graph`.

use fanfold_graph::{App, handler};
use fanfold_store::sqs::{Moment, Source, consume};
use lambda_runtime::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let handle = async |app: &App, message, at: Moment| {
        handler::bring_in_line(app, &message, at.now_ms).await.map(drop)
    };
    let source = Source { queue: "GRAPH_EVENTS_QUEUE_URL", dead: "GRAPH_EVENTS_DEAD_QUEUE_URL" };
    consume(&[source], App::new, handle).await
}
