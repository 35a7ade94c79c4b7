//! Cards in Valkey (`lua/_cards.lua` describes their keys).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fanfold_core::limits::{CARD_ANSWER_WITHIN, CARD_KEPT, CARD_LEASE, CARD_UNIT_BYTES};
use fanfold_core::time::millis;
use fanfold_core::{Bucket, Time};
use fanfold_runtime::clock;
use fanfold_runtime::error::StoreError;
use futures::future::{join_all, try_join_all};
use redis::{RedisError, RedisResult, Value};

use super::card_id::CardId;
use super::scripts::{self, unknown};
use super::{Key, Valkey, failed};

/// What a read found of one card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardRead {
    /// The card's text.
    Known(Vec<u8>),
    /// The card is missing. The caller has its lease, and fills it.
    Leased,
    /// The card is missing. Another reader has its lease.
    Busy,
    /// The card is missing, and nobody fills it.
    Unknown,
}

/// A card to fill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// The card.
    pub id: CardId,
    /// The text. `None`: there is nothing to keep, so the lease only ends.
    pub text: Option<Vec<u8>>,
    /// How long the card is kept.
    pub kept: Duration,
    /// Whether the card counts in the memory of all cards. A card that is kept for seconds does not.
    pub counts: bool,
}

impl Valkey {
    /// Reads cards. With a `token`, which must be unique to this reader, the caller gets the leases of missing cards that
    /// have none. The result of a bucket whose server does not answer is an error beside the others.
    ///
    /// A cluster gets one call of the script for each bucket, at the same time. A single node first gets simple commands
    /// for all buckets at once, and then the script for each bucket that lacks a card. If that node hangs or refuses
    /// connections, it gets no scripts.
    pub async fn read_cards(
        &self,
        ids: &[CardId],
        token: &str,
        now: Time,
    ) -> Vec<(Vec<CardId>, Result<Vec<CardRead>, StoreError>)> {
        let buckets = self.cards_by_bucket(ids);
        if !self.link.is_one_server() {
            return self.read_buckets(buckets, BTreeMap::new(), token, now).await;
        }
        let unavailable = match clock::within(CARD_ANSWER_WITHIN, self.at_hand(&buckets)).await {
            Some(Ok(at_hand)) => return self.read_buckets(buckets, at_hand, token, now).await,
            Some(Err(error)) if error.is_connection_refusal() => error,
            Some(Err(_)) => return self.read_buckets(buckets, BTreeMap::new(), token, now).await,
            None => too_late(),
        };
        let failed = |ids| (ids, Err(failed("reading cards")(unavailable.clone())));
        buckets.into_values().map(failed).collect()
    }

    async fn read_buckets(
        &self,
        buckets: BTreeMap<Bucket, Vec<CardId>>,
        mut at_hand: BTreeMap<Bucket, Vec<CardRead>>,
        token: &str,
        now: Time,
    ) -> Vec<(Vec<CardId>, Result<Vec<CardRead>, StoreError>)> {
        let (mut read, mut asked) = (Vec::new(), Vec::new());
        for (bucket, ids) in buckets {
            match at_hand.remove(&bucket) {
                Some(cards) => read.push((ids, Ok(cards))),
                None => asked.push(self.read_bucket(bucket, ids, token, now)),
            }
        }
        read.extend(join_all(asked).await);
        read
    }

    async fn read_bucket(
        &self,
        bucket: Bucket,
        ids: Vec<CardId>,
        token: &str,
        now: Time,
    ) -> (Vec<CardId>, Result<Vec<CardRead>, StoreError>) {
        let read = clock::within(CARD_ANSWER_WITHIN, self.ask_bucket(bucket, &ids, token, now));
        let read = read.await.unwrap_or_else(|| Err(failed("reading cards")(too_late())));
        (ids, read)
    }

    async fn ask_bucket(
        &self,
        bucket: Bucket,
        ids: &[CardId],
        token: &str,
        now: Time,
    ) -> Result<Vec<CardRead>, StoreError> {
        let doing = "reading cards";
        let mut script = scripts::CARDS.call();
        for key in self.memory_and_cards(bucket, ids) {
            script.key(key);
        }
        script.arg(token).arg(now.ms()).arg(millis(CARD_LEASE));
        let answers: Vec<Value> = script.run(&self.link, doing).await?;
        if answers.len() != ids.len() {
            return Err(failed(doing)(unknown(&format!("{} answers", answers.len()))));
        }
        let read: Result<Vec<CardRead>, RedisError> = answers.into_iter().map(card_read).collect();
        read.map_err(failed(doing))
    }

    /// The cards of each bucket that has them all. The scripts decide for the other buckets.
    ///
    /// The server's generation is read *after* the memories and the cards, on the same connection. Only this server in
    /// this role writes a memory of its generation, so the answers belong together. If the server is replaced between
    /// the commands, its generation is not that of the memories.
    async fn at_hand(
        &self,
        buckets: &BTreeMap<Bucket, Vec<CardId>>,
    ) -> RedisResult<BTreeMap<Bucket, Vec<CardRead>>> {
        let mut pipeline = redis::pipe();
        for (bucket, ids) in buckets {
            pipeline.cmd("MGET").arg(self.memory_and_cards(*bucket, ids));
        }
        pipeline.cmd("INFO").arg("replication");
        let mut answers = self.link.call_all(&pipeline).await?;
        tracing::debug!(buckets = buckets.len(), "cards were read by simple commands");
        let info = answers.pop().filter(|_| answers.len() == buckets.len());
        let Some(info) = info else { return Err(unknown("another number of answers")) };
        let Some(generation) = generation(info) else { return Ok(BTreeMap::new()) };
        let cards = |((bucket, ids), held): ((&Bucket, &Vec<CardId>), _)| {
            Some((*bucket, all_known(held, ids.len(), &generation)?))
        };
        Ok(buckets.iter().zip(answers).filter_map(cards).collect())
    }

    fn memory_and_cards(&self, bucket: Bucket, ids: &[CardId]) -> Vec<Key> {
        let memory = std::iter::once(self.keys.memory(bucket));
        memory.chain(ids.iter().map(|id| self.keys.card(*id))).collect()
    }

    /// Fills cards whose leases the reader with this token holds, and drops the oldest cards of buckets that have too
    /// many.
    pub async fn fill_cards(
        &self,
        fills: &[Fill],
        token: &str,
        now: Time,
    ) -> Result<(), StoreError> {
        let mut buckets: BTreeMap<Bucket, Vec<&Fill>> = BTreeMap::new();
        for fill in fills {
            buckets.entry(self.keys.bucket_of_card(fill.id)).or_default().push(fill);
        }
        let buckets = buckets.into_iter();
        let fills: Vec<_> =
            buckets.map(|(bucket, fills)| self.fill_bucket(bucket, fills, token, now)).collect();
        let filled = clock::within(CARD_ANSWER_WITHIN, join_all(fills)).await;
        let filled = filled.ok_or_else(|| failed("filling cards")(too_late()))?;
        filled.into_iter().collect()
    }

    async fn fill_bucket(
        &self,
        bucket: Bucket,
        fills: Vec<&Fill>,
        token: &str,
        now: Time,
    ) -> Result<(), StoreError> {
        let doing = "filling cards";
        let mut script = scripts::FILL.call();
        script.key(self.keys.memory(bucket)).key(self.keys.cards(bucket));
        script.arg(token).arg(self.card_entries).arg(now.ms()).arg(millis(CARD_KEPT));
        for Fill { id, text, kept, counts } in fills {
            let key = self.keys.card(*id);
            let text = text.as_deref().unwrap_or_default();
            // the server allocates up to a quarter more than it needs, and each entry of the queue takes 25 bytes
            let bytes = CARD_OVERHEAD + key.len() + text.len() * 11 / 8;
            let entries = if *counts { bytes.div_ceil(CARD_UNIT_BYTES) } else { 0 };
            script.key(key);
            script.arg(text).arg(millis(*kept)).arg(id.name()).arg(entries);
        }
        let oldest: Vec<Vec<u8>> = script.run(&self.link, doing).await?;
        let keys: Vec<Key> = oldest
            .iter()
            .filter_map(|name| CardId::named(name))
            .map(|id| self.keys.card(id))
            .collect();
        self.unlink(keys).await
    }

    /// Drops cards and their leases, after a commit that removed their items.
    pub async fn forget_cards(&self, ids: &[CardId]) -> Result<(), StoreError> {
        let buckets = self.cards_by_bucket(ids).into_values();
        let keys = |ids: Vec<CardId>| ids.iter().map(|id| self.keys.card(*id)).collect();
        let calls: Vec<_> = buckets.map(|ids| self.unlink(keys(ids))).collect();
        try_join_all(calls).await.map(drop)
    }

    async fn unlink(&self, keys: Vec<Key>) -> Result<(), StoreError> {
        if keys.is_empty() {
            return Ok(());
        }
        redis::cmd("UNLINK")
            .arg(keys)
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("dropping cards"))
    }

    /// Marks cards as stale. To be called after the commit that changed their items: later readers read the items
    /// again, and readers that read them before cannot fill the cards.
    pub async fn cards_changed(&self, ids: &[CardId]) -> Result<(), StoreError> {
        let buckets = self.cards_by_bucket(ids).into_values();
        let calls: Vec<_> = buckets.map(|ids| self.mark_stale(ids)).collect();
        try_join_all(calls).await.map(drop)
    }

    /// The same, with a bound on the time until the answer, for callers that can go on without it.
    pub async fn cards_changed_within(
        &self,
        limit: Duration,
        ids: &[CardId],
    ) -> Result<(), StoreError> {
        let marked = clock::within(limit, self.cards_changed(ids)).await;
        marked.unwrap_or_else(|| Err(failed("marking cards as stale")(too_late())))
    }

    async fn mark_stale(&self, ids: Vec<CardId>) -> Result<String, StoreError> {
        let mut script = scripts::STALE.call();
        for id in &ids {
            script.key(self.keys.card(*id));
        }
        script.run(&self.link, "marking cards as stale").await
    }

    /// The names of the oldest and the newest cards of a bucket, at most `count` of each.
    pub async fn sample_cards(
        &self,
        bucket: Bucket,
        count: usize,
    ) -> Result<Vec<CardId>, StoreError> {
        let queue = self.keys.cards(bucket);
        let count = count as isize;
        let (oldest, newest) = (self.names(&queue, 0, count - 1), self.names(&queue, -count, -1));
        let (oldest, newest) = futures::try_join!(oldest, newest)?;
        // an entry ends with a time
        let name = |entry: &Vec<u8>| CardId::named(entry.split_last_chunk::<4>()?.0);
        let ids = oldest.iter().chain(&newest).filter_map(name);
        let ids: BTreeSet<CardId> = ids.collect();
        Ok(ids.into_iter().collect())
    }

    async fn names(&self, queue: &Key, from: isize, to: isize) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut range = queue.command("LRANGE");
        range.arg(from).arg(to);
        let names = range.query_async(&mut self.link.clone()).await;
        names.map_err(failed("looking for cards"))
    }

    fn cards_by_bucket(&self, ids: &[CardId]) -> BTreeMap<Bucket, Vec<CardId>> {
        let mut buckets: BTreeMap<Bucket, Vec<CardId>> = BTreeMap::new();
        for id in ids {
            buckets.entry(self.keys.bucket_of_card(*id)).or_default().push(*id);
        }
        buckets
    }
}

/// The server's generation, as in `lua/_memory.lua`. `None` on a replica.
fn generation(info: Value) -> Option<Vec<u8>> {
    let hidden = || Some(b"-".to_vec()); // the server does not show its role
    let Ok(info) = redis::from_redis_value::<String>(info) else { return hidden() };
    // mutation: cards-replica
    if info.lines().any(|line| line == "role:slave") {
        return None;
    }
    let id = info.lines().find_map(|line| line.strip_prefix("master_replid:"));
    id.map_or_else(hidden, |id| Some(id.get(..8)?.as_bytes().to_vec()))
}

/// The cards in an answer that begins with the value of the memory, if all `count` are there.
fn all_known(answer: Value, count: usize, generation: &[u8]) -> Option<Vec<CardRead>> {
    let held: Vec<Option<Vec<u8>>> = redis::from_redis_value(answer).ok()?;
    let (memory, held) = held.split_first().filter(|(_, held)| held.len() == count)?;
    let head = [b":", present(memory.as_deref(), generation)?, b":"].concat();
    // mutation: cards-at-hand
    let text = |from: &[u8]| Some(from.strip_prefix(&*head)?.to_vec());
    let card = |value: &Option<Vec<u8>>| Some(CardRead::Known(text(value.as_ref()?.get(1..)?)?));
    held.iter().map(card).collect()
}

/// What present cards of a bucket belong to, as in `lua/_cards.lua`. `None` if the memory has an unknown form.
fn present<'a>(memory: Option<&'a [u8]>, generation: &'a [u8]) -> Option<&'a [u8]> {
    let of_this = |memory: &'a [u8]| memory.strip_prefix(generation)?.strip_prefix(b":");
    match memory.and_then(of_this) {
        Some(since) => since.splitn(2, |byte| *byte == b':').nth(1),
        None => Some(generation),
    }
}

fn too_late() -> RedisError {
    (redis::ErrorKind::Io, "the server did not answer in time").into()
}

/// The memory that a card takes beside its name and its text: the head of its value, the server's own data about the
/// key, and its entry in the queue.
const CARD_OVERHEAD: usize = 110;

fn card_read(answer: Value) -> Result<CardRead, RedisError> {
    match answer {
        Value::Int(1) => Ok(CardRead::Leased),
        Value::Int(0) => Ok(CardRead::Busy),
        Value::Int(-1) => Ok(CardRead::Unknown),
        Value::BulkString(value) => {
            // the text follows the second colon
            let mut parts = value.splitn(3, |byte| *byte == b':');
            let text = parts.nth(2).map(<[u8]>::to_vec);
            text.map(CardRead::Known).ok_or_else(|| unknown("a card without a memory"))
        }
        other => Err(unknown(&format!("{other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_answer_is_an_error() {
        assert_eq!(card_read(Value::Int(0)).unwrap(), CardRead::Busy);
        let card = Value::BulkString(b"V:memory:a: text".to_vec());
        assert_eq!(card_read(card).unwrap(), CardRead::Known(b"a: text".to_vec()));
        let odd = Value::BulkString(b"V:memory".to_vec());
        for odd in [odd, Value::Int(2), Value::Nil, Value::Okay, Value::Array(Vec::new())] {
            assert!(card_read(odd).is_err());
        }
    }
}
