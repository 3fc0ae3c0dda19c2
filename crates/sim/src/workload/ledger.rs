//! Entries that are written once or changed by their owner only, and remembered outside of the
//! cluster: acknowledged changes are there at the end, refused or rolled back ones are not, and a
//! transaction of unknown outcome is there as a whole or not at all.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use client::{Lock, ReadAt, Refusal, Session};
use types::Table;

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, disturbed, is_unheard, next_session};
use crate::tables::{
    autocommit, batch, constant, delete, insert, integers, read, row_read, update,
};

const NAME: &str = "ledger";

/// id -> payload; None is no row.
type State = BTreeMap<i64, Option<i64>>;

#[derive(Default)]
struct Remembered {
    /// What was acknowledged last of every entry.
    known: State,
    /// Transactions with a COMMIT of unknown outcome, by number; if it stays unknown, their entries are not touched again.
    unheard: BTreeMap<u64, State>,
    number_last: u64,
}

struct Ledger {
    remembered: Rc<RefCell<Remembered>>,
}

pub fn make(_random: &mut Random) -> Box<dyn Work> {
    Box::new(Ledger { remembered: Rc::default() })
}

impl Work for Ledger {
    fn tables(&self) -> Vec<Table> {
        vec![integers(NAME, &["id", "payload"])]
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        Vec::new()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor, Rc::clone(&self.remembered)))
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        let left: BTreeMap<i64, i64> =
            contents.numbers(NAME).into_iter().map(|row| (row[0], row[1])).collect();
        let remembered = self.remembered.borrow();
        let mut expected = remembered.known.clone();
        for unheard in remembered.unheard.values() {
            let happened =
                unheard.iter().filter(|(id, payload)| left.get(*id).copied() == **payload).count();
            let before = unheard.keys().filter(|id| {
                left.get(*id).copied() == remembered.known.get(*id).copied().flatten()
            });
            if happened == unheard.len() {
                expected.extend(unheard.clone());
            } else if before.count() != unheard.len() {
                return Err(format!("a part of a transaction is there: {unheard:?}"));
            }
        }
        for (id, payload) in &expected {
            if left.get(id).copied() != *payload {
                let found = left.get(id);
                return Err(format!("entry {id} is {found:?}, {payload:?} was acknowledged"));
            }
        }
        match left.keys().find(|id| !expected.contains_key(*id)) {
            Some(id) => Err(format!("entry {id} is there and was never acknowledged")),
            None => Ok(()),
        }
    }
}

impl Remembered {
    /// A transaction is about to be asked to commit: its task may end with its node.
    fn asked(&mut self, wanted: &State) -> u64 {
        self.number_last += 1;
        self.unheard.insert(self.number_last, wanted.clone());
        self.number_last
    }
    fn heard(&mut self, number: u64) {
        self.unheard.remove(&number).expect("asked before");
    }
}

struct Writer {
    actor: Actor,
    table: Arc<Table>,
    remembered: Rc<RefCell<Remembered>>,
    /// This writer's entries.
    own: State,
    /// The transaction under way, once its COMMIT is sent.
    asked: Option<u64>,
    lock_wait_ms: u32,
}

async fn run(actor: Actor, remembered: Rc<RefCell<Remembered>>) {
    let table = actor.table(NAME);
    let client = actor.client.clone();
    let mut session = client.session();
    let own = State::new();
    let mut writer = Writer { actor, table, remembered, own, asked: None, lock_wait_ms: 0 };
    while !writer.actor.stage.is_stopping() {
        writer.actor.think().await;
        writer.lock_wait_ms = writer.actor.draw_lock_wait_ms();
        let disturbance = writer.actor.draw_disturbance();
        let canceller = session.canceller();
        let wanted = writer.draw_changes();
        let work = writer.write(&mut session, &wanted);
        let outcome = disturbed(disturbance, &client, canceller, work).await;
        let is_heard = !is_unheard(&outcome);
        if let Some(number) = writer.asked.take()
            && is_heard
        {
            writer.remembered.borrow_mut().heard(number);
        }
        if !is_heard {
            writer.own.retain(|id, _| !wanted.contains_key(id));
        }
        if let Some(Ok(Ended::Committed)) = &outcome {
            writer.own.extend(wanted.clone());
            writer.remembered.borrow_mut().known.extend(wanted.clone());
        }
        if let Some(outcome) = &outcome {
            let result = outcome.as_ref().map(|_| ()).map_err(Refusal::clone);
            writer.actor.ended("ledger", &result, disturbance, writer.lock_wait_ms);
        }
        session = next_session(&client, session, &outcome).await;
        if is_heard
            && let Err(refusal) = writer.read_back(&mut session, &wanted).await
            && !writer.actor.is_due_to_fault(&refusal)
        {
            writer.actor.stage.fail(format!("reading the ledger was refused: {refusal:?}"));
        }
    }
}

enum Ended {
    Committed,
    RolledBack,
}

impl Writer {
    /// A few new entries, and a few of its own changed or removed.
    fn draw_changes(&mut self) -> State {
        let mut changes = State::new();
        for _ in 0..self.actor.random.between(1, 3) {
            let value = self.actor.unique_value();
            let there: Vec<i64> = self
                .own
                .iter()
                .filter(|(_, payload)| payload.is_some())
                .map(|(id, _)| *id)
                .collect();
            if there.is_empty() || self.actor.random.chance(600) {
                changes.insert(value, Some(value));
            } else {
                let id = *self.actor.random.pick(&there);
                changes.insert(id, self.actor.random.chance(700).then_some(value));
            }
        }
        changes
    }

    fn ops(&self, changes: &State) -> Vec<client::Op> {
        let change = |(id, payload): (&i64, &Option<i64>)| {
            let is_there = self.own.get(id).copied().flatten().is_some();
            match payload {
                None => delete(&self.table, *id),
                Some(payload) if is_there => update(&self.table, *id, 1, constant(*payload), None),
                Some(payload) => insert(&self.table, &[*id, *payload]),
            }
        };
        changes.iter().map(change).collect()
    }

    async fn write(&mut self, session: &mut Session, changes: &State) -> Result<Ended, Refusal> {
        let ops = self.ops(changes);
        session.next_statement();
        if self.actor.random.chance(500) {
            self.ask(changes);
            session.execute(autocommit(ops, self.lock_wait_ms)).await?;
            return Ok(Ended::Committed);
        }
        for op in ops {
            session.next_statement();
            session.execute(batch(vec![op], ReadAt::Transaction, self.lock_wait_ms)).await?;
            self.actor.hesitate().await;
        }
        if self.actor.random.chance(200) {
            session.rollback().await;
            return Ok(Ended::RolledBack);
        }
        self.ask(changes);
        session.commit().await?;
        Ok(Ended::Committed)
    }

    fn ask(&mut self, changes: &State) {
        self.asked = Some(self.remembered.borrow_mut().asked(changes));
    }

    /// Only this actor changes these: it reads its acknowledged values, or those from before a refused change.
    async fn read_back(&mut self, session: &mut Session, changes: &State) -> Result<(), Refusal> {
        let ids: Vec<i64> = changes.keys().copied().collect();
        let ops = ids.iter().map(|id| read(&self.table, *id, Lock::None)).collect();
        session.next_statement();
        let result = session.execute(autocommit(ops, 50_000)).await?;
        for (position, id) in ids.iter().enumerate() {
            let found = row_read(&self.table, &result, position).map(|row| row[1]);
            let expected = self.own.get(id).copied().flatten();
            if found != expected {
                let node = self.actor.client.node();
                self.actor.stage.fail(format!(
                    "entry {id} is {found:?} on node {node} right after its writer knew {expected:?}"
                ));
            }
        }
        Ok(())
    }
}
