//! Requests for counts: many changes lead to one count a second.

use std::sync::Arc;
use std::time::Duration;

use fanfold_core::limits::{COUNT_DELAY, COUNTS_UNNOTED_MAX};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::{self, Stopwatch};
use futures::lock::Mutex;

use crate::valkey::probe::Cause;
use crate::valkey::{CountRequest, Counted, Valkey};

/// Times that a change checks whether another caller has requested the count, 5 to 80 ms apart.
const COUNT_LOOKS_MAX: u32 = 5;

/// Requests counts, and remembers those that a full server could not note. Clones share this.
#[derive(Clone)]
pub struct Counts {
    /// The time between the request for a count and the count. A message is not received earlier.
    pub delay: Duration,
    /// The counts that were requested within [`COUNT_DELAY`], each with the time since then.
    unnoted: Arc<Mutex<Vec<(Counted, Stopwatch)>>>,
}

impl Counts {
    /// Requests that are counted this long after them.
    pub fn after(delay: Duration) -> Self {
        Self { delay, unnoted: Arc::default() }
    }

    /// Makes sure that a count begins after now. A count that was requested and has not begun to read is enough. `send` sends
    /// the message that counts, with the delay.
    pub async fn request(
        &self,
        valkey: &Valkey,
        of: &Counted,
        send: impl AsyncFnOnce(Duration) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let token = format!("{:016x}", clock::random());
        for looked in 0..COUNT_LOOKS_MAX {
            // mutation: count-asked
            match valkey.request_count(of, &token).await {
                Ok(CountRequest::Queued) => return Ok(()),
                Ok(CountRequest::Send) => break,
                // the function that requests the count may die before it sends the message
                Ok(CountRequest::Sending) => {
                    clock::sleep(Duration::from_millis(5 << looked)).await;
                }
                // mutation: count-full
                Err(full) if is_full(&full) => return self.request_unnoted(of, full, send).await,
                Err(error) => return Err(error),
            }
        }
        send(self.delay).await?;
        match valkey.count_requested(of, &token).await {
            // the message is sent, so another change may send one more
            Err(full) if is_full(&full) => Ok(()),
            noted => noted.map(drop),
        }
    }

    /// Requests a count that a full server cannot note. This process sends one message for a post or an author in each delay,
    /// and [`COUNTS_UNNOTED_MAX`] in all. Above that, the change waits in its queue.
    async fn request_unnoted(
        &self,
        of: &Counted,
        full: StoreError,
        send: impl AsyncFnOnce(Duration) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        // held while the message is sent, so that each waits for those before it
        let mut unnoted = self.unnoted.lock().await;
        unnoted.retain(|(_, since)| since.elapsed() < COUNT_DELAY);
        // a message that cannot have been received yet is enough
        let waits =
            |(other, since): &(Counted, Stopwatch)| other == of && since.elapsed() < self.delay;
        if unnoted.iter().any(waits) {
            return Ok(());
        }
        if unnoted.len() >= COUNTS_UNNOTED_MAX {
            return Err(full);
        }
        let since = Stopwatch::start();
        send(self.delay).await?;
        unnoted.push((of.clone(), since));
        Ok(())
    }
}

fn is_full(error: &StoreError) -> bool {
    Cause::of(error) == Cause::Full
}
