//! What the HTTP functions share: problems, callers, bodies, parameters, views, routing.

pub mod caller;
#[cfg(debug_assertions)]
mod dev_caller;
pub mod event;
pub mod extract;
pub mod fallback;
pub mod problem;
pub mod router;
mod served;
pub mod view;

pub use caller::Caller;
pub use extract::{JsonBody, PostRef, Query, UserRef};
pub use problem::{Kind, Problem};

/// The specification of the whole API, generated from the handlers.
pub const OPENAPI_JSON: &str = include_str!("../../openapi.json");
