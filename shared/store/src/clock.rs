//! The clock and the dice, read where a handler is wired; everything below takes them as arguments.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// 64 random bits from the operating system. Without its dice there is only the clock.
pub fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|_| now_ms().rotate_left(32))
}
