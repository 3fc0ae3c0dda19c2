//! What the tasks of a world share, and what each task has.
//!
//! Tasks are straight-line code over `client::Session`. They end when the stage says so, report what must not be as a
//! failure, and number what happens so that histories have an order that is finer than the clock.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use client::{Canceller, Client, Refusal, Session};
use kernel::Time;
use types::Table;

use crate::bulletin::Bulletin;
use crate::options::MILLISECOND;
use crate::random::Random;
use crate::tables;
use crate::world::World;

pub struct Stage {
    clock: Rc<Cell<Time>>,
    stopping: Cell<bool>,
    failures: RefCell<Vec<String>>,
    event_last: Cell<u64>,
    /// Told when a node's schema is newer, and what sessions tell each other.
    pub schema_news: Rc<Bulletin>,
    pub news: Rc<Bulletin>,
    /// Transactions that ended with an acknowledgement, and requests that were refused.
    pub transactions: Cell<u64>,
    pub refusals: Cell<u64>,
    pub is_mild: bool,
    pub think_max: Time,
}

impl Stage {
    pub fn new(world: &World) -> Rc<Stage> {
        let options = &world.options;
        Rc::new(Stage {
            clock: world.clock(),
            schema_news: world.schema_news(),
            news: world.news(),
            stopping: Cell::new(false),
            failures: RefCell::new(Vec::new()),
            event_last: Cell::new(0),
            transactions: Cell::new(0),
            refusals: Cell::new(0),
            is_mild: options.faults.are_mild(),
            think_max: options.think_max,
        })
    }

    pub fn now(&self) -> Time {
        self.clock.get()
    }
    /// Tasks end when they see this.
    pub fn is_stopping(&self) -> bool {
        self.stopping.get()
    }
    pub fn stop(&self) {
        self.stopping.set(true);
    }
    /// Something was seen that must not be.
    pub fn fail(&self, what: String) {
        let mut failures = self.failures.borrow_mut();
        if failures.len() < 10 {
            failures.push(format!("at {} us: {what}", self.now()));
        }
        self.stop();
    }
    pub fn failures(&self) -> Vec<String> {
        self.failures.borrow().clone()
    }
    /// Numbers the calls and returns of a history.
    pub fn next_event(&self) -> u64 {
        self.event_last.set(self.event_last.get() + 1);
        self.event_last.get()
    }
}

/// One session's task.
pub struct Actor {
    /// Different for every actor of the world, from 0.
    pub id: u64,
    /// Among the actors that do the same kind of work, from 0.
    pub index: u64,
    pub client: Client,
    pub random: Random,
    pub stage: Rc<Stage>,
    values_made: u64,
}

/// What happens to a transaction from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    None,
    /// KILL after so many milliseconds.
    Kill(u64),
    /// The session's connection breaks after so many milliseconds.
    Drop(u64),
}

impl Actor {
    pub fn new(id: u64, index: u64, client: Client, random: Random, stage: Rc<Stage>) -> Actor {
        Actor { id, index, client, random, stage, values_made: 0 }
    }

    pub fn table(&self, name: &str) -> Arc<Table> {
        let catalogue = self.client.catalogue();
        let table = catalogue.table(tables::DATABASE, name);
        Arc::clone(table.expect("made before the work began"))
    }

    pub async fn think(&mut self) {
        let pause = self.random.below(self.stage.think_max) / MILLISECOND;
        self.client.sleep_ms(pause).await;
    }

    /// A number that nobody else in this world has.
    pub fn unique_value(&mut self) -> i64 {
        self.values_made += 1;
        ((self.id as i64) << 32) | self.values_made as i64
    }

    /// Waits for news, so many milliseconds at most.
    pub async fn news_within(&self, news: &Bulletin, ms: u64) -> Option<u64> {
        let mut news = pin!(news.next());
        let mut timer = pin!(self.client.sleep_ms(ms));
        std::future::poll_fn(|context| {
            if let Poll::Ready(subject) = news.as_mut().poll(context) {
                return Poll::Ready(Some(subject));
            }
            timer.as_mut().poll(context).map(|()| None)
        })
        .await
    }

    pub fn draw_disturbance(&mut self) -> Disturbance {
        let after = self.random.below(8);
        match self.random.below(40) {
            0 => Disturbance::Kill(after),
            1 => Disturbance::Drop(after),
            _ => Disturbance::None,
        }
    }

    /// Mostly far longer than a world lasts, so that a deadlock that is not found is seen; sometimes short.
    pub fn draw_lock_wait_ms(&mut self) -> u32 {
        if self.random.chance(50) { self.random.between(1, 200) as u32 } else { 50_000 }
    }

    /// Counts the end of a transaction; a refusal that cannot be is a failure.
    pub fn ended(
        &self,
        what: &str,
        outcome: &Result<(), Refusal>,
        disturbance: Disturbance,
        lock_wait_ms: u32,
    ) {
        let Err(refusal) = outcome else {
            self.stage.transactions.set(self.stage.transactions.get() + 1);
            return;
        };
        self.stage.refusals.set(self.stage.refusals.get() + 1);
        let expected = match refusal {
            Refusal::Deadlock => true,
            Refusal::LockWaitTimeout => lock_wait_ms < 50_000,
            Refusal::Cancelled => matches!(disturbance, Disturbance::Kill(_)),
            _ => false,
        };
        if !expected {
            self.stage.fail(format!("{what}: refused with {refusal:?}"));
        }
    }
}

/// Runs a session's work with a disturbance. None when the session was dropped: what became of the work is unknown.
pub async fn disturbed<T>(
    disturbance: Disturbance,
    client: &Client,
    canceller: Canceller,
    work: impl Future<Output = T>,
) -> Option<T> {
    let after = match disturbance {
        Disturbance::None => return Some(work.await),
        Disturbance::Kill(after) | Disturbance::Drop(after) => after,
    };
    let mut work = pin!(work);
    let mut timer = pin!(client.sleep_ms(after));
    let mut rang = false;
    std::future::poll_fn(|context| {
        if let Poll::Ready(result) = work.as_mut().poll(context) {
            return Poll::Ready(Some(result));
        }
        if !rang && timer.as_mut().poll(context).is_ready() {
            rang = true;
            match disturbance {
                Disturbance::Kill(_) => canceller.cancel(),
                Disturbance::Drop(_) => return Poll::Ready(None),
                Disturbance::None => unreachable!("returned above"),
            }
        }
        Poll::Pending
    })
    .await
}

/// A session to go on with: the same one, rolled back, or a new one when it was dropped in the middle.
pub async fn next_session<T>(client: &Client, session: Session, outcome: &Option<T>) -> Session {
    match outcome {
        Some(_) => {
            let mut session = session;
            session.rollback().await;
            session.next_statement();
            session
        }
        None => {
            drop(session);
            client.session()
        }
    }
}
