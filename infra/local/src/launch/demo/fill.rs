//! Makes the built-in demo data, through the public API.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::api::{Api, Person};
use super::boards::{HEIGHTS, METRES, ORIENTEERING, RESULTS};
use super::calls;
use super::parallel;
use super::people::{FOLLOWED_TAGS, FOLLOWS};
use super::posts::{POSTS, Post};
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
    parallel::for_each(&people, |person| {
        FOLLOWED_TAGS.iter().try_for_each(|tag| calls::follow_tag(api, person, tag))
    })?;
    let mut likes = Vec::new();
    for posts in together(&POSTS.posts) {
        let posts = posts.iter().filter_map(|post| Some((find(&post.author)?, post)));
        let posts: Vec<_> = posts.collect();
        let ids = parallel::for_each(&posts, |(author, post)| calls::built_in(api, author, post))?;
        for (id, (_, post)) in ids.iter().zip(&posts) {
            for reply in &post.replies {
                if let Some(author) = find(&reply.author) {
                    calls::answer(api, author, id, &reply.text)?;
                }
            }
        }
        for (id, (_, post)) in ids.into_iter().zip(posts) {
            let fans = post.likes.iter().filter_map(|fan| find(fan));
            likes.extend(fans.map(|fan| (fan.clone(), id.clone())));
        }
    }
    for post in &POSTS.scheduled {
        if let Some(author) = find(&post.author) {
            calls::schedule(api, author, &post.text, calls::now() + DAY * post.days)?;
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
        let mut fits = |author| authors.len() < POSTS_AT_ONCE && authors.insert(author);
        let fitting = rest.iter().map(|post| &post.author).take_while(|author| fits(*author));
        let (group, later) = rest.split_at(fitting.count().max(1));
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
        let groups = together(&POSTS.posts);
        assert_eq!(groups.concat(), POSTS.posts);
        for group in &groups {
            let authors: BTreeSet<&String> = group.iter().map(|post| &post.author).collect();
            assert_eq!(authors.len(), group.len(), "{group:?}");
        }
        assert!(groups.len() < POSTS.posts.len() / 2, "{}", groups.len());
    }
}
