//! The functions' handlers, called as Lambda would call them: events in, acknowledgements out.

use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use fanfold_core::message::{DeliverChunk, PostPublished};
use fanfold_dispatch::handler::Dispatched;
use fanfold_store::Config;
use fanfold_store::aws::SdkConfig;
use fanfold_store::clock::{Deadline, now_ms};
use fanfold_store::sqs::{Incoming, Letters, batch};

/// The deliver function in one environment.
pub struct Deliver(fanfold_deliver::App);

impl Deliver {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Self {
        Self(fanfold_deliver::App::new(sdk, config).expect("deliver"))
    }

    /// Takes a batch; everything in it must be acknowledged.
    pub async fn take(&self, event: SqsEvent) {
        let all = async |chunks: Vec<Incoming<DeliverChunk>>| {
            let chunks: Vec<_> = chunks.into_iter().map(|incoming| incoming.message).collect();
            fanfold_deliver::handler::deliver(&self.0, &chunks, now_ms()).await
        };
        let response = batch::run(event, &Letters::none(), all).await;
        assert!(response.batch_item_failures.is_empty(), "{:?}", response.batch_item_failures);
    }
}

/// The dispatch function in one environment.
pub struct Dispatch(fanfold_dispatch::App);

impl Dispatch {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Self {
        Self(fanfold_dispatch::App::new(sdk, config).expect("dispatch"))
    }

    /// Takes an event; what it belongs to must not be gone, and time does not run out.
    pub async fn take(&self, event: &PostPublished) {
        let dispatch = fanfold_dispatch::handler::dispatch;
        let done = dispatch(&self.0, event, now_ms(), Deadline::NONE).await.expect("dispatched");
        let (Dispatched::Pushed(_) | Dispatched::Divided { .. } | Dispatched::Cut { .. }) = done
        else {
            panic!("{done:?}")
        };
    }
}

/// A batch as Lambda hands it over.
pub fn event(bodies: Vec<String>) -> SqsEvent {
    let mut event = SqsEvent::default();
    event.records = bodies
        .into_iter()
        .enumerate()
        .map(|(place, body)| {
            let mut record = SqsMessage::default();
            record.message_id = Some(place.to_string());
            record.body = Some(body);
            record
        })
        .collect();
    event
}
