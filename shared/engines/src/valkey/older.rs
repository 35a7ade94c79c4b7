//! The posts below the floor of a home feed that its owner pulled last.

use fanfold_core::limits::OLDER_KEPT;
use fanfold_core::time::millis;
use fanfold_core::{PostId, Slice, Time, UserId};
use fanfold_runtime::StoreError;

use super::scripts::unknown;
use super::{Valkey, failed};

/// Posts of a home feed below its floor, as they were at a time. Only a scheduled post that is published late is added to them
/// later, and readers get it when these are not kept any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Older {
    /// The number of changes of relations that the owner of the feed had made. With another number, other authors may belong
    /// to the feed.
    pub relation_changes: u64,
    /// When the posts were read.
    pub read_at: Time,
    /// The posts are older than this.
    pub before: PostId,
    /// The posts.
    pub slice: Slice,
}

impl Valkey {
    /// The posts that the owner of a home feed pulled last.
    pub async fn older(&self, owner: UserId) -> Result<Option<Older>, StoreError> {
        let doing = "reading older posts";
        let get = self.keys.older(owner).command("GET");
        let found: Result<Option<Vec<u8>>, _> = get.query_async(&mut self.link.clone()).await;
        let Some(bytes) = found.map_err(failed(doing))? else { return Ok(None) };
        decode(&bytes).map(Some).ok_or_else(|| failed(doing)(unknown("not older posts")))
    }

    /// Keeps posts for the pages that follow.
    pub async fn keep_older(&self, owner: UserId, older: &Older) -> Result<(), StoreError> {
        let mut set = self.keys.older(owner).command("SET");
        set.arg(encode(older)).arg("PX").arg(millis(OLDER_KEPT));
        let kept: Result<String, _> = set.query_async(&mut self.link.clone()).await;
        kept.map(drop).map_err(failed("keeping older posts"))
    }

    /// Removes the posts that a user pulled last.
    pub async fn forget_older(&self, owner: UserId) -> Result<(), StoreError> {
        let unlink = self.keys.older(owner).command("UNLINK");
        unlink.query_async(&mut self.link.clone()).await.map_err(failed("forgetting older posts"))
    }
}

/// Two numbers of 8 bytes: the changes of relations, and the time in ms; then ids of 16 bytes: that before which the posts
/// are, that down to which they are complete, and the posts.
fn encode(Older { relation_changes, read_at, before, slice }: &Older) -> Vec<u8> {
    let mut bytes = relation_changes.to_be_bytes().to_vec();
    bytes.extend(read_at.ms().to_be_bytes());
    for id in [before, &slice.bound].into_iter().chain(&slice.posts) {
        bytes.extend(id.0.to_be_bytes());
    }
    bytes
}

fn decode(bytes: &[u8]) -> Option<Older> {
    let (relation_changes, bytes) = bytes.split_first_chunk()?;
    let (read_at, bytes) = bytes.split_first_chunk()?;
    let (ids, rest) = bytes.as_chunks();
    let mut ids = ids.iter().map(|id| PostId(u128::from_be_bytes(*id)));
    let (before, bound) = (ids.next()?, ids.next()?);
    rest.is_empty().then(|| Older {
        relation_changes: u64::from_be_bytes(*relation_changes),
        read_at: Time::from_ms(u64::from_be_bytes(*read_at)),
        before,
        slice: Slice { posts: ids.collect(), bound },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_posts_are_decoded_as_they_were_and_other_bytes_are_refused() {
        for count in [0, 1, 300] {
            let posts = (0..count).map(|n| PostId(u128::MAX / 3 - n)).collect();
            let older = Older {
                relation_changes: u64::MAX - 1,
                read_at: Time::from_ms(1_800_000_000_000),
                before: PostId(u128::MAX / 2),
                slice: Slice { posts, bound: PostId(7) },
            };
            let bytes = encode(&older);
            assert_eq!(decode(&bytes), Some(older));
            for cut in [1, 8, 15] {
                assert_eq!(decode(&bytes[cut..]), None);
            }
            for end in [0, 15, 47] {
                assert_eq!(decode(&bytes[..end]), None);
            }
        }
    }
}
