//! Decides whether a live feed is right.

use std::collections::HashSet;
use std::error::Error;

use fanfold_core::limits::{
    AUDIT_FEEDS_DEFAULT, AUDIT_FEEDS_MAX, AUDIT_LOOK_EVERY_MS, AUDIT_LOOKS_MAX,
    AUDIT_TIME_LEFT_MIN_MS, FEED_CAP_MAX,
};
use fanfold_core::{PostId, Slice};
use fanfold_store::aws::SdkConfig;
use fanfold_store::clock::{self, Deadline, Stopwatch};
use fanfold_store::feeds::{Feeds, Reading};
use fanfold_store::valkey::{Feed, Held, Read};
use fanfold_store::{Config, StoreError, measure};
use serde::Serialize;

#[derive(Clone)]
pub struct App {
    pub feeds: Feeds,
    /// Feeds that one run compares.
    pub sample: usize,
}

/// What a run found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Audited {
    pub checked: u64,
    /// Feeds that were not what a pull gives. Each was given up and rebuilt.
    pub differed: u64,
    /// Of those, how many are right by now.
    pub repaired: u64,
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let (default, most) = (AUDIT_FEEDS_DEFAULT as u64, AUDIT_FEEDS_MAX as u64);
        let sample = config.number("AUDIT_FEEDS", default, 1..=most)? as usize;
        Ok(Self { feeds: Feeds::new(sdk, config)?, sample })
    }
}

/// Compares a few feeds, chosen by chance, for as long as there is time.
pub async fn audit(app: &App, now_ms: u64, deadline: Deadline) -> Result<Audited, StoreError> {
    let (mut audited, buckets) = (Audited::default(), app.feeds.valkey.keys().buckets());
    let (mut chosen, stopwatch) = (HashSet::new(), Stopwatch::start());
    // a bucket may have no live feeds: a few more tries than feeds
    for _ in 0..app.sample * 4 {
        if chosen.len() >= app.sample || deadline.is_within_ms(AUDIT_TIME_LEFT_MIN_MS) {
            break;
        }
        let bucket = (clock::random() % u64::from(buckets)) as u16;
        for feed in app.feeds.valkey.sample(bucket, 1).await? {
            if chosen.insert(feed) {
                Box::pin(check(app, feed, now_ms + stopwatch.ms(), &mut audited)).await?;
            }
        }
    }
    let Audited { checked, differed, repaired } = audited;
    tracing::info!(checked, differed, repaired, "audited");
    Ok(audited)
}

/// Compares one feed, and rebuilds it if it is not what it should be.
pub async fn check(
    app: &App,
    feed: Feed,
    now_ms: u64,
    audited: &mut Audited,
) -> Result<(), StoreError> {
    let Some(right) = is_right(app, feed, now_ms).await? else { return Ok(()) };
    audited.checked += 1;
    measure::audited(1, u64::from(!right), 0);
    if right {
        return Ok(());
    }
    audited.differed += 1;
    app.feeds.valkey.distrust(feed).await?;
    app.feeds.rebuild(feed, None, &Reading::new(now_ms)).await?;
    if is_right(app, feed, now_ms).await? != Some(false) {
        audited.repaired += 1;
        measure::audited(0, 0, 1);
    }
    Ok(())
}

/// Whether a live feed is what a pull gives; nothing if it is not live. One that differs is looked
/// at again for a while: posts, follows and pushes may be under way.
async fn is_right(app: &App, feed: Feed, now_ms: u64) -> Result<Option<bool>, StoreError> {
    let mut last = None;
    for looked in 0..AUDIT_LOOKS_MAX {
        if looked > 0 {
            clock::sleep(AUDIT_LOOK_EVERY_MS).await;
        }
        let Some(differences) = differences(app, feed, now_ms).await? else { return Ok(None) };
        // only what stays different all the time counts
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
        "a live feed is not what a pull gives"
    );
    Ok(Some(false))
}

/// Posts that are in the feed or in the pull alone, down to the feed's floor. Entries of deleted
/// posts are no difference: readers pass over them.
async fn differences(
    app: &App,
    feed: Feed,
    now_ms: u64,
) -> Result<Option<HashSet<PostId>>, StoreError> {
    let Read::Known(Held { slice: live, pulled: pointed_at }) =
        app.feeds.valkey.peek(feed, FEED_CAP_MAX).await?
    else {
        return Ok(None);
    };
    let pulled = pulled(app, feed, live.bound, now_ms).await?;
    let held: HashSet<PostId> = live.posts.iter().copied().collect();
    let extra: Vec<PostId> = held.difference(&pulled).copied().collect();
    let extra = app.feeds.posts.published(&extra).await?.into_keys();
    // the posts of those it points to are merged in by whoever reads
    let missing = pulled.difference(&held).filter(|post| !pointed_at.contains(&post.author()));
    Ok(Some(missing.copied().chain(extra).collect()))
}

/// All posts of a feed above a bound, from DynamoDB alone.
async fn pulled(
    app: &App,
    feed: Feed,
    bound: PostId,
    now_ms: u64,
) -> Result<HashSet<PostId>, StoreError> {
    let reading = Reading::without_valkey(now_ms);
    let (mut pulled, mut before) = (HashSet::new(), PostId::MAX);
    loop {
        let Slice { posts, bound: down_to } =
            app.feeds.pull(feed, before, app.feeds.valkey.keep(), &reading).await?;
        pulled.extend(posts.into_iter().filter(|post| *post > bound));
        // no more than a feed may hold, and what came while it was pulled
        if down_to <= bound || pulled.len() > 2 * FEED_CAP_MAX {
            return Ok(pulled);
        }
        before = down_to.next();
    }
}
