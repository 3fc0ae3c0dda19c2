//! AUTO_INCREMENT: every reserved value is reserved once, values grow on a session, and come after one that was written
//! explicitly.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use client::{Batch, Refusal, Session};
use types::Table;

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, disturbed, is_unheard, next_session};
use crate::tables::{autocommit, insert, integers, with_auto_increment};

const NAME: &str = "sequence";
/// Gets explicit values too.
const MIXED: &str = "sequence_mixed";

#[derive(Default)]
struct Values {
    acknowledged: BTreeSet<i64>,
    /// Requested, with unknown outcome.
    unheard: BTreeSet<i64>,
}

struct Sequences {
    values: Rc<RefCell<Values>>,
}

pub fn make(_random: &mut Random) -> Box<dyn Work> {
    Box::new(Sequences { values: Rc::default() })
}

impl Work for Sequences {
    fn tables(&self) -> Vec<Table> {
        [NAME, MIXED].map(|name| with_auto_increment(integers(name, &["id", "writer"]))).to_vec()
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        Vec::new()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor, Rc::clone(&self.values)))
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        let left: BTreeSet<i64> = contents.numbers(NAME).iter().map(|row| row[0]).collect();
        let values = self.values.borrow();
        if let Some(lost) = values.acknowledged.difference(&left).next() {
            return Err(format!("the row with number {lost} was acknowledged and is gone"));
        }
        let heard = |id: &&i64| values.acknowledged.contains(id) || values.unheard.contains(id);
        match left.iter().find(|id| !heard(id)) {
            Some(id) => Err(format!("the row with number {id} was never acknowledged")),
            None => Ok(()),
        }
    }
}

async fn run(mut actor: Actor, values: Rc<RefCell<Values>>) {
    let tables = [NAME, MIXED].map(|name| actor.table(name));
    let client = actor.client.clone();
    let mut session = client.session();
    let mut largest = [0i64; 2];
    while !actor.stage.is_stopping() {
        // Now and then many in a row, so that blocks grow.
        if actor.random.chance(300) {
            actor.think().await;
        }
        let mixed = actor.random.chance(250);
        let disturbance = actor.draw_disturbance();
        let canceller = session.canceller();
        let stage = Rc::clone(&actor.stage);
        let reserved: Rc<RefCell<Vec<i64>>> = Rc::default();
        let work = async {
            if mixed {
                insert_mixed(&mut actor, &tables[1], &mut session, &mut largest[1]).await
            } else {
                let largest = &mut largest[0];
                insert_next(&mut actor, &tables[0], &mut session, largest, &reserved, &values).await
            }
        };
        let outcome = disturbed(disturbance, &client, canceller, work).await;
        if !is_unheard(&outcome) {
            values.borrow_mut().unheard.retain(|id| !reserved.borrow().contains(id));
        }
        if let Some(Ok(())) = &outcome {
            values.borrow_mut().acknowledged.extend(reserved.borrow().iter());
        }
        if let Some(outcome) = &outcome {
            actor.ended("sequence", outcome, disturbance, 50_000);
        }
        if stage.is_stopping() {
            break;
        }
        session = next_session(&client, session, &outcome).await;
    }
}

async fn insert_next(
    actor: &mut Actor,
    table: &Arc<Table>,
    session: &mut Session,
    largest: &mut i64,
    reserved: &RefCell<Vec<i64>>,
    values: &RefCell<Values>,
) -> Result<(), Refusal> {
    // Where nodes come and go some ask for numbers in the middle of a transaction, which then waits for them.
    let is_long = actor.stage.has_crash && actor.random.chance(300);
    for is_last in if is_long { [false, true].as_slice() } else { &[true] } {
        let count = if actor.random.chance(200) { actor.random.between(2, 5) } else { 1 };
        let first = session.auto_increment(table, count).await? as i64;
        if first <= *largest {
            actor.stage.fail(format!("number {first} after {largest} on one session"));
        }
        let ids: Vec<i64> = (first..).take(count as usize).collect();
        *largest = first + count as i64 - 1;
        reserved.borrow_mut().extend(&ids);
        // Before they are written: this task may end with its node.
        values.borrow_mut().unheard.extend(&ids);
        let ops = ids.iter().map(|id| insert(table, &[*id, actor.id as i64])).collect();
        session.next_statement();
        session.execute(Batch { commit: *is_last, ..autocommit(ops, 50_000) }).await?;
        if !is_last {
            actor.think().await;
        }
    }
    Ok(())
}

async fn insert_mixed(
    actor: &mut Actor,
    table: &Arc<Table>,
    session: &mut Session,
    largest: &mut i64,
) -> Result<(), Refusal> {
    let explicit = actor.random.chance(300);
    let id = if explicit {
        *largest + actor.random.between(1, 40) as i64
    } else {
        session.auto_increment(table, 1).await? as i64
    };
    if id <= *largest {
        actor.stage.fail(format!("number {id} after {largest} was written on this session"));
    }
    session.next_statement();
    let ops = vec![insert(table, &[id, actor.id as i64])];
    match session.execute(autocommit(ops, 50_000)).await {
        Ok(_) => {}
        // Explicit values of others are in the way of this one.
        Err(Refusal::DuplicateKey { .. }) => {}
        Err(refusal) => return Err(refusal),
    }
    if explicit {
        session.auto_increment_at_least(table, id as u64).await?;
    }
    *largest = id;
    Ok(())
}
