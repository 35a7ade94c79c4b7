//! The lazy merge of several feeds: it reads more of a feed only if the next post depends on it.

use std::collections::{BinaryHeap, VecDeque};

use crate::{PostId, Slice};

/// Fewest posts that a merge reads from a feed first. DynamoDB reads whole blocks, so fewer cost the same.
const MERGE_FETCH_MIN: usize = 5;

/// A merge of feeds that is in progress. It does no I/O. The caller repeats three steps: fetch the slices
/// that [`Merge::wanted`] lists, pass each to [`Merge::add`], and call [`Merge::advance`]. The merge is
/// complete when `wanted` returns an empty list.
#[derive(Debug)]
pub struct Merge {
    parts: Vec<Part>,
    /// The newest known, unmerged post of each part that has one.
    heads: BinaryHeap<(PostId, usize)>,
    count: usize,
    /// The newest id that the merge may contain.
    start: PostId,
    /// Posts that are first fetched from a feed.
    first: usize,
    merged: Vec<PostId>,
}

/// The known state of one feed: posts that are not merged yet, and the id down to which they are complete.
#[derive(Debug)]
struct Part {
    ahead: VecDeque<PostId>,
    bound: PostId,
}

/// A request for posts of one feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedPosts {
    /// The index of the feed in the merge.
    pub part: usize,
    /// The posts must be older than this.
    pub before: PostId,
    /// The number of posts, at most.
    pub count: usize,
}

impl Merge {
    /// Begins a merge of `feeds` feeds, for the newest `count` posts that are older than `before`.
    pub fn new(feeds: usize, before: PostId, count: usize) -> Self {
        let start = before.previous();
        let part = || Part { ahead: VecDeque::new(), bound: start };
        Self {
            parts: std::iter::repeat_with(part).take(feeds).collect(),
            heads: BinaryHeap::new(),
            count,
            start,
            first: (2 * count / feeds.max(1)).clamp(MERGE_FETCH_MIN.min(count), count),
            merged: Vec::new(),
        }
    }

    /// The slices that must be fetched before the merge can continue. Empty if the merge is complete.
    pub fn wanted(&self) -> Vec<WantedPosts> {
        if self.merged.len() >= self.count {
            return Vec::new();
        }
        let newest = self.heads.peek().map_or(PostId::MIN, |(post, _)| *post);
        let unknown =
            |part: &Part| part.ahead.is_empty() && part.bound >= newest && part.bound > PostId::MIN;
        let left = self.count - self.merged.len();
        let parts = self.parts.iter().enumerate().filter(|(_, part)| unknown(part));
        let wanted = |(index, part): (usize, &Part)| {
            let count = if part.bound == self.start { self.first } else { left };
            WantedPosts { part: index, before: part.bound.next(), count }
        };
        parts.map(wanted).collect()
    }

    /// Adds a fetched slice of the feed with index `part`. An unknown index is ignored.
    pub fn add(&mut self, part: usize, slice: Slice) {
        if let Some(fetched) = self.parts.get_mut(part) {
            fetched.bound = slice.bound.min(fetched.bound);
            fetched.ahead.extend(slice.posts);
            self.heads.extend(fetched.ahead.front().map(|post| (*post, part)));
        }
    }

    /// Merges down to the first place where a feed is unknown. Call it after all wanted slices were added.
    pub fn advance(&mut self) {
        let unknown = |part: &&Part| part.ahead.is_empty();
        let mut bound = self.parts.iter().filter(unknown).map(|part| part.bound).max();
        while let Some((post, index)) = self.heads.peek().copied() {
            // two feeds may contain the same post, which is merged once
            // mutation: merge-twice
            let is_merged = self.merged.last() == Some(&post);
            let is_known = bound.is_none_or(|bound| post > bound);
            if !is_merged && (!is_known || self.merged.len() >= self.count) {
                break;
            }
            self.heads.pop();
            if !is_merged {
                self.merged.push(post);
            }
            let Some(part) = self.parts.get_mut(index) else { continue };
            part.ahead.pop_front();
            match part.ahead.front() {
                Some(next) => self.heads.push((*next, index)),
                None => bound = bound.max(Some(part.bound)),
            }
        }
    }

    /// Ends the merge. Returns the merged posts, and the bound down to which they are complete.
    pub fn finish(self) -> Slice {
        let ahead = self.heads.peek().map(|(post, _)| *post);
        let unknown = self.parts.iter().filter(|part| part.ahead.is_empty());
        let bound = ahead.into_iter().chain(unknown.map(|part| part.bound)).max();
        Slice { posts: self.merged, bound: bound.unwrap_or(PostId::MIN) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn newest_first(mut ids: Vec<u128>) -> Vec<PostId> {
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids.dedup();
        ids.into_iter().map(|id| PostId(id + 1)).collect()
    }

    /// Fetches like a store, which sometimes stops early and returns how far it got.
    fn fetch(feed: &[PostId], wanted: WantedPosts, short: bool) -> Slice {
        let below: Vec<PostId> = feed.iter().copied().filter(|id| *id < wanted.before).collect();
        match below.first() {
            Some(first) if short => Slice { posts: Vec::new(), bound: *first },
            _ => Slice::head(below, wanted.count, PostId::MIN),
        }
    }

    fn merge(feeds: &[Vec<PostId>], before: PostId, count: usize, short: bool) -> (Slice, usize) {
        let (mut merge, mut fetched) = (Merge::new(feeds.len(), before, count), 0);
        let mut round = 0;
        loop {
            let wanted = merge.wanted();
            if wanted.is_empty() {
                return (merge.finish(), fetched);
            }
            round += 1;
            for want in wanted {
                fetched += 1;
                merge.add(want.part, fetch(&feeds[want.part], want, short && round % 2 == 1));
            }
            merge.advance();
        }
    }

    proptest! {
        /// Paging down any number of feeds by merges gives each post once, in order. Each merge is full
        /// or the last.
        #[test]
        fn paging_by_merges_gives_all_posts_in_order(
            feeds in prop::collection::vec(prop::collection::vec(2u128..200, 0..40), 0..6),
            count in 1usize..30,
            short: bool,
        ) {
            // feeds may have posts in common
            let all = newest_first(feeds.iter().flatten().copied().collect());
            let feeds: Vec<_> = feeds.into_iter().map(newest_first).collect();
            let mut walked: Vec<PostId> = Vec::new();
            let mut before = PostId::MAX;
            loop {
                let (slice, _) = merge(&feeds, before, count, short);
                prop_assert!(slice.posts.len() == count || slice.is_end());
                prop_assert!(slice.posts.iter().all(|post| *post > slice.bound));
                walked.extend(&slice.posts);
                if slice.is_end() {
                    break;
                }
                prop_assert!(slice.bound.next() < before, "each page must begin below the page before");
                before = slice.bound.next();
            }
            prop_assert_eq!(walked, all);
        }
    }

    /// The last post of a full merge is in two feeds. The bound is below that post.
    #[test]
    fn the_last_post_of_a_full_merge_is_not_merged_again() {
        let [newest, older] = [PostId(9), PostId(5)];
        let feeds = [vec![newest, older], vec![newest, PostId(3)]];
        let (slice, _) = merge(&feeds, PostId::MAX, 1, false);
        assert_eq!(slice.posts, [newest]);
        assert!(slice.bound < newest, "{:?}", slice.bound);
    }

    /// One of a thousand feeds has all the new posts. The others are read once, for a few posts.
    #[test]
    fn only_the_feed_with_new_posts_is_read_again() {
        let old = |feed: u128| (1..50).map(|n| PostId(n * 1_000 + feed)).rev().collect::<Vec<_>>();
        let mut feeds: Vec<_> = (1..1_000).map(old).collect();
        feeds.push((1..200).map(|n| PostId(1_000_000 + n)).rev().collect());
        let (slice, fetched) = merge(&feeds, PostId::MAX, 96, false);
        assert_eq!(slice.posts, feeds[999][..96]);
        assert_eq!(fetched, 1_000 + 1);
    }
}
