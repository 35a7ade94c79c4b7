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

use std::sync::OnceLock;

use metrics::{Unit, counter, describe_histogram, histogram};
use metrics_cloudwatch_embedded::{Builder, Collector};

use crate::feeds::{Reached, Source};

static COLLECTOR: OnceLock<Option<&'static Collector>> = OnceLock::new();

/// Starts measuring, if this is a Lambda function.
pub fn init() {
    COLLECTOR.get_or_init(|| {
        let function = std::env::var("AWS_LAMBDA_FUNCTION_NAME").ok()?;
        let builder = Builder::new().cloudwatch_namespace("Fanfold");
        match builder.with_dimension("Function", function).init() {
            Ok(collector) => {
                describe_histogram!("FanOutLag", Unit::Milliseconds, "");
                describe_histogram!("FanOutCompleteLag", Unit::Milliseconds, "");
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
    let counts = [
        ("Deliveries", reached.delivered),
        ("NotLive", reached.not_live),
        ("LateDeliveries", reached.late),
    ];
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        counter!(name).increment(count);
    }
}

pub fn complete(lag_ms: u64) {
    histogram!("FanOutCompleteLag").record(lag_ms as f64);
}

pub fn page(source: Source) {
    match source {
        Source::Cache => counter!("FeedHits").increment(1),
        Source::Rebuild | Source::Pull => counter!("FeedMisses").increment(1),
    }
}

pub fn floor_crossing() {
    counter!("FloorCrossings").increment(1);
}

pub fn rebuild() {
    counter!("Rebuilds").increment(1);
}
