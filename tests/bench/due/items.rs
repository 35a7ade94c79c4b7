//! The items that wait: 100 that are due, and others that are due within thirty days.

use std::collections::BTreeMap;
use std::time::Duration;

use fanfold_core::limits::{DUE_QUERY_ROWS, TIMERS_MAX_DEFAULT};
use fanfold_core::{DueEntry, DuePart, Time};
use fanfold_engines::valkey::Valkey;
use fanfold_kinds::timers::items::entry;
use serde_json::json;

use crate::emulator::{DUE as TABLE, Emulator};
use crate::people;

/// The time of each search: half past an hour.
pub const NOW: Time = Time::from_ms(1_800_001_800_000);
/// The number of items that are due.
pub const DUE: usize = 100;
const HOUR: Duration = Duration::from_secs(3_600);
pub const THIRTY_DAYS: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The entries by part.
pub type Waiting = BTreeMap<DuePart, Vec<DueEntry>>;

/// 100 items that are due since a second ago, and others, which are due from an hour ahead to thirty days.
pub fn waiting(count: usize) -> Waiting {
    let mut waiting = Waiting::new();
    for n in 0..count as u64 {
        let due = n < DUE as u64;
        let at = match due {
            true => NOW - Duration::from_millis(1_000 - n),
            false => NOW + HOUR + THIRTY_DAYS.mul_f64(n as f64 / count as f64),
        };
        // as many users as are needed for so many timers, and at least a thousand
        let owner = people::user(n % (count as u64 / TIMERS_MAX_DEFAULT).max(1_000));
        let name = format!("renew-{n}").parse().expect("a name");
        let entry = entry(owner, &name, at);
        waiting.entry(entry.part()).or_default().push(entry);
    }
    waiting
}

/// Puts the entries of the index into the table, as the store does.
pub fn put(emulator: &Emulator, waiting: &Waiting) {
    for (part, entries) in waiting {
        for entry in entries {
            let pk = format!("due#{}#{part}", entry.hour());
            let item = json!({"pk": {"S": pk}, "sk": {"S": entry.to_string()}, "v": {"N": "1"}});
            emulator.put(TABLE, item);
        }
    }
}

/// Loads all entries into Valkey. (Look-aheads load those of the next one to two hours.)
pub async fn load(valkey: &Valkey, waiting: &Waiting) {
    for (part, entries) in waiting {
        let until = NOW + THIRTY_DAYS * 2;
        let load = valkey.begin_due(*part, "bench", until).await.expect("begun");
        for page in entries.chunks(DUE_QUERY_ROWS as usize) {
            let page = page.iter().map(|entry| (entry, false));
            valkey.load_due((*part, &load.token), page, until, NOW).await.expect("loaded");
        }
    }
}
