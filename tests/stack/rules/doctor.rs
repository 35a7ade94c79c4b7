//! The doctor, a check for operators: which assumptions hold, and the consequences of those that do not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fanfold_core::Bucket;
use fanfold_core::kinds::KeyKind;
use fanfold_engines::valkey::{Answers, FeedSettings, Link, Valkey};
use fanfold_functions::admin::order::AdminOrder;
use fanfold_functions::admin::{self, execute};
use fanfold_runtime::Config;
use fanfold_runtime::clock::Deadline;
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Cmd, RedisFuture, Value};

use crate::harness::valkeys::{Cluster, Node};
use crate::harness::world::World;

/// Runs the doctor. Returns for each assumption its state and what was found.
pub async fn examine(world: &World, config: &Config) -> BTreeMap<String, (String, String)> {
    let admin = admin::Admin::new(&world.sdk, config).expect("an app");
    let found =
        execute(&admin, AdminOrder::Doctor, world.now(), Deadline::NONE).await.expect("executed");
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

/// The assumptions that do not hold.
fn broken(checks: &BTreeMap<String, (String, String)>) -> Vec<&str> {
    let all = checks.iter();
    let broken = all.filter(|(_, (state, _))| state == "does-not-hold");
    broken.map(|(assumption, _)| assumption.as_str()).collect()
}

const ANSWERS: &str = "Valkey answers";
const COMMANDS: &str = "Valkey lets the functions run every command that they use";
const WRITES: &str = "Valkey accepts writes";
const ARGUMENTS: &str = "Valkey accepts the longest call of a script";
const SCRIPTS: &str = "Valkey reports an unknown script, and then accepts its text";
const ROLE: &str = "a script can read the server's role and replication id";
const EVICTION: &str = "a full Valkey evicts nothing that a rule relies on";
pub const IAM: &str = "the functions log in to Valkey with IAM, and again on an open connection";
const CLOCKS: &str = "the clocks of the functions and of AWS agree";
const SQS: &str = "SQS accepts a message and returns it";
const TABLES: &str = "DynamoDB answers for each table";
const TRANSACTIONS: &str = "DynamoDB writes transactions, and names the condition that failed";

#[tokio::test]
async fn on_a_healthy_system_all_checks_hold_and_nothing_is_left() {
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
async fn only_the_broken_part_of_valkey_is_reported() {
    let node = Node::start(&[]);
    node.cli(&["ACL", "SETUSER", "default", "on", "nopass", "~*", "&*", "+@all"]);
    let user = |rights: &[&str]| {
        node.cli(&["ACL", "DELUSER", "feeds"]);
        node.cli(&[&["ACL", "SETUSER", "feeds", "on", ">pass", "+@all"], rights].concat());
    };
    let all: Vec<String> = KeyKind::all().map(|kind| format!("~{}:*", kind.name())).collect();
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

    let without_due = all.iter().copied().filter(|pattern| *pattern != "~due:*").collect();
    for rights in [[&all[..], &["-zadd"]].concat(), without_due] {
        user(&rights);
        let checks = examine().await;
        assert_eq!(broken(&checks), [COMMANDS], "{rights:?}");
    }
    user(&all);

    // a missing right that every check needs is reported once, not for the other assumptions
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

    // the server hangs: every check ends, and checks that need the same answer do not wait for it again
    node.signal("STOP");
    let checks = examine().await;
    assert_eq!((broken(&checks), checks[COMMANDS].0.as_str()), (vec![ANSWERS], "unknown"));
    node.signal("CONT");
    drop(node);
    assert_eq!(broken(&examine().await), [ANSWERS]);
}

#[tokio::test]
async fn only_the_broken_table_queue_or_address_is_reported() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url())]).await;
    let with = async |name: &str, value: &str| {
        let checks = examine(&world, &world.config_with_one(name, value)).await;
        broken(&checks).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(with("POSTS_TABLE", "no-such-table").await, [TABLES]);
    assert_eq!(with("GRAPH_TABLE", "no-such-table").await, [TABLES, TRANSACTIONS]);
    let queue = world.config.text("DOCTOR_QUEUE_URL").unwrap();
    assert_eq!(with("DOCTOR_QUEUE_URL", &format!("{queue}-away")).await, [SQS]);
    assert_eq!(with("REDIS_URL", "redis://127.0.0.1:1").await, [ANSWERS]);
    // a message is accepted but does not arrive
    let sqs = aws_sdk_sqs::Client::new(&world.sdk);
    let delay = aws_sdk_sqs::types::QueueAttributeName::DelaySeconds;
    sqs.set_queue_attributes().queue_url(&queue).attributes(delay, "600").send().await.unwrap();
    let checks = examine(&world, &world.config).await;
    assert_eq!((broken(&checks), checks[CLOCKS].0.as_str()), (vec![SQS], "unknown"));
}

/// The doctor asks every shard, so it finds an error of one of three.
#[tokio::test]
async fn an_error_of_one_shard_of_a_cluster_is_reported() {
    let mut cluster = Cluster::start();
    let world = World::with(&[("REDIS_URL", &cluster.url())]).await;
    let examine = async || examine(&world, &world.config).await;
    assert_eq!(broken(&examine().await), [""; 0]);
    let key = world.app.valkey.keys().probe(KeyKind::Memory, Bucket(200));
    let (primary, replica) = cluster.of_key(&key);
    cluster.node(primary).cli(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    assert_eq!(broken(&examine().await), [EVICTION]);
    cluster.node(primary).cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    cluster.kill(replica);
    cluster.kill(primary);
    // For the first seconds, the client waits for the lost shard on behalf of all shards.
    let killed = Instant::now();
    loop {
        let checks = examine().await;
        assert!(broken(&checks).contains(&ANSWERS), "{checks:?}");
        if checks[COMMANDS].1 != "Valkey does not answer" {
            break;
        }
        assert!(
            killed.elapsed() < Duration::from_secs(30),
            "the checks of the other two shards do not run: {checks:?}"
        );
    }
}

/// A server that accepts fewer arguments than a script may need, or that answers an unknown script in another way.
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
    let settings = FeedSettings::read(&world.config).unwrap();
    let known = "-NOSCRIPT No matching script.\r\n";
    for (arguments_max, unknown, expected) in
        [(5_000, known, ""), (3_998, known, ARGUMENTS), (5_000, "-ERR no such script\r\n", SCRIPTS)]
    {
        let connection = client.get_multiplexed_async_connection().await.unwrap();
        let mut admin = world.admin.clone();
        let odd = Arc::new(Odd { connection, arguments_max, unknown });
        // the server already knows the loaded scripts
        admin.app.valkey = Valkey::over(Link::given(odd), &settings);
        let found = execute(&admin, AdminOrder::Doctor, world.now(), Deadline::NONE).await.unwrap();
        let checks = found["checks"].as_array().unwrap().iter();
        let broken = checks.filter(|check| check["state"] == "does-not-hold");
        let broken: Vec<&str> = broken.map(|check| check["assumption"].as_str().unwrap()).collect();
        match expected {
            "" => assert!(broken.is_empty(), "{broken:?}"),
            expected => assert!(broken.contains(&expected), "{broken:?}"),
        }
    }
}
