//! Attacks, each of which must fail. They use HTTP against the deployed stack, or the handlers in this process
//! if the deployed stack cannot be brought into the state. `security/README.md` is the threat model, which names
//! the tests.

mod bodies;
pub mod callers;
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
