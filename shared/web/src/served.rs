//! Gives every request a trace, a log line and the header `x-request-id`, and counts it in the metrics.

use axum::extract::{MatchedPath, Request};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use fanfold_core::time::millis;
use fanfold_runtime::trace::{ForeignId, Trace};
use fanfold_runtime::{clock, metrics};
use lambda_http::Context;
use lambda_http::request::RequestContext;

use crate::Caller;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Passes a request on, in its trace. Logs and counts the answer, and adds the header `x-request-id`.
pub async fn served(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let trace = trace(&parts);
    // the route is logged instead of the path, which may contain anything
    let route = parts.extensions.get::<MatchedPath>().cloned();
    // the one for all other paths is none
    let route = route.filter(|route| !route.as_str().starts_with("/{*"));
    let (method, user) = (known(&parts.method), Caller::of(&parts).map(|c| c.user()));
    let header = trace.request.as_ref().map(|id| HeaderValue::from_str(id.as_str()));
    let answered = async {
        let began = clock::now();
        let response = next.run(Request::from_parts(parts, body)).await;
        tracing::info!(
            method,
            route = route.as_ref().map(MatchedPath::as_str),
            status = response.status().as_u16(),
            ms = millis(clock::now().since(began)),
            user = user.map(tracing::field::display),
            "served"
        );
        response
    };
    let mut response = trace.scope(answered).await;
    if let Some(Ok(value)) = header {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    metrics::answered(response.status().as_u16());
    metrics::flush();
    response
}

/// The invocation with the request id of API Gateway, or with the invocation's id if there is no gateway.
fn trace(parts: &Parts) -> Trace {
    let invocation = parts.extensions.get::<Context>().map(Trace::of_invocation);
    let invocation = invocation.unwrap_or_default();
    let request = match parts.extensions.get::<RequestContext>() {
        Some(RequestContext::ApiGatewayV2(context)) => context.request_id.as_deref(),
        _ => None,
    };
    let request = request.and_then(ForeignId::parse).or_else(|| invocation.invocation.clone());
    invocation.with_request(request)
}

/// The name of a method for the log. A caller may send any word as a method.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::PUT => "PUT",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        _ => "other",
    }
}
