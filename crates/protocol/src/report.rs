//! What nodes tell about themselves: for `skarv desc`, `skarv mgm`, SHOW, and the tables that show locks and
//! transactions.

use types::wire::Bytes;
use types::{
    CommitId, Incarnation, IndexId, LockName, NodeId, ShardId, TableId, Timestamp, TransactionId,
    Value, View, wire_enum, wire_struct,
};

use crate::backup::{BackupReport, BackupRequest};
use crate::message::Room;

#[derive(Clone, Debug)]
pub enum ReportRequest {
    Memory,
    Partitions {
        table: TableId,
    },
    Status,
    /// The sessions of every worker, and their transactions.
    Sessions,
    /// A piece of the locks of these shards, from where the last piece ended (0 at first). A worker tells of those whose
    /// primaries it owns.
    Locks {
        from: Vec<(ShardId, u64)>,
    },
    /// What transactions have on the primaries that a worker owns.
    Holdings,
    Deadlocks,
    /// What became of a transaction that was asked to commit.
    Outcome {
        commit: CommitId,
    },
    /// Has a node copy its rows, or asks how far it is.
    Backup(BackupRequest),
    /// What the primaries on a node know of the indexes of these tables. `anew`: estimated now, whatever they kept.
    Statistics {
        tables: Vec<TableId>,
        anew: bool,
    },
}
wire_enum!(ReportRequest {
    0 => Memory,
    1 => Partitions { table },
    2 => Status,
    3 => Sessions,
    4 => Locks { from },
    5 => Holdings,
    6 => Deadlocks,
    7 => Outcome { commit },
    8 => Backup(request),
    9 => Statistics { tables, anew },
});

impl ReportRequest {
    /// Is it for each worker of a data node? Else one answers for its node.
    pub fn is_for_workers(&self) -> bool {
        match self {
            ReportRequest::Sessions
            | ReportRequest::Locks { .. }
            | ReportRequest::Holdings
            | ReportRequest::Outcome { .. } => true,
            ReportRequest::Memory
            | ReportRequest::Partitions { .. }
            | ReportRequest::Status
            | ReportRequest::Deadlocks
            | ReportRequest::Backup(_)
            | ReportRequest::Statistics { .. } => false,
        }
    }
}

#[derive(Clone, Debug)]
pub enum Report {
    Memory(MemoryReport),
    Partitions(Vec<PartitionReport>),
    Status(NodeStatus),
    /// The node did not answer in time.
    Unreachable,
    Sessions(SessionsReport),
    Locks(Vec<ShardLocks>),
    Holdings(Vec<ShardHoldings>),
    /// Newest first.
    Deadlocks(Vec<DeadlockReport>),
    /// None from a worker that has no say in it.
    Outcome(Option<TransactionOutcome>),
    Backup(BackupReport),
    Statistics(Vec<PartitionStatistics>),
}
wire_enum!(Report {
    0 => Memory(memory),
    1 => Partitions(partitions),
    2 => Status(status),
    3 => Unreachable,
    4 => Sessions(sessions),
    5 => Locks(shards),
    6 => Holdings(shards),
    7 => Deadlocks(deadlocks),
    8 => Outcome(outcome),
    9 => Backup(report),
    10 => Statistics(partitions),
});

/// What became of a transaction that was asked to commit, whose client was not told (rules.md#answers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransactionOutcome {
    /// Nobody can tell any more: it was asked about too late, or never was.
    Forgotten,
    /// It may still become either of the other two.
    InProgress,
    /// It is not committed, and never will be.
    RolledBack,
    /// It was committed, and a cluster restart began with less: it is as if it had never been.
    RolledBackByRestart,
    Committed,
}
wire_enum!(TransactionOutcome {
    0 => Forgotten,
    1 => InProgress,
    2 => RolledBack,
    3 => Committed,
    4 => RolledBackByRestart,
});

#[derive(Clone, Debug, Default)]
pub struct MemoryReport {
    pub used_bytes: u64,
    pub limit_bytes: u64,
    /// (table id, "database.table", rows of all its replicas here, bytes), in order of ids.
    pub tables: Vec<TableMemory>,
}
wire_struct!(MemoryReport { used_bytes, limit_bytes, tables });

#[derive(Clone, Debug)]
pub struct TableMemory {
    pub table: TableId,
    pub name: String,
    pub rows: u64,
    pub bytes: u64,
}
wire_struct!(TableMemory { table, name, rows, bytes });

/// One replica of one partition.
#[derive(Clone, Debug)]
pub struct PartitionReport {
    pub shard: ShardId,
    pub node: NodeId,
    pub primary: bool,
    pub rows: u64,
    pub bytes: u64,
    /// Order-free over keys, rows and commit timestamps: equal on all replicas at quiescence.
    pub checksum: u64,
}
wire_struct!(PartitionReport { shard, node, primary, rows, bytes, checksum });

/// What a primary knows of the rows of a table.
#[derive(Clone, Debug, Default)]
pub struct PartitionStatistics {
    pub table: TableId,
    pub shard: ShardId,
    pub rows: u64,
    pub indexes: Vec<IndexStatistics>,
}
wire_struct!(PartitionStatistics { table, shard, rows, indexes });

#[derive(Clone, Debug, Default)]
pub struct IndexStatistics {
    pub index: IndexId,
    /// By number of parts, from one on.
    pub prefixes: Vec<PrefixStatistics>,
    /// Beginnings of keys, in order: about as many entries are between each two.
    pub samples: Vec<Bytes>,
}
wire_struct!(IndexStatistics { index, prefixes, samples });

/// About how many different values the first parts of an index have.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrefixStatistics {
    /// Rows whose values have few rows in the partition, and these values.
    pub rare_rows: u64,
    pub rare_values: u64,
    /// The other values.
    pub common_values: u64,
}
wire_struct!(PrefixStatistics { rare_rows, rare_values, common_values });

#[derive(Clone, Debug)]
pub struct NodeStatus {
    pub node: NodeId,
    pub incarnation: Incarnation,
    pub state: NodeState,
    pub view: View,
    /// Shards that it leads.
    pub shards_led: u32,
    pub control_leader: bool,
    pub sequencer: bool,
    pub uptime_seconds: u64,
    pub transactions_open: u64,
    pub locks_held: u64,
    pub commits: u64,
    pub aborts: u64,
    pub messages_sent: u64,
    /// What it sends to a node of its group that came back.
    pub fills: Option<FillReport>,
    /// Nodes that acknowledge its messages late.
    pub late: Vec<NodeId>,
    /// What its disk has for its log.
    pub room: Room,
}
wire_struct!(NodeStatus {
    node,
    incarnation,
    state,
    view,
    shards_led,
    control_leader,
    sequencer,
    uptime_seconds,
    transactions_open,
    locks_held,
    commits,
    aborts,
    messages_sent,
    fills,
    late,
    room,
});

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    Starting,
    Started,
    /// In the configuration, not heard of.
    Down,
    /// Back, and being filled.
    Joining,
    /// Asked to stop, and about to.
    Stopping,
}
wire_enum!(NodeState { 0 => Starting, 1 => Started, 2 => Down, 3 => Joining, 4 => Stopping });

impl NodeState {
    /// As users read it.
    pub fn name(self) -> &'static str {
        match self {
            NodeState::Starting => "starting",
            NodeState::Started => "started",
            NodeState::Down => "down",
            NodeState::Joining => "joining",
            NodeState::Stopping => "stopping",
        }
    }
}

/// How far a learner is filled, of the shards that the sender leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillReport {
    pub node: NodeId,
    pub rows: u64,
    /// As many rows as there are now.
    pub rows_expected: u64,
    /// Of keys and rows sent.
    pub bytes: u64,
    /// Since it began.
    pub microseconds: u64,
}
wire_struct!(FillReport { node, rows, rows_expected, bytes, microseconds });

impl FillReport {
    /// With what other shards, or other nodes, send to the same node.
    pub fn and(self, other: FillReport) -> FillReport {
        FillReport {
            node: self.node,
            rows: self.rows + other.rows,
            rows_expected: self.rows_expected + other.rows_expected,
            bytes: self.bytes + other.bytes,
            microseconds: self.microseconds.max(other.microseconds),
        }
    }

    /// Until it is filled, at the speed there was so far; None before the first row.
    pub fn microseconds_left(&self) -> Option<u64> {
        let left = u128::from(self.rows_expected.saturating_sub(self.rows));
        let left = (left * u128::from(self.microseconds)).checked_div(u128::from(self.rows))?;
        Some(u64::try_from(left).unwrap_or(u64::MAX))
    }
}

/// One worker's sessions.
#[derive(Clone, Debug, Default)]
pub struct SessionsReport {
    pub sessions: Vec<SessionReport>,
    /// Sessions that were not told because there are too many.
    pub left_out: u64,
}
wire_struct!(SessionsReport { sessions, left_out });

#[derive(Clone, Debug)]
pub struct SessionReport {
    /// None for a session that no client's connection belongs to.
    pub connection: Option<Connection>,
    pub activity: Activity,
    pub transaction: Option<TransactionReport>,
}
wire_struct!(SessionReport { connection, activity, transaction });

/// A client's connection, as the front end knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Unique over all nodes.
    pub id: u32,
    pub user: String,
    /// The client's.
    pub host: String,
    pub database: Option<String>,
    /// "Query", "Sleep", ...
    pub command: String,
    /// Unix time in microseconds since when, by the clock of the connection's node.
    pub since_micros: i64,
    /// The text that runs, cut to some length.
    pub statement: Option<String>,
    /// What a long statement is doing, and how far it is.
    pub progress: Option<String>,
    /// "REPEATABLE READ" and so on.
    pub isolation: String,
    pub read_only: bool,
}
wire_struct!(Connection {
    id,
    user,
    host,
    database,
    command,
    since_micros,
    statement,
    progress,
    isolation,
    read_only,
});

/// What a session's coordinator does for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Nothing was asked of it.
    Idle,
    WaitsForSnapshot,
    Executes,
    Undoes,
    Commits,
    ChangesSchema,
}
wire_enum!(Activity {
    0 => Idle,
    1 => WaitsForSnapshot,
    2 => Executes,
    3 => Undoes,
    4 => Commits,
    5 => ChangesSchema,
});

/// A transaction as its coordinator knows it.
#[derive(Clone, Debug)]
pub struct TransactionReport {
    pub id: TransactionId,
    pub age_us: u64,
    /// Tables it has used.
    pub tables: u64,
    pub snapshot: Option<Timestamp>,
}
wire_struct!(TransactionReport { id, age_us, tables, snapshot });

/// A piece of the locks of one shard.
#[derive(Clone, Debug)]
pub struct ShardLocks {
    pub shard: ShardId,
    pub locks: Vec<LockReport>,
    /// Where the next piece begins; none at the end.
    pub next: Option<u64>,
    /// All locks that were there.
    pub total: u64,
}
wire_struct!(ShardLocks { shard, locks, next, total });

/// A lock that a transaction holds or waits for.
#[derive(Clone, Debug)]
pub struct LockReport {
    pub transaction: TransactionId,
    pub name: LockName,
    pub lock: LockedThing,
    pub wait: Option<LockWait>,
}
wire_struct!(LockReport { transaction, name, lock, wait });

#[derive(Clone, Debug)]
pub struct LockedThing {
    pub shard: ShardId,
    pub table: TableId,
    pub index: IndexId,
    pub mode: LockedMode,
    pub key: LockedKey,
}
wire_struct!(LockedThing { shard, table, index, mode, key });

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockedMode {
    SharedRow,
    ExclusiveRow,
    /// A range of an index up to and with the key.
    SharedRange,
    /// A range of an index up to the key and without it.
    SharedGap,
    /// A row about to be put into a range.
    InsertIntention,
}
wire_enum!(LockedMode {
    0 => SharedRow,
    1 => ExclusiveRow,
    2 => SharedRange,
    3 => SharedGap,
    4 => InsertIntention,
});

#[derive(Clone, Debug, PartialEq)]
pub enum LockedKey {
    /// The values of the index's columns, then those of the primary key's.
    Values(Vec<Value>),
    /// No row has the key, and the key alone does not tell its values.
    Unknown,
    /// A range without an upper end.
    OpenEnd,
}
wire_enum!(LockedKey { 0 => Values(values), 1 => Unknown, 2 => OpenEnd });

#[derive(Clone, Debug)]
pub struct LockWait {
    pub age_us: u64,
    /// Locks of the same table on the same shard: held, or requested earlier. The first ones, if
    /// there are many; listed with the holdings of a transaction, and not in a piece of all locks.
    pub blocked_by: Vec<BlockingLock>,
}
wire_struct!(LockWait { age_us, blocked_by });

#[derive(Clone, Debug)]
pub struct BlockingLock {
    pub transaction: TransactionId,
    pub index: IndexId,
    pub name: LockName,
}
wire_struct!(BlockingLock { transaction, index, name });

#[derive(Clone, Debug)]
pub struct ShardHoldings {
    pub shard: ShardId,
    pub holdings: Vec<Holding>,
    /// Transactions that were not told because there are too many.
    pub left_out: u64,
}
wire_struct!(ShardHoldings { shard, holdings, left_out });

/// What one transaction has on one shard.
#[derive(Clone, Debug)]
pub struct Holding {
    pub transaction: TransactionId,
    /// Row locks.
    pub locks: u64,
    /// Rows written.
    pub writes: u64,
    pub wait: Option<LockReport>,
}
wire_struct!(Holding { transaction, locks, writes, wait });

/// A circle of waiting transactions that was broken.
#[derive(Clone, Debug)]
pub struct DeadlockReport {
    pub age_us: u64,
    /// Rolled back.
    pub victim: TransactionId,
    /// Each waited for the next one, the last one for the first.
    pub members: Vec<DeadlockMember>,
}
wire_struct!(DeadlockReport { age_us, victim, members });

#[derive(Clone, Debug)]
pub struct DeadlockMember {
    pub transaction: TransactionId,
    /// The lock it waited for, unless there were too many waits to list them all.
    pub lock: Option<LockedThing>,
    /// Whose transaction it is, as soon as its coordinator has told.
    pub connection: Option<Connection>,
}
wire_struct!(DeadlockMember { transaction, lock, connection });
