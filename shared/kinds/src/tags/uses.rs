//! The uses of tags, by day, for the ranking of tags.
//!
//! A use is a row: a post has the tag on the day of the post (UTC). It is put and removed together with the row of the post under
//! the tag, and expires when no ranking counts it. All uses of a tag on a day are in one part, so the first tags of all parts contain
//! the first of all; the author of the post chooses one of [`USE_ROWS`] partition keys in it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::str::FromStr as _;

use fanfold_core::board::{Day, Zone};
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::limits::BOARD_PARTS;
use fanfold_core::{Hour, PostId, Second, TagHash, Time, UserId};
use fanfold_engines::table::{Item, Stored, Table, key, read, write};
use fanfold_runtime::StoreError;
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use super::items::Tagged;

/// Partition keys of the uses of one tag on one day. DynamoDB takes 1,000 of them a second in each.
pub const USE_ROWS: u8 = 8;
/// Uses of a tag that are read under a key. The others of a busy tag are passed over: it leads the ranking in any case.
pub const USES_COUNTED_MAX: usize = 10_000;
/// A sort key before all others.
const BEFORE_ALL: &str = "!";
/// Days for which a use is kept, from the beginning of its day.
const USE_DAYS_KEPT: u16 = 3;

/// A post with a tag, on the day of the post.
#[derive(Serialize, Deserialize)]
struct UseRow {
    /// The tag, `#`, and the post.
    sk: String,
    v: u32,
    /// The tag as the post has it.
    name: String,
    expires_at: Second,
}

impl Stored for UseRow {
    const V: u32 = 1;
}

/// The authors who used a tag, and how often it was written in each way.
pub type UsedBy = (HashSet<UserId>, BTreeMap<String, u64>);
/// The uses of tags.
pub type Uses = HashMap<TagHash, UsedBy>;

/// The uses, in the table of marks.
#[derive(Clone)]
pub struct UseStore {
    table: Table,
}

impl UseStore {
    /// The store over its table.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Puts the uses of tags by posts.
    pub async fn put(&self, tagged: &[Tagged<'_>], now: Time) -> Result<(), StoreError> {
        let doing = "putting the uses of tags";
        let row = |Tagged { post, tag, name, .. }: &Tagged<'_>| {
            let day = Zone::utc().day(post.time());
            let expires_at = Zone::utc().begin(day.plus_days(USE_DAYS_KEPT)).second();
            let row = UseRow {
                sk: use_sk(*tag, *post),
                v: UseRow::V,
                name: (*name).to_owned(),
                expires_at,
            };
            // no ranking counts it any more
            let is_late = expires_at <= now.second();
            (*tag != TagHash::PUBLIC && !is_late).then(|| write(doing, &use_pk(*tag, *post), &row))
        };
        let rows: Result<Vec<Item>, StoreError> = tagged.iter().filter_map(row).collect();
        self.table.put_all(doing, rows?).await
    }

    /// Removes the uses of tags by posts.
    pub async fn remove(&self, rows: &[(PostId, TagHash)]) -> Result<(), StoreError> {
        let rows = rows.iter().filter(|(_, tag)| *tag != TagHash::PUBLIC);
        let keys = rows.map(|(post, tag)| key(&use_pk(*tag, *post), use_sk(*tag, *post)));
        self.table.delete_all("removing the uses of tags", keys.collect()).await
    }

    /// The uses of one part of the tags, from an hour on. `None`: there are more than `limit` under a key. Of each tag, about
    /// [`USES_COUNTED_MAX`] are read under each key.
    pub async fn of_part(
        &self,
        days: &[Day],
        part: u8,
        first: Hour,
        limit: Option<i32>,
    ) -> Result<Option<Uses>, StoreError> {
        let keys = days.iter().flat_map(|day| (0..USE_ROWS).map(|row| day_pk(*day, part, row)));
        let reads = keys.map(async |pk| self.under(&pk, first, limit).await);
        let mut all = Uses::new();
        for uses in try_join_all(reads).await? {
            let Some(uses) = uses else { return Ok(None) };
            for (tag, (authors, names)) in uses {
                let of_tag = all.entry(tag).or_default();
                of_tag.0.extend(authors);
                for (name, count) in names {
                    *of_tag.1.entry(name).or_default() += count;
                }
            }
        }
        Ok(Some(all))
    }

    /// The uses under a key.
    async fn under(
        &self,
        pk: &Pk,
        first: Hour,
        limit: Option<i32>,
    ) -> Result<Option<Uses>, StoreError> {
        let doing = "reading the uses of tags";
        let (mut uses, mut after, mut last) = (Uses::new(), BEFORE_ALL.to_owned(), (TagHash(0), 0));
        loop {
            let page = self.table.rows(doing, pk).above(&after).page(None, limit).await?;
            for row in page.rows {
                let UseRow { sk, name, .. } = read(doing, row)?;
                let unread =
                    || StoreError::Item { doing, source: format!("the sort key {sk}").into() };
                let (tag, post) = parsed(&sk).ok_or_else(unread)?;
                last = (tag, if last.0 == tag { last.1 + 1 } else { 1 });
                if post.time().hour() >= first {
                    let (authors, names) = uses.entry(tag).or_default();
                    authors.insert(post.author());
                    *names.entry(name).or_default() += 1;
                }
                after = sk;
            }
            match page.next {
                None => return Ok(Some(uses)),
                Some(_) if limit.is_some() => return Ok(None),
                // mutation: uses-passed
                Some(_) if last.1 >= USES_COUNTED_MAX => after = format!("{}$", last.0),
                Some(_) => {}
            }
        }
    }
}

fn use_sk(tag: TagHash, post: PostId) -> String {
    format!("{tag}#{post}")
}

fn parsed(sk: &str) -> Option<(TagHash, PostId)> {
    let (tag, post) = sk.split_once('#')?;
    Some((TagHash(u64::from_str_radix(tag, 16).ok()?), PostId::from_str(post).ok()?))
}

fn use_pk(tag: TagHash, post: PostId) -> Pk {
    let (part, row) = (tag.0 % u64::from(BOARD_PARTS), post.author().0 % u64::from(USE_ROWS));
    day_pk(Zone::utc().day(post.time()), part as u8, row as u8)
}

fn day_pk(day: Day, part: u8, row: u8) -> Pk {
    ItemKind::TagUse.pk(format_args!("{day}#{part}#{row}"))
}
