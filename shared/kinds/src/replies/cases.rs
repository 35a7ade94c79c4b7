//! The context of a post: the posts above and the replies below.

use fanfold_core::limits::PAGE_ROUNDS_MAX;
use fanfold_core::{List, PostId};
use fanfold_engines::list::{Filling, Page};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::table::ByTime;

use super::items::ReplyPlace;
use crate::posts::items::{Post, PostState};
use crate::present::{self, ShownPost, Viewer};
use crate::{App, Error};

/// The replies below this post, in this order.
#[derive(Debug, Clone, Copy)]
pub struct RepliesTo(pub PostId, pub ByTime);

impl List for RepliesTo {
    type Place = ReplyPlace;

    fn code(&self) -> u8 {
        b'c'
    }

    fn owner(&self) -> u64 {
        // both halves of the id, so that posts of one author differ
        let post = self.0.head() ^ self.0.author().0;
        match self.1 {
            ByTime::NewestFirst => post,
            ByTime::OldestFirst => !post,
        }
    }
}

/// The context of a post.
#[derive(Debug, PartialEq)]
pub struct Context {
    /// The posts above, from the root down.
    pub above: Vec<Above>,
    /// A page of the replies below, at every depth.
    pub replies: Page<ShownPost, ReplyPlace>,
}

/// A place above a post in its thread.
#[derive(Debug, PartialEq)]
pub struct Above {
    pub id: PostId,
    /// `None`: the post is gone, or hidden from the viewer.
    pub post: Option<ShownPost>,
}

/// Reads the context of a post. Fails with [`Error::NoSuchPost`] if the viewer does not see the post. Replies that are gone or
/// hidden are passed over and replaced.
pub async fn context(
    app: &App,
    viewer: &Viewer,
    list: RepliesTo,
    after: Option<ReplyPlace>,
    limit: usize,
    reading: &ReadContext,
) -> Result<Context, Error> {
    let RepliesTo(id, order) = list;
    let mut page = Filling::new(limit);
    let read = async |after, wanted| {
        Ok(Page::of_places(app.replies.below(id, order, after, wanted).await?, wanted))
    };
    let (state, first) = futures::try_join!(app.posts.state(id), read(after, page.wanted()))?;
    let PostState::Published(Post { thread, .. }) = state else {
        return Err(Error::NoSuchPost(id));
    };
    // the cards of the post and of those above come with those of the first replies
    let mut wanted = [thread.above(), &[id]].concat();
    let (mut above, mut first, mut next) = (None, Some(first), after);
    for _ in 0..PAGE_ROUNDS_MAX {
        let rows = match first.take() {
            Some(first) => first,
            None => read(next, page.wanted()).await?,
        };
        next = rows.next;
        wanted.extend(rows.items.iter().map(|(_, reply)| *reply));
        let mut shown = present::posts(app, viewer, std::mem::take(&mut wanted), reading).await?;
        if above.is_none() {
            shown.remove(&id).ok_or(Error::NoSuchPost(id))?;
            let mut place = |id: &PostId| Above { id: *id, post: shown.remove(id) };
            above = Some(thread.above().iter().map(&mut place).collect());
        }
        let replies = rows.items.into_iter();
        page.add(replies.filter_map(|row| Some((row, shown.remove(&row.1)?))));
        if next.is_none() || page.is_full() {
            break;
        }
    }
    Ok(Context { above: above.unwrap_or_default(), replies: page.end(next) })
}
