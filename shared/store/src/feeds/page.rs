use fanfold_core::PostId;
use fanfold_core::limits::PAGE_ROUNDS_MAX;

use super::{Feeds, Reading, Source};
use crate::dynamo::posts::Post;
use crate::error::StoreError;
use crate::measure;
use crate::valkey::Feed;

/// The part of a feed that a page is cut from, both ends exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub before: PostId,
    pub after: PostId,
}

impl Span {
    pub const ALL: Span = Span { before: PostId::MAX, after: PostId::MIN };
}

/// Posts, newest first: as many as were asked for, or all that are left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub posts: Vec<Post>,
    /// The next page is what is older than this; nothing is left where there is none.
    pub next_before: Option<PostId>,
    pub source: Source,
}

impl Feeds {
    /// A full page, or the last one. Entries whose post is gone are passed over, replaced from
    /// below and taken out of the feed.
    pub async fn page(
        &self,
        feed: Feed,
        span: Span,
        limit: usize,
        now_ms: u64,
    ) -> Result<Page, StoreError> {
        let reading = Reading::new(now_ms);
        let (mut found, mut source, mut before) = (Vec::new(), None, span.before);
        let mut end = false;
        for _ in 0..PAGE_ROUNDS_MAX {
            // one more than asked tells whether there is a next page
            let wanted = limit + 1 - found.len();
            let (mut slice, from) = self.slice(feed, before, wanted, &reading).await?;
            source.get_or_insert(from);
            slice.posts.retain(|post| *post > span.after);
            found.extend(self.published(feed, &slice.posts, &reading).await?);
            end = slice.bound <= span.after;
            if end || found.len() > limit {
                break;
            }
            before = slice.bound.next();
        }
        let source = source.unwrap_or(Source::Pull);
        measure::page(source);
        tracing::debug!(%feed, ?source, posts = found.len(), "read a page");
        let more = found.len() > limit;
        found.truncate(limit);
        let next_before = match found.last() {
            Some(last) if more => Some(last.id),
            _ if end => None,
            _ => Some(before),
        };
        Ok(Page { posts: found, next_before, source })
    }

    async fn published(
        &self,
        feed: Feed,
        ids: &[PostId],
        reading: &Reading,
    ) -> Result<Vec<Post>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut posts = self.posts.published(ids).await?;
        let gone: Vec<PostId> = ids.iter().copied().filter(|id| !posts.contains_key(id)).collect();
        // where Valkey does not answer, they stay for the next reader to pass over
        reading.ask(self.valkey.remove(feed, &gone)).await?;
        Ok(ids.iter().filter_map(|id| posts.remove(id)).collect())
    }
}
