//! Passes the gateway's events to the router.
//!
//! `lambda_http` builds a URL from the path, query and headers that the client sent. It panics if the result is not a
//! URL, and it resolves dots, so a function could take another route than the one that the gateway has checked. It also
//! fails on invalid header values. This module encodes such input first.

use axum::Router;
use axum::http::header::HOST;
use fanfold_core::limits::URI_BYTES_MAX;
use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use lambda_http::request::LambdaRequest;
use lambda_http::{Adapter, Error, LambdaEvent, Service as _, service_fn};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// The bytes of a path that are encoded: all but unreserved characters, delimiters, `/` and `%`.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'/')
    .remove(b'%');

/// The bytes of a query that are encoded: those of a path, without `?`, `[` and `]`.
const QUERY: &AsciiSet = &PATH.remove(b'?').remove(b'[').remove(b']');

type Answer = <Adapter<'static, axum::response::Response, Router> as lambda_http::Service<
    LambdaEvent<LambdaRequest>,
>>::Response;

/// Answers the gateway's events with `router` for the life of the function's environment.
pub async fn run(router: Router) -> Result<(), Error> {
    lambda_http::lambda_runtime::run(service_fn(move |event| answer(router.clone(), event))).await
}

pub(crate) async fn answer(router: Router, event: LambdaEvent<Value>) -> Result<Answer, Error> {
    let LambdaEvent { payload: mut event, context } = event;
    if let Some(Value::Object(headers)) = event.get_mut("headers") {
        headers.values_mut().for_each(make_valid);
    }
    let mut request: LambdaRequest = serde_json::from_value(event)?;
    if let LambdaRequest::ApiGatewayV2(request) = &mut request {
        encode(request);
    }
    Ok(Adapter::from(router).call(LambdaEvent::new(request, context)).await?)
}

/// Replaces control characters in a header's value by U+FFFD. The header stays, but its value is not ASCII text.
fn make_valid(value: &mut Value) {
    if let Value::String(text) = value
        && text.contains(|c: char| c.is_ascii_control() && c != '\t')
    {
        *text = text.replace(|c: char| c.is_ascii_control(), "\u{fffd}");
    }
}

/// Makes the URL of a request one that `lambda_http` can build.
fn encode(request: &mut ApiGatewayV2httpRequest) {
    // without a host, the URL consists of the path alone; no route reads the host
    request.headers.remove(HOST);
    request.request_context.domain_name = None;
    let mut path = request.raw_path.take().unwrap_or_default();
    let mut query = request.raw_query_string.take().unwrap_or_default();
    if path.len() + query.len() > URI_BYTES_MAX {
        // the gateway does not pass on longer ones; no route has this path
        (path, query) = ("/too-long".to_owned(), String::new());
    }
    request.raw_path = Some(plain_path(&path));
    request.raw_query_string = Some(utf8_percent_encode(&query, QUERY).to_string());
}

/// The path with a slash in front. Dot segments become empty, and everything that is special in a URL is encoded.
fn plain_path(path: &str) -> String {
    let segments = path.strip_prefix('/').unwrap_or(path).split('/').map(|segment| {
        let name = segment.to_ascii_lowercase().replace("%2e", ".");
        // an empty segment matches no route
        if matches!(name.as_str(), "." | "..") { "" } else { segment }
    });
    let path: Vec<&str> = segments.collect();
    format!("/{}", utf8_percent_encode(&path.join("/"), PATH))
}

#[cfg(test)]
mod tests {
    use axum::extract::Request;
    use lambda_http::Context;
    use serde_json::json;

    use super::*;

    /// The URI that a router gets for an event.
    async fn routed(event: Value) -> String {
        let router = Router::new().fallback(async |request: Request| request.uri().to_string());
        let answer = answer(router, LambdaEvent::new(event, Context::default())).await.unwrap();
        serde_json::to_value(answer).unwrap()["body"].as_str().unwrap().to_owned()
    }

    fn event(path: &str, query: &str, headers: Value) -> Value {
        json!({
            "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": query,
            "headers": headers, "isBase64Encoded": false,
            "requestContext": {
                "accountId": "1", "apiId": "a", "stage": "$default", "requestId": "r",
                "domainName": "a.example", "time": "now", "timeEpoch": 1,
                "http": {
                    "method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1",
                },
            },
        })
    }

    #[tokio::test]
    async fn a_plain_request_arrives_as_it_was_sent() {
        let headers = json!({"host": "a.example", "x-forwarded-proto": "https"});
        let sent = event("/v1/users/@ash/posts", "limit=5&cursor=A-_%2B", headers);
        assert_eq!(routed(sent).await, "/v1/users/@ash/posts?limit=5&cursor=A-_%2B");
    }

    #[tokio::test]
    async fn no_header_path_or_query_stops_the_function() {
        for headers in [
            json!({"x-forwarded-proto": "://"}),
            json!({"x-forwarded-proto": "java script", "host": "a"}),
            json!({"host": "a b:99999999"}),
            json!({"host": "[::"}),
            json!({"x-odd": "a\u{7f}b\0\r\n\u{e9}\tc", "host": "\n"}),
        ] {
            assert_eq!(routed(event("/v1/me", "", headers)).await, "/v1/me");
        }
        for (path, uri) in [
            ("", "/"),
            ("v1", "/v1"),
            ("@a:999999/", "/@a:999999/"),
            ("//v1//me", "//v1//me"),
            ("/a b\n\0é", "/a%20b%0A%00%C3%A9"),
            ("/a?b#c", "/a%3Fb%23c"),
            ("/%zz%", "/%zz%"),
        ] {
            assert_eq!(routed(event(path, "", json!({}))).await, uri, "{path:?}");
        }
        let odd = "<>\"{}|^`\\ #é";
        let encoded = "%3C%3E%22%7B%7D%7C%5E%60%5C%20%23%C3%A9";
        assert_eq!(routed(event("/a", odd, json!({}))).await, format!("/a?{encoded}"));
        let long = "é".repeat(URI_BYTES_MAX / 2);
        for (path, query) in [(long.as_str(), ""), ("/", long.as_str())] {
            assert!(routed(event(path, query, json!({}))).await.len() < 65_000);
        }
        assert_eq!(routed(event("/v1/me", &"a".repeat(70_000), json!({}))).await, "/too-long");
    }

    /// The gateway has decided about the token by the path that was sent, so the function must route the same path.
    #[tokio::test]
    async fn dots_lead_to_no_other_route() {
        for (path, uri) in [
            ("/openapi.json/../v1/me", "/openapi.json//v1/me"),
            ("/v1/users/%2e%2E/me", "/v1/users//me"),
            ("/v1/./me", "/v1//me"),
            ("/v1/.%2e", "/v1/"),
            ("/a\\..\\v1", "/a%5C..%5Cv1"),
            ("/v1/...", "/v1/..."),
        ] {
            assert_eq!(routed(event(path, "", json!({}))).await, uri, "{path}");
        }
    }
}
