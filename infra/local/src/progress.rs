//! What the tool is doing, on standard error; standard output is for results.

use std::time::Instant;

/// Runs a step and says how long it took. A quiet one is not mentioned.
pub fn step<T, E>(quiet: bool, what: &str, run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    if quiet {
        return run();
    }
    let start = Instant::now();
    eprintln!("  … {what}");
    let done = run();
    if done.is_ok() {
        eprintln!("  ✓ {what} ({:.1} s)", start.elapsed().as_secs_f64());
    }
    done
}
