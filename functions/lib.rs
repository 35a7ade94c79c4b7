//! The Lambda functions: adapters that parse, call a use case of `fanfold_kinds`, and answer.
//!
//! One binary is deployed. The variable `_HANDLER`, which Lambda sets, names the function that it runs. To add a
//! function, add a module and a line in [`run`].

pub mod admin;
pub mod audit;
pub mod boards;
pub mod changes;
pub mod deliver;
pub mod dispatch;
pub mod due;
pub mod http;
pub mod lookahead;
pub mod posts;
pub mod rebuild;
pub mod sweep;
pub mod timeline;
pub mod timers;
pub mod users;
pub mod views;
pub mod webhook;

use axum::Router;
use fanfold_core::registry;
use fanfold_runtime::StartError;

use crate::http::Prepare;

/// Runs the function with this name for the life of its environment. Fails if no function has the name, or if the
/// function cannot start.
#[tokio::main(flavor = "current_thread")]
pub async fn run(name: &str, prepare: Prepare) -> Result<(), StartError> {
    let unknown = || {
        format!(
            "_HANDLER is {name}, which is not the name of a function; set Handler in the template"
        )
    };
    let function = registry::function(name).ok_or_else(unknown)?;
    match name {
        "posts" => posts::run(function, prepare).await,
        "users" => users::run(function, prepare).await,
        "timeline" => timeline::run(function, prepare).await,
        "boards" => boards::run(function, prepare).await,
        "dispatch" => dispatch::run(function).await,
        "deliver" => deliver::run(function).await,
        "changes" => changes::run(function).await,
        "rebuild" => rebuild::run(function).await,
        "webhook" => webhook::run(function).await,
        "timers" => timers::run(function, prepare).await,
        "due" => due::run(function).await,
        "lookahead" => lookahead::run(function).await,
        "sweep" => sweep::run(function).await,
        "audit" => audit::run(function).await,
        "admin" => admin::run(function).await,
        _ => Err(unknown().into()),
    }
}

/// Runs the function that `_HANDLER` names. Fails as [`run`] does, or if `_HANDLER` is not set.
pub fn run_handler(prepare: Prepare) -> Result<(), StartError> {
    let name = std::env::var("_HANDLER").map_err(|_| "the setting _HANDLER is missing")?;
    run(&name, prepare)
}

/// Lets the header `Fanfold-Dev-Caller` name the caller, only in builds with debug assertions. A release build of the
/// binaries for development ignores the header.
pub fn in_development(router: Router) -> Router {
    #[cfg(debug_assertions)]
    let router = fanfold_web::dev_caller::allow(router);
    router
}

/// Runs one function for development. The header `Fanfold-Dev-Caller` may name the caller.
pub fn run_in_development(name: &str) -> Result<(), StartError> {
    run(name, in_development)
}
