//! From the routes of a function to what `lambda_http` runs.

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::middleware::{from_fn, map_response};
use axum::response::Response;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{PartialSchema as _, ToSchema as _};
use utoipa_axum::router::OpenApiRouter;

use super::fallback::fallback;
use super::problem::GatewayMessage;
use super::served::served;
use crate::measure;

const DESCRIPTION: &str = "Home timelines: what the people you follow post, newest first. Every answer \
    of a route names its request in the header `x-request-id`: tell it when you report a problem.";

/// The routes with their state, and an answer for everything else.
pub fn serve<S: Clone + Send + Sync + 'static>(routes: OpenApiRouter<S>, state: S) -> Router {
    let (router, _) = routes.split_for_parts();
    measure::init(measure::HTTP);
    let router = router.fallback(fallback).method_not_allowed_fallback(fallback);
    router.layer(map_response(kept_private)).layer(from_fn(served)).with_state(state)
}

/// Nobody on the way keeps an answer, unless its route says so, or takes it for something else.
async fn kept_private(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// One specification for the routes of all functions.
pub fn specification(parts: impl IntoIterator<Item = OpenApi>) -> OpenApi {
    let mut api = OpenApi::default();
    for part in parts {
        api.merge(part);
    }
    api.info.title = "Fanfold".to_owned();
    api.info.version = env!("CARGO_PKG_VERSION").to_owned();
    api.info.description = Some(DESCRIPTION.into());
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
    let components = api.components.get_or_insert_default();
    // the derive of `Common` refers to it, but leaves it to others to list it
    components.schemas.insert(GatewayMessage::name().into_owned(), GatewayMessage::schema());
    components.add_security_scheme("jwt", SecurityScheme::Http(bearer));
    api
}
