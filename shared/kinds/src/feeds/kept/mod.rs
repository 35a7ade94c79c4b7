//! Feeds that the sweep drops from Valkey and keeps in DynamoDB, as the setting `FEEDS_KEPT_DAYS` says.
//!
//! The sweep writes a copy of a home feed before it drops the feed, if nobody has read it meanwhile. A return reads the heads of
//! the authors as always, and takes an author's posts *below* the heads' floor from the copy instead of from a query. A return
//! costs a read for each author in any case, so a copy saves only those queries, and only feeds are kept that have more posts of
//! an author than there are heads: those of readers of few, busy authors. Their returns are a round of calls shorter, but a copy
//! costs more than it saves (`tests/bench/returns.rs`), so feeds are not kept unless an operator wants these returns faster.
//!
//! **The law.** What is taken from a copy is what a query would give, except deleted posts, which readers pass over. A copy is
//! used for an author only if nothing that concerns the two has changed since it was made, less two minutes:
//!
//! - the last change of the relation and the floor of the author's heads are older: what was published since is in the heads;
//! - no message about a post of the author, or about a relation of the reader, was handled late since ([`note_late`]), and no
//!   post of the author was published below the floor: both are noted in the profile, in `late_at_ms`;
//! - the author was not pulled when the copy was made, and is not now.
//!
//! A handler notes a late message before it changes feeds, and the two minutes cover the time between the two. Late messages are
//! noted while feeds are not kept, too: copies of before may be used when they are kept again.
//!
//! The audit compares feeds that were made from copies as it compares all feeds. If one differs, its copy is removed, and the
//! feed is rebuilt without it.

pub mod items;
pub mod settings;

use std::collections::HashMap;
use std::time::Duration;

use fanfold_core::{FeedId, FeedKind, PostId, Slice, Time, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{CachedSlice, Read};
use fanfold_runtime::{StoreError, clock};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use self::items::KeptFeed;
use self::settings::KeptSettings;
use crate::App;
use crate::feeds::pulled::PulledState;
use crate::follows::items::Followed;
use crate::people::items::{AuthorHeads, HeadBounds};

/// Feeds that the sweep reads at the same time.
const READ_AT_ONCE: usize = 32;

/// The time that a copy takes on average: of a table that takes 4,000 units in a second, 500 copies with three units each leave
/// most for follows.
const KEPT_EVERY: Duration = Duration::from_millis(2);
/// Feeds that one run of the sweep keeps, in 40 s.
pub(crate) const KEPT_PER_SWEEP: u64 = 20_000;

/// Keeps those of these feeds that are live home feeds, and waits until others may be kept.
pub async fn keep(app: &App, feeds: Vec<FeedId>, now: Time) -> Result<(), StoreError> {
    let homes = feeds.into_iter().filter(|feed| feed.kind == FeedKind::Home);
    let reads = homes.map(async |feed| {
        let read = app.valkey.peek(feed, app.valkey.keep()).await?;
        let Read::Known(CachedSlice { slice: Slice { posts, bound }, pulled }) = read else {
            return Ok::<_, StoreError>(None);
        };
        let feed = (feed.user(), KeptFeed { posts, bound, pulled, made_at: now });
        Ok(Some(feed).filter(|(_, feed)| feed.is_of_use(app.settings.head_bounds)))
    });
    let reads = stream::iter(reads.collect::<Vec<_>>()).buffer_unordered(READ_AT_ONCE);
    let read: Vec<Option<_>> = reads.try_collect().await?;
    let feeds: Vec<_> = read.into_iter().flatten().collect();
    let pause = KEPT_EVERY * feeds.len() as u32;
    app.kept.put(feeds, now.expires_after(app.settings.kept.keep)).await?;
    clock::sleep(pause).await;
    Ok(())
}

/// Notes that a message about a user is handled late after its cause, before it changes feeds.
pub async fn note_late(app: &App, user: UserId, cause: Time, now: Time) -> Result<(), StoreError> {
    if app.settings.kept.is_late(cause, now) && !app.late.contains(user, now) {
        app.users.late(user, now).await?;
        app.late.note(user, now);
    }
    Ok(())
}

/// Removes the copy of a feed that was found to be wrong.
pub(crate) async fn forget(app: &App, feed: FeedId) -> Result<(), StoreError> {
    match feed.kind {
        FeedKind::Home if app.settings.kept.is_on() => app.kept.forget(feed.user()).await,
        _ => Ok(()),
    }
}

/// The copy of a reader's home feed, for a rebuild.
pub(super) async fn of(
    app: &App,
    reader: UserId,
    reading: &ReadContext,
) -> Result<Option<KeptFeed>, StoreError> {
    match reading.uses_heads && app.settings.kept.is_on() {
        true => app.kept.of(reader, reading.now).await,
        false => Ok(None),
    }
}

impl KeptFeed {
    /// Whether a return may need posts of it that are not among the heads of their author.
    pub fn is_of_use(&self, heads: HeadBounds) -> bool {
        let mut posts: HashMap<UserId, usize> = HashMap::new();
        self.posts.iter().any(|post| {
            let count = posts.entry(post.author()).or_default();
            *count += 1;
            *count > heads.kept
        })
    }
}

/// The copy of a reader's feed, and what the reader follows now.
pub struct FeedCopy {
    reader: UserId,
    feed: KeptFeed,
    /// The authors who are not pulled, with the last change of each relation.
    changed: HashMap<UserId, Time>,
}

impl FeedCopy {
    /// The copy of a reader with these relations.
    pub(super) fn new(
        reader: UserId,
        feed: KeptFeed,
        followed: &[Followed],
        pulled: &HashMap<UserId, PulledState>,
    ) -> Self {
        let own = Followed { author: reader, changed_at: Some(Time::EPOCH) };
        let changed = followed.iter().chain([&own]);
        let changed = changed.filter_map(|followed| Some((followed.author, followed.changed_at?)));
        // mutation: kept-pulled
        let is_pushed =
            |author: &UserId| !feed.pulled.contains(author) && !pulled.contains_key(author);
        let changed = changed.filter(|(author, _)| is_pushed(author)).collect();
        Self { reader, feed, changed }
    }

    /// Adds what the copy has below the heads of authors.
    pub(super) fn extend(&self, kept: KeptSettings, heads: &mut HashMap<UserId, AuthorHeads>) {
        let Some(late_at) = heads.get(&self.reader).map(|reader| reader.late_at) else { return };
        let is_before = |change| kept.is_before(change, self.feed.made_at);
        let mut posts: HashMap<UserId, Vec<PostId>> = HashMap::new();
        for post in &self.feed.posts {
            posts.entry(post.author()).or_default().push(*post);
        }
        for (author, AuthorHeads { newest, late_at: late_author, .. }) in heads {
            let Some(changed_at) = self.changed.get(author) else { continue };
            let floor = newest.bound;
            // mutation: kept-changed
            let changes = [*changed_at, floor.time(), late_at, *late_author];
            if changes.into_iter().all(is_before) && self.feed.bound < floor {
                let older = posts.remove(author).into_iter().flatten();
                newest.posts.extend(older.filter(|post| *post <= floor));
                newest.bound = self.feed.bound;
            }
        }
    }
}
