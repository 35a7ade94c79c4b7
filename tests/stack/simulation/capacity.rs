//! The limits of DynamoDB for one item and for one partition key: 1,000 write units and 3,000 read units
//! per second. A call that exceeds them is refused. Seconds are those of the simulation's clock.

use std::collections::HashMap;

use tokio::time::Instant;

use super::expression::Key;

const WRITES_MAX: f64 = 1_000.0;
const READS_MAX: f64 = 3_000.0;

#[derive(Clone, Default)]
pub struct Capacity {
    began: Option<Instant>,
    second: u64,
    /// Read and write units used in this second, by table, partition key and sort key. The entry without
    /// a sort key counts the whole partition key.
    spent: HashMap<(String, String, Option<String>), (f64, f64)>,
    /// The number of refused calls, by table and key.
    pub refused: HashMap<String, u64>,
    /// All read units, by table and key.
    read: HashMap<String, f64>,
}

impl Capacity {
    /// The read units of all calls for the item with this table and key.
    pub fn read_units(&self, key: &str) -> f64 {
        self.read.get(key).copied().unwrap_or_default()
    }

    /// Takes units for reading and writing an item. Returns false if that exceeds a limit.
    pub fn take(&mut self, table: &str, (pk, sk): &Key, reads: f64, writes: f64) -> bool {
        let sort_key = if sk.is_empty() { String::new() } else { format!(" {sk}") };
        *self.read.entry(format!("{table} {pk}{sort_key}")).or_default() += reads;
        self.take_all(&[(table, pk, None), (table, pk, Some(sk))], reads, writes)
    }

    /// Takes units for a query of a partition key. Returns false if that exceeds a limit.
    pub fn take_query(&mut self, table: &str, pk: &str, reads: f64) -> bool {
        self.take_all(&[(table, pk, None)], reads, 0.0)
    }

    fn take_all(
        &mut self,
        keys: &[(&str, &str, Option<&String>)],
        reads: f64,
        writes: f64,
    ) -> bool {
        let now = Instant::now();
        let second = now.duration_since(*self.began.get_or_insert(now)).as_secs();
        if second != self.second {
            self.second = second;
            self.spent.clear();
        }
        let name = |(table, pk, sk): &(&str, &str, Option<&String>)| {
            ((*table).to_owned(), (*pk).to_owned(), sk.cloned())
        };
        for key in keys {
            let (read, written) = self.spent.get(&name(key)).copied().unwrap_or_default();
            if read + reads > READS_MAX || written + writes > WRITES_MAX {
                let (table, pk, sk) = key;
                let sk = sk.map_or_else(String::new, |sk| format!(" {sk}"));
                *self.refused.entry(format!("{table} {pk}{sk}")).or_default() += 1;
                return false;
            }
        }
        for key in keys {
            let (read, written) = self.spent.entry(name(key)).or_default();
            *read += reads;
            *written += writes;
        }
        true
    }
}
