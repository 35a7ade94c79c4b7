//! Boards on real Valkey servers.
//!
//! | module | tests |
//! | --- | --- |
//! | [`model`] | random changes and reads, compared with a plain sorted vector |
//! | [`rebuilds`] | rebuilds: writers meanwhile, two rebuilds, lost data |
//! | [`concurrent`] | writers and readers at the same time |
//! | [`reads`] | ranges, percentiles, pages and limits, by example |
//! | [`cluster`] | boards on a cluster |

mod cluster;
mod concurrent;
mod model;
mod reads;
mod rebuilds;

use fanfold_core::board::{Order, Ranks};
use fanfold_core::{Board, MemberName, RoundId, Scores, Time};
use fanfold_engines::valkey::{
    BoardAnswer, BoardBegun, BoardChange, BoardCommit, BoardPage, PageOf, PutDone, Ranked,
    Standing, Valkey,
};
use fanfold_runtime::Config;
use fanfold_runtime::aws::SdkConfig;

use crate::harness::dice::fresh;
use crate::harness::valkeys::Node;

const NOW: Time = Time::from_ms(1_800_000_000_000);

fn node() -> Node {
    Node::start(&["--enable-debug-command", "yes"])
}

fn valkey(url: &str) -> Valkey {
    let config = Config::from_pairs([("REDIS_URL", url.to_owned())]);
    Valkey::new(&SdkConfig::builder().build(), &config).expect("Valkey")
}

/// A new board.
fn board(orders: &[Order], ranks: Ranks, limit: Option<u64>) -> Board {
    let id = RoundId(u128::from(fresh()) << 64 | u128::from(fresh()));
    Board { id, orders: orders.to_vec().try_into().expect("orders"), ranks, limit }
}

/// A board of one score, the highest first.
fn points(ranks: Ranks, limit: Option<u64>) -> Board {
    board(&[Order::Descending], ranks, limit)
}

fn member(name: &str) -> MemberName {
    name.parse().expect("a name")
}

fn scores(values: &[i64]) -> Scores {
    Scores::new(values).expect("scores")
}

fn change(name: &str, revision: u64, values: &[i64]) -> BoardChange {
    BoardChange { member: member(name), revision, scores: Some(scores(values)) }
}

fn removal(name: &str, revision: u64) -> BoardChange {
    BoardChange { member: member(name), revision, scores: None }
}

/// Makes a board ready, with these rows.
async fn build(valkey: &Valkey, board: &Board, rows: &[BoardChange]) {
    assert_eq!(valkey.begin_board(board, "first", NOW).await.expect("begun"), BoardBegun::Begun);
    for rows in rows.chunks(500) {
        valkey.load_board(board, "first", rows, NOW).await.expect("loaded");
    }
    let done = valkey.commit_board(board, "first", NOW).await.expect("committed");
    assert_eq!(done, BoardCommit::Done(Vec::new()));
}

async fn put(valkey: &Valkey, board: &Board, changes: &[BoardChange]) -> PutDone {
    let done = valkey.put_on_board(board, changes, NOW).await.expect("put");
    done.ready().expect("a board")
}

/// The ranks of changed members.
fn ranks(done: &PutDone) -> Vec<Option<u64>> {
    done.placed.iter().map(|placed| Some(placed.place?.1)).collect()
}

async fn page(valkey: &Valkey, board: &Board, page: PageOf<'_>) -> BoardPage {
    let page = valkey.board_page(board, page).await.expect("a page");
    page.ready().and_then(Ranked::page).expect("a board")
}

/// The names and ranks on a page.
fn rows(page: &BoardPage) -> Vec<(&str, u64)> {
    page.rows.iter().map(|row| (row.member.as_str(), row.rank)).collect()
}

async fn standing(valkey: &Valkey, board: &Board, name: &str) -> Option<Standing> {
    let standings = valkey.board_standings(board, &[member(name)]).await.expect("read");
    standings.ready().expect("a board").standings[0]
}

/// Whether the board is missing, or is built.
async fn state(valkey: &Valkey, board: &Board) -> BoardAnswer<()> {
    let standings = valkey.board_standings(board, &[]).await.expect("read").map(drop);
    let page = PageOf::Rank { from: 1, limit: 9 };
    let page = valkey.board_page(board, page).await.expect("read").map(drop);
    assert_eq!(standings, page);
    page
}
