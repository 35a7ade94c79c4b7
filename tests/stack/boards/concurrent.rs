//! Writers and readers at the same time.

use fanfold_core::Board;
use fanfold_core::board::{Order, Ranks};
use fanfold_engines::valkey::{PageOf, Valkey};
use tokio::task::JoinSet;

use super::{board, build, change, member, node, page, put, standing, valkey};
use crate::harness::dice::Dice;

const WRITERS: u64 = 10;
const CHANGES: u64 = 60;
const READERS: u64 = 4;

/// The scores of a member follow from its revision and its number, so each answer shows whether they belong together.
fn scores_of(writer: u64, revision: u64) -> [i64; 2] {
    let first = (revision * 7 + writer * 3) % 11;
    [first as i64, (revision * 1_000 + writer) as i64]
}

async fn write(valkey: Valkey, board: Board, writer: u64) {
    let name = format!("m{writer}");
    for revision in 1..=CHANGES {
        let one = change(&name, revision, &scores_of(writer, revision));
        let done = put(&valkey, &board, &[one]).await;
        let placed = done.placed[0];
        let (scores, rank) = placed.place.expect("on the board");
        assert_eq!(
            (placed.revision, scores.as_slice()),
            (revision, &scores_of(writer, revision)[..])
        );
        assert!((1..=WRITERS).contains(&rank), "{rank}");
    }
}

async fn read(valkey: Valkey, board: Board, seed: u64) {
    let mut dice = Dice(seed);
    for _ in 0..150 {
        let names: Vec<_> = (0..WRITERS).map(|n| member(&format!("m{n}"))).collect();
        let read = valkey.board_standings(&board, &names).await.expect("read");
        let read = read.ready().expect("a board");
        let all: Vec<_> = names
            .into_iter()
            .zip(&read.standings)
            .filter_map(|(name, standing)| Some((name, standing.as_ref()?)))
            .collect();
        assert_eq!(all.len() as u64, read.members);
        for (name, standing) in &all {
            let writer = name.as_str()[1..].parse().expect("a number");
            let expected = scores_of(writer, standing.revision);
            assert_eq!(standing.scores.as_slice(), expected, "scores of another revision");
        }
        // the ranks of one answer are those of its own scores
        let among: Vec<_> = all.iter().map(|(name, one)| (name.clone(), one.scores)).collect();
        let ranks: Vec<u64> = all.iter().map(|(_, standing)| standing.rank).collect();
        assert_eq!(ranks, board.ranks_among(&among));
        let name = member(&format!("m{}", dice.below(WRITERS)));
        let around = PageOf::Around { member: &name, above: WRITERS, below: WRITERS };
        let around = valkey.board_page(&board, around).await.expect("read").ready();
        let Some(shown) = around.expect("a board").page() else { continue };
        assert_eq!(shown.rows.len() as u64, shown.members);
        let among: Vec<_> = shown.rows.iter().map(|row| (row.member.clone(), row.scores)).collect();
        let ranks: Vec<u64> = shown.rows.iter().map(|row| row.rank).collect();
        assert_eq!(ranks, board.ranks_among(&among));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_pairs_a_rank_with_other_scores() {
    let node = node();
    let valkey = valkey(&node.url());
    for ranks in Ranks::ALL {
        let board = board(&[Order::Descending, Order::Ascending], ranks, None);
        build(&valkey, &board, &[]).await;
        let mut tasks = JoinSet::new();
        for writer in 0..WRITERS {
            tasks.spawn(write(valkey.clone(), board.clone(), writer));
        }
        for seed in 0..READERS {
            tasks.spawn(read(valkey.clone(), board.clone(), seed));
        }
        while let Some(done) = tasks.join_next().await {
            done.expect("no task fails");
        }
        let shown = page(&valkey, &board, PageOf::Rank { from: 1, limit: 100 }).await;
        assert_eq!(shown.members, WRITERS);
        for writer in 0..WRITERS {
            let name = format!("m{writer}");
            let last = standing(&valkey, &board, &name).await.expect("on the board");
            assert_eq!(last.scores.as_slice(), scores_of(writer, CHANGES), "a change is lost");
        }
    }
}
