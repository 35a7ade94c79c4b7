//! The card of what a viewer likes, of the newest posts.

use fanfold_core::kinds::KeyKind;
use fanfold_core::limits::LIKES_CARD_MAX;
use fanfold_core::{PostId, UserId};
use fanfold_engines::card::{Card, Fetched, Text};
use fanfold_engines::valkey::CardId;
use futures::future::try_join_all;

use crate::App;

/// What a viewer likes, of the newest posts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewestLiked {
    /// The liked posts with the greatest ids, greatest first.
    posts: Vec<PostId>,
    /// Whether the viewer likes no other posts.
    is_all: bool,
}

const ALL: u8 = b'a';
const NEWEST: u8 = b'n';

impl NewestLiked {
    /// The result of a read of [`LIKES_CARD_MAX`] liked posts.
    fn read(posts: Vec<PostId>) -> Self {
        let is_all = posts.len() < LIKES_CARD_MAX;
        Self { posts, is_all }
    }

    /// Whether the viewer likes a post. `None`: the post is older than these.
    pub fn has(&self, post: PostId) -> Option<bool> {
        match self.posts.binary_search_by(|liked| post.cmp(liked)) {
            Ok(_) => Some(true),
            // mutation: likes-floor
            Err(place) => (self.is_all || place < self.posts.len()).then_some(false),
        }
    }
}

impl Card<App> for NewestLiked {
    type Of = UserId;

    fn id(viewer: &UserId) -> CardId {
        CardId::likes(*viewer)
    }

    fn of(id: CardId) -> Option<UserId> {
        id.id(KeyKind::LikesCard).map(|viewer| UserId(viewer as u64))
    }

    fn fetch(app: &App, viewers: Vec<UserId>) -> Fetched<'_, UserId, Self> {
        let read = async |viewer| {
            let posts = app.likes.newest_liked(viewer, LIKES_CARD_MAX).await?;
            Ok((viewer, Self::read(posts)))
        };
        Box::pin(try_join_all(viewers.into_iter().map(read)))
    }

    /// The ids, 16 bytes each, after one byte that says whether they are all.
    fn text(&self) -> Option<Text> {
        let ids = self.posts.iter().flat_map(|post| post.0.to_be_bytes());
        let head = if self.is_all { ALL } else { NEWEST };
        // mutation: likes-card-kept
        Some(Text::of(std::iter::once(head).chain(ids).collect()))
    }

    fn decode(_: &UserId, text: &[u8]) -> Option<Self> {
        let (head, ids) = text.split_first().filter(|(head, _)| [ALL, NEWEST].contains(*head))?;
        let (ids, rest) = ids.as_chunks::<16>();
        let posts = ids.iter().map(|id| PostId(u128::from_be_bytes(*id))).collect();
        rest.is_empty().then_some(Self { posts, is_all: *head == ALL })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_the_newest_likes_is_not_known() {
        let posts: Vec<PostId> =
            (1..=LIKES_CARD_MAX as u128).rev().map(|n| PostId(n * 10)).collect();
        let all = NewestLiked::read(posts[1..].to_vec());
        let newest = NewestLiked::read(posts);
        for (post, known) in
            [(10, Some(true)), (15, Some(false)), (9, None), (u128::MAX, Some(false))]
        {
            assert_eq!(newest.has(PostId(post)), known, "{post}");
            let known = known.or(Some(false));
            assert_eq!(all.has(PostId(post)), known, "{post}");
        }
    }

    #[test]
    fn a_text_has_whole_ids_and_says_whether_they_are_all() {
        let post = PostId::MAX;
        for posts in [Vec::new(), vec![post, PostId::MIN], vec![post; LIKES_CARD_MAX]] {
            let card = NewestLiked::read(posts);
            let text = card.text().unwrap();
            assert_eq!(NewestLiked::decode(&UserId(1), text.bytes()), Some(card));
        }
        for text in [&b""[..], b"x", b"a123", b"{}"] {
            assert_eq!(NewestLiked::decode(&UserId(1), text), None);
        }
    }
}
