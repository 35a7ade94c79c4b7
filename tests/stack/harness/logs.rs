//! The logs of the deployed functions.

use fanfold_core::Time;
use serde_json::{Value, json};

use super::{aws, setting};

/// The names of all deployed functions.
pub async fn functions() -> Vec<String> {
    let url = format!("{}/2015-03-31/functions/?MaxItems=10000", setting("AWS_ENDPOINT_URL"));
    let all = reqwest::get(url).await.expect("Lambda answers").json::<Value>().await.expect("JSON");
    let all = all["Functions"].as_array().expect("functions").iter();
    all.map(|function| function["FunctionName"].as_str().expect("a name").to_owned()).collect()
}

/// The name of the deployed function with this logical name in the template.
pub async fn function(name: &str) -> String {
    let end = format!("-{}", name.to_lowercase());
    let found = functions().await.into_iter().find(|function| function.ends_with(&end));
    found.unwrap_or_else(|| panic!("there is no function {name}"))
}

/// All lines of a function's log since a time that contain a word. (The stack creates the log groups before the
/// first call. This code does not list them: the local cloud cannot list log groups while functions write.)
pub async fn lines(function: &str, since: Time, word: &str) -> Vec<String> {
    let (mut lines, mut token) = (Vec::new(), Value::Null);
    let group = format!("/aws/lambda/{function}");
    loop {
        let mut ask = json!({"logGroupName": group, "startTime": since});
        if !token.is_null() {
            ask["nextToken"] = token;
        }
        let found = aws("Logs_20140328.FilterLogEvents", "1.1", &ask).await;
        let events = found["events"].as_array().cloned().unwrap_or_default();
        let messages = events.iter().filter_map(|event| event["message"].as_str());
        let matches = messages.flat_map(str::lines).filter(|line| line.contains(word));
        lines.extend(matches.map(str::to_owned));
        token = found["nextToken"].clone();
        if token.is_null() {
            return lines;
        }
    }
}

/// The lines of a function's log since a time that contain a word, are JSON, and have this message.
pub async fn entries(function: &str, since: Time, word: &str, message: &str) -> Vec<Value> {
    let lines = lines(function, since, word).await;
    let lines = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["message"] == message).collect()
}
