//! Updates the functions one after the other, under load.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use fanfold_core::registry::FUNCTIONS;
use reqwest::Method;
use serde_json::{Value, json};

use crate::faults::{Acknowledged, Found, at_rest, dead_letters, people, write};
use crate::harness::logs::function;
use crate::harness::{eventually, setting};

/// Calls Lambda about a function.
async fn lambda(method: Method, function: &str, what: &str, body: &Value) -> Value {
    let url = format!("{}/2015-03-31/functions/{function}/{what}", setting("AWS_ENDPOINT_URL"));
    let call = reqwest::Client::new().request(method, url).body(body.to_string());
    let answer = call.send().await.expect("Lambda answers");
    assert!(answer.status().is_success(), "{function}: {answer:?}");
    answer.json().await.expect("JSON")
}

async fn wait_until_updated(function: &str) {
    eventually("the update", async || {
        let now = lambda(Method::GET, function, "configuration", &Value::Null).await;
        (now["LastUpdateStatus"] == "Successful" && now["State"] == "Active").then_some(())
    })
    .await;
}

/// Publishes a new version of a function, and moves the alias that all callers use to it, as a deployment does.
async fn update(name: &str) {
    let function = function(name).await;
    let settings = json!({"Description": format!("updated {name}")});
    lambda(Method::PUT, &function, "configuration", &settings).await;
    wait_until_updated(&function).await;
    let before = lambda(Method::GET, &function, "aliases/live", &Value::Null).await;
    let version = lambda(Method::POST, &function, "versions", &json!({})).await["Version"].clone();
    assert_ne!(version, before["FunctionVersion"], "the version is not new");
    let moved = json!({"FunctionVersion": version});
    let alias = lambda(Method::PUT, &function, "aliases/live", &moved).await;
    assert_eq!(alias["FunctionVersion"], version, "{function}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updating_the_functions_under_load_loses_and_doubles_nothing() {
    let (people, dead_before) = (people().await, dead_letters().await);
    let (posts, over) = (Mutex::new(Acknowledged::default()), AtomicBool::new(false));
    let load = async {
        while !over.load(Ordering::SeqCst) {
            let writers = people.authors.iter().map(|author| write(author, &posts));
            let readers = people.readers.iter().take(3);
            let readers = readers.map(|reader| reader.try_get("/v1/timeline"));
            futures::join!(futures::future::join_all(writers), futures::future::join_all(readers));
        }
    };
    let deployment = async {
        for function in FUNCTIONS {
            update(function.name).await;
        }
        over.store(true, Ordering::SeqCst);
    };
    futures::join!(load, deployment);
    at_rest(dead_before).await;
    let acknowledged = posts.into_inner().expect("answers");
    let found = people.find(&acknowledged).await;
    println!("{} posts, {found:?}", acknowledged.posts.len());
    assert_eq!(found, Found::CORRECT);
    assert!(acknowledged.posts.len() > 20, "too few posts for a result");
}
