//! The card of what a viewer marked, of the newest posts.

use fanfold_core::UserId;
use fanfold_core::limits::MARKS_CARD_MAX;
use fanfold_engines::card::{Card, Fetched, Text};
use fanfold_engines::mark::NewestMarks;
use fanfold_engines::valkey::CardId;
use futures::future::try_join_all;

use super::kind::MarkKind;
use crate::App;

/// What a viewer marked, of the newest posts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MarksCard(pub NewestMarks);

impl Card<App> for MarksCard {
    type Of = (MarkKind, UserId);

    fn id((kind, viewer): &(MarkKind, UserId)) -> CardId {
        kind.card(*viewer)
    }

    fn of(id: CardId) -> Option<(MarkKind, UserId)> {
        let mut kinds = MarkKind::ALL.iter();
        kinds.find_map(|kind| Some((*kind, UserId(id.id(kind.spec().card)? as u64))))
    }

    fn fetch(app: &App, wanted: Vec<(MarkKind, UserId)>) -> Fetched<'_, Self::Of, Self> {
        let read = async |(kind, viewer): (MarkKind, UserId)| {
            let posts = kind.of(app).newest(viewer, MARKS_CARD_MAX).await?;
            Ok(((kind, viewer), Self(NewestMarks::read(posts, MARKS_CARD_MAX))))
        };
        Box::pin(try_join_all(wanted.into_iter().map(read)))
    }

    fn text(&self) -> Option<Text> {
        Some(Text::of(self.0.encode()))
    }

    fn decode(_: &Self::Of, text: &[u8]) -> Option<Self> {
        NewestMarks::decode(text).map(Self)
    }
}
