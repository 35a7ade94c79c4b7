//! Boards.

use fanfold_core::board::{Order, Ranks};
use fanfold_core::limits::BOARD_LOAD_ROWS;
use fanfold_core::{Board, RoundId, Scores, Time};
use fanfold_engines::valkey::{BoardChange, BoardCommit, Valkey};
use fanfold_runtime::aws::SdkConfig;
use tokio::runtime::Runtime;

use super::{Change, PAGE, first_score, measured, name};
use crate::server::Server;

const NOW: Time = Time::from_ms(1_800_000_000_000);

/// A board of one score, and one of four with dense ranks.
pub struct Ours {
    valkey: Valkey,
    board: Board,
    four: Board,
    /// The next revision.
    revision: std::cell::Cell<u64>,
    bytes_per_member: f64,
    /// The hashes of the scripts that put, rank and show a page.
    hashes: [String; 3],
}

macro_rules! script {
    ($($file:literal),*) => {
        concat!($(include_str!(concat!("../../../shared/engines/src/valkey/lua/", $file)), "\n"),*)
    };
}

const SCRIPTS: [&str; 3] = [
    script!("_memory.lua", "_board.lua", "_board_change.lua", "_board_rank.lua", "board_put.lua"),
    script!("_memory.lua", "_board.lua", "_board_rank.lua", "board_ranks.lua"),
    script!("_memory.lua", "_board.lua", "_board_rank.lua", "board_page.lua"),
];

fn board(id: u128, orders: &[Order], ranks: Ranks) -> Board {
    let orders = orders.to_vec().try_into().expect("orders");
    Board { id: RoundId(id), orders, ranks, limit: None }
}

fn change(member: u64, revision: u64, scores: &[i64]) -> BoardChange {
    let scores = Some(Scores::new(scores).expect("scores"));
    BoardChange { member: name(member).parse().expect("a name"), revision, scores }
}

fn four(score: i64) -> [i64; 4] {
    [score / 1_000, score % 1_000, score, -score]
}

async fn build(valkey: &Valkey, board: &Board, members: u64, scores: impl Fn(u64) -> Vec<i64>) {
    valkey.begin_board(board, "bench", NOW).await.expect("begun");
    let mut next = 0;
    while next < members {
        let end = members.min(next + BOARD_LOAD_ROWS as u64);
        let rows: Vec<BoardChange> = (next..end).map(|n| change(n, 1, &scores(n))).collect();
        valkey.load_board(board, "bench", &rows, NOW).await.expect("loaded");
        next = end;
    }
    let done = valkey.commit_board(board, "bench", NOW).await.expect("committed");
    assert_eq!(done, BoardCommit::Done(Vec::new()));
}

fn valkey(server: &Server) -> Valkey {
    Valkey::new(&SdkConfig::builder().build(), &server.config()).expect("Valkey")
}

impl Ours {
    pub fn new(server: &mut Server, runtime: &Runtime, members: u64) -> Self {
        let valkey = valkey(server);
        let one = board(1, &[Order::Descending], Ranks::Competition);
        let order = Order::Descending;
        let dense = board(2, &[order, Order::Ascending, order, order], Ranks::Dense);
        let before = server.memory_bytes();
        runtime.block_on(build(&valkey, &one, members, |n| vec![first_score(n)]));
        let bytes_per_member = (server.memory_bytes() - before) / members as f64;
        runtime.block_on(build(&valkey, &dense, members, |n| four(first_score(n)).to_vec()));
        let revision = std::cell::Cell::new(2);
        let hashes = SCRIPTS.map(|text| server.query(redis::cmd("SCRIPT").arg("LOAD").arg(text)));
        Self { valkey, board: one, four: dense, revision, bytes_per_member, hashes }
    }

    pub fn bytes_per_member(&self) -> f64 {
        self.bytes_per_member
    }

    /// The arguments of a call: the script, the keys and the kind of ranks.
    fn call(&self, hash: &str, board: &Board) -> redis::Cmd {
        let mut call = redis::cmd("EVALSHA");
        call.arg(hash).arg(4).arg(&self.valkey.keys().board(board.id));
        let is_dense = board.ranks == Ranks::Dense;
        call.arg(if is_dense { "dense" } else { "competition" });
        call
    }

    /// Sends the calls of the functions of `Valkey` with the same client as the other ways: a slower client would leave
    /// the server idle for longer between two calls, and its caches cold.
    fn put_one(&self, server: &mut Server, board: &Board, member: u64, scores: &[i64]) {
        let revision = self.revision.replace(self.revision.get() + 1);
        let scores = board.orders.encode(&Scores::new(scores).expect("scores")).expect("scores");
        let mut call = self.call(&self.hashes[0], board);
        call.arg(0).arg(board.orders.width()).arg(NOW.ms()).arg(NOW.ms() - 3_600_000);
        call.arg(name(member)).arg(&revision.to_be_bytes()[..]).arg(scores);
        type Put = (String, u64, Vec<Vec<u8>>, Vec<Vec<u8>>, Vec<u8>, u64);
        let (_, _, out, _, _, rank): Put = server.query(&call);
        assert!(rank > 0 && out.is_empty());
    }

    pub fn put(&self, server: &mut Server, changes: impl Iterator<Item = Change>) {
        for Change { member, score } in changes {
            self.put_one(server, &self.board, member, &[score]);
        }
    }

    pub fn put_four(&self, server: &mut Server, changes: impl Iterator<Item = Change>) {
        for Change { member, score } in changes {
            self.put_one(server, &self.four, member, &four(score));
        }
    }

    pub fn ranks(&self, server: &mut Server, changes: impl Iterator<Item = Change>) {
        for Change { member, .. } in changes {
            let mut call = self.call(&self.hashes[1], &self.board);
            let answer: (String, u64, Vec<u8>, u64, u64) = server.query(call.arg(name(member)));
            assert!(answer.3 > 0);
        }
    }

    pub fn pages(&self, server: &mut Server, changes: impl Iterator<Item = Change>) {
        for Change { member, .. } in changes {
            let mut call = self.call(&self.hashes[2], &self.board);
            call.arg(self.board.orders.width()).arg("rank").arg(member + 1).arg(PAGE);
            let answer: (String, u64, u64, u64, u64, Vec<Vec<u8>>) = server.query(&call);
            assert!(answer.5.len() as u64 <= PAGE);
        }
    }
}

/// Server CPU for asking for the generation in a script, in µs.
pub fn generation_us(server: &mut Server, count: usize) -> f64 {
    let mut eval = |text: &str| {
        measured(server, count, |server| {
            for _ in 0..count {
                let _answer: i64 = server.query(redis::cmd("EVAL").arg(text).arg(0));
            }
        })
    };
    let nothing = eval("return 1");
    eval("redis.call('INFO', 'replication') return 1") - nothing
}
