//! The functions' handlers, called as Lambda would call them: with events, for acknowledgements.

use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use fanfold_kinds::App;
use fanfold_kinds::fanout::dispatch::Dispatched;
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_kinds::posts::messages::PostPublished;
use fanfold_runtime::Config;
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::clock::{Deadline, now};
use fanfold_runtime::sqs::{Incoming, Retries, batch};

/// The deliver function in one environment.
pub struct Deliver(App);

impl Deliver {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Self {
        Self(App::new(sdk, config).expect("deliver"))
    }

    /// Handles a batch. All of its messages must be acknowledged.
    pub async fn take(&self, event: SqsEvent) {
        let all = async |chunks: Vec<Incoming<DeliverChunk>>| {
            let chunks: Vec<_> = chunks.into_iter().map(|incoming| incoming.message).collect();
            fanfold_kinds::fanout::deliver::deliver(&self.0, &chunks, &[], now()).await
        };
        let response = batch::run(event, &Retries::none(), all).await;
        assert!(response.batch_item_failures.is_empty(), "{:?}", response.batch_item_failures);
    }
}

/// The dispatch function in one environment.
pub struct Dispatch(App);

impl Dispatch {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Self {
        Self(App::new(sdk, config).expect("dispatch"))
    }

    /// Handles an event, without a deadline. Its post must exist.
    pub async fn take(&self, event: &PostPublished) {
        let dispatch = fanfold_kinds::fanout::dispatch::dispatch;
        let done = dispatch(&self.0, event, now(), Deadline::NONE).await.expect("dispatched");
        let (Dispatched::Pushed(_) | Dispatched::Divided { .. } | Dispatched::Cut { .. }) = done
        else {
            panic!("{done:?}")
        };
    }
}

/// A batch in the form in which Lambda passes it.
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
