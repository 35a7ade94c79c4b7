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
//! - no message about a post of the author, or about a relation of the reader, was handled late since ([`note_late`] notes it in
//!   the profile, in `late_at_ms`);
//! - the author was not pulled when the copy was made;
//! - Valkey has had the same memory of the reader's bucket since. (`begin-memory`, as after a restore of tables, makes all copies
//!   void.)
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

use fanfold_core::{Bucket, FeedId, FeedKind, PostId, Slice, Time, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{CachedSlice, Read};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::{self, Stopwatch};
use futures::future::try_join_all;
use tokio::sync::Mutex;

use self::items::KeptFeed;
use self::settings::KeptSettings;
use crate::App;
use crate::follows::items::Followed;
use crate::people::items::{AuthorHeads, HeadBounds};

/// Feeds that are written at once.
const KEPT_AT_ONCE: usize = 25;
/// The time for each write unit: of a table that takes 4,000 units in a second, most are left for follows.
const UNIT_EVERY: Duration = Duration::from_micros(700);
/// The time for which a run of the sweep keeps feeds. Others stay live until the next run.
const KEEPS_FOR: Duration = Duration::from_secs(25);
/// The longest time from the read of a feed to the write of its copy. The removal of a user waits longer.
const KEPT_WITHIN: Duration = Duration::from_secs(10);

/// Keeps feeds in one run of the sweep, one bucket after the other.
pub struct Keeper<'a> {
    app: &'a App,
    now: Time,
    stopwatch: Stopwatch,
    /// Feeds that were kept, and whether a write has failed.
    done: Mutex<(u64, bool)>,
}

impl<'a> Keeper<'a> {
    /// For a run that begins now.
    pub fn new(app: &'a App, now: Time) -> Self {
        Self { app, now, stopwatch: Stopwatch::start(), done: Mutex::default() }
    }

    /// The number of feeds that were kept.
    pub fn kept(self) -> u64 {
        self.done.into_inner().0
    }

    /// Keeps the home feeds of a bucket that were last read at `until` or before, at most `count`. Returns whether the feeds may
    /// be dropped: not if the time of the run is over, or a write has failed.
    pub async fn keep(
        &self,
        bucket: Bucket,
        until: Time,
        count: usize,
    ) -> Result<bool, StoreError> {
        let Self { app, stopwatch, .. } = self;
        let (kept, has_failed) = &mut *self.done.lock().await;
        if *has_failed || stopwatch.elapsed() > KEEPS_FOR {
            return Ok(false);
        }
        let idle = app.valkey.idle(bucket, until, count).await?;
        let homes: Vec<UserId> = idle
            .into_iter()
            .filter(|feed| feed.kind == FeedKind::Home)
            .map(|feed| feed.user())
            .collect();
        for homes in homes.chunks(KEPT_AT_ONCE) {
            let late = |_| StoreError::Unsettled { what: "the copies of feeds" };
            let written = tokio::time::timeout(KEPT_WITHIN, keep(app, homes, self.now)).await;
            match written.unwrap_or_else(|elapsed| Err(late(elapsed))) {
                Ok((feeds, units)) => {
                    *kept += feeds;
                    clock::sleep(UNIT_EVERY * units).await;
                }
                Err(error) => {
                    *has_failed = !error.is_valkey();
                    return Err(error);
                }
            }
        }
        Ok(true)
    }
}

/// Keeps the live home feeds of these users. Returns their number, and about how many write units they took.
async fn keep(app: &App, users: &[UserId], now: Time) -> Result<(u64, u32), StoreError> {
    let reads = users.iter().map(async |user| {
        // before the feed is read
        let memory = app.valkey.memory(*user).await?;
        let read = app.valkey.peek(FeedId::home(*user), app.valkey.keep()).await?;
        let Read::Known(CachedSlice { slice: Slice { posts, bound }, pulled }) = read else {
            return Ok::<_, StoreError>(None);
        };
        let feed = KeptFeed { posts, bound, pulled, made_at: now, memory };
        Ok(Some((*user, feed)).filter(|(_, feed)| feed.is_of_use(app.settings.head_bounds)))
    });
    let feeds: Vec<_> = try_join_all(reads).await?.into_iter().flatten().collect();
    let (count, units) = (feeds.len() as u64, feeds.iter().map(|(_, feed)| feed.units()).sum());
    app.kept.put(feeds, now.expires_after(app.settings.kept.keep)).await?;
    Ok((count, units))
}

/// Notes that a message about a user is handled late after its cause, before it changes feeds.
pub async fn note_late(app: &App, user: UserId, cause: Time, now: Time) -> Result<(), StoreError> {
    if app.settings.kept.is_late(cause, now) && !app.late.contains(&user, now) {
        app.users.late(user, now).await?;
        app.late.note(user, (), now);
    }
    Ok(())
}

/// Removes the copy of a feed that was found to be wrong.
pub(crate) async fn forget(app: &App, feed: FeedId) -> Result<(), StoreError> {
    match feed.kind {
        FeedKind::Home => app.kept.forget(feed.user()).await,
        FeedKind::Author | FeedKind::Tag | FeedKind::Public => Ok(()),
    }
}

/// The copy of a reader's home feed, for a rebuild.
pub(super) async fn of(
    app: &App,
    reader: UserId,
    reading: &ReadContext,
) -> Result<Option<KeptFeed>, StoreError> {
    if !reading.uses_heads || !app.settings.kept.is_on() {
        return Ok(None);
    }
    let memory = async { reading.ask(app.valkey.memory(reader)).await };
    let (copy, memory) = futures::try_join!(app.kept.of(reader, reading.now), memory)?;
    // mutation: kept-memory
    Ok(copy.filter(|copy| memory.as_ref() == Some(&copy.memory)))
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

    /// About how many units a write of it takes: ids of 16 bytes, and the rest.
    fn units(&self) -> u32 {
        (self.posts.len() as u32 * 16 + 256).div_ceil(1_024)
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
    pub(super) fn new(reader: UserId, feed: KeptFeed, followed: &[Followed]) -> Self {
        let own = Followed { author: reader, changed_at: Some(Time::EPOCH) };
        let changed = followed.iter().chain([&own]);
        let changed = changed.filter_map(|followed| Some((followed.author, followed.changed_at?)));
        // mutation: kept-pulled
        let changed = changed.filter(|(author, _)| !feed.pulled.contains(author)).collect();
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
