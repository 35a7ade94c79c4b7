//! How far a run of tests is: the step, the time since the start, and the time that is left.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Seconds of steps, by name.
type Times = BTreeMap<String, u64>;

/// The progress of a run.
pub struct Progress {
    began: Instant,
    /// Where the times of this run are kept for the next one.
    file: PathBuf,
    /// The times of the last run. Empty in the first run.
    last: Times,
    /// What the first run takes without builds.
    first: Duration,
    taken: Times,
}

impl Progress {
    /// The beginning of a run. `file` has the times of the last one; `first` is what counts if there is none.
    pub fn new(file: PathBuf, first: Duration) -> Self {
        let last = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let (began, taken) = (Instant::now(), Times::new());
        Self { began, file, last: last.unwrap_or_default(), first, taken }
    }

    /// Notes the beginning of a step, and returns what is printed.
    pub fn begin(&mut self, step: &str) -> String {
        let coming = self.last.iter().filter(|(step, _)| !self.taken.contains_key(*step));
        let left = time(Duration::from_secs(coming.map(|(_, seconds)| seconds).sum()));
        self.taken.entry(step.to_owned()).or_default();
        let (elapsed, number) = (time(self.began.elapsed()), self.taken.len());
        if self.last.is_empty() {
            let all = time(self.first);
            return format!(
                "{step} (step {number}; {elapsed} elapsed of about {all} and the builds)"
            );
        }
        let count = self.last.len().max(number);
        format!("{step} (step {number} of {count}; {elapsed} elapsed, about {left} left)")
    }

    /// Notes the end of a step.
    pub fn end(&mut self, step: &str, took: Duration) {
        *self.taken.entry(step.to_owned()).or_default() += took.as_secs();
    }

    /// Keeps the times for the next run.
    pub fn keep(&self) -> std::io::Result<()> {
        std::fs::write(&self.file, serde_json::to_vec_pretty(&self.taken)?)
    }
}

/// A time in minutes, or in seconds if it is short.
fn time(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..90 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Progress;

    #[test]
    fn the_times_of_the_last_run_say_what_is_left() {
        let name = format!("fanfold-progress-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        let new = || Progress::new(file.clone(), Duration::from_secs(20 * 60));
        let mut first = new();
        assert_eq!(first.begin("one"), "one (step 1; 0 s elapsed of about 20 min and the builds)");
        first.end("one", Duration::from_secs(30));
        first.end("two", Duration::from_secs(150));
        first.keep().unwrap();
        let mut second = new();
        assert_eq!(second.begin("one"), "one (step 1 of 2; 0 s elapsed, about 3 min left)");
        second.end("one", Duration::from_secs(30));
        assert_eq!(second.begin("two"), "two (step 2 of 2; 0 s elapsed, about 3 min left)");
        second.end("two", Duration::ZERO);
        assert_eq!(second.begin("new"), "new (step 3 of 3; 0 s elapsed, about 0 s left)");
        std::fs::write(&file, "nonsense").unwrap();
        assert_eq!(new().begin("one"), "one (step 1; 0 s elapsed of about 20 min and the builds)");
        std::fs::remove_file(file).unwrap();
    }
}
