//! The function `graph` applies changed relations to home feeds, counts followers and likes, and corrects copies of boards.

use fanfold_core::registry::GRAPH_EVENTS;
use fanfold_kinds::follows::events::{RelationEvents, handle};
use fanfold_runtime::StartError;
use fanfold_runtime::sqs::{Moment, consume};

pub(crate) async fn run() -> Result<(), StartError> {
    let handle = async |app: &RelationEvents, message, at: Moment| {
        handle(app, &message, at.now, at.deadline).await
    };
    consume(&[GRAPH_EVENTS], RelationEvents::new, handle).await
}
