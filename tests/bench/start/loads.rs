//! Loads of a page over HTTP: the release binary of `timeline`, which gets events of API Gateway from the runtime API,
//! and calls the emulator and Valkey. The cached page comes from a live feed and from cards. For the pulled page, Valkey
//! is a replica, which serves no feeds and no cards. (Without a server, the page would also wait for a new connection.)

use std::time::Duration;

use fanfold_core::UserId;
use fanfold_core::id::Identity;
use fanfold_runtime::clock::now;
use serde_json::{Value, json};

use super::function::{Function, Reach};
use super::runtime_api::RuntimeApi;
use crate::emulator::Emulator;
use crate::harness::valkeys::Node;
use crate::people;
use crate::report::{Report, short};

const LOADS: usize = 100;
const FOLLOWEES: u64 = 10;
const POSTS_EACH: u64 = 10;
const LIMIT: usize = 20;
const DELAY: Duration = Duration::from_millis(5);

pub fn run(report: &mut Report) {
    let (emulator, valkey) = (Emulator::default(), Node::start(&[]));
    let replica = Node::start(&["--replicaof", "127.0.0.1", "1"]);
    let authors: Vec<UserId> = (0..FOLLOWEES).map(people::author).collect();
    people::put_reader(&emulator, reader().user(), &authors, POSTS_EACH, now());
    let endpoint = emulator.serve();
    let mut cached = Environment::start(&endpoint, &valkey.url(), "cache");
    let mut pulled = Environment::start(&endpoint, &replica.url(), "pull");
    let mut rows = Vec::new();
    for (delay, suffix) in [(Duration::ZERO, ""), (DELAY, "_delayed")] {
        emulator.set_delay(delay);
        let loads = (0..LOADS).map(|_| (cached.load(), pulled.load()));
        let (cache, pull): (Vec<f64>, Vec<f64>) = loads.unzip();
        for (name, ms) in [("cache", cache), ("pull", pull)] {
            record(report, (name, suffix), &ms, &mut rows);
        }
    }
    let title =
        "start: 100 loads of a page over HTTP, 10 followees (delayed: 5 ms for each DynamoDB call)";
    report.table("http_load", title, &["page", "average ms", "least", "most"], rows);
}

fn record(
    report: &mut Report,
    (name, suffix): (&str, &str),
    ms: &[f64],
    rows: &mut Vec<Vec<String>>,
) {
    let average = ms.iter().sum::<f64>() / ms.len() as f64;
    let least = ms.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ms.iter().copied().fold(0.0, f64::max);
    let figures = [("avg", average), ("min", least), ("max", most)];
    for (figure, value) in figures {
        report.set(format!("http_load_ms_{name}_{figure}{suffix}"), value);
    }
    let numbers = figures.map(|(_, value)| short(value));
    rows.push([vec![format!("{name}{}", suffix.replace('_', ", "))], numbers.to_vec()].concat());
}

/// An environment of the function whose pages have this source.
struct Environment {
    // dropped first
    function: Function,
    api: RuntimeApi,
    source: &'static str,
}

impl Environment {
    /// Starts the function, and loads the page until it has its source.
    fn start(endpoint: &str, valkey: &str, source: &'static str) -> Self {
        let api = RuntimeApi::start();
        let reach = Reach { endpoint, valkey, ..Reach::of(&api.address) };
        let mut function = Function::start("timeline", &reach);
        api.asked(&mut function);
        let mut environment = Self { function, api, source };
        let is_ready = (0..5).any(|_| environment.page().1 == source);
        assert!(is_ready, "no page with the source {source}");
        environment
    }

    /// Loads the page. Returns the milliseconds.
    fn load(&mut self) -> f64 {
        let (ms, source) = self.page();
        assert_eq!(source, self.source);
        ms
    }

    /// The milliseconds and the source of the page.
    fn page(&mut self) -> (f64, String) {
        let answer = self.api.invoke(&mut self.function, &event());
        let body: Value = serde_json::from_str(&answer.body).expect("an answer");
        let page = body["body"].as_str().and_then(|page| serde_json::from_str(page).ok());
        let page: Value = page.unwrap_or_else(|| panic!("a page: {}", answer.body));
        assert_eq!(page["items"].as_array().map(Vec::len), Some(LIMIT), "{page}");
        (answer.ms(), page["source"].as_str().unwrap_or_default().to_owned())
    }
}

fn reader() -> Identity {
    Identity::of("https://issuer.example", "ash")
}

/// The event of `GET /v1/timeline`, in the form in which API Gateway passes it.
fn event() -> String {
    let mut event: Value =
        serde_json::from_str(include_str!("../../events/timeline.json")).expect("an event");
    event["rawQueryString"] = json!(format!("limit={LIMIT}"));
    event["queryStringParameters"]["limit"] = json!(LIMIT.to_string());
    event.to_string()
}
