//! `start`: the release binaries as they are deployed. How long from the start of the process to the
//! first request for work; how long a first invocation takes whose handler makes the process's first
//! HTTPS request; how large they are.

mod function;
mod runtime_api;
mod tls;

use crate::report::{Report, short};
use crate::stats::median;
use crate::{Pace, people};
use function::{Function, size_mb};
use runtime_api::RuntimeApi;
use tls::TlsServer;

const FUNCTIONS: [&str; 10] = [
    "posts", "users", "timeline", "dispatch", "deliver", "graph", "rebuild", "audit", "sweep",
    "admin",
];

pub fn run(pace: &Pace, report: &mut Report) {
    let times = if pace.quick { 5 } else { 15 };
    let (mut rows, mut slowest_ms, mut largest_mb) = (Vec::new(), 0.0_f64, 0.0_f64);
    for name in FUNCTIONS {
        let start_ms = median((0..times).map(|_| until_work_ms(name)));
        let mb = size_mb(name);
        rows.push(vec![name.to_owned(), short(start_ms), short(mb)]);
        report.set(format!("start_ms_{name}"), start_ms);
        (slowest_ms, largest_mb) = (slowest_ms.max(start_ms), largest_mb.max(mb));
    }
    let first_https_ms = median((0..times).map(|_| first_https_ms()));
    let head = ["function", "ms to the first request for work", "MB"];
    report.table("start", "start: release binaries", &head, rows);
    println!(
        "  first invocation with the first HTTPS request (users): {} ms",
        short(first_https_ms)
    );
    report.set("start_ms", slowest_ms);
    report.set("first_https_ms", first_https_ms);
    report.set("binary_mb_max", largest_mb);
}

fn until_work_ms(name: &'static str) -> f64 {
    let api = RuntimeApi::start(None);
    let mut function = Function::start(name, &api.address, "http://127.0.0.1:1", None);
    let asked = api.asked(&mut function);
    asked.duration_since(function.started).as_secs_f64() * 1e3
}

/// From handing over an invocation to its answer, with one DynamoDB call over HTTPS on the way.
fn first_https_ms() -> f64 {
    let (tls, api) = (TlsServer::start(), RuntimeApi::start(Some(tls::event())));
    let mut function = Function::start("users", &api.address, &tls.url, Some(&tls.trust));
    api.asked(&mut function);
    let (given, answered, answer) = api.answered(&mut function);
    let handle = format!("h{}", people::author(1));
    assert!(answer.contains("\"statusCode\":200") && answer.contains(&handle), "{answer}");
    answered.duration_since(given).as_secs_f64() * 1e3
}
