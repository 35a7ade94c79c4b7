//! The results of transactions about scheduled posts.

/// The result of scheduling a post.
#[derive(Debug, PartialEq, Eq)]
pub enum ScheduleResult {
    /// The post is scheduled.
    Done,
    /// Another item has this id.
    IdTaken,
    /// Another request with the same `Idempotency-Key` was first.
    KeyUsed,
    /// The author has no profile, or it belongs to another identity, or too many posts of the author wait.
    Refused,
}

/// The result of changing a scheduled post.
#[derive(Debug, PartialEq, Eq)]
pub enum Rescheduled {
    /// The change is stored.
    Done,
    /// The post changed, or was published or cancelled, since it was read.
    Raced,
}

/// The result of cancelling a scheduled post.
#[derive(Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The post is cancelled.
    Done,
    /// The post changed, or was published or cancelled, since it was read.
    Raced,
    /// The author has no profile any more.
    NoProfile,
}

/// The result of publishing a scheduled post.
#[derive(Debug, PartialEq, Eq)]
pub enum PublishResult {
    /// The post is published.
    Done,
    /// The item changed, or was published or cancelled, since it was read.
    Raced,
    /// Another post has the reserved id.
    IdTaken,
    /// The post that it answers is gone, so it ended without publication.
    Failed,
    /// The author has no profile any more.
    NoProfile,
}
