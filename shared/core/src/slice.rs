//! A piece of a feed, and how far down it is known to be complete.

use crate::PostId;

/// Posts of a feed, newest first, from some place downwards. Every post of the feed between that
/// place and `bound` (exclusive) is among them. A bound of [`PostId::MIN`]: no more exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    pub posts: Vec<PostId>,
    pub bound: PostId,
}

impl Slice {
    pub const EMPTY: Slice = Slice { posts: Vec::new(), bound: PostId::MIN };

    /// The newest posts of a longer list: complete down to and including the last of them.
    pub fn head(mut posts: Vec<PostId>, count: usize, mut bound: PostId) -> Self {
        if posts.len() > count {
            posts.truncate(count);
            bound = posts.last().map_or(PostId::MAX, |last| last.previous());
        }
        Self { posts, bound }
    }

    /// What a feed in Valkey tells: `posts` above its floor, all of them if fewer than `asked`.
    pub fn above_floor(posts: Vec<PostId>, asked: usize, floor_ms: u64) -> Self {
        let bound = match posts.get(asked.saturating_sub(1)) {
            Some(last) if asked > 0 => last.previous(),
            _ if floor_ms == 0 => PostId::MIN,
            _ => PostId::last_of_ms(floor_ms),
        };
        Self { posts, bound }
    }

    /// The floor a feed gets that holds just this slice: posts newer than it are all there.
    pub fn floor_ms(&self) -> u64 {
        self.bound.time_ms()
    }

    /// True when nothing older exists.
    pub fn is_end(&self) -> bool {
        self.bound == PostId::MIN
    }

    /// The newest `count` posts of several feeds together, for slices that begin at one place.
    /// Below the highest of the bounds something may be missing, so nothing there is taken.
    pub fn merge(slices: impl IntoIterator<Item = Slice>, count: usize) -> Slice {
        let mut posts = Vec::new();
        let mut bound = PostId::MIN;
        for slice in slices {
            bound = bound.max(slice.bound);
            posts.extend(slice.posts);
        }
        posts.retain(|post| *post > bound);
        posts.sort_unstable_by(|a, b| b.cmp(a));
        posts.dedup();
        Slice::head(posts, count, bound)
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

    #[test]
    fn a_full_slice_ends_at_its_last_post_and_a_short_one_at_the_floor() {
        let posts = vec![PostId::last_of_ms(9), PostId::last_of_ms(8)];
        assert_eq!(Slice::above_floor(posts.clone(), 2, 3).bound, PostId::last_of_ms(8).previous());
        assert_eq!(Slice::above_floor(posts.clone(), 5, 3).bound, PostId::last_of_ms(3));
        assert!(Slice::above_floor(posts, 5, 0).is_end());
    }

    proptest! {
        /// Walking down any number of feeds by merged slices gives each post once, in order.
        #[test]
        fn a_walk_by_merged_slices_is_the_sorted_whole(
            feeds in prop::collection::vec(prop::collection::vec(0u128..200, 0..40), 0..6),
            count in 1usize..9,
            per_feed in 1usize..9,
        ) {
            let all = newest_first(feeds.iter().flatten().copied().collect());
            let feeds: Vec<_> = feeds.into_iter().map(newest_first).collect();
            let mut walked: Vec<PostId> = Vec::new();
            let mut before = PostId::MAX;
            for _ in 0..10_000 {
                let slices = feeds.iter().map(|feed| {
                    let below = feed.iter().copied().filter(|id| *id < before).collect();
                    Slice::head(below, per_feed, PostId::MIN)
                });
                let slice = Slice::merge(slices, count);
                prop_assert!(slice.posts.len() <= count);
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
}
