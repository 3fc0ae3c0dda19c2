//! The messages between nodes: one variant each, each field with one meaning.
//!
//! Delivery is in order and exactly once between two boots of two workers (the kernel's channels see to it), so no
//! exchange has a retry of its own; a message is lost only with its sender or receiver.

use types::convert::EvalSettings;
use types::wire::Bytes;
use types::{
    Address, Home, Incarnation, IndexId, Lineage, LogPosition, NodeId, SchemaVersion, ShardId,
    Space, TableId, Timestamp, TransactionId, Value, wire_enum, wire_struct,
};

use crate::control::{ControlOutcome, RaftMessage};
use crate::op::{BatchResult, Op, WaitPolicy};
use crate::refusal::Refusal;
use crate::report::{Connection, DeadlockMember, LockedThing, Report, ReportRequest};
use crate::restart::{LostTransaction, NodeLoaded};
use crate::schema::SchemaChange;

#[derive(Clone, Debug)]
pub enum Message {
    // Control plane.
    Raft(RaftMessage),
    RegisterNode(RegisterNode),
    ChangeSchema(ChangeSchema),
    ChangeSchemaDone(ChangeSchemaDone),
    SchemaAdopted(SchemaAdopted),
    ControlCopy(ControlCopy),
    NodeDead(NodeDead),
    LearnerReady(LearnerReady),
    Excluded(Excluded),
    Alive(Alive),
    LeaseGranted(LeaseGranted),
    MemoryLeft(Memory),
    Probe(Probe),
    StopNode(StopNode),
    AskLeave(AskLeave),
    Handover(Handover),
    RowsLoaded(RowsLoaded),
    LoadRows(LoadRows),
    // Transactions: coordinator and participant.
    Execute(Box<Execute>),
    ExecuteOk(ExecuteOk),
    ExecuteRefused(ExecuteRefused),
    Undo(Undo),
    UndoOk(UndoOk),
    Prepare(Prepare),
    PrepareOk(PrepareOk),
    Commit(Commit),
    CommitOk(CommitOk),
    Decide(Decide),
    Cancel(Cancel),
    TransactionUnknown(TransactionUnknown),
    AskOutcome(AskOutcome),
    Outcome(Outcome),
    AskDecision(AskDecision),
    // Replication: primary and backup.
    Replicate(Replicate),
    ReplicateOk(ReplicateOk),
    CommitIndex(CommitIndex),
    JoinMarker(JoinMarker),
    OfferAnswer(OfferAnswer),
    AskTail(AskTail),
    Tail(Tail),
    // Timestamps.
    SnapshotRequest(SnapshotRequest),
    SnapshotGranted(SnapshotGranted),
    TimestampRequest(TimestampRequest),
    TimestampGranted(TimestampGranted),
    HorizonReport(HorizonReport),
    HorizonAdvanced(HorizonAdvanced),
    // Global checkpoints.
    CloseLogs(CloseLogs),
    LogsClosed(LogsClosed),
    LogsDurable(LogsDurable),
    AwaitCheckpoint(AwaitCheckpoint),
    CheckpointDone(CheckpointDone),
    // Deadlocks.
    WaitEdges(WaitEdges),
    BreakDeadlock(BreakDeadlock),
    DeadlockFound(DeadlockFound),
    DeadlockQuery(DeadlockQuery),
    DeadlockAnswer(DeadlockAnswer),
    // Reports.
    ReportRequest(ReportQuery),
    ReportAnswer(ReportAnswer),
}
wire_enum!(Message {
    0 => Raft(m), 1 => RegisterNode(m), 2 => ChangeSchema(m), 3 => ChangeSchemaDone(m),
    4 => SchemaAdopted(m), 5 => ControlCopy(m), 6 => NodeDead(m),
    7 => LearnerReady(m), 8 => Excluded(m), 9 => Alive(m), 10 => LeaseGranted(m), 31 => MemoryLeft(m),
    11 => AskLeave(m), 12 => Handover(m), 13 => StopNode(m), 14 => Probe(m), 15 => RowsLoaded(m),
    16 => Execute(m), 17 => ExecuteOk(m), 18 => ExecuteRefused(m), 19 => Undo(m), 20 => UndoOk(m),
    21 => Prepare(m), 22 => PrepareOk(m), 23 => Commit(m), 24 => CommitOk(m), 25 => Decide(m),
    26 => Cancel(m), 27 => TransactionUnknown(m), 28 => AskOutcome(m), 29 => Outcome(m), 30 => AskDecision(m),
    32 => Replicate(m), 33 => ReplicateOk(m), 34 => CommitIndex(m), 35 => JoinMarker(m),
    36 => AskTail(m), 37 => Tail(m), 38 => OfferAnswer(m), 39 => LoadRows(m),
    40 => SnapshotRequest(m), 41 => SnapshotGranted(m), 42 => TimestampRequest(m),
    43 => TimestampGranted(m), 44 => HorizonReport(m), 45 => HorizonAdvanced(m),
    48 => WaitEdges(m), 49 => BreakDeadlock(m), 50 => DeadlockFound(m), 51 => DeadlockQuery(m),
    53 => DeadlockAnswer(m),
    56 => ReportRequest(m), 57 => ReportAnswer(m),
    64 => CloseLogs(m), 65 => LogsClosed(m), 66 => LogsDurable(m), 67 => AwaitCheckpoint(m), 68 => CheckpointDone(m),
});

impl Message {
    /// Sent beside the channels: neither numbered nor sent again.
    pub fn is_unnumbered(&self) -> bool {
        matches!(
            self,
            Message::Excluded(_)
                | Message::Alive(_)
                | Message::LeaseGranted(_)
                | Message::MemoryLeft(_)
        )
    }
}

/// A node that started asks the control plane's leader for admission; sent again until the node finds itself in the state.
#[derive(Clone, Debug)]
pub struct RegisterNode {
    /// A digest of the sender's configuration: nodes that were configured differently refuse each other.
    pub config_digest: u64,
    pub home: Home,
    /// What it could begin with in a cluster restart.
    pub disk: DiskFound,
    /// It has loaded what its disk has, as it was asked to by [`LoadRows`].
    pub loaded: Loaded,
}
wire_struct!(RegisterNode { config_digest, home, disk, loaded });

/// The state of the disk of a boot that asks for admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// It was not asked to load anything yet.
    NotYet,
    Loading,
    /// It has the rows.
    Rows,
    /// There are none, or it could not load them.
    Nothing,
}
wire_enum!(Loaded { 0 => NotYet, 1 => Loading, 2 => Rows, 3 => Nothing });

/// The leader lets a boot in that comes back into a living group when it has loaded what its disk has: it is compared then, and only what
/// differs is copied.
#[derive(Clone, Debug)]
pub struct LoadRows {
    pub incarnation: Incarnation,
    /// What was committed up to this: its logs are closed there.
    pub at: Timestamp,
    /// By the control state of this entry, or a later one: it says what restarts have cut off.
    pub applied: u64,
}
wire_struct!(LoadRows { incarnation, at, applied });

/// What a data node has found on its disk when it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskFound {
    /// All logs of the node are closed at these timestamps, and whole up to there; the newest, in ascending order.
    pub points: Vec<DiskPoint>,
    /// Those of them at which a global checkpoint is known to have been done; the newest, in ascending order.
    pub done: Vec<CheckpointMark>,
    /// The boots that this disk has served, if it has been whole since the first of them.
    pub boots: Vec<Incarnation>,
    /// The boot before, if it was stopped as planned with its cluster: everything that it has committed is on the disks.
    pub rested: Option<Incarnation>,
    /// It has the log of some shard: there is a cluster that knows of it.
    pub is_used: bool,
}
wire_struct!(DiskFound { points, done, boots, rested, is_used });

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiskPoint {
    pub at: Timestamp,
    /// Written in this lineage.
    pub lineage: Lineage,
}
wire_struct!(DiskPoint { at, lineage });

/// A global checkpoint that this disk is one of: to there its logs are what those of all others were, and all of it is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckpointMark {
    pub at: Timestamp,
    pub lineage: Lineage,
    /// Tables that there were then have lower ids, and their unique keys were filled.
    pub table_id_next: u32,
}
wire_struct!(CheckpointMark { at, lineage, table_id_next });

/// A member of a cluster restart has loaded its rows; sent again until views are formed.
#[derive(Clone, Debug)]
pub struct RowsLoaded {
    pub incarnation: Incarnation,
    /// The place in the log of the entry that began it.
    pub begun: u64,
    pub loaded: NodeLoaded,
    /// The first commits that it has passed over, in the order of their timestamps.
    pub lost_first: Vec<LostTransaction>,
}
wire_struct!(RowsLoaded { incarnation, begun, loaded, lost_first });

/// A node asks the leader for a schema change; sent again, with the same sequence, until it is answered.
#[derive(Clone, Debug)]
pub struct ChangeSchema {
    pub sequence: u64,
    pub change: SchemaChange,
}
wire_struct!(ChangeSchema { sequence, change });

/// The change is in the log and every node has adopted it, or it was refused.
#[derive(Clone, Debug)]
pub struct ChangeSchemaDone {
    pub sequence: u64,
    pub outcome: ControlOutcome,
}
wire_struct!(ChangeSchemaDone { sequence, outcome });

/// No transaction of the sender uses a catalogue older than this, and its building indexes are filled.
#[derive(Clone, Debug, Default)]
pub struct SchemaAdopted {
    pub version: SchemaVersion,
    /// But these: they do not fit into its memory, and it has given them up.
    pub given_up: Vec<(TableId, IndexId)>,
}
wire_struct!(SchemaAdopted { version, given_up });

/// The control state, for a node that is not a voter.
#[derive(Clone, Debug)]
pub struct ControlCopy {
    pub state: Bytes,
}
wire_struct!(ControlCopy { state });

/// A node knows for certain that this boot of another is over; sent again until the control state says so.
#[derive(Clone, Debug)]
pub struct NodeDead {
    pub node: NodeId,
    pub incarnation: Incarnation,
}
wire_struct!(NodeDead { node, incarnation });

/// A primary reports that the learner of its group holds this shard, and that it acknowledges no commit without it; sent again
/// until the control state has the promotion.
#[derive(Clone, Debug)]
pub struct LearnerReady {
    pub shard: ShardId,
    pub node: NodeId,
    pub incarnation: Incarnation,
}
wire_struct!(LearnerReady { shard, node, incarnation });

/// The operator wants the receiver to stop: it hands over, and its process ends.
#[derive(Clone, Debug)]
pub struct StopNode {
    /// And to start again.
    pub restart: bool,
}
wire_struct!(StopNode { restart });

/// A data node is to stop, and asks for other members to take over its shards; sent again until it is out of its group.
#[derive(Clone, Debug)]
pub struct AskLeave {
    pub incarnation: Incarnation,
}
wire_struct!(AskLeave { incarnation });

/// A step of the handover that the control state speaks of.
#[derive(Clone, Debug)]
pub struct Handover {
    /// The place of the entry that began it in the control log.
    pub begun: u64,
    pub step: HandoverStep,
}
wire_struct!(Handover { begun, step });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverStep {
    /// A worker of a data node tells the node that hands over: no transaction of its sessions has begun and not ended, and
    /// none begins.
    Drained,
    /// That node tells all of them: this is so everywhere.
    AllDrained,
    /// And a worker tells it: nothing of any transaction is left on the shards it leads.
    Quiet,
    /// The node tells the voters: this is so everywhere; the handover may be done.
    Ready,
}
wire_enum!(HandoverStep { 0 => Drained, 1 => AllDrained, 2 => Quiet, 3 => Ready });

/// The answer to frames of a boot that is over, if it lives all the same: it must end. Not numbered, and lost like any frame.
#[derive(Clone, Debug)]
pub struct Excluded {
    pub incarnation: Incarnation,
}
wire_struct!(Excluded { incarnation });

/// A node tells the others now and then that it lives. Not numbered: an old one is worth nothing.
#[derive(Clone, Debug)]
pub struct Alive {
    /// The sender's clock when it was sent, in microseconds.
    pub at: u64,
    /// Nodes from which the sender has received nothing for too long.
    pub unheard: Vec<NodeId>,
    /// Nodes that send only heartbeats, though they have something to acknowledge.
    pub stalled: Vec<NodeId>,
    pub round_trips: Vec<RoundTrip>,
    /// The sender was asked to stop, and is about to.
    pub is_stopping: bool,
    pub room: Room,
    /// Much of its log waits for its disk.
    pub is_disk_behind: bool,
    pub memory: Memory,
}
wire_struct!(Alive {
    at,
    unheard,
    stalled,
    round_trips,
    is_stopping,
    room,
    is_disk_behind,
    memory
});

/// What a node has of memory for rows (rule R20).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Room for further writes, including those into room between other rows.
    pub left: Space,
    /// What its transactions have taken there, and not at all other members of its group yet.
    pub owed: Space,
}
wire_struct!(Memory { left, owed });

/// What a node's disk has for its log (rule R21).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    #[default]
    Ample,
    /// Only the reserve is left, for transactions under way and deletions.
    Reserve,
    /// The reserve is used up, too: further records wait in memory.
    Nothing,
    /// A write or a sync of it has failed, so nothing is written any more (rule R17).
    Failed,
}
wire_enum!(Room { 0 => Ample, 1 => Reserve, 2 => Nothing, 3 => Failed });

impl Room {
    /// As an operator reads it.
    pub fn name(self) -> &'static str {
        match self {
            Room::Ample => "ample",
            Room::Reserve => "reserve",
            Room::Nothing => "none",
            Room::Failed => "failed",
        }
    }
}

/// How long a message to a node and its acknowledgement take, as far as that is not because of others under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    pub node: NodeId,
    pub microseconds: u64,
}
wire_struct!(RoundTrip { node, microseconds });

/// Between workers, now and then: how long it takes to be acknowledged tells how the other one is.
#[derive(Clone, Debug)]
pub struct Probe {}
wire_struct!(Probe {});

/// The leader's answer to [`Alive`]: that boot may answer reads, until a lease's length after the time at which its message was
/// sent. Not numbered.
#[derive(Clone, Debug)]
pub struct LeaseGranted {
    pub incarnation: Incarnation,
    pub at: u64,
}
wire_struct!(LeaseGranted { incarnation, at });

/// Operations of one transaction on one shard.
#[derive(Clone, Debug)]
pub struct Execute {
    pub transaction: TransactionId,
    /// Numbers the coordinator's requests; the answer repeats it.
    pub request: u64,
    pub shard: ShardId,
    pub statement: u32,
    /// Each with its position in the batch.
    pub ops: Vec<(u16, Op)>,
    pub params: Vec<Value>,
    pub read: ReadView,
    /// Commit when executed: the whole transaction is in this message.
    pub commit: bool,
    pub settings: EvalSettings,
    pub lock_wait_timeout_ms: u32,
    pub wait: WaitPolicy,
    pub lock_ranges: bool,
    pub refuse_changed: bool,
    /// When the transaction began, in the cluster's microseconds ([`HorizonAdvanced`]; 0 if its node did not know them
    /// yet): the youngest of a deadlock is rolled back.
    pub started: u64,
}
wire_struct!(Execute {
    transaction,
    request,
    shard,
    statement,
    ops,
    params,
    read,
    commit,
    settings,
    lock_wait_timeout_ms,
    wait,
    lock_ranges,
    refuse_changed,
    started,
});

/// What plain reads see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadView {
    /// The latest committed version: reads that meet an undecided commit wait for its decision.
    Latest,
    Snapshot(Timestamp),
}
wire_enum!(ReadView { 0 => Latest, 1 => Snapshot(at) });

#[derive(Clone, Debug)]
pub struct ExecuteOk {
    pub transaction: TransactionId,
    pub request: u64,
    pub shard: ShardId,
    pub result: BatchResult,
    /// What the transaction has on this shard now, so that it must hear of the end.
    pub holds: Holds,
    pub committed: Committed,
}
wire_struct!(ExecuteOk { transaction, request, shard, result, holds, committed });

/// What a transaction has on a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    Nothing,
    /// Only locks: it takes no part in the commit, and is released after it.
    Locks,
    Writes,
}
wire_enum!(Holds { 0 => Nothing, 1 => Locks, 2 => Writes });

/// How far the commit that came with an `Execute` or `Commit` has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// None was asked for, or there was nothing to commit.
    No,
    /// All members hold the record.
    Decided(Timestamp),
    /// The record is on its way to the receiver's node, the only backup: it is decided when that node holds it.
    WhenHeld(LogPosition),
}
wire_enum!(Committed { 0 => No, 1 => Decided(ts), 2 => WhenHeld(position) });

#[derive(Clone, Debug)]
pub struct ExecuteRefused {
    pub transaction: TransactionId,
    pub request: u64,
    pub shard: ShardId,
    pub refusal: Refusal,
    pub holds: Holds,
}
wire_struct!(ExecuteRefused { transaction, request, shard, refusal, holds });

/// Undo what statements from this one on have written. Locks stay.
#[derive(Clone, Debug)]
pub struct Undo {
    pub transaction: TransactionId,
    pub request: u64,
    pub shard: ShardId,
    pub statement: u32,
}
wire_struct!(Undo { transaction, request, shard, statement });

#[derive(Clone, Debug)]
pub struct UndoOk {
    pub transaction: TransactionId,
    pub request: u64,
    pub shard: ShardId,
}
wire_struct!(UndoOk { transaction, request, shard });

/// Make the shard's part of a transaction over several shards ready: after the answer it commits or not as home says.
#[derive(Clone, Debug)]
pub struct Prepare {
    pub transaction: TransactionId,
    pub request: u64,
    pub shard: ShardId,
    /// The shard whose log holds the decision.
    pub home: ShardId,
}
wire_struct!(Prepare { transaction, request, shard, home });

/// All members hold the PREPARE (or, `held_at` set, they do when the receiver's node, the only backup, holds it).
#[derive(Clone, Debug)]
pub struct PrepareOk {
    pub transaction: TransactionId,
    pub request: u64,
    pub shard: ShardId,
    pub held_at: Option<LogPosition>,
    /// The commit timestamp must be above this: snapshots up to it were read without the transaction (rule R11).
    pub min_commit: Timestamp,
    /// The highest sequencer epoch the shard has seen (rule R10).
    pub epoch_max: u16,
}
wire_struct!(PrepareOk { transaction, request, shard, held_at, min_commit, epoch_max });

/// Commit at this shard: the only one the transaction wrote to, or its home when `participants` are prepared.
#[derive(Clone, Debug)]
pub struct Commit {
    pub transaction: TransactionId,
    pub request: u64,
    pub shard: ShardId,
    pub participants: Vec<ShardId>,
    pub min_commit: Timestamp,
    pub epoch_max: u16,
}
wire_struct!(Commit { transaction, request, shard, participants, min_commit, epoch_max });

#[derive(Clone, Debug)]
pub struct CommitOk {
    pub transaction: TransactionId,
    pub request: u64,
    pub shard: ShardId,
    pub committed: Committed,
}
wire_struct!(CommitOk { transaction, request, shard, committed });

/// The end of a transaction on a shard: committed at this timestamp, or rolled back, or (nothing written) locks released.
#[derive(Clone, Debug)]
pub struct Decide {
    pub transaction: TransactionId,
    pub shard: ShardId,
    pub commit: Option<Timestamp>,
}
wire_struct!(Decide { transaction, shard, commit });

/// Give up a request that waits: it is refused with `Cancelled`, or with the reason given.
#[derive(Clone, Debug)]
pub struct Cancel {
    pub transaction: TransactionId,
    pub request: u64,
    pub shard: ShardId,
}
wire_struct!(Cancel { transaction, request, shard });

/// A coordinator asks the new primary what became of a commit that it had asked the dead one for.
#[derive(Clone, Debug)]
pub struct AskOutcome {
    pub transaction: TransactionId,
    pub request: u64,
    pub shard: ShardId,
    /// It was to decide for other shards, too.
    pub of_several: bool,
    /// How long ago it was asked for.
    pub age_us: u64,
}
wire_struct!(AskOutcome { transaction, request, shard, of_several, age_us });

#[derive(Clone, Debug)]
pub struct Outcome {
    pub transaction: TransactionId,
    pub request: u64,
    pub shard: ShardId,
    pub known: KnownOutcome,
}
wire_struct!(Outcome { transaction, request, shard, known });

/// What a shard's log says of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownOutcome {
    Committed(Timestamp),
    /// It is not in the log, and never will be.
    Aborted,
    /// It may have been, too long ago to be remembered.
    Forgotten,
    /// It is not in the log, and would be remembered if it was asked for no longer ago than the question said: that may have been on
    /// its way for a while.
    NotFound,
}
wire_enum!(KnownOutcome { 0 => Committed(ts), 1 => Aborted, 2 => Forgotten, 3 => NotFound });

/// A participant asks home about a prepared transaction without a coordinator; the answer is a `Decide`, or nothing while home
/// does not know. Sent again until then.
#[derive(Clone, Debug)]
pub struct AskDecision {
    pub transaction: TransactionId,
    /// Home.
    pub shard: ShardId,
    pub participant: ShardId,
    /// How long it has been prepared there.
    pub age_us: u64,
}
wire_struct!(AskDecision { transaction, shard, participant, age_us });

/// The shard does not know the transaction of the request: it is gone here.
#[derive(Clone, Debug)]
pub struct TransactionUnknown {
    pub transaction: TransactionId,
    pub request: u64,
    pub shard: ShardId,
}
wire_struct!(TransactionUnknown { transaction, request, shard });

/// One record of a shard's log, from its primary to every other member.
#[derive(Clone, Debug)]
pub struct Replicate {
    pub shard: ShardId,
    pub position: LogPosition,
    /// Records up to here are held by all members.
    pub commit_index: LogPosition,
    /// The sender's: the record waits at a member that has an older one, whose tables may lack the record's, or its columns.
    pub schema: SchemaVersion,
    pub record: Record,
}
wire_struct!(Replicate { shard, position, commit_index, schema, record });

#[derive(Clone, Debug)]
pub struct Record {
    pub transaction: TransactionId,
    pub kind: RecordKind,
    pub writes: Vec<Write>,
}
wire_struct!(Record { transaction, kind, writes });

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// The decision, with its writes. Without a timestamp: the receiver, the only backup, is the sequencer and stamps it
    /// (replicas = 2 fusion). It decides the joined transactions too, whose writes are among its own.
    Commit { ts: Option<Timestamp>, participants: Vec<ShardId>, joined: Vec<TransactionId> },
    /// Writes whose decision is in another shard's log.
    Prepare { home: ShardId },
    /// The decision of a transaction prepared in this log; or that one of which parts were sent is rolled back.
    Decision { commit: Option<Timestamp> },
    /// Some writes of a transaction whose COMMIT or PREPARE follows, at `lower_bound` or later.
    Part { lower_bound: Timestamp },
    /// For the learner: outcomes of transactions that this shard has decided, and the forgotten numbers. Of no transaction.
    Decisions { decided: Vec<(TransactionId, Timestamp)>, forgotten: Forgotten },
    /// For the learner: some rows as they are at this place in the log; what a snapshot below `complete_from` should see of them
    /// is not there. Of no transaction.
    Copy { table: TableId, rows: Vec<CopiedRow>, complete_from: Timestamp },
    /// For a learner that has loaded rows from its disk: it compares those of these keys, at this
    /// place in the log, piece by piece; it keeps the rows of equal pieces, and their pending
    /// versions follow as a copy. It answers with the other pieces. Of no transaction.
    Offer {
        table: TableId,
        after: Option<Bytes>,
        pieces: Vec<OfferedPiece>,
        complete_from: Timestamp,
    },
    /// For the learner: its rows of these keys, at this place in the log, must be these. Of no transaction.
    Verify { table: TableId, after: Option<Bytes>, up_to: Option<Bytes>, sum: RowsSum },
    /// Of no transaction: all that have a timestamp up to `at` have ended in the log before this, and none behind it gets one.
    Closed { at: Timestamp },
}
wire_enum!(RecordKind {
    0 => Commit { ts, participants, joined },
    1 => Prepare { home },
    2 => Decision { commit },
    3 => Part { lower_bound },
    4 => Copy { table, rows, complete_from },
    5 => Verify { table, after, up_to, sum },
    6 => Decisions { decided, forgotten },
    7 => Closed { at },
    8 => Offer { table, after, pieces, complete_from },
});

/// Rows behind those of the piece before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedPiece {
    /// The last key; none: to the end of the table.
    pub up_to: Option<Bytes>,
    pub sum: RowsSum,
}
wire_struct!(OfferedPiece { up_to, sum });

/// Of which commits of its log a shard cannot tell any more how they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Those of a coordinator's boot up to this number of a transaction.
    pub up_to: Vec<(Address, Incarnation, u64)>,
    /// Boots that are over of which the rest is remembered. Of other boots that are over, none is.
    pub over: Vec<Incarnation>,
}
wire_struct!(Forgotten { up_to, over });

/// What the log has made of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedRow {
    pub key: Bytes,
    pub version: CopiedVersion,
}
wire_struct!(CopiedRow { key, version });

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopiedVersion {
    /// The newest committed one.
    Committed(Timestamp, Bytes),
    /// What a transaction that is not decided has made of it.
    Pending(CopiedPending),
}
wire_enum!(CopiedVersion { 0 => Committed(ts, row), 1 => Pending(pending) });

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedPending {
    pub transaction: TransactionId,
    /// Prepared: the shard whose log holds the decision. None: only parts of it have been sent.
    pub home: Option<ShardId>,
    /// How long it has been prepared.
    pub age_us: u64,
    /// None: it deletes the row.
    pub row: Option<Bytes>,
}
wire_struct!(CopiedPending { transaction, home, age_us, row });

/// Rows, and a sum over the hashes of their keys, rows and timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowsSum {
    pub rows: u64,
    pub hash: u64,
}
wire_struct!(RowsSum { rows, hash });

/// The new row of a key, or none if it is deleted.
#[derive(Clone, Debug)]
pub struct Write {
    pub table: TableId,
    pub key: Bytes,
    pub row: Option<Bytes>,
}
wire_struct!(Write { table, key, row });

/// The member holds every record up to `position`.
#[derive(Clone, Debug)]
pub struct ReplicateOk {
    pub shard: ShardId,
    pub position: LogPosition,
    /// The timestamps it gave to records that came without, since its last answer.
    pub stamps: Vec<(LogPosition, Timestamp)>,
}
wire_struct!(ReplicateOk { shard, position, stamps });

/// Records up to here are held by all members: sent when no record follows that would carry it (replicas >= 3).
#[derive(Clone, Debug)]
pub struct CommitIndex {
    pub shard: ShardId,
    pub position: LogPosition,
}
wire_struct!(CommitIndex { shard, position });

/// From the heir of a dead primary to another member, where there are more than two: send what you hold of the log behind `behind`.
#[derive(Clone, Debug)]
pub struct AskTail {
    pub shard: ShardId,
    pub behind: LogPosition,
}
wire_struct!(AskTail { shard, behind });

/// The answer, beside the records that were asked for: the sender's log ends here.
#[derive(Clone, Debug)]
pub struct Tail {
    pub shard: ShardId,
    pub position: LogPosition,
}
wire_struct!(Tail { shard, position });

/// To a learner: the log that it gets begins behind `position` (rule R6). What came before it is in the copy.
#[derive(Clone, Debug)]
pub struct JoinMarker {
    pub shard: ShardId,
    pub position: LogPosition,
    /// The highest sequencer epoch the shard has seen (rule R10).
    pub epoch_max: u16,
}
wire_struct!(JoinMarker { shard, position, epoch_max });

/// A learner has compared what its primary has offered at this place in the log.
#[derive(Clone, Debug)]
pub struct OfferAnswer {
    pub shard: ShardId,
    pub position: LogPosition,
    /// Of these it has nothing any more but what the log has brought: they are to be copied.
    pub differing: Vec<KeySpan>,
    /// Rows that it keeps.
    pub kept: u64,
}
wire_struct!(OfferAnswer { shard, position, differing, kept });

/// Keys of a table behind `after`, up to `up_to`; without them from its beginning, to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySpan {
    pub table: TableId,
    pub after: Option<Bytes>,
    pub up_to: Option<Bytes>,
}
wire_struct!(KeySpan { table, after, up_to });

/// A worker needs a snapshot timestamp. One request is under way at a time.
#[derive(Clone, Debug)]
pub struct SnapshotRequest {
    pub request: u64,
}
wire_struct!(SnapshotRequest { request });

#[derive(Clone, Debug)]
pub struct SnapshotGranted {
    pub request: u64,
    pub at: Timestamp,
}
wire_struct!(SnapshotGranted { request, at });

/// A worker needs commit timestamps for transactions whose locks are all held (rule R11).
#[derive(Clone, Debug)]
pub struct TimestampRequest {
    pub request: u64,
    pub count: u32,
}
wire_struct!(TimestampRequest { request, count });

/// `count` timestamps from `first` on.
#[derive(Clone, Debug)]
pub struct TimestampGranted {
    pub request: u64,
    pub first: Timestamp,
    pub count: u32,
}
wire_struct!(TimestampGranted { request, first, count });

/// The oldest snapshot the worker has open, and the newest grant it has received (rule R14).
#[derive(Clone, Debug)]
pub struct HorizonReport {
    pub oldest: Option<Timestamp>,
    pub granted: u64,
}
wire_struct!(HorizonReport { oldest, granted });

/// No snapshot below this may be read any more: versions that only such could see may go.
#[derive(Clone, Debug)]
pub struct HorizonAdvanced {
    pub horizon: Timestamp,
    /// The cluster's time when this was sent: microseconds of the first sequencer's clock. Tells which of two transactions
    /// of different nodes is older; nothing that must be right depends on it.
    pub time: u64,
}
wire_struct!(HorizonAdvanced { horizon, time });

/// A global checkpoint is made: whoever leads a shard is to write into its log that it is closed at `at`; sent again until all have
/// answered.
#[derive(Clone, Debug)]
pub struct CloseLogs {
    pub at: Timestamp,
    /// Of the control state that it is made with. Who knows less of the members does nothing yet.
    pub applied: u64,
}
wire_struct!(CloseLogs { at, applied });

/// The logs of these shards, all that the sender leads and owns, are closed at `at` or later.
#[derive(Clone, Debug)]
pub struct LogsClosed {
    pub at: Timestamp,
    pub shards: Vec<ShardId>,
    /// The nodes whose disks must hold the log before the checkpoint is done: all without which nothing is decided there.
    pub members: Vec<NodeId>,
}
wire_struct!(LogsClosed { at, shards, members });

/// On the sender's disk the logs of all shards that it owns are durable to where they are closed at `at` or later.
#[derive(Clone, Debug)]
pub struct LogsDurable {
    pub at: Timestamp,
}
wire_struct!(LogsDurable { at });

/// A worker waits for a global checkpoint that begins now or later. One request is under way at a time.
#[derive(Clone, Debug)]
pub struct AwaitCheckpoint {
    pub request: u64,
}
wire_struct!(AwaitCheckpoint { request });

/// What was committed up to `at` is on the disks of all members, and will be there after whatever fails.
#[derive(Clone, Debug)]
pub struct CheckpointDone {
    pub at: Timestamp,
    /// The receiver's requests up to this one are answered.
    pub request: u64,
}
wire_struct!(CheckpointDone { at, request });

/// The waits between transactions on the sender's shards, to the deadlock detector beside the sequencer.
#[derive(Clone, Debug)]
pub struct WaitEdges {
    pub edges: Vec<WaitEdge>,
    /// What the waiters wait for, the first of them if there are many: for the record of a deadlock.
    pub locks: Vec<(TransactionId, LockedThing)>,
}
wire_struct!(WaitEdges { edges, locks });

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitEdge {
    pub waiter: TransactionId,
    pub holder: TransactionId,
    /// When the waiter began, as in its `Execute`.
    pub started: u64,
}
wire_struct!(WaitEdge { waiter, holder, started });

/// The transaction was chosen to break a deadlock.
#[derive(Clone, Debug)]
pub struct BreakDeadlock {
    pub transaction: TransactionId,
}
wire_struct!(BreakDeadlock { transaction });

/// A circle within a shard or a node, which was broken there: to be remembered.
#[derive(Clone, Debug)]
pub struct DeadlockFound {
    pub victim: TransactionId,
    pub members: Vec<DeadlockMember>,
}
wire_struct!(DeadlockFound { victim, members });

/// Whose transactions are these, which were in a deadlock?
#[derive(Clone, Debug)]
pub struct DeadlockQuery {
    pub transactions: Vec<TransactionId>,
}
wire_struct!(DeadlockQuery { transactions });

/// Those that are known.
#[derive(Clone, Debug)]
pub struct DeadlockAnswer {
    pub connections: Vec<(TransactionId, Connection)>,
}
wire_struct!(DeadlockAnswer { connections });

#[derive(Clone, Debug)]
pub struct ReportQuery {
    pub request: u64,
    pub query: ReportRequest,
}
wire_struct!(ReportQuery { request, query });

#[derive(Clone, Debug)]
pub struct ReportAnswer {
    pub request: u64,
    pub report: Report,
}
wire_struct!(ReportAnswer { request, report });
