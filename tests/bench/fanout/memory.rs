//! What a dispatch holds at once, beside what was there before.

use fanfold_core::PostId;

use super::MIB;
use crate::emulator::Emulator;
use crate::handlers::Dispatch;
use crate::{MEMORY, people};

/// The peak while one post is dispatched whose chunks are dropped as they are sent.
pub fn dispatch_peak_mib(
    emulator: &Emulator,
    dispatch: &Dispatch,
    next: impl FnOnce() -> PostId,
) -> f64 {
    let (post, runtime) = (next(), crate::runtime());
    people::put_post(emulator, post);
    emulator.set_drop_messages(true);
    let held = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    runtime.block_on(dispatch.take(post));
    let peak = MEMORY.peak_usage().saturating_sub(held);
    emulator.set_drop_messages(false);
    peak as f64 / MIB
}
