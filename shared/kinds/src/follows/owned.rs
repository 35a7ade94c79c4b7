//! The relations of a user who is erased or exported.

use fanfold_core::limits::{CONCURRENCY, DROP_PAGE};
use fanfold_core::{Partition, UserId};
use fanfold_engines::card::Wanted;
use fanfold_engines::list::Page;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use futures::future::BoxFuture;
use serde_json::json;

use super::cards::Follows as FollowsCard;
use super::items::Ends;
use crate::App;
use crate::owned::erasing::{Erasing, Progress, ended};
use crate::owned::{EXPORT_PAGE, ExportRead, Exporting, Lines, Owned, Step, nothing};

/// Relations of one partition that are ended at the same time. DynamoDB takes 500 changes a second in a
/// partition.
const DROP_ENDS_AT_ONCE: usize = 8;

/// Follows.
pub(crate) struct Follows;

impl Owned for Follows {
    nothing!(forget audit);

    fn empty<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            if followers(erasing).await? == Progress::NoTime {
                return Ok(Progress::NoTime);
            }
            following(erasing).await
        })
    }

    fn is_left<'a>(&'a self, erasing: &'a Erasing<'_>) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            for partition in Partition::first(erasing.partitions) {
                let some = erasing.app.graph.some_followers(erasing.user, partition, 1).await?;
                if !some.is_empty() {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// Removes the rows that count followers, and the tombstones of relations to followed authors.
    fn erase<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            let graph = &erasing.app.graph;
            graph.forget_counts(erasing.user, erasing.partitions).await?;
            while graph.forget_following(erasing.user).await? {
                if erasing.time_is_up() {
                    return Ok(Progress::NoTime);
                }
            }
            Ok(Progress::Done)
        })
    }

    fn export<'a>(&'a self, exporting: Exporting<'a>) -> ExportRead<'a> {
        let Exporting { app, user, after, .. } = exporting;
        Box::pin(async move {
            let from =
                after.as_deref().and_then(RelationPlace::read).unwrap_or(RelationPlace::FIRST);
            relations(app, user, from).await
        })
    }

    fn cards(&self, wanted: Wanted<App>, ids: &[CardId]) -> Wanted<App> {
        wanted.among::<FollowsCard>(ids)
    }
}

/// Ends the relations to followers.
async fn followers(erasing: &mut Erasing<'_>) -> Result<Progress, StoreError> {
    let (app, author) = (erasing.app, erasing.user);
    for partition in Partition::first(erasing.partitions) {
        loop {
            let page = app.graph.some_followers(author, partition, DROP_PAGE as usize).await?;
            if page.is_empty() {
                break;
            }
            let cards = page.iter().copied();
            let cards = cards.flat_map(|user| [CardId::user(user), CardId::relation(user, author)]);
            let cards: Vec<CardId> = cards.collect();
            let ends = page.into_iter().map(|follower| end_follower(erasing, partition, follower));
            let count = ended(ends.collect(), DROP_ENDS_AT_ONCE).await?;
            erasing.removed("followers", count);
            // the relations, and the numbers of the authors whom they follow
            app.valkey.cards_changed(&cards).await?;
            if erasing.time_is_up() {
                return Ok(Progress::NoTime);
            }
        }
    }
    Ok(Progress::Done)
}

async fn end_follower(
    erasing: &Erasing<'_>,
    partition: Partition,
    follower: UserId,
) -> Result<bool, StoreError> {
    let Erasing { app, user: author, now, .. } = *erasing;
    let ended = super::end(app, Ends::Author { follower, author }, now).await?;
    if !ended {
        // the follower has unfollowed, or only this row of the relation was left
        app.graph.forget_follower(author, partition, follower).await?;
    }
    Ok(ended)
}

/// Ends the relations to followed authors. Tombstones stay.
async fn following(erasing: &mut Erasing<'_>) -> Result<Progress, StoreError> {
    let (app, follower, now) = (erasing.app, erasing.user, erasing.now);
    let mut after = None;
    loop {
        let Page { items: page, next } =
            app.graph.following_page(follower, after, DROP_PAGE).await?;
        let some = !page.is_empty();
        let cards = page.iter().map(|author| CardId::relation(follower, *author)).collect();
        let authors = page.into_iter();
        let ends = authors.map(|author| super::end(app, Ends::Follower { follower, author }, now));
        let count = ended(ends.collect(), CONCURRENCY).await?;
        erasing.removed("following", count);
        erasing.forget_cards(cards).await?;
        after = next;
        if after.is_none() {
            return Ok(Progress::Done);
        }
        if some && erasing.time_is_up() {
            return Ok(Progress::NoTime);
        }
    }
}

/// A place among the relations of a user: first those to followed authors, then those to followers.
#[derive(Clone, Copy)]
enum RelationPlace {
    Following { after: Option<UserId> },
    Followers { partition: u16, after: Option<UserId> },
}

impl RelationPlace {
    const FIRST: Self = Self::Following { after: None };

    fn text(self) -> String {
        let of = |after: Option<UserId>| after.map(|after| after.to_string()).unwrap_or_default();
        match self {
            Self::Following { after } => of(after),
            Self::Followers { partition, after } => format!("{partition} {}", of(after)),
        }
    }

    fn read(text: &str) -> Option<Self> {
        match text.split_once(' ') {
            None => Some(Self::Following { after: text.parse().ok() }),
            Some((partition, after)) => Some(Self::Followers {
                partition: partition.parse().ok()?,
                after: after.parse().ok(),
            }),
        }
    }
}

/// Some relations of a user.
async fn relations(app: &App, user: UserId, from: RelationPlace) -> Result<Lines, StoreError> {
    let count = EXPORT_PAGE as i32;
    let (role, users, next) = match from {
        RelationPlace::Following { after } => {
            let Page { items, next } = app.graph.following_page(user, after, count).await?;
            let followers = RelationPlace::Followers { partition: 0, after: None };
            let next = next.map(|last| RelationPlace::Following { after: Some(last) });
            ("following", items, Some(next.unwrap_or(followers)))
        }
        RelationPlace::Followers { partition, after } => {
            let page = app.graph.followers_page(user, Partition(partition), after, count).await?;
            let next = match page.next {
                Some(last) => Some((partition, Some(last))),
                None => {
                    let profile = app.users.profile(user).await?;
                    let partitions = profile.map_or(1, |profile| profile.follower_partitions);
                    partition
                        .checked_add(1)
                        .filter(|next| *next < partitions)
                        .map(|next| (next, None))
                }
            };
            let next = next.map(|(partition, after)| RelationPlace::Followers { partition, after });
            ("follower", page.items, next)
        }
    };
    let line = |user| json!({"type": role, "user": user}).into();
    Ok(Lines {
        lines: users.into_iter().map(line).collect(),
        next_after: next.map(RelationPlace::text),
    })
}
