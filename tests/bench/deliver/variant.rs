//! A way to deliver a post.

use fanfold_core::PostId;
use tokio::runtime::Runtime;

use super::Audience;
use super::feeds::Feeds;

pub trait Variant {
    fn feeds(&mut self) -> &mut Feeds;
    /// Outside of the measurement.
    fn prepare(&mut self, _: &Audience, _: PostId) {}
    fn deliver(&mut self, audience: &Audience, post: PostId, runtime: &Runtime);
    /// Outside of the measurement.
    fn tidy(&mut self, _: &Audience, _: PostId) {}
}
