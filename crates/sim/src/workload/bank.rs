//! Transfers between accounts of two tables, over many shards; whoever looks, however he looks, sees the same total.
//!
//! Transfers come in every form a transaction has: locked reads and writes, assignments, one batch or several,
//! statements that are refused or undone in the middle, rows deleted and inserted again, rollbacks, kills and lost
//! connections. Readers sum up by pushed-down aggregates, by rows, by keys; at one statement's snapshot, at a
//! transaction's, under locks.

use std::sync::Arc;

use client::{Lock, ReadAt, Refusal, ScanBatch, ScanOptions, Session};
use types::expr::BinaryOp;
use types::{IndexId, Table};

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, disturbed, next_session};
use crate::tables::{
    autocommit, batch, batch_rows, compare, delete, insert, matched, plus, put, read, row_read,
    scan_rows, sum, sum_read, update,
};

const NAMES: [&str; 2] = ["bank_a", "bank_b"];
const INITIAL: i64 = 1_000;
const BALANCE: u16 = 1;

struct Bank {
    /// In each table.
    accounts: i64,
}

pub fn make(random: &mut Random) -> Box<dyn Work> {
    Box::new(Bank { accounts: random.between(3, 20) as i64 })
}

impl Work for Bank {
    fn tables(&self) -> Vec<Table> {
        NAMES.iter().map(|name| crate::tables::integers(name, &["id", "balance"])).collect()
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        let table = |name| (0..self.accounts).map(move |id| (name, vec![id, INITIAL]));
        NAMES.into_iter().flat_map(table).collect()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor, self.accounts))
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        let balances = NAMES.iter().flat_map(|name| contents.numbers(name));
        let (count, sum) = balances.fold((0, 0), |(count, sum), row| (count + 1, sum + row[1]));
        if (count, sum) != (2 * self.accounts, 2 * self.accounts * INITIAL) {
            return Err(format!("{count} accounts with {sum} in all are left"));
        }
        Ok(())
    }
}

/// One teller: its tables and its view.
struct Teller {
    actor: Actor,
    tables: [Arc<Table>; 2],
    accounts: i64,
    lock_wait_ms: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Account {
    table: usize,
    id: i64,
}

async fn run(actor: Actor, accounts: i64) {
    let tables = NAMES.map(|name| actor.table(name));
    let client = actor.client.clone();
    let mut session = client.session();
    let mut teller = Teller { actor, tables, accounts, lock_wait_ms: 0 };
    while !teller.actor.stage.is_stopping() {
        teller.actor.think().await;
        teller.lock_wait_ms = teller.actor.draw_lock_wait_ms();
        let disturbance = teller.actor.draw_disturbance();
        let canceller = session.canceller();
        let reads = teller.actor.random.chance(450);
        let work = async {
            if reads {
                teller.audit(&mut session).await
            } else {
                teller.transfer(&mut session).await
            }
        };
        let outcome = disturbed(disturbance, &client, canceller, work).await;
        if let Some(outcome) = &outcome {
            let what = if reads { "bank audit" } else { "bank transfer" };
            teller.actor.ended(what, outcome, disturbance, teller.lock_wait_ms);
        }
        session = next_session(&client, session, &outcome).await;
    }
}

impl Teller {
    fn draw_account(&mut self) -> Account {
        let table = self.actor.random.index(2);
        Account { table, id: self.actor.random.below(self.accounts as u64) as i64 }
    }

    fn update(&self, account: Account, change: i64) -> client::Op {
        update(&self.tables[account.table], account.id, BALANCE, plus(BALANCE, change), None)
    }

    async fn execute(
        &self,
        session: &mut Session,
        ops: Vec<client::Op>,
    ) -> Result<client::BatchResult, Refusal> {
        session.next_statement();
        session.execute(batch(ops, ReadAt::Transaction, self.lock_wait_ms)).await
    }

    async fn lock(&self, session: &mut Session, account: Account) -> Result<i64, Refusal> {
        let table = &self.tables[account.table];
        let result = self.execute(session, vec![read(table, account.id, Lock::Exclusive)]).await?;
        match row_read(table, &result, 0) {
            Some(row) => Ok(row[1]),
            None => {
                self.actor
                    .stage
                    .fail(format!("account {} is not there under its lock", account.id));
                Err(Refusal::Deadlock)
            }
        }
    }

    fn expect_matched(&self, result: &client::BatchResult) {
        if !(0..result.results.len()).all(|position| matched(result, position)) {
            self.actor.stage.fail("an account was not there to be updated".into());
        }
    }

    async fn transfer(&mut self, session: &mut Session) -> Result<(), Refusal> {
        let from = self.draw_account();
        let mut to = self.draw_account();
        while to == from {
            to = self.draw_account();
        }
        let amount = self.actor.random.between(1, 50) as i64;
        match self.actor.random.below(9) {
            0 | 1 => {
                // Locked reads, then whole rows.
                let from_balance = self.lock(session, from).await?;
                let to_balance = self.lock(session, to).await?;
                let pause = self.actor.random.below(3);
                if pause > 0 {
                    self.actor.client.sleep_ms(pause - 1).await;
                }
                let first = put(&self.tables[from.table], &[from.id, from_balance - amount]);
                let second = put(&self.tables[to.table], &[to.id, to_balance + amount]);
                self.execute(session, vec![first]).await?;
                self.execute(session, vec![second]).await?;
                session.commit().await
            }
            2 => {
                let ops = vec![self.update(from, -amount), self.update(to, amount)];
                session.next_statement();
                let result = session.execute(autocommit(ops, self.lock_wait_ms)).await?;
                self.expect_matched(&result);
                Ok(())
            }
            3 => {
                let result = self.execute(session, vec![self.update(from, -amount)]).await?;
                self.expect_matched(&result);
                let result = self.execute(session, vec![self.update(to, amount)]).await?;
                self.expect_matched(&result);
                session.commit().await
            }
            4 => {
                // All for nothing.
                self.execute(session, vec![self.update(from, -amount)]).await?;
                self.execute(session, vec![self.update(to, 2 * amount)]).await?;
                session.rollback().await;
                Ok(())
            }
            5 => self.transfer_with_refusal(session, from, to, amount).await,
            6 => {
                // A statement of two batches, undone, then made again.
                self.execute(session, vec![self.update(from, -amount)]).await?;
                self.execute(session, vec![self.update(to, 7)]).await?;
                let more =
                    batch(vec![self.update(from, 9)], ReadAt::Transaction, self.lock_wait_ms);
                session.execute(more).await?;
                session.undo_statement().await?;
                self.execute(session, vec![self.update(to, amount)]).await?;
                session.commit().await
            }
            7 => {
                // The row goes and comes back.
                let balance = self.lock(session, from).await?;
                let table = &self.tables[from.table];
                self.execute(session, vec![delete(table, from.id)]).await?;
                self.execute(session, vec![self.update(to, amount)]).await?;
                let back = insert(table, &[from.id, balance - amount]);
                self.execute(session, vec![back]).await?;
                session.commit().await
            }
            _ => {
                // Only if there is enough, in the row's own judgement.
                let enough = compare(BALANCE, BinaryOp::GreaterOrEqual, amount * 20);
                let table = &self.tables[from.table];
                let take = update(table, from.id, BALANCE, plus(BALANCE, -amount), Some(enough));
                let result = self.execute(session, vec![take]).await?;
                if !matched(&result, 0) {
                    session.rollback().await;
                    return Ok(());
                }
                let last = vec![self.update(to, amount)];
                session.next_statement();
                session.execute(autocommit(last, self.lock_wait_ms)).await?;
                Ok(())
            }
        }
    }

    /// A statement in the middle is refused, and the transaction continues without it.
    async fn transfer_with_refusal(
        &mut self,
        session: &mut Session,
        from: Account,
        to: Account,
        amount: i64,
    ) -> Result<(), Refusal> {
        self.execute(session, vec![self.update(from, -amount)]).await?;
        let taken = self.draw_account();
        let refused = insert(&self.tables[taken.table], &[taken.id, 1_000_000]);
        let mut ops = vec![self.update(to, 1), self.update(from, 2), refused];
        let count = ops.len();
        ops.swap(2, self.actor.random.index(count));
        match self.execute(session, ops).await {
            Err(Refusal::DuplicateKey { .. }) => {}
            Err(refusal) => return Err(refusal),
            Ok(_) => self.actor.stage.fail("an account was inserted twice".into()),
        }
        self.execute(session, vec![self.update(to, amount)]).await?;
        session.commit().await
    }

    fn expect_total(&self, how: &str, count: i64, total: i64) {
        let expected = (2 * self.accounts, 2 * self.accounts * INITIAL);
        if (count, total) != expected {
            let node = self.actor.client.node();
            self.actor.stage.fail(format!(
                "{how} on node {node} saw {count} accounts with {total}, not {} with {}",
                expected.0, expected.1
            ));
        }
    }

    async fn audit(&mut self, session: &mut Session) -> Result<(), Refusal> {
        match self.actor.random.below(6) {
            0 => {
                session.next_statement();
                let ops = self.sums(Lock::None);
                let result = session.execute(autocommit(ops, self.lock_wait_ms)).await?;
                self.expect_sums("an autocommit sum", &result);
                Ok(())
            }
            1 => {
                session.next_statement();
                let result =
                    session.execute(autocommit(self.key_reads(), self.lock_wait_ms)).await?;
                self.expect_rows("a batch of key reads", &result);
                Ok(())
            }
            2 => {
                // READ COMMITTED: one statement of several batches has one snapshot.
                session.next_statement();
                let (count, total) = self.sum_rows(session, ReadAt::Statement).await?;
                self.expect_total("a statement's scan", count, total);
                session.commit().await
            }
            3 => {
                let result = self.execute(session, self.sums(Lock::Shared)).await?;
                self.expect_sums("a sum under locks", &result);
                session.commit().await
            }
            _ => self.audit_repeatedly(session).await,
        }
    }

    /// REPEATABLE READ: all looks of one transaction show the same.
    async fn audit_repeatedly(&mut self, session: &mut Session) -> Result<(), Refusal> {
        for _ in 0..self.actor.random.between(2, 4) {
            match self.actor.random.below(3) {
                0 => {
                    let result = self.execute(session, self.sums(Lock::None)).await?;
                    self.expect_sums("a transaction's sum", &result);
                }
                1 => {
                    session.next_statement();
                    let (count, total) = self.sum_rows(session, ReadAt::Transaction).await?;
                    self.expect_total("a transaction's scan", count, total);
                }
                _ => {
                    let (mut count, mut total) = (0, 0);
                    for (table, id) in self.all_accounts() {
                        let ops = vec![read(&self.tables[table], id, Lock::None)];
                        let result = self.execute(session, ops).await?;
                        if let Some(row) = row_read(&self.tables[table], &result, 0) {
                            count += 1;
                            total += row[1];
                        }
                    }
                    self.expect_total("a transaction's key reads", count, total);
                }
            }
            self.actor.client.sleep_ms(self.actor.random.below(10)).await;
        }
        session.commit().await
    }

    fn all_accounts(&self) -> Vec<(usize, i64)> {
        (0..2).flat_map(|table| (0..self.accounts).map(move |id| (table, id))).collect()
    }
    fn sums(&self, lock: Lock) -> Vec<client::Op> {
        self.tables.iter().map(|table| sum(table, BALANCE, lock)).collect()
    }
    fn key_reads(&self) -> Vec<client::Op> {
        let accounts = self.all_accounts().into_iter();
        accounts.map(|(table, id)| read(&self.tables[table], id, Lock::None)).collect()
    }
    fn expect_sums(&self, how: &str, result: &client::BatchResult) {
        let (a, b) = (sum_read(result, 0), sum_read(result, 1));
        self.expect_total(how, a.1 + b.1, a.0 + b.0);
    }
    fn expect_rows(&self, how: &str, result: &client::BatchResult) {
        let (mut count, mut total) = (0, 0);
        for (position, (table, _)) in self.all_accounts().into_iter().enumerate() {
            if let Some(row) = row_read(&self.tables[table], result, position) {
                count += 1;
                total += row[1];
            }
        }
        self.expect_total(how, count, total);
    }

    /// (accounts, total) of both tables, row by row.
    async fn sum_rows(
        &mut self,
        session: &mut Session,
        read_at: ReadAt,
    ) -> Result<(i64, i64), Refusal> {
        let (mut count, mut total) = (0, 0);
        for table in &self.tables {
            let options = ScanOptions {
                ordered: self.actor.random.chance(500),
                read_at,
                lock_wait_timeout_ms: self.lock_wait_ms,
                ..ScanOptions::default()
            };
            let mut scan = scan_rows(IndexId(0));
            scan.reverse = self.actor.random.chance(500);
            let mut cursor = session.scan(table, scan, options);
            while let Some(ScanBatch::Rows(rows)) = cursor.next(session).await? {
                for row in batch_rows(table, &rows) {
                    count += 1;
                    total += row[1];
                }
            }
            self.actor.client.sleep_ms(self.actor.random.below(4)).await;
        }
        Ok((count, total))
    }
}
