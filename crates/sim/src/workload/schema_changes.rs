//! Tables and indexes that come and go while sessions on all nodes use them.
//!
//! One session adds an ordinary and a unique index to a table, drops them, and makes, truncates and drops other tables;
//! the others write by whatever definition their node knows. Nothing but `SchemaChanged` and its like tells them; at the
//! end every replica has the same rows and sound indexes, and the entries of unique keys are those of the rows.

use std::rc::Rc;
use std::sync::Arc;

use client::{
    Lock, ReadAt, Refusal, ScanBatch, ScanOptions, SchemaChange, SchemaError, Session, delete_ops,
    insert_ops, replace_ops,
};
use types::{Catalogue, IndexId, IndexKind, IndexState, Table};

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, Disturbance, disturbed, next_session};
use crate::tables::{
    DATABASE, UNIQUE, autocommit, batch, batch_rows, index, insert, integers, read, row, row_read,
    scan_rows,
};

const NAME: &str = "shifting";
const ROWS: u64 = 40;
const LOCK_WAIT_MS: u32 = 50_000;
/// Tables that come and go at a time. The fate of rows that were written while a table was new
/// shows only where the table stays until the end.
const PASSING_MAX: usize = 8;

struct SchemaChanges;

pub fn make(_random: &mut Random) -> Box<dyn Work> {
    Box::new(SchemaChanges)
}

impl Work for SchemaChanges {
    fn tables(&self) -> Vec<Table> {
        vec![integers(NAME, &["id", "a", "b"])]
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        (0..ROWS as i64).step_by(2).map(|id| (NAME, vec![id, id % 5, 1_000 + id])).collect()
    }
    fn session(&self, actor: Actor) -> Task {
        if actor.index == 0 { Box::pin(change(actor)) } else { Box::pin(use_tables(actor)) }
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        contents.check_unique_entries(NAME)
    }
}

/// The session that changes the schema.
async fn change(mut actor: Actor) {
    let mut session = actor.client.session();
    let mut made = 0;
    // A change was refused because a node was lost: it may be made some time all the same, and be in the way of others.
    let mut is_unsure = false;
    // The same of an index that was not waited for.
    let mut is_unsure_of_indexes = false;
    while !actor.stage.is_stopping() {
        actor.client.sleep_ms(actor.random.logarithmic(1, 100)).await;
        let (outcome, disturbance) = match actor.random.below(6) {
            choice @ (0 | 1) => {
                let disturbance = draw_disturbance(&mut actor);
                let client = actor.client.clone();
                let canceller = session.canceller();
                let change = async {
                    match choice {
                        0 => {
                            change_index(&actor, &mut session, "by_a", IndexKind::Ordinary, &[1])
                                .await
                        }
                        _ => change_index(&actor, &mut session, "by_b", UNIQUE, &[2]).await,
                    }
                };
                let outcome = disturbed(disturbance, &client, canceller, change).await;
                session = next_session(&client, session, &outcome).await;
                (outcome, disturbance)
            }
            _ => {
                made += 1;
                (Some(change_table(&mut actor, &mut session, made).await), Disturbance::None)
            }
        };
        is_unsure_of_indexes |= !matches!(disturbance, Disturbance::None);
        let Some(outcome) = outcome else { continue };
        match &outcome {
            Err(Refusal::Schema(_)) if is_unsure => {}
            Err(Refusal::Schema(SchemaError::IndexExists(_) | SchemaError::UnknownIndex(_)))
                if is_unsure_of_indexes => {}
            outcome => actor.ended("schema change", outcome, disturbance, LOCK_WAIT_MS),
        }
        is_unsure |= outcome.is_err_and(|refusal| actor.is_due_to_fault(&refusal));
    }
}

/// A change of an index takes up to some tens of milliseconds.
fn draw_disturbance(actor: &mut Actor) -> Disturbance {
    let after = actor.random.logarithmic(1, 100);
    match actor.random.below(4) {
        0 => Disturbance::Kill(after),
        1 => Disturbance::Drop(after),
        _ => Disturbance::None,
    }
}

/// Adds the index, or drops it if it is there.
async fn change_index(
    actor: &Actor,
    session: &mut Session,
    name: &str,
    kind: IndexKind,
    columns: &[u16],
) -> Result<(), Refusal> {
    let table = actor.table(NAME);
    if let Some(there) = table.index_named(name) {
        let name = name.to_string();
        let drop = SchemaChange::DropIndex { table: table.id, index: there.id, name };
        session.change_schema(drop).await?;
        return Ok(());
    }
    match session.create_index(&table, index(name, kind, columns)).await {
        // Writers have made doubles while there was no such key.
        Err(Refusal::DuplicateKey { .. }) => Ok(()),
        outcome => outcome.map(|_| ()),
    }
}

/// Makes a table, sometimes truncates it, and drops another one if there are many.
async fn change_table(
    actor: &mut Actor,
    session: &mut Session,
    number: u64,
) -> Result<(), Refusal> {
    let name = format!("passing_{number}");
    let definition = integers(&name, &["id", "a"]);
    let catalogue = session.change_schema(SchemaChange::CreateTable(Box::new(definition))).await?;
    actor.client.sleep_ms(actor.random.below(20)).await;
    if actor.random.chance(300) {
        let truncate = SchemaChange::TruncateTable { id: found(&catalogue, &name).id };
        session.change_schema(truncate).await?;
        actor.client.sleep_ms(actor.random.below(20)).await;
    }
    let passing = passing_tables(&actor.client.catalogue());
    if passing.len() > PASSING_MAX {
        let id = actor.random.pick(&passing).id;
        session.change_schema(SchemaChange::DropTable { id }).await?;
    }
    Ok(())
}

/// The tables that come and go, the newest last.
fn passing_tables(catalogue: &Catalogue) -> Vec<Arc<Table>> {
    let database = catalogue.database(DATABASE).expect("made first");
    let passing = database.tables.keys().filter(|name| name.starts_with("passing"));
    let mut passing: Vec<_> = passing.map(|name| found(catalogue, name)).collect();
    passing.sort_by_key(|table| table.id);
    passing
}

fn found(catalogue: &Catalogue, name: &str) -> Arc<Table> {
    Arc::clone(catalogue.table(DATABASE, name).expect("made just now"))
}

/// A session that uses the tables it knows.
async fn use_tables(mut actor: Actor) {
    let mut session = actor.client.session();
    // Two of three mostly wait for a new table, and use it at once.
    let news_per_mille = if actor.index.is_multiple_of(3) { 200 } else { 700 };
    while !actor.stage.is_stopping() {
        session.next_statement();
        let outcome = if actor.random.chance(news_per_mille) {
            // As soon as the table is there, whoever has heard of it besides this node.
            let stage = Rc::clone(&actor.stage);
            actor.news_within(&stage.schema_news, 300).await;
            fill_passing_table(&mut actor, &mut session).await
        } else {
            actor.think().await;
            match actor.random.below(7) {
                0 => fill_passing_table(&mut actor, &mut session).await,
                1 => compare_indexes(&mut actor, &mut session).await,
                _ => write(&mut actor, &mut session).await,
            }
        };
        match &outcome {
            // The definition changed under way, or the value is taken.
            Err(
                Refusal::SchemaChanged { .. }
                | Refusal::DefinitionChanged { .. }
                | Refusal::DuplicateKey { .. },
            ) => {}
            outcome => actor.ended("schema user", outcome, Disturbance::None, LOCK_WAIT_MS),
        }
        session.rollback().await;
    }
}

/// A few rows into any of the tables that come and go.
async fn fill_passing_table(actor: &mut Actor, session: &mut Session) -> Result<(), Refusal> {
    let passing = passing_tables(&actor.client.catalogue());
    let Some(newest) = passing.last() else { return Ok(()) };
    let table = if actor.random.chance(800) { newest } else { actor.random.pick(&passing) };
    // One row most of the time: nothing is faster than the commit of a shard of this node.
    let count = if actor.random.chance(700) { 1 } else { 3 };
    let ids: Vec<i64> = (0..count).map(|_| actor.unique_value()).collect();
    let ops = ids.iter().map(|id| insert(table, &[*id, 1])).collect();
    session.execute(autocommit(ops, LOCK_WAIT_MS)).await?;
    Ok(())
}

/// Inserts, changes or deletes a row with the entries of the unique keys that this node knows.
async fn write(actor: &mut Actor, session: &mut Session) -> Result<(), Refusal> {
    let catalogue = actor.client.catalogue();
    let table = found(&catalogue, NAME);
    let id = actor.random.below(ROWS) as i64;
    // Rarely a value that another row may have.
    let b = if actor.random.chance(30) { 7 } else { actor.unique_value() };
    let new = row(&table, &[id, actor.random.below(5) as i64, b]);
    let ops = vec![read(&table, id, Lock::Exclusive)];
    let result = session.execute(batch(ops, ReadAt::Transaction, LOCK_WAIT_MS)).await?;
    actor.client.sleep_ms(actor.random.below(3)).await;
    let ops = match row_read(&table, &result, 0).map(|old| row(&table, &old)) {
        None => insert_ops(&catalogue, &table, &new),
        Some(old) if actor.random.chance(300) => delete_ops(&catalogue, &table, &old),
        Some(old) => replace_ops(&catalogue, &table, &old, &new),
    };
    session.next_statement();
    session.execute(batch(ops, ReadAt::Transaction, LOCK_WAIT_MS)).await?;
    session.commit().await
}

/// Every index that may be read shows the same rows at one snapshot.
async fn compare_indexes(actor: &mut Actor, session: &mut Session) -> Result<(), Refusal> {
    let table = actor.table(NAME);
    let public = table.indexes.iter().filter(|index| index.state == IndexState::Public);
    let ids: Vec<IndexId> = public.map(|index| index.id).collect();
    let mut seen: Option<Vec<Vec<i64>>> = None;
    for id in ids {
        session.next_statement();
        let options = ScanOptions {
            ordered: true,
            read_at: ReadAt::Transaction,
            lock_wait_timeout_ms: LOCK_WAIT_MS,
            ..ScanOptions::default()
        };
        let mut cursor = session.scan(&table, scan_rows(id), options);
        let mut rows = Vec::new();
        while let Some(ScanBatch::Rows(batch)) = cursor.next(session).await? {
            rows.extend(batch_rows(&table, &batch));
        }
        rows.sort();
        match &seen {
            Some(first) if *first != rows => {
                actor.stage.fail(format!("index {id} shows {rows:?}, the first one {first:?}"));
            }
            Some(_) => {}
            None => seen = Some(rows),
        }
    }
    session.commit().await
}
