//! What was committed up to a timestamp, as a disk, or a copy of one, has it (protocol.md 3.7; R9).
//!
//! A local checkpoint's rows come first, then the entries of the log behind it, in order. Of each transaction what was committed up to
//! the timestamp is given on, and of lineages that a cluster restart has ended only what was left of them. Where a log says that its
//! replica began with nothing, what came before is nobody's.

use std::collections::BTreeMap;

use protocol::disk::{CheckpointBlock, DiskEntry};
use protocol::message::{CopiedVersion, Record, RecordKind, Write};
use storage::RowChange;
use types::{Lineage, LogPosition, ShardId, TableId, Timestamp, TransactionId};

/// Who takes the rows. Of two changes of a row the later one in the log counts; a checkpoint's rows may be newer than the log's first
/// entries, and come again in it.
pub trait Rows {
    fn change(
        &mut self,
        shard: ShardId,
        table: TableId,
        key: &[u8],
        change: RowChange<'_>,
        ts: Timestamp,
    ) -> Result<(), String>;
    /// What the shard was given so far is nobody's.
    fn clear(&mut self, shard: ShardId) -> Result<(), String>;
}

pub struct Replay {
    /// What was committed up to this is given on.
    at: Timestamp,
    /// How each lineage before the last one ended.
    ends: BTreeMap<Lineage, Timestamp>,
    /// Entries of these shards up to there are passed over: the checkpoint has them.
    begins: BTreeMap<ShardId, u64>,
    /// And those behind there.
    stops: BTreeMap<ShardId, u64>,
    logs: BTreeMap<ShardId, Log>,
}

#[derive(Default)]
struct Log {
    lineage: Lineage,
    /// Where it is closed at the timestamp.
    position: LogPosition,
    /// The rows of transactions that are not decided.
    undecided: BTreeMap<TransactionId, Vec<Write>>,
    unstamped: BTreeMap<LogPosition, Record>,
}

impl Replay {
    pub fn new(at: Timestamp, ends: BTreeMap<Lineage, Timestamp>) -> Replay {
        Replay { at, ends, begins: BTreeMap::new(), stops: BTreeMap::new(), logs: BTreeMap::new() }
    }

    /// A test takes what restarts have cut off.
    pub(crate) fn forget_cuts(&mut self) {
        self.ends.clear();
    }

    /// What was committed in this lineage up to this is left. Its end may be of a lineage before: behind that it is
    /// as if it had never been.
    pub fn limit(&self, lineage: Lineage) -> Timestamp {
        self.ends.get(&lineage).copied().unwrap_or(self.at).min(self.at)
    }

    /// Entries of these shards up to these places count no more.
    pub fn begin_behind(&mut self, shards: &[(ShardId, u64)]) {
        self.begins.extend(shards.iter().copied());
    }

    /// Entries of the shard behind this place count no more.
    pub fn stop_behind(&mut self, shard: ShardId, place: u64) {
        self.stops.insert(shard, place);
    }

    /// Where each log is closed at the timestamp.
    pub fn ends(self) -> impl Iterator<Item = (ShardId, LogPosition)> {
        self.logs.into_iter().map(|(shard, log)| (shard, log.position))
    }

    pub fn take_block(
        &mut self,
        block: CheckpointBlock,
        into: &mut dyn Rows,
    ) -> Result<(), String> {
        let CheckpointBlock { shard, table, rows } = block;
        self.logs.entry(shard).or_default();
        for row in rows {
            if let CopiedVersion::Committed(ts, value) = row.version {
                into.change(shard, table, &row.key, RowChange::Put(&value), ts)?;
            }
        }
        Ok(())
    }

    pub fn take(
        &mut self,
        place: u64,
        entry: DiskEntry,
        into: &mut dyn Rows,
    ) -> Result<(), String> {
        let Some(shard) = entry.shard() else { return Ok(()) };
        let is_before = self.begins.get(&shard).is_some_and(|begin| place <= *begin);
        if is_before || self.stops.get(&shard).is_some_and(|stop| *stop < place) {
            return Ok(());
        }
        match entry {
            DiskEntry::Booted { .. } => {}
            DiskEntry::Begun { shard, .. } => {
                self.logs.insert(shard, Log::default());
                into.clear(shard)?;
            }
            DiskEntry::Stamped { shard, position, ts, .. } => {
                let log = self.logs.entry(shard).or_default();
                if let Some(mut record) = log.unstamped.remove(&position) {
                    if let RecordKind::Commit { ts: unknown, .. } = &mut record.kind {
                        *unknown = Some(ts);
                    }
                    self.take_record(shard, position, record, into)?;
                }
            }
            DiskEntry::Record { shard, lineage, position, record } => {
                let log = self.logs.entry(shard).or_default();
                if log.lineage != lineage {
                    *log = Log { lineage, position: log.position, ..Log::default() };
                }
                self.take_record(shard, position, record, into)?;
            }
        }
        Ok(())
    }

    fn take_record(
        &mut self,
        shard: ShardId,
        position: LogPosition,
        record: Record,
        into: &mut dyn Rows,
    ) -> Result<(), String> {
        let limit = self.limit(self.logs[&shard].lineage);
        let log = self.logs.get_mut(&shard).expect("the caller made it");
        let Record { transaction, kind, writes } = record;
        let undecided = |log: &mut Log| log.undecided.remove(&transaction).unwrap_or_default();
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
                for row in rows {
                    match row.version {
                        CopiedVersion::Committed(ts, value) if ts <= limit => {
                            into.change(shard, table, &row.key, RowChange::Put(&value), ts)?;
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
        for Write { table, key, row } in rows {
            let change = row.as_ref().map_or(RowChange::Delete, |row| RowChange::Put(row));
            into.change(shard, table, &key, change, ts)?;
        }
        Ok(())
    }
}
