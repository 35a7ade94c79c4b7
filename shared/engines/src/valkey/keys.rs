//! The names of all keys. A user's keys have the user's bucket as their hash tag, so one script call can use the
//! keys of all users of a bucket, on one node and on a cluster.
//!
//! The values have no version: a name stands for one form. Another form needs other names (`home2:{b}:…`) and
//! two releases. The first release writes both and reads the old one, so that older functions still find their
//! data. The second release writes and reads only the new one. New feeds begin empty and are rebuilt. The keys
//! with old names are deleted once.
//!
//! - The **floor** is a member (`F`) of the sorted set, with the floor's time as its score. Pages do not show cached
//!   entries of the floor's own millisecond, because a trim may have cut some of them.
//! - **Buckets.** A user's keys carry `{bucket}` as their hash tag, so one script call serves all users of a bucket.
//!   `live:{b}` lists the live feeds of bucket `b`, scored by the time of the last read, which the sweep uses.
//!   Membership makes a feed live.
//! - **`memory:{b}`** holds the server's *generation*, the time since which the server remembers the bucket without a
//!   gap, and the token of the rebuild that began the memory. The token makes the name unique even if a server loses
//!   all data in the millisecond in which its memory began. The time is 20 s later than the caller's clock said,
//!   because a memory must not claim to know the time before its script ran. Every feed (member `M…`, always first)
//!   and every `rel` key names the memory in which it began. Data of another memory is ignored.
//! - **Cards** have the keys `post:{b}:<post>`, `user:{b}:<user>`, `follows:{b}:<viewer>:<user>`,
//!   `marks:likes:{b}:<viewer>`, `handle:{b}:<hash of the handle>` and `board-card:{b}:<owner>:<hash of the name>`.
//!   The card of a post is in the bucket of its author, so one call reads both cards; whom a viewer follows and what a
//!   viewer likes are in the bucket of the viewer, and the settings of a board in that of the owner. The value of a
//!   key is a card, a lease, or the mark that the card is stale. A card and a lease name the memory in which they
//!   began. `cards:{b}` is a list of the names of the bucket's cards, oldest first, which bounds their memory
//!   (`CardMemory`). It expires two hours after the last fill.
//! - **`rel:{b}:<author>`** remembers the last change between users of the bucket and an author for at least one hour:
//!   the time, negative for an unfollow. `rels:{b}` lists these keys by their last change, and the sweep removes those
//!   without a change for an hour.
//! - **A copy** has four keys in one slot: `board:{b}:<id>`, a sorted set of the members, best first;
//!   `board:scores:{b}:<id>`, a hash of their revisions and scores, and the state of the copy;
//!   `board:distinct:{b}:<id>`, the different scores, for dense ranks; and `board:removed:{b}:<id>`, the members that
//!   were removed or fell out. The id is a hash of board, token, round, layout and version, and gives the bucket, so
//!   the rounds of an owner are in different buckets. The state names the server's generation: a copy of another
//!   generation is missing. `boards:{b}` lists the copies of a bucket by the time at which they were noted last, for
//!   the audit. Entries of a week ago leave it. A snapshot of a ranking is such a copy, too; its id is a hash of the
//!   name of the ranking and the time, and no list names it. Of a merged board and of a ranking,
//!   `board:begun:{b}:<id>` and `board:newest:{b}:<id>` name the version that was begun last and the one that was
//!   ready last.
//! - **`older:{b}:<user>`** has posts below the floor of the user's home feed, which the user pulled last, with the
//!   number of changes of relations (`relation_changes` in the profile) that the user had made before. A page shows
//!   them only while the number is the same. They are read from DynamoDB alone, and only posts that are older than any
//!   writer's life are shown, so none can be missing.
//! - **Only cards, locks, request limits, older posts, and copies of boards and rankings have a time to live**,
//!   because a full server evicts such keys first. No rule depends on them: a rebuild without its lock is refused at
//!   the commit, a lost `lock:count:{b}:<author>` or `lock:likes:{b}:<post>` costs one more count of followers or
//!   likes, and a user whose `limit:<kind>:{b}:<user>` is lost may write more for a minute. Older posts that are lost
//!   cost one more pull. A lost card is read from DynamoDB, and a card whose lease is lost cannot be filled. A copy
//!   that has lost its members, its state or the scores of dense ranks is missing, and the next reader makes it again.
//!   If it has lost `board:removed` alone, ranks are right; the audit finds members that fell out and are still in
//!   DynamoDB.
//! - **`due:{p}`** is a sorted set with the entries of part `p` of the index of due items. The score of an entry is
//!   its time, or the end of a lease. **`horizon:{p}`** says up to what time the set is complete, together with the
//!   server's generation, the token of the first load, and the time up to which a load is under way. Writers and
//!   look-aheads use the set only if the generation is that of the server. Here the hash tag is the number of the
//!   part, 0 to 15, and not a bucket.

use std::fmt::{self, Display};
use std::ops::Deref;

use fanfold_core::kinds::{KeyKind, LimitKind};
use fanfold_core::{Bucket, DueEntry, DuePart, FeedId, RoundId, UserId};
use redis::{Cmd, RedisWrite, ToRedisArgs, ToSingleRedisArg};

/// The name of a key. Only [`Keys`] makes one, of a [`KeyKind`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    pub(super) fn new(
        kind: KeyKind,
        subkind: Option<&str>,
        bucket: Bucket,
        of: Option<&dyn Display>,
    ) -> Self {
        let kind = kind.name();
        Self(match (subkind, of) {
            (None, None) => format!("{kind}:{{{bucket}}}"),
            (None, Some(of)) => format!("{kind}:{{{bucket}}}:{of}"),
            (Some(subkind), None) => format!("{kind}:{subkind}:{{{bucket}}}"),
            (Some(subkind), Some(of)) => format!("{kind}:{subkind}:{{{bucket}}}:{of}"),
        })
    }

    /// A command whose first argument is this key.
    pub(super) fn command(&self, name: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(self);
        command
    }
}

impl Deref for Key {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ToRedisArgs for Key {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        self.0.write_redis_args(out);
    }
}

impl ToSingleRedisArg for Key {}

/// The names of the keys of a deployment.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    buckets: u16,
}

impl Keys {
    /// Keys for this number of buckets.
    pub fn new(buckets: u16) -> Self {
        Self { buckets: buckets.max(1) }
    }

    /// The number of buckets.
    pub fn buckets(self) -> u16 {
        self.buckets
    }

    /// Every bucket of the deployment.
    pub fn all_buckets(self) -> impl Iterator<Item = Bucket> + Clone {
        (0..self.buckets).map(Bucket)
    }

    /// The bucket of a user.
    pub fn bucket(self, user: UserId) -> Bucket {
        user.bucket(self.buckets)
    }

    /// The bucket of a feed.
    pub fn bucket_of(self, feed: FeedId) -> Bucket {
        feed.bucket(self.buckets)
    }

    /// The key of a feed. It is also the feed's member in `live`.
    pub fn feed(self, feed: FeedId) -> Key {
        Key::new(KeyKind::Feed(feed.kind), None, self.bucket_of(feed), Some(&feed.owner))
    }

    /// The feed with this key. `None` for other keys.
    pub fn feed_of(key: &str) -> Option<FeedId> {
        let (kind, rest) = key.split_once(":{")?;
        let (_, owner) = rest.split_once("}:")?;
        format!("{kind}:{owner}").parse().ok()
    }

    /// The live feeds of a bucket, with the time of their last read.
    pub fn live(self, bucket: Bucket) -> Key {
        Key::new(KeyKind::Live, None, bucket, None)
    }

    /// The memory of a bucket: the time since which the server remembers it without a gap.
    pub fn memory(self, bucket: Bucket) -> Key {
        Key::new(KeyKind::Memory, None, bucket, None)
    }

    /// The last changes of relations between users of a bucket and an author of any bucket.
    pub fn rel(self, bucket: Bucket, author: UserId) -> Key {
        Key::new(KeyKind::Rel, None, bucket, Some(&author))
    }

    /// The `rel` keys of a bucket, with the time of their last change.
    pub fn rels(self, bucket: Bucket) -> Key {
        Key::new(KeyKind::Rels, None, bucket, None)
    }

    /// The keys that the server returned as members of `live` or `rels`.
    pub(super) fn listed(members: Vec<String>) -> Vec<Key> {
        members.into_iter().map(Key).collect()
    }

    /// A key of this kind for checks. No user has it.
    pub fn probe(self, kind: KeyKind, bucket: Bucket) -> Key {
        Key::new(kind, None, bucket, Some(&"nobody"))
    }

    /// Another key of this kind for checks.
    pub(super) fn probe_text(self, kind: KeyKind, bucket: Bucket) -> Key {
        Key::new(kind, None, bucket, Some(&"nobody:text"))
    }

    /// The posts below the floor of a user's home feed that the user pulled last.
    pub fn older(self, user: UserId) -> Key {
        Key::new(KeyKind::Older, None, self.bucket(user), Some(&user))
    }

    /// The counter of a user's writes of this kind.
    pub fn limit(self, kind: LimitKind, user: UserId) -> Key {
        Key::new(KeyKind::Limit, Some(kind.name()), self.bucket(user), Some(&user))
    }

    /// The names of the cards of a bucket.
    pub fn cards(self, bucket: Bucket) -> Key {
        Key::new(KeyKind::Cards, None, bucket, None)
    }

    /// The entries of a part of the index of due items.
    pub fn due(self, part: DuePart) -> Key {
        Key::new(KeyKind::Due, None, Bucket(part.0), None)
    }

    /// Up to what time a part of the index of due items is complete.
    pub fn horizon(self, part: DuePart) -> Key {
        Key::new(KeyKind::Horizon, None, Bucket(part.0), None)
    }

    /// The lease of the function that publishes or fires an item that is due.
    pub fn due_lock(self, entry: &DueEntry, revision: &str) -> Key {
        let of = format_args!("{entry}#{revision}");
        Key::new(KeyKind::DueLock, None, Bucket(entry.part().0), Some(&of))
    }

    /// The keys of a board: the members, the scores, the different scores, and the removed members. They share a hash tag.
    pub fn board(self, board: RoundId) -> [Key; 4] {
        let kinds =
            [KeyKind::Board, KeyKind::BoardScores, KeyKind::BoardDistinct, KeyKind::BoardRemoved];
        kinds.map(|kind| Key::new(kind, None, board.bucket(self.buckets), Some(&board)))
    }

    /// The keys of the newest versions of a board: the one that was begun last, and the one that was ready last. They share a
    /// hash tag.
    pub fn board_versions(self, versions: RoundId) -> [Key; 2] {
        let bucket = versions.bucket(self.buckets);
        [KeyKind::BoardBegun, KeyKind::BoardNewest]
            .map(|kind| Key::new(kind, None, bucket, Some(&versions)))
    }

    /// The copies of boards of a bucket, with the time at which each was made.
    pub fn boards(self, bucket: Bucket) -> Key {
        Key::new(KeyKind::Boards, None, bucket, None)
    }

    /// The lease of the rebuild of a feed.
    pub fn lock(self, feed: FeedId) -> Key {
        let (kind, bucket) = (feed.kind.name(), self.bucket_of(feed));
        Key::new(KeyKind::FeedLock, Some(kind), bucket, Some(&feed.owner))
    }
}

#[cfg(test)]
mod tests {
    use super::super::card_id::CardId;
    use super::super::count::Counted;
    use fanfold_core::kinds::Form;
    use fanfold_core::{BoardId, FeedKind, HandleHash, PostId};

    use super::*;

    #[test]
    fn the_kind_of_a_key_can_be_told_from_its_name() {
        let (keys, user) = (Keys::new(256), UserId(5));
        let (bucket, name) = (keys.bucket(user), "a board".parse().unwrap());
        let entry = "000000000000009#timer#0000000000000001#renew".parse().unwrap();
        let mut all = vec![
            (KeyKind::Live, keys.live(bucket)),
            (KeyKind::Memory, keys.memory(bucket)),
            (KeyKind::Rel, keys.rel(bucket, user)),
            (KeyKind::Rels, keys.rels(bucket)),
            (KeyKind::CountLock, keys.count(&Counted::new(KeyKind::CountLock, user, user))),
            (
                KeyKind::LikeCountLock,
                keys.count(&Counted::new(KeyKind::LikeCountLock, user, PostId::MAX)),
            ),
            (
                KeyKind::ReplyCountLock,
                keys.count(&Counted::new(KeyKind::ReplyCountLock, user, PostId::MAX)),
            ),
            (KeyKind::Older, keys.older(user)),
            (KeyKind::BoardCard, keys.card(CardId::board(BoardId::of(user, &name)))),
            (KeyKind::Boards, keys.boards(bucket)),
            (KeyKind::Cards, keys.cards(bucket)),
            (KeyKind::Due, keys.due(DuePart(5))),
            (KeyKind::Horizon, keys.horizon(DuePart(5))),
            (KeyKind::DueLock, keys.due_lock(&entry, "1")),
            (KeyKind::PostCard, keys.card(CardId::post(PostId::MAX))),
            (KeyKind::UserCard, keys.card(CardId::user(user))),
            (KeyKind::HandleCard, keys.card(CardId::handle(HandleHash(5)))),
            (KeyKind::RelationCard, keys.card(CardId::relation(user, UserId(6)))),
        ];
        let of_user =
            KeyKind::all().filter(|kind| kind.card().is_some_and(|card| card.form == Form::One));
        all.extend(of_user.map(|kind| (kind, keys.card(CardId::of_user(kind, user)))));
        for feed in FeedKind::ALL.iter().map(|kind| FeedId { kind: *kind, owner: user.into() }) {
            all.push((KeyKind::Feed(feed.kind), keys.feed(feed)));
            all.push((KeyKind::FeedLock, keys.lock(feed)));
        }
        let board = keys.board(RoundId(5));
        let kinds =
            [KeyKind::Board, KeyKind::BoardScores, KeyKind::BoardDistinct, KeyKind::BoardRemoved];
        all.extend(kinds.into_iter().zip(board));
        let versions = [KeyKind::BoardBegun, KeyKind::BoardNewest];
        all.extend(versions.into_iter().zip(keys.board_versions(RoundId(5))));
        all.extend(LimitKind::ALL.iter().map(|kind| (KeyKind::Limit, keys.limit(*kind, user))));
        for (kind, key) in &all {
            assert_eq!(KeyKind::of(key), Some(*kind), "{key}");
        }
        for kind in KeyKind::all() {
            assert!(all.iter().any(|(other, _)| *other == kind), "{kind:?}");
        }
        for other in ["", "home", "lists:{5}:0000000000000005", "lock:{5}", "limit:{5}"] {
            assert_eq!(KeyKind::of(other), None, "{other}");
        }
    }

    #[test]
    fn a_feeds_keys_share_its_hash_tag() {
        let (keys, user) = (Keys::new(256), UserId(0x0123_4567_0000_0105));
        let feed = FeedId::home(user);
        assert_eq!(&*keys.feed(feed), "home:{5}:0123456700000105");
        assert_eq!(&*keys.lock(feed), "lock:home:{5}:0123456700000105");
        assert_eq!(&*keys.live(keys.bucket(user)), "live:{5}");
        assert_eq!(
            &*keys.count(&Counted::new(KeyKind::CountLock, user, user)),
            "lock:count:{5}:0123456700000105"
        );
        assert_eq!(&*keys.limit(LimitKind::Post, user), "limit:post:{5}:0123456700000105");
        assert_eq!(&*keys.rels(keys.bucket(user)), "rels:{5}");
        assert_eq!(Keys::feed_of(&keys.feed(feed)), Some(feed));
        for other in ["", "é", "home:{5}", "lock:home:{5}:0123456700000105", "home:{5}:x"] {
            assert_eq!(Keys::feed_of(other), None);
        }
    }
}
