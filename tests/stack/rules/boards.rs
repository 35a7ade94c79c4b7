//! Boards, one rule at a time, through the real handlers.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use axum::body::to_bytes;
use axum::response::{IntoResponse as _, Response};
use fanfold_core::board::{BoardSettings, Day, MergeBy, MergeOf, MergeSource, Ranks};
use fanfold_core::limits::{BOARD_MERGED_EVERY, BOARD_PARTS, BOARDS_MAX};
use fanfold_core::{FeedId, MemberName, PostId, RoundId, Scores, Time};
use fanfold_engines::rank::make;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{BoardAnswer, BoardChange, CardId, PageOf, Valkey};
use fanfold_functions::boards::changes::{changed_all, changed_one};
use fanfold_functions::boards::queries::BoardPageQuery;
use fanfold_kinds::boards::change::{Changed, ScoreChange, ScoreOutcome, What, change};
use fanfold_kinds::boards::events::continue_round;
use fanfold_kinds::boards::items::{Added, Addition, ScoreKey, StoredBoard};
use fanfold_kinds::boards::messages::RebuildBoard;
use fanfold_kinds::boards::read::{page, standings};
use fanfold_kinds::boards::round::BoardRound;
use fanfold_kinds::boards::{BoardRef, settings};
use fanfold_kinds::subscriptions::{ChangeEvent, RebuildOrder};
use fanfold_kinds::{App, Error};
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Announced;
use fanfold_web::{Problem, ProblemKind};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::board_settings;
use crate::harness::world::{Message, World};

fn member(name: &str) -> MemberName {
    name.parse().expect("a name")
}

pub(super) fn scores(values: &[i64]) -> Scores {
    Scores::new(values).expect("scores")
}

pub(super) fn board_of(world: &World, owner: &str, name: &str) -> BoardRef {
    BoardRef { owner: world.id(owner), name: name.parse().expect("a name"), day: None }
}

async fn try_put(
    world: &World,
    owner: &str,
    name: &str,
    changes: Value,
) -> Result<(StoredBoard, bool), Error> {
    let (owner, name) = (world.identity(owner), name.parse().expect("a name"));
    settings::put(&world.app, &owner, &name, board_settings(changes), world.now()).await
}

pub(super) async fn put(world: &World, name: &str, changes: Value) -> StoredBoard {
    try_put(world, "ash", name, changes).await.expect("a board").0
}

async fn try_change(
    app: &App,
    world: &World,
    user: &str,
    board: &BoardRef,
    changes: &[(&str, What)],
    key: Option<&str>,
) -> Result<Changed, Error> {
    let changes: Vec<ScoreChange> = changes
        .iter()
        .map(|(name, what)| ScoreChange { member: member(name), what: *what })
        .collect();
    change(app, &world.identity(user), board, &changes, key, world.now()).await
}

/// Changes members of a board of ash.
pub(super) async fn changed(world: &World, board: &str, changes: &[(&str, What)]) -> Changed {
    let board = board_of(world, "ash", board);
    try_change(&world.app, world, "ash", &board, changes, None).await.expect("changed")
}

/// The rank of each changed member.
fn ranks(changed: &Changed) -> Vec<Option<u64>> {
    let rank = |(_, outcome): &(MemberName, ScoreOutcome)| match outcome {
        ScoreOutcome::Placed { rank, .. } => *rank,
        _ => None,
    };
    changed.outcomes.iter().map(rank).collect()
}

/// All members with their ranks and scores.
async fn all(world: &World, board: &BoardRef) -> Vec<(u64, String, Vec<i64>)> {
    let first = PageOf::Rank { from: 1, limit: 100 };
    let shown = page(&world.app, board, first, world.now()).await.expect("a page").page;
    let rows = shown.rows.into_iter();
    rows.map(|row| (row.rank, row.member.to_string(), row.scores.as_slice().to_vec())).collect()
}

/// The names of all members, the best first.
pub(super) async fn names(world: &World, board: &str) -> Vec<String> {
    let board = board_of(world, "ash", board);
    all(world, &board).await.into_iter().map(|(_, name, _)| name).collect()
}

/// The status of an answer, its header `Retry-After`, and its body.
async fn answered(response: Response) -> (u16, Option<String>, Value) {
    let after = response.headers().get("retry-after");
    let after = after.map(|after| after.to_str().expect("a text").to_owned());
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    (status, after, serde_json::from_slice(&body).expect("JSON"))
}

fn kind(error: Error) -> ProblemKind {
    Problem::from(error).kind
}

/// The rows of the present round in DynamoDB, without those of removed members.
async fn rows(world: &World, board: &StoredBoard) -> BTreeMap<String, Vec<i64>> {
    let rows = board.rows(board.settings.round(world.now()));
    let mut found = BTreeMap::new();
    for part in 0..16 {
        let page = world.app.boards.page(rows.id, part, None, None).await.expect("rows");
        assert_eq!(page.next_after, None);
        let live = page
            .rows
            .into_iter()
            .filter_map(|row| Some((row.member.to_string(), row.scores?.as_slice().to_vec())));
        found.extend(live);
    }
    found
}

/// The world's use cases of boards with a Valkey that does not answer.
fn without_valkey(world: &World) -> App {
    let config = world.config_with_one("REDIS_URL", "redis://127.0.0.1:1");
    let mut boards = world.app.clone();
    boards.valkey = Valkey::new(&world.sdk, &config).expect("Valkey");
    boards
}

#[tokio::test]
async fn members_are_set_added_to_ranked_and_removed() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let (board, is_new) = try_put(&world, "ash", "a game", json!({})).await.expect("a board");
    assert!(is_new);
    let again = try_put(&world, "ash", "a game", json!({})).await.expect("the board");
    assert_eq!(again, (board.clone(), false));
    let done = changed(
        &world,
        "a game",
        &[("x", What::Set(scores(&[5]))), ("y", What::Set(scores(&[7])))],
    )
    .await;
    assert_eq!((ranks(&done), done.members), (vec![Some(2), Some(1)], Some(2)));
    // additions begin with zero
    let done = changed(
        &world,
        "a game",
        &[
            ("x", What::Add(scores(&[3]))),
            ("z", What::Add(scores(&[-1]))),
            ("nobody", What::Remove),
            ("y", What::SetIfBetter(scores(&[6]))),
        ],
    )
    .await;
    assert_eq!(ranks(&done), [Some(1), Some(3), None, Some(2)]);
    assert_eq!(done.outcomes[2].1, ScoreOutcome::Unknown);
    let done =
        changed(&world, "a game", &[("y", What::SetIfBetter(scores(&[8]))), ("z", What::Remove)])
            .await;
    assert_eq!((ranks(&done), done.members), (vec![Some(1), None], Some(2)));
    let expected = [(1, "x".to_owned(), vec![8]), (1, "y".to_owned(), vec![8])];
    let name = board_of(&world, "ash", "a game");
    assert_eq!(all(&world, &name).await, expected);
    let asked = [member("z"), member("y")];
    let found = standings(&world.app, &name, &asked, world.now()).await.expect("standings");
    assert_eq!((found.standings[0].1, found.members), (None, 2));
    let of_y = found.standings[1].1.expect("y");
    assert_eq!((of_y.rank, of_y.rank_among, of_y.not_better), (1, 1, 2));
    // the events find nothing to change
    world.drain().await;
    assert_eq!(all(&world, &name).await, expected);
    assert_eq!(rows(&world, &board).await.len(), 2);
    // an emptied server gets a new copy
    let copy = BoardRound::new(board, board_settings_round(&world), world.now()).copy();
    world.app.valkey.drop_board(&copy).await.expect("dropped");
    assert_eq!(all(&world, &name).await, expected);
}

fn board_settings_round(world: &World) -> fanfold_core::board::Round {
    board_settings(json!({})).round(world.now())
}

/// Ties cross the ends of pages, and a page that begins at a rank is continued by an offset.
#[tokio::test]
async fn pages_have_each_member_once_also_with_equal_ranks() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let all = [("a", 9), ("b", 9), ("c", 9), ("d", 9), ("e", 7), ("f", 7), ("g", 5)];
    let set = all.map(|(name, score)| (name, What::Set(scores(&[score]))));
    for (kind, first_of_seven) in [("competition", 5), ("dense", 2), ("ordinal", 5)] {
        put(&world, kind, json!({"ranks": kind})).await;
        changed(&world, kind, &set).await;
        let board = board_of(&world, "ash", kind);
        // as the query of a request is read
        let shown = async |query: Value| {
            let query: BoardPageQuery = serde_json::from_value(query).expect("a query");
            let found = page(&world.app, &board, query.page().expect("a page"), world.now());
            found.await.expect("a page").page
        };
        let walk = async |mut offset: usize, limit: usize| {
            let mut found = Vec::new();
            loop {
                let query = json!({"offset": offset.to_string(), "limit": limit.to_string()});
                let rows = shown(query).await.rows;
                if rows.is_empty() {
                    return found;
                }
                offset += rows.len();
                found.extend(rows.into_iter().map(|row| row.member.to_string()));
            }
        };
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        for limit in 1..=8 {
            assert_eq!(walk(0, limit).await, names, "{kind}, {limit} on a page");
        }
        let jump = shown(json!({"from_rank": first_of_seven.to_string(), "limit": "1"})).await;
        assert_eq!((jump.position, jump.rows[0].member.as_str()), (Some(5), "e"), "{kind}");
        let next = 5 - 1 + jump.rows.len();
        assert_eq!(walk(next, 1).await, names[5..], "{kind}");
    }
}

/// Extreme scores, in two orders.
#[tokio::test]
async fn scores_are_exact_and_a_sum_out_of_range_is_refused() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let board = put(&world, "b", json!({"orders": ["ascending", "descending"]})).await;
    let done = changed(
        &world,
        "b",
        &[
            ("low", What::Set(scores(&[i64::MIN, i64::MAX]))),
            ("next", What::Set(scores(&[i64::MIN, i64::MAX - 1]))),
            ("high", What::Set(scores(&[i64::MAX, i64::MIN]))),
        ],
    )
    .await;
    assert_eq!(ranks(&done), [Some(1), Some(2), Some(3)]);
    let done = changed(
        &world,
        "b",
        &[
            ("low", What::Add(scores(&[0, 1]))),
            ("high", What::Add(scores(&[1, 0]))),
            ("next", What::Add(scores(&[-1, 0]))),
            ("fits", What::Add(scores(&[i64::MIN, i64::MAX]))),
        ],
    )
    .await;
    let outcomes: Vec<ScoreOutcome> = done.outcomes.iter().map(|(_, outcome)| *outcome).collect();
    assert_eq!(outcomes[..3], [ScoreOutcome::Overflow; 3]);
    assert_eq!(ranks(&done)[3], Some(1));
    let done = changed(
        &world,
        "b",
        &[
            ("low", What::Add(scores(&[i64::MAX, i64::MIN]))),
            ("next", What::SetIfBetter(scores(&[i64::MIN, i64::MAX - 2]))),
        ],
    )
    .await;
    assert!(
        matches!(done.outcomes[0].1, ScoreOutcome::Placed { scores: of, .. } if of == scores(&[-1, -1]))
    );
    assert!(matches!(done.outcomes[1].1, ScoreOutcome::Placed { rank: Some(2), .. }), "{done:?}");
    let stored = rows(&world, &board).await;
    assert_eq!(stored["high"], [i64::MAX, i64::MIN]);
    assert_eq!(stored["next"], [i64::MIN, i64::MAX - 1]);
    let wrong = try_change(
        &world.app,
        &world,
        "ash",
        &board_of(&world, "ash", "b"),
        &[("x", What::Set(scores(&[1])))],
        None,
    )
    .await;
    assert_eq!(kind(wrong.unwrap_err()), ProblemKind::InvalidScores);
}

#[tokio::test]
async fn an_addition_with_a_key_is_made_once() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    put(&world, "b", json!({"open": true})).await;
    let board = board_of(&world, "ash", "b");
    let add = async |user: &str, name: &str, by: i64, key: &str| {
        let changes = [(name, What::Add(scores(&[by])))];
        let done = try_change(&world.app, &world, user, &board, &changes, Some(key)).await;
        done.expect("changed").outcomes[0].1
    };
    for _ in 0..3 {
        let outcome = add("ash", "x", 5, "key").await;
        assert_eq!(outcome, ScoreOutcome::Placed { scores: scores(&[5]), rank: Some(1) });
    }
    assert_eq!(add("ash", "x", 6, "key").await, ScoreOutcome::KeyReused);
    // a key is for one user and one member
    for (user, name) in [("birch", "x"), ("ash", "y")] {
        assert!(matches!(add(user, name, 6, "key").await, ScoreOutcome::Placed { .. }));
    }
    // two requests at the same time
    join_all((0..4).map(|_| add("ash", "x", 100, "another"))).await;
    // the key is forgotten after a day
    world.advance(Duration::from_secs(25 * 3600));
    add("ash", "x", 1_000, "key").await;
    let shown = all(&world, &board).await;
    assert_eq!(shown[0], (1, "x".to_owned(), vec![1_111]));
}

/// The answer to an addition at the end of a day is lost, and the client repeats it on the next day.
#[tokio::test]
async fn an_addition_that_is_repeated_after_its_period_is_made_once() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let stored = put(&world, "b", json!({"period": "day"})).await;
    let today = stored.settings.round(world.now());
    let (_, end) = stored.settings.span(today).expect("a day");
    world.advance(Duration::from_millis(end.ms() - world.now().ms() - 1));
    changed(&world, "b", &[("best", What::Set(scores(&[9])))]).await;
    let board = board_of(&world, "ash", "b");
    let add = async |changes: &[(&str, What)]| {
        let done = try_change(&world.app, &world, "ash", &board, changes, Some("key")).await;
        done.expect("changed")
    };
    let (of_x, of_y) = (("x", What::Add(scores(&[5]))), ("y", What::Add(scores(&[7]))));
    let first = add(&[of_x]).await;
    assert_eq!((first.outcomes[0].1, first.members), (placed_at(5, 2), Some(2)));
    world.advance(Duration::from_millis(1));
    let tomorrow = stored.settings.round(world.now());
    assert_ne!(today, tomorrow);
    // the answer is that of the first day
    for _ in 0..2 {
        let again = add(&[of_x]).await;
        assert_eq!((again.target.round, again.members), (today, Some(2)));
        assert_eq!(again.outcomes[0].1, placed_at(5, 2));
    }
    assert_eq!(add(&[("x", What::Add(scores(&[6])))]).await.outcomes[0].1, ScoreOutcome::KeyReused);
    assert_eq!(names(&world, "b").await, Vec::<String>::new());
    // a request of which only a part was made on the first day
    let rest = add(&[of_y, of_x]).await;
    let outcomes: Vec<ScoreOutcome> = rest.outcomes.iter().map(|(_, outcome)| *outcome).collect();
    assert_eq!(outcomes, [placed_at(7, 1), placed_at(5, 2)]);
    assert_eq!((rest.target.round, rest.members), (tomorrow, Some(1)));
    assert_eq!(names(&world, "b").await, ["y"]);
    world.drain().await;
    let day = BoardRef { day: today.first(), ..board };
    let of_today: Vec<String> =
        all(&world, &day).await.into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(of_today, ["best", "x"]);
}

fn placed_at(score: i64, rank: u64) -> ScoreOutcome {
    ScoreOutcome::Placed { scores: scores(&[score]), rank: Some(rank) }
}

/// A key that another request has just used.
#[tokio::test]
async fn a_key_is_checked_by_the_store() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let board = put(&world, "b", json!({})).await;
    let (round, x) = (board_settings_round(&world), member("x"));
    let (rows, key) = (board.rows(round), ScoreKey::new(world.id("ash"), "key", &board, round, &x));
    let addition = |by| Addition { member: &x, by: scores(&[by]), key: Some(key.clone()) };
    let store = &world.app.boards;
    let sent = Announced::assumed();
    for (by, added) in [(1, Added::Done), (1, Added::Earlier(round)), (2, Added::KeyReused)] {
        let result = store.add_scores(&sent, rows, &addition(by), world.now()).await;
        assert_eq!(result.expect("an answer"), added);
    }
    let found = store.rows_of(rows, std::slice::from_ref(&x)).await.expect("rows");
    assert_eq!(found[0].as_ref().and_then(|row| row.scores), Some(scores(&[1])));
}

/// A member who falls out is not in DynamoDB either, so it does not come back when there is room.
#[tokio::test]
async fn the_worst_members_fall_out() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let board = put(&world, "b", json!({"limit": 3})).await;
    let five: Vec<(&str, What)> = [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5)]
        .map(|(name, score)| (name, What::Set(scores(&[score]))))
        .into();
    let done = changed(&world, "b", &five).await;
    assert_eq!(done.out, [member("b"), member("a")]);
    assert_eq!(done.outcomes[0].1, ScoreOutcome::Gone);
    assert_eq!(rows(&world, &board).await.into_keys().collect::<Vec<_>>(), ["c", "d", "e"]);
    changed(&world, "b", &[("d", What::Remove)]).await;
    assert_eq!(names(&world, "b").await, ["e", "c"]);
    // an addition begins with zero again
    let done = changed(&world, "b", &[("a", What::Add(scores(&[1])))]).await;
    assert_eq!(ranks(&done), [Some(3)]);
    // members that are set while Valkey is away fall out when the copy is made
    let copy = BoardRound::new(board.clone(), board_settings_round(&world), world.now()).copy();
    let away = without_valkey(&world);
    let name = board_of(&world, "ash", "b");
    let done = try_change(&away, &world, "ash", &name, &five, None).await.expect("taken");
    assert_eq!((done.members, ranks(&done)), (None, vec![None; 5]));
    world.app.valkey.drop_board(&copy).await.expect("dropped");
    assert_eq!(names(&world, "b").await, ["e", "d", "c"]);
    assert_eq!(rows(&world, &board).await.into_keys().collect::<Vec<_>>(), ["c", "d", "e"]);
    // a lower limit makes another copy
    put(&world, "b", json!({"limit": 1})).await;
    assert_eq!(names(&world, "b").await, ["e"]);
    assert_eq!(rows(&world, &board).await.into_keys().collect::<Vec<_>>(), ["e"]);
}

/// If a function dies before it removes members that fell out, the next one does it.
#[tokio::test]
async fn a_member_that_fell_out_is_removed_by_the_next_function() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let board = put(&world, "b", json!({"limit": 1})).await;
    changed(&world, "b", &[("a", What::Set(scores(&[1])))]).await;
    // the rows are committed and placed, and then the function dies
    let target = BoardRound::new(board.clone(), board_settings_round(&world), world.now());
    let (store, x) = (&world.app.boards, member("x"));
    let sent = Announced::assumed();
    store
        .set_scores(&sent, target.rows(), &x, &scores(&[9]), None, world.now())
        .await
        .expect("set");
    let row = store.rows_of(target.rows(), &[x]).await.expect("rows").remove(0).expect("a row");
    let placed = fanfold_engines::valkey::BoardChange {
        member: row.member,
        revision: row.revision,
        scores: row.scores,
    };
    let valkey = &world.app.valkey;
    let done = valkey.put_on_board(&target.copy(), &[placed], world.now()).await.expect("put");
    assert_eq!(done.ready().expect("a board").fallen.len(), 1);
    assert_eq!(rows(&world, &board).await.len(), 2);
    // the event of the first change comes
    world.drain().await;
    assert_eq!(rows(&world, &board).await.into_keys().collect::<Vec<_>>(), ["x"]);
    assert_eq!(names(&world, "b").await, ["x"]);
}

/// A lower limit: more members fall out than one step removes from DynamoDB. Messages go on, without another change.
#[tokio::test]
async fn very_many_members_that_fell_out_are_removed_in_steps() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let all: Vec<(String, What)> =
        (0..320).map(|n| (format!("m{n}"), What::Set(scores(&[n])))).collect();
    let all: Vec<(&str, What)> = all.iter().map(|(name, what)| (name.as_str(), *what)).collect();
    for name in ["b", "c"] {
        put(&world, name, json!({})).await;
        for some in all.chunks(100) {
            changed(&world, name, some).await;
        }
    }
    world.drain().await;
    let late = Deadline::at(Time::EPOCH);
    // a reader makes the copy, and messages have time for one step each
    let board = put(&world, "b", json!({"limit": 5})).await;
    assert_eq!(names(&world, "b").await.len(), 5);
    let mut left = vec![rows(&world, &board).await.len()];
    loop {
        let taken = world.take().await;
        let order = taken.into_iter().find_map(|message| match message {
            Message::Rebuild(order) => Some(order),
            _ => None,
        });
        let Some(order) = order else { break };
        let handled = order.handle(&world.app, world.now(), late);
        handled.await.expect("handled");
        left.push(rows(&world, &board).await.len());
    }
    assert_eq!(left, [220, 120, 20, 5]);
    // the message of the reader is lost; the event of a later writer goes on
    let board = put(&world, "c", json!({"limit": 5})).await;
    assert_eq!(names(&world, "c").await.len(), 5);
    world.take().await;
    changed(&world, "c", &[("m319", What::Add(scores(&[1])))]).await;
    let mut left = vec![rows(&world, &board).await.len()];
    loop {
        let taken = world.take().await;
        let [Message::Like(event)] = &taken[..] else { break };
        event.handle(&world.app, world.now(), late).await.expect("handled");
        left.push(rows(&world, &board).await.len());
    }
    assert_eq!(left, [120, 20, 5]);
    assert_eq!(rows(&world, &board).await["m319"], [320]);
}

/// A commit that removes very many members is divided between messages.
#[tokio::test]
async fn a_commit_above_the_limit_is_continued_by_messages() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let board = put(&world, "b", json!({"limit": 5})).await;
    let target = BoardRound::new(board, board_settings_round(&world), world.now());
    let (valkey, copy) = (&world.app.valkey, target.copy());
    // members without rows take less time to make
    let row = |n: i64| BoardChange::fixed(member(&format!("m{n}")), scores(&[n]));
    valkey.begin_board(&copy, "t", world.now()).await.expect("begun");
    for first in (0..2_500).step_by(500) {
        let rows: Vec<BoardChange> = (first..first + 500).map(row).collect();
        valkey.load_board(&copy, "t", &rows, world.now()).await.expect("loaded");
    }
    let order = target.order("t");
    let mut next = Some(RebuildBoard { part: BOARD_PARTS - 1, ..order });
    let mut messages = 0;
    while let Some(order) = next {
        let late = Deadline::at(Time::EPOCH);
        let copies = &world.app;
        continue_round(copies, &order, world.now(), late).await.expect("copied");
        let shown = valkey.board_page(&copy, PageOf::Percentile(0)).await.expect("asked").ready();
        let taken = world.take().await;
        next = taken.into_iter().find_map(|message| match message {
            Message::Rebuild(RebuildOrder::RebuildBoard(order)) => Some(order),
            _ => None,
        });
        messages += 1;
        assert_eq!(shown.is_some(), messages > 2, "after {messages} messages");
        assert!(messages < 40, "it does not end");
    }
    assert_eq!(names(&world, "b").await.len(), 5);
}

#[tokio::test]
async fn writes_are_taken_and_ranked_later_without_valkey() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    put(&world, "b", json!({})).await;
    changed(&world, "b", &[("a", What::Set(scores(&[1])))]).await;
    world.drain().await;
    let (away, name) = (without_valkey(&world), board_of(&world, "ash", "b"));
    let set = [("b", What::Set(scores(&[2])))];
    let done = try_change(&away, &world, "ash", &name, &set, None).await.expect("taken");
    assert_eq!(done.outcomes[0].1, ScoreOutcome::Placed { scores: scores(&[2]), rank: None });
    let expected =
        json!({"member": "b", "scores": ["2"], "rank": null, "members": null, "fell_out": []});
    let answer = changed_one(done.clone()).expect("an answer");
    assert_eq!(answered(answer).await, (202, None, expected));
    let result = json!({"member": "b", "scores": ["2"], "rank": null, "problem": null});
    let expected = json!({"results": [result], "members": null, "fell_out": []});
    assert_eq!(answered(changed_all(done)).await, (202, None, expected));
    let refused = page(&away, &name, PageOf::Rank { from: 1, limit: 1 }, world.now()).await;
    assert_eq!(kind(refused.unwrap_err()), ProblemKind::Unavailable);
    // the server that is back has not heard of the change
    assert_eq!(names(&world, "b").await, ["a"]);
    world.drain().await;
    assert_eq!(names(&world, "b").await, ["b", "a"]);
}

/// 60 members of the board `b`, whose copy is lost and too large for a request.
async fn without_copy(
    world: &World,
    board: StoredBoard,
    score: impl Fn(i64) -> i64,
) -> (App, BoardRound) {
    let many: Vec<(String, What)> =
        (0..60).map(|n| (format!("m{n}"), What::Set(scores(&[score(n)])))).collect();
    let many: Vec<(&str, What)> = many.iter().map(|(name, what)| (name.as_str(), *what)).collect();
    changed(world, "b", &many).await;
    world.drain().await;
    let mut app = world.app.clone();
    app.settings.rows_in_request = 1;
    let target = BoardRound::new(board, board_settings_round(world), world.now());
    app.valkey.drop_board(&target.copy()).await.expect("dropped");
    (app, target)
}

/// One of the first writers makes the copy of a board, and the others wait for it: of a new board, of a new period, and
/// after a change of the limit.
#[tokio::test]
async fn all_of_the_first_parallel_writers_get_a_rank() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let period = |limit: u64| json!({"period": "day", "limit": limit});
    put(&world, "b", period(100)).await;
    let first_writes = async |round: i64| {
        let names: Vec<String> = (0..16).map(|n| format!("m{n}")).collect();
        let write = async |n: usize| {
            let set = [(names[n].as_str(), What::Set(scores(&[round + n as i64])))];
            changed(&world, "b", &set).await
        };
        for done in join_all((0..16).map(write)).await {
            assert!(ranks(&done)[0].is_some(), "{round}: {done:?}");
            assert_eq!(answered(changed_one(done).expect("an answer")).await.0, 200);
        }
    };
    first_writes(0).await;
    world.advance(Duration::from_secs(24 * 3600));
    first_writes(1).await;
    for limit in [90, 80, 70] {
        put(&world, "b", period(limit)).await;
        first_writes(limit as i64).await;
    }
    // the limit changes meanwhile
    for limit in [60, 50, 40] {
        let change = async {
            put(&world, "b", period(limit)).await;
        };
        futures::join!(first_writes(limit as i64), change);
    }
}

/// One user's large copies do not hold up the rebuilds of others.
#[tokio::test]
async fn orders_are_in_the_group_of_their_owner() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let board = put(&world, "b", json!({})).await;
    let (app, target) = without_copy(&world, board, |n| n).await;
    world.take().await;
    make(app.copier(), &target, world.now()).await.expect("begun");
    let mut app = world.app.clone();
    app.settings.inline_authors = 0;
    let (home, reading) = (FeedId::home(world.id("ash")), ReadContext::new(world.now()));
    app.feeds().slice(home, PostId::MAX, 1, &reading).await.expect("queued");
    let ash = world.id("ash").to_string();
    assert_eq!(world.groups("REBUILDS_QUEUE_URL", 2).await, [ash.clone(), ash]);
}

/// A round that is too large for a request is copied by messages, and is not shown before that.
#[tokio::test]
async fn a_large_board_is_copied_by_messages_and_never_shown_in_part() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let board = put(&world, "b", json!({"ranks": "dense"})).await;
    let (app, target) = without_copy(&world, board, |n| n / 2).await;
    let (name, first) = (board_of(&world, "ash", "b"), PageOf::Rank { from: 1, limit: 1 });
    let refused = page(&app, &name, first, world.now()).await;
    assert!(matches!(refused, Err(Error::BoardBuilding)), "{refused:?}");
    let problem = Problem::from(refused.unwrap_err());
    assert_eq!(
        (problem.kind, problem.detail.as_str()),
        (ProblemKind::Unavailable, "the board is being prepared; try again")
    );
    let (status, after, _) = answered(problem.into_response()).await;
    assert_eq!((status, after.as_deref()), (503, Some("1")));
    let taken = world.take().await;
    let [Message::Rebuild(RebuildOrder::RebuildBoard(order))] = &taken[..] else {
        panic!("{taken:?}")
    };
    // a change meanwhile
    let set = [("m0", What::Set(scores(&[0])))];
    let done = try_change(&app, &world, "ash", &name, &set, None).await.expect("taken");
    assert_eq!((ranks(&done), done.members), (vec![None], None));
    assert_eq!(answered(changed_one(done).expect("an answer")).await.0, 202);
    world.take().await;
    // no message has time for more than one part
    let (mut order, mut parts) = (order.clone(), 0);
    loop {
        let late = Deadline::at(Time::EPOCH);
        continue_round(&world.app, &order, world.now(), late).await.expect("copied");
        let taken = world.take().await;
        let Some(Message::Rebuild(RebuildOrder::RebuildBoard(next))) = taken.first() else { break };
        let building = app.valkey.board_page(&target.copy(), first).await.expect("asked");
        assert_eq!(building.ready(), None, "shown in part");
        // a message can come twice
        continue_round(&world.app, &order, world.now(), Deadline::NONE).await.ok();
        (order, parts) = (next.clone(), parts + 1);
        if parts == 1 {
            // the second delivery has copied everything
            assert!(matches!(
                app.valkey.board_page(&target.copy(), first).await.expect("asked"),
                BoardAnswer::Ready(_)
            ));
            app.valkey.drop_board(&target.copy()).await.expect("dropped");
            // the server has lost the copy, so the rest of the messages must not make one
            continue_round(&world.app, &order, world.now(), Deadline::NONE).await.expect("lost");
            let missing = app.valkey.board_page(&target.copy(), first).await;
            assert_eq!(missing.expect("asked"), BoardAnswer::Missing);
            break;
        }
    }
    make(app.copier(), &target, world.now()).await.expect("begun");
    world.drain().await;
    let shown = page(&app, &name, PageOf::Rank { from: 1, limit: 100 }, world.now()).await;
    let shown = shown.expect("a page").page;
    assert_eq!((shown.members, shown.rows[59].rank), (60, 30));
}

#[tokio::test]
async fn a_board_begins_again_with_its_period() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let kept = json!({"period": "day", "zone": "Asia/Tokyo", "kept_days": 2});
    let board = put(&world, "b", kept.clone()).await;
    let today = board.settings.round(world.now()).first().expect("a day");
    changed(&world, "b", &[("old", What::Set(scores(&[1])))]).await;
    let (begin, end) = board.settings.span(today.into()).expect("a day");
    assert!(begin <= world.now() && world.now() < end);
    assert_eq!(end.since(begin), Duration::from_secs(24 * 3600));
    // the last millisecond of the day, and the first of the next
    world.advance(Duration::from_millis(end.ms() - world.now().ms() - 1));
    assert_eq!(names(&world, "b").await, ["old"]);
    world.advance(Duration::from_millis(1));
    assert_eq!(names(&world, "b").await, Vec::<String>::new());
    changed(&world, "b", &[("new", What::Set(scores(&[1])))]).await;
    let of = |day: Day| BoardRef { day: Some(day), ..board_of(&world, "ash", "b") };
    assert_eq!(all(&world, &of(today)).await, [(1, "old".to_owned(), vec![1])]);
    assert_eq!(all(&world, &of(today.plus_days(1))).await, [(1, "new".to_owned(), vec![1])]);
    for day in [today.minus_days(40), today.plus_days(2)] {
        let refused = page(&world.app, &of(day), PageOf::Percentile(0), world.now()).await;
        assert_eq!(kind(refused.unwrap_err()), ProblemKind::NoSuchBoard);
    }
    // a round is kept for two days after its end
    world.advance(Duration::from_secs(2 * 24 * 3600 - 1));
    assert_eq!(all(&world, &of(today)).await.len(), 1);
    world.advance(Duration::from_secs(1));
    let refused = page(&world.app, &of(today), PageOf::Percentile(0), world.now()).await;
    assert!(matches!(refused, Err(Error::NoSuchRound(day)) if day == today));
    let item = board.rows(today.into()).expire.expect("a time");
    assert_eq!(item, board.settings.rows_expire(today.into()).expect("a time"));
    // the settings that a round depends on cannot change
    for changes in
        [json!({"period": "week"}), json!({"zone": "UTC"}), json!({"orders": ["ascending"]})]
    {
        let mut settings = kept.clone();
        settings
            .as_object_mut()
            .expect("an object")
            .extend(changes.as_object().expect("one").clone());
        let refused = try_put(&world, "ash", "b", settings).await;
        assert_eq!(kind(refused.unwrap_err()), ProblemKind::BoardFixed);
    }
}

/// The clocks of a zone are changed: a day has 23 or 25 hours, and a week and a month one less or more.
#[test]
fn a_period_has_the_hours_of_its_zone() {
    for (zone, day, hours) in [
        ("Europe/Berlin", "2026-03-29", [23, 167, 743]),
        ("Europe/Berlin", "2026-10-25", [25, 169, 745]),
        ("America/New_York", "2026-03-08", [23, 167, 743]),
        ("Australia/Lord_Howe", "2026-04-05", [24, 168, 720]),
        ("Asia/Tokyo", "2026-03-29", [24, 168, 744]),
    ] {
        let day: Day = day.parse().expect("a day");
        for (period, hours) in ["day", "week", "month"].into_iter().zip(hours) {
            let settings = board_settings(json!({"period": period, "zone": zone}));
            let round = settings.period.round(day);
            let (begin, end) = settings.span(round).expect("a span");
            // Lord Howe moves its clocks by half an hour
            assert_eq!(end.since(begin).as_secs() / 3_600, hours, "{zone}, {day}, {period}");
            let last = end - Duration::from_millis(1);
            let rounds = [begin, last, end].map(|at| settings.round(at));
            let next = settings.period.next(round).expect("a round");
            assert_eq!(rounds, [round, round, next], "{zone}, {day}, {period}");
        }
    }
}

#[tokio::test]
async fn boards_are_merged_into_one() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let sources = ["one", "two", "three"];
    for (nth, name) in (1..).zip(sources) {
        put(&world, name, json!({"orders": ["ascending"]})).await;
        let max = if nth == 3 { i64::MAX } else { 1 };
        changed(
            &world,
            name,
            &[
                ("all", What::Set(scores(&[nth * 10]))),
                ("max", What::Set(scores(&[max]))),
                (name, What::Set(scores(&[nth]))),
                ("gone", What::Set(scores(&[nth]))),
            ],
        )
        .await;
        changed(&world, name, &[("gone", What::Remove)]).await;
    }
    let source =
        |name: &str| MergeSource { owner: world.id("ash"), name: name.parse().unwrap(), day: None };
    let merged = |by| MergeOf { by, boards: sources.iter().map(|name| source(name)).collect() };
    for (name, by, of_all, of_max) in [
        ("sum", MergeBy::Sum, 60, i64::MAX),
        ("least", MergeBy::Minimum, 10, 1),
        ("most", MergeBy::Maximum, 30, i64::MAX),
    ] {
        let settings =
            BoardSettings { merge: Some(merged(by)), ..board_settings(json!({"limit": 4})) };
        let (owner, called) = (world.identity("birch"), name.parse().expect("a name"));
        settings::put(&world.app, &owner, &called, settings, world.now()).await.expect("merged");
        let shown = all(&world, &board_of(&world, "birch", name)).await;
        let expected = [
            (1, "max".to_owned(), vec![of_max]),
            (2, "all".to_owned(), vec![of_all]),
            (3, "three".to_owned(), vec![3]),
            (4, "two".to_owned(), vec![2]),
        ];
        let expected = if name == "least" {
            // the limit leaves out the worst: one of them has the score 1
            vec![
                expected[1].clone(),
                expected[2].clone(),
                expected[3].clone(),
                (4, "max".to_owned(), vec![1]),
            ]
            .into_iter()
            .zip(1..)
            .map(|((_, name, scores), rank)| (rank, name, scores))
            .collect()
        } else {
            expected.to_vec()
        };
        assert_eq!(shown, expected, "{name}");
    }
    // nobody changes a merged board
    let set = [("x", What::Set(scores(&[1])))];
    let sum = board_of(&world, "birch", "sum");
    let refused = try_change(&world.app, &world, "birch", &sum, &set, None).await;
    assert!(matches!(refused, Err(Error::BoardMerged)));
    // a change of a source is shown a minute later
    changed(&world, "one", &[("all", What::Set(scores(&[1_000])))]).await;
    assert_eq!(all(&world, &sum).await[1].2, [60]);
    world.advance(Duration::from_secs(61));
    assert_eq!(all(&world, &sum).await[1].2, [1_050]);
    // boards that do not exist, or have other scores, are not merged
    put(&world, "wide", json!({"orders": ["ascending", "ascending"]})).await;
    for (name, refusal) in
        [("nothing", ProblemKind::NoSuchBoard), ("wide", ProblemKind::InvalidBoard)]
    {
        let merge = MergeOf { by: MergeBy::Sum, boards: vec![source(name)] };
        let settings = BoardSettings { merge: Some(merge), ..board_settings(json!({})) };
        let (owner, called) = (world.identity("birch"), "bad".parse().expect("a name"));
        let refused = settings::put(&world.app, &owner, &called, settings, world.now()).await;
        assert_eq!(kind(refused.unwrap_err()), refusal);
    }
    // each period of a board is merged once, whatever day names it
    let [today, next_week] = [0, 7].map(|days| {
        let at = world.now() + Duration::from_secs(days * 24 * 3_600);
        at.rfc3339()[..10].to_owned()
    });
    put(&world, "weekly", json!({"period": "week"})).await;
    let of = |name: &str, day: Option<&str>| MergeSource {
        day: day.map(|day| day.parse().expect("a day")),
        ..source(name)
    };
    for (first, second, is_taken) in [
        (of("one", None), of("one", None), false),
        (of("one", None), of("one", Some("2030-01-02")), false),
        (of("weekly", Some("2030-01-07")), of("weekly", Some("2030-01-13")), false),
        (of("weekly", Some("2030-01-06")), of("weekly", Some("2030-01-07")), true),
        // the present period is each later one in its time
        (of("weekly", None), of("weekly", Some(&next_week)), false),
        (of("weekly", Some(&today)), of("weekly", None), false),
        (of("weekly", None), of("weekly", Some("2020-01-06")), true),
    ] {
        let merge = MergeOf { by: MergeBy::Sum, boards: vec![first, second] };
        let settings = BoardSettings { merge: Some(merge.clone()), ..board_settings(json!({})) };
        let (owner, called) = (world.identity("birch"), "twice".parse().expect("a name"));
        let put = settings::put(&world.app, &owner, &called, settings, world.now()).await;
        assert_eq!(put.is_ok(), is_taken, "{merge:?}: {put:?}");
        if is_taken {
            settings::delete(&world.app, &owner, &called, world.now()).await.expect("deleted");
        } else {
            assert_eq!(kind(put.unwrap_err()), ProblemKind::InvalidBoard);
        }
    }
    // standings name each member once
    let asked = ["all", "max", "all"].map(member);
    let refused = standings(&world.app, &sum, &asked, world.now()).await;
    assert!(matches!(refused, Err(Error::Members { .. })), "{refused:?}");
}

/// A merge that takes longer than a minute: readers get the one before, if there is one, and nobody begins another one.
#[tokio::test]
async fn a_merge_that_takes_minutes_is_made_alone_and_by_parts() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let set = |by: i64| -> Vec<(String, What)> {
        (0..40).map(|n| (format!("m{n}"), What::Set(scores(&[by + n])))).collect()
    };
    let fill = async |board: &str, by: i64| {
        let all = set(by);
        let all: Vec<(&str, What)> =
            all.iter().map(|(name, what)| (name.as_str(), *what)).collect();
        changed(&world, board, &all).await;
    };
    let source = |name: &str| json!({"owner": world.id("ash"), "name": name});
    let both = json!({"by": "sum", "boards": [source("one"), source("two")]});
    for (board, by) in [("one", 100), ("two", 200)] {
        put(&world, board, json!({})).await;
        fill(board, by).await;
    }
    put(&world, "sum", json!({"merge": both})).await;
    world.take().await;
    let mut app = world.app.clone();
    app.settings.rows_in_request = 1;
    let name = board_of(&world, "ash", "sum");
    let best = async || {
        let first = PageOf::Rank { from: 1, limit: 100 };
        match page(&app, &name, first, world.now()).await {
            Ok(found) => {
                assert_eq!(found.page.members, 40);
                Some(found.page.rows[0].scores.as_slice()[0])
            }
            Err(Error::BoardBuilding) => None,
            Err(other) => panic!("{other:?}"),
        }
    };
    let orders = async || {
        let order = |message| match message {
            Message::Rebuild(RebuildOrder::RebuildBoard(order)) => Some(order),
            _ => None,
        };
        world.take().await.into_iter().filter_map(order).collect::<Vec<_>>()
    };
    let copies = &world.app;
    let made = async |order: RebuildBoard, deadline| {
        continue_round(copies, &order, world.now(), deadline).await.expect("copied");
    };
    // there is no merge before, and the order waits
    for _ in 0..3 {
        assert_eq!(best().await, None);
        world.advance(BOARD_MERGED_EVERY);
    }
    assert_eq!(orders().await.len(), 1);
    // that order is lost, and its lease has ended
    assert_eq!(best().await, None);
    let mut waiting = orders().await;
    // no message has time for more than one part
    let mut parts = 0;
    while let Some(order) = waiting.pop() {
        made(order, Deadline::at(Time::EPOCH)).await;
        waiting = orders().await;
        parts += 1;
    }
    assert_eq!(parts, BOARD_PARTS);
    fill("one", 1_000).await;
    assert_eq!(best().await, Some(378), "the merge of this minute");
    world.take().await;
    // the next one takes minutes
    for _ in 0..3 {
        world.advance(BOARD_MERGED_EVERY);
        assert_eq!(best().await, Some(378));
    }
    let mut waiting = orders().await;
    assert_eq!(waiting.len(), 1);
    made(waiting.remove(0), Deadline::NONE).await;
    assert_eq!(best().await, Some(1_278));
}

/// Each order waits for three minutes, and a reader has sent the next one when it arrives.
#[tokio::test]
async fn a_board_is_copied_although_its_orders_arrive_late() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let board = put(&world, "b", json!({})).await;
    let (app, _) = without_copy(&world, board, |n| n).await;
    let (name, first) = (board_of(&world, "ash", "b"), PageOf::Rank { from: 1, limit: 1 });
    let mut waiting = None;
    for round in 0..2 {
        let refused = page(&app, &name, first, world.now()).await;
        assert!(matches!(refused, Err(Error::BoardBuilding)), "{refused:?}");
        let next = world.take().await;
        let [Message::Rebuild(next)] = &next[..] else { panic!("{round}: {next:?}") };
        if let Some(order) = waiting.replace(next.clone()) {
            let handled = order.handle(&world.app, world.now(), Deadline::NONE);
            handled.await.expect("handled");
        }
        world.advance(Duration::from_secs(180));
    }
    let shown = page(&app, &name, first, world.now()).await.expect("a page").page;
    assert_eq!(shown.members, 60);
}

/// A request reads as many rows for a merge of ten boards as for one board.
#[tokio::test]
async fn a_merge_of_ten_boards_is_made_by_messages_if_one_of_them_would_not_be() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    // about four members in each part
    let all: Vec<(String, What)> =
        (0..64).map(|n| (format!("m{n}"), What::Set(scores(&[n])))).collect();
    let all: Vec<(&str, What)> = all.iter().map(|(name, what)| (name.as_str(), *what)).collect();
    let mut boards = Vec::new();
    for nth in 0..10 {
        let name = format!("b{nth}");
        put(&world, &name, json!({})).await;
        changed(&world, &name, &all).await;
        boards.push(json!({"owner": world.id("ash"), "name": name}));
    }
    put(&world, "sum", json!({"merge": {"by": "sum", "boards": boards}})).await;
    world.take().await;
    let mut app = world.app.clone();
    // each board is below it, and all ten are above
    app.settings.rows_in_request = 20;
    let (name, first) = (board_of(&world, "ash", "sum"), PageOf::Rank { from: 1, limit: 1 });
    let refused = page(&app, &name, first, world.now()).await;
    assert!(matches!(refused, Err(Error::BoardBuilding)), "{refused:?}");
    let taken = world.take().await;
    let [Message::Rebuild(RebuildOrder::RebuildBoard(order))] = &taken[..] else {
        panic!("{taken:?}")
    };
    let made = continue_round(&world.app, order, world.now(), Deadline::NONE);
    made.await.expect("copied");
    let shown = page(&app, &name, first, world.now()).await.expect("a page").page;
    assert_eq!((shown.members, shown.rows[0].scores), (64, scores(&[630])));
}

#[tokio::test]
async fn only_the_owner_and_the_writers_change_a_board() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    let board = board_of(&world, "ash", "b");
    let set = [("x", What::Set(scores(&[1])))];
    let try_set = async |user: &str| {
        try_change(&world.app, &world, user, &board, &set, None).await.map(drop).map_err(kind)
    };
    assert_eq!(try_set("ash").await, Err(ProblemKind::NoSuchBoard));
    put(&world, "b", json!({"writers": [world.id("birch")]})).await;
    assert_eq!(try_set("birch").await, Ok(()));
    assert_eq!(try_set("cedar").await, Err(ProblemKind::NotYours));
    put(&world, "b", json!({"open": true})).await;
    assert_eq!(try_set("cedar").await, Ok(()));
    assert_eq!(try_set("nobody").await, Err(ProblemKind::ProfileMissing));
    put(&world, "b", json!({})).await;
    assert_eq!(try_set("birch").await, Err(ProblemKind::NotYours));
    // another user's board of this name is another board
    try_put(&world, "birch", "b", json!({})).await.expect("a board");
    let owner = world.identity("birch");
    settings::delete(&world.app, &owner, &board.name, world.now()).await.expect("deleted");
    assert_eq!(names(&world, "b").await, ["x"]);
}

#[tokio::test]
async fn nothing_is_left_of_a_deleted_board() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let name = board_of(&world, "ash", "b");
    let first = put(&world, "b", json!({"period": "day"})).await;
    let round = first.settings.round(world.now());
    changed(&world, "b", &[("x", What::Set(scores(&[1])))]).await;
    world.drain().await;
    let ash = world.identity("ash");
    settings::delete(&world.app, &ash, &name.name, world.now()).await.expect("deleted");
    let refused = page(&world.app, &name, PageOf::Percentile(0), world.now()).await;
    assert_eq!(kind(refused.unwrap_err()), ProblemKind::NoSuchBoard);
    // a writer that had read the board commits after the deletion
    let (target, sent) = (BoardRound::new(first.clone(), round, world.now()), Announced::assumed());
    let (late, store) = (member("late"), &world.app.boards);
    // a board of the same name begins empty
    put(&world, "b", json!({"period": "day"})).await;
    assert_eq!(names(&world, "b").await, Vec::<String>::new());
    let taken = world.take().await;
    for message in &taken {
        world.handle(message).await.expect("handled");
    }
    world.drain().await;
    assert_eq!(rows(&world, &first).await.len(), 0);
    let copy = world.app.valkey.board_page(&target.copy(), PageOf::Percentile(0)).await;
    assert_eq!(copy.expect("asked"), BoardAnswer::Missing);
    store
        .set_scores(&sent, target.rows(), &late, &scores(&[1]), None, world.now())
        .await
        .expect("set");
    let event = fanfold_kinds::boards::messages::ScoresChanged {
        board: first.id,
        token: first.token.clone(),
        round,
        members: vec![late],
    };
    let event = Message::Like(ChangeEvent::ScoresChanged(event));
    world.handle(&event).await.expect("handled");
    assert_eq!(rows(&world, &first).await.len(), 0);
    assert_eq!(RoundId::of_rows(first.id, &first.token, round), target.rows().id);
    let profile = world.app.users.profile(world.id("ash")).await.expect("read");
    assert_eq!(profile.expect("a profile").boards, 1);
}

/// An owner with two boards that have several rounds, and several copies of each.
#[tokio::test]
async fn nothing_is_left_of_the_boards_of_a_dropped_owner() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let valkey = &world.app.valkey;
    let mut targets = Vec::new();
    for _ in 0..2 {
        for ranks in ["competition", "dense", "ordinal"] {
            for name in ["b", "c"] {
                put(&world, name, json!({"period": "week", "ranks": ranks})).await;
                let done = changed(&world, name, &[("x", What::Set(scores(&[1])))]).await;
                targets.push(done.target);
            }
        }
        world.advance(Duration::from_secs(7 * 24 * 3600));
    }
    world.drain().await;
    let is_there = async |target: &BoardRound| {
        let found = valkey.board_page(&target.copy(), PageOf::Percentile(0)).await;
        found.expect("asked").ready().is_some()
    };
    let copies: HashSet<RoundId> = targets.iter().map(|target| target.copy().id).collect();
    assert_eq!(copies.len(), 2 * 3 * 2);
    for target in &targets {
        assert!(is_there(target).await);
    }
    world.drop_user("ash").await;
    world.drain().await;
    for target in &targets {
        let left = world.app.boards.delete_some(target.rows().id).await;
        assert_eq!((left.expect("asked"), is_there(target).await), (0, false));
    }
}

/// A function without time removes the scores of a deleted board in steps.
#[tokio::test]
async fn the_scores_of_a_board_are_removed_in_steps() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let board = put(&world, "b", json!({"period": "week"})).await;
    for _ in 0..3 {
        changed(&world, "b", &[("x", What::Set(scores(&[1]))), ("y", What::Set(scores(&[2])))])
            .await;
        world.advance(Duration::from_secs(7 * 24 * 3600));
    }
    world.drain().await;
    let name = "b".parse().expect("a name");
    settings::delete(&world.app, &world.identity("ash"), &name, world.now())
        .await
        .expect("deleted");
    let mut steps = 0;
    loop {
        let taken = world.take().await;
        let [message] = &taken[..] else { break };
        let Message::Like(event) = message else { panic!("{message:?}") };
        event.handle(&world.app, world.now(), Deadline::at(Time::EPOCH)).await.expect("handled");
        steps += 1;
        assert!(steps < 50, "it does not end");
    }
    assert!(steps > 3, "{steps}");
    let mut round = board.settings.round(board.created_at);
    while round <= board.settings.round(world.now()) {
        let rows = board.rows(round).id;
        assert_eq!(world.app.boards.delete_some(rows).await.expect("asked"), 0);
        round = board.settings.period.next(round).expect("a week");
    }
}

/// The card of a board shows a change to the next request, and again after the event of a writer that died.
#[tokio::test]
async fn a_changed_board_is_shown_at_once() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let name = board_of(&world, "ash", "b");
    let read = async || {
        let first = PageOf::Rank { from: 1, limit: 1 };
        let shown = page(&world.app, &name, first, world.now()).await?;
        Ok::<_, Error>(shown.target.board)
    };
    assert!(matches!(read().await, Err(Error::NoSuchBoard { .. })));
    let first = put(&world, "b", json!({})).await;
    assert_eq!(read().await.expect("the board"), first);
    put(&world, "b", json!({"ranks": "ordinal"})).await;
    assert_eq!(read().await.expect("the board").settings.ranks, Ranks::Ordinal);
    world.take().await;
    // a writer that dies after its commit
    let (store, users) = (&world.app.boards, &world.app.users);
    let old = read().await.expect("the board");
    let new = old.with(board_settings(json!({"ranks": "dense"})));
    let owner = world.identity("ash");
    let put = store.put_board(Announced::assumed(), users, &owner, Some(&old), &new).await;
    assert_eq!(put.expect("stored"), fanfold_kinds::boards::items::BoardPut::Done);
    assert_eq!(read().await.expect("the board"), old);
    let event = fanfold_kinds::boards::messages::BoardChanged {
        board: new.id,
        token: new.token.clone(),
        period: new.settings.period,
        first: new.settings.round(new.created_at),
        layout: new.layout,
    };
    world.handle(&Message::Like(ChangeEvent::BoardChanged(event))).await.expect("handled");
    assert_eq!(read().await.expect("the board"), new);
    // of two writers that read the same, one is first
    let again = store.put_board(Announced::assumed(), users, &owner, Some(&old), &new).await;
    assert_eq!(again.expect("an answer"), fanfold_kinds::boards::items::BoardPut::Raced);
    let cards = world.app.valkey.keys().card(CardId::board(new.id));
    assert!(cards.starts_with("board-card:{"));
}

/// A row that is there after its tombstone expired is newer than what Valkey may still know.
#[tokio::test]
async fn a_member_that_comes_back_is_newer_than_its_tombstone() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let board = put(&world, "b", json!({})).await;
    changed(&world, "b", &[("x", What::Set(scores(&[1])))]).await;
    changed(&world, "b", &[("x", What::Remove)]).await;
    let (rows, x) = (board.rows(board_settings_round(&world)), member("x"));
    let store = &world.app.boards;
    let tombstone = store.rows_of(rows, std::slice::from_ref(&x)).await.expect("rows").remove(0);
    assert_eq!(tombstone.as_ref().map(|row| row.scores), Some(None));
    store.delete_rows(rows.id, std::slice::from_ref(&x)).await.expect("expired");
    world.advance(Duration::from_secs(1));
    let done = changed(&world, "b", &[("x", What::Set(scores(&[2])))]).await;
    assert_eq!(ranks(&done), [Some(1)]);
    let row = store.rows_of(rows, &[x]).await.expect("rows").remove(0).expect("a row");
    assert!(row.revision > tombstone.expect("a tombstone").revision);
}

#[tokio::test]
async fn boards_and_settings_are_limited() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let writers: Vec<String> = (0..101).map(|n| format!("{n:016x}")).collect();
    for bad in [
        json!({"limit": 0}),
        json!({"limit": 10_000_001}),
        json!({"kept_days": 401}),
        json!({"writers": writers}),
        json!({"writers": [writers[0], writers[0]]}),
        json!({"merge": {"by": "sum", "boards": []}}),
        json!({"period": "day", "merge": {"by": "sum", "boards": [{"owner": world.id("ash"), "name": "b"}]}}),
    ] {
        let refused = try_put(&world, "ash", "b", bad.clone()).await;
        assert_eq!(kind(refused.unwrap_err()), ProblemKind::InvalidBoard, "{bad}");
    }
    for nth in 0..BOARDS_MAX {
        put(&world, &format!("b{nth}"), json!({})).await;
    }
    let refused = try_put(&world, "ash", "one more", json!({})).await;
    assert_eq!(kind(refused.unwrap_err()), ProblemKind::BoardsLimit);
    let listed = settings::list(&world.app, world.id("ash")).await.expect("boards");
    assert_eq!(listed.len() as u64, BOARDS_MAX);
    assert!(listed.is_sorted_by(|a, b| a.name < b.name));
    let name = "b7".parse().expect("a name");
    settings::delete(&world.app, &world.identity("ash"), &name, world.now())
        .await
        .expect("deleted");
    put(&world, "one more", json!({})).await;
    let members: Vec<String> = (0..101).map(|n| format!("m{n}")).collect();
    let changes: Vec<(&str, What)> =
        members.iter().map(|name| (name.as_str(), What::Remove)).collect();
    for changes in [&changes[..], &[], &[changes[0], changes[0]]] {
        let board = board_of(&world, "ash", "one more");
        let refused = try_change(&world.app, &world, "ash", &board, changes, None).await;
        assert_eq!(kind(refused.unwrap_err()), ProblemKind::InvalidScores);
    }
}
