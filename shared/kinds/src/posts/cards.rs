//! The card of a post: its state, with the text and the number of likes.

use std::collections::HashMap;

use fanfold_core::kinds::KeyKind;
use fanfold_core::{PostId, Time};
use fanfold_engines::card::{Card, Fetched, Text};
use fanfold_engines::valkey::CardId;
use serde::{Deserialize, Serialize};

use super::entities::Entities;
use super::extras::Extras;
use super::items::{Post, PostState};
use super::thread::Thread;
use crate::App;

/// In JSON. Names are short, because they are stored with each card.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PostText {
    /// The text. `None`: the post was deleted.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The entities.
    #[serde(rename = "e", default, skip_serializing_if = "Entities::is_empty")]
    entities: Entities,
    /// What the post has beside its text.
    #[serde(rename = "x", default, skip_serializing_if = "Extras::is_empty")]
    extras: Extras,
    /// The number of the version. `None`: the first one.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    /// When the version was written.
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    edited_at: Option<Time>,
    /// The posts above.
    #[serde(rename = "a", default, skip_serializing_if = "Thread::is_empty")]
    thread: Thread,
    /// The number of likes.
    #[serde(rename = "l", default, skip_serializing_if = "is_zero")]
    likes: u64,
    /// The number of replies.
    #[serde(rename = "r", default, skip_serializing_if = "is_zero")]
    replies: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Card<App> for PostState {
    type Of = PostId;

    fn id(post: &PostId) -> CardId {
        CardId::post(*post)
    }

    fn of(id: CardId) -> Option<PostId> {
        id.id(KeyKind::PostCard).map(PostId)
    }

    fn fetch(app: &App, posts: Vec<PostId>) -> Fetched<'_, PostId, Self> {
        Box::pin(async move {
            let mut states: HashMap<PostId, Self> = app.posts.states(&posts).await?;
            let state = |post| (post, states.remove(&post).unwrap_or(Self::Missing));
            Ok(posts.into_iter().map(state).collect())
        })
    }

    fn text(&self) -> Option<Text> {
        let text = match self {
            // it may be committed later
            Self::Missing => return None,
            Self::Deleted => PostText::default(),
            Self::Published(post) => {
                let post = post.clone();
                PostText {
                    text: Some(post.text),
                    entities: post.entities,
                    extras: post.extras,
                    version: (post.version > 1).then_some(post.version),
                    edited_at: post.edited_at,
                    thread: post.thread,
                    likes: post.likes,
                    replies: post.replies,
                }
            }
        };
        serde_json::to_vec(&text).ok().map(Text::of)
    }

    fn decode(post: &PostId, text: &[u8]) -> Option<Self> {
        let card: PostText = serde_json::from_slice(text).ok()?;
        Some(match card.text {
            None => Self::Deleted,
            Some(text) => Self::Published(Post {
                id: *post,
                text,
                entities: card.entities,
                extras: card.extras,
                version: card.version.unwrap_or(1),
                edited_at: card.edited_at,
                thread: card.thread,
                likes: card.likes,
                replies: card.replies,
            }),
        })
    }

    fn is_same(&self, right: &Self) -> bool {
        // a tombstone expires, and the post stays deleted
        let is_gone = |state: &Self| !matches!(state, Self::Published(_));
        self == right || (is_gone(self) && is_gone(right))
    }
}
