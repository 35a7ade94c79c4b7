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

    /// The next `count` posts of it that are older than `before`.
    pub fn below(self, before: PostId, count: usize) -> Self {
        let posts = self.posts.into_iter().filter(|post| *post < before).collect();
        Self::head(posts, count, self.bound)
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_slice_ends_at_its_last_post_and_a_short_one_at_the_floor() {
        let posts = vec![PostId::last_of_ms(9), PostId::last_of_ms(8)];
        assert_eq!(Slice::above_floor(posts.clone(), 2, 3).bound, PostId::last_of_ms(8).previous());
        assert_eq!(Slice::above_floor(posts.clone(), 5, 3).bound, PostId::last_of_ms(3));
        assert!(Slice::above_floor(posts, 5, 0).is_end());
    }

    #[test]
    fn what_is_below_a_place_ends_where_the_slice_does_or_where_enough_was_taken() {
        let posts: Vec<PostId> = (1..=9).rev().map(|n| PostId(10 * n)).collect();
        let slice = Slice { posts, bound: PostId(5) };
        let below = |before, count| slice.clone().below(PostId(before), count);
        assert_eq!(below(30, 9), Slice { posts: vec![PostId(20), PostId(10)], bound: PostId(5) });
        assert_eq!(below(90, 1), Slice { posts: vec![PostId(80)], bound: PostId(79) });
        assert_eq!(below(4, 1), Slice { posts: vec![], bound: PostId(5) });
    }
}
