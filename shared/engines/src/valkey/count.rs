//! Requests for counts (`lua/ask.lua`).

use std::fmt::Display;
use std::time::Duration;

use fanfold_core::UserId;
use fanfold_core::kinds::KeyKind;
use fanfold_core::time::millis;
use fanfold_runtime::error::StoreError;

use super::keys::Keys;
use super::scripts::{self, Word};
use super::{Key, Valkey, failed};

/// How long Valkey remembers that a count was requested. A count takes less.
const COUNT_REQUEST_KEPT: Duration = Duration::from_secs(30);

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    kind: KeyKind,
    owner: UserId,
    of: String,
}

impl Counted {
    /// The number of `of`. A key of this kind, in the bucket of `owner`, has the state of its request.
    pub fn new(kind: KeyKind, owner: UserId, of: impl Display) -> Self {
        Self { kind, owner, of: of.to_string() }
    }
}

/// The state of the request for a count.
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
    /// Requests a count. `token` must be unique to this request.
    pub async fn request_count(
        &self,
        of: &Counted,
        token: &str,
    ) -> Result<CountRequest, StoreError> {
        self.call_ask(of, token, false).await
    }

    /// Notes that the message to count was sent, so that other callers need not send it. `token` is that of the
    /// request.
    pub async fn count_requested(
        &self,
        of: &Counted,
        token: &str,
    ) -> Result<CountRequest, StoreError> {
        self.call_ask(of, token, true).await
    }

    async fn call_ask(
        &self,
        of: &Counted,
        token: &str,
        is_sent: bool,
    ) -> Result<CountRequest, StoreError> {
        let mut script = scripts::ASK.call();
        script.key(self.keys.count(of));
        script.arg(token).arg(millis(COUNT_REQUEST_KEPT)).arg(u8::from(is_sent));
        script.run_for_word(&self.link, "requesting a count").await
    }

    /// Deletes the request before the count reads anything, so that later changes request another count.
    pub async fn begin_count(&self, of: &Counted) -> Result<(), StoreError> {
        self.keys
            .count(of)
            .command("UNLINK")
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("beginning to count"))
    }
}

impl Keys {
    /// The state of the request for a count.
    pub fn count(self, Counted { kind, owner, of }: &Counted) -> Key {
        Key::new(*kind, None, self.bucket(*owner), Some(of))
    }
}
