//! Why a request was not done, and what its sender may do next.

use types::convert::ConvertError;
use types::expr::EvalError;
use types::{CommitId, IndexId, NodeId, TableId, wire_enum};

#[derive(Clone, Debug)]
pub enum Refusal {
    /// The key is taken. The statement is undone; the transaction continues. `index` is the unique key as its table has it.
    DuplicateKey { table: TableId, index: IndexId },
    /// The lock was not granted in time. The statement is undone; the transaction continues.
    LockWaitTimeout,
    /// The row is locked, and the request has NOWAIT. The statement is undone; the transaction continues.
    LockNotAvailable,
    /// This transaction was chosen to break a deadlock: it is rolled back; run it again.
    Deadlock,
    /// The row was changed since the transaction's snapshot, and the session asked for strict snapshots: it is rolled
    /// back; run it again.
    SnapshotConflict,
    /// The memory budget of a node that keeps these rows is used up. The statement is undone.
    MemoryFull { table: TableId, node: NodeId },
    /// The disk of a node that keeps these rows has no room for what would be written. The statement is undone; or the whole transaction,
    /// if it was to be committed and told of when that disk has it.
    DiskFull { node: NodeId, rolls_back: bool },
    /// The same where the disk of the last node that has these rows has failed.
    DiskFailed { node: NodeId, rolls_back: bool },
    /// The transaction is committed, and others see that; but for too long no global checkpoint has held it, so if all members of a node
    /// group ended now it would be lost.
    NotDurable(CommitId),
    /// The table's definition changed since the operation was planned: plan again. Nothing was done.
    SchemaChanged { table: TableId },
    /// A transaction that has used a table's old definition meets the new one: it is rolled back; run it again.
    DefinitionChanged { table: TableId },
    /// An expression failed. The statement is undone.
    Eval(EvalError),
    /// A value does not fit its column. The statement is undone.
    Store { column: u16, error: ConvertError },
    /// NULL was assigned to a column that must not be NULL. The statement is undone.
    NotNull { column: u16 },
    /// The statement was killed, or its session is ending. The statement is undone.
    Cancelled,
    /// The transaction was lost with a node that held some of it: nothing of it remains; run it again.
    RolledBack,
    /// COMMIT was sent and its answer never came: it may be committed or not. Ask, never guess.
    OutcomeUnknown(CommitId),
    /// No node that may answer can be reached. The transaction is rolled back; run it again later.
    Unavailable(String),
    /// The transaction's snapshot has reached its greatest age, or is older than the versions that are kept. The transaction
    /// is rolled back; run it again.
    SnapshotTooOld,
    /// A schema change that cannot be made; says why.
    Schema(crate::schema::SchemaError),
    /// A bound was reached (rows a transaction, bytes a batch ...); says which.
    LimitReached(String),
}
wire_enum!(Refusal {
    0 => DuplicateKey { table, index },
    1 => LockWaitTimeout,
    2 => Deadlock,
    3 => MemoryFull { table, node },
    4 => SchemaChanged { table },
    5 => DefinitionChanged { table },
    6 => Eval(error),
    7 => Store { column, error },
    8 => Cancelled,
    9 => RolledBack,
    10 => OutcomeUnknown(commit),
    11 => Unavailable(reason),
    12 => SnapshotTooOld,
    13 => Schema(error),
    14 => LimitReached(which),
    15 => NotNull { column },
    16 => LockNotAvailable,
    17 => SnapshotConflict,
    18 => DiskFull { node, rolls_back },
    19 => NotDurable(commit),
    20 => DiskFailed { node, rolls_back },
});

impl Refusal {
    /// Of a transaction of the node's own, which is repeated or undone: its outcome is of no interest to a client.
    pub fn of_own_work(self) -> Refusal {
        match self {
            Refusal::OutcomeUnknown(_) | Refusal::NotDurable(_) => Refusal::RolledBack,
            other => other,
        }
    }

    /// Is the whole transaction gone (true), or only the statement (false)?
    pub fn ends_transaction(&self) -> bool {
        match self {
            Refusal::Deadlock
            | Refusal::SnapshotConflict
            | Refusal::SnapshotTooOld
            | Refusal::DefinitionChanged { .. }
            | Refusal::RolledBack
            | Refusal::Unavailable(_)
            | Refusal::OutcomeUnknown(_)
            | Refusal::NotDurable(_) => true,
            Refusal::DiskFull { rolls_back, .. } | Refusal::DiskFailed { rolls_back, .. } => {
                *rolls_back
            }
            Refusal::DuplicateKey { .. }
            | Refusal::LockWaitTimeout
            | Refusal::LockNotAvailable
            | Refusal::MemoryFull { .. }
            | Refusal::SchemaChanged { .. }
            | Refusal::Eval(_)
            | Refusal::Store { .. }
            | Refusal::NotNull { .. }
            | Refusal::Cancelled
            | Refusal::Schema(_)
            | Refusal::LimitReached(_) => false,
        }
    }
}
