//! The operations of a script as a client sends them, and the rows that became of them.

use std::ops::Bound;

use protocol::op::{Assignment, Columns, KeyRange, Lock, OpKind, Scan, ScanOutput};
use storage::{Direction, Partition, PendingRow};
use types::expr::BinaryOp;
use types::wire::Bytes;
use types::{
    Collation, Column, ColumnDefault, Expr, Index, IndexId, IndexKind, IndexPart, IndexState,
    NumberDisplay, SchemaVersion, Table, TableId, TableState, Timestamp, Value, ValueRef,
};

use crate::describe::{self, BIGINT};

/// The database of every table of a script.
pub const DATABASE: &str = "d";

/// An operation in a script's words: its table, and what it does.
pub fn operation_of<'a>(words: &[&'a str]) -> (&'a str, OpKind) {
    let key = |text: &str| Bytes(encoded_key(number(text)));
    match *words {
        ["read", table, k] => (
            table,
            OpKind::Read { key: key(k), lock: Lock::None, filter: None, columns: Columns::All },
        ),
        ["read", table, k, lock] => {
            let lock = lock_of(lock);
            (table, OpKind::Read { key: key(k), lock, filter: None, columns: Columns::All })
        }
        ["insert", table, k, value] => (table, insert(number(k), number(value))),
        ["put", table, k, value] => {
            let row = Bytes(encoded_row(number(k), number(value)));
            (table, OpKind::Put { key: key(k), row })
        }
        ["update", table, k, change] => {
            let value = match change.strip_prefix('=') {
                Some(value) => Expr::Const(Value::Int(number(value))),
                None => Expr::Binary(
                    BinaryOp::Add,
                    Box::new(Expr::Column(1)),
                    Box::new(Expr::Const(Value::Int(number(change)))),
                ),
            };
            let assignments = vec![Assignment { column: 1, value }];
            (table, OpKind::Update { key: key(k), filter: None, assignments, returning: true })
        }
        ["delete", table, k] => (table, OpKind::Delete { key: key(k), filter: None }),
        ["scan", table, ref options @ ..] => (table, scan(options)),
        _ => panic!("there is no operation {words:?}"),
    }
}

pub fn insert(key: i64, value: i64) -> OpKind {
    OpKind::Insert { key: Bytes(encoded_key(key)), row: Bytes(encoded_row(key, value)) }
}

fn scan(options: &[&str]) -> OpKind {
    let mut scan = Scan {
        index: IndexId(0),
        ranges: vec![KeyRange::all()],
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
    for option in options {
        match option.split_once('=') {
            Some(("v", value)) => {
                let value = Box::new(Expr::Const(Value::Int(number(value))));
                let column = Box::new(Expr::Column(1));
                scan.filter = Some(Expr::Binary(BinaryOp::Equal, column, value));
            }
            Some(("key", key)) => {
                let key = encoded_key(number(key));
                let (lower, upper) = (Bound::Included(key.clone()), Bound::Included(key));
                scan.ranges = vec![KeyRange { lower, upper }];
            }
            Some(("limit", limit)) => scan.limit = Some(number(limit) as u64),
            None if *option == "semi" => scan.semi_consistent = true,
            None if *option == "peek" => {
                scan.peek = true;
                scan.output = ScanOutput::Rows { columns: Columns::All, with_keys: true };
            }
            _ => scan.lock = lock_of(option),
        }
    }
    OpKind::Scan(Box::new(scan))
}

fn lock_of(word: &str) -> Lock {
    match word {
        "lock=s" => Lock::Shared,
        "lock=x" => Lock::Exclusive,
        other => panic!("there is no {other}"),
    }
}

pub fn encoded_key(key: i64) -> Vec<u8> {
    let mut out = Vec::new();
    types::key::encode_key_value(&mut out, ValueRef::Int(key), &BIGINT, None, false);
    out
}

fn encoded_row(key: i64, value: i64) -> Vec<u8> {
    let values = [ValueRef::Int(key), ValueRef::Int(value)];
    types::row::encode_row(&describe::layout(), &values).expect("two numbers are a small row")
}

/// "1=15@1.6 10@1.4": each row with its versions, newest first, a pending one in front.
pub fn rows_of(partition: &Partition) -> Vec<String> {
    let mut rows = Vec::new();
    let range = storage::KeyRange::all();
    let mut scan = partition.scan(IndexId(0), &range, Direction::Forward, None);
    while let Some(candidate) = scan.next_candidate() {
        let (row, key) = (candidate.row, describe::key(candidate.key));
        let value = |bytes: &[u8]| {
            let text = describe::row(bytes);
            text.split_once('=').map_or(text.clone(), |(_, value)| value.to_string())
        };
        let mut versions = Vec::new();
        match partition.pending_row(row) {
            Some(PendingRow::Put(bytes)) => versions.push(format!("{} pending", value(&bytes))),
            Some(PendingRow::Delete) => versions.push("deletion pending".into()),
            None => {}
        }
        let mut at = Timestamp::MAX;
        while let Some(version) = partition.committed_at(row, at) {
            let what = version.row.map_or("deleted".into(), |bytes| value(&bytes));
            versions.push(format!("{what}{}", describe::at(version.ts)));
            at = Timestamp(version.ts.0 - 1);
        }
        rows.push(format!("{key}={}", versions.join(" ")));
    }
    rows
}

/// A table of two BIGINT columns, the first its primary key.
pub fn definition(name: &str) -> Table {
    let column = |name: &str| Column {
        name: name.into(),
        column_type: BIGINT,
        nullable: false,
        default: ColumnDefault::None,
        on_update_now: false,
        comment: String::new(),
        hidden: false,
        display: NumberDisplay::default(),
        generated: None,
        missing: None,
        is_dropped: false,
    };
    Table {
        id: TableId(0),
        version: SchemaVersion(0),
        state: TableState::Public,
        database: DATABASE.into(),
        name: name.into(),
        columns: vec![column("id"), column("v")],
        indexes: vec![Index {
            id: IndexId(0),
            name: "PRIMARY".into(),
            kind: IndexKind::Primary,
            state: IndexState::Public,
            parts: vec![IndexPart { column: 0, prefix: None, descending: false }],
            comment: String::new(),
            is_generated: false,
            algorithm: None,
        }],
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

/// An ordinary index of the second column.
pub fn index_definition() -> Index {
    Index {
        id: IndexId(0),
        name: "by_v".into(),
        kind: IndexKind::Ordinary,
        state: IndexState::Building,
        parts: vec![IndexPart { column: 1, prefix: None, descending: false }],
        comment: String::new(),
        is_generated: false,
        algorithm: None,
    }
}

pub fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| panic!("{text} is not a number"))
}
