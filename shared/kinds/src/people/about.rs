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

/// A change of [`About`]. What is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct AboutChange {
    pub bio: Option<String>,
    pub links: Option<Vec<Link>>,
    /// The new data, or none.
    pub data: Option<Option<Data>>,
}

impl About {
    /// This, changed.
    pub fn changed(&self, change: &AboutChange) -> Result<Self, ContentError> {
        let AboutChange { bio, links, data } = change;
        let links = links.as_ref().unwrap_or(&self.links).clone();
        let data = data.as_ref().unwrap_or(&self.data).clone();
        Self::new(bio.as_ref().unwrap_or(&self.bio), links, data)
    }

    /// Checks what was sent.
    pub fn new(bio: &str, links: Vec<Link>, data: Option<Data>) -> Result<Self, ContentError> {
        let bio = text::bio(bio)?;
        if links.len() > LINKS_MAX {
            let (field, found) = ("links", links.len());
            return Err(ContentError::TooMany { field, found, max: LINKS_MAX });
        }
        let found = data.as_ref().map_or(0, |data| data.as_str().len());
        if found > PROFILE_DATA_BYTES_MAX {
            return Err(ContentError::TooBig { field: "data", found, max: PROFILE_DATA_BYTES_MAX });
        }
        let links = links.into_iter().map(Link::checked).collect::<Result<_, _>>()?;
        Ok(Self { bio, links, data })
    }

    /// Whether the user says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
