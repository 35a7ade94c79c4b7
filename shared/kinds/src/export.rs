//! The export of a user: everything that is stored about the user, as lines of JSON, each with a `type`.
//!
//! A page has the lines of one kind, or a part of them. The place of a page names its kind and a place in it.

use std::fmt;
use std::str::FromStr;

use fanfold_core::kinds::Kind;
use fanfold_core::{Time, UserId};
use fanfold_runtime::StoreError;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::App;
use crate::all::owned;

/// A page of the export of a user. It may have no lines.
#[derive(Debug, PartialEq, Serialize)]
pub struct Exported {
    pub lines: Vec<Value>,
    /// Where the next page begins. `None`: this is the last one.
    pub next: Option<ExportPlace>,
}

/// The place where a page of an export begins. As a text, it is the name of the kind, and after a space the place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportPlace {
    kind: Kind,
    after: Option<String>,
}

impl ExportPlace {
    /// The beginning of an export.
    pub const FIRST: Self = Self { kind: Kind::People, after: None };
}

impl fmt::Display for ExportPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, after } = self;
        write!(f, "{} {}", kind.name(), after.as_deref().unwrap_or_default())
    }
}

impl Serialize for ExportPlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that names no place in an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a place in an export is what the page before it returned, unchanged")]
pub struct ExportPlaceError;

impl FromStr for ExportPlace {
    type Err = ExportPlaceError;

    fn from_str(text: &str) -> Result<Self, ExportPlaceError> {
        let (kind, after) = text.split_once(' ').ok_or(ExportPlaceError)?;
        let kind = Kind::named(kind).ok_or(ExportPlaceError)?;
        Ok(Self { kind, after: Some(after.to_owned()).filter(|after| !after.is_empty()) })
    }
}

/// Reads a page of the export of a user.
pub async fn export(
    app: &App,
    user: UserId,
    from: ExportPlace,
    now: Time,
) -> Result<Exported, StoreError> {
    let ExportPlace { mut kind, after } = from;
    let mut page = owned(kind).export(app, user, after, now).await?;
    // kinds without lines are passed
    while page.lines.is_empty() && page.next_after.is_none() {
        let Some(next) = following(kind) else { break };
        kind = next;
        page = owned(kind).export(app, user, None, now).await?;
    }
    let next = match page.next_after {
        Some(after) => Some(ExportPlace { kind, after: Some(after) }),
        None => following(kind).map(|kind| ExportPlace { kind, after: None }),
    };
    Ok(Exported { lines: page.lines, next })
}

fn following(kind: Kind) -> Option<Kind> {
    let mut later = Kind::ALL.iter().skip_while(|other| **other != kind);
    later.nth(1).copied()
}
