//! Metrics in CloudWatch's embedded metric format: one line of the log for each invocation that has metrics.
//! The namespace is `Fanfold`, the dimension `Function`.
//!
//! | metric | unit | counts |
//! | --- | --- | --- |
//! | `FanOutLag` | ms | from the publication of a post until the followers of a chunk have it |
//! | `FanOutCompleteLag` | ms | from the publication of a post until all followers have it |
//! | `Deliveries` | | feeds that a post was pushed to |
//! | `NotLive` | | followers without a live feed, who were skipped |
//! | `LateDeliveries` | | followers whose relation was read again, because the push was late |
//! | `FeedHits` | | pages that came from a live feed |
//! | `FeedMisses` | | pages that were rebuilt or pulled |
//! | `CardHits` | | posts, users and relations of pages that came from Valkey |
//! | `CardMisses` | | posts, users and relations of pages that were read from DynamoDB |
//! | `FloorCrossings` | | pages that continued below the floor of a live feed |
//! | `Rebuilds` | | feeds that were rebuilt |
//! | `Requests` | | answered HTTP requests |
//! | `Unavailable` | | answered HTTP requests with a status of 5xx |
//! | `RequestsLimited` | | requests that were refused because of the limit of a user |
//! | `MessagesRequeued` | | messages that were sent to the end of their queue again |
//! | `MessagesDead` | | messages that became dead letters |
//! | `AuditChecked` | | live feeds that the audit compared |
//! | `AuditDifferences` | | compared feeds that differed from a pull |
//! | `AuditRepaired` | | differing feeds that were rebuilt |
//! | `DueLateness` | ms | from the time of a scheduled post or timer until it was published or fired |
//! | `DueHandedOn` | | due items that look-aheads handed on |
//! | `DueOverdue` | | due items that look-aheads found past their time |
//! | `DueDoubled` | | due items whose message was sent twice, because Valkey was away or a function was slow |
//! | `WebhookFailures` | | webhooks that their receiver did not take, each try counted |
//!
//! Counts that alarms use are written with each invocation, also if they are zero; only `WebhookFailures` is not. Such a
//! metric without data therefore means that the function does not run.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::{Unit, counter, describe_histogram, histogram};
use metrics_cloudwatch_embedded::{Builder, Collector};

use fanfold_core::fanout::DeliveryCounts;
use fanfold_core::time::millis;

static COLLECTOR: OnceLock<Option<&'static Collector>> = OnceLock::new();

const REQUESTS: &str = "Requests";
const UNAVAILABLE: &str = "Unavailable";
const LIMITED: &str = "RequestsLimited";
const REQUEUED: &str = "MessagesRequeued";
const DEAD: &str = "MessagesDead";
const CHECKED: &str = "AuditChecked";
const DIFFERENCES: &str = "AuditDifferences";
const REPAIRED: &str = "AuditRepaired";
const HANDED_ON: &str = "DueHandedOn";
const OVERDUE: &str = "DueOverdue";

/// The metrics that functions with HTTP routes write with each invocation.
pub const HTTP: &[&str] = &[REQUESTS, UNAVAILABLE];
/// The metrics that functions of queues write with each invocation.
pub const QUEUES: &[&str] = &[REQUEUED, DEAD];
/// The metrics that the audit writes with each invocation.
pub const AUDIT: &[&str] = &[CHECKED, DIFFERENCES, REPAIRED];

/// The metrics that look-aheads write with each invocation.
pub const LOOK_AHEAD: &[&str] = &[HANDED_ON, OVERDUE];

/// Starts to measure, if this is a Lambda function (`AWS_LAMBDA_FUNCTION_NAME`). The metrics in `always` are
/// written from the first invocation on, others after their first value.
pub fn init(always: &[&'static str]) {
    COLLECTOR.get_or_init(|| {
        let function = std::env::var("AWS_LAMBDA_FUNCTION_NAME").ok()?;
        let builder = Builder::new().cloudwatch_namespace("Fanfold").emit_zeros(true);
        match builder.with_dimension("Function", function).init() {
            Ok(collector) => {
                describe_histogram!("DueLateness", Unit::Milliseconds, "");
                describe_histogram!("FanOutLag", Unit::Milliseconds, "");
                describe_histogram!("FanOutCompleteLag", Unit::Milliseconds, "");
                for name in always {
                    counter!(*name).increment(0);
                }
                Some(collector)
            }
            Err(error) => {
                tracing::warn!(%error, "metrics are off");
                None
            }
        }
    });
}

/// Writes the metrics since the last call to stdout.
pub fn flush() {
    if let Some(Some(collector)) = COLLECTOR.get()
        && let Err(error) = collector.flush(std::io::stdout())
    {
        tracing::warn!(%error, "metrics are lost");
    }
}

/// Counts the deliveries of a post to some followers, `lag` after its publication.
pub fn deliveries(reached: DeliveryCounts, lag: Duration) {
    histogram!("FanOutLag").record(millis(lag) as f64);
    counter!("Deliveries").increment(reached.delivered);
    counter!("NotLive").increment(reached.not_live);
    counter!("LateDeliveries").increment(reached.late);
}

/// Records that all followers have a post, `lag` after its publication.
pub fn complete(lag: Duration) {
    histogram!("FanOutCompleteLag").record(millis(lag) as f64);
}

/// Counts a page. `is_hit`: it came from a live feed.
pub fn page(is_hit: bool) {
    let hit = u64::from(is_hit);
    counter!("FeedHits").increment(hit);
    counter!("FeedMisses").increment(1 - hit);
}

/// Counts cards that were read: those that Valkey had, and those that were read from DynamoDB.
pub fn cards(hits: u64, misses: u64) {
    counter!("CardHits").increment(hits);
    counter!("CardMisses").increment(misses);
}

/// Counts a page that continued below the floor of a live feed.
pub fn floor_crossing() {
    counter!("FloorCrossings").increment(1);
}

/// Counts a rebuilt feed.
pub fn rebuild() {
    counter!("Rebuilds").increment(1);
}

/// Records that a due item was published or fired, `lateness` after its time.
pub fn due(lateness: Duration) {
    histogram!("DueLateness").record(millis(lateness) as f64);
}

/// Counts due items that a look-ahead handed on, and those that it found past their time.
pub fn looked_ahead(handed_on: u64, overdue: u64) {
    counter!(HANDED_ON).increment(handed_on);
    counter!(OVERDUE).increment(overdue);
}

/// Counts a due item whose message another function sent as well.
pub fn due_doubled() {
    counter!("DueDoubled").increment(1);
}

/// Counts a try to post a webhook that failed.
pub fn webhook_failed() {
    counter!("WebhookFailures").increment(1);
}

/// Counts an answered HTTP request with this status.
pub fn answered(status: u16) {
    counter!(REQUESTS).increment(1);
    counter!(UNAVAILABLE).increment(u64::from(status >= 500));
}

/// Counts a request that the limit of its user refused.
pub fn request_limited() {
    counter!(LIMITED).increment(1);
}

pub(crate) fn requeued() {
    counter!(REQUEUED).increment(1);
}

pub(crate) fn dead() {
    counter!(DEAD).increment(1);
}

/// Counts the results of the audit. They are counted for each feed, because a run may end early.
pub fn audited(checked: u64, differences: u64, repaired: u64) {
    counter!(CHECKED).increment(checked);
    counter!(DIFFERENCES).increment(differences);
    counter!(REPAIRED).increment(repaired);
}
