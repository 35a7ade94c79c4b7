//! The check for operators says what holds, and what follows where something does not.

use std::collections::BTreeMap;
use std::sync::Arc;

use fanfold_admin::handler::obey;
use fanfold_admin::order::Order;
use fanfold_store::Config;
use fanfold_store::clock::Deadline;
use fanfold_store::valkey::{Answers, Link, Valkey};
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Cmd, RedisFuture, Value};

use crate::harness::valkeys::{Cluster, Node};
use crate::harness::world::World;

/// The state of each assumption, by some words of it, and what was found.
pub async fn examine(world: &World, config: &Config) -> BTreeMap<String, (String, String)> {
    let admin = fanfold_admin::App::new(&world.sdk, config).expect("an app");
    let found = obey(&admin, Order::Doctor, world.now(), Deadline::NONE).await.expect("obeyed");
    let checks = found["checks"].as_array().expect("checks").iter();
    let text = |check: &serde_json::Value, name: &str| check[name].as_str().expect(name).to_owned();
    checks
        .map(|check| {
            let state = text(check, "state");
            let follows = check["follows"].as_str().is_some_and(|follows| follows.len() > 30);
            assert_eq!(follows, state == "does-not-hold", "{check}");
            (text(check, "assumption"), (state, text(check, "found")))
        })
        .collect()
}

/// Which assumptions do not hold; and that all others do, or are unknown for want of IAM.
fn broken(checks: &BTreeMap<String, (String, String)>) -> Vec<&str> {
    let all = checks.iter();
    let broken = all.filter(|(_, (state, _))| state == "does-not-hold");
    broken.map(|(assumption, _)| assumption.as_str()).collect()
}

const ANSWERS: &str = "Valkey answers";
const COMMANDS: &str = "Valkey lets the functions run every command that they use";
const WRITES: &str = "Valkey takes writes";
const ARGUMENTS: &str = "Valkey takes the longest call of a script";
const SCRIPTS: &str = "Valkey says when it does not know a script, and then takes its text";
const ROLE: &str = "a script learns the server's role and replication id";
const EVICTION: &str = "a full Valkey evicts nothing that a rule relies on";
pub const IAM: &str = "the functions log in to Valkey with IAM, and again on an open connection";
const CLOCKS: &str = "the clocks of the functions and of AWS agree";
const SQS: &str = "SQS takes a message and gives it back";
const TABLES: &str = "DynamoDB answers for each table";
const TRANSACTIONS: &str = "DynamoDB writes transactions, and says which condition failed";

#[tokio::test]
async fn on_a_sound_system_everything_holds_and_nothing_is_left() {
    let node = Node::start(&["--maxmemory-policy", "volatile-lru"]);
    let world = World::with(&[("REDIS_URL", &node.url())]).await;
    for _ in 0..2 {
        let checks = examine(&world, &world.config).await;
        let unknown: Vec<_> = checks.iter().filter(|(_, (state, _))| state != "holds").collect();
        assert_eq!(unknown.len(), 1, "{unknown:?}");
        assert_eq!((checks.len(), checks[IAM].0.as_str()), (12, "unknown"));
    }
    assert_eq!(node.cli(&["DBSIZE"]).trim(), "0");
    let dynamo = aws_sdk_dynamodb::Client::new(&world.sdk);
    for table in ["USERS_TABLE", "POSTS_TABLE", "GRAPH_TABLE"] {
        let table = world.config.text(table).unwrap();
        assert_eq!(dynamo.scan().table_name(table).send().await.unwrap().count(), 0);
    }
}

#[tokio::test]
async fn what_is_wrong_with_valkey_is_reported_and_nothing_else() {
    let node = Node::start(&[]);
    node.cli(&["ACL", "SETUSER", "default", "on", "nopass", "~*", "&*", "+@all"]);
    let user = |rights: &[&str]| {
        node.cli(&["ACL", "DELUSER", "feeds"]);
        node.cli(&[&["ACL", "SETUSER", "feeds", "on", ">pass", "+@all"], rights].concat());
    };
    let all =
        ["home", "author", "live", "memory", "rel", "rels", "lock"].map(|k| format!("~{k}:*"));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    user(&all);
    let world = World::with(&[("REDIS_URL", &node.url().replace("//", "//feeds:pass@"))]).await;
    let examine = async || examine(&world, &world.config).await;
    assert_eq!(broken(&examine().await), [""; 0]);

    node.cli(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let checks = examine().await;
    assert_eq!((broken(&checks), checks[EVICTION].1.as_str()), (vec![EVICTION], "allkeys-lru"));
    node.cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);

    user(&[&all[..], &["-info"]].concat());
    let checks = examine().await;
    assert_eq!(broken(&checks), [ROLE]);
    assert_eq!(checks[EVICTION].0, "unknown");

    for rights in [[&all[..], &["-zadd"]].concat(), all[..6].to_vec()] {
        user(&rights);
        let checks = examine().await;
        assert_eq!(broken(&checks), [COMMANDS], "{rights:?}");
    }
    user(&all);

    // a right that everything needs is one right, and no other assumption is blamed for it
    user(&[&all[..], &["-get"]].concat());
    assert_eq!(broken(&examine().await), [COMMANDS]);
    user(&[&all[..], &["-eval", "-evalsha"]].concat());
    let checks = examine().await;
    assert_eq!(broken(&checks), [COMMANDS], "{checks:?}");
    user(&all);

    let primary = Node::start(&[]);
    node.cli(&["REPLICAOF", "127.0.0.1", &primary.port.to_string()]);
    node.wait_for("master_link_status:up", &["INFO", "replication"]);
    let checks = examine().await;
    assert_eq!(broken(&checks), [WRITES, ROLE], "{checks:?}");
    assert!(
        checks[ROLE].1.contains("replica") && checks[WRITES].1.contains("replica"),
        "{checks:?}"
    );
    node.cli(&["REPLICAOF", "NO", "ONE"]);

    node.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let checks = examine().await;
    assert_eq!(broken(&checks), [WRITES], "{checks:?}");
    assert!(checks[WRITES].1.contains("full"), "{checks:?}");
    node.cli(&["CONFIG", "SET", "maxmemory", "0"]);

    // it hangs: every check ends, and those that would wait for the same answer do not
    node.signal("STOP");
    let checks = examine().await;
    assert_eq!((broken(&checks), checks[COMMANDS].0.as_str()), (vec![ANSWERS], "unknown"));
    node.signal("CONT");
    drop(node);
    assert_eq!(broken(&examine().await), [ANSWERS]);
}

#[tokio::test]
async fn what_is_wrong_with_tables_queues_and_logins_is_reported_and_nothing_else() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url())]).await;
    let with = async |name: &str, value: &str| {
        let checks = examine(&world, &world.config_but(name, value)).await;
        broken(&checks).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(with("POSTS_TABLE", "no-such-table").await, [TABLES]);
    assert_eq!(with("GRAPH_TABLE", "no-such-table").await, [TABLES, TRANSACTIONS]);
    let queue = world.config.text("DOCTOR_QUEUE_URL").unwrap();
    assert_eq!(with("DOCTOR_QUEUE_URL", &format!("{queue}-away")).await, [SQS]);
    assert_eq!(with("REDIS_URL", "redis://127.0.0.1:1").await, [ANSWERS]);
    // a message is taken and does not arrive
    let sqs = aws_sdk_sqs::Client::new(&world.sdk);
    let delay = aws_sdk_sqs::types::QueueAttributeName::DelaySeconds;
    sqs.set_queue_attributes().queue_url(&queue).attributes(delay, "600").send().await.unwrap();
    let checks = examine(&world, &world.config).await;
    assert_eq!((broken(&checks), checks[CLOCKS].0.as_str()), (vec![SQS], "unknown"));
}

/// Every shard is asked: what is wrong with one of three is found.
#[tokio::test]
async fn what_is_wrong_with_one_shard_of_a_cluster_is_reported() {
    let mut cluster = Cluster::start();
    let world = World::with(&[("REDIS_URL", &cluster.url())]).await;
    let examine = async || examine(&world, &world.config).await;
    assert_eq!(broken(&examine().await), [""; 0]);
    let key = world.timeline.feeds.valkey.keys().of_nobody("memory", 200);
    let (primary, replica) = cluster.of_key(&key);
    cluster.node(primary).cli(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    assert_eq!(broken(&examine().await), [EVICTION]);
    cluster.node(primary).cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    cluster.kill(replica);
    cluster.kill(primary);
    let checks = examine().await;
    assert!(broken(&checks).contains(&ANSWERS), "{checks:?}");
    assert_ne!(checks[COMMANDS].1, "Valkey does not answer", "two shards do: {checks:?}");
}

/// A server that takes fewer arguments than a script may need, or that does not say which script it lacks.
struct Odd {
    connection: MultiplexedConnection,
    arguments_max: usize,
    unknown: &'static str,
}

impl Answers for Odd {
    fn answer<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            if command.args_iter().count() > self.arguments_max {
                return redis::parse_redis_value(b"-ERR too many arguments\r\n")?.extract_error();
            }
            let answer = self.connection.clone().req_packed_command(command).await;
            let answer = answer.and_then(Value::extract_error);
            match answer {
                Err(error) if error.code() == Some("NOSCRIPT") => {
                    redis::parse_redis_value(self.unknown.as_bytes())?.extract_error()
                }
                answer => answer,
            }
        })
    }
}

#[tokio::test]
async fn a_server_with_other_limits_or_answers_is_reported() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url())]).await;
    let client = redis::Client::open(node.url()).unwrap();
    let settings = world.config.feeds().unwrap();
    let known = "-NOSCRIPT No matching script.\r\n";
    for (arguments_max, unknown, expected) in
        [(5_000, known, ""), (3_998, known, ARGUMENTS), (5_000, "-ERR no such script\r\n", SCRIPTS)]
    {
        let connection = client.get_multiplexed_async_connection().await.unwrap();
        let mut admin = world.admin.clone();
        let odd = Arc::new(Odd { connection, arguments_max, unknown });
        // what is loaded already is known to the server
        admin.feeds.valkey = Valkey::over(Link::given(odd), &settings);
        let found = obey(&admin, Order::Doctor, world.now(), Deadline::NONE).await.unwrap();
        let checks = found["checks"].as_array().unwrap().iter();
        let broken = checks.filter(|check| check["state"] == "does-not-hold");
        let broken: Vec<&str> = broken.map(|check| check["assumption"].as_str().unwrap()).collect();
        match expected {
            "" => assert!(broken.is_empty(), "{broken:?}"),
            expected => assert!(broken.contains(&expected), "{broken:?}"),
        }
    }
}
