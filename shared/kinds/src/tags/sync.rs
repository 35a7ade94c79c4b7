//! Brings the rows and the feeds of tags up to date with posts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fanfold_core::limits::{CONCURRENCY, TRIES_MAX};
use fanfold_core::{FeedId, PostId, TagHash, Time};
use fanfold_engines::valkey::{Chosen, Push};
use fanfold_runtime::StoreError;
use fanfold_runtime::log::Chain;
use futures::future::ready;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::items::Tagged;
use super::names::NamedTag;
use super::tagging::Tagging;
use crate::App;

/// Does what [`sync`] does, and returns a result for each post. Posts that fail together are done one by one, so that one of them
/// does not hold up the others.
pub async fn each(app: &App, posts: &[PostId], now: Time) -> Vec<Result<(), StoreError>> {
    if posts.is_empty() || sync(app, posts.iter().copied().collect(), now).await.is_ok() {
        return posts.iter().map(|_| Ok(())).collect();
    }
    let alone = posts.iter().map(|post| sync(app, [*post].into(), now));
    stream::iter(alone.collect::<Vec<_>>()).buffered(CONCURRENCY).collect().await
}

/// Puts posts under the tags of their present texts, and removes them from under those that they had earlier: one read, one write
/// of rows and one script call for each bucket, for all of them.
pub async fn sync(app: &App, posts: BTreeSet<PostId>, now: Time) -> Result<(), StoreError> {
    let is_public = app.settings.public.is_on();
    let mut known = app.posts.taggings(&posts, is_public).await?;
    for _ in 0..TRIES_MAX {
        apply(app, &known, now).await?;
        // another handler may have read a post earlier or later
        // mutation: tags-read-again
        let again = app.posts.taggings(&known.keys().copied().collect(), is_public).await?;
        let changed = known.into_iter().filter_map(|(post, known)| {
            let again = again.get(&post).cloned().unwrap_or_default();
            // what a post had that is gone by now is known from before
            let ever = &again.ever | &known.ever;
            (again.present != known.present).then_some((post, Tagging { ever, ..again }))
        });
        known = changed.collect();
        if known.is_empty() {
            return Ok(());
        }
    }
    Err(StoreError::Unsettled { what: "the tags of a post" })
}

/// Whether a post is under exactly the tags of its present text, and in the public feed if it belongs there.
pub async fn is_right(app: &App, post: PostId, now: Time) -> Result<bool, StoreError> {
    let public = app.settings.public;
    let tagging = app.posts.taggings(&[post].into(), public.is_on()).await?.remove(&post);
    let tagging = tagging.unwrap_or_default();
    let is_old = post <= public.since(now);
    let looked_at = tagging.ever.iter().filter(|tag| **tag != TagHash::PUBLIC || !is_old);
    let looks = looked_at.map(async |tag| {
        let name = app.tags.name_of(post, *tag).await?;
        Ok(name.as_ref() == tagging.present.get(tag))
    });
    let looks = stream::iter(looks.collect::<Vec<_>>()).buffer_unordered(CONCURRENCY);
    looks.try_all(ready).await
}

async fn apply(
    app: &App,
    taggings: &HashMap<PostId, Tagging>,
    now: Time,
) -> Result<(), StoreError> {
    let public = app.settings.public;
    let all = taggings.iter().flat_map(|(post, tagging)| {
        let is_old = *post <= public.since(now);
        let tags =
            tagging.present.iter().filter(move |(tag, _)| **tag != TagHash::PUBLIC || !is_old);
        tags.map(|(tag, name)| {
            let kept = (*tag == TagHash::PUBLIC).then(|| post.time().expires_after(public.kept));
            Tagged { post: *post, tag: *tag, name, expires_at: kept }
        })
    });
    let rows: Vec<Tagged<'_>> = all.collect();
    let names = rows.iter().filter_map(|row| NamedTag::new(row.name)).collect();
    let (put, used, noted) = futures::join!(
        app.tags.put(&rows, now),
        app.tags.put_uses(&rows, now),
        app.tags.note_names(names, now)
    );
    put?;
    if let Err(error) = noted {
        // whoever uses these tags next writes their names
        tracing::warn!(error = %Chain(&error), "names of tags were not written");
    }
    let gone = taggings.iter().flat_map(|(post, Tagging { present, ever, .. })| {
        let gone = ever.iter().filter(|tag| !present.contains_key(tag));
        gone.map(|tag| (*post, *tag))
    });
    let gone: Vec<(PostId, TagHash)> = gone.collect();
    futures::try_join!(app.tags.remove(&gone), app.tags.remove_uses(&gone))?;
    // after the rows: a rebuild that became live before this finds the row, or gets the push
    // mutation: tag-pushed
    push(app, &rows).await?;
    let mut of_tag: BTreeMap<TagHash, Vec<PostId>> = BTreeMap::new();
    for (post, tag) in gone {
        of_tag.entry(tag).or_default().push(post);
    }
    // mutation: tag-removed
    let removals: Vec<_> = of_tag
        .iter()
        .map(|(tag, posts)| app.valkey.remove_from_shared(FeedId::tag(*tag), posts))
        .collect();
    let removed = stream::iter(removals).buffer_unordered(CONCURRENCY);
    removed.try_collect::<()>().await?;
    // last: uses that DynamoDB refuses are for the ranking alone, and must not hold up the feeds
    // mutation: uses-repeated
    used
}

/// Pushes posts to the live feeds of their tags.
async fn push(app: &App, rows: &[Tagged<'_>]) -> Result<(), StoreError> {
    let mut feeds: BTreeMap<PostId, Vec<FeedId>> = BTreeMap::new();
    for row in rows {
        feeds.entry(row.post).or_default().push(FeedId::tag(row.tag));
    }
    let push = |(post, feeds)| Push { post, feeds, chosen: Chosen::Own, pointer: false };
    let pushes: Vec<Push> = feeds.into_iter().map(push).collect();
    let failed = app.valkey.push_all(&pushes).await.into_iter().find_map(|pushed| pushed.failed);
    failed.map_or(Ok(()), |failed| Err(failed.error))
}
