//! What a viewer sees of posts.

use std::collections::{BTreeSet, HashMap, HashSet};

use fanfold_core::{PostId, UserId};
use fanfold_engines::card::Wanted;
use fanfold_engines::reading::ReadContext;
use fanfold_runtime::StoreError;

use super::viewer::Viewer;
use crate::App;
use crate::likes::cards::NewestLiked;
use crate::people::cards::UserCard;
use crate::posts::items::{Post, PostState};

/// A post with its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPost {
    pub post: Post,
    pub author: UserCard,
    /// Whether the viewer likes the post.
    pub liked: bool,
}

/// A post that a reader asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostWithAuthor {
    /// The state of the post.
    pub state: PostState,
    /// The author, if there is a profile.
    pub author: Option<UserCard>,
    /// Whether the viewer likes the post.
    pub liked: bool,
}

impl PostWithAuthor {
    /// The post, if it is published and its author has a profile.
    pub fn shown(self) -> Option<ShownPost> {
        match self {
            Self { state: PostState::Published(post), author: Some(author), liked } => {
                Some(ShownPost { post, author, liked })
            }
            _ => None,
        }
    }
}

/// These posts with their authors, as the viewer sees them, also those that are deleted. Without a viewer, no post counts as
/// liked.
pub async fn all_posts(
    app: &App,
    viewer: Option<UserId>,
    posts: &[PostId],
    reading: &ReadContext,
) -> Result<HashMap<PostId, PostWithAuthor>, StoreError> {
    let wanted = Wanted::default()
        .and::<PostState>(posts.iter().copied())
        .and::<Option<UserCard>>(posts.iter().map(|post| post.author()))
        .and::<NewestLiked>(viewer);
    let mut cards = wanted.read(&app.valkey, app, reading).await?;
    let liked = match viewer {
        Some(viewer) => {
            let newest = cards.take::<App, NewestLiked>(&viewer);
            liked(app, viewer, posts, newest.unwrap_or_default()).await?
        }
        None => HashSet::new(),
    };
    let shown = posts.iter().map(|post| {
        let state = cards.take::<App, PostState>(post).unwrap_or(PostState::Missing);
        let author = cards.get::<App, Option<UserCard>>(&post.author()).cloned().flatten();
        (*post, PostWithAuthor { state, author, liked: liked.contains(post) })
    });
    Ok(shown.collect())
}

/// Those of these posts that the viewer likes. Posts that are older than those of the card are looked up.
async fn liked(
    app: &App,
    viewer: UserId,
    posts: &[PostId],
    newest: NewestLiked,
) -> Result<HashSet<PostId>, StoreError> {
    let has = |post: &&PostId| newest.has(**post) == Some(true);
    let mut liked: HashSet<PostId> = posts.iter().filter(has).copied().collect();
    let older: BTreeSet<PostId> =
        posts.iter().filter(|post| newest.has(**post).is_none()).copied().collect();
    if !older.is_empty() {
        let older: Vec<PostId> = older.into_iter().collect();
        liked.extend(app.likes.liked_among(viewer, &older).await?);
    }
    Ok(liked)
}

/// Reads one post with its author. Returns `None` if the post or the author's profile does not exist, or the author is
/// hidden from the viewer.
pub async fn post(
    app: &App,
    viewer: &Viewer,
    id: PostId,
    reading: &ReadContext,
) -> Result<Option<ShownPost>, StoreError> {
    Ok(posts(app, viewer, &[id], reading).await?.remove(&id))
}

/// Whether the viewer sees a post: it and the author's profile exist, and the author is not hidden.
pub async fn sees(
    app: &App,
    viewer: &Viewer,
    id: PostId,
    reading: &ReadContext,
) -> Result<bool, StoreError> {
    if !viewer.sees(id.author()) {
        return Ok(false);
    }
    let mut found = all_posts(app, None, &[id], reading).await?;
    Ok(found.remove(&id).and_then(PostWithAuthor::shown).is_some())
}

/// Reads posts with their authors. Leaves out those that do not exist, whose author has no profile, or whose author is
/// hidden from the viewer.
pub async fn posts(
    app: &App,
    viewer: &Viewer,
    ids: &[PostId],
    reading: &ReadContext,
) -> Result<HashMap<PostId, ShownPost>, StoreError> {
    let visible: Vec<PostId> = ids.iter().copied().filter(|id| viewer.sees(id.author())).collect();
    if visible.is_empty() {
        return Ok(HashMap::new());
    }
    let found = all_posts(app, Some(viewer.user), &visible, reading).await?;
    Ok(found.into_iter().filter_map(|(id, found)| Some((id, found.shown()?))).collect())
}
