//! The tasks of a simulation: clients in the middle of a request, handlers in the middle of a message.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures::future::LocalBoxFuture;

use super::steps::Steps;

pub struct Task<T> {
    pub number: usize,
    future: LocalBoxFuture<'static, T>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl<T> Task<T> {
    pub fn new(number: usize, future: LocalBoxFuture<'static, T>) -> Self {
        Self { number, future, woken: Arc::new(Woken(AtomicBool::new(true))) }
    }
}

/// A runtime whose clock is paused: only the simulation advances it.
pub fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().expect("a runtime")
}

/// Polls every task that can continue, until each one is done or waits for a grant or for time.
/// Returns the results of the tasks that are done, with their numbers.
pub fn settle<T>(tasks: &mut Vec<Task<T>>, steps: &Steps) -> Vec<(usize, T)> {
    let mut done = Vec::new();
    loop {
        let woken = tasks.iter().position(|task| task.woken.0.swap(false, Ordering::SeqCst));
        let Some(at) = woken else { return done };
        let task = &mut tasks[at];
        steps.set_task(task.number);
        let waker = Waker::from(task.woken.clone());
        if let Poll::Ready(result) = task.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            done.push((task.number, result));
            tasks.remove(at);
        }
    }
}
