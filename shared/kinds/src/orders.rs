//! The queue of orders to rebuild feeds, and copies of boards and rankings.

use fanfold_core::message::RebuildOrder;
use fanfold_core::registry::REBUILDS;
use fanfold_runtime::Config;
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::config::ConfigError;
use fanfold_runtime::sqs::Queue;

/// The queue, with a message group for each owner of feeds and boards, and for each ranking. If one user causes very many long
/// rebuilds, SQS delivers the orders of others first.
pub(crate) fn queue(sdk: &SdkConfig, config: &Config) -> Result<Queue<RebuildOrder>, ConfigError> {
    let queue = Queue::new(sdk, config, REBUILDS)?;
    // mutation: rebuild-group
    Ok(queue.in_groups(|order: &RebuildOrder| Some(order.group())))
}
