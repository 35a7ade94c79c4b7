//! The names of writes.

/// The names of the writes of a transaction that changes a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkWrite {
    /// The mark.
    Mark,
    /// The row in the list of what the user marked.
    Row,
    /// A row in another list.
    OtherRow,
    /// A row that counts.
    Count,
    /// The condition that the user has a profile.
    Profile,
}

/// The names of the rows of a mark.
pub(crate) const ROWS: [MarkWrite; 2] = [MarkWrite::Mark, MarkWrite::Row];
