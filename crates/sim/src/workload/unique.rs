//! Rows with a unique secondary key, whose entries live in other shards than the rows. Inserts, deletes and changes of the
//! key meet on few values. No value is there twice, the entries are exactly those of the rows, and whoever follows an
//! entry at a snapshot finds its row.

use std::sync::Arc;

use client::{
    Lock, ReadAt, Refusal, Session, delete_ops, insert_ops, replace_ops, unique_entry_key,
};
use types::wire::Bytes;
use types::{IndexKind, RowView, Table};

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, disturbed, next_session};
use crate::tables::{
    UNIQUE, autocommit, batch, integers, read, read_key, row, row_read, with_index,
};

const NAME: &str = "uniques";

#[derive(Clone, Copy)]
struct Unique {
    ids: u64,
    codes: u64,
}

pub fn make(random: &mut Random) -> Box<dyn Work> {
    Box::new(Unique { ids: random.between(4, 30), codes: random.between(2, 15) })
}

impl Work for Unique {
    fn tables(&self) -> Vec<Table> {
        vec![with_index(integers(NAME, &["id", "code", "note"]), "code", UNIQUE, &[1])]
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        Vec::new()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor, *self))
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        contents.check_unique_entries(NAME)
    }
}

struct Owner {
    actor: Actor,
    sizes: Unique,
    table: Arc<Table>,
    lock_wait_ms: u32,
}

async fn run(actor: Actor, sizes: Unique) {
    let table = actor.table(NAME);
    let client = actor.client.clone();
    let mut session = client.session();
    let mut owner = Owner { actor, sizes, table, lock_wait_ms: 0 };
    while !owner.actor.stage.is_stopping() {
        owner.actor.think().await;
        owner.lock_wait_ms = owner.actor.draw_lock_wait_ms();
        let disturbance = owner.actor.draw_disturbance();
        let canceller = session.canceller();
        let work = owner.operate(&mut session);
        let outcome = disturbed(disturbance, &client, canceller, work).await;
        if let Some(outcome) = &outcome {
            owner.actor.ended("unique", outcome, disturbance, owner.lock_wait_ms);
        }
        session = next_session(&client, session, &outcome).await;
    }
}

impl Owner {
    fn draw_row(&mut self) -> [i64; 3] {
        let id = self.actor.random.below(self.sizes.ids) as i64;
        let code = self.actor.random.below(self.sizes.codes) as i64;
        [id, code, self.actor.unique_value()]
    }

    async fn operate(&mut self, session: &mut Session) -> Result<(), Refusal> {
        let values = self.draw_row();
        session.next_statement();
        match self.actor.random.below(8) {
            0..=3 => {
                let new = row(&self.table, &values);
                let ops = insert_ops(&self.actor.client.catalogue(), &self.table, &new);
                ignore_duplicate(session.execute(autocommit(ops, self.lock_wait_ms)).await)
            }
            4 => self.delete(session, values[0]).await,
            5 | 6 => self.replace(session, values).await,
            _ => self.look_up(session, values[1]).await,
        }
    }

    async fn lock_row(&self, session: &mut Session, id: i64) -> Result<Option<Vec<u8>>, Refusal> {
        let ops = vec![read(&self.table, id, Lock::Exclusive)];
        let result = session.execute(batch(ops, ReadAt::Transaction, self.lock_wait_ms)).await?;
        let old = row_read(&self.table, &result, 0);
        Ok(old.map(|old| row(&self.table, &old)))
    }

    async fn delete(&mut self, session: &mut Session, id: i64) -> Result<(), Refusal> {
        if let Some(old) = self.lock_row(session, id).await? {
            let ops = delete_ops(&self.actor.client.catalogue(), &self.table, &old);
            session.next_statement();
            session.execute(batch(ops, ReadAt::Transaction, self.lock_wait_ms)).await?;
        }
        session.commit().await
    }

    /// Another code, sometimes another id too.
    async fn replace(&mut self, session: &mut Session, values: [i64; 3]) -> Result<(), Refusal> {
        let Some(old) = self.lock_row(session, values[0]).await? else {
            return session.commit().await;
        };
        let mut new = values;
        if self.actor.random.chance(300) {
            new[0] = self.actor.random.below(self.sizes.ids) as i64;
        }
        let ops =
            replace_ops(&self.actor.client.catalogue(), &self.table, &old, &row(&self.table, &new));
        session.next_statement();
        let outcome = session.execute(batch(ops, ReadAt::Transaction, self.lock_wait_ms)).await;
        ignore_duplicate(outcome)?;
        session.commit().await
    }

    /// From the entry to the row, at one snapshot.
    async fn look_up(&mut self, session: &mut Session, code: i64) -> Result<(), Refusal> {
        let catalogue = self.actor.client.catalogue();
        let index = &self.table.indexes[1];
        let IndexKind::Unique { entries } = index.kind else { panic!("made unique") };
        let entries = Arc::clone(catalogue.table_by_id(entries).expect("lives with its table"));
        let layout = self.table.row_layout();
        let wanted = row(&self.table, &[0, code, 0]);
        let key = unique_entry_key(&self.table, index, &RowView::new(&layout, &wanted));
        let op = read_key(&entries, Bytes(key.expect("no NULLs here")), Lock::None);
        let first = batch(vec![op], ReadAt::Transaction, self.lock_wait_ms);
        let result = session.execute(first).await?;
        if let Some(entry) = row_read(&entries, &result, 0) {
            self.actor.client.sleep_ms(self.actor.random.below(5)).await;
            session.next_statement();
            let op = read(&self.table, entry[1], Lock::None);
            let second = batch(vec![op], ReadAt::Transaction, self.lock_wait_ms);
            let result = session.execute(second).await?;
            let found = row_read(&self.table, &result, 0);
            if found.as_ref().is_none_or(|row| row[1] != code) {
                self.actor.stage.fail(format!("entry {entry:?} of code {code} leads to {found:?}"));
            }
        }
        session.commit().await
    }
}

fn ignore_duplicate<T>(outcome: Result<T, Refusal>) -> Result<(), Refusal> {
    match outcome {
        Ok(_) | Err(Refusal::DuplicateKey { .. }) => Ok(()),
        Err(refusal) => Err(refusal),
    }
}
