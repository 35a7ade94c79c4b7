//! The order of every feed: newest first, by descending [`PostId`].
//!
//! In a sorted set that is the ascending order of (score, member): the score is the publication
//! time in ms, negated, and the member holds the 16 bytes of the id, each bit inverted, because
//! Valkey sorts equal scores by ascending bytes. So a feed in Valkey and the descending sort key
//! of DynamoDB agree on posts of one millisecond too, and a page may begin in one and end in the
//! other.

use crate::{PostId, UserId};

/// The member that marks the floor of a feed. One byte, so no post can be mistaken for it.
pub const FLOOR: &[u8] = b"F";

/// The score of all posts of one millisecond.
pub fn score(time_ms: u64) -> i64 {
    -(time_ms as i64)
}

pub fn member(post: PostId) -> [u8; 16] {
    (!post.0).to_be_bytes()
}

/// The members of posts, one after the other: scripts take them as one argument.
pub fn packed(posts: &[PostId]) -> Vec<u8> {
    posts.iter().flat_map(|post| member(*post)).collect()
}

pub fn post(member: &[u8]) -> Option<PostId> {
    let bytes: [u8; 16] = member.try_into().ok()?;
    Some(PostId(!u128::from_be_bytes(bytes)))
}

/// The member that points to an author whose posts are not pushed.
pub fn pointer(author: UserId) -> [u8; 9] {
    let mut member = [b'L'; 9];
    member[1..].copy_from_slice(&author.0.to_be_bytes());
    member
}

/// The author that a pointer names.
pub fn pointed_at(member: &[u8]) -> Option<UserId> {
    let (b'L', author) = member.split_first()? else { return None };
    Some(UserId(u64::from_be_bytes(author.try_into().ok()?)))
}

/// How the members of all posts by this author end.
pub fn author_suffix(author: UserId) -> [u8; 8] {
    (!author.0).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn newest_first_is_lowest_first(a: u128, b: u128, same_ms: bool) {
            let b = if same_ms { a >> 80 << 80 | b & ((1 << 80) - 1) } else { b };
            let key = |id: PostId| (score(id.time_ms()), member(id));
            prop_assert_eq!(PostId(b).cmp(&PostId(a)), key(PostId(a)).cmp(&key(PostId(b))));
        }

        #[test]
        fn a_member_names_its_post_and_author(id: u128) {
            let bytes = member(PostId(id));
            prop_assert_eq!(post(&bytes), Some(PostId(id)));
            prop_assert_eq!(&bytes[8..], &author_suffix(PostId(id).author())[..]);
        }

        /// Valkey keeps scores as 64-bit floats.
        #[test]
        fn a_score_is_exact_as_a_float(time in 0u64..1 << 48) {
            prop_assert_eq!(score(time) as f64 as i64, score(time));
        }
    }
}
