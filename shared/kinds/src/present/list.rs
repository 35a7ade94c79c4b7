//! Pages of users.

use fanfold_core::limits::LIST_QUERY_MIN;
use fanfold_core::{Partition, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_runtime::StoreError;

use super::people::{SeenUser, seen};
use super::viewer::Viewer;
use crate::App;

/// A place in a list of users: after this user, in this partition of followers.
pub type UserPlace = (Partition, UserId);

/// A page of users. `P` is a place in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserPage<P> {
    pub users: Vec<SeenUser>,
    /// The next page begins after this place. None: no users are left.
    pub next_after: Option<P>,
}

/// A page of users that is being filled. Users without a profile and users hidden from the viewer are passed over.
pub(crate) struct UserPageBuilder<'a, P> {
    app: &'a App,
    viewer: &'a Viewer,
    limit: usize,
    reading: &'a ReadContext,
    /// Each with the place at which the user was found.
    found: Vec<(P, SeenUser)>,
}

impl<'a, P: Copy> UserPageBuilder<'a, P> {
    pub fn new(app: &'a App, viewer: &'a Viewer, limit: usize, reading: &'a ReadContext) -> Self {
        Self { app, viewer, limit, reading, found: Vec::new() }
    }

    /// Whether more users were found than the page has. The extra user shows that there is a next page.
    pub fn is_full(&self) -> bool {
        self.found.len() > self.limit
    }

    /// The number of rows to read. It can be greater than the number of missing users, because some users may have no
    /// profile, and some relations may have ended.
    pub fn wanted(&self) -> i32 {
        (self.limit + 1).saturating_sub(self.found.len()).max(LIST_QUERY_MIN) as i32
    }

    /// Adds users, each with the place at which the user was found.
    pub async fn add(&mut self, users: &[(P, UserId)]) -> Result<(), StoreError> {
        let visible: Vec<(P, UserId)> =
            users.iter().copied().filter(|(_, user)| self.viewer.sees(*user)).collect();
        let ids: Vec<UserId> = visible.iter().map(|(_, user)| *user).collect();
        let mut cards = seen(self.app, self.viewer.user, &ids, self.reading).await?;
        let known = visible.iter().filter_map(|(place, user)| Some((*place, cards.remove(user)?)));
        self.found.extend(known);
        Ok(())
    }

    /// Ends the page. `place` is where the search stopped, if it neither reached the end of the list nor filled the
    /// page.
    pub fn end(mut self, place: Option<P>) -> UserPage<P> {
        let more = self.is_full();
        self.found.truncate(self.limit);
        let last = self.found.last().map(|(place, _)| *place).filter(|_| more);
        let next_after = last.or(place.filter(|_| !more));
        UserPage { users: self.found.into_iter().map(|(_, seen)| seen).collect(), next_after }
    }
}
