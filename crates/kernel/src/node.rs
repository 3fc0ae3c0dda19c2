//! What the workers of one node share: its shards, the sequencer's counter, the memory pool, open snapshots and counters.
//!
//! Each shard has one lock, held for the length of a handler and never across a wait; no handler holds two. In the
//! simulator one thread steps all kernels, so no lock is ever contended and nothing here makes a run differ.

use std::collections::BTreeMap;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use protocol::Refusal;
use protocol::backup::{BackupReport, BackupRequest};
use protocol::control::{ClusterConfig, ControlState, Group};
use protocol::disk::DiskEntry;
use protocol::message::Room;
use protocol::request::{Backups, Connections};
use protocol::schema::{
    COMMIT_TOKENS_TABLE, HIDDEN_DATABASE, SEQUENCES_TABLE, USER_LOCKS_NAME, USER_LOCKS_TABLE,
};
use storage::PagePool;
use types::wire::Wire;
use types::{
    Catalogue, Collation, Column, ColumnDefault, ColumnType, Home, Incarnation, Index, IndexId,
    IndexKind, IndexPart, IndexState, IntWidth, NodeId, NumberDisplay, SchemaVersion, ShardId,
    Table, TableId, TableState, Timestamp, WorkerId,
};

use crate::limits::{
    CHECKPOINT_LATE_US, CHECKPOINT_MISSED_US, CHECKPOINT_ROWS_MAX, CHECKPOINT_ROWS_SMALL,
    CHECKPOINT_TURN_BYTES_MIN, CHECKPOINT_TURNS, CONTROL_LOG_BYTES_MAX, FILL_BACKLOG_MAX,
    FILL_ROWS_MAX, LEASE_HEARTBEATS, LOG_BACKLOG_MAX, LOG_GROWTH_MIN, LOG_GROWTH_SHORT_OF_ROOM,
    RECORD_ROWS_MAX, SILENCE_HEARTBEATS, TICK_INTERVAL_US, TURN_BYTES_MAX, USED_FOR_US,
};
use crate::memory::Memories;
use crate::pace::{Awake, Lag};
use crate::participant::Shard;
use crate::restart::{self, Found, Loaded};
use crate::returning::ToLoad;
use crate::store::Store;
use crate::worker::Time;

/// A rule that a test switches off, to show that a check notices. `docs/rules.md` lists them by rule. Only tests and the
/// simulator set one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mutation {
    #[default]
    None,
    /// Acknowledges a commit before the backups hold its record (breaks rule R1).
    AckBeforeReplication,
    /// Readers pass a commit that is being decided (breaks rule R11).
    ReadThroughCommitting,
    /// Requests the commit timestamp before the participants are prepared (breaks rule R11).
    TimestampBeforePrepare,
    /// Reads at a snapshot from any backup, confirmed or not (breaks rules.md#timestamps).
    SnapshotFromAnyBackup,
    /// Releases the locks before the commit is decided (breaks rules.md#commit).
    EarlyLockRelease,
    /// The coordinator acknowledges with the primary's answer, without holding the record itself (breaks rule R1).
    HeldNotAwaited,
    /// With three members: shows a commit before all of them are known to hold it (breaks rule R3).
    ShowBeforeHeld,
    /// Requests the commit timestamp from another node before the markers are set (breaks rule R11).
    MarkersAfterTimestamp,
    /// Takes a snapshot from a request that was under way before it was needed (breaks rules.md#timestamps).
    SnapshotAskedBefore,
    /// The horizon passes snapshots that were granted and not reported (breaks rule R14).
    HorizonPassesGrants,
    /// The horizon passes open snapshots (breaks rule R14).
    HorizonPassesOpen,
    /// Reads the versions that are left below the horizon (breaks rule R14).
    ReadBelowHorizon,
    /// Snapshots have no greatest age (breaks rule R14).
    AgeIgnored,
    /// READ COMMITTED: reads several shards without a snapshot (breaks rules.md#timestamps).
    StatementWithoutSnapshot,
    /// REPEATABLE READ: takes a new snapshot for each statement (breaks rules.md#timestamps).
    SnapshotPerStatement,
    /// Strict REPEATABLE READ: writes to rows that changed after the snapshot (breaks rules.md#timestamps).
    ChangedNotRefused,
    /// SERIALIZABLE: locks the rows that are read, and not the ranges between them (breaks rules.md#timestamps).
    RangesNotLocked,
    /// Answers a PREPARE before the backups hold its record (breaks rule R8).
    VoteBeforeHeld,
    /// Keeps what a refused statement has written (breaks rules.md#answers).
    StatementNotUndone,
    /// Handles messages that came behind one that waits for a newer view, before that one (breaks rule R1). A transcript
    /// finds it.
    GrantOvertakes,
    /// Skips records of tables that this replica has not adopted yet (breaks rule R27).
    NewTablesSkipped,
    /// Reports no wait edges (breaks rule R26).
    DeadlocksIgnored,
    /// A transaction continues whose writes were lost with a primary, if it had no request there (breaks rule R2).
    LostTransactionGoesOn,
    /// Takes over a primary without the transactions that are prepared there (breaks rule R8).
    PreparedForgotten,
    /// Rolls back prepared transactions when their coordinator dies, without asking home (breaks rule R8).
    InDoubtRolledBack,
    /// Takes a commit whose answer was lost for not done, and runs it again (breaks rule R16).
    OutcomeNotAsked,
    /// Takes over the sequencer without a higher epoch (breaks rule R10).
    EpochNotRaised,
    /// Promotes a learner whose acknowledgements no commit waits for (breaks rule R7).
    LearnerNotAwaited,
    /// Copies rows to a learner without prepared transactions (breaks rule R6).
    PreparedNotCopied,
    /// Sends a learner no decisions of the transactions whose home it is (breaks rule R8).
    DecisionsNotTold,
    /// With three members: leads without the records that only another member holds (breaks rules.md#views).
    TailNotFetched,
    /// Keeps an index that no session fills any more (breaks rule R27).
    IndexNotGivenUp,
    /// Begins transactions on a closed table (breaks rule R27). The test of rewritten tables finds it.
    ClosedTableUsed,
    /// Works on a shard by the worker's view when the shard is in a newer one (breaks rule R2).
    WorkerBehind,
    /// Answers reads without a lease (breaks rule R3).
    LeaseIgnored,
    /// Counts a lease from when its grant arrives (breaks rule R3).
    LeaseFromArrival,
    /// Excludes a silent node while it may still have a lease (breaks rule R3).
    LeaseNotWaitedFor,
    /// Keeps nodes that hang (breaks rule R22).
    HangingIsKept,
    /// Keeps nodes that are slow (breaks rule R22).
    SlowIsKept,
    /// Reports a transaction as rolled back because its commit is not there (breaks rule R8).
    OutcomeGuessed,
    /// Grants leases without knowing that no other leader is elected (breaks rule R3).
    GrantsUnchecked,
    /// Begins transactions while shards are handed over, and loses locks (breaks rule R15).
    HandoverNotWaitedFor,
    /// Hands shards over while sessions wait for answers, and loses these (breaks rule R15).
    HandoverNotDrained,
    /// Hands shards over that have not finished ended transactions: stamps them again, loses locks (breaks rule R15).
    HandoverNotQuiet,
    /// Closes a log at a timestamp that a transaction prepared there may still get (breaks rule R9).
    PreparedNotClosed,
    /// Finishes a global checkpoint before the disks hold it (breaks rule R9).
    DiskNotAwaited,
    /// A cluster restart takes what an earlier one had cut off (breaks rule R9).
    TailNotCut,
    /// Relies on a local checkpoint before a global one has what is in it (breaks rule R19).
    CheckpointTooNew,
    /// A learner keeps the rows of its own disk without comparing them with the primary's (breaks rule R6).
    LoadedNotCompared,
    /// A learner applies records on top of rows of its own disk that were not compared (breaks rule R6). A transcript finds
    /// it, worlds hardly ever.
    LoadedWrittenOver,
    /// Keeps sections of the previous local checkpoint although their rows have changed, and loses those that the log no
    /// longer has (breaks rule R19).
    ChangedNotWritten,
    /// A local checkpoint keeps changed sections without the log that belongs with them, and loses rows (breaks rule R19).
    KeptWithoutItsLog,
    /// Relies on a local checkpoint before a global one has the rows that were deleted before they were copied
    /// (breaks rule R19).
    DeletedNotWaitedFor,
    /// At `always`, acknowledges a commit before the disks hold it (breaks rule R4).
    AlwaysNotAwaited,
    /// At the default level, a node that is alone acknowledges a commit before its disk holds it (breaks rule R4).
    AloneNotAwaited,
    /// Starts the cluster again without a group of which no disk is there, and without waiting for one (breaks rule R9).
    GroupLeftOut,
    /// Admits what this node has memory for, whatever other members have left (breaks rule R20).
    MemoryOfOthersIgnored,
}

const TIME_UNKNOWN: i64 = i64::MIN;

/// Where a voter keeps what it must not forget (rule R24). Records become durable in their order, behind the kernel's back: no worker waits
/// for a disk. A host that cannot write ends the process: a voter that forgets must not vote (rule R17).
pub trait Journal: Send + Sync {
    /// Takes a record behind all others. Returns how many it was given since it was opened.
    fn append(&self, record: &[u8]) -> u64;
    /// Takes a record instead of all others: after a crash there is that, or all others.
    fn replace(&self, record: &[u8]) -> u64;
    /// So many of those it was given are durable. When there are more the host tells worker 0, by [`Input::Durable`](crate::Input).
    fn durable(&self) -> u64;
    /// All records that were durable when the node started.
    fn read(&self) -> Vec<Vec<u8>>;
}

/// One that lasts as long as the process, and whose records are durable at once, or when the test says so.
#[derive(Default)]
pub struct MemoryJournal(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    records: Vec<Vec<u8>>,
    given: u64,
    durable: u64,
    is_slow: bool,
}

impl MemoryJournal {
    /// Nothing more is durable until that is over; then the host is to say so.
    pub fn set_slow(&self, is_slow: bool) {
        let mut memory = lock(&self.0);
        memory.is_slow = is_slow;
        memory.durable = memory.given;
    }
}

impl Journal for MemoryJournal {
    fn append(&self, record: &[u8]) -> u64 {
        let mut memory = lock(&self.0);
        memory.records.push(record.to_vec());
        memory.given += 1;
        if !memory.is_slow {
            memory.durable = memory.given;
        }
        memory.given
    }
    fn replace(&self, record: &[u8]) -> u64 {
        lock(&self.0).records.clear();
        self.append(record)
    }
    fn durable(&self) -> u64 {
        lock(&self.0).durable
    }
    fn read(&self) -> Vec<Vec<u8>> {
        lock(&self.0).records.clone()
    }
}

/// Which node this is, and which boot of it.
pub struct Boot {
    pub node: NodeId,
    pub incarnation: Incarnation,
    /// Of the directory that the journal is in.
    pub home: Home,
    pub journal: Arc<dyn Journal>,
    /// None: the node's rows are in its memory only.
    pub store: Option<Arc<dyn Store>>,
}

pub struct NodeShared {
    pub node: NodeId,
    pub incarnation: Incarnation,
    pub home: Home,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub config: ClusterConfig,
    pub pool: Arc<PagePool>,
    pub mutation: Mutation,
    /// This node's replicas by shard number; set once, when the first view is formed.
    /// Fair: who waits for a shard is not passed by for long by those that try to take it.
    shards: OnceLock<Vec<Option<parking_lot::Mutex<Shard>>>>,
    /// The newest control state, for workers to copy the `Arc` of.
    state: Mutex<Arc<ControlState>>,
    /// The entries applied in it.
    applied: AtomicU64,
    /// The last timestamp given out, if this node is the sequencer.
    sequence: AtomicU64,
    /// Versions that only snapshots below this could see may go.
    horizon: AtomicU64,
    /// What was committed up to this is on the disks of all members.
    checkpointed: AtomicU64,
    /// When the first global checkpoint behind that was asked for here; 0 is none.
    checkpoint_asked: AtomicU64,
    /// What its disk held when it started, and where on it this boot says that it has opened it.
    pub(crate) disk: Found,
    booted: u64,
    /// Of its disk, when it started.
    pub(crate) parts: u16,
    /// By worker: its part of the disk does not keep up.
    parts_behind: Vec<AtomicBool>,
    /// Of which nodes that is known.
    disks_behind: BTreeMap<NodeId, AtomicBool>,
    disks_behind_count: AtomicU32,
    log_backlog_max: AtomicU64,
    /// What the disk of each node has room for, as it has said last: a [`Room`]; and whether one of them is short of it.
    rooms: BTreeMap<NodeId, AtomicU8>,
    is_short_of_room: AtomicBool,
    pub(crate) memories: Memories,
    /// What is loaded from the disk, and what for.
    pub(crate) to_load: parking_lot::Mutex<Option<Arc<ToLoad>>>,
    pub(crate) parts_loaded: AtomicU64,
    pub(crate) loaded: parking_lot::Mutex<Loaded>,
    /// The cluster's time less this node's; `TIME_UNKNOWN` until it is told.
    time_offset: AtomicI64,
    /// Snapshots opened on the sequencer's own node, with how many transactions use each.
    snapshots: Mutex<BTreeMap<Timestamp, u32>>,
    contention: Contention,
    record_rows_max: AtomicUsize,
    turn_bytes_max: AtomicUsize,
    fill_rows_max: AtomicUsize,
    fill_backlog_max: AtomicU64,
    control_log_bytes_max: AtomicU64,
    log_growth_min: AtomicU64,
    /// When a session used rows of the node last, to within a tick.
    used_at: AtomicU64,
    /// When something was heard of each other node last.
    heard: BTreeMap<NodeId, Heard>,
    /// How each other node acknowledges, as each worker of this one finds.
    pub(crate) lags: BTreeMap<NodeId, Vec<Lag>>,
    /// How its own workers are.
    pub(crate) awake: Vec<Awake>,
    /// Until when this node may answer what is read (rule R3).
    lease_until: AtomicU64,
    cut_off_from: AtomicU64,
    /// Others could take over from this node: it needs a lease.
    needs_lease: AtomicBool,
    is_stopping: AtomicBool,
    is_leaving: AtomicBool,
    /// A cluster restart that this voter leads may begin with less than the last members had, if that is not to be had. The operator
    /// has said so for one restart: it ends with that.
    is_lossy: AtomicBool,
    /// Who is connected here, for reports; set once, by the front end.
    connections: OnceLock<Arc<dyn Connections>>,
    /// Who copies its rows; set once, by the host.
    backups: OnceLock<Arc<dyn Backups>>,
    pub statistics: NodeStatistics,
}

/// What was heard of a node last, and of which boot of it.
#[derive(Default)]
struct Heard {
    at: AtomicU64,
    boot: AtomicU64,
}

/// A shard that is this worker's for as long as the guard lives.
pub type ShardGuard<'a> = parking_lot::MutexGuard<'a, Shard>;

/// Shards that look busy now and then. One thread steps all workers of a simulated world, so no lock is ever held by
/// another; without this, what a worker leaves to a shard's owner would never be tried there. Off in the real program.
#[derive(Default)]
struct Contention {
    per_mille: AtomicU64,
    /// The generator's state (splitmix64).
    state: AtomicU64,
}

impl Contention {
    fn is_busy(&self) -> bool {
        let per_mille = self.per_mille.load(Ordering::Relaxed);
        if per_mille == 0 {
            return false;
        }
        let state = self.state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 32) % 1_000 < per_mille
    }
}

#[derive(Default)]
pub struct NodeStatistics {
    pub transactions_open: AtomicU64,
    pub commits: AtomicU64,
    pub aborts: AtomicU64,
    pub messages_sent: AtomicU64,
    pub frames_refused: AtomicU64,
    /// Rows that it had when it came back, and that nobody had changed.
    pub rows_kept: AtomicU64,
}

impl NodeStatistics {
    pub fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }
    pub fn subtract(counter: &AtomicU64, count: u64) {
        counter.fetch_sub(count, Ordering::Relaxed);
    }
}

impl NodeShared {
    pub fn new(
        boot: Boot,
        config: ClusterConfig,
        memory_limit_bytes: u64,
        mutation: Mutation,
    ) -> Result<Arc<NodeShared>, String> {
        let state = ControlState::new(config.clone(), bootstrap_catalogue());
        let Boot { node, incarnation, home, journal, store } = boot;
        let others = config.nodes.iter().filter(|other| other.id != node);
        let workers = config.node(node).map_or(1, |own| own.workers);
        let of_workers = || (0..workers).map(|_| Lag::default()).collect();
        let lags = others.clone().map(|other| (other.id, of_workers())).collect();
        let heard = others.map(|other| (other.id, Heard::default())).collect();
        let disks_behind =
            config.nodes.iter().map(|node| (node.id, AtomicBool::new(false))).collect();
        let rooms = config.nodes.iter().map(|node| (node.id, AtomicU8::new(0))).collect();
        let pool = PagePool::new(memory_limit_bytes);
        let memories = Memories::new(node, &pool, config.nodes.iter().map(|node| node.id));
        let (mut disk, mut booted, mut parts) = (Found::default(), 0, 0);
        if let Some(store) = &store {
            disk = restart::look(store.as_ref(), &state.shards_of(node))?;
            parts = store.parts();
            let entry = DiskEntry::Booted { incarnation };
            booted = store.append(WorkerId(0), 0, &mut |out| entry.encode(out)).end;
            store.flush(WorkerId(0));
        }
        Ok(Arc::new(NodeShared {
            node,
            incarnation,
            home,
            journal,
            store,
            config,
            memories,
            pool,
            mutation,
            shards: OnceLock::new(),
            applied: AtomicU64::new(state.applied),
            state: Mutex::new(Arc::new(state)),
            sequence: AtomicU64::new(0),
            horizon: AtomicU64::new(0),
            checkpointed: AtomicU64::new(0),
            checkpoint_asked: AtomicU64::new(0),
            disk,
            booted,
            parts,
            parts_behind: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            disks_behind,
            disks_behind_count: AtomicU32::new(0),
            log_backlog_max: AtomicU64::new(LOG_BACKLOG_MAX),
            rooms,
            is_short_of_room: AtomicBool::new(false),
            to_load: parking_lot::Mutex::default(),
            parts_loaded: AtomicU64::new(0),
            loaded: parking_lot::Mutex::default(),
            time_offset: AtomicI64::new(TIME_UNKNOWN),
            snapshots: Mutex::new(BTreeMap::new()),
            contention: Contention::default(),
            record_rows_max: AtomicUsize::new(RECORD_ROWS_MAX),
            turn_bytes_max: AtomicUsize::new(TURN_BYTES_MAX),
            fill_rows_max: AtomicUsize::new(FILL_ROWS_MAX),
            fill_backlog_max: AtomicU64::new(FILL_BACKLOG_MAX),
            control_log_bytes_max: AtomicU64::new(CONTROL_LOG_BYTES_MAX),
            log_growth_min: AtomicU64::new(LOG_GROWTH_MIN),
            used_at: AtomicU64::new(0),
            heard,
            lags,
            awake: (0..workers).map(|_| Awake::default()).collect(),
            lease_until: AtomicU64::new(0),
            cut_off_from: AtomicU64::new(Time::MAX),
            needs_lease: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            is_leaving: AtomicBool::new(false),
            is_lossy: AtomicBool::new(false),
            connections: OnceLock::new(),
            backups: OnceLock::new(),
            statistics: NodeStatistics::default(),
        }))
    }

    pub fn state(&self) -> Arc<ControlState> {
        Arc::clone(&lock(&self.state))
    }
    /// Entries applied in the newest control state, which [`Self::state`] gives. A glance: that takes a lock.
    pub(crate) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    /// Publishes a newer control state and, with the first formed one, makes this node's replicas.
    pub(crate) fn publish(&self, state: Arc<ControlState>) {
        assert!(state.applied >= lock(&self.state).applied);
        if state.is_formed() {
            let sequencer = state.sequencer.expect("formed: has a sequencer");
            let is_known =
                lock(&self.state).is_formed() && self.mutation == Mutation::EpochNotRaised;
            let epoch = if is_known { 1 } else { sequencer.epoch };
            self.sequence.fetch_max(Timestamp::new(epoch, 0).0, Ordering::SeqCst);
            self.make_shards(&state);
        }
        let needs_lease = needs_lease(&state, self.node, self.incarnation);
        self.needs_lease.store(needs_lease, Ordering::SeqCst);
        // First the number: whoever has the state, and what follows from it, is not to be taken for one that is up to date.
        let mut newest = lock(&self.state);
        self.applied.store(state.applied, Ordering::Release);
        *newest = state;
    }

    /// Makes this node's replicas, once: as a learner's with the rows that its disk had, if they are loaded.
    fn make_shards(&self, state: &ControlState) {
        self.shards.get_or_init(|| {
            let loaded = self.take_candidates(state);
            let replica = |shard: ShardId| {
                let group = state.group(state.group_of(shard));
                let is_member = group.members.iter().any(|member| member.node == self.node);
                let make = || {
                    let mut replica = Shard::new(shard, self.node, state, &self.pool);
                    if let Some(loaded) = &loaded
                        && let Some(rows) = loaded.take(shard)
                    {
                        replica.begin_with(rows, loaded.at, &state.catalogue);
                    }
                    replica
                };
                is_member.then(|| parking_lot::Mutex::new(make()))
            };
            state.shards().map(replica).collect()
        });
    }

    /// In a cluster restart, on one of its members: makes the replicas that are loaded then. True the first time.
    pub(crate) fn begin_loading(&self) -> bool {
        let is_first = !self.has_shards();
        let state = self.state();
        self.make_shards(&state);
        if is_first {
            *self.to_load.lock() = Some(Arc::new(ToLoad::of_restart(state)));
        }
        is_first
    }
    pub(crate) fn has_shards(&self) -> bool {
        self.shards.get().is_some()
    }

    /// Is it on its disk that this boot has it?
    pub(crate) fn has_booted(&self) -> bool {
        self.store.as_ref().is_none_or(|store| self.booted <= store.durable(WorkerId(0)))
    }

    /// May the next cluster restart lose what was committed last, where it is not possible otherwise?
    pub fn is_lossy(&self) -> bool {
        self.is_lossy.load(Ordering::Relaxed)
    }
    pub fn set_lossy(&self, is_lossy: bool) {
        self.is_lossy.store(is_lossy, Ordering::Relaxed);
    }

    /// The host was asked to end the node.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }
    pub(crate) fn set_stopping(&self, stops: bool) {
        self.is_stopping.store(stops, Ordering::Relaxed);
    }
    /// It is about to, and has the node hand over first.
    pub fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Relaxed)
    }
    pub(crate) fn set_leaving(&self, leaves: bool) {
        self.set_stopping(leaves);
        self.is_leaving.store(leaves, Ordering::Relaxed);
    }

    /// Something has come from this boot of a node.
    pub(crate) fn hear(&self, node: NodeId, boot: Incarnation, now: Time) {
        if let Some(heard) = self.heard.get(&node) {
            heard.boot.store(boot.0, Ordering::Relaxed);
            // Another worker may have begun its step later, and be done.
            heard.at.fetch_max(now, Ordering::Relaxed);
        }
    }
    /// When something has come from the node last, to within `HEARD_STEP_US`: workers share the line.
    pub fn heard_at(&self, node: NodeId) -> Time {
        self.heard.get(&node).map_or(0, |heard| heard.at.load(Ordering::Relaxed))
    }
    /// Which boot of the node that came from.
    pub(crate) fn heard_boot(&self, node: NodeId) -> Incarnation {
        Incarnation(self.heard.get(&node).map_or(0, |heard| heard.boot.load(Ordering::Relaxed)))
    }

    pub(crate) fn heartbeat_us(&self) -> Time {
        u64::from(self.config.heartbeat_ms) * 1_000
    }
    /// Silence after which a node is taken for dead.
    pub(crate) fn silence_us(&self) -> Time {
        SILENCE_HEARTBEATS * self.heartbeat_us()
    }
    /// Duration of a lease, from when the node asked for it.
    pub(crate) fn lease_us(&self) -> Time {
        LEASE_HEARTBEATS * self.heartbeat_us()
    }

    /// May what was read here be told to somebody? While another node might have taken over from this one, it may not be the
    /// newest (rule R3). `now` was sampled after the question came.
    pub fn has_lease(&self, now: Time) -> bool {
        now < self.lease_until.load(Ordering::Relaxed)
            || !self.needs_lease.load(Ordering::Relaxed)
            || self.mutation == Mutation::LeaseIgnored
    }
    /// A session uses rows of the node. Written once a tick: all workers read the place.
    pub(crate) fn note_use(&self, now: Time) {
        if self.used_at.load(Ordering::Relaxed) + TICK_INTERVAL_US <= now {
            self.used_at.store(now, Ordering::Relaxed);
        }
    }
    /// Has a session used rows of the node a moment ago? Work in the background then leaves it most of the time.
    pub(crate) fn is_used(&self, now: Time) -> bool {
        now < self.used_at.load(Ordering::Relaxed) + USED_FOR_US
    }
    pub(crate) fn extend_lease(&self, until: Time) {
        self.lease_until.fetch_max(until, Ordering::Relaxed);
    }
    /// From when on those who wait for a lease are told that there is none.
    pub(crate) fn set_cut_off(&self, from: Option<Time>) {
        self.cut_off_from.store(from.unwrap_or(Time::MAX), Ordering::Relaxed);
    }
    /// Has it been without a lease for so long that those who wait are to be told?
    pub(crate) fn is_cut_off(&self, now: Time) -> bool {
        now >= self.cut_off_from.load(Ordering::Relaxed) && !self.has_lease(now)
    }

    /// This node's replica of a shard, if it has one; waits for the handler that holds it.
    pub fn shard(&self, shard: ShardId) -> Option<ShardGuard<'_>> {
        let replica = self.shards.get()?.get(usize::from(shard.0))?.as_ref()?;
        Some(replica.lock())
    }

    /// The same, if no other worker holds it right now.
    pub fn try_shard(&self, shard: ShardId) -> Option<ShardGuard<'_>> {
        if self.contention.is_busy() {
            return None;
        }
        let replica = self.shards.get()?.get(usize::from(shard.0))?.as_ref()?;
        replica.try_lock()
    }

    pub fn set_connections(&self, connections: Arc<dyn Connections>) {
        assert!(self.connections.set(connections).is_ok(), "a node has one front end");
    }
    pub fn set_backups(&self, backups: Arc<dyn Backups>) {
        assert!(self.backups.set(backups).is_ok(), "one copies a node's rows");
    }
    pub(crate) fn backup(&self, request: &BackupRequest) -> BackupReport {
        self.backups.get().map(|backups| backups.answer(request)).unwrap_or_default()
    }
    pub(crate) fn connections(&self) -> Option<&dyn Connections> {
        self.connections.get().map(AsRef::as_ref)
    }

    /// For the simulator: so many in a thousand `try_shard` find the shard busy, by a generator of this seed.
    pub fn set_contention(&self, per_mille: u32, seed: u64) {
        self.contention.state.store(seed, Ordering::Relaxed);
        self.contention.per_mille.store(u64::from(per_mille), Ordering::Relaxed);
    }

    /// Rows in a record, and rows of a long transaction that are ended in a step.
    pub(crate) fn record_rows_max(&self) -> usize {
        self.record_rows_max.load(Ordering::Relaxed)
    }
    /// For the simulator: every transaction with more rows is a long one.
    pub fn set_record_rows_max(&self, count: usize) {
        self.record_rows_max.store(count, Ordering::Relaxed);
    }

    /// Bytes of rows that operations under locks work on before others have their turn.
    pub(crate) fn turn_bytes_max(&self) -> usize {
        self.turn_bytes_max.load(Ordering::Relaxed)
    }
    /// For the simulator: rows as small as its own are many bytes.
    pub fn set_turn_bytes_max(&self, bytes: usize) {
        self.turn_bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Rows of a piece that a learner is offered, and of a copy.
    pub(crate) fn fill_rows_max(&self) -> usize {
        self.fill_rows_max.load(Ordering::Relaxed)
    }
    /// For the simulator, where tables are small: several pieces all the same.
    pub fn set_fill_rows_max(&self, count: usize) {
        self.fill_rows_max.store(count, Ordering::Relaxed);
    }

    /// What may wait for a learner's disk while it is filled, as its store counts it.
    pub(crate) fn fill_backlog_max(&self) -> u64 {
        self.fill_backlog_max.load(Ordering::Relaxed)
    }
    /// For the simulator, where tables are small: the disk is behind all the same.
    pub fn set_fill_backlog_max(&self, backlog: u64) {
        self.fill_backlog_max.store(backlog, Ordering::Relaxed);
    }

    /// Bytes of applied entries of the control plane after which a voter makes a snapshot of its state.
    pub(crate) fn control_log_bytes_max(&self) -> u64 {
        self.control_log_bytes_max.load(Ordering::Relaxed)
    }
    /// For the simulator: snapshots are made all the time.
    pub fn set_control_log_bytes_max(&self, count: u64) {
        self.control_log_bytes_max.store(count, Ordering::Relaxed);
    }

    /// By how much the log of a part may grow while local checkpoints write all of its rows again: seven sixteenths of what these take,
    /// and not too little; where there is no room for more log, less.
    pub(crate) fn log_growth_max(&self, is_short_of_room: bool) -> u64 {
        match self.log_growth_min.load(Ordering::Relaxed) {
            LOG_GROWTH_MIN if is_short_of_room => LOG_GROWTH_SHORT_OF_ROOM,
            LOG_GROWTH_MIN => LOG_GROWTH_MIN.max(self.part_bytes() / 16 * 7),
            own => own,
        }
    }
    /// In so many turns. With few rows there is little of them twice.
    pub(crate) fn checkpoint_turns(&self) -> u64 {
        match self.are_checkpoints_small() {
            false => (self.part_bytes() / CHECKPOINT_TURN_BYTES_MIN).clamp(1, CHECKPOINT_TURNS),
            true => CHECKPOINT_TURNS,
        }
    }
    /// Of a section, before it is compressed: three or four of them are a turn.
    pub(crate) fn checkpoint_section_bytes(&self) -> u64 {
        match self.are_checkpoints_small() {
            false => {
                (self.part_bytes() / (4 * CHECKPOINT_TURNS)).max(CHECKPOINT_TURN_BYTES_MIN / 4)
            }
            true => 1,
        }
    }
    pub(crate) fn checkpoint_rows_max(&self) -> usize {
        if self.are_checkpoints_small() { CHECKPOINT_ROWS_SMALL } else { CHECKPOINT_ROWS_MAX }
    }
    /// For the simulator: local checkpoints are made all the time, of sections of a few rows.
    pub fn set_log_growth_max(&self, entries: u64) {
        self.log_growth_min.store(entries, Ordering::Relaxed);
    }
    fn are_checkpoints_small(&self) -> bool {
        self.log_growth_min.load(Ordering::Relaxed) != LOG_GROWTH_MIN
    }
    /// What the rows of a part take, about.
    fn part_bytes(&self) -> u64 {
        self.pool.used() / self.awake.len() as u64
    }

    /// The shards this node has a replica of.
    pub fn local_shards(&self) -> Vec<ShardId> {
        let Some(shards) = self.shards.get() else { return Vec::new() };
        let numbered = shards.iter().enumerate();
        let held = numbered.filter(|(_, replica)| replica.is_some());
        held.map(|(index, _)| ShardId(u16::try_from(index).expect("shards are numbered by u16")))
            .collect()
    }

    /// Gives out the next timestamps; only on the sequencer's node.
    pub(crate) fn next_timestamps(&self, count: u32) -> Timestamp {
        let last = self.sequence.fetch_add(u64::from(count), Ordering::SeqCst);
        let first = Timestamp(last + 1);
        assert!(first.epoch() > 0, "a timestamp before the sequencer has its epoch");
        assert!(first.counter() < 1 << 47, "the epoch's counter is used up");
        first
    }
    /// The last timestamp given out: a snapshot at it sees every commit that was acknowledged until now.
    pub fn last_timestamp(&self) -> Timestamp {
        Timestamp(self.sequence.load(Ordering::SeqCst))
    }

    /// The horizon this node has adopted. It only grows, also as seen by one handler after another of a shard, whose lock
    /// orders them: what one has pruned by, no later one reads below.
    pub(crate) fn horizon(&self) -> Timestamp {
        Timestamp(self.horizon.load(Ordering::Relaxed))
    }
    pub(crate) fn advance_horizon(&self, horizon: Timestamp) {
        self.horizon.fetch_max(horizon.0, Ordering::Relaxed);
    }

    /// What was committed up to this is on the disks of all members, as far as this node has heard.
    pub fn checkpointed(&self) -> Timestamp {
        Timestamp(self.checkpointed.load(Ordering::Relaxed))
    }
    pub(crate) fn set_checkpointed(&self, at: Timestamp) {
        self.checkpointed.fetch_max(at.0, Ordering::Relaxed);
        self.checkpoint_asked.store(0, Ordering::Relaxed);
    }
    /// Somebody makes a global checkpoint at this.
    pub(crate) fn note_checkpoint_asked(&self, at: Timestamp, now: Time) {
        if self.checkpointed() < at {
            let (none, relaxed) = (0, Ordering::Relaxed);
            _ = self.checkpoint_asked.compare_exchange(none, now.max(1), relaxed, relaxed);
        }
    }
    /// Has none been done for too long, though some were begun?
    pub(crate) fn is_checkpoint_late(&self, now: Time) -> bool {
        self.checkpoint_takes(now) > CHECKPOINT_LATE_US
    }
    /// So long that it may never be?
    pub(crate) fn is_checkpoint_missed(&self, now: Time) -> bool {
        self.checkpoint_takes(now) > CHECKPOINT_MISSED_US
    }
    fn checkpoint_takes(&self, now: Time) -> Time {
        match self.checkpoint_asked.load(Ordering::Relaxed) {
            0 => 0,
            asked => now.saturating_sub(asked),
        }
    }

    /// Looks whether a worker's part of the disk keeps up with what it is given.
    pub(crate) fn watch_disk(&self, worker: WorkerId) {
        let Some(store) = &self.store else { return };
        let waiting = store.end(worker).saturating_sub(store.durable(worker));
        let waiting_max = self.log_backlog_max.load(Ordering::Relaxed);
        // A full one is no reason to wait: what would be written is refused.
        let is_behind = waiting > waiting_max && self.room_of(self.node) < Room::Nothing;
        self.parts_behind[usize::from(worker.0)].store(is_behind, Ordering::Relaxed);
        let is_any = self.parts_behind.iter().any(|behind| behind.load(Ordering::Relaxed));
        self.learn_disk_behind(self.node, is_any);
    }
    /// A node says whether its disk keeps up with what its log is given.
    pub(crate) fn learn_disk_behind(&self, node: NodeId, is_behind: bool) {
        let Some(known) = self.disks_behind.get(&node) else { return };
        match (known.swap(is_behind, Ordering::Relaxed), is_behind) {
            (false, true) => _ = self.disks_behind_count.fetch_add(1, Ordering::Relaxed),
            (true, false) => _ = self.disks_behind_count.fetch_sub(1, Ordering::Relaxed),
            _ => {}
        }
    }
    pub(crate) fn is_disk_behind(&self, node: NodeId) -> bool {
        self.disks_behind.get(&node).is_some_and(|behind| behind.load(Ordering::Relaxed))
    }
    /// The first node that counts, or this one, whose disk does not keep up. What waits for it is memory of that node.
    pub(crate) fn disk_behind(&self, state: &ControlState) -> Option<NodeId> {
        if self.disks_behind_count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let counts = |node: NodeId| {
            let group = state.group_of_node(node).map(|group| state.group(group));
            node == self.node || group.is_some_and(|group| group.active().any(|of| of == node))
        };
        self.disks_behind.keys().copied().find(|node| self.is_disk_behind(*node) && counts(*node))
    }

    /// Entries of the log of a part, in bytes, that may wait for the disk before that is behind.
    pub fn set_log_backlog_max(&self, backlog: u64) {
        self.log_backlog_max.store(backlog, Ordering::Relaxed);
    }

    /// Looks what its own disk has room for. True if that has changed. That it has failed is said by the last node only, which goes on: the
    /// process of any other ends, and until it has ended nobody is refused what the others are about to do.
    pub(crate) fn watch_room(&self) -> bool {
        let Some(store) = &self.store else { return false };
        let room = store.room();
        (room != Room::Failed || self.is_last()) && self.learn_room(self.node, room)
    }
    /// A node says what its disk has room for. True if that has changed.
    pub(crate) fn learn_room(&self, node: NodeId, room: Room) -> bool {
        let Some(known) = self.rooms.get(&node) else { return false };
        let has_changed = known.swap(room as u8, Ordering::Relaxed) != room as u8;
        if has_changed {
            let is_short = |room: &AtomicU8| room.load(Ordering::Relaxed) != Room::Ample as u8;
            self.is_short_of_room.store(self.rooms.values().any(is_short), Ordering::Relaxed);
        }
        has_changed
    }
    pub(crate) fn room_of(&self, node: NodeId) -> Room {
        match self.rooms.get(&node).map_or(0, |room| room.load(Ordering::Relaxed)) {
            0 => Room::Ample,
            1 => Room::Reserve,
            2 => Room::Nothing,
            _ => Room::Failed,
        }
    }
    pub(crate) fn refused_by_disk(&self, node: NodeId, rolls_back: bool) -> Refusal {
        match self.room_of(node) {
            Room::Failed => Refusal::DiskFailed { node, rolls_back },
            _ => Refusal::DiskFull { node, rolls_back },
        }
    }
    /// That node has no memory left for a write.
    pub(crate) fn refused_by_memory(&self, table: TableId, node: NodeId) -> Refusal {
        self.memories.note_short(node);
        Refusal::MemoryFull { table, node }
    }
    /// Does this node count, and no other that has its rows?
    pub fn is_last(&self) -> bool {
        let state = self.state();
        let group = state.group_of_node(self.node).map(|group| state.group(group));
        let is_alone = group.is_some_and(|group| group.active().eq([self.node]));
        state.is_formed() && is_alone && state.is_active(self.node, self.incarnation)
    }
    /// The first of those that count whose disk takes nothing any more, so that no global checkpoint is done.
    pub(crate) fn takes_nothing(&self, state: &ControlState) -> Option<NodeId> {
        self.shorter_of_room(Room::Reserve, state.groups.values().flat_map(Group::active))
    }
    /// The first of these nodes whose disk has less than that.
    pub(crate) fn shorter_of_room(
        &self,
        least: Room,
        mut nodes: impl Iterator<Item = NodeId>,
    ) -> Option<NodeId> {
        let is_short = self.is_short_of_room.load(Ordering::Relaxed);
        nodes.find(|node| is_short && least < self.room_of(*node))
    }

    /// The cluster's time, by what the sequencer's node said last; none before it has said anything. Behind by as long as
    /// that message was on its way, and not monotone: it tells transactions apart that began a while after each other.
    pub(crate) fn cluster_time(&self, now: Time) -> Option<u64> {
        let offset = self.time_offset.load(Ordering::Relaxed);
        (offset != TIME_UNKNOWN).then(|| now.wrapping_add_signed(offset))
    }
    pub(crate) fn learn_cluster_time(&self, time: u64, now: Time) {
        self.time_offset.store(time.wrapping_sub(now).cast_signed(), Ordering::Relaxed);
    }

    /// Opens a snapshot on the sequencer's node. Taken and registered under one lock, so that the horizon, which is
    /// computed under it too, never passes a snapshot that is about to be registered.
    pub(crate) fn open_snapshot(&self) -> Timestamp {
        let mut snapshots = lock(&self.snapshots);
        let at = self.last_timestamp();
        *snapshots.entry(at).or_insert(0) += 1;
        at
    }
    pub(crate) fn close_snapshot(&self, at: Timestamp) {
        let mut snapshots = lock(&self.snapshots);
        let count = snapshots.get_mut(&at).expect("closed once for each time it was opened");
        *count -= 1;
        if *count == 0 {
            snapshots.remove(&at);
        }
    }
    /// No snapshot of this node is or will be below this; only on the sequencer's node.
    pub(crate) fn oldest_snapshot(&self) -> Timestamp {
        let snapshots = lock(&self.snapshots);
        snapshots.keys().next().copied().unwrap_or_else(|| self.last_timestamp())
    }
}

/// Could another node have taken over from this boot, as far as this state tells? Not from the only member of a group. From one that
/// has a learner it could: that may have been promoted meanwhile.
fn needs_lease(state: &ControlState, node: NodeId, incarnation: Incarnation) -> bool {
    let members = state.group_of_node(node).map_or(0, |group| state.group(group).members.len());
    let is_member = state.incarnations.get(&node) == Some(&incarnation) && members > 0;
    state.is_over(incarnation) || is_member && members >= 2
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no handler panics and lives on")
}

/// The catalogue a new cluster begins with: no database, only hidden tables.
pub fn bootstrap_catalogue() -> Catalogue {
    let column = |name: &str, column_type: ColumnType| Column {
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
    let number = || ColumnType::Int { width: IntWidth::W8, unsigned: true };
    let index = |id: IndexId, name: &str, kind: IndexKind, column: u16| Index {
        id,
        name: name.into(),
        kind,
        state: IndexState::Public,
        parts: vec![IndexPart { column, prefix: None, descending: false }],
        comment: String::new(),
        is_generated: false,
        algorithm: None,
    };
    let primary = index(IndexId(0), "PRIMARY", IndexKind::Primary, 0);
    let table = |id: TableId, name: &str, columns: Vec<Column>, indexes: Vec<Index>| Table {
        id,
        version: SchemaVersion(1),
        state: TableState::Public,
        database: HIDDEN_DATABASE.into(),
        name: name.into(),
        columns,
        indexes,
        collation: Collation::Binary,
        comment: String::new(),
        engine: "SKARV".into(),
        auto_increment: None,
        unique_of: None,
        constraints: types::Constraints::default(),
        rewriting: types::Rewriting::default(),
        closed_by: None,
        options: Vec::new(),
    };
    let sequences = table(
        SEQUENCES_TABLE,
        "#sequences",
        vec![column("table_id", number()), column("next", number())],
        vec![primary.clone()],
    );
    // `state` is 1 where a transaction is committed with the token, `at` when it was left, in microseconds of Unix time.
    let tokens = table(
        COMMIT_TOKENS_TABLE,
        "#commit_tokens",
        vec![
            column("token", ColumnType::Varbinary { length: 64 }),
            column("state", number()),
            column("at", number()),
        ],
        vec![primary.clone(), index(IndexId(1), "at", IndexKind::Ordinary, 2)],
    );
    // A lock that is held, or a session that waits for one: `client::user_locks` says which.
    let locks = table(
        USER_LOCKS_TABLE,
        USER_LOCKS_NAME,
        vec![
            column("name", ColumnType::Varbinary { length: 257 }),
            column("lineage", number()),
            column("boot", number()),
            column("connection", number()),
            column("number", number()),
            column("since", number()),
            column("waits_for", ColumnType::Varbinary { length: 256 }),
        ],
        vec![primary],
    );
    let tables = [sequences, tokens, locks].map(|table| (table.id, Arc::new(table)));
    Catalogue {
        version: SchemaVersion(1),
        databases: BTreeMap::new(),
        tables: BTreeMap::from(tables),
        table_id_next: USER_LOCKS_TABLE.0 + 1,
        views: Default::default(),
        accounts: Default::default(),
        temporary: Default::default(),
    }
}
