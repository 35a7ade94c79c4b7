//! The release binaries, as they are deployed.

mod invoked;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::setting;

const FUNCTIONS: [&str; 10] = [
    "posts", "users", "timeline", "dispatch", "deliver", "graph", "rebuild", "audit", "sweep",
    "admin",
];

const QUEUES: [&str; 6] =
    ["POST_EVENTS", "BULK_EVENTS", "CHUNKS", "BULK_CHUNKS", "GRAPH_EVENTS", "REBUILDS"];

fn bootstrap(function: &str) -> PathBuf {
    PathBuf::from(setting("FANFOLD_BINARIES")).join(function).join("bootstrap")
}

fn holds(binary: &[u8], text: &str) -> bool {
    binary.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn each_is_below_nine_megabytes() {
    for function in FUNCTIONS {
        let bytes = std::fs::metadata(bootstrap(function)).expect("a binary").len();
        println!("{function}: {:.1} MB", bytes as f64 / 1e6);
        assert!(bytes < 9_000_000, "{function} has {bytes} bytes");
    }
}

#[test]
fn the_way_to_name_a_caller_in_development_is_not_in_them() {
    for function in FUNCTIONS {
        let binary = std::fs::read(bootstrap(function)).expect("a binary");
        for text in ["dev-caller", "Dev-Caller", "fanfold-dev"] {
            assert!(!holds(&binary, text), "{function} holds {text:?}");
        }
        // the search itself works: HTTP functions hold what they answer without a caller
        let http = ["posts", "users", "timeline"].contains(&function);
        assert_eq!(holds(&binary, "/problems/unauthenticated"), http, "{function}");
    }
}

/// Amazon Linux 2023 has glibc 2.34.
#[test]
fn they_need_no_newer_glibc_than_lambda_has() {
    for function in FUNCTIONS {
        let binary = std::fs::read(bootstrap(function)).expect("a binary");
        let mut newest = 0;
        for (at, _) in binary.windows(8).enumerate().filter(|(_, window)| window == b"GLIBC_2.") {
            let digits = binary[at + 8..].iter().take_while(|byte| byte.is_ascii_digit());
            let minor = digits.fold(0, |n, digit| n * 10 + u32::from(digit - b'0'));
            newest = newest.max(minor);
        }
        assert!((1..=34).contains(&newest), "{function} wants glibc 2.{newest}");
    }
}

/// A function asks for work at once, though nothing that it will talk to is there. How long it
/// takes is printed, and judged by no test.
#[test]
fn each_asks_for_work_before_it_connects_anywhere() {
    for function in FUNCTIONS {
        let mut times: Vec<Duration> = (0..5).map(|_| start(function)).collect();
        times.sort();
        println!(
            "{function}: {:.1} ms from start to the first request for work",
            times[2].as_secs_f64() * 1e3
        );
    }
}

fn start(function: &str) -> Duration {
    let runtime = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = runtime.local_addr().expect("an address");
    let start = Instant::now();
    let mut child = Command::new(bootstrap(function))
        .env_clear()
        .envs([
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
            ("DOCTOR_QUEUE_URL", "http://127.0.0.1:1/queue"),
        ])
        .envs(QUEUES.iter().flat_map(|queue| {
            ["QUEUE_URL", "DEAD_QUEUE_URL"]
                .map(|kind| (format!("{queue}_{kind}"), "http://127.0.0.1:1/queue"))
        }))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    runtime.set_nonblocking(true).expect("a listener that can be asked");
    let mut stream = loop {
        match runtime.accept() {
            Ok((stream, _)) => break stream,
            Err(_) => assert!(start.elapsed().as_secs() < 20, "{function} never asks for work"),
        }
        assert!(child.try_wait().expect("a process").is_none(), "{function} ended at once");
        std::hint::spin_loop();
    };
    stream.set_nonblocking(false).expect("a stream that waits");
    let mut request = [0; 1024];
    let read = stream.read(&mut request).expect("a request");
    let took = start.elapsed();
    let asked = String::from_utf8_lossy(&request[..read]).into_owned();
    // the answer does not matter: the function is stopped
    let _unread = stream.write_all(b"HTTP/1.1 500 stop\r\ncontent-length: 0\r\n\r\n");
    child.kill().expect("stopped");
    child.wait().expect("ended");
    assert!(asked.starts_with("GET /2018-06-01/runtime/invocation/next"), "{function}: {asked}");
    took
}

#[test]
fn a_missing_setting_is_named_in_the_log() {
    let output = Command::new(bootstrap("dispatch"))
        .env_clear()
        .envs([
            ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:1"),
            ("AWS_REGION", "us-east-1"),
            ("USERS_TABLE", "users"),
            ("POSTS_TABLE", "posts"),
            ("GRAPH_TABLE", "graph"),
        ])
        .output()
        .expect("it ran");
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("the setting REDIS_URL is missing"), "{said}");
}
