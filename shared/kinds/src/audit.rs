//! The audit compares live feeds, cards and copies of boards with DynamoDB, and rebuilds those that differ.
//!
//! **Audit.** The audit picks random live feeds, reads them without recording the read, and pulls the same feeds from
//! DynamoDB alone. For author feeds it also recounts the followers. In each bucket that it visits, it also compares
//! the oldest and the newest cards in the queue with their items, up to four of each; cards of handles are not
//! compared. It counts the likes of one of these posts again, compares the rows under its tags with its text, and
//! corrects both. It compares the heads of one author with the posts; the pull that it compares a feed with does not use heads. Of one copy of a board in each
//! bucket, it compares up to 50 rows of a random part and up to 50 members from a random rank on; copies of merged
//! boards are not compared. It looks at a difference several times, because posts, follows and other changes may be
//! under way. A difference that stays is logged as an error, and the feed is dropped and rebuilt, the card is marked
//! as stale, or the copy or the heads are dropped. `AuditFeeds` and the time bound a run. A run logs how many feeds
//! were `checked`, `differed` and were `repaired`, and how many `heads`, `cards` and `boards` were compared and differed. The metrics count all
//! of them together.

use std::collections::HashSet;
use std::time::Duration;

use fanfold_core::limits::FEED_CAP_MAX;
use fanfold_core::{Bucket, FeedId, FeedKind, PostId, Slice, Time};
use fanfold_engines::card::{Compared, Wanted, names};
use fanfold_engines::feed::PostSource as _;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{CachedSlice, CardId, Read};
use fanfold_runtime::clock::{self, Deadline, Stopwatch};
use fanfold_runtime::{StoreError, metrics};

use crate::App;
use crate::all::kinds;
use crate::feeds::kept;
use crate::follows::items::Counting;
use crate::home::Of;
use crate::owned::{AUDIT_LOOK_EVERY, AUDIT_LOOKS_MAX, Audited, Auditing};

/// The oldest and the newest cards of each visited bucket that the audit compares with DynamoDB, of each.
const AUDIT_CARDS: usize = 4;
/// The remaining time below which a run of the audit ends.
const AUDIT_TIME_LEFT_MIN: Duration = Duration::from_secs(5);

/// Compares random live feeds, until as many were compared as the settings say, or the deadline is near.
pub async fn audit(app: &App, now: Time, deadline: Deadline) -> Result<Audited, StoreError> {
    let (mut audited, buckets) = (Audited::default(), app.valkey.keys().buckets());
    let (mut chosen, stopwatch) = (HashSet::new(), Stopwatch::start());
    // more tries than feeds, because a bucket may have no live feeds
    for _ in 0..app.settings.audit_feeds * 4 {
        if chosen.len() >= app.settings.audit_feeds || deadline.is_within(AUDIT_TIME_LEFT_MIN) {
            break;
        }
        let bucket = Bucket((clock::random() % u64::from(buckets)) as u16);
        check_bucket(app, bucket, now + stopwatch.elapsed(), &mut audited).await?;
        for feed in app.valkey.sample(bucket, 1).await? {
            if chosen.insert(feed) {
                Box::pin(check(app, feed, now + stopwatch.elapsed(), &mut audited)).await?;
            }
        }
    }
    let Audited { checked, differed, repaired, counted, .. } = audited;
    let Audited { likes_counted, replies_counted, tags_corrected, .. } = audited;
    let Audited { heads, heads_differed, cards, cards_differed, .. } = audited;
    let Audited { boards, boards_differed, .. } = audited;
    tracing::info!(
        checked,
        differed,
        repaired,
        counted,
        likes_counted,
        replies_counted,
        tags_corrected,
        heads,
        heads_differed,
        cards,
        cards_differed,
        boards,
        boards_differed,
        "audited"
    );
    Ok(audited)
}

/// Compares one feed with DynamoDB, removes its copy and rebuilds it if it differs, and adds the result to `audited`. A feed that is not
/// live is not compared. For an author feed, the author's followers are counted again as well.
pub async fn check(
    app: &App,
    feed: FeedId,
    now: Time,
    audited: &mut Audited,
) -> Result<(), StoreError> {
    if feed.kind == FeedKind::Author {
        let counting = app.graph.count_followers(&app.users, feed.user()).await?;
        // also if nothing changed now: an earlier count may have died after it wrote the number
        app.valkey.cards_changed(&[CardId::user(feed.user())]).await?;
        audited.counted += u64::from(matches!(counting, Counting::Counted { .. }));
    }
    let Some(right) = is_right(app, feed, now).await? else { return Ok(()) };
    audited.checked += 1;
    metrics::audited(1, u64::from(!right), 0);
    if right {
        return Ok(());
    }
    audited.differed += 1;
    // mutation: audit-copy
    kept::forget(app, feed).await?;
    app.valkey.invalidate(feed).await?;
    // not from what the feed may have been wrong with
    // mutation: audit-from-posts
    app.feeds().rebuild(feed, None, &ReadContext::from_posts(now)).await?;
    if is_right(app, feed, now).await? != Some(false) {
        audited.repaired += 1;
        metrics::audited(0, 0, 1);
    }
    Ok(())
}

/// Compares some cards of a bucket with DynamoDB, and what else each kind has there. Cards that differ are marked as stale.
/// A card that differs is compared several times, because writers may be at work. Adds the result to `audited`.
pub async fn check_bucket(
    app: &App,
    bucket: Bucket,
    now: Time,
    audited: &mut Audited,
) -> Result<(), StoreError> {
    let ids = app.valkey.sample_cards(bucket, AUDIT_CARDS).await?;
    for kind in kinds() {
        kind.audit(Auditing { app, bucket, ids: &ids, now, audited: &mut *audited }).await?;
    }
    let Compared { cards: compared, mut differing } = compare_cards(app, &ids, now).await?;
    audited.cards += compared;
    for _ in 1..AUDIT_LOOKS_MAX {
        if differing.is_empty() {
            break;
        }
        clock::sleep(AUDIT_LOOK_EVERY).await;
        let ids: Vec<CardId> = differing.keys().cloned().collect();
        let again = compare_cards(app, &ids, now).await?.differing;
        // only what is wrong in the same way every time counts
        differing.retain(|id, card| again.get(id) == Some(card));
    }
    let wrong: Vec<CardId> = differing.into_keys().collect();
    let differed = wrong.len() as u64;
    if differed > 0 {
        tracing::error!(cards = names(&wrong), "cards differ from DynamoDB");
        app.valkey.cards_changed(&wrong).await?;
        audited.cards_differed += differed;
    }
    metrics::audited(compared, differed, differed);
    Ok(())
}

/// Compares cards of all kinds with DynamoDB. Those that Valkey does not have are not compared.
pub async fn compare_cards(app: &App, ids: &[CardId], now: Time) -> Result<Compared, StoreError> {
    let wanted = kinds().fold(Wanted::default(), |wanted, kind| kind.cards(wanted, ids));
    wanted.differing(&app.valkey, app, now).await
}

/// Whether a live feed equals a pull. None: the feed is not live. A feed that differs is compared several times,
/// because posts, follows and pushes may be under way.
async fn is_right(app: &App, feed: FeedId, now: Time) -> Result<Option<bool>, StoreError> {
    let mut last = None;
    for looked in 0..AUDIT_LOOKS_MAX {
        if looked > 0 {
            clock::sleep(AUDIT_LOOK_EVERY).await;
        }
        let Some(differences) = differences(app, feed, now).await? else { return Ok(None) };
        // only a difference that is there every time counts
        let stayed = match last {
            None => differences,
            Some(last) => &differences & &last,
        };
        if stayed.is_empty() {
            return Ok(Some(true));
        }
        last = Some(stayed);
    }
    let missing_or_extra: Vec<PostId> = last.into_iter().flatten().collect();
    tracing::error!(
        %feed,
        ?missing_or_extra,
        "a live feed differs from DynamoDB"
    );
    Ok(Some(false))
}

/// The posts that only the feed or only the pull has, down to the feed's floor. None: the feed is not live. Entries of
/// deleted posts do not count as differences, because readers pass over them.
async fn differences(
    app: &App,
    feed: FeedId,
    now: Time,
) -> Result<Option<HashSet<PostId>>, StoreError> {
    let Read::Known(CachedSlice { slice: live, pulled: pointed_at }) =
        app.valkey.peek(feed, FEED_CAP_MAX).await?
    else {
        return Ok(None);
    };
    let pulled = pulled(app, feed, live.bound, now).await?;
    let held: HashSet<PostId> = live.posts.iter().copied().collect();
    // the rows of posts that are too old for the public feed expire, and rows of deleted posts stay until a message is handled
    let since = Of::Feed(feed).since(app, now);
    // posts of authors that the feed points to are merged in when it is read
    let is_pointed_at =
        |post: &PostId| pulled.contains(post) && pointed_at.contains(&post.author());
    let differing = held.symmetric_difference(&pulled).copied();
    let differing: Vec<PostId> = differing.filter(|post| !is_pointed_at(post)).collect();
    let differing = app.posts.published(&differing).await?.into_keys();
    Ok(Some(differing.filter(|post| *post > since).collect()))
}

/// All posts of a feed above a bound, read from DynamoDB alone.
async fn pulled(
    app: &App,
    feed: FeedId,
    bound: PostId,
    now: Time,
) -> Result<HashSet<PostId>, StoreError> {
    let reading = ReadContext::from_posts(now);
    let (mut pulled, mut before) = (HashSet::new(), PostId::MAX);
    loop {
        let Slice { posts, bound: down_to } =
            app.pull(feed, before, app.valkey.keep(), &reading).await?;
        pulled.extend(posts.into_iter().filter(|post| *post > bound));
        // a bound: no feed holds more entries, even with the posts that arrive during the pull
        if down_to <= bound || pulled.len() > 2 * FEED_CAP_MAX {
            return Ok(pulled);
        }
        before = down_to.next();
    }
}
