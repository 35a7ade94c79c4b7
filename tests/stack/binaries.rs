//! The release binaries in the form in which they are deployed.

mod invoked;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fanfold_core::registry::{FUNCTIONS, QUEUES};

use crate::harness::setting;

/// The release binary of all functions.
fn bootstrap() -> PathBuf {
    PathBuf::from(setting("FANFOLD_BINARIES")).join("fanfold/bootstrap")
}

/// The URLs of all queues and their dead-letter queues, as settings.
fn queue_urls(endpoint: &str) -> impl Iterator<Item = (&'static str, String)> {
    let names = QUEUES.iter().flat_map(|queue| [queue.url, queue.dead_url]);
    names.map(move |name| (name, format!("{endpoint}/{name}")))
}

fn contains(binary: &[u8], text: &str) -> bool {
    binary.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn the_binary_is_below_fifteen_megabytes() {
    let bytes = std::fs::metadata(bootstrap()).expect("a binary").len();
    println!("one binary for all functions: {:.1} MB", bytes as f64 / 1e6);
    assert!(bytes < 15_000_000, "the binary has {bytes} bytes");
}

#[test]
fn binaries_do_not_contain_the_development_caller() {
    let binary = std::fs::read(bootstrap()).expect("a binary");
    for text in ["dev-caller", "Dev-Caller", "fanfold-dev"] {
        assert!(!contains(&binary, text), "the binary contains {text:?}");
    }
    // check of the search itself: the binary contains the answer to a request without a caller
    assert!(contains(&binary, "/problems/unauthenticated"));
}

/// Amazon Linux 2023 has glibc 2.34.
#[test]
fn binaries_run_with_the_glibc_of_lambda() {
    let binary = std::fs::read(bootstrap()).expect("a binary");
    let mut newest = 0;
    for (at, _) in binary.windows(8).enumerate().filter(|(_, window)| window == b"GLIBC_2.") {
        let digits = binary[at + 8..].iter().take_while(|byte| byte.is_ascii_digit());
        let minor = digits.fold(0, |n, digit| n * 10 + u32::from(digit - b'0'));
        newest = newest.max(minor);
    }
    assert!((1..=34).contains(&newest), "it needs glibc 2.{newest}");
}

#[test]
fn an_unknown_handler_is_named() {
    let output = Command::new(bootstrap()).env_clear().env("_HANDLER", "dance").output();
    let output = output.expect("it ran");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success()
            && said.contains("_HANDLER is dance, which is not the name of a function"),
        "{said}"
    );
}

/// A function requests work although no server that it uses exists. The test prints the time this takes, and has
/// no limit for it.
#[test]
fn each_function_requests_work_before_it_connects() {
    for function in FUNCTIONS {
        let mut times: Vec<Duration> = (0..5).map(|_| start(function.name)).collect();
        times.sort();
        println!(
            "{}: {:.1} ms from start to the first request for work",
            function.name,
            times[2].as_secs_f64() * 1e3
        );
    }
}

fn start(function: &str) -> Duration {
    let runtime = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = runtime.local_addr().expect("an address");
    let start = Instant::now();
    let mut child = Command::new(bootstrap())
        .env_clear()
        .envs([
            ("_HANDLER", function),
            ("AWS_LAMBDA_RUNTIME_API", address.to_string().as_str()),
            ("AWS_LAMBDA_FUNCTION_NAME", function),
            ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
            ("AWS_REGION", "us-east-1"),
            ("REDIS_URL", "rediss://fanfold@127.0.0.1:1"),
            ("REDIS_IAM_CACHE", "feeds"),
            ("USERS_TABLE", "users"),
            ("POSTS_TABLE", "posts"),
            ("GRAPH_TABLE", "graph"),
            ("DUE_TABLE", "due"),
            ("MARKS_TABLE", "marks"),
            ("BOARDS_TABLE", "boards"),
            ("TIMER_EVENTS_QUEUE_URL", "http://127.0.0.1:1/0"),
            ("DOCTOR_QUEUE_URL", "http://127.0.0.1:1/queue"),
        ])
        .envs(queue_urls("http://127.0.0.1:1/0"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    runtime.set_nonblocking(true).expect("a non-blocking listener");
    let mut stream = loop {
        match runtime.accept() {
            Ok((stream, _)) => break stream,
            Err(_) => assert!(
                start.elapsed().as_secs() < 20,
                "{function} does not request work within 20 s"
            ),
        }
        assert!(child.try_wait().expect("a process").is_none(), "{function} ended at once");
        std::hint::spin_loop();
    };
    stream.set_nonblocking(false).expect("a blocking stream");
    let mut request = [0; 1024];
    let read = stream.read(&mut request).expect("a request");
    let took = start.elapsed();
    let request = String::from_utf8_lossy(&request[..read]).into_owned();
    // the answer does not matter: the function is stopped
    let _unread = stream.write_all(b"HTTP/1.1 500 stop\r\ncontent-length: 0\r\n\r\n");
    child.kill().expect("stopped");
    child.wait().expect("ended");
    assert!(
        request.starts_with("GET /2018-06-01/runtime/invocation/next"),
        "{function}: {request}"
    );
    took
}

#[test]
fn a_missing_setting_is_named_in_the_log() {
    let output = Command::new(bootstrap())
        .env_clear()
        .envs([
            ("_HANDLER", "dispatch"),
            ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:1"),
            ("AWS_REGION", "us-east-1"),
            ("USERS_TABLE", "users"),
            ("POSTS_TABLE", "posts"),
            ("GRAPH_TABLE", "graph"),
        ])
        .output()
        .expect("an output");
    let log = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(log.contains("the setting REDIS_URL is missing"), "{log}");
}
