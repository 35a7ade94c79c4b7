//! From the gateway's event to the router. `lambda_http` puts a URL together from what the client
//! sent: it panics where that is none, and follows dots in it, so that a function would take
//! another route than the one that the gateway has checked. Headers that are none it cannot read.
//! All of it is seen to here.

use axum::Router;
use axum::http::header::HOST;
use fanfold_core::limits::URI_BYTES_MAX;
use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use lambda_http::request::LambdaRequest;
use lambda_http::{Adapter, Error, LambdaEvent, Service as _, service_fn};
use serde_json::Value;

type Answer = <Adapter<'static, axum::response::Response, Router> as lambda_http::Service<
    LambdaEvent<LambdaRequest>,
>>::Response;

/// Answers requests until the function ends.
pub async fn run(router: Router) -> Result<(), Error> {
    lambda_http::lambda_runtime::run(service_fn(move |event| answer(router.clone(), event))).await
}

async fn answer(router: Router, event: LambdaEvent<Value>) -> Result<Answer, Error> {
    let LambdaEvent { payload: mut event, context } = event;
    if let Some(Value::Object(headers)) = event.get_mut("headers") {
        headers.values_mut().for_each(make_header);
    }
    let mut request: LambdaRequest = serde_json::from_value(event)?;
    if let LambdaRequest::ApiGatewayV2(request) = &mut request {
        make_plain(request);
    }
    Ok(Adapter::from(router).call(LambdaEvent::new(request, context)).await?)
}

/// A header with what no header may have keeps its place, and is no text to whoever asks for it.
fn make_header(value: &mut Value) {
    if let Value::String(text) = value
        && text.contains(|c: char| c.is_ascii_control() && c != '\t')
    {
        *text = text.replace(|c: char| c.is_ascii_control(), "\u{fffd}");
    }
}

fn make_plain(request: &mut ApiGatewayV2httpRequest) {
    // without a host the URL is the path alone, and no route asks for it
    request.headers.remove(HOST);
    request.request_context.domain_name = None;
    let mut path = request.raw_path.take().unwrap_or_default();
    let mut query = request.raw_query_string.take().unwrap_or_default();
    if path.len() + query.len() > URI_BYTES_MAX {
        // longer than the gateway lets through; no route is here
        (path, query) = (String::new(), String::new());
    }
    request.raw_path = Some(plain_path(&path));
    request.raw_query_string = Some(encoded(&query, b"-._~!$&'()*+,;=:@/?%[]"));
}

/// The path with a slash in front, and nothing in it that a URL parser takes for more than a name.
fn plain_path(path: &str) -> String {
    let segments = path.strip_prefix('/').unwrap_or(path).split('/').map(|segment| {
        let name = segment.to_ascii_lowercase().replace("%2e", ".");
        // no user and no post has such a name, so no route has a segment without any
        if matches!(name.as_str(), "." | "..") { "" } else { segment }
    });
    let path: Vec<&str> = segments.collect();
    format!("/{}", encoded(&path.join("/"), b"-._~!$&'()*+,;=:@/%"))
}

/// Percent-encodes what is neither a letter, nor a digit, nor in `kept`.
fn encoded(text: &str, kept: &[u8]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            encoded.push(byte.into());
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use axum::extract::Request;
    use lambda_http::Context;
    use serde_json::json;

    use super::*;

    /// What a router is asked for when the gateway sends this.
    async fn asked(event: Value) -> String {
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
        assert_eq!(asked(sent).await, "/v1/users/@ash/posts?limit=5&cursor=A-_%2B");
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
            assert_eq!(asked(event("/v1/me", "", headers)).await, "/v1/me");
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
            assert_eq!(asked(event(path, "", json!({}))).await, uri, "{path:?}");
        }
        let odd = "<>\"{}|^`\\ #é";
        let encoded = "%3C%3E%22%7B%7D%7C%5E%60%5C%20%23%C3%A9";
        assert_eq!(asked(event("/a", odd, json!({}))).await, format!("/a?{encoded}"));
        let long = "é".repeat(URI_BYTES_MAX / 2);
        for (path, query) in [(long.as_str(), ""), ("/", long.as_str())] {
            assert!(asked(event(path, query, json!({}))).await.len() < 65_000);
        }
        assert_eq!(asked(event("/v1/me", &"a".repeat(70_000), json!({}))).await, "/");
    }

    /// The gateway has checked a token, or none, for the route of the path that was sent.
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
            assert_eq!(asked(event(path, "", json!({}))).await, uri, "{path}");
        }
    }
}
