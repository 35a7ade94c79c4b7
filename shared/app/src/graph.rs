//! The queue of events about relations, profiles and likes.

use fanfold_core::message::GraphEvent;
use fanfold_core::registry::GRAPH_EVENTS;
use fanfold_runtime::Config;
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::config::ConfigError;
use fanfold_runtime::sqs::Queue;

/// The queue, with a message group for each author. If very many users follow one author, or like one post, SQS delivers the
/// messages about other authors first.
pub(crate) fn events(sdk: &SdkConfig, config: &Config) -> Result<Queue<GraphEvent>, ConfigError> {
    let queue = Queue::new(sdk, config, GRAPH_EVENTS)?;
    // mutation: graph-group
    Ok(queue.in_groups(|event| Some(event.author().to_string())))
}
