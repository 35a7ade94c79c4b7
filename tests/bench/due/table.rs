//! Due items are found in DynamoDB alone.

use std::time::Instant;

use aws_sdk_dynamodb::Client;
use fanfold_core::registry::DUE_ITEMS;
use fanfold_core::{DueEntry, DuePart, Time};
use fanfold_engines::due::{DueIndex, ItemDue};
use fanfold_engines::table::Tables;
use fanfold_runtime::sqs::Outbox;
use futures::future::join_all;

use super::items::{DUE, NOW, THIRTY_DAYS};
use super::{DELAYS, Way};
use crate::emulator::{DUE as TABLE, Emulator};
use crate::runtime;
use crate::server::Server;
use crate::stats::median;

/// Reads the whole index, and keeps what is due.
pub fn scan(emulator: &Emulator, rounds: usize) -> Way {
    measure(emulator, rounds, async |client: &Client| {
        let (mut due, mut start) = (0, None);
        loop {
            let call = client.scan().table_name(TABLE).set_exclusive_start_key(start);
            let page = call.send().await.expect("a page");
            for item in page.items() {
                let entry = item["sk"].as_s().expect("a text").parse::<DueEntry>();
                due += usize::from(entry.is_ok_and(|entry| entry.at <= NOW));
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return due;
            }
        }
    })
}

/// Asks each part of the index for what is due in the present hour.
pub fn hours(emulator: &Emulator, server: &Server, rounds: usize) -> Way {
    let store = store(emulator, server);
    measure(emulator, rounds, async |_: &Client| {
        let parts =
            DuePart::all().map(|part| store.entries(part, NOW.hour(), (Time::EPOCH, NOW), None));
        let pages = join_all(parts).await.into_iter();
        pages.map(|page| page.expect("a page").entries.len()).sum()
    })
}

/// Reads an hour when it begins, and puts all of it on a queue. Then whoever looks for due items receives all messages of
/// the hour, because a queue has no order by time.
pub fn hour_queue(emulator: &Emulator, server: &Server, rounds: usize) -> Way {
    let store = store(emulator, server);
    let outbox = Outbox::new(&emulator.sdk(), &server.config()).expect("the queues");
    measure(emulator, rounds, async |_: &Client| {
        // the hour with the due items, and one with the mean number of others
        let mut messages = Vec::new();
        for hour in [NOW.hour(), (NOW + THIRTY_DAYS / 2).hour()] {
            let parts = DuePart::all().map(|part| whole_hour(&store, part, hour));
            let entries = join_all(parts).await.into_iter().flatten();
            messages.extend(entries.map(ItemDue::new));
        }
        outbox.send_all_on(DUE_ITEMS, &messages).await.expect("sent");
        let mut due = 0;
        for batch in messages.chunks(10) {
            tokio::time::sleep(DELAYS.sqs).await;
            due += batch.iter().filter(|message| message.entry.at <= NOW).count();
        }
        due
    })
}

async fn whole_hour(store: &DueIndex, part: DuePart, hour: fanfold_core::Hour) -> Vec<DueEntry> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page =
            store.entries(part, hour, (Time::EPOCH, Time::MAX), after).await.expect("a page");
        all.extend(page.entries.into_iter().map(|row| row.entry));
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

fn store(emulator: &Emulator, server: &Server) -> DueIndex {
    let table = Tables::new(&emulator.sdk(), &server.config()).table("DUE_TABLE");
    DueIndex::new(table.expect("the due table"))
}

/// Measures a way, which returns how many items it found.
fn measure(emulator: &Emulator, rounds: usize, find: impl AsyncFn(&Client) -> usize) -> Way {
    let client = Client::new(&emulator.sdk());
    runtime().block_on(async {
        let mut ms = Vec::new();
        emulator.take_counts();
        for _ in 0..rounds {
            let start = Instant::now();
            assert_eq!(find(&client).await, DUE);
            ms.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let (counts, rounds) = (emulator.take_counts(), rounds as f64);
        let calls = counts.all_calls() as f64 / rounds;
        Way { ms: median(ms), read_units: counts.units.reads / rounds, calls }
    })
}
