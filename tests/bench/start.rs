//! `start`: the release binaries as they are deployed. Measures the time from the start of the process to
//! the first request for work, the duration of a first invocation with the first HTTPS request, the size,
//! and loads of a page over HTTP.

mod function;
mod loads;
mod runtime_api;
mod tls;

use crate::Pace;
use crate::harness::valkeys::Node;
use crate::report::{Report, short};
use crate::stats::median;
use fanfold_core::registry::FUNCTIONS;
use function::{Function, Reach, size_mb};
use runtime_api::RuntimeApi;
use tls::TlsServer;

pub fn run(pace: &Pace, report: &mut Report) {
    let times = if pace.quick { 5 } else { 15 };
    let (mut rows, mut slowest_ms) = (Vec::new(), 0.0_f64);
    for name in FUNCTIONS.iter().map(|function| function.name) {
        let start_ms = median((0..times).map(|_| until_work_ms(name)));
        rows.push(vec![name.to_owned(), short(start_ms)]);
        report.set(format!("start_ms_{name}"), start_ms);
        slowest_ms = slowest_ms.max(start_ms);
    }
    let first_https_ms = median((0..times).map(|_| first_https_ms()));
    let head = ["function", "ms to the first request for work"];
    report.table("start", "start: release binaries", &head, rows);
    println!(
        "  first invocation with the first HTTPS request (users): {} ms",
        short(first_https_ms)
    );
    report.set("start_ms", slowest_ms);
    report.set("first_https_ms", first_https_ms);
    report.set("binary_mb", size_mb());
    loads::run(report);
}

/// Milliseconds from the start of the process to its first request for work.
fn until_work_ms(name: &'static str) -> f64 {
    let api = RuntimeApi::start();
    let mut function = Function::start(name, &Reach::of(&api.address));
    let asked = api.asked(&mut function);
    asked.duration_since(function.started).as_secs_f64() * 1e3
}

/// Milliseconds of a first invocation that finds no card in Valkey and makes its first DynamoDB calls over HTTPS.
fn first_https_ms() -> f64 {
    let (tls, api, valkey) = (TlsServer::start(), RuntimeApi::start(), Node::start(&[]));
    let (url, trust) = (valkey.url(), Some(tls.trust.as_path()));
    let reach = Reach { endpoint: &tls.url, valkey: &url, trust, ..Reach::of(&api.address) };
    let mut function = Function::start("users", &reach);
    api.asked(&mut function);
    let answer = api.invoke(&mut function, &tls::event());
    let (body, handle) = (&answer.body, format!("h{}", tls::caller()));
    assert!(body.contains("\"statusCode\":200") && body.contains(&handle), "{body}");
    answer.ms()
}
