//! The order of every feed: newest first, by descending [`PostId`].
//!
//! A sorted set of Valkey is in ascending order of (score, member). The score of a post is its
//! publication time in ms, negated. The member is the 16 bytes of its id, each bit inverted, because
//! Valkey sorts equal scores by ascending bytes. Posts of one millisecond therefore have the same order
//! in Valkey and by the descending sort key of DynamoDB, and a page can begin in one store and continue
//! in the other.

use crate::{PostId, Time, UserId};

/// The member that marks the floor of a feed. It has one byte, and members of posts have 16.
pub const FLOOR: &[u8] = b"F";

/// The score of the posts of one millisecond: the time in ms since 1970, negated.
pub fn score(time: Time) -> i64 {
    -(time.ms() as i64)
}

/// The member of a post: its 16 bytes, big-endian, each bit inverted.
pub fn member(post: PostId) -> [u8; 16] {
    (!post.0).to_be_bytes()
}

/// The members of posts, 16 bytes each, without a separator. Scripts take them as one argument.
pub fn packed(posts: &[PostId]) -> Vec<u8> {
    posts.iter().flat_map(|post| member(*post)).collect()
}

/// The post of a member. `None` if the member does not have 16 bytes.
pub fn post(member: &[u8]) -> Option<PostId> {
    let bytes: [u8; 16] = member.try_into().ok()?;
    Some(PostId(!u128::from_be_bytes(bytes)))
}

/// The pointer to a pulled author: the byte `L` and 8 bytes of the author, big-endian.
pub fn pointer(author: UserId) -> [u8; 9] {
    let mut member = [b'L'; 9];
    member[1..].copy_from_slice(&author.0.to_be_bytes());
    member
}

/// The author that a pointer names. `None` if the member is not a pointer.
pub fn pointed_at(member: &[u8]) -> Option<UserId> {
    let (b'L', author) = member.split_first()? else { return None };
    Some(UserId(u64::from_be_bytes(author.try_into().ok()?)))
}

/// The last 8 bytes of the members of an author's posts.
pub fn author_suffix(author: UserId) -> [u8; 8] {
    (!author.0).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn newer_posts_sort_lower(a: u128, b: u128, same_time: bool) {
            let b = if same_time { a >> 80 << 80 | b & ((1 << 80) - 1) } else { b };
            let key = |id: PostId| (score(id.time()), member(id));
            prop_assert_eq!(PostId(b).cmp(&PostId(a)), key(PostId(a)).cmp(&key(PostId(b))));
        }

        #[test]
        fn a_member_names_its_post_and_author(id: u128) {
            let bytes = member(PostId(id));
            prop_assert_eq!(post(&bytes), Some(PostId(id)));
            prop_assert_eq!(&bytes[8..], &author_suffix(PostId(id).author())[..]);
        }

        /// Valkey stores scores as 64-bit floats.
        #[test]
        fn a_score_is_exact_as_a_float(time in 0u64..1 << 48) {
            let time = Time::from_ms(time);
            prop_assert_eq!(score(time) as f64 as i64, score(time));
        }
    }
}
