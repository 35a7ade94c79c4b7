//! The SAM CLI: build, deploy and local invoke of the template.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fanfold_core::registry::{FUNCTIONS, FunctionSpec, Trigger};
use serde_json::{Value, json};

use super::answers::{self, body};
use super::program::{Background, command, event, free_port, run, succeed};
use crate::harness::dice::fresh;
use crate::harness::{output, setting};

const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" };
const IMAGE: &str = "fanfold-lambda-standin:al2023";

fn sam(arguments: &[&str]) -> Command {
    command(&setting("FANFOLD_SAM"), arguments)
}

/// The files and folders whose paths begin with this one.
fn starting_with(start: &Path) -> Vec<PathBuf> {
    let name = start.file_name().expect("a name").to_string_lossy().into_owned();
    let Ok(entries) = std::fs::read_dir(start.parent().expect("a folder")) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.expect("an entry"));
    let paths = paths.filter(|entry| entry.file_name().to_string_lossy().starts_with(&name));
    paths.map(|entry| entry.path()).collect()
}

/// Builds the functions of the template.
fn build() {
    let architecture = format!("Architecture={ARCHITECTURE}");
    succeed(sam(&["build", "--parameter-overrides", &architecture]));
}

/// By default, functions are built for Graviton, on any machine. This test does not run the binaries, so it
/// builds them without optimization.
#[test]
fn sam_build_makes_graviton_functions_on_any_machine() {
    let folder = PathBuf::from(setting("FANFOLD_ENV_FILE")).with_file_name("sam-arm64");
    let mut build = sam(&["build", "--build-dir"]);
    build.arg(&folder).env_remove("CARGO_LAMBDA_COMPILER");
    let target = Path::new(&setting("FANFOLD_BINARIES")).with_file_name("graviton");
    // what an earlier run of this test has linked is linked again
    let of_functions = "aarch64-unknown-linux-gnu/release/.fingerprint/fanfold-functions-";
    for earlier in starting_with(&target.join(of_functions)) {
        std::fs::remove_dir_all(earlier).expect("removed");
    }
    build.env("CARGO_TARGET_DIR", target);
    for (setting, value) in [("LTO", "off"), ("CODEGEN_UNITS", "16")] {
        build.env(format!("CARGO_PROFILE_RELEASE_{setting}"), value);
    }
    // after the level of each package in Cargo.toml, of which the last one counts
    build.env("RUSTFLAGS", "-Copt-level=0");
    // a wrapper of the compiler notes each linked program
    let (wrapper, linked) =
        (folder.with_file_name("noting-rustc"), folder.with_file_name("linked"));
    let note = r#"case " $* " in *" --crate-type bin --emit="*) echo "$*" >>"$FANFOLD_LINKED" ;; esac; exec "$@""#;
    std::fs::write(&wrapper, format!("#!/bin/sh\n{note}\n")).expect("written");
    std::fs::set_permissions(&wrapper, Permissions::from_mode(0o755)).expect("executable");
    let _ = std::fs::remove_file(&linked);
    build.env("RUSTC_WORKSPACE_WRAPPER", &wrapper).env("FANFOLD_LINKED", &linked);
    let start = Instant::now();
    let built = run(build);
    assert_eq!(built.code, Some(0), "{}\n{}", built.stdout, built.stderr);
    println!("sam build for arm64: {} s", start.elapsed().as_secs());
    let linked = std::fs::read_to_string(&linked).expect("the note of a linked program");
    // the build script of the page runs on this machine
    let functions = linked.lines().filter(|line| !line.contains("--crate-name build_script"));
    assert_eq!(functions.count(), 1, "one program serves all functions: {linked}");
    let of = |function: &FunctionSpec| {
        std::fs::read(folder.join(function.resource).join("bootstrap")).expect("a binary")
    };
    let first = of(&FUNCTIONS[0]);
    // ELF, 64 bits, little-endian; the machine AArch64
    assert_eq!((&first[..6], first[18]), (&b"\x7fELF\x02\x01"[..], 183));
    // the same bytes for every function: one upload
    assert!(FUNCTIONS.iter().all(|function| of(function) == first));
}

#[tokio::test]
async fn sam_build_and_sam_deploy_create_a_stack_that_answers() {
    build();
    let redis_url = format!("ValkeyUrl={}/3", setting("REDIS_URL"));
    let architecture = format!("Architecture={ARCHITECTURE}");
    let deploy = ["deploy", "--stack-name", "fanfold-sam", "--no-confirm-changeset"];
    let origin = "https://app.example.com";
    let (cors, kept) = (format!("CorsOrigins={origin}"), "DeletionProtection=false");
    let parameters = ["--parameter-overrides", &redis_url, &architecture, &cors, kept];
    succeed(sam(&[&deploy[..], &parameters].concat()));
    // adds what the local cloud (unlike AWS) omits in a stack
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
    assert_ne!(api, output("ApiId"), "the API belongs to another stack");
    let url = format!("{endpoint}/_aws/execute-api/{api}/$default");
    let served = reqwest::get(format!("{url}/openapi.json")).await.expect("an answer");
    assert_eq!(served.status(), 200);
    let nobody = reqwest::get(format!("{url}/v1/timeline")).await.expect("an answer");
    assert_eq!(nobody.status(), 401);
    // pages of this origin are allowed, others are not
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

/// Makes a replacement for Lambda's base image: a shell for the line that the SAM CLI adds to the image, and the
/// C library of this machine.
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

/// Runs a function on its event in a container. Returns its answer, which is checked.
fn invoke(function: &FunctionSpec) -> Value {
    let mut invoke = sam(&["local", "invoke", function.resource, "--invoke-image", IMAGE]);
    invoke.args(["--skip-pull-image", "--env-vars", &setting("FANFOLD_SAM_ENV_FILE")]);
    // a variable reaches a function only if the template declares it
    let endpoint = format!("AwsEndpointUrl={}", setting("AWS_ENDPOINT_URL"));
    let architecture = format!("Architecture={ARCHITECTURE}");
    let url = "ValkeyUrl=redis://in-the-env-file";
    invoke.args(["--parameter-overrides", &architecture, &endpoint, url]);
    invoke.arg("--event").arg(event(function.name)).env_remove("AWS_ENDPOINT_URL");
    let ended = run(invoke);
    let output = format!("{}: {}\n{}", function.name, ended.stdout, ended.stderr);
    assert_eq!(ended.code, Some(0), "{output}");
    // sam ends with status 0 after an error of the function, too
    assert!(!ended.stdout.contains("errorType"), "{output}");
    let answer = ended.stdout.lines().rev().find_map(|line| serde_json::from_str(line).ok());
    let answer = answer.unwrap_or_else(|| panic!("{output}"));
    answers::check(function, "ash", &answer);
    answer
}

#[test]
fn sam_local_invoke_runs_every_function_on_its_event() {
    // build in any case: an earlier build may be of another source
    build();
    make_image();
    let functions = answers::in_order();
    let (users, others) = functions.split_first().expect("functions");
    invoke(users);
    let (http, others): (Vec<_>, Vec<_>) =
        others.iter().copied().partition(|function| function.trigger == Trigger::Http);
    // containers take most of their time to start and stop, so run two at once
    std::thread::scope(|lanes| {
        lanes.spawn(|| invoke_http(&http));
        lanes.spawn(|| {
            for function in others {
                invoke(function);
            }
        });
    });
}

/// `sam local start-api` with development builds, in which a header names the caller.
#[tokio::test]
async fn sam_local_start_api_serves_the_whole_api() {
    make_image();
    let folder = PathBuf::from(setting("FANFOLD_ENV_FILE")).with_file_name("sam-dev");
    let architecture = format!("Architecture={ARCHITECTURE}");
    let mut build = sam(&["build", "--parameter-overrides", &architecture, "--build-dir"]);
    build.arg(&folder).env("FANFOLD_BUILD", "dev").env("FANFOLD_FEATURES", "dev-build");
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
    let handle = format!("s{:x}", fresh());
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
    // sam stops its containers
    serving.signal("-TERM");
    serving.end_within(Duration::from_secs(60));
}

/// The answers of functions that answer requests, in this order.
fn invoke_http(functions: &[&FunctionSpec]) {
    let answers: BTreeMap<&str, Value> =
        functions.iter().map(|function| (function.name, invoke(function))).collect();
    let post = body(&answers["posts"]);
    let posts = functions.iter().find(|function| function.name == "posts").expect("posts");
    assert_eq!(body(&invoke(posts)), post, "the event has an idempotency key");
    assert_eq!(body(&answers["timeline"])["items"], json!([post]));
}
