//! `cargo local`: the printed commands work, an error is one line, and no process is left.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::orders;
use super::program::{Background, command, run, succeed};

/// The state of the system that these tests start: not the one of a `cargo local` that the user runs meanwhile.
pub(super) fn state_file() -> PathBuf {
    std::env::temp_dir().join(format!("fanfold-state-{}.json", std::process::id()))
}

pub(super) fn state() -> Value {
    let state = std::fs::read_to_string(state_file()).expect("the running system");
    serde_json::from_str(&state).expect("JSON")
}

pub(super) fn cargo_local(arguments: &[&str]) -> Command {
    let mut local = command("cargo", &[&["local"], arguments].concat());
    local.env("FANFOLD_STATE", state_file());
    local
}

/// The error line of a `cargo local` command that must fail with one line.
pub(super) fn error_line(arguments: &[&str]) -> String {
    error_line_of(cargo_local(arguments))
}

/// The error line of a command that must fail with one line. A wrong argument has status 2, and help after the line.
pub(super) fn error_line_of(command: Command) -> String {
    let ended = run(command);
    let (start, is_help) = match ended.code {
        Some(1) => ("cargo local: ", false),
        Some(2) => ("error: ", true),
        code => panic!("{code:?}: {}", ended.stderr),
    };
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with(start)).collect();
    assert_eq!(lines.len(), 1, "{}", ended.stderr);
    if is_help { ended.stderr } else { lines[0].to_owned() }
}

/// The last word of the first line that starts with this.
pub(super) fn last_word(lines: &[String], start: &str) -> String {
    let line = lines.iter().find(|line| line.starts_with(start)).expect(start);
    line.split_whitespace().last().expect("a word").to_owned()
}

pub(super) fn listens(url: &str) -> bool {
    let address = url.split("//").nth(1).expect("a url").split('/').next().expect("an address");
    TcpStream::connect(address).is_ok()
}

#[test]
fn exec_runs_a_command_with_a_system_and_returns_its_status() {
    let script = r#"echo "$REDIS_URL"; echo "$AWS_ENDPOINT_URL"
        curl -s -o /dev/null -w '%{http_code}\n' "$FANFOLD_URL/openapi.json"
        curl -s -o /dev/null -w '%{http_code}\n' "$FANFOLD_URL/v1/timeline"
        curl -s -o /dev/null -w '%{http_code}\n' -X PUT "$FANFOLD_URL/v1/me" -d '{"handle":"ash","name":"Ash"}' \
            -H 'Content-Type: application/json' -H "Authorization: Bearer $(cargo local token ash)"
        exit 7"#;
    let ended = run(cargo_local(&["exec", "--", "sh", "-c", script]));
    assert_eq!(ended.code, Some(7), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(
        lines[2..],
        ["200", "401", "201"],
        "output other than that of the command: {}",
        ended.stdout
    );
    assert!(!listens(lines[0]) && !listens(lines[1]), "servers still run: {lines:?}");
}

#[test]
fn an_error_is_reported_in_one_line() {
    let busy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = busy.local_addr().expect("an address").port().to_string();
    for option in ["--port", "--valkey-port"] {
        let error = error_line(&[option, &port]);
        assert!(error.contains(&format!("port {port} ({option})")), "{error}");
    }
    let error = error_line(&["exec", "--", "no-such-program"]);
    assert!(error.contains("no-such-program"), "{error}");
    let error = error_line(&["--port", "4270", "--aws-port", "4270"]);
    assert!(error.contains("--port and --aws-port are both 4270"), "{error}");
}

/// The exit code of a command that a signal ends is the one that a shell would give. A signal to the tool reaches the
/// command and what it has started.
#[test]
fn exec_passes_signals_on() {
    let ended = run(cargo_local(&["exec", "--", "sh", "-c", "kill -KILL $$"]));
    assert_eq!(ended.code, Some(128 + 9), "{}", ended.stderr);
    let mut exec = cargo_local(&["exec", "--", "sh", "-c", "sleep 600 & echo $!; wait"]);
    exec.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut exec = Background::start(exec);
    let mut line = String::new();
    let mut output = BufReader::new(exec.child.stdout.take().expect("its output"));
    output.read_line(&mut line).expect("a line");
    exec.signal("-TERM");
    assert_eq!(exec.end_within(Duration::from_secs(30)), Some(128 + 15));
    // a process that has ended is a zombie (Z) until its new parent asks for its status
    let start = Instant::now();
    loop {
        let state = run(command("ps", &["-o", "stat=", "-p", line.trim()])).stdout;
        if state.trim().is_empty() || state.starts_with('Z') {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "the command's child still runs");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_printed_commands_work_and_ctrl_c_stops_everything() {
    // the API's default port is taken, here or by another program
    let _busy = TcpListener::bind("127.0.0.1:4270");
    let mut up = cargo_local(&[]);
    up.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut up = Background::start(up);
    let mut lines = Vec::new();
    for line in BufReader::new(up.child.stdout.take().expect("its output")).lines() {
        let line = line.expect("a line");
        lines.push(line.clone());
        if line.starts_with("Ctrl-C") {
            break;
        }
    }
    let servers: Vec<&str> = lines
        .iter()
        .filter(|line| line.starts_with("  AWS") || line.starts_with("  Valkey"))
        .map(|line| line.split_whitespace().last().expect("a url"))
        .collect();
    assert_eq!(servers.iter().filter(|url| listens(url)).count(), 2, "{lines:#?}");
    let api = last_word(&lines, "  API");
    let page = format!("  Page    {api}/ (open this in a browser)");
    assert!(lines.contains(&page), "{lines:#?}");
    assert!(api.starts_with("http://localhost:") && !api.ends_with(":4270"), "{api}");
    let env_file = last_word(&lines, "Functions that reload");
    let place = lines.iter().position(|line| line.starts_with("TOKEN=")).expect("the lines");
    let pasted = lines[place..place + 4].join("\necho\n");
    let mut paste = command("bash", &["-ec", &pasted]);
    paste.env("FANFOLD_STATE", state_file());
    let answers = run(paste);
    assert_eq!(answers.code, Some(0), "{}", answers.stderr);
    let answers: Vec<Value> = answers
        .stdout
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line} is not JSON")))
        .collect();
    // the demo data has more posts than a page
    assert_eq!(answers[0]["items"].as_array().map(Vec::len), Some(20), "{answers:#?}");
    assert_eq!(answers[1]["text"], "Hello!");
    assert!(answers[2]["items"].as_array().is_some_and(|items| items.len() == 3));
    check_redrive(answers[1]["id"].as_str().expect("an id"));
    orders::check_orders(Path::new(&env_file));
    up.signal("-INT");
    assert_eq!(up.end_within(Duration::from_secs(20)), Some(0));
    assert!(servers.iter().all(|url| !listens(url)), "servers still run");
    for arguments in [
        &["token", "ash"][..],
        &["redrive", "chunks"],
        &["rebuild", "@ash"],
        &["drop", "@ash", "--yes"],
        &["doctor"],
        &["begin-memory"],
    ] {
        let error = error_line(arguments);
        assert!(error.contains("no system is running"), "{error}");
    }
}

/// `cargo local redrive` returns a dead chunk to its queue, and the chunk is handled.
fn check_redrive(post: &str) {
    let state = state();
    let sqs = |operation: &str, queue: &str, body: Value| -> Value {
        let mut body = body;
        body["QueueUrl"] = state["outputs"][queue].clone();
        let endpoint = state["endpoint"].as_str().expect("an endpoint");
        let target = format!("X-Amz-Target: AmazonSQS.{operation}");
        let json = "Content-Type: application/x-amz-json-1.0";
        let call = ["-sf", endpoint, "-H", &target, "-H", json, "-d", &body.to_string()];
        serde_json::from_str(&succeed(command("curl", &call))).expect("JSON")
    };
    let chunk = serde_json::json!({
        "type": "DeliverChunk", "v": 1, "post": post, "cut_at_ms": 1, "followers": "AAAAAAAAAAE",
    });
    let letter = serde_json::json!({"MessageBody": chunk.to_string()});
    sqs("SendMessage", "ChunksDeadQueueUrl", letter);
    let output = succeed(cargo_local(&["redrive", "chunks"]));
    assert!(output.ends_with("1 of 1 dead letters moved to chunks\n"), "{output}");
    let length = |queue: &str| {
        let all = sqs("GetQueueAttributes", queue, serde_json::json!({"AttributeNames": ["All"]}));
        let count = |name: &str| all["Attributes"][name].as_str()?.parse::<u64>().ok();
        let states = ["", "NotVisible", "Delayed"];
        let names = states.map(|state| format!("ApproximateNumberOfMessages{state}"));
        names.iter().filter_map(|name| count(name)).sum::<u64>()
    };
    let start = Instant::now();
    while length("ChunksQueueUrl") > 0 {
        assert!(start.elapsed().as_secs() < 20, "the chunk is not handled within 20 s");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(length("ChunksDeadQueueUrl"), 0);
    let error = error_line(&["redrive", "no-such-queue"]);
    assert!(error.contains("no-such-queue") && error.contains("graph-events"), "{error}");
}
