//! Finds data about a user in a table or in Valkey.

use fanfold_core::{PostId, UserId, order};

/// Whether a text contains the id of a user or the id of one of the user's posts.
pub fn in_text(user: UserId, text: &str) -> bool {
    let posts = text.split(['#', ':']).filter_map(|word| word.parse::<PostId>().ok());
    text.contains(&user.to_string()) || posts.into_iter().any(|post| post.author() == user)
}

/// Whether a member of a sorted set or a list is an entry or a pointer of a user, or contains an id.
pub fn in_member(user: UserId, member: &[u8]) -> bool {
    order::post(member).is_some_and(|post| post.author() == user)
        || order::pointed_at(member) == Some(user)
        || member.windows(8).any(|bytes| bytes == user.0.to_be_bytes())
        || std::str::from_utf8(member).is_ok_and(|text| in_text(user, text))
}
