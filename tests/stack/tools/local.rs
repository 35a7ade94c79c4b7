//! `cargo local`: the printed commands work, an error is one line, and no process is left.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::orders;
use super::program::{Background, command, free_port, run, succeed};
use crate::harness::{dice, root};

/// The folder of the systems that these tests start: not those of a `cargo local` that the user runs meanwhile.
pub(super) fn runs() -> PathBuf {
    std::env::temp_dir().join(format!("fanfold-runs-{}", std::process::id()))
}

/// The state of the only system.
pub(super) fn state() -> Value {
    let mut folders = std::fs::read_dir(runs()).expect("the running system");
    let folder = folders.next().expect("the running system").expect("a folder").path();
    let state = std::fs::read_to_string(folder.join("state.json")).expect("the running system");
    serde_json::from_str(&state).expect("JSON")
}

pub(super) fn cargo_local(arguments: &[&str]) -> Command {
    let mut local = command("cargo", &[&["local"], arguments].concat());
    local.env("FANFOLD_RUNS", runs());
    local
}

/// Runs the system. Returns when it runs, with the lines that it printed.
pub(super) fn up(mut cargo_local: Command) -> (Background, Vec<String>) {
    cargo_local.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut up = Background::start(cargo_local);
    let mut lines = Vec::new();
    for line in BufReader::new(up.child.stdout.take().expect("its output")).lines() {
        lines.push(line.expect("a line"));
        if lines.last().is_some_and(|line| line.starts_with("Ctrl-C")) {
            break;
        }
    }
    (up, lines)
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
        assert!(error.contains(&format!("give {option} another port")), "{error}");
    }
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
    let (mut up, lines) = up(cargo_local(&[]));
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
    paste.env("FANFOLD_RUNS", runs());
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

#[test]
fn a_command_finds_the_only_system_or_asks_which_one() {
    let ports = [free_port(), free_port()].map(|port| port.to_string());
    let [(mut first, _), (mut second, lines)] =
        [0, 1].map(|number| up(cargo_local(&["--port", &ports[number]])));
    for arguments in
        [&["token", "ash"][..], &["doctor"], &["rebuild", "@ash"], &["redrive", "chunks"]]
    {
        let error = error_line(arguments);
        assert!(error.contains("--port") && ports.iter().all(|p| error.contains(p)), "{error}");
    }
    // the one that was printed by the second system, which has not the usual port
    let printed = lines.iter().find(|line| line.starts_with("TOKEN=")).expect("the line");
    assert_eq!(*printed, format!("TOKEN=$(cargo local token ash --port {})", ports[1]));
    let read_by = |port: &str, token: &str| {
        let (url, bearer) =
            (format!("http://localhost:{port}/v1/me"), format!("Authorization: Bearer {token}"));
        run(command("curl", &["-sf", &url, "-H", &bearer])).code == Some(0)
    };
    for port in &ports {
        let token = succeed(cargo_local(&["token", "ash", "--port", port]));
        assert!(read_by(port, token.trim()), "the token is for the system with port {port}");
    }
    let of_first = Path::new(&runs()).join(&ports[0]).join("functions.env");
    second.signal("-INT");
    assert_eq!(second.end_within(Duration::from_secs(20)), Some(0));
    let token = succeed(cargo_local(&["token", "ash"]));
    assert!(read_by(&ports[0], token.trim()));
    assert!(of_first.is_file(), "the settings of the first one stay");
    let error = error_line(&["token", "ash", "--port", &ports[1]]);
    assert!(error.contains(&format!("no system is running on port {}", ports[1])), "{error}");
    first.signal("-INT");
    assert_eq!(first.end_within(Duration::from_secs(20)), Some(0));
    assert!(error_line(&["token", "ash"]).contains("no system is running"));
}

/// The tool itself, as if it was built in a folder that was copied: with nothing installed, and with programs that only
/// note their calls and where they were called.
struct Bare {
    folder: PathBuf,
}

impl Bare {
    fn new(programs: &[&str]) -> Self {
        // builds the tool
        succeed(cargo_local(&["--version"]));
        let tests = std::env::current_exe().expect("the tests");
        let built = tests.ancestors().nth(2).expect("a folder").join("fanfold-local");
        let bare =
            Self { folder: std::env::temp_dir().join(format!("fanfold-bare-{:x}", dice::fresh())) };
        for folder in ["target/debug", "bin", "infra/local/cloud"] {
            std::fs::create_dir_all(bare.folder.join(folder)).expect("a folder");
        }
        for file in ["target/CACHEDIR.TAG", "infra/local/Cargo.toml"] {
            std::fs::write(bare.folder.join(file), "").expect("a file");
        }
        let cloud = "infra/local/cloud/requirements-cloud.txt";
        std::fs::copy(root().join(cloud), bare.folder.join(cloud)).expect("the pins");
        std::fs::copy(built, bare.tool()).expect("the tool");
        for program in programs {
            let file = bare.folder.join("bin").join(program);
            std::fs::write(&file, "#!/bin/sh\necho \"$0 in $(pwd)\" >>\"$NOTES\"\nexit $STATUS\n")
                .expect("a program");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))
                .expect("its mode");
        }
        bare
    }

    fn tool(&self) -> PathBuf {
        self.folder.join("target/debug/fanfold-local")
    }

    /// Runs the tool as cargo does. Its programs fail with this status.
    fn run(&self, arguments: &[&str], status: u8) -> (Command, PathBuf) {
        let notes = self.folder.join("notes");
        let mut tool = Command::new(self.tool());
        tool.args(arguments).env("PATH", self.folder.join("bin")).env("NOTES", &notes);
        tool.env("STATUS", status.to_string()).env_remove("FANFOLD_RUNS");
        tool.env("CARGO_MANIFEST_DIR", self.folder.join("infra/local")).current_dir("/");
        (tool, notes)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}

/// A mistake is reported before anything is built, which takes minutes.
#[test]
fn nothing_is_built_for_a_command_that_cannot_run() {
    let bare = Bare::new(&["cargo"]);
    for (arguments, says) in [
        (&["exec", "--", "no-such-program"][..], "no program no-such-program is on the PATH"),
        (&["exec", "--", "./no-such-program"], "./no-such-program is no program"),
        (&["exec", "--", "cargo"], "no Python is on the PATH; install Python"),
        (&[], "no Python is on the PATH; install Python"),
        (&["test"], "no Python is on the PATH; install Python"),
        (&["token", ""], "handle must have 1 to 30 characters"),
        (&["token", "Bad Name!"], "handle must have 1 to 30 characters"),
    ] {
        let (tool, notes) = bare.run(arguments, 1);
        let error = error_line_of(tool);
        assert!(error.contains(says), "{arguments:?}: {error}");
        assert!(!notes.exists(), "{arguments:?}: cargo was called");
    }
}

/// The tool works on the repository in which it is called, not on the one in which it was compiled.
#[test]
fn a_copied_tool_works_on_its_own_place() {
    let bare = Bare::new(&["cargo", "python3"]);
    let (tool, notes) = bare.run(&["exec", "--", "cargo"], 0);
    assert_eq!(run(tool).code, Some(1), "nothing is there that could be built");
    let notes = std::fs::read_to_string(notes).expect("the calls");
    let folder = bare.folder.canonicalize().expect("a folder");
    let build = format!("{}/bin/cargo in {}\n", bare.folder.display(), folder.display());
    assert!(notes.contains(&build), "{notes}");
    assert!(!bare.folder.join("target/local/cloud/bin").exists());
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
    sqs("SendMessage", "ChunksDeadUrl", letter);
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
    assert_eq!(length("ChunksDeadUrl"), 0);
    let error = error_line(&["redrive", "no-such-queue"]);
    assert!(error.contains("no-such-queue") && error.contains("change-events"), "{error}");
}
