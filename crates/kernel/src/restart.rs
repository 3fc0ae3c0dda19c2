//! Starting again from the disk: what is found there when the process starts, and the rows that a cluster restart begins with
//! (protocol.md 3.7; R9, R18).
//!
//! A replica's log on the disk is what it was in memory, so loading it is being a backup once more: records in their order, and of
//! each transaction only what was committed up to the restart's timestamp. What came behind, and what was not decided, is passed over:
//! here, and in every restart after this one, because the control plane keeps how each lineage ended.
//!
//! A log can be begun with at a timestamp that it is closed at, if every COMMIT before that place has its own timestamp on the disk, and
//! if what was copied into it, when its replica was filled, is no newer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use protocol::control::ControlState;
use protocol::disk::{CheckpointBlock, CheckpointContents, DiskEntry};
use protocol::message::{CopiedVersion, DiskFound, DiskPoint, Record, RecordKind, Write};
use storage::RowChange;
use types::wire::Wire;
use types::{Incarnation, Lineage, LogPosition, ShardId, Timestamp, TransactionId, WorkerId};

use crate::node::{Mutation, NodeShared};
use crate::store::{CheckpointFound, Store};

/// As many points are told of: others' disks may lack the last few.
const POINTS_TOLD_MAX: usize = 64;

/// What a disk held when its process started.
#[derive(Default)]
pub(crate) struct Found {
    /// What the others are told.
    pub told: DiskFound,
    /// Where on the disk the log of each shard is closed.
    closed: BTreeMap<ShardId, BTreeMap<Timestamp, u64>>,
}

/// Looks through the whole disk for what this node could begin with, given the shards it keeps.
pub(crate) fn look(store: &dyn Store, shards: &[ShardId]) -> Result<Found, String> {
    let mut boots: Vec<Incarnation> = Vec::new();
    let mut logs: BTreeMap<ShardId, LogFound> = BTreeMap::new();
    for part in (0..store.parts()).map(WorkerId) {
        store.read_log(part, 0, &mut |place, bytes| {
            let entry = DiskEntry::without_rows(bytes)
                .map_err(|error| format!("part {part}, entry at {place}: {error}"))?;
            match entry {
                DiskEntry::Booted { incarnation } => boots.push(incarnation),
                DiskEntry::Begun { shard, .. } => {
                    logs.insert(shard, LogFound::default());
                }
                DiskEntry::Record { shard, lineage, position, record } => {
                    logs.entry(shard).or_default().add(lineage, position, place, &record.kind);
                }
                DiskEntry::Stamped { shard, position, .. } => {
                    logs.entry(shard).or_default().stamp(position);
                }
            }
            Ok(())
        })?;
    }
    let of_shard = |shard: &ShardId| logs.get(shard).map(LogFound::points).unwrap_or_default();
    let mut all = shards.iter().map(of_shard);
    let first = all.next().unwrap_or_default();
    let mut points = all.fold(first, |points, other| &points & &other);
    let closed = logs.into_iter().map(|(shard, log)| (shard, log.places)).collect();
    let mut found = Found { told: DiskFound::default(), closed };
    for part in (0..store.parts()).map(WorkerId).filter(|part| store.begin(*part) > 0) {
        // The log before that has gone: only from what took its place on can it be begun with.
        let checkpoints = checkpoints(store, part)?;
        points.retain(|point| checkpoints.iter().any(|(_, of)| found.fits(of, point.at)));
        boots.clear();
    }
    let skipped = points.len().saturating_sub(POINTS_TOLD_MAX);
    found.told = DiskFound { points: points.into_iter().skip(skipped).collect(), boots };
    Ok(found)
}

impl Found {
    /// Has this local checkpoint nothing newer, and are its logs closed at this timestamp behind where it begins?
    fn fits(&self, contents: &CheckpointContents, at: Timestamp) -> bool {
        let is_behind = |(shard, begin): &(ShardId, u64)| {
            let closed = self.closed.get(shard).and_then(|closed| closed.get(&at));
            closed.is_some_and(|place| begin < place)
        };
        contents.newest <= at && contents.shards.iter().all(is_behind)
    }
}

/// The local checkpoints of a part, the newest first.
fn checkpoints(
    store: &dyn Store,
    part: WorkerId,
) -> Result<Vec<(CheckpointFound, CheckpointContents)>, String> {
    let contents = |found: CheckpointFound| {
        let contents = CheckpointContents::from_bytes(&found.contents)
            .map_err(|error| format!("part {part}, checkpoint {}: {error}", found.number))?;
        Ok((found, contents))
    };
    store.checkpoints(part).into_iter().map(contents).collect()
}

/// What the disk has of a shard's log.
#[derive(Default)]
struct LogFound {
    lineage: Lineage,
    unstamped: BTreeSet<LogPosition>,
    complete_from: Timestamp,
    /// The last of them may wait for timestamps.
    closed: Vec<DiskPoint>,
    points: BTreeSet<DiskPoint>,
    places: BTreeMap<Timestamp, u64>,
}

impl LogFound {
    fn add(&mut self, lineage: Lineage, position: LogPosition, place: u64, kind: &RecordKind) {
        if self.lineage != lineage {
            // What was under way in the one before never got any further.
            (self.lineage, self.unstamped, self.closed) = (lineage, BTreeSet::new(), Vec::new());
        }
        match kind {
            RecordKind::Commit { ts: None, .. } => {
                self.unstamped.insert(position);
            }
            RecordKind::Copy { complete_from, .. } => {
                self.complete_from = self.complete_from.max(*complete_from);
            }
            RecordKind::Closed { at } => {
                self.closed.push(DiskPoint { at: *at, lineage });
                self.places.insert(*at, place);
                self.settle();
            }
            _ => {}
        }
    }

    fn stamp(&mut self, position: LogPosition) {
        self.unstamped.remove(&position);
        self.settle();
    }

    fn settle(&mut self) {
        if self.unstamped.is_empty() {
            self.points.extend(self.closed.drain(..));
        }
    }

    fn points(&self) -> BTreeSet<DiskPoint> {
        self.points.iter().copied().filter(|point| self.complete_from <= point.at).collect()
    }
}

impl NodeShared {
    /// Loads the rows that one part of the disk has, in a cluster restart; each part once, on any thread. Errors name the part and what is
    /// wrong there: then this node must not serve.
    pub fn load_part(&self, part: u16) -> Result<(), String> {
        let state = self.state();
        let store = self.store.as_ref().expect("a restart is of nodes with disks");
        let part = WorkerId(part);
        let mut loading = Loading::new(&state);
        let found = checkpoints(store.as_ref(), part)?;
        let fits = |contents: &CheckpointContents| {
            contents.newest <= loading.limit(contents.lineage)
                && self.disk.fits(contents, loading.at)
        };
        let newest = found.into_iter().find(|(_, contents)| fits(contents));
        if let Some((found, contents)) = &newest {
            loading.begins.extend(contents.shards.iter().copied());
            store.read_checkpoint(part, found.number, &mut |bytes| {
                let block = CheckpointBlock::from_bytes(bytes).map_err(|error| {
                    format!("part {part}, checkpoint {}: {error}", found.number)
                })?;
                loading.take_block(block, self)
            })?;
        }
        let log_from = newest.map_or(0, |(found, _)| found.log_from);
        if log_from < store.begin(part) {
            return Err(format!("part {part}: no checkpoint is old enough for what its log lacks"));
        }
        store.read_log(part, log_from, &mut |place, bytes| {
            let entry = DiskEntry::from_bytes(bytes)
                .map_err(|error| format!("part {part}, entry at {place}: {error}"))?;
            loading.take(place, entry, self)
        })?;
        loading.end(self);
        self.parts_loaded.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Parts that are to be loaded.
    pub fn parts(&self) -> u16 {
        self.parts
    }

    /// All are.
    pub(crate) fn is_loaded(&self) -> bool {
        self.parts_loaded.load(Ordering::SeqCst) >= u64::from(self.parts())
    }
}

/// The logs of one part, as they are loaded.
struct Loading<'a> {
    state: &'a ControlState,
    /// What was committed up to this is loaded.
    at: Timestamp,
    /// Entries of these shards up to there are in the checkpoint.
    begins: BTreeMap<ShardId, u64>,
    logs: BTreeMap<ShardId, LogLoading>,
}

#[derive(Default)]
struct LogLoading {
    lineage: Lineage,
    /// Where it is closed at the restart's timestamp.
    position: LogPosition,
    /// The rows of transactions that are not decided.
    undecided: BTreeMap<TransactionId, Vec<Write>>,
    unstamped: BTreeMap<LogPosition, Record>,
}

impl<'a> Loading<'a> {
    fn new(state: &'a ControlState) -> Loading<'a> {
        let restart = state.restart.expect("the host was asked in a restart");
        Loading { state, at: restart.at, begins: BTreeMap::new(), logs: BTreeMap::new() }
    }

    /// What was committed in this lineage up to this is left. Its end may be of a lineage before: behind that it is
    /// as if it had never been.
    fn limit(&self, lineage: Lineage) -> Timestamp {
        let end = self.state.restarts.get(&lineage).copied();
        end.unwrap_or(self.at).min(self.at)
    }

    fn take_block(&mut self, block: CheckpointBlock, node: &NodeShared) -> Result<(), String> {
        let CheckpointBlock { shard, table, rows } = block;
        self.logs.entry(shard).or_default();
        let Some(mut shard) = node.shard(shard) else { return Ok(()) };
        for row in rows {
            if let CopiedVersion::Committed(ts, value) = row.version {
                shard.load_row(table, &row.key, RowChange::Put(&value), ts)?;
            }
        }
        Ok(())
    }

    fn take(&mut self, place: u64, entry: DiskEntry, node: &NodeShared) -> Result<(), String> {
        let shard = match &entry {
            DiskEntry::Booted { .. } => return Ok(()),
            DiskEntry::Begun { shard, .. }
            | DiskEntry::Stamped { shard, .. }
            | DiskEntry::Record { shard, .. } => *shard,
        };
        if self.begins.get(&shard).is_some_and(|begin| place <= *begin) {
            return Ok(());
        }
        match entry {
            DiskEntry::Booted { .. } => {}
            DiskEntry::Begun { shard, .. } => {
                self.logs.insert(shard, LogLoading::default());
                if let Some(mut shard) = node.shard(shard) {
                    shard.clear(self.state);
                }
            }
            DiskEntry::Stamped { shard, position, ts, .. } => {
                let log = self.logs.entry(shard).or_default();
                if let Some(mut record) = log.unstamped.remove(&position) {
                    if let RecordKind::Commit { ts: unknown, .. } = &mut record.kind {
                        *unknown = Some(ts);
                    }
                    self.take_record(shard, position, record, node)?;
                }
            }
            DiskEntry::Record { shard, lineage, position, record } => {
                let log = self.logs.entry(shard).or_default();
                if log.lineage != lineage {
                    *log = LogLoading { lineage, position: log.position, ..LogLoading::default() };
                }
                self.take_record(shard, position, record, node)?;
            }
        }
        Ok(())
    }

    fn take_record(
        &mut self,
        shard: ShardId,
        position: LogPosition,
        record: Record,
        node: &NodeShared,
    ) -> Result<(), String> {
        let limit = match node.mutation {
            Mutation::TailNotCut => self.at,
            _ => self.limit(self.logs[&shard].lineage),
        };
        let log = self.logs.get_mut(&shard).expect("the caller made it");
        let Record { transaction, kind, writes } = record;
        let undecided =
            |log: &mut LogLoading| log.undecided.remove(&transaction).unwrap_or_default();
        let (rows, ts) = match kind {
            RecordKind::Commit { ts: None, .. } => {
                let record = Record { transaction, kind, writes };
                log.unstamped.insert(position, record);
                return Ok(());
            }
            RecordKind::Commit { ts: Some(ts), .. } => {
                let mut rows = undecided(log);
                rows.extend(writes);
                (rows, ts)
            }
            RecordKind::Decision { commit } => match (undecided(log), commit) {
                (rows, Some(ts)) => (rows, ts),
                (_, None) => return Ok(()),
            },
            RecordKind::Part { .. } | RecordKind::Prepare { .. } => {
                log.undecided.entry(transaction).or_default().extend(writes);
                return Ok(());
            }
            RecordKind::Closed { at } => {
                if at == self.at && at <= limit {
                    log.position = position;
                }
                return Ok(());
            }
            RecordKind::Copy { table, rows, .. } => {
                let Some(mut shard) = node.shard(shard) else { return Ok(()) };
                for row in rows {
                    match row.version {
                        CopiedVersion::Committed(ts, value) if ts <= limit => {
                            shard.load_row(table, &row.key, RowChange::Put(&value), ts)?;
                        }
                        CopiedVersion::Committed(..) => {}
                        CopiedVersion::Pending(pending) => {
                            let write = Write { table, key: row.key, row: pending.row };
                            log.undecided.entry(pending.transaction).or_default().push(write);
                        }
                    }
                }
                return Ok(());
            }
            RecordKind::Decisions { .. } | RecordKind::Verify { .. } => return Ok(()),
        };
        if ts > limit {
            return Ok(());
        }
        let Some(mut shard) = node.shard(shard) else { return Ok(()) };
        for Write { table, key, row } in rows {
            let change = row.as_ref().map_or(RowChange::Delete, |row| RowChange::Put(row));
            shard.load_row(table, &key, change, ts)?;
        }
        Ok(())
    }

    fn end(self, node: &NodeShared) {
        for (shard, log) in self.logs {
            if let Some(mut shard) = node.shard(shard) {
                shard.end_loading(log.position, self.at);
            }
        }
    }
}
