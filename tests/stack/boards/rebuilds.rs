//! Rebuilds: writers meanwhile, two rebuilds, lost data.

use std::time::Duration;

use fanfold_core::RoundId;
use fanfold_core::board::Ranks;
use fanfold_core::limits::{BOARD_LEASE, BOARD_QUEUED, BOARD_REBUILD_KEPT, BOARD_REST_QUEUED};
use fanfold_core::time::millis;
use fanfold_engines::valkey::{
    BoardAnswer, BoardBegun, BoardCommit, BoardLoaded, PageOf, Versions,
};

use super::{
    NOW, build, change, member, node, page, points, put, ranks, removal, rows, scores, standing,
    state, valkey,
};

#[tokio::test]
async fn a_board_that_is_built_is_not_shown_and_keeps_the_changes_of_writers() {
    let node = node();
    let valkey = valkey(&node.url());
    for ranks in Ranks::ALL {
        let board = points(ranks, None);
        assert_eq!(state(&valkey, &board).await, BoardAnswer::Missing);
        let missing = valkey.put_on_board(&board, &[change("a", 1, &[1])], NOW).await.expect("put");
        assert_eq!(missing, BoardAnswer::Missing);
        assert_eq!(valkey.begin_board(&board, "t", NOW).await.expect("begun"), BoardBegun::Begun);
        assert_eq!(state(&valkey, &board).await, BoardAnswer::Building);
        // a newer change before the row, an older one after it, a removal before the row
        let first = [change("a", 5, &[50]), removal("b", 5)];
        let building = valkey.put_on_board(&board, &first, NOW).await.expect("put");
        assert_eq!(building, BoardAnswer::Building);
        let read =
            [change("a", 4, &[4]), change("b", 4, &[4]), change("c", 7, &[70]), removal("d", 9)];
        let loaded = valkey.load_board(&board, "t", &read, NOW).await.expect("loaded");
        assert_eq!(loaded, BoardLoaded::Done);
        let late = [change("c", 6, &[6]), change("d", 8, &[8])];
        assert_eq!(
            valkey.put_on_board(&board, &late, NOW).await.expect("put"),
            BoardAnswer::Building
        );
        assert_eq!(state(&valkey, &board).await, BoardAnswer::Building);
        // a repeated commit has the same result
        for _ in 0..2 {
            let done = valkey.commit_board(&board, "t", NOW).await.expect("committed");
            assert_eq!(done, BoardCommit::Done(Vec::new()));
        }
        let shown = page(&valkey, &board, PageOf::Rank { from: 1, limit: 9 }).await;
        assert_eq!(rows(&shown), [("c", 1), ("a", 2)]);
        assert_eq!(valkey.begin_board(&board, "u", NOW).await.expect("begun"), BoardBegun::Ready);
        let loaded = valkey.load_board(&board, "t", &read, NOW).await.expect("loaded");
        assert_eq!(loaded, BoardLoaded::Lost);
        valkey.drop_board(&board).await.expect("dropped");
        assert_eq!(state(&valkey, &board).await, BoardAnswer::Missing);
    }
}

#[tokio::test]
async fn one_rebuild_runs_and_a_dead_one_is_replaced() {
    let node = node();
    let valkey = valkey(&node.url());
    let board = points(Ranks::Dense, None);
    let begin =
        async |token: &str, now| valkey.begin_board(&board, token, now).await.expect("begun");
    assert_eq!(begin("one", NOW).await, BoardBegun::Begun);
    let load = async |token: &str, name: &str, now| {
        valkey.load_board(&board, token, &[change(name, 1, &[1])], now).await.expect("loaded")
    };
    assert_eq!(load("one", "a", NOW).await, BoardLoaded::Done);
    assert_eq!(begin("two", NOW).await, BoardBegun::Busy);
    // a call that is repeated keeps the rows
    assert_eq!(begin("one", NOW).await, BoardBegun::Begun);
    // each call renews the lease
    let later = NOW + BOARD_LEASE - Duration::from_millis(1);
    assert_eq!(load("one", "b", later).await, BoardLoaded::Done);
    let second = later + BOARD_LEASE;
    assert_eq!(begin("two", second - Duration::from_millis(1)).await, BoardBegun::Busy);
    assert_eq!(begin("two", second).await, BoardBegun::Begun);
    // the first one was only slow
    assert_eq!(load("one", "c", second).await, BoardLoaded::Lost);
    let lost = valkey.commit_board(&board, "one", second).await.expect("committed");
    assert_eq!(lost, BoardCommit::Lost);
    assert_eq!(load("two", "d", second).await, BoardLoaded::Done);
    valkey.commit_board(&board, "two", second).await.expect("committed");
    let shown = page(&valkey, &board, PageOf::Rank { from: 1, limit: 9 }).await;
    assert_eq!(rows(&shown), [("d", 1)], "the rows of the first rebuild are gone");
}

#[tokio::test]
async fn a_server_that_lost_its_data_or_was_replaced_has_no_board() {
    let node = node();
    let valkey = valkey(&node.url());
    let losses: [&[&str]; 2] = [&["FLUSHALL"], &["DEBUG", "CHANGE-REPL-ID"]];
    for loss in losses {
        let board = points(Ranks::Dense, None);
        build(&valkey, &board, &[change("a", 1, &[1])]).await;
        assert!(standing(&valkey, &board, "a").await.is_some());
        node.cli(loss);
        assert_eq!(state(&valkey, &board).await, BoardAnswer::Missing, "{loss:?}");
        let put = valkey.put_on_board(&board, &[change("b", 1, &[1])], NOW).await.expect("put");
        assert_eq!(put, BoardAnswer::Missing, "{loss:?}");
        assert_eq!(valkey.begin_board(&board, "t", NOW).await.expect("begun"), BoardBegun::Begun);
        node.cli(loss);
        let rows = [change("c", 1, &[1])];
        let loaded = valkey.load_board(&board, "t", &rows, NOW).await.expect("loaded");
        assert_eq!(loaded, BoardLoaded::Lost, "{loss:?}");
        let done = valkey.commit_board(&board, "t", NOW).await.expect("committed");
        assert_eq!(done, BoardCommit::Lost, "{loss:?}");
        // the lease of a lost rebuild does not count
        assert_eq!(valkey.begin_board(&board, "u", NOW).await.expect("begun"), BoardBegun::Begun);
        valkey.load_board(&board, "u", &rows, NOW).await.expect("loaded");
        valkey.commit_board(&board, "u", NOW).await.expect("committed");
        let shown = page(&valkey, &board, PageOf::Rank { from: 1, limit: 9 }).await;
        assert_eq!(super::rows(&shown), [("c", 1)], "{loss:?}");
    }
}

/// An order may arrive when another rebuild has begun and its order waits, too. One of them is carried out.
#[tokio::test]
async fn an_order_takes_over_from_one_that_only_waits() {
    let node = node();
    let valkey = valkey(&node.url());
    let board = points(Ranks::Competition, None);
    let begin = async |token, now| valkey.begin_board(&board, token, now).await.expect("begun");
    let take = async |token, now| valkey.take_board(&board, token, now).await.expect("taken");
    let queue = async |token, is_first| {
        let queued = valkey.queue_board(&board, token, is_first, NOW).await;
        assert_eq!(queued.expect("queued"), BoardLoaded::Done);
    };
    assert_eq!(begin("one", NOW).await, BoardBegun::Begun);
    // the request may still load rows
    assert_eq!(take("early", NOW).await, BoardBegun::Busy);
    let loaded = valkey.load_board(&board, "one", &[change("a", 1, &[1])], NOW).await;
    assert_eq!(loaded.expect("loaded"), BoardLoaded::Done);
    assert_eq!(begin("reader", NOW).await, BoardBegun::Busy);
    queue("one", true).await;
    let second = Duration::from_secs(1);
    assert_eq!(begin("reader", NOW + BOARD_QUEUED).await, BoardBegun::Queued);
    assert_eq!(take("two", NOW + second).await, BoardBegun::Begun);
    assert_eq!(take("one", NOW + second).await, BoardBegun::Queued);
    let rows = [change("a", 1, &[1])];
    let lost = valkey.load_board(&board, "one", &rows, NOW + second).await.expect("loaded");
    assert_eq!(lost, BoardLoaded::Lost);
    let done = valkey.load_board(&board, "two", &rows, NOW + second).await.expect("loaded");
    assert_eq!(done, BoardLoaded::Done);
    assert_eq!(begin("reader", NOW + second).await, BoardBegun::Queued);
    // the order of the rest waits longer, and nobody takes over what is loaded
    queue("two", false).await;
    for who in [
        begin("three", NOW + BOARD_REST_QUEUED).await,
        take("three", NOW + BOARD_REST_QUEUED).await,
    ] {
        assert_eq!(who, BoardBegun::Queued);
    }
    assert_eq!(take("three", NOW + BOARD_REST_QUEUED + BOARD_LEASE).await, BoardBegun::Begun);
}

/// Nobody removes a board whose rebuild died, so its keys expire.
#[tokio::test]
async fn a_board_that_is_built_expires_if_its_rebuild_ends_early() {
    let node = node();
    let valkey = valkey(&node.url());
    let board = points(Ranks::Dense, None);
    let kept = async |least: Duration, step: &str| {
        for key in valkey.keys().board(board.id) {
            let left: i64 = node.cli(&["PTTL", &key]).trim().parse().expect("a time");
            let most = millis(BOARD_REBUILD_KEPT) as i64;
            assert!((millis(least) as i64..=most).contains(&left), "{step}: {key}: {left}");
        }
    };
    valkey.begin_board(&board, "t", NOW).await.expect("begun");
    let nearly = BOARD_REBUILD_KEPT - Duration::from_secs(60);
    kept(nearly, "begun").await;
    // a rebuild by messages can take longer: each call of it renews the time
    for key in valkey.keys().board(board.id) {
        node.cli(&["PEXPIRE", &key, "60000"]);
    }
    valkey.load_board(&board, "t", &[change("a", 1, &[1])], NOW).await.expect("loaded");
    kept(nearly, "loaded").await;
}

#[tokio::test]
async fn the_newest_version_of_a_board_is_known() {
    let node = node();
    let valkey = valkey(&node.url());
    let (all, kept) = (RoundId(5), Duration::from_secs(60));
    let known = async || valkey.board_versions(all).await.expect("versions");
    assert_eq!(known().await, Versions::default());
    valkey.note_begun(all, 7).await.expect("noted");
    valkey.note_ready(all, 7, kept).await.expect("noted");
    assert_eq!(known().await, Versions { begun: Some(7), ready: Some(7) });
    // a message that comes late makes an older one
    for version in [8, 6] {
        valkey.note_ready(all, version, kept).await.expect("noted");
        assert_eq!(known().await.ready, Some(8));
    }
    for key in valkey.keys().board_versions(all) {
        let left: i64 = node.cli(&["PTTL", &key]).trim().parse().expect("a time");
        assert!(left > 0, "{key}: {left}");
    }
    // only a board that is built has a lease
    let board = points(Ranks::Dense, None);
    let leased = async |now| valkey.has_board_lease(&board, now).await.expect("asked");
    assert!(!leased(NOW).await);
    valkey.begin_board(&board, "t", NOW).await.expect("begun");
    assert_eq!((leased(NOW).await, leased(NOW + BOARD_LEASE).await), (true, false));
    valkey.commit_board(&board, "t", NOW).await.expect("committed");
    assert!(!leased(NOW).await);
}

/// A server may lose one key, for example if it evicts keys without a time to live.
#[tokio::test]
async fn a_board_that_lost_one_key_is_missing() {
    let node = node();
    let valkey = valkey(&node.url());
    for lost in 0..3 {
        let board = points(Ranks::Dense, None);
        build(&valkey, &board, &[change("a", 1, &[1])]).await;
        node.cli(&["DEL", &valkey.keys().board(board.id)[lost]]);
        assert_eq!(state(&valkey, &board).await, BoardAnswer::Missing, "key {lost}");
        let put = valkey.put_on_board(&board, &[change("a", 2, &[2])], NOW).await.expect("put");
        assert_eq!(put, BoardAnswer::Missing, "key {lost}");
        valkey.begin_board(&board, "t", NOW).await.expect("begun");
        node.cli(&["DEL", &valkey.keys().board(board.id)[lost]]);
        let done = valkey.commit_board(&board, "t", NOW).await.expect("committed");
        assert_eq!(done, BoardCommit::Lost, "key {lost}");
    }
}

#[tokio::test]
async fn a_commit_removes_all_above_the_limit_and_names_them() {
    let node = node();
    let valkey = valkey(&node.url());
    let board = points(Ranks::Dense, Some(3));
    valkey.begin_board(&board, "t", NOW).await.expect("begun");
    let all: Vec<_> =
        (0..2_500).map(|n| change(&format!("{n:04}"), 5, &[i64::from(n) / 2])).collect();
    for rows in all.chunks(500) {
        valkey.load_board(&board, "t", rows, NOW).await.expect("loaded");
    }
    // each call removes the worst thousand
    let mut all_out = Vec::new();
    loop {
        match valkey.commit_board(&board, "t", NOW).await.expect("committed") {
            BoardCommit::More(mut out) => {
                assert_eq!(state(&valkey, &board).await, BoardAnswer::Building);
                assert_eq!(out.len(), 1_000);
                out.append(&mut all_out);
                all_out = out;
            }
            BoardCommit::Done(mut out) => {
                assert_eq!(out[0], (member("2497"), scores(&[1_248])), "the best one is first");
                out.append(&mut all_out);
                all_out = out;
                break;
            }
            BoardCommit::Lost => panic!("lost"),
        }
    }
    assert_eq!(all_out.len(), 2_497);
    assert!(all_out.is_sorted_by(|(_, one), (_, next)| one >= next));
    let shown = page(&valkey, &board, PageOf::Rank { from: 1, limit: 9 }).await;
    assert_eq!((rows(&shown), shown.members), (vec![("2498", 1), ("2499", 1), ("2496", 2)], 3));
    // a member that fell out is not on the board, and an older change does not bring it back
    let done =
        put(&valkey, &board, &[change("0001", 5, &[9_999]), change("0002", 6, &[9_999])]).await;
    assert_eq!(ranks(&done), [None, Some(1)]);
    assert_eq!(done.out, [(member("2496"), scores(&[1_248]))]);
    let done = put(&valkey, &board, &[change("worst", 1, &[-1])]).await;
    assert_eq!((ranks(&done), done.out), (vec![None], vec![(member("worst"), scores(&[-1]))]));
}
