//! The newest posts of many authors at once, from the heads in their profiles.

use std::collections::{BTreeSet, HashMap};

use fanfold_core::{PostId, Slice, Time, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::{self, Stopwatch};

use crate::App;
use crate::feeds::kept::FeedCopy;
use crate::owned::{AUDIT_LOOK_EVERY, AUDIT_LOOKS_MAX};
use crate::people::items::{HeadBounds, Heads, Profile};

/// Posts that the audit reads at once: more than there are heads.
const AUDIT_POSTS: usize = HeadBounds::USUAL.max + 4;

/// The newest posts of authors, down to the floors of their heads, or further with a copy of the reader's feed. A read is
/// counted where it is of use below `before`.
pub(super) async fn newest(
    app: &App,
    authors: &[UserId],
    before: PostId,
    copy: Option<&FeedCopy>,
    reading: &ReadContext,
) -> Result<HashMap<UserId, Slice>, StoreError> {
    let mut all = app.users.heads(authors).await?;
    if let Some(copy) = copy {
        copy.extend(app.settings.kept, &mut all);
    }
    let mut newest = HashMap::new();
    for (author, heads) in all {
        // mutation: hot-author
        if heads.followers >= app.settings.hot_followers {
            app.hot.note(author, (), reading.now);
        }
        if heads.newest.bound < before {
            reading.count_query();
            newest.insert(author, heads.newest);
        }
    }
    Ok(newest)
}

/// Compares the heads of an author with the posts. A difference that stays is logged, and the heads are removed. Returns
/// whether they differed, and whether they were removed.
pub async fn audit(app: &App, author: UserId, now: Time) -> Result<(bool, bool), StoreError> {
    let (mut stayed, stopwatch) = (None, Stopwatch::start());
    for looked in 0..AUDIT_LOOKS_MAX {
        // posts may have been published or deleted between the reads
        if looked > 0 {
            clock::sleep(AUDIT_LOOK_EVERY).await;
        }
        let Some(Compared { heads, newest, differ }) = compare(app, author).await? else {
            return Ok((false, false));
        };
        let differ = match stayed {
            None => differ,
            Some((_, _, last)) => &differ & &last,
        };
        if differ.is_empty() {
            return Ok((false, false));
        }
        stayed = Some((heads, newest, differ));
    }
    let Some((heads, newest, differ)) = stayed else { return Ok((false, false)) };
    tracing::error!(%author, posts = ?differ, "the heads of an author differ from the posts");
    let now = now + stopwatch.elapsed();
    Ok((true, app.users.forget_heads(author, &heads, newest, now).await?))
}

/// The heads of an author, and what differs from the posts.
struct Compared {
    heads: Heads,
    /// The newest post. [`PostId::MIN`]: there is none.
    newest: PostId,
    /// The posts above the floor that only the heads or only the posts have.
    differ: BTreeSet<PostId>,
}

async fn compare(app: &App, author: UserId) -> Result<Option<Compared>, StoreError> {
    let newest = app.posts.by_author(author, PostId::MAX, AUDIT_POSTS);
    let (profile, mut slice) = futures::try_join!(app.users.profile(author), newest)?;
    let Some(Profile { heads, .. }) = profile else { return Ok(None) };
    let newest = slice.posts.first().copied().unwrap_or(PostId::MIN);
    let Slice { posts: known, bound } = heads.newest(author);
    let mut posts = BTreeSet::new();
    loop {
        posts.extend(slice.posts.into_iter().filter(|post| *post > bound));
        // a page of posts may end early, because there are many tombstones
        if slice.bound <= bound || posts.len() > known.len() {
            let known: BTreeSet<PostId> = known.into_iter().collect();
            return Ok(Some(Compared { heads, newest, differ: &known ^ &posts }));
        }
        slice = app.posts.by_author(author, slice.bound.next(), AUDIT_POSTS).await?;
    }
}
