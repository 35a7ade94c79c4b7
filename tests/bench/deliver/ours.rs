//! The deliver handler, with batches of ten chunks in the form in which Lambda passes them.

use aws_lambda_events::sqs::SqsEvent;
use fanfold_core::limits::CHUNK_FOLLOWERS_DEFAULT;
use fanfold_core::message::Received as _;
use fanfold_core::{PostId, UserId};
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_runtime::clock::now;
use tokio::runtime::Runtime;

use super::Audience;
use super::feeds::{Feeds, Layout};
use super::variant::Variant;
use crate::emulator::Emulator;
use crate::handlers::{self, Deliver};

pub struct Ours {
    pub feeds: Feeds,
    handler: Deliver,
    events: Vec<SqsEvent>,
}

impl Ours {
    pub fn new(audience: &Audience) -> Self {
        let feeds = Feeds::full(Layout::Ours, audience);
        let handler = Deliver::new(&Emulator::default().sdk(), &feeds.server.config());
        Self { feeds, handler, events: Vec::new() }
    }
}

impl Variant for Ours {
    fn feeds(&mut self) -> &mut Feeds {
        &mut self.feeds
    }

    fn prepare(&mut self, audience: &Audience, post: PostId) {
        let body = |chunk: &[UserId]| {
            let chunk = DeliverChunk::new(post, now(), chunk.to_vec());
            chunk.encode().expect("a body")
        };
        let batches = audience.followers.chunks(CHUNK_FOLLOWERS_DEFAULT * 10);
        let bodies = batches.map(|batch| batch.chunks(CHUNK_FOLLOWERS_DEFAULT).map(body).collect());
        self.events = bodies.map(handlers::event).collect();
    }

    fn deliver(&mut self, _: &Audience, _: PostId, runtime: &Runtime) {
        for event in self.events.drain(..) {
            runtime.block_on(self.handler.take(event));
        }
    }
}
