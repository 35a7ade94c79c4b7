//! The built-in posts. `demo/posts.toml` has their texts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::data;

/// What the built-in people write.
#[derive(Default, Deserialize)]
pub struct Posts {
    /// Oldest first.
    pub posts: Vec<Post>,
    pub scheduled: Vec<Scheduled>,
    /// What some people say about themselves.
    pub about: BTreeMap<String, Map<String, Value>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Post {
    pub author: String,
    pub text: String,
    /// Who likes it.
    pub likes: Vec<String>,
    /// Who answers it, in this order.
    #[serde(default)]
    pub replies: Vec<Reply>,
    /// As the API takes them.
    #[serde(default)]
    pub attachments: Vec<Map<String, Value>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Reply {
    pub author: String,
    pub text: String,
}

#[derive(Deserialize)]
pub struct Scheduled {
    pub author: String,
    pub text: String,
    /// The days until it is published.
    pub days: u32,
}

pub static POSTS: LazyLock<Posts> =
    LazyLock::new(|| data(include_str!("../../../demo/posts.toml")));

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::launch::demo::people::PEOPLE;

    #[test]
    fn posts_are_allowed_different_and_of_people_who_exist() {
        let exists = |handle: &str| PEOPLE.iter().any(|(known, _)| *known == handle);
        let mut texts = BTreeSet::new();
        for Post { author, text, likes, replies, .. } in &POSTS.posts {
            assert_eq!(fanfold_core::text::post_text(text).as_deref(), Ok(text.as_str()));
            assert!(exists(author) && likes.iter().all(|fan| exists(fan)), "{text}");
            let different: BTreeSet<&String> = likes.iter().collect();
            assert!(different.len() == likes.len() && !likes.contains(author), "{text}");
            assert!(texts.insert(text), "{text}");
            for Reply { author, text } in replies {
                assert!(exists(author) && fanfold_core::text::post_text(text).is_ok(), "{text}");
                assert!(texts.insert(text), "{text}");
            }
        }
        let longest = texts.iter().map(|text| text.chars().count()).max();
        assert!(texts.len() >= 50 && longest > Some(450), "{longest:?}");
        assert_eq!(POSTS.scheduled.len(), 3);
        for Scheduled { author, text, .. } in &POSTS.scheduled {
            assert!(exists(author) && fanfold_core::text::post_text(text).is_ok(), "{text}");
        }
        assert!(POSTS.about.keys().all(|handle| exists(handle)));
        assert!(POSTS.posts.iter().any(|post| !post.attachments.is_empty()));
        for (handle, _) in PEOPLE {
            assert!(POSTS.posts.iter().any(|post| post.author == handle), "{handle} has no post");
        }
    }
}
