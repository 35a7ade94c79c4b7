//! Changes of the scores of members. Each writes the row of one member.

use std::collections::HashMap;
use std::time::Duration;

use fanfold_core::board::{BoardError, Order, Orders, Round};
use fanfold_core::kinds::ItemKind;
use fanfold_core::{MemberName, Scores, Time, UserId};
use fanfold_engines::idempotency::RequestKey;
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{Item, Stored, hashed, number, read};
use fanfold_runtime::StoreError;
use fanfold_runtime::sqs::Announced;

use super::{BoardStore, Row, ScoreItem, StoredBoard, StoredRound};
use crate::boards::messages::ScoresChanged;

/// How long DynamoDB keeps the revision of a member that was removed.
const BOARD_TOMBSTONE_KEPT: Duration = Duration::from_secs(24 * 3600);
/// Tries of an addition to scores. Additions with a key meet on their member; on average a try waits for 320 ms.
const BOARD_ADD_TRIES: u32 = 20;

/// An addition to the scores of a member.
#[derive(Debug, Clone)]
pub struct Addition<'a> {
    /// The member.
    pub member: &'a MemberName,
    /// What is added to each score. A new member begins with zeros.
    pub by: Scores,
    /// The `Idempotency-Key`. `None`: the addition is made whenever it is asked for.
    pub key: Option<ScoreKey>,
}

/// An `Idempotency-Key` of a user, for one member of a board. The user and the names are hashed, so the item always has the
/// same form and length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreKey {
    hash: String,
    /// The round of the addition, if it is made now. The key counts for all rounds: a request that is repeated after the end of
    /// its period is the same request.
    round: Round,
}

impl ScoreKey {
    /// The key `name` of a user, for a member of a board.
    pub fn new(
        user: UserId,
        name: &str,
        board: &StoredBoard,
        round: Round,
        member: &MemberName,
    ) -> Self {
        let (StoredBoard { id, token, .. }, length) = (board, name.len());
        // the length separates the name, which may contain any character, from the rest
        let hash = hashed(&format!("{user} {length} {name} {id} {token} {member}"));
        Self { hash, round }
    }

    /// The key, with what is added.
    fn with(&self, by: &Scores) -> RequestKey {
        RequestKey::new(ItemKind::ScoreKey.pk(&self.hash), &format!("{:?}", by.as_slice()))
    }
}

/// The result of an addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is made.
    Done,
    /// It was made by an earlier request with the same key, in this round.
    Earlier(Round),
    /// A sum is not a 64-bit integer. Nothing was changed.
    Overflow,
    /// The key was used for another addition.
    KeyReused,
}

/// The names of the writes of an addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddWrite {
    /// The row of the member.
    Row,
    /// The key.
    Key,
}

/// The attributes of the scores of a row.
const SCORES: [&str; 4] = ["s0", "s1", "s2", "s3"];

/// The part of an update that gives the row a greater revision. A member that was never there begins with the time, so
/// that its revision is greater than that of an earlier tombstone, which has expired.
const REVISION: &str = "revision = if_not_exists(revision, :begin) + :one, v = :v";

/// The part of an update that sets or removes the time at which the row expires.
fn expiry(rows: StoredRound) -> (&'static str, &'static str) {
    match rows.expire {
        Some(_) => (", expires_at = :expires", ""),
        // the row may be a tombstone
        None => ("", " REMOVE expires_at"),
    }
}

const ADDING: &str = "adding to scores";

/// The update that adds to scores, its condition, and their values.
fn sums(rows: StoredRound, by: &Scores, now: Time) -> (String, String, Item) {
    let (set, remove) = expiry(rows);
    let sets = names(by).map(|name| format!("{name} = if_not_exists({name}, :zero) + :{name}"));
    let sets: Vec<String> = sets.collect();
    let mut all = values(rows, by, now);
    all.insert(":zero".to_owned(), number(0));
    all.insert(":v".to_owned(), number(ScoreItem::V));
    let mut condition = "(attribute_not_exists(v) OR v <= :v)".to_owned();
    for (name, by) in names(by).zip(by.as_slice()) {
        // DynamoDB adds with 38 digits, so the condition keeps the sum within 64 bits
        let (compared, bound) = match *by {
            by if by < 0 => (">=", i64::MIN - by),
            by => ("<=", i64::MAX - by),
        };
        condition.push_str(&format!(
            " AND (attribute_not_exists({name}) OR {name} {compared} :{name}_bound)"
        ));
        all.insert(format!(":{name}_bound"), number(bound));
    }
    (format!("SET {}, {REVISION}{set}{remove}", sets.join(", ")), condition, all)
}

/// The values that the updates of scores share: the scores, and those of the revision and the expiry.
fn values(rows: StoredRound, scores: &Scores, now: Time) -> Item {
    let scores = names(scores).zip(scores.as_slice());
    let mut values: Item =
        scores.map(|(name, score)| (format!(":{name}"), number(score))).collect();
    values.insert(":begin".to_owned(), number(now.ms()));
    values.insert(":one".to_owned(), number(1));
    values.extend(rows.expire.map(|expires| (":expires".to_owned(), number(expires))));
    values
}

impl BoardStore {
    /// Sets the scores of a member. With `better_by`, scores that are not better than the present ones by these orders
    /// change nothing. A member that was removed has none.
    pub async fn set_scores(
        &self,
        _sent: &Announced<ScoresChanged>,
        rows: StoredRound,
        member: &MemberName,
        scores: &Scores,
        better_by: Option<&Orders>,
        now: Time,
    ) -> Result<(), StoreError> {
        let doing = "setting scores";
        let (set, remove) = expiry(rows);
        let sets = names(scores).map(|name| format!("{name} = :{name}")).collect::<Vec<_>>();
        let mut update = self
            .table
            .update(rows.key(member))
            .expression(format!("SET {}, {REVISION}{set}{remove}", sets.join(", ")))
            .values(values(rows, scores, now));
        if let Some(orders) = better_by {
            update = update.condition(is_better(orders));
        }
        update.changed(doing, ScoreItem::V).await.map(drop)
    }

    /// Adds to the scores of a member. With a key, the addition is made once. Without one, it is not known after an error
    /// whether it was made.
    pub async fn add_scores(
        &self,
        sent: &Announced<ScoresChanged>,
        rows: StoredRound,
        addition: &Addition<'_>,
        now: Time,
    ) -> Result<Added, StoreError> {
        let added = match &addition.key {
            Some(key) => self.add_once(sent, rows, addition, key, now).await?,
            None => self.add(rows, addition, now).await?,
        };
        if added == Added::Overflow {
            // fails if the row has a newer version
            self.rows_of(rows, std::slice::from_ref(addition.member)).await?;
        }
        Ok(added)
    }

    /// Adds in a transaction with the key. Transactions that meet on a member are tried again.
    async fn add_once(
        &self,
        _sent: &Announced<ScoresChanged>,
        rows: StoredRound,
        addition: &Addition<'_>,
        name: &ScoreKey,
        now: Time,
    ) -> Result<Added, StoreError> {
        let (doing, key) = (ADDING, name.with(&addition.by));
        let unread = |error: BoardError| StoreError::Item { doing, source: error.into() };
        let (update, condition, values) = sums(rows, &addition.by, now);
        let update = self
            .table
            .update(rows.key(addition.member))
            .expression(update)
            .condition(condition)
            .values(values);
        let mut transaction = Transaction::new(doing);
        transaction.add(AddWrite::Row, update);
        // mutation: board-add-once
        transaction.add(AddWrite::Key, self.table.put_key(doing, &key, name.round, now)?);
        match transaction.commit_within(BOARD_ADD_TRIES).await? {
            CommitResult::Done => Ok(Added::Done),
            refused if refused.refused(AddWrite::Key) => {
                Ok(match self.table.key_use(&key, now).await? {
                    Some(used) if !used.same_request => Added::KeyReused,
                    Some(used) => Added::Earlier(used.made.parse().map_err(unread)?),
                    None => Added::Earlier(name.round),
                })
            }
            CommitResult::Refused(_) => Ok(Added::Overflow),
        }
    }

    /// Adds with an update, which waits for others of the same member instead of conflicting with them. The SDK does not
    /// repeat it after an error, because the first try may have been made.
    async fn add(
        &self,
        rows: StoredRound,
        addition: &Addition<'_>,
        now: Time,
    ) -> Result<Added, StoreError> {
        let (update, condition, values) = sums(rows, &addition.by, now);
        let update = self
            .table
            .update(rows.key(addition.member))
            .expression(update)
            .condition(condition)
            .values(values);
        let is_added = update.changed_once(ADDING, BOARD_ADD_TRIES).await?;
        Ok(if is_added { Added::Done } else { Added::Overflow })
    }

    /// Removes a member. Returns whether it was there.
    pub async fn remove_scores(
        &self,
        _sent: &Announced<ScoresChanged>,
        rows: StoredRound,
        member: &MemberName,
        now: Time,
    ) -> Result<bool, StoreError> {
        let row = self.rows_of(rows, std::slice::from_ref(member)).await?.pop().flatten();
        if row.is_none_or(|row| row.scores.is_none()) {
            return Ok(false);
        }
        // it was there; if it is gone now, the SDK has repeated a call whose answer was lost, or somebody else was faster
        self.bury(rows, member, None, now).await.map(|_| true)
    }

    /// Removes a member that fell out of a board with a limit, if its row has this revision. Returns whether it did.
    pub async fn remove_fallen(
        &self,
        rows: StoredRound,
        member: &MemberName,
        revision: u64,
        now: Time,
    ) -> Result<bool, StoreError> {
        self.bury(rows, member, Some(revision), now).await
    }

    /// Replaces the scores of a member by a tombstone.
    async fn bury(
        &self,
        rows: StoredRound,
        member: &MemberName,
        revision: Option<u64>,
        now: Time,
    ) -> Result<bool, StoreError> {
        let expires = now.expires_after(BOARD_TOMBSTONE_KEPT);
        let expires = rows.expire.map_or(expires, |rows| rows.max(expires));
        let update = self.table.update(rows.key(member))
            .expression(
                "SET revision = revision + :one, v = :v, expires_at = :expires REMOVE s0, s1, s2, s3",
            )
            .value(":one", number(1))
            .value(":expires", number(expires));
        let update = match revision {
            None => update.condition("attribute_exists(s0)"),
            Some(revision) => update
                .condition("attribute_exists(s0) AND revision = :revision")
                .value(":revision", number(revision)),
        };
        Ok(update.changed("removing a member of a board", ScoreItem::V).await?.is_some())
    }

    /// The rows of these members, which must differ, in the same order. `None`: there is no row.
    pub async fn rows_of(
        &self,
        rows: StoredRound,
        members: &[MemberName],
    ) -> Result<Vec<Option<Row>>, StoreError> {
        let doing = "reading scores";
        let keys = members.iter().map(|member| rows.key(member)).collect();
        let mut found = HashMap::new();
        for item in self.table.get_all(doing, keys).await? {
            let row = Row::from(read::<ScoreItem>(doing, item)?);
            found.insert(row.member.clone(), row);
        }
        Ok(members.iter().map(|member| found.remove(member)).collect())
    }
}

/// The attributes of these scores.
fn names(scores: &Scores) -> impl Iterator<Item = &'static str> {
    SCORES.into_iter().take(scores.as_slice().len())
}

/// The condition that new scores are better than those of the row.
fn is_better(orders: &Orders) -> String {
    // from the last score to the first: better, or the same and better in what follows
    let mut condition = String::new();
    for (name, order) in SCORES.iter().zip(orders.as_slice()).rev() {
        let is_worse = match order {
            Order::Ascending => ">",
            Order::Descending => "<",
        };
        condition = match condition.is_empty() {
            true => format!("{name} {is_worse} :{name}"),
            false => format!("{name} {is_worse} :{name} OR ({name} = :{name} AND ({condition}))"),
        };
    }
    format!("attribute_not_exists(s0) OR {condition}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_scores_are_compared_from_the_first_one_on() {
        let orders: Orders = vec![Order::Descending, Order::Ascending].try_into().unwrap();
        assert_eq!(
            is_better(&orders),
            "attribute_not_exists(s0) OR s0 < :s0 OR (s0 = :s0 AND (s1 > :s1))"
        );
    }
}
