//! The card of a relation: whether a viewer follows a user.

use fanfold_core::UserId;
use fanfold_core::kinds::KeyKind;
use fanfold_engines::card::{Card, Fetched, Found, Text};
use fanfold_engines::valkey::CardId;

use crate::App;
use crate::people::cards::UserCard;

/// Whether the viewer follows the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Follows(pub bool);

impl Card<App> for Follows {
    /// The viewer and the user.
    type Of = (UserId, UserId);

    fn id((viewer, user): &Self::Of) -> CardId {
        CardId::relation(*viewer, *user)
    }

    fn of(id: CardId) -> Option<Self::Of> {
        id.ids(KeyKind::RelationCard).map(|(viewer, user)| (UserId(viewer), UserId(user)))
    }

    fn fetch(app: &App, pairs: Vec<Self::Of>) -> Fetched<'_, Self::Of, Self> {
        Box::pin(async move {
            let doing = "reading a viewer's relations";
            let following = app.graph.following_pairs(doing, pairs.iter().copied().collect());
            let following = following.await?;
            Ok(pairs.into_iter().map(|pair| (pair, Self(following.contains(&pair)))).collect())
        })
    }

    fn text(&self) -> Option<Text> {
        serde_json::to_vec(&self.0).ok().map(Text::of)
    }

    fn decode(_: &Self::Of, text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok().map(Self)
    }

    /// Nothing is kept of a relation to a user who has no profile, as far as this reader knows: a caller could fill Valkey
    /// with such cards.
    fn is_kept((_, user): &Self::Of, found: &Found) -> bool {
        found.get::<App, Option<UserCard>>(user).is_some_and(|user| user.is_some())
    }
}
