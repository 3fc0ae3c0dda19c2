//! The error of a refused batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::{Columns, Lock, Op, OpKind, OpResult, Refusal};
use types::wire::Bytes;
use types::{Catalogue, IndexId, RowLayout, RowView, Table, TableId};

use super::RowChange;
use super::row_keys::{duplicate_error, key_too_long, row_too_large, unique_key};
use super::values::store_error;
use crate::error::SqlError;
use crate::execute::{Context, Failure};

/// What a shard says of a row that it has computed.
const ROW_TOO_LARGE: &str = "TooLarge";
const KEY_TOO_LONG: &str = "KeyTooLong";

impl Context<'_> {
    /// The failure for a refused batch of changes: finds out which row's key was taken.
    pub(super) async fn write_failure(
        &mut self,
        refusal: Refusal,
        table: &Arc<Table>,
        layout: &RowLayout,
        changes: &[RowChange],
    ) -> Failure {
        let catalogue = self.catalogue();
        let column = |position: u16| table.columns.get(usize::from(position));
        let mut error = match &refusal {
            Refusal::NotNull { column: position } => {
                column(*position).map(|column| SqlError::column_cannot_be_null(&column.name))
            }
            Refusal::Store { column: position, error } => {
                column(*position).map(|column| store_error(error, &table.name, &column.name, 1))
            }
            Refusal::LimitReached(which) if which == ROW_TOO_LARGE => Some(row_too_large()),
            Refusal::LimitReached(which) if which == KEY_TOO_LONG => Some(key_too_long()),
            _ => None,
        };
        if let Refusal::DuplicateKey { table: physical, index } = &refusal {
            match Box::pin(self.taken_key(&catalogue, *physical, *index, table, layout, changes))
                .await
            {
                Ok(own) => error = own,
                // That the transaction is gone is worth more than which key was taken.
                Err(refusal) if refusal.ends_transaction() => return self.refused(refusal),
                Err(_) => {}
            }
        }
        let mut failure = Failure::refused(refusal, &catalogue);
        if let Some(error) = error {
            failure.error = error;
        }
        failure
    }

    /// The error of the first change whose key was taken: by another row, which had it before the statement, or by a change
    /// before it. The engine has undone the statement.
    async fn taken_key(
        &mut self,
        catalogue: &Catalogue,
        physical: TableId,
        index: IndexId,
        table: &Arc<Table>,
        layout: &RowLayout,
        changes: &[RowChange],
    ) -> Result<Option<SqlError>, Refusal> {
        let known = client::duplicate_of(catalogue, physical, index)
            .and_then(|(_, index)| Some((index, table.index(index)?)));
        let Some((index, definition)) = known else { return Ok(None) };
        let key_of = |row: &[u8]| unique_key(table, definition, &RowView::new(layout, row));
        // Of each change the key that it gives up, and the one that it takes.
        let mut moves = Vec::new();
        for change in changes {
            let old = change.old.as_ref().and_then(|row| key_of(row));
            let new = change.new.as_ref().and_then(|_| key_of(&change.encoded));
            if old != new {
                moves.push((old, new, change));
            }
        }
        let mut is_taken = match moves.len() {
            // The one it must be.
            1 => BTreeMap::from_iter(moves[0].1.iter().map(|key| (key.clone(), true))),
            _ => {
                let keys = moves.iter().filter_map(|(_, new, _)| new.clone());
                self.present(catalogue, physical, keys.collect()).await?
            }
        };
        for (old, new, change) in moves {
            if let Some(old) = old {
                is_taken.insert(old, false);
            }
            if let Some(new) = new
                && is_taken.insert(new, true) == Some(true)
            {
                let view = RowView::new(layout, &change.encoded);
                return Ok(Some(duplicate_error(table, index, &view)));
            }
        }
        Ok(None)
    }

    /// Which of the keys are in the table.
    async fn present(
        &mut self,
        catalogue: &Catalogue,
        physical: TableId,
        keys: Vec<Vec<u8>>,
    ) -> Result<BTreeMap<Vec<u8>, bool>, Refusal> {
        let Some(physical) = catalogue.table_by_id(physical) else { return Ok(BTreeMap::new()) };
        let mut batch = client::Batch { commit: self.ends_with_statement(), ..Default::default() };
        batch.ops.extend(keys.iter().map(|key| Op {
            table: physical.id,
            version: physical.version,
            kind: OpKind::Read {
                key: Bytes(key.clone()),
                lock: Lock::None,
                filter: None,
                columns: Columns::Only(Vec::new()),
            },
        }));
        let result = self.client().execute(batch).await?;
        let is_found = |results: &Vec<OpResult>| matches!(results[..], [OpResult::Row(Some(_))]);
        Ok(keys.into_iter().zip(result.results.iter().map(is_found)).collect())
    }
}
