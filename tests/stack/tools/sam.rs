//! The SAM CLI: build, deploy and local invoke of the template.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::program::{Background, command, event, free_port, run, succeed};
use crate::harness::{output, setting};

const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" };
const IMAGE: &str = "fanfold-lambda-standin:al2023";

fn sam(arguments: &[&str]) -> Command {
    command(&setting("FANFOLD_SAM"), arguments)
}

/// Builds the template's functions, as a deploy begins.
fn build() {
    let architecture = format!("Architecture={ARCHITECTURE}");
    succeed(sam(&["build", "--parameter-overrides", &architecture]));
}

const FUNCTIONS: [&str; 10] = [
    "Posts", "Users", "Timeline", "Dispatch", "Deliver", "Graph", "Rebuild", "Audit", "Sweep",
    "Admin",
];

/// As deployed by default: for Graviton, from any machine. What the compiler makes of it is not looked at
/// here, so it is asked to hurry.
#[test]
fn sam_build_makes_graviton_functions_on_any_machine() {
    let folder = PathBuf::from(setting("FANFOLD_ENV_FILE")).with_file_name("sam-arm64");
    let mut build = sam(&["build", "--build-dir"]);
    build.arg(&folder).env_remove("CARGO_LAMBDA_COMPILER");
    let target = Path::new(&setting("FANFOLD_BINARIES")).with_file_name("graviton");
    build.env("CARGO_TARGET_DIR", target);
    for (setting, value) in [("LTO", "off"), ("OPT_LEVEL", "0"), ("CODEGEN_UNITS", "16")] {
        build.env(format!("CARGO_PROFILE_RELEASE_{setting}"), value);
    }
    let start = Instant::now();
    let built = run(build);
    assert_eq!(built.code, Some(0), "{}\n{}", built.stdout, built.stderr);
    println!("sam build for arm64: {} s", start.elapsed().as_secs());
    // cargo says "Finished" for each function, and compiles each crate once
    let compiled = built.stderr.matches("Compiling fanfold-store ").count();
    assert!(compiled <= 1, "one build for all functions, not {compiled}");
    for function in FUNCTIONS {
        let binary = std::fs::read(folder.join(function).join("bootstrap")).expect("a binary");
        // ELF, 64 bits, little-endian; the machine AArch64
        assert_eq!((&binary[..6], binary[18]), (&b"\x7fELF\x02\x01"[..], 183), "{function}");
    }
}

#[tokio::test]
async fn sam_build_and_sam_deploy_bring_up_a_stack_that_answers() {
    build();
    let redis_url = format!("ValkeyUrl={}/3", setting("REDIS_URL"));
    let architecture = format!("Architecture={ARCHITECTURE}");
    let deploy = ["deploy", "--stack-name", "fanfold-sam", "--no-confirm-changeset"];
    let origin = "https://app.example.com";
    let (cors, kept) = (format!("CorsOrigins={origin}"), "DeletionProtection=false");
    let parameters = ["--parameter-overrides", &redis_url, &architecture, &cors, kept];
    succeed(sam(&[&deploy[..], &parameters].concat()));
    // what the local cloud leaves out of a stack (not AWS)
    let mut gaps = command("python", &["infra/local/cloud/gaps.py", "fanfold-sam"]);
    gaps.stderr(Stdio::inherit());
    succeed(gaps);
    let endpoint = setting("AWS_ENDPOINT_URL");
    let stacks = reqwest::Client::new()
        .post(&endpoint)
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header(
            "Authorization",
            "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/cloudformation/aws4_request",
        )
        .body("Action=DescribeStacks&Version=2010-05-15&StackName=fanfold-sam");
    let stacks = stacks.send().await.expect("stacks").text().await.expect("XML");
    let api = stacks.split("<OutputKey>ApiId</OutputKey>").nth(1).expect("an output");
    let api = api.split("<OutputValue>").nth(1).and_then(|rest| rest.split('<').next());
    let api = api.expect("its value");
    assert_ne!(api, output("ApiId"), "a stack of its own");
    let url = format!("{endpoint}/_aws/execute-api/{api}/$default");
    let served = reqwest::get(format!("{url}/openapi.json")).await.expect("an answer");
    assert_eq!(served.status(), 200);
    let nobody = reqwest::get(format!("{url}/v1/timeline")).await.expect("an answer");
    assert_eq!(nobody.status(), 401);
    // a page of this origin may ask, and no other
    for (from, allowed) in [(origin, Some(origin)), ("https://elsewhere.example.com", None)] {
        let ask =
            reqwest::Client::new().request(reqwest::Method::OPTIONS, format!("{url}/v1/posts"));
        let ask = ask.header("Origin", from).header("Access-Control-Request-Method", "POST");
        let answer = ask.header("Access-Control-Request-Headers", "authorization").send().await;
        let answer = answer.expect("an answer");
        let header = answer.headers().get("access-control-allow-origin");
        assert_eq!(header.and_then(|value| value.to_str().ok()), allowed, "{from}: {answer:?}");
    }
}

/// Stands in for the image that Lambda's base image would be pulled as: a shell for the line that
/// the SAM CLI adds to it, and this machine's C library.
fn make_image() {
    let folder = PathBuf::from(setting("FANFOLD_ENV_FILE")).with_file_name("image");
    let script = r#"
        set -e; B="$1"; rm -rf "$B"
        mkdir -p "$B"/bin "$B"/tmp "$B"/etc/ssl/certs "$B"/lib64 "$B"/var/task "$B"/var/runtime "$B"/opt
        cp -L "$(command -v busybox)" "$B/bin/busybox"
        for name in sh mv chmod; do ln -s busybox "$B/bin/$name"; done
        echo 'root:x:0:0:root:/:/bin/sh' > "$B/etc/passwd"
        loader=$(ls /lib64/ld-linux-*.so.* /lib/ld-linux-*.so.* 2>/dev/null | head -n 1)
        mkdir -p "$B$(dirname "$loader")"; cp -L "$loader" "$B$loader"
        for library in libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libgcc_s.so.1 libresolv.so.2 libnss_files.so.2 libnss_dns.so.2; do
            found=$(ls /lib/*-linux-gnu/$library); mkdir -p "$B$(dirname "$found")"; cp -L "$found" "$B$found"
        done
        cp -L /etc/ssl/certs/ca-certificates.crt "$B/etc/ssl/certs/" 2>/dev/null || true
        tar -C "$B" -c . | docker import -c 'WORKDIR /var/task' - "$2"
    "#;
    let mut make = command("bash", &["-c", script, "make-image"]);
    make.arg(folder).arg(IMAGE);
    succeed(make);
}

/// Runs one function in a container and gives its answer.
fn invoke(logical_id: &str, event_name: &str) -> Value {
    let mut invoke = sam(&["local", "invoke", logical_id, "--invoke-image", IMAGE]);
    invoke.args(["--skip-pull-image", "--env-vars", &setting("FANFOLD_SAM_ENV_FILE")]);
    // a variable reaches a function only where the template declares it
    let endpoint = format!("AwsEndpointUrl={}", setting("AWS_ENDPOINT_URL"));
    let architecture = format!("Architecture={ARCHITECTURE}");
    let url = "ValkeyUrl=redis://in-the-env-file";
    invoke.args(["--parameter-overrides", &architecture, &endpoint, url]);
    invoke.arg("--event").arg(event(event_name)).env_remove("AWS_ENDPOINT_URL");
    let ended = run(invoke);
    let said = format!("{logical_id}: {}\n{}", ended.stdout, ended.stderr);
    assert_eq!(ended.code, Some(0), "{said}");
    // it ends well after a function's error too
    assert!(!ended.stdout.contains("errorType"), "{said}");
    let answer = ended.stdout.lines().rev().find_map(|line| serde_json::from_str(line).ok());
    answer.unwrap_or_else(|| panic!("{said}"))
}

fn body(answer: &Value) -> Value {
    serde_json::from_str(answer["body"].as_str().expect("a body")).expect("JSON")
}

#[test]
fn sam_local_invoke_runs_every_function_on_its_event() {
    // always: what an earlier build left may be of another source
    build();
    make_image();
    let me = invoke("Users", "users");
    assert!([200, 201].map(Value::from).contains(&me["statusCode"]), "{me}");
    assert_eq!(body(&me)["handle"], "ash");
    // most of the time goes to starting and stopping containers: two lanes at once
    std::thread::scope(|lanes| {
        lanes.spawn(invoke_http);
        lanes.spawn(invoke_queues_and_schedule);
    });
}

/// `sam local start-api` over debug builds, in which a header names the caller.
#[tokio::test]
async fn sam_local_start_api_serves_the_whole_api() {
    make_image();
    let folder = PathBuf::from(setting("FANFOLD_ENV_FILE")).with_file_name("sam-dev");
    let architecture = format!("Architecture={ARCHITECTURE}");
    let mut build = sam(&["build", "--parameter-overrides", &architecture, "--build-dir"]);
    build.arg(&folder).env("FANFOLD_BUILD", "dev");
    succeed(build);
    let port = free_port().to_string();
    let mut serve = sam(&["local", "start-api", "--host", "127.0.0.1", "--port", &port]);
    serve.arg("--template").arg(folder.join("template.yaml"));
    serve.args(["--invoke-image", IMAGE, "--skip-pull-image"]);
    serve.args(["--env-vars", &setting("FANFOLD_SAM_ENV_FILE")]);
    let endpoint = format!("AwsEndpointUrl={}", setting("AWS_ENDPOINT_URL"));
    serve.args([
        "--parameter-overrides",
        &architecture,
        &endpoint,
        "ValkeyUrl=redis://in-the-file",
    ]);
    serve.env_remove("AWS_ENDPOINT_URL").stdout(Stdio::null()).stderr(Stdio::null());
    let mut serving = Background::start(serve);
    let start = Instant::now();
    while std::net::TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
        assert!(start.elapsed().as_secs() < 120, "sam local start-api does not listen");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let http = reqwest::Client::new();
    let call = async |method: &str, path: &str, caller: Option<&str>, body: Option<Value>| {
        let url = format!("http://127.0.0.1:{port}{path}");
        let mut request = http.request(method.parse().expect("a method"), url);
        request = request.timeout(Duration::from_secs(120));
        if let Some(caller) = caller {
            request = request.header("Fanfold-Dev-Caller", caller);
        }
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        (status, answer.json::<Value>().await.unwrap_or_default())
    };
    let handle = format!("s{:x}", crate::harness::dice::fresh());
    let caller = Some(handle.as_str());
    let (status, specification) = call("GET", "/openapi.json", None, None).await;
    assert!(status == 200 && specification["paths"].is_object(), "{status} {specification}");
    let nobody = call("GET", "/v1/timeline", None, None).await;
    assert_eq!((nobody.0, &nobody.1["type"]), (401, &json!("/problems/unauthenticated")));
    let profile = json!({"handle": handle, "name": "In a container"});
    let (status, me) = call("PUT", "/v1/me", caller, Some(profile)).await;
    assert_eq!((status, &me["handle"]), (201, &json!(handle)), "{me}");
    let post = json!({"text": "from a container"});
    let (status, post) = call("POST", "/v1/posts", caller, Some(post)).await;
    assert_eq!(status, 201, "{post}");
    let (status, feed) = call("GET", "/v1/timeline?limit=1", caller, None).await;
    assert_eq!((status, &feed["items"]), (200, &json!([post])));
    let (status, lost) = call("GET", "/v1/nowhere", caller, None).await;
    assert_eq!((status, &lost["type"]), (404, &json!("/problems/no-such-route")));
    // it stops its containers
    serving.signal("-TERM");
    serving.end_within(Duration::from_secs(60));
}

fn invoke_http() {
    let post = invoke("Posts", "posts");
    assert_eq!(post["statusCode"], 201, "{post}");
    assert_eq!(body(&post)["text"], "Hello from an event");
    let again = invoke("Posts", "posts");
    assert_eq!(body(&again), body(&post), "the event has an idempotency key");
    let feed = invoke("Timeline", "timeline");
    assert_eq!(feed["statusCode"], 200, "{feed}");
    assert_eq!(body(&feed)["items"], json!([body(&post)]));
}

fn invoke_queues_and_schedule() {
    for (logical_id, event_name) in [
        ("Dispatch", "dispatch"),
        ("Deliver", "deliver"),
        ("Graph", "graph"),
        ("Rebuild", "rebuild"),
    ] {
        let bad_alone = json!({"batchItemFailures": [{"itemIdentifier": "bad"}]});
        assert_eq!(invoke(logical_id, event_name), bad_alone, "{logical_id}");
    }
    let audited = invoke("Audit", "audit");
    assert!(audited["checked"].is_u64() && audited["differed"] == 0, "{audited}");
    let rebuilt = invoke("Admin", "admin");
    assert!(rebuilt["home"]["entries"].is_u64() && rebuilt["handle"] == "ash", "{rebuilt}");
    let swept = invoke("Sweep", "sweep");
    assert!(swept["dropped"].is_u64() && swept["remaining"].is_u64(), "{swept}");
}
