//! Attacks, each of which must come to nothing: over HTTP against the deployed stack, and in this
//! process where the deployed one cannot be brought to it. The section "Threat model" of
//! ARCHITECTURE.md names the tests.

mod bodies;
mod callers;
mod costs;
mod cursors;
mod enumeration;
mod issuer;
mod keys;
mod logs;
mod model;
mod surface;
mod texts;
mod tokens;
mod wire;
