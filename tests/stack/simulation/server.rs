//! The Valkey server of a thread, and the handlers' connection to it, which makes one call at a time.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fanfold_core::limits::VALKEY_ARGUMENTS_MAX;
use fanfold_engines::valkey::{Answers, script_texts};
use redis::{Cmd, Connection, ErrorKind, RedisFuture, RedisResult, Value};

use super::cloud::Faults;
use super::plan::PushFaults;
use super::steps::Steps;
use crate::harness::dice::Dice;
use crate::harness::servers::valkey_server;

pub struct Server {
    child: Child,
    socket: PathBuf,
}

impl Server {
    pub fn start() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fanfold-simulation-{}-{number}.sock", std::process::id());
        let socket = std::env::temp_dir().join(name);
        let mut server = Command::new(valkey_server());
        server.args(["--port", "0", "--save", "", "--appendonly", "no"]);
        server.args(["--maxmemory-policy", "volatile-lru"]);
        server.args(["--enable-debug-command", "yes", "--unixsocket"]).arg(&socket);
        let child = server.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("Valkey");
        Self { child, socket }
    }

    pub fn connect(&self) -> Connection {
        let url = format!("redis+unix://{}", self.socket.display());
        let (client, start) = (redis::Client::open(url).expect("a client"), Instant::now());
        loop {
            match client.get_connection() {
                Ok(connection) => return connection,
                Err(error) => assert!(start.elapsed().as_secs() < 10, "Valkey: {error}"),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _status = self.child.wait();
        let _removed = std::fs::remove_file(&self.socket);
    }
}

/// The connection through which the handlers send their commands, with faults.
pub struct Valkey {
    steps: Steps,
    state: Mutex<State>,
    began: tokio::time::Instant,
}

struct State {
    connection: Connection,
    is_full: bool,
    faults: Faults,
    /// The faults of pushes to one bucket, and that bucket's key of live feeds.
    push_faults: (Faults, String),
    /// The data of a replica that lags behind: key, time to live in ms, and dump.
    replica: Vec<(Vec<u8>, i64, Vec<u8>)>,
    /// The present second of the simulation's clock, and its calls by hash tag.
    calls: (u64, HashMap<String, u64>),
    /// The most calls in one second with one hash tag, which are calls to one shard.
    busiest: HashMap<String, u64>,
}

impl Valkey {
    pub fn new(steps: Steps, connection: Connection) -> Self {
        let (faults, push_faults, replica, calls, busiest) = Default::default();
        let is_full = false;
        let state = State { connection, is_full, faults, push_faults, replica, calls, busiest };
        Self { steps, state: Mutex::new(state), began: tokio::time::Instant::now() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// Makes pushes to one bucket fail, and only these.
    pub fn set_push_faults(&self, PushFaults { bucket, one_in }: PushFaults, seed: u64) {
        let faults = Faults { one_in, dice: Dice(seed) };
        self.lock().push_faults = (faults, format!("live:{{{bucket}}}"));
    }

    /// The most calls in one second with one hash tag, of those with more than so many.
    pub fn busier_than(&self, calls: u64) -> Vec<(String, u64)> {
        let busiest = self.lock().busiest.clone();
        busiest.into_iter().filter(|(_, most)| *most > calls).collect()
    }

    /// The most calls in one second with this hash tag.
    pub fn busiest(&self, tag: &str) -> u64 {
        self.lock().busiest.get(tag).copied().unwrap_or_default()
    }

    /// Counts a call, by the hash tag of its first key.
    fn count(&self, call: &str) {
        let Some((_, rest)) = call.split_once('{') else { return };
        let tag = rest.split('}').next().unwrap_or_default().to_owned();
        let (second, mut state) = (self.began.elapsed().as_secs(), self.lock());
        if state.calls.0 != second {
            state.calls = (second, HashMap::new());
        }
        let calls = state.calls.1.entry(tag.clone()).or_default();
        *calls += 1;
        let calls = *calls;
        let most = state.busiest.entry(tag).or_default();
        *most = calls.max(*most);
    }

    fn run<T: redis::FromRedisValue>(&self, command: &[&[u8]]) -> T {
        let mut cmd = Cmd::new();
        for word in command {
            cmd.arg(word);
        }
        cmd.query(&mut self.lock().connection).expect("Valkey")
    }

    /// Deletes all data, also in the replica.
    pub fn flush(&self) {
        self.run::<()>(&[b"FLUSHALL"]);
        self.lock().replica.clear();
    }

    /// Makes the server full: it evicts all keys with a time to live, and refuses commands that take memory. Or makes room.
    pub fn set_full(&self, is_full: bool) {
        let most: &[u8] = if is_full { b"1" } else { b"0" };
        self.run::<()>(&[b"CONFIG", b"SET", b"maxmemory", most]);
        self.lock().is_full = is_full;
    }

    /// Deletes all data of earlier histories, and loads all scripts.
    pub fn reset(&self) {
        self.set_full(false);
        self.flush();
        for (_, text) in script_texts() {
            self.run::<()>(&[b"SCRIPT", b"LOAD", text.as_bytes()]);
        }
    }

    pub fn forget_scripts(&self) {
        self.run::<()>(&[b"SCRIPT", b"FLUSH"]);
    }

    /// Deletes every key with a time to live, as a full server with `volatile-lru` may do at any time.
    pub fn evict(&self) {
        for key in self.run::<Vec<Vec<u8>>>(&[b"KEYS", b"*"]) {
            if self.run::<i64>(&[b"PTTL", &key]) > 0 {
                self.run::<()>(&[b"DEL", &key]);
            }
        }
    }

    /// Deletes the keys that match a pattern.
    pub fn delete(&self, pattern: &str) {
        for key in self.run::<Vec<Vec<u8>>>(&[b"KEYS", pattern.as_bytes()]) {
            self.run::<()>(&[b"DEL", &key]);
        }
    }

    /// All keys; those of sorted sets with their members.
    pub fn keys(&self) -> Vec<(String, Vec<Vec<u8>>)> {
        let keys = self.run::<Vec<String>>(&[b"KEYS", b"*"]).into_iter();
        keys.map(|key| match self.run::<String>(&[b"TYPE", key.as_bytes()]).as_str() {
            "zset" => {
                let members = self.run(&[b"ZRANGE", key.as_bytes(), b"0", b"-1"]);
                (key, members)
            }
            _ => (key, Vec::new()),
        })
        .collect()
    }

    /// The replica copies all data now, and nothing after that.
    pub fn replicate(&self) {
        let mut replica = Vec::new();
        for key in self.run::<Vec<Vec<u8>>>(&[b"KEYS", b"*"]) {
            let ttl: i64 = self.run(&[b"PTTL", &key]);
            // a key may have expired meanwhile
            if let Some(dump) = self.run::<Option<Vec<u8>>>(&[b"DUMP", &key]) {
                replica.push((key, ttl.max(0), dump));
            }
        }
        self.lock().replica = replica;
    }

    /// The replica becomes the primary: writes that it lacks are lost, although they were acknowledged.
    pub fn fail_over(&self) {
        let replica = std::mem::take(&mut self.lock().replica);
        let is_full = self.lock().is_full;
        self.set_full(false);
        self.run::<()>(&[b"FLUSHALL"]);
        for (key, ttl, dump) in replica {
            self.run::<()>(&[b"RESTORE", &key, ttl.to_string().as_bytes(), &dump]);
        }
        self.run::<()>(&[b"DEBUG", b"CHANGE-REPL-ID"]);
        self.forget_scripts();
        self.set_full(is_full);
    }

    fn query(&self, command: &Cmd) -> RedisResult<Value> {
        let mut state = self.lock();
        let mut words = command.args_iter();
        if matches!(words.next(), Some(redis::Arg::Simple(b"ZRANDMEMBER")))
            && let Some(redis::Arg::Simple(key)) = words.next()
        {
            // the server's own random choice has no seed
            let mut all = redis::cmd("ZRANGE");
            let all: Vec<Vec<u8>> = all.arg(key).arg(0).arg(-1).query(&mut state.connection)?;
            let one = (!all.is_empty()).then(|| state.faults.dice.pick(&all).clone());
            return Ok(Value::Array(one.into_iter().map(Value::BulkString).collect()));
        }
        let words = command.args_iter().count();
        assert!(words <= VALKEY_ARGUMENTS_MAX, "{words} arguments: ElastiCache Serverless refuses");
        let struck =
            state.faults.strike() || (state.pushes_to(command) && state.push_faults.0.strike());
        let lost = |_| Err((ErrorKind::Io, "the connection was closed").into());
        match struck.then(|| state.faults.dice.one_in(2)) {
            Some(true) => lost(Value::Nil),
            // the command runs, but its answer is lost
            Some(false) => command.query(&mut state.connection).and_then(lost),
            None => command.query(&mut state.connection),
        }
    }
}

impl State {
    /// Whether a command is a push to the bucket that has faults of its own.
    fn pushes_to(&self, command: &Cmd) -> bool {
        let mut words = command.args_iter().map(|word| match word {
            redis::Arg::Simple(bytes) => bytes,
            _ => &[],
        });
        let (name, script, key) = (words.next(), words.next(), words.nth(1));
        name == Some(b"EVALSHA")
            && script.is_some_and(|hash| script_name(&String::from_utf8_lossy(hash)) == "PUSH")
            && key == Some(self.push_faults.1.as_bytes())
    }
}

impl Answers for Valkey {
    fn answer<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let call = describe(command);
            self.count(&call);
            self.steps.note(|| call.split(' ').take(2).collect::<Vec<_>>().join(" "));
            self.steps.step(call).await;
            self.steps.wait().await;
            self.query(command)
        })
    }
}

/// A command for the log: the name of a script, and the keys and arguments that a person can read.
fn describe(command: &Cmd) -> String {
    let words: Vec<String> = command
        .args_iter()
        .map(|arg| match arg {
            redis::Arg::Simple(bytes) if bytes.iter().all(u8::is_ascii_graphic) => {
                String::from_utf8_lossy(bytes).into_owned()
            }
            redis::Arg::Simple(bytes) if bytes.len() == 16 => {
                fanfold_core::order::post(bytes).map_or_else(String::new, |post| post.to_string())
            }
            _ => "·".to_owned(),
        })
        .collect();
    match words.first().map(String::as_str) {
        Some("EVAL") => format!("valkey EVAL {}", words[3..].join(" ")),
        Some("EVALSHA") => {
            format!("valkey {} {}", script_name(&words[1]), words[3..].join(" "))
        }
        _ => format!("valkey {}", words.join(" ")),
    }
}

/// The name of the script with this hash.
fn script_name(hash: &str) -> &'static str {
    static NAMES: LazyLock<HashMap<String, &str>> = LazyLock::new(|| {
        let hash = |text| redis::Script::new(text).get_hash().to_owned();
        script_texts().map(|(name, text)| (hash(text), name)).collect()
    });
    NAMES.get(hash).copied().expect("a script of the list")
}
