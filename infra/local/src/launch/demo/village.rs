//! What the threads of the demo users share: the people, what they may do next, and whether they should stop.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fanfold_core::time::Time;
use fastrand::Rng;

use super::api::{Api, Person};
use super::calls;
use super::people::VISITORS;
use super::tally::Tally;
use crate::base::failure::Done;
use crate::base::process;

/// Posts by demo users that are remembered: one of them may be deleted.
const RECENT_MAX: usize = 200;
/// Likes that may wait. If the system is slow, the others are left out.
const LIKES_MAX: u32 = 90;
/// Chores that may wait.
const CHORES_MAX: usize = 20;
/// The least time between the publication of two scheduled posts: two of them never fall into the same minute, also if
/// one is late.
const APART: Duration = Duration::from_secs(180);
/// The longest time ahead at which a demo user schedules a post.
const AHEAD_MAX: Duration = Duration::from_secs(1_800);
/// How long a wait is before it looks whether it should end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What a person does now and then, beside posts and likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chore {
    Follow,
    Unfollow,
    DeletePost,
    SchedulePost,
    EnterResult,
}

/// What a reader does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Task {
    /// Read a home feed, and like so many posts.
    Visit(u32),
    Chore(Chore),
}

pub struct Village {
    pub api: Api,
    pub tally: Tally,
    people: Mutex<Vec<Arc<Person>>>,
    waiting: Mutex<Waiting>,
    stop: AtomicBool,
}

#[derive(Default)]
pub struct Waiting {
    likes: u32,
    chores: VecDeque<Chore>,
    recent: VecDeque<(Arc<Person>, String)>,
    /// The publication of the last scheduled post.
    scheduled: Option<Time>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Village {
    pub fn new(api: Api, people: Vec<Arc<Person>>) -> Self {
        Self {
            api,
            tally: Tally::default(),
            people: Mutex::new(people),
            waiting: Mutex::default(),
            stop: AtomicBool::new(false),
        }
    }

    /// Adds a person who has a profile.
    pub fn welcome(&self, person: Arc<Person>) {
        locked(&self.people).push(person);
    }

    /// Everybody, the built-in people first.
    pub fn people(&self) -> Vec<Arc<Person>> {
        locked(&self.people).clone()
    }

    /// Somebody who acts by themselves. With `popular`, the first ones come up far more often than the last ones.
    pub fn anybody(&self, rng: &mut Rng, popular: bool) -> Option<Arc<Person>> {
        let people = locked(&self.people);
        // where there is nobody else, those who are meant for visitors act, too
        let from = if people.len() > VISITORS { VISITORS } else { 0 };
        people.get(from..).and_then(|acting| chosen(acting, rng, popular)).cloned()
    }

    /// Anybody at all, also those who do not act by themselves.
    pub fn author(&self, rng: &mut Rng) -> Option<Arc<Person>> {
        chosen(&locked(&self.people), rng, true).cloned()
    }

    /// The first of the built-in people.
    pub fn owner(&self) -> Option<Arc<Person>> {
        locked(&self.people).first().cloned()
    }

    /// Notes a new post, with the likes and chores that it leads to.
    pub fn posted(&self, author: Arc<Person>, id: String, likes: u32, chores: &[Chore]) {
        locked(&self.waiting).posted(author, id, likes, chores);
    }

    /// What to do next.
    pub fn task(&self, rng: &mut Rng) -> Option<Task> {
        locked(&self.waiting).task(rng)
    }

    /// Gives back likes of a visit that found fewer posts.
    pub fn give_back(&self, likes: u32) {
        let mut waiting = locked(&self.waiting);
        waiting.likes = (waiting.likes + likes).min(LIKES_MAX);
    }

    /// Takes one of the recent posts, to delete it.
    pub fn take_recent(&self, rng: &mut Rng) -> Option<(Arc<Person>, String)> {
        let recent = &mut locked(&self.waiting).recent;
        let place = if recent.is_empty() { return None } else { rng.usize(..recent.len()) };
        recent.remove(place)
    }

    /// The time at which a scheduled post may be published: this one, or a later one. `None`: too many are scheduled.
    pub fn free_minute(&self, at: Time) -> Option<Time> {
        locked(&self.waiting).free_minute(at, calls::now())
    }

    /// Counts what a call did. An error is counted, and ends nothing.
    pub fn count<T>(&self, what: &'static str, done: Done<T>) -> Option<T> {
        match done {
            Ok(result) => {
                self.tally.done(what);
                Some(result)
            }
            // calls that end because the system ends are no errors
            Err(_) if self.is_over() => None,
            Err(error) => {
                self.tally.failed(&error);
                None
            }
        }
    }

    pub fn end(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || process::interrupted()
    }

    /// Waits for the given time. Returns whether to go on.
    pub fn rest(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        while !self.is_over() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(LOOK_EVERY));
        }
        false
    }
}

impl Waiting {
    fn posted(&mut self, author: Arc<Person>, id: String, likes: u32, chores: &[Chore]) {
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((author, id));
        self.likes = (self.likes + likes).min(LIKES_MAX);
        let room = CHORES_MAX.saturating_sub(self.chores.len());
        self.chores.extend(chores.iter().take(room));
    }

    fn free_minute(&mut self, at: Time, now: Time) -> Option<Time> {
        let at = self.scheduled.map_or(at, |last| at.max(last + APART));
        if at.since(now) > AHEAD_MAX {
            return None;
        }
        self.scheduled = Some(at);
        Some(at)
    }

    fn task(&mut self, rng: &mut Rng) -> Option<Task> {
        if let Some(chore) = self.chores.pop_front() {
            return Some(Task::Chore(chore));
        }
        let likes = self.likes.min(rng.u32(1..=4));
        self.likes -= likes;
        (likes > 0).then_some(Task::Visit(likes))
    }
}

/// One of them. With `popular`, the first ones come up far more often than the last ones.
fn chosen<'a, T>(all: &'a [T], rng: &mut Rng, popular: bool) -> Option<&'a T> {
    let place = if popular { rng.f64().powf(1.5) } else { rng.f64() };
    all.get((place * all.len() as f64) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded() {
        let (mut waiting, mut rng) = (Waiting::default(), Rng::with_seed(1));
        for number in 0..1_000 {
            let author = Arc::new(Person::for_test("noor"));
            waiting.posted(author, number.to_string(), 3, &[Chore::Follow, Chore::DeletePost]);
        }
        assert_eq!(waiting.recent.len(), RECENT_MAX);
        let tasks: Vec<Task> = std::iter::from_fn(|| waiting.task(&mut rng)).collect();
        let likes = |task: &Task| if let Task::Visit(likes) = task { *likes } else { 0 };
        assert_eq!(tasks.iter().map(likes).sum::<u32>(), LIKES_MAX);
        assert_eq!(tasks.iter().filter(|task| likes(task) == 0).count(), CHORES_MAX);
    }

    #[test]
    fn scheduled_posts_are_minutes_apart() {
        let (mut waiting, now) = (Waiting::default(), Time::from_ms(1_000_000));
        let at = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(waiting.free_minute(at(100), now), Some(at(100)));
        assert_eq!(waiting.free_minute(at(90), now), Some(at(280)));
        assert_eq!(waiting.free_minute(at(900), now), Some(at(900)));
        let more = std::iter::from_fn(|| waiting.free_minute(at(90), now)).count();
        assert_eq!(more, 5);
    }

    #[test]
    fn popular_people_come_up_more_often_and_everybody_does_at_times() {
        let (all, mut rng) = ((0..50).collect::<Vec<usize>>(), Rng::with_seed(1));
        let mut times = [0; 50];
        for _ in 0..5_000 {
            times[*chosen(&all, &mut rng, true).unwrap()] += 1;
        }
        assert!(times[..10].iter().sum::<usize>() > 2 * times[40..].iter().sum::<usize>());
        assert!(times.iter().all(|count| *count > 0), "{times:?}");
        assert_eq!(chosen::<usize>(&[], &mut rng, true), None);
    }
}
