//! A partition with a great many followers, as DynamoDB would answer queries of it. Held as numbers:
//! a million items of JSON would take gigabytes.

use std::collections::HashMap;
use std::io::Write as _;

use fanfold_core::UserId;
use fanfold_core::fanout::{shard_of, shards};
use fanfold_core::limits::BUCKETS_DEFAULT;
use serde_json::{Value, json};

use super::GRAPH;
use crate::simulation::cloud::Cloud;
use crate::simulation::units::{PAGE_BYTES_MAX, Units, bytes};

/// The followers in one of an author's partitions, in the order of their sort key.
pub struct Partition {
    pk: String,
    followers: Vec<(u16, UserId)>,
}

pub struct Page {
    pub body: Vec<u8>,
    pub read_bytes: usize,
}

/// Spread over partitions as if they had come one after the other.
pub fn partitions(author: UserId, followers: &[UserId]) -> HashMap<String, Partition> {
    let mut split = vec![Vec::new(); usize::from(shards(followers.len() as u64))];
    for (earlier, follower) in followers.iter().enumerate() {
        let shard = usize::from(shard_of(*follower, shards(earlier as u64)));
        split[shard].push((follower.bucket(BUCKETS_DEFAULT), *follower));
    }
    let partition = |(shard, mut followers): (usize, Vec<(u16, UserId)>)| {
        followers.sort_unstable();
        let pk = format!("followers#{author}#{shard}");
        (pk.clone(), Partition { pk, followers })
    };
    split.into_iter().enumerate().map(partition).collect()
}

fn sk(bucket: u16, follower: UserId) -> String {
    format!("{bucket:04x}{follower}")
}

impl Partition {
    fn item(&self, place: usize) -> Value {
        let (bucket, follower) = self.followers[place];
        json!({"pk": {"S": self.pk}, "sk": {"S": sk(bucket, follower)}, "v": {"N": "1"}})
    }

    /// What a query of the sort keys answers: what stands after the start, as far as limit and
    /// megabyte allow.
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

/// Asks the model and a crowd the same; what they answer and charge must agree.
pub fn agrees_with_the_model() {
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
