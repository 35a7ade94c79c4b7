//! HTTP calls of the tool.

use std::time::Duration;

use serde_json::Value;

use crate::base::failure::{Done, failure};

/// Calls a URL and returns status and body, for any status. A body that is not JSON becomes null. Waits for 20 seconds.
pub fn call(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> Done<(u16, Value)> {
    call_within(Duration::from_secs(20), method, url, headers, body)
}

/// Calls a URL as [`call`] does, and waits for the given time.
pub fn call_within(
    limit: Duration,
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> Done<(u16, Value)> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        // every call is to this machine
        .proxy(None)
        .http_status_as_error(false)
        .timeout_global(Some(limit))
        .build()
        .into();
    let mut request = ureq::http::Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = body.map(Value::to_string).unwrap_or_default();
    let request =
        request.body(body).map_err(|error| failure(format!("{method} {url}: {error}")))?;
    let mut response =
        agent.run(request).map_err(|error| failure(format!("{method} {url}: {error}")))?;
    let text = response.body_mut().read_to_string();
    let text = text.map_err(|error| failure(format!("{method} {url}: {error}")))?;
    Ok((response.status().as_u16(), serde_json::from_str(&text).unwrap_or_default()))
}
