//! Every message travels unharmed, and nothing else is taken for one: frames of each kind come back as they went, a cut or
//! flipped frame is refused, and hostile bytes with a right checksum decode to an error or a message, never a panic. So do those of files.

use std::collections::BTreeSet;
use std::ops::Bound;

use protocol::backup::{
    ArchiveContents, ArchiveMark, BackupContents, BackupPart, CopyBlock, History,
};
use protocol::catalogue::CATALOGUE;
use protocol::control::{ControlOutcome, RaftMessage};
use protocol::disk::*;
use protocol::envelope::{
    EnvelopeError, FRAME_SIZE_MIN, Header, decode_header, decode_message, encode_frame,
};
use protocol::message::*;
use protocol::op::*;
use protocol::report::*;
use protocol::restart::{LostTransaction, NodeLoaded};
use protocol::schema::{SchemaChange, SchemaError};
use protocol::{Message, Refusal};
use types::convert::EvalSettings;
use types::expr::{Aggregate, AggregateFunction, BinaryOp, OrderKey};
use types::temporal::DateModes;
use types::wire::{Bytes, Wire};
use types::*;

/// A record that a learner is filled with.
fn filling(kind: RecordKind) -> Message {
    let record = Record { transaction: TransactionId::default(), kind, writes: Vec::new() };
    let (position, commit_index) = (LogPosition(9), LogPosition(8));
    let schema = SchemaVersion(4);
    Message::Replicate(Replicate { shard: ShardId(3), position, commit_index, schema, record })
}

fn transaction() -> TransactionId {
    TransactionId {
        coordinator: Address { node: NodeId(2), worker: WorkerId(1) },
        incarnation: Incarnation(0xdead_beef),
        sequence: 77,
    }
}

fn expression() -> Expr {
    let less = Expr::Binary(
        BinaryOp::Less,
        Box::new(Expr::Column(1)),
        Box::new(Expr::Const(Value::Int(-5))),
    );
    Expr::And(vec![less, Expr::IsNull(Box::new(Expr::Param(0)), true)])
}

fn ops() -> Vec<(u16, Op)> {
    let key = Bytes(b"key".to_vec());
    let row = Bytes(vec![0, 1, 2]);
    let scan = Scan {
        index: IndexId(1),
        ranges: vec![
            KeyRange { lower: Bound::Included(vec![1]), upper: Bound::Excluded(vec![2]) },
            KeyRange::all(),
        ],
        reverse: true,
        filter: Some(expression()),
        output: ScanOutput::Groups {
            group_by: vec![Expr::Column(0)],
            aggregates: vec![Aggregate {
                function: AggregateFunction::GroupConcat { separator: ";".into(), length_max: 9 },
                argument: Some(Expr::Column(2)),
                distinct: true,
                order_by: vec![OrderKey { expr: Expr::Column(3), descending: true }],
            }],
        },
        limit: Some(10),
        lock: Lock::Shared,
        semi_consistent: true,
        peek: true,
        resume: Some(Bytes(vec![9])),
        shard: Some(ShardId(3)),
    };
    let kinds = vec![
        OpKind::Read {
            key: key.clone(),
            lock: Lock::Exclusive,
            filter: Some(expression()),
            columns: Columns::Only(vec![0, 2]),
        },
        OpKind::Insert { key: key.clone(), row: row.clone() },
        OpKind::Put { key: key.clone(), row },
        OpKind::Update {
            key: key.clone(),
            filter: None,
            assignments: vec![Assignment { column: 1, value: expression() }],
            returning: true,
        },
        OpKind::Delete { key, filter: None },
        OpKind::Scan(Box::new(scan)),
    ];
    let op = |kind| Op { table: TableId(5), version: SchemaVersion(9), kind };
    (0u16..).zip(kinds.into_iter().map(op)).collect()
}

/// One message of every kind.
fn messages() -> Vec<Message> {
    let transaction = transaction();
    let shard = ShardId(3);
    let request = 12;
    let position = LogPosition(8);
    let ts = Timestamp::new(1, 99);
    let result = BatchResult {
        results: vec![vec![
            OpResult::Row(Some(Bytes(vec![1]))),
            OpResult::Done,
            OpResult::Updated { matched: true, changed: false, row: None },
            OpResult::Deleted(true),
            OpResult::Rows(RowBatch { next: Some(Bytes(vec![1])), ..RowBatch::default() }),
            OpResult::Groups(GroupBatch::default()),
        ]],
        positions: vec![0],
        warnings: vec![],
    };
    vec![
        Message::Raft(RaftMessage { home: Home(7), payload: Bytes(vec![1, 2, 3]) }),
        Message::RegisterNode(RegisterNode {
            config_digest: 5,
            home: Home(7),
            disk: DiskFound {
                points: vec![DiskPoint { at: ts, lineage: Lineage(1) }],
                done: vec![CheckpointMark { at: ts, lineage: Lineage(1), table_id_next: 5 }],
                boots: vec![Incarnation(9)],
                rested: Some(Incarnation(9)),
                is_used: true,
            },
            loaded: Loaded::Rows,
        }),
        Message::ChangeSchema(ChangeSchema {
            sequence: 1,
            change: SchemaChange::CreateDatabase {
                name: "d".into(),
                collation: Collation::DEFAULT,
            },
        }),
        Message::ChangeSchemaDone(ChangeSchemaDone {
            sequence: 1,
            outcome: ControlOutcome::Refused(SchemaError::TableExists("t".into())),
        }),
        Message::SchemaAdopted(SchemaAdopted {
            version: SchemaVersion(4),
            given_up: vec![(TableId(5), IndexId(2))],
        }),
        Message::ControlCopy(ControlCopy { state: Bytes(vec![0; 100]) }),
        Message::Execute(Box::new(Execute {
            transaction,
            request,
            shard,
            statement: 2,
            ops: ops(),
            params: vec![Value::Null, Value::Double(1.5)],
            read: ReadView::Snapshot(ts),
            commit: true,
            settings: EvalSettings {
                strict: true,
                now: Date::MAX.at_midnight(),
                time_zone_offset_seconds: -3600,
                date_modes: DateModes { truncate_fractions: true, ..DateModes::default() },
                ignore_division_by_zero: true,
            },
            lock_wait_timeout_ms: 50_000,
            wait: WaitPolicy::SkipLocked,
            lock_ranges: true,
            refuse_changed: true,
            started: 123,
        })),
        Message::ExecuteOk(ExecuteOk {
            transaction,
            request,
            shard,
            result,
            holds: Holds::Writes,
            committed: Committed::WhenHeld(position),
        }),
        Message::ExecuteRefused(ExecuteRefused {
            transaction,
            request,
            shard,
            refusal: Refusal::DuplicateKey { table: TableId(5), index: IndexId(1) },
            holds: Holds::Locks,
        }),
        Message::Undo(Undo { transaction, request, shard, statement: 2 }),
        Message::UndoOk(UndoOk { transaction, request, shard }),
        Message::Prepare(Prepare { transaction, request, shard, home: ShardId(0) }),
        Message::PrepareOk(PrepareOk {
            transaction,
            request,
            shard,
            held_at: Some(position),
            min_commit: ts,
            epoch_max: 1,
        }),
        Message::Commit(Commit {
            transaction,
            request,
            shard,
            participants: vec![ShardId(1)],
            min_commit: ts,
            epoch_max: 1,
        }),
        Message::CommitOk(CommitOk {
            transaction,
            request,
            shard,
            committed: Committed::Decided(ts),
        }),
        Message::Decide(Decide { transaction, shard, commit: None }),
        Message::Cancel(Cancel { transaction, request, shard }),
        Message::TransactionUnknown(TransactionUnknown { transaction, request, shard }),
        Message::NodeDead(NodeDead { node: NodeId(3), incarnation: Incarnation(9) }),
        Message::RowsLoaded(RowsLoaded {
            incarnation: Incarnation(9),
            begun: 12,
            loaded: NodeLoaded { node: NodeId(2), rows: 7, ..NodeLoaded::default() },
            lost_first: vec![LostTransaction {
                commit: CommitId { transaction, shard },
                ts: Some(ts),
                node: NodeId(2),
            }],
        }),
        Message::Probe(Probe {}),
        Message::Excluded(Excluded { incarnation: Incarnation(9) }),
        Message::Alive(Alive {
            at: 77,
            unheard: vec![NodeId(3)],
            stalled: vec![NodeId(4)],
            round_trips: vec![RoundTrip { node: NodeId(4), microseconds: 1_500 }],
            is_stopping: true,
            room: Room::Reserve,
            is_disk_behind: true,
            memory: Memory {
                left: Space { pages: 5, blocks: 50 },
                owed: Space { pages: 3, blocks: 20 },
            },
        }),
        Message::MemoryLeft(Memory::default()),
        Message::LeaseGranted(LeaseGranted { incarnation: Incarnation(9), at: 77 }),
        Message::StopNode(StopNode { restart: true }),
        Message::AskLeave(AskLeave { incarnation: Incarnation(9) }),
        Message::Handover(Handover { begun: 12, step: HandoverStep::AllDrained }),
        Message::LearnerReady(LearnerReady { shard, node: NodeId(3), incarnation: Incarnation(9) }),
        Message::AskOutcome(AskOutcome {
            transaction,
            request,
            shard,
            of_several: true,
            age_us: 8,
        }),
        Message::Outcome(Outcome {
            transaction,
            request,
            shard,
            known: KnownOutcome::Committed(Timestamp(5)),
        }),
        Message::AskDecision(AskDecision {
            transaction,
            shard,
            participant: ShardId(2),
            age_us: 9,
        }),
        Message::Replicate(Replicate {
            shard,
            position,
            commit_index: LogPosition(7),
            schema: SchemaVersion(4),
            record: Record {
                transaction,
                kind: RecordKind::Commit {
                    ts: None,
                    participants: vec![shard],
                    joined: vec![transaction],
                },
                writes: vec![Write { table: TableId(5), key: Bytes(vec![1]), row: None }],
            },
        }),
        filling(RecordKind::Decisions {
            decided: vec![(transaction, ts)],
            forgotten: Forgotten {
                up_to: vec![(transaction.coordinator, transaction.incarnation, 7)],
                over: vec![transaction.incarnation],
            },
        }),
        filling(RecordKind::Copy {
            table: TableId(5),
            rows: vec![
                CopiedRow {
                    key: Bytes(vec![1]),
                    version: CopiedVersion::Pending(CopiedPending {
                        transaction,
                        home: Some(shard),
                        age_us: 5,
                        row: None,
                    }),
                },
                CopiedRow {
                    key: Bytes(vec![]),
                    version: CopiedVersion::Committed(ts, Bytes(vec![2, 3])),
                },
            ],
            complete_from: ts,
        }),
        filling(RecordKind::Offer {
            table: TableId(5),
            after: Some(Bytes(vec![1])),
            pieces: vec![OfferedPiece {
                up_to: Some(Bytes(vec![9])),
                sum: RowsSum { rows: 7, hash: 8 },
            }],
            complete_from: ts,
        }),
        filling(RecordKind::Verify {
            table: TableId(5),
            after: None,
            up_to: Some(Bytes(vec![9])),
            sum: RowsSum { rows: 7, hash: 8 },
        }),
        Message::ReplicateOk(ReplicateOk { shard, position, stamps: vec![(position, ts)] }),
        Message::CommitIndex(CommitIndex { shard, position }),
        Message::AskTail(AskTail { shard, behind: position }),
        Message::Tail(Tail { shard, position }),
        Message::OfferAnswer(OfferAnswer {
            shard,
            position,
            differing: vec![KeySpan {
                table: TableId(5),
                after: None,
                up_to: Some(Bytes(vec![9])),
            }],
            kept: 64,
        }),
        Message::LoadRows(LoadRows { incarnation: Incarnation(9), at: ts, applied: 7 }),
        Message::JoinMarker(JoinMarker { shard, position, epoch_max: 3 }),
        Message::SnapshotRequest(SnapshotRequest { request }),
        Message::SnapshotGranted(SnapshotGranted { request, at: ts }),
        Message::TimestampRequest(TimestampRequest { request, count: 3 }),
        Message::TimestampGranted(TimestampGranted { request, first: ts, count: 3 }),
        Message::HorizonReport(HorizonReport { oldest: Some(ts), granted: 4 }),
        Message::HorizonAdvanced(HorizonAdvanced { horizon: ts, time: 7_200_000_000 }),
        filling(RecordKind::Closed { at: ts }),
        Message::CloseLogs(CloseLogs { at: ts, applied: 9 }),
        Message::LogsClosed(LogsClosed { at: ts, shards: vec![shard], members: vec![NodeId(3)] }),
        Message::LogsDurable(LogsDurable { at: ts }),
        Message::AwaitCheckpoint(AwaitCheckpoint { request }),
        Message::CheckpointDone(CheckpointDone { at: ts, request }),
        Message::WaitEdges(WaitEdges {
            edges: vec![WaitEdge { waiter: transaction, holder: transaction, started: 1 }],
            locks: vec![(transaction, locked_thing())],
        }),
        Message::BreakDeadlock(BreakDeadlock { transaction }),
        Message::DeadlockFound(DeadlockFound {
            victim: transaction,
            members: vec![DeadlockMember {
                transaction,
                lock: Some(locked_thing()),
                connection: None,
            }],
        }),
        Message::DeadlockQuery(DeadlockQuery { transactions: vec![transaction] }),
        Message::DeadlockAnswer(DeadlockAnswer { connections: vec![(transaction, connection())] }),
        Message::ReportRequest(ReportQuery {
            request,
            query: ReportRequest::Partitions { table: TableId(5) },
        }),
        Message::ReportRequest(ReportQuery {
            request,
            query: ReportRequest::Locks { from: vec![(shard, 1 << 32)] },
        }),
        Message::ReportRequest(ReportQuery {
            request,
            query: ReportRequest::Statistics { tables: vec![TableId(5), TableId(9)], anew: true },
        }),
        Message::ReportAnswer(ReportAnswer {
            request,
            report: Report::Statistics(vec![PartitionStatistics {
                table: TableId(5),
                shard,
                rows: 70,
                indexes: vec![IndexStatistics {
                    index: IndexId(1),
                    prefixes: vec![PrefixStatistics {
                        rare_rows: 20,
                        rare_values: 7,
                        common_values: 3,
                    }],
                    samples: vec![Bytes(b"a".to_vec()), Bytes(b"b".to_vec())],
                }],
            }]),
        }),
        Message::ReportAnswer(ReportAnswer {
            request,
            report: Report::Memory(MemoryReport::default()),
        }),
        Message::ReportAnswer(ReportAnswer {
            request,
            report: Report::Sessions(SessionsReport {
                sessions: vec![SessionReport {
                    connection: Some(connection()),
                    activity: Activity::Commits,
                    transaction: Some(TransactionReport {
                        id: transaction,
                        age_us: 9,
                        tables: 1,
                        snapshot: Some(ts),
                    }),
                }],
                left_out: 1,
            }),
        }),
        Message::ReportAnswer(ReportAnswer {
            request,
            report: Report::Holdings(vec![ShardHoldings {
                shard,
                holdings: vec![Holding {
                    transaction,
                    locks: 2,
                    writes: 1,
                    wait: Some(LockReport {
                        transaction,
                        name: LockName::Wait(7),
                        lock: locked_thing(),
                        wait: Some(LockWait {
                            age_us: 3,
                            blocked_by: vec![BlockingLock {
                                transaction,
                                index: IndexId(1),
                                name: LockName::Range(4),
                            }],
                        }),
                    }),
                }],
                left_out: 0,
            }]),
        }),
    ]
}

fn locked_thing() -> LockedThing {
    LockedThing {
        shard: ShardId(1),
        table: TableId(5),
        index: IndexId(1),
        mode: LockedMode::SharedGap,
        key: LockedKey::Values(vec![Value::Int(1)]),
    }
}

fn connection() -> Connection {
    Connection {
        id: 7,
        user: "root".into(),
        host: "localhost".into(),
        database: Some("d".into()),
        command: "Query".into(),
        since_micros: -1,
        statement: Some("SELECT 1".into()),
        progress: Some("copy to tmp table".into()),
        isolation: "REPEATABLE READ".into(),
        read_only: false,
    }
}

fn header() -> Header {
    Header {
        cluster: ClusterId(1),
        lineage: Lineage(1),
        from: Address { node: NodeId(2), worker: WorkerId(0) },
        to: Address { node: NodeId(3), worker: WorkerId(0) },
        incarnation: Incarnation(7),
        sequence: 5,
        acknowledged: 4,
        group: GroupId(0),
        view: View(1),
    }
}

fn frame(message: Option<&Message>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_frame(&header(), message, &mut bytes);
    bytes
}

/// The list above and the catalogue name the same kinds, and every message comes back byte for byte.
#[test]
fn every_message_travels_unharmed() {
    let listed: BTreeSet<&str> = messages().iter().map(Message::name).collect();
    let known: BTreeSet<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
    assert_eq!(listed, known);
    for message in messages() {
        let bytes = frame(Some(&message));
        assert_eq!(decode_header(&bytes), Ok(header()), "{}", message.name());
        let decoded = decode_message(&bytes).expect("decodes").expect("has a message");
        assert_eq!(frame(Some(&decoded)), bytes, "{}", message.name());
    }
    let bare = frame(None);
    assert_eq!(bare.len(), FRAME_SIZE_MIN);
    assert!(decode_message(&bare).expect("an acknowledgement").is_none());
}

/// A frame that was cut or in which any one bit was flipped is refused before its message is looked at.
#[test]
fn damaged_frames_are_refused() {
    for message in messages() {
        let bytes = frame(Some(&message));
        for cut in 0..bytes.len() {
            assert!(decode_header(&bytes[..cut]).is_err(), "{} cut at {cut}", message.name());
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode_header(&damaged).is_err(), "{} bit {bit}", message.name());
        }
    }
}

/// What is not ours is told apart: another protocol, another version.
#[test]
fn strangers_are_named() {
    assert_eq!(decode_header(b"GET / HTTP/1.1\r\n\r\n"), Err(EnvelopeError::NotSkarv));
    let mut other = frame(None);
    let theirs = protocol::PROTOCOL_VERSION + 1;
    other[2..4].copy_from_slice(&theirs.to_le_bytes());
    assert_eq!(decode_header(&other), Err(EnvelopeError::Version { theirs }));
}

/// Changes bytes, and cuts some off, again and again; returns how many of the results are refused.
fn refused_of(
    bytes: &[u8],
    random: &mut impl FnMut() -> u64,
    is_refused: impl Fn(&[u8]) -> bool,
) -> u32 {
    assert!(!is_refused(bytes), "whole ones are taken");
    let mut refused = 0;
    for _ in 0..400 {
        let mut hostile = bytes.to_vec();
        for _ in 0..1 + random() % 4 {
            let at = (random() % hostile.len() as u64) as usize;
            hostile[at] = random() as u8;
        }
        if random().is_multiple_of(4) {
            hostile.truncate((random() % bytes.len() as u64) as usize);
        }
        refused += u32::from(is_refused(&hostile));
    }
    refused
}

fn random_numbers() -> impl FnMut() -> u64 {
    let mut state = 0x1234_5678_9abc_def0u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// A hostile peer can make the checksum right: whatever the message's bytes are, decoding them ends in a value or an error.
#[test]
fn hostile_messages_never_panic() {
    let mut random = random_numbers();
    let mut refused = 0;
    for message in messages() {
        let is_refused = |hostile: &[u8]| Message::from_bytes(hostile).is_err();
        refused += refused_of(&message.to_bytes(), &mut random, is_refused);
    }
    assert!(refused > 1_000, "only {refused} of 12,800 damaged messages were refused");
}

/// So can who writes to the files of a node, of a backup or of an archive.
#[test]
fn hostile_files_never_panic() {
    let (shard, lineage, position) = (ShardId(3), Lineage(2), LogPosition(9));
    let mut entries = vec![
        DiskEntry::Stamped { shard, lineage, position, ts: Timestamp(5) }.to_bytes(),
        DiskEntry::Checkpointed {
            mark: CheckpointMark { at: Timestamp(7), lineage, table_id_next: 5 },
        }
        .to_bytes(),
    ];
    for message in messages() {
        if let Message::Replicate(Replicate { record, .. }) = message {
            let mut bytes = Vec::new();
            encode_record(shard, lineage, position, &record, &mut bytes);
            entries.push(bytes);
        }
    }
    assert!(6 < entries.len(), "records of several kinds");
    let mut writer = CheckpointBlockWriter::new(shard, TableId(7));
    for number in 0..5 {
        writer.add(&[number; 9], Timestamp(u64::from(number)), &[1; 30]);
    }
    let rows = writer.take();
    let contents = CheckpointContents {
        newest: Timestamp(9),
        lineage,
        shards: vec![(shard, 77), (ShardId(4), 78)],
        sections: vec![CheckpointSection {
            number: 1,
            shard,
            table: TableId(7),
            up_to: Some(Bytes(vec![4; 9])),
            begin: 77,
            rows: 5,
            bytes: rows.len() as u64,
        }],
    };
    let (cluster, node, part) = (ClusterId(5), NodeId(2), WorkerId(1));
    let restarts = [(Lineage(1), Timestamp(3))].into();
    let history = History { lineage, restarts, catalogue: Catalogue::default() };
    let backup = BackupContents {
        cluster,
        id: 1,
        run: 2,
        at: Timestamp(8),
        unix_micros: 9,
        history: history.clone(),
        parts: vec![BackupPart { node, part, shards: vec![shard] }],
    };
    let copies = [
        CopyBlock::Backup { contents: backup, part: 0, store: 4 },
        CopyBlock::Archive(ArchiveContents { cluster, node, part, store: 4, from: 5 }),
        CopyBlock::Begins(contents.shards.clone()),
        CopyBlock::Rows(Bytes(rows.clone())),
        CopyBlock::Entries(entries.iter().map(|entry| (9, Bytes(entry.clone()))).collect()),
        CopyBlock::Mark(ArchiveMark { unix_micros: 3, at: Timestamp(4), history: Some(history) }),
        CopyBlock::End { up_to: 6 },
    ];

    let mut random = random_numbers();
    let mut refused = 0;
    for entry in &entries {
        let is_refused = |hostile: &[u8]| {
            _ = DiskEntry::without_rows(hostile);
            DiskEntry::from_bytes(hostile).is_err()
        };
        refused += refused_of(entry, &mut random, is_refused);
    }
    refused +=
        refused_of(&rows, &mut random, |hostile| CheckpointBlock::from_bytes(hostile).is_err());
    let is_refused = |hostile: &[u8]| CheckpointContents::from_bytes(hostile).is_err();
    refused += refused_of(&contents.to_bytes(), &mut random, is_refused);
    for copy in &copies {
        let is_refused = |hostile: &[u8]| CopyBlock::from_bytes(hostile).is_err();
        refused += refused_of(&copy.to_bytes(), &mut random, is_refused);
    }
    assert!(refused > 1_000, "only {refused} damaged blocks and entries were refused");
}
