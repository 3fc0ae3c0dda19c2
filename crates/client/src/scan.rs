//! Scans over all shards, batch by batch, merged in index order where that is asked for.

use std::collections::VecDeque;
use std::sync::Arc;

use protocol::Refusal;
use protocol::op::{
    Batch, GroupBatch, Op, OpKind, OpResult, ReadAt, RowBatch, Scan, ScanOutput, WaitPolicy,
};
use types::expr::SqlWarning;
use types::wire::Bytes;
use types::{ShardId, Table, Value};

use crate::session::Session;

/// How a scan's batches are sent.
#[derive(Clone, Debug, Default)]
pub struct ScanOptions {
    /// Rows come in index order over all shards (needs `with_keys` in the output).
    pub ordered: bool,
    pub params: Vec<Value>,
    pub read_at: ReadAt,
    pub strict: bool,
    pub time_zone_offset_seconds: i32,
    pub lock_wait_timeout_ms: u32,
    pub wait: WaitPolicy,
    pub lock_ranges: bool,
    pub refuse_changed: bool,
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
    warnings: Vec<SqlWarning>,
}

struct ShardRows {
    shard: ShardId,
    batch: RowBatch,
    position: usize,
    next: Option<Bytes>,
    received: u64,
}

impl Session {
    pub fn scan(&self, table: &Arc<Table>, scan: Scan, options: ScanOptions) -> ScanCursor {
        let remaining = scan.limit.unwrap_or(u64::MAX);
        if options.ordered {
            let keys = matches!(scan.output, ScanOutput::Rows { with_keys: true, .. });
            assert!(keys, "rows are merged by their keys");
        }
        ScanCursor {
            table: Arc::clone(table),
            scan,
            options,
            started: false,
            shards: Vec::new(),
            groups: VecDeque::new(),
            remaining,
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

    /// The warnings of all batches so far.
    pub fn warnings(&mut self) -> Vec<SqlWarning> {
        std::mem::take(&mut self.warnings)
    }

    /// Asks every shard whose rows are used up for more; false when none has any.
    async fn fetch(&mut self, session: &mut Session) -> Result<bool, Refusal> {
        let mut ops = Vec::new();
        if !self.started {
            self.started = true;
            ops.push(self.op(self.scan.clone()));
        } else {
            for rows in self.shards.iter_mut().filter(|rows| rows.position == rows.batch.len()) {
                let Some(next) = rows.next.take() else { continue };
                let mut scan = self.scan.clone();
                scan.shard = Some(rows.shard);
                scan.resume = Some(next);
                scan.limit = scan.limit.map(|limit| limit - rows.received.min(limit));
                let kind = OpKind::Scan(Box::new(scan));
                ops.push(Op { table: self.table.id, version: self.table.version, kind });
            }
        }
        if ops.is_empty() {
            return Ok(false);
        }
        let batch = Batch {
            ops,
            params: self.options.params.clone(),
            commit: false,
            read_at: self.options.read_at,
            strict: self.options.strict,
            time_zone_offset_seconds: self.options.time_zone_offset_seconds,
            lock_wait_timeout_ms: self.options.lock_wait_timeout_ms,
            wait: self.options.wait,
            lock_ranges: self.options.lock_ranges,
            refuse_changed: self.options.refuse_changed,
            ..Batch::default()
        };
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
        let rows = self.shards.iter_mut().find(|rows| rows.position < rows.batch.len())?;
        assert_eq!(rows.position, 0, "taken whole");
        let mut batch = std::mem::take(&mut rows.batch);
        rows.position = 0;
        if (batch.len() as u64) > self.remaining {
            truncate(&mut batch, usize::try_from(self.remaining).expect("less than the batch"));
        }
        self.remaining -= batch.len() as u64;
        Some(batch)
    }

    /// Rows in key order, as long as every shard that may have a smaller one has shown its next.
    fn take_merged(&mut self) -> Option<RowBatch> {
        let mut merged = RowBatch::default();
        while (merged.len() as u64) < self.remaining {
            let starved =
                |rows: &ShardRows| rows.position == rows.batch.len() && rows.next.is_some();
            if self.shards.iter().any(starved) {
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
        }
        if merged.is_empty() {
            return None;
        }
        self.remaining -= merged.len() as u64;
        Some(merged)
    }
}

fn truncate(batch: &mut RowBatch, count: usize) {
    batch.ends.truncate(count);
    batch.rows.0.truncate(batch.ends.last().map_or(0, |end| *end as usize));
    if !batch.key_ends.is_empty() {
        batch.key_ends.truncate(count);
        batch.keys.0.truncate(batch.key_ends.last().map_or(0, |end| *end as usize));
    }
}
