//! The thread in which demo users post.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::api::Person;
use super::calls;
use super::pace::Pace;
use super::texts::Texts;
use super::village::{Chore, Village};

/// Posts a minute from which posts are also scheduled: these may be published at any time, so one post a minute is left
/// for them.
pub const SCHEDULING_FROM: usize = 10;
/// Chores, each with its number for a thousand posts.
const CHORES: [(Chore, u32); 5] = [
    (Chore::Follow, 100),
    (Chore::Unfollow, 40),
    (Chore::DeletePost, 15),
    (Chore::SchedulePost, 20),
    (Chore::EnterResult, 60),
];
/// Times that an author is drawn, to find another one than the last.
const AUTHOR_DRAWS: usize = 5;
/// The pause after a post that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_millis(500);

/// Posts until the end, at most so often a minute.
pub fn post(village: &Village, per_minute: usize, seed: u64) {
    let schedules = per_minute >= SCHEDULING_FROM;
    let most = if schedules { per_minute - 1 } else { per_minute };
    let mut rng = Rng::with_seed(seed);
    let (mut texts, mut pace) =
        (Texts::new(rng.u64(..)), Pace::new(most, rng.u64(..), Instant::now()));
    let mut last = String::new();
    while !village.is_over() {
        let wait = pace.wait(Instant::now());
        if !wait.is_zero() {
            village.rest(wait.min(LONGEST_REST));
            continue;
        }
        let Some(author) = next_author(village, &last, &mut rng) else { return };
        last.clone_from(&author.handle);
        let made = calls::post(&village.api, &author, &texts.text());
        pace.answered(Instant::now());
        match village.count("posts", made) {
            Some(id) => {
                let (likes, chores) = followed_by(&mut rng, schedules);
                village.posted(author, id, likes, &chores);
            }
            None => {
                village.rest(AFTER_FAILURE);
            }
        }
    }
}

/// Somebody else than the author of the last post, if there is anybody else.
fn next_author(village: &Village, last: &str, rng: &mut Rng) -> Option<Arc<Person>> {
    let mut drawn = (0..AUTHOR_DRAWS).map_while(|_| village.anybody(rng, true));
    let first = drawn.next()?;
    if first.handle != last {
        return Some(first);
    }
    drawn.find(|author| author.handle != last).or(Some(first))
}

/// The likes and chores after a post: three likes on average.
fn followed_by(rng: &mut Rng, schedules: bool) -> (u32, Vec<Chore>) {
    let chores = CHORES.iter().filter(|(chore, _)| schedules || *chore != Chore::SchedulePost);
    let chores = chores.filter(|(_, part)| rng.u32(..1_000) < *part).map(|(chore, _)| *chore);
    let chores = chores.collect();
    (rng.u32(0..=6), chores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_post_has_three_likes_on_average_and_chores_are_rare() {
        let mut rng = Rng::with_seed(1);
        let (mut likes, mut chores) = (0, Vec::new());
        for _ in 0..10_000 {
            let (some, more) = followed_by(&mut rng, true);
            likes += some;
            chores.extend(more);
        }
        assert!((29_000..31_000).contains(&likes), "{likes}");
        for (chore, part) in CHORES {
            let found = chores.iter().filter(|found| **found == chore).count() as u32;
            assert!((7 * part..13 * part).contains(&found), "{chore:?}: {found}");
        }
        let never =
            (0..1_000).all(|_| !followed_by(&mut rng, false).1.contains(&Chore::SchedulePost));
        assert!(never);
    }
}
