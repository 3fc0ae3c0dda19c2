//! Rows that come and go: at the end all are deleted, and the memory they took is free again.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use client::{Refusal, Session};
use types::wire::Bytes;
use types::{IndexKind, NodeId, Table, ValueRef};

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, Disturbance};
use crate::tables::{
    autocommit, constant, delete, encoded, integers, key, update, with_bytes, with_index,
};

const NAME: &str = "churn";
const LOCK_WAIT_MS: u32 = 50_000;

/// The rows of each actor that may be there, by its node and its id: asked for, and not known to be deleted. Whoever is
/// left deletes those of a node that is lost.
type Rows = BTreeMap<(NodeId, u64), Vec<i64>>;

struct Churn {
    rows: Rc<RefCell<Rows>>,
}

pub fn make(_random: &mut Random) -> Box<dyn Work> {
    Box::new(Churn { rows: Rc::default() })
}

impl Work for Churn {
    fn tables(&self) -> Vec<Table> {
        let table = with_bytes(integers(NAME, &["id", "turn"]), "filler");
        vec![with_index(table, "turn", IndexKind::Ordinary, &[1])]
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        Vec::new()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor, Rc::clone(&self.rows)))
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        // Whose node was lost when everybody else had ended has left its own.
        let orphans: BTreeSet<i64> = self.rows.borrow().values().flatten().copied().collect();
        let left = contents.numbers(NAME);
        match left.iter().filter(|row| !orphans.contains(&row[0])).count() {
            0 if left.is_empty() => contents.check_is_free(NAME),
            0 => Ok(()),
            count => Err(format!("{count} rows are left of those that were deleted")),
        }
    }
}

async fn run(mut actor: Actor, rows: Rc<RefCell<Rows>>) {
    let table = actor.table(NAME);
    let mut session = actor.client.session();
    let owner = (actor.client.node(), actor.id);
    rows.borrow_mut().insert(owner, Vec::new());
    while !actor.stage.is_stopping() {
        actor.think().await;
        let outcome = turn(&mut actor, &table, &mut session, owner, &rows).await;
        actor.ended("churn", &outcome, Disturbance::None, LOCK_WAIT_MS);
    }
    adopt_rows(&actor, owner, &rows);
    while !rows.borrow()[&owner].is_empty() {
        let outcome = delete_last(&table, &mut session, owner, &rows, 200).await;
        actor.ended("churn", &outcome, Disturbance::None, LOCK_WAIT_MS);
        if outcome.is_err() {
            actor.client.sleep_ms(20).await;
        }
    }
}

/// Takes over rows whose owner is gone.
fn adopt_rows(actor: &Actor, owner: (NodeId, u64), rows: &RefCell<Rows>) {
    let mut rows = rows.borrow_mut();
    let orphans: Vec<i64> = rows
        .iter_mut()
        .filter(|((_, owner), _)| actor.stage.is_lost(*owner))
        .flat_map(|(_, rows)| std::mem::take(rows))
        .collect();
    rows.get_mut(&owner).expect("inserted first").extend(orphans);
}

/// Some rows more, or changed, or less. Nobody else touches them.
async fn turn(
    actor: &mut Actor,
    table: &Arc<Table>,
    session: &mut Session,
    owner: (NodeId, u64),
    rows: &RefCell<Rows>,
) -> Result<(), Refusal> {
    let count = actor.random.between(1, 30) as usize;
    let ops = match actor.random.below(3) {
        0 => {
            let ids: Vec<i64> = (0..count).map(|_| actor.unique_value()).collect();
            let filler = vec![7u8; actor.random.logarithmic(1, 4_000) as usize];
            let insert = |id: &i64| {
                let values = [ValueRef::Int(*id), ValueRef::Int(*id % 7), ValueRef::Bytes(&filler)];
                let row = Bytes(encoded(table, &values));
                let kind = client::OpKind::Insert { key: key(table, *id), row };
                client::Op { table: table.id, version: table.version, kind }
            };
            rows.borrow_mut().get_mut(&owner).expect("inserted first").extend(&ids);
            ids.iter().map(insert).collect()
        }
        1 => {
            let rows = rows.borrow();
            let some = rows[&owner].iter().rev().take(count);
            some.map(|id| update(table, *id, 1, constant(*id % 11), None)).collect()
        }
        _ => return delete_last(table, session, owner, rows, count).await,
    };
    session.next_statement();
    session.execute(autocommit(ops, LOCK_WAIT_MS)).await?;
    Ok(())
}

/// Deletes some of the owner's rows, or of keys that may be rows: a refused insert is deleted, too.
async fn delete_last(
    table: &Arc<Table>,
    session: &mut Session,
    owner: (NodeId, u64),
    rows: &RefCell<Rows>,
    count: usize,
) -> Result<(), Refusal> {
    let left = rows.borrow()[&owner].len().saturating_sub(count);
    let ops = rows.borrow()[&owner][left..].iter().map(|id| delete(table, *id)).collect();
    session.next_statement();
    session.execute(autocommit(ops, LOCK_WAIT_MS)).await?;
    rows.borrow_mut().get_mut(&owner).expect("inserted first").truncate(left);
    Ok(())
}
