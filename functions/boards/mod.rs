//! The function `boards` makes and changes boards, and changes and ranks the scores of their members.

mod board;
pub mod changes;
mod paths;
pub mod queries;
mod scores;
mod standings;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use fanfold_core::registry::FunctionSpec;
use fanfold_engines::valkey::PageOf;
use fanfold_kinds::App;
use fanfold_kinds::boards::change::{ScoreChange, What, change};
use fanfold_kinds::boards::{read, settings};
use fanfold_runtime::{StartError, clock};
use fanfold_web::problem::{NotFound, TooMany};
use fanfold_web::routes;
use fanfold_web::{Caller, IdempotencyKey, JsonBody, Problem, Query};
use utoipa_axum::router::OpenApiRouter;

use self::board::{BoardBody, BoardList, BoardView};
use self::changes::{
    AddScores, ChangeMembers, LargeBody, MemberView, MembersView, SetScores, Writers, changed_all,
    changed_one, removed_one,
};
use self::paths::{BoardPath, MemberPath, PercentilePath};
use self::queries::{
    AroundQuery, BoardPageQuery, BoardsQuery, ChangeQuery, RoundQuery, SettingsQuery,
};
use self::standings::{AskStandings, BoardPageView, StandingView, StandingsView, one_standing};
use crate::http::{Prepare, serve, stores};

pub(crate) async fn run(
    function: &'static FunctionSpec,
    prepare: Prepare,
) -> Result<(), StartError> {
    serve(function, routes(), stores, prepare).await
}

/// The routes of the function, with their descriptions.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, put, delete))
        .routes(routes!(change_members))
        .routes(routes!(show_member, set, add, remove))
        .routes(routes!(around))
        .routes(routes!(standings))
        .routes(routes!(percentile))
}

/// List the boards of a user by name
#[utoipa::path(
    get, path = "/v1/leaderboards", operation_id = "list_boards", tag = "leaderboards",
    params(BoardsQuery),
    responses((status = 200, description = "The boards.", body = BoardList)),
)]
async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(query): Query<BoardsQuery>,
) -> Result<Json<BoardList>, Problem> {
    let owner = query.owner.unwrap_or(caller.user());
    Ok(Json(settings::list(&app, owner).await?.into()))
}

/// Make a board, or change its settings
#[utoipa::path(
    put, path = "/v1/leaderboards/{board}", operation_id = "put_board", tag = "leaderboards",
    params(BoardPath, SettingsQuery),
    request_body = BoardBody,
    responses(
        (status = 200, description = "The settings were changed.", body = BoardView),
        (status = 201, description = "The board is new.", body = BoardView),
        (status = 403, description = "`owner` is not the caller."),
        (status = 404, description = "A board to merge does not exist."),
        (status = 409, description = "The caller has no profile, or a setting cannot change."),
        (status = 422, description = "A setting is not allowed, or the caller has too many boards."),
        TooMany,
    ),
)]
async fn put(
    State(app): State<Arc<App>>,
    caller: Caller,
    BoardPath { board }: BoardPath,
    Query(query): Query<SettingsQuery>,
    JsonBody(body): JsonBody<BoardBody>,
) -> Result<(StatusCode, Json<BoardView>), Problem> {
    query.must_name(caller.user())?;
    let settings = body.settings()?;
    let (board, is_new) =
        settings::put(&app, &caller.identity, &board, settings, clock::now()).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(board.into())))
}

/// Read a board, and its members from a rank on or in a range of the first score
#[utoipa::path(
    get, path = "/v1/leaderboards/{board}", operation_id = "read_board", tag = "leaderboards",
    params(BoardPath, BoardPageQuery),
    responses(
        (status = 200, description = "The board, and a page of its members.", body = BoardPageView),
        NotFound,
    ),
)]
async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    BoardPath { board }: BoardPath,
    Query(query): Query<BoardPageQuery>,
) -> Result<Json<BoardPageView>, Problem> {
    let (page, board) = (query.page()?, query.board(caller.user(), board));
    Ok(Json(read::page(&app, &board, page, clock::now()).await?.into()))
}

/// Delete a board of the caller, with its scores
#[utoipa::path(
    delete, path = "/v1/leaderboards/{board}", operation_id = "delete_board", tag = "leaderboards",
    params(BoardPath, SettingsQuery),
    responses(
        (status = 204, description = "The board is deleted."),
        (status = 403, description = "`owner` is not the caller."),
        (status = 409, description = "Another user has the same id."),
        NotFound, TooMany,
    ),
)]
async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    BoardPath { board }: BoardPath,
    Query(query): Query<SettingsQuery>,
) -> Result<StatusCode, Problem> {
    query.must_name(caller.user())?;
    settings::delete(&app, &caller.identity, &board, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Change several members of a board
#[utoipa::path(
    post, path = "/v1/leaderboards/{board}/members", operation_id = "change_members",
    tag = "leaderboards",
    params(BoardPath, ChangeQuery,
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
        pattern = "^[!-~]([ -~]{0,253}[!-~])?$", nullable = false,
        description = "An addition is made once for each key, member and period, for 24 hours. Without a key, \
            an addition whose answer is lost may have been made.")),
    request_body = ChangeMembers,
    responses(
        (status = 200, description = "Each change is made, or has a problem.", body = MembersView),
        (status = 202, description = "Each change is made, or has a problem. The ranks are not known now.",
            body = MembersView),
        Writers,
        (status = 422, description = "The members or their scores are not allowed."),
        NotFound, TooMany,
    ),
)]
async fn change_members(
    State(app): State<Arc<App>>,
    caller: Caller,
    BoardPath { board }: BoardPath,
    Query(query): Query<ChangeQuery>,
    IdempotencyKey(key): IdempotencyKey,
    LargeBody(body): LargeBody<ChangeMembers>,
) -> Result<Response, Problem> {
    let (changes, board) = (body.changes()?, query.board(caller.user(), board));
    let changed =
        change(&app, &caller.identity, &board, &changes, key.as_deref(), clock::now()).await?;
    Ok(changed_all(changed))
}

/// Read the rank and the scores of a member
#[utoipa::path(
    get, path = "/v1/leaderboards/{board}/members/{member}", operation_id = "read_member",
    tag = "leaderboards", params(MemberPath, RoundQuery),
    responses(
        (status = 200, description = "The standing of the member.", body = StandingView),
        NotFound,
    ),
)]
async fn show_member(
    State(app): State<Arc<App>>,
    caller: Caller,
    MemberPath { board, member }: MemberPath,
    Query(query): Query<RoundQuery>,
) -> Result<Json<StandingView>, Problem> {
    let board = query.board(caller.user(), board);
    let found = read::standings(&app, &board, &[member], clock::now()).await?;
    Ok(Json(one_standing(found)?))
}

/// Set the scores of a member
#[utoipa::path(
    put, path = "/v1/leaderboards/{board}/members/{member}", operation_id = "set_scores",
    tag = "leaderboards", params(MemberPath, ChangeQuery),
    request_body = SetScores,
    responses(
        (status = 200, description = "The scores are set, unless better ones were asked for.", body = MemberView),
        (status = 202, description = "The same. The rank is not known now.", body = MemberView),
        Writers,
        (status = 422, description = "The board has another number of scores."),
        NotFound, TooMany,
    ),
)]
async fn set(
    State(app): State<Arc<App>>,
    caller: Caller,
    MemberPath { board, member }: MemberPath,
    Query(query): Query<ChangeQuery>,
    JsonBody(body): JsonBody<SetScores>,
) -> Result<Response, Problem> {
    let (change_of, board) = (body.change(member)?, query.board(caller.user(), board));
    let changed = change(&app, &caller.identity, &board, &[change_of], None, clock::now()).await?;
    changed_one(changed)
}

/// Add to the scores of a member
#[utoipa::path(
    patch, path = "/v1/leaderboards/{board}/members/{member}", operation_id = "add_to_scores",
    tag = "leaderboards",
    params(MemberPath, ChangeQuery,
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
        pattern = "^[!-~]([ -~]{0,253}[!-~])?$", nullable = false,
        description = "The addition is made once for each key, member and period, for 24 hours. Without a key, \
            an addition whose answer is lost may have been made.")),
    request_body = AddScores,
    responses(
        (status = 200, description = "The scores have grown, now or by an earlier request with this key.",
            body = MemberView),
        (status = 202, description = "The same. The rank is not known now.", body = MemberView),
        Writers,
        (status = 422, description = "A sum would not be a 64-bit integer, the board has another number of scores, or the key \
            was used with another body."),
        NotFound, TooMany,
    ),
)]
async fn add(
    State(app): State<Arc<App>>,
    caller: Caller,
    MemberPath { board, member }: MemberPath,
    Query(query): Query<ChangeQuery>,
    IdempotencyKey(key): IdempotencyKey,
    JsonBody(body): JsonBody<AddScores>,
) -> Result<Response, Problem> {
    let (change_of, board) = (body.change(member)?, query.board(caller.user(), board));
    let changes = [change_of];
    let changed =
        change(&app, &caller.identity, &board, &changes, key.as_deref(), clock::now()).await?;
    changed_one(changed)
}

/// Remove a member from a board
#[utoipa::path(
    delete, path = "/v1/leaderboards/{board}/members/{member}", operation_id = "remove_member",
    tag = "leaderboards", params(MemberPath, ChangeQuery),
    responses(
        (status = 204, description = "The member is removed."),
        Writers, NotFound, TooMany,
    ),
)]
async fn remove(
    State(app): State<Arc<App>>,
    caller: Caller,
    MemberPath { board, member }: MemberPath,
    Query(query): Query<ChangeQuery>,
) -> Result<StatusCode, Problem> {
    let board = query.board(caller.user(), board);
    let changes = [ScoreChange { member, what: What::Remove }];
    removed_one(change(&app, &caller.identity, &board, &changes, None, clock::now()).await?)
}

/// Read the neighbours of a member
#[utoipa::path(
    get, path = "/v1/leaderboards/{board}/around/{member}", operation_id = "read_around",
    tag = "leaderboards", params(MemberPath, AroundQuery),
    responses(
        (status = 200, description = "The board, and a page of its members.", body = BoardPageView),
        NotFound,
    ),
)]
async fn around(
    State(app): State<Arc<App>>,
    caller: Caller,
    MemberPath { board, member }: MemberPath,
    Query(query): Query<AroundQuery>,
) -> Result<Json<BoardPageView>, Problem> {
    let (page, board) = (query.page(&member)?, query.board(caller.user(), board));
    Ok(Json(read::page(&app, &board, page, clock::now()).await?.into()))
}

/// Read the standings of several members, and their ranks among themselves
#[utoipa::path(
    post, path = "/v1/leaderboards/{board}/standings", operation_id = "read_standings",
    tag = "leaderboards", params(BoardPath, RoundQuery),
    request_body = AskStandings,
    responses(
        (status = 200, description = "The standings of the members, in the order of the request.", body = StandingsView),
        (status = 422, description = "There are no members in the body, too many, or one twice."),
        NotFound,
    ),
)]
async fn standings(
    State(app): State<Arc<App>>,
    caller: Caller,
    BoardPath { board }: BoardPath,
    Query(query): Query<RoundQuery>,
    LargeBody(body): LargeBody<AskStandings>,
) -> Result<Json<StandingsView>, Problem> {
    let (members, board) = (body.members(), query.board(caller.user(), board));
    Ok(Json(read::standings(&app, &board, &members, clock::now()).await?.into()))
}

/// Read the member at a percentile, counted from the worst member
#[utoipa::path(
    get, path = "/v1/leaderboards/{board}/percentiles/{percentile}", operation_id = "read_percentile",
    tag = "leaderboards", params(PercentilePath, RoundQuery),
    responses(
        (status = 200, description = "At most one member: the one at the place `percentile / 100 * members`, rounded up.",
            body = BoardPageView),
        NotFound,
    ),
)]
async fn percentile(
    State(app): State<Arc<App>>,
    caller: Caller,
    PercentilePath { board, percentile }: PercentilePath,
    Query(query): Query<RoundQuery>,
) -> Result<Json<BoardPageView>, Problem> {
    let (page, board) = (PageOf::Percentile(percentile.0), query.board(caller.user(), board));
    Ok(Json(read::page(&app, &board, page, clock::now()).await?.into()))
}
