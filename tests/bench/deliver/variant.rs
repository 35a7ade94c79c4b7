//! A way to deliver a post.

use fanfold_core::PostId;
use tokio::runtime::Runtime;

use super::Audience;
use super::feeds::Feeds;

pub trait Variant {
    fn feeds(&mut self) -> &mut Feeds;
    /// Prepares the delivery, outside the measurement.
    fn prepare(&mut self, _: &Audience, _: PostId) {}
    fn deliver(&mut self, audience: &Audience, post: PostId, runtime: &Runtime);
    /// Cleans up after the delivery, outside the measurement.
    fn tidy(&mut self, _: &Audience, _: PostId) {}
}
