//! Starts the functions with HTTP routes.

use std::sync::Arc;

use axum::Router;
use fanfold_core::registry::FunctionSpec;
use fanfold_kinds::App;
use fanfold_runtime::{Config, StartError, aws, log};
use fanfold_web::{event, router};
use utoipa_axum::router::OpenApiRouter;

/// Changes the router of an HTTP function before it is served. The deployed binary adds nothing; development binaries
/// accept a caller without a token.
pub type Prepare = fn(Router) -> Router;

/// Answers HTTP requests for the life of the function's environment. `state` adds what the routes need beside the stores.
pub(crate) async fn serve<S: Clone + Send + Sync + 'static>(
    function: &'static FunctionSpec,
    routes: OpenApiRouter<S>,
    state: impl FnOnce(Arc<App>, &Config) -> S,
    prepare: Prepare,
) -> Result<(), StartError> {
    log::init();
    let config = Config::from_env().of(function);
    let app = App::new(&aws::sdk_config().await, &config)
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    let state = state(Arc::new(app), &config);
    event::run(prepare(router::serve(routes, state))).await
}

/// The state of routes that need the stores alone.
pub(crate) fn stores(app: Arc<App>, _: &Config) -> Arc<App> {
    app
}
