//! Transactions that lock two rows of different shards in opposite order, and others that lock several in one order.
//!
//! Every circle is broken within a moment, by a `Deadlock` and nothing else; a transaction that
//! keeps to the order never gets one.

use std::sync::Arc;

use client::{Lock, ReadAt, Refusal, Session};
use types::Table;

use super::{Task, Work};
use crate::contents::Contents;
use crate::options::SECOND;
use crate::random::Random;
use crate::stage::{Actor, Disturbance};
use crate::tables::{batch, integers, key, plus, read, update};

const NAME: &str = "deadlock";
/// Rows that are locked in any order, and rows that are locked in ascending order only.
const ANY_ORDER: i64 = 6;
const IN_ORDER: std::ops::Range<i64> = 100..106;
/// No transaction may wait for this time: circles are broken.
const LOCK_WAIT_MS: u32 = 50_000;

struct Deadlocks;

pub fn make(_random: &mut Random) -> Box<dyn Work> {
    Box::new(Deadlocks)
}

impl Work for Deadlocks {
    fn tables(&self) -> Vec<Table> {
        vec![integers(NAME, &["id", "count"])]
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        (0..ANY_ORDER).chain(IN_ORDER).map(|id| (NAME, vec![id, 0])).collect()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor))
    }
    fn check(&self, _contents: &Contents) -> Result<(), String> {
        Ok(())
    }
}

async fn run(mut actor: Actor) {
    let table = actor.table(NAME);
    let mut session = actor.client.session();
    while !actor.stage.is_stopping() {
        actor.think().await;
        let in_order = actor.index % 4 == 3;
        let ids = if in_order { draw_in_order(&mut actor) } else { draw_pair(&mut actor, &table) };
        let outcome = lock_all(&mut actor, &table, &mut session, &ids).await;
        if in_order && matches!(outcome, Err(Refusal::Deadlock)) {
            actor.stage.fail(format!("locking {ids:?} was a deadlock"));
        }
        actor.ended(&format!("locking {ids:?}"), &outcome, Disturbance::None, LOCK_WAIT_MS);
        session.rollback().await;
        session.next_statement();
    }
}

/// Two rows of different shards, if there are several.
fn draw_pair(actor: &mut Actor, table: &Table) -> Vec<i64> {
    let first = actor.random.below(ANY_ORDER as u64) as i64;
    let shard = |id: i64| actor.client.shard_of(&key(table, id));
    let others: Vec<i64> =
        (0..ANY_ORDER).filter(|id| *id != first && shard(*id) != shard(first)).collect();
    let second = match others.as_slice() {
        [] => (first + 1) % ANY_ORDER,
        others => *actor.random.pick(others),
    };
    vec![first, second]
}

fn draw_in_order(actor: &mut Actor) -> Vec<i64> {
    IN_ORDER.filter(|_| actor.random.chance(500)).collect()
}

async fn lock_all(
    actor: &mut Actor,
    table: &Arc<Table>,
    session: &mut Session,
    ids: &[i64],
) -> Result<(), Refusal> {
    for id in ids {
        session.next_statement();
        let op = if actor.random.chance(500) {
            read(table, *id, Lock::Exclusive)
        } else {
            update(table, *id, 1, plus(1, 1), None)
        };
        let asked = actor.stage.now();
        let outcome = session.execute(batch(vec![op], ReadAt::Transaction, LOCK_WAIT_MS)).await;
        let waited = actor.stage.waited_since(asked);
        if actor.stage.is_mild && waited > SECOND {
            actor.stage.fail(format!("the lock of row {id} took {waited} us: {outcome:?}"));
        }
        outcome?;
        actor.client.sleep_ms(actor.random.below(4)).await;
    }
    session.commit().await
}
