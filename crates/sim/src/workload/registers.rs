//! A few hot rows that every session reads and writes by key, each write with a value of its own.
//! The history of each row must be that of one register (linearizability): every later read sees
//! every acknowledged write, on any node. The same holds for a write of unknown outcome that
//! `outcome` reports as committed; one that it reports as rolled back is never seen.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use client::{Lock, ReadAt, Refusal, Session, TransactionOutcome};

use types::expr::BinaryOp;
use types::{CommitId, Table};

use super::{Task, Work};
use crate::contents::Contents;
use crate::linearizability::{self, Call, Operation};
use crate::random::Random;
use crate::stage::{Actor, Disturbance, disturbed, is_unheard, next_session};
use crate::tables::{
    autocommit, batch, compare, constant, delete, deleted, insert, integers, matched, put, read,
    row_read, update,
};

const NAME: &str = "registers";
const VALUE: u16 = 1;

/// Sessions dropped in the middle of a write: a write that was never answered may take effect at
/// any later time, and each doubles the search for an explanation.
const DROPS_MAX: u32 = 6;
/// The same where a crash leaves more such writes.
const DROPS_MAX_WITH_CRASH: u32 = 1;

struct Registers {
    /// A history for each.
    histories: Rc<RefCell<Vec<Vec<Call>>>>,
    drops: Rc<Cell<u32>>,
    unknown: Unknowns,
}

/// Commits of unknown outcome, and their calls: (register, position in its history).
type Unknowns = Rc<RefCell<Vec<(CommitId, Vec<(usize, usize)>)>>>;

pub fn make(random: &mut Random) -> Box<dyn Work> {
    let count = random.between(1, 5) as usize;
    let histories = Rc::new(RefCell::new(vec![Vec::new(); count]));
    Box::new(Registers { histories, drops: Rc::default(), unknown: Rc::default() })
}

impl Work for Registers {
    fn tables(&self) -> Vec<Table> {
        vec![integers(NAME, &["id", "value"])]
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        (0..self.histories.borrow().len()).map(|id| (NAME, vec![id as i64, 0])).collect()
    }
    fn session(&self, actor: Actor) -> Task {
        let histories = Rc::clone(&self.histories);
        let unknown = Rc::clone(&self.unknown);
        if actor.index % 4 == 3 {
            Box::pin(listen(actor, histories, unknown))
        } else {
            Box::pin(run(actor, histories, Rc::clone(&self.drops), unknown))
        }
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        let left = contents.numbers(NAME);
        let mut histories = self.histories.borrow_mut();
        for (id, history) in histories.iter_mut().enumerate() {
            // What is left is one more read.
            let row = left.iter().find(|row| row[0] == id as i64);
            let seen = row.map(|row| row[1]);
            let operation = Operation::Read { seen };
            history.push(Call { called: u64::MAX - 2, returned: Some(u64::MAX - 1), operation });
            linearizability::check(Some(0), history)
                .map_err(|error| format!("register {id}: {error}"))?;
        }
        Ok(())
    }
}

struct User {
    actor: Actor,
    table: Arc<Table>,
    histories: Rc<RefCell<Vec<Vec<Call>>>>,
    lock_wait_ms: u32,
    /// Operations called and not answered: (register, position in its history).
    open: Rc<RefCell<Vec<(usize, usize)>>>,
}

async fn run(
    actor: Actor,
    histories: Rc<RefCell<Vec<Vec<Call>>>>,
    drops: Rc<Cell<u32>>,
    unknown: Unknowns,
) {
    let table = actor.table(NAME);
    let client = actor.client.clone();
    let mut session = client.session();
    let mut user = User { actor, table, histories, lock_wait_ms: 0, open: Rc::default() };
    // A few operations right after each other, then a pause: what one has seen the next must not miss.
    let mut burst = 0;
    while !user.actor.stage.is_stopping() {
        if burst == 0 {
            user.actor.think().await;
            burst = user.actor.random.between(1, 8);
        }
        burst -= 1;
        user.lock_wait_ms = user.actor.draw_lock_wait_ms();
        let mut disturbance = user.actor.draw_disturbance();
        if let Disturbance::Drop(after) = disturbance {
            drops.set(drops.get() + 1);
            let with_crash = user.actor.stage.has_crash;
            if drops.get() > if with_crash { DROPS_MAX_WITH_CRASH } else { DROPS_MAX } {
                disturbance = Disturbance::Kill(after);
            }
        }
        let canceller = session.canceller();
        let outcome = disturbed(disturbance, &client, canceller, user.operate(&mut session)).await;
        if let Some(outcome) = &outcome {
            user.actor.ended("register", outcome, disturbance, user.lock_wait_ms);
        }
        if !is_unheard(&outcome) {
            user.forget();
        }
        if let Some(Err(Refusal::OutcomeUnknown(commit))) = &outcome {
            unknown.borrow_mut().push((*commit, user.open.borrow().clone()));
        }
        // What was under way when the session was dropped stays in the history without an answer.
        user.open.borrow_mut().clear();
        session = next_session(&client, session, &outcome).await;
    }
}

/// Reads a row that another session has just read, on another node mostly: it must not see less.
/// Asks for the outcomes of commits that are unknown.
async fn listen(actor: Actor, histories: Rc<RefCell<Vec<Vec<Call>>>>, unknown: Unknowns) {
    let table = actor.table(NAME);
    let mut session = actor.client.session();
    let user = User { actor, table, histories, lock_wait_ms: 50_000, open: Rc::default() };
    let stage = Rc::clone(&user.actor.stage);
    while !stage.is_stopping() {
        let asked = unknown.borrow_mut().pop();
        if let Some((commit, calls)) = asked {
            user.ask(&mut session, commit, calls, &unknown).await;
        }
        let Some(id) = user.actor.news_within(&stage.news, 100).await else {
            user.actor.served();
            continue;
        };
        session.next_statement();
        let outcome = user.read(&mut session, id as usize, Lock::None).await;
        user.actor.ended("register", &outcome, Disturbance::None, user.lock_wait_ms);
        user.forget();
    }
}

impl User {
    async fn read(&self, session: &mut Session, id: usize, lock: Lock) -> Result<(), Refusal> {
        self.called(id, Operation::Read { seen: None });
        let ops = vec![read(&self.table, id as i64, lock)];
        let result = session.execute(autocommit(ops, self.lock_wait_ms)).await?;
        self.returned(&[self.seen(&result, 0)]);
        Ok(())
    }

    /// Asks for the outcome of these calls; an open one is asked for again later.
    async fn ask(
        &self,
        session: &mut Session,
        commit: CommitId,
        calls: Vec<(usize, usize)>,
        unknown: &Unknowns,
    ) {
        let outcome = session.transaction_outcome(commit).await;
        self.actor.stage.note_outcome(outcome);
        match outcome {
            TransactionOutcome::RolledBack => {
                self.open.borrow_mut().extend(calls);
                self.forget();
            }
            TransactionOutcome::Committed => {
                let returned = Some(self.actor.stage.next_event());
                for (id, position) in calls {
                    let call = &mut self.histories.borrow_mut()[id][position];
                    // What the others found is not known.
                    if matches!(call.operation, Operation::Put { .. } | Operation::Exchange { .. })
                    {
                        call.returned = returned;
                    }
                }
            }
            TransactionOutcome::InProgress => unknown.borrow_mut().insert(0, (commit, calls)),
            // Whoever has seen it may have been before the restart.
            TransactionOutcome::RolledBackByRestart | TransactionOutcome::Forgotten => {}
        }
    }

    fn called(&self, id: usize, operation: Operation) {
        let called = self.actor.stage.next_event();
        let mut histories = self.histories.borrow_mut();
        histories[id].push(Call { called, returned: None, operation });
        self.open.borrow_mut().push((id, histories[id].len() - 1));
    }

    /// The answers to open calls, in their order.
    fn returned(&self, operations: &[Operation]) {
        let returned = Some(self.actor.stage.next_event());
        let open = std::mem::take(&mut *self.open.borrow_mut());
        assert_eq!(open.len(), operations.len());
        for ((id, position), operation) in open.into_iter().zip(operations) {
            let call = &mut self.histories.borrow_mut()[id][position];
            *call = Call { returned, operation: *operation, ..*call };
        }
    }

    /// What is open, if anything, was refused: it has not happened. It stays as a read that saw nothing in particular.
    fn forget(&self) {
        for (id, position) in std::mem::take(&mut *self.open.borrow_mut()) {
            self.histories.borrow_mut()[id][position].operation = Operation::Read { seen: None };
        }
    }

    async fn operate(&mut self, session: &mut Session) -> Result<(), Refusal> {
        let id = self.actor.random.index(self.histories.borrow().len());
        let key = id as i64;
        let new = self.actor.unique_value();
        session.next_statement();
        match self.actor.random.below(16) {
            0..=5 => {
                let lock = if self.actor.random.chance(100) { Lock::Shared } else { Lock::None };
                self.read(session, id, lock).await?;
                if self.actor.random.chance(400) {
                    self.actor.stage.news.post(id as u64);
                }
            }
            6 | 7 => self.read_two(session, id).await?,
            8 | 9 => {
                self.called(id, Operation::Put { new });
                let ops = vec![put(&self.table, &[key, new])];
                session.execute(autocommit(ops, self.lock_wait_ms)).await?;
                self.returned(&[Operation::Put { new }]);
            }
            10 | 11 => {
                let operation = Operation::Update { expected: None, new, matched: false };
                self.called(id, operation);
                let ops = vec![update(&self.table, key, VALUE, constant(new), None)];
                let result = session.execute(autocommit(ops, self.lock_wait_ms)).await?;
                let matched = matched(&result, 0);
                self.returned(&[Operation::Update { expected: None, new, matched }]);
            }
            12 => self.compare_and_set(session, id, new).await?,
            13 => {
                self.called(id, Operation::Delete { existed: false });
                let ops = vec![delete(&self.table, key)];
                let result = session.execute(autocommit(ops, self.lock_wait_ms)).await?;
                self.returned(&[Operation::Delete { existed: deleted(&result, 0) }]);
            }
            14 => {
                self.called(id, Operation::Insert { new, done: false });
                let ops = vec![insert(&self.table, &[key, new])];
                let done = match session.execute(autocommit(ops, self.lock_wait_ms)).await {
                    Ok(_) => true,
                    Err(Refusal::DuplicateKey { .. }) => false,
                    Err(refusal) => return Err(refusal),
                };
                self.returned(&[Operation::Insert { new, done }]);
            }
            _ => self.exchange(session, id, new).await?,
        }
        Ok(())
    }

    fn seen(&self, result: &client::BatchResult, position: usize) -> Operation {
        let row = row_read(&self.table, result, position);
        Operation::Read { seen: row.map(|row| row[1]) }
    }

    /// Two registers in one batch: at one snapshot, if they are in different shards. Each read is as fresh as one alone.
    async fn read_two(&mut self, session: &mut Session, id: usize) -> Result<(), Refusal> {
        let other = self.actor.random.index(self.histories.borrow().len());
        self.called(id, Operation::Read { seen: None });
        self.called(other, Operation::Read { seen: None });
        let ops = [id, other].map(|id| read(&self.table, id as i64, Lock::None)).to_vec();
        if self.actor.random.chance(500) {
            let result = session.execute(autocommit(ops, self.lock_wait_ms)).await?;
            self.returned(&[self.seen(&result, 0), self.seen(&result, 1)]);
            return Ok(());
        }
        // The first read of a transaction is as fresh; later ones see the same again.
        let first = batch(ops.clone(), ReadAt::Transaction, self.lock_wait_ms);
        let result = session.execute(first).await?;
        let seen = [self.seen(&result, 0), self.seen(&result, 1)];
        self.returned(&seen);
        self.actor.client.sleep_ms(self.actor.random.below(5)).await;
        session.next_statement();
        let again = batch(ops, ReadAt::Transaction, self.lock_wait_ms);
        let result = session.execute(again).await?;
        if [self.seen(&result, 0), self.seen(&result, 1)] != seen {
            self.actor.stage.fail(format!("{seen:?} in a transaction, then {result:?}"));
        }
        session.commit().await
    }

    async fn compare_and_set(
        &mut self,
        session: &mut Session,
        id: usize,
        new: i64,
    ) -> Result<(), Refusal> {
        let key = id as i64;
        self.called(id, Operation::Read { seen: None });
        let ops = vec![read(&self.table, key, Lock::None)];
        let result = session.execute(autocommit(ops, self.lock_wait_ms)).await?;
        let read = self.seen(&result, 0);
        self.returned(&[read]);
        let Operation::Read { seen: Some(seen) } = read else { return Ok(()) };
        let operation = |matched| Operation::Update { expected: Some(seen), new, matched };
        self.called(id, operation(false));
        let filter = Some(compare(VALUE, BinaryOp::Equal, seen));
        let ops = vec![update(&self.table, key, VALUE, constant(new), filter)];
        session.next_statement();
        let result = session.execute(autocommit(ops, self.lock_wait_ms)).await?;
        self.returned(&[operation(matched(&result, 0))]);
        Ok(())
    }

    /// Reads under a lock, waits a moment and writes.
    async fn exchange(
        &mut self,
        session: &mut Session,
        id: usize,
        new: i64,
    ) -> Result<(), Refusal> {
        let key = id as i64;
        self.called(id, Operation::Read { seen: None });
        let ops = vec![read(&self.table, key, Lock::Exclusive)];
        let first = batch(ops, ReadAt::Transaction, self.lock_wait_ms);
        let result = session.execute(first).await?;
        let Operation::Read { seen } = self.seen(&result, 0) else { unreachable!("as made") };
        self.actor.client.sleep_ms(self.actor.random.below(4)).await;
        self.returned(&[Operation::Read { seen }]);
        session.next_statement();
        let write =
            batch(vec![put(&self.table, &[key, new])], ReadAt::Transaction, self.lock_wait_ms);
        session.execute(write).await?;
        if self.actor.random.chance(200) {
            session.rollback().await;
            return Ok(());
        }
        // From here on the write may happen; the lock is held since before.
        self.called(id, Operation::Exchange { seen, new });
        session.commit().await?;
        self.returned(&[Operation::Exchange { seen, new }]);
        Ok(())
    }
}
