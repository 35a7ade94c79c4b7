//! Metrics, in CloudWatch's embedded metric format: one line of log for an invocation that has
//! something to tell. Namespace `Fanfold`, dimension `Function`.
//!
//! | metric | unit | counts |
//! | --- | --- | --- |
//! | `FanOutLag` | ms | from the publication of a post until followers of a chunk have it |
//! | `FanOutCompleteLag` | ms | until all followers have it |
//! | `Deliveries` | | feeds that a post was pushed to |
//! | `NotLive` | | followers who have not read for long, and were passed over |
//! | `LateDeliveries` | | followers who were asked for anew, because the push came late |
//! | `FeedHits` | | pages that came from a live feed |
//! | `FeedMisses` | | pages that were rebuilt or pulled |
//! | `FloorCrossings` | | pages that went on below the floor of a live feed |
//! | `Rebuilds` | | feeds that were rebuilt |
//! | `Requests` | | HTTP requests that were answered |
//! | `Unavailable` | | of those, with a status of 5xx |
//! | `MessagesAnew` | | messages that started anew at the end of their queue |
//! | `MessagesDead` | | messages that were given up |
//! | `AuditChecked` | | live feeds that were compared |
//! | `AuditDifferences` | | of those, that were not what a pull gives |
//! | `AuditRepaired` | | of those, that are right by now |
//!
//! What an alarm looks at is told with each invocation, zeros too: a metric without data is a function
//! that does not run.

use std::sync::OnceLock;

use metrics::{Unit, counter, describe_histogram, histogram};
use metrics_cloudwatch_embedded::{Builder, Collector};

use crate::feeds::{Reached, Source};

static COLLECTOR: OnceLock<Option<&'static Collector>> = OnceLock::new();

const REQUESTS: &str = "Requests";
const UNAVAILABLE: &str = "Unavailable";
const ANEW: &str = "MessagesAnew";
const DEAD: &str = "MessagesDead";
const CHECKED: &str = "AuditChecked";
const DIFFERENCES: &str = "AuditDifferences";
const REPAIRED: &str = "AuditRepaired";

/// What functions of a kind tell of each invocation.
pub const HTTP: &[&str] = &[REQUESTS, UNAVAILABLE];
pub const QUEUES: &[&str] = &[ANEW, DEAD];
pub const AUDIT: &[&str] = &[CHECKED, DIFFERENCES, REPAIRED];

/// Starts measuring, if this is a Lambda function. Once counted, a metric is told with each invocation;
/// `always` are from the first one on.
pub fn init(always: &[&'static str]) {
    COLLECTOR.get_or_init(|| {
        let function = std::env::var("AWS_LAMBDA_FUNCTION_NAME").ok()?;
        let builder = Builder::new().cloudwatch_namespace("Fanfold").emit_zeros(true);
        match builder.with_dimension("Function", function).init() {
            Ok(collector) => {
                describe_histogram!("FanOutLag", Unit::Milliseconds, "");
                describe_histogram!("FanOutCompleteLag", Unit::Milliseconds, "");
                for name in always {
                    counter!(*name).increment(0);
                }
                Some(collector)
            }
            Err(error) => {
                tracing::warn!(%error, "nothing is measured");
                None
            }
        }
    });
}

/// Writes what was measured since the last time.
pub fn flush() {
    if let Some(Some(collector)) = COLLECTOR.get()
        && let Err(error) = collector.flush(std::io::stdout())
    {
        tracing::warn!(%error, "metrics are lost");
    }
}

pub fn deliveries(reached: Reached, lag_ms: u64) {
    histogram!("FanOutLag").record(lag_ms as f64);
    counter!("Deliveries").increment(reached.delivered);
    counter!("NotLive").increment(reached.not_live);
    counter!("LateDeliveries").increment(reached.late);
}

pub fn complete(lag_ms: u64) {
    histogram!("FanOutCompleteLag").record(lag_ms as f64);
}

pub fn page(source: Source) {
    let hit = u64::from(source == Source::Cache);
    counter!("FeedHits").increment(hit);
    counter!("FeedMisses").increment(1 - hit);
}

pub fn floor_crossing() {
    counter!("FloorCrossings").increment(1);
}

pub fn rebuild() {
    counter!("Rebuilds").increment(1);
}

pub fn answered(status: u16) {
    counter!(REQUESTS).increment(1);
    counter!(UNAVAILABLE).increment(u64::from(status >= 500));
}

pub(crate) fn anew() {
    counter!(ANEW).increment(1);
}

pub(crate) fn dead() {
    counter!(DEAD).increment(1);
}

/// What the audit found, feed by feed: a run may end early.
pub fn audited(checked: u64, differences: u64, repaired: u64) {
    counter!(CHECKED).increment(checked);
    counter!(DIFFERENCES).increment(differences);
    counter!(REPAIRED).increment(repaired);
}
