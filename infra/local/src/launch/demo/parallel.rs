//! Several calls at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::base::failure::{Done, Failure, failure};
use crate::base::process;

/// Calls at the same time. The machine has few cores, and each call is handled by a process on it.
const AT_ONCE: usize = 4;

/// Runs this for every item, and returns the results in the order of the items. Stops at the first error.
pub fn for_each<I: Sync, T: Send>(items: &[I], run: impl Fn(&I) -> Done<T> + Sync) -> Done<Vec<T>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { return Ok(done) };
            if process::interrupted() {
                return Err(failure("stopped by a signal"));
            }
            match run(item) {
                Ok(result) => done.push((place, result)),
                Err(error) => {
                    next.store(items.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let done = thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let ends = workers.into_iter().map(|worker| worker.join());
        let ends = ends.map(|end| end.unwrap_or_else(|_| Err(failure("a thread failed"))));
        ends.collect::<Result<Vec<_>, Failure>>()
    })?;
    let mut done: Vec<(usize, T)> = done.into_iter().flatten().collect();
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        assert_eq!(for_each(&items, |item| Ok(item * 2)).unwrap()[..3], [0, 2, 4]);
        let result = for_each(&items, |item| match item {
            50 => Err(failure("fifty")),
            _ => Ok(()),
        });
        assert_eq!(result.unwrap_err().to_string(), "fifty");
    }
}
