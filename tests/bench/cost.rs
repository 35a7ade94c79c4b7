//! `cost`: the cost of a million deliveries, from the counts of the fan-out to a million followers,
//! against one message for each follower.
//!
//! ECPUs: a simple command costs one for each kB that it transfers, at least one. A script costs its CPU
//! time, in multiples of the time of a simple command (here: the server CPU of a pipelined SET), or its
//! kB, whichever is more.

use crate::report::{Report, thousands};
use crate::{Pace, fanout, prices};

const FOLLOWERS: f64 = 1_000_000.0;
const BATCH: f64 = 10.0;
/// The bytes that one ECPU pays for.
pub const ECPU_BYTES: f64 = 1024.0;

struct Bill {
    messages: f64,
    sqs_requests: f64,
    lambda_requests: f64,
    lambda_gb_s: f64,
    read_units: f64,
    write_units: f64,
    ecpus: f64,
}

/// Selects a count of a bill.
type Count = fn(&Bill) -> f64;

pub fn run(pace: &Pace, report: &mut Report) {
    if !report.summary.contains_key("fanout_messages_1000000") {
        fanout::run(pace, report);
    }
    let of = |name: &str| report.summary[&format!("fanout_{name}_1000000")];
    let by_time = of("server_cpu_s") / (report.summary["simple_command_cpu_us"] * 1e-6);
    let by_bytes = of("server_net_bytes") / ECPU_BYTES;
    // the event of the post is sent, received and deleted, too
    let ours = Bill {
        messages: of("messages") + 1.0,
        sqs_requests: of("sqs_requests") + 3.0,
        lambda_requests: of("batches") + 1.0,
        lambda_gb_s: (of("dispatch_s") + of("deliver_s")) * prices::LAMBDA_CORE_GB,
        read_units: of("read_units"),
        write_units: of("write_units"),
        ecpus: by_time.max(by_bytes),
    };
    let batches = FOLLOWERS / BATCH;
    let one_each = Bill {
        messages: FOLLOWERS + 1.0,
        // messages are sent, received and deleted in batches of ten
        sqs_requests: 3.0 * batches + 3.0,
        lambda_requests: batches + 1.0,
        lambda_gb_s: of("dispatch_s") * prices::LAMBDA_CORE_GB
            + batches * prices::LAMBDA_BATCH_GB_S_MIN,
        read_units: of("read_units"),
        write_units: of("write_units"),
        // an insert and a trim for each follower
        ecpus: 2.0 * FOLLOWERS,
    };
    let (rows, totals) = lines(&ours, &one_each);
    let title = format!("cost of a million deliveries, at list prices of {}", prices::SOURCE);
    let head = ["", "ours", "US$", "one message per follower", "US$"];
    report.table("cost", &title, &head, rows);
    report.set("messages_vs_one_per_follower_1m", ours.messages / one_each.messages);
    report.set("cost_usd_per_million", totals[0]);
    report.set("cost_usd_per_million_one_message_each", totals[1]);
    report.set("cost_vs_one_per_follower", totals[0] / totals[1]);
}

fn lines(ours: &Bill, other: &Bill) -> (Vec<Vec<String>>, [f64; 2]) {
    let priced: [(&str, Count, f64); 7] = [
        ("messages", |bill| bill.messages, 0.0),
        ("SQS requests", |bill| bill.sqs_requests, prices::SQS_REQUEST),
        ("Lambda requests", |bill| bill.lambda_requests, prices::LAMBDA_REQUEST),
        ("Lambda GB-s", |bill| bill.lambda_gb_s, prices::LAMBDA_GB_S),
        ("DynamoDB read units", |bill| bill.read_units, prices::READ_UNIT),
        ("DynamoDB write units", |bill| bill.write_units, prices::WRITE_UNIT),
        ("Valkey ECPUs", |bill| bill.ecpus, prices::ECPU),
    ];
    let mut totals = [0.0; 2];
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (name, count, price) in priced {
        let mut row = vec![name.to_owned()];
        for (place, bill) in [ours, other].into_iter().enumerate() {
            totals[place] += count(bill) * price;
            row.push(thousands(count(bill)));
            row.push(if price > 0.0 { dollars(count(bill) * price) } else { String::new() });
        }
        rows.push(row);
    }
    let all =
        ["total".to_owned(), String::new(), dollars(totals[0]), String::new(), dollars(totals[1])];
    rows.push(all.to_vec());
    (rows, totals)
}

fn dollars(amount: f64) -> String {
    format!("{amount:.5}")
}
