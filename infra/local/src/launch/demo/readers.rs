//! The threads in which demo users read their home feeds, like posts, follow and unfollow, and now and then do something
//! else. They do so only after posts, so the number of posts bounds all of it.

use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};

use super::api::Person;
use super::boards::ORIENTEERING;
use super::calls;
use super::texts::Texts;
use super::village::{Chore, Task, Village};

/// The least number of authors that a person keeps when unfollowing.
const KEPT: usize = 4;
/// How far ahead posts are scheduled, in seconds.
const AHEAD_S: std::ops::Range<u64> = 90..600;
/// The pause of a reader who has nothing to do.
const IDLE: Duration = Duration::from_millis(150);

/// Reads, likes and does chores until the end.
pub fn read(village: &Village, per_minute: usize, seed: u64) {
    let mut reader = Reader { village, texts: Texts::new(seed), rng: Rng::with_seed(seed) };
    let longest = (60_000 / per_minute.max(1) as u64).clamp(40, 2_000);
    while !village.is_over() {
        let task = village.task(&mut reader.rng);
        if task.is_none() {
            village.rest(IDLE);
        }
        // nothing to do it with, such as a post to like: the next task follows
        let _done = match task {
            Some(Task::Visit(likes)) => reader.visit(likes),
            Some(Task::Chore(chore)) => reader.do_chore(chore),
            None => None,
        };
        village.rest(Duration::from_millis(reader.rng.u64(20..longest)));
    }
}

struct Reader<'a> {
    village: &'a Village,
    texts: Texts,
    rng: Rng,
}

impl Reader<'_> {
    /// Somebody reads the home feed, and likes so many of its posts, mostly new ones.
    fn visit(&mut self, likes: u32) -> Option<()> {
        let village = self.village;
        let person = village.anybody(&mut self.rng, false)?;
        let page = self.read_list(&person, "/v1/timeline?limit=20")?;
        let mut ids: Vec<&str> =
            page.iter().filter_map(|post| likeable(post, &person.handle)).collect();
        let mut given = 0;
        while given < likes && !ids.is_empty() && !village.is_over() {
            let place = (self.rng.f64().powi(2) * ids.len() as f64) as usize;
            let id = ids.remove(place.min(ids.len() - 1));
            village.count("likes", calls::mark(&village.api, &person, id, "like"));
            if self.rng.usize(..8) == 0 {
                village.count("bookmarks", calls::mark(&village.api, &person, id, "bookmark"));
            }
            given += 1;
        }
        // a feed without a new post gives nothing back, so that nobody reads it again and again
        if given > 0 {
            village.give_back(likes - given);
        }
        Some(())
    }

    fn do_chore(&mut self, chore: Chore) -> Option<()> {
        let (village, rng) = (self.village, &mut self.rng);
        let person = village.anybody(rng, false)?;
        let api = &village.api;
        match chore {
            Chore::Follow => {
                let author = village.author(rng).filter(|author| author.id != person.id)?;
                village.count("follows", calls::follow(api, &person, &author.handle))
            }
            Chore::Unfollow => self.unfollow(&person),
            Chore::DeletePost => {
                let (author, id) = village.take_recent(rng)?;
                let deleted = api.call(&author, "DELETE", &format!("/v1/posts/{id}"), None);
                village.count("deletions", deleted).map(drop)
            }
            Chore::SchedulePost => {
                let at = calls::now() + Duration::from_secs(rng.u64(AHEAD_S));
                let at = village.free_minute(at)?;
                let text = self.texts.text();
                village.count("scheduled posts", calls::schedule(api, &person, &text, at))
            }
            Chore::EnterResult => {
                let owner = village.owner()?;
                let path = format!(
                    "/v1/leaderboards/{ORIENTEERING}/members/{}?owner={}",
                    person.handle, owner.id
                );
                let points = rng.u32(4..=18) * 10;
                let seconds = rng.u32(2_900..=3_600);
                let scores = [points.to_string(), seconds.to_string()];
                let result = json!({"scores": scores, "if_better": true});
                village.count("results", api.call(&person, "PUT", &path, Some(&result))).map(drop)
            }
        }
    }

    /// Somebody who follows enough people unfollows one of them.
    fn unfollow(&mut self, person: &Person) -> Option<()> {
        let path = format!("/v1/users/@{}/following?limit=20", person.handle);
        let authors = self.read_list(person, &path)?;
        if authors.len() <= KEPT {
            return None;
        }
        let author = self.rng.choice(&authors)?.get("id")?.as_str()?;
        let path = format!("/v1/users/{author}/follow");
        let village = self.village;
        village.count("unfollows", village.api.call(person, "DELETE", &path, None)).map(drop)
    }

    fn read_list(&self, person: &Person, path: &str) -> Option<Vec<Value>> {
        let page = self.village.api.call(person, "GET", path, None);
        let mut page = self.village.count("pages", page)?;
        match page.get_mut("items")?.take() {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }
}

/// The id of a post that this reader may like.
fn likeable<'a>(post: &'a Value, reader: &str) -> Option<&'a str> {
    let is_liked = post.get("liked")?.as_bool()?;
    let author = post.pointer("/author/handle")?.as_str()?;
    if is_liked || author == reader { None } else { post.get("id")?.as_str() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_like_posts_of_others_once() {
        let post =
            |liked, handle: &str| json!({"id": "01", "liked": liked, "author": {"handle": handle}});
        assert_eq!(likeable(&post(false, "noor"), "hana"), Some("01"));
        assert_eq!(likeable(&post(true, "noor"), "hana"), None);
        assert_eq!(likeable(&post(false, "hana"), "hana"), None);
        assert_eq!(likeable(&json!({}), "hana"), None);
    }
}
