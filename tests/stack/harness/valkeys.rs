//! Valkey servers of a test's own: single ones, pairs and clusters, on free ports of this machine.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::dice;
use super::servers::valkey_program;

/// One server. Dropping it kills it, as a crash would.
pub struct Node {
    child: Child,
    pub port: u16,
    folder: PathBuf,
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

impl Node {
    pub fn start(options: &[&str]) -> Self {
        Self::start_at(free_port(), options)
    }

    pub fn start_at(port: u16, options: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("fanfold-valkey-{:x}", dice::fresh()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut server = Command::new(valkey_program("valkey-server"));
        server.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
        server.args(["--save", "", "--appendonly", "no"]).arg("--dir").arg(&folder);
        server.args(options).stdin(Stdio::null()).stdout(Stdio::null());
        let node = Self { child: server.spawn().expect("Valkey"), port, folder };
        node.wait_for("PONG", &["PING"]);
        node
    }

    /// One that a URL of this scheme names: a single server, or a cluster of one.
    pub fn of_scheme(scheme: &str) -> Self {
        if scheme != "redis-cluster" {
            return Self::start(&[]);
        }
        let bus = free_port().to_string();
        let node = Self::start(&["--cluster-enabled", "yes", "--cluster-port", &bus]);
        node.cli(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
        node.wait_for("cluster_state:ok", &["CLUSTER", "INFO"]);
        node
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// What `valkey-cli` says.
    pub fn cli(&self, words: &[&str]) -> String {
        let mut cli = Command::new(valkey_program("valkey-cli"));
        cli.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]).args(words);
        let said = cli.stdin(Stdio::null()).output().expect("valkey-cli");
        String::from_utf8_lossy(&said.stdout).into_owned()
    }

    /// Asks until the answer holds a text.
    pub fn wait_for(&self, text: &str, words: &[&str]) {
        let start = Instant::now();
        loop {
            let said = self.cli(words);
            if said.contains(text) {
                return;
            }
            assert!(start.elapsed().as_secs() < 30, "{words:?} never says {text}: {said}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// `STOP` or `CONT`: a server that hangs.
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

/// Three primaries, each with a replica.
pub struct Cluster {
    pub nodes: Vec<Option<Node>>,
}

impl Cluster {
    pub fn start() -> Self {
        let nodes: Vec<Node> = (0..6)
            .map(|_| {
                let bus = free_port().to_string();
                Node::start(&[
                    "--cluster-enabled",
                    "yes",
                    "--cluster-port",
                    &bus,
                    "--cluster-node-timeout",
                    "1500",
                    "--cluster-replica-validity-factor",
                    "0",
                    "--repl-diskless-sync-delay",
                    "0",
                ])
            })
            .collect();
        let addresses: Vec<String> =
            nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        let mut create = vec!["--cluster", "create"];
        create.extend(addresses.iter().map(String::as_str));
        create.extend(["--cluster-replicas", "1", "--cluster-yes"]);
        let said = nodes[0].cli(&create);
        assert!(said.contains("All 16384 slots covered"), "{said}");
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

    /// The primary that has a key, and its replica, by their places.
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

    /// Waits until a replica has all that its primary has.
    pub fn wait_for_replica(&self, primary: usize, replica: usize) {
        let told = |node: &Node, name: &str| -> Option<String> {
            let info = node.cli(&["INFO", "replication"]);
            info.lines().find_map(|line| Some(line.trim().strip_prefix(name)?.to_owned()))
        };
        let offset = told(self.node(primary), "master_repl_offset:").expect("an offset");
        let offset: u64 = offset.parse().expect("a number");
        let replica = self.node(replica);
        let start = Instant::now();
        loop {
            let got = told(replica, "slave_repl_offset:").and_then(|got| got.parse::<u64>().ok());
            let linked = told(replica, "master_link_status:").is_some_and(|status| status == "up");
            if linked && got >= Some(offset) {
                return;
            }
            assert!(start.elapsed().as_secs() < 30, "the replica is at {got:?} of {offset}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn place(&self, address: &str) -> usize {
        let port = address.split('@').next().and_then(|host| host.rsplit(':').next());
        let port: u16 = port.expect("an address").parse().expect("a port");
        let is = |node: &Option<Node>| node.as_ref().is_some_and(|node| node.port == port);
        self.nodes.iter().position(is).expect("a node of ours")
    }

    pub fn node(&self, place: usize) -> &Node {
        self.nodes[place].as_ref().expect("a node that is alive")
    }

    /// Kills a node for good.
    pub fn kill(&mut self, place: usize) {
        self.nodes[place] = None;
    }
}
