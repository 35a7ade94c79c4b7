//! The lazy merge of many feeds: more of a feed is asked for only when the next post cannot be
//! known without it.

use std::collections::{BinaryHeap, VecDeque};

use crate::{PostId, Slice};

/// A merge under way. Whoever drives it fetches the [`Merge::wanted`] parts and gives them, until
/// nothing is wanted any more.
#[derive(Debug)]
pub struct Merge {
    parts: Vec<Part>,
    /// The newest known post of each part that has one.
    heads: BinaryHeap<(PostId, usize)>,
    count: usize,
    /// Where each of them begins.
    start: PostId,
    /// How many posts of a feed are asked for first.
    first: usize,
    merged: Vec<PostId>,
}

/// What is known of one feed: posts that were not merged yet, and how far down it is complete.
#[derive(Debug)]
struct Part {
    ahead: VecDeque<PostId>,
    bound: PostId,
}

/// A part to be fetched: its next posts older than `before`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub part: usize,
    pub before: PostId,
    pub count: usize,
}

impl Merge {
    /// The newest `count` posts older than `before` of this many feeds.
    pub fn new(feeds: usize, before: PostId, count: usize) -> Self {
        let start = before.previous();
        let part = || Part { ahead: VecDeque::new(), bound: start };
        Self {
            parts: std::iter::repeat_with(part).take(feeds).collect(),
            heads: BinaryHeap::new(),
            count,
            start,
            first: (2 * count / feeds.max(1)).clamp(FIRST_MIN.min(count), count),
            merged: Vec::new(),
        }
    }

    /// What must be fetched before the merge can go on; nothing, if it is done.
    pub fn wanted(&self) -> Vec<Wanted> {
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
            Wanted { part: index, before: part.bound.next(), count }
        };
        parts.map(wanted).collect()
    }

    /// Takes what was fetched, and merges as far as all is known.
    pub fn give(&mut self, part: usize, slice: Slice) {
        if let Some(fetched) = self.parts.get_mut(part) {
            fetched.bound = slice.bound.min(fetched.bound);
            fetched.ahead.extend(slice.posts);
            self.heads.extend(fetched.ahead.front().map(|post| (*post, part)));
        }
    }

    /// Merges as far as all is known. To be called when all that was wanted is given.
    pub fn advance(&mut self) {
        let unknown = |part: &&Part| part.ahead.is_empty();
        let mut bound = self.parts.iter().filter(unknown).map(|part| part.bound).max();
        while let Some((post, index)) = self.heads.peek().copied() {
            // two parts may hold the same post; one that is merged is not ahead any more
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

    /// What is merged by now.
    pub fn finish(self) -> Slice {
        let ahead = self.heads.peek().map(|(post, _)| *post);
        let unknown = self.parts.iter().filter(|part| part.ahead.is_empty());
        let bound = ahead.into_iter().chain(unknown.map(|part| part.bound)).max();
        Slice { posts: self.merged, bound: bound.unwrap_or(PostId::MIN) }
    }
}

/// A query reads whole blocks: fewer than this cost the same.
const FIRST_MIN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn newest_first(mut ids: Vec<u128>) -> Vec<PostId> {
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids.dedup();
        ids.into_iter().map(|id| PostId(id + 1)).collect()
    }

    /// Fetches as a store does, which sometimes gives up early and says how far it got.
    fn fetch(feed: &[PostId], wanted: Wanted, short: bool) -> Slice {
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
                merge.give(want.part, fetch(&feeds[want.part], want, short && round % 2 == 1));
            }
            merge.advance();
        }
    }

    proptest! {
        /// Walking down any number of feeds by merges gives each post once, in order, and each
        /// merge is full or the last.
        #[test]
        fn a_walk_by_merges_is_the_sorted_whole(
            feeds in prop::collection::vec(prop::collection::vec(2u128..200, 0..40), 0..6),
            count in 1usize..30,
            short: bool,
        ) {
            // several feeds may have a post in common
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
                prop_assert!(slice.bound.next() < before, "a walk must go down");
                before = slice.bound.next();
            }
            prop_assert_eq!(walked, all);
        }
    }

    /// A merge that is full with a post of two feeds is complete below that post in both.
    #[test]
    fn the_last_post_of_a_full_merge_is_not_merged_again() {
        let [newest, older] = [PostId(9), PostId(5)];
        let feeds = [vec![newest, older], vec![newest, PostId(3)]];
        let (slice, _) = merge(&feeds, PostId::MAX, 1, false);
        assert_eq!(slice.posts, [newest]);
        assert!(slice.bound < newest, "{:?}", slice.bound);
    }

    /// A thousand feeds of which one has the news: the others are asked once, for a few posts.
    #[test]
    fn only_the_feed_that_has_the_news_is_asked_again() {
        let old = |feed: u128| (1..50).map(|n| PostId(n * 1_000 + feed)).rev().collect::<Vec<_>>();
        let mut feeds: Vec<_> = (1..1_000).map(old).collect();
        feeds.push((1..200).map(|n| PostId(1_000_000 + n)).rev().collect());
        let (slice, fetched) = merge(&feeds, PostId::MAX, 96, false);
        assert_eq!(slice.posts, feeds[999][..96]);
        assert_eq!(fetched, 1_000 + 1);
    }
}
