//! Requests for counts: many changes lead to one count a second.

use std::time::Duration;

use fanfold_core::limits::COUNT_LOOKS_MAX;
use fanfold_runtime::{StoreError, clock};
use fanfold_store::valkey::{CountRequest, Counted, Valkey};

/// Makes sure that a count begins after now. A count that was requested and has not begun to read is enough. `send` sends
/// the message that counts.
pub(crate) async fn request(
    valkey: &Valkey,
    of: Counted,
    send: impl AsyncFnOnce() -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let token = format!("{:016x}", clock::random());
    for looked in 0..COUNT_LOOKS_MAX {
        // mutation: count-asked
        match valkey.request_count(of, &token).await? {
            CountRequest::Queued => return Ok(()),
            CountRequest::Send => break,
            // the function that requests the count may die before it sends the message
            CountRequest::Sending => clock::sleep(Duration::from_millis(5 << looked)).await,
        }
    }
    send().await?;
    valkey.count_requested(of, &token).await.map(drop)
}
