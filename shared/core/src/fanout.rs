//! How the followers of an author are cut into chunks.
//!
//! Each partition of followers is sorted by (bucket, user). That order has [`RANGES`] fixed ranges, so
//! a part of a fan-out can be named whoever follows by then: a dispatch that is repeated cuts along the
//! same lines, and what was delivered is counted once.

use serde::{Deserialize, Serialize};

use crate::UserId;
use crate::limits::{FOLLOWER_SHARDS_MAX, FOLLOWERS_PER_SHARD};

/// Ranges of a partition.
pub const RANGES: u8 = 64;

/// A place in the order of a partition's followers.
pub type Place = (u16, u64);

/// The partitions that an author with this many followers is spread over.
pub fn shards(followers: u64) -> u16 {
    let shards = (followers / FOLLOWERS_PER_SHARD + 1).next_power_of_two();
    shards.min(u64::from(FOLLOWER_SHARDS_MAX)) as u16
}

/// The partition of a new follower: one of those that came with the last doubling. The older ones are
/// full by then, so all of them hold about the same. Other bits of the hash than the bucket's, so each
/// has followers of every bucket.
pub fn shard_of(follower: UserId, shards: u16) -> u16 {
    let old = shards / 2;
    let new = (shards - old).max(1);
    old + ((follower.0 >> 32) % u64::from(new)) as u16
}

/// The range of a partition that a follower is in.
pub fn range_of(follower: UserId, buckets: u16) -> u8 {
    let (bucket, buckets) = (follower.bucket(buckets), buckets.max(1));
    let place = match u16::from(RANGES) <= buckets {
        true => u128::from(bucket) << 64, // no bucket is cut in two
        false => u128::from(bucket) << 64 | u128::from(follower.0),
    };
    (place * u128::from(RANGES) / (u128::from(buckets) << 64)) as u8
}

/// The last place before a range; None: it is the first.
pub fn before_range(range: u8, buckets: u16) -> Option<Place> {
    match range_start(range, buckets) {
        (0, 0) => None,
        (bucket, 0) => Some((bucket - 1, u64::MAX)),
        (bucket, user) => Some((bucket, user - 1)),
    }
}

/// Where a range begins.
fn range_start(range: u8, buckets: u16) -> Place {
    let whole = u128::from(buckets.max(1)) << 64;
    let start = (u128::from(range) * whole).div_ceil(u128::from(RANGES));
    let (bucket, user) = ((start >> 64) as u16, start as u64);
    match u16::from(RANGES) <= buckets && user > 0 {
        true => (bucket + 1, 0),
        false => (bucket, user),
    }
}

/// Partitions of an author's followers, from `first` up to but not including `end`; in the first, the
/// ranges from `range` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub first: u16,
    pub end: u16,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub range: u8,
}

/// The ranges of a partition that a chunk is made of, from `from` up to but not including `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    pub shard: u16,
    pub from: u8,
    pub to: u8,
}

impl Part {
    /// The same parts, as few as possible.
    pub fn joined(parts: impl IntoIterator<Item = Part>) -> Vec<Part> {
        let mut joined: Vec<Part> = Vec::new();
        for part in parts {
            match joined.last_mut() {
                Some(last) if last.end == part.first && part.range == 0 => last.end = part.end,
                _ => joined.push(part),
            }
        }
        joined
    }
}

fn is_zero(range: &u8) -> bool {
    *range == 0
}

/// Gathers the followers of one partition, in their order, into chunks of about `target`.
#[derive(Debug)]
pub struct Cutter {
    shard: u16,
    buckets: u16,
    target: usize,
    /// The first range of the chunk that is being gathered, and the one that is being read.
    from: u8,
    at: u8,
    chunk: Vec<UserId>,
    /// Those of the range that is being read.
    range: Vec<UserId>,
}

impl Cutter {
    pub fn new(shard: u16, from: u8, buckets: u16, target: usize) -> Self {
        Self { shard, buckets, target, from, at: from, chunk: Vec::new(), range: Vec::new() }
    }

    /// Takes the next followers; gives what is complete by then.
    pub fn take(&mut self, followers: &[UserId]) -> Vec<(Share, Vec<UserId>)> {
        let mut cut = Vec::new();
        for follower in followers {
            let range = range_of(*follower, self.buckets);
            while self.at < range {
                cut.extend(self.close_range());
            }
            self.range.push(*follower);
        }
        cut
    }

    /// The range that is being read: those before it are complete.
    pub fn at(&self) -> u8 {
        self.at
    }

    /// The range from which another cutter goes on, and what is complete by now.
    pub fn stop(mut self) -> (u8, Option<(Share, Vec<UserId>)>) {
        let at = self.at;
        (at, self.close_chunk(at))
    }

    /// No more followers: the rest.
    pub fn finish(mut self) -> Vec<(Share, Vec<UserId>)> {
        let mut cut: Vec<_> = self.close_range().into_iter().collect();
        cut.extend(self.close_chunk(RANGES));
        cut
    }

    /// A range belongs to one chunk. Where it does not fit, the chunk before it is complete.
    fn close_range(&mut self) -> Option<(Share, Vec<UserId>)> {
        let full = !self.chunk.is_empty() && self.chunk.len() + self.range.len() > self.target;
        let done = full.then(|| self.close_chunk(self.at)).flatten();
        self.chunk.append(&mut self.range);
        self.at += 1;
        done
    }

    fn close_chunk(&mut self, to: u8) -> Option<(Share, Vec<UserId>)> {
        let share = Share { shard: self.shard, from: self.from, to };
        self.from = to;
        (share.from < to).then(|| (share, std::mem::take(&mut self.chunk)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shards_grow_with_the_audience() {
        assert_eq!([0, 24_999, 25_000, 50_000, 1_000_000].map(shards), [1, 1, 2, 4, 64]);
        assert_eq!(shards(u64::MAX / 2), FOLLOWER_SHARDS_MAX);
    }

    /// A million followers came one by one: no partition has much more than its share.
    #[test]
    fn partitions_fill_evenly() {
        let mut sizes = vec![0u64; 64];
        for n in 0..1_000_000u64 {
            let user = UserId(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            sizes[usize::from(shard_of(user, shards(n)))] += 1;
        }
        assert!(sizes.iter().all(|size| *size <= FOLLOWERS_PER_SHARD * 11 / 10), "{sizes:?}");
    }

    fn place(user: UserId, buckets: u16) -> Place {
        (user.bucket(buckets), user.0)
    }

    proptest! {
        #[test]
        fn ranges_divide_the_order(user: u64, buckets in 1u16..2_000) {
            let range = range_of(UserId(user), buckets);
            prop_assert!(range < RANGES);
            prop_assert!(range_start(range, buckets) <= place(UserId(user), buckets));
            if range + 1 < RANGES {
                prop_assert!(place(UserId(user), buckets) < range_start(range + 1, buckets));
            }
        }

        /// However the followers come in pages, and wherever one stops and another goes on, the
        /// chunks hold each follower once and each range once.
        #[test]
        fn a_partition_is_cut_whole(
            users in prop::collection::btree_set(any::<u64>(), 0..300),
            buckets in 1u16..400,
            target in 1usize..50,
            page in 1usize..40,
            stop_after in 0usize..300,
        ) {
            let mut users: Vec<UserId> = users.into_iter().map(UserId).collect();
            users.sort_by_key(|user| place(*user, buckets));
            let mut cutter = Cutter::new(3, 0, buckets, target);
            let mut cut = Vec::new();
            let mut read = 0;
            while read < users.len() && read < stop_after {
                let next = (read + page).min(users.len());
                cut.extend(cutter.take(&users[read..next]));
                read = next;
            }
            let (from, rest) = cutter.stop();
            cut.extend(rest);
            let mut cutter = Cutter::new(3, from, buckets, target);
            let after = users.partition_point(|user| place(*user, buckets) < range_start(from, buckets));
            cut.extend(cutter.take(&users[after..]));
            cut.extend(cutter.finish());
            let mut at = 0;
            for (share, followers) in &cut {
                prop_assert_eq!((share.shard, share.from), (3, at));
                at = share.to;
                let ranges: Vec<u8> = followers.iter().map(|user| range_of(*user, buckets)).collect();
                prop_assert!(ranges.iter().all(|range| (share.from..share.to).contains(range)));
                let one_range = ranges.first() == ranges.last();
                prop_assert!(followers.len() <= target || one_range, "{} of {target}", followers.len());
            }
            prop_assert_eq!(at, RANGES);
            let all: Vec<UserId> = cut.into_iter().flat_map(|(_, followers)| followers).collect();
            prop_assert_eq!(all, users);
        }
    }
}
