//! The router of a function: its routes with the headers, logs and fallback that every answer has. Also the API
//! description.

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::middleware::{from_fn, map_response};
use axum::response::Response;
use fanfold_runtime::metrics;
pub use utoipa::openapi::OpenApi;
use utoipa::openapi::Server;
use utoipa::openapi::info::LicenseBuilder;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa_axum::router::OpenApiRouter;

use crate::examples::{self, Examples};
use crate::fallback::fallback;
use crate::gate::pass;
use crate::served::served;
use crate::shared_answers;

/// The beginning of the guide: what holds for all routes.
const DESCRIPTION: &str = include_str!("../guide/start.md");

const LICENSE: &str = env!("CARGO_PKG_LICENSE");

/// The tags of operations, in the order in which the reference shows them, each with its chapter of the guide.
const TAGS: [(&str, &str); 10] = [
    ("users", include_str!("../guide/users.md")),
    ("posts", include_str!("../guide/posts.md")),
    ("feeds", include_str!("../guide/feeds.md")),
    ("likes", include_str!("../guide/likes.md")),
    ("bookmarks", include_str!("../guide/bookmarks.md")),
    ("tags", include_str!("../guide/tags.md")),
    ("rankings", include_str!("../guide/rankings.md")),
    ("leaderboards", include_str!("../guide/leaderboards.md")),
    ("timers", include_str!("../guide/timers.md")),
    ("specification", "This description."),
];

/// Makes the router of a function from its routes and their state. Requests that match no route get 404 or 405.
pub fn serve<S: Clone + Send + Sync + 'static>(routes: OpenApiRouter<S>, state: S) -> Router {
    let (router, _) = routes.split_for_parts();
    metrics::init(metrics::HTTP);
    let router = router.fallback(fallback).method_not_allowed_fallback(fallback);
    let router = router.layer(from_fn(pass));
    router.layer(map_response(kept_private)).layer(from_fn(served)).with_state(state)
}

/// Forbids caches to store the answer, unless its route sets `Cache-Control`, and browsers to guess its type.
async fn kept_private(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Merges the descriptions of all functions' routes into one OpenAPI description, with examples.
pub fn specification(parts: impl IntoIterator<Item = OpenApi>, examples: &Examples) -> OpenApi {
    let mut api = OpenApi::default();
    for part in parts {
        api.merge(part);
    }
    api.info.title = "Fanfold".to_owned();
    api.info.version = env!("CARGO_PKG_VERSION").to_owned();
    api.info.description = Some(DESCRIPTION.into());
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
    let components = api.components.get_or_insert_default();
    components.add_security_scheme(shared_answers::TOKEN, SecurityScheme::Http(bearer));
    api.servers = Some(vec![Server::new("/")]);
    api.info.license = Some(LicenseBuilder::new().name(LICENSE).identifier(Some(LICENSE)).build());
    let tag =
        |(name, text): (&str, &str)| TagBuilder::new().name(name).description(Some(text)).build();
    api.tags = Some(TAGS.map(tag).to_vec());
    shared_answers::add(&mut api);
    examples::add(&mut api, examples);
    api
}

/// Collects handlers of one path, with their descriptions.
///
/// The deployed binary leaves the descriptions out: the description of the API is a file, and the gate has a list of it.
#[cfg(debug_assertions)]
#[macro_export]
macro_rules! routes {
    ($($handler:ident),+) => { utoipa_axum::routes!($($handler),+) };
}

/// The same, without the descriptions.
#[cfg(not(debug_assertions))]
#[macro_export]
macro_rules! routes {
    ($($handler:ident),+) => {
        utoipa_axum::paste! {{
            use utoipa::Path as _;
            use utoipa::openapi::path::{Operation, Paths};
            use utoipa_axum::PathItemExt as _;
            let (mut paths, mut router) = (Paths::new(), axum::routing::MethodRouter::new());
            $(
                let methods = [<__path_ $handler>]::methods();
                for method in &methods {
                    router = router.on(method.to_method_filter(), $handler);
                }
                paths.add_path_operation([<__path_ $handler>]::path(), methods, Operation::new());
            )+
            (Vec::new(), paths, router)
        }}
    };
}
