//! Boards merged into one, and boards on a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fanfold_core::Board;
use fanfold_core::board::{BoardError, MergeBy, Order, Ranks};
use fanfold_store::valkey::{
    BoardAnswer, BoardChange, BoardCommit, Key, MergeError, PageOf, Valkey,
};

use super::{NOW, board, build, change, node, page, points, rows, state, valkey};
use crate::harness::valkeys::Cluster;

const BOARDS: i64 = 10;
const MEMBERS: i64 = 1_500;

/// Each board has a part of the members.
fn members_of(nth: i64) -> Vec<BoardChange> {
    let on_it = (0..MEMBERS).filter(|n| n % (nth + 1) == 0);
    on_it.map(|n| change(&format!("m{n}"), 1, &[n + nth, n - 2 * nth])).collect()
}

fn expected(by: MergeBy) -> BTreeMap<String, Vec<i64>> {
    let mut merged: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for one in (0..BOARDS).flat_map(members_of) {
        let new = one.scores.expect("scores").as_slice().to_vec();
        let known = merged.entry(one.member.to_string());
        let merge = |old: &mut Vec<i64>| {
            for (old, new) in old.iter_mut().zip(&new) {
                *old = match by {
                    MergeBy::Sum => *old + new,
                    MergeBy::Minimum => *new.min(old),
                    MergeBy::Maximum => *new.max(old),
                };
            }
        };
        known.and_modify(merge).or_insert(new);
    }
    merged
}

async fn ten_boards(valkey: &Valkey) -> Vec<Board> {
    let mut boards = Vec::new();
    for nth in 0..BOARDS {
        let board = board(&[Order::Descending, Order::Ascending], Ranks::Ordinal, None);
        build(valkey, &board, &members_of(nth)).await;
        boards.push(board);
    }
    boards
}

async fn check_merges(valkey: &Valkey, boards: &[Board]) {
    for by in [MergeBy::Sum, MergeBy::Minimum, MergeBy::Maximum] {
        let merged = valkey.merge_boards(boards, by).await.expect("merged").ready();
        let merged: BTreeMap<String, Vec<i64>> = merged
            .expect("boards")
            .into_iter()
            .map(|(name, scores)| (name.to_string(), scores.as_slice().to_vec()))
            .collect();
        assert_eq!(merged, expected(by), "{by:?}");
    }
}

#[tokio::test]
async fn ten_boards_are_merged() {
    let node = node();
    let valkey = valkey(&node.url());
    let mut boards = ten_boards(&valkey).await;
    check_merges(&valkey, &boards).await;
    // a sum that overflows names the member
    let mut high = vec![change("m7", 1, &[i64::MAX, 0])];
    let other = board(&[Order::Descending, Order::Ascending], Ranks::Ordinal, None);
    high.push(change("new", 1, &[i64::MAX, 0]));
    build(&valkey, &other, &high).await;
    let two = [boards[0].clone(), other.clone()];
    let failed = valkey.merge_boards(&two, MergeBy::Sum).await;
    let Err(MergeError::Scores(name, error)) = failed else { panic!("{failed:?}") };
    assert_eq!((name.as_str(), error), ("m7", BoardError::Overflow));
    let merged = valkey.merge_boards(&two, MergeBy::Maximum).await.expect("merged");
    assert_eq!(merged.ready().expect("boards").len() as i64, MEMBERS + 1);
    // more boards than allowed, another number of scores, a missing board
    boards.push(other);
    assert!(valkey.merge_boards(&boards, MergeBy::Sum).await.is_err());
    let one_score = points(Ranks::Ordinal, None);
    build(&valkey, &one_score, &[change("m7", 1, &[1])]).await;
    let two = [boards[0].clone(), one_score.clone()];
    assert!(valkey.merge_boards(&two, MergeBy::Maximum).await.is_err());
    valkey.drop_board(&one_score).await.expect("dropped");
    let merged = valkey.merge_boards(&two, MergeBy::Maximum).await.expect("merged");
    assert_eq!(merged, BoardAnswer::Missing);
}

/// While a board is read, a member moves again and again, and never counts twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_moves_while_boards_are_merged_counts_once() {
    let node = node();
    let valkey = valkey(&node.url());
    let one = points(Ranks::Ordinal, None);
    let mut all: Vec<_> = (0..5_000).map(|n| change(&format!("m{n}"), 1, &[n])).collect();
    all.push(change("mover", 1, &[1]));
    build(&valkey, &one, &all).await;
    let (writer, moved) = (valkey.clone(), one.clone());
    let moving = tokio::spawn(async move {
        for revision in 2..u64::MAX {
            let score = if revision % 2 == 0 { 100_000 } else { -100_000 };
            super::put(&writer, &moved, &[change("mover", revision, &[score])]).await;
        }
    });
    for _ in 0..60 {
        let merged = valkey.merge_boards(std::slice::from_ref(&one), MergeBy::Sum).await;
        let merged = merged.expect("merged").ready().expect("a board");
        let mover = merged.iter().find(|(name, _)| name.as_str() == "mover");
        let score = mover.map(|(_, scores)| scores.as_slice()[0]);
        assert!(score.is_none_or(|score| score == 1 || score.abs() == 100_000), "{score:?}");
    }
    moving.abort();
}

/// Ends the work of another thread, also when an assertion fails.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Between two pages, the board is replaced by one of another rebuild, with other members. The two are not mixed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_that_is_rebuilt_while_it_is_read_is_not_merged() {
    let node = Arc::new(node());
    let valkey = valkey(&node.url());
    let shown = points(Ranks::Ordinal, None);
    let mut keys = Vec::new();
    for token in ["one", "two"] {
        let board = points(Ranks::Ordinal, None);
        valkey.begin_board(&board, token, NOW).await.expect("begun");
        let all: Vec<_> = (0..2_500).map(|n| change(&format!("{token}{n}"), 1, &[n])).collect();
        for rows in all.chunks(500) {
            valkey.load_board(&board, token, rows, NOW).await.expect("loaded");
        }
        valkey.commit_board(&board, token, NOW).await.expect("committed");
        keys.push(valkey.keys().board(board.id));
    }
    let (is_done, target) = (Arc::new(AtomicBool::new(false)), valkey.keys().board(shown.id));
    let (is_stopped, server) = (Arc::clone(&is_done), Arc::clone(&node));
    let swap = move |source: &[Key; 4]| {
        let copy =
            "for i = 1, 3 do redis.call('COPY', KEYS[i], KEYS[i + 3], 'REPLACE') end return 1";
        let mut call = vec!["EVAL", copy, "6"];
        call.extend(source.iter().take(3).chain(target.iter().take(3)).map(|key| &**key));
        assert_eq!(server.cli(&call), "1");
    };
    swap(&keys[0]);
    let swapping = tokio::task::spawn_blocking(move || {
        for source in keys.iter().rev().cycle().take_while(|_| !is_stopped.load(Ordering::SeqCst)) {
            swap(source);
        }
    });
    let (stop, mut not_merged) = (Stop(is_done), 0);
    for _ in 0..150 {
        let merged = valkey.merge_boards(std::slice::from_ref(&shown), MergeBy::Sum).await;
        match merged.expect("merged") {
            BoardAnswer::Ready(members) => {
                let first = members.iter().filter(|(name, _)| name.as_str().starts_with("one"));
                assert!([0, 2_500].contains(&first.count()), "two boards are mixed");
            }
            BoardAnswer::Missing => not_merged += 1,
            BoardAnswer::Building => panic!("no rebuild is under way"),
        }
    }
    drop(stop);
    swapping.await.expect("swapped");
    assert!(not_merged > 0, "the board was never replaced while it was read");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn boards_of_a_cluster_move_and_are_rebuilt_after_a_fail_over() {
    let mut cluster = Cluster::start();
    let valkey = valkey(&cluster.url());
    let boards = ten_boards(&valkey).await;
    check_merges(&valkey, &boards).await;
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
