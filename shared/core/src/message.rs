//! The bodies of messages on the queues, as JSON. Each has its kind and its version. A body of another
//! kind or version is an error that names them. Names of facts are in the past tense, names of orders are
//! imperative.
//!
//! **Every change of form is a new version**, also an added field: a function that ignores a field could
//! misread the message. (Without `part`, a part of a fan-out would look like the whole.) A body with an
//! unknown field is therefore poison. A body of a newer version waits in its queue until a newer function
//! takes it, so a deployment that is under way or rolled back loses nothing. A new version takes two
//! releases: the first reads it and still writes the old version; the second writes it. With two releases,
//! no message has to wait.
//!
//! Functions must read an old version for as long as such messages exist. SQS keeps a message for 4 days on
//! a queue and 14 days as a dead letter. A message that is requeued during an outage, or returned from the
//! dead letters, begins again, so it can live for weeks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use sha2::{Digest as _, Sha256};

use crate::board::{BoardId, MemberName, Period, Round};
use crate::fanout::{DeliveryCounts, FanoutPart, Share};
use crate::limits::COMMIT_GRACE;
use crate::{DueEntry, PostId, Ranking, Snapshot, Time, TimerName, UserId};

/// A post was published, on `post-events` and `bulk-events`. It is sent before the post is committed, so its
/// handler reads the post first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostPublished {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: PostPublishedKind,
    /// The version.
    pub v: Version<{ PostPublishedKind::V }>,
    /// The published post.
    pub post: PostId,
    /// The followers of this part of the fan-out. `None`: all followers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<FanoutPart>,
    /// Whether this part uses the bulk queues, which are for large audiences.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bulk: bool,
    /// Whether a pointer to the author is pushed with the post.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pointer: bool,
    /// When a scheduled post was published. The time in its id is the time for which it was scheduled, which can be
    /// long ago. `None`: the time in the id.
    #[serde(default, rename = "published_at_ms", skip_serializing_if = "Option::is_none")]
    pub published_at: Option<Time>,
}

/// A post was deleted, on `post-events` and `graph-events`. It is sent before the deletion is committed. Its handlers read
/// the post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostDeleted {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: PostDeletedKind,
    /// The version.
    pub v: Version<{ PostDeletedKind::V }>,
    /// The deleted post.
    pub post: PostId,
    /// The time of the deletion.
    #[serde(rename = "deleted_at_ms")]
    pub deleted_at: Time,
}

/// The order to push a post to some followers, on `chunks` and `bulk-chunks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliverChunk {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: DeliverChunkKind,
    /// The version.
    pub v: Version<{ DeliverChunkKind::V }>,
    /// The post to push.
    pub post: PostId,
    /// When the followers were read. For a limited time, Valkey knows the changes since then.
    #[serde(rename = "cut_at_ms")]
    pub cut_at: Time,
    /// The followers, in bucket order. In JSON: 8 bytes each, big-endian, as base64 without padding.
    #[serde(serialize_with = "pack", deserialize_with = "unpack")]
    pub followers: Vec<UserId>,
    /// The share of the fan-out that this chunk is, for the delivery receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Whether a pointer to the author is pushed too, because later posts of this author will be pulled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pointer: bool,
    /// The counts for followers of the same share who are no longer in this chunk, because the post was
    /// already pushed to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<DeliveryCounts>,
}

/// A user followed or unfollowed an author, on `graph-events`. It is sent before the change is committed. Its
/// handler reads the present relation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelationChanged {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: RelationChangedKind,
    /// The version.
    pub v: Version<{ RelationChangedKind::V }>,
    /// The user who followed or unfollowed.
    pub follower: UserId,
    /// The followed or unfollowed author.
    pub author: UserId,
    /// The time of the change.
    #[serde(rename = "changed_at_ms")]
    pub changed_at: Time,
}

/// A user created, changed or lost a profile, on `graph-events`. It is sent before the change is committed. Its handler
/// reads the present profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileChanged {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: ProfileChangedKind,
    /// The version.
    pub v: Version<{ ProfileChangedKind::V }>,
    /// The user.
    pub user: UserId,
    /// The time of the change.
    #[serde(rename = "changed_at_ms")]
    pub changed_at: Time,
    /// The number of changes that the profile will have. `None`: the profile is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// The order to count an author's followers, on `graph-events`. Its handler counts the present followers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountFollowers {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: CountFollowersKind,
    /// The version.
    pub v: Version<{ CountFollowersKind::V }>,
    /// The author.
    pub author: UserId,
}

/// A user liked a post, or took the like back, on `graph-events`. It is sent before the change is committed. Its handler
/// reads the present state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LikeChanged {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: LikeChangedKind,
    /// The version.
    pub v: Version<{ LikeChangedKind::V }>,
    /// The user.
    pub user: UserId,
    /// The post.
    pub post: PostId,
    /// The token of the like that the commit adds. Another like of the same user and post has another token. `None`: a like
    /// is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The time of the change.
    #[serde(rename = "changed_at_ms")]
    pub changed_at: Time,
}

/// The order to count the likes of a post, on `graph-events`. Its handler counts the present likes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountLikes {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: CountLikesKind,
    /// The version.
    pub v: Version<{ CountLikesKind::V }>,
    /// The post.
    pub post: PostId,
}

/// Scores of members of a board change, on `graph-events`. It is sent before the changes are committed, with a delay that is
/// longer than their writer lives. Its handler reads the present scores, and makes the copy in Valkey equal to them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoresChanged {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: ScoresChangedKind,
    /// The version.
    pub v: Version<{ ScoresChangedKind::V }>,
    /// The board.
    pub board: BoardId,
    /// The token of the board. Boards of one name that follow each other have different ones.
    pub token: String,
    /// The round.
    pub round: Round,
    /// The members whose scores change. None: other members fell out of the copy, and their rows are still there.
    pub members: Vec<MemberName>,
}

/// A board was made, changed or deleted, on `graph-events`. It is sent before the change is committed, with a delay that is
/// longer than its writer lives. Its handler reads the present settings. If the board is gone, the handler removes the scores,
/// and sends the same message again for the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardChanged {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: BoardChangedKind,
    /// The version.
    pub v: Version<{ BoardChangedKind::V }>,
    /// The board.
    pub board: BoardId,
    /// The token of the board. Boards of one name that follow each other have different ones.
    pub token: String,
    /// How often the board begins again.
    pub period: Period,
    /// The first round whose scores may exist.
    pub first: Round,
    /// The layout of the copies in Valkey.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub layout: u64,
}

/// The order to make a copy of a round in Valkey, on `rebuilds`. Its handler reads the scores. If the copy is ready, it removes
/// the scores of members who fell out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RebuildBoard {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: RebuildBoardKind,
    /// The version.
    pub v: Version<{ RebuildBoardKind::V }>,
    /// The board.
    pub board: BoardId,
    /// The token of the board. Boards of one name that follow each other have different ones.
    pub token: String,
    /// The round.
    pub round: Round,
    /// The version of the copy of a merged board.
    #[serde(default, rename = "copy_version", skip_serializing_if = "is_zero")]
    pub version: u64,
    /// The token of the lease that the sender took. The handler continues with it.
    pub lease: String,
    /// The first part of the rows that is not copied yet.
    #[serde(default, skip_serializing_if = "is_first")]
    pub part: u8,
    /// The last member of this part that is copied. `None`: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<MemberName>,
}

/// The order to make a snapshot of a ranking in Valkey, on `rebuilds`. Its handler reads the likes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RebuildRanking {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: RebuildRankingKind,
    /// The version.
    pub v: Version<{ RebuildRankingKind::V }>,
    /// The ranking.
    pub ranking: Ranking,
    /// The time of the snapshot.
    #[serde(rename = "at_ms")]
    pub at: Time,
    /// The token of the lease that the sender took. The handler continues with it.
    pub lease: String,
    /// The first part of the rows that is not copied yet.
    #[serde(default, skip_serializing_if = "is_first")]
    pub part: u8,
}

fn is_first(part: &u8) -> bool {
    *part == 0
}

/// A queue's messages of several kinds. The first kind is that of a body without a known `type`.
macro_rules! one_of {
    ($(#[$doc:meta])* $name:ident: $($(#[$variant_doc:meta])* $variant:ident($message:ident)),+) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        pub enum $name {
            $($(#[$variant_doc])* $variant($message),)+
        }

        $(
            impl From<$message> for $name {
                fn from(message: $message) -> Self {
                    Self::$variant(message)
                }
            }
        )+

        /// Chooses the kind by `type` first, so that an error describes that kind.
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let body = serde_json::Value::deserialize(deserializer)?;
                let kind = body.get("type").and_then(serde_json::Value::as_str).unwrap_or_default();
                let kinds = [$(stringify!($message)),+];
                let kind = if kinds.contains(&kind) { kind.to_owned() } else { kinds[0].to_owned() };
                $(
                    if kind == stringify!($message) {
                        return serde_json::from_value(body).map(Self::$variant).map_err(de::Error::custom);
                    }
                )+
                Err(de::Error::custom("no kind of message"))
            }
        }
    };
}

one_of!(
    /// A message on `post-events` and `bulk-events`.
    PostEvent:
    /// A post was published.
    Published(PostPublished),
    /// A post was deleted.
    Deleted(PostDeleted)
);

one_of!(
    /// A message on `graph-events`.
    GraphEvent:
    /// A user followed or unfollowed an author.
    Relation(RelationChanged),
    /// A user created, changed or lost a profile.
    Profile(ProfileChanged),
    /// The order to count followers.
    Count(CountFollowers),
    /// A user liked a post, or took the like back.
    Like(LikeChanged),
    /// The order to count likes.
    CountLikes(CountLikes),
    /// A post was deleted, and its likes with it.
    PostDeleted(PostDeleted),
    /// Scores of members of a board change.
    Scores(ScoresChanged),
    /// A board was made, changed or deleted.
    Board(BoardChanged)
);

one_of!(
    /// A message on `rebuilds`.
    RebuildOrder:
    /// The order to rebuild a feed.
    Feed(RebuildFeed),
    /// The order to make a copy of a round of a board.
    Board(RebuildBoard),
    /// The order to make a snapshot of a ranking.
    Ranking(RebuildRanking)
);

impl RebuildOrder {
    /// The message group: the owner of the feed or of the board, or the ranking.
    pub fn group(&self) -> String {
        match self {
            Self::Feed(order) => order.user.to_string(),
            Self::Board(order) => order.board.owner.to_string(),
            Self::Ranking(order) => order.ranking.to_string(),
        }
    }
}

impl GraphEvent {
    /// The message group: the author or the board that the event is about. Very many users may follow one author, like the
    /// posts of one author, or change the scores of one board at the same time.
    pub fn group(&self) -> String {
        let author = match self {
            Self::Relation(event) => event.author,
            Self::Profile(event) => event.user,
            Self::Count(order) => order.author,
            Self::Like(event) => event.post.author(),
            Self::CountLikes(order) => order.post.author(),
            Self::PostDeleted(event) => event.post.author(),
            Self::Scores(event) => return event.board.to_string(),
            Self::Board(event) => return event.board.to_string(),
        };
        author.to_string()
    }
}

/// The order to rebuild a user's home feed, on `rebuilds`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RebuildFeed {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: RebuildFeedKind,
    /// The version.
    pub v: Version<{ RebuildFeedKind::V }>,
    /// The owner of the feed.
    pub user: UserId,
    /// The token of the lease that the sender took. The handler continues with it.
    pub lease: String,
}

/// An item is due, on `due-items`. It is sent ahead, so that SQS delivers it at the item's time, and may be sent before the
/// item is committed. Its handler reads the item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemDue {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: ItemDueKind,
    /// The version.
    pub v: Version<{ ItemDueKind::V }>,
    /// The item with its time.
    pub entry: DueEntry,
    /// When the message was sent before the commit of its item. `None`: the item is committed.
    #[serde(default, rename = "announced_at_ms", skip_serializing_if = "Option::is_none")]
    pub announced_at: Option<Time>,
}

/// A timer was due, on `timer-events` and `webhooks`. It is sent at least once for each occurrence; repetitions have the
/// same id. This body is a public form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimerFired {
    /// The kind of message, as `type` in JSON.
    #[serde(rename = "type")]
    pub kind: TimerFiredKind,
    /// The version.
    pub v: Version<{ TimerFiredKind::V }>,
    /// The id of the occurrence: 32 hexadecimal digits.
    pub id: String,
    /// The user to whom the timer belongs.
    pub owner: UserId,
    /// The name of the timer.
    pub name: TimerName,
    /// The time at which the timer was due, as RFC 3339 in UTC.
    pub due_at: String,
    /// The number of following occurrences that are skipped, because no function ran in time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
    /// The timer's payload, any JSON.
    pub payload: serde_json::Value,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ItemDue {
    /// The message of an entry whose item is committed.
    pub fn new(entry: DueEntry) -> Self {
        Self { kind: ItemDueKind::ItemDue, v: Version, entry, announced_at: None }
    }

    /// The message of an entry, sent at this time before the commit of its item.
    pub fn announced(entry: DueEntry, at: Time) -> Self {
        Self { announced_at: Some(at), ..Self::new(entry) }
    }

    /// Whether the commit of the item may still be under way.
    pub fn may_be_ahead(&self, now: Time) -> bool {
        self.announced_at.is_some_and(|at| now <= at + COMMIT_GRACE)
    }
}

impl TimerFired {
    /// The occurrence of a timer at this time. `revision` differs between timers of one name that followed each other.
    pub fn new(
        (owner, name): (UserId, TimerName),
        revision: &str,
        due_at: Time,
        missed: u64,
        payload: serde_json::Value,
    ) -> Self {
        let text = format!("timer {owner} {name} {revision} {}", due_at.ms());
        let hash = Sha256::digest(text);
        let id = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let due_at = due_at.rfc3339();
        Self {
            kind: TimerFiredKind::TimerFired,
            v: Version,
            id,
            owner,
            name,
            due_at,
            missed,
            payload,
        }
    }
}

impl PostPublished {
    /// The fan-out of a post to all followers.
    pub fn new(post: PostId) -> Self {
        let kind = PostPublishedKind::PostPublished;
        Self { kind, v: Version, post, part: None, bulk: false, pointer: false, published_at: None }
    }

    /// The fan-out of a scheduled post to all followers, published at this time.
    pub fn scheduled(post: PostId, published_at: Time) -> Self {
        Self { published_at: Some(published_at), ..Self::new(post) }
    }

    /// When the post was published, by the clock of the function that published it.
    pub fn time(&self) -> Time {
        self.published_at.unwrap_or_else(|| self.post.time())
    }

    /// A part of the fan-out of a post, or the rest that a dispatch left.
    pub fn part(post: PostId, part: FanoutPart) -> Self {
        Self { part: Some(part), ..Self::new(post) }
    }
}

impl PostDeleted {
    /// The deletion of a post at this time.
    pub fn new(post: PostId, deleted_at: Time) -> Self {
        Self { kind: PostDeletedKind::PostDeleted, v: Version, post, deleted_at }
    }
}

impl ProfileChanged {
    /// A change of a user's profile at this time.
    pub fn new(user: UserId, changed_at: Time, revision: Option<u64>) -> Self {
        Self { kind: ProfileChangedKind::ProfileChanged, v: Version, user, changed_at, revision }
    }
}

impl DeliverChunk {
    /// A chunk without a share and without a pointer.
    pub fn new(post: PostId, cut_at: Time, followers: Vec<UserId>) -> Self {
        let kind = DeliverChunkKind::DeliverChunk;
        Self {
            kind,
            v: Version,
            post,
            cut_at,
            followers,
            share: None,
            pointer: false,
            reached: None,
        }
    }
}

impl RelationChanged {
    /// A change at this time.
    pub fn new(follower: UserId, author: UserId, changed_at: Time) -> Self {
        Self {
            kind: RelationChangedKind::RelationChanged,
            v: Version,
            follower,
            author,
            changed_at,
        }
    }
}

impl CountFollowers {
    /// The order to count this author's followers.
    pub fn new(author: UserId) -> Self {
        Self { kind: CountFollowersKind::CountFollowers, v: Version, author }
    }
}

impl LikeChanged {
    /// A change at this time.
    pub fn new(user: UserId, post: PostId, token: Option<String>, changed_at: Time) -> Self {
        Self { kind: LikeChangedKind::LikeChanged, v: Version, user, post, token, changed_at }
    }
}

impl CountLikes {
    /// The order to count the likes of this post.
    pub fn new(post: PostId) -> Self {
        Self { kind: CountLikesKind::CountLikes, v: Version, post }
    }
}

impl ScoresChanged {
    /// A change of the scores of these members.
    pub fn new(board: BoardId, token: String, round: Round, members: Vec<MemberName>) -> Self {
        Self { kind: ScoresChangedKind::ScoresChanged, v: Version, board, token, round, members }
    }
}

impl BoardChanged {
    /// A change of this board, with rounds from this one on.
    pub fn new(board: BoardId, token: String, period: Period, first: Round, layout: u64) -> Self {
        let kind = BoardChangedKind::BoardChanged;
        Self { kind, v: Version, board, token, period, first, layout }
    }
}

impl RebuildBoard {
    /// The order to make a copy with this lease, from the first part on.
    pub fn new(board: BoardId, token: String, round: Round, version: u64, lease: String) -> Self {
        let kind = RebuildBoardKind::RebuildBoard;
        Self { kind, v: Version, board, token, round, version, lease, part: 0, after: None }
    }
}

impl RebuildRanking {
    /// The order to make a snapshot with this lease, from the first part on.
    pub fn new(Snapshot { ranking, at }: Snapshot, lease: String) -> Self {
        let kind = RebuildRankingKind::RebuildRanking;
        Self { kind, v: Version, ranking, at, lease, part: 0 }
    }

    /// The snapshot.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { ranking: self.ranking, at: self.at }
    }
}

impl RebuildFeed {
    /// The order to rebuild this user's home feed with this lease.
    pub fn new(user: UserId, lease: String) -> Self {
        Self { kind: RebuildFeedKind::RebuildFeed, v: Version, user, lease }
    }
}

/// For each message: an enum whose only value is the message's name, and the version that is written.
macro_rules! kinds {
    ($($kind:ident $name:ident $v:literal),*) => {
        $(
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
            #[doc = concat!("The `type` of `", stringify!($name), "`.")]
            pub enum $kind {
                #[doc = concat!("The text `", stringify!($name), "`.")]
                $name,
            }

            impl $kind {
                /// The version that is written.
                pub const V: u32 = $v;
            }
        )*

        /// Every kind of message, with its newest known version.
        pub const KNOWN: &[(&str, u32)] = &[$((stringify!($name), $v)),*];
    };
}

kinds!(
    PostPublishedKind PostPublished 1,
    PostDeletedKind PostDeleted 1,
    ProfileChangedKind ProfileChanged 1,
    DeliverChunkKind DeliverChunk 1,
    RelationChangedKind RelationChanged 1,
    CountFollowersKind CountFollowers 1,
    LikeChangedKind LikeChanged 1,
    CountLikesKind CountLikes 1,
    RebuildFeedKind RebuildFeed 1,
    RebuildBoardKind RebuildBoard 1,
    RebuildRankingKind RebuildRanking 1,
    ScoresChangedKind ScoresChanged 1,
    BoardChangedKind BoardChanged 1,
    ItemDueKind ItemDue 1,
    TimerFiredKind TimerFired 1
);

/// A version number that must be `N`. Deserializing another number is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version<const N: u32>;

impl<const N: u32> Serialize for Version<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(N)
    }
}

impl<'de, const N: u32> Deserialize<'de> for Version<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            v if v == N => Ok(Version),
            v => Err(de::Error::custom(format_args!("version {v} is not known, only version {N}"))),
        }
    }
}

fn pack<S: Serializer>(users: &[UserId], serializer: S) -> Result<S::Ok, S::Error> {
    let bytes: Vec<u8> = users.iter().flat_map(|u| u.0.to_be_bytes()).collect();
    serializer.serialize_str(&STANDARD_NO_PAD.encode(bytes))
}

fn unpack<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<UserId>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = STANDARD_NO_PAD.decode(text).map_err(de::Error::custom)?;
    let (users, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(de::Error::custom("followers are not 8 bytes each"));
    }
    Ok(users.iter().map(|u| UserId(u64::from_be_bytes(*u))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Partition;

    #[test]
    fn bodies_have_their_documented_form() {
        let post: PostId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        let event = r#"{"type":"PostPublished","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}"#;
        assert_eq!(serde_json::to_string(&PostPublished::new(post)).unwrap(), event);
        let chunk = DeliverChunk::new(post, Time::from_ms(5), vec![UserId(1), UserId(2)]);
        let text = r#"{"type":"DeliverChunk","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV","cut_at_ms":5,"followers":"AAAAAAAAAAEAAAAAAAAAAg"}"#;
        assert_eq!(serde_json::to_string(&chunk).unwrap(), text);
        assert_eq!(serde_json::from_str::<DeliverChunk>(text).unwrap(), chunk);
        let change = RelationChanged::new(UserId(1), UserId(2), Time::from_ms(9));
        let text = r#"{"type":"RelationChanged","v":1,"follower":"0000000000000001","author":"0000000000000002","changed_at_ms":9}"#;
        assert_eq!(serde_json::to_string(&change).unwrap(), text);
        let share = Some(Share { partition: Partition(3), from: 8, to: 13 });
        let chunk = DeliverChunk { share, pointer: true, ..chunk };
        let text = r#"{"type":"DeliverChunk","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV","cut_at_ms":5,"followers":"AAAAAAAAAAEAAAAAAAAAAg","share":{"partition":3,"from":8,"to":13},"pointer":true}"#;
        assert_eq!(serde_json::to_string(&chunk).unwrap(), text);
        assert_eq!(serde_json::from_str::<DeliverChunk>(text).unwrap(), chunk);
        let rest = PostPublished::part(post, FanoutPart { first: 3, end: 8, range: 7 });
        let text = r#"{"type":"PostPublished","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV","part":{"first":3,"end":8,"range":7}}"#;
        assert_eq!(serde_json::to_string(&rest).unwrap(), text);
        assert_eq!(serde_json::from_str::<PostPublished>(text).unwrap(), rest);
        let rest = DeliverChunk {
            reached: Some(DeliveryCounts { delivered: 4, not_live: 3, unfollowed: 2, late: 1 }),
            ..DeliverChunk::new(post, Time::from_ms(5), vec![UserId(1)])
        };
        let text = r#"{"type":"DeliverChunk","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV","cut_at_ms":5,"followers":"AAAAAAAAAAE","reached":{"delivered":4,"not_live":3,"unfollowed":2,"late":1}}"#;
        assert_eq!(serde_json::to_string(&rest).unwrap(), text);
        assert_eq!(serde_json::from_str::<DeliverChunk>(text).unwrap(), rest);
        let count = GraphEvent::Count(CountFollowers::new(UserId(1)));
        let text = r#"{"type":"CountFollowers","v":1,"author":"0000000000000001"}"#;
        assert_eq!(serde_json::to_string(&count).unwrap(), text);
        assert_eq!(serde_json::from_str::<GraphEvent>(text).unwrap(), count);
        let deleted = PostEvent::Deleted(PostDeleted::new(post, Time::from_ms(9)));
        let text =
            r#"{"type":"PostDeleted","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV","deleted_at_ms":9}"#;
        assert_eq!(serde_json::to_string(&deleted).unwrap(), text);
        assert_eq!(serde_json::from_str::<PostEvent>(text).unwrap(), deleted);
        let changed = ProfileChanged::new(UserId(1), Time::from_ms(9), Some(2));
        let text = r#"{"type":"ProfileChanged","v":1,"user":"0000000000000001","changed_at_ms":9,"revision":2}"#;
        assert_eq!(serde_json::to_string(&changed).unwrap(), text);
        assert_eq!(serde_json::from_str::<GraphEvent>(text).unwrap(), changed.into());
        let late = PostPublished::scheduled(post, Time::from_ms(9));
        let text = r#"{"type":"PostPublished","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV","published_at_ms":9}"#;
        assert_eq!(serde_json::to_string(&late).unwrap(), text);
        assert_eq!(serde_json::from_str::<PostPublished>(text).unwrap(), late);
        let entry: DueEntry = "000000000000009#timer#0000000000000001#renew".parse().unwrap();
        let due = ItemDue::announced(entry.clone(), Time::from_ms(5));
        let text = r#"{"type":"ItemDue","v":1,"entry":"000000000000009#timer#0000000000000001#renew","announced_at_ms":5}"#;
        assert_eq!(serde_json::to_string(&due).unwrap(), text);
        let text_of_committed = text.replace(r#","announced_at_ms":5"#, "");
        assert_eq!(serde_json::to_string(&ItemDue::new(entry)).unwrap(), text_of_committed);
        assert_eq!(serde_json::from_str::<ItemDue>(text).unwrap(), due);
        let name: TimerName = "renew".parse().unwrap();
        let payload = serde_json::json!({"a": [1, null]});
        let fired = |revision| {
            let (owner, due) = ((UserId(1), name.clone()), Time::from_ms(9));
            TimerFired::new(owner, revision, due, 0, payload.clone())
        };
        let text = r#"{"type":"TimerFired","v":1,"id":"ID","owner":"0000000000000001","name":"renew","due_at":"1970-01-01T00:00:00.009Z","payload":{"a":[1,null]}}"#;
        let text = text.replace("ID", &fired("r").id);
        assert_eq!(serde_json::to_string(&fired("r")).unwrap(), text);
        assert_eq!(serde_json::from_str::<TimerFired>(&text).unwrap(), fired("r"));
        assert_ne!(fired("r").id, fired("s").id);
        let rebuild = RebuildFeed::new(UserId(1), "a lease".to_owned());
        let text = r#"{"type":"RebuildFeed","v":1,"user":"0000000000000001","lease":"a lease"}"#;
        assert_eq!(serde_json::to_string(&rebuild).unwrap(), text);
    }

    #[test]
    fn an_error_names_the_kind_or_version_of_a_body() {
        let post = r#""post":"01ARZ3NDEKTSV4RRFFQ69G5FAV""#;
        for (body, reason) in [
            (format!(r#"{{"type":"DeliverChunk","v":1,{post}}}"#), "DeliverChunk"),
            (format!(r#"{{"type":"PostPublished","v":2,{post}}}"#), "version 2"),
            (format!(r#"{{"type":"PostPublished",{post}}}"#), "`v`"),
            (r#"{"type":"PostPublished","v":1,"post":"x"}"#.to_owned(), "ULID"),
        ] {
            let error = serde_json::from_str::<PostPublished>(&body).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    #[test]
    fn an_error_describes_the_event_that_type_names() {
        for (body, reason) in [
            (r#"{"type":"CountFollowers","v":2,"author":"0000000000000001"}"#, "version 2"),
            (r#"{"type":"CountFollowers","v":1}"#, "`author`"),
            (r#"{"type":"RelationChanged","v":1}"#, "`follower`"),
            (r#"{"type":"RebuildFeed","v":1}"#, "RebuildFeed"),
            ("7", "RelationChanged"),
        ] {
            let error = serde_json::from_str::<GraphEvent>(body).unwrap_err();
            assert!(error.to_string().contains(reason), "{body}: {error}");
        }
    }

    #[test]
    fn followers_of_another_length_are_refused() {
        let body = r#"{"type":"DeliverChunk","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV","cut_at_ms":5,"followers":"AAAA"}"#;
        assert!(serde_json::from_str::<DeliverChunk>(body).is_err());
    }
}
