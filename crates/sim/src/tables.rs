//! The tables of the workloads, and the few forms of operations they use.

use std::sync::Arc;

use client::{
    Assignment, Batch, BatchResult, Columns, KeyRange, Lock, Op, OpKind, OpResult, ReadAt,
    RowBatch, Scan, ScanOutput,
};
use types::convert::{ConvertContext, EvalSettings};
use types::expr::{Aggregate, AggregateFunction, BinaryOp, Function};
use types::wire::Bytes;
use types::{
    AutoIncrement, Collation, Column, ColumnDefault, ColumnType, Expr, Index, IndexId, IndexKind,
    IndexPart, IndexState, IntWidth, NumberDisplay, RowView, SchemaVersion, Table, TableId,
    TableState, Value, ValueRef,
};

pub const DATABASE: &str = "sim";

/// A table of BIGINT columns, the first of which is the primary key.
pub fn integers(name: &str, columns: &[&str]) -> Table {
    let column_type = ColumnType::Int { width: IntWidth::W8, unsigned: false };
    let columns = columns.iter().map(|name| column(name, column_type.clone())).collect();
    Table {
        id: TableId(0),
        version: SchemaVersion(0),
        state: TableState::Public,
        database: DATABASE.into(),
        name: name.into(),
        columns,
        indexes: vec![index("PRIMARY", IndexKind::Primary, &[0])],
        collation: Collation::Binary,
        comment: String::new(),
        engine: "SKARV".into(),
        auto_increment: None,
        unique_of: None,
        constraints: types::Constraints::default(),
        rewriting: types::Rewriting::default(),
        closed_by: None,
        options: Vec::new(),
    }
}

/// The same with a last column of bytes.
pub fn with_bytes(mut table: Table, name: &str) -> Table {
    table.columns.push(column(name, ColumnType::Blob { bytes_max: u32::MAX }));
    table
}

pub fn with_index(mut table: Table, name: &str, kind: IndexKind, columns: &[u16]) -> Table {
    table.indexes.push(index(name, kind, columns));
    table
}

pub fn with_auto_increment(mut table: Table) -> Table {
    table.auto_increment = Some(AutoIncrement { column: 0, start: 1 });
    table
}

fn column(name: &str, column_type: ColumnType) -> Column {
    Column {
        name: name.into(),
        column_type,
        nullable: false,
        default: ColumnDefault::None,
        on_update_now: false,
        comment: String::new(),
        hidden: false,
        display: NumberDisplay::default(),
        generated: None,
        missing: None,
        is_dropped: false,
    }
}

pub fn index(name: &str, kind: IndexKind, columns: &[u16]) -> Index {
    let part = |column: &u16| IndexPart { column: *column, prefix: None, descending: false };
    Index {
        id: IndexId(0),
        name: name.into(),
        kind,
        state: IndexState::Public,
        parts: columns.iter().map(part).collect(),
        comment: String::new(),
        is_generated: false,
        algorithm: None,
    }
}

/// A unique index; which table holds its entries is decided when it is made.
pub const UNIQUE: IndexKind = IndexKind::Unique { entries: TableId(0) };

pub fn key(table: &Table, id: i64) -> Bytes {
    let key = types::key::primary_key_of_values(table, &[ValueRef::Int(id)]);
    Bytes(key.expect("an integer is a short key"))
}

pub fn row(table: &Table, values: &[i64]) -> Vec<u8> {
    let values: Vec<ValueRef<'_>> = values.iter().map(|value| ValueRef::Int(*value)).collect();
    encoded(table, &values)
}

pub fn encoded(table: &Table, values: &[ValueRef<'_>]) -> Vec<u8> {
    types::row::encode_row(&table.row_layout(), values).expect("rows here are small")
}

/// The integer columns of a row.
pub fn numbers(table: &Table, row: &[u8]) -> Vec<i64> {
    let layout = table.row_layout();
    let view = RowView::new(&layout, row);
    let columns = (0..table.columns.len()).map(|column| view.get(column));
    let number = |value: ValueRef<'_>| match value {
        ValueRef::Int(value) => Some(value),
        _ => None,
    };
    columns.filter_map(number).collect()
}

pub fn op(table: &Table, kind: OpKind) -> Op {
    Op { table: table.id, version: table.version, kind }
}

pub fn read(table: &Table, id: i64, lock: Lock) -> Op {
    op(table, OpKind::Read { key: key(table, id), lock, filter: None, columns: Columns::All })
}
pub fn read_key(table: &Table, key: Bytes, lock: Lock) -> Op {
    op(table, OpKind::Read { key, lock, filter: None, columns: Columns::All })
}
pub fn insert(table: &Table, values: &[i64]) -> Op {
    op(table, OpKind::Insert { key: key(table, values[0]), row: Bytes(row(table, values)) })
}
pub fn put(table: &Table, values: &[i64]) -> Op {
    op(table, OpKind::Put { key: key(table, values[0]), row: Bytes(row(table, values)) })
}
pub fn delete(table: &Table, id: i64) -> Op {
    op(table, OpKind::Delete { key: key(table, id), filter: None })
}
/// Assigns to one column, if the row passes the filter.
pub fn update(table: &Table, id: i64, column: u16, value: Expr, filter: Option<Expr>) -> Op {
    let assignments = vec![Assignment { column, value }];
    op(table, OpKind::Update { key: key(table, id), filter, assignments, returning: false })
}

pub fn constant(value: i64) -> Expr {
    Expr::Const(Value::Int(value))
}
/// column + value.
pub fn plus(column: u16, value: i64) -> Expr {
    Expr::Binary(BinaryOp::Add, Box::new(Expr::Column(column)), Box::new(constant(value)))
}
/// CONCAT(column, value).
pub fn concatenated(column: u16, value: Value) -> Expr {
    Expr::Function(Function::Concat, vec![Expr::Column(column), Expr::Const(value)])
}
pub fn compare(column: u16, operator: BinaryOp, value: i64) -> Expr {
    Expr::Binary(operator, Box::new(Expr::Column(column)), Box::new(constant(value)))
}

/// SUM(column), COUNT(*) over the whole table.
pub fn sum(table: &Table, column: u16, lock: Lock) -> Op {
    let output = ScanOutput::Groups {
        group_by: Vec::new(),
        aggregates: vec![
            Aggregate::new(AggregateFunction::Sum, Some(Expr::Column(column))),
            Aggregate::new(AggregateFunction::Count, None),
        ],
    };
    op(table, OpKind::Scan(Box::new(Scan { output, lock, ..scan_rows(IndexId(0)) })))
}

/// All rows by an index, with the keys that merging them needs.
pub fn scan_rows(index: IndexId) -> Scan {
    Scan {
        index,
        ranges: vec![KeyRange::all()],
        reverse: false,
        filter: None,
        output: ScanOutput::Rows { columns: Columns::All, with_keys: true },
        limit: None,
        lock: Lock::None,
        semi_consistent: false,
        peek: false,
        resume: None,
        shard: None,
    }
}

/// A batch of a longer transaction.
pub fn batch(ops: Vec<Op>, read_at: ReadAt, lock_wait_timeout_ms: u32) -> Batch {
    let settings = EvalSettings { strict: true, ..EvalSettings::default() };
    Batch { ops, read_at, settings, lock_wait_timeout_ms, ..Batch::default() }
}
/// A transaction of one batch.
pub fn autocommit(ops: Vec<Op>, lock_wait_timeout_ms: u32) -> Batch {
    Batch { commit: true, ..batch(ops, ReadAt::Statement, lock_wait_timeout_ms) }
}

/// The row that operation `position` of a batch read, as numbers.
pub fn row_read(table: &Table, result: &BatchResult, position: usize) -> Option<Vec<i64>> {
    match result.results[position].as_slice() {
        [OpResult::Row(row)] => row.as_ref().map(|row| numbers(table, row)),
        other => panic!("{other:?} to a read"),
    }
}

/// Did the update at `position` find its row?
pub fn matched(result: &BatchResult, position: usize) -> bool {
    match result.results[position].as_slice() {
        [OpResult::Updated { matched, .. }] => *matched,
        other => panic!("{other:?} to an update"),
    }
}

pub fn deleted(result: &BatchResult, position: usize) -> bool {
    match result.results[position].as_slice() {
        [OpResult::Deleted(deleted)] => *deleted,
        other => panic!("{other:?} to a delete"),
    }
}

/// The (sum, count) that operation `position`, made by [`sum`], answered; the table is small enough for one answer a
/// shard.
pub fn sum_read(result: &BatchResult, position: usize) -> (i64, i64) {
    let mut convert = ConvertContext::default();
    let mut total: Option<Vec<types::expr::AggregateState>> = None;
    for part in &result.results[position] {
        let OpResult::Groups(part) = part else { panic!("{part:?} to an aggregate") };
        assert!(part.next.is_none(), "small tables fit into one answer");
        for (_, states) in &part.groups {
            match &mut total {
                None => total = Some(states.clone()),
                Some(total) => {
                    for (total, state) in total.iter_mut().zip(states) {
                        total.merge(state.clone(), &mut convert).expect("small numbers");
                    }
                }
            }
        }
    }
    let finished = total.into_iter().flatten().map(|state| {
        let value = state.finish(&mut convert).expect("small numbers");
        types::convert::to_integer(value.as_ref(), &mut ConvertContext::default()) as i64
    });
    let finished: Vec<i64> = finished.collect();
    match finished.as_slice() {
        [] => (0, 0),
        [sum, count] => (*sum, *count),
        other => panic!("{} aggregates, two were asked for", other.len()),
    }
}

/// The rows of a batch as numbers.
pub fn batch_rows(table: &Arc<Table>, batch: &RowBatch) -> Vec<Vec<i64>> {
    (0..batch.len()).map(|position| numbers(table, batch.row(position))).collect()
}
