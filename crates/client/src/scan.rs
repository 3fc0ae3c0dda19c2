//! Scans over all shards, batch by batch, merged in index order where that is asked for.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use protocol::Refusal;
use protocol::op::{
    Batch, GroupBatch, KeyRange, Op, OpKind, OpResult, ReadAt, RowBatch, Scan, ScanOutput,
    WaitPolicy,
};
use types::convert::EvalSettings;
use types::expr::SqlWarning;
use types::wire::Bytes;
use types::{ShardId, Table, Value};

use crate::session::Session;

/// Bytes of rows that are merged at once, but for the last: each shard may have sent a long one.
const MERGED_BYTES_MAX: usize = 1 << 20;

/// Rows of the first piece of a scan whose reader may stop early, and the most that its pieces grow to.
const FIRST_PIECE_MIN: u64 = 64;
const PIECE_MAX: u64 = 16_384;

/// How a scan's batches are sent.
#[derive(Clone, Debug, Default)]
pub struct ScanOptions {
    /// Rows come in index order over all shards (needs `with_keys` in the output).
    pub ordered: bool,
    pub params: Vec<Value>,
    pub read_at: ReadAt,
    pub settings: EvalSettings,
    pub lock_wait_timeout_ms: u32,
    pub wait: WaitPolicy,
    pub lock_ranges: bool,
    pub refuse_changed: bool,
    pub snapshot_age_max_ms: u32,
    /// Rows asked of each shard at a time (needs `with_keys`): a locking scan whose reader is slow locks as it is read, not
    /// far ahead. None: as many as an answer holds.
    pub piece: Option<u64>,
    /// Each piece is twice as large as the one before it: the reader is likely to stop early, and is not slow.
    pub grows: bool,
}

impl ScanOptions {
    /// A batch of no operations with these options.
    pub(crate) fn batch(&self) -> Batch {
        Batch {
            params: self.params.clone(),
            read_at: self.read_at,
            settings: self.settings,
            lock_wait_timeout_ms: self.lock_wait_timeout_ms,
            wait: self.wait,
            lock_ranges: self.lock_ranges,
            refuse_changed: self.refuse_changed,
            snapshot_age_max_ms: self.snapshot_age_max_ms,
            ..Batch::default()
        }
    }
}

pub enum ScanBatch {
    Rows(RowBatch),
    Groups(GroupBatch),
}

/// A scan under way. Dropping it is fine: shards keep nothing between batches.
pub struct ScanCursor {
    table: Arc<Table>,
    scan: Scan,
    options: ScanOptions,
    started: bool,
    /// What each shard has sent and is not passed on yet, and where it goes on.
    shards: Vec<ShardRows>,
    groups: VecDeque<GroupBatch>,
    /// Rows still wanted.
    remaining: u64,
    /// Of a peek: the shards of the rows that were merged last.
    merged_shards: Vec<ShardId>,
    warnings: Vec<SqlWarning>,
}

struct ShardRows {
    shard: ShardId,
    batch: RowBatch,
    position: usize,
    next: Option<Bytes>,
    received: u64,
    /// In pieces: the ranges of the last request, and the rows it asked for.
    ranges: Vec<KeyRange>,
    asked: u64,
}

impl ShardRows {
    /// Is nothing left here, and more to be had?
    fn is_starved(&self) -> bool {
        self.position == self.batch.len() && (self.next.is_some() || self.is_piece_full())
    }
    /// The shard stopped because it had found what it was asked for: there may be more behind that.
    fn is_piece_full(&self) -> bool {
        self.asked > 0 && self.batch.len() as u64 == self.asked
    }
}

impl Session {
    pub fn scan(&self, table: &Arc<Table>, scan: Scan, options: ScanOptions) -> ScanCursor {
        let remaining = scan.limit.unwrap_or(u64::MAX);
        if options.ordered || options.piece.is_some() {
            let keys = matches!(scan.output, ScanOutput::Rows { with_keys: true, .. });
            assert!(keys, "rows are merged, and pieces go on, by their keys");
        }
        ScanCursor {
            table: Arc::clone(table),
            scan,
            options,
            started: false,
            shards: Vec::new(),
            groups: VecDeque::new(),
            remaining,
            merged_shards: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl ScanCursor {
    /// The next rows or groups (never an empty batch of rows), or none at the end.
    pub async fn next(&mut self, session: &mut Session) -> Result<Option<ScanBatch>, Refusal> {
        loop {
            if self.remaining == 0 {
                return Ok(None);
            }
            if let Some(groups) = self.groups.pop_front() {
                return Ok(Some(ScanBatch::Groups(groups)));
            }
            let merged = if self.options.ordered { self.take_merged() } else { self.take_any() };
            if let Some(batch) = merged {
                return Ok(Some(ScanBatch::Rows(batch)));
            }
            if !self.fetch(session).await? {
                return Ok(None);
            }
        }
    }

    /// The reader takes about `count` rows: the size of the first piece of a scan whose pieces grow.
    pub fn expect(&mut self, count: u64) {
        if self.options.grows && !self.started {
            self.options.piece = Some(count.clamp(FIRST_PIECE_MIN, PIECE_MAX));
        }
    }

    /// Are there rows that `next` returns without asking the shards?
    pub fn has_rows_at_hand(&self) -> bool {
        self.remaining > 0
            && !self.options.ordered
            && self.shards.iter().any(|rows| rows.position < rows.batch.len())
    }

    /// The shards of the rows that `next` returned last, one for each row: of an ordered peek.
    pub(crate) fn merged_shards(&self) -> &[ShardId] {
        &self.merged_shards
    }

    /// The warnings of all batches so far.
    pub fn warnings(&mut self) -> Vec<SqlWarning> {
        std::mem::take(&mut self.warnings)
    }

    /// Asks every shard whose rows are used up for more; false when none has any.
    async fn fetch(&mut self, session: &mut Session) -> Result<bool, Refusal> {
        let mut ops = Vec::new();
        if !self.started {
            self.started = true;
            let limit = limit_of(&self.scan, 0, self.options.piece);
            ops.push(self.op(Scan { limit, ..self.scan.clone() }));
        } else {
            if self.options.grows {
                let grown = |piece: u64| piece.saturating_mul(2).min(PIECE_MAX.max(piece));
                self.options.piece = self.options.piece.map(grown);
            }
            let piece = self.options.piece;
            for rows in self.shards.iter_mut().filter(|rows| rows.is_starved()) {
                let mut scan = self.scan.clone();
                scan.shard = Some(rows.shard);
                scan.limit = limit_of(&self.scan, rows.received, piece);
                if piece.is_some() {
                    if rows.next.is_none() {
                        let last = rows.batch.key(rows.batch.len() - 1);
                        rows.ranges = ranges_behind(&rows.ranges, last, scan.reverse);
                    }
                    rows.asked = scan.limit.unwrap_or(0);
                    scan.ranges.clone_from(&rows.ranges);
                    if rows.ranges.is_empty() || rows.asked == 0 {
                        rows.asked = 0;
                        continue;
                    }
                }
                scan.resume = rows.next.take();
                let kind = OpKind::Scan(Box::new(scan));
                ops.push(Op { table: self.table.id, version: self.table.version, kind });
            }
        }
        if ops.is_empty() {
            return Ok(false);
        }
        let batch = Batch { ops, ..self.options.batch() };
        let result = session.execute(batch).await?;
        self.warnings.extend(result.warnings);
        for result in result.results.into_iter().flatten() {
            self.receive(result)?;
        }
        Ok(true)
    }

    fn op(&self, scan: Scan) -> Op {
        let kind = OpKind::Scan(Box::new(scan));
        Op { table: self.table.id, version: self.table.version, kind }
    }

    fn receive(&mut self, result: OpResult) -> Result<(), Refusal> {
        match result {
            OpResult::Rows(mut batch) => {
                if !batch.is_well_formed() {
                    return Err(Refusal::Unavailable("a node sent damaged rows".into()));
                }
                let next = batch.next.take();
                let received = batch.len() as u64;
                match self.shards.iter_mut().find(|rows| rows.shard == batch.shard) {
                    Some(rows) => {
                        assert_eq!(rows.position, rows.batch.len());
                        rows.batch = batch;
                        rows.position = 0;
                        rows.next = next;
                        rows.received += received;
                    }
                    None => self.shards.push(ShardRows {
                        shard: batch.shard,
                        batch,
                        position: 0,
                        next,
                        received,
                        ranges: match self.options.piece {
                            Some(_) => self.scan.ranges.clone(),
                            None => Vec::new(),
                        },
                        asked: match self.options.piece {
                            Some(_) => limit_of(&self.scan, 0, self.options.piece).unwrap_or(0),
                            None => 0,
                        },
                    }),
                }
            }
            OpResult::Groups(mut batch) => {
                let shard = batch.shard;
                if let Some(next) = batch.next.take() {
                    let rows = ShardRows {
                        shard,
                        batch: RowBatch::default(),
                        position: 0,
                        next: Some(next),
                        received: 0,
                        ranges: Vec::new(),
                        asked: 0,
                    };
                    self.shards.retain(|rows| rows.shard != shard);
                    self.shards.push(rows);
                }
                self.groups.push_back(batch);
            }
            other => unreachable!("{other:?} to a scan"),
        }
        Ok(())
    }

    /// A whole batch of some shard.
    fn take_any(&mut self) -> Option<RowBatch> {
        let in_pieces = self.options.piece.is_some();
        let rows = self.shards.iter_mut().find(|rows| rows.position < rows.batch.len())?;
        assert_eq!(rows.position, 0, "taken whole");
        // Of a piece the last key is needed to go on.
        let mut batch =
            if in_pieces { rows.batch.clone() } else { std::mem::take(&mut rows.batch) };
        rows.position = rows.batch.len();
        if (batch.len() as u64) > self.remaining {
            truncate(&mut batch, usize::try_from(self.remaining).expect("less than the batch"));
        }
        self.remaining -= batch.len() as u64;
        Some(batch)
    }

    /// Rows in key order, as long as every shard that may have a smaller one has shown its next.
    fn take_merged(&mut self) -> Option<RowBatch> {
        let mut merged = RowBatch::default();
        self.merged_shards.clear();
        while (merged.len() as u64) < self.remaining && merged.rows.len() < MERGED_BYTES_MAX {
            if self.shards.iter().any(ShardRows::is_starved) {
                break;
            }
            let heads = self.shards.iter_mut().filter(|rows| rows.position < rows.batch.len());
            let reverse = self.scan.reverse;
            let first = heads.min_by(|a, b| {
                let order = a.batch.key(a.position).cmp(b.batch.key(b.position));
                if reverse { order.reverse() } else { order }
            });
            let Some(rows) = first else { break };
            merged.push(rows.batch.row(rows.position), Some(rows.batch.key(rows.position)));
            rows.position += 1;
            if self.scan.peek {
                self.merged_shards.push(rows.shard);
            }
        }
        if merged.is_empty() {
            return None;
        }
        self.remaining -= merged.len() as u64;
        Some(merged)
    }
}

/// The rows to ask a shard for that has sent some already.
fn limit_of(scan: &Scan, received: u64, piece: Option<u64>) -> Option<u64> {
    let left = scan.limit.map(|limit| limit - received.min(limit));
    match (left, piece) {
        (Some(left), Some(piece)) => Some(left.min(piece)),
        (left, piece) => left.or(piece),
    }
}

/// What of the ranges a scan has before it that stands at this key.
pub(crate) fn ranges_behind(ranges: &[KeyRange], key: &[u8], reverse: bool) -> Vec<KeyRange> {
    let mut behind = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut range = range.clone();
        let (near, far) = match reverse {
            false => (&mut range.lower, &range.upper),
            true => (&mut range.upper, &range.lower),
        };
        // Bounds compare as the keys do, in the direction of the scan.
        let order = |bound: &[u8]| if reverse { key.cmp(bound) } else { bound.cmp(key) };
        let is_over = match far {
            Bound::Unbounded => false,
            Bound::Included(far) | Bound::Excluded(far) => order(far).is_le(),
        };
        if is_over {
            continue;
        }
        let is_untouched = match &*near {
            Bound::Unbounded => false,
            Bound::Included(near) | Bound::Excluded(near) => order(near).is_gt(),
        };
        if !is_untouched {
            *near = Bound::Excluded(key.to_vec());
        }
        behind.push(range);
    }
    behind
}

fn truncate(batch: &mut RowBatch, count: usize) {
    batch.ends.truncate(count);
    batch.rows.0.truncate(batch.ends.last().map_or(0, |end| *end as usize));
    if !batch.key_ends.is_empty() {
        batch.key_ends.truncate(count);
        batch.keys.0.truncate(batch.key_ends.last().map_or(0, |end| *end as usize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a piece leaves: ranges before its last key go, the one it stands in is cut, those behind stay; in both
    /// directions.
    #[test]
    fn ranges_behind_a_key() {
        let included = |from: u8, to: u8| KeyRange {
            lower: Bound::Included(vec![from]),
            upper: Bound::Included(vec![to]),
        };
        let ranges = [included(1, 3), included(5, 7), included(9, 9)];
        let from_six = KeyRange { lower: Bound::Excluded(vec![6]), ..included(5, 7) };
        assert_eq!(ranges_behind(&ranges, &[6], false), [from_six, included(9, 9)]);
        assert_eq!(ranges_behind(&ranges, &[7], false), [included(9, 9)]);
        assert_eq!(ranges_behind(&ranges, &[9], false), []);
        let to_six = KeyRange { upper: Bound::Excluded(vec![6]), ..included(5, 7) };
        assert_eq!(ranges_behind(&ranges, &[6], true), [included(1, 3), to_six]);
        assert_eq!(ranges_behind(&ranges, &[1], true), []);
        let all = ranges_behind(&[KeyRange::all()], &[4], false);
        assert_eq!(all, [KeyRange { lower: Bound::Excluded(vec![4]), upper: Bound::Unbounded }]);
        let all = ranges_behind(&[KeyRange::all()], &[4], true);
        assert_eq!(all, [KeyRange { lower: Bound::Unbounded, upper: Bound::Excluded(vec![4]) }]);
    }
}
