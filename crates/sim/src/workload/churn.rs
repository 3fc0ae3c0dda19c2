//! Rows that come and go: at the end all are deleted, and the memory they took is free again.

use std::sync::Arc;

use client::{Refusal, Session};
use types::wire::Bytes;
use types::{IndexKind, Table, ValueRef};

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::Actor;
use crate::tables::{
    autocommit, constant, delete, encoded, integers, key, update, with_bytes, with_index,
};

const NAME: &str = "churn";

struct Churn;

pub fn make(_random: &mut Random) -> Box<dyn Work> {
    Box::new(Churn)
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
        Box::pin(run(actor))
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        match contents.numbers(NAME).len() {
            0 => contents.check_is_free(NAME),
            count => Err(format!("{count} rows are left of those that were deleted")),
        }
    }
}

async fn run(mut actor: Actor) {
    let table = actor.table(NAME);
    let mut session = actor.client.session();
    let mut own: Vec<i64> = Vec::new();
    while !actor.stage.is_stopping() {
        actor.think().await;
        let outcome = turn(&mut actor, &table, &mut session, &mut own).await;
        actor.ended("churn", &outcome, crate::stage::Disturbance::None, 50_000);
    }
    while !own.is_empty() {
        let some = own.split_off(own.len().saturating_sub(200));
        let ops = some.iter().map(|id| delete(&table, *id)).collect();
        session.next_statement();
        let outcome = session.execute(autocommit(ops, 50_000)).await.map(|_| ());
        actor.ended("churn", &outcome, crate::stage::Disturbance::None, 50_000);
    }
}

/// Some rows more, or changed, or less. Nobody else touches them.
async fn turn(
    actor: &mut Actor,
    table: &Arc<Table>,
    session: &mut Session,
    own: &mut Vec<i64>,
) -> Result<(), Refusal> {
    let count = actor.random.between(1, 30) as usize;
    session.next_statement();
    match actor.random.below(3) {
        0 => {
            let ids: Vec<i64> = (0..count).map(|_| actor.unique_value()).collect();
            let filler = vec![7u8; actor.random.logarithmic(1, 4_000) as usize];
            let insert = |id: &i64| {
                let values = [ValueRef::Int(*id), ValueRef::Int(*id % 7), ValueRef::Bytes(&filler)];
                let row = Bytes(encoded(table, &values));
                let kind = client::OpKind::Insert { key: key(table, *id), row };
                client::Op { table: table.id, version: table.version, kind }
            };
            session.execute(autocommit(ids.iter().map(insert).collect(), 50_000)).await?;
            own.extend(ids);
        }
        1 => {
            let some = own.iter().rev().take(count);
            let ops = some.map(|id| update(table, *id, 1, constant(*id % 11), None)).collect();
            session.execute(autocommit(ops, 50_000)).await?;
        }
        _ => {
            let some = own.split_off(own.len().saturating_sub(count));
            let ops = some.iter().map(|id| delete(table, *id)).collect();
            session.execute(autocommit(ops, 50_000)).await?;
        }
    }
    Ok(())
}
