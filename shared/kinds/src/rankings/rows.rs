//! What a snapshot of a ranking is made from: the best of each part of the rows.

use std::collections::HashMap;
use std::hash::Hash;

use fanfold_core::limits::RANKING_PLACES_MAX;
use fanfold_core::{MemberName, Ranking, Scores, Snapshot, UserId};
use fanfold_engines::valkey::BoardChange;
use fanfold_runtime::StoreError;
use futures::future::try_join_all;

use crate::boards::items::{BoardStore, all_rows};
use crate::people::items::UserStore;
use crate::tags::items::TagStore;
use crate::tags::names::NamedTag;
use crate::tags::uses::UsedTag;

/// Authors with as many likes as the last one of a ranking whose followers are compared, together with those before them.
const RANKING_AUTHORS_COMPARED: usize = 2_000;

/// The best posts or authors of one part of the rows. The first places of all parts contain those of the ranking. `None`: there
/// are more rows than `limit`.
pub async fn part(
    (boards, users, tags): (&BoardStore, &UserStore, &TagStore),
    snapshot: Snapshot,
    part: u8,
    limit: Option<i32>,
) -> Result<Option<Vec<BoardChange>>, StoreError> {
    let Some(first) = snapshot.first_hour() else {
        let page = |after| boards.received_by(part, after, limit);
        let Some(authors) = all_rows(page, limit).await? else { return Ok(None) };
        return best_authors(users, added(authors)).await.map(Some);
    };
    let days = snapshot.days();
    if snapshot.ranking == Ranking::TagsDay {
        let best =
            tags.used_in_part(&days, part, first, RANKING_PLACES_MAX as usize, limit).await?;
        return Ok(best.map(|best| best.iter().filter_map(tag_row).collect()));
    }
    let days = days.iter().map(|day| {
        let page = move |after| boards.trends(*day, part, first, after, limit);
        all_rows(page, limit)
    });
    let days: Option<Vec<_>> = try_join_all(days).await?.into_iter().collect();
    let Some(days) = days else { return Ok(None) };
    let mut posts = added(days.into_iter().flatten());
    posts.sort_unstable_by_key(|(post, likes)| (-likes, *post));
    posts.truncate(RANKING_PLACES_MAX as usize);
    Ok(Some(posts.into_iter().filter_map(|(post, likes)| row(post, &[likes])).collect()))
}

/// The row of a tag, as it is written most. `None`: it has no name that a board takes.
fn tag_row(used: &UsedTag) -> Option<BoardChange> {
    let scores = [used.authors as i64];
    row(&used.name, &scores).or_else(|| row(NamedTag::new(&used.name)?.tag, &scores))
}

/// The authors with the most likes, then with the most followers. Authors who are gone are left out.
async fn best_authors(
    users: &UserStore,
    mut authors: Vec<(UserId, i64)>,
) -> Result<Vec<BoardChange>, StoreError> {
    authors.sort_unstable_by_key(|(author, likes)| (-likes, *author));
    // those with as many likes as the last one may have more followers
    let places = RANKING_PLACES_MAX as usize;
    let least = authors.get(places - 1).map_or(0, |(_, likes)| *likes);
    let compared = authors.partition_point(|(_, likes)| *likes >= least);
    authors.truncate(compared.min(RANKING_AUTHORS_COMPARED));
    let ids: Vec<UserId> = authors.iter().map(|(author, _)| *author).collect();
    let profiles = users.profiles(&ids).await?;
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
    Some(BoardChange::fixed(member, Scores::new(scores).ok()?))
}
