//! Random changes and reads, compared with a plain sorted vector.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fanfold_core::board::{Order, Ranks};
use fanfold_core::limits::BOARD_REMOVED_KEPT;
use fanfold_core::{Board, MemberName, Scores};
use fanfold_engines::valkey::{BoardChange, PageOf, RankedMember};

use super::{NOW, board, build, member, node, page, scores, valkey};
use crate::harness::dice::Dice;

const NAMES: [&str; 12] =
    ["a", "b", "ab", "é", "猫", "\u{3fffd}", "{1}", "a:b", "0", "\u{a1}x", "x y", "🦀"];
const VALUES: [i64; 8] = [i64::MIN, i64::MIN + 1, -1, 0, 1, 2, i64::MAX - 1, i64::MAX];

/// The expected data of a board.
#[derive(Default)]
struct Model {
    /// The members on the board, in order.
    sorted: Vec<(Scores, MemberName)>,
    /// The newest revision of each member.
    revisions: BTreeMap<MemberName, u64>,
}

impl Model {
    fn apply(&mut self, board: &Board, change: &BoardChange) {
        if self.revisions.get(&change.member).is_some_and(|known| *known >= change.revision) {
            return;
        }
        self.revisions.insert(change.member.clone(), change.revision);
        self.sorted.retain(|(_, name)| *name != change.member);
        if let Some(scores) = change.scores {
            self.sorted.push((scores, change.member.clone()));
            self.sorted.sort_by(|(one, a), (two, b)| {
                board.orders.compare(one, two).then_with(|| a.cmp(b))
            });
        }
    }

    fn trim(&mut self, board: &Board) -> Vec<(MemberName, Scores)> {
        let keep = board.limit.map_or(usize::MAX, |limit| limit as usize).min(self.sorted.len());
        self.sorted.split_off(keep).into_iter().map(|(scores, name)| (name, scores)).collect()
    }

    fn rows(&self, board: &Board) -> Vec<RankedMember> {
        let rank = |position: usize| {
            let (own, _) = &self.sorted[position];
            let better = self.sorted.iter().filter(|(one, _)| board.orders.is_better(one, own));
            let different: BTreeSet<&Scores> = better.clone().map(|(scores, _)| scores).collect();
            1 + match board.ranks {
                Ranks::Competition => better.count() as u64,
                Ranks::Dense => different.len() as u64,
                Ranks::Ordinal => position as u64,
            }
        };
        let row = |(position, (scores, name)): (usize, &(Scores, MemberName))| RankedMember {
            rank: rank(position),
            member: name.clone(),
            scores: *scores,
        };
        self.sorted.iter().enumerate().map(row).collect()
    }
}

fn some_scores(dice: &mut Dice, count: usize) -> Scores {
    let values: Vec<i64> = (0..count)
        .map(|_| if dice.one_in(8) { dice.next() as i64 } else { *dice.pick(&VALUES) })
        .collect();
    scores(&values)
}

fn some_board(dice: &mut Dice) -> Board {
    let count = 1 + dice.below(4) as usize;
    let orders: Vec<Order> =
        (0..count).map(|_| *dice.pick(&[Order::Ascending, Order::Descending])).collect();
    let limit = dice.one_in(2).then(|| 1 + dice.below(8));
    board(&orders, *dice.pick(&Ranks::ALL), limit)
}

#[tokio::test]
async fn boards_match_a_sorted_vector() {
    let node = node();
    let valkey = valkey(&node.url());
    for seed in 0..120 {
        let mut dice = Dice(seed);
        let (board, mut model) = (some_board(&mut dice), Model::default());
        let width = board.orders.as_slice().len();
        build(&valkey, &board, &[]).await;
        let mut next = 1;
        for step in 0..40 {
            let changes: Vec<BoardChange> = (0..1 + dice.below(4))
                .map(|_| {
                    // late, the same, and new revisions; some so great that doubles are not exact
                    next += dice.below(3);
                    let revision = next - dice.below(next.min(4));
                    let offset = if seed % 2 == 0 { u64::MAX - 1_000 } else { 0 };
                    BoardChange {
                        member: member(NAMES[dice.below(NAMES.len() as u64) as usize]),
                        revision: offset + revision,
                        scores: (!dice.one_in(5)).then(|| some_scores(&mut dice, width)),
                    }
                })
                .collect();
            let doing = format!("{board:?}, seed {seed}, step {step}: {changes:?}");
            let done = valkey.put_on_board(&board, &changes, NOW).await.expect("put");
            let done = done.ready().expect("a board");
            for change in &changes {
                model.apply(&board, change);
            }
            let out = model.trim(&board);
            let rows = model.rows(&board);
            assert_eq!(done.out, out, "{doing}");
            assert_eq!(done.members, rows.len() as u64, "{doing}");
            for (change, placed) in changes.iter().zip(&done.placed) {
                let row = rows.iter().find(|row| row.member == change.member);
                assert_eq!(placed.place, row.map(|row| (row.scores, row.rank)), "{doing}");
                assert_eq!(placed.revision, model.revisions[&change.member], "{doing}");
            }
            check(&valkey, &board, (&model, &rows), &mut dice, &doing).await;
        }
    }
}

async fn check(
    valkey: &fanfold_engines::valkey::Valkey,
    board: &Board,
    (model, all): (&Model, &[RankedMember]),
    dice: &mut Dice,
    doing: &str,
) {
    let count = all.len() as u64;
    // every member
    let names: Vec<MemberName> = NAMES.iter().map(|name| member(name)).collect();
    let read = valkey.board_standings(board, &names).await.expect("read").ready().expect("a board");
    assert_eq!(read.members, count, "{doing}");
    for (name, standing) in names.iter().zip(&read.standings) {
        let row = all.iter().find(|row| row.member == *name);
        let found = standing.map(|standing| (standing.scores, standing.rank));
        assert_eq!(found, row.map(|row| (row.scores, row.rank)), "{doing}");
        let (Some(standing), Some(row)) = (standing, row) else { continue };
        assert_eq!(standing.revision, model.revisions[name], "{doing}");
        let not_better = all.iter().filter(|one| !board.orders.is_better(&one.scores, &row.scores));
        assert_eq!(standing.percentile(count), (not_better.count() as u64, count), "{doing}");
    }
    // a page from a rank
    let (from, limit) = (1 + dice.below(10), dice.below(5));
    let read = page(valkey, board, PageOf::Rank { from, limit }).await;
    let expected: Vec<RankedMember> =
        all.iter().filter(|row| row.rank >= from).take(limit as usize).cloned().collect();
    assert_eq!(read.rows, expected, "{doing}, from {from}");
    // around a member
    let (name, above, below) = (*dice.pick(&NAMES), dice.below(4), dice.below(4));
    let around = PageOf::Around { member: &member(name), above, below };
    let read = valkey.board_page(board, around).await.expect("a page").ready().expect("a board");
    let rows = read.page().map(|page| page.rows);
    let expected = all.iter().position(|row| row.member.as_str() == name).map(|place| {
        let end = all.len().min(place + below as usize + 1);
        all[place.saturating_sub(above as usize)..end].to_vec()
    });
    assert_eq!(rows, expected, "{doing}, around {name}");
    // a range of the first score
    let (one, two) = (*dice.pick(&VALUES), *dice.pick(&VALUES));
    let (skip, limit) = (dice.below(3), dice.below(5));
    let read = page(valkey, board, PageOf::Between { scores: (one, two), skip, limit }).await;
    let is_in =
        |row: &&RankedMember| (one.min(two)..=one.max(two)).contains(&row.scores.as_slice()[0]);
    let range: Vec<RankedMember> = all.iter().filter(is_in).cloned().collect();
    assert_eq!(read.in_range, range.len() as u64, "{doing}, {one} to {two}");
    let expected: Vec<RankedMember> =
        range.into_iter().skip(skip as usize).take(limit as usize).collect();
    assert_eq!(read.rows, expected, "{doing}, {one} to {two}");
    // the member at a percentile
    let percentile = *dice.pick(&[0, 1, 2_500, 5_000, 7_777, 9_999, 10_000]);
    let read = page(valkey, board, PageOf::Percentile(percentile)).await;
    let place = (percentile * count).div_ceil(10_000).max(1);
    let expected: Vec<RankedMember> =
        all.iter().rev().skip(place as usize - 1).take(1).cloned().collect();
    assert_eq!(read.rows, expected, "{doing}, percentile {percentile} of {count}");
    assert_eq!(read.position, (count > 0).then(|| count + 1 - place), "{doing}");
}

/// The revision of a removed member is kept for an hour, and not for longer.
#[tokio::test]
async fn a_late_change_does_not_bring_back_a_removed_member() {
    let node = node();
    let valkey = valkey(&node.url());
    let board = super::points(Ranks::Ordinal, None);
    build(&valkey, &board, &[]).await;
    let late = super::change("gone", 4, &[1]);
    super::put(&valkey, &board, &[super::removal("gone", 5)]).await;
    let back =
        [super::change("back", 1, &[1]), super::removal("back", 2), super::change("back", 3, &[3])];
    super::put(&valkey, &board, &back).await;
    for _ in 0..2 {
        let done = super::put(&valkey, &board, std::slice::from_ref(&late)).await;
        assert_eq!((done.placed[0].revision, done.placed[0].place), (5, None));
    }
    // another removal, an hour later, forgets the first one
    let [_, known, _, removed] = valkey.keys().board(board.id);
    let later = NOW + BOARD_REMOVED_KEPT + Duration::from_millis(1);
    assert_eq!(node.cli(&["HEXISTS", &known, "gone"]), "1");
    valkey.put_on_board(&board, &[super::removal("other", 1)], later).await.expect("put");
    assert_eq!(node.cli(&["HEXISTS", &known, "gone"]), "0");
    // with the member that marks the key
    assert_eq!(node.cli(&["ZCARD", &removed]), "2");
    let back = super::standing(&valkey, &board, "back").await.expect("a member");
    assert_eq!((back.revision, back.rank), (3, 1), "a member that came back is not forgotten");
}
