//! SHOW ENGINE SKARV STATUS (or by any other name of the engine): one text in sections, as InnoDB's monitor writes it.

use std::collections::BTreeSet;
use std::fmt::Write;

use client::{DeadlockReport, LockedThing};
use types::{Catalogue, NodeId};

use super::{Table, text};
use crate::SqlError;
use crate::information_schema::activity::{
    data_text, held_by_transaction, mode_text, moment, place_of, silent_nodes, state_text,
    transaction_number,
};
use crate::session::Session;

/// Transactions that are listed one by one; the tables show all.
const TRANSACTIONS_LISTED_MAX: usize = 100;

impl Session {
    pub(super) async fn engine_status(
        &mut self,
        engine: &str,
        what: &str,
    ) -> Result<Table, SqlError> {
        if what != "STATUS" {
            return Err(SqlError::not_supported(format!("SHOW ENGINE {engine} {what}")));
        }
        let name = crate::bind::table::engine_name(engine)?;
        let mut status = String::new();
        let now = self.client.client().wall_clock_micros();
        heading(&mut status, &format!("{} SKARV MONITOR OUTPUT", self.time_text(now)));
        self.deadlock_section(&mut status).await;
        self.transaction_section(&mut status).await;
        self.node_section(&mut status).await;
        let mut table = Table::of_texts(&["Type", "Name", "Status"]);
        table.push(vec![text(name), text(""), text(status)]);
        Ok(table)
    }

    fn time_text(&self, unix_micros: i64) -> String {
        moment(self, unix_micros).map_or_else(String::new, |moment| moment.format(0))
    }

    async fn deadlock_section(&mut self, out: &mut String) {
        let told = self.client.deadlocks().await;
        heading(out, "LATEST DETECTED DEADLOCK");
        match told.items.first() {
            Some(latest) => self.deadlock(latest, out),
            None => line(out, "none since the detector's node was started"),
        }
        silence(out, &told.unreachable);
    }

    fn deadlock(&self, deadlock: &DeadlockReport, out: &mut String) {
        let age = i64::try_from(deadlock.age_us).unwrap_or(i64::MAX);
        let found = self.client.client().wall_clock_micros().saturating_sub(age);
        line(out, &self.time_text(found));
        let catalogue = self.catalogue();
        for (position, member) in deadlock.members.iter().enumerate() {
            let number = position + 1;
            let id = member.transaction;
            line(out, &format!("*** ({number}) TRANSACTION:"));
            line(
                out,
                &format!("TRANSACTION {}, node {}", transaction_number(id), id.coordinator.node),
            );
            match &member.connection {
                Some(own) => {
                    let (user, host, database) = (&own.user, &own.host, own.database.as_deref());
                    let database = database.unwrap_or("no database");
                    line(out, &format!("MySQL thread id {}, {user}@{host}, {database}", own.id));
                    line(out, own.statement.as_deref().unwrap_or("no statement"));
                }
                None => line(out, "thread and statement are not known"),
            }
            line(out, &format!("*** ({number}) WAITING FOR THIS LOCK TO BE GRANTED:"));
            match &member.lock {
                Some(lock) => line(out, &lock_text(&catalogue, lock)),
                None => line(out, "not known: too many waited in its shard"),
            }
        }
        let is_victim = |id: &client::DeadlockMember| id.transaction == deadlock.victim;
        match deadlock.members.iter().position(is_victim) {
            Some(place) => line(out, &format!("*** WE ROLL BACK TRANSACTION ({})", place + 1)),
            None => {
                let victim = transaction_number(deadlock.victim);
                line(out, &format!("*** WE ROLL BACK TRANSACTION {victim}, one of many more"));
            }
        }
    }

    async fn transaction_section(&mut self, out: &mut String) {
        let sessions = self.client.sessions().await;
        let holdings = self.client.holdings().await;
        let held = held_by_transaction(&holdings);
        let catalogue = self.catalogue();
        heading(out, "TRANSACTIONS");
        let open = || sessions.items.iter().filter(|(_, own)| own.transaction.is_some());
        let waiting = held.values().filter(|held| held.wait.is_some()).count();
        let locks: u64 = held.values().map(|held| held.locks).sum();
        let snapshots = open().filter_map(|(_, own)| own.transaction.as_ref()?.snapshot);
        line(out, &format!("Transactions open: {}, waiting for a lock: {waiting}", open().count()));
        line(out, &format!("Row locks held: {locks}"));
        match snapshots.min() {
            Some(oldest) => line(out, &format!("Oldest snapshot: {oldest:?}")),
            None => line(out, "Oldest snapshot: none is open"),
        }
        for (node, own) in open().take(TRANSACTIONS_LISTED_MAX) {
            let Some(transaction) = &own.transaction else { continue };
            let number = transaction_number(transaction.id);
            let seconds = transaction.age_us / 1_000_000;
            let has = held.get(&transaction.id);
            let wait = has.and_then(|held| held.wait);
            let state = state_text(own, wait.is_some());
            line(out, &format!("---TRANSACTION {number}, ACTIVE {seconds} sec {state}"));
            if let Some(held) = has {
                line(out, &format!("{} row lock(s), {} row(s) written", held.locks, held.writes));
            }
            if let Some(own) = &own.connection {
                let statement = own.statement.as_deref().unwrap_or("");
                line(out, &format!("MySQL thread id {}, node {node}, {}", own.id, own.user));
                if !statement.is_empty() {
                    line(out, statement);
                }
            }
            if let Some(lock) = wait {
                let waited = lock.wait.as_ref().map_or(0, |wait| wait.age_us / 1_000_000);
                line(out, &format!("------- TRX HAS BEEN WAITING {waited} SEC FOR THIS LOCK:"));
                line(out, &lock_text(&catalogue, &lock.lock));
            }
        }
        if TRANSACTIONS_LISTED_MAX < open().count() {
            line(out, "... the others are in information_schema.INNODB_TRX");
        }
        for node in silent_nodes(&[&sessions.unreachable, &holdings.unreachable]) {
            line(out, &format!("node {node} did not answer"));
        }
    }

    async fn node_section(&mut self, out: &mut String) {
        heading(out, "NODES");
        let told = self.client.node_statuses().await;
        for own in &told.items {
            line(
                out,
                &format!(
                    "node {}: state={} view={} transactions_open={} locks_held={} commits={} aborts={}",
                    own.node,
                    own.state.name(),
                    own.view,
                    own.transactions_open,
                    own.locks_held,
                    own.commits,
                    own.aborts
                ),
            );
        }
        silence(out, &told.unreachable);
    }
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("strings take everything");
}

fn heading(out: &mut String, title: &str) {
    let rule = "-".repeat(title.len());
    line(out, &format!("{rule}\n{title}\n{rule}"));
}

fn silence(out: &mut String, nodes: &BTreeSet<NodeId>) {
    for node in nodes {
        line(out, &format!("node {node} did not answer"));
    }
}

/// As InnoDB describes a lock, with partitions for pages.
fn lock_text(catalogue: &Catalogue, lock: &LockedThing) -> String {
    let place = place_of(catalogue, lock);
    let is_table = place.as_ref().is_some_and(|place| place.index.is_none());
    let mode = mode_text(lock, is_table);
    let key = data_text(catalogue, lock).unwrap_or_else(|| "a key that no row has".into());
    match place {
        Some(place) => {
            let index = place.index.map_or(String::new(), |index| format!("index {index} of "));
            let (database, table) = (place.database, place.table);
            format!(
                "RECORD LOCKS partition p{} {index}table `{database}`.`{table}` lock_mode {mode} waiting: {key}",
                lock.shard
            )
        }
        None => format!("RECORD LOCKS of a table that is gone, lock_mode {mode} waiting"),
    }
}
