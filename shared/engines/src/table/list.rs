//! Rows of lists by time. The sort key of a row is a time and an id, and says everything.

use std::fmt::Display;
use std::str::FromStr;

use fanfold_core::Time;
use fanfold_core::kinds::Pk;
use fanfold_runtime::StoreError;
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use super::{Stored, Table, Write, read_key, time_and_id, timed, write};

/// The order of a list by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByTime {
    NewestFirst,
    OldestFirst,
}

#[derive(Serialize)]
struct TimedRow {
    sk: String,
    v: u32,
}

impl Stored for TimedRow {
    const V: u32 = 1;
}

#[derive(Deserialize)]
struct TimedKey {
    sk: String,
}

impl Table {
    /// The write of a row.
    pub fn put_timed(&self, pk: &Pk, at: Time, id: impl Display) -> Result<Write, StoreError> {
        let row = TimedRow { sk: timed(at, id), v: TimedRow::V };
        Ok(self.put(write("writing a row of a list", pk, &row)?))
    }

    /// The rows of a list, newest first: at most `count`, after this place.
    pub async fn timed_rows<T: FromStr + Display>(
        &self,
        doing: &'static str,
        pk: &Pk,
        after: Option<(Time, T)>,
        count: usize,
    ) -> Result<Vec<(Time, T)>, StoreError> {
        self.timed_rows_by(doing, pk, ByTime::NewestFirst, after, count).await
    }

    /// The rows of a list whose parts have these partition keys, in this order: at most `count`, after this place.
    pub async fn timed_parts<T: FromStr + Display + Ord + Copy>(
        &self,
        doing: &'static str,
        pks: impl IntoIterator<Item = Pk>,
        order: ByTime,
        after: Option<(Time, T)>,
        count: usize,
    ) -> Result<Vec<(Time, T)>, StoreError> {
        let parts = pks
            .into_iter()
            .map(|pk| async move { self.timed_rows_by(doing, &pk, order, after, count).await });
        let mut rows = try_join_all(parts).await?.concat();
        rows.sort_unstable();
        if order == ByTime::NewestFirst {
            rows.reverse();
        }
        rows.truncate(count);
        Ok(rows)
    }

    /// The rows under one partition key, in this order.
    async fn timed_rows_by<T: FromStr + Display>(
        &self,
        doing: &'static str,
        pk: &Pk,
        order: ByTime,
        after: Option<(Time, T)>,
        count: usize,
    ) -> Result<Vec<(Time, T)>, StoreError> {
        let rows = self.rows(doing, pk).only("sk");
        let after = after.map(|(at, id)| timed(at, id));
        let rows = match (order, after) {
            (ByTime::NewestFirst, None) => rows.newest_first(),
            (ByTime::NewestFirst, Some(after)) => rows.newest_first().below(after),
            (ByTime::OldestFirst, None) => rows,
            (ByTime::OldestFirst, Some(after)) => rows.above(after),
        };
        let place = |row| {
            let sk = read_key::<TimedKey>(doing, row)?.sk;
            let unread = || StoreError::Item { doing, source: format!("the sort key {sk}").into() };
            time_and_id(&sk).ok_or_else(unread)
        };
        rows.first(None, count).await?.into_iter().map(place).collect()
    }
}
