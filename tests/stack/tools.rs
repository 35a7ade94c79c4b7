//! The tools around the stack, run as a user runs them.

mod local;
mod program;
mod sam;
mod watch;
