//! Writes what the targets begin with: what the program itself writes, with the checksums of the targets. Run with
//! `RUSTFLAGS='--cfg fuzzing' cargo run --bin seeds` in crates/disk/fuzz, after each change of a format.

use std::path::Path;
use std::sync::Arc;

use disk::Disk;
use disk::copy::{CopyWriter, Lock};
use protocol::backup::{ArchiveContents, CopyBlock};
use protocol::disk::{CheckpointBlockWriter, CheckpointContents, CheckpointSection, DiskEntry};
use protocol::message::{Record, RecordKind, Write};
use types::wire::{Bytes, Wire};
use types::{
    ClusterId, Incarnation, Lineage, LogPosition, NodeId, ShardId, TableId, Timestamp,
    TransactionId, WorkerId,
};

mod reading;

/// Of the log in the store.
const RECORDS: usize = 40;
const SHARD: ShardId = ShardId(1);
const TABLE: TableId = TableId(9);
const LINEAGE: Lineage = Lineage(2);

fn record(position: u64, kind: RecordKind, rows: u64) -> DiskEntry {
    let transaction = TransactionId::default();
    let row = |number: u64| Write {
        table: TABLE,
        key: Bytes(number.to_be_bytes().to_vec()),
        row: number.is_multiple_of(2).then(|| Bytes(vec![7; 20])),
    };
    let record = Record { transaction, kind, writes: (0..rows).map(row).collect() };
    DiskEntry::Record { shard: SHARD, lineage: LINEAGE, position: LogPosition(position), record }
}

fn entries() -> Vec<DiskEntry> {
    let commit = |ts| RecordKind::Commit { ts, participants: vec![SHARD], joined: Vec::new() };
    vec![
        DiskEntry::Booted { incarnation: Incarnation(3) },
        DiskEntry::Begun { shard: SHARD, lineage: LINEAGE, position: LogPosition(0) },
        record(1, commit(Some(Timestamp(5))), 3),
        record(2, commit(None), 2),
        DiskEntry::Stamped {
            shard: SHARD,
            lineage: LINEAGE,
            position: LogPosition(2),
            ts: Timestamp(6),
        },
        record(3, RecordKind::Prepare { home: SHARD }, 2),
        record(4, RecordKind::Decision { commit: Some(Timestamp(7)) }, 0),
        record(5, RecordKind::Part { lower_bound: Timestamp(7) }, 2),
        record(6, RecordKind::Closed { at: Timestamp(1 << 20) }, 0),
        DiskEntry::Rested { incarnation: Incarnation(3) },
    ]
}

fn block() -> Vec<u8> {
    let mut rows = CheckpointBlockWriter::new(SHARD, TABLE);
    for number in 0..20u64 {
        rows.add(&number.to_be_bytes(), Timestamp(number), &[3; 30]);
    }
    rows.take()
}

fn contents() -> CheckpointContents {
    let section = CheckpointSection {
        number: 1,
        shard: SHARD,
        table: TABLE,
        up_to: None,
        begin: 10,
        rows: 20,
        bytes: 900,
    };
    let (newest, sections) = (Timestamp(8), vec![section]);
    CheckpointContents { newest, lineage: LINEAGE, shards: vec![(SHARD, 10)], sections }
}

/// What the target of stores reads: name, length, bytes.
fn add_file(seed: &mut Vec<u8>, name: usize, bytes: &[u8]) {
    // Most of a log's file are places that nothing was written to yet.
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0);
    let length = bytes.len().min(last + 64);
    seed.push(name as u8);
    seed.extend((length as u16).to_le_bytes());
    seed.extend(&bytes[..length]);
}

fn store() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::open(&reading::options(dir.path())).unwrap();
    disk.start(Arc::new(|_| ()), Arc::new(|why| panic!("{why}")), Arc::new(|| ()), || ()).unwrap();
    for _ in 0..RECORDS / entries().len() {
        for entry in entries() {
            disk.append(0, |out| entry.encode(out));
            disk.flush(0);
            while disk.durable(0) < disk.end(0) {
                std::thread::yield_now();
            }
        }
    }
    // Two: of one that is the first nobody knows yet whether it may be begun with.
    for number in 1..=2 {
        disk.begin_checkpoint(0);
        disk.begin_section(0, number);
        disk.add_block(0, block());
        disk.end_checkpoint(0, 0..10, contents().to_bytes());
        while disk.is_writing_checkpoint(0) {
            std::thread::yield_now();
        }
    }
    drop(disk);
    let mut seed = Vec::new();
    for (number, name) in reading::NAMES.iter().enumerate() {
        if let Ok(bytes) = std::fs::read(dir.path().join("part-0").join(name)) {
            add_file(&mut seed, number, &bytes);
        }
    }
    seed
}

fn copy(lock: Option<&Lock>) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("copy");
    let mut writer = CopyWriter::create(&path, lock, [5; 24]).unwrap();
    let of = ArchiveContents {
        cluster: ClusterId(7),
        node: NodeId(2),
        part: WorkerId(0),
        store: 1,
        from: 0,
    };
    let places = (1u64..).zip(entries()).map(|(place, entry)| (place, Bytes(entry.to_bytes())));
    for block in [
        CopyBlock::Archive(of),
        CopyBlock::Begins(vec![(SHARD, 10)]),
        CopyBlock::Rows(Bytes(block())),
        CopyBlock::Entries(places.collect()),
        CopyBlock::End { up_to: 11 },
    ] {
        writer.add(&block.to_bytes()).unwrap();
    }
    writer.end().unwrap();
    std::fs::read(path).unwrap()
}

fn of_entries() -> Vec<u8> {
    let mut seed = Vec::new();
    let mut add = |kind: u8, bytes: Vec<u8>| {
        seed.push(kind);
        seed.extend((bytes.len() as u16).to_le_bytes());
        seed.extend(bytes);
    };
    add(2, contents().to_bytes());
    add(1, block());
    entries().iter().for_each(|entry| add(0, entry.to_bytes()));
    add(3, CopyBlock::End { up_to: 3 }.to_bytes());
    seed
}

fn main() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let write = |target: &str, name: &str, bytes: Vec<u8>| {
        let dir = corpus.join(target);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(name), bytes).unwrap();
    };
    let store = store();
    assert_eq!(reading::read(&store), Some((2, RECORDS)), "blocks and records");
    write("store", "written", store);
    write("copy", "plain", copy(None));
    write("copy", "with_a_key", copy(Some(&Lock { key: [7; 32], password: None })));
    write("entries", "written", of_entries());
}
