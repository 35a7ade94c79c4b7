//! Liking a post, and taking the like back.

use fanfold_core::id::Identity;
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{Stored, number, timed, write};
use fanfold_runtime::StoreError;
use fanfold_runtime::sqs::Announced;
use serde::Serialize;

use super::{GivenLike, Like, LikeItem, LikeStore, like_pk, liked_pk, likers_pk};
use crate::likes::messages::LikeChanged;
use crate::people::items::UserStore;

/// A row of a list. Its sort key says everything.
#[derive(Serialize)]
struct ListItem {
    sk: String,
    v: u32,
}

impl Stored for ListItem {
    const V: u32 = 1;
}

/// The names of the writes of a transaction that changes a like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LikeWrite {
    /// The like.
    Like,
    /// The row in the list of what the user likes.
    Liked,
    /// The row in the list of who likes the post.
    Liker,
    /// A row that counts the likes of the post.
    Count,
    /// The condition that the user has a profile.
    Profile,
}

/// The result of changing a like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LikePut {
    /// The like was changed.
    Done,
    /// The user has no profile, or it belongs to another identity.
    NoProfile,
    /// The like changed since it was read.
    Raced,
}

impl LikeStore {
    /// Adds a like: its rows and one count, all or nothing. The post is not checked, because all who like it would meet
    /// on its item. The handler of the event removes the like if the post is gone.
    pub async fn add(
        &self,
        sent: Announced<LikeChanged>,
        users: &UserStore,
        identity: &Identity,
        GivenLike { like, token }: GivenLike,
    ) -> Result<LikePut, StoreError> {
        let doing = "liking a post";
        let mut transaction = Transaction::new(doing);
        let item = LikeItem { sk: like.post, v: LikeItem::V, liked_at: like.at, token };
        let put = self
            .table
            .put(write(doing, &like_pk(like.user), &item)?)
            // mutation: liked-once
            .condition("attribute_not_exists(pk)");
        transaction.add(LikeWrite::Like, put);
        let row = ListItem { sk: timed(like.at, like.post), v: ListItem::V };
        let row = write(doing, &liked_pk(like.user), &row)?;
        let put = self.table.put(row);
        transaction.add(LikeWrite::Liked, put);
        let row = ListItem { sk: timed(like.at, like.user), v: ListItem::V };
        let row = write(doing, &likers_pk(like.post, like.part()), &row)?;
        let put = self.table.put(row);
        transaction.add(LikeWrite::Liker, put);
        transaction.add(LikeWrite::Count, self.table.add(like.count_key(), 1));
        // mutation: like-of-profile
        transaction.add(LikeWrite::Profile, users.belongs_to(identity));
        self.commit(sent, doing, transaction, like).await
    }

    /// Removes a like: its rows and one count, all or nothing.
    pub async fn take_back(
        &self,
        sent: Announced<LikeChanged>,
        users: &UserStore,
        identity: &Identity,
        like: Like,
    ) -> Result<LikePut, StoreError> {
        let doing = "taking a like back";
        let mut transaction = Transaction::new(doing);
        self.remove_like(&mut transaction, like);
        self.remove_liker(&mut transaction, like);
        transaction.add(LikeWrite::Count, self.table.add(like.count_key(), -1));
        transaction.add(LikeWrite::Profile, users.belongs_to(identity));
        self.commit(sent, doing, transaction, like).await
    }

    async fn commit(
        &self,
        _sent: Announced<LikeChanged>,
        doing: &'static str,
        transaction: Transaction<LikeWrite>,
        like: Like,
    ) -> Result<LikePut, StoreError> {
        match transaction.commit().await? {
            CommitResult::Done => Ok(LikePut::Done),
            outcome if outcome.refused(LikeWrite::Profile) => Ok(LikePut::NoProfile),
            outcome => {
                if outcome.refused(LikeWrite::Count) {
                    self.table.check_row(doing, like.count_key()).await?;
                }
                Ok(LikePut::Raced)
            }
        }
    }

    /// Adds the removal of a like and of its row in the list of its user to a transaction, on condition that the like is as
    /// it was read.
    pub(crate) fn remove_like(&self, transaction: &mut Transaction<LikeWrite>, like: Like) {
        let delete = self
            .table
            .delete(like.key())
            // mutation: like-as-read
            .condition("liked_at_ms = :at AND v <= :v")
            .value(":v", number(LikeItem::V))
            .value(":at", number(like.at));
        transaction.add(LikeWrite::Like, delete);
        let delete = self.table.delete(like.liked_key());
        transaction.add(LikeWrite::Liked, delete);
    }

    /// Adds the removal of a like from the list of who likes the post to a transaction.
    pub(crate) fn remove_liker(&self, transaction: &mut Transaction<LikeWrite>, like: Like) {
        transaction.add(LikeWrite::Liker, self.table.delete(like.liker_key()));
    }
}
