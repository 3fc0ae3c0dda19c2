//! Large rows of one shard that a writer changes together: a scan of them takes several messages, and shows one
//! generation throughout.

use std::sync::Arc;

use client::{ReadAt, Refusal, ScanBatch, ScanOptions, Session};
use types::{IndexId, Table};

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, Disturbance};
use crate::tables::{
    autocommit, batch_rows, constant, encoded, integers, key, scan_rows, update, with_bytes,
};

const NAME: &str = "pages";
/// With rows of a quarter of a megabyte a scan's answer holds five.
const ROWS: usize = 7;
const FILLER_SIZE: usize = 256 << 10;

struct Pages;

pub fn make(_random: &mut Random) -> Box<dyn Work> {
    Box::new(Pages)
}

impl Work for Pages {
    fn tables(&self) -> Vec<Table> {
        vec![with_bytes(integers(NAME, &["id", "generation"]), "filler")]
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        Vec::new()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor))
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        let rows = contents.numbers(NAME);
        if rows.windows(2).any(|pair| pair[0][1] != pair[1][1]) {
            return Err(format!("generations are mixed: {rows:?}"));
        }
        Ok(())
    }
}

async fn run(mut actor: Actor) {
    let table = actor.table(NAME);
    let mut session = actor.client.session();
    let ids = ids_of_one_shard(&actor, &table);
    while !actor.stage.is_stopping() {
        actor.client.sleep_ms(actor.random.between(50, 200)).await;
        let outcome = if actor.index == 0 {
            write(&mut actor, &table, &mut session, &ids).await
        } else {
            look(&mut actor, &table, &mut session).await
        };
        actor.ended("pages", &outcome, Disturbance::None, 50_000);
        session.rollback().await;
    }
}

/// The same for all sessions.
fn ids_of_one_shard(actor: &Actor, table: &Table) -> Vec<i64> {
    let shard = actor.client.shard_of(&key(table, 0));
    let here = (0..).filter(|id| actor.client.shard_of(&key(table, *id)) == shard);
    here.take(ROWS).collect()
}

async fn write(
    actor: &mut Actor,
    table: &Arc<Table>,
    session: &mut Session,
    ids: &[i64],
) -> Result<(), Refusal> {
    let generation = actor.unique_value();
    session.next_statement();
    if actor.random.chance(800) {
        let change = |id: &i64| update(table, *id, 1, constant(generation), None);
        let result = session.execute(autocommit(ids.iter().map(change).collect(), 50_000)).await?;
        if crate::tables::matched(&result, 0) {
            return Ok(());
        }
    }
    let filler = vec![1u8; FILLER_SIZE];
    let write = |id: &i64| {
        let values = [
            types::ValueRef::Int(*id),
            types::ValueRef::Int(generation),
            types::ValueRef::Bytes(&filler),
        ];
        let row = types::wire::Bytes(encoded(table, &values));
        let kind = client::OpKind::Put { key: key(table, *id), row };
        client::Op { table: table.id, version: table.version, kind }
    };
    session.execute(autocommit(ids.iter().map(write).collect(), 50_000)).await?;
    Ok(())
}

async fn look(actor: &mut Actor, table: &Arc<Table>, session: &mut Session) -> Result<(), Refusal> {
    let ordered = actor.random.chance(500);
    let read_at = *actor.random.pick(&[ReadAt::Statement, ReadAt::Transaction]);
    let options =
        ScanOptions { ordered, read_at, lock_wait_timeout_ms: 50_000, ..ScanOptions::default() };
    let mut scan = scan_rows(IndexId(0));
    scan.reverse = actor.random.chance(500);
    session.next_statement();
    let reverse = scan.reverse;
    let mut cursor = session.scan(table, scan, options);
    let mut rows: Vec<Vec<i64>> = Vec::new();
    while let Some(ScanBatch::Rows(batch)) = cursor.next(session).await? {
        rows.extend(batch_rows(table, &batch));
        actor.client.sleep_ms(actor.random.below(20)).await;
    }
    let mixed = rows.windows(2).any(|pair| pair[0][1] != pair[1][1]);
    let sorted = rows.windows(2).all(|pair| (pair[0][0] < pair[1][0]) != reverse);
    if mixed || (ordered && !sorted) || !(rows.is_empty() || rows.len() == ROWS) {
        actor.stage.fail(format!("a scan (ordered: {ordered}, reverse: {reverse}) saw {rows:?}"));
    }
    session.commit().await
}
