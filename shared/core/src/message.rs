//! The bodies on the queues. Each carries its version; a body of another version or kind is
//! refused by name. Facts are in the past tense, orders imperative.
//!
//! **Any change of form is a new version**, an added field too: what a function does not know it cannot
//! leave out (without `part`, say, a part of a fan-out would be all of it). So a body with an unknown
//! field is poison, and one of a newer version waits in its queue until a newer function takes it:
//! nothing is lost by a deployment that is under way, or taken back. For nothing to *wait*, a new
//! version takes two releases: the first reads it and still writes the old one, the second writes it.
//! Old versions are read for as long as messages live (14 days, and until dead letters are dealt with).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::fanout::{Part, Share};
use crate::{PostId, UserId};

/// On `post-events` and `bulk-events`. Sent before the post is committed; whoever takes it looks for
/// the post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostPublished {
    #[serde(rename = "type")]
    pub kind: PostPublishedKind,
    pub v: Version<{ PostPublishedKind::V }>,
    pub post: PostId,
    /// Part of a fan-out: to these followers. None: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Whether that part goes through the queues for large audiences.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bulk: bool,
    /// Whether pointers to the author go out with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pointer: bool,
}

/// On `chunks` and `bulk-chunks`: push this post to these followers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliverChunk {
    #[serde(rename = "type")]
    pub kind: DeliverChunkKind,
    pub v: Version<{ DeliverChunkKind::V }>,
    pub post: PostId,
    /// When the followers were read: what changed since then is known to Valkey for a while.
    pub cut_at_ms: u64,
    /// In bucket order, 8 bytes each, base64.
    #[serde(serialize_with = "pack", deserialize_with = "unpack")]
    pub followers: Vec<UserId>,
    /// Which share of the fan-out this is, for the delivery receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Whether the followers are told that this author's posts will not be pushed any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pointer: bool,
}

/// On `graph-events`. Sent before the change is committed; whoever takes it reads the relation
/// as it is by then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelationChanged {
    #[serde(rename = "type")]
    pub kind: RelationChangedKind,
    pub v: Version<{ RelationChangedKind::V }>,
    pub follower: UserId,
    pub author: UserId,
    pub changed_at_ms: u64,
}

/// On `rebuilds`: rebuild a user's home feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RebuildFeed {
    #[serde(rename = "type")]
    pub kind: RebuildFeedKind,
    pub v: Version<{ RebuildFeedKind::V }>,
    pub user: UserId,
    /// The lease that the sender took and hands on.
    pub lease: String,
}

impl PostPublished {
    pub fn new(post: PostId) -> Self {
        let kind = PostPublishedKind::PostPublished;
        Self { kind, v: Version, post, part: None, bulk: false, pointer: false }
    }

    /// Part of a fan-out, or what a dispatch left of it.
    pub fn part(post: PostId, part: Part) -> Self {
        Self { part: Some(part), ..Self::new(post) }
    }
}

impl DeliverChunk {
    pub fn new(post: PostId, cut_at_ms: u64, followers: Vec<UserId>) -> Self {
        let kind = DeliverChunkKind::DeliverChunk;
        Self { kind, v: Version, post, cut_at_ms, followers, share: None, pointer: false }
    }
}

impl RelationChanged {
    pub fn new(follower: UserId, author: UserId, changed_at_ms: u64) -> Self {
        Self {
            kind: RelationChangedKind::RelationChanged,
            v: Version,
            follower,
            author,
            changed_at_ms,
        }
    }
}

impl RebuildFeed {
    pub fn new(user: UserId, lease: String) -> Self {
        Self { kind: RebuildFeedKind::RebuildFeed, v: Version, user, lease }
    }
}

/// A text that must be the message's own name, and the version that is written.
macro_rules! kinds {
    ($($kind:ident $name:ident $v:literal),*) => {
        $(
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
            pub enum $kind {
                $name,
            }

            impl $kind {
                pub const V: u32 = $v;
            }
        )*

        /// Every kind of message, and the newest version of it that is known.
        pub const KNOWN: &[(&str, u32)] = &[$((stringify!($name), $v)),*];
    };
}

kinds!(
    PostPublishedKind PostPublished 1,
    DeliverChunkKind DeliverChunk 1,
    RelationChangedKind RelationChanged 1,
    RebuildFeedKind RebuildFeed 1
);

/// A number that must be `N`.
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
            v => Err(de::Error::custom(format_args!("version {v} where {N} is known"))),
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

    #[test]
    fn bodies_have_the_form_that_is_on_the_queues() {
        let post: PostId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        let event = r#"{"type":"PostPublished","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}"#;
        assert_eq!(serde_json::to_string(&PostPublished::new(post)).unwrap(), event);
        let chunk = DeliverChunk::new(post, 5, vec![UserId(1), UserId(2)]);
        let text = r#"{"type":"DeliverChunk","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV","cut_at_ms":5,"followers":"AAAAAAAAAAEAAAAAAAAAAg"}"#;
        assert_eq!(serde_json::to_string(&chunk).unwrap(), text);
        assert_eq!(serde_json::from_str::<DeliverChunk>(text).unwrap(), chunk);
        let change = RelationChanged::new(UserId(1), UserId(2), 9);
        let text = r#"{"type":"RelationChanged","v":1,"follower":"0000000000000001","author":"0000000000000002","changed_at_ms":9}"#;
        assert_eq!(serde_json::to_string(&change).unwrap(), text);
        let share = Some(Share { shard: 3, from: 8, to: 13 });
        let chunk = DeliverChunk { share, pointer: true, ..chunk };
        let text = r#"{"type":"DeliverChunk","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV","cut_at_ms":5,"followers":"AAAAAAAAAAEAAAAAAAAAAg","share":{"shard":3,"from":8,"to":13},"pointer":true}"#;
        assert_eq!(serde_json::to_string(&chunk).unwrap(), text);
        assert_eq!(serde_json::from_str::<DeliverChunk>(text).unwrap(), chunk);
        let rest = PostPublished::part(post, Part { first: 3, end: 8, range: 7 });
        let text = r#"{"type":"PostPublished","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV","part":{"first":3,"end":8,"range":7}}"#;
        assert_eq!(serde_json::to_string(&rest).unwrap(), text);
        assert_eq!(serde_json::from_str::<PostPublished>(text).unwrap(), rest);
        let rebuild = RebuildFeed::new(UserId(1), "a lease".to_owned());
        let text = r#"{"type":"RebuildFeed","v":1,"user":"0000000000000001","lease":"a lease"}"#;
        assert_eq!(serde_json::to_string(&rebuild).unwrap(), text);
    }

    #[test]
    fn a_body_of_another_kind_or_version_is_refused_by_name() {
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
    fn followers_that_do_not_divide_are_refused() {
        let body = r#"{"type":"DeliverChunk","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV","cut_at_ms":5,"followers":"AAAA"}"#;
        assert!(serde_json::from_str::<DeliverChunk>(body).is_err());
    }
}
