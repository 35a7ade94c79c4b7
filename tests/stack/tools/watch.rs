//! `cargo lambda watch` and `cargo lambda invoke` with the local services.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::answers::{self, body};
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
        // the features of the tests: without them, every dependency would be compiled once more
        watch.args(["--features", "dev-build", "--env-file", &env_file]).stdout(Stdio::null());
        // shows a panic or a failed build
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

    /// Invokes a function on its event, with another user.
    fn invoke(&self, function: &str, handle: &str) -> Value {
        let sent = std::fs::read_to_string(event(function)).expect("an event");
        let sent = sent.replace("\"ash", &format!("\"{handle}"));
        let sent = sent.replace("\"@ash", &format!("\"@{handle}"));
        let mut invoke = command("cargo", &["lambda", "invoke", function, "--data-ascii", &sent]);
        invoke.args(["--invoke-address", "127.0.0.1", "--invoke-port", &self.port]);
        let output = succeed(invoke);
        serde_json::from_str(&output).unwrap_or_else(|_| panic!("{function} answers {output}"))
    }
}

#[tokio::test]
async fn cargo_lambda_watch_serves_http_and_accepts_events() {
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

    // a user of this run alone, so that nobody else writes for them at the same time
    let handle = format!("e{:x}", fresh());
    for function in answers::in_order() {
        let answer = watch.invoke(function.name, &handle);
        answers::check(function, &handle, &answer);
        match function.name {
            "timeline" => {
                let items = body(&answer)["items"].clone();
                assert_eq!(items[0]["text"], "Hello from an event", "{items}");
            }
            "admin" => assert_eq!(answer["home"], json!({"entries": 1, "floor_ms": 0})),
            _ => {}
        }
    }
}
