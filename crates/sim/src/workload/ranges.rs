//! SERIALIZABLE transactions that look through a range of an index twice: nothing comes into it or goes out of it meanwhile.
//!
//! Rows belong to groups, and each has a place in its group. Who adds one looks how many there are and gives it the next
//! place: with a row put into the range between the look and the insert, two rows would have the same place.

use std::sync::Arc;

use client::{Batch, KeyRange, Lock, Op, OpKind, OpResult, ReadAt, Refusal, Scan, Session};
use types::{IndexId, IndexKind, Table, ValueRef};

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, disturbed, next_session};
use crate::tables::{batch, batch_rows, delete, insert, integers, scan_rows, with_index};

const NAME: &str = "ranges";
const GROUPS: u64 = 3;
/// Beyond this the last one is taken out again.
const PLACES_MAX: usize = 12;
const BY_GROUP: IndexId = IndexId(1);

struct Ranges;

pub fn make(_random: &mut Random) -> Box<dyn Work> {
    Box::new(Ranges)
}

impl Work for Ranges {
    fn tables(&self) -> Vec<Table> {
        let table = integers(NAME, &["id", "member_of", "place"]);
        vec![with_index(table, "member_of", IndexKind::Ordinary, &[1])]
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        Vec::new()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor))
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        let rows = contents.numbers(NAME);
        for group in 0..GROUPS as i64 {
            let of_group = rows.iter().filter(|row| row[1] == group);
            check_places(of_group.map(|row| row[2]).collect())?;
        }
        Ok(())
    }
}

/// The places of a group are 0, 1, 2 ... without a double or a gap.
fn check_places(mut places: Vec<i64>) -> Result<(), String> {
    places.sort_unstable();
    if places.iter().copied().eq(0..places.len() as i64) {
        return Ok(());
    }
    Err(format!("the places of a group are {places:?}"))
}

async fn run(mut actor: Actor) {
    let table = actor.table(NAME);
    let client = actor.client.clone();
    let mut session = client.session();
    while !actor.stage.is_stopping() {
        actor.think().await;
        let lock_wait_ms = actor.draw_lock_wait_ms();
        let disturbance = actor.draw_disturbance();
        let canceller = session.canceller();
        let work = change(&mut actor, &table, &mut session, lock_wait_ms);
        let outcome = disturbed(disturbance, &client, canceller, work).await;
        if let Some(outcome) = &outcome {
            actor.ended("ranges", outcome, disturbance, lock_wait_ms);
        }
        session = next_session(&client, session, &outcome).await;
    }
}

fn serializable(op: Op, lock_wait_ms: u32) -> Batch {
    let batch = batch(vec![op], ReadAt::Transaction, lock_wait_ms);
    Batch { lock_ranges: true, ..batch }
}

async fn change(
    actor: &mut Actor,
    table: &Arc<Table>,
    session: &mut Session,
    lock_wait_ms: u32,
) -> Result<(), Refusal> {
    let group = actor.random.below(GROUPS) as i64;
    let before = members(table, session, group, lock_wait_ms).await?;
    actor.client.sleep_ms(actor.random.below(4)).await;
    if actor.random.chance(300) {
        let after = members(table, session, group, lock_wait_ms).await?;
        if before != after {
            actor.stage.fail(format!("group {group} was {before:?}, and then {after:?}"));
        }
    }
    if let Err(wrong) = check_places(before.iter().map(|row| row[2]).collect()) {
        actor.stage.fail(wrong);
    }
    let last = before.iter().find(|row| row[2] + 1 == before.len() as i64);
    let op = match last {
        Some(last) if PLACES_MAX <= before.len() => delete(table, last[0]),
        _ => insert(table, &[actor.unique_value(), group, before.len() as i64]),
    };
    session.next_statement();
    session.execute(serializable(op, lock_wait_ms)).await?;
    session.commit().await
}

/// The rows of a group, in the order of their keys; their range of the index is locked.
async fn members(
    table: &Arc<Table>,
    session: &mut Session,
    group: i64,
    lock_wait_ms: u32,
) -> Result<Vec<Vec<i64>>, Refusal> {
    let index = table.index(BY_GROUP).expect("made with the table");
    let mut prefix = Vec::new();
    types::key::encode_part(table, &index.parts[0], ValueRef::Int(group), &mut prefix);
    let ranges = vec![KeyRange::prefix(prefix)];
    let scan = Scan { ranges, lock: Lock::Shared, ..scan_rows(BY_GROUP) };
    let kind = OpKind::Scan(Box::new(scan));
    session.next_statement();
    let op = Op { table: table.id, version: table.version, kind };
    let result = session.execute(serializable(op, lock_wait_ms)).await?;
    let mut rows = Vec::new();
    for part in &result.results[0] {
        let OpResult::Rows(part) = part else { panic!("{part:?} to a scan") };
        assert!(part.next.is_none(), "a group fits into one answer");
        rows.extend(batch_rows(table, part));
    }
    rows.sort();
    Ok(rows)
}
