//! Scheduled posts in DynamoDB.

mod drop;
mod publish;
mod results;

use std::collections::BTreeSet;

use fanfold_core::id::Identity;
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::limits::SCHEDULED_KEPT;
use fanfold_core::{DueEntry, DueItem, PostId, ScheduledId, Second, Time, UserId};
use fanfold_engines::due::{DueIndex, HandOn};
use fanfold_engines::list::Page;
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{
    Item, Stored, Table, Write, key, number, read, read_key, text, time_and_id, timed, write,
};
use fanfold_runtime::clock;
use fanfold_runtime::error::StoreError;
use serde::{Deserialize, Serialize};

use super::TAG;
use crate::people::items::{Counter, Owner, UserStore};
use crate::posts::extras::Extras;
use crate::posts::items::{PostKey, PostStore};
pub use results::{Cancelled, PublishResult, Rescheduled, ScheduleResult};

/// A place among a user's scheduled posts: after the one of this time and id.
pub type ScheduledPlace = (Time, ScheduledId);

/// A scheduled post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduled {
    /// The id, which contains the author.
    pub id: ScheduledId,
    /// The text. Empty if the post was published or cancelled.
    pub text: String,
    /// The answered post, if the post is a reply.
    pub in_reply_to: Option<PostId>,
    /// What it has beside its text. Empty like the text.
    pub extras: Extras,
    /// The time of publication.
    pub publish_at: Time,
    /// The id that is reserved for the post. Its time is that of publication.
    pub post: PostId,
    /// The number of changes. The first one made the item.
    pub revision: u64,
    /// Whether the post waits, or how it ended.
    pub state: ScheduledState,
}

/// The state of a scheduled post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduledState {
    /// The post waits for its time.
    Waiting,
    /// The post was published.
    Published,
    /// The post was cancelled.
    Cancelled,
    /// The post was not published: the post that it answers was gone at its time.
    Failed,
}

impl Scheduled {
    /// A new one, which waits.
    pub fn new(
        author: UserId,
        (text, in_reply_to, extras): (&str, Option<PostId>, &Extras),
        publish_at: Time,
        now: Time,
    ) -> Self {
        let [id, post] =
            [now, publish_at].map(|at| PostId::new(at, clock::random() as u16, author));
        let (id, state) = (ScheduledId(id), ScheduledState::Waiting);
        let (text, extras) = (text.to_owned(), extras.clone());
        Self { id, text, in_reply_to, extras, publish_at, post, revision: 1, state }
    }

    /// Its entry in the index of due items.
    pub fn entry(&self) -> DueEntry {
        entry(self.id, self.publish_at)
    }
}

/// The entry of a scheduled post in the index of due items.
pub fn entry(id: ScheduledId, at: Time) -> DueEntry {
    DueEntry { at, item: DueItem { tag: TAG.to_owned(), owner: id.author(), key: id.to_string() } }
}

#[derive(Serialize, Deserialize)]
struct ScheduledItem {
    sk: ScheduledId,
    v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<PostId>,
    #[serde(default, skip_serializing_if = "Extras::is_empty")]
    extras: Extras,
    #[serde(rename = "publish_at_ms")]
    publish_at: Time,
    post: PostId,
    revision: u64,
    state: ScheduledState,
    /// The hash of the `Idempotency-Key` that made the item. With it, the key is found when the user is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Second>,
}

impl Stored for ScheduledItem {
    const V: u32 = 1;
}

impl From<ScheduledItem> for Scheduled {
    fn from(item: ScheduledItem) -> Self {
        let ScheduledItem { sk: id, text, in_reply_to, extras, publish_at, post, .. } = item;
        let (text, revision, state) = (text.unwrap_or_default(), item.revision, item.state);
        Self { id, text, in_reply_to, extras, publish_at, post, revision, state }
    }
}

/// A scheduled post that waits, by its time.
#[derive(Serialize)]
struct SoonestRow {
    sk: String,
    v: u32,
}

impl Stored for SoonestRow {
    const V: u32 = 1;
}

#[derive(Deserialize)]
struct SoonestKey {
    sk: String,
}

/// The names of the writes of a transaction about a scheduled post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScheduledWrite {
    /// The scheduled post.
    Item,
    /// Its row in the list of its author.
    Soonest,
    /// Its entry in the index of due items.
    Entry,
    /// The earlier row and entry.
    Old,
    /// The counters of the author.
    Author,
    /// The `Idempotency-Key`.
    Key,
    /// The published post.
    Post,
    /// A row of a reply in its thread, or its count.
    Reply,
}

/// The scheduled posts, in the table of due items.
#[derive(Clone)]
pub struct ScheduledStore {
    table: Table,
    index: DueIndex,
}

impl ScheduledStore {
    /// The scheduled posts of a table, with the index of due items.
    pub fn new(table: Table, index: DueIndex) -> Self {
        Self { table, index }
    }

    /// Reads a scheduled post. `None` if it does not exist.
    pub async fn scheduled(&self, id: ScheduledId) -> Result<Option<Scheduled>, StoreError> {
        let doing = "reading a scheduled post";
        let item = self.table.get(doing, key(&scheduled_pk(id.author()), id)).await?;
        Ok(item.map(|item| read::<ScheduledItem>(doing, item)).transpose()?.map(Scheduled::from))
    }

    /// A page of a user's scheduled posts that wait, soonest first, after the one at `after`.
    pub async fn soonest(
        &self,
        user: UserId,
        after: Option<ScheduledPlace>,
        limit: usize,
    ) -> Result<Page<Scheduled, ScheduledPlace>, StoreError> {
        let doing = "listing scheduled posts";
        let pk = soonest_pk(user);
        let after = after.map(|(at, id)| key(&pk, timed(at, id)));
        let places = async |count| -> Result<Vec<ScheduledPlace>, StoreError> {
            let mut places = Vec::new();
            for row in self.table.rows(doing, &pk).only("sk").first(after, count).await? {
                places.extend(time_and_id(&read_key::<SoonestKey>(doing, row)?.sk));
            }
            Ok(places)
        };
        let Page { items: places, next } = Page::of_rows(limit, places, |place| *place).await?;
        // an item that is moved between two pages of the query is in both
        let ids: BTreeSet<ScheduledId> = places.iter().map(|(_, id)| *id).collect();
        let keys = ids.iter().map(|id| key(&scheduled_pk(user), id)).collect();
        let items = self.table.get_all(doing, keys).await?;
        let items: Result<Vec<ScheduledItem>, StoreError> =
            items.into_iter().map(|item| read(doing, item)).collect();
        let mut found: Vec<Scheduled> = items?.into_iter().map(Scheduled::from).collect();
        // an item may have ended or moved between the two reads
        found.retain(|item| {
            item.state == ScheduledState::Waiting && places.contains(&(item.publish_at, item.id))
        });
        found.sort_by_key(|item| (item.publish_at, item.id));
        Ok(Page { items: found, next })
    }

    /// Stores a scheduled post with its rows, adds 1 to the author's counter, and stores the request's key, all or nothing.
    pub async fn schedule(
        &self,
        sent: &HandOn,
        (users, posts): (&UserStore, &PostStore),
        author: &Identity,
        item: &Scheduled,
        request: Option<&PostKey>,
        now: Time,
    ) -> Result<ScheduleResult, StoreError> {
        let doing = "storing a scheduled post";
        let stored = ScheduledItem {
            sk: item.id,
            v: ScheduledItem::V,
            text: Some(item.text.clone()),
            in_reply_to: item.in_reply_to,
            extras: item.extras.clone(),
            publish_at: item.publish_at,
            post: item.post,
            revision: item.revision,
            state: ScheduledState::Waiting,
            made_by: request.map(PostKey::name),
            expires_at: None,
        };
        let pk = scheduled_pk(item.id.author());
        let put = self.table.put(write(doing, &pk, &stored)?).condition("attribute_not_exists(pk)");
        let mut transaction = Transaction::new(doing);
        transaction.add(ScheduledWrite::Item, put);
        self.add_rows(doing, &mut transaction, item, sent)?;
        let counter = Counter::Scheduled.add(users.table(), 1, Owner::Is(author));
        transaction.add(ScheduledWrite::Author, counter);
        if let Some(request) = request {
            let put = posts.put_key(doing, request, item.id.0, now)?;
            transaction.add(ScheduledWrite::Key, put);
        }
        Ok(match transaction.commit().await? {
            CommitResult::Done => ScheduleResult::Done,
            // the key is checked first, because the item with this id may be the one that it made
            outcome if outcome.refused(ScheduledWrite::Key) => ScheduleResult::KeyUsed,
            outcome if outcome.refused(ScheduledWrite::Author) => ScheduleResult::Refused,
            CommitResult::Refused(_) => ScheduleResult::IdTaken,
        })
    }

    /// Replaces the content and the time of a scheduled post that waits.
    pub async fn reschedule(
        &self,
        sent: &HandOn,
        old: &Scheduled,
        new: &Scheduled,
    ) -> Result<Rescheduled, StoreError> {
        let doing = "changing a scheduled post";
        let update = self
            .change(old)
            .expression(
                "SET #text = :text, extras = :extras, publish_at_ms = :at, post = :post, revision = :next",
            )
            .name("#text", "text")
            .value(":text", text(&new.text))
            .value(":extras", text(String::from(new.extras.clone())))
            .value(":at", number(new.publish_at))
            .value(":post", text(new.post))
            .value(":next", number(new.revision));
        let mut transaction = Transaction::new(doing);
        transaction.add(ScheduledWrite::Item, update);
        if old.publish_at != new.publish_at {
            self.remove_rows(&mut transaction, old);
            self.add_rows(doing, &mut transaction, new, sent)?;
        }
        Ok(match transaction.commit().await? {
            CommitResult::Done => Rescheduled::Done,
            CommitResult::Refused(_) => Rescheduled::Raced,
        })
    }

    /// Ends a scheduled post that waits without publishing it, and subtracts 1 from the author's counter, all or nothing.
    pub async fn cancel(
        &self,
        users: &UserStore,
        old: &Scheduled,
        state: ScheduledState,
        now: Time,
    ) -> Result<Cancelled, StoreError> {
        let update = self.end(old, state, now);
        let mut transaction = Transaction::new("ending a scheduled post");
        transaction.add(ScheduledWrite::Item, update);
        self.remove_rows(&mut transaction, old);
        let owner = Owner::User(old.id.author());
        let counter = Counter::Scheduled.add(users.table(), -1, owner);
        transaction.add(ScheduledWrite::Author, counter);
        Ok(match transaction.commit().await? {
            CommitResult::Done => Cancelled::Done,
            outcome if outcome.refused(ScheduledWrite::Author) => Cancelled::NoProfile,
            CommitResult::Refused(_) => Cancelled::Raced,
        })
    }

    /// The condition that an entry leads to no scheduled post.
    pub fn stray(&self, id: ScheduledId, at: Time) -> Write {
        self.table
            .check(key(&scheduled_pk(id.author()), id))
            .condition("attribute_not_exists(pk) OR #state <> :waiting OR publish_at_ms <> :at")
            .name("#state", "state")
            .value(":waiting", text("waiting"))
            .value(":at", number(at))
    }

    /// The change of an item that waits and is as it was read.
    fn change(&self, old: &Scheduled) -> Write {
        self.table
            .update(key(&scheduled_pk(old.id.author()), old.id))
            .condition("v <= :v AND #state = :waiting AND revision = :revision")
            .name("#state", "state")
            .value(":v", number(ScheduledItem::V))
            .value(":waiting", text("waiting"))
            .value(":revision", number(old.revision))
    }

    /// The change that ends an item. The text of a post that is published or cancelled goes; what is left expires.
    fn end(&self, old: &Scheduled, state: ScheduledState, now: Time) -> Write {
        let (state, keeps_text) = match state {
            ScheduledState::Waiting => ("waiting", true),
            ScheduledState::Published => ("published", false),
            ScheduledState::Cancelled => ("cancelled", false),
            ScheduledState::Failed => ("failed", true),
        };
        let change = self
            .change(old)
            .value(":state", text(state))
            .value(":gone", number(now.expires_after(SCHEDULED_KEPT)));
        let ended = "SET #state = :state, expires_at = :gone";
        match keeps_text {
            true => change.expression(ended),
            false => {
                change.expression(format!("{ended} REMOVE #text, extras")).name("#text", "text")
            }
        }
    }

    fn add_rows(
        &self,
        doing: &'static str,
        transaction: &mut Transaction<ScheduledWrite>,
        item: &Scheduled,
        sent: &HandOn,
    ) -> Result<(), StoreError> {
        let row = SoonestRow { sk: timed(item.publish_at, item.id), v: SoonestRow::V };
        let pk = soonest_pk(item.id.author());
        let soonest = self.table.put(write(doing, &pk, &row)?);
        transaction.add(ScheduledWrite::Soonest, soonest);
        transaction.add(ScheduledWrite::Entry, self.index.put_entry(doing, &item.entry(), sent)?);
        Ok(())
    }

    fn remove_rows(&self, transaction: &mut Transaction<ScheduledWrite>, item: &Scheduled) {
        let row = soonest_key(item.publish_at, item.id);
        let delete = self.table.delete(row);
        transaction.add(ScheduledWrite::Old, delete);
        transaction.add(ScheduledWrite::Old, self.index.delete_entry(&item.entry()));
    }
}

fn scheduled_pk(user: UserId) -> Pk {
    ItemKind::Scheduled.pk(user)
}

/// The key of the row of a scheduled post in the list of its author.
fn soonest_key(at: Time, id: ScheduledId) -> Item {
    key(&soonest_pk(id.author()), timed(at, id))
}

fn soonest_pk(user: UserId) -> Pk {
    ItemKind::Soonest.pk(user)
}
