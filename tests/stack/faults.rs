//! The deployed stack under load over HTTP. Meanwhile functions are killed, Valkey loses data, hangs and restarts,
//! and queues deliver late and twice. Seconds after the last fault, every post that was answered with 201 is in
//! every live feed that it belongs in, exactly once; no feed shows a deleted post, or an older name of an author than
//! the last that was answered with 200. If a function was killed, the time starts when its messages are visible again.
//!
//! The load runs for half a minute in `cargo local test --all`, and for three minutes with `--faults`
//! (`FANFOLD_FAULTS_S`).

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fanfold_core::registry::QUEUES;
use fanfold_core::{PostId, UserId};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::Client;
use crate::harness::dice::{Dice, fresh};
use crate::harness::valkeys::Node;
use crate::harness::{aws, eventually, output, setting};

/// The time for which Valkey hangs.
const PAUSE: Duration = Duration::from_millis(1_500);
/// `QueueVisibility` of the tested stack; see `PARAMETERS` in `infra/local/src/test/deployed.rs`.
const VISIBILITY: Duration = Duration::from_secs(40);
/// How often each author posts. A post becomes six chunks here, and the local cloud delivers some 50 chunks per second
/// between the faults. With more, the test would measure how long a backlog takes.
const POST_EVERY: Duration = Duration::from_millis(750);
const AUTHORS: usize = 3;
pub const READERS: usize = 12;

/// What was acknowledged.
#[derive(Debug, Default, Clone)]
pub struct Acknowledged {
    /// Posts that every feed must have.
    pub posts: BTreeSet<String>,
    /// Posts that no feed may have. A post whose deletion was not answered is in neither set.
    deleted: BTreeSet<String>,
    /// The number in the name of each author.
    names: BTreeMap<String, u64>,
}

/// What feeds show that differs from what was acknowledged, and the number of live feeds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub lost: usize,
    pub doubled: usize,
    pub deleted: usize,
    pub old_names: usize,
    pub live: usize,
}

impl Found {
    /// All feeds are live and correct.
    pub const CORRECT: Self = Self { lost: 0, doubled: 0, deleted: 0, old_names: 0, live: READERS };

    fn is_correct(&self) -> bool {
        Self { live: READERS, ..*self } == Self::CORRECT
    }
}

/// A post as a feed shows it.
struct Seen {
    post: String,
    author: String,
    name: String,
}

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
    pub async fn find(&self, acknowledged: &Acknowledged) -> Found {
        let mut found = Found::default();
        for reader in &self.readers {
            // the first read rebuilds a lost feed, the second one reads the live feed
            reader.get("/v1/timeline?limit=1").await;
            let (shown, cached) = whole_feed(reader).await;
            found.live += usize::from(cached);
            let distinct: BTreeSet<&String> = shown.iter().map(|seen| &seen.post).collect();
            found.doubled += shown.len() - distinct.len();
            found.lost += acknowledged.posts.iter().filter(|post| !distinct.contains(post)).count();
            found.deleted +=
                distinct.iter().filter(|post| acknowledged.deleted.contains(**post)).count();
            found.old_names += shown.iter().filter(|seen| acknowledged.is_old(seen)).count();
        }
        found
    }
}

impl Acknowledged {
    fn is_old(&self, seen: &Seen) -> bool {
        let number = seen.name.rsplit(' ').next().and_then(|number| number.parse::<u64>().ok());
        self.names.get(&seen.author).is_some_and(|least| number.unwrap_or(0) < *least)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_post_is_in_every_feed_once() {
    let seconds = std::env::var("FANFOLD_FAULTS_S").map_or(25, |s| s.parse().expect("seconds"));
    let (people, dead_before) = (people().await, dead_letters().await);
    let (acknowledged, over) = (Mutex::new(Acknowledged::default()), AtomicBool::new(false));
    let seed = fresh();
    println!("faults from seed {seed}");
    let mut disturbed = Disturbed {
        dice: Dice(seed),
        faults: BTreeMap::new(),
        functions_killed: 0,
        valkey: None,
        last: Instant::now(),
        killed: None,
    };
    let start = Instant::now();
    let load = async {
        let mut due = start;
        while start.elapsed() < Duration::from_secs(seconds) {
            let readers =
                people.readers.iter().take(3).map(|reader| reader.try_get("/v1/timeline"));
            let writers = async {
                if due.elapsed() > Duration::ZERO {
                    due = Instant::now() + POST_EVERY;
                    let writes = people.authors.iter().map(|author| write(author, &acknowledged));
                    futures::future::join_all(writes).await;
                }
            };
            futures::join!(writers, futures::future::join_all(readers));
        }
        over.store(true, Ordering::SeqCst);
    };
    let changes = async {
        for number in 1.. {
            if over.load(Ordering::SeqCst) {
                return;
            }
            let author = &people.authors[number as usize % AUTHORS];
            rename(author, number, &acknowledged).await;
            if number % 2 == 0 {
                delete_oldest(author, &acknowledged).await;
            }
            tokio::time::sleep(POST_EVERY).await;
        }
    };
    let disturbances = async {
        // functions die in every run
        let mut kind = KILL_FUNCTIONS;
        while !over.load(Ordering::SeqCst) {
            disturbed.cause_fault(kind, &acknowledged).await;
            kind = disturbed.dice.below(KINDS);
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        disturbed.restore_deliveries().await;
    };
    futures::join!(load, changes, disturbances);
    // changes that certainly happen, among those that faults prevented
    for (author, number) in people.authors.iter().zip(1_000..) {
        eventually("a new name", async || {
            rename(author, number, &acknowledged).await.then_some(())
        })
        .await;
        eventually("a deletion", async || delete_oldest(author, &acknowledged).await.then_some(()))
            .await;
    }
    println!("after the load, messages wait in {:?}", waiting().await);
    // check the feeds before the queues are empty
    let all = || acknowledged.lock().expect("answers").clone();
    let healed = disturbed.wait_until_correct(&people, &all()).await;
    // repeat this with outages of Valkey alone
    at_rest(dead_before).await;
    let left = disturbed.short_outages(&people, &acknowledged).await;
    let healed_soon = disturbed.wait_until_correct_and_live(&people, &all(), left).await;
    at_rest(dead_before).await;
    // readers who unfollowed follow again, so that all feeds are compared in the same way
    for reader in &people.readers[..left] {
        let follow = format!("/v1/users/{}/follow", people.authors[0].id);
        assert_eq!(reader.put(&follow).await.status, 204);
    }
    at_rest(dead_before).await;
    let acknowledged = acknowledged.into_inner().expect("answers");
    let found = people.find(&acknowledged).await;
    let (posts, faults) = (acknowledged.posts.len(), disturbed.faults.values().sum::<u64>());
    println!(
        "{posts} posts answered with 201, {} deliveries, {} posts deleted, {faults} faults {:?}, {} functions killed, \
         {found:?}, feeds correct {:.1} s after the last fault, and {:.1} s after short outages of Valkey alone",
        posts * READERS,
        acknowledged.deleted.len(),
        disturbed.faults,
        disturbed.functions_killed,
        healed.as_secs_f64(),
        healed_soon.as_secs_f64(),
    );
    assert_eq!(found, Found::CORRECT);
    // each profile counts the posts that its feed shows
    for author in &people.authors {
        let user = format!("/v1/users/{}", author.id);
        let shown = author.walk(&format!("{user}/posts"), 100).await.len();
        assert_eq!(author.get(&user).await.body["posts"], json!(shown), "{user}");
    }
    assert!(posts > 20 && faults > 5, "too few posts or faults for a result");
    let changes = (acknowledged.deleted.len(), acknowledged.names.len());
    assert!(changes.0 >= AUTHORS && changes.1 == AUTHORS, "too few changes: {changes:?}");
    assert!(!CAN_KILL || disturbed.functions_killed > 0, "no function was killed");
}

/// Gives an author a name with this number. Returns whether it was acknowledged.
async fn rename(author: &Client, number: u64, acknowledged: &Mutex<Acknowledged>) -> bool {
    let profile = json!({"handle": author.handle, "name": format!("Name {number}")});
    let answer = author.try_send(Method::PUT, "/v1/me", &[], Some(profile)).await;
    let renamed = answer.is_some_and(|answer| answer.status == 200);
    if renamed {
        acknowledged.lock().expect("answers").names.insert(author.id.clone(), number);
    }
    renamed
}

/// Deletes the oldest post of an author. Returns whether it was acknowledged.
async fn delete_oldest(author: &Client, acknowledged: &Mutex<Acknowledged>) -> bool {
    let oldest = {
        let mut acknowledged = acknowledged.lock().expect("answers");
        let is_theirs = |post: &&String| author_of(post).to_string() == author.id;
        let Some(oldest) = acknowledged.posts.iter().find(is_theirs).cloned() else { return false };
        acknowledged.posts.remove(&oldest);
        oldest
    };
    let answer = author.try_send(Method::DELETE, &format!("/v1/posts/{oldest}"), &[], None).await;
    let deleted = answer.is_some_and(|answer| answer.status == 204);
    if deleted {
        acknowledged.lock().expect("answers").deleted.insert(oldest);
    }
    deleted
}

fn author_of(post: &str) -> UserId {
    post.parse::<PostId>().expect("a post id").author()
}

/// Publishes a post with a key. Tries three times until the answer is 201, as a good client does.
pub async fn write(author: &Client, acknowledged: &Mutex<Acknowledged>) {
    let key = format!("{:x}", fresh());
    for _ in 0..3 {
        let text = json!({"text": "under load"});
        let headers = [("Idempotency-Key", key.as_str())];
        if let Some(answer) = author.try_post("/v1/posts", &headers, text).await
            && answer.status == 201
        {
            acknowledged.lock().expect("answers").posts.insert(answer.text("/id"));
            return;
        }
    }
}

/// All posts of a home feed, and whether its first page comes from the live feed.
async fn whole_feed(reader: &Client) -> (Vec<Seen>, bool) {
    let (mut shown, mut cached, mut path) = (Vec::new(), None, "/v1/timeline?limit=100".to_owned());
    loop {
        let page = reader.get(&path).await;
        cached.get_or_insert(page.text("/source") == "cache");
        let text = |item: &Value, pointer| {
            item.pointer(pointer).and_then(Value::as_str).expect("a text").to_owned()
        };
        let items = page.body["items"].as_array().expect("items").iter();
        shown.extend(items.map(|item| Seen {
            post: text(item, "/id"),
            author: text(item, "/author/id"),
            name: text(item, "/author/name"),
        }));
        match page.body["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/timeline?limit=100&cursor={cursor}"),
            None => return (shown, cached == Some(true)),
        }
    }
}

/// Waits until no message is left. Fails if a message becomes a dead letter.
pub async fn at_rest(dead_before: u64) {
    let start = Instant::now();
    let mut quiet = 0;
    while quiet < 5 {
        let mut left = 0;
        for queue in QUEUES {
            left += length(&format!("{}QueueUrl", queue.resource)).await;
        }
        assert_eq!(dead_letters().await, dead_before, "an outage left dead letters");
        quiet = if left == 0 { quiet + 1 } else { 0 };
        assert!(start.elapsed().as_secs() < 240, "{left} messages are left");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

pub async fn dead_letters() -> u64 {
    let mut dead = 0;
    for queue in QUEUES {
        dead += length(&format!("{}DeadUrl", queue.resource)).await;
    }
    dead
}

async fn length(url: &str) -> u64 {
    lengths(url).await.iter().sum()
}

/// The numbers of messages in a queue that are visible, invisible, and delayed.
async fn lengths(url: &str) -> [u64; 3] {
    let all = json!({"QueueUrl": output(url), "AttributeNames": ["All"]});
    let all = aws("AmazonSQS.GetQueueAttributes", "1.0", &all).await;
    ["", "NotVisible", "Delayed"].map(|state| {
        let name = format!("ApproximateNumberOfMessages{state}");
        all["Attributes"][&name].as_str().and_then(|n| n.parse().ok()).unwrap_or_default()
    })
}

/// The queues that are not empty, with the numbers of their messages.
async fn waiting() -> BTreeMap<&'static str, [u64; 3]> {
    let mut waiting = BTreeMap::new();
    for queue in QUEUES {
        waiting.insert(queue.resource, lengths(&format!("{}QueueUrl", queue.resource)).await);
    }
    waiting.retain(|_, lengths| lengths.iter().sum::<u64>() > 0);
    waiting
}

struct Disturbed {
    dice: Dice,
    faults: BTreeMap<&'static str, u64>,
    /// The number of functions' processes that were killed.
    functions_killed: u64,
    /// The server that replaces the Valkey of the system.
    valkey: Option<Node>,
    /// The end of the last fault.
    last: Instant,
    /// The last time when functions were killed.
    killed: Option<Instant>,
}

/// The number of kinds of faults. Some numbers cause the same one.
const KINDS: u64 = 16;
const KILL_FUNCTIONS: u64 = 0;

/// The time after the last fault within which every feed must be correct.
const HEALED_WITHIN: Duration = Duration::from_secs(15);

impl Disturbed {
    /// Waits until every feed is correct. Returns the time since the last fault.
    async fn wait_until_correct(&self, people: &People, acknowledged: &Acknowledged) -> Duration {
        let visible = self.killed.map(|at| at + VISIBILITY);
        let from = visible.map_or(self.last, |visible| visible.max(self.last));
        loop {
            let found = people.find(acknowledged).await;
            if found.is_correct() {
                return self.last.elapsed();
            }
            assert!(
                from.elapsed() < HEALED_WITHIN,
                "feeds have {found:?}, {:?} after the last fault \
                 (functions were killed {:?} ago, messages wait in {:?}, faults {:?})",
                self.last.elapsed(),
                self.killed.map(|at| at.elapsed()),
                waiting().await,
                self.faults,
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Several times, Valkey does not answer for a short time while all feeds are live. Meanwhile authors post and readers
    /// unfollow, so only messages can correct the feeds afterwards. Returns the number of readers who unfollowed.
    async fn short_outages(
        &mut self,
        people: &People,
        acknowledged: &Mutex<Acknowledged>,
    ) -> usize {
        for reader in &people.readers {
            eventually("a live feed", async || {
                let page = reader.get("/v1/timeline?limit=1").await;
                (page.text("/source") == "cache").then_some(())
            })
            .await;
        }
        let mut left = 0;
        for _ in 0..3 {
            valkey(&["CLIENT", "KILL", "TYPE", "normal"], "").await;
            valkey(&["CLIENT", "PAUSE", &PAUSE.as_millis().to_string(), "ALL"], "").await;
            let writes = people.authors.iter().map(|author| write(author, acknowledged));
            let reader = &people.readers[left];
            let leaves = async {
                let follow = format!("/v1/users/{}/follow", people.authors[0].id);
                assert_eq!(reader.delete(&follow).await.status, 204);
            };
            futures::join!(futures::future::join_all(writes), leaves);
            left += 1;
            *self.faults.entry("short outages").or_default() += 1;
            tokio::time::sleep(PAUSE).await;
        }
        self.last = Instant::now();
        left
    }

    /// Waits until every feed is correct without a rebuild. Returns the time since the last fault.
    async fn wait_until_correct_and_live(
        &self,
        people: &People,
        acknowledged: &Acknowledged,
        left: usize,
    ) -> Duration {
        let gone = people.authors[0].id.parse().expect("an id");
        loop {
            let mut wrong = Vec::new();
            for (number, reader) in people.readers.iter().enumerate() {
                let (shown, cached) = whole_feed(reader).await;
                let shown: BTreeSet<String> = shown.into_iter().map(|seen| seen.post).collect();
                let mut expected = acknowledged.posts.clone();
                if number < left {
                    expected.retain(|post| author_of(post) != gone);
                }
                // a post with a lost answer may be there
                let missing = expected.difference(&shown).count();
                let extra =
                    shown.iter().filter(|post| number < left && author_of(post) == gone).count();
                // no feed was lost, so none may be rebuilt or pulled
                if missing + extra > 0 || !cached {
                    wrong.push((number, missing, extra));
                }
            }
            if wrong.is_empty() {
                return self.last.elapsed();
            }
            assert!(
                self.last.elapsed() < HEALED_WITHIN,
                "{wrong:?} (reader, missing posts, extra posts), {:?} after the last outage",
                self.last.elapsed(),
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Causes a fault of this kind, a number below [`KINDS`].
    async fn cause_fault(&mut self, kind: u64, acknowledged: &Mutex<Acknowledged>) {
        let fault = match kind {
            KILL_FUNCTIONS if CAN_KILL => {
                self.functions_killed += kill_functions();
                self.killed = Some(Instant::now());
                "functions killed"
            }
            1 | 2 => valkey(&["FLUSHALL"], "all data lost").await,
            3 | 4 => valkey(&["SCRIPT", "FLUSH"], "scripts lost").await,
            5 | 6 => valkey(&["CLIENT", "KILL", "TYPE", "normal"], "connections cut").await,
            7 => {
                valkey(&["CLIENT", "PAUSE", &PAUSE.as_millis().to_string(), "ALL"], "Valkey hangs")
                    .await
            }
            8 | 9 => {
                self.restart_valkey().await;
                "Valkey restarted"
            }
            10 | 11 => {
                set_deliveries(false).await;
                tokio::time::sleep(Duration::from_millis(1_500)).await;
                set_deliveries(true).await;
                "deliveries held back"
            }
            _ => {
                let known: Vec<String> =
                    acknowledged.lock().expect("answers").posts.iter().cloned().collect();
                if known.is_empty() {
                    return;
                }
                for _ in 0..5 {
                    let post: &String = self.dice.pick(&known);
                    send_event_again(post).await;
                }
                "events doubled"
            }
        };
        *self.faults.entry(fault).or_default() += 1;
        // a fault that hangs ends later
        let hangs = if fault == "Valkey hangs" { PAUSE } else { Duration::ZERO };
        self.last = Instant::now() + hangs;
    }

    /// Restarts Valkey. All data and connections are lost.
    async fn restart_valkey(&mut self) {
        let url = setting("REDIS_URL");
        let port: u16 = url.rsplit(':').next().and_then(|p| p.parse().ok()).expect("a port");
        drop(self.valkey.take());
        eventually("a free port", async || {
            if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                return Some(());
            }
            try_valkey(&["SHUTDOWN", "NOSAVE"]).await;
            None
        })
        .await;
        // functions meet a server that is away, too
        tokio::time::sleep(Duration::from_millis(700)).await;
        let user = setting("FANFOLD_VALKEY_USER");
        let options: Vec<&str> = ["--user"].into_iter().chain(user.split(' ')).collect();
        self.valkey = Some(Node::start_at(port, &options));
    }

    async fn restore_deliveries(&mut self) {
        set_deliveries(true).await;
    }
}

/// Sends a command as soon as Valkey takes connections. It does not while it hangs.
async fn valkey(words: &[&str], name: &'static str) -> &'static str {
    eventually("a connection to Valkey", async || try_valkey(words).await).await;
    name
}

/// Sends a command. The answer does not count: the command may cut this connection.
async fn try_valkey(words: &[&str]) -> Option<()> {
    let client = redis::Client::open(setting("REDIS_URL")).expect("a client");
    let mut connection = client.get_multiplexed_async_connection().await.ok()?;
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(word);
    }
    let _answer: Result<redis::Value, _> = command.query_async(&mut connection).await;
    Some(())
}

/// Processes and their environment are found in `/proc`, which macOS does not have.
const CAN_KILL: bool = cfg!(target_os = "linux");

/// Kills the processes of the functions: those with the name `bootstrap` and the address of this cloud. Returns their
/// number.
fn kill_functions() -> u64 {
    let script = r#"
        for process in /proc/[0-9]*; do
            [ "$(cat "$process/comm" 2>/dev/null)" = bootstrap ] || continue
            tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx "AWS_ENDPOINT_URL=$1" || continue
            kill -KILL "${process#/proc/}" 2>/dev/null && echo killed
        done
        true"#;
    let mut kill = Command::new("bash");
    kill.args(["-c", script, "kill-functions", &setting("AWS_ENDPOINT_URL")]);
    let ended = kill.output().expect("bash");
    assert!(ended.status.success(), "{ended:?}");
    String::from_utf8_lossy(&ended.stdout).lines().count() as u64
}

/// Stops or starts the delivery of messages to the functions.
async fn set_deliveries(on: bool) {
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

/// Sends the event of a post again.
async fn send_event_again(post: &str) {
    let body = json!({"type": "PostPublished", "v": 1, "post": post}).to_string();
    let event = json!({"QueueUrl": output("PostEventsQueueUrl"), "MessageBody": body});
    aws("AmazonSQS.SendMessage", "1.0", &event).await;
}
