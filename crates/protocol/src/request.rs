//! What a session asks of its node's coordinator, and the answers. In-process only: never on the wire between nodes.

use std::sync::Arc;

use types::{Catalogue, NodeId};

use crate::op::{Batch, BatchResult};
use crate::refusal::Refusal;
use crate::report::{Report, ReportRequest};
use crate::schema::SchemaChange;

/// A session of one worker; never used again after it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// One at a time a session: the next follows the answer. Only `Cancel` and `Close` may come in between.
#[derive(Debug)]
pub enum Request {
    /// Answered by `Executed` or `Refused`. Begins a transaction if the session has none.
    Execute(Batch),
    /// Undoes the writes of statements from this number on. Answered by `Done` or `Refused`.
    Undo { statement: u32 },
    /// Answered by `Done` or `Refused`; either way the transaction is over.
    Commit,
    /// Answered by `Done`.
    Rollback,
    /// Answered by `Schema` or `Refused`.
    ChangeSchema(SchemaChange),
    /// Asks one node or all of them. Answered by `Reports`.
    Report { node: Option<NodeId>, query: ReportRequest },
    /// The request in flight, if any, is refused with `Cancelled` as soon as it can be. No answer of its own.
    Cancel,
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
}
