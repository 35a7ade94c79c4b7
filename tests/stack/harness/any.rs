//! A message of any queue of the deployment.

use fanfold_core::message::Received as _;
use fanfold_core::registry::{
    BULK_CHUNKS, BULK_EVENTS, CHANGE_EVENTS, CHUNKS, DUE_ITEMS, POST_EVENTS, QueueSpec, REBUILDS,
};
use fanfold_engines::due::ItemDue;
use fanfold_kinds::subscriptions::{ChangeEvent, ChunkOrder, PostEvent, RebuildOrder};
use fanfold_kinds::timers::messages::TimerFired;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnyMessage {
    Post(PostEvent),
    Chunk(ChunkOrder),
    Change(ChangeEvent),
    Rebuild(RebuildOrder),
    Due(ItemDue),
    Fired(TimerFired),
}

impl AnyMessage {
    /// Decodes the body of a message on this queue.
    pub fn decode(queue: &QueueSpec, body: &str) -> Result<Self, serde_json::Error> {
        match queue {
            queue if [POST_EVENTS, BULK_EVENTS].contains(&queue) => {
                PostEvent::decode(body).map(Self::Post)
            }
            queue if [CHUNKS, BULK_CHUNKS].contains(&queue) => {
                ChunkOrder::decode(body).map(Self::Chunk)
            }
            queue if queue == CHANGE_EVENTS => ChangeEvent::decode(body).map(Self::Change),
            queue if queue == REBUILDS => RebuildOrder::decode(body).map(Self::Rebuild),
            queue if queue == DUE_ITEMS => ItemDue::decode(body).map(Self::Due),
            _ => TimerFired::decode(body).map(Self::Fired),
        }
    }
}
