//! Unusual and malformed HTTP: methods, paths, parameters and headers. The answer is a problem or a message of the
//! gateway. No function fails.

use reqwest::Method;
use serde_json::{Value, json};

use super::wire::{self, Raw};
use crate::harness::client::Client;
use crate::harness::setting;

/// Checks that an answer is a client error in JSON.
fn refused(answer: &Raw, what: &str) {
    assert!((400..500).contains(&answer.status), "{what}: {answer:?}");
    let body = answer.json();
    let known = body["type"].is_string() || body["message"].is_string();
    // the server in front of the gateway may refuse malformed HTTP with an empty body
    assert!(known || answer.body.is_empty() || answer.status == 400, "{what}: {answer:?}");
    assert!(!String::from_utf8_lossy(&answer.body).contains("panicked"), "{what}: {answer:?}");
}

#[tokio::test]
async fn unusual_methods_are_refused() {
    let token = Client::new().await.token.expect("a token");
    for method in ["TRACE", "PROPFIND", "PATCH", "SEARCH", "LINK", "FOO!", "X".repeat(300).as_str()]
    {
        for path in ["/v1/timeline", "/v1/me", "/openapi.json", "/nowhere"] {
            let answer = wire::send_as(&token, method, path, "", b"");
            refused(&answer, method);
            assert!([404, 405].contains(&answer.status), "{method} {path}: {answer:?}");
        }
    }
    // no header or parameter replaces the method
    for name in ["X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"] {
        let head = format!("{name}: DELETE\r\n");
        let answer = wire::send_as(&token, "POST", "/v1/users/@ash/follow", &head, b"");
        assert_eq!(answer.problem(), (405, "/problems/method-not-allowed".to_owned()), "{name}");
        let answer = wire::send_as(&token, "POST", "/v1/users/@ash/follow?_method=PUT", "", b"");
        assert_eq!(answer.status, 405);
    }
}

/// The gateway checks the token for the route that it sees. The function must see the same route.
#[tokio::test]
async fn no_path_avoids_the_token_check_of_the_gateway() {
    let token = Client::new().await.token.expect("a token");
    let none = (404, "/problems/no-such-route".to_owned());
    let invalid_id = (400, "/problems/invalid-id".to_owned());
    for path in [
        "/openapi.json/../v1/timeline",
        "/x/../v1/timeline",
        "/./v1/timeline",
        "/%2e/v1/timeline",
        "/x/%2e%2E/v1/timeline",
        "/x/.%2e/v1/users/@ash",
        "/x\\..\\v1\\timeline",
        "/v1/x/../timeline",
        "/v1//timeline",
        "/v1/timeline/",
        "/v1/timeline//",
        "/v1/%2ftimeline",
        "/v1/timeline%2f",
        "/v1/timeline%00",
        "/v1/timeline%20",
        "/v1/timeline%3flimit=1",
        "/v1/timeline%23",
        "/v1/timeline;a=b",
        "/v1/TIMELINE",
        "/V1/timeline",
        "/v1/users/../me",
        "/v1/users/%2e%2e/me",
        "/v1/posts/..",
        "/v1/posts/x/../../timeline",
        "/%ff%fe/v1/timeline",
        "/http://elsewhere.example/v1/timeline",
        "/*",
        "/{proxy+}",
        "/$default",
    ] {
        for head in ["", &format!("Authorization: Bearer {token}\r\n")] {
            for method in ["GET", "PUT", "DELETE"] {
                let answer = wire::send(method, path, head.as_bytes(), b"");
                // if the gateway finds an id in the path, it asks for a token before the path is refused
                let unsigned = head.is_empty() && answer.status == 401;
                let no_id = path.ends_with("/..") && answer.problem() == invalid_id;
                assert!(
                    unsigned || no_id || answer.problem() == none,
                    "{method} {path}: {answer:?}"
                );
            }
        }
    }
    // if the gateway decodes an encoded slash, it checks the token of that route
    for method in ["GET", "PUT"] {
        let answer = wire::send(method, "/v1%2ftimeline", b"", b"");
        assert!([400, 401, 404, 405].contains(&answer.status), "{method}: {answer:?}");
    }
    // the gateway merges leading slashes; for the function it is another path
    let answer = wire::send_as(&token, "GET", "//v1/timeline", "", b"");
    assert_eq!(answer.problem(), none);
}

#[tokio::test]
async fn no_url_or_header_crashes_a_function() {
    let token = Client::new().await.token.expect("a token");
    let long = format!("/{}", "a".repeat(8_000));
    let many = format!("/v1/timeline?{}", "limit=1&".repeat(1_000));
    let wide = format!("/v1/timeline?cursor={}", "%F0%9F%98%80".repeat(600));
    for path in [
        "/a?x=<>\"{}|^`\\",
        "/a?x=%",
        "/a?x=%zz&%=%&=&&==",
        "/a?[]=[]&a[b]=c",
        "/a?%00=%00",
        "/a<b>\"{c}|^`d",
        "/%",
        "/%zz",
        "/a%",
        "/v1/timeline?<\">",
        "/v1/timeline?limit=1&limit=2",
        "/v1/timeline?limit=1&LIMIT=2",
        "/v1/timeline?limit=%2B5",
        "/v1/timeline?limit=18446744073709551617",
        "/v1/timeline?limit=1.0",
        "/v1/timeline?limit=%D9%A5",
        "/v1/timeline?limit[]=1",
        "/v1/timeline?cursor=a&cursor=b",
        "/v1/timeline?__proto__=1",
        &long,
        &many,
        &wide,
    ] {
        for head in ["", &format!("Authorization: Bearer {token}\r\n")] {
            refused(&wire::send("GET", path, head.as_bytes(), b""), path);
        }
    }
    for head in [
        "X-Forwarded-Proto: ://\r\n",
        "X-Forwarded-Proto: java script\r\n",
        "X-Forwarded-Host: a b:99999\r\n",
        "Forwarded: for=\"_x\";proto=:\r\n",
        "X-Forwarded-Prefix: /../\r\n",
        "X-Original-URL: /v1/timeline\r\nX-Rewrite-URL: /v1/timeline\r\n",
        "X-Odd: \u{e9}\u{202e}\r\n",
        "X-Odd: a\r\nX-Odd: b\r\nX-ODD: c\r\n",
        "X-Amzn-Trace-Id: Root=1;Parent=x;Sampled=?\r\n",
        "Range: bytes=0-1,0-1\r\n",
        "Expect: 200-maybe\r\n",
        "Accept: text/html\r\n",
        "Accept-Encoding: gzip;q=x\r\n",
        "If-None-Match: *\r\n",
    ] {
        // browsers get a page for other paths
        let answer = wire::send("GET", "/v1/nowhere", head.as_bytes(), b"");
        refused(&answer, head);
        let answer = wire::send_as(&token, "GET", "/v1/timeline", head, b"");
        assert!(answer.status < 500, "{head}: {answer:?}");
        assert!(answer.status != 200 || answer.json()["items"].is_array(), "{head}: {answer:?}");
    }
    let mut raw = b"X-Odd: \x80\xff\xfe\r\nAuthorization: Bearer \xff.\xff.\xff\r\n".to_vec();
    raw.extend(format!("X-Long: {}\r\n", "a".repeat(9_000)).into_bytes());
    refused(&wire::send("GET", "/v1/timeline", &raw, b""), "bytes in a header");
}

#[tokio::test]
async fn answers_have_a_content_type_and_are_not_cached() {
    let user = Client::new().await;
    let post = format!("/v1/posts/{}", user.publish("text").await);
    let me = format!("/v1/users/{}", user.id);
    for (method, path, media_type) in [
        (Method::GET, "/v1/timeline", "application/json"),
        (Method::GET, post.as_str(), "application/json"),
        (Method::GET, &format!("{post}/delivery"), "application/json"),
        (Method::GET, &me, "application/json"),
        (Method::GET, &format!("{me}/followers"), "application/json"),
        (Method::GET, "/v1/timeline?limit=0", "application/problem+json"),
        (Method::GET, "/v1/users/<script>", "application/problem+json"),
        (Method::PUT, "/v1/me", "application/problem+json"),
        (Method::GET, "/v1/nowhere", "application/problem+json"),
        (Method::DELETE, "/v1/timeline", "application/problem+json"),
    ] {
        let answer = user.send(method, path, &[], None).await;
        assert_eq!(answer.headers["content-type"], media_type, "{path}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(answer.headers["cache-control"], "no-store", "{path}");
        for name in ["server", "x-powered-by", "set-cookie", "access-control-allow-origin"] {
            let value = answer.headers.get(name);
            let front = value.is_some_and(|value| {
                name == "server" && !value.to_str().expect("a text").contains("anfold")
            });
            assert!(value.is_none() || front, "{path} {name}: {value:?}");
        }
    }
    let deleted = user.delete(&post).await;
    assert_eq!(deleted.headers["cache-control"], "no-store");
}

/// Public answers contain nothing about users, accounts or machines.
#[tokio::test]
async fn public_answers_leak_nothing() {
    let user = Client::new().await;
    let nobody = Client::anonymous();
    let api = nobody.get("/openapi.json").await;
    assert_eq!(api.status, 200);
    assert_eq!(api.headers["cache-control"], "public, max-age=3600");
    assert_eq!(api.headers["x-content-type-options"], "nosniff");
    let stack: Value = serde_json::from_str(&setting("FANFOLD_STACK")).expect("JSON");
    let mut answers = vec![api.body.to_string()];
    for path in ["/nowhere", "/v1", "/.env", "/.git/config", "/openapi.json?x=1", "/metrics"] {
        answers.push(nobody.get(path).await.body.to_string());
    }
    for path in ["/docs", "/problems/unavailable", "/"] {
        let answer = reqwest::get(format!("{}{path}", setting("FANFOLD_URL"))).await;
        answers.push(answer.expect("an answer").text().await.expect("a text"));
    }
    // the page names where its visitors sign in, and the client, which has no secret
    let page = answers.last_mut().expect("the page");
    let (before, rest) = page.split_once("name=\"fanfold-sign-in\" content=\"").expect("settings");
    let (settings, after) = rest.split_once('"').expect("an end");
    assert!(settings.contains(stack["UserPoolClientId"].as_str().expect("a text")), "{settings}");
    assert!(!settings.contains(stack["UserPoolId"].as_str().expect("a text")), "{settings}");
    *page = format!("{before}{after}");
    for text in &answers {
        for (name, value) in stack.as_object().expect("outputs") {
            let value = value.as_str().expect("a text");
            assert!(!text.contains(value), "a public answer contains {name}: {text}");
        }
        for secret in ["amazonaws", "arn:aws", "redis", "127.0.0.1", "/src/", ".rs", &user.id] {
            assert!(!text.contains(secret), "a public answer contains {secret}: {text}");
        }
    }
    // every route except the API description requires a token
    for (path, operations) in api.body["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("methods") {
            let secured = operation["security"] == json!([{"jwt": []}]);
            assert_eq!(secured, path != "/openapi.json", "{method} {path}");
            let sent = path.replace("{user}", &user.id).replace("{id}", "x");
            let answer = wire::send(&method.to_uppercase(), &sent, b"", b"");
            assert_eq!(answer.status == 401, secured, "{method} {path}: {answer:?}");
        }
    }
}
