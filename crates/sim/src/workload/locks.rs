//! User-level locks: no two sessions hold one at a time, a lock is free when its owner's node is gone, and sessions that wait for
//! each other in a circle do not wait for long.
//!
//! The sessions note in one place what they hold and wait for. A session that is cut off with its node may believe that it holds a
//! lock when others have excluded that node and taken the lock over: that is no fault.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use client::{LockStep, LockWait, Refusal, Released, UserLocks};
use kernel::Time;
use protocol::schema::USER_LOCKS_TABLE;
use types::{Incarnation, Lineage, RowView, Table, ValueRef};

use super::{Task, Work};
use crate::contents::Contents;
use crate::options::{MILLISECOND, SECOND};
use crate::random::Random;
use crate::stage::{Actor, Disturbance};

/// A free lock is taken by a session that waits for it, and a circle of waits is broken, within this time where answers come within
/// milliseconds.
const WAIT_MAX: Time = 3 * SECOND;
const LONG_US: u64 = 1_000 * SECOND;

struct Holder {
    actor: u64,
    boot: Incarnation,
    lineage: Lineage,
}

#[derive(Default)]
struct Notes {
    holders: BTreeMap<String, Holder>,
    /// When the last holder of each lock gave it back.
    freed: BTreeMap<String, Time>,
    waits: BTreeMap<u64, String>,
    /// When a session last gave up a wait.
    gave_up_at: Time,
    /// Boots and connections of sessions that have ended in good order.
    ended: BTreeSet<(u64, u64)>,
}

impl Notes {
    /// Does the wait of this session lead back to it?
    fn is_in_circle(&self, actor: u64) -> bool {
        let mut waiter = actor;
        for _ in 0..=self.waits.len() {
            let wanted = self.waits.get(&waiter);
            let Some(holder) = wanted.and_then(|name| self.holders.get(name)) else { return false };
            waiter = holder.actor;
            if waiter == actor {
                return true;
            }
        }
        false
    }
}

struct Locks {
    name_count: u64,
    notes: Rc<RefCell<Notes>>,
}

pub fn make(random: &mut Random) -> Box<dyn Work> {
    Box::new(Locks { name_count: random.between(2, 5), notes: Rc::default() })
}

impl Work for Locks {
    fn tables(&self) -> Vec<Table> {
        Vec::new()
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        Vec::new()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor, self.name_count, Rc::clone(&self.notes)))
    }
    /// Sessions that ended have left nothing; those that went with their nodes may have.
    fn check(&self, contents: &Contents) -> Result<(), String> {
        let catalogue = contents.catalogue();
        let table = catalogue.table_by_id(USER_LOCKS_TABLE).expect("made with the cluster");
        let layout = table.row_layout();
        let notes = self.notes.borrow();
        for row in contents.rows(USER_LOCKS_TABLE) {
            let view = RowView::new(&layout, row);
            let number = |column: usize| match view.get(column) {
                ValueRef::UInt(value) => value,
                other => unreachable!("{other:?} in a BIGINT UNSIGNED column"),
            };
            if notes.ended.contains(&(number(2), number(3))) {
                return Err(format!("connection {} has ended and left a row", number(3)));
            }
        }
        Ok(())
    }
}

struct Locking {
    actor: Actor,
    locks: UserLocks,
    notes: Rc<RefCell<Notes>>,
    /// How often each lock was taken and not released, as far as this session was told.
    counts: BTreeMap<String, u64>,
}

async fn run(actor: Actor, name_count: u64, notes: Rc<RefCell<Notes>>) {
    let connection = u32::try_from(actor.id).expect("actors are few") + 1;
    let locks = UserLocks::new(actor.client.clone(), connection);
    let boot = actor.client.state().incarnations.get(&actor.client.node()).copied();
    let mut session = Locking { actor, locks, notes, counts: BTreeMap::new() };
    while !session.actor.stage.is_stopping() {
        session.actor.think().await;
        let name = format!("lock {}", session.actor.random.below(name_count));
        let step = session.actor.random.below(10);
        let outcome = match step {
            0..=4 => session.get(&name).await,
            5..=7 => session.release(&name).await,
            8 => session.look(&name).await,
            _ => session.release_all().await,
        };
        if outcome.is_err() {
            // The session does not know which locks it has now.
            session.forget_all();
            session.locks.free().await;
        }
        session.actor.ended("user-level lock", &outcome, Disturbance::None, 50_000);
    }
    session.forget_all();
    session.locks.free().await;
    if let Some(boot) = boot {
        session.notes.borrow_mut().ended.insert((boot.0, u64::from(connection)));
    }
}

impl Locking {
    async fn get(&mut self, name: &str) -> Result<(), Refusal> {
        let timeout_us = match self.actor.random.below(4) {
            0 => 0,
            1 => self.actor.random.below(200) * MILLISECOND,
            _ => LONG_US,
        };
        // The task that takes a lock ends somewhere in the middle: its session frees all that it has, or may have.
        let drops_after = self.actor.random.chance(30).then(|| self.actor.random.below(8));
        let mut wait = self.locks.begin(name, Some(timeout_us));
        self.notes.borrow_mut().waits.insert(self.actor.id, name.into());
        let taken = match drops_after {
            None => self.steps(name, &mut wait).await.map(Some),
            Some(after) => {
                let client = self.actor.client.clone();
                let steps = std::pin::pin!(self.steps(name, &mut wait));
                let timer = std::pin::pin!(client.sleep_ms(after));
                either(steps, timer).await.transpose()
            }
        };
        drop(wait);
        if !matches!(taken, Ok(Some(_))) {
            // Until its rows are gone, others may take the wait for one that lasts.
            self.forget_all();
            self.locks.free().await;
        }
        let mut notes = self.notes.borrow_mut();
        notes.waits.remove(&self.actor.id);
        if !matches!(taken, Ok(Some(true))) {
            notes.gave_up_at = self.actor.stage.now();
        }
        drop(notes);
        match taken {
            Ok(Some(is_taken)) => {
                if is_taken {
                    *self.counts.entry(name.into()).or_insert(0) += 1;
                }
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }

    /// Until the lock is taken, or the session gives up.
    async fn steps(&mut self, name: &str, wait: &mut LockWait) -> Result<bool, Refusal> {
        let began = self.actor.stage.now();
        let mut circle_since = None;
        loop {
            match self.locks.step(wait).await? {
                // A node that was frozen may hear of it when it is excluded, and the lock another's.
                LockStep::Taken if self.actor.was_troubled_since(began) => {
                    self.forget_all();
                    self.locks.free().await;
                    return Ok(false);
                }
                LockStep::Taken => {
                    self.note_taken(name);
                    return Ok(true);
                }
                LockStep::TimedOut => return Ok(false),
                LockStep::Deadlock => {
                    let notes = self.notes.borrow();
                    let gave_up = self.actor.stage.now() < notes.gave_up_at + SECOND;
                    if !gave_up && !notes.is_in_circle(self.actor.id) {
                        self.actor.stage.fail(format!("{name}: a deadlock, and there is none"));
                    }
                    return Ok(false);
                }
                LockStep::Held => self.judge_wait(name, began, &mut circle_since),
            }
            self.actor.served();
            if self.actor.stage.is_stopping() {
                self.locks.end(wait).await;
                return Ok(false);
            }
            wait.pause().await;
        }
    }

    fn note_taken(&self, name: &str) {
        let state = self.actor.client.state();
        let Some(boot) = state.incarnations.get(&self.actor.client.node()).copied() else { return };
        let mut notes = self.notes.borrow_mut();
        if let Some(other) = notes.holders.get(name)
            && other.actor != self.actor.id
            && !self.actor.stage.is_lost(other.actor)
            && !state.is_over(other.boot)
            && state.lineage <= other.lineage
        {
            let (own, other) = (self.actor.id, other.actor);
            self.actor.stage.fail(format!("{name} is held by {other} and was granted to {own}"));
        }
        let holder = Holder { actor: self.actor.id, boot, lineage: state.lineage };
        notes.holders.insert(name.into(), holder);
    }

    /// Another session holds the lock, as far as the cluster says.
    fn judge_wait(&self, name: &str, began: Time, circle_since: &mut Option<Time>) {
        let stage = &self.actor.stage;
        let notes = self.notes.borrow();
        let is_late = |since: Time| {
            let is_judged = stage.is_mild && !self.actor.was_troubled_since(since);
            is_judged && WAIT_MAX < stage.waited_since(since)
        };
        let holder = notes.holders.get(name).filter(|holder| !stage.is_lost(holder.actor));
        if holder.is_none() {
            let freed = notes.freed.get(name).copied().unwrap_or(0);
            if is_late(began.max(freed)) {
                stage.fail(format!("{} waits for {name}, which no session holds", self.actor.id));
            }
        }
        match notes.is_in_circle(self.actor.id) {
            false => *circle_since = None,
            true if circle_since.is_none() => *circle_since = Some(stage.now()),
            true if circle_since.is_some_and(is_late) => {
                stage.fail(format!("{} waits in a circle for {name}", self.actor.id));
            }
            true => {}
        }
    }

    async fn release(&mut self, name: &str) -> Result<(), Refusal> {
        let count = self.counts.get(name).copied().unwrap_or(0);
        if count < 2 {
            self.forget(name);
        }
        let released = self.locks.release(name).await?;
        if (released == Released::Released) != (0 < count) {
            self.actor.stage.fail(format!("{name} was taken {count} times: {released:?}"));
        }
        match count {
            0 | 1 => self.counts.remove(name),
            more => self.counts.insert(name.into(), more - 1),
        };
        Ok(())
    }

    async fn release_all(&mut self) -> Result<(), Refusal> {
        self.forget_all();
        self.locks.release_all().await.map(|_| ())
    }

    async fn look(&mut self, name: &str) -> Result<(), Refusal> {
        let holder = self.locks.holder(name).await?;
        let is_own = holder.is_some_and(|own| u64::from(own) == self.actor.id + 1);
        let is_held = self.counts.contains_key(name);
        if is_own != is_held {
            self.actor.stage.fail(format!("{name} is held by {holder:?}; own: {is_held}"));
        }
        Ok(())
    }

    /// The lock may be granted to others from now on.
    fn forget(&self, name: &str) {
        let mut notes = self.notes.borrow_mut();
        if notes.holders.get(name).is_some_and(|holder| holder.actor == self.actor.id) {
            notes.holders.remove(name);
            notes.freed.insert(name.into(), self.actor.stage.now());
        }
    }

    fn forget_all(&mut self) {
        for name in std::mem::take(&mut self.counts).into_keys() {
            self.forget(&name);
        }
    }
}

/// The output of the work; none when the timer is over before.
async fn either<T>(
    mut work: std::pin::Pin<&mut impl Future<Output = T>>,
    mut timer: std::pin::Pin<&mut impl Future<Output = ()>>,
) -> Option<T> {
    std::future::poll_fn(|context| match work.as_mut().poll(context) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
        std::task::Poll::Pending => timer.as_mut().poll(context).map(|()| None),
    })
    .await
}
