//! Long rows, and little memory for them: transactions that write until they are refused, at nodes that lead a part of their rows each.
//!
//! A refused statement is undone, and the transaction continues. Committed rows are there at the
//! end, and no node ever has more than its memory for rows, which the world itself checks.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use client::{OpKind, ReadAt, Refusal, Session};
use types::wire::Bytes;
use types::{Table, ValueRef};

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, Disturbance};
use crate::tables::{autocommit, batch, delete, encoded, integers, key, op, with_bytes};

const NAME: &str = "hoards";
const LOCK_WAIT_MS: u32 = 50_000;

struct Hoards {
    /// What was committed and not deleted.
    rows: Rc<RefCell<BTreeSet<i64>>>,
}

pub fn make(_random: &mut Random) -> Box<dyn Work> {
    Box::new(Hoards { rows: Rc::default() })
}

impl Work for Hoards {
    fn tables(&self) -> Vec<Table> {
        vec![with_bytes(integers(NAME, &["id"]), "filler")]
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        Vec::new()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor, Rc::clone(&self.rows)))
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        let left: BTreeSet<i64> = contents.numbers(NAME).iter().map(|row| row[0]).collect();
        let expected = self.rows.borrow();
        match left.symmetric_difference(&expected).next() {
            None => Ok(()),
            Some(id) if left.contains(id) => Err(format!("row {id} was not committed, or deleted")),
            Some(id) => Err(format!("row {id} was committed, and is not there")),
        }
    }
}

async fn run(mut actor: Actor, rows: Rc<RefCell<BTreeSet<i64>>>) {
    let table = actor.table(NAME);
    let mut session = actor.client.session();
    let mut own: Vec<i64> = Vec::new();
    while !actor.stage.is_stopping() {
        actor.think().await;
        let is_full = match write(&mut actor, &table, &mut session).await {
            Ok(written) => {
                rows.borrow_mut().extend(&written.committed);
                own.extend(written.committed);
                actor.acknowledged();
                written.is_full
            }
            Err(refusal) => {
                actor.ended("hoards", &Err(refusal), Disturbance::None, LOCK_WAIT_MS);
                continue;
            }
        };
        if is_full || actor.random.chance(200) {
            let outcome = delete_some(&mut actor, &table, &mut session, &mut own, &rows).await;
            actor.ended("hoards", &outcome, Disturbance::None, LOCK_WAIT_MS);
        }
    }
}

struct Written {
    committed: Vec<i64>,
    is_full: bool,
}

/// A transaction of some statements, a row each, until one is refused because the memory is full.
async fn write(
    actor: &mut Actor,
    table: &Arc<Table>,
    session: &mut Session,
) -> Result<Written, Refusal> {
    let mut written = Written { committed: Vec::new(), is_full: false };
    for _ in 0..actor.random.between(1, 600) {
        let id = actor.unique_value();
        let filler = vec![7u8; actor.random.logarithmic(5_000, 60_000) as usize];
        let row = Bytes(encoded(table, &[ValueRef::Int(id), ValueRef::Bytes(&filler)]));
        let insert = op(table, OpKind::Insert { key: key(table, id), row });
        session.next_statement();
        let asked = batch(vec![insert], ReadAt::Transaction, LOCK_WAIT_MS);
        match session.execute(asked).await {
            Ok(_) => written.committed.push(id),
            Err(Refusal::MemoryFull { .. }) => {
                actor.stage.refusals.set(actor.stage.refusals.get() + 1);
                written.is_full = true;
                break;
            }
            Err(refusal) => return Err(refusal),
        }
        actor.served();
        actor.client.sleep_ms(actor.random.below(5)).await;
        if actor.stage.is_stopping() {
            break;
        }
    }
    if actor.random.chance(200) {
        session.rollback().await;
        written.committed.clear();
    } else {
        session.commit().await?;
    }
    Ok(written)
}

/// That is never refused.
async fn delete_some(
    actor: &mut Actor,
    table: &Arc<Table>,
    session: &mut Session,
    own: &mut Vec<i64>,
    rows: &RefCell<BTreeSet<i64>>,
) -> Result<(), Refusal> {
    let left = actor.random.below(own.len() as u64 + 1) as usize;
    let ops = own[left..].iter().map(|id| delete(table, *id)).collect();
    session.next_statement();
    session.execute(autocommit(ops, LOCK_WAIT_MS)).await?;
    for id in own.drain(left..) {
        rows.borrow_mut().remove(&id);
    }
    Ok(())
}
