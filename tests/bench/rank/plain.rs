//! The other ways: plain sorted sets, and the steps of the scripts as single commands.

use fanfold_core::board::{Order, Orders};
use fanfold_core::{MemberName, Scores};
use redis::Pipeline;

use super::{Change, Changes, PAGE, first_score, name};
use crate::server::Server;

const PLAIN: &str = "plain";
const PACKED: &str = "packed";
pub const MEMBERS: &str = "steps:{1}:members";
pub const SCORES: &str = "steps:{1}:scores";

type Some = std::iter::Take<Changes>;

pub fn orders() -> Orders {
    vec![Order::Descending].try_into().expect("orders")
}

/// The encoded scores of a member, and its member of the sorted set.
pub fn encoded(member: u64, score: i64) -> (Vec<u8>, Vec<u8>) {
    let (orders, scores) = (orders(), Scores::new(&[score]).expect("scores"));
    let name: MemberName = name(member).parse().expect("a name");
    let scores_bytes = orders.encode(&scores).expect("scores");
    (scores_bytes, orders.member(&scores, &name).expect("scores"))
}

fn two_in_one(score: i64) -> f64 {
    (score / 1_000) as f64 * f64::from(1 << 26) + (score % 1_000) as f64
}

pub fn load(server: &mut Server, members: u64) {
    server.send((0..members).flat_map(|member| {
        let (score, own) = (first_score(member), name(member));
        let (scores, bytes) = encoded(member, score);
        [
            redis::cmd("ZADD").arg(PLAIN).arg(score).arg(&own).to_owned(),
            redis::cmd("ZADD").arg(PACKED).arg(two_in_one(score)).arg(&own).to_owned(),
            redis::cmd("ZADD").arg(MEMBERS).arg(0).arg(bytes).to_owned(),
            redis::cmd("HSET").arg(SCORES).arg(&own).arg(value(1, &scores)).to_owned(),
        ]
    }));
}

/// The value of a member in the hash: a revision and the encoded scores.
pub fn value(revision: u64, scores: &[u8]) -> Vec<u8> {
    [&revision.to_be_bytes()[..], scores].concat()
}

pub fn set(server: &mut Server, changes: Some) {
    for Change { member, score } in changes {
        let (mut both, own) = (Pipeline::new(), name(member));
        both.cmd("ZADD").arg(PLAIN).arg(score).arg(&own).cmd("ZREVRANK").arg(PLAIN).arg(&own);
        let (_added, _rank): (u64, u64) = server.pipe(&both);
    }
}

pub fn add(server: &mut Server, changes: Some) {
    for Change { member, score } in changes {
        let (mut both, own) = (Pipeline::new(), name(member));
        let by = score % 1_000 - 500;
        both.cmd("ZINCRBY").arg(PLAIN).arg(by).arg(&own).cmd("ZREVRANK").arg(PLAIN).arg(&own);
        let (_score, _rank): (f64, u64) = server.pipe(&both);
    }
}

pub fn packed(server: &mut Server, changes: Some) {
    for Change { member, score } in changes {
        let (mut both, own) = (Pipeline::new(), name(member));
        both.cmd("ZADD").arg(PACKED).arg(two_in_one(score)).arg(&own);
        both.cmd("ZREVRANK").arg(PACKED).arg(&own);
        let (_added, _rank): (u64, u64) = server.pipe(&both);
    }
}

/// The commands that our script runs for a change of a member.
pub fn add_steps(steps: &mut Pipeline, (member, score): (u64, i64), known: &[u8]) {
    let (own, (scores, bytes)) = (name(member), encoded(member, score));
    let old = [known.get(8..).expect("a value"), own.as_bytes()].concat();
    steps.cmd("ZREM").arg(MEMBERS).arg(old).cmd("ZADD").arg(MEMBERS).arg(0).arg(bytes);
    steps.cmd("HSET").arg(SCORES).arg(&own).arg(value(2, &scores));
    let below = [b"(", &scores[..]].concat();
    steps.cmd("ZLEXCOUNT").arg(MEMBERS).arg("-").arg(below).cmd("ZCARD").arg(MEMBERS);
}

pub fn steps(server: &mut Server, changes: Some) {
    for Change { member, score } in changes {
        let known: Vec<u8> = server.query(redis::cmd("HGET").arg(SCORES).arg(name(member)));
        let mut steps = Pipeline::new();
        add_steps(&mut steps, (member, score), &known);
        let _answers: Vec<u64> = server.pipe(&steps);
    }
}

pub fn rank(server: &mut Server, changes: Some) {
    for Change { member, .. } in changes {
        let (mut both, own) = (Pipeline::new(), name(member));
        both.cmd("ZSCORE").arg(PLAIN).arg(&own).cmd("ZREVRANK").arg(PLAIN).arg(&own);
        let (_score, _rank): (f64, u64) = server.pipe(&both);
    }
}

pub fn page(server: &mut Server, changes: Some) {
    for Change { member, .. } in changes {
        let mut range = redis::cmd("ZREVRANGE");
        range.arg(PLAIN).arg(member).arg(member + PAGE - 1).arg("WITHSCORES");
        let _members: Vec<(String, f64)> = server.query(&range);
    }
}
