//! The tools around the stack, run as a user runs them.

mod local;
mod orders;
mod program;
mod sam;
mod watch;
