//! Targets for the figures, on two cores. A missed target is printed, but is no failure, because other
//! work on a machine disturbs measurements.

use crate::report::{self, Report, short};

enum Bound {
    AtLeast(f64),
    AtMost(f64),
    Between(f64, f64),
}
use Bound::{AtLeast, AtMost, Between};

const TARGETS: [(&str, Bound); 42] = [
    ("deliver_vs_pipeline_live100", AtLeast(1.15)),
    ("deliver_vs_pipeline_live20", AtLeast(1.7)),
    ("deliver_vs_pipeline_live5", AtLeast(2.2)),
    ("deliver_vs_script_per_follower_live100", AtLeast(1.25)),
    ("deliver_vs_script_per_follower_live20", AtLeast(1.9)),
    ("deliver_vs_ceiling", AtLeast(0.65)),
    ("ecpu_per_delivery", AtMost(10.0)),
    ("bytes_per_feed_vs_pipeline", AtMost(0.1)),
    ("fanout_followers_per_s_1m", AtLeast(100_000.0)),
    ("fanout_time_1m_vs_100k", Between(8.0, 12.0)),
    ("dispatch_peak_mib_1m_minus_10k", AtMost(32.0)),
    ("read_vs_pull_100", AtLeast(10.0)),
    ("read_vs_bare", AtMost(1.3)),
    ("read_vs_bare_cards", AtMost(2.0)),
    ("read_cache_p50_ms_100_delayed", AtMost(1.5)),
    ("read_page_dynamodb_calls", AtMost(0.0)),
    ("read_page_read_units", AtMost(0.0)),
    ("read_vs_pull_100_delayed", AtLeast(15.0)),
    ("read_tag_vs_home", AtMost(1.2)),
    ("read_tag_read_units", AtMost(0.0)),
    ("cost_pages_vs_before", AtMost(0.15)),
    ("bytes_per_card", AtMost(400.0)),
    ("publish_sequential_calls", AtMost(3.0)),
    ("follow_sequential_calls", AtMost(3.0)),
    ("rebuild_vs_serial_1000_warm", AtLeast(20.0)),
    ("rebuild_vs_serial_1000_cold", AtLeast(140.0)),
    ("rebuild_cold_ms_1000", AtMost(45.0)),
    ("messages_vs_one_per_follower_1m", AtMost(0.002)),
    ("due_sorted_set_1m_vs_10k", AtMost(1.5)),
    ("rank_set_vs_plain_1000", AtLeast(0.3)),
    ("rank_add_vs_plain_1000", AtLeast(0.3)),
    ("rank_rank_vs_plain_1000", AtLeast(0.3)),
    ("rank_page_vs_plain_1000", AtLeast(0.3)),
    ("rank_set_vs_steps_1000", AtLeast(0.6)),
    ("rank_set_vs_plain_1000000", AtLeast(0.3)),
    ("rank_add_vs_plain_1000000", AtLeast(0.3)),
    ("rank_rank_vs_plain_1000000", AtLeast(0.3)),
    ("rank_page_vs_plain_1000000", AtLeast(0.3)),
    ("rank_set_vs_steps_1000000", AtLeast(0.6)),
    ("start_ms", AtMost(10.0)),
    ("first_https_ms", AtMost(10.0)),
    ("binary_mb", AtMost(12.0)),
];

impl Bound {
    fn met(&self, value: f64) -> bool {
        match self {
            AtLeast(low) => value >= *low,
            AtMost(high) => value <= *high,
            Between(low, high) => (*low..=*high).contains(&value),
        }
    }

    fn text(&self) -> String {
        match self {
            AtLeast(low) => format!("≥ {}", short(*low)),
            AtMost(high) => format!("≤ {}", short(*high)),
            Between(low, high) => format!("{} to {}", short(*low), short(*high)),
        }
    }
}

pub fn print(report: &Report) {
    let rows: Vec<Vec<String>> = TARGETS
        .iter()
        .map(|(key, bound)| {
            let (value, result) = match report.summary.get(*key) {
                Some(value) => (short(*value), if bound.met(*value) { "met" } else { "missed" }),
                None => ("–".to_owned(), "not measured"),
            };
            vec![(*key).to_owned(), value, bound.text(), result.to_owned()]
        })
        .collect();
    let build = if cfg!(debug_assertions) { "; figures of a debug build mean nothing" } else { "" };
    println!("\nTargets (medians of ratios, on 2 cores{build})");
    report::print(&["figure", "measured", "target", ""], &rows);
}

/// The targets whose figures were not measured.
pub fn missing(report: &Report) -> Vec<&'static str> {
    TARGETS.iter().map(|(key, _)| *key).filter(|key| !report.summary.contains_key(*key)).collect()
}
