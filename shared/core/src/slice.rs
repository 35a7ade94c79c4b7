//! A part of a feed, with the point down to which the part is complete.

use crate::{PostId, Time};

/// Posts of a feed, newest first, from the place where the caller began to read. They include every post of the
/// feed between that place and `bound`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// The posts, newest first.
    pub posts: Vec<PostId>,
    /// The id down to which the posts are complete, exclusive. [`PostId::MIN`]: the feed has no older posts.
    pub bound: PostId,
}

impl Slice {
    /// No posts, and no older ones exist.
    pub const EMPTY: Slice = Slice { posts: Vec::new(), bound: PostId::MIN };

    /// The newest `count` posts of a list that is complete down to `bound`. If posts are cut off, the slice
    /// is complete down to its last post.
    pub fn head(mut posts: Vec<PostId>, count: usize, mut bound: PostId) -> Self {
        if posts.len() > count {
            posts.truncate(count);
            bound = posts.last().map_or(PostId::MAX, |last| last.previous());
        }
        Self { posts, bound }
    }

    /// The next `count` posts of this slice that are older than `before`.
    pub fn below(self, before: PostId, count: usize) -> Self {
        let posts = self.posts.into_iter().filter(|post| *post < before).collect();
        Self::head(posts, count, self.bound)
    }

    /// The slice for an answer of Valkey: `posts` are those above the feed's floor, at most `requested`. If there
    /// are fewer, they are all posts above the floor. [`Time::EPOCH`]: the feed is complete.
    pub fn above_floor(posts: Vec<PostId>, requested: usize, floor: Time) -> Self {
        let bound = match posts.get(requested.saturating_sub(1)) {
            Some(last) if requested > 0 => last.previous(),
            _ if floor == Time::EPOCH => PostId::MIN,
            _ => PostId::last_of(floor),
        };
        Self { posts, bound }
    }

    /// The floor of a feed that contains only this slice.
    pub fn floor(&self) -> Time {
        self.bound.time()
    }

    /// Whether the feed has no older posts.
    pub fn is_end(&self) -> bool {
        self.bound == PostId::MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_slice_ends_at_its_last_post_and_a_short_one_at_the_floor() {
        let [three, eight, nine] = [3, 8, 9].map(Time::from_ms);
        let posts = vec![PostId::last_of(nine), PostId::last_of(eight)];
        assert_eq!(
            Slice::above_floor(posts.clone(), 2, three).bound,
            PostId::last_of(eight).previous()
        );
        assert_eq!(Slice::above_floor(posts.clone(), 5, three).bound, PostId::last_of(three));
        assert!(Slice::above_floor(posts, 5, Time::EPOCH).is_end());
    }

    #[test]
    fn the_posts_below_a_place_end_with_the_slice_or_at_count() {
        let posts: Vec<PostId> = (1..=9).rev().map(|n| PostId(10 * n)).collect();
        let slice = Slice { posts, bound: PostId(5) };
        let below = |before, count| slice.clone().below(PostId(before), count);
        assert_eq!(below(30, 9), Slice { posts: vec![PostId(20), PostId(10)], bound: PostId(5) });
        assert_eq!(below(90, 1), Slice { posts: vec![PostId(80)], bound: PostId(79) });
        assert_eq!(below(4, 1), Slice { posts: vec![], bound: PostId(5) });
    }
}
