//! The rows that rankings are made from. The count of the likes of a post changes them, together with the post.
//!
//! A post has a row for each day (UTC) on which its number of likes changed, with the change in each hour. An author has
//! [`RANKING_AUTHOR_ROWS`] rows with the likes of all present posts; the post chooses the row. Both have
//! [`BOARD_PARTS`](fanfold_core::limits::BOARD_PARTS) partition keys, so that no key is changed by each count.

use fanfold_core::board::{Day, Zone};
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::{Hour, IdError, PostId, Time, UserId};
use fanfold_engines::table::{Item, Stored, Write, check, key, number, read};
use fanfold_runtime::error::StoreError;
use futures::future::try_join_all;
use serde::Deserialize;

use super::{BoardStore, RowPage, part_of};

/// Rows that count the likes of an author.
const RANKING_AUTHOR_ROWS: u8 = 16;
/// Days for which the likes of a post on one day are kept, from the beginning of that day: as long as a ranking of a week
/// may count them.
const RANKING_DAYS_KEPT: u16 = 9;

/// The changes of the number of likes of a post on one day. It also has `h0` to `h23`, the change in each hour.
#[derive(Deserialize)]
struct TrendItem {
    sk: PostId,
}

impl Stored for TrendItem {
    const V: u32 = 1;
}

/// The likes that some of the present posts of an author have.
#[derive(Deserialize)]
struct ReceivedItem {
    /// The author, `#`, and the number of the row.
    sk: String,
    likes: i64,
}

impl Stored for ReceivedItem {
    const V: u32 = 1;
}

/// The attributes of the hours of a day.
const HOURS: [&str; 24] = [
    "h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9", "h10", "h11", "h12", "h13", "h14",
    "h15", "h16", "h17", "h18", "h19", "h20", "h21", "h22", "h23",
];

/// When a change of an author's likes is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthorRow {
    /// Never: it makes the row.
    Made,
    /// If there is no row: that of a dropped author is not made again.
    Known,
}

impl BoardStore {
    /// The write that adds to the likes of a post in the present hour.
    pub(crate) fn trend(&self, post: PostId, by: i64, now: Time) -> Write {
        let day = Zone::utc().day(now);
        let hour = HOURS.get(now.hour().of_day()).unwrap_or(&"h0");
        let expires = Zone::utc().begin(day.plus_days(RANKING_DAYS_KEPT));
        self.table
            .update(trend_key(day, post))
            .expression(format!("ADD {hour} :by SET v = :v, expires_at = :expires"))
            .condition("attribute_not_exists(v) OR v <= :v")
            .value(":by", number(by))
            .value(":expires", number(expires.second()))
            .value(":v", number(TrendItem::V))
    }

    /// The write that adds to the likes that the author of a post has received.
    pub(crate) fn received(&self, post: PostId, by: i64, refused: AuthorRow) -> Write {
        let condition = match refused {
            AuthorRow::Made => "attribute_not_exists(v) OR v <= :v",
            AuthorRow::Known => "v <= :v",
        };
        self.table
            .update(received_key(post))
            .expression("ADD likes :by SET v = :v")
            .condition(condition)
            .value(":by", number(by))
            .value(":v", number(ReceivedItem::V))
    }

    /// Fails if a row of a post or of its author has a newer version, which explains why its write was refused.
    pub(crate) async fn check_rankings(
        &self,
        doing: &'static str,
        post: PostId,
        now: Time,
    ) -> Result<(), StoreError> {
        let keys = [trend_key(Zone::utc().day(now), post), received_key(post)];
        for (key, newest) in keys.into_iter().zip([TrendItem::V, ReceivedItem::V]) {
            if let Some(row) = self.table.get(doing, key).await? {
                check(doing, &row, newest)?;
            }
        }
        Ok(())
    }

    /// Posts with the likes that they got on a day from this hour on, of one part, after a key.
    pub async fn trends(
        &self,
        day: Day,
        part: u8,
        first: Hour,
        after: Option<String>,
        limit: Option<i32>,
    ) -> Result<RowPage<(PostId, i64)>, StoreError> {
        let doing = "reading the likes of a day";
        let midnight = Zone::utc().begin(day).hour();
        let hours = midnight.to(midnight.plus(23));
        let counted: Vec<&str> =
            hours.zip(HOURS).filter(|(hour, _)| *hour >= first).map(|(_, name)| name).collect();
        let likes = |item: Item| {
            let found =
                counted.iter().filter_map(|name| item.get(*name)?.as_n().ok()?.parse::<i64>().ok());
            let likes: i64 = found.sum();
            Ok((read::<TrendItem>(doing, item)?.sk, likes))
        };
        self.page_of(doing, &trends_pk(day, part), after, limit, likes).await
    }

    /// Authors with likes of their posts, of one part, after a key. An author can have several rows.
    pub async fn received_by(
        &self,
        part: u8,
        after: Option<String>,
        limit: Option<i32>,
    ) -> Result<RowPage<(UserId, i64)>, StoreError> {
        let doing = "reading the likes of authors";
        let likes = |item| {
            let ReceivedItem { sk, likes } = read(doing, item)?;
            let author = sk.split('#').next().unwrap_or_default().parse();
            let author: UserId = author
                .map_err(|error: IdError| StoreError::Item { doing, source: error.into() })?;
            Ok((author, likes))
        };
        self.page_of(doing, &received_pk(part), after, limit, likes).await
    }

    /// Removes the rows of a post that is gone.
    pub async fn forget_trends(&self, post: PostId, now: Time) -> Result<(), StoreError> {
        let today = Zone::utc().day(now);
        // with tomorrow: the clock of another function may be ahead
        let days = (0..=RANKING_DAYS_KEPT).map(|back| today.plus_days(1).minus_days(back));
        let born = Zone::utc().day(post.time()).minus_days(1);
        let keys = days.filter(|day| *day >= born).map(|day| trend_key(day, post)).collect();
        self.table.delete_all("removing the likes of a post", keys).await
    }

    /// Removes the rows of an author who is being dropped.
    pub async fn forget_received(&self, author: UserId) -> Result<(), StoreError> {
        let doing = "removing the likes of an author";
        let deletes = (0..RANKING_AUTHOR_ROWS)
            .map(|row| self.table.delete(received_row(author, row)).deleted(doing));
        try_join_all(deletes).await.map(drop)
    }
}

fn trends_pk(day: Day, part: u8) -> Pk {
    ItemKind::Trend.pk(format_args!("{day}#{part}"))
}

fn trend_key(day: Day, post: PostId) -> Item {
    key(&trends_pk(day, part_of(&post.to_string())), post)
}

fn received_pk(part: u8) -> Pk {
    ItemKind::Received.pk(part)
}

/// The row of an author that has the likes of this post. Very many posts of one author may be liked at the same time, and
/// transactions that meet on a row conflict.
fn received_key(post: PostId) -> Item {
    received_row(post.author(), part_of(&post.to_string()) % RANKING_AUTHOR_ROWS)
}

/// All rows of an author are in one part.
fn received_row(author: UserId, row: u8) -> Item {
    key(&received_pk(part_of(&author.to_string())), format_args!("{author}#{row}"))
}
