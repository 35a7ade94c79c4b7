//! Keyspace notifications: a key for each item, which expires when the item is due. Valkey reports the key when it removes
//! it, to those who listen at that moment.
//!
//! Valkey removes keys in its own time. Of 100 keys that expired among 10,000 others, half were reported 25 s late or
//! later, and 99 within 44 s. Among 100,000, 91 were not reported within a minute; among 1,000,000, 98 were not.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::items::DUE;
use crate::server::Server;
use crate::stats::percentile;

/// What a listener heard.
pub struct Heard {
    /// How late the notifications were that arrived: the median, and the 99th percentile. `None`: none arrived.
    pub late_ms: Option<(f64, f64)>,
    /// Notifications that did not arrive within the time.
    pub missing: f64,
    /// Items of which nobody was told, because nobody listened when their keys were removed.
    pub lost: f64,
}

/// Sets a key for each item. 100 of them expire while somebody listens, and 100 more while nobody does.
pub fn hear(server: &mut Server, size: usize, is_quick: bool) -> Heard {
    let wait = Duration::from_secs(if is_quick { 4 } else { 60 });
    server.query::<()>(redis::cmd("FLUSHALL").arg("SYNC"));
    let events = ["SET", "notify-keyspace-events", "Ex"];
    server.query::<()>(redis::cmd("CONFIG").arg(&events[..]));
    server.send((0..size).map(|n| {
        let mut set = redis::cmd("SET");
        // in a day
        set.arg(format!("waits:{n}")).arg("").arg("PX").arg(86_400_000 + n);
        set
    }));
    let client = redis::Client::open(server.url()).expect("a client");
    let mut connection = client.get_connection().expect("Valkey");
    let mut listener = connection.as_pubsub();
    listener.subscribe("__keyevent@0__:expired").expect("listening");
    let due = set_due(server, "heard", 500);
    let mut late = Vec::new();
    let begun = Instant::now();
    while late.len() < DUE && begun.elapsed() < wait {
        listener.set_read_timeout(Some(Duration::from_millis(500))).expect("a timeout");
        if listener.get_message().is_ok() {
            late.push(now_ms() - due);
        }
    }
    let missing = DUE - late.len();
    drop(listener);
    drop(connection);
    Heard {
        late_ms: (!late.is_empty())
            .then(|| (percentile(late.clone(), 50.0), percentile(late, 99.0))),
        missing: missing as f64,
        lost: lost(server, &client),
    }
}

/// Lets keys expire while nobody listens. Returns how many of them are never reported.
fn lost(server: &mut Server, client: &redis::Client) -> f64 {
    set_due(server, "unheard", 50);
    std::thread::sleep(Duration::from_millis(100));
    // a read removes a key whose time is over
    for n in 0..DUE {
        let found: Option<String> = server.query(redis::cmd("GET").arg(format!("unheard:{n}")));
        assert_eq!(found, None, "its time is over");
    }
    let mut connection = client.get_connection().expect("Valkey");
    let mut listener = connection.as_pubsub();
    listener.psubscribe("__keyevent@0__:expired").expect("listening");
    listener.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
    let mut heard = 0;
    while let Ok(message) = listener.get_message() {
        let key: String = message.get_payload().expect("a key");
        heard += usize::from(key.starts_with("unheard:"));
    }
    (DUE - heard) as f64
}

/// Sets 100 keys that expire in this many ms. Returns the time at which they expire.
fn set_due(server: &mut Server, name: &str, ms: u64) -> f64 {
    let at = now_ms() as u64 + ms;
    server.send((0..DUE).map(|n| {
        let mut set = redis::cmd("SET");
        set.arg(format!("{name}:{n}")).arg("").arg("PXAT").arg(at);
        set
    }));
    at as f64
}

fn now_ms() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
    since.as_secs_f64() * 1e3
}
