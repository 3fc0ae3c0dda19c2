//! Nanoseconds per operation and bytes of overhead per row, of one partition with rows like sysbench's:
//! `cargo run --release -p storage --example measure [rows]`.

use std::sync::Arc;
use std::time::Instant;

use storage::{Direction, KeyRange, LockMode, LockTable, PagePool, Partition, RowChange, Visible};
use types::key::{index_key_prefix, primary_key_of_values};
use types::row::encode_row;
use types::{
    Collation, Column, ColumnDefault, ColumnType, Index, IndexId, IndexKind, IndexPart, IndexState,
    IntWidth, NumberDisplay, SchemaVersion, Table, TableId, TableState, Timestamp, TransactionId,
    ValueRef,
};

fn sysbench_table() -> Arc<Table> {
    let int = || ColumnType::Int { width: IntWidth::W4, unsigned: false };
    let char = |length| ColumnType::Char { length, collation: Collation::DEFAULT };
    let column = |(name, column_type): (&str, ColumnType)| Column {
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
    };
    let index = |id: u16, kind| Index {
        id: IndexId(id),
        name: format!("i{id}"),
        kind,
        state: IndexState::Public,
        parts: vec![IndexPart { column: id, prefix: None, descending: false }],
        comment: String::new(),
        is_generated: false,
        algorithm: None,
    };
    Arc::new(Table {
        id: TableId(1),
        version: SchemaVersion(1),
        state: TableState::Public,
        database: "sbtest".into(),
        name: "sbtest1".into(),
        columns: [("id", int()), ("k", int()), ("c", char(120)), ("pad", char(60))]
            .map(column)
            .into(),
        indexes: vec![index(0, IndexKind::Primary), index(1, IndexKind::Ordinary)],
        collation: Collation::DEFAULT,
        comment: String::new(),
        engine: "Skarv".into(),
        auto_increment: None,
        unique_of: None,
        constraints: types::Constraints::default(),
        rewriting: types::Rewriting::default(),
        closed_by: None,
        options: Vec::new(),
    })
}

fn report(name: &str, count: u64, started: Instant) {
    let nanoseconds = started.elapsed().as_nanos() as f64 / count as f64;
    println!("{name:<44} {nanoseconds:>8.0} ns");
}

fn main() {
    let row_count: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let pool = PagePool::new(16 << 30);
    let table = sysbench_table();
    let layout = table.row_layout();
    let mut partition = Partition::new(Arc::clone(&table), Arc::clone(&pool));
    let mut state = 1u64;
    let mut random = move |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let (c, pad) = ("0123456789-".repeat(11)[..120].to_string(), "x".repeat(60));
    let row = |id: u64, k: u64, c: &str| {
        let text = |text| ValueRef::Text(text, Collation::DEFAULT);
        let values = [ValueRef::Int(id as i64), ValueRef::Int(k as i64), text(c), text(&pad)];
        encode_row(&layout, &values).expect("a row of the table's types")
    };
    let key =
        |id: u64| primary_key_of_values(&table, &[ValueRef::Int(id as i64)]).expect("a short key");
    let mut ts = 0;
    let mut owner = TransactionId { sequence: 1, ..TransactionId::default() };

    let rows: Vec<(Vec<u8>, Vec<u8>)> =
        (0..row_count).map(|id| (key(id), row(id, random(row_count), &c))).collect();
    let row_bytes: u64 = rows.iter().map(|(_, row)| row.len() as u64).sum();
    let started = Instant::now();
    for (key, row) in &rows {
        ts += 1;
        owner.sequence = ts;
        let outcome = partition.write(key, RowChange::Put(row), owner, 0).expect("memory");
        partition.commit(outcome.row, Timestamp(ts), Timestamp(ts));
    }
    report("insert and commit, in key order", row_count, started);
    let overhead = (partition.memory_bytes() - row_bytes) as f64 / row_count as f64;
    println!("rows of {} bytes: {overhead:.1} bytes of overhead a row", row_bytes / row_count);

    let keys: Vec<Vec<u8>> = (0..1_000_000).map(|_| key(random(row_count))).collect();
    let started = Instant::now();
    let mut bytes = 0;
    for key in &keys {
        if let Visible::Row(row) = partition.get(key, Timestamp::MAX, None) {
            bytes += usize::from(row[row.len() / 2]);
        }
    }
    report("point read of a random row", keys.len() as u64, started);

    for (name, same_key) in [
        ("update of a random row, indexed key unchanged", true),
        ("update of a random row, indexed key changed", false),
    ] {
        let updates: Vec<(Vec<u8>, Vec<u8>)> = keys[..500_000]
            .iter()
            .map(|key| {
                let Visible::Row(old) = partition.get(key, Timestamp::MAX, None) else {
                    unreachable!()
                };
                let old = types::RowView::new(&layout, &old).to_values();
                let number = |value: &types::Value| match value {
                    types::Value::Int(number) => *number as u64,
                    _ => unreachable!(),
                };
                let k = if same_key { number(&old[1]) } else { random(row_count) };
                (key.clone(), row(number(&old[0]), k, &c))
            })
            .collect();
        let started = Instant::now();
        for (key, row) in &updates {
            ts += 1;
            owner.sequence = ts;
            let outcome = partition.write(key, RowChange::Put(row), owner, 0).expect("memory");
            partition.commit(outcome.row, Timestamp(ts), Timestamp(ts));
        }
        report(name, updates.len() as u64, started);
    }

    for (name, index) in
        [("row of a 100-row primary key range", 0), ("row of a 100-row secondary key range", 1)]
    {
        let mut scanned = 0;
        let started = Instant::now();
        for _ in 0..20_000 {
            let from = random(row_count) as i64;
            let definition = &table.indexes[index];
            let lower =
                index_key_prefix(&table, definition, &[ValueRef::Int(from)]).expect("short");
            let range = KeyRange { lower: std::ops::Bound::Included(lower), ..KeyRange::all() };
            let mut scan = partition.scan(IndexId(index as u16), &range, Direction::Forward, None);
            for _ in 0..100 {
                let Some(item) = scan.next_visible(Timestamp::MAX, None) else { break };
                if let Visible::Row(row) = item.read.visible {
                    bytes += usize::from(row[row.len() / 2]);
                    scanned += 1;
                }
            }
        }
        report(name, scanned, started);
    }

    let mut locks = LockTable::new();
    let started = Instant::now();
    for key in &keys {
        owner.sequence += 1;
        locks.acquire(table.id, key, LockMode::Exclusive, owner, 0);
        locks.release_all(owner);
    }
    report("lock and release of a row", keys.len() as u64, started);

    let started = Instant::now();
    for (key, _) in &rows {
        ts += 1;
        partition.apply_committed(key, RowChange::Delete, Timestamp(ts), Timestamp(ts));
    }
    report("delete and clean-up, in key order", row_count, started);
    println!("{} bytes left; {bytes}", partition.memory_bytes());
}
