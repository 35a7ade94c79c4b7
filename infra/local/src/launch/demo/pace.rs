//! When demo users post: in an uneven rhythm, and never more than a number of posts within a minute.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use fastrand::Rng;

const MINUTE: Duration = Duration::from_secs(60);
/// How long lively and quiet times last, in seconds.
const SPELL_S: std::ops::Range<u64> = 4..15;
/// How lively a time is, against the average. The average of these is a little more than one: some posts wait for the bound.
const LIVELY: [f64; 5] = [0.5, 0.8, 1.1, 1.4, 1.9];

/// The times of posts.
pub struct Pace {
    /// The most posts within a minute.
    most: usize,
    /// The last posts: the times at which their requests were answered.
    answered: VecDeque<Instant>,
    /// When the next post is planned.
    next: Instant,
    lively: f64,
    spell_ends: Instant,
    rng: Rng,
}

impl Pace {
    /// At least one post a minute.
    pub fn new(most: usize, seed: u64, now: Instant) -> Self {
        let rng = Rng::with_seed(seed);
        let mut pace = Self {
            most: most.max(1),
            answered: VecDeque::new(),
            next: now,
            lively: 1.0,
            spell_ends: now,
            rng,
        };
        pace.plan(now);
        pace
    }

    /// How long to wait before the next post. Zero: it may be sent now.
    pub fn wait(&self, now: Instant) -> Duration {
        let bound = match self.answered.front() {
            Some(oldest) if self.answered.len() == self.most => *oldest + MINUTE,
            _ => now,
        };
        bound.max(self.next).saturating_duration_since(now)
    }

    /// Notes that the request of a post was answered, or failed: it may have been carried out.
    pub fn answered(&mut self, now: Instant) {
        if self.answered.len() == self.most {
            self.answered.pop_front();
        }
        self.answered.push_back(now);
        self.plan(now);
    }

    fn plan(&mut self, now: Instant) {
        if now >= self.spell_ends {
            self.lively = self.rng.choice(LIVELY).unwrap_or(1.0);
            self.spell_ends = now + Duration::from_secs(self.rng.u64(SPELL_S));
        }
        let average = MINUTE.as_secs_f64() / self.most as f64;
        // the time until the next of events that do not depend on each other, without very long ones
        let gap = -(1.0 - self.rng.f64()).max(0.02).ln();
        // planned from the plan, so that the time that a request takes does not slow the rhythm
        let from = self.next.max(now.checked_sub(Duration::from_secs(1)).unwrap_or(now));
        self.next = from + Duration::from_secs_f64(average * gap / self.lively);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of posts in ten minutes, in milliseconds, with requests that take up to two seconds. A post is published
    /// at any time while its request runs.
    fn published(most: usize, seed: u64) -> Vec<u64> {
        let start = Instant::now();
        let (mut pace, mut dice) = (Pace::new(most, seed, start), Rng::with_seed(seed));
        let (mut now, mut times) = (start, Vec::new());
        while now < start + 10 * MINUTE {
            let wait = pace.wait(now);
            if !wait.is_zero() {
                now += wait;
                continue;
            }
            let takes = if dice.u8(..20) == 0 { dice.u64(..2_000) } else { dice.u64(2..60) };
            let at = now.duration_since(start).as_millis() as u64 + dice.u64(..=takes);
            times.push(at);
            now += Duration::from_millis(takes);
            pace.answered(now);
        }
        times
    }

    #[test]
    fn no_minute_has_more_posts_than_the_bound() {
        for seed in 0..60 {
            for most in [1, 2, 7, 30, 120, 600] {
                let times = published(most, seed);
                let too_close = times.windows(most + 1).find(|w| w[most] - w[0] < 60_000 - 1);
                assert_eq!(too_close, None, "seed {seed}: more than {most} posts in a minute");
            }
        }
    }

    #[test]
    fn the_rhythm_is_uneven_and_near_the_bound() {
        for seed in 0..60 {
            for most in [10, 30, 120] {
                let times = published(most, seed);
                let a_minute = times.len() as f64 / 10.0;
                assert!(a_minute > 0.6 * most as f64, "seed {seed}: {a_minute} of {most}");
                let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
                let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
                let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
                let spread = (variance / gaps.len() as f64).sqrt() / mean;
                assert!(spread > 0.4, "seed {seed}: the spread of {most} is {spread}");
            }
        }
    }
}
