//! The reasons why a use case refuses a request. The HTTP layer turns each of them into a problem; other callers may treat
//! them differently.

use std::time::Duration;

use fanfold_core::board::{BoardError, Day};
use fanfold_core::content::ContentError;
use fanfold_core::kinds::LimitKind;
use fanfold_core::text::TextError;
use fanfold_core::{
    BoardName, Handle, MemberName, PostId, ScheduledId, TimerName, UserId, UserRef,
};
use fanfold_runtime::StoreError;

/// The reason why a use case refused a request, or the error of a store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(transparent)]
    Content(ContentError),
    #[error("the caller has no profile; create it first")]
    ProfileMissing,
    #[error("another user has the same id; sign in with another account")]
    IdentityClash,
    #[error("@{0} belongs to another user; choose another handle")]
    HandleTaken(Handle),
    /// The previous profile of this user is being removed, and parts of it are left.
    #[error("the previous profile is still being removed; try again in {} s", .retry_after.as_secs())]
    BeingDropped { retry_after: Duration },
    #[error("{0} has no profile")]
    NoSuchUser(UserRef),
    #[error("{0} does not exist, or was deleted")]
    NoSuchPost(PostId),
    /// The `If-Match` of a request named no such version.
    #[error("the post has version {version} now; read it again, and send its ETag")]
    OtherVersion { version: u64 },
    #[error("a post can have at most {max} versions; publish another post")]
    VersionsLimit { max: u64 },
    #[error("the versions of a post can have at most {max} different tags; publish another post")]
    TagsLimit { max: usize },
    /// The caller is not the author of the post.
    #[error("only the author can {action}")]
    NotYours { action: &'static str },
    #[error("users cannot follow themselves")]
    FollowSelf,
    #[error("a user can follow at most {max} users; unfollow another user first")]
    FollowingLimit { max: u64 },
    #[error("the operator has not turned the public feed on")]
    NoPublicFeed,
    #[error("a user can follow at most {max} tags; unfollow another tag first")]
    FollowedTagsLimit { max: usize },
    #[error("the first request with this key was another one; use a new key")]
    KeyReused,
    #[error("the post that this key made, {0}, was deleted; use a new key")]
    PostDeleted(PostId),
    #[error("at most {per_minute} {} per minute are allowed; try again in {} s", .kind.counted(), .retry_after.as_secs())]
    TooManyRequests { kind: LimitKind, per_minute: u64, retry_after: Duration },
    /// A time that is too near or too far away.
    #[error("{field} must be {allowed}")]
    TimeRange { field: &'static str, allowed: &'static str },
    #[error("the scheduled post {0} does not exist, or was cancelled")]
    NoSuchScheduled(ScheduledId),
    #[error("the scheduled post is published already, as {post}; delete or read that post")]
    AlreadyPublished { post: PostId },
    #[error(
        "the scheduled post {0} was not published: the post that it answers was gone at its time"
    )]
    ScheduledFailed(ScheduledId),
    #[error("the scheduled post that this key made, {0}, was cancelled; use a new key")]
    ScheduledCancelled(ScheduledId),
    #[error(
        "a user can have at most {max} scheduled posts; cancel another one, or wait until it is published"
    )]
    ScheduledLimit { max: u64 },
    #[error("the caller has no timer {0}")]
    NoSuchTimer(TimerName),
    #[error("a user can have at most {max} timers; delete another timer first")]
    TimersLimit { max: u64 },
    #[error("payload has {found} bytes of JSON; at most {max} are allowed")]
    PayloadTooBig { found: usize, max: usize },
    #[error("every must be at least {} s", .min.as_secs())]
    EveryTooShort { min: Duration },
    #[error("the user {owner} has no board {name}")]
    NoSuchBoard { owner: UserId, name: BoardName },
    #[error("the period of {0} is not kept any more, or has not begun")]
    NoSuchRound(Day),
    #[error("{0} is not on the board")]
    NoSuchMember(MemberName),
    #[error("a user can have at most {max} boards; delete another board first")]
    BoardsLimit { max: u64 },
    /// A setting of a board that is not allowed.
    #[error("{0}")]
    BoardSettings(&'static str),
    #[error(
        "the orders, the period, the zone and the merge of a board cannot change; delete the board first"
    )]
    BoardFixed,
    #[error("nobody changes the scores of a merged board; change those that it is merged from")]
    BoardMerged,
    #[error("only the owner of the board, and users whom the owner lets, can change scores")]
    NotAWriter,
    #[error("name 1 to {max} different members")]
    Members { max: usize },
    #[error(transparent)]
    Scores(#[from] BoardError),
    #[error("the sum of the scores of {0} would not be a 64-bit integer; nothing was changed")]
    ScoreOverflow(MemberName),
    #[error("the board is being prepared; try again")]
    BoardBuilding,
    #[error("the ranking is being prepared; try again")]
    RankingBuilding,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ContentError> for Error {
    fn from(error: ContentError) -> Self {
        match error {
            ContentError::Text(error) => Self::Text(error),
            error => Self::Content(error),
        }
    }
}
