//! What a post has beside its text: JSON of the app, and attachments.

use fanfold_core::content::{Attachment, ContentError, Data};
use fanfold_core::limits::{ATTACHMENTS_MAX, EXTRAS_BYTES_MAX};
use serde::{Deserialize, Serialize};

/// What a post has beside its text, checked. It is stored as one string of JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Extras(Content);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Data>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<Attachment>,
}

/// A change of [`Extras`], checked. What is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct ExtrasChange {
    /// The new data, or none.
    data: Option<Option<Data>>,
    attachments: Option<Vec<Attachment>>,
}

impl ExtrasChange {
    /// Checks what was sent.
    pub fn new(
        data: Option<Option<Data>>,
        attachments: Option<Vec<Attachment>>,
    ) -> Result<Self, ContentError> {
        let found = attachments.as_ref().map_or(0, Vec::len);
        if found > ATTACHMENTS_MAX {
            let field = "attachments";
            return Err(ContentError::TooMany { field, found, max: ATTACHMENTS_MAX });
        }
        let checked = |all: Vec<Attachment>| all.into_iter().map(Attachment::checked).collect();
        let change = Self { data, attachments: attachments.map(checked).transpose()? };
        // too much for any post
        Extras::NONE.changed(&change)?;
        Ok(change)
    }

    /// Whether everything stays.
    pub fn is_empty(&self) -> bool {
        self.data.is_none() && self.attachments.is_none()
    }
}

impl Extras {
    /// A post that has a text alone.
    pub const NONE: &Self = &Self(Content { data: None, attachments: Vec::new() });

    /// These, changed. Fails if they are too large together.
    pub fn changed(&self, change: &ExtrasChange) -> Result<Self, ContentError> {
        let Content { data, attachments } = self.0.clone();
        let data = change.data.clone().unwrap_or(data);
        let attachments = change.attachments.clone().unwrap_or(attachments);
        Self(Content { data, attachments }).fitting()
    }

    fn fitting(self) -> Result<Self, ContentError> {
        let data = self.data().map_or(0, |data| data.as_str().len());
        // an attachment is always JSON
        let files = serde_json::to_string(self.attachments()).map_or(0, |json| json.len());
        let found = data + if self.attachments().is_empty() { 0 } else { files };
        if found > EXTRAS_BYTES_MAX {
            let field = "data with attachments";
            return Err(ContentError::TooBig { field, found, max: EXTRAS_BYTES_MAX });
        }
        Ok(self)
    }

    pub fn data(&self) -> Option<&Data> {
        self.0.data.as_ref()
    }

    pub fn attachments(&self) -> &[Attachment] {
        &self.0.attachments
    }

    /// Whether there are neither.
    pub fn is_empty(&self) -> bool {
        self == Self::NONE
    }
}

impl TryFrom<String> for Extras {
    type Error = serde_json::Error;

    fn try_from(json: String) -> Result<Self, serde_json::Error> {
        serde_json::from_str(&json).map(Self)
    }
}

impl From<Extras> for String {
    fn from(extras: Extras) -> Self {
        serde_json::to_string(&extras.0).unwrap_or_default()
    }
}
