//! What the tests share. A missing server is a failure, never a pass.

pub mod client;
pub mod dice;
pub mod logs;
pub mod servers;
pub mod tls;
pub mod traces;
pub mod valkeys;
pub mod world;

use serde_json::Value;

/// A setting that `cargo local test` gives to the tests.
pub fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: these tests need the system; run `cargo local test`")
    })
}

/// An output of the deployed stack.
pub fn output(name: &str) -> String {
    let outputs: Value = serde_json::from_str(&setting("FANFOLD_STACK")).expect("FANFOLD_STACK");
    let value = outputs[name].as_str();
    value.unwrap_or_else(|| panic!("the stack has no output {name}")).to_owned()
}

/// Calls an AWS service that takes JSON, such as `("AmazonSQS.SendMessage", "1.0", …)`.
pub async fn aws(target: &str, json_version: &str, body: &Value) -> Value {
    let call = reqwest::Client::new()
        .post(setting("AWS_ENDPOINT_URL"))
        .header("X-Amz-Target", target)
        .header("Content-Type", format!("application/x-amz-json-{json_version}"))
        .body(body.to_string());
    let answer = call.send().await.expect("the service answers");
    assert!(answer.status().is_success(), "{target}: {answer:?}");
    answer.json().await.unwrap_or_default()
}

/// Waits until something holds; says what it was if it does not within three minutes: half of a queue's tries
/// take more than one.
pub async fn eventually<T>(what: &str, check: impl AsyncFn() -> Option<T>) -> T {
    let start = std::time::Instant::now();
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(start.elapsed().as_secs() < 180, "in vain: {what}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
