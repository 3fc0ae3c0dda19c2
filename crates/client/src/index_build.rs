//! CREATE INDEX on a filled table, while others write to it.
//!
//! First every node maintains the new index (state `Building`); each replica then fills its own ordered index by itself. The
//! entries of a unique key, which live in a hidden table of their own, are filled from here: row by row, under the row's
//! lock, so that no writer changes the row in between. Then the index is published. When anything fails, it is dropped.
//!
//! Two neighbouring versions of the schema are in use at a time. A unique key is therefore announced first (state
//! `DeleteOnly`): else a node that knows it would make an entry, and one that does not would leave it behind when it
//! changes the row.

use std::sync::Arc;

use protocol::Refusal;
use protocol::control::Durability;
use protocol::op::{Batch, Columns, Lock, Op, OpKind, OpResult, ReadAt, Scan, ScanOutput};
use protocol::request::Request;
use protocol::schema::{SchemaChange, SchemaError};
use types::wire::Bytes;
use types::{Catalogue, Index, IndexId, IndexKind, RowView, Table};

use crate::rows::entry_of;
use crate::scan::{ScanBatch, ScanCursor, ScanOptions};
use crate::session::Session;

/// Rows whose entries are made in one transaction.
const ROWS_PER_TRANSACTION: usize = 200;
/// Attempts of a transaction that lost a deadlock or waited too long for a lock, before the build is given up.
const ATTEMPTS_MAX: u32 = 20;
const LOCK_WAIT_TIMEOUT_MS: u32 = 50_000;

impl Session {
    /// Adds the index, fills it, and makes it readable; on failure nothing of it remains.
    pub async fn create_index(
        &mut self,
        table: &Arc<Table>,
        index: Index,
    ) -> Result<Arc<Catalogue>, Refusal> {
        // The definition that uses the entries outlives a failure of the power, so they must.
        let before = self.set_durability(Some(Durability::Always));
        let created = self.create_durable_index(table, index).await;
        self.set_durability(before);
        created
    }

    async fn create_durable_index(
        &mut self,
        table: &Arc<Table>,
        index: Index,
    ) -> Result<Arc<Catalogue>, Refusal> {
        let change = SchemaChange::CreateIndex { table: table.id, index: index.clone() };
        let catalogue = self.change_schema(change).await?;
        let altered = catalogue.table_by_id(table.id).cloned();
        let altered = altered.ok_or(Refusal::SchemaChanged { table: table.id })?;
        let added = altered.index_named(&index.name).cloned();
        let added = added.ok_or(Refusal::SchemaChanged { table: table.id })?;
        match self.fill_and_publish(&altered, &added).await {
            Ok(catalogue) => Ok(catalogue),
            Err(refusal) => {
                self.rollback().await;
                // Who has dropped it may have made another one of its name.
                let is_gone = matches!(refusal, Refusal::SchemaChanged { .. });
                let (index, name) = (added.id, added.name);
                let drop = SchemaChange::DropIndex { table: table.id, index, name };
                if is_gone || self.change_schema(drop).await.is_err() {
                    // Nobody can be asked now.
                    self.client().post(self.id(), Request::GiveUpIndex);
                }
                Err(refusal)
            }
        }
    }

    async fn fill_and_publish(
        &mut self,
        table: &Arc<Table>,
        index: &Index,
    ) -> Result<Arc<Catalogue>, Refusal> {
        let makes_room = self.set_background(true);
        let filled = self.fill_entries(table, index).await;
        self.set_background(makes_room);
        filled?;
        if matches!(index.kind, IndexKind::Unique { .. }) {
            // Where rows had just gone, or have no entry any more, nothing was written that the disks were waited for: after a failure
            // of the power they would be back, and a key that is public by then without them.
            self.await_disks(&|| false).await?;
        }
        self.publish(table, index).await
    }

    /// Takes the index one state on.
    async fn publish(&mut self, table: &Table, index: &Index) -> Result<Arc<Catalogue>, Refusal> {
        let publish = SchemaChange::PublishIndex { table: table.id, index: index.id, asked: 0 };
        match self.change_schema(publish).await {
            // Somebody has dropped it.
            Err(Refusal::Schema(SchemaError::UnknownIndex(_))) => {
                Err(Refusal::SchemaChanged { table: table.id })
            }
            outcome => outcome,
        }
    }

    async fn fill_entries(&mut self, table: &Arc<Table>, index: &Index) -> Result<(), Refusal> {
        let IndexKind::Unique { entries } = index.kind else { return Ok(()) };
        let catalogue = self.publish(table, index).await?;
        let table =
            catalogue.table_by_id(table.id).ok_or(Refusal::SchemaChanged { table: table.id })?;
        let entries =
            catalogue.table_by_id(entries).ok_or(Refusal::SchemaChanged { table: table.id })?;
        // The rows are read at one snapshot by a session of their own; each is looked at again under its lock.
        let mut reader = self.client().session();
        reader.set_background(true);
        let mut cursor = reader.whole_rows(table);
        while let Some(batch) = cursor.next(&mut reader).await? {
            let ScanBatch::Rows(batch) = batch else { unreachable!("rows were asked for") };
            let rows: Vec<&[u8]> = (0..batch.len()).map(|position| batch.row(position)).collect();
            for chunk in rows.chunks(ROWS_PER_TRANSACTION) {
                self.fill_chunk(table, index, entries, chunk).await?;
            }
        }
        reader.commit().await
    }

    /// All rows of a table, at the snapshot of the transaction.
    pub fn whole_rows(&mut self, table: &Arc<Table>) -> ScanCursor {
        let scan = Scan {
            index: IndexId(0),
            ranges: vec![protocol::op::KeyRange::all()],
            reverse: false,
            filter: None,
            output: ScanOutput::Rows { columns: Columns::All, with_keys: false },
            limit: None,
            lock: Lock::None,
            semi_consistent: false,
            peek: false,
            resume: None,
            shard: None,
        };
        let options = ScanOptions { read_at: ReadAt::Transaction, ..ScanOptions::default() };
        self.scan(table, scan, options)
    }

    async fn fill_chunk(
        &mut self,
        table: &Arc<Table>,
        index: &Index,
        entries: &Arc<Table>,
        rows: &[&[u8]],
    ) -> Result<(), Refusal> {
        let mut attempt = 1;
        loop {
            let outcome = self.fill_once(table, index, entries, rows).await;
            match outcome {
                // A chunk that may be there goes with the index.
                Ok(()) => return self.commit().await.map_err(Refusal::of_own_work),
                Err(Refusal::Deadlock | Refusal::LockWaitTimeout) if attempt < ATTEMPTS_MAX => {
                    self.rollback().await;
                    attempt += 1;
                }
                Err(refusal) => return Err(refusal),
            }
        }
    }

    async fn fill_once(
        &mut self,
        table: &Arc<Table>,
        index: &Index,
        entries: &Arc<Table>,
        rows: &[&[u8]],
    ) -> Result<(), Refusal> {
        let layout = table.row_layout();
        self.next_statement();
        let read = |table: &Table, key: Bytes, lock: Lock| Op {
            table: table.id,
            version: table.version,
            kind: OpKind::Read { key, lock, filter: None, columns: Columns::All },
        };
        let locked = rows.iter().map(|row| {
            let key = types::key::primary_key_of_row(table, &RowView::new(&layout, row));
            read(table, Bytes(key.expect("the key of a stored row")), Lock::Shared)
        });
        let current = self.execute(build_batch(locked.collect())).await?;
        let mut wanted: Vec<(Bytes, Bytes)> = Vec::new();
        for result in current.results.into_iter().flatten() {
            if let OpResult::Row(Some(row)) = result {
                wanted.extend(entry_of(table, index, entries, &RowView::new(&layout, &row)));
            }
        }
        let reads = wanted.iter().map(|(key, _)| read(entries, key.clone(), Lock::Exclusive));
        let found = self.execute(build_batch(reads.collect())).await?;
        let mut writes = Vec::new();
        for (result, (key, row)) in found.results.into_iter().flatten().zip(wanted) {
            let kind = match result {
                OpResult::Row(None) => OpKind::Insert { key, row },
                OpResult::Row(Some(there)) => {
                    // Made by a writer since the index is maintained, or by another row with the same key.
                    if !names_the_same_row(table, index, entries, &there, &row) {
                        return Err(Refusal::DuplicateKey { table: entries.id, index: IndexId(0) });
                    }
                    // Written again: the writer's commit need not be on the disks, this one's will be.
                    OpKind::Put { key, row }
                }
                other => unreachable!("{other:?} to a read"),
            };
            writes.push(Op { table: entries.id, version: entries.version, kind });
        }
        if !writes.is_empty() {
            self.execute(build_batch(writes)).await?;
        }
        Ok(())
    }
}

/// Do two entries of a unique key end in the same primary key?
fn names_the_same_row(table: &Table, index: &Index, entries: &Table, a: &[u8], b: &[u8]) -> bool {
    let layout = entries.row_layout();
    let (a, b) = (RowView::new(&layout, a), RowView::new(&layout, b));
    let first = index.parts.len();
    (first..first + table.primary_key().parts.len())
        .all(|column| a.get(column).compare_same_kind(&b.get(column)).is_eq())
}

fn build_batch(ops: Vec<Op>) -> Batch {
    Batch { ops, lock_wait_timeout_ms: LOCK_WAIT_TIMEOUT_MS, ..Batch::default() }
}
