//! What a dispatch holds at once, beside what was there before.

use fanfold_core::PostId;
use fanfold_core::message::PostPublished;

use super::MIB;
use crate::emulator::Emulator;
use crate::handlers::Dispatch;
use crate::{MEMORY, people};

/// The peak while one post is dispatched whose chunks are dropped as they are sent: that of the one
/// dispatch, or of those that it is divided among, whichever held the most.
pub fn dispatch_peak_mib(emulator: &Emulator, dispatch: &Dispatch, post: PostId) -> f64 {
    let runtime = crate::runtime();
    people::put_post(emulator, post);
    emulator.set_drop_chunks(true);
    let (mut next, mut peak) = (Some(PostPublished::new(post)), 0);
    while let Some(event) = next {
        let held = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        runtime.block_on(dispatch.take(&event));
        peak = peak.max(MEMORY.peak_usage().saturating_sub(held));
        next = emulator.take_event();
    }
    emulator.set_drop_chunks(false);
    peak as f64 / MIB
}
