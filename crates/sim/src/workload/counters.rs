//! Counters that are counted up in every way there is: no increment is lost, none counts twice.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use client::{Lock, ReadAt, Refusal, Session};
use types::Table;

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, disturbed, is_unheard, next_session};
use crate::tables::{autocommit, batch, integers, matched, plus, put, read, row_read, update};

const NAME: &str = "counters";

/// Acknowledged increments, and those with a COMMIT of unknown outcome.
#[derive(Clone, Copy, Default)]
struct Tally {
    acknowledged: i64,
    unheard: i64,
}

struct Counters {
    tallies: Rc<RefCell<Vec<Tally>>>,
}

pub fn make(random: &mut Random) -> Box<dyn Work> {
    let count = random.between(1, 6) as usize;
    Box::new(Counters { tallies: Rc::new(RefCell::new(vec![Tally::default(); count])) })
}

impl Work for Counters {
    fn tables(&self) -> Vec<Table> {
        vec![integers(NAME, &["id", "count"])]
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        (0..self.tallies.borrow().len()).map(|id| (NAME, vec![id as i64, 0])).collect()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor, Rc::clone(&self.tallies)))
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        for (row, tally) in contents.numbers(NAME).iter().zip(&*self.tallies.borrow()) {
            let most = tally.acknowledged + tally.unheard;
            if !(tally.acknowledged..=most).contains(&row[1]) {
                return Err(format!(
                    "counter {} is {}; {} increments were acknowledged, {} unheard of",
                    row[0], row[1], tally.acknowledged, tally.unheard
                ));
            }
        }
        Ok(())
    }
}

async fn run(actor: Actor, tallies: Rc<RefCell<Vec<Tally>>>) {
    let table = actor.table(NAME);
    let client = actor.client.clone();
    let mut session = client.session();
    let mut actor = actor;
    let count = tallies.borrow().len();
    while !actor.stage.is_stopping() {
        actor.think().await;
        let lock_wait_ms = actor.draw_lock_wait_ms();
        let disturbance = actor.draw_disturbance();
        let canceller = session.canceller();
        let first = actor.random.index(count);
        let second = actor.random.index(count);
        let mut ids = vec![first];
        if second != first && actor.random.chance(300) {
            ids.push(second);
        }
        let stage = Rc::clone(&actor.stage);
        let is_asked = Cell::new(false);
        // Noted before the commit is sent: this task may end with its node.
        let ask = || {
            is_asked.set(true);
            for id in &ids {
                tallies.borrow_mut()[*id].unheard += 1;
            }
        };
        let work = increment(&mut actor, &table, &mut session, &ids, lock_wait_ms, ask);
        let outcome = disturbed(disturbance, &client, canceller, work).await;
        for id in &ids {
            let tally = &mut tallies.borrow_mut()[*id];
            tally.unheard -= i64::from(is_asked.get() && !is_unheard(&outcome));
            if let Some(Ok(found)) = &outcome {
                tally.acknowledged += 1;
                if !found {
                    stage.fail(format!("counter {id} was not there"));
                }
            }
        }
        if let Some(outcome) = &outcome {
            let result = outcome.as_ref().map(|_| ()).map_err(Refusal::clone);
            actor.ended("counter", &result, disturbance, lock_wait_ms);
        }
        session = next_session(&client, session, &outcome).await;
    }
}

/// One more on each of the counters; false if one was not there. Calls `ask` when the commit is about to be asked for.
async fn increment(
    actor: &mut Actor,
    table: &Arc<Table>,
    session: &mut Session,
    ids: &[usize],
    lock_wait_ms: u32,
    ask: impl FnOnce(),
) -> Result<bool, Refusal> {
    let ids: Vec<i64> = ids.iter().map(|id| *id as i64).collect();
    session.next_statement();
    if actor.random.chance(500) {
        let ops: Vec<_> = ids.iter().map(|id| update(table, *id, 1, plus(1, 1), None)).collect();
        let count = ops.len();
        ask();
        let result = session.execute(autocommit(ops, lock_wait_ms)).await?;
        return Ok((0..count).all(|position| matched(&result, position)));
    }
    // Two transactions that hold the shared lock and request the exclusive one are a deadlock.
    let lock = if actor.random.chance(700) { Lock::Exclusive } else { Lock::Shared };
    for id in ids {
        session.next_statement();
        let ops = vec![read(table, id, lock)];
        let result = session.execute(batch(ops, ReadAt::Transaction, lock_wait_ms)).await?;
        let Some(row) = row_read(table, &result, 0) else { return Ok(false) };
        let pause = actor.random.below(4);
        if pause > 1 {
            actor.client.sleep_ms(pause - 2).await;
        }
        session.next_statement();
        let ops = vec![put(table, &[id, row[1] + 1])];
        session.execute(batch(ops, ReadAt::Transaction, lock_wait_ms)).await?;
    }
    ask();
    session.commit().await?;
    Ok(true)
}
