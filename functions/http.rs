//! Starts the functions with HTTP routes.

use axum::Router;
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::{Config, StartError, aws, log};
use fanfold_web::{event, router};
use utoipa_axum::router::OpenApiRouter;

/// Changes the router of an HTTP function before it is served. The deployed binary adds nothing; development binaries
/// accept a caller without a token.
pub type Prepare = fn(Router) -> Router;

/// Answers HTTP requests for the life of the function's environment. `make` makes the state from the settings.
pub(crate) async fn serve<S: Clone + Send + Sync + 'static>(
    routes: OpenApiRouter<S>,
    make: impl FnOnce(&SdkConfig, &Config) -> Result<S, StartError>,
    prepare: Prepare,
) -> Result<(), StartError> {
    log::init();
    let state = make(&aws::sdk_config().await, &Config::from_env())
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    event::run(prepare(router::serve(routes, state))).await
}
