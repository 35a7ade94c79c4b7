//! Answers requests that match no route of this function: 405 if the path is known, and 404 if it is not. The paths are those of the API
//! description, so every function knows all of them.

use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use lambda_http::request::RequestContext;

use crate::operations::OPERATIONS;
use crate::{Problem, ProblemKind};

/// The route that the gateway has matched: a method and a path, or `$default`.
pub(crate) fn route_key(parts: &Parts) -> Option<&str> {
    match parts.extensions.get::<RequestContext>()? {
        RequestContext::ApiGatewayV2(context) => context.route_key.as_deref(),
        _ => None,
    }
}

/// The problem of a path in which a character was encoded that separates its parts (400).
pub(crate) fn encoded(lost: char) -> Problem {
    let detail = format!("the path has an encoded {lost}, which no id and no name contains");
    Problem::new(ProblemKind::InvalidId, detail)
}

/// Answers 405 with the header `Allow`, or 404. Answers 400 if the gateway matched another path, because a part was encoded.
pub async fn fallback(parts: Parts) -> Problem {
    // the gateway ignores slashes in front of a path
    let is_doubled = parts.uri.path().starts_with("//");
    if !is_doubled && route_key(&parts).is_some_and(|key| key != "$default") {
        let detail =
            "the path has an encoded /, or a part that is . or .., which no id and no name is";
        return Problem::new(ProblemKind::InvalidId, detail);
    }
    let (method, segments) = (&parts.method, parts.uri.path().split('/').collect::<Vec<_>>());
    let found = OPERATIONS.iter().map(|(path, ..)| *path).find(|path| matches(path, &segments));
    let of_path = OPERATIONS.iter().filter(|(path, ..)| Some(*path) == found);
    let methods: Vec<&str> = of_path.map(|(_, method, _)| *method).collect();
    match found {
        Some(_) if methods.iter().any(|allowed| method == allowed) => encoded('/'),
        Some(_) => {
            let allowed = methods.join(", ");
            let detail = format!("{method} is not allowed here; use {allowed}");
            let problem = Problem::new(ProblemKind::MethodNotAllowed, detail);
            match HeaderValue::from_str(&allowed) {
                Ok(value) => problem.with_header(header::ALLOW, value),
                Err(_) => problem,
            }
        }
        None => Problem::new(
            ProblemKind::NoSuchRoute,
            "no route has this path; GET /openapi.json lists the routes",
        ),
    }
}

/// Whether a path with these segments is one of a route.
fn matches(route: &str, segments: &[&str]) -> bool {
    let patterns: Vec<&str> = route.split('/').collect();
    patterns.len() == segments.len()
        && patterns.iter().zip(segments).all(|(pattern, segment)| {
            if pattern.starts_with('{') { !segment.is_empty() } else { pattern == segment }
        })
}

#[cfg(test)]
mod tests {
    use axum::http::{Method, Request};

    use super::*;

    async fn kind(method: Method, path: &str) -> ProblemKind {
        let request = Request::builder().method(method).uri(path).body(()).unwrap();
        fallback(request.into_parts().0).await.kind
    }

    #[tokio::test]
    async fn a_known_path_is_answered_with_405_and_an_unknown_one_with_404() {
        assert_eq!(kind(Method::PATCH, "/v1/posts").await, ProblemKind::MethodNotAllowed);
        assert_eq!(
            kind(Method::POST, "/v1/users/@ada/follow").await,
            ProblemKind::MethodNotAllowed
        );
        assert_eq!(kind(Method::HEAD, "/v1/timeline").await, ProblemKind::MethodNotAllowed);
        // of another function, which the gateway did not ask: GET /v1%2Ftimeline
        assert_eq!(kind(Method::GET, "/v1/timeline").await, ProblemKind::InvalidId);
        for path in
            ["/", "/v1", "/v1/posts/", "/v1/posts/x/y", "/v2/posts", "/v1/users/@ada/followe"]
        {
            assert_eq!(kind(Method::GET, path).await, ProblemKind::NoSuchRoute, "{path}");
        }
    }
}
