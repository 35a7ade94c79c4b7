//! Progress on standard error. Standard output is for results.

use std::time::Instant;

/// Runs a step and prints how long it took. A quiet step prints nothing.
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
