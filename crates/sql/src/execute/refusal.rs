//! The one place where the engine's refusals become MySQL's errors.

use client::{Refusal, SchemaError};
use types::{Catalogue, TableId};

use crate::bind::constraint::duplicate_check;
use crate::error::{SqlError, code};

/// Why a statement failed, and its effects that stay.
#[derive(Debug)]
pub struct Failure {
    pub error: SqlError,
    /// The engine refused and has undone the statement itself; else the session undoes it.
    pub is_undone: bool,
    /// The whole transaction is gone.
    pub ends_transaction: bool,
    /// Nothing was done: plan again and run again.
    pub replan: bool,
    /// The transaction was rolled back through no fault of the statement: an autocommit one may simply run again.
    pub rerun: bool,
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Failure {
        Failure { error, is_undone: false, ends_transaction: false, replan: false, rerun: false }
    }
}

impl Failure {
    /// Is it the fault of one expression? Then a statement that does not ask for its value does not fail.
    pub fn is_of_expression(&self) -> bool {
        let is_own =
            matches!(self.error.code, code::ER_SUBQUERY_NO_1_ROW | code::ER_DATA_OUT_OF_RANGE);
        is_own && !self.is_undone && !self.ends_transaction
    }
    /// Are the changes that the statement has made before still there?
    pub fn leaves_statement(&self) -> bool {
        !self.is_undone && !self.ends_transaction
    }
    pub fn refused(refusal: Refusal, catalogue: &Catalogue) -> Failure {
        let ends_transaction = refusal.ends_transaction();
        let replan = matches!(refusal, Refusal::SchemaChanged { .. });
        let rerun = matches!(
            refusal,
            Refusal::Deadlock
                | Refusal::SnapshotConflict
                | Refusal::RolledBack
                | Refusal::DefinitionChanged { .. }
        );
        // The coordinator refuses these before any shard hears of the operations: what the statement has done before is there.
        let is_undone =
            !matches!(refusal, Refusal::SchemaChanged { .. } | Refusal::LimitReached(_));
        let error = error_of(refusal, catalogue);
        Failure {
            // The other effects of a fault at a shard on the transaction are unknown.
            ends_transaction: ends_transaction || error.code == code::ER_INTERNAL_ERROR,
            error,
            is_undone,
            replan,
            rerun,
        }
    }
}

fn table_name(catalogue: &Catalogue, id: TableId) -> String {
    let Some(table) = catalogue.table_by_id(id) else { return format!("#{id}") };
    match table.unique_of.and_then(|(visible, _)| catalogue.table_by_id(visible)) {
        Some(visible) => visible.name.clone(),
        None => table.name.clone(),
    }
}

/// MySQL's error for a refusal. The value of a duplicate key is unknown here; the writer of the row supplies it
/// ([`super::write`]).
pub fn error_of(refusal: Refusal, catalogue: &Catalogue) -> SqlError {
    match refusal {
        Refusal::DuplicateKey { table, index } => {
            match client::duplicate_of(catalogue, table, index) {
                Some((table, index)) => {
                    let name = table.index(index).map_or("PRIMARY", |index| index.name.as_str());
                    SqlError::duplicate_entry("", &format!("{}.{name}", table.name))
                }
                None => SqlError::duplicate_entry("", &format!("#{table}.{index}")),
            }
        }
        Refusal::LockWaitTimeout => SqlError::new(
            code::ER_LOCK_WAIT_TIMEOUT,
            "Lock wait timeout exceeded; try restarting transaction",
        ),
        Refusal::LockNotAvailable => SqlError::new(
            code::ER_LOCK_NOWAIT,
            "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.",
        ),
        Refusal::Deadlock => SqlError::new(
            code::ER_LOCK_DEADLOCK,
            "Deadlock found when trying to get lock; try restarting transaction",
        ),
        Refusal::SnapshotConflict => SqlError::new(
            code::ER_LOCK_DEADLOCK,
            "A row was changed since the transaction's snapshot (skarv_strict_snapshot is ON); try restarting transaction",
        ),
        Refusal::MemoryFull { table, node: _ } if table.is_temporary() => SqlError::new(
            code::ER_RECORD_FILE_FULL,
            format!(
                "The table '{}' is full: the temporary tables of this session may take tmp_table_size bytes together. Drop some, \
                 delete rows, or raise it before the next one is created",
                table_name(catalogue, table)
            ),
        ),
        Refusal::MemoryFull { table, node } => {
            SqlError::table_full(&table_name(catalogue, table), &format!("node {node} has"))
        }
        Refusal::DiskFull { node, rolls_back: false } => SqlError::new(
            code::ER_DISK_FULL,
            format!(
                "Disk full: node {node} has no room on its disk for what would be written. Make some, and it goes on by itself; rows \
                 can be read and deleted"
            ),
        ),
        Refusal::DiskFull { node, rolls_back: true } => SqlError::new(
            code::ER_DISK_FULL,
            format!(
                "Disk full: node {node} has no room on its disk to make the transaction durable, so it was rolled back. Make some, \
                 and run it again"
            ),
        ),
        Refusal::DiskFailed { node, rolls_back } => SqlError::new(
            code::ER_ERROR_ON_WRITE,
            format!(
                "Error writing: the disk of node {node} has failed, and no other node has its rows{}. They can be read; start the node \
                 again when its disk works",
                if rolls_back { ", so the transaction was rolled back" } else { "" }
            ),
        ),
        Refusal::NotDurable(commit) => SqlError::fatal(
            code::ER_TRANSACTION_OUTCOME_UNKNOWN,
            format!(
                "The transaction is committed, but not durable: a disk has no room for it, hangs or has failed, or a node group is \
                 away. It is lost if the cluster has to start again before; do not run it again without asking: SELECT \
                 skarv_transaction_outcome('{commit}'). The connection is closed"
            ),
        ),
        Refusal::SchemaChanged { .. } | Refusal::DefinitionChanged { .. } => SqlError::new(
            code::ER_TABLE_DEF_CHANGED,
            "Table definition has changed, please retry transaction",
        ),
        Refusal::Eval(error) => super::eval_error(&error),
        Refusal::Store { column, error } => {
            // The engine stores in one table at a time, of which it gives the position only; callers that know the table
            // name the column.
            SqlError::new(error.code(), error.message(&format!("#{}", column + 1), 1))
        }
        Refusal::NotNull { column } => SqlError::column_cannot_be_null(&format!("#{}", column + 1)),
        Refusal::Cancelled => SqlError::interrupted(),
        Refusal::RolledBack => SqlError::new(
            code::ER_LOCK_DEADLOCK,
            "The transaction was rolled back by the cluster; try restarting transaction",
        ),
        Refusal::OutcomeUnknown(commit) => SqlError::fatal(
            code::ER_TRANSACTION_OUTCOME_UNKNOWN,
            format!(
                "Nobody could tell whether the transaction is committed: a node died or is out of reach. Ask before you run it \
                 again, on any node: SELECT skarv_transaction_outcome('{commit}'). The connection is closed"
            ),
        ),
        Refusal::Unavailable(reason) => SqlError::new(
            code::ER_GET_TEMPORARY_ERRMSG,
            format!("Got temporary error 4009 '{reason}' from SKARV"),
        ),
        Refusal::SnapshotTooOld => SqlError::new(
            code::ER_TRANSACTION_ROLLBACK_DURING_COMMIT,
            "Snapshot too old: it was taken more than skarv_snapshot_age_max seconds ago, and the transaction was rolled back; \
             run it again, or set skarv_snapshot_age_max higher before it begins",
        ),
        Refusal::Schema(error) => schema_error(error, catalogue),
        Refusal::LimitReached(which) => SqlError::new(
            code::ER_GET_TEMPORARY_ERRMSG,
            format!("Got temporary error 233 'limit reached: {which}' from SKARV"),
        ),
    }
}

fn schema_error(error: SchemaError, catalogue: &Catalogue) -> SqlError {
    match error {
        SchemaError::DatabaseExists(name) => SqlError::new(
            code::ER_DB_CREATE_EXISTS,
            format!("Can't create database '{name}'; database exists"),
        ),
        SchemaError::UnknownDatabase(name) => SqlError::unknown_database(&name),
        SchemaError::TableExists(name) => SqlError::table_exists(&name),
        SchemaError::UnknownTable(name) => SqlError::bad_table(&name),
        SchemaError::IndexExists(name) => SqlError::duplicate_key_name(&name),
        SchemaError::UnknownIndex(name) => SqlError::new(
            code::ER_CANT_DROP_FIELD_OR_KEY,
            format!("Can't DROP '{name}'; check that column/key exists"),
        ),
        SchemaError::TooMany(what) => SqlError::new(
            code::ER_GET_TEMPORARY_ERRMSG,
            format!("Got temporary error 707 'too many: {what}' from SKARV"),
        ),
        // Whoever has withdrawn something hears that it was killed.
        SchemaError::Withdrawn => SqlError::interrupted(),
        SchemaError::TableChanged(_) => SqlError::definition_changed(),
        SchemaError::CheckExists(name) => duplicate_check(&name),
        SchemaError::AccountsChanged => SqlError::definition_changed(),
        SchemaError::TableBusy(name) => SqlError::new(
            code::ER_TABLE_DEF_CHANGED,
            format!("Another session alters table '{name}', please retry transaction"),
        ),
        SchemaError::MemoryFull(table) => {
            SqlError::table_full(&table_name(catalogue, table), "some node has")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Address, CommitId, Incarnation, NodeId, ShardId, TransactionId, WorkerId};

    /// A driver must not go on, nor try again by itself, when nobody knows what became of a commit; the error names it.
    #[test]
    fn an_unknown_outcome_ends_the_connection() {
        let transaction = TransactionId {
            coordinator: Address { node: NodeId(3), worker: WorkerId(1) },
            incarnation: Incarnation(0xabcd),
            sequence: 77,
        };
        let catalogue = Catalogue::default();
        let commit = CommitId { transaction, shard: ShardId(4) };
        let error = error_of(Refusal::OutcomeUnknown(commit), &catalogue);
        let call = "skarv_transaction_outcome('skarv-3.1-000000000000abcd-77-4')";
        assert!(error.fatal && error.message.contains(call), "{error:?}");
        let known = error_of(Refusal::RolledBack, &catalogue);
        assert_eq!((known.code, known.fatal), (code::ER_LOCK_DEADLOCK, false));
    }
}
