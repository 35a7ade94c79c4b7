//! Makes the demo users beside the built-in ones, while the system already runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::calls;
use super::texts::Texts;
use super::village::Village;

/// People who are made at the same time.
const AT_ONCE: usize = 3;
/// Tries to make a person.
const TRIES: usize = 3;
/// The pause after a try that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How many newcomers each built-in person follows, at most, on average.
const FOLLOWED: f64 = 40.0;
/// The part of the newcomers that each built-in person follows, at most.
const FOLLOWED_PART: f64 = 0.3;
/// How many people a newcomer follows.
const FOLLOWS: std::ops::Range<usize> = 3..8;

/// Makes these people, and prints one line at the end. With `texts`, each publishes a post or two.
pub fn make(village: &Village, names: &[(String, String)], texts: Option<Texts>, seed: u64) {
    let start = Instant::now();
    let (next, made) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let texts = texts.map(Mutex::new);
    std::thread::scope(|scope| {
        for worker in 0..AT_ONCE {
            let (next, made, texts) = (&next, &made, texts.as_ref());
            scope.spawn(move || {
                let mut rng = Rng::with_seed(seed.wrapping_add(worker as u64));
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if village.is_over() {
                        return;
                    }
                    let is_made = newcomer(village, name, names.len(), texts, &mut rng).is_some();
                    made.fetch_add(usize::from(is_made), Ordering::Relaxed);
                }
            });
        }
    });
    if !village.is_over() {
        let made = made.into_inner();
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("  ✓ {made} of {} more demo users ({seconds:.1} s)", names.len());
    }
}

fn newcomer(
    village: &Village,
    (handle, name): &(String, String),
    newcomers: usize,
    texts: Option<&Mutex<Texts>>,
    rng: &mut Rng,
) -> Option<()> {
    let mut tries = 0..TRIES;
    let person = loop {
        tries.next()?;
        let made = village.count("profiles", calls::make(&village.api, handle, name));
        match made {
            Some(person) => break Arc::new(person),
            None if village.rest(AFTER_FAILURE) => {}
            None => return None,
        }
    };
    let api = &village.api;
    let mut followed = Vec::new();
    for _ in 0..rng.usize(FOLLOWS) {
        let author = village.author(rng).filter(|_| !village.is_over())?;
        if !followed.contains(&author.handle) {
            village.count("follows", calls::follow(api, &person, &author.handle));
            followed.push(author.handle.clone());
        }
    }
    let part = FOLLOWED_PART.min(FOLLOWED / newcomers as f64);
    for follower in village.people().iter().take(super::people::PEOPLE.len()) {
        if rng.f64() < part && !village.is_over() {
            village.count("follows", calls::follow(api, follower, handle));
        }
    }
    for _ in 0..rng.usize(1..=2) {
        let text = texts.and_then(|texts| texts.lock().ok().map(|mut texts| texts.text()));
        if let Some(text) = text {
            village.count("posts", calls::post(api, &person, &text));
        }
    }
    village.welcome(person);
    Some(())
}
