//! Locking reads under LIMIT: rows are locked in the order of an index over all shards, and no more of them than are
//! returned (rules.md#locks).
//!
//! A shard cannot know which of its rows are among the first ones of the cluster, so a scan under locks with LIMIT n that
//! all shards work on at once would lock n rows in each. A [`LockingCursor`] asks first and locks then:
//!
//! ```text
//!   peek    all shards name their next candidates, in index order: rows that a scan under locks would lock; none is locked
//!   merge   the candidates of all shards, in index order
//!   lock    the first of them, as many as are still to be returned: one scan of their entries in each shard that has some
//! ```
//! A shard judges a row again when it has the row's lock. A candidate that is gone by then, that does not pass any more, or
//! that SKIP LOCKED passes over, is replaced by the next step. As no step locks more candidates than rows are missing,
//! none is locked beyond LIMIT; and LIMIT 100 takes as many steps as LIMIT 1 unless others lock or change candidates.
//!
//! At SERIALIZABLE, and where a row that was changed since the snapshot is refused, what lies between two rows counts too:
//! then a step scans the whole ranges up to its last candidate, in all shards. A row that came in between after the peek
//! is locked as well.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use protocol::Refusal;
use protocol::op::{Batch, KeyRange, Op, OpKind, OpResult, RowBatch, Scan, ScanOutput};
use types::expr::SqlWarning;
use types::{ShardId, Table};

use crate::scan::{ScanBatch, ScanCursor, ScanOptions, ranges_behind};
use crate::session::Session;

/// Candidates that a shard names at a time, at least: some may be lost to others before they are locked.
const PEEK_COUNT_MIN: u64 = 8;
/// And at most.
const PEEK_COUNT_MAX: u64 = 256;
/// Candidates of a step, at most.
const STEP_COUNT_MAX: u64 = 256;
/// Bytes of rows that a step is to return, by those before it; they are merged at once.
const STEP_BYTES: u64 = 1 << 20;
/// Bytes of a step's entries: each is sent twice, as the bounds of a range.
const STEP_ENTRY_BYTES: usize = 128 << 10;

/// A locking read under LIMIT that is under way. Shards keep nothing of it but the locks.
pub struct LockingCursor {
    table: Arc<Table>,
    scan: Scan,
    options: ScanOptions,
    peeked: ScanCursor,
    /// Named by the shards, in index order, and not locked yet.
    candidates: VecDeque<Candidate>,
    /// Every shard has named all of its candidates.
    peek_is_over: bool,
    /// Rows still to be returned.
    remaining: u64,
    /// Candidates of the next step, at most. Moved by `adapt`.
    step_count: u64,
    /// Rows that the reader can use now, at most.
    expected: u64,
    /// Where a step locks all that lies between rows: the ranges behind the last step.
    ranges: Option<Vec<KeyRange>>,
}

struct Candidate {
    entry: Vec<u8>,
    shard: ShardId,
}

impl Session {
    /// A scan under locks of at most `scan.limit` rows, which come in index order over all shards. Needs a lock and rows with
    /// keys. Without a limit the reader says before each step how many rows it can use: [`LockingCursor::expect`].
    pub fn scan_locking(
        &self,
        table: &Arc<Table>,
        scan: Scan,
        options: ScanOptions,
    ) -> LockingCursor {
        let has_keys = matches!(scan.output, ScanOutput::Rows { with_keys: true, .. });
        assert!(has_keys, "rows are merged by their keys");
        let step_count_max = options.piece.unwrap_or(STEP_COUNT_MAX);
        let peek_count = match (options.piece, scan.limit) {
            (Some(piece), _) => piece,
            (None, Some(limit)) => limit.clamp(PEEK_COUNT_MIN, PEEK_COUNT_MAX),
            (None, None) => PEEK_COUNT_MIN,
        };
        let peek = Scan { peek: true, limit: None, ..scan.clone() };
        let peek_options = ScanOptions {
            ordered: true,
            piece: Some(peek_count),
            grows: scan.limit.is_none() && options.piece.is_none(),
            ..options.clone()
        };
        let between = options.lock_ranges || options.refuse_changed;
        LockingCursor {
            table: Arc::clone(table),
            peeked: self.scan(table, peek, peek_options),
            ranges: between.then(|| scan.ranges.clone()),
            candidates: VecDeque::new(),
            peek_is_over: false,
            remaining: scan.limit.unwrap_or(u64::MAX),
            expected: if scan.limit.is_some() { u64::MAX } else { 1 },
            step_count: (STEP_BYTES / row_size_max(table).max(1)).clamp(1, step_count_max),
            scan,
            options,
        }
    }
}

impl LockingCursor {
    /// From now on a step locks at most `count` rows.
    pub fn expect(&mut self, count: u64) {
        self.expected = count.max(1);
    }

    /// The next rows, locked and never none of them; or none at the end.
    pub async fn next(&mut self, session: &mut Session) -> Result<Option<RowBatch>, Refusal> {
        while self.remaining > 0 {
            let wanted = self.remaining.min(self.step_count).min(self.expected);
            self.peek(wanted, session).await?;
            let Some(ops) = self.step(wanted) else { break };
            let mut batches = self.lock(ops, session).await?;
            let rows = self.merge(&mut batches);
            if !rows.is_empty() {
                self.remaining -= rows.len() as u64;
                self.adapt(&rows);
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    /// The warnings so far: those of the first look at each row, so that none comes twice.
    pub fn warnings(&mut self) -> Vec<SqlWarning> {
        self.peeked.warnings()
    }

    /// Asks the shards for candidates until `wanted` are known, or all.
    async fn peek(&mut self, wanted: u64, session: &mut Session) -> Result<(), Refusal> {
        while (self.candidates.len() as u64) < wanted && !self.peek_is_over {
            match self.peeked.next(session).await? {
                Some(ScanBatch::Rows(named)) => {
                    let shards = self.peeked.merged_shards();
                    assert_eq!(shards.len(), named.len());
                    let named = (0..named.len()).map(|place| named.key(place).to_vec());
                    let candidates = named.zip(shards);
                    self.candidates
                        .extend(candidates.map(|(entry, &shard)| Candidate { entry, shard }));
                }
                Some(ScanBatch::Groups(_)) => unreachable!("rows were asked for"),
                None => self.peek_is_over = true,
            }
        }
        Ok(())
    }

    /// The scans that lock the next candidates; none at the end.
    fn step(&mut self, wanted: u64) -> Option<Vec<Scan>> {
        let (mut some, mut bytes) = (Vec::new(), 0);
        while (some.len() as u64) < wanted && bytes < STEP_ENTRY_BYTES {
            let Some(candidate) = self.candidates.pop_front() else { break };
            bytes += candidate.entry.len();
            some.push(candidate);
        }
        let reverse = self.scan.reverse;
        if let Some(ranges) = &mut self.ranges {
            // Where the candidates do not suffice, the scan has come to the end.
            let is_enough = some.len() as u64 == wanted || !self.candidates.is_empty();
            let last = some.last().filter(|_| is_enough);
            let (now, behind) = match last {
                Some(last) => (
                    ranges_up_to(ranges, &last.entry, reverse),
                    ranges_behind(ranges, &last.entry, reverse),
                ),
                None => (std::mem::take(ranges), Vec::new()),
            };
            *ranges = behind;
            return (!now.is_empty()).then(|| vec![self.lock_scan(now, None)]);
        }
        let mut shards: Vec<ShardId> = some.iter().map(|candidate| candidate.shard).collect();
        shards.sort_unstable();
        shards.dedup();
        let scans = shards.into_iter().map(|shard| {
            let own = some.iter().filter(|candidate| candidate.shard == shard);
            let mut ranges: Vec<KeyRange> = own
                .map(|Candidate { entry, .. }| KeyRange {
                    lower: Bound::Included(entry.clone()),
                    upper: Bound::Included(entry.clone()),
                })
                .collect();
            if reverse {
                // Ranges are in key order, whichever way they are scanned.
                ranges.reverse();
            }
            self.lock_scan(ranges, Some(shard))
        });
        let scans: Vec<Scan> = scans.collect();
        (!scans.is_empty()).then_some(scans)
    }

    fn lock_scan(&self, ranges: Vec<KeyRange>, shard: Option<ShardId>) -> Scan {
        Scan { ranges, shard, limit: None, resume: None, ..self.scan.clone() }
    }

    /// Runs the scans to their ends: all they return, in the order of each shard.
    async fn lock(
        &mut self,
        mut scans: Vec<Scan>,
        session: &mut Session,
    ) -> Result<Vec<RowBatch>, Refusal> {
        let mut batches: Vec<RowBatch> = Vec::new();
        while !scans.is_empty() {
            let op = |scan: &Scan| Op {
                table: self.table.id,
                version: self.table.version,
                kind: OpKind::Scan(Box::new(scan.clone())),
            };
            let batch = Batch { ops: scans.iter().map(op).collect(), ..self.options.batch() };
            let result = session.execute(batch).await?;
            let mut rest = Vec::new();
            for (scan, results) in scans.iter().zip(result.results) {
                for result in results {
                    let OpResult::Rows(mut rows) = result else {
                        unreachable!("{result:?} to a scan of rows")
                    };
                    if !rows.is_well_formed() {
                        return Err(Refusal::Unavailable("a node sent damaged rows".into()));
                    }
                    if let Some(resume) = rows.next.take() {
                        let (resume, shard) = (Some(resume), Some(rows.shard));
                        rest.push(Scan { resume, shard, ..scan.clone() });
                    }
                    batches.push(rows);
                }
            }
            scans = rest;
        }
        Ok(batches)
    }

    /// Rows of a step in index order, not more than are still to be returned.
    fn merge(&self, batches: &mut [RowBatch]) -> RowBatch {
        let mut places: Vec<(&[u8], &RowBatch, usize)> = Vec::new();
        for batch in batches.iter() {
            places.extend((0..batch.len()).map(|place| (batch.key(place), batch, place)));
        }
        places.sort_by(|(a, ..), (b, ..)| if self.scan.reverse { b.cmp(a) } else { a.cmp(b) });
        let mut merged = RowBatch::default();
        let count = usize::try_from(self.remaining).unwrap_or(usize::MAX);
        for (key, batch, place) in places.into_iter().take(count) {
            merged.push(batch.row(place), Some(key));
        }
        merged
    }

    /// The next step is to return about `STEP_BYTES`, and is not much larger than this one.
    fn adapt(&mut self, rows: &RowBatch) {
        let row_size = (rows.rows.len() / rows.len()).max(1) as u64;
        let step_count_max = self.options.piece.unwrap_or(STEP_COUNT_MAX);
        let grown = self.step_count.saturating_mul(4);
        self.step_count = (STEP_BYTES / row_size).clamp(1, step_count_max.min(grown));
    }
}

/// Bytes of the longest row that the table takes.
fn row_size_max(table: &Table) -> u64 {
    table.columns.iter().map(|column| column.column_type.bytes_max()).sum()
}

/// What of the ranges lies before this key and at it, in the direction of the scan.
fn ranges_up_to(ranges: &[KeyRange], key: &[u8], reverse: bool) -> Vec<KeyRange> {
    let mut before = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut range = range.clone();
        let (near, far) = match reverse {
            false => (&range.lower, &mut range.upper),
            true => (&range.upper, &mut range.lower),
        };
        // Bounds compare as the keys do, in the direction of the scan.
        let order = |bound: &[u8]| if reverse { key.cmp(bound) } else { bound.cmp(key) };
        let begins_behind = match near {
            Bound::Unbounded => false,
            Bound::Included(near) => order(near).is_gt(),
            Bound::Excluded(near) => order(near).is_ge(),
        };
        if begins_behind {
            continue;
        }
        let ends_before = match &*far {
            Bound::Unbounded => false,
            Bound::Included(far) | Bound::Excluded(far) => order(far).is_le(),
        };
        if !ends_before {
            *far = Bound::Included(key.to_vec());
        }
        before.push(range);
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step and the ranges behind it share no key, and cover all keys; in both directions.
    #[test]
    fn ranges_up_to_a_key() {
        let range = |lower, upper| KeyRange { lower, upper };
        let (included, excluded) =
            (|key: u8| Bound::Included(vec![key]), |key: u8| Bound::Excluded(vec![key]));
        let ranges = [
            range(included(1), included(3)),
            range(excluded(5), excluded(8)),
            range(included(9), Bound::Unbounded),
        ];
        let holds = |ranges: &[KeyRange], key: u8| {
            let key = vec![key];
            ranges.iter().any(|range| {
                let above = match &range.lower {
                    Bound::Unbounded => true,
                    Bound::Included(lower) => *lower <= key,
                    Bound::Excluded(lower) => *lower < key,
                };
                above
                    && match &range.upper {
                        Bound::Unbounded => true,
                        Bound::Included(upper) => key <= *upper,
                        Bound::Excluded(upper) => key < *upper,
                    }
            })
        };
        for reverse in [false, true] {
            for last in 0..12 {
                let now = ranges_up_to(&ranges, &[last], reverse);
                let behind = ranges_behind(&ranges, &[last], reverse);
                for key in 0..14 {
                    let is_now = if reverse { last <= key } else { key <= last };
                    let is_in = holds(&ranges, key);
                    assert_eq!(holds(&now, key), is_in && is_now, "{key} up to {last}");
                    assert_eq!(holds(&behind, key), is_in && !is_now, "{key} behind {last}");
                }
            }
        }
    }
}
