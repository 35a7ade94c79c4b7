//! What holds for every operation of the description: parameters, methods, paths and the shapes of bodies.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::harness::client::Client;
use crate::openapi::{api, each_operation};

/// An operation of `/v1`, with values for its path.
struct Operation {
    method: Method,
    /// The path, with the names of its parameters.
    template: String,
    /// The names of its parameters, with values of the right form.
    path: Vec<(String, String)>,
    described: Value,
}

impl Operation {
    /// The path, with another value for one parameter.
    fn path(&self, other: Option<(&str, &str)>) -> String {
        self.path.iter().fold(self.template.clone(), |path, (name, value)| {
            let value = other
                .filter(|(changed, _)| changed == name)
                .map_or(value.as_str(), |(_, value)| value);
            path.replace(&format!("{{{name}}}"), value)
        })
    }
}

fn operations() -> Vec<Operation> {
    let api = api();
    let all = each_operation(&api).into_iter().filter(|(name, _)| name.contains(" /v1/"));
    let all: Vec<Operation> = all
        .map(|(name, described)| {
            let (method, template) = name.split_once(' ').expect("a method and a path");
            let parameters = described["parameters"].as_array().into_iter().flatten();
            let path = parameters.filter(|parameter| parameter["in"] == "path").map(|parameter| {
                let text = |field: &str| parameter[field].as_str().expect("a text").to_owned();
                (text("name"), text("example"))
            });
            Operation {
                method: method.parse().expect("a method"),
                template: template.to_owned(),
                path: path.collect(),
                described: described.clone(),
            }
        })
        .collect();
    assert!(all.len() > 30, "{} operations", all.len());
    all
}

#[tokio::test]
async fn no_operation_takes_a_parameter_that_it_does_not_describe() {
    let user = Client::new().await;
    for operation in operations() {
        for query in ["unknown=1", "LIMIT=1", "Idempotency-Key=1", "%00=1"] {
            let path = format!("{}?{query}", operation.path(None));
            let answer = user.send(operation.method.clone(), &path, &[], None).await;
            let refused = (400, "/problems/invalid-parameter");
            assert_eq!(answer.problem(), refused, "{} {path}: {answer:?}", operation.method);
        }
    }
}

/// Bytes that mean something else in a path, or nothing.
#[tokio::test]
async fn no_id_and_no_name_has_an_encoded_separator() {
    let (user, mut seen) = (Client::new().await, 0);
    for operation in operations() {
        for (name, value) in &operation.path {
            for odd in
                ["%2F", "%2f", "%3F", "%23", "%25", "%5C", "%e9", "%EF%BF%BD", "%E2%80%AE", "%00"]
            {
                let path = operation.path(Some((name, &format!("{value}{odd}x"))));
                let answer = user.send(operation.method.clone(), &path, &[], None).await;
                let (status, problem) = answer.problem();
                // a tag is a text, not an id
                let is_right = problem == "/problems/invalid-id"
                    || name == "tag" && problem == "/problems/invalid-parameter";
                assert!(status == 400 && is_right, "{} {path}: {answer:?}", operation.method);
                seen += 1;
            }
        }
    }
    assert!(seen > 200, "{seen} paths");
}

#[tokio::test]
async fn a_head_request_is_refused_on_every_route() {
    let user = Client::new().await;
    let mut methods: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for operation in operations() {
        let path = operation.path(None);
        let of_path = methods.entry(operation.template).or_insert((path, Vec::new()));
        of_path.1.push(operation.method.to_string());
    }
    for (path, mut allowed) in methods.into_values() {
        allowed.sort_unstable();
        for client in [&user, &Client::anonymous()] {
            let answer = client.send(Method::HEAD, &path, &[], None).await;
            assert_eq!(answer.status, 405, "{path}: {answer:?}");
            let said = answer.headers["allow"].to_str().expect("a text");
            let mut said: Vec<&str> = said.split(", ").collect();
            said.sort_unstable();
            assert_eq!(said, allowed, "{path}");
        }
    }
}

/// The value with each of its objects, one at a time, replaced by an array of the object's values.
fn with_arrays(value: &Value) -> Vec<Value> {
    let in_fields = |fields: &Map<String, Value>| {
        let changed = fields.iter().flat_map(|(name, inner)| {
            let inner = if name == "payload" { Vec::new() } else { with_arrays(inner) };
            let put = |inner| {
                let mut fields = fields.clone();
                fields.insert(name.clone(), inner);
                Value::Object(fields)
            };
            inner.into_iter().map(put).collect::<Vec<_>>()
        });
        changed.collect::<Vec<_>>()
    };
    match value {
        Value::Object(fields) => {
            let mut all = in_fields(fields);
            all.push(fields.values().cloned().collect());
            all.push(json!([]));
            all
        }
        Value::Array(items) => {
            let changed = items.iter().enumerate().flat_map(|(nth, item)| {
                let put = |item| {
                    let mut items = items.clone();
                    items[nth] = item;
                    Value::Array(items)
                };
                with_arrays(item).into_iter().map(put).collect::<Vec<_>>()
            });
            changed.collect()
        }
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn no_operation_takes_an_array_for_an_object() {
    let (user, mut seen) = (Client::new().await, 0);
    for operation in operations() {
        let body = &operation.described["requestBody"]["content"]["application/json"]["examples"];
        for (_, example) in body.as_object().into_iter().flatten() {
            for body in with_arrays(&example["value"]) {
                let (method, path) = (operation.method.clone(), operation.path(None));
                let answer = user.send(method, &path, &[], Some(body.clone())).await;
                let refused = (400, "/problems/invalid-body");
                assert_eq!(
                    answer.problem(),
                    refused,
                    "{} {path} {body}: {answer:?}",
                    operation.method
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 30, "{seen} bodies");
}

/// The fields of an answer that a request may have.
fn writable(answer: &Value, schema: &str) -> Value {
    let api = api();
    let known = api["components"]["schemas"][schema]["properties"].as_object().expect("properties");
    let fields = answer.as_object().expect("an object").iter();
    fields
        .filter(|(name, _)| known.contains_key(*name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[tokio::test]
async fn what_is_read_can_be_written_back() {
    let user = Client::new().await;
    let later = "2099-01-01T00:00:00Z";
    let soon = (fanfold_runtime::clock::now() + std::time::Duration::from_secs(7_200)).rfc3339();
    assert!(
        user.send(Method::PUT, "/v1/timers/far", &[], Some(json!({"due_at": later}))).await.status
            == 422
    );
    let sources = json!([{"owner": user.id, "name": "plain"}]);
    for (method, path, schema, body) in [
        (Method::PUT, "/v1/timers/once", "NewTimer", json!({"due_at": soon})),
        (
            Method::PUT,
            "/v1/timers/often",
            "NewTimer",
            json!({"due_at": soon, "every": "PT90M", "payload": [null]}),
        ),
        (Method::PUT, "/v1/leaderboards/plain", "BoardSettings", json!({})),
        (
            Method::PUT,
            "/v1/leaderboards/sum",
            "BoardSettings",
            json!({"merge": {"by": "sum", "boards": sources}}),
        ),
        (
            Method::PUT,
            "/v1/leaderboards/full",
            "BoardSettings",
            json!({"limit": 5, "period": "week", "writers": [user.id]}),
        ),
    ] {
        let made = user.send(method.clone(), path, &[], Some(body)).await;
        assert_eq!(made.status, 201, "{path}: {made:?}");
        let read = user.get(path).await.body;
        let read = if read["board"].is_object() { read["board"].clone() } else { read };
        let again = user.send(method, path, &[], Some(writable(&read, schema))).await;
        assert_eq!((again.status, &again.body), (200, &read), "{path}");
    }
    let me = user.get("/v1/me").await.body;
    let again = user.send(Method::PUT, "/v1/me", &[], Some(writable(&me, "NewProfile"))).await;
    assert_eq!((again.status, &again.body), (200, &me));
    let post = json!({"text": "text", "publish_at": soon});
    let made = user.send(Method::POST, "/v1/posts", &[], Some(post)).await;
    let path = format!("/v1/scheduled/{}", made.text("/id"));
    let read = user.get(&path).await.body;
    let again =
        user.send(Method::PATCH, &path, &[], Some(writable(&read, "ScheduledChange"))).await;
    assert_eq!((again.status, &again.body), (200, &read));
    // a post without a time, as one with none
    let now = json!({"text": "text", "publish_at": null});
    assert_eq!(user.send(Method::POST, "/v1/posts", &[], Some(now)).await.status, 201);
}
