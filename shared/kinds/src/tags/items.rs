//! The rows of posts under their tags.
//!
//! The rows of a tag are in parts. A new tag has one. When DynamoDB refuses rows of a busy tag, because a part is at its limit, the
//! number of parts is doubled, up to [`TAG_PARTS_MAX`]. The part of a post is computed from its id and the number of parts that its writer
//! knew, so a reader that knows the present number finds it. A writer remembers the number for a while, so that very many posts with one
//! tag do not read one item. Each number is stored with the time since which there are so many: a post of long after that time is not
//! looked for where posts of before may be. Otherwise each removal would go to the first part, too.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::time::Duration;

use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::limits::{CONCURRENCY, TRIES_MAX};
use fanfold_core::{PostId, Second, Slice, Tag, TagHash, Time};
use fanfold_engines::recent::Recent;
use fanfold_engines::table::{Item, Stored, Table, key, read, write};
use fanfold_runtime::StoreError;
use futures::future::try_join_all;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::{Deserialize, Serialize};

/// The most parts of a tag. DynamoDB takes 1,000 rows a second in each.
pub const TAG_PARTS_MAX: u8 = 16;
/// Rows that one environment of a function puts of a tag within this time before the tag may get more parts. The rows of a rare tag
/// are refused only if the whole table is at its limit, and more parts would not help.
const BUSY_WITHIN: Duration = Duration::from_secs(10);
const BUSY_ROWS: usize = 50;
/// How long a writer remembers the number of parts of a tag. One that knows too few may be refused, as long as the first part is at
/// its limit.
const PARTS_KNOWN_FOR: Duration = Duration::from_secs(10);

/// The time after which a name is written again.
const NAME_WRITTEN_EVERY: Duration = Duration::from_secs(24 * 3600);
/// The time after which all writers know that a tag has more parts: a handler of before has read the number, and ended.
const PARTS_SETTLED: Duration = Duration::from_secs(120);

/// Says that a tag has at least this many parts. Such a row is only ever added, so the number of parts never falls.
#[derive(Serialize, Deserialize)]
struct PartsRow {
    /// The number, with two digits.
    sk: String,
    v: u32,
    /// Since when.
    #[serde(rename = "since_ms")]
    since: Time,
}

impl Stored for PartsRow {
    const V: u32 = 1;
}

/// The numbers of parts that a tag has had, ascending, each with the time since which it had so many.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parts(Vec<(u8, Time)>);

impl Parts {
    fn present(&self) -> u8 {
        self.0.last().map_or(1, |(parts, _)| *parts)
    }

    /// All parts in which a row of a post may be.
    fn places(&self, post: PostId) -> BTreeSet<u8> {
        let earlier = std::iter::once(1).chain(self.0.iter().map(|(parts, _)| *parts));
        // mutation: tag-places
        let ended = |since: &Time| *since + PARTS_SETTLED < post.time();
        let until = self.0.iter().map(|(_, since)| ended(since)).chain([false]);
        earlier.zip(until).filter(|(_, ended)| !ended).map(|(parts, _)| part(post, parts)).collect()
    }
}

/// A post under a tag.
#[derive(Serialize, Deserialize)]
struct TaggedRow {
    sk: PostId,
    v: u32,
    /// The tag as the post has it. None in the public feed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
    /// Rows of the public feed alone expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Second>,
}

impl Stored for TaggedRow {
    const V: u32 = 1;
}

/// A post to put under a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tagged<'a> {
    pub post: PostId,
    pub tag: TagHash,
    /// The tag as the post has it.
    pub name: &'a str,
    /// When the row expires. `None`: never.
    pub expires_at: Option<Second>,
}

/// The tags, in the table of marks: their rows, uses and names, and who follows them.
#[derive(Clone)]
pub struct TagStore {
    pub(super) table: Table,
    /// The numbers of parts that writers know.
    known: Recent<TagHash, u8>,
    /// The rows that this environment of a function put of a tag, since a time.
    put: Recent<TagHash, (Time, usize)>,
    /// The tags whose names were written.
    pub(super) named: Recent<Tag>,
}

impl TagStore {
    /// The store over its table.
    pub fn new(table: Table) -> Self {
        Self {
            table,
            known: Recent::of(PARTS_KNOWN_FOR),
            put: Recent::of(BUSY_WITHIN),
            named: Recent::of(NAME_WRITTEN_EVERY),
        }
    }

    /// The store of another environment.
    #[doc(hidden)]
    pub fn forgetful(&self) -> Self {
        Self::new(self.table.clone())
    }

    /// The number of parts of a tag.
    pub async fn parts(&self, tag: TagHash) -> Result<u8, StoreError> {
        Ok(self.all_parts(tag).await?.present())
    }

    async fn all_parts(&self, tag: TagHash) -> Result<Parts, StoreError> {
        let (doing, pk) = ("reading the number of parts of a tag", ItemKind::Tag.pk(tag));
        let rows = self.table.rows(doing, &pk).all(None).await?.into_iter();
        let parts = rows.map(|row| {
            let PartsRow { sk, since, .. } = read(doing, row)?;
            let unread = |_| StoreError::Item { doing, source: format!("{sk} parts").into() };
            Ok((sk.parse().map_err(unread)?, since))
        });
        Ok(Parts(parts.collect::<Result<_, StoreError>>()?))
    }

    /// The number of parts of a tag, for a writer.
    async fn parts_known(&self, tag: TagHash, now: Time) -> Result<u8, StoreError> {
        if let Some(parts) = self.known.get(&tag, now) {
            return Ok(parts);
        }
        let parts = self.parts(tag).await?;
        self.known.note(tag, parts, now);
        Ok(parts)
    }

    /// Puts posts under tags. A tag whose rows DynamoDB does not take gets more parts.
    pub async fn put(&self, rows: &[Tagged<'_>], now: Time) -> Result<(), StoreError> {
        let mut of_tag: BTreeMap<TagHash, Vec<Tagged<'_>>> = BTreeMap::new();
        for row in rows {
            of_tag.entry(row.tag).or_default().push(*row);
        }
        let puts = of_tag.into_iter().map(|(tag, rows)| self.put_under(tag, rows, now));
        let puts = stream::iter(puts.collect::<Vec<_>>());
        puts.buffer_unordered(CONCURRENCY).try_collect().await
    }

    async fn put_under(
        &self,
        tag: TagHash,
        rows: Vec<Tagged<'_>>,
        now: Time,
    ) -> Result<(), StoreError> {
        let doing = "putting posts under a tag";
        let put = async |parts, tries| {
            let row = |row: &Tagged<'_>| {
                let name = row.name.to_owned();
                let item =
                    TaggedRow { sk: row.post, v: TaggedRow::V, name, expires_at: row.expires_at };
                write(doing, &rows_pk(tag, part(row.post, parts)), &item)
            };
            let items: Result<Vec<Item>, StoreError> = rows.iter().map(row).collect();
            self.table.put_within(doing, items?, tries).await
        };
        // mutation: tag-busy
        let is_busy = self.counts(tag, rows.len(), now) >= BUSY_ROWS;
        let mut parts = self.parts_known(tag, now).await?;
        if is_busy {
            match put(parts, 1).await {
                // mutation: tag-grows
                Err(error) if error.is_throttled() => {
                    parts = self.grown(tag, parts, now).await?;
                    self.known.note(tag, parts, now);
                }
                done => return done,
            }
        }
        put(parts, TRIES_MAX).await
    }

    /// Counts rows of a tag. Returns the number since [`BUSY_WITHIN`].
    fn counts(&self, tag: TagHash, rows: usize, now: Time) -> usize {
        let (since, before) = self.put.get(&tag, now).unwrap_or((now, 0));
        let (since, count) = match now < since + BUSY_WITHIN {
            true => (since, before + rows),
            false => (now, rows),
        };
        self.put.note(tag, (since, count), now);
        count
    }

    /// The number of parts of a tag, if it is greater than `known`, or else twice as many, up to [`TAG_PARTS_MAX`].
    pub async fn grown(&self, tag: TagHash, known: u8, now: Time) -> Result<u8, StoreError> {
        // another writer may have doubled it
        let parts = self.parts(tag).await?;
        if parts > known || known >= TAG_PARTS_MAX {
            return Ok(parts);
        }
        let (doing, parts) = ("giving a tag more parts", known.saturating_mul(2));
        let row = PartsRow { sk: format!("{parts:02}"), v: PartsRow::V, since: now };
        self.table.put_all(doing, vec![write(doing, &ItemKind::Tag.pk(tag), &row)?]).await?;
        tracing::info!(%tag, parts, "a tag has more parts");
        Ok(parts)
    }

    /// Removes posts from under tags, in whichever parts they are.
    pub async fn remove(&self, rows: &[(PostId, TagHash)]) -> Result<(), StoreError> {
        let tags: BTreeSet<TagHash> = rows.iter().map(|(_, tag)| *tag).collect();
        // a writer that knows more parts reads the post after its row, and removes the row
        // mutation: tag-parts
        let parts = tags.into_iter().map(async |tag| Ok((tag, self.all_parts(tag).await?)));
        let parts = stream::iter(parts.collect::<Vec<_>>()).buffer_unordered(CONCURRENCY);
        let parts: HashMap<TagHash, Parts> = parts.try_collect().await?;
        let keys = rows.iter().flat_map(|(post, tag)| {
            let places = parts.get(tag).map(|parts| parts.places(*post)).unwrap_or_default();
            places.into_iter().map(move |part| key(&rows_pk(*tag, part), *post))
        });
        self.table.delete_all("removing posts from under tags", keys.collect()).await
    }

    /// The next posts under a tag that are older than `before`, and the number of queries for them.
    pub async fn newest(
        &self,
        tag: TagHash,
        before: PostId,
        count: usize,
    ) -> Result<(Slice, u64), StoreError> {
        // strongly consistent: every row is in one of these parts
        let parts = self.parts(tag).await?;
        // one more than requested shows that there are more
        let posts = self.of_parts(tag, 0..parts, before, count + 1).await?.into_keys().rev();
        Ok((Slice::head(posts.collect(), count, PostId::MIN), 1 + u64::from(parts)))
    }

    /// Whether a tag has posts.
    pub async fn has_posts(&self, tag: TagHash) -> Result<bool, StoreError> {
        // nearly every tag has posts in its first part, or only one part
        let has = async |parts| Ok(!self.of_parts(tag, parts, PostId::MAX, 1).await?.is_empty());
        Ok(has(0..1).await? || has(1..self.parts(tag).await?).await?)
    }

    /// The tag as a post has it. `None`: the post is not under the tag.
    pub async fn name_of(&self, post: PostId, tag: TagHash) -> Result<Option<String>, StoreError> {
        let (parts, before) = (self.parts(tag).await?, PostId(post.0.saturating_add(1)));
        Ok(self.of_parts(tag, 0..parts, before, 1).await?.remove(&post))
    }

    /// About `count` of the newest posts under a tag, each with the tag as it has it: an equal share of each part.
    pub async fn sample(
        &self,
        tag: TagHash,
        count: usize,
    ) -> Result<BTreeMap<PostId, String>, StoreError> {
        let parts = self.parts(tag).await?;
        self.of_parts(tag, 0..parts, PostId::MAX, count.div_ceil(parts.max(1).into())).await
    }

    async fn of_parts(
        &self,
        tag: TagHash,
        parts: Range<u8>,
        before: PostId,
        count: usize,
    ) -> Result<BTreeMap<PostId, String>, StoreError> {
        let doing = "reading the posts of a tag";
        let reads = parts.map(async |part| {
            let pk = rows_pk(tag, part);
            let rows = self.table.rows(doing, &pk).newest_first().below(before);
            rows.first(None, count).await
        });
        let rows = try_join_all(reads).await?.into_iter().flatten();
        rows.map(|row| read::<TaggedRow>(doing, row).map(|row| (row.sk, row.name))).collect()
    }
}

/// The part of a post, by the bits that make its id unique.
fn part(post: PostId, parts: u8) -> u8 {
    post.head() as u8 % parts.max(1)
}

fn rows_pk(tag: TagHash, part: u8) -> Pk {
    ItemKind::Tagged.pk(format_args!("{tag}#{part}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_earlier_is_in_a_place_that_is_known() {
        let grown = |n: u64| Time::from_ms(n * 1_000_000);
        let parts = Parts([(1, 2), (2, 4), (3, 8), (4, 16)].map(|(n, to)| (to, grown(n))).to_vec());
        assert_eq!((Parts(Vec::new()).present(), parts.present()), (1, 16));
        for head in 0..=u8::MAX {
            for (n, written) in [1, 2, 4, 8, 16].into_iter().enumerate() {
                // a writer that knows this number, until it must know the next one
                let settled = grown(n as u64 + 1) + PARTS_SETTLED;
                for at in [Time::from_ms(1), grown(n as u64), settled] {
                    let post = PostId::last_of(at).0 & !(0xff << 64) | u128::from(head) << 64;
                    let places = parts.places(PostId(post));
                    assert!(places.contains(&part(PostId(post), written)), "{written} {at:?}");
                }
            }
            // long after the last growth, nothing is looked for in the parts of before
            let late = PostId::last_of(grown(9)).0 & !(0xff << 64) | u128::from(head) << 64;
            let present = part(PostId(late), 16);
            assert_eq!(parts.places(PostId(late)), [present].into());
        }
    }
}
