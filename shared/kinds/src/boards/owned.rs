//! The boards of a user who is erased or exported, and the copies of boards that the audit compares.

use fanfold_core::board::Round;
use fanfold_core::limits::BOARD_PARTS;
use fanfold_core::{BoardName, MemberName, Time};
use fanfold_engines::card::Wanted;
use fanfold_engines::outbox::announced_after;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use fanfold_runtime::clock;
use futures::future::BoxFuture;
use serde_json::json;

use super::compare;
use super::items::{BoardEnd, BoardPut, RowPage, StoredBoard};
use super::round::BoardRound;
use super::settings::event;
use crate::App;
use crate::owned::erasing::{Erasing, Progress};
use crate::owned::{
    AUDIT_LOOK_EVERY, AUDIT_LOOKS_MAX, Audited, Auditing, EXPORT_PAGE, ExportRead, Exporting, Line,
    Lines, Owned, Step, nothing,
};

/// Boards that the audit compares in one bucket.
const AUDIT_BOARDS: usize = 1;

/// Boards.
pub(crate) struct Boards;

impl Owned for Boards {
    nothing!(is_left forget erase);

    /// Removes the boards. The handler of each event removes the scores.
    fn empty<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            let app = erasing.app;
            loop {
                let boards = app.boards.of_owner(erasing.user).await?;
                for board in &boards {
                    let end = |sent| app.boards.end_board(sent, board, BoardEnd::OwnerDropped);
                    let delay = app.settings.event_delay;
                    let ended = announced_after(&app.outbox, &event(board), delay, end).await?;
                    erasing.forget_cards(vec![CardId::board(board.id)]).await?;
                    erasing.removed("boards", u64::from(ended == BoardPut::Done));
                    if erasing.time_is_up() {
                        return Ok(Progress::NoTime);
                    }
                }
                if boards.is_empty() {
                    return Ok(Progress::Done);
                }
            }
        })
    }

    fn export<'a>(&'a self, exporting: Exporting<'a>) -> ExportRead<'a> {
        let Exporting { app, user, after, now } = exporting;
        Box::pin(async move {
            let mut boards = app.boards.of_owner(user).await?;
            boards.sort_by(|a, b| a.name.cmp(&b.name));
            match after.as_deref().and_then(ScorePlace::read) {
                None => {
                    let first = boards.first().map(|board| ScorePlace::first(board, now));
                    let lines = boards.iter().map(|board| {
                        json!({
                            "type": "board", "name": board.name, "created_at": board.created_at.rfc3339(),
                            "settings": board.settings,
                        })
                    });
                    let next_after = first.map(|place| place.text());
                    Ok(Lines { lines: lines.map(Line::from).collect(), next_after })
                }
                Some(place) => scores(app, &boards, place, now).await,
            }
        })
    }

    fn cards(&self, wanted: Wanted<App>, ids: &[CardId]) -> Wanted<App> {
        wanted.among::<Option<Box<StoredBoard>>>(ids)
    }

    /// Compares copies of boards of a bucket with DynamoDB, and drops those that differ.
    fn audit<'a>(&'a self, auditing: Auditing<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
        let Auditing { app, bucket, now, audited, .. } = auditing;
        Box::pin(async move {
            for named in app.valkey.sample_boards(bucket, AUDIT_BOARDS).await? {
                let Some((id, round)) = BoardRound::parts(&named) else { continue };
                let Some(board) = app.boards.board(id).await? else { continue };
                audit_copy(app, &BoardRound::new(board, round, now), now, audited).await?;
            }
            Ok(())
        })
    }
}

/// Compares a copy, and drops it if it differs.
async fn audit_copy(
    app: &App,
    target: &BoardRound,
    now: Time,
    audited: &mut Audited,
) -> Result<(), StoreError> {
    let Some(mut differing) = compare::differing(app, target, now).await? else { return Ok(()) };
    audited.boards += 1;
    for _ in 1..AUDIT_LOOKS_MAX {
        if differing.is_empty() {
            break;
        }
        clock::sleep(AUDIT_LOOK_EVERY).await;
        let members: Vec<MemberName> = differing.keys().cloned().collect();
        let again = compare::members(app, target, &members).await?.unwrap_or_default();
        // only what is wrong in the same way every time counts
        differing.retain(|member, difference| again.get(member) == Some(difference));
    }
    let differed = u64::from(!differing.is_empty());
    if differed > 0 {
        tracing::error!(board = %target.board.id, round = %target.round, members = differing.len(), "a board differs from DynamoDB");
        // mutation: audit-boards
        app.valkey.drop_board(&target.copy()).await?;
        audited.boards_differed += 1;
    }
    fanfold_runtime::metrics::audited(1, differed, differed);
    Ok(())
}

/// A place among the scores of all boards of a user: after this member of this part of this round.
struct ScorePlace {
    board: BoardName,
    round: Round,
    part: u8,
    after: Option<String>,
}

impl ScorePlace {
    /// The first row of a board that may be left.
    fn first(board: &StoredBoard, now: Time) -> Self {
        let settings = &board.settings;
        let mut round = settings.round(board.created_at);
        while settings.kept_until(round).is_some_and(|until| until <= now)
            && let Some(next) = settings.period.next(round)
        {
            round = next;
        }
        Self { board: board.name.clone(), round, part: 0, after: None }
    }

    /// Names have no line breaks.
    fn text(&self) -> String {
        let Self { board, round, part, after } = self;
        format!("{round}\n{part}\n{board}\n{}", after.as_deref().unwrap_or_default())
    }

    fn read(text: &str) -> Option<Self> {
        let mut fields = text.split('\n');
        let (round, part) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let board = fields.next()?.parse().ok()?;
        let after = fields.next().filter(|after| !after.is_empty()).map(str::to_owned);
        Some(Self { board, round, part, after })
    }
}

/// Some scores of the boards of a user.
async fn scores(
    app: &App,
    boards: &[StoredBoard],
    place: ScorePlace,
    now: Time,
) -> Result<Lines, StoreError> {
    let at = boards.iter().position(|board| board.name >= place.board);
    let Some((board, rest)) = at.and_then(|at| boards.get(at..)?.split_first()) else {
        return Ok(Lines::default());
    };
    // a board that was deleted meanwhile is passed over
    let place = if board.name == place.board { place } else { ScorePlace::first(board, now) };
    let ScorePlace { round, part, after, .. } = place;
    let rows = board.rows(round).id;
    let limit = Some(EXPORT_PAGE as i32);
    let RowPage { rows, next_after } = app.boards.page(rows, part, after, limit).await?;
    let line = |row: super::items::Row| {
        let scores = row.scores?;
        Some(json!({
            "type": "score", "board": board.name, "round": round.to_string(), "member": row.member,
            "scores": scores.as_slice(),
        }))
    };
    let lines: Vec<Line> = rows.into_iter().filter_map(line).map(Line::from).collect();
    let same = |round, part, after| ScorePlace { board: place.board.clone(), round, part, after };
    let next = match next_after {
        Some(after) => Some(same(round, part, Some(after))),
        None if part < BOARD_PARTS - 1 => Some(same(round, part + 1, None)),
        None => {
            let later = board.settings.period.next(round);
            match later.filter(|later| *later <= board.settings.round(now)) {
                Some(later) => Some(same(later, 0, None)),
                None => rest.first().map(|board| ScorePlace::first(board, now)),
            }
        }
    };
    Ok(Lines { lines, next_after: next.map(|place| place.text()) })
}
