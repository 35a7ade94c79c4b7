//! Partitions with very many followers, which answer queries as DynamoDB would. Followers are stored as
//! numbers, because a million items of JSON would take gigabytes.

use fanfold_core::Bucket;
use std::collections::HashMap;
use std::io::Write as _;

use fanfold_core::UserId;
use fanfold_core::fanout;
use fanfold_core::limits::{
    BUCKETS_DEFAULT, FOLLOWER_PARTITIONS_DEFAULT, FOLLOWERS_PER_PARTITION_DEFAULT,
};
use serde_json::{Value, json};

use super::GRAPH;
use crate::simulation::cloud::Cloud;
use crate::simulation::units::{PAGE_BYTES_MAX, Units, bytes};

/// The followers in one of an author's partitions, in the order of their sort key.
pub struct Partition {
    pk: String,
    followers: Vec<(Bucket, UserId)>,
}

pub struct Page {
    pub body: Vec<u8>,
    pub read_bytes: usize,
}

const FIRST: u16 = FOLLOWER_PARTITIONS_DEFAULT as u16;

/// The number of partitions of an author with this many followers.
pub fn partitions_of(followers: usize) -> u16 {
    fanout::partitions(followers as u64, FOLLOWERS_PER_PARTITION_DEFAULT).max(FIRST)
}

/// Spreads followers over partitions as if they had followed one after the other. Returns the partitions
/// by `pk`.
pub fn partitions(author: UserId, followers: &[UserId]) -> HashMap<String, Partition> {
    let mut split = vec![Vec::new(); usize::from(partitions_of(followers.len()))];
    for (earlier, follower) in followers.iter().enumerate() {
        let partition = usize::from(
            fanout::partition_of(*follower, partitions_of(earlier), fanout::FirstPartitions(FIRST))
                .0,
        );
        split[partition].push((follower.bucket(BUCKETS_DEFAULT), *follower));
    }
    let partition = |(partition, mut followers): (usize, Vec<(Bucket, UserId)>)| {
        followers.sort_unstable();
        let pk = format!("followers#{author}#{partition}");
        (pk.clone(), Partition { pk, followers })
    };
    split.into_iter().enumerate().map(partition).collect()
}

fn sk(bucket: Bucket, follower: UserId) -> String {
    format!("{:04x}{follower}", bucket.0)
}

impl Partition {
    fn item(&self, place: usize) -> Value {
        let (bucket, follower) = self.followers[place];
        json!({"pk": {"S": self.pk}, "sk": {"S": sk(bucket, follower)}, "v": {"N": "1"}})
    }

    /// Answers a query of the sort keys: the followers after the start key, up to the limit or one
    /// megabyte.
    pub fn page(&self, request: &Value) -> Page {
        assert_eq!(request["KeyConditionExpression"], "pk = :pk", "{request}");
        assert_eq!(request["ProjectionExpression"], "sk", "{request}");
        let from = match request["ExclusiveStartKey"]["sk"]["S"].as_str() {
            Some(start) => {
                self.followers.partition_point(|(b, user)| sk(*b, *user).as_str() <= start)
            }
            None => 0,
        };
        let each = match self.followers.is_empty() {
            true => 0,
            false => self.item(0).as_object().map_or(0, bytes),
        };
        let limit = request["Limit"].as_u64().unwrap_or(u64::MAX) as usize;
        let most = limit.min(PAGE_BYTES_MAX.div_ceil(each.max(1)));
        let rest = self.followers.get(from..).unwrap_or_default();
        let shown = rest.get(..most).unwrap_or(rest);
        let mut body = Vec::with_capacity(shown.len() * 36 + 200);
        body.extend(b"{\"Items\":[");
        for (place, (bucket, follower)) in shown.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let bucket = bucket.0;
            let text = write!(body, "{comma}{{\"sk\":{{\"S\":\"{bucket:04x}{follower}\"}}}}");
            text.expect("written to memory");
        }
        body.push(b']');
        if let (true, Some((bucket, follower))) = (shown.len() == most, shown.last()) {
            let last = json!({"pk": {"S": self.pk}, "sk": {"S": sk(*bucket, *follower)}});
            write!(body, ",\"LastEvaluatedKey\":{last}").expect("written to memory");
        }
        body.push(b'}');
        Page { body, read_bytes: each * shown.len() }
    }
}

/// Sends the same queries to the simulation's model and to partitions. The answers and the charged units
/// must agree.
pub fn assert_agrees_with_the_model() {
    let author = UserId(7);
    let followers: Vec<UserId> =
        (1..300u64).map(|n| UserId(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    for (pk, partition) in partitions(author, &followers) {
        let mut cloud = Cloud::default();
        for place in 0..partition.followers.len() {
            let Value::Object(item) = partition.item(place) else { continue };
            cloud.put(GRAPH, item);
        }
        for limit in [1, 7, 100, 1_000] {
            let mut start = Value::Null;
            loop {
                let mut request = json!({
                    "TableName": GRAPH, "Limit": limit, "ConsistentRead": true,
                    "KeyConditionExpression": "pk = :pk", "ProjectionExpression": "sk",
                    "ExpressionAttributeValues": {":pk": {"S": pk}},
                });
                if !start.is_null() {
                    request["ExclusiveStartKey"] = start;
                }
                let page = partition.page(&request);
                let ours: Value = serde_json::from_slice(&page.body).expect("JSON");
                let mut units = Units::default();
                units.read(page.read_bytes, &request["ConsistentRead"]);
                cloud.units = Units::default();
                let (_, theirs) = cloud.call("DynamoDB_20120810.Query", &request);
                assert_eq!((&ours, units), (&theirs, cloud.units), "{request}");
                start = ours["LastEvaluatedKey"].clone();
                if start.is_null() {
                    break;
                }
            }
        }
    }
}
