//! Snapshots that end at an age, while the rows they show change all the time.
//!
//! Writers move a unit from row to row; readers read all rows again and again until their snapshot
//! is refused, each with an age of its own. Every read equals the first one, however late a message
//! is; a refusal never comes before the age, and always after it. A strict locking read, when it is
//! granted, finds the row as the snapshot shows it.

use std::sync::Arc;

use client::{Batch, Lock, Op, ReadAt, Refusal, Session};
use kernel::Time;
use types::Table;

use super::{Task, Work};
use crate::contents::Contents;
use crate::options::MILLISECOND;
use crate::random::Random;
use crate::stage::{Actor, Disturbance};
use crate::tables::{autocommit, batch, integers, plus, read, row_read, sum, sum_read, update};

const NAME: &str = "snapshots";
const ROWS: i64 = 8;
const START: i64 = 100;
const LOCK_WAIT_MS: u32 = 50_000;
/// The delay after its end until a snapshot is released: a tick of its worker.
const TICK_MAX: Time = 20 * MILLISECOND;

struct Snapshots;

pub fn make(_random: &mut Random) -> Box<dyn Work> {
    Box::new(Snapshots)
}

impl Work for Snapshots {
    fn tables(&self) -> Vec<Table> {
        vec![integers(NAME, &["id", "value"])]
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        (0..ROWS).map(|id| (NAME, vec![id, START])).collect()
    }
    fn session(&self, actor: Actor) -> Task {
        if actor.index.is_multiple_of(2) { Box::pin(write(actor)) } else { Box::pin(look(actor)) }
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        let rows = contents.numbers(NAME);
        let total: i64 = rows.iter().map(|row| row[1]).sum();
        if rows.len() as i64 == ROWS && total == ROWS * START {
            return Ok(());
        }
        Err(format!("units were lost or made: {rows:?}"))
    }
}

async fn write(mut actor: Actor) {
    let table = actor.table(NAME);
    let mut session = actor.client.session();
    while !actor.stage.is_stopping() {
        actor.client.sleep_ms(actor.random.below(8)).await;
        let from = actor.random.below(ROWS as u64) as i64;
        let to = (from + actor.random.between(1, ROWS as u64 - 1) as i64) % ROWS;
        let ops = vec![
            update(&table, from, 1, plus(1, -1), None),
            update(&table, to, 1, plus(1, 1), None),
        ];
        session.next_statement();
        let outcome = session.execute(autocommit(ops, LOCK_WAIT_MS)).await.map(|_| ());
        actor.ended("a move", &outcome, Disturbance::None, LOCK_WAIT_MS);
    }
}

async fn look(mut actor: Actor) {
    let table = actor.table(NAME);
    let mut session = actor.client.session();
    while !actor.stage.is_stopping() {
        actor.think().await;
        let age_ms = actor.random.logarithmic(5, 400);
        let outcome = look_until_refused(&mut actor, &table, &mut session, age_ms).await;
        match outcome {
            // Told apart where they are met.
            Err(Refusal::SnapshotTooOld | Refusal::SnapshotConflict) => {}
            outcome => actor.ended("a look", &outcome, Disturbance::None, LOCK_WAIT_MS),
        }
        session.rollback().await;
    }
}

fn at_snapshot(ops: Vec<Op>, age_ms: u64) -> Batch {
    let batch = batch(ops, ReadAt::Transaction, LOCK_WAIT_MS);
    Batch { snapshot_age_max_ms: age_ms as u32, ..batch }
}

async fn look_until_refused(
    actor: &mut Actor,
    table: &Arc<Table>,
    session: &mut Session,
    age_ms: u64,
) -> Result<(), Refusal> {
    let begun = actor.stage.now();
    let mut first: Option<(Time, Vec<i64>)> = None;
    while !actor.stage.is_stopping() {
        let asked = actor.stage.now();
        let seen = read_all(table, session, age_ms).await;
        let now = actor.stage.now();
        let refused = matches!(seen, Err(Refusal::SnapshotTooOld));
        let is_over = first.as_ref().is_some_and(|(taken, _)| {
            asked >= taken.saturating_add(age_ms * MILLISECOND + TICK_MAX)
        });
        // A replica that came back has no versions from before its time.
        if refused && now < begun + age_ms * MILLISECOND && !actor.stage.has_returns {
            actor.stage.fail(format!("refused after {} us of {age_ms} ms", now - begun));
        }
        let is_due_to_fault = seen.as_ref().is_err_and(|refusal| actor.is_due_to_fault(refusal));
        if is_over && !refused && !is_due_to_fault && !actor.was_troubled_since(begun) {
            actor.stage.fail(format!("read {} us after {age_ms} ms began: {seen:?}", now - begun));
        }
        let seen = seen?;
        actor.served();
        let (_, expected) = first.get_or_insert((now, seen.clone()));
        if *expected != seen || seen.iter().sum::<i64>() != ROWS * START {
            actor.stage.fail(format!("at one snapshot {expected:?}, then {seen:?}"));
        }
        let expected = expected.clone();
        if actor.random.chance(100) {
            return lock_unchanged(actor, table, session, &expected).await;
        }
        actor.client.sleep_ms(actor.random.below(1 + age_ms / 2)).await;
    }
    session.commit().await
}

/// Every row by its key, and their sum by a scan.
async fn read_all(
    table: &Arc<Table>,
    session: &mut Session,
    age_ms: u64,
) -> Result<Vec<i64>, Refusal> {
    session.next_statement();
    let ops = (0..ROWS).map(|id| read(table, id, Lock::None)).collect();
    let result = session.execute(at_snapshot(ops, age_ms)).await?;
    let value = |id: i64| row_read(table, &result, id as usize).map_or(0, |row| row[1]);
    let seen: Vec<i64> = (0..ROWS).map(value).collect();
    let result = session.execute(at_snapshot(vec![sum(table, 1, Lock::None)], age_ms)).await?;
    match sum_read(&result, 0) {
        (total, ROWS) if total == ROWS * START => Ok(seen),
        // Nothing, that is: the caller sees that it does not fit.
        _ => Ok(Vec::new()),
    }
}

/// A locking read that is refused when its row is not as the snapshot shows it.
async fn lock_unchanged(
    actor: &mut Actor,
    table: &Arc<Table>,
    session: &mut Session,
    expected: &[i64],
) -> Result<(), Refusal> {
    actor.client.sleep_ms(actor.random.below(20)).await;
    session.next_statement();
    let id = actor.random.below(ROWS as u64) as i64;
    let strict = batch(vec![read(table, id, Lock::Exclusive)], ReadAt::Transaction, LOCK_WAIT_MS);
    let result = session.execute(Batch { refuse_changed: true, ..strict }).await?;
    let row = row_read(table, &result, 0);
    if row != Some(vec![id, expected[id as usize]]) {
        actor.stage.fail(format!("the snapshot shows {expected:?}, the lock of {id} has {row:?}"));
    }
    session.commit().await
}
