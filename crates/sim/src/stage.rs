//! What the tasks of a world share, and what each task has.
//!
//! Tasks are straight-line code over `client::Session`. They end when the stage says so, report what must not be as a
//! failure, and number what happens so that histories have an order that is finer than the clock.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use client::{Canceller, Client, Refusal, Session, TransactionOutcome};
use kernel::Time;
use protocol::control::{ControlState, Durability};
use types::{Address, NodeId, Table};

use crate::bulletin::Bulletin;
use crate::options::{MILLISECOND, SECOND};
use crate::random::Random;
use crate::tables;
use crate::world::{Lost, World};

/// After the loss of a node has been reported, work that it blocked continues within this time.
pub const AVAILABLE_MAX: Time = 2 * SECOND;

pub struct Stage {
    clock: Rc<Cell<Time>>,
    stopping: Cell<bool>,
    lost: Rc<Cell<Option<Lost>>>,
    troubled: Rc<RefCell<BTreeMap<NodeId, Option<Time>>>>,
    /// The time of each actor's last answer, and its place.
    served: RefCell<BTreeMap<u64, (Address, Time)>>,
    /// Those that went with their nodes; and those that have ended by themselves, and ask for nothing.
    actors_lost: RefCell<BTreeSet<u64>>,
    actors_ended: RefCell<BTreeSet<u64>>,
    failures: RefCell<Vec<String>>,
    event_last: Cell<u64>,
    /// Told when a node's schema is newer, and what sessions tell each other.
    pub schema_news: Rc<Bulletin>,
    pub news: Rc<Bulletin>,
    /// Transactions that ended with an acknowledgement, and requests that were refused.
    pub transactions: Cell<u64>,
    pub refusals: Cell<u64>,
    /// Answers about commits of unknown outcome: forgotten, in progress, rolled back, committed.
    pub outcomes: Cell<[u64; 5]>,
    pub is_mild: bool,
    /// The world loses a node some time.
    pub has_crash: bool,
    /// Nodes that are lost come back, without the versions from before.
    pub has_returns: bool,
    /// Disks have no room now and then.
    has_full_disks: bool,
    durability: Durability,
    pub think_max: Time,
}

impl Stage {
    pub fn new(world: &World) -> Rc<Stage> {
        let options = &world.options;
        Rc::new(Stage {
            clock: world.clock(),
            schema_news: world.schema_news(),
            news: world.news(),
            lost: world.lost(),
            troubled: world.troubled(),
            served: RefCell::default(),
            actors_lost: RefCell::default(),
            actors_ended: RefCell::default(),
            stopping: Cell::new(false),
            failures: RefCell::new(Vec::new()),
            event_last: Cell::new(0),
            transactions: Cell::new(0),
            refusals: Cell::new(0),
            outcomes: Cell::default(),
            is_mild: options.faults.are_mild(),
            has_crash: options.crash.is_some(),
            has_full_disks: !options.full_disks.is_empty(),
            has_returns: options.crash.as_ref().is_some_and(|crash| crash.restart_after.is_some()),
            durability: options.durability,
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
    /// Whether commits acknowledged in this state of the cluster are on the disks of all members.
    pub fn is_durable_when_told(&self, state: &ControlState) -> bool {
        match self.durability {
            Durability::Always => true,
            Durability::WhenAlone => state.groups.values().any(|group| group.active().count() == 1),
            Durability::Memory => false,
        }
    }
    /// A node has crashed, and its actors with it.
    pub fn lose(&self, node: NodeId) {
        let lost = |_: &u64, (host, _): &mut (Address, Time)| host.node == node;
        let lost: Vec<u64> =
            self.served.borrow_mut().extract_if(.., lost).map(|(id, _)| id).collect();
        self.actors_lost.borrow_mut().extend(lost);
    }
    pub fn end(&self, actor: u64) {
        self.actors_ended.borrow_mut().insert(actor);
    }
    pub fn note_outcome(&self, outcome: TransactionOutcome) {
        let mut outcomes = self.outcomes.get();
        outcomes[outcome as usize] += 1;
        self.outcomes.set(outcomes);
    }
    /// Has this actor gone with its node?
    pub fn is_lost(&self, actor: u64) -> bool {
        self.actors_lost.borrow().contains(&actor)
    }
    /// By when everything must be as before the crash, if there was one.
    fn available_at(&self) -> Option<Time> {
        self.lost.get().map(|lost| lost.told_at + AVAILABLE_MAX)
    }
    /// The wait of a request from then, without the time in which a lost node may be the reason.
    pub fn waited_since(&self, asked: Time) -> Time {
        let from = self.available_at().map_or(asked, |available_at| asked.max(available_at));
        self.now().saturating_sub(from)
    }
    /// Is this what a full disk, or the loss of a node, does to requests? Where answers come within milliseconds, it does so for a time
    /// only.
    fn is_due_to_fault(&self, refusal: &Refusal, at: NodeId) -> bool {
        let may_be = matches!(
            refusal,
            Refusal::RolledBack | Refusal::OutcomeUnknown(_) | Refusal::Unavailable(_)
        ) || self.has_returns && matches!(refusal, Refusal::SnapshotTooOld);
        if self.has_full_disks && matches!(refusal, Refusal::DiskFull { .. }) {
            return true;
        }
        let is_time = |at: Time| !self.is_mild || self.now() <= at;
        let is_troubled = matches!(self.troubled.borrow().get(&at), Some(None));
        may_be && (is_troubled || self.available_at().is_some_and(is_time))
    }
    /// The longest wait on nodes that are alive: (where, since when). Where answers come within milliseconds it is the wait
    /// of one actor, else of all on a worker: one of them may wait for long for the locks of others.
    pub fn longest_unserved(&self) -> Option<(Address, Time)> {
        let mut last: BTreeMap<(Address, Option<u64>), Time> = BTreeMap::new();
        let troubled = self.troubled.borrow();
        let ended = self.actors_ended.borrow();
        for (actor, (host, at)) in self.served.borrow().iter().filter(|(id, _)| !ended.contains(id))
        {
            let at = match troubled.get(&host.node) {
                Some(None) => continue,
                Some(Some(recovered)) => at.max(recovered),
                None => at,
            };
            let of = last.entry((*host, self.is_mild.then_some(*actor))).or_insert(*at);
            *of = (*of).max(*at);
        }
        last.into_iter().map(|((host, _), at)| (host, at)).min_by_key(|(_, at)| *at)
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
    /// The worker it is on.
    host: Address,
    pub client: Client,
    pub random: Random,
    pub stage: Rc<Stage>,
    values_made: u64,
}

/// What happens to a transaction from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    None,
    /// KILL after this many milliseconds.
    Kill(u64),
    /// The session's connection breaks after this many milliseconds.
    Drop(u64),
}

impl Actor {
    pub fn new(
        id: u64,
        index: u64,
        host: Address,
        client: Client,
        random: Random,
        stage: Rc<Stage>,
    ) -> Actor {
        let actor = Actor { id, index, host, client, random, stage, values_made: 0 };
        actor.served();
        actor
    }

    /// The actor has its answer, or asks for nothing.
    pub fn served(&self) {
        self.stage.served.borrow_mut().insert(self.id, (self.host, self.stage.now()));
    }

    /// Is this what the failure of a node does to a request here?
    pub fn is_due_to_fault(&self, refusal: &Refusal) -> bool {
        self.stage.is_due_to_fault(refusal, self.host.node)
    }

    /// Was its node frozen or cut off at some time since then? Who was frozen has not noticed how time passed.
    pub fn was_troubled_since(&self, since: Time) -> bool {
        let troubled = self.stage.troubled.borrow();
        troubled.get(&self.host.node).is_some_and(|over| over.is_none_or(|at| at >= since))
    }

    /// A transaction has ended with an acknowledgement.
    pub fn acknowledged(&self) {
        self.stage.transactions.set(self.stage.transactions.get() + 1);
        self.served();
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

    /// In a world that loses a node: thinks now and then in the middle of a transaction, so that some are asked nothing when
    /// the node dies.
    pub async fn hesitate(&mut self) {
        if self.stage.has_crash && self.random.chance(200) {
            self.think().await;
        }
    }

    /// A number that no other actor of this world has.
    pub fn unique_value(&mut self) -> i64 {
        self.values_made += 1;
        ((self.id as i64) << 32) | self.values_made as i64
    }

    /// Waits for news, `ms` milliseconds at most.
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
        let Err(refusal) = outcome else { return self.acknowledged() };
        self.stage.refusals.set(self.stage.refusals.get() + 1);
        let expected = match refusal {
            Refusal::Deadlock => true,
            Refusal::LockWaitTimeout => lock_wait_ms < 50_000,
            Refusal::Cancelled => matches!(disturbance, Disturbance::Kill(_)),
            refusal => self.is_due_to_fault(refusal),
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

/// Whether the outcome of the work is unknown: its session was dropped, or its answer was lost with a node.
pub fn is_unheard<T>(outcome: &Option<Result<T, Refusal>>) -> bool {
    matches!(outcome, None | Some(Err(Refusal::OutcomeUnknown(_))))
}

/// The session for further work: the same one, rolled back, or a new one when it was dropped in the middle.
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
