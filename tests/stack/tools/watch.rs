//! `cargo lambda watch` and `cargo lambda invoke`, against the local services.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::program::{Background, command, event, free_port, succeed};
use crate::harness::dice::fresh;
use crate::harness::setting;

struct Watch {
    port: String,
    http: reqwest::Client,
    _running: Background,
}

impl Watch {
    async fn start() -> Self {
        let (port, env_file) = (free_port().to_string(), setting("FANFOLD_ENV_FILE"));
        let arguments = ["lambda", "watch", "-A", "127.0.0.1", "-P", &port, "--ignore-changes"];
        let mut watch = command("cargo", &arguments);
        watch.args(["--env-file", &env_file]).stdout(Stdio::null());
        // a panic or a failed build would show here
        watch.stderr(Stdio::inherit());
        let running = Background::start(watch);
        let start = Instant::now();
        while std::net::TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
            assert!(start.elapsed().as_secs() < 60, "cargo lambda watch does not listen");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Self { port, http: reqwest::Client::new(), _running: running }
    }

    async fn call(
        &self,
        method: &str,
        path: &str,
        caller: Option<&str>,
        body: Option<Value>,
    ) -> (u16, Value) {
        let url = format!("http://127.0.0.1:{}/lambda-url{path}", self.port);
        let mut request = self.http.request(method.parse().expect("a method"), url);
        // the first call of a function builds it
        request = request.timeout(Duration::from_secs(900));
        if let Some(caller) = caller {
            request = request.header("Fanfold-Dev-Caller", caller);
        }
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.expect("an answer");
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    fn invoke(&self, function: &str) -> Value {
        let file = event(function).display().to_string();
        self.invoke_with(function, ["--data-file", &file])
    }

    fn invoke_with(&self, function: &str, data: [&str; 2]) -> Value {
        let mut invoke = command("cargo", &["lambda", "invoke", function]);
        invoke.args(["--invoke-address", "127.0.0.1", "--invoke-port", &self.port]).args(data);
        let said = succeed(invoke);
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("{function} said {said}"))
    }
}

#[tokio::test]
async fn watch_serves_the_http_functions_and_takes_events_for_the_others() {
    let watch = Watch::start().await;
    let handle = format!("w{:x}", fresh());
    let caller = Some(handle.as_str());
    let nobody = watch.call("GET", "/timeline/v1/timeline", None, None).await;
    assert_eq!((nobody.0, &nobody.1["type"]), (401, &json!("/problems/unauthenticated")));
    let profile = json!({"handle": handle, "name": "In development"});
    let (status, me) = watch.call("PUT", "/users/v1/me", caller, Some(profile)).await;
    assert_eq!(status, 201, "{me}");
    let post = json!({"text": "from development"});
    let (status, post) = watch.call("POST", "/posts/v1/posts", caller, Some(post)).await;
    assert_eq!(status, 201, "{post}");
    let (status, feed) = watch.call("GET", "/timeline/v1/timeline?limit=1", caller, None).await;
    assert_eq!((status, &feed["items"]), (200, &json!([post])));
    let path = format!("/timeline/v1/users/@{handle}/posts");
    let (status, feed) = watch.call("GET", &path, caller, None).await;
    assert_eq!((status, &feed["items"]), (200, &json!([post])));

    for function in ["dispatch", "deliver", "graph", "rebuild"] {
        let bad_alone = json!({"batchItemFailures": [{"itemIdentifier": "bad"}]});
        assert_eq!(watch.invoke(function), bad_alone, "{function}");
    }
    let audited = watch.invoke("audit");
    assert!(audited["checked"].is_u64() && audited["differed"] == 0, "{audited}");
    let order = json!({"do": "rebuild-feed", "user": format!("@{handle}")}).to_string();
    let rebuilt = watch.invoke_with("admin", ["--data-ascii", &order]);
    assert_eq!(rebuilt["home"], json!({"entries": 1, "floor_ms": 0}), "{rebuilt}");
    let swept = watch.invoke("sweep");
    assert!(swept["dropped"].is_u64() && swept["remaining"].is_u64(), "{swept}");
}
