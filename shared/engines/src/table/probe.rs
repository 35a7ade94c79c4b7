//! Checks of the assumptions about DynamoDB, for `doctor`. The checks use separate items, and delete them.

use std::time::Duration;

use fanfold_core::Time;
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_runtime::clock;
use fanfold_runtime::config::ConfigError;
use fanfold_runtime::error::StoreError;

use super::transact::{CommitResult, Transaction};
use super::{Table, Tables, key, number};

/// How long the items of a check stay, if the check dies before it deletes them.
const PROBE_ITEM_KEPT: Duration = Duration::from_secs(3_600);

/// Checks of the tables and of transactions.
#[derive(Clone)]
pub struct TableProbe {
    users: Table,
    posts: Table,
    graph: Table,
    due: Table,
    marks: Table,
}

impl TableProbe {
    /// Reads the names of the tables. Fails if a setting is missing.
    pub fn new(tables: &Tables<'_>) -> Result<Self, ConfigError> {
        Ok(Self {
            users: tables.table("USERS_TABLE")?,
            posts: tables.table("POSTS_TABLE")?,
            graph: tables.table("GRAPH_TABLE")?,
            due: tables.table("DUE_TABLE")?,
            marks: tables.table("MARKS_TABLE")?,
        })
    }

    /// Reads an item that does not exist from each table.
    pub async fn read_each(&self) -> Result<(), StoreError> {
        let nobody = nobody();
        let sorted = key(&nobody, "-");
        let mut unsorted = sorted.clone();
        unsorted.remove("sk");
        for (table, key) in [
            (&self.users, &unsorted),
            (&self.posts, &sorted),
            (&self.graph, &sorted),
            (&self.due, &sorted),
            (&self.marks, &sorted),
        ] {
            table.get("reading an item of each table", key.clone()).await?;
        }
        Ok(())
    }

    /// Writes two new items in a transaction, repeats it, and deletes the items. Returns whether the second
    /// transaction was refused because of both conditions. If a check dies in between, the items expire after
    /// `PROBE_ITEM_KEPT`.
    pub async fn transact(&self, now: Time) -> Result<bool, StoreError> {
        let doing = "writing two items in a transaction";
        let nobody = nobody();
        let keys = ["1", "2"].map(|sk| key(&nobody, sk));
        let expires_at = now.expires_after(PROBE_ITEM_KEPT);
        let (mut puts, mut deletes) = (Transaction::new(doing), Transaction::new(doing));
        for (nth, key) in keys.iter().enumerate() {
            let mut item = key.clone();
            item.insert("expires_at".to_owned(), number(expires_at));
            puts.add(nth, self.graph.put(item).condition("attribute_not_exists(pk)"));
            deletes.add(nth, self.graph.delete(key.clone()));
        }
        let first = puts.commit().await?;
        let second = puts.commit().await?;
        deletes.commit().await?;
        Ok(first == CommitResult::Done && second == CommitResult::Refused(vec![0, 1]))
    }
}

/// The partition key of a new item that belongs to nobody.
fn nobody() -> Pk {
    ItemKind::Probe.pk(format_args!("{:016x}", clock::random()))
}
