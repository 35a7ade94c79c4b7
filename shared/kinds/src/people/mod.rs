//! People: profiles and their handles.
//!
//! **Create or change a profile.** `users` reads the owner of the wanted handle and, at the same time, the profile and
//! then what the user says about themselves. It sends `ProfileChanged` with the number of changes that the profile will
//! have, writes profile, handle and what the user says in one transaction, and marks the user's two cards as stale.
//! `changes` reads the profile until it has as many changes, or until 30 s have passed, and then marks the cards.
//!
//! # Bounds
//!
//! - After each change of an author's numbers, the author's card is read again. The lease bounds this: one reader
//!   reads, and the others wait for a few milliseconds.
//! - The first look of a viewer at a user costs one unit of `CardMemory` and one read of DynamoDB. A profile that a
//!   million people open takes a million units in an hour; if `CardMemory` has fewer, the oldest cards make room.

pub mod about;
pub mod cards;
mod cases;
pub mod events;
pub mod items;
pub mod messages;
pub(crate) mod owned;

pub use cases::{NewProfile, Put, find, must_belong_to, put_profile};
