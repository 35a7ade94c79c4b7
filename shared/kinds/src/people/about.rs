//! What users say about themselves: in an item of its own, so that the item that every post and follow changes stays small.

use fanfold_core::content::{ContentError, Data, Link};
use fanfold_core::limits::{LINKS_MAX, PROFILE_DATA_BYTES_MAX};
use fanfold_core::text;
use serde::{Deserialize, Serialize};

/// What a user says about themselves, checked. It is stored as one string of JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bio: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
}

/// A change of [`About`], checked. What is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct AboutChange {
    bio: Option<String>,
    links: Option<Vec<Link>>,
    /// The new data, or none.
    data: Option<Option<Data>>,
}

impl AboutChange {
    /// Checks what was sent.
    pub fn new(
        bio: Option<&str>,
        links: Option<Vec<Link>>,
        data: Option<Option<Data>>,
    ) -> Result<Self, ContentError> {
        let bio = bio.map(text::bio).transpose()?;
        let found = links.as_ref().map_or(0, Vec::len);
        if found > LINKS_MAX {
            return Err(ContentError::TooMany { field: "links", found, max: LINKS_MAX });
        }
        let found = data.iter().flatten().map(|data| data.as_str().len()).sum();
        if found > PROFILE_DATA_BYTES_MAX {
            return Err(ContentError::TooBig { field: "data", found, max: PROFILE_DATA_BYTES_MAX });
        }
        let checked = |links: Vec<Link>| links.into_iter().map(Link::checked).collect();
        Ok(Self { bio, links: links.map(checked).transpose()?, data })
    }
}

impl About {
    /// This, changed.
    pub fn changed(&self, AboutChange { bio, links, data }: &AboutChange) -> Self {
        Self {
            bio: bio.as_ref().unwrap_or(&self.bio).clone(),
            links: links.as_ref().unwrap_or(&self.links).clone(),
            data: data.as_ref().unwrap_or(&self.data).clone(),
        }
    }

    /// Whether the user says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
