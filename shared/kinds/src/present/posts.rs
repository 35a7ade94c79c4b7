//! What a viewer sees of posts.

use std::collections::{BTreeSet, HashMap};

use fanfold_core::{PostId, UserId};
use fanfold_engines::card::{Found, Wanted};
use fanfold_engines::reading::ReadContext;
use fanfold_runtime::StoreError;
use futures::future::try_join_all;

use super::viewer::Viewer;
use crate::App;
use crate::marks::card::MarksCard;
use crate::marks::{MarkKind, MarkSet};
use crate::people::cards::UserCard;
use crate::posts::items::{Post, PostState};

/// A post with its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPost {
    pub post: Post,
    pub author: UserCard,
    /// What the viewer marked the post with.
    pub marks: MarkSet,
}

/// A post that a reader asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostWithAuthor {
    /// The state of the post.
    pub state: PostState,
    /// The author, if there is a profile.
    pub author: Option<UserCard>,
    /// What the viewer marked the post with.
    pub marks: MarkSet,
}

impl PostWithAuthor {
    /// What everybody sees.
    pub fn cards(&self) -> (PostState, Option<UserCard>) {
        (self.state.clone(), self.author.clone())
    }

    /// The post, if it is published and its author has a profile.
    pub fn shown(self) -> Option<ShownPost> {
        match self {
            Self { state: PostState::Published(post), author: Some(author), marks } => {
                Some(ShownPost { post, author, marks })
            }
            _ => None,
        }
    }
}

/// Posts with their authors, as everybody sees them.
pub type Cards = HashMap<PostId, (PostState, Option<UserCard>)>;

/// These posts with their authors, as the viewer sees them, also those that are deleted. Those that are known are not read. Without a
/// viewer, no post has marks.
pub async fn all_posts(
    app: &App,
    viewer: Option<UserId>,
    posts: &[PostId],
    known: &Cards,
    reading: &ReadContext,
) -> Result<HashMap<PostId, PostWithAuthor>, StoreError> {
    let unknown = || posts.iter().copied().filter(|post| !known.contains_key(post));
    let wanted = Wanted::default()
        .and::<PostState>(unknown())
        .and::<Option<UserCard>>(unknown().map(PostId::author))
        .and::<MarksCard>(
            viewer
                .into_iter()
                .flat_map(|viewer| MarkKind::ALL.iter().map(move |kind| (*kind, viewer))),
        );
    let mut cards = wanted.read(&app.valkey, app, reading).await?;
    let marks = match viewer {
        Some(viewer) => marks(app, viewer, posts, &mut cards).await?,
        None => HashMap::new(),
    };
    let shown = posts.iter().map(|post| {
        let (state, author) = known.get(post).cloned().unwrap_or_else(|| {
            let author = cards.get::<App, Option<UserCard>>(&post.author()).cloned().flatten();
            (cards.take::<App, PostState>(post).unwrap_or(PostState::Missing), author)
        });
        (
            *post,
            PostWithAuthor { state, author, marks: marks.get(post).copied().unwrap_or_default() },
        )
    });
    Ok(shown.collect())
}

/// What the viewer marked these posts with. Posts that are older than those of a card are looked up.
async fn marks(
    app: &App,
    viewer: UserId,
    posts: &[PostId],
    cards: &mut Found,
) -> Result<HashMap<PostId, MarkSet>, StoreError> {
    let mut marks: HashMap<PostId, MarkSet> = HashMap::new();
    let mut lookups = Vec::new();
    for kind in MarkKind::ALL.iter().copied() {
        let newest = cards.take::<App, MarksCard>(&(kind, viewer)).unwrap_or_default().0;
        let has = |post: &&PostId| newest.has(**post) == Some(true);
        for post in posts.iter().filter(has) {
            marks.entry(*post).or_default().add(kind);
        }
        let older: BTreeSet<PostId> =
            posts.iter().filter(|post| newest.has(**post).is_none()).copied().collect();
        if !older.is_empty() {
            let older: Vec<PostId> = older.into_iter().collect();
            lookups.push(async move { Ok((kind, kind.of(app).among(viewer, &older).await?)) });
        }
    }
    for (kind, found) in try_join_all(lookups).await? {
        for post in found {
            marks.entry(post).or_default().add(kind);
        }
    }
    Ok(marks)
}

/// Reads one post with its author. Returns `None` if the post or the author's profile does not exist, or the author is
/// hidden from the viewer.
pub async fn post(
    app: &App,
    viewer: &Viewer,
    id: PostId,
    reading: &ReadContext,
) -> Result<Option<ShownPost>, StoreError> {
    Ok(posts(app, viewer, vec![id], reading).await?.remove(&id))
}

/// Reads one post without marks. Returns `None` as [`post`] does.
pub async fn unmarked(
    app: &App,
    viewer: &Viewer,
    id: PostId,
    reading: &ReadContext,
) -> Result<Option<ShownPost>, StoreError> {
    if !viewer.sees(id.author()) {
        return Ok(None);
    }
    let mut found = all_posts(app, None, &[id], &Cards::new(), reading).await?;
    Ok(found.remove(&id).and_then(PostWithAuthor::shown))
}

/// Whether the viewer sees a post: it and the author's profile exist, and the author is not hidden.
pub async fn sees(
    app: &App,
    viewer: &Viewer,
    id: PostId,
    reading: &ReadContext,
) -> Result<bool, StoreError> {
    Ok(unmarked(app, viewer, id, reading).await?.is_some())
}

/// Reads posts with their authors. Leaves out those that do not exist, whose author has no profile, or whose author is
/// hidden from the viewer.
pub async fn posts(
    app: &App,
    viewer: &Viewer,
    mut ids: Vec<PostId>,
    reading: &ReadContext,
) -> Result<HashMap<PostId, ShownPost>, StoreError> {
    ids.retain(|id| viewer.sees(id.author()));
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let found = all_posts(app, Some(viewer.user), &ids, &Cards::new(), reading).await?;
    Ok(found.into_iter().filter_map(|(id, found)| Some((id, found.shown()?))).collect())
}
