//! `cargo local`: what it prints works, what goes wrong is said in a line, nothing is left.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::program::{Background, command, run};

fn cargo_local(arguments: &[&str]) -> Command {
    command("cargo", &[&["local"], arguments].concat())
}

/// The only line that a command says of its failure.
fn complaint(arguments: &[&str]) -> String {
    let ended = run(cargo_local(arguments));
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
    up.signal("-INT");
    assert_eq!(up.end_within(Duration::from_secs(20)), Some(0));
    assert!(servers.iter().all(|url| !listens(url)), "servers are left running");
    let said = complaint(&["token", "ash"]);
    assert!(said.contains("no system is running"), "{said}");
}
