//! Boards on a cluster.

use std::time::{Duration, Instant};

use fanfold_core::Board;
use fanfold_core::board::{Order, Ranks};
use fanfold_engines::valkey::{BoardAnswer, BoardChange, BoardCommit, PageOf, Valkey};

use super::{NOW, board, build, change, page, rows, state, valkey};
use crate::harness::valkeys::Cluster;

const BOARDS: i64 = 10;
const MEMBERS: i64 = 1_500;

/// Each board has a part of the members.
fn members_of(nth: i64) -> Vec<BoardChange> {
    let on_it = (0..MEMBERS).filter(|n| n % (nth + 1) == 0);
    on_it.map(|n| change(&format!("m{n}"), 1, &[n + nth, n - 2 * nth])).collect()
}

/// Boards in different slots.
async fn ten_boards(valkey: &Valkey) -> Vec<Board> {
    let mut boards = Vec::new();
    for nth in 0..BOARDS {
        let board = board(&[Order::Descending, Order::Ascending], Ranks::Ordinal, None);
        build(valkey, &board, &members_of(nth)).await;
        boards.push(board);
    }
    boards
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn boards_of_a_cluster_move_and_are_rebuilt_after_a_fail_over() {
    let mut cluster = Cluster::start();
    let valkey = valkey(&cluster.url());
    let boards = ten_boards(&valkey).await;
    for (nth, board) in (0..).zip(&boards) {
        let shown = page(&valkey, board, PageOf::Rank { from: 1, limit: 2 }).await;
        assert_eq!(shown.members, members_of(nth).len() as u64);
    }
    let key = valkey.keys().board(boards[0].id)[0].to_string();
    let (primary, replica) = cluster.of_key(&key);
    cluster.wait_for_replica(primary, replica);
    cluster.kill(primary);
    let start = Instant::now();
    loop {
        let begun = valkey.begin_board(&boards[0], "again", NOW).await;
        if begun.is_ok() {
            break;
        }
        assert!(start.elapsed().as_secs() < 60, "{begun:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // the promoted replica has another generation, so the board it has is not used
    assert_eq!(state(&valkey, &boards[0]).await, BoardAnswer::Building);
    for rows in members_of(0).chunks(500) {
        valkey.load_board(&boards[0], "again", rows, NOW).await.expect("loaded");
    }
    let done = valkey.commit_board(&boards[0], "again", NOW).await.expect("committed");
    assert_eq!(done, BoardCommit::Done(Vec::new()));
    let shown = page(&valkey, &boards[0], PageOf::Rank { from: 1, limit: 2 }).await;
    assert_eq!(rows(&shown), [("m1499", 1), ("m1498", 2)]);
}
