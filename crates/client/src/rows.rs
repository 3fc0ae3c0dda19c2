//! Writing whole rows: the row itself and its entries in the hidden tables of unique keys.

use std::sync::Arc;

use protocol::op::{Op, OpKind};
use types::expr::BinaryOp;
use types::wire::Bytes;
use types::{Catalogue, Expr, Index, IndexId, IndexKind, RowView, Table, TableId, ValueRef};

/// Adds a row; refused with `DuplicateKey` when one of its unique keys is taken.
pub fn insert_ops(catalogue: &Catalogue, table: &Table, row: &[u8]) -> Vec<Op> {
    let layout = table.row_layout();
    let view = RowView::new(&layout, row);
    let mut ops =
        vec![op(table, OpKind::Insert { key: key_of(table, &view), row: Bytes(row.to_vec()) })];
    for (entries, index) in unique_indexes(catalogue, table) {
        if index.state.has_entries_made()
            && let Some((key, row)) = entry_of(table, index, entries, &view)
        {
            ops.push(op(entries, OpKind::Insert { key, row }));
        }
    }
    ops
}

/// Removes a row that the transaction has locked.
pub fn delete_ops(catalogue: &Catalogue, table: &Table, old: &[u8]) -> Vec<Op> {
    let layout = table.row_layout();
    let view = RowView::new(&layout, old);
    let mut ops = vec![op(table, OpKind::Delete { key: key_of(table, &view), filter: None })];
    for (entries, index) in unique_indexes(catalogue, table) {
        ops.extend(delete_entry(table, index, entries, &view));
    }
    ops
}

/// Makes a new row of an old one that the transaction has locked; any of its keys may differ.
pub fn replace_ops(catalogue: &Catalogue, table: &Table, old: &[u8], new: &[u8]) -> Vec<Op> {
    let layout = table.row_layout();
    let (old, new) = (RowView::new(&layout, old), RowView::new(&layout, new));
    let (old_key, new_key) = (key_of(table, &old), key_of(table, &new));
    let row = Bytes(new.bytes().to_vec());
    let moved = old_key != new_key;
    let mut deletes = Vec::new();
    let mut writes = Vec::new();
    if moved {
        deletes.push(op(table, OpKind::Delete { key: old_key, filter: None }));
        writes.push(op(table, OpKind::Insert { key: new_key, row }));
    } else {
        writes.push(op(table, OpKind::Put { key: new_key, row }));
    }
    for (entries, index) in unique_indexes(catalogue, table) {
        let before = entry_of(table, index, entries, &old);
        let after = entry_of(table, index, entries, &new);
        if before == after {
            continue;
        }
        deletes.extend(delete_entry(table, index, entries, &old));
        if index.state.has_entries_made()
            && let Some((key, row)) = after
        {
            writes.push(op(entries, OpKind::Insert { key, row }));
        }
    }
    deletes.extend(writes);
    deletes
}

/// A `DuplicateKey` as the user knows it: the visible table and its unique key.
pub fn duplicate_of(
    catalogue: &Catalogue,
    table: TableId,
    index: IndexId,
) -> Option<(Arc<Table>, IndexId)> {
    let definition = catalogue.table_by_id(table)?;
    match definition.unique_of {
        None => Some((Arc::clone(definition), index)),
        Some((visible, unique)) => Some((Arc::clone(catalogue.table_by_id(visible)?), unique)),
    }
}

/// The key of a row's entry in the hidden table of a unique key; none if one of its columns is NULL, which is equal to
/// nothing. `row` may be any row with the table's layout of which the key's columns are filled in.
pub fn unique_entry_key(table: &Table, index: &Index, row: &RowView<'_>) -> Option<Vec<u8>> {
    if types::key::index_key_has_null(index, row) {
        return None;
    }
    let mut key = Vec::new();
    types::key::index_key_of_row(table, &ascending(index), row, &mut key).ok()?;
    Some(key)
}

/// Entries are kept in ascending order whatever the index says.
fn ascending(index: &Index) -> Index {
    let mut index = index.clone();
    for part in &mut index.parts {
        part.descending = false;
    }
    index
}

fn unique_indexes<'a>(
    catalogue: &'a Catalogue,
    table: &'a Table,
) -> impl Iterator<Item = (&'a Table, &'a Index)> {
    table.indexes.iter().filter_map(|index| match index.kind {
        IndexKind::Unique { entries } => {
            Some((&**catalogue.table_by_id(entries).expect("lives as long as its table"), index))
        }
        IndexKind::Primary | IndexKind::Ordinary => None,
    })
}

/// Deletes a row's entry if it is this row's: while the index is being filled, or leaves, another row may have the same
/// values, and the entry.
fn delete_entry(table: &Table, index: &Index, entries: &Table, row: &RowView<'_>) -> Option<Op> {
    let key = unique_entry_key(table, index, row)?;
    let names_row = (index.parts.len()..).zip(&table.primary_key().parts).map(|(column, part)| {
        let value = row.get(usize::from(part.column)).to_value();
        let column = u16::try_from(column).expect("an entry has at most 32 columns");
        Expr::Binary(BinaryOp::Equal, Box::new(Expr::Column(column)), Box::new(Expr::Const(value)))
    });
    let filter = Some(Expr::And(names_row.collect()));
    Some(op(entries, OpKind::Delete { key: Bytes(key), filter }))
}

/// The entry of a row in a unique key's hidden table: its key and its row.
pub(crate) fn entry_of(
    table: &Table,
    index: &Index,
    entries: &Table,
    row: &RowView<'_>,
) -> Option<(Bytes, Bytes)> {
    let key = unique_entry_key(table, index, row)?;
    let parts = index.parts.iter().chain(&table.primary_key().parts);
    let values: Vec<ValueRef<'_>> = parts.map(|part| row.get(usize::from(part.column))).collect();
    let bytes = types::row::encode_row(&entries.row_layout(), &values);
    Some((Bytes(key), Bytes(bytes.expect("a part of a row that was encoded"))))
}

fn key_of(table: &Table, row: &RowView<'_>) -> Bytes {
    Bytes(types::key::primary_key_of_row(table, row).expect("checked when the row was made"))
}

fn op(table: &Table, kind: OpKind) -> Op {
    Op { table: table.id, version: table.version, kind }
}
