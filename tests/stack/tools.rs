//! The tools around the stack, run in the way a user runs them.

mod answers;
mod life;
mod local;
mod orders;
mod program;
mod sam;
mod watch;
