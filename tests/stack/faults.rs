//! The deployed stack under load over HTTP, while its functions are killed, its Valkey loses data,
//! hangs and restarts, and its queues deliver late and twice. Afterwards every post that was
//! answered with 201 is in every live feed that it belongs in, exactly once.
//!
//! Half a minute in `cargo local test`, three with `--faults` (`FANFOLD_FAULTS_S`).

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::client::Client;
use crate::harness::dice::{Dice, fresh};
use crate::harness::valkeys::Node;
use crate::harness::{aws, output, setting};

const AUTHORS: usize = 3;
pub const READERS: usize = 12;
const QUEUES: [&str; 6] =
    ["PostEvents", "BulkEvents", "Chunks", "BulkChunks", "GraphEvents", "Rebuilds"];

pub struct People {
    pub authors: Vec<Client>,
    pub readers: Vec<Client>,
}

pub async fn people() -> People {
    let mut people = People { authors: Vec::new(), readers: Vec::new() };
    for _ in 0..AUTHORS {
        people.authors.push(Client::new().await);
    }
    for _ in 0..READERS {
        let reader = Client::new().await;
        for author in &people.authors {
            let followed = reader.put(&format!("/v1/users/{}/follow", author.id)).await;
            assert_eq!(followed.status, 204);
        }
        reader.get("/v1/timeline").await;
        people.readers.push(reader);
    }
    people
}

impl People {
    /// How many posts are missing in feeds, how many are there twice, and how many feeds are live.
    pub async fn find(&self, answered: &BTreeSet<String>) -> (usize, usize, usize) {
        let (mut lost, mut doubled, mut live) = (0, 0, 0);
        for reader in &self.readers {
            // whoever was not there when all was lost returns now; the second reading is of the live feed
            reader.get("/v1/timeline?limit=1").await;
            let (shown, cached) = whole_feed(reader).await;
            live += usize::from(cached);
            let distinct: BTreeSet<&String> = shown.iter().collect();
            doubled += shown.len() - distinct.len();
            lost += answered.iter().filter(|post| !distinct.contains(post)).count();
        }
        (lost, doubled, live)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_post_that_was_answered_for_is_in_every_feed_once() {
    let seconds = std::env::var("FANFOLD_FAULTS_S").map_or(25, |s| s.parse().expect("seconds"));
    let (people, dead_before) = (people().await, dead_letters().await);
    let (posts, over) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
    let mut disturbed = Disturbed { dice: Dice(fresh()), faults: BTreeMap::new(), valkey: None };
    let start = Instant::now();
    let load = async {
        while start.elapsed() < Duration::from_secs(seconds) {
            let writers = people.authors.iter().map(|author| write(author, &posts));
            let readers =
                people.readers.iter().take(3).map(|reader| reader.try_get("/v1/timeline"));
            futures::join!(futures::future::join_all(writers), futures::future::join_all(readers));
        }
        over.store(true, Ordering::SeqCst);
    };
    let disturbances = async {
        while !over.load(Ordering::SeqCst) {
            disturbed.once(&posts).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        disturbed.calm().await;
    };
    futures::join!(load, disturbances);
    at_rest(dead_before).await;

    let answered = posts.into_inner().expect("posts");
    let (lost, doubled, live) = people.find(&answered).await;
    let faults: u64 = disturbed.faults.values().sum();
    println!(
        "{} posts answered with 201, {} deliveries, {faults} faults {:?}, lost ({lost}), doubled ({doubled})",
        answered.len(),
        answered.len() * READERS,
        disturbed.faults,
    );
    assert_eq!((lost, doubled, live), (0, 0, READERS));
    assert!(answered.len() > 20 && faults > 5, "too little happened for that to mean anything");
}

/// Publishes with a key, again and again until it is answered for, as a good client does.
pub async fn write(author: &Client, posts: &Mutex<BTreeSet<String>>) {
    let key = format!("{:x}", fresh());
    for _ in 0..3 {
        let text = json!({"text": "under load"});
        let headers = [("Idempotency-Key", key.as_str())];
        if let Some(answer) = author.try_post("/v1/posts", &headers, text).await
            && answer.status == 201
        {
            posts.lock().expect("posts").insert(answer.text("/id"));
            return;
        }
    }
}

/// All posts of a home feed, and whether its first page came from the live feed.
async fn whole_feed(reader: &Client) -> (Vec<String>, bool) {
    let (mut shown, mut cached, mut path) = (Vec::new(), None, "/v1/timeline?limit=100".to_owned());
    loop {
        let page = reader.get(&path).await;
        cached.get_or_insert(page.text("/source") == "cache");
        shown.extend(page.ids());
        match page.body["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/timeline?limit=100&cursor={cursor}"),
            None => return (shown, cached == Some(true)),
        }
    }
}

/// Waits until no message is left, and none became a dead letter.
pub async fn at_rest(dead_before: u64) {
    let start = Instant::now();
    let mut quiet = 0;
    while quiet < 5 {
        let mut left = 0;
        for queue in QUEUES {
            left += length(&format!("{queue}QueueUrl")).await;
        }
        assert_eq!(dead_letters().await, dead_before, "an outage must leave no dead letters");
        quiet = if left == 0 { quiet + 1 } else { 0 };
        assert!(start.elapsed().as_secs() < 240, "{left} messages are left");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

pub async fn dead_letters() -> u64 {
    let mut dead = 0;
    for queue in QUEUES {
        dead += length(&format!("{queue}DeadQueueUrl")).await;
    }
    dead
}

async fn length(url: &str) -> u64 {
    let all = json!({"QueueUrl": output(url), "AttributeNames": ["All"]});
    let all = aws("AmazonSQS.GetQueueAttributes", "1.0", &all).await;
    ["", "NotVisible", "Delayed"]
        .iter()
        .map(|state| format!("ApproximateNumberOfMessages{state}"))
        .filter_map(|name| all["Attributes"][&name].as_str()?.parse::<u64>().ok())
        .sum()
}

struct Disturbed {
    dice: Dice,
    faults: BTreeMap<&'static str, u64>,
    /// The server that took the place of the system's own.
    valkey: Option<Node>,
}

impl Disturbed {
    async fn once(&mut self, posts: &Mutex<BTreeSet<String>>) {
        let fault = match self.dice.below(16) {
            0 => {
                kill_functions();
                "functions killed"
            }
            1 | 2 => valkey(&["FLUSHALL"], "all data lost").await,
            3 | 4 => valkey(&["SCRIPT", "FLUSH"], "scripts lost").await,
            5 | 6 => valkey(&["CLIENT", "KILL", "TYPE", "normal"], "connections cut").await,
            7 => valkey(&["CLIENT", "PAUSE", "1500", "ALL"], "Valkey hangs").await,
            8 | 9 => {
                self.restart_valkey().await;
                "Valkey restarted"
            }
            10 | 11 => {
                deliveries(false).await;
                tokio::time::sleep(Duration::from_millis(1_500)).await;
                deliveries(true).await;
                "deliveries held back"
            }
            _ => {
                let known: Vec<String> = posts.lock().expect("posts").iter().cloned().collect();
                if known.is_empty() {
                    return;
                }
                for _ in 0..5 {
                    let post: &String = self.dice.pick(&known);
                    again(post).await;
                }
                "events doubled"
            }
        };
        *self.faults.entry(fault).or_default() += 1;
    }

    /// All data is lost, and every connection.
    async fn restart_valkey(&mut self) {
        let url = setting("REDIS_URL");
        let port: u16 = url.rsplit(':').next().and_then(|p| p.parse().ok()).expect("a port");
        match self.valkey.take() {
            Some(node) => drop(node),
            None => _ = valkey(&["SHUTDOWN", "NOSAVE"], "").await,
        }
        tokio::time::sleep(Duration::from_millis(700)).await;
        let user = setting("FANFOLD_VALKEY_USER");
        let options: Vec<&str> = ["--user"].into_iter().chain(user.split(' ')).collect();
        self.valkey = Some(Node::start_at(port, &options));
    }

    async fn calm(&mut self) {
        deliveries(true).await;
    }
}

async fn valkey(words: &[&str], name: &'static str) -> &'static str {
    let client = redis::Client::open(setting("REDIS_URL")).expect("a client");
    if let Ok(mut connection) = client.get_multiplexed_async_connection().await {
        let mut command = redis::cmd(words[0]);
        for word in &words[1..] {
            command.arg(word);
        }
        // it may be this very connection that is cut
        let _said: Result<redis::Value, _> = command.query_async(&mut connection).await;
    }
    name
}

/// The functions' processes are those named bootstrap that were given this cloud's address.
fn kill_functions() {
    let script = r#"
        for process in /proc/[0-9]*; do
            [ "$(cat "$process/comm" 2>/dev/null)" = bootstrap ] || continue
            tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx "AWS_ENDPOINT_URL=$1" || continue
            kill -KILL "${process#/proc/}"
        done"#;
    let mut kill = Command::new("bash");
    kill.args(["-c", script, "kill-functions", &setting("AWS_ENDPOINT_URL")]);
    assert!(kill.status().expect("bash").code().is_some());
}

/// Stops and starts what brings messages to the functions.
async fn deliveries(on: bool) {
    let base = format!("{}/2015-03-31/event-source-mappings/", setting("AWS_ENDPOINT_URL"));
    let http = reqwest::Client::new();
    let all: Value = http.get(&base).send().await.expect("Lambda").json().await.expect("JSON");
    for mapping in all["EventSourceMappings"].as_array().expect("mappings") {
        let url = format!("{base}{}", mapping["UUID"].as_str().expect("an id"));
        let body = json!({"Enabled": on}).to_string();
        let set = http.put(url).body(body).send().await.expect("Lambda");
        assert!(set.status().is_success(), "{set:?}");
    }
}

/// The event of a post comes once more.
async fn again(post: &str) {
    let body = json!({"type": "PostPublished", "v": 1, "post": post}).to_string();
    let event = json!({"QueueUrl": output("PostEventsQueueUrl"), "MessageBody": body});
    aws("AmazonSQS.SendMessage", "1.0", &event).await;
}
