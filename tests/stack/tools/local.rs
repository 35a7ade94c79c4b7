//! `cargo local`: what it prints works, what goes wrong is said in a line, nothing is left.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::orders;
use super::program::{Background, command, root, run, succeed};

pub(super) fn cargo_local(arguments: &[&str]) -> Command {
    command("cargo", &[&["local"], arguments].concat())
}

/// The only line that a command says of its failure.
pub(super) fn complaint(arguments: &[&str]) -> String {
    complaint_of(cargo_local(arguments))
}

pub(super) fn complaint_of(command: Command) -> String {
    let ended = run(command);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let lines: Vec<&str> =
        ended.stderr.lines().filter(|line| line.starts_with("cargo local: ")).collect();
    assert_eq!(lines.len(), 1, "{}", ended.stderr);
    lines[0].to_owned()
}

fn listens(url: &str) -> bool {
    let address = url.split("//").nth(1).expect("a url").split('/').next().expect("an address");
    TcpStream::connect(address).is_ok()
}

#[test]
fn exec_gives_a_command_the_system_and_ends_with_its_status() {
    let script = r#"echo "$REDIS_URL"; echo "$AWS_ENDPOINT_URL"
        curl -s -o /dev/null -w '%{http_code}\n' "$FANFOLD_URL/openapi.json"
        curl -s -o /dev/null -w '%{http_code}\n' "$FANFOLD_URL/v1/timeline"; exit 7"#;
    let ended = run(cargo_local(&["exec", "--", "sh", "-c", script]));
    assert_eq!(ended.code, Some(7), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[2..], ["200", "401"], "quiet but for the command: {}", ended.stdout);
    assert!(!listens(lines[0]) && !listens(lines[1]), "servers are left running: {lines:?}");
}

#[test]
fn what_goes_wrong_is_said_in_one_line() {
    let busy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = busy.local_addr().expect("an address").port().to_string();
    for option in ["--port", "--valkey-port"] {
        let said = complaint(&[option, &port]);
        assert!(said.contains(&format!("port {port} ({option})")), "{said}");
    }
    let said = complaint(&["exec", "--", "no-such-program"]);
    assert!(said.contains("no-such-program"), "{said}");
}

#[test]
fn the_lines_that_it_prints_work_when_pasted_and_ctrl_c_stops_all() {
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
    let place = lines.iter().position(|line| line.starts_with("TOKEN=")).expect("the lines");
    let pasted = lines[place..place + 4].join("\necho\n");
    let answers = run(command("bash", &["-ec", &pasted]));
    assert_eq!(answers.code, Some(0), "{}", answers.stderr);
    let answers: Vec<Value> = answers
        .stdout
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line} is no JSON")))
        .collect();
    assert_eq!(answers[0]["items"].as_array().map(Vec::len), Some(5), "{answers:#?}");
    assert_eq!(answers[1]["text"], "Hello!");
    assert!(answers[2]["items"].as_array().is_some_and(|items| items.len() == 3));
    redrive_brings_dead_letters_back(answers[1]["id"].as_str().expect("an id"));
    orders::are_obeyed();
    up.signal("-INT");
    assert_eq!(up.end_within(Duration::from_secs(20)), Some(0));
    assert!(servers.iter().all(|url| !listens(url)), "servers are left running");
    for arguments in [
        &["token", "ash"][..],
        &["redrive", "chunks"],
        &["rebuild", "@ash"],
        &["drop", "@ash", "--yes"],
        &["doctor"],
        &["begin-memory"],
    ] {
        let said = complaint(arguments);
        assert!(said.contains("no system is running"), "{said}");
    }
}

/// A chunk that lay among the dead letters is delivered, late, and does no harm.
fn redrive_brings_dead_letters_back(post: &str) {
    let state = std::fs::read_to_string(root().join("target/local/running.json"));
    let state: Value = serde_json::from_str(&state.expect("the running system")).expect("JSON");
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
    let said = succeed(cargo_local(&["redrive", "chunks"]));
    assert!(said.ends_with("1 of 1 moved to chunks\n"), "{said}");
    let length = |queue: &str| {
        let all = sqs("GetQueueAttributes", queue, serde_json::json!({"AttributeNames": ["All"]}));
        let count = |name: &str| all["Attributes"][name].as_str()?.parse::<u64>().ok();
        let states = ["", "NotVisible", "Delayed"];
        let names = states.map(|state| format!("ApproximateNumberOfMessages{state}"));
        names.iter().filter_map(|name| count(name)).sum::<u64>()
    };
    let start = std::time::Instant::now();
    while length("ChunksQueueUrl") > 0 {
        assert!(start.elapsed().as_secs() < 20, "the chunk is not handled");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(length("ChunksDeadQueueUrl"), 0);
    let said = complaint(&["redrive", "no-such-queue"]);
    assert!(said.contains("no-such-queue") && said.contains("graph-events"), "{said}");
}
