//! Lets a header name the caller in development, where no authorizer checks tokens: `cargo lambda watch` and
//! `sam local start-api`. The deployed binary never calls this module, so it does not contain it.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use fanfold_core::id::Identity;

use crate::caller::DevIdentity;

const HEADER: &str = "fanfold-dev-caller";

/// Lets the header `Fanfold-Dev-Caller` name the caller of each request that has no token.
pub fn allow(router: Router) -> Router {
    router.layer(from_fn(name_caller))
}

async fn name_caller(mut request: Request, next: Next) -> Response {
    let name = request.headers().get(HEADER).and_then(|name| name.to_str().ok());
    // an issuer that no token can have
    let identity = name.filter(|name| !name.is_empty());
    if let Some(identity) = identity.map(|name| Identity::of("fanfold-dev", name)) {
        request.extensions_mut().insert(DevIdentity(identity));
    }
    next.run(request).await
}
