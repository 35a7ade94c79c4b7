//! Changes of scores, and their results.

use axum::Json;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use fanfold_core::MemberName;
use fanfold_core::limits::BOARD_BODY_BYTES_MAX;
use fanfold_kinds::Error;
use fanfold_kinds::boards::change::{Changed, ScoreChange, ScoreOutcome, What};
use fanfold_web::extract::{json, present};
use fanfold_web::problem::ProblemBody;
use fanfold_web::{Problem, ProblemKind};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{IntoResponses, ToSchema};

use super::paths::MemberText;
use super::scores::{ScoreText, scores, texts};

/// A JSON body of up to [`BOARD_BODY_BYTES_MAX`].
pub struct LargeBody<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for LargeBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        json(request, BOARD_BODY_BYTES_MAX).await.map(Self)
    }
}

/// Answers of a route that changes scores of a board.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive alone")]
pub enum Writers {
    /// The caller may not change the scores.
    #[response(status = 403, content_type = "application/problem+json")]
    NotAWriter(ProblemBody),
    /// The caller has no profile, or the board is merged.
    #[response(status = 409, content_type = "application/problem+json")]
    Refused(ProblemBody),
}

/// The scores of a member to set.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetScores {
    /// The scores, in the order in which they count: as many as the board has.
    #[schema(min_items = 1, max_items = 4)]
    scores: Vec<ScoreText>,
    /// Whether scores that are not better than the present ones change nothing.
    #[serde(default)]
    #[schema(required = false)]
    if_better: bool,
}

impl SetScores {
    /// The change of a member.
    pub fn change(self, member: MemberName) -> Result<ScoreChange, Problem> {
        let scores = scores(&self.scores)?;
        let what = if self.if_better { What::SetIfBetter(scores) } else { What::Set(scores) };
        Ok(ScoreChange { member, what })
    }
}

/// What is added to the scores of a member.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddScores {
    /// What is added to each score, which can be negative: as many as the board has. A new member begins with zeros.
    #[schema(min_items = 1, max_items = 4)]
    add: Vec<ScoreText>,
}

impl AddScores {
    /// The change of a member.
    pub fn change(self, member: MemberName) -> Result<ScoreChange, Problem> {
        Ok(ScoreChange { member, what: What::Add(scores(&self.add)?) })
    }
}

/// Changes of several members.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeMembers {
    /// One change for each member. Each is made or not, by itself.
    #[schema(value_type = Vec<MemberChangeForms>, min_items = 1, max_items = 100)]
    changes: Vec<MemberChange>,
}

/// The change of one member.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberChange {
    member: MemberName,
    #[serde(default, deserialize_with = "present")]
    set: Option<Vec<ScoreText>>,
    #[serde(default, deserialize_with = "present")]
    set_if_better: Option<Vec<ScoreText>>,
    #[serde(default, deserialize_with = "present")]
    add: Option<Vec<ScoreText>>,
    #[serde(default, deserialize_with = "present")]
    remove: Option<bool>,
}

// The description of a `MemberChange`. Serde would read the forms one after another, and its error would not say which one is
// wrong.
/// The change of one member: exactly one of `set`, `set_if_better`, `add` and `remove`.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(as = MemberChange)]
#[allow(dead_code, reason = "read by the derive alone")]
enum MemberChangeForms {
    Set(SetMember),
    SetIfBetter(SetMemberIfBetter),
    Add(AddToMember),
    Remove(RemoveMember),
}

/// The member has these scores.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by the derive alone")]
struct SetMember {
    #[schema(value_type = MemberText)]
    member: MemberName,
    /// The new scores.
    #[schema(min_items = 1, max_items = 4)]
    set: Vec<ScoreText>,
}

/// The member has these scores if they are better than the present ones.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by the derive alone")]
struct SetMemberIfBetter {
    #[schema(value_type = MemberText)]
    member: MemberName,
    /// The new scores.
    #[schema(min_items = 1, max_items = 4)]
    set_if_better: Vec<ScoreText>,
}

/// The scores of the member grow by these.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by the derive alone")]
struct AddToMember {
    #[schema(value_type = MemberText)]
    member: MemberName,
    /// What is added to each score.
    #[schema(min_items = 1, max_items = 4)]
    add: Vec<ScoreText>,
}

/// The member is removed.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by the derive alone")]
struct RemoveMember {
    #[schema(value_type = MemberText)]
    member: MemberName,
    /// `true`.
    #[schema(schema_with = only_true)]
    remove: bool,
}

fn only_true() -> RefOr<Schema> {
    let only = ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([true]));
    RefOr::T(only.build().into())
}

impl ChangeMembers {
    /// The changes. Refuses one that is not exactly one change (422).
    pub fn changes(self) -> Result<Vec<ScoreChange>, Problem> {
        self.changes.into_iter().map(MemberChange::change).collect()
    }
}

impl MemberChange {
    fn change(self) -> Result<ScoreChange, Problem> {
        let Self { member, set, set_if_better, add, remove } = self;
        let what = match (set, set_if_better, add, remove) {
            (Some(to), None, None, None) => What::Set(scores(&to)?),
            (None, Some(to), None, None) => What::SetIfBetter(scores(&to)?),
            (None, None, Some(by), None) => What::Add(scores(&by)?),
            (None, None, None, Some(true)) => What::Remove,
            _ => {
                let detail = format!(
                    "send exactly one of set, set_if_better, add and \"remove\": true for {member}"
                );
                return Err(Problem::new(ProblemKind::InvalidScores, detail));
            }
        };
        Ok(ScoreChange { member, what })
    }
}

/// A member after a change.
#[derive(Debug, Serialize, ToSchema)]
pub struct MemberView {
    pub member: String,
    /// The present scores. Null: the member is not on the board, because it was removed or fell out.
    #[schema(required)]
    pub scores: Option<Vec<ScoreText>>,
    /// The present rank. Null: the member is not on the board, or the rank is not known now.
    #[schema(required)]
    pub rank: Option<u64>,
    /// The number of members of the board. Null: it is not known now.
    #[schema(required)]
    pub members: Option<u64>,
    /// The members that fell out because of the limit.
    pub fell_out: Vec<String>,
}

/// The results of changes of several members.
#[derive(Debug, Serialize, ToSchema)]
pub struct MembersView {
    /// A result for each change, in the same order.
    pub results: Vec<MemberResult>,
    /// The number of members of the board. Null: it is not known now.
    #[schema(required)]
    pub members: Option<u64>,
    /// The members that fell out because of the limit.
    pub fell_out: Vec<String>,
}

/// The result of one change.
#[derive(Debug, Serialize, ToSchema)]
pub struct MemberResult {
    pub member: String,
    /// The present scores. Null: the member is not on the board, or was not changed.
    #[schema(required)]
    pub scores: Option<Vec<ScoreText>>,
    /// The present rank. Null: the member is not on the board, or the rank is not known now.
    #[schema(required)]
    pub rank: Option<u64>,
    /// The type of the problem for which the member was not changed. Null: it was.
    #[schema(required, example = "/problems/score-overflow")]
    pub problem: Option<&'static str>,
}

fn parts(outcome: ScoreOutcome) -> (Option<Vec<ScoreText>>, Option<u64>, Option<ProblemKind>) {
    match outcome {
        ScoreOutcome::Placed { scores, rank } => (Some(texts(&scores)), rank, None),
        ScoreOutcome::Gone => (None, None, None),
        ScoreOutcome::Unknown => (None, None, Some(ProblemKind::NoSuchMember)),
        ScoreOutcome::Overflow => (None, None, Some(ProblemKind::ScoreOverflow)),
        ScoreOutcome::KeyReused => (None, None, Some(ProblemKind::KeyReused)),
    }
}

fn names(members: Vec<MemberName>) -> Vec<String> {
    members.into_iter().map(String::from).collect()
}

/// The answer to a change of one member: 200, or 202 if its rank is not known now.
pub fn changed_one(changed: Changed) -> Result<Response, Problem> {
    let Some((member, outcome)) = changed.outcomes.into_iter().next() else {
        return Err(Problem::new(ProblemKind::InvalidScores, "name a member"));
    };
    refused(&member, outcome)?;
    let (scores, rank, _) = parts(outcome);
    let status = if changed.members.is_some() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let fell_out = names(changed.out);
    let member = member.to_string();
    let view = MemberView { member, scores, rank, members: changed.members, fell_out };
    Ok((status, Json(view)).into_response())
}

/// The answer to the removal of a member: 204.
pub fn removed_one(changed: Changed) -> Result<StatusCode, Problem> {
    for (member, outcome) in &changed.outcomes {
        refused(member, *outcome)?;
    }
    Ok(StatusCode::NO_CONTENT)
}

fn refused(member: &MemberName, outcome: ScoreOutcome) -> Result<(), Problem> {
    match outcome {
        ScoreOutcome::Placed { .. } | ScoreOutcome::Gone => Ok(()),
        ScoreOutcome::Unknown => Err(Error::NoSuchMember(member.clone()).into()),
        ScoreOutcome::Overflow => Err(Error::ScoreOverflow(member.clone()).into()),
        ScoreOutcome::KeyReused => Err(Error::KeyReused.into()),
    }
}

/// The answer to changes of several members: 200, or 202 if their ranks are not known now.
pub fn changed_all(changed: Changed) -> Response {
    let result = |(member, outcome): (MemberName, ScoreOutcome)| {
        let (scores, rank, problem) = parts(outcome);
        let problem = problem.map(ProblemKind::uri);
        MemberResult { member: member.to_string(), scores, rank, problem }
    };
    let status = if changed.members.is_some() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let view = MembersView {
        results: changed.outcomes.into_iter().map(result).collect(),
        members: changed.members,
        fell_out: names(changed.out),
    };
    (status, Json(view)).into_response()
}
