//! Code that the tests share. If a server is missing, the test fails.

pub mod any;
pub mod client;
pub mod dice;
pub mod logs;
pub mod servers;
pub mod tls;
pub mod traces;
pub mod valkeys;
pub mod world;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fanfold_core::board::BoardSettings;
use serde_json::{Value, json};

/// A setting that `cargo local test` passes to the tests in an environment variable.
pub fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set. These tests need a running system: run `cargo local test`")
    })
}

/// The repository: that of the crate whose tests cargo runs. A path that was compiled in would be an earlier one if the
/// repository was moved or copied with its `target`.
pub fn root() -> PathBuf {
    Path::new(&setting("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository")
}

/// An output of the deployed stack.
pub fn output(name: &str) -> String {
    let outputs: Value = serde_json::from_str(&setting("FANFOLD_STACK")).expect("FANFOLD_STACK");
    let value = outputs[name].as_str();
    value.unwrap_or_else(|| panic!("the stack has no output {name}")).to_owned()
}

/// The settings of a board: the defaults with these changes.
pub fn board_settings(changes: Value) -> BoardSettings {
    let mut all = json!({
        "orders": ["descending"], "ranks": "competition", "period": "all", "zone": "UTC",
        "kept_days": 30, "open": false, "writers": [],
    });
    let fields = all.as_object_mut().expect("an object");
    fields.extend(changes.as_object().expect("an object").clone());
    serde_json::from_value(all).expect("settings")
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

/// Waits until `check` returns a value. Panics with the text `what` after three minutes. (Half of the tries of a
/// queue take more than one minute.)
pub async fn eventually<T>(what: &str, check: impl AsyncFn() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(start.elapsed().as_secs() < 180, "not within three minutes: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
