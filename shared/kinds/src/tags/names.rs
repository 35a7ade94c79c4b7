//! The names of tags, for completion.
//!
//! Whoever puts a post under a tag writes the name of the tag, once a day in each environment of a function. A name expires when
//! nobody has used the tag for a month. A reader checks of each name that the tag has a post.

use std::time::Duration;

use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::tag::TagError;
use fanfold_core::{Second, Tag, Time};
use fanfold_engines::table::{Item, Stored, read, write};
use fanfold_runtime::StoreError;
use serde::{Deserialize, Serialize};

use super::items::TagStore;

/// How long the name of a tag is kept after it was used.
const NAME_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// The longest name that is kept, in bytes. A sort key has at most 1,024.
pub(crate) const NAME_BYTES_MAX: usize = 1_000;

/// How long an environment of a function keeps how a tag is used.
pub(crate) const USE_KEPT: Duration = Duration::from_secs(5);

/// The name of a tag.
#[derive(Serialize, Deserialize)]
struct NameItem {
    /// The tag.
    sk: String,
    v: u32,
    /// The tag as a post has it.
    name: String,
    expires_at: Second,
}

impl Stored for NameItem {
    const V: u32 = 1;
}

/// A tag and how it is written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedTag {
    pub tag: Tag,
    pub name: String,
}

impl NamedTag {
    /// The tag with this name. `None`: it is no tag.
    pub fn new(name: &str) -> Option<Self> {
        Some(Self { tag: name.parse().ok()?, name: name.to_owned() })
    }

    /// A tag as somebody writes it, with or without its sign.
    pub fn written(text: &str) -> Result<Self, TagError> {
        Ok(Self { tag: text.parse()?, name: Tag::without_sign(text).to_owned() })
    }
}

/// How a tag is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagUse {
    pub named: NamedTag,
    /// The posts of the last seven days.
    pub posts: u64,
    /// The authors of these posts.
    pub authors: u64,
}

impl TagStore {
    /// Writes the names of tags that are used now.
    pub async fn note_names(&self, tags: Vec<NamedTag>, now: Time) -> Result<(), StoreError> {
        let doing = "writing the names of tags";
        let is_due = |named: &NamedTag| {
            named.tag.as_str().len() <= NAME_BYTES_MAX && !self.named.contains(&named.tag, now)
        };
        let mut due: Vec<NamedTag> = tags.into_iter().filter(is_due).collect();
        due.sort_unstable();
        due.dedup_by(|a, b| a.tag == b.tag);
        let row = |named: &NamedTag| {
            let (sk, name) = (named.tag.as_str().to_owned(), named.name.clone());
            let item =
                NameItem { sk, v: NameItem::V, name, expires_at: now.expires_after(NAME_KEPT) };
            write(doing, &names_pk(named.tag.as_str()), &item)
        };
        let rows: Result<Vec<Item>, StoreError> = due.iter().map(row).collect();
        // once: a busy table must not hold up the posts
        self.table.put_within(doing, rows?, 1).await?;
        for named in due {
            self.named.note(named.tag, (), now);
        }
        Ok(())
    }

    /// The next names after `after` that begin with a text, in the order of their tags, without those that have expired. Also
    /// returns where the next ones begin, unless these are the last.
    pub async fn names_beginning_with(
        &self,
        text: &str,
        after: Option<&str>,
        count: usize,
        now: Time,
    ) -> Result<(Vec<NamedTag>, Option<String>), StoreError> {
        let doing = "reading the names of tags";
        let pk = names_pk(text);
        let first = after.map_or_else(|| text.to_owned(), |after| format!("{after}\0"));
        // no tag has this character
        let rows = self.table.rows(doing, &pk).between(first, format!("{text}\u{10ffff}"));
        let rows = rows.first(None, count).await?.into_iter();
        let rows: Result<Vec<NameItem>, StoreError> = rows.map(|row| read(doing, row)).collect();
        let rows = rows?;
        let next = rows.last().filter(|_| rows.len() >= count).map(|last| last.sk.clone());
        let rows = rows.into_iter().filter(|row| now.second() < row.expires_at);
        Ok((rows.filter_map(|row| NamedTag::new(&row.name)).collect(), next))
    }
}

/// The names of tags that begin with the same character are together.
fn names_pk(text: &str) -> Pk {
    ItemKind::TagName.pk(text.chars().next().unwrap_or_default())
}
