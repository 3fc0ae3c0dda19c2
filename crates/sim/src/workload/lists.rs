//! Lists that sessions append to and read in transactions of several statements at every isolation level. Every element
//! is appended once, so reads show the order of appends, and the whole history is judged at the end by its
//! circles ([`crate::dependency`]).
//!
//! A list is a row, its elements a text in it: `,3,17`. It begins as no row at all, is hot for a few dozen appends, and is
//! left alone then, so that lists stay short and histories long. SERIALIZABLE is made of locks here: every read takes one.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use client::{Batch, BatchResult, Lock, Op, OpKind, OpResult, ReadAt, Refusal, Session};
use types::wire::Bytes;
use types::{RowView, ShardId, Table, Value, ValueRef};

use super::{Task, Work};
use crate::contents::Contents;
use crate::dependency::{
    self, Element, Level, Object, Operation, Order, Outcome, Statement, Transaction, View,
};
use crate::random::Random;
use crate::stage::{Actor, disturbed, next_session};
use crate::tables::{
    DATABASE, batch, concatenated, encoded, integers, key, matched, read, update, with_bytes,
};

/// Objects take turns.
const NAMES: [&str; 2] = ["lists_a", "lists_b"];
const ELEMENTS: u16 = 1;

struct History {
    transactions: Vec<Transaction>,
    element_last: Element,
    /// The lists in use, with how often each may be appended to before another takes its place.
    hot: Vec<(Object, u32)>,
    object_last: Object,
    appends_max: u32,
    /// Lists that are known to have their row.
    made: BTreeSet<Object>,
}

struct Lists {
    history: Rc<RefCell<History>>,
}

pub fn make(random: &mut Random) -> Box<dyn Work> {
    let count = random.between(2, 8);
    let appends_max = random.between(4, 40) as u32;
    let history = History {
        transactions: Vec::new(),
        element_last: 0,
        hot: (1..=count).map(|object| (object, appends_max)).collect(),
        object_last: count,
        appends_max,
        made: BTreeSet::new(),
    };
    Box::new(Lists { history: Rc::new(RefCell::new(history)) })
}

impl Work for Lists {
    fn tables(&self) -> Vec<Table> {
        NAMES.iter().map(|name| with_bytes(integers(name, &["id"]), "elements")).collect()
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        Vec::new()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor, Rc::clone(&self.history)))
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        let mut left = BTreeMap::new();
        for name in NAMES {
            let table = contents.catalogue().table(DATABASE, name).expect("the works' tables stay");
            for row in contents.rows(table.id) {
                let (object, elements) = list_of(table, row);
                left.insert(object, elements);
            }
        }
        dependency::check(&self.history.borrow().transactions, Some(&left), Order::RealTime)
    }
}

fn list_of(table: &Table, row: &[u8]) -> (Object, Vec<Element>) {
    let layout = table.row_layout();
    let view = RowView::new(&layout, row);
    let (ValueRef::Int(id), ValueRef::Bytes(text)) = (view.get(0), view.get(ELEMENTS.into()))
    else {
        panic!("a row of {} as it was made", table.name)
    };
    let text = str::from_utf8(text).expect("digits and commas");
    let elements = text.split(',').skip(1);
    (id as Object, elements.map(|element| element.parse().expect("appended as one")).collect())
}

fn text_of(element: Element) -> Box<[u8]> {
    format!(",{element}").into_bytes().into()
}

struct User {
    actor: Actor,
    tables: [Arc<Table>; 2],
    history: Rc<RefCell<History>>,
    lock_wait_ms: u32,
    /// Of the transaction under way.
    level: Level,
    number: usize,
    /// A statement of it has asked for its snapshot.
    has_snapshot: bool,
}

async fn run(actor: Actor, history: Rc<RefCell<History>>) {
    let tables = NAMES.map(|name| actor.table(name));
    let client = actor.client.clone();
    let mut session = client.session();
    let level = Level::ReadCommitted;
    let mut user =
        User { actor, tables, history, lock_wait_ms: 0, level, number: 0, has_snapshot: false };
    let mut burst = 0;
    while !user.actor.stage.is_stopping() {
        if burst == 0 {
            user.actor.think().await;
            burst = user.actor.random.between(1, 4);
        }
        burst -= 1;
        user.lock_wait_ms = user.actor.draw_lock_wait_ms();
        let disturbance = user.actor.draw_disturbance();
        user.begin();
        let canceller = session.canceller();
        let outcome = disturbed(disturbance, &client, canceller, user.work(&mut session)).await;
        if let Some(outcome) = &outcome {
            user.actor.ended("lists", outcome, disturbance, user.lock_wait_ms);
            user.end(outcome);
        }
        session = next_session(&client, session, &outcome).await;
    }
}

/// What a statement asks for.
#[derive(Clone, Copy)]
enum Step {
    Append(Object, Element),
    Read(Object, Lock),
}

impl Step {
    fn object(self) -> Object {
        match self {
            Step::Append(object, _) | Step::Read(object, _) => object,
        }
    }
}

impl User {
    fn begin(&mut self) {
        self.level = match self.actor.random.below(3) {
            0 => Level::ReadCommitted,
            1 => Level::RepeatableRead,
            _ => Level::Serializable,
        };
        self.has_snapshot = false;
        let mut history = self.history.borrow_mut();
        self.number = history.transactions.len();
        history.transactions.push(Transaction {
            session: self.actor.id,
            level: self.level,
            // Before it was asked to commit, it has not happened, whatever becomes of its session.
            outcome: Outcome::Aborted,
            called: self.actor.stage.next_event(),
            returned: None,
            statements: Vec::new(),
        });
    }

    fn set_outcome(&self, outcome: Outcome) {
        self.history.borrow_mut().transactions[self.number].outcome = outcome;
    }

    fn committed(&self) {
        self.set_outcome(Outcome::Committed);
        let mut history = self.history.borrow_mut();
        let History { transactions, made, .. } = &mut *history;
        let statements = transactions[self.number].statements.iter();
        for operation in statements.filter(|s| !s.undone).flat_map(|s| &s.operations) {
            if let Operation::Append { object, .. } = operation {
                made.insert(*object);
            }
        }
    }

    /// Will every append find its row? Who commits with a batch must know that before the answer, which may be lost.
    fn find_their_rows(&self, steps: &[Step]) -> bool {
        let made = &self.history.borrow().made;
        steps.iter().all(|step| match step {
            Step::Append(object, _) => made.contains(object),
            Step::Read(..) => true,
        })
    }

    fn end(&self, outcome: &Result<(), Refusal>) {
        let returned = self.actor.stage.next_event();
        let mut history = self.history.borrow_mut();
        let transaction = &mut history.transactions[self.number];
        match outcome {
            Err(Refusal::OutcomeUnknown(_)) => return,
            Err(_) => transaction.outcome = Outcome::Aborted,
            Ok(()) => assert_ne!(transaction.outcome, Outcome::Unknown),
        }
        transaction.returned = Some(returned);
    }

    /// One to six operations in statements of up to three.
    async fn work(&mut self, session: &mut Session) -> Result<(), Refusal> {
        if self.level == Level::ReadCommitted && self.actor.random.chance(150) && self.look() {
            return Ok(());
        }
        let append_per_mille = *self.actor.random.pick(&[0, 0, 500, 500, 500, 1_000]);
        let mut steps_left = self.actor.random.between(1, 6);
        while 0 < steps_left {
            let count = self.actor.random.between(1, steps_left.min(3));
            steps_left -= count;
            let steps = self.draw_steps(count, append_per_mille);
            let is_last = steps_left == 0 && self.actor.random.chance(400);
            let commit = is_last && self.find_their_rows(&steps);
            match self.execute(session, &steps, commit).await {
                Ok(()) if commit => return Ok(()),
                Ok(()) => {}
                Err(Refusal::LockWaitTimeout) if !commit && self.actor.random.chance(700) => {}
                Err(refusal) => return Err(refusal),
            }
            if self.actor.random.chance(300) {
                self.actor.client.sleep_ms(self.actor.random.below(4)).await;
            }
        }
        if self.actor.random.chance(100) {
            session.rollback().await;
            return Ok(());
        }
        self.set_outcome(Outcome::Unknown);
        session.commit().await?;
        self.committed();
        Ok(())
    }

    /// Reads one list from this node's replica, past the kernel, if it can be told at once.
    fn look(&mut self) -> bool {
        let place = self.actor.random.index(self.history.borrow().hot.len());
        let object = self.history.borrow().hot[place].0;
        let table = self.table(object);
        let asked = |seen| vec![Operation::Read { object, seen, view: View::Latest }];
        self.called(asked(Vec::new()));
        let mut seen = Vec::new();
        let told = self.actor.client.read_latest(table, &key(table, object as i64), &mut |row| {
            seen = row.map_or(Vec::new(), |row| list_of(table, row).1);
        });
        self.returned(told.then(|| asked(seen)));
        if told {
            self.committed();
        }
        told
    }

    fn draw_steps(&mut self, count: u64, append_per_mille: u32) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for _ in 0..count {
            let place = self.actor.random.index(self.history.borrow().hot.len());
            let object = self.history.borrow().hot[place].0;
            let is_appended =
                steps.iter().any(|s| matches!(s, Step::Append(other, _) if *other == object));
            if self.actor.random.chance(append_per_mille) && !is_appended {
                steps.push(Step::Append(object, self.next_element(place)));
            } else {
                steps.push(Step::Read(object, self.draw_lock()));
            }
        }
        steps
    }

    fn draw_lock(&mut self) -> Lock {
        let lock_per_mille = match self.level {
            Level::ReadCommitted | Level::RepeatableRead => 100,
            Level::Serializable => 1_000,
        };
        if !self.actor.random.chance(lock_per_mille) {
            return Lock::None;
        }
        if self.actor.random.chance(300) { Lock::Exclusive } else { Lock::Shared }
    }

    fn next_element(&self, place: usize) -> Element {
        let mut history = self.history.borrow_mut();
        history.element_last += 1;
        let (_, appends_left) = &mut history.hot[place];
        *appends_left -= 1;
        if *appends_left == 0 {
            history.object_last += 1;
            history.hot[place] = (history.object_last, history.appends_max);
        }
        history.element_last
    }

    fn table(&self, object: Object) -> &Arc<Table> {
        &self.tables[(object % 2) as usize]
    }

    fn op(&self, step: Step) -> Op {
        let table = self.table(step.object());
        let id = step.object() as i64;
        match step {
            Step::Append(_, element) => {
                let value = concatenated(ELEMENTS, Value::Bytes(text_of(element)));
                update(table, id, ELEMENTS, value, None)
            }
            Step::Read(_, lock) => read(table, id, lock),
        }
    }

    /// A list's first append makes its row.
    fn insert(&self, object: Object, element: Element) -> Op {
        let table = self.table(object);
        let text = text_of(element);
        let row = encoded(table, &[ValueRef::Int(object as i64), ValueRef::Bytes(&text)]);
        let kind = OpKind::Insert { key: key(table, object as i64), row: Bytes(row) };
        Op { table: table.id, version: table.version, kind }
    }

    /// How the plain reads of a batch look: see `client::ReadAt`.
    fn plain_view(&self, steps: &[Step], commit: bool) -> View {
        let mut shards: Vec<ShardId> = Vec::new();
        for step in steps.iter().filter(|step| matches!(step, Step::Read(_, Lock::None))) {
            let table = self.table(step.object());
            let shard = self.actor.client.shard_of(&key(table, step.object() as i64));
            if !shards.contains(&shard) {
                shards.push(shard);
            }
        }
        let is_repeatable = self.level != Level::ReadCommitted;
        if 1 < shards.len() || is_repeatable && (!commit || self.has_snapshot) {
            View::Snapshot
        } else {
            View::Latest
        }
    }

    fn called(&self, operations: Vec<Operation>) {
        let called = self.actor.stage.next_event();
        let statement = Statement { called, returned: None, undone: false, operations };
        self.history.borrow_mut().transactions[self.number].statements.push(statement);
    }

    /// The statement called last was answered: done, with these operations, or refused.
    fn returned(&self, operations: Option<Vec<Operation>>) {
        let returned = self.actor.stage.next_event();
        let mut history = self.history.borrow_mut();
        let statements = &mut history.transactions[self.number].statements;
        let statement = statements.last_mut().expect("called before");
        statement.returned = Some(returned);
        statement.undone = operations.is_none();
        if let Some(operations) = operations {
            statement.operations = operations;
        }
    }

    async fn request(
        &self,
        session: &mut Session,
        ops: Vec<Op>,
        commit: bool,
    ) -> Result<BatchResult, Refusal> {
        let read_at = match self.level {
            Level::ReadCommitted => ReadAt::Statement,
            Level::RepeatableRead | Level::Serializable => ReadAt::Transaction,
        };
        session.next_statement();
        let batch = Batch { commit, ..batch(ops, read_at, self.lock_wait_ms) };
        if commit {
            self.set_outcome(Outcome::Unknown);
        }
        session.execute(batch).await
    }

    async fn execute(
        &mut self,
        session: &mut Session,
        steps: &[Step],
        commit: bool,
    ) -> Result<(), Refusal> {
        let plain_view = self.plain_view(steps, commit);
        let asked = |step: &Step| match *step {
            Step::Append(object, element) => Operation::Append { object, element },
            Step::Read(object, Lock::None) => {
                Operation::Read { object, seen: Vec::new(), view: plain_view }
            }
            Step::Read(object, Lock::Shared | Lock::Exclusive) => {
                Operation::Read { object, seen: Vec::new(), view: View::Locked }
            }
        };
        self.called(steps.iter().map(asked).collect());
        self.has_snapshot |= plain_view == View::Snapshot
            && steps.iter().any(|step| matches!(step, Step::Read(_, Lock::None)));
        let ops = steps.iter().map(|step| self.op(*step)).collect();
        let result = match self.request(session, ops, commit).await {
            Ok(result) => result,
            // It may have happened: its reads are not known, and its elements may be seen.
            Err(Refusal::OutcomeUnknown(id)) => return Err(Refusal::OutcomeUnknown(id)),
            Err(refusal) => {
                self.returned(None);
                return Err(refusal);
            }
        };
        let mut operations: Vec<Operation> = Vec::new();
        // Appends to rows that were not there: they have locked and seen that.
        let mut unmatched: Vec<(Object, Element)> = Vec::new();
        for (position, step) in steps.iter().enumerate() {
            match *step {
                Step::Append(object, element) if !matched(&result, position) => {
                    unmatched.push((object, element));
                    let (seen, view) = (Vec::new(), View::Locked);
                    operations.push(Operation::Read { object, seen, view });
                }
                Step::Append(object, element) => {
                    operations.push(Operation::Append { object, element });
                }
                Step::Read(object, lock) => {
                    let view = if lock == Lock::None { plain_view } else { View::Locked };
                    let seen = self.seen(object, &result, position);
                    operations.push(Operation::Read { object, seen, view });
                }
            }
        }
        self.returned(Some(operations));
        if commit {
            if !unmatched.is_empty() {
                self.actor.stage.fail(format!("lists that had rows have none: {unmatched:?}"));
            }
            self.committed();
            return Ok(());
        }
        for (object, element) in unmatched {
            self.called(vec![Operation::Append { object, element }]);
            let ops = vec![self.insert(object, element)];
            if let Err(refusal) = self.request(session, ops, false).await {
                self.returned(None);
                return Err(refusal);
            }
            self.returned(Some(vec![Operation::Append { object, element }]));
        }
        Ok(())
    }

    fn seen(&self, object: Object, result: &BatchResult, position: usize) -> Vec<Element> {
        match result.results[position].as_slice() {
            [OpResult::Row(None)] => Vec::new(),
            [OpResult::Row(Some(row))] => {
                let (id, elements) = list_of(self.table(object), row);
                assert_eq!(id, object);
                elements
            }
            other => panic!("{other:?} to a read"),
        }
    }
}
