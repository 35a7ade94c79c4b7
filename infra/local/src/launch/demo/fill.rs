//! Makes the built-in demo data, through the public API.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::api::{Api, Person};
use super::boards::{HEIGHTS, METRES, ORIENTEERING, RESULTS};
use super::calls;
use super::parallel;
use super::people::FOLLOWS;
use super::posts::{POSTS, Post, SCHEDULED};
use crate::base::failure::Done;

/// Posts that are made at the same time, by different authors.
const POSTS_AT_ONCE: usize = 4;
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// The built-in people, and the likes that they are to give.
pub struct Filled {
    pub people: Vec<Arc<Person>>,
    /// Who likes which post, the newest post first.
    pub likes: Vec<(Arc<Person>, String)>,
}

/// Makes these people, with what they have done so far. People who are not among them are left out of it.
pub fn fill(api: &Api, names: &[(String, String)]) -> Done<Filled> {
    let people =
        parallel::for_each(names, |(handle, name)| calls::make(api, handle, name).map(Arc::new))?;
    let find = |handle: &str| people.iter().find(|person| person.handle == handle);
    let follows = FOLLOWS.iter().flat_map(|(follower, authors)| {
        authors.iter().filter_map(|author| Some((find(follower)?, find(author)?)))
    });
    parallel::for_each(&follows.collect::<Vec<_>>(), |(follower, author)| {
        calls::follow(api, follower, &author.handle)
    })?;
    let mut likes = Vec::new();
    for posts in together(&POSTS) {
        let posts: Vec<_> = posts
            .iter()
            .filter_map(|(author, text, fans)| Some((find(author)?, *text, *fans)))
            .collect();
        let ids = parallel::for_each(&posts, |(author, text, _)| calls::post(api, author, text))?;
        for (id, (_, _, fans)) in ids.into_iter().zip(posts) {
            likes.extend(fans.iter().filter_map(|fan| Some((find(fan)?.clone(), id.clone()))));
        }
    }
    for (author, text, days) in SCHEDULED {
        if let Some(author) = find(author) {
            let at = calls::now() + DAY * u32::try_from(days).unwrap_or_default();
            calls::schedule(api, author, text, at)?;
        }
    }
    make_boards(api, &people)?;
    likes.reverse();
    Ok(Filled { people, likes })
}

fn make_boards(api: &Api, people: &[Arc<Person>]) -> Done<()> {
    let Some(owner) = people.first() else { return Ok(()) };
    let path = |name: &str| format!("/v1/leaderboards/{name}");
    let settings = json!({"orders": ["descending"]});
    api.call(owner, "PUT", &path(HEIGHTS), Some(&settings))?;
    let changes = METRES.map(|(member, height)| json!({"member": member, "set": [height]}));
    let changes = json!({"changes": changes});
    api.call(owner, "POST", &format!("{}/members", path(HEIGHTS)), Some(&changes))?;
    let settings = json!({"orders": ["descending", "ascending"], "open": true});
    api.call(owner, "PUT", &path(ORIENTEERING), Some(&settings))?;
    let changes = RESULTS.map(|(member, points, s)| json!({"member": member, "set": [points, s]}));
    let changes = json!({"changes": changes});
    api.call(owner, "POST", &format!("{}/members", path(ORIENTEERING)), Some(&changes))?;
    Ok(())
}

/// Cuts posts into groups of different authors: the posts of one author are made one after the other.
fn together(posts: &[Post]) -> Vec<&[Post]> {
    let mut groups = Vec::new();
    let mut rest = posts;
    while !rest.is_empty() {
        let mut authors = BTreeSet::new();
        let fits = |post: &&Post| authors.len() < POSTS_AT_ONCE && authors.insert(post.0);
        let (group, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
        groups.push(group);
        rest = later;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_of_one_author_are_made_in_order() {
        let groups = together(&POSTS);
        assert_eq!(groups.concat(), POSTS);
        for group in &groups {
            let authors: BTreeSet<&str> = group.iter().map(|post| post.0).collect();
            assert_eq!(authors.len(), group.len(), "{group:?}");
        }
        assert!(groups.len() < POSTS.len() / 2, "{}", groups.len());
    }
}
