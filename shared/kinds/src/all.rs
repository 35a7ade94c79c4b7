//! The kinds of data, each by its name.

use fanfold_core::kinds::Kind;

use crate::owned::Owned;

/// All kinds, in the order in which data of a user is removed.
pub fn kinds() -> impl Iterator<Item = &'static dyn Owned> + Send {
    Kind::ALL.iter().map(|kind| owned(*kind))
}

/// What a kind does.
pub fn owned(kind: Kind) -> &'static dyn Owned {
    match kind {
        Kind::People => &crate::people::owned::People,
        Kind::Posts => &crate::posts::owned::Posts,
        Kind::Likes => &crate::likes::owned::Likes,
        Kind::Replies => &crate::replies::owned::Replies,
        Kind::Tags => &crate::tags::owned::Tags,
        Kind::Bookmarks => &crate::bookmarks::Bookmarks,
        Kind::Boards => &crate::boards::owned::Boards,
        Kind::Rankings => &crate::rankings::owned::Rankings,
        Kind::Scheduled => &crate::scheduled::owned::Scheduled,
        Kind::Timers => &crate::timers::owned::Timers,
        Kind::Follows => &crate::follows::owned::Follows,
        Kind::Feeds => &crate::feeds::owned::Feeds,
        Kind::Engines => &crate::limit::Engines,
    }
}
