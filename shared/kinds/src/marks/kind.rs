//! The kinds of marks.

use fanfold_core::kinds::{ItemKind, KeyKind};
use fanfold_core::{PostId, UserId};
use fanfold_engines::mark::Marks;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

use crate::App;

/// A kind of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// Public, and counted.
    Like,
    /// Only its user sees it.
    Bookmark,
}

/// Where a kind of marks is kept.
#[derive(Debug, Clone, Copy)]
pub struct MarkSpec {
    /// The card of what a user marked, of the newest posts.
    pub card: KeyKind,
    /// A mark, by user and post.
    pub by_post: ItemKind,
    /// A mark, in the list of what a user marked.
    pub by_time: ItemKind,
    /// The byte of the list in cursors.
    pub code: u8,
    /// Whether others see who marked a post, and how many did.
    pub is_public: bool,
}

impl MarkKind {
    /// All kinds of marks.
    pub const ALL: &[Self] = &[Self::Like, Self::Bookmark];

    /// Where marks of this kind are kept.
    pub const fn spec(self) -> MarkSpec {
        match self {
            Self::Like => MarkSpec {
                card: KeyKind::LikesCard,
                by_post: ItemKind::Like,
                by_time: ItemKind::Liked,
                code: b'l',
                is_public: true,
            },
            Self::Bookmark => MarkSpec {
                card: KeyKind::BookmarksCard,
                by_post: ItemKind::Bookmark,
                by_time: ItemKind::Bookmarked,
                code: b'm',
                is_public: false,
            },
        }
    }

    /// The marks of this kind.
    pub fn of(self, app: &App) -> Marks<'_> {
        let MarkSpec { by_post, by_time, .. } = self.spec();
        Marks { table: app.likes.table(), by_post, by_time }
    }

    /// What a user marked a post with, read from DynamoDB.
    pub(crate) async fn of_post(
        app: &App,
        user: UserId,
        post: PostId,
    ) -> Result<MarkSet, StoreError> {
        let read = async |kind: &Self| Ok((*kind, kind.of(app).mark(user, post).await?.is_some()));
        let mut marks = MarkSet::default();
        for (kind, _) in
            try_join_all(Self::ALL.iter().map(read)).await?.into_iter().filter(|(_, is)| *is)
        {
            marks.add(kind);
        }
        Ok(marks)
    }

    /// The card of what a user marked.
    pub fn card(self, user: UserId) -> CardId {
        CardId::of_user(self.spec().card, user)
    }
}

/// What a user marked a post with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MarkSet(u8);

impl MarkSet {
    /// Whether there is a mark of this kind.
    pub fn has(self, kind: MarkKind) -> bool {
        self.0 & Self::bit(kind) != 0
    }

    /// Adds a mark.
    pub fn add(&mut self, kind: MarkKind) {
        self.0 |= Self::bit(kind);
    }

    fn bit(kind: MarkKind) -> u8 {
        1 << kind as u8
    }
}
