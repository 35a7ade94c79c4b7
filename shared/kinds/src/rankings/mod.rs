//! Rankings: posts by the likes of the last day or week, authors by the likes of their posts, and tags by the authors who used
//! them in the last day.
//!
//! The count of the likes of a post adds to its rows in DynamoDB. A snapshot of a ranking is made of these rows when somebody
//! reads it, and shared until the next one. It is a board in Valkey with the first places, made like a merged board.
//!
//! `rankings.rs` has the use case, and `shared/kinds/src/boards/items/rankings.rs` the rows.
//!
//! | who | when | does |
//! | --- | --- | --- |
//! | `changes` | a count changes the number of likes of a post | adds the difference to the row of the post for this day and hour, and to a row of the author, in the transaction that writes the number |
//! | `changes` | a post was deleted | takes its likes from the row of the author, and removes the rows of its days |
//! | a request | somebody reads a ranking without the present snapshot | makes it, or sends `RebuildRanking` |
//! | `rebuild` | SQS delivers `RebuildRanking` | loads parts of a snapshot |
//!
//! **Rankings.** A snapshot is made like a merged board, from rows of DynamoDB, when somebody reads a ranking and
//! Valkey does not have the present snapshot. The times at which snapshots begin are multiples of `RankingSeconds`.
//! For the posts of a day, the rows of two days are read, and for a week those of eight; the hours of the window are
//! added up for each post, and each of the 16 parts contributes its best 500. For tags, the uses of two days are read, and the
//! different authors of each tag are counted, so one author counts once. For authors, the candidates of each part
//! are read with their followers. Up to 250 rows of each part, of all days together, are read within the request;
//! otherwise `RebuildRanking` passes the lease to `rebuild`, part by part, and readers get the snapshot before.
//! `timeline` reads a page of ids from the snapshot, and `present` the cards, so a page of a snapshot that is there
//! makes no call to DynamoDB. Posts and authors that are gone are passed over. A cursor names the snapshot, which
//! Valkey keeps for 15 minutes.
//!
//! **Rows.** A count reads the post, computes the difference, and writes on condition that the post has still the
//! number and the changes that were read. A count that comes twice or late therefore adds nothing. The tombstone of a
//! deleted post keeps the number; the handler of the deletion removes it in the transaction that subtracts it from the
//! author, so this happens once. It never makes a row: the author may have been dropped. An author has 16 rows, and
//! the post chooses one, because very many posts of one author may be counted at the same time, and transactions that
//! meet on a row conflict. All rows of an author are in one part, and so are all rows of a post.
//!
//! **Snapshots.** A snapshot is a copy that nobody changes, with one score for posts (likes) and two for authors
//! (likes, followers). It is made like the copy of a merged board, with the same lease. The members are the ids in
//! their text form. The id of a post begins with its time, so on a tie the earlier post is first. All messages of a
//! snapshot have its time, so they use the same window. While it is made, readers get the newest one before, and no
//! other one is begun (see [`fanfold_engines::rank`]). Valkey keeps it for 15 minutes, for readers who page through it.
//!
//! # Decisions
//!
//! - **Rankings are snapshots, made from rows by hour.** A board with a member for each post would need a change for
//!   each like that leaves the window, a day and a week later. The rows cost one write for a count, which serves all
//!   likes of a second, and nothing when hours pass. A row has all hours of a day, because a row for each hour would
//!   make 24 times as many; the day and the week read the same rows. The price is that a snapshot reads the rows of
//!   the whole window. It is paid at most once in `RankingSeconds`, and only while somebody reads: for 100,000 posts
//!   that are liked on a day, a snapshot of the day reads about 10,000 units, and one of the week 40,000. Counting the
//!   likes of such a day costs more.
//! - **A ranking has 500 places.** The best 500 of each part contain the best 500 of all, so Valkey gets at most 8,000
//!   entries for a snapshot, however many posts are liked.
//! - **The followers of authors are read when the snapshot is made.** In the row of the author, each count of
//!   followers would need another write, and most authors are never compared.
//!
//! # Bounds
//!
//! - All readers of a ranking read one key of Valkey, as those of a board do.
//! - A snapshot or a merge may take longer than the time after which the next one begins. Meanwhile no other one is
//!   begun, and readers get the one before, which Valkey keeps for 15 minutes. If its function has died, the next one
//!   begins when the lease has ended.
//! - A ranking of authors compares the followers of at most 2,000 authors of a part. If more authors of a part have
//!   the same number of likes as the 500th, the others are left out, whatever their followers.

pub mod messages;
pub(crate) mod owned;
pub mod rows;

use std::str::FromStr;
use std::time::Duration;

use fanfold_core::limits::{BOARD_BATCH_MAX, PAGE_ROUNDS_MAX, RANKING_KEPT};
use fanfold_core::{Board, List, PostId, Ranking, RoundId, Snapshot, Time, UserId};
use fanfold_engines::list::{Filling, Page};
use fanfold_engines::rank::{Copied, Place, RowSource, RowsOf, Version, call, continue_copy};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{BoardAnswer, BoardChange, BoardPage, PageOf, Ranked};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use futures::future::{BoxFuture, ready};

use crate::present::{self, SeenUser, ShownPost, Viewer};
use crate::rankings::messages::RebuildRanking;
use crate::tags::names::NamedTag;
use crate::tags::uses::USE_ROWS;
use crate::{App, Error};

/// The places of this ranking.
#[derive(Debug, Clone, Copy)]
pub struct PlacesOf(pub Ranking);

impl List for PlacesOf {
    type Place = RankingPlace;

    const ABOUT: &'static str = "For 15 minutes, it returns places of the same state of the ranking as that page. A\n\
        cursor is opaque: one that was not issued for this ranking is answered with 404.";

    fn code(&self) -> u8 {
        b'r'
    }

    fn owner(&self) -> u64 {
        self.0 as u64
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
    /// The likes that were counted, or the authors of a tag.
    pub count: u64,
    pub shown: Shown,
}

/// Who or what has a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    Post(Box<ShownPost>),
    Author(Box<SeenUser>),
    Tag(NamedTag),
}

/// Reads a page of a ranking. Posts and authors that are gone or hidden are passed over and replaced. A page after another one
/// is of the same snapshot, if Valkey has it still. Fails with [`Error::RankingBuilding`] while there is no snapshot.
pub async fn page(
    app: &App,
    viewer: &Viewer,
    ranking: Ranking,
    after: Option<RankingPlace>,
    limit: usize,
    reading: &ReadContext,
) -> Result<RankingPage, Error> {
    let snapshot = after.map(|(at, _)| Snapshot { ranking, at });
    let mut from = after.map_or(1, |(_, place)| place.saturating_add(1));
    let mut page = Filling::new(limit);
    let wanted = |from, page: &Filling<_, _>| {
        let limit = page.wanted().min(BOARD_BATCH_MAX) as u64;
        PageOf::Rank { from, limit }
    };
    let first = first_rows(app, ranking, snapshot, wanted(from, &page), reading.now);
    let (snapshot, mut found) = first.await?;
    let (at, mut next) = (snapshot.at, None);
    for _ in 0..PAGE_ROUNDS_MAX {
        from = from.saturating_add(found.rows.len() as u64);
        let is_end = found.rows.is_empty() || from > found.members;
        next = (!is_end).then_some((at, from.saturating_sub(1)));
        let entries = shown(app, viewer, ranking, found, reading).await?;
        page.add(entries.into_iter().map(|entry| ((at, entry.place), entry)));
        if is_end || page.is_full() {
            break;
        }
        match places(app, snapshot.copy(), wanted(from, &page)).await? {
            BoardAnswer::Ready(next) => found = next,
            // a page has places of one snapshot
            BoardAnswer::Building | BoardAnswer::Missing => break,
        }
    }
    let Page { items: entries, next: next_after } = page.end(next);
    Ok(RankingPage { ranking, at, entries, next_after })
}

/// Places of a snapshot in Valkey.
async fn places(
    app: &App,
    snapshot: Board,
    page: PageOf<'_>,
) -> Result<BoardAnswer<BoardPage>, StoreError> {
    Ok(match app.valkey.board_page(&snapshot, page).await? {
        BoardAnswer::Ready(Ranked::Page(page)) => BoardAnswer::Ready(page),
        BoardAnswer::Building => BoardAnswer::Building,
        BoardAnswer::Ready(Ranked::Unknown) | BoardAnswer::Missing => BoardAnswer::Missing,
    })
}

/// The first places of a page, of this snapshot, or of the present one if Valkey does not have it. While that one is being
/// made, or one before it, of the newest one that is ready.
async fn first_rows(
    app: &App,
    ranking: Ranking,
    snapshot: Option<Snapshot>,
    page: PageOf<'_>,
    now: Time,
) -> Result<(Snapshot, BoardPage), Error> {
    // mutation: ranking-same-snapshot
    if let Some(snapshot) = snapshot
        && let BoardAnswer::Ready(found) = places(app, snapshot.copy(), page).await?
    {
        return Ok((snapshot, found));
    }
    let present = Snapshot::of(ranking, now, app.settings.ranking_every);
    let ask = |snapshot| places(app, snapshot, page);
    call(app.copier(), present, now, ask).await?.ok_or(Error::RankingBuilding)
}

/// What a viewer sees of places.
async fn shown(
    app: &App,
    viewer: &Viewer,
    ranking: Ranking,
    found: BoardPage,
    reading: &ReadContext,
) -> Result<Vec<RankingEntry>, Error> {
    let entry = |(place, count), shown| RankingEntry { place, count, shown };
    Ok(match ranking {
        Ranking::PostsDay | Ranking::PostsWeek => {
            let rows = ids::<PostId>(found);
            let ids = rows.iter().map(|(_, id)| *id).collect();
            let mut found = present::posts(app, viewer, ids, reading).await?;
            let found = |(at, id)| Some(entry(at, Shown::Post(Box::new(found.remove(&id)?))));
            rows.into_iter().filter_map(found).collect()
        }
        Ranking::Authors => {
            let rows = ids::<UserId>(found);
            let ids = rows.iter().map(|(_, id)| *id).collect();
            let mut found = present::seen(app, viewer, ids, reading).await?;
            let found = |(at, id)| Some(entry(at, Shown::Author(Box::new(found.remove(&id)?))));
            rows.into_iter().filter_map(found).collect()
        }
        Ranking::TagsDay => {
            let named =
                |(at, name): (_, String)| Some(entry(at, Shown::Tag(NamedTag::new(&name)?)));
            ids(found).into_iter().filter_map(named).collect()
        }
    })
}

/// The ids on a page of a snapshot, each with its place and its count.
fn ids<T: FromStr>(found: BoardPage) -> Vec<((u64, u64), T)> {
    let rows = found.rows.into_iter();
    let ids = rows.filter_map(|row| {
        let count = u64::try_from(*row.scores.as_slice().first()?).ok()?;
        Some(((row.rank, count), row.member.as_str().parse().ok()?))
    });
    ids.collect()
}

impl Copied<App> for Snapshot {
    fn board(&self) -> Board {
        self.copy()
    }

    fn kept(&self) -> Duration {
        RANKING_KEPT
    }

    fn version(&self) -> Option<Version> {
        let of = RoundId::of_rankings(self.ranking.name());
        Some(Version { of, number: self.at.ms() })
    }

    fn with_version(&self, version: u64) -> Self {
        Self { at: Time::from_ms(version), ..*self }
    }

    fn send_order<'a>(
        &'a self,
        app: &'a App,
        from: Place,
        lease: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let order =
            RebuildRanking { part: from.part, ..RebuildRanking::new(*self, lease.to_owned()) };
        Box::pin(async move { app.outbox.send(&order).await })
    }

    fn rows<'a>(&'a self, _: &'a App, _: Time) -> RowsOf<'a, App> {
        let rows: Box<dyn RowSource<App>> = Box::new(RankingRows(*self));
        Box::pin(ready(Ok(rows)))
    }
}

/// The likes that a ranking counts.
struct RankingRows(Snapshot);

impl RowSource<App> for RankingRows {
    fn queries(&self) -> usize {
        match self.0.ranking {
            Ranking::TagsDay => self.0.days().len() * usize::from(USE_ROWS),
            Ranking::PostsDay | Ranking::PostsWeek | Ranking::Authors => self.0.days().len(),
        }
    }

    fn part<'a>(
        &'a self,
        app: &'a App,
        part: u8,
        limit: Option<i32>,
    ) -> BoxFuture<'a, Result<Option<Vec<BoardChange>>, StoreError>> {
        Box::pin(rows::part((&app.boards, &app.users, &app.tags), self.0, part, limit))
    }
}

/// Continues to make the snapshot of a ranking of very many likes.
pub async fn continue_ranking(
    app: &App,
    order: &RebuildRanking,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    let from = Place { part: order.part, after: None };
    continue_copy(app.copier(), &order.snapshot(), from, &order.lease, now, deadline).await
}
