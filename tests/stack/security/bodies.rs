//! Bodies that are too large or too deep, or that do not match their headers.

use fanfold_core::limits::BODY_BYTES_MAX;
use reqwest::Method;
use serde_json::{Value, json};

use super::wire::{self, JSON, Raw};
use crate::harness::client::Client;

fn refused(answer: &Raw, status: u16, kind: &str, what: &str) {
    assert_eq!(answer.problem(), (status, format!("/problems/{kind}")), "{what}: {answer:?}");
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused_in_every_encoding() {
    let token = Client::new().await.token.expect("a token");
    let text = |bytes: usize| json!({"text": "x".repeat(bytes - 11)}).to_string().into_bytes();
    let post = |head: &str, body: &[u8]| wire::send_as(&token, "POST", "/v1/posts", head, body);
    assert_eq!(text(BODY_BYTES_MAX).len(), BODY_BYTES_MAX);
    // so many bytes are read, but the text is too long
    refused(&post(JSON, &text(BODY_BYTES_MAX)), 422, "invalid-text", "the bound");
    refused(&post(JSON, &text(BODY_BYTES_MAX + 1)), 413, "body-too-large", "one more");
    refused(&post(JSON, &text(1 << 20)), 413, "body-too-large", "a megabyte");
    // the gateway passes bodies that it does not treat as text in base64
    let binary = "Content-Type: application/octet-stream\r\n";
    refused(&post(binary, &text(100)), 415, "unsupported-media-type", "binary");
    let mixed = "Content-Type: APPLICATION/JSON ; charset=utf-8\r\n";
    refused(&post(mixed, &text(BODY_BYTES_MAX + 1)), 413, "body-too-large", "base64");
    // in chunks, without a length in advance
    for (bytes, status, kind) in
        [(BODY_BYTES_MAX, 422, "invalid-text"), (BODY_BYTES_MAX + 1_000, 413, "body-too-large")]
    {
        let mut chunked = Vec::new();
        for piece in text(bytes).chunks(4_000) {
            chunked.extend(format!("{:x}\r\n", piece.len()).into_bytes());
            chunked.extend(piece);
            chunked.extend(b"\r\n");
        }
        chunked.extend(b"0\r\n\r\n");
        let head = format!("Authorization: Bearer {token}\r\nTransfer-Encoding: chunked\r\n{JSON}");
        let answer = wire::send("POST", "/v1/posts", head.as_bytes(), &chunked);
        refused(&answer, status, kind, "chunked");
    }
}

#[tokio::test]
async fn a_change_of_many_members_has_a_limit_of_its_own() {
    let owner = Client::new().await;
    let token = owner.token.clone().expect("a token");
    let path = "/v1/leaderboards/b";
    assert_eq!(owner.send(Method::PUT, path, &[], Some(json!({}))).await.status, 201);
    // the longest names, in the longest spelling
    let name = |nth: usize| format!("{nth:03}{}", "\u{1f332}".repeat(125));
    let change = |nth| json!({"member": name(nth), "set": ["-9223372036854775807"]});
    let changes: Vec<Value> = (0..100).map(change).collect();
    let body = json!({"changes": changes}).to_string();
    let escaped = body.replace("\u{1f332}", "\\ud83c\\udf32").into_bytes();
    assert!(escaped.len() > BODY_BYTES_MAX && escaped.len() < 256 * 1024, "{}", escaped.len());
    let answer = wire::send_as(&token, "POST", &format!("{path}/members"), JSON, &escaped);
    assert_eq!(answer.status, 200, "{answer:?}");
    let large = format!("{}{body}", " ".repeat(256 * 1024)).into_bytes();
    let answer = wire::send_as(&token, "POST", &format!("{path}/members"), JSON, &large);
    refused(&answer, 413, "body-too-large", "above the limit");
    let one = format!("{path}/members/x");
    let large = format!("{}{}", " ".repeat(BODY_BYTES_MAX), json!({"scores": ["1"]})).into_bytes();
    let answer = wire::send_as(&token, "PUT", &one, JSON, &large);
    refused(&answer, 413, "body-too-large", "one member");
}

#[tokio::test]
async fn json_that_is_too_deep_or_malformed_is_refused() {
    let user = Client::new().await;
    let token = user.token.clone().expect("a token");
    let (arrays, objects) = ("[".repeat(10_000), r#"{"a":"#.repeat(6_000));
    let digits = "9".repeat(10_000);
    let bodies = [
        arrays.clone(),
        format!("{arrays}{}", "]".repeat(10_000)),
        objects,
        format!(r#"{{"text":{arrays}"#),
        format!(r#"{{"text":"x","more":{arrays}{}}}"#, "]".repeat(10_000)),
        format!(r#"{{"text":{digits}}}"#),
        format!(r#"{{"text":1e{digits}}}"#),
        format!(r#"{{"text":-{digits}.{digits}}}"#),
        r#"{"text":1e400}"#.to_owned(),
        r#"{"text":NaN}"#.to_owned(),
        r#"{"text":"x","text":"y"}"#.to_owned(),
        r#"{"text":"x","te\u0078t":"y"}"#.to_owned(),
        r#"{"TEXT":"x"}"#.to_owned(),
        r#"{"text":["x"]}"#.to_owned(),
        r#"{"text":{"$ne":""}}"#.to_owned(),
        r#"{"text":{"S":"x"}}"#.to_owned(),
        r#"{"text":"x"}x"#.to_owned(),
        r#"{"text":"x"}{"text":"y"}"#.to_owned(),
        "{\"text\":\"x\"}\0".to_owned(),
        "{\"text\":\"a\nb\"}".to_owned(), // a line break that is not escaped
        "{\"text\":\"a\0b\"}".to_owned(),
        "\u{feff}{\"text\":\"x\"}".to_owned(),
        r#"{"text":"\ud800"}"#.to_owned(),
        r#"{"text":"\udc00\ud800"}"#.to_owned(),
        r#"{"text":"\u00"}"#.to_owned(),
        r#"{'text':'x'}"#.to_owned(),
        r#"{"text":"x",}"#.to_owned(),
        "text=x".to_owned(),
        "<text>x</text>".to_owned(),
        " ".to_owned(),
        String::new(),
    ];
    for body in &bodies {
        let answer = wire::send_as(&token, "POST", "/v1/posts", JSON, body.as_bytes());
        let start: String = body.chars().take(40).collect();
        refused(&answer, 400, "invalid-body", &start);
    }
    let posts = user.walk(&format!("/v1/users/{}/posts", user.id), 10).await;
    assert!(posts.is_empty(), "a post was stored");
}

#[tokio::test]
async fn a_body_that_does_not_match_its_headers_is_refused() {
    let user = Client::new().await;
    let token = user.token.clone().expect("a token");
    let post = |head: &str, body: &[u8]| wire::send_as(&token, "POST", "/v1/posts", head, body);
    let good = br#"{"text":"x"}"#;
    for head in [
        "",
        "Content-Type:\r\n",
        "Content-Type: text/plain\r\n",
        "Content-Type: text/json\r\n",
        "Content-Type: application/jsonp\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
        "Content-Type: multipart/form-data; boundary=x\r\n",
        "Content-Type: text/plain; application/json\r\n",
        "Content-Type: application/json, text/plain\r\n",
    ] {
        refused(&post(head, good), 415, "unsupported-media-type", head);
    }
    // bytes that are not UTF-8: the gateway passes them on, replaced or in base64
    let mut bytes = good.to_vec();
    bytes[9] = 0xff;
    let answer = post("Content-Type: APPLICATION/JSON;charset=latin-1\r\n", &bytes);
    assert!([201, 400].contains(&answer.status), "{answer:?}");
    for utf16 in [&b"\xff\xfe{\0\"\0"[..], b"\xfe\xff\0{\0\"", &[0x80; 50], &[0xc0, 0xaf]] {
        refused(&post(JSON, utf16), 400, "invalid-body", "not UTF-8");
    }
    // nothing is decompressed: 48 bytes could become a gigabyte
    let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xabV*I\xad(Q\xb2R\xaaP\xaa\x05\x00";
    for encoding in ["gzip", "deflate", "br", "zstd"] {
        let head = format!("Content-Encoding: {encoding}\r\n{JSON}");
        refused(&post(&head, gzip), 400, "invalid-body", encoding);
    }
    let posts = user.get(&format!("/v1/users/{}/posts", user.id)).await;
    assert!(posts.body["items"].as_array().is_some_and(|posts| posts.len() < 2), "{posts:?}");
    let profile = wire::send_as(&token, "PUT", "/v1/me", JSON, br#"{"handle":"x"}"#);
    refused(&profile, 400, "invalid-body", "half a profile");
    assert_ne!(profile.json()["detail"], Value::Null);
}
