//! Requests for counts of followers (`lua/ask.lua`).

use fanfold_core::UserId;
use fanfold_core::limits::COUNT_REQUEST_KEPT;
use fanfold_core::time::millis;

use super::scripts::Word;
use super::{Valkey, failed, scripts};
use fanfold_runtime::error::StoreError;

/// The state of the request to count an author's followers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountRequest {
    /// A message to count is on the queue, and its handler has read nothing yet.
    Queued,
    /// The caller must send the message.
    Send,
    /// Another caller is sending the message, but may die before it does.
    Sending,
}

impl Word for CountRequest {
    fn of(word: &str) -> Option<Self> {
        match word {
            "queued" => Some(Self::Queued),
            "send" => Some(Self::Send),
            "sending" => Some(Self::Sending),
            _ => None,
        }
    }
}

impl Valkey {
    /// Requests a count of an author's followers. `token` must be unique to this request.
    pub async fn request_count(
        &self,
        author: UserId,
        token: &str,
    ) -> Result<CountRequest, StoreError> {
        self.call_ask(author, token, false).await
    }

    /// Notes that the message to count was sent, so that other callers need not send it. `token` is that of the
    /// request.
    pub async fn count_requested(
        &self,
        author: UserId,
        token: &str,
    ) -> Result<CountRequest, StoreError> {
        self.call_ask(author, token, true).await
    }

    async fn call_ask(
        &self,
        author: UserId,
        token: &str,
        is_sent: bool,
    ) -> Result<CountRequest, StoreError> {
        let mut script = scripts::ASK.call();
        script.key(self.keys.count(author));
        script.arg(token).arg(millis(COUNT_REQUEST_KEPT)).arg(u8::from(is_sent));
        script.run_for_word(&self.link, "requesting a count of followers").await
    }

    /// Deletes the request before the count reads anything, so that later changes request another count.
    pub async fn begin_count(&self, author: UserId) -> Result<(), StoreError> {
        self.keys
            .count(author)
            .command("UNLINK")
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("beginning to count followers"))
    }
}
