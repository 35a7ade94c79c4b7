//! What every request is given: its origin, a line in the log, a place in the metrics, and the id by
//! which its caller can name it.

use axum::extract::{MatchedPath, Request};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use lambda_http::Context;
use lambda_http::request::RequestContext;

use super::Caller;
use crate::origin::{ForeignId, Origin};
use crate::{clock, measure};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub async fn served(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let origin = origin(&parts);
    // what a caller may have made up is not logged: the route instead of the path
    let route = parts.extensions.get::<MatchedPath>().cloned();
    let (method, user) = (known(&parts.method), Caller::named(&parts).map(|c| c.user()));
    let header = origin.request.as_ref().map(|id| HeaderValue::from_str(id.as_str()));
    let answered = async {
        let began_ms = clock::now_ms();
        let response = next.run(Request::from_parts(parts, body)).await;
        tracing::info!(
            method,
            route = route.as_ref().map(MatchedPath::as_str),
            status = response.status().as_u16(),
            ms = clock::now_ms().saturating_sub(began_ms),
            user = user.map(tracing::field::display),
            "served"
        );
        response
    };
    let mut response = origin.scope(answered).await;
    if let Some(Ok(value)) = header {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    measure::answered(response.status().as_u16());
    measure::flush();
    response
}

/// The invocation, and API Gateway's id of the request; where there is no gateway, the invocation's.
fn origin(parts: &Parts) -> Origin {
    let invocation = parts.extensions.get::<Context>().map(Origin::of_invocation);
    let invocation = invocation.unwrap_or_default();
    let request = match parts.extensions.get::<RequestContext>() {
        Some(RequestContext::ApiGatewayV2(context)) => context.request_id.as_deref(),
        _ => None,
    };
    let request = request.and_then(ForeignId::parse).or_else(|| invocation.invocation.clone());
    invocation.with_request(request)
}

/// A method may be any word that a caller likes.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::PUT => "PUT",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
