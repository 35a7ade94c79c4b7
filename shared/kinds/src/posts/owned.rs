//! The posts of a user who is erased or exported.

use fanfold_core::limits::CONCURRENCY;
use fanfold_core::registry::CHANGE_EVENTS;
use fanfold_core::{PostId, Slice, Time};
use fanfold_engines::card::Wanted;
use fanfold_engines::outbox::all_announced;
use fanfold_engines::valkey::CardId;
use serde_json::json;

use super::items::PostState;
use super::messages::PostDeleted;
use crate::owned::erasing::{Erasing, Progress, ended};
use crate::owned::{EXPORT_PAGE, ExportRead, Exporting, Line, Lines, Owned, Step, nothing, place};
use crate::{App, replies, tags};

/// Posts that are taken out of the feeds of their tags at the same time.
const TAGGED_AT_ONCE: usize = 10;
/// Bytes of posts after which a read of an export ends. A post with all its versions may add as many.
const EXPORT_BYTES: usize = 1 << 20;

/// Posts.
pub(crate) struct Posts;

impl Owned for Posts {
    nothing!(is_left forget audit);

    /// Replaces the posts with tombstones. Messages remove their likes.
    fn empty<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            let (app, user, now) = (erasing.app, erasing.user, erasing.now);
            let mut after: Option<PostId> = None;
            loop {
                let page = app.posts.to_bury(user, after).await?;
                let (all, next) = (page.all().map(CardId::post).collect(), page.next);
                let deleted_at = erasing.time();
                let events: Vec<PostDeleted> =
                    page.live().map(|post| PostDeleted { post, deleted_at }).collect();
                let bury = |sent| app.posts.bury(sent, user, page, now);
                let count = all_announced(&app.outbox, CHANGE_EVENTS, &events, bury).await?;
                // all posts of the page, because an earlier order may have died before it did this
                erasing.forget_cards(all).await?;
                erasing.removed("posts", count);
                after = next;
                if after.is_none() {
                    return Ok(Progress::Done);
                }
                // a page that has only tombstones is passed quickly
                if count > 0 && erasing.time_is_up() {
                    return Ok(Progress::NoTime);
                }
            }
        })
    }

    /// Removes the tombstones, with the receipts and idempotency keys that only they lead to.
    fn erase<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            let app = erasing.app;
            loop {
                let page = app.posts.to_erase(erasing.user).await?;
                let left = page.in_threads().map(async |(reply, thread)| {
                    // mutation: erased-replies
                    replies::events::leave(app, reply, thread).await.map(|()| true)
                });
                erasing.removed("replies", ended(left.collect(), CONCURRENCY).await?);
                // mutation: erased-tags
                let posts = page.in_shared_feeds(app.settings.public.is_on());
                let posts: Vec<PostId> = posts.collect();
                for some in posts.chunks(TAGGED_AT_ONCE) {
                    tags::sync::sync(app, some.iter().copied().collect(), erasing.now).await?;
                }
                let erased = app.posts.erase(erasing.user, page, &app.receipts).await?;
                erasing.removed("receipt_rows", erased.receipt_rows);
                erasing.removed("keys", erased.keys);
                if erased.posts.is_empty() {
                    return Ok(Progress::Done);
                }
                // mutation: erased-cards
                erasing.forget_cards(erased.posts.into_iter().map(CardId::post).collect()).await?;
                if erasing.time_is_up() {
                    return Ok(Progress::NoTime);
                }
            }
        })
    }

    fn export<'a>(&'a self, exporting: Exporting<'a>) -> ExportRead<'a> {
        let Exporting { app, user, after, .. } = exporting;
        Box::pin(async move {
            let before = place(after).unwrap_or(PostId::MAX);
            let Slice { posts, mut bound } = app.posts.by_author(user, before, EXPORT_PAGE).await?;
            let texts = app.posts.published(&posts).await?;
            let (mut lines, mut last, mut bytes) = (Vec::new(), before, 0);
            for post in posts.iter().filter_map(|id| texts.get(id)) {
                // a post may have very many versions, or long ones
                if lines.len() >= EXPORT_PAGE || bytes >= EXPORT_BYTES {
                    bound = last.previous();
                    break;
                }
                last = post.id;
                let line = json!({
                    "type": "post", "id": post.id, "created_at": post.id.time().rfc3339(),
                    "text": post.text, "entities": post.entities, "version": post.version,
                    "attachments": post.extras.attachments(),
                    "edited_at": post.edited_at.map(Time::rfc3339), "likes": post.likes,
                    "in_reply_to": post.thread.answered(), "replies": post.replies,
                });
                let mut of_post = vec![Line::with_data(&line, post.extras.data())];
                if post.version > 1 {
                    let versions = app.posts.versions(post.id).await?.into_iter();
                    of_post.extend(versions.map(|version| {
                        let line = json!({
                            "type": "post_version", "post": post.id, "version": version.number,
                            "written_at": version.written_at.rfc3339(), "text": version.text,
                            "entities": version.entities, "attachments": version.extras.attachments(),
                        });
                        Line::with_data(&line, version.extras.data())
                    }));
                }
                bytes += of_post.iter().map(|line| line.as_str().len()).sum::<usize>();
                lines.extend(of_post);
            }
            let next = (bound > PostId::MIN).then(|| bound.next().to_string());
            Ok(Lines { lines, next_after: next })
        })
    }

    fn cards(&self, wanted: Wanted<App>, ids: &[CardId]) -> Wanted<App> {
        wanted.among::<PostState>(ids)
    }
}
