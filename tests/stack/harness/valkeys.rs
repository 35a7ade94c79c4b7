//! Valkey servers for one test: single servers, pairs and clusters, on free ports of this machine.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis::{Connection, RedisResult, Value};

use super::dice;
use super::servers::valkey_server;

/// A server. Dropping it kills it, like a crash.
pub struct Node {
    child: Child,
    pub port: u16,
    folder: PathBuf,
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

impl Node {
    /// Starts a server on a free port. Another program may take the port before the server does, so this tries several.
    /// With `--cluster-enabled`, the port of the cluster bus is a free one, too.
    pub fn start(options: &[&str]) -> Self {
        let mut failed = String::new();
        for _ in 0..PORT_TRIES {
            match Self::try_start(free_port(), options) {
                Ok(node) => return node,
                Err(why) => failed = why,
            }
        }
        panic!("{failed}, on the last of {PORT_TRIES} ports")
    }

    /// Starts a server on this port, which must be free.
    pub fn start_at(port: u16, options: &[&str]) -> Self {
        Self::try_start(port, options).unwrap_or_else(|why| panic!("{why}"))
    }

    fn try_start(port: u16, options: &[&str]) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("fanfold-valkey-{:x}", dice::fresh()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut server = Command::new(valkey_server());
        server.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
        if options.contains(&"--cluster-enabled") {
            server.args(["--cluster-port", &free_port().to_string()]);
        }
        server.args(["--save", "", "--appendonly", "no"]).arg("--dir").arg(&folder);
        server.args(options).stdin(Stdio::null()).stdout(Stdio::null());
        let mut node = Self { child: server.spawn().expect("Valkey"), port, folder };
        node.wait_until_it_answers()?;
        Ok(node)
    }

    /// Waits until the server answers. An answer of another process on the same port does not count.
    fn wait_until_it_answers(&mut self) -> Result<(), String> {
        let (start, own) = (Instant::now(), format!("process_id:{}", self.child.id()));
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return Err(format!(
                    "Valkey on port {} ended when it started: {status}",
                    self.port
                ));
            }
            let info = self.cli(&["INFO", "server"]);
            let is_own = info.lines().any(|line| line.trim_end() == own);
            // not yet, while it loads a snapshot
            if is_own && self.cli(&["PING"]) == "PONG" {
                return Ok(());
            }
            if start.elapsed() > STARTS_WITHIN {
                let port = self.port;
                return Err(format!("Valkey on port {port} does not answer, but: {info:?}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A server for a URL of this scheme: a single server, or a cluster of one node.
    pub fn of_scheme(scheme: &str) -> Self {
        if scheme != "redis-cluster" {
            return Self::start(&[]);
        }
        let node = Self::start(&["--cluster-enabled", "yes"]);
        node.cli(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
        node.wait_for("cluster_state:ok", &["CLUSTER", "INFO"]);
        node
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The answer to a command as text: one element per line. An error is its message, and a server that does not
    /// answer gives an empty text.
    pub fn cli(&self, words: &[&str]) -> String {
        match self.connection() {
            Ok(mut connection) => ask(&mut connection, words),
            Err(_) => String::new(),
        }
    }

    fn connection(&self) -> RedisResult<Connection> {
        let client = redis::Client::open(self.url())?;
        let connection = client.get_connection_with_timeout(ANSWER_WITHIN)?;
        connection.set_read_timeout(Some(ANSWER_WITHIN))?;
        Ok(connection)
    }

    /// Repeats a command until its answer contains a text.
    pub fn wait_for(&self, text: &str, words: &[&str]) {
        let start = Instant::now();
        loop {
            let answer = self.cli(words);
            if answer.contains(text) {
                return;
            }
            assert!(start.elapsed().as_secs() < 30, "{words:?} does not answer {text}: {answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal to the server: `STOP` makes it hang, `CONT` makes it continue.
    pub fn signal(&self, signal: &str) {
        let kill = format!("kill -{signal} {}", self.child.id());
        let done = Command::new("sh").args(["-c", &kill]).status().expect("kill");
        assert!(done.success());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _status = self.child.wait();
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}

/// How many ports are tried for a server.
const PORT_TRIES: usize = 5;
/// How long a server may take to start.
const STARTS_WITHIN: Duration = Duration::from_secs(30);
/// How long a server may take for an answer to a test's command.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

fn ask(connection: &mut Connection, words: &[&str]) -> String {
    let [name, arguments @ ..] = words else { return String::new() };
    match redis::cmd(name).arg(arguments).query::<Value>(connection) {
        Ok(value) => text(&value),
        Err(error) if error.kind() == redis::ErrorKind::Io => String::new(),
        Err(error) => error.to_string(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Nil => String::new(),
        Value::Int(number) => number.to_string(),
        Value::Okay => "OK".to_owned(),
        Value::SimpleString(text) => text.clone(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join("\n"),
        other => format!("{other:?}"),
    }
}

/// The number of slots of a cluster.
const SLOTS: usize = 16_384;

/// Makes a cluster: the first half of the nodes become primaries, and each gets one of the others as its replica.
fn create_cluster(nodes: &[Node]) {
    let (primaries, replicas) = nodes.split_at(nodes.len() / 2);
    for (nth, node) in primaries.iter().enumerate() {
        let first = SLOTS * nth / primaries.len();
        let last = SLOTS * (nth + 1) / primaries.len() - 1;
        let range = [first.to_string(), last.to_string()];
        assert_eq!(node.cli(&["CLUSTER", "ADDSLOTSRANGE", &range[0], &range[1]]), "OK");
    }
    for (nth, node) in nodes.iter().enumerate() {
        // nodes whose epochs are equal would each take a new one, one after the other
        node.cli(&["CLUSTER", "SET-CONFIG-EPOCH", &(nth + 1).to_string()]);
    }
    let known = nodes.len().to_string();
    for node in &nodes[1..] {
        let bus = node.cli(&["CONFIG", "GET", "cluster-port"]);
        let bus = bus.lines().last().unwrap_or_default().to_owned();
        let port = node.port.to_string();
        assert_eq!(nodes[0].cli(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]), "OK");
    }
    for node in nodes {
        node.wait_for(&format!("cluster_known_nodes:{known}"), &["CLUSTER", "INFO"]);
    }
    for (primary, replica) in primaries.iter().zip(replicas) {
        let id = primary.cli(&["CLUSTER", "MYID"]);
        // the replica may know the primary a moment later
        replica.wait_for("OK", &["CLUSTER", "REPLICATE", &id]);
    }
}

/// The time after which a silent node counts as failed. Six servers and a test share few cores, so a node may be silent
/// for a second without a failure.
const NODE_TIMEOUT_MS: &str = "3000";

/// Three primaries, each with a replica.
pub struct Cluster {
    pub nodes: Vec<Option<Node>>,
}

impl Cluster {
    pub fn start() -> Self {
        let nodes: Vec<Node> = (0..6)
            .map(|_| {
                Node::start(&[
                    "--cluster-enabled",
                    "yes",
                    "--cluster-node-timeout",
                    NODE_TIMEOUT_MS,
                    "--cluster-replica-validity-factor",
                    "0",
                    "--repl-diskless-sync-delay",
                    "0",
                    // as in ElastiCache: the other shards answer while one is lost
                    "--cluster-require-full-coverage",
                    "no",
                ])
            })
            .collect();
        create_cluster(&nodes);
        for node in &nodes {
            node.wait_for("cluster_state:ok", &["CLUSTER", "INFO"]);
            let info = node.cli(&["INFO", "replication"]);
            if info.contains("role:slave") {
                node.wait_for("master_link_status:up", &["INFO", "replication"]);
            }
        }
        Self { nodes: nodes.into_iter().map(Some).collect() }
    }

    pub fn url(&self) -> String {
        let hosts: Vec<String> =
            self.alive().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("redis-cluster://{}", hosts.join(","))
    }

    pub fn alive(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().flatten()
    }

    /// The indexes in `nodes` of the primary that has a key and of its replica.
    pub fn of_key(&self, key: &str) -> (usize, usize) {
        let first = self.alive().next().expect("a node");
        let slot: u32 = first.cli(&["CLUSTER", "KEYSLOT", key]).trim().parse().expect("a slot");
        let lines: Vec<Vec<String>> = first
            .cli(&["CLUSTER", "NODES"])
            .lines()
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect();
        let has = |words: &[String]| {
            words.iter().skip(8).any(|range| {
                let mut ends = range.split('-').map(|end| end.parse::<u32>().unwrap_or(u32::MAX));
                let low = ends.next().unwrap_or(u32::MAX);
                (low..=ends.next().unwrap_or(low)).contains(&slot)
            })
        };
        let primary = lines.iter().find(|words| has(words)).expect("a primary");
        let replica = lines.iter().find(|words| words[3] == primary[0]).expect("a replica");
        (self.place(&primary[1]), self.place(&replica[1]))
    }

    /// Waits until a replica has all data of its primary.
    pub fn wait_for_replica(&self, primary: usize, replica: usize) {
        let field = |node: &Node, name: &str| -> Option<String> {
            let info = node.cli(&["INFO", "replication"]);
            info.lines().find_map(|line| Some(line.trim().strip_prefix(name)?.to_owned()))
        };
        let offset = field(self.node(primary), "master_repl_offset:").expect("an offset");
        let offset: u64 = offset.parse().expect("a number");
        let replica = self.node(replica);
        let start = Instant::now();
        loop {
            let got = field(replica, "slave_repl_offset:").and_then(|got| got.parse::<u64>().ok());
            let linked = field(replica, "master_link_status:").is_some_and(|status| status == "up");
            if linked && got >= Some(offset) {
                return;
            }
            assert!(start.elapsed().as_secs() < 30, "the replica has {got:?} of {offset} bytes");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn place(&self, address: &str) -> usize {
        let port = address.split('@').next().and_then(|host| host.rsplit(':').next());
        let port: u16 = port.expect("an address").parse().expect("a port");
        let is = |node: &Option<Node>| node.as_ref().is_some_and(|node| node.port == port);
        self.nodes.iter().position(is).expect("a node of this cluster")
    }

    pub fn node(&self, place: usize) -> &Node {
        self.nodes[place].as_ref().expect("a node that is alive")
    }

    /// Moves slots from one primary to another, one by one, while clients are at work.
    pub fn move_slots(&self, from: usize, to: usize, slots: std::ops::Range<u16>) {
        let (from, to) = (self.node(from), self.node(to));
        let ids = [from, to].map(|node| node.cli(&["CLUSTER", "MYID"]));
        let mut source = from.connection().expect("a connection");
        let mut target = to.connection().expect("a connection");
        let port = to.port.to_string();
        for slot in slots.map(|slot| slot.to_string()) {
            let setslot = |connection: &mut Connection, state: &str, id: &str| {
                assert_eq!(ask(connection, &["CLUSTER", "SETSLOT", &slot, state, id]), "OK");
            };
            setslot(&mut target, "IMPORTING", &ids[0]);
            setslot(&mut source, "MIGRATING", &ids[1]);
            loop {
                let keys = ask(&mut source, &["CLUSTER", "GETKEYSINSLOT", &slot, "100"]);
                let keys: Vec<&str> = keys.lines().collect();
                if keys.is_empty() {
                    break;
                }
                let to = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
                let moved = ask(&mut source, &[&to[..], &keys].concat());
                // NOKEY: another command deleted them
                assert!(["OK", "NOKEY"].contains(&moved.as_str()), "{moved}");
            }
            setslot(&mut target, "NODE", &ids[1]);
            setslot(&mut source, "NODE", &ids[1]);
        }
    }

    /// Kills a node. It does not start again.
    pub fn kill(&mut self, place: usize) {
        self.nodes[place] = None;
    }
}
