//! The transactions up to a timestamp, read from a disk or a copy of one (rules.md#checkpoints;
//! rule R9).
//!
//! A local checkpoint's rows come first, then the entries of the log behind it, in order. Of each
//! transaction the replay passes on the changes committed up to the timestamp, and of lineages that
//! a cluster restart has ended only the part that the restart kept. Where a log records that its
//! replica began empty, everything before is dropped.

use std::collections::BTreeMap;

use protocol::disk::{CheckpointBlock, CheckpointRow, DiskEntry};
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
    /// Rows of a checkpoint: each comes once, and before any change.
    fn add(
        &mut self,
        shard: ShardId,
        table: TableId,
        rows: &[CheckpointRow<'_>],
    ) -> Result<(), String> {
        for CheckpointRow { key, ts, row } in rows {
            self.change(shard, table, key, RowChange::Put(row), *ts)?;
        }
        Ok(())
    }
    /// What a transaction has made of some rows.
    fn commit(&mut self, shard: ShardId, writes: &[Write], ts: Timestamp) -> Result<(), String> {
        for Write { table, key, row } in writes {
            let change = row.as_ref().map_or(RowChange::Delete, |row| RowChange::Put(row));
            self.change(shard, *table, key, change, ts)?;
        }
        Ok(())
    }
    /// Drops everything that the shard was given so far.
    fn clear(&mut self, shard: ShardId) -> Result<(), String>;
    /// This was committed, behind the timestamp.
    fn pass_over(&mut self, commit: PassedOver<'_>);
}

/// A COMMIT of a log that is not given on.
pub struct PassedOver<'a> {
    pub shard: ShardId,
    pub lineage: Lineage,
    pub transaction: TransactionId,
    pub joined: &'a [TransactionId],
    /// None: it had not got one.
    pub ts: Option<Timestamp>,
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

    /// That was all. Returns where each log is closed at the timestamp.
    pub fn end(self, into: &mut dyn Rows) -> Vec<(ShardId, LogPosition)> {
        for (shard, log) in &self.logs {
            for record in log.unstamped.values() {
                if let RecordKind::Commit { joined, .. } = &record.kind {
                    let (shard, lineage, transaction) = (*shard, log.lineage, record.transaction);
                    into.pass_over(PassedOver { shard, lineage, transaction, joined, ts: None });
                }
            }
        }
        self.logs.into_iter().map(|(shard, log)| (shard, log.position)).collect()
    }

    pub fn take_block(
        &mut self,
        block: CheckpointBlock<'_>,
        into: &mut dyn Rows,
    ) -> Result<(), String> {
        let CheckpointBlock { shard, table, rows } = block;
        self.logs.entry(shard).or_default();
        into.add(shard, table, &rows)
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
            DiskEntry::Booted { .. }
            | DiskEntry::Rested { .. }
            | DiskEntry::Checkpointed { .. } => {}
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
            RecordKind::Commit { ts: Some(ts), joined, .. } => {
                if limit < ts {
                    let (lineage, joined, ts) = (log.lineage, joined.as_slice(), Some(ts));
                    into.pass_over(PassedOver { shard, lineage, transaction, joined, ts });
                }
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
            RecordKind::Decisions { .. } | RecordKind::Offer { .. } | RecordKind::Verify { .. } => {
                return Ok(());
            }
        };
        if ts > limit {
            return Ok(());
        }
        into.commit(shard, &rows, ts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::restart::{Span, Survey};
    use types::wire::Bytes;

    const SHARD: ShardId = ShardId(1);
    const TABLE: TableId = TableId(9);

    #[derive(Default)]
    struct Taken(BTreeMap<Vec<u8>, (u64, Vec<u8>)>);

    impl Rows for Taken {
        fn change(
            &mut self,
            _shard: ShardId,
            _table: TableId,
            key: &[u8],
            change: RowChange<'_>,
            ts: Timestamp,
        ) -> Result<(), String> {
            match change {
                RowChange::Put(row) => self.0.insert(key.to_vec(), (ts.0, row.to_vec())),
                RowChange::Delete => self.0.remove(key),
            };
            Ok(())
        }
        fn clear(&mut self, _shard: ShardId) -> Result<(), String> {
            self.0.clear();
            Ok(())
        }
        fn pass_over(&mut self, _commit: PassedOver<'_>) {}
    }

    fn record(
        lineage: u64,
        position: u64,
        transaction: u64,
        kind: RecordKind,
        key: u8,
    ) -> DiskEntry {
        let transaction = TransactionId { sequence: transaction, ..TransactionId::default() };
        let row = Some(Bytes(vec![position as u8]));
        let writes = match &kind {
            RecordKind::Closed { .. } | RecordKind::Decision { .. } => Vec::new(),
            _ => vec![Write { table: TABLE, key: Bytes(vec![key]), row }],
        };
        let (lineage, position) = (Lineage(lineage), LogPosition(position));
        let record = Record { transaction, kind, writes };
        DiskEntry::Record { shard: SHARD, lineage, position, record }
    }

    fn commit(ts: Option<u64>) -> RecordKind {
        RecordKind::Commit { ts: ts.map(Timestamp), participants: Vec::new(), joined: Vec::new() }
    }
    fn closed(at: u64) -> RecordKind {
        RecordKind::Closed { at: Timestamp(at) }
    }

    fn stamped(position: u64, ts: u64) -> DiskEntry {
        DiskEntry::Stamped {
            shard: SHARD,
            lineage: Lineage(1),
            position: LogPosition(position),
            ts: Timestamp(ts),
        }
    }

    /// The log of a shard through two lineages, and of a second replica. The entry of index n ends at place n + 1.
    fn log() -> Vec<DiskEntry> {
        vec![
            record(1, 1, 1, commit(Some(10)), 1),
            record(1, 2, 2, commit(None), 2),
            record(1, 3, 0, closed(20), 0),
            stamped(2, 15),
            record(1, 4, 3, commit(Some(30)), 1),
            record(1, 5, 0, closed(30), 0),
            record(1, 6, 4, commit(Some(35)), 3),
            // The cluster began again with the commits up to 30.
            record(2, 6, 5, commit(Some(50)), 4),
            record(2, 7, 0, closed(50), 0),
            DiskEntry::Begun { shard: SHARD, lineage: Lineage(2), position: LogPosition(9) },
            record(2, 10, 6, commit(Some(60)), 5),
            record(2, 11, 0, closed(60), 0),
        ]
    }

    /// Under load some commit always waits for its timestamp: that says nothing of where the log was closed before it.
    #[test]
    fn moments_do_not_wait_for_later_commits() {
        let log = [
            record(1, 1, 1, commit(None), 1),
            record(1, 2, 0, closed(20), 0),
            record(1, 3, 2, commit(None), 2),
            stamped(1, 15),
            record(1, 4, 0, closed(30), 0),
            record(1, 5, 3, commit(None), 1),
            stamped(3, 25),
            record(1, 6, 0, closed(40), 0),
            record(1, 7, 4, commit(None), 2),
        ];
        let mut survey = Survey::default();
        let mut known = Vec::new();
        for (place, entry) in (1u64..).zip(&log) {
            survey.add(place, entry);
            let span = |at: u64| survey.span(SHARD, Timestamp(at), &BTreeMap::new());
            known.push([20, 30, 40].map(|at| span(at).map(|span| span.to)));
        }
        let (none, first, both) = ([None; 3], [Some(4), None, None], [Some(4), Some(7), None]);
        assert_eq!(known, [none, none, none, first, first, first, both, both, both]);
    }

    /// What was committed at a timestamp comes of exactly the entries that the survey says: a commit that was stamped behind the place
    /// where the log is closed is in it, what a restart has cut off and what another replica had is not.
    #[test]
    fn a_moment_comes_back() {
        let restarts = BTreeMap::from([(Lineage(1), Timestamp(30))]);
        let mut survey = Survey::default();
        for (place, entry) in (1u64..).zip(&log()) {
            survey.add(place, entry);
        }
        let span = |at: u64| survey.span(SHARD, Timestamp(at), &restarts);
        let known = |from: u64, to: u64, replica_ends: u64| Some(Span { from, to, replica_ends });
        assert_eq!((span(20), span(30)), (known(0, 4, 10), known(0, 6, 10)));
        assert_eq!((span(50), span(60)), (known(0, 9, 10), known(10, 12, u64::MAX)));
        assert_eq!((span(15), span(35)), (None, None), "no log is closed there");
        assert_eq!(survey.span(ShardId(2), Timestamp(20), &restarts), None);
        let later = BTreeMap::from([(Lineage(1), Timestamp(25))]);
        assert_eq!(survey.span(SHARD, Timestamp(30), &later), None, "a restart cut that off");

        let rows = |at: u64| {
            let Span { from, to, .. } = span(at).expect("just seen");
            let mut replay = Replay::new(Timestamp(at), restarts.clone());
            replay.begin_behind(&[(SHARD, from)]);
            replay.stop_behind(SHARD, to);
            let mut taken = Taken::default();
            for (place, entry) in (1u64..).zip(log()) {
                replay.take(place, entry, &mut taken).expect("nobody refuses");
            }
            let keys = taken.0.into_iter().map(|(key, (ts, row))| (key[0], ts, row[0]));
            keys.collect::<Vec<_>>()
        };
        assert_eq!(rows(20), [(1, 10, 1), (2, 15, 2)]);
        assert_eq!(rows(30), [(1, 30, 4), (2, 15, 2)]);
        assert_eq!(rows(50), [(1, 30, 4), (2, 15, 2), (4, 50, 6)]);
        assert_eq!(rows(60), [(5, 60, 10)]);
    }
}
