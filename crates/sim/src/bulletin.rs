//! News that travels faster than any message: clients of different nodes talk to each other, and
//! learn of an event at its very moment. A client that acts on news finds a cluster that does not
//! have it yet: the shortest way to a stale read.

use std::cell::{Cell, RefCell};
use std::task::{Poll, Waker};

#[derive(Default)]
pub struct Bulletin {
    /// News so far, and what the last was about.
    count: Cell<u64>,
    subject: Cell<u64>,
    waiting: RefCell<Vec<Waker>>,
    /// Tasks were woken that their workers do not know of.
    is_fresh: Cell<bool>,
}

impl Bulletin {
    pub fn post(&self, subject: u64) {
        self.count.set(self.count.get() + 1);
        self.subject.set(subject);
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        self.is_fresh.set(self.is_fresh.get() || !waiting.is_empty());
        for waker in waiting {
            waker.wake();
        }
    }

    /// What the next news is about.
    pub async fn next(&self) -> u64 {
        let seen = self.count.get();
        std::future::poll_fn(|context| {
            if self.count.get() != seen {
                return Poll::Ready(self.subject.get());
            }
            self.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Must the workers look at their tasks?
    pub fn take_fresh(&self) -> bool {
        self.is_fresh.replace(false)
    }
}
