//! Rankings: posts by the likes of the last day or week, and authors by the likes of their posts.
//!
//! The count of the likes of a post adds to its rows in DynamoDB. A snapshot of a ranking is made of these rows when somebody
//! reads it, and shared until the next one. It is a board in Valkey with the first places, made like a merged board.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use fanfold_core::limits::{
    BOARD_BATCH_MAX, BOARD_ROWS_IN_REQUEST, LIST_QUERY_MIN, PAGE_ROUNDS_MAX,
    RANKING_AUTHORS_COMPARED, RANKING_KEPT, RANKING_PLACES_MAX, RANKING_SECONDS_DEFAULT,
    RANKING_SECONDS_MAX, RANKING_SECONDS_MIN,
};
use fanfold_core::message::{RebuildOrder, RebuildRanking};
use fanfold_core::registry::REBUILDS;
use fanfold_core::{Board, MemberName, PostId, Ranking, Scores, Snapshot, Time, UserId};
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::sqs::Queue;
use fanfold_runtime::{Config, StartError, StoreError};
use fanfold_store::cards::{PostCards, RelationCards, SeenUser};
use fanfold_store::dynamo::BoardStore;
use fanfold_store::dynamo::boards::RankingPage as Rows;
use fanfold_store::feeds::ReadContext;
use fanfold_store::valkey::{BoardAnswer, BoardChange, BoardPage, PageOf, Ranked};
use futures::future::{BoxFuture, ready, try_join_all};

use crate::Error;
use crate::boards::copy::{Copied, Copies, Sources, call, fixed};
use crate::present::{self, ShownPost, Viewer};
use crate::timeline::Timeline;

/// The stores, the queue and the settings of rankings.
#[derive(Clone)]
pub struct Rankings {
    pub copies: Copies,
    pub cards: PostCards,
    pub relations: RelationCards,
    /// The time after which a snapshot is replaced.
    pub every: Duration,
}

impl Rankings {
    /// Makes the clients that timelines have not from the settings. An error names the setting that is missing or malformed.
    pub fn over(timeline: &Timeline, sdk: &SdkConfig, config: &Config) -> Result<Self, StartError> {
        let Timeline { cards, feeds } = timeline.clone();
        let copies = Copies {
            boards: BoardStore::new(sdk, config)?,
            users: cards.users.users.clone(),
            valkey: feeds.valkey,
            rebuilds: Queue::new(sdk, config, REBUILDS)?,
            rows_in_request: BOARD_ROWS_IN_REQUEST,
        };
        let relations = RelationCards { users: cards.users.clone(), graph: feeds.graph };
        let bounds = RANKING_SECONDS_MIN.as_secs()..=RANKING_SECONDS_MAX.as_secs();
        let every = config.number("RANKING_SECONDS", RANKING_SECONDS_DEFAULT.as_secs(), bounds)?;
        Ok(Self { copies, cards, relations, every: Duration::from_secs(every) })
    }
}

/// A place in a ranking: after this place (from 1) of the snapshot of this time.
pub type RankingPlace = (Time, u64);

/// A page of a ranking, best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankingPage {
    pub ranking: Ranking,
    /// The time of the snapshot.
    pub at: Time,
    pub entries: Vec<RankingEntry>,
    /// The next page begins after this place. None: no places are left.
    pub next_after: Option<RankingPlace>,
}

/// A place of a ranking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankingEntry {
    /// The place, from 1. A post that is gone since the snapshot leaves its place empty.
    pub place: u64,
    /// The likes that were counted.
    pub likes: u64,
    pub shown: Shown,
}

/// Who or what has a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    Post(Box<ShownPost>),
    Author(Box<SeenUser>),
}

/// Reads a page of a ranking. Posts and authors that are gone or hidden are passed over and replaced. A page after another one
/// is of the same snapshot, if Valkey has it still. Fails with [`Error::RankingBuilding`] while there is no snapshot.
pub async fn page(
    app: &Rankings,
    viewer: &Viewer,
    ranking: Ranking,
    after: Option<RankingPlace>,
    limit: usize,
    reading: &ReadContext,
) -> Result<RankingPage, Error> {
    let mut snapshot = after.map(|(at, _)| Snapshot { ranking, at });
    let mut from = after.map_or(1, |(_, place)| place.saturating_add(1));
    let mut entries: Vec<RankingEntry> = Vec::new();
    for _ in 0..PAGE_ROUNDS_MAX {
        // one more than asked for shows whether there is a next page; some may be gone
        let wanted = (limit + 1 - entries.len()).max(LIST_QUERY_MIN).min(BOARD_BATCH_MAX);
        let (of, found) = rows(app, ranking, snapshot, from, wanted as u64, reading.now).await?;
        snapshot = Some(of);
        from = from.saturating_add(found.rows.len() as u64);
        let is_end = found.rows.is_empty() || from > found.members;
        entries.extend(shown(app, viewer, ranking, found, reading).await?);
        let more = entries.len() > limit;
        if is_end || more {
            entries.truncate(limit);
            let last = entries.last().map(|entry| (of.at, entry.place));
            let next_after = last.filter(|_| more);
            return Ok(RankingPage { ranking, at: of.at, entries, next_after });
        }
    }
    let at = snapshot.map_or(Time::EPOCH, |snapshot| snapshot.at);
    Ok(RankingPage { ranking, at, entries, next_after: Some((at, from.saturating_sub(1))) })
}

/// Places from one on, of this snapshot, or of the present one if Valkey does not have it.
async fn rows(
    app: &Rankings,
    ranking: Ranking,
    snapshot: Option<Snapshot>,
    from: u64,
    limit: u64,
    now: Time,
) -> Result<(Snapshot, BoardPage), Error> {
    let (valkey, page) = (&app.copies.valkey, PageOf::Rank { from, limit });
    // mutation: ranking-same-snapshot
    if let Some(snapshot) = snapshot
        && let BoardAnswer::Ready(Ranked::Page(page)) =
            valkey.board_page(&snapshot.copy(), page).await?
    {
        return Ok((snapshot, page));
    }
    let snapshot = Snapshot::of(ranking, now, app.every);
    let ask = |copy: Board| async move { valkey.board_page(&copy, page).await };
    // while the present one is being made, the one before it answers
    let earlier = Snapshot::of(ranking, now - app.every, app.every);
    let found = call(&app.copies, snapshot, Some(earlier), now, ask).await?;
    let (snapshot, found) = found.ok_or(Error::RankingBuilding)?;
    Ok((snapshot, found.page().ok_or(Error::RankingBuilding)?))
}

/// What a viewer sees of places.
async fn shown(
    app: &Rankings,
    viewer: &Viewer,
    ranking: Ranking,
    found: BoardPage,
    reading: &ReadContext,
) -> Result<Vec<RankingEntry>, Error> {
    let rows: Vec<(u64, u64, MemberName)> = found
        .rows
        .into_iter()
        .map(|row| (row.rank, row.scores.as_slice().first().map_or(0, likes), row.member))
        .collect();
    let entry = |(place, likes), shown| RankingEntry { place, likes, shown };
    Ok(match ranking {
        Ranking::PostsDay | Ranking::PostsWeek => {
            let rows = ids::<PostId>(rows);
            let ids: Vec<PostId> = rows.iter().map(|(_, id)| *id).collect();
            let mut found = present::posts(&app.cards, viewer, &ids, reading).await?;
            let found = |(at, id)| Some(entry(at, Shown::Post(Box::new(found.remove(&id)?))));
            rows.into_iter().filter_map(found).collect()
        }
        Ranking::Authors => {
            let mut rows = ids::<UserId>(rows);
            rows.retain(|(_, id)| viewer.sees(*id));
            let ids: Vec<UserId> = rows.iter().map(|(_, id)| *id).collect();
            let mut found = app.relations.users(viewer.user, &ids, reading).await?;
            let found = |(at, id)| Some(entry(at, Shown::Author(Box::new(found.remove(&id)?))));
            rows.into_iter().filter_map(found).collect()
        }
    })
}

fn likes(score: &i64) -> u64 {
    u64::try_from(*score).unwrap_or_default()
}

/// The place and the likes of each id.
fn ids<T: std::str::FromStr>(rows: Vec<(u64, u64, MemberName)>) -> Vec<((u64, u64), T)> {
    let id = |(place, likes, member): (u64, u64, MemberName)| {
        Some(((place, likes), member.as_str().parse().ok()?))
    };
    rows.into_iter().filter_map(id).collect()
}

impl Copied for Snapshot {
    fn board(&self) -> Board {
        self.copy()
    }

    fn kept(&self) -> Duration {
        RANKING_KEPT
    }

    fn named(&self) -> Option<String> {
        None
    }

    fn order(&self, lease: &str) -> RebuildOrder {
        RebuildRanking::new(*self, lease.to_owned()).into()
    }

    fn sources<'a>(&'a self, _: &'a Copies, _: Time) -> BoxFuture<'a, Result<Sources, StoreError>> {
        Box::pin(ready(Ok(Sources::Ranking(*self))))
    }

    fn committed<'a>(&'a self, _: &'a Copies, _: Time) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }
}

/// The best posts or authors of one part of the rows. The first places of all parts contain those of the ranking. `None`: there
/// are more rows than `limit`.
pub(crate) async fn part(
    app: &Copies,
    snapshot: Snapshot,
    part: u8,
    limit: Option<i32>,
) -> Result<Option<Vec<BoardChange>>, StoreError> {
    let Some(first) = snapshot.first_hour() else {
        let page = |after| app.boards.received_by(part, after, limit);
        let Some(authors) = all(page, limit).await? else { return Ok(None) };
        return best_authors(app, added(authors)).await.map(Some);
    };
    let days = snapshot.days();
    let days = days.iter().map(|day| {
        let page = move |after| app.boards.trends(*day, part, first, after, limit);
        all(page, limit)
    });
    let days: Option<Vec<_>> = try_join_all(days).await?.into_iter().collect();
    let Some(days) = days else { return Ok(None) };
    let mut posts = added(days.into_iter().flatten());
    posts.sort_unstable_by_key(|(post, likes)| (-likes, *post));
    posts.truncate(RANKING_PLACES_MAX as usize);
    Ok(Some(posts.into_iter().filter_map(|(post, likes)| row(post, &[likes])).collect()))
}

/// The authors with the most likes, then with the most followers. Authors who are gone are left out.
async fn best_authors(
    app: &Copies,
    mut authors: Vec<(UserId, i64)>,
) -> Result<Vec<BoardChange>, StoreError> {
    authors.sort_unstable_by_key(|(author, likes)| (-likes, *author));
    // those with as many likes as the last one may have more followers
    let places = RANKING_PLACES_MAX as usize;
    let least = authors.get(places - 1).map_or(0, |(_, likes)| *likes);
    let compared = authors.partition_point(|(_, likes)| *likes >= least);
    authors.truncate(compared.min(RANKING_AUTHORS_COMPARED));
    let ids: Vec<UserId> = authors.iter().map(|(author, _)| *author).collect();
    let profiles = app.users.profiles(&ids).await?;
    let rows = authors.into_iter().filter_map(|(author, likes)| {
        let followers = profiles.get(&author)?.followers;
        Some((author, likes, i64::try_from(followers).unwrap_or(i64::MAX)))
    });
    let mut rows: Vec<(UserId, i64, i64)> = rows.collect();
    rows.sort_unstable_by_key(|(author, likes, followers)| (-likes, -followers, *author));
    rows.truncate(places);
    let row = |(author, likes, followers)| row(author, &[likes, followers]);
    Ok(rows.into_iter().filter_map(row).collect())
}

/// All pages of a part. `None`: there is more than one page with a limit.
async fn all<K, F: Future<Output = Result<Rows<K>, StoreError>>>(
    page: impl Fn(Option<String>) -> F,
    limit: Option<i32>,
) -> Result<Option<Vec<(K, i64)>>, StoreError> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let (rows, next) = page(after).await?;
        all.extend(rows);
        match next {
            None => return Ok(Some(all)),
            Some(_) if limit.is_some() => return Ok(None),
            next => after = next,
        }
    }
}

/// The sums of the likes in all rows of a post or an author, without those that are not above zero.
fn added<K: Eq + Hash>(rows: impl IntoIterator<Item = (K, i64)>) -> Vec<(K, i64)> {
    let mut sums: HashMap<K, i64> = HashMap::new();
    for (id, likes) in rows {
        *sums.entry(id).or_default() += likes;
    }
    sums.into_iter().filter(|(_, likes)| *likes > 0).collect()
}

fn row(member: impl ToString, scores: &[i64]) -> Option<BoardChange> {
    let member: MemberName = member.to_string().try_into().ok()?;
    Some(fixed(member, Scores::new(scores).ok()?))
}
