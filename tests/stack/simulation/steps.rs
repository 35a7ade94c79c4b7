//! The order of calls. Each call of a handler to a store waits here until the simulation grants it.
//! So one call at a time is made, in an order that the seed decides.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[derive(Clone, Default)]
pub struct Steps(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    next: u64,
    /// The task that is being polled.
    task: usize,
    waiting: Vec<Waiting>,
    /// Whether calls are made without waiting: before and after the history itself.
    free: bool,
    /// The actions and calls so far, as text for a person.
    log: Vec<String>,
    /// The calls since the count began, if there is one: the operation, and the table, queue or script.
    counted: Option<Vec<String>>,
    /// The duration of a command of Valkey.
    latency: Duration,
}

struct Waiting {
    ticket: u64,
    task: usize,
    call: String,
    waker: Waker,
    granted: bool,
}

impl Steps {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_free(&self, free: bool) {
        self.lock().free = free;
    }

    pub fn set_task(&self, task: usize) {
        self.lock().task = task;
    }

    pub fn record(&self, line: String) {
        self.lock().log.push(line);
    }

    pub fn log(&self) -> Vec<String> {
        self.lock().log.clone()
    }

    /// Waits until the simulation grants a call, and then logs its description.
    pub fn step(&self, call: String) -> Step {
        Step { steps: self.clone(), call: Some(call), ticket: None }
    }

    /// Counts a call.
    pub fn note(&self, call: impl FnOnce() -> String) {
        if let Some(counted) = &mut self.lock().counted {
            counted.push(call());
        }
    }

    /// The calls since the last count. Begins another one.
    pub fn take_counted(&self) -> Vec<String> {
        self.lock().counted.replace(Vec::new()).unwrap_or_default()
    }

    pub fn set_latency(&self, latency: Duration) {
        self.lock().latency = latency;
    }

    /// Waits for as long as a command of Valkey takes.
    pub async fn wait(&self) {
        let latency = self.lock().latency;
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
    }

    /// The tasks of the calls that wait for a grant.
    pub fn waiting(&self) -> Vec<usize> {
        let inner = self.lock();
        let waiting = inner.waiting.iter().filter(|waiting| !waiting.granted);
        waiting.map(|waiting| waiting.task).collect()
    }

    /// Grants the nth of the waiting calls.
    pub fn grant(&self, nth: usize) {
        let mut inner = self.lock();
        let waiting = inner.waiting.iter_mut().filter(|waiting| !waiting.granted).nth(nth);
        if let Some(waiting) = waiting {
            waiting.granted = true;
            waiting.waker.wake_by_ref();
            let line = format!("        #{} {}", waiting.task, waiting.call);
            inner.log.push(line);
        }
    }
}

pub struct Step {
    steps: Steps,
    call: Option<String>,
    ticket: Option<u64>,
}

impl Future for Step {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let steps = self.steps.clone();
        let mut inner = steps.lock();
        match self.ticket {
            None if inner.free => Poll::Ready(()),
            None => {
                let ticket = inner.next;
                inner.next += 1;
                let (task, waker) = (inner.task, context.waker().clone());
                let call = self.call.take().unwrap_or_default();
                inner.waiting.push(Waiting { ticket, task, call, waker, granted: false });
                self.ticket = Some(ticket);
                Poll::Pending
            }
            Some(ticket) => {
                let place = inner.waiting.iter().position(|waiting| waiting.ticket == ticket);
                match place {
                    Some(at) if inner.waiting[at].granted || inner.free => {
                        inner.waiting.remove(at);
                        Poll::Ready(())
                    }
                    Some(at) => {
                        inner.waiting[at].waker = context.waker().clone();
                        Poll::Pending
                    }
                    None => Poll::Ready(()),
                }
            }
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.steps.lock().waiting.retain(|waiting| waiting.ticket != ticket);
        }
    }
}
