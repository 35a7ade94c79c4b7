//! Cuts the followers of an author into chunks.
//!
//! Each partition of followers is sorted by (bucket, user). That order has [`RANGES`] fixed ranges, which do
//! not depend on the followers. A dispatch that is repeated later therefore cuts at the same places, and each
//! delivery is counted once.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Bucket, UserId};

/// The most partitions of one author's followers.
const AUTHOR_PARTITIONS_MAX: u16 = 1024;

/// Ranges in each partition. This number is part of the form of messages and receipts.
pub const RANGES: u8 = 64;

/// One of the partitions that an author's followers are spread over. Numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Partition(pub u16);

impl Partition {
    /// The partitions from 0 up to, but not including, `count`.
    pub fn first(count: u16) -> impl Iterator<Item = Self> + Clone {
        (0..count).map(Self)
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The number of partitions that the followers of a new author begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstPartitions(pub u16);

/// A place in the order of a partition's followers: bucket and user.
pub type FollowerPlace = (Bucket, u64);

/// The number of partitions for this many followers, with about `per_partition` in each: a power of two, at
/// most [`AUTHOR_PARTITIONS_MAX`].
pub fn partitions(followers: u64, per_partition: u64) -> u16 {
    let partitions = (followers / per_partition.max(1)).saturating_add(1);
    let partitions = partitions.min(u64::from(AUTHOR_PARTITIONS_MAX)).next_power_of_two();
    partitions as u16
}

/// The partition of a new follower, chosen by the user's hash among the partitions that the last doubling
/// added. The older ones are full by then, so all partitions have about the same number of followers. Up to
/// `first`, all partitions are used. The bits of the hash are not those of the bucket, so each partition has
/// followers of every bucket.
pub fn partition_of(follower: UserId, partitions: u16, first: FirstPartitions) -> Partition {
    let old = if partitions <= first.0 { 0 } else { partitions / 2 };
    let new = (partitions - old).max(1);
    Partition(old + ((follower.0 >> 32) % u64::from(new)) as u16)
}

/// The range of a follower within the partition, from 0 to [`RANGES`] - 1.
pub fn range_of(follower: UserId, buckets: u16) -> u8 {
    let (bucket, buckets) = (follower.bucket(buckets), buckets.max(1));
    let place = match u16::from(RANGES) <= buckets {
        true => u128::from(bucket.0) << 64, // a range consists of whole buckets
        false => u128::from(bucket.0) << 64 | u128::from(follower.0),
    };
    (place * u128::from(RANGES) / (u128::from(buckets) << 64)) as u8
}

/// The last place before a range. `None` for the first range.
pub fn before_range(range: u8, buckets: u16) -> Option<FollowerPlace> {
    match range_start(range, buckets) {
        (Bucket(0), 0) => None,
        (Bucket(bucket), 0) => Some((Bucket(bucket - 1), u64::MAX)),
        (bucket, user) => Some((bucket, user - 1)),
    }
}

/// The first place of a range.
fn range_start(range: u8, buckets: u16) -> FollowerPlace {
    let whole = u128::from(buckets.max(1)) << 64;
    let start = (u128::from(range) * whole).div_ceil(u128::from(RANGES));
    let (bucket, user) = ((start >> 64) as u16, start as u64);
    match u16::from(RANGES) <= buckets && user > 0 {
        true => (Bucket(bucket + 1), 0),
        false => (Bucket(bucket), user),
    }
}

/// A part of a fan-out: the partitions from `first` up to, but not including, `end`. In the first partition,
/// only the ranges from `range` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FanoutPart {
    /// The first partition.
    pub first: u16,
    /// The partition after the last one.
    pub end: u16,
    /// The first range in the first partition.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub range: u8,
}

/// The followers of a chunk: the ranges of one partition from `from` up to, but not including, `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The partition.
    pub partition: Partition,
    /// The first range.
    pub from: u8,
    /// The range after the last one.
    pub to: u8,
}

/// Counts of the deliveries of a post, in followers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliveryCounts {
    /// Followers whose feed has the post now.
    pub delivered: u64,
    /// Followers without a live feed, because they have not read for a long time. Their feed is rebuilt when
    /// they read again.
    pub not_live: u64,
    /// Followers who have unfollowed the author.
    pub unfollowed: u64,
    /// Followers whose relation was read again, because the push was late.
    pub late: u64,
}

impl DeliveryCounts {
    /// The sum of both, count by count.
    pub fn plus(self, other: Self) -> Self {
        Self {
            delivered: self.delivered.saturating_add(other.delivered),
            not_live: self.not_live.saturating_add(other.not_live),
            unfollowed: self.unfollowed.saturating_add(other.unfollowed),
            late: self.late.saturating_add(other.late),
        }
    }
}

impl FanoutPart {
    /// Joins neighboring parts, and keeps the order.
    pub fn joined(parts: impl IntoIterator<Item = FanoutPart>) -> Vec<FanoutPart> {
        let mut joined: Vec<FanoutPart> = Vec::new();
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

/// Cuts the followers of one partition, in their order, into chunks of whole ranges. A chunk has at most
/// `target` followers, or one range.
#[derive(Debug)]
pub struct Cutter {
    partition: Partition,
    buckets: u16,
    target: usize,
    /// The first range of the present chunk.
    from: u8,
    /// The range that is being read.
    at: u8,
    chunk: Vec<UserId>,
    /// The followers of the range that is being read.
    range: Vec<UserId>,
}

impl Cutter {
    /// A cutter that begins with range `from` of a partition. `buckets` is the number of buckets of the
    /// deployment.
    pub fn new(partition: Partition, from: u8, buckets: u16, target: usize) -> Self {
        Self { partition, buckets, target, from, at: from, chunk: Vec::new(), range: Vec::new() }
    }

    /// Adds the next followers. Returns the chunks that are complete now.
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

    /// The range that is being read. The ranges before it are complete.
    pub fn at(&self) -> u8 {
        self.at
    }

    /// Stops before the end of the partition. Returns the range from which another cutter must continue, and
    /// the last complete chunk.
    pub fn stop(mut self) -> (u8, Option<(Share, Vec<UserId>)>) {
        let at = self.at;
        (at, self.close_chunk(at))
    }

    /// Ends the partition: there are no more followers. Returns the remaining chunks.
    pub fn finish(mut self) -> Vec<(Share, Vec<UserId>)> {
        let mut cut: Vec<_> = self.close_range().into_iter().collect();
        cut.extend(self.close_chunk(RANGES));
        cut
    }

    /// Adds the range that was read to the chunk. If it does not fit, returns the chunk before it.
    fn close_range(&mut self) -> Option<(Share, Vec<UserId>)> {
        let full = !self.chunk.is_empty() && self.chunk.len() + self.range.len() > self.target;
        let done = full.then(|| self.close_chunk(self.at)).flatten();
        self.chunk.append(&mut self.range);
        self.at += 1;
        done
    }

    fn close_chunk(&mut self, to: u8) -> Option<(Share, Vec<UserId>)> {
        let share = Share { partition: self.partition, from: self.from, to };
        self.from = to;
        (share.from < to).then(|| (share, std::mem::take(&mut self.chunk)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PER_PARTITION: u64 = 25_000;

    #[test]
    fn partitions_grow_with_the_audience() {
        let partitions_of = |followers| partitions(followers, PER_PARTITION);
        assert_eq!([0, 24_999, 25_000, 50_000, 1_000_000].map(partitions_of), [1, 1, 2, 4, 64]);
        assert_eq!([partitions(u64::MAX, 1), partitions(u64::MAX, 0)], [AUTHOR_PARTITIONS_MAX; 2]);
        assert_eq!([0, 1, 2, 3, 4].map(|followers| partitions(followers, 1)), [1, 2, 4, 4, 8]);
    }

    /// A million users follow one by one. No partition has more than 1.1 times its share, for any number of
    /// first partitions.
    #[test]
    fn partitions_fill_evenly() {
        for first in [1, 4, 16] {
            let mut sizes = vec![0u64; 64];
            for n in 0..1_000_000u64 {
                let user = UserId(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let now = partitions(n, PER_PARTITION).max(first);
                sizes[usize::from(partition_of(user, now, FirstPartitions(first)).0)] += 1;
            }
            assert!(
                sizes.iter().all(|size| *size <= PER_PARTITION * 11 / 10),
                "{first}: {sizes:?}"
            );
        }
    }

    #[test]
    fn the_first_partitions_are_all_used() {
        let users = (0..1_000u64).map(|n| UserId(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let mut used = [0; 4];
        users.for_each(|user| used[usize::from(partition_of(user, 4, FirstPartitions(4)).0)] += 1);
        assert!(used.iter().all(|count| *count > 200), "{used:?}");
        // an author with fewer partitions than new authors
        assert!((0..100).all(|n| partition_of(UserId(n << 32), 2, FirstPartitions(4)).0 < 2));
    }

    fn place(user: UserId, buckets: u16) -> FollowerPlace {
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

        /// For any pages, and any place where one cutter stops and another continues, the chunks contain
        /// each follower once and each range once.
        #[test]
        fn chunks_cover_a_partition_once(
            users in prop::collection::btree_set(any::<u64>(), 0..300),
            buckets in 1u16..400,
            target in 1usize..50,
            page in 1usize..40,
            stop_after in 0usize..300,
        ) {
            let mut users: Vec<UserId> = users.into_iter().map(UserId).collect();
            users.sort_by_key(|user| place(*user, buckets));
            let mut cutter = Cutter::new(Partition(3), 0, buckets, target);
            let mut cut = Vec::new();
            let mut read = 0;
            while read < users.len() && read < stop_after {
                let next = (read + page).min(users.len());
                cut.extend(cutter.take(&users[read..next]));
                read = next;
            }
            let (from, rest) = cutter.stop();
            cut.extend(rest);
            let mut cutter = Cutter::new(Partition(3), from, buckets, target);
            let after = users.partition_point(|user| place(*user, buckets) < range_start(from, buckets));
            cut.extend(cutter.take(&users[after..]));
            cut.extend(cutter.finish());
            let mut at = 0;
            for (share, followers) in &cut {
                prop_assert_eq!((share.partition, share.from), (Partition(3), at));
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
