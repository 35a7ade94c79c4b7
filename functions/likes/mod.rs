//! The function `likes` counts the likes of posts, and removes those of deleted posts.

use fanfold_app::likes::apply::{LikeEvents, handle};
use fanfold_core::registry::LIKE_EVENTS;
use fanfold_runtime::StartError;
use fanfold_runtime::sqs::{Moment, consume};

pub(crate) async fn run() -> Result<(), StartError> {
    let handle = async |app: &LikeEvents, message, at: Moment| {
        handle(app, &message, at.now, at.deadline).await
    };
    consume(&[LIKE_EVENTS], LikeEvents::new, handle).await
}
