//! HTTP in and out: the modules that the API's functions share.
//!
//! | module | contains |
//! | --- | --- |
//! | [`caller`] | the caller of a request |
//! | [`examples`] | the examples of the API description |
//! | [`extract`] | bodies, keys, query parameters and path segments |
//! | [`problem`] | errors as RFC 9457 problem details |
//! | [`router`] | makes a function's router from its routes, and the API description |
//! | [`event`] | passes the gateway's events to the router |
//! | [`json`] | reads JSON in which only objects are objects |
//! | [`gate`] | checks what the gateway matched, and the names of query parameters |
//! | [`fallback`] | answers to requests that match no route |
//! | [`shared_answers`] | the answers and headers of every operation, for the API description |
//! | [`dev_caller`] | callers without a token, for development |

pub mod caller;
#[cfg(debug_assertions)]
pub mod dev_caller;
pub mod event;
pub mod examples;
pub mod extract;
pub mod fallback;
mod gate;
pub mod json;
mod operations;
pub mod problem;
pub mod router;
mod served;
pub mod shared_answers;

use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::GzDecoder;

pub use caller::{Caller, Viewing};
pub use extract::{IdempotencyKey, JsonBody, ListQuery, Query};
pub use problem::{Problem, ProblemKind};

/// The OpenAPI description of the whole API, as JSON, generated from the handlers by `cargo local openapi`. It is unpacked by the
/// first one who needs it.
pub static OPENAPI_JSON: LazyLock<String> = LazyLock::new(|| {
    let mut json = String::new();
    // the build script packed it
    GzDecoder::new(OPENAPI_PACKED)
        .read_to_string(&mut json)
        .map_or_else(|_| String::new(), |_| json)
});

/// The same, compressed with gzip.
pub const OPENAPI_PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.gz"));
