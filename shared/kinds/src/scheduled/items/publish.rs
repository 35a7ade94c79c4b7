//! The transaction that publishes a scheduled post.

use fanfold_core::Time;
use fanfold_core::limits::{DUE_TRIES_MAX, TRIES_MAX};
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::sqs::Announced;

use super::{PublishResult, Scheduled, ScheduledState, ScheduledStore, ScheduledWrite};
use crate::people::items::{Counter, HeadBounds, HeadChange, Owner, UserStore};
use crate::posts::entities::Entities;
use crate::posts::items::{Post, PostStore};
use crate::posts::messages::PostPublished;
use crate::posts::thread::Thread;
use crate::replies::items::ReplyStore;

impl ScheduledStore {
    /// Publishes a scheduled post in its thread: stores the post, ends the item, and changes the author's counters and heads, all or nothing.
    pub async fn publish(
        &self,
        _sent: Announced<PostPublished>,
        (users, posts, bounds): (&UserStore, &PostStore, HeadBounds),
        (item, entities): (&Scheduled, Entities),
        (thread, replies): (&Thread, &ReplyStore),
        now: Time,
    ) -> Result<PublishResult, StoreError> {
        let doing = "publishing a scheduled post";
        let post = Post::new(item.post, item.text.as_str(), entities);
        let post = Post { thread: thread.clone(), extras: item.extras.clone(), ..post };
        let mut change = HeadChange::unread(post.id, bounds);
        for _ in 0..TRIES_MAX {
            let mut transaction = Transaction::new(doing);
            transaction.add(ScheduledWrite::Post, posts.put(doing, &post, None)?);
            for row in replies.put(&post)? {
                transaction.add(ScheduledWrite::Reply, row);
            }
            // mutation: published-once
            let update = self.end(item, ScheduledState::Published, now);
            transaction.add(ScheduledWrite::Item, update);
            self.remove_rows(&mut transaction, item);
            let changes = [(Counter::Posts, 1), (Counter::Scheduled, -1)];
            let author = Owner::User(item.id.author());
            let counters = users.count_posts(&changes, &change, author);
            transaction.add(ScheduledWrite::Author, counters);
            let outcome = transaction.commit_within(DUE_TRIES_MAX).await?;
            if outcome.refused(ScheduledWrite::Item) {
                return Ok(PublishResult::Raced);
            }
            if !outcome.refused(ScheduledWrite::Author) {
                // a row that counts replies has a newer version
                if outcome.refused(ScheduledWrite::Reply) {
                    return Err(StoreError::GaveUp { doing, tries: 1 });
                }
                let is_done = outcome == CommitResult::Done;
                return Ok(if is_done { PublishResult::Done } else { PublishResult::IdTaken });
            }
            // there may be too many heads to add one, or they have changed since they were read
            // mutation: scheduled-again
            let Some(profile) = users.profile(item.id.author()).await? else {
                return Ok(PublishResult::NoProfile);
            };
            change = profile.heads.published(post.id, bounds);
        }
        Err(StoreError::GaveUp { doing, tries: TRIES_MAX })
    }
}
