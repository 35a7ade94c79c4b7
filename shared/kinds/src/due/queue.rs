//! The queue of due items.

use fanfold_core::message::ItemDue;
use fanfold_core::registry::DUE_ITEMS;
use fanfold_runtime::Config;
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::config::ConfigError;
use fanfold_runtime::sqs::Queue;

/// The queue of due items. The owner of an item is the group of its message, so that one user with very many items does
/// not hold up the items of others.
pub(crate) fn items(sdk: &SdkConfig, config: &Config) -> Result<Queue<ItemDue>, ConfigError> {
    let queue = Queue::new(sdk, config, DUE_ITEMS)?;
    // mutation: due-group
    Ok(queue.in_groups(|message: &ItemDue| Some(message.entry.item.owner().to_string())))
}
