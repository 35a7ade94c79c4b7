//! Ranges, percentiles, pages and wrong calls, by example.

use fanfold_core::board::{Order, Ranks};
use fanfold_core::limits::BOARD_BATCH_MAX;
use fanfold_engines::valkey::PageOf;

use super::{
    NOW, board, build, change, member, node, page, points, put, ranks, rows, scores, standing,
    valkey,
};

#[tokio::test]
async fn ties_have_the_ranks_of_their_kind() {
    let node = node();
    let valkey = valkey(&node.url());
    let members =
        [("a", 9), ("b", 7), ("c", 7), ("d", 5)].map(|(name, score)| change(name, 1, &[score]));
    let kinds = [
        (Ranks::Competition, [1, 2, 2, 4]),
        (Ranks::Dense, [1, 2, 2, 3]),
        (Ranks::Ordinal, [1, 2, 3, 4]),
    ];
    for (kind, expected) in kinds {
        let board = points(kind, None);
        build(&valkey, &board, &[]).await;
        let done = put(&valkey, &board, &members).await;
        assert_eq!(ranks(&done), expected.map(Some));
        let from = page(&valkey, &board, PageOf::Rank { from: 3, limit: 9 }).await;
        let names: Vec<&str> = rows(&from).into_iter().map(|(name, _)| name).collect();
        let third: &[&str] = if kind == Ranks::Ordinal { &["c", "d"] } else { &["d"] };
        assert_eq!(names, third);
        // the whole board without the last of two equal members
        put(&valkey, &board, &[change("c", 2, &[1])]).await;
        assert_eq!(standing(&valkey, &board, "d").await.map(|one| one.rank), Some(3));
        put(&valkey, &board, &[change("b", 2, &[0])]).await;
        assert_eq!(standing(&valkey, &board, "d").await.map(|one| one.rank), Some(2));
    }
}

#[tokio::test]
async fn scores_are_exact_over_the_whole_range() {
    let node = node();
    let valkey = valkey(&node.url());
    let board = board(&[Order::Descending, Order::Ascending], Ranks::Competition, None);
    let top = i64::MAX;
    let all = [
        ("a", [top, 5]),
        ("b", [top - 1, 1]),
        ("c", [top, 4]),
        ("d", [i64::MIN, 0]),
        ("e", [i64::MIN + 1, 0]),
    ];
    build(&valkey, &board, &all.map(|(name, both)| change(name, 1, &both))).await;
    let shown = page(&valkey, &board, PageOf::Rank { from: 1, limit: 9 }).await;
    assert_eq!(rows(&shown), [("c", 1), ("a", 2), ("b", 3), ("e", 4), ("d", 5)]);
    assert_eq!(shown.rows[2].scores, scores(&[top - 1, 1]));
}

#[tokio::test]
async fn a_percentile_is_the_share_of_members_that_are_not_better() {
    let node = node();
    let valkey = valkey(&node.url());
    let board = points(Ranks::Competition, None);
    let all: Vec<_> = (1..=10).map(|n| change(&format!("m{n}"), 1, &[n])).collect();
    build(&valkey, &board, &all).await;
    put(&valkey, &board, &[change("m9", 2, &[10])]).await;
    for (name, expected) in [("m10", 10), ("m9", 10), ("m8", 8), ("m1", 1)] {
        let one = standing(&valkey, &board, name).await.expect("a member");
        assert_eq!(one.percentile(10), (expected, 10), "{name}");
    }
    for (percentile, expected) in [(0, 1), (1_000, 1), (1_001, 2), (5_000, 5), (10_000, 10)] {
        let shown = page(&valkey, &board, PageOf::Percentile(percentile)).await;
        assert_eq!(shown.rows[0].scores, scores(&[expected]), "{percentile}");
    }
    let empty = points(Ranks::Dense, None);
    build(&valkey, &empty, &[]).await;
    let shown = page(&valkey, &empty, PageOf::Percentile(5_000)).await;
    assert_eq!((shown.members, shown.position, shown.rows.len()), (0, None, 0));
}

#[tokio::test]
async fn calls_that_are_too_large_and_wrong_scores_are_refused() {
    let node = node();
    let valkey = valkey(&node.url());
    let board = points(Ranks::Dense, None);
    build(&valkey, &board, &[]).await;
    let most: Vec<_> = (0..BOARD_BATCH_MAX).map(|n| change(&format!("m{n}"), 1, &[1])).collect();
    assert_eq!(put(&valkey, &board, &most).await.members, 100);
    let names: Vec<_> = most.iter().map(|one| one.member.clone()).collect();
    let read =
        valkey.board_standings(&board, &names).await.expect("read").ready().expect("a board");
    assert!(read.standings.iter().all(|one| one.is_some_and(|one| one.rank == 1)));
    let more = [most, vec![change("more", 1, &[1])]].concat();
    assert!(valkey.put_on_board(&board, &more, NOW).await.is_err());
    let names: Vec<_> = more.iter().map(|one| one.member.clone()).collect();
    assert!(valkey.board_standings(&board, &names).await.is_err());
    let page = PageOf::Rank { from: 1, limit: 101 };
    assert!(valkey.board_page(&board, page).await.is_err());
    let wrong = [change("two", 1, &[1, 2])];
    assert!(valkey.put_on_board(&board, &wrong, NOW).await.is_err());
    let around = PageOf::Around { member: &member("nobody"), above: 1, below: 1 };
    let read = valkey.board_page(&board, around).await.expect("read").ready().expect("a board");
    assert_eq!(read.page(), None);
}

/// A member that this version cannot read makes the answer an error, not a wrong page.
#[tokio::test]
async fn an_unknown_answer_is_an_error() {
    let node = node();
    let valkey = valkey(&node.url());
    let board = points(Ranks::Ordinal, None);
    build(&valkey, &board, &[change("a", 1, &[1])]).await;
    let [members, known, ..] = valkey.keys().board(board.id);
    node.cli(&["ZADD", &members, "0", "short"]);
    assert!(valkey.board_page(&board, PageOf::Rank { from: 1, limit: 9 }).await.is_err());
    node.cli(&["HSET", &known, "b", "123456789"]);
    assert!(valkey.board_standings(&board, &[member("b")]).await.is_err());
}
