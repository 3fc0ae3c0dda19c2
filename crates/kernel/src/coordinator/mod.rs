//! The coordinator block: runs the transactions of this worker's sessions.
//!
//! A session has at most one transaction and one request at a time. A batch is split by shard and sent to where it can be
//! executed: writes and locks to the primary, plain reads to this node's own replica whenever that shows the same. A
//! commit is one message to the only shard written to; over several shards it is two-phase, and the log of one of them,
//! the *home*, holds the decision (rules.md#commit).
//!
//! ```text
//!            +-----------(autocommit, several shards)----------+
//!            |                                                 v
//! Snapshot -> Executing --refused--> Undoing -> answer      Preparing -> CommittingHome -> answer
//!                 |  \--> answer                               ^
//!                 +--(autocommit, one shard)--> Held? ----------------------------------> answer
//!                                        Commit request -------+---> CommittingOne ------> answer
//! ```
//! What is *not* here: rows, locks and logs (participant), SQL, sockets.

mod commit;
mod execute;
mod pressure;
mod report;
mod request;
mod schema;
mod takeover;
mod unknown;

use std::collections::BTreeMap;

use protocol::Refusal;
use protocol::control::Durability;
use protocol::message::BreakDeadlock;
use protocol::op::{Batch, BatchResult};
use protocol::request::{Reply, Request, SessionId};
use types::{CommitId, LogPosition, SchemaVersion, ShardId, TableId, Timestamp, TransactionId};

use crate::node::Mutation;
use crate::participant::cut_off;
use crate::worker::{Context, Time};

use pressure::HeldBack;
pub use schema::SchemaRequests;
use unknown::Unknown;

#[derive(Default)]
pub struct Coordinator {
    sessions: BTreeMap<SessionId, Session>,
    /// Which session a request of ours belongs to.
    requests: BTreeMap<u64, SessionId>,
    request_last: u64,
    transaction_last: u64,
    schema: SchemaRequests,
    held_back: HeldBack,
    /// The handover for which all that had begun has ended.
    drained: Option<u64>,
    victims: report::Victims,
    unknown: Unknown,
}

#[derive(Default)]
struct Session {
    transaction: Option<Transaction>,
    pending: Option<Pending>,
    /// The session is gone; its transaction is rolled back when the request in flight is done.
    closing: bool,
    /// Its transaction was lost with a node between two requests; the next request is refused for it.
    has_lost: bool,
    /// When its commits are told, if it has said so.
    durability: Option<Durability>,
    /// Not a client's session: a commit that continues without its client.
    goes_on_alone: Option<TransactionId>,
}

/// A session's transaction, from its first batch to its end.
struct Transaction {
    id: TransactionId,
    /// When it began: by this node's clock, and in the cluster's time, by which ages are compared over nodes.
    began: Time,
    started: u64,
    /// Shards on which it holds locks or has written.
    shards: Vec<ShardId>,
    /// Those it has written to: they take part in the commit, the others are released after it.
    written: Vec<ShardId>,
    /// The tables it has used, in the version it first met: a schema change waits for it (rule R27).
    tables: Vec<(TableId, SchemaVersion)>,
    snapshot: Option<Snapshot>,
    /// The catalogue's version when the snapshot was asked for: what later ones have filled it may not have.
    snapshot_schema: SchemaVersion,
    /// The statement that is being executed, and the shards it has touched.
    statement: u32,
    statement_shards: Vec<ShardId>,
}

/// What plain reads see, for the whole transaction or for one statement of it.
#[derive(Clone, Copy)]
struct Snapshot {
    at: Timestamp,
    /// Set when it is of one statement only.
    statement: Option<u32>,
    /// Registered on this node, which is the sequencer.
    local: bool,
    /// When it has reached its greatest age.
    expires_at: Time,
    /// It has, and holds the horizon no more: nothing may be read from it.
    expired: bool,
}

/// The request in flight.
struct Pending {
    request: u64,
    phase: Phase,
    /// Shards whose answer is missing.
    waiting: Vec<ShardId>,
    results: BatchResult,
    refusal: Option<Refusal>,
    /// KILL, or a deadlock to be broken: the waiting shards have been told to give up.
    cancelled: Option<Refusal>,
    /// Commit when executed (an autocommit batch).
    commit: bool,
    /// Its only shard was asked to commit with the operations.
    commits_at_once: bool,
    /// That is this one, if it was asked to change anything.
    commits_on: Option<ShardId>,
    /// It asks for nothing but reads, and the transaction has asked for nothing before: its commit is nothing.
    changes_nothing: bool,
    /// Every shard has executed.
    has_results: bool,
    /// When a shard was asked to commit.
    commit_asked_at: Time,
    /// What the session asked: decides the answer.
    asked: Asked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Execute,
    Undo,
    Commit,
}

enum Phase {
    /// The batch waits for its snapshot timestamp.
    Snapshot(Box<Batch>),
    Executing,
    Undoing,
    Preparing {
        home: ShardId,
        min_commit: Timestamp,
        epoch_max: u16,
    },
    /// Waits for the commit of the only shard written to, or of the home of a prepared transaction.
    Committing {
        participants: Vec<ShardId>,
    },
    /// This node, the only backup, must hold the record.
    Held(LogPosition),
    /// Waits for the new primary's answer whether the old one had committed.
    Asking {
        participants: Vec<ShardId>,
    },
    /// Committed: the answer waits until the disks hold it.
    Durable(Box<Reply>, CommitId),
    /// A schema change.
    Schema,
}

impl Pending {
    fn new(request: u64, asked: Asked, now: Time) -> Pending {
        Pending {
            request,
            phase: Phase::Executing,
            waiting: Vec::new(),
            results: BatchResult::default(),
            refusal: None,
            cancelled: None,
            commit: false,
            commits_at_once: false,
            commits_on: None,
            changes_nothing: false,
            has_results: false,
            commit_asked_at: now,
            asked,
        }
    }
}

impl Coordinator {
    pub fn new() -> Coordinator {
        Coordinator::default()
    }

    pub(crate) fn on_request(
        &mut self,
        session: SessionId,
        request: Request,
        context: &mut Context<'_>,
    ) {
        let entry = self.sessions.entry(session).or_default();
        let busy = entry.pending.is_some();
        match request {
            Request::Cancel => {
                if busy {
                    self.cancel(session, Refusal::Cancelled, context);
                } else if self.held_back.take(session) {
                    self.finish(session, Reply::Refused(Refusal::Cancelled), context);
                }
            }
            Request::GiveUpIndex => self.schema.forget(session, context),
            Request::Close => {
                entry.closing = true;
                self.held_back.take(session);
                if busy {
                    self.cancel(session, Refusal::Cancelled, context);
                } else {
                    self.close(session, context);
                }
            }
            Request::Report { .. } | Request::StopNode { .. } | Request::AwaitCheckpoint => {
                unreachable!("the worker gives them to other blocks")
            }
            Request::Execute(_)
            | Request::Undo { .. }
            | Request::Commit { .. }
            | Request::Rollback
            | Request::ChangeSchema(_) => {
                assert!(!busy, "a session has one request at a time");
                self.begin_request(session, request, context);
            }
        }
    }

    fn begin_request(&mut self, session: SessionId, request: Request, context: &mut Context<'_>) {
        if !context.state.is_formed() {
            let reason = "the cluster is starting: not every data node is there yet".to_string();
            context.reply(session, Reply::Refused(Refusal::Unavailable(reason)));
            return;
        }
        if context.state.is_over(context.node.incarnation) {
            let reason =
                "this node was excluded from the cluster: it must be restarted".to_string();
            context.reply(session, Reply::Refused(Refusal::Unavailable(reason)));
            return;
        }
        if context.node.is_cut_off(context.now) && !matches!(request, Request::Rollback) {
            self.roll_back(session, context);
            context.reply(session, Reply::Refused(cut_off(context)));
            return;
        }
        let entry = self.sessions.get_mut(&session).expect("just made");
        match &request {
            Request::Execute(Batch { durability, .. }) | Request::Commit { durability } => {
                entry.durability = *durability;
            }
            _ => {}
        }
        if std::mem::take(&mut entry.has_lost) && !matches!(request, Request::Rollback) {
            context.reply(session, Reply::Refused(Refusal::RolledBack));
            return;
        }
        match request {
            Request::Execute(batch) if self.must_wait(session, &batch, context) => {
                self.held_back.push(session, batch);
            }
            Request::Execute(batch) => self.execute(session, batch, context),
            Request::Undo { statement } => self.undo(session, statement, context),
            Request::Commit { .. } => self.commit(session, context),
            Request::Rollback => {
                self.roll_back(session, context);
                context.reply(session, Reply::Done);
            }
            Request::ChangeSchema(change) => self.change_schema(session, change, context),
            Request::Report { .. }
            | Request::StopNode { .. }
            | Request::AwaitCheckpoint
            | Request::Cancel
            | Request::GiveUpIndex
            | Request::Close => {
                unreachable!("handled by on_request")
            }
        }
    }

    /// Ends the transaction without a trace: its shards are told and need not answer.
    fn roll_back(&mut self, session: SessionId, context: &mut Context<'_>) {
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        let Some(transaction) = entry.transaction.take() else { return };
        for shard in &transaction.shards {
            send_decide(*shard, transaction.id, None, context);
        }
        self.end_transaction(transaction, context);
    }

    /// Gives back what the coordinator kept for a transaction.
    fn end_transaction(&mut self, mut transaction: Transaction, context: &mut Context<'_>) {
        close_snapshot(&mut transaction, context);
        crate::NodeStatistics::subtract(&context.node.statistics.transactions_open, 1);
        if self.schema.waits_for_transactions() && !transaction.tables.is_empty() {
            self.adopt_schema(context);
        }
    }

    fn close(&mut self, session: SessionId, context: &mut Context<'_>) {
        self.roll_back(session, context);
        self.schema.forget(session, context);
        self.sessions.remove(&session);
    }

    /// Makes the waiting shards give up; their refusals end the request.
    fn cancel(&mut self, session: SessionId, reason: Refusal, context: &mut Context<'_>) {
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        let pending = entry.pending.as_mut().expect("the caller looked");
        match pending.phase {
            Phase::Executing => {
                pending.cancelled = Some(reason);
                let transaction = entry.transaction.as_ref().expect("executing for one").id;
                for shard in pending.waiting.clone() {
                    send_cancel(shard, transaction, pending.request, context);
                }
            }
            Phase::Schema if self.schema.withdraw(session, context) => {}
            Phase::Schema => {
                let pending = entry.pending.take().expect("just looked");
                self.requests.remove(&pending.request);
                self.schema.forget(session, context);
                self.finish(session, Reply::Refused(reason), context);
            }
            // The others end by themselves, in microseconds; a commit that was asked for is not taken back.
            Phase::Snapshot(_)
            | Phase::Undoing
            | Phase::Preparing { .. }
            | Phase::Committing { .. }
            | Phase::Asking { .. }
            | Phase::Held(_)
            | Phase::Durable(..) => pending.cancelled = Some(reason),
        }
    }

    pub(crate) fn on_break_deadlock(&mut self, message: &BreakDeadlock, context: &mut Context<'_>) {
        let victim = |session: &Session| {
            session.pending.as_ref().is_some_and(|p| matches!(p.phase, Phase::Executing))
                && session.transaction.as_ref().is_some_and(|t| t.id == message.transaction)
        };
        let found = self.sessions.iter().find(|(_, session)| victim(session)).map(|(id, _)| *id);
        if let Some(session) = found {
            self.cancel(session, Refusal::Deadlock, context);
        }
    }

    /// Answers a session; if it is closing, ends it instead.
    fn finish(&mut self, session: SessionId, reply: Reply, context: &mut Context<'_>) {
        let entry = self.sessions.get(&session).expect("the session is open");
        assert!(entry.pending.is_none(), "answered when nothing is in flight");
        if let Some(transaction) = entry.goes_on_alone {
            self.unknown.ended(transaction, &reply, context.now);
        }
        if entry.closing {
            self.close(session, context);
        } else {
            context.reply(session, reply);
        }
    }

    /// Lets go of the snapshots that have reached their greatest age. A read on its way may come when the versions it needs
    /// are gone: its shard refuses it by the horizon it knows. This clock decides only when the horizon may pass.
    fn expire_snapshots(&mut self, context: &Context<'_>) {
        if context.node.mutation == Mutation::AgeIgnored {
            return;
        }
        let transactions = self.sessions.values_mut().filter_map(|s| s.transaction.as_mut());
        for snapshot in transactions.filter_map(|transaction| transaction.snapshot.as_mut()) {
            if context.now >= snapshot.expires_at {
                snapshot.release(context);
                snapshot.expired = true;
            }
        }
    }

    pub(crate) fn on_tick(&mut self, context: &mut Context<'_>) {
        self.schema.on_tick(context);
        self.begin_held_back(context);
        self.refuse_held_back(context);
        self.adopt_schema(context);
        self.expire_snapshots(context);
        if context.node.is_cut_off(context.now) {
            self.end_what_waits(context);
        }
        self.tell_unknown(context);
        self.tell_not_durable(context);
        // A cancellation may have passed the operation it was for on its way: say it again while it is not answered.
        let mut again = Vec::new();
        for session in self.sessions.values() {
            let (Some(pending), Some(transaction)) = (&session.pending, &session.transaction)
            else {
                continue;
            };
            if pending.cancelled.is_some() && matches!(pending.phase, Phase::Executing) {
                again.extend(pending.waiting.iter().map(|s| (*s, transaction.id, pending.request)));
            }
        }
        for (shard, transaction, request) in again {
            send_cancel(shard, transaction, request, context);
        }
    }

    /// Has every transaction of this worker's sessions ended that had begun? A schema change is none. If so none begins until the
    /// handover that was begun so is over.
    pub(crate) fn drain(&mut self, begun: u64) -> bool {
        let has_ended = self.sessions.values().all(|session| {
            let asks = session.pending.as_ref().map(|pending| &pending.phase);
            let has_begun = session.transaction.as_ref().is_some_and(|t| !t.shards.is_empty());
            // A transaction that waits for disks has ended, but for the answer to its client.
            matches!(asks, None | Some(Phase::Schema | Phase::Durable(..))) && !has_begun
        });
        if has_ended {
            self.drained = Some(begun);
        }
        has_ended
    }

    /// A newer control state, in which these shards have another primary than before.
    pub(crate) fn on_state(&mut self, moved: &[ShardId], context: &mut Context<'_>) {
        if !moved.is_empty() {
            self.on_moved(moved, context);
        }
        self.begin_held_back(context);
        self.schema.on_state();
        self.adopt_schema(context);
    }

    /// The oldest snapshot of this worker's transactions that was granted by another node (rule R14).
    pub(crate) fn oldest_snapshot(&self) -> Option<Timestamp> {
        let snapshots = self.sessions.values().filter_map(|session| {
            session.transaction.as_ref().and_then(|transaction| transaction.snapshot)
        });
        let granted = snapshots.filter(|snapshot| !snapshot.expired && !snapshot.local);
        granted.map(|snapshot| snapshot.at).min()
    }

    fn next_request(&mut self, session: SessionId) -> u64 {
        self.request_last += 1;
        self.requests.insert(self.request_last, session);
        self.request_last
    }

    /// The session that waits for a shard's answer, if one still does.
    fn session_of(&mut self, request: u64, shard: ShardId) -> Option<SessionId> {
        let session = *self.requests.get(&request)?;
        let pending = self.sessions.get_mut(&session)?.pending.as_mut()?;
        if pending.request != request {
            return None;
        }
        let index = pending.waiting.iter().position(|waiting| *waiting == shard)?;
        pending.waiting.swap_remove(index);
        Some(session)
    }

    /// Takes the finished request off the session.
    fn take_pending(&mut self, session: SessionId) -> Pending {
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        let pending = entry.pending.take().expect("a request is in flight");
        self.requests.remove(&pending.request);
        pending
    }

    fn pending(&mut self, session: SessionId) -> &mut Pending {
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        entry.pending.as_mut().expect("a request is in flight")
    }
    fn transaction(&mut self, session: SessionId) -> &mut Transaction {
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        entry.transaction.as_mut().expect("a transaction is open")
    }
}

fn close_snapshot(transaction: &mut Transaction, context: &Context<'_>) {
    if let Some(snapshot) = transaction.snapshot.take() {
        snapshot.release(context);
    }
}

impl Snapshot {
    /// On the sequencer's node: it holds the horizon no more. Elsewhere it is left out of the next report.
    fn release(&self, context: &Context<'_>) {
        if self.local && !self.expired {
            context.node.close_snapshot(self.at);
        }
    }
}

use request::{send_cancel, send_decide};
