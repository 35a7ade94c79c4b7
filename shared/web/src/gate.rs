//! Checks each request of a route before its handler: that the gateway matched the same route and parameters as this function,
//! and that the description of the route has the parameters of the query.
//!
//! API Gateway decodes the path. The function therefore sees a separator where the caller sent `%2F`, and, it is said, only the
//! beginning of a path with `%3F`. Without this check, such a request would change something that its caller did not name.

use axum::extract::{FromRequestParts as _, MatchedPath, Query, RawPathParams, Request};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use lambda_http::RequestExt as _;
use percent_encoding::percent_decode_str;

use crate::caller::Caller;
use crate::fallback::{encoded, fallback, route_key};
use crate::operations::OPERATIONS;
use crate::{Problem, ProblemKind};

/// Passes a request on, unless a check refuses it. What the description does not contain, such as the web page, is not checked.
pub(crate) async fn pass(request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let route = parts.extensions.get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("", MatchedPath::as_str);
    let names = match described(route, &parts.method) {
        None => return next.run(Request::from_parts(parts, body)).await,
        // axum would answer HEAD as GET, although the gateway has no such route, and so no caller
        Some(None) => return fallback(parts).await.into_response(),
        Some(Some(names)) => names,
    };
    let checked = match route.starts_with("/v1/") {
        true => checked(&mut parts, route, names).await,
        false => Ok(()),
    };
    match checked {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(problem) => problem.into_response(),
    }
}

/// The query parameters of an operation, if its path is described, and its method.
fn described(route: &str, method: &Method) -> Option<Option<&'static [&'static str]>> {
    let mut of_path = OPERATIONS.iter().filter(|(path, ..)| *path == route).peekable();
    of_path.peek()?;
    Some(of_path.find(|(_, allowed, _)| method == allowed).map(|(_, _, names)| *names))
}

async fn checked(parts: &mut Parts, route: &str, names: &[&str]) -> Result<(), Problem> {
    same_route(parts, route)?;
    same_parameters(parts).await?;
    known_names(&parts.uri, names)
}

/// Refuses a request for which the gateway chose another route than this function (400).
fn same_route(parts: &Parts, route: &str) -> Result<(), Problem> {
    match route_key(parts) {
        None => Ok(()),
        // the gateway has checked no token; development has no other route
        Some("$default") if parts.headers.contains_key(AUTHORIZATION) => {
            Caller::of(parts).map(drop).ok_or_else(|| encoded('/'))
        }
        Some("$default") => Ok(()),
        // mutation: gate-route
        Some(key) if key == format!("{} {route}", parts.method) => Ok(()),
        Some(_) => {
            let sent = parts.path_parameters_ref();
            let sent = sent.into_iter().flat_map(|sent| sent.iter());
            let sent = sent.map(|(_, value)| percent_decode_str(value).decode_utf8_lossy());
            let lost = sent.filter_map(|value| value.chars().find(|c| "/?#".contains(*c))).next();
            Err(encoded(lost.unwrap_or('/')))
        }
    }
}

/// Refuses a path whose parameters have other values for the gateway than for this function, and bytes that are not UTF-8, which
/// the gateway replaces (400).
async fn same_parameters(parts: &mut Parts) -> Result<(), Problem> {
    let values = RawPathParams::from_request_parts(parts, &()).await;
    let values = values.map_err(|error| Problem::new(ProblemKind::InvalidId, error.body_text()))?;
    for (name, value) in &values {
        if value.contains(char::REPLACEMENT_CHARACTER) {
            let detail = "the path has bytes that are not UTF-8, or U+FFFD, which stands for them";
            return Err(Problem::new(ProblemKind::InvalidId, detail));
        }
        let Some(sent) = parts.path_parameters_ref().and_then(|sent| sent.first(name)) else {
            continue;
        };
        let sent = percent_decode_str(sent).decode_utf8_lossy();
        if sent != *value {
            let lost = sent.chars().find(|c| !value.contains(*c));
            return Err(encoded(lost.unwrap_or('/')));
        }
    }
    Ok(())
}

/// Refuses query parameters that the description of the route does not have (400).
fn known_names(uri: &Uri, names: &[&str]) -> Result<(), Problem> {
    let refused = |detail: String| Err(Problem::new(ProblemKind::InvalidParameter, detail));
    let sent = match Query::<Vec<(String, String)>>::try_from_uri(uri) {
        Ok(Query(sent)) => sent,
        Err(error) => return refused(error.body_text()),
    };
    let Some((unknown, _)) = sent.iter().find(|(name, _)| !names.contains(&name.as_str())) else {
        return Ok(());
    };
    let known = match names {
        [] => "this route has no parameters".to_owned(),
        names => format!("this route has {}", names.join(", ")),
    };
    refused(format!("unknown parameter {unknown:?}; {known}"))
}

#[cfg(test)]
mod tests {
    use axum::extract::Path;
    use lambda_http::{Context, LambdaEvent};
    use serde_json::{Value, json};
    use utoipa_axum::router::OpenApiRouter;
    use utoipa_axum::routes;

    use crate::{event, router};

    const BOARD: &str = "/v1/leaderboards/{board}";
    const MEMBER: &str = "/v1/leaderboards/{board}/members/{member}";

    #[utoipa::path(get, path = "/v1/leaderboards/{board}",
        params(("board" = String, Path)))]
    async fn show(Path(board): Path<String>) -> String {
        board
    }

    #[utoipa::path(delete, path = "/v1/leaderboards/{board}", params(("board" = String, Path)))]
    async fn delete(Path(board): Path<String>) -> String {
        board
    }

    #[utoipa::path(delete, path = "/v1/leaderboards/{board}/members/{member}",
        params(("board" = String, Path), ("member" = String, Path)))]
    async fn remove(Path((board, member)): Path<(String, String)>) -> String {
        format!("{board} {member}")
    }

    #[utoipa::path(put, path = "/v1/tags/{tag}/follow", params(("tag" = String, Path)))]
    async fn follow(Path(tag): Path<String>) -> String {
        tag
    }

    /// An event as API Gateway sends it: the path is decoded.
    fn sent(method: &str, route: &str, path: &str, parameters: Value) -> Value {
        let key = if route == "$default" { route.to_owned() } else { format!("{method} {route}") };
        json!({
            "version": "2.0", "routeKey": key, "rawPath": path, "rawQueryString": "",
            "headers": {"authorization": "Bearer x"}, "isBase64Encoded": false, "pathParameters": parameters,
            "requestContext": {
                "accountId": "1", "apiId": "a", "stage": "$default", "requestId": "r", "routeKey": key,
                "time": "now", "timeEpoch": 1,
                "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
            },
        })
    }

    /// The status and the body of the answer to an event.
    async fn answer(event: Value) -> (u64, String) {
        let routes = OpenApiRouter::new().routes(routes!(show, delete)).routes(routes!(remove));
        let routes = routes.routes(routes!(follow));
        let event = LambdaEvent::new(event, Context::default());
        let answer = event::answer(router::serve(routes, ()), event).await.unwrap();
        let answer = serde_json::to_value(answer).unwrap();
        (answer["statusCode"].as_u64().unwrap(), answer["body"].as_str().unwrap().to_owned())
    }

    /// Checks that an event is refused as one with this character in an id.
    async fn names(event: Value, lost: char) {
        let (status, body) = answer(event.clone()).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &body["type"]), (400, &json!("/problems/invalid-id")), "{event}");
        let detail = body["detail"].as_str().unwrap();
        assert!(detail.contains(&format!("encoded {lost},")), "{detail}: {event}");
    }

    #[tokio::test]
    async fn a_plain_path_passes() {
        for (path, parameters) in [
            ("/v1/leaderboards/ann lee", json!({"board": "ann lee"})),
            ("/v1/leaderboards/ann%20lee", json!({"board": "ann%20lee"})),
            ("/v1/leaderboards/ann lee", json!(null)),
        ] {
            let event = sent("DELETE", BOARD, path, parameters);
            assert_eq!(answer(event).await, (200, "ann lee".to_owned()), "{path}");
        }
        let event = sent(
            "DELETE",
            MEMBER,
            "/v1/leaderboards/conf/members/bob",
            json!({"board": "conf", "member": "bob"}),
        );
        assert_eq!(answer(event).await, (200, "conf bob".to_owned()));
    }

    #[tokio::test]
    async fn a_separator_that_was_encoded_changes_nothing() {
        let member = "/v1/leaderboards/conf/members/bob";
        for parameters in [
            json!({"board": "conf/members/bob"}),
            json!({"board": "conf%2Fmembers%2Fbob"}),
            json!(null),
        ] {
            names(sent("DELETE", BOARD, member, parameters), '/').await;
        }
        // the path matches no route of the function
        names(sent("DELETE", BOARD, "/v1/leaderboards/a/b", json!({"board": "a/b"})), '/').await;
        // the gateway found no route, and so checked no token
        names(sent("DELETE", "$default", member, json!(null)), '/').await;
        // a path that ends at a question mark
        let cut = json!({"board": "conf", "member": "a?b"});
        names(sent("DELETE", MEMBER, "/v1/leaderboards/conf/members/a", cut), '?').await;
        let cut = json!({"board": "conf?x", "member": "bob"});
        names(sent("DELETE", MEMBER, "/v1/leaderboards/conf", cut), '?').await;
        let cut = json!({"board": "a?b"});
        names(sent("DELETE", BOARD, "/v1/leaderboards/a", cut), '?').await;
    }

    #[tokio::test]
    async fn bytes_that_are_not_utf_8_name_nothing() {
        let path = "/v1/leaderboards/caf\u{fffd}";
        let (status, body) =
            answer(sent("DELETE", BOARD, path, json!({"board": "caf\u{fffd}"}))).await;
        assert!(status == 400 && body.contains("not UTF-8"), "{body}");
        let (status, body) =
            answer(sent("DELETE", BOARD, "/v1/leaderboards/caf%e9", json!(null))).await;
        assert!(status == 400 && body.contains("/problems/invalid-id"), "{body}");
    }

    #[tokio::test]
    async fn a_method_without_a_route_is_refused_as_such() {
        let event = sent("HEAD", "$default", "/v1/leaderboards/a", json!(null));
        assert_eq!(answer(event).await, (405, String::new()));
    }

    #[tokio::test]
    async fn only_described_parameters_pass() {
        let event = |method: &str, query: &str| {
            let mut event = sent(method, BOARD, "/v1/leaderboards/a", json!({"board": "a"}));
            event["rawQueryString"] = json!(query);
            event
        };
        for query in ["", "limit=5", "owner=x&limit=%35", "limit", "limit=1&limit=2", "&"] {
            assert_eq!(answer(event("GET", query)).await.0, 200, "{query}");
        }
        for query in ["x=1", "limit=5&x", "=", "LIMIT=1", "limit[]=1", "x%00", "%6cimits"] {
            let (status, body) = answer(event("GET", query)).await;
            assert!(
                status == 400 && body.contains("/problems/invalid-parameter"),
                "{query}: {body}"
            );
            assert!(body.contains("this route has owner, "), "{query}: {body}");
        }
        assert_eq!(answer(event("DELETE", "owner=x")).await.0, 200);
        let (status, body) = answer(event("DELETE", "limit=5")).await;
        assert!(status == 400 && body.contains("this route has owner"), "{body}");
        for query in ["owner=x", "limit=5"] {
            let mut event =
                sent("PUT", "/v1/tags/{tag}/follow", "/v1/tags/a/follow", json!({"tag": "a"}));
            event["rawQueryString"] = json!(query);
            let (status, body) = answer(event).await;
            assert!(
                status == 400 && body.contains("this route has no parameters"),
                "{query}: {body}"
            );
        }
    }
}
