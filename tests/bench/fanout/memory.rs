//! The peak memory of a dispatch, without the memory that was in use before.

use fanfold_core::PostId;
use fanfold_kinds::posts::messages::PostPublished;

use super::MIB;
use crate::emulator::Emulator;
use crate::handlers::Dispatch;
use crate::{MEMORY, people};

/// The peak during the dispatch of one post, whose chunks are dropped when they are sent. If the dispatch
/// is divided, the largest peak of its parts.
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
