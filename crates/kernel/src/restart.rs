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
use protocol::disk::DiskEntry;
use protocol::message::{CopiedVersion, DiskFound, DiskPoint, Record, RecordKind, Write};
use storage::RowChange;
use types::wire::Wire;
use types::{Incarnation, Lineage, LogPosition, ShardId, Timestamp, TransactionId, WorkerId};

use crate::node::NodeShared;
use crate::store::Store;

/// As many points are told of: others' disks may lack the last few.
const POINTS_TOLD_MAX: usize = 64;

/// Looks through the whole disk for what this node could begin with, given the shards it keeps.
pub(crate) fn look(store: &dyn Store, shards: &[ShardId]) -> Result<DiskFound, String> {
    let mut boots: Vec<Incarnation> = Vec::new();
    let mut logs: BTreeMap<ShardId, LogFound> = BTreeMap::new();
    for part in 0..store.parts() {
        let part = WorkerId(part);
        store.read_log(part, 0, &mut |place, bytes| {
            let entry = DiskEntry::without_rows(bytes)
                .map_err(|error| format!("part {part}, entry at {place}: {error}"))?;
            match entry {
                DiskEntry::Booted { incarnation } => boots.push(incarnation),
                DiskEntry::Begun { shard, .. } => {
                    logs.insert(shard, LogFound::default());
                }
                DiskEntry::Record { shard, lineage, position, record } => {
                    logs.entry(shard).or_default().add(lineage, position, &record.kind);
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
    let points = all.fold(first, |points, other| &points & &other);
    let skipped = points.len().saturating_sub(POINTS_TOLD_MAX);
    Ok(DiskFound { points: points.into_iter().skip(skipped).collect(), boots })
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
}

impl LogFound {
    fn add(&mut self, lineage: Lineage, position: LogPosition, kind: &RecordKind) {
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
        store.read_log(part, 0, &mut |place, bytes| {
            let entry = DiskEntry::from_bytes(bytes)
                .map_err(|error| format!("part {part}, entry at {place}: {error}"))?;
            loading.take(entry, self)
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
        Loading { state, at: restart.at, logs: BTreeMap::new() }
    }

    fn take(&mut self, entry: DiskEntry, node: &NodeShared) -> Result<(), String> {
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
        let log = self.logs.get_mut(&shard).expect("the caller made it");
        // Its lineage is over, this one's predecessor among them: what was committed behind that is as if it had never been.
        let limit = self.state.restarts.get(&log.lineage).copied().unwrap_or(self.at).min(self.at);
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
