//! What a session asks of its node's coordinator, and the answers. In-process only: never on the wire between nodes.

use std::sync::Arc;

use types::{Catalogue, NodeId, Table, Timestamp, WorkerId};

use crate::backup::{BackupReport, BackupRequest};
use crate::control::{ControlState, Durability};
use crate::op::{Batch, BatchResult};
use crate::refusal::Refusal;
use crate::report::{Connection, Report, ReportRequest};
use crate::schema::SchemaChange;

/// A session of one worker; never used again after it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// One at a time a session: the next follows the answer. Only those that have none may come in between.
#[derive(Debug)]
pub enum Request {
    /// Answered by `Executed` or `Refused`. Begins a transaction if the session has none.
    Execute(Batch),
    /// Undoes the writes of statements from this number on. Answered by `Done` or `Refused`.
    Undo { statement: u32 },
    /// Answered by `Done` or `Refused`; either way the transaction is over. The level of this
    /// request says when, not that of the batches.
    Commit { durability: Option<Durability> },
    /// Answered by `Done`.
    Rollback,
    /// Answered by `Schema` or `Refused`.
    ChangeSchema(SchemaChange),
    /// Asks one node or all of them. Answered by `Reports`: one a node, or one a worker if it is a question for workers.
    Report { node: Option<NodeId>, query: ReportRequest },
    /// Has the host of a node stop it, and perhaps start it again; sessions of the first worker only. Answered by `Done` when it is
    /// told, or by `Refused` when that would stop the cluster or lose rows.
    StopNode { node: NodeId, restart: bool },
    /// Answered by `Checkpointed` when everything that was committed before this is on the disks of all members.
    AwaitCheckpoint,
    /// The request in flight, if any, is refused with `Cancelled` as soon as it can be. No answer of its own.
    Cancel,
    /// What the session was about to build is dropped as soon as it can be, as it is when the session ends. No answer.
    GiveUpIndex,
    /// The session ends: its transaction is rolled back. No answer.
    Close,
}

#[derive(Debug)]
pub enum Reply {
    Executed(BatchResult),
    Done,
    Refused(Refusal),
    Schema(Arc<Catalogue>),
    Reports(Vec<(NodeId, Report)>),
    /// A global checkpoint.
    Checkpointed(Timestamp),
}

/// A node's own replicas, for plain reads of one row as it is committed now: the one request that a session does not send to
/// its coordinator, because it leaves no state and needs no other node.
pub trait LocalRows: Send + Sync {
    /// Calls `visit` once, with the stored row or none if there is no such row. False, and no call, if this node cannot
    /// tell at once: the row is elsewhere, its shard is busy, a commit of it is being decided, or the table has
    /// another definition by now, or this node has no lease. `state` is the control state the session acts by, `key` the encoded
    /// primary key, `now` the node's clock in microseconds, sampled after the session was asked.
    fn read_latest(
        &self,
        state: &ControlState,
        table: &Table,
        key: &[u8],
        now: u64,
        visit: &mut dyn FnMut(Option<&[u8]>),
    ) -> bool;
}

/// The connections of a node's front end, which the coordinators know only as sessions.
pub trait Connections: Send + Sync {
    /// Those of one worker, or of one session of it.
    fn connections(
        &self,
        worker: WorkerId,
        session: Option<SessionId>,
    ) -> Vec<(SessionId, Connection)>;
}

/// Who copies a node's rows.
pub trait Backups: Send + Sync {
    /// Begins the request, and returns the progress at once.
    fn answer(&self, request: &BackupRequest) -> BackupReport;
}
