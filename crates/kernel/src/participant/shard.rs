//! A shard's state, and the small helpers its handlers share.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use protocol::control::ControlState;
use protocol::disk::CheckpointRow;
use protocol::message::{Record, RecordKind, Replicate, WaitEdge, Write};
use protocol::op::BatchResult;
use storage::{
    Charge, IndexEstimate, LoadError, LockTable, MemoryFull, PREFETCHED_AHEAD, PagePool, Partition,
    Pieces, RowChange, RowHandle, Sorting, Undo,
};
use types::{
    Address, Catalogue, Incarnation, IndexId, IndexState, LogPosition, NodeId, RowLayout, RowView,
    SchemaVersion, ShardId, Space, Table, TableId, Timestamp, TransactionId, View,
};

use super::commits::Commits;
use super::disk::DiskLog;
use super::learner::Filling;
use super::long::{End, Ending, Undoing};
use super::offer::Unconfirmed;
use super::parked::Parked;
use super::reconcile::Reconciling;
use crate::limits::{
    BUILD_STEPS_WHEN_USED, LOADING_LEFT_MIN, UPKEEP_ROWS_MAX, WAITS_TOLD_IN_FULL_MAX,
};
use crate::memory::Owed;
use crate::restart::NotLoaded;
use crate::worker::Time;

/// One node's replica of a shard.
pub struct Shard {
    pub(super) id: ShardId,

    // Fixed for the view.
    pub(super) view: View,
    pub(super) is_primary: bool,
    /// On the primary: who must hold a record before it is decided. The other active members, in order of ids, and a learner
    /// that was sent everything.
    pub(super) backups: Vec<NodeId>,
    /// The node that leads the shard.
    pub(super) primary: NodeId,
    /// Rows have two copies at most: a record that has come to the only backup is held by all.
    pub(super) is_pair: bool,
    /// Boots that are over: whatever still comes from them is nothing (rule R2), whichever worker of this node it comes through.
    pub(super) excluded: BTreeSet<Incarnation>,
    pub(super) pool: Arc<PagePool>,

    // Rows.
    /// The catalogue that `tables` were made by.
    pub(super) schema_version: SchemaVersion,
    pub(super) tables: BTreeMap<TableId, TableReplica>,

    // On the primary.
    pub(super) locks: LockTable,
    pub(super) transactions: BTreeMap<TransactionId, ShardTransaction>,
    /// The log's last record.
    pub(super) position: LogPosition,
    /// Records that not every member holds yet, in order.
    pub(super) in_flight: VecDeque<InFlight>,
    /// Snapshots up to here were read without what commits from now on (rule R11). Only grows.
    pub(super) read_floor: Timestamp,
    /// Commits in between were stamped anew after a takeover: what a snapshot of the sequencer before, from in between, should
    /// see of them nobody knows.
    pub(super) restamped: Option<(Timestamp, Timestamp)>,
    /// Long transactions whose parts are being sent.
    pub(super) sending: Vec<TransactionId>,
    /// Of `in_flight`.
    pub(super) parts_in_flight: usize,
    /// The learner of the group, and how far it is filled.
    pub(super) filling: Option<Filling>,

    /// At rest for the handover that was begun so: nobody is to ask for anything until it is over.
    pub(super) sealed: Option<u64>,

    // On a backup.
    /// Being filled: not all rows are here.
    pub(super) is_learner: bool,
    /// It was filled with the rows as they were then: what was before, a snapshot below this may ask for.
    pub(super) complete_from: Timestamp,
    /// Rows from its own disk are here that its primary has not been compared with.
    pub(super) unconfirmed: Option<Unconfirmed>,
    /// Every record up to here is here.
    pub(super) received: LogPosition,
    /// replicas >= 3: records behind the commit index, which another member may lack when the primary dies.
    pub(super) kept: VecDeque<(LogPosition, Record)>,
    /// To lead, when all members hold the same.
    pub(super) reconciling: Option<Reconciling>,
    /// Records that came before one that is missing: another worker of the primary sent that.
    pub(super) early: BTreeMap<LogPosition, (Address, Replicate)>,
    /// replicas >= 3: commits that not every member is known to hold yet, in order.
    pub(super) undecided: VecDeque<Undecided>,
    /// Transactions that are prepared, or of which parts have come, and their rows.
    pub(super) prepared: BTreeMap<TransactionId, Applied>,
    /// Coordinators of this node that wait until a record is here.
    pub(super) held_waiters: BTreeMap<LogPosition, Vec<HeldWaiter>>,

    // On both.
    /// Long transactions that are decided, with the rows that do not show it yet.
    pub(super) endings: BTreeMap<TransactionId, Ending>,
    /// Statements that are being undone, in steps.
    pub(super) undoing: BTreeMap<TransactionId, Undoing>,
    /// The owner was asked to go on with long transactions, housekeeping, and what waits for its turn.
    pub(super) goes_on: bool,
    /// The waits for nothing but their turn, in order; some may have ended meanwhile.
    pub(super) turns: VecDeque<u64>,
    /// Of the rows that operations under locks have looked at and written since a message began or the owner went on, and of what came
    /// with them.
    pub(super) turn_bytes: Cell<usize>,
    /// The last piece of housekeeping left some to be done at once.
    pub(super) has_upkeep: bool,
    /// Steps of index builds until the next tick; None while no session uses the node.
    pub(super) build_steps_left: Option<u32>,
    /// A public index does not fit into this node's memory.
    pub(super) lacks_memory: bool,
    /// Rows of decided transactions since then.
    pub(super) rows_committed: usize,
    /// Commits that may be asked for after a takeover.
    pub(super) commits: Commits,
    /// The control state that this replica was last brought up to, by whichever worker heard of it first.
    pub(super) applied: u64,
    /// Requests and plain reads so far: who is filled has time while there are few.
    pub(super) asked: u64,
    pub(super) disk: DiskLog,
    /// Every member holds the records up to here.
    pub(super) commit_index: LogPosition,
    /// The highest sequencer epoch seen in any timestamp (rule R10).
    pub(super) epoch_max: u16,
    /// Operations that wait, by token.
    pub(super) parked: BTreeMap<u64, Parked>,
    pub(super) token_last: u64,
}

/// One table's rows in this shard, and the layout its rows are read by.
pub struct TableReplica {
    pub partition: Partition,
    pub layout: RowLayout,
}

impl TableReplica {
    /// Are all rows in all indexes, but those that were given up?
    pub(super) fn indexes_built(&self) -> bool {
        let partition = &self.partition;
        let mut indexes = partition.table().indexes.iter().map(|index| index.id);
        indexes.all(|index| partition.is_built(index) || partition.is_given_up(index))
    }
}

/// A transaction that holds locks or has written here.
pub(super) struct ShardTransaction {
    pub writes: Pieces<WriteEntry>,
    /// What they take, with the locks of their rows.
    pub kept: Charge,
    /// What members will need for those that were not sent.
    pub owed: Owed,
    /// Bytes of keys and rows in `writes`, without those that were sent.
    pub bytes: usize,
    /// So many of `writes`, from the first, have their markers and went ahead in parts.
    pub sent: usize,
    pub state: TransactionState,
    /// Set with its last markers: its commit timestamp must be above (rules R10, R11).
    pub min_commit: Timestamp,
    /// While its parts are sent, or it waits for its timestamp: what it was asked for.
    pub end: Option<End>,
    /// Taken over from a dead primary: the rows it is prepared with, instead of `writes`.
    pub applied: Pieces<(TableId, RowHandle)>,
    /// Prepared: the shard whose log holds the decision, and since when.
    pub home: Option<ShardId>,
    pub prepared: Prepared,
    /// Its coordinator may never say how it ended: prepared, home is asked; of parts only, it is rolled back.
    pub is_in_doubt: bool,
}

/// On a backup: the rows of a transaction that is not decided.
#[derive(Default)]
pub(super) struct Applied {
    pub rows: Pieces<(TableId, RowHandle)>,
    /// Set by its PREPARE.
    pub home: Option<ShardId>,
    pub since: Prepared,
}

/// Since when a transaction is prepared: by this node's clock, and for how long it was before that on another one.
#[derive(Clone, Copy, Default)]
pub(super) struct Prepared {
    pub at: Time,
    pub before_us: u64,
}

impl Prepared {
    pub fn at(now: Time) -> Prepared {
        Prepared { at: now, before_us: 0 }
    }
    pub fn age(self, now: Time) -> u64 {
        now.saturating_sub(self.at) + self.before_us
    }
}

impl ShardTransaction {
    pub fn new() -> ShardTransaction {
        ShardTransaction {
            writes: Pieces::new(),
            kept: Charge::default(),
            owed: Owed::default(),
            bytes: 0,
            sent: 0,
            state: TransactionState::Active,
            min_commit: Timestamp::ZERO,
            end: None,
            applied: Pieces::new(),
            home: None,
            prepared: Prepared::default(),
            is_in_doubt: false,
        }
    }

    /// Rows it has written.
    pub fn row_count(&self) -> usize {
        self.applied.len() + self.writes.iter().filter(|write| write.first).count()
    }
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) enum TransactionState {
    Active,
    /// Long, and asked to commit or to prepare: its markers are being set and its rows sent.
    Sending,
    /// All locks are held and markers set; waits for its commit timestamp.
    AwaitsTimestamp,
    /// Its COMMIT is in the log.
    Committing,
    /// Its PREPARE is in the log.
    Prepared,
}

pub(super) struct WriteEntry {
    pub table: TableId,
    pub row: RowHandle,
    pub statement: u32,
    /// The transaction's first write of this row: one record entry a row.
    pub first: bool,
    /// Of its key and row.
    pub bytes: usize,
    pub undo: Undo,
    /// Bytes that its transaction keeps for it.
    pub kept: usize,
    /// What the rows of its table take more since.
    pub taken: Space,
}

/// A record on its way to the backups.
pub(super) struct InFlight {
    pub position: LogPosition,
    pub transaction: TransactionId,
    pub kind: RecordKind,
    /// Members that have not acknowledged it.
    pub missing: Vec<NodeId>,
    /// Whom to tell when all members hold it: not who was told already, or needs not be.
    pub answers: Vec<(TransactionId, Answer)>,
    /// What its rows take at those members.
    pub owed: Owed,
}

impl InFlight {
    /// Do all members hold it, and is its timestamp here? An acknowledgement says that all before it are held too, but
    /// carries the timestamps only of records that came over the same channel: those of others may still be on their way.
    pub fn is_held(&self) -> bool {
        self.missing.is_empty() && !matches!(self.kind, RecordKind::Commit { ts: None, .. })
    }
}

/// A commit in this shard's log that was asked for.
pub(super) struct CommitAsked {
    /// Other shards where the transaction has written.
    pub participants: Vec<ShardId>,
    /// To its coordinator, and behind that to those of the transactions that have joined it.
    pub answers: Vec<(TransactionId, Answer)>,
}

/// What a coordinator waits for.
#[derive(Debug)]
pub(super) enum Answer {
    Execute { request: u64, result: BatchResult },
    Commit { request: u64 },
    Prepare { request: u64 },
}

pub(super) struct Undecided {
    pub position: LogPosition,
    pub transaction: TransactionId,
    pub ts: Timestamp,
    pub rows: Pieces<(TableId, RowHandle)>,
}

pub(super) struct HeldWaiter {
    pub coordinator: Address,
    pub transaction: TransactionId,
    pub request: u64,
}

impl Shard {
    pub(crate) fn new(
        id: ShardId,
        node: NodeId,
        state: &ControlState,
        pool: &Arc<PagePool>,
    ) -> Shard {
        let group = state.group(state.group_of(id));
        let members: Vec<NodeId> = group.active().collect();
        let is_primary = group.primaries[&id] == node;
        let mut shard = Shard {
            id,
            view: group.view,
            is_primary,
            backups: members.iter().copied().filter(|member| *member != node).collect(),
            primary: group.primaries[&id],
            is_pair: state.config.replicas <= 2,
            excluded: state.excluded.keys().copied().collect(),
            filling: None,
            sealed: None,
            is_learner: group.is_learner(node),
            complete_from: Timestamp::ZERO,
            unconfirmed: None,
            restamped: None,
            pool: Arc::clone(pool),
            schema_version: SchemaVersion(0),
            tables: BTreeMap::new(),
            locks: LockTable::new(),
            transactions: BTreeMap::new(),
            position: LogPosition(0),
            in_flight: VecDeque::new(),
            read_floor: Timestamp::ZERO,
            sending: Vec::new(),
            parts_in_flight: 0,
            received: LogPosition(0),
            kept: VecDeque::new(),
            reconciling: None,
            early: BTreeMap::new(),
            undecided: VecDeque::new(),
            prepared: BTreeMap::new(),
            held_waiters: BTreeMap::new(),
            endings: BTreeMap::new(),
            undoing: BTreeMap::new(),
            goes_on: false,
            turns: VecDeque::new(),
            turn_bytes: Cell::new(0),
            has_upkeep: false,
            build_steps_left: None,
            lacks_memory: false,
            rows_committed: 0,
            commits: Commits::default(),
            applied: state.applied,
            asked: 0,
            disk: DiskLog::default(),
            commit_index: LogPosition(0),
            epoch_max: 0,
            parked: BTreeMap::new(),
            token_last: 0,
        };
        shard.adopt_catalogue(&state.catalogue);
        shard
    }

    /// As a learner: begins with rows that its disk had, as they were committed up to `at`. What of them is so still, its primary says.
    pub(crate) fn begin_with(&mut self, loaded: Shard, at: Timestamp, catalogue: &Catalogue) {
        assert!(self.is_learner && self.id == loaded.id);
        self.tables = loaded.tables;
        self.adopt_catalogue(catalogue);
        self.unconfirmed = Some(Unconfirmed::new(at));
    }

    /// In a cluster restart: what was loaded is of another replica's life.
    pub(crate) fn clear(&mut self, state: &ControlState) {
        self.tables.clear();
        self.adopt_catalogue(&state.catalogue);
    }

    /// In a cluster restart: committed rows out of a checkpoint, which come once. Of a table that was dropped since, nothing is left.
    pub(crate) fn load_rows(
        &mut self,
        table: TableId,
        rows: &[CheckpointRow<'_>],
    ) -> Result<(), NotLoaded> {
        for CheckpointRow { key, ts, row } in rows {
            if let Some(replica) = self.loads_into(table, Some(row))? {
                replica.partition.load_new(key, row, *ts);
            }
        }
        Ok(())
    }

    /// In a cluster restart: what a transaction has made of some rows, out of the log.
    pub(crate) fn load_writes(&mut self, writes: &[Write], ts: Timestamp) -> Result<(), NotLoaded> {
        writes.iter().take(PREFETCHED_AHEAD).for_each(|write| self.will_load(write));
        for (index, Write { table, key, row }) in writes.iter().enumerate() {
            if let Some(later) = writes.get(index + PREFETCHED_AHEAD) {
                self.will_load(later);
            }
            let change = row.as_ref().map_or(RowChange::Delete, |row| RowChange::Put(row));
            self.load_row(*table, key, change, ts)?;
        }
        Ok(())
    }

    /// This write is soon to be loaded.
    fn will_load(&self, write: &Write) {
        if let Some(replica) = self.tables.get(&write.table) {
            replica.partition.will_load(&write.key);
        }
    }

    /// In a cluster restart: a committed row out of the log.
    pub(crate) fn load_row(
        &mut self,
        table: TableId,
        key: &[u8],
        change: RowChange<'_>,
        ts: Timestamp,
    ) -> Result<(), NotLoaded> {
        let row = match change {
            RowChange::Put(row) => Some(row),
            RowChange::Delete => None,
        };
        if let Some(replica) = self.loads_into(table, row)? {
            replica.partition.load(key, change, ts);
        }
        Ok(())
    }

    /// The table that a row is to be loaded into, if it is a sound one and there is room.
    fn loads_into(
        &mut self,
        table: TableId,
        row: Option<&[u8]>,
    ) -> Result<Option<&mut TableReplica>, NotLoaded> {
        let Some(replica) = self.tables.get_mut(&table) else { return Ok(None) };
        if let Some(row) = row {
            RowView::check(&replica.layout, row).map_err(|error| {
                NotLoaded::Unfit(format!(
                    "shard {}, table {table}: a row on the disk: {error}",
                    self.id
                ))
            })?;
            if self.pool.left() < LOADING_LEFT_MIN + row.len() as u64 {
                return Err(NotLoaded::NeedsMemory(needs_memory(&self.pool)));
            }
        }
        Ok(Some(replica))
    }

    /// In a cluster restart: all rows are there, and the log goes on behind `position`, where it is closed at `at`.
    pub(crate) fn end_loading(
        &mut self,
        position: LogPosition,
        at: Timestamp,
        sorting: &mut Sorting,
    ) -> Result<(), NotLoaded> {
        for (table, replica) in &mut self.tables {
            replica.partition.end_loading(sorting).map_err(|error| match error {
                LoadError::MemoryFull => NotLoaded::NeedsMemory(needs_memory(&self.pool)),
                LoadError::Twice(key) => {
                    let key = key.escape_ascii();
                    NotLoaded::Unfit(format!(
                        "shard {}, table {table}: two rows on the disk have the key {key}",
                        self.id
                    ))
                }
            })?;
        }
        (self.position, self.received, self.commit_index) = (position, position, position);
        (self.read_floor, self.complete_from) = (at, at);
        self.epoch_max = at.epoch();
        Ok(())
    }

    pub fn is_primary(&self) -> bool {
        self.is_primary
    }
    /// Is it to lead, and does not yet?
    pub(super) fn is_reconciling(&self) -> bool {
        self.reconciling.is_some()
    }
    /// Where rows have two copies: the node that has the other one, if it counts.
    pub(super) fn only_backup(&self) -> Option<NodeId> {
        match self.backups[..] {
            [only] if self.is_pair => Some(only),
            _ => None,
        }
    }
    pub fn tables(&self) -> &BTreeMap<TableId, TableReplica> {
        &self.tables
    }
    /// The rows of a table and estimates for its indexes.
    pub(crate) fn statistics(
        &mut self,
        table: TableId,
        anew: bool,
    ) -> Option<(u64, Vec<IndexEstimate>)> {
        let partition = &mut self.tables.get_mut(&table)?.partition;
        Some((partition.row_count(), partition.statistics(anew)))
    }
    pub fn lock_count(&self) -> usize {
        self.locks.lock_count()
    }
    /// Nothing is pending, parked or on its way here.
    pub fn is_quiescent(&self) -> bool {
        self.transactions.is_empty()
            && self.in_flight.is_empty()
            && self.parked.is_empty()
            && self.undecided.is_empty()
            && self.prepared.is_empty()
            && self.endings.is_empty()
            && self.early.is_empty()
            && self.reconciling.is_none()
    }

    /// What is not at its end here, for whoever wonders why the shard does not rest.
    pub fn unfinished(&self) -> String {
        let states: Vec<_> = self.transactions.iter().map(|(id, t)| (*id, t.state)).collect();
        format!(
            "transactions {states:?}, {} records on their way, {} operations parked, {} undecided, prepared {:?}, \
             ending {:?}, {} records early{}",
            self.in_flight.len(),
            self.parked.len(),
            self.undecided.len(),
            self.prepared.keys().collect::<Vec<_>>(),
            self.endings.keys().collect::<Vec<_>>(),
            self.early.len(),
            if self.is_reconciling() { ", to lead when all members hold the same" } else { "" },
        )
    }

    /// Makes, changes and drops partitions as the catalogue says. A dropped table's rows go at once: the entry that
    /// removes it comes only after every node has adopted the one that hid it (rule R27).
    pub(crate) fn adopt_catalogue(&mut self, catalogue: &Catalogue) {
        self.schema_version = catalogue.version;
        self.tables.retain(|id, _| catalogue.tables.contains_key(id));
        for (id, table) in &catalogue.tables {
            self.adopt_table(*id, table);
        }
    }

    fn adopt_table(&mut self, id: TableId, table: &Arc<Table>) {
        match self.tables.get_mut(&id) {
            Some(replica) if replica.partition.table().version == table.version => {}
            Some(replica) => {
                replica.partition.alter(Arc::clone(table));
                replica.layout = table.row_layout();
            }
            None => {
                let partition = Partition::new(Arc::clone(table), Arc::clone(&self.pool));
                self.tables.insert(id, TableReplica { partition, layout: table.row_layout() });
            }
        }
    }

    /// Housekeeping: drops some versions that no snapshot sees, and fills some of the indexes that are being built, in a few steps
    /// a tick while sessions use the node. True if there is more to do at once. Each row that was committed since the last time
    /// leaves two versions to drop at most, so garbage never outruns this. The shard gives up a new index that does not fit into
    /// the memory, and the schema change that waits for it fails.
    pub(super) fn keep_house(&mut self, horizon: Timestamp) -> bool {
        let mut versions_left = UPKEEP_ROWS_MAX + 2 * std::mem::take(&mut self.rows_committed);
        let may_build = self.build_steps_left != Some(0);
        let mut entries_left = if may_build { UPKEEP_ROWS_MAX } else { 0 };
        for replica in self.tables.values_mut() {
            let partition = &mut replica.partition;
            if versions_left > 0 && partition.prunable() > 0 {
                versions_left =
                    versions_left.saturating_sub(partition.prune(horizon, versions_left));
            }
            let table = Arc::clone(partition.table());
            for index in &table.indexes {
                if entries_left > 0 && !partition.is_built(index.id) {
                    match partition.build_step(index.id, entries_left) {
                        Ok(progress) => entries_left -= progress.rows,
                        // A node that comes back is to have it.
                        Err(MemoryFull) if index.state == IndexState::Public => {
                            self.lacks_memory = true;
                        }
                        Err(MemoryFull) => partition.give_up_build(index.id),
                    }
                }
            }
        }
        let builds_more = may_build && entries_left == 0;
        if let Some(steps) = self.build_steps_left.as_mut().filter(|_| builds_more) {
            *steps -= 1;
        }
        versions_left == 0 || (builds_more && self.build_steps_left != Some(0))
    }

    /// Begins a tick's share of the index builds.
    pub(super) fn share_builds(&mut self, is_used: bool) {
        self.build_steps_left = is_used.then_some(BUILD_STEPS_WHEN_USED);
    }

    pub(super) fn indexes_built(&self) -> bool {
        self.tables.values().all(TableReplica::indexes_built)
    }

    /// The indexes for which there was no room.
    pub(super) fn indexes_given_up(&self) -> impl Iterator<Item = (TableId, IndexId)> {
        let given_up = self.indexes().filter(|(partition, index)| partition.is_given_up(*index));
        given_up.map(|(partition, index)| (partition.table().id, index))
    }

    fn indexes(&self) -> impl Iterator<Item = (&Partition, IndexId)> {
        self.tables.values().flat_map(|TableReplica { partition, .. }| {
            partition.table().indexes.iter().map(move |index| (partition, index.id))
        })
    }

    /// Who waits for whom, among waits that began before `before`.
    pub(crate) fn wait_edges(&self, before: u64, edges: &mut Vec<WaitEdge>) {
        // All edges of a crowd are as many as its square; a few say the same, but may make a bystander the victim.
        let is_crowded = self.locks.waiter_count() > WAITS_TOLD_IN_FULL_MAX;
        for (token, parked) in &self.parked {
            if parked.since > before || !parked.waits_for_lock() {
                continue;
            }
            let waiter = parked.execute.transaction;
            let blocking = match is_crowded {
                true => self.locks.next_blocking(*token),
                false => self.locks.holders_blocking(*token),
            };
            for holder in blocking {
                edges.push(WaitEdge { waiter, holder, started: parked.execute.started });
            }
        }
    }

    /// As few edges of the waits there are now as lead wherever all of them do.
    pub(crate) fn next_wait_edges(&self, edges: &mut Vec<WaitEdge>) {
        let waiting = self.parked.iter().filter(|(_, parked)| parked.waits_for_lock());
        for (token, Parked { execute, .. }) in waiting {
            let (waiter, started) = (execute.transaction, execute.started);
            let next = self.locks.next_blocking(*token).into_iter();
            edges.extend(next.map(|holder| WaitEdge { waiter, holder, started }));
        }
    }

    pub(crate) fn wait_count(&self) -> usize {
        self.locks.waiter_count()
    }

    pub(super) fn next_token(&mut self) -> u64 {
        self.token_last += 1;
        self.token_last
    }

    /// Does this replica hold every record up to `position`? If not, the coordinator is told when it does.
    pub(crate) fn holds_or_tell(
        &mut self,
        position: LogPosition,
        coordinator: Address,
        transaction: TransactionId,
        request: u64,
    ) -> bool {
        if self.received >= position {
            return true;
        }
        let waiter = HeldWaiter { coordinator, transaction, request };
        self.held_waiters.entry(position).or_default().push(waiter);
        false
    }
}

pub(super) fn needs_memory(pool: &PagePool) -> String {
    format!(
        "its rows need more than the {} MiB of memory that it may take: give it more (--memory, or memory in the configuration)",
        pool.limit() >> 20
    )
}
