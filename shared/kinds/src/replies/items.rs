//! The lists of replies under posts, and the rows that count them.

use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::{PostId, Time};
use fanfold_engines::table::transact::Transaction;
use fanfold_engines::table::{ByTime, Item, Table, Write, key, timed};
use fanfold_engines::tally::Tallied;
use fanfold_runtime::error::StoreError;

use crate::posts::items::Post;
use crate::posts::thread::Thread;

/// Parts of the replies to a post. DynamoDB takes 1,000 write units a second in each part, and a transaction takes two for a
/// row, so a post can get 2,000 replies a second.
const REPLY_PARTS: u8 = 4;
/// Rows that count the replies in one part. Transactions that write the same row at the same time are cancelled.
const REPLY_COUNT_ROWS: u16 = 32;

/// A place among the replies below a post: after the reply of this time and id.
pub type ReplyPlace = (Time, PostId);

/// The names of the writes of a transaction that removes a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemovalWrite {
    /// The rows of the reply.
    Row,
    /// The count of the answered post.
    Count,
}

/// The table of marks, with who answers which post.
#[derive(Clone)]
pub struct ReplyStore {
    table: Table,
}

impl ReplyStore {
    /// Over this table.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// The writes that put a new post into the lists of the posts above, and count it. None for a post that is no reply.
    pub(crate) fn put(&self, post: &Post) -> Result<Vec<Write>, StoreError> {
        let Some(answered) = post.thread.answered() else { return Ok(Vec::new()) };
        let row = |above: &PostId| {
            self.table.put_timed(&replies_pk(*above, part(post.id)), post.id.time(), post.id)
        };
        let mut writes: Vec<Write> =
            post.thread.above().iter().map(row).collect::<Result<_, _>>()?;
        writes.push(self.table.add(count_key(answered, post.id), 1));
        Ok(writes)
    }

    /// Fails if the row that counts a reply has a newer version, which explains why a transaction was refused.
    pub(crate) async fn check_count(&self, reply: &Post) -> Result<(), StoreError> {
        match reply.thread.answered() {
            Some(answered) => {
                self.table.check_row("storing a reply", count_key(answered, reply.id)).await
            }
            None => Ok(()),
        }
    }

    /// Takes a deleted reply out of the lists of the posts above, and out of the count, all or nothing and once.
    pub(crate) async fn remove_reply(
        &self,
        reply: PostId,
        thread: &Thread,
    ) -> Result<(), StoreError> {
        let doing = "removing a reply from its thread";
        let Some(answered) = thread.answered() else { return Ok(()) };
        let mut transaction = Transaction::new(doing);
        for above in thread.above() {
            let row = key(&replies_pk(*above, part(reply)), timed(reply.time(), reply));
            // mutation: reply-removed-once
            let row = self.table.delete(row).condition("attribute_exists(pk)");
            transaction.add(RemovalWrite::Row, row);
        }
        let count = count_key(answered, reply);
        transaction.add(RemovalWrite::Count, self.table.add(count.clone(), -1));
        if transaction.commit().await?.refused(RemovalWrite::Count) {
            self.table.check_row(doing, count).await?;
        }
        Ok(())
    }

    /// The replies below a post, in this order: at most `count`, after this place.
    pub async fn below(
        &self,
        post: PostId,
        order: ByTime,
        after: Option<ReplyPlace>,
        count: usize,
    ) -> Result<Vec<ReplyPlace>, StoreError> {
        let doing = "reading the replies to a post";
        let pks = (0..REPLY_PARTS).map(|part| replies_pk(post, part));
        self.table.timed_parts(doing, pks, order, after, count).await
    }

    /// The number of replies to a post.
    pub async fn counted(&self, post: PostId) -> Result<Tallied, StoreError> {
        self.table.tally("counting replies", counts(post), REPLY_PARTS.into()).await
    }

    /// Removes the rows that count the replies to a post.
    pub async fn forget_counts(&self, post: PostId) -> Result<(), StoreError> {
        let doing = "removing the rows that count the replies to a post";
        self.table.forget_tally(doing, counts(post), REPLY_PARTS.into()).await
    }
}

/// The part of a list that a reply is in: by the bits that make its id unique.
fn part(reply: PostId) -> u8 {
    reply.head() as u8 % REPLY_PARTS
}

/// The key of the row that counts a reply. These bits of the id are not those of the part.
fn count_key(answered: PostId, reply: PostId) -> Item {
    let row = (reply.head() >> 8) as u16 % REPLY_COUNT_ROWS;
    key(&counts_pk(answered, part(reply)), row)
}

fn replies_pk(post: PostId, part: u8) -> Pk {
    ItemKind::Reply.pk(format_args!("{post}#{part}"))
}

fn counts_pk(post: PostId, part: u8) -> Pk {
    ItemKind::ReplyCount.pk(format_args!("{post}#{part}"))
}

/// The partition keys of the rows that count the replies to a post.
fn counts(post: PostId) -> impl Iterator<Item = Pk> {
    (0..REPLY_PARTS).map(move |part| counts_pk(post, part))
}
