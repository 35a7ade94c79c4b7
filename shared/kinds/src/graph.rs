//! The queue of events about relations, profiles, likes and boards.

use fanfold_core::message::GraphEvent;
use fanfold_core::registry::GRAPH_EVENTS;
use fanfold_runtime::Config;
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::config::ConfigError;
use fanfold_runtime::sqs::Queue;

/// The queue, with a message group for each author and each board. If very many users follow one author, like one post, or
/// change one board, SQS delivers the messages about others first.
pub(crate) fn events(sdk: &SdkConfig, config: &Config) -> Result<Queue<GraphEvent>, ConfigError> {
    let queue = Queue::new(sdk, config, GRAPH_EVENTS)?;
    // mutation: graph-group
    Ok(queue.in_groups(|event| Some(event.group())))
}
