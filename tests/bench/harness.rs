//! The modules that the benches share with the tests.
#![allow(dead_code, reason = "the tests use more of it")]

#[path = "../stack/harness/dice.rs"]
pub mod dice;
#[path = "../stack/harness/servers.rs"]
pub mod servers;
#[path = "../stack/harness/valkeys.rs"]
pub mod valkeys;

/// A setting that `cargo local bench` gives.
pub fn setting(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: run the benches with `cargo local bench`"))
}
