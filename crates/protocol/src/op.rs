//! The native client protocol: operations on rows, and their results.
//!
//! A session sends a [`Batch`] of operations to its node's coordinator, which routes each to the shard that holds its key
//! (or to all shards, for a scan). Filters, projections, assignments and aggregates travel with the operation and run
//! where the rows are.

use crate::control::Durability;
use std::ops::Bound;

use types::convert::EvalSettings;
use types::expr::{Aggregate, AggregateState, SqlWarning};
use types::wire::{Bytes, Reader, Wire, WireError};
use types::{Expr, IndexId, SchemaVersion, TableId, Value, wire_enum, wire_struct};

/// Operations that are executed together: all of them or, if one is refused, none.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub ops: Vec<Op>,
    /// The values of `Expr::Param` in all of `ops`.
    pub params: Vec<Value>,
    /// The statement of the transaction this batch belongs to: a refused batch undoes the whole statement. Counts from 1.
    pub statement: u32,
    /// Commit with this batch: an autocommit statement needs one message, not two.
    pub commit: bool,
    pub read_at: ReadAt,
    /// More batches of the statement follow, and their plain reads are to fit together with this one's.
    pub reads_on: bool,
    /// What the session says about the values of expressions, and about values that a column cannot hold.
    pub settings: EvalSettings,
    /// Longest wait for a row lock before the statement fails with [`crate::Refusal::LockWaitTimeout`].
    pub lock_wait_timeout_ms: u32,
    pub wait: WaitPolicy,
    /// SERIALIZABLE: locking scans also lock the ranges they read, so that nobody puts a row into them.
    pub lock_ranges: bool,
    /// Strict REPEATABLE READ: a row that was changed since the transaction's snapshot is not locked nor written; the
    /// transaction is refused with [`crate::Refusal::SnapshotConflict`]. No effect before it has a snapshot.
    pub refuse_changed: bool,
    /// The greatest age, in milliseconds, of a snapshot that this batch takes: the versions it needs may go from then on, and
    /// the next read from it is refused with [`crate::Refusal::SnapshotTooOld`]. 0: as old as it gets.
    pub snapshot_age_max_ms: u32,
    /// When the session hears that its transaction is committed, if this batch is to commit it; None: as the session says, or the cluster
    /// is configured.
    pub durability: Option<Durability>,
    /// A statement of another session of the same worker waits for it, perhaps of a transaction that has begun: while shards are
    /// handed over it is not held back as long as there is one.
    pub is_waited_for: bool,
}
wire_struct!(Batch {
    ops,
    params,
    statement,
    commit,
    read_at,
    reads_on,
    settings,
    lock_wait_timeout_ms,
    wait,
    lock_ranges,
    refuse_changed,
    snapshot_age_max_ms,
    durability,
    is_waited_for,
});

/// What a request does about a row that somebody else has locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WaitPolicy {
    #[default]
    Wait,
    /// NOWAIT: refused with [`crate::Refusal::LockNotAvailable`].
    NoWait,
    /// SKIP LOCKED: reads go on as if the row were not there.
    SkipLocked,
}
wire_enum!(WaitPolicy { 0 => Wait, 1 => NoWait, 2 => SkipLocked });

/// Which versions plain (not locking) reads of a batch see. Locking reads and writes always see the latest committed
/// row, and a transaction always sees its own writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReadAt {
    /// READ COMMITTED: what is committed now; one snapshot a statement when it touches more than one shard.
    #[default]
    Statement,
    /// REPEATABLE READ: one snapshot, taken by the first read of the transaction.
    Transaction,
}
wire_enum!(ReadAt { 0 => Statement, 1 => Transaction });

#[derive(Clone, Debug)]
pub struct Op {
    pub table: TableId,
    /// The version of the table's definition the operation was planned with.
    pub version: SchemaVersion,
    pub kind: OpKind,
}
wire_struct!(Op { table, version, kind });

#[derive(Clone, Debug)]
pub enum OpKind {
    /// Reads one row by its encoded primary key. Result: [`OpResult::Row`], or [`OpResult::Later`].
    Read { key: Bytes, lock: Lock, filter: Option<Expr>, columns: Columns },
    /// Adds a row; refused with `DuplicateKey` when its key is taken. Result: [`OpResult::Done`].
    Insert { key: Bytes, row: Bytes },
    /// Adds a row or replaces the one with this key. Result: [`OpResult::Done`].
    Put { key: Bytes, row: Bytes },
    /// Assigns to columns of one row, if it is there and passes the filter. Must not change the primary key nor columns
    /// of unique keys. Assignments see the results of those before them, as MySQL's do. Result: [`OpResult::Updated`].
    Update { key: Bytes, filter: Option<Expr>, assignments: Vec<Assignment>, returning: bool },
    /// Result: [`OpResult::Deleted`].
    Delete { key: Bytes, filter: Option<Expr> },
    /// Reads rows of one index in key order. Result: [`OpResult::Rows`] or [`OpResult::Groups`]; when its `next` is set,
    /// the rest follows by another scan with that as `resume`.
    Scan(Box<Scan>),
}
wire_enum!(OpKind {
    0 => Read { key, lock, filter, columns },
    1 => Insert { key, row },
    2 => Put { key, row },
    3 => Update { key, filter, assignments, returning },
    4 => Delete { key, filter },
    5 => Scan(scan),
});

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Lock {
    /// A plain read of a version; takes no lock and waits for none.
    #[default]
    None,
    Shared,
    Exclusive,
}
wire_enum!(Lock { 0 => None, 1 => Shared, 2 => Exclusive });

/// `column = value`, the column by its position in the table.
#[derive(Clone, Debug)]
pub struct Assignment {
    pub column: u16,
    pub value: Expr,
}
wire_struct!(Assignment { column, value });

/// Columns of the rows to return.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Columns {
    /// The stored row as it is.
    #[default]
    All,
    /// These columns, in this order, as a row of their own layout.
    Only(Vec<u16>),
}
wire_enum!(Columns { 0 => All, 1 => Only(positions) });

#[derive(Clone, Debug)]
pub struct Scan {
    pub index: IndexId,
    /// In key order and disjoint.
    pub ranges: Vec<KeyRange>,
    pub reverse: bool,
    pub filter: Option<Expr>,
    pub output: ScanOutput,
    /// At most so many rows (from each shard; the client cuts the sum).
    pub limit: Option<u64>,
    pub lock: Lock,
    /// READ COMMITTED's UPDATE: a row that another transaction has changed, and whose last committed version does not pass
    /// `filter`, is passed over and not waited for.
    pub semi_consistent: bool,
    /// Locks nothing, and names the rows that it would lock, or try to: rows of no bytes, with their keys.
    pub peek: bool,
    /// Where to go on: the `next` of the result before.
    pub resume: Option<Bytes>,
    /// Only this shard is asked (a continuation, or a scan of one key's shard).
    pub shard: Option<types::ShardId>,
}
wire_struct!(Scan {
    index,
    ranges,
    reverse,
    filter,
    output,
    limit,
    lock,
    semi_consistent,
    peek,
    resume,
    shard,
});

#[derive(Clone, Debug)]
pub enum ScanOutput {
    /// Rows; `with_keys` adds each row's index entry key (needed to merge shards in order).
    Rows { columns: Columns, with_keys: bool },
    /// Partial aggregates by group.
    Groups { group_by: Vec<Expr>, aggregates: Vec<Aggregate> },
}
wire_enum!(ScanOutput {
    0 => Rows { columns, with_keys },
    1 => Groups { group_by, aggregates },
});

/// A range of encoded index keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    pub lower: Bound<Vec<u8>>,
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    pub fn all() -> KeyRange {
        KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }
    /// All keys that begin with `prefix`.
    pub fn prefix(prefix: Vec<u8>) -> KeyRange {
        let upper = match types::key::prefix_successor(&prefix) {
            Some(end) => Bound::Excluded(end),
            None => Bound::Unbounded,
        };
        KeyRange { lower: Bound::Included(prefix), upper }
    }
}

impl Wire for KeyRange {
    fn encode(&self, out: &mut Vec<u8>) {
        for bound in [&self.lower, &self.upper] {
            match bound {
                Bound::Unbounded => out.push(0),
                Bound::Included(key) => {
                    out.push(1);
                    types::wire::encode_bytes(key, out);
                }
                Bound::Excluded(key) => {
                    out.push(2);
                    types::wire::encode_bytes(key, out);
                }
            }
        }
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut bound = || -> Result<Bound<Vec<u8>>, WireError> {
            match u8::decode(input)? {
                0 => Ok(Bound::Unbounded),
                1 => Ok(Bound::Included(Bytes::decode(input)?.0)),
                2 => Ok(Bound::Excluded(Bytes::decode(input)?.0)),
                _ => Err(WireError::BadTag("bound")),
            }
        };
        Ok(KeyRange { lower: bound()?, upper: bound()? })
    }
}

/// The result of one operation.
#[derive(Clone, Debug)]
pub enum OpResult {
    /// The encoded row (of the columns asked for), if there is one that passes the filter.
    Row(Option<Bytes>),
    Done,
    /// `matched`: there was a row and it passed the filter; `changed`: a column got another value. `row` is the whole row
    /// after the update, when asked for.
    Updated {
        matched: bool,
        changed: bool,
        row: Option<Bytes>,
    },
    Deleted(bool),
    Rows(RowBatch),
    Groups(GroupBatch),
    /// A read that was not done, because those before it are large enough for an answer: it is to be asked for again. Never in a batch
    /// that commits, nor of its first read.
    Later,
}
wire_enum!(OpResult {
    0 => Row(row),
    1 => Done,
    2 => Updated { matched, changed, row },
    3 => Deleted(deleted),
    4 => Rows(batch),
    5 => Groups(batch),
    6 => Later,
});

/// Rows of one shard, in index order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowBatch {
    pub shard: types::ShardId,
    /// The encoded rows one after another, and where each ends.
    pub rows: Bytes,
    pub ends: Vec<u32>,
    /// The index entry keys likewise, when asked for.
    pub keys: Bytes,
    pub key_ends: Vec<u32>,
    /// Set when the shard has more: resume here.
    pub next: Option<Bytes>,
}
wire_struct!(RowBatch { shard, rows, ends, keys, key_ends, next });

impl RowBatch {
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    pub fn row(&self, index: usize) -> &[u8] {
        slice(&self.rows, &self.ends, index)
    }
    pub fn key(&self, index: usize) -> &[u8] {
        slice(&self.keys, &self.key_ends, index)
    }
    pub fn push(&mut self, row: &[u8], key: Option<&[u8]>) {
        self.rows.0.extend_from_slice(row);
        self.end_row(key);
    }
    /// Ends the row whose bytes were appended to `rows`.
    pub fn end_row(&mut self, key: Option<&[u8]>) {
        self.ends
            .push(u32::try_from(self.rows.len()).expect("batches are bounded far below 4 GiB"));
        if let Some(key) = key {
            self.keys.0.extend_from_slice(key);
            let end = u32::try_from(self.keys.len()).expect("batches are bounded far below 4 GiB");
            self.key_ends.push(end);
        }
    }
    /// Are the ends in order and inside the bytes? Checked on batches from another node before anything is read.
    pub fn is_well_formed(&self) -> bool {
        let sound = |bytes: &Bytes, ends: &[u32]| {
            ends.windows(2).all(|pair| pair[0] <= pair[1])
                && ends.last().copied().unwrap_or(0) as usize == bytes.len()
        };
        sound(&self.rows, &self.ends)
            && sound(&self.keys, &self.key_ends)
            && (self.key_ends.is_empty() || self.key_ends.len() == self.ends.len())
    }
}

fn slice<'a>(bytes: &'a Bytes, ends: &[u32], index: usize) -> &'a [u8] {
    let start = if index == 0 { 0 } else { ends[index - 1] as usize };
    &bytes.0[start..ends[index] as usize]
}

/// Partial aggregates of one shard. Groups may come more than once over the batches of a scan; the client merges them.
#[derive(Clone, Debug, Default)]
pub struct GroupBatch {
    pub shard: types::ShardId,
    pub groups: Vec<(Vec<Value>, Vec<AggregateState>)>,
    pub next: Option<Bytes>,
}
wire_struct!(GroupBatch { shard, groups, next });

/// The answer to a batch that was executed.
#[derive(Clone, Debug, Default)]
pub struct BatchResult {
    /// One an operation; a scan of several shards gives one batch a shard, so `results[i]` may be several.
    pub results: Vec<Vec<OpResult>>,
    /// From a shard to the coordinator: the position in the batch that each of `results` is for.
    pub positions: Vec<u16>,
    pub warnings: Vec<SqlWarning>,
}
wire_struct!(BatchResult { results, positions, warnings });
