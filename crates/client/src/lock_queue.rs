//! The waiters for user-level locks on one worker: which session asks next, and when.
//!
//! The engine announces no release to other nodes: a lock is a committed row, and a waiter reads it
//! again and again, from its own node's memory where that has a replica. So that this costs little
//! however many wait, only the first waiter of a worker for a name reads; the others wait for their
//! turn, in the order in which they came. A session that releases a lock wakes the first waiter of
//! its own worker at once. After [`HANDED_MAX`] such grants in a row the worker gives the waiters of
//! other workers a chance: its own do not ask for [`POLL_MAX_US`], in which each of the others reads
//! once.

use std::collections::BTreeMap;
use std::pin::pin;
use std::task::{Poll, Waker};

use crate::driver::Client;

/// The first waiter reads the row at intervals between these, in microseconds: an eighth of the time
/// that it has waited.
const POLL_MIN_US: u64 = 1_000;
pub(crate) const POLL_MAX_US: u64 = 50_000;
const POLL_SHARE: u64 = 8;
/// A waiter behind the first looks for deadlocks at this interval, in microseconds.
const QUEUED_POLL_US: u64 = 100_000;
/// Grants from session to session of one worker, in a row.
const HANDED_MAX: u32 = 32;

/// Those that wait for one name.
#[derive(Default)]
pub(crate) struct LockQueue {
    /// By ticket, the first one first.
    waiters: BTreeMap<u64, Waiter>,
    ticket_last: u64,
    handed: u32,
    /// The worker's clock until which none of these asks.
    rests_until: u64,
}

#[derive(Default)]
struct Waiter {
    waker: Option<Waker>,
    /// It is to ask at once.
    is_rung: bool,
}

impl Waiter {
    fn ring(&mut self) {
        self.is_rung = true;
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl LockQueue {
    fn ring_first(&mut self) {
        if let Some(mut first) = self.waiters.first_entry() {
            first.get_mut().ring();
        }
    }
}

/// A session's place among the waiters; leaves the queue when it is dropped.
pub(crate) struct Place {
    client: Client,
    name: String,
    ticket: u64,
    since: u64,
}

impl Place {
    pub fn new(client: &Client, name: &str) -> Place {
        let mut queues = client.shared.lock_queues.borrow_mut();
        let queue = queues.entry(name.into()).or_default();
        queue.ticket_last += 1;
        let ticket = queue.ticket_last;
        queue.waiters.insert(ticket, Waiter::default());
        drop(queues);
        Place { client: client.clone(), name: name.into(), ticket, since: client.now() }
    }

    /// Is it this session's turn to ask?
    pub fn may_ask(&self) -> bool {
        let queues = self.client.shared.lock_queues.borrow();
        let queue = &queues[&self.name];
        self.is_first_of(queue) && queue.rests_until <= self.client.now()
    }

    fn is_first_of(&self, queue: &LockQueue) -> bool {
        queue.waiters.first_key_value().map(|(ticket, _)| *ticket) == Some(self.ticket)
    }

    /// Until it may be worth asking again; `most_us` at most.
    pub async fn pause(&self, most_us: u64) {
        let now = self.client.now();
        let pause_us = {
            let queues = self.client.shared.lock_queues.borrow();
            let queue = &queues[&self.name];
            match self.is_first_of(queue) {
                true => {
                    let poll = (now.saturating_sub(self.since) / POLL_SHARE)
                        .clamp(POLL_MIN_US, POLL_MAX_US);
                    poll.max(queue.rests_until.saturating_sub(now))
                }
                false => QUEUED_POLL_US,
            }
        };
        let mut timer = pin!(self.client.sleep_us(pause_us.min(most_us).max(1)));
        std::future::poll_fn(|context| {
            {
                let mut queues = self.client.shared.lock_queues.borrow_mut();
                let queue = queues.get_mut(&self.name).expect("it has a waiter");
                let waiter = queue.waiters.get_mut(&self.ticket).expect("this one");
                if std::mem::take(&mut waiter.is_rung) {
                    return Poll::Ready(());
                }
                waiter.waker = Some(context.waker().clone());
            }
            timer.as_mut().poll(context)
        })
        .await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut queues = self.client.shared.lock_queues.borrow_mut();
        let queue = queues.get_mut(&self.name).expect("it has a waiter");
        let was_first = self.is_first_of(queue);
        queue.waiters.remove(&self.ticket);
        if queue.waiters.is_empty() {
            queues.remove(&self.name);
        } else if was_first {
            queue.ring_first();
        }
    }
}

impl Client {
    /// Does a session of this worker wait for the lock?
    pub(crate) fn is_lock_awaited(&self, name: &str) -> bool {
        self.shared.lock_queues.borrow().contains_key(name)
    }

    /// The lock was released by a session of this worker.
    pub(crate) fn lock_released(&self, name: &str) {
        let now = self.now();
        let mut queues = self.shared.lock_queues.borrow_mut();
        let Some(queue) = queues.get_mut(name) else { return };
        queue.handed += 1;
        if queue.handed <= HANDED_MAX {
            queue.ring_first();
        } else {
            queue.handed = 0;
            queue.rests_until = now + POLL_MAX_US;
        }
    }
}
