//! The messages of fanout.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use fanfold_core::fanout::{DeliveryCounts, Share};
use fanfold_core::registry::CHUNKS;
use fanfold_core::{PostId, Time, UserId, message};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The order to push a post to some followers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliverChunk {
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

impl DeliverChunk {
    /// A chunk without a share and without a pointer.
    pub fn new(post: PostId, cut_at: Time, followers: Vec<UserId>) -> Self {
        Self { post, cut_at, followers, share: None, pointer: false, reached: None }
    }
}

message!(DeliverChunk 1 on CHUNKS);

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
