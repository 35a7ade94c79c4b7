//! What names a user, in a table or in Valkey.

use fanfold_core::{PostId, UserId, order};

/// The id itself, or the id of one of the user's posts.
pub fn in_text(user: UserId, text: &str) -> bool {
    let posts = text.split(['#', ':']).filter_map(|word| word.parse::<PostId>().ok());
    text.contains(&user.to_string()) || posts.into_iter().any(|post| post.author() == user)
}

/// The same among the members of a set: entries of feeds and pointers besides.
pub fn in_member(user: UserId, member: &[u8]) -> bool {
    order::post(member).is_some_and(|post| post.author() == user)
        || order::pointed_at(member) == Some(user)
        || std::str::from_utf8(member).is_ok_and(|text| in_text(user, text))
}
