//! The uses of tags, by day, for the ranking of tags.
//!
//! A use is a row: a post has the tag on the day of the post (UTC). It is put and removed together with the row of the post under
//! the tag, and expires when no ranking counts it. All uses of a tag on a day are in one part, so the first tags of all parts contain
//! the first of all; the author of the post chooses one of [`USE_ROWS`] partition keys in it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::str::FromStr as _;

use fanfold_core::board::{Day, Zone};
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::limits::BOARD_PARTS;
use fanfold_core::{Hour, PostId, Second, TagHash, Time, UserId};
use fanfold_engines::table::{Item, Stored, Table, key, read, write};
use fanfold_runtime::StoreError;
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use super::items::{TagStore, Tagged};

/// Partition keys of the uses of one tag on one day. DynamoDB takes 1,000 of them a second in each.
pub const USE_ROWS: u8 = 8;
/// Authors of a tag that are counted under a key, and its uses that are read there. The others of a busy tag are passed over: it
/// leads the ranking in any case.
pub const USES_COUNTED_MAX: usize = 10_000;
const USES_READ_MAX: usize = 50_000;
/// A sort key before all others.
const BEFORE_ALL: &str = "!";
/// Days for which a use is kept, from the beginning of its day.
const USE_DAYS_KEPT: u16 = 3;

/// A post with a tag, on the day of the post.
#[derive(Serialize, Deserialize)]
struct UseRow {
    /// The tag, `#`, the author, `#`, and the post.
    sk: String,
    v: u32,
    /// The tag as the post has it.
    name: String,
    expires_at: Second,
}

impl Stored for UseRow {
    const V: u32 = 1;
}

/// A tag in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedTag {
    pub tag: TagHash,
    pub authors: u64,
    /// The tag as most of them wrote it.
    pub name: String,
}

impl TagStore {
    /// Puts the uses of tags by posts.
    pub async fn put_uses(&self, tagged: &[Tagged<'_>], now: Time) -> Result<(), StoreError> {
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
    pub async fn remove_uses(&self, rows: &[(PostId, TagHash)]) -> Result<(), StoreError> {
        let rows = rows.iter().filter(|(_, tag)| *tag != TagHash::PUBLIC);
        let keys = rows.map(|(post, tag)| key(&use_pk(*tag, *post), use_sk(*tag, *post)));
        self.table.delete_all("removing the uses of tags", keys.collect()).await
    }

    /// The tags of one part with the most authors who used them from an hour on, at most `count`. `None`: there are more uses than
    /// `limit` under a key. The uses of a tag are read together, and only the best tags are kept, so very many tags take no memory.
    pub async fn used_in_part(
        &self,
        days: &[Day],
        part: u8,
        first: Hour,
        count: usize,
        limit: Option<i32>,
    ) -> Result<Option<Vec<UsedTag>>, StoreError> {
        let keys = days.iter().flat_map(|day| (0..USE_ROWS).map(|row| day_pk(*day, part, row)));
        let reader = |pk| {
            let (uses, next) = (VecDeque::new(), Some(BEFORE_ALL.to_owned()));
            UsesUnder { table: &self.table, pk, limit, uses, next }
        };
        let mut readers: Vec<UsesUnder<'_>> = keys.map(reader).collect();
        try_join_all(readers.iter_mut().map(UsesUnder::fill)).await?;
        if limit.is_some() && readers.iter().any(|reader| reader.next.is_some()) {
            return Ok(None);
        }
        let mut best = Vec::new();
        while let Some(tag) = readers.iter().filter_map(UsesUnder::tag).min() {
            let with = readers.iter_mut().filter(|reader| reader.tag() == Some(tag));
            let taken = try_join_all(with.map(|reader| reader.take(tag, first))).await?;
            let (mut authors, mut names) = (HashSet::new(), BTreeMap::<String, u64>::new());
            for (author, name) in taken.into_iter().flatten() {
                // an author is under one key of each day
                if authors.insert(author) {
                    *names.entry(name).or_default() += 1;
                }
            }
            let authors = authors.len() as u64;
            if let Some((name, _)) = names.into_iter().max_by_key(|(_, count)| *count) {
                best.push(UsedTag { tag, authors, name });
            }
            if best.len() > 2 * count {
                keep_best(&mut best, count);
            }
        }
        keep_best(&mut best, count);
        Ok(Some(best))
    }
}

fn keep_best(tags: &mut Vec<UsedTag>, count: usize) {
    tags.sort_unstable_by_key(|used| (Reverse(used.authors), used.tag));
    tags.truncate(count);
}

/// Reads the uses under a key, in the order of their tags.
struct UsesUnder<'a> {
    table: &'a Table,
    pk: Pk,
    limit: Option<i32>,
    /// Those that were read, and not taken yet.
    uses: VecDeque<Use>,
    /// The sort key after which the next ones are. `None`: there are no more.
    next: Option<String>,
}

struct Use {
    tag: TagHash,
    post: PostId,
    name: String,
}

impl UsesUnder<'_> {
    fn tag(&self) -> Option<TagHash> {
        self.uses.front().map(|used| used.tag)
    }

    /// Reads the next uses.
    async fn fill(&mut self) -> Result<(), StoreError> {
        let doing = "reading the uses of tags";
        while self.uses.is_empty() {
            let Some(after) = self.next.take() else { return Ok(()) };
            let rows = self.table.rows(doing, &self.pk).above(&after);
            let page = rows.page(None, self.limit).await?;
            for row in page.rows {
                let UseRow { sk, name, .. } = read(doing, row)?;
                let unread =
                    || StoreError::Item { doing, source: format!("the sort key {sk}").into() };
                let (tag, post) = parsed(&sk).ok_or_else(unread)?;
                self.uses.push_back(Use { tag, post, name });
            }
            let last = self.uses.back().map(|last| use_sk(last.tag, last.post));
            self.next = page.next.and(last);
        }
        Ok(())
    }

    /// Takes all uses of a tag. Returns the authors who used it from an hour on, each with how the tag was written.
    async fn take(
        &mut self,
        tag: TagHash,
        first: Hour,
    ) -> Result<HashMap<UserId, String>, StoreError> {
        let (mut authors, mut taken) = (HashMap::new(), 0);
        loop {
            let mut last = None;
            while self.tag() == Some(tag) {
                let Some(used) = self.uses.pop_front() else { break };
                taken += 1;
                let author = used.post.author();
                if used.post.time().hour() >= first {
                    // mutation: tags-by-authors
                    authors.entry(author).or_insert(used.name);
                }
                last = Some(author);
            }
            if !self.uses.is_empty() || self.next.is_none() {
                return Ok(authors);
            }
            // mutation: uses-passed
            if authors.len() >= USES_COUNTED_MAX || taken >= USES_READ_MAX {
                self.next = Some(format!("{tag}$"));
            } else if let Some(author) = last.filter(|author| authors.contains_key(author)) {
                // the author's other uses change nothing
                self.next = Some(format!("{tag}#{author}$"));
            }
            self.fill().await?;
        }
    }
}

fn use_sk(tag: TagHash, post: PostId) -> String {
    format!("{tag}#{}#{post}", post.author())
}

fn parsed(sk: &str) -> Option<(TagHash, PostId)> {
    let (tag, rest) = sk.split_once('#')?;
    let (_, post) = rest.split_once('#')?;
    Some((TagHash(u64::from_str_radix(tag, 16).ok()?), PostId::from_str(post).ok()?))
}

fn use_pk(tag: TagHash, post: PostId) -> Pk {
    let (part, row) = (tag.0 % u64::from(BOARD_PARTS), post.author().0 % u64::from(USE_ROWS));
    day_pk(Zone::utc().day(post.time()), part as u8, row as u8)
}

fn day_pk(day: Day, part: u8, row: u8) -> Pk {
    ItemKind::TagUse.pk(format_args!("{day}#{part}#{row}"))
}
