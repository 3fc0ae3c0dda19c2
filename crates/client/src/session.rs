//! A session: one transaction at a time, one request at a time.

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use protocol::Refusal;
use protocol::control::Durability;
use protocol::op::{Batch, BatchResult, Op, OpKind, OpResult};
use protocol::report::{Report, ReportRequest};
use protocol::request::{Reply, Request, SessionId};
use protocol::schema::SchemaChange;
use types::{Catalogue, NodeId, Table, TableId, Timestamp};

use crate::driver::Client;
use crate::task;
use crate::temporary::TemporaryTables;

/// Operations after which a transaction is a long one, that makes room for others.
const LONG_TRANSACTION: usize = 4_096;
/// It rests this many times as long as each of its requests took: others have most of the time.
const REST_FACTOR: u64 = 2;
/// It rests no longer than this at a time, in microseconds.
const REST_MAX: u64 = 2_000;
/// The same of a session that works in the background.
const BACKGROUND_REST_MAX: u64 = 10_000;
/// Time for which the worker counts as used by others after a request of theirs, in microseconds.
const USED_FOR: u64 = 20_000;

/// Operations on temporary tables that a batch may have before others of the worker have their turn.
const OPERATIONS_PER_TURN: usize = 64;

/// Interval at which a waiting session checks whether it is given up, in milliseconds.
const GIVEN_UP_POLL_MS: u64 = 100;
/// Checks until a wait for the disks ends, after a minute: a disk that is full, or hangs, may stay so for long.
const LOOKS_MAX: u64 = 60_000 / GIVEN_UP_POLL_MS;

pub struct Session {
    client: Client,
    id: SessionId,
    /// Of the transaction.
    operation_count: usize,
    /// The statement of the transaction; counts on over transactions.
    statement: u32,
    in_transaction: bool,
    durability: Option<Durability>,
    /// A request was sent whose reply was not taken (its task was dropped in between).
    busy: bool,
    makes_room: bool,
    /// Requests of others that it has seen, and until when it makes room for them.
    foreground_seen: u64,
    used_until: u64,
    pub(crate) temporary: TemporaryTables,
    /// KILL came since the statement began.
    is_cancelled: Rc<Cell<bool>>,
}

/// Makes a session's request in flight fail with [`Refusal::Cancelled`]: KILL.
#[derive(Clone)]
pub struct Canceller {
    client: Client,
    id: SessionId,
    is_cancelled: Rc<Cell<bool>>,
}

impl Canceller {
    pub fn cancel(&self) {
        self.is_cancelled.set(true);
        self.client.post(self.id, Request::Cancel);
    }
}

impl Session {
    pub(crate) fn new(client: Client, id: SessionId) -> Session {
        client.open(id);
        Session {
            temporary: TemporaryTables::new(client.node()),
            is_cancelled: Rc::default(),
            client,
            id,
            operation_count: 0,
            statement: 1,
            in_transaction: false,
            durability: None,
            busy: false,
            makes_room: false,
            foreground_seen: 0,
            used_until: 0,
        }
    }

    pub fn id(&self) -> SessionId {
        self.id
    }
    pub fn client(&self) -> &Client {
        &self.client
    }
    pub fn canceller(&self) -> Canceller {
        let is_cancelled = Rc::clone(&self.is_cancelled);
        Canceller { client: self.client.clone(), id: self.id, is_cancelled }
    }
    /// Has this session a transaction with state on any node, or changes of its temporary tables?
    pub fn in_transaction(&self) -> bool {
        self.in_transaction || self.temporary.has_changes()
    }

    pub fn durability(&self) -> Option<Durability> {
        self.durability
    }
    /// When the session's commits are acknowledged from now on; None: as the cluster is configured. Returns the level before.
    pub fn set_durability(&mut self, level: Option<Durability>) -> Option<Durability> {
        std::mem::replace(&mut self.durability, level)
    }

    /// Whether the session works in the background from now on: after each request it makes room for others, while sessions in the
    /// foreground use the worker. Returns whether it did before.
    pub fn set_background(&mut self, makes_room: bool) -> bool {
        self.foreground_seen = self.client.foreground_count();
        std::mem::replace(&mut self.makes_room, makes_room)
    }

    async fn request(&mut self, request: Request) -> Reply {
        if self.busy {
            // The task that waited for the last reply was dropped: that reply is dropped, too.
            self.client.reply(self.id).await;
        }
        self.busy = true;
        if self.makes_room {
            self.client.count_background_request();
        }
        self.client.post(self.id, request);
        let reply = self.client.reply(self.id).await;
        self.busy = false;
        reply
    }

    /// Runs the operations: all or, when refused, none of the statement they belong to. Reads of rows that are too long for one answer
    /// are asked for one after the other.
    pub async fn execute(&mut self, batch: Batch) -> Result<BatchResult, Refusal> {
        let mut reads = batch.ops.iter().filter(|op| matches!(op.kind, OpKind::Read { .. }));
        if batch.commit || reads.nth(1).is_none() {
            return self.execute_some(batch).await;
        }
        Box::pin(self.execute_reads(batch)).await
    }

    async fn execute_reads(&mut self, mut batch: Batch) -> Result<BatchResult, Refusal> {
        let numbered = batch.ops.iter().enumerate();
        let reads = numbered.filter(|(_, op)| matches!(op.kind, OpKind::Read { .. }));
        let mut reads: Vec<(usize, Op)> =
            reads.map(|(position, op)| (position, op.clone())).collect();
        let ops = std::mem::take(&mut batch.ops);
        let again = batch.clone();
        let mut result = self.execute_some(Batch { ops, ..batch }).await?;
        loop {
            let is_left = |(position, _): &(usize, Op)| {
                matches!(result.results[*position][..], [OpResult::Later])
            };
            reads.retain(is_left);
            if reads.is_empty() {
                return Ok(result);
            }
            let ops = reads.iter().map(|(_, op)| op.clone()).collect();
            let more = self.execute_some(Batch { ops, ..again.clone() }).await?;
            for ((position, _), read) in reads.iter().zip(more.results) {
                result.results[*position] = read;
            }
            result.warnings.extend(more.warnings);
        }
    }

    /// The same, but reads that are too many for one answer are left to the caller, as [`OpResult::Later`].
    pub async fn execute_some(&mut self, mut batch: Batch) -> Result<BatchResult, Refusal> {
        batch.statement = self.statement;
        batch.durability = batch.durability.or(self.durability);
        match batch.ops.iter().any(|op| op.table.is_temporary()) {
            // Boxed, so that the future of the common way stays short: it is moved.
            true => Box::pin(self.execute_with_temporary(batch)).await,
            false => self.execute_at_shards(batch).await,
        }
    }

    /// A batch with operations on temporary tables. These come first, because they can be undone when another one is refused.
    async fn execute_with_temporary(&mut self, mut batch: Batch) -> Result<BatchResult, Refusal> {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        let results = vec![Vec::new(); batch.ops.len()];
        let mut result = BatchResult { results, ..BatchResult::default() };
        for (position, op) in std::mem::take(&mut batch.ops).into_iter().enumerate() {
            let place = if op.table.is_temporary() { &mut own } else { &mut others };
            place.push((position, op));
        }
        if OPERATIONS_PER_TURN < own.len()
            || own.iter().any(|(_, op)| matches!(op.kind, OpKind::Scan(_)))
        {
            task::yield_now().await;
        }
        let executed = match self.is_cancelled.get() {
            true => Err(Refusal::Cancelled),
            false => self.temporary.execute(&batch, &own, &mut result),
        };
        if let Err(refusal) = executed {
            match batch.commit {
                true => self.rollback().await,
                false => self.undo_statement().await?,
            }
            return Err(refusal);
        }
        if others.is_empty() {
            if batch.commit {
                self.commit_as(batch.durability).await?;
            }
            return Ok(result);
        }
        let (positions, ops): (Vec<usize>, Vec<Op>) = others.into_iter().unzip();
        let executed = self.execute_at_shards(Batch { ops, ..batch }).await?;
        for (position, own) in positions.into_iter().zip(executed.results) {
            result.results[position] = own;
        }
        result.warnings.extend(executed.warnings);
        Ok(result)
    }

    async fn execute_at_shards(&mut self, batch: Batch) -> Result<BatchResult, Refusal> {
        let commit = batch.commit;
        if !self.in_transaction {
            self.operation_count = 0;
        }
        self.in_transaction = true;
        self.operation_count += batch.ops.len();
        let (began, requests_before) = (self.client.now(), self.client.request_count());
        match self.request(Request::Execute(batch)).await {
            Reply::Executed(result) => {
                self.in_transaction = !commit;
                if commit {
                    self.temporary.commit();
                }
                if self.makes_room || LONG_TRANSACTION < self.operation_count {
                    self.make_room(began, requests_before).await;
                }
                Ok(result)
            }
            Reply::Refused(refusal) => {
                if commit || refusal.ends_transaction() {
                    // A batch that was to commit takes its transaction with it, unless it was never begun.
                    self.rollback().await;
                } else {
                    self.temporary.undo_to(self.statement);
                }
                Err(refusal)
            }
            reply => unreachable!("{reply:?} to a batch"),
        }
    }

    /// Rests after a request, if others of this worker asked for something meanwhile: a long transaction would leave them
    /// half of what they need.
    async fn make_room(&mut self, began: u64, requests_before: u64) {
        let now = self.client.now();
        let foreground = self.client.foreground_count();
        if self.foreground_seen < foreground {
            self.foreground_seen = foreground;
            self.used_until = now + USED_FOR;
        }
        // One in the background also rests where others asked between its requests: they will again.
        let (is_used, rest_max) = match self.makes_room {
            true => (now < self.used_until, BACKGROUND_REST_MAX),
            false => (requests_before + 1 < self.client.request_count(), REST_MAX),
        };
        if is_used {
            self.client.sleep_us((REST_FACTOR * (now - began)).min(rest_max)).await;
        }
    }

    /// Begins the next statement: the unit that a refusal or `undo_statement` undoes, and of READ COMMITTED's snapshots.
    pub fn next_statement(&mut self) {
        self.statement = self.statement.wrapping_add(1).max(1);
        self.is_cancelled.set(false);
        assert!(self.statement != 0);
    }

    /// Undoes the writes since `next_statement`.
    pub async fn undo_statement(&mut self) -> Result<(), Refusal> {
        self.undo_to(self.statement).await
    }

    /// A place in the transaction that `undo_to` can go back to: the next statement begins here.
    pub fn savepoint(&mut self) -> u32 {
        self.next_statement();
        self.statement
    }

    /// Undoes the writes since that savepoint, which stays. Locks of rows that were there before stay, too; the keys of
    /// inserted rows are free again.
    pub async fn undo_to(&mut self, statement: u32) -> Result<(), Refusal> {
        self.temporary.undo_to(statement);
        if !self.in_transaction {
            return Ok(());
        }
        match self.request(Request::Undo { statement }).await {
            Reply::Done => Ok(()),
            Reply::Refused(refusal) => {
                if refusal.ends_transaction() {
                    self.in_transaction = false;
                    self.temporary.rollback();
                }
                Err(refusal)
            }
            reply => unreachable!("{reply:?} to an undo"),
        }
    }

    /// Whatever the answer, the transaction is over.
    pub async fn commit(&mut self) -> Result<(), Refusal> {
        self.commit_as(self.durability).await
    }

    async fn commit_as(&mut self, durability: Option<Durability>) -> Result<(), Refusal> {
        if !self.in_transaction {
            self.temporary.commit();
            return Ok(());
        }
        self.in_transaction = false;
        let (began, requests_before) = (self.client.now(), self.client.request_count());
        match self.request(Request::Commit { durability }).await {
            Reply::Done => {
                self.temporary.commit();
                if self.makes_room {
                    self.make_room(began, requests_before).await;
                }
                Ok(())
            }
            Reply::Refused(refusal) => {
                // What may have been committed, or was, stays here as well.
                match &refusal {
                    Refusal::OutcomeUnknown(_) | Refusal::NotDurable(_) => self.temporary.commit(),
                    _ => self.temporary.rollback(),
                }
                Err(refusal)
            }
            reply => unreachable!("{reply:?} to a commit"),
        }
    }

    pub async fn rollback(&mut self) {
        self.temporary.rollback();
        if self.in_transaction {
            self.in_transaction = false;
            // Refused only while the cluster starts, when there is nothing to roll back.
            self.request(Request::Rollback).await;
        }
    }

    /// Makes an empty temporary table of this definition, whose ids it chooses. No part of the transaction.
    pub fn create_temporary(&mut self, definition: Table) -> Arc<Table> {
        self.temporary.create(definition)
    }
    /// Drops a temporary table with the keys that belong to it. No part of the transaction.
    pub fn drop_temporary(&mut self, table: TableId) {
        self.temporary.drop(table);
    }
    /// Removes all rows of a temporary table, beyond the transaction, and begins its sequence anew.
    pub fn truncate_temporary(&mut self, table: TableId) {
        self.temporary.truncate(table);
    }
    /// Gives a temporary table another definition of the same columns and keys.
    pub fn redefine_temporary(&mut self, definition: Table) -> Arc<Table> {
        self.temporary.redefine(definition)
    }
    /// The definitions of the temporary tables, with the hidden ones of their unique keys.
    pub fn temporary_tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.temporary.definitions()
    }
    /// The rows that a temporary table has now.
    pub fn temporary_row_count(&self, table: TableId) -> u64 {
        self.temporary.row_count(table)
    }
    /// Bytes that the rows of all temporary tables of the session may take, with what undoes their changes: a write beyond is refused
    /// with [`Refusal::MemoryFull`].
    pub fn set_temporary_bytes_max(&mut self, bytes_max: usize) {
        self.temporary.set_bytes_max(bytes_max);
    }

    /// Independent of any transaction: callers commit first. Done when every node uses the new definition.
    pub async fn change_schema(&mut self, change: SchemaChange) -> Result<Arc<Catalogue>, Refusal> {
        assert!(!self.in_transaction, "a schema change is no part of a transaction");
        match self.request(Request::ChangeSchema(change)).await {
            Reply::Schema(catalogue) => Ok(catalogue),
            Reply::Refused(refusal) => Err(refusal),
            reply => unreachable!("{reply:?} to a schema change"),
        }
    }

    /// Asks one node or all what they have to tell.
    pub async fn report(
        &mut self,
        node: Option<NodeId>,
        query: ReportRequest,
    ) -> Vec<(NodeId, Report)> {
        match self.request(Request::Report { node, query }).await {
            Reply::Reports(reports) => reports,
            reply => unreachable!("{reply:?} to a report"),
        }
    }

    /// Waits until everything that was committed before this is on the disks of all members, which takes as long as the slowest of them.
    /// Returns a timestamp that has it; none if it was given up before.
    pub async fn await_checkpoint_unless(
        &mut self,
        is_given_up: &dyn Fn() -> bool,
    ) -> Result<Option<Timestamp>, Refusal> {
        let client = self.client.clone();
        let mut asked = pin!(self.request(Request::AwaitCheckpoint));
        while !is_given_up() {
            let mut pause = pin!(client.sleep_ms(GIVEN_UP_POLL_MS));
            let reply = std::future::poll_fn(|context| match asked.as_mut().poll(context) {
                Poll::Ready(reply) => Poll::Ready(Some(reply)),
                Poll::Pending => pause.as_mut().poll(context).map(|()| None),
            });
            match reply.await {
                None => {}
                Some(Reply::Checkpointed(at)) => return Ok(Some(at)),
                Some(Reply::Refused(refusal)) => return Err(refusal),
                Some(reply) => unreachable!("{reply:?} to a checkpoint"),
            }
        }
        Ok(None)
    }

    /// Waits until earlier commits are on the disks of all members: for a change of definitions, which is durable at once and must
    /// not come before it. Nodes without disks have nothing to wait for. Refused after a minute, or when it is given up.
    pub async fn await_disks(&self, is_given_up: &dyn Fn() -> bool) -> Result<(), Refusal> {
        // By a session of its own: its answer is dropped when it is given up.
        let mut waiting = self.client.session();
        match waiting.await_checkpoint_unless(&or_late(is_given_up)).await {
            Ok(Some(_)) | Err(Refusal::Unavailable(_)) => Ok(()),
            Ok(None) => Err(Refusal::Unavailable(
                "no global checkpoint has been done for a minute of what was committed before: definitions that rest on it are not \
                 changed until one is"
                    .into(),
            )),
            Err(refusal) => Err(refusal),
        }
    }

    /// Has the host of a node stop it, in good order; returns when the request is delivered.
    pub async fn stop_node(&mut self, node: NodeId, restart: bool) -> Result<(), Refusal> {
        match self.request(Request::StopNode { node, restart }).await {
            Reply::Done => Ok(()),
            Reply::Refused(refusal) => Err(refusal),
            reply => unreachable!("{reply:?} to a stop"),
        }
    }
}

/// Given up, or looked at for a minute.
pub(crate) fn or_late(is_given_up: &dyn Fn() -> bool) -> impl Fn() -> bool {
    let looks = Cell::new(0);
    move || is_given_up() || LOOKS_MAX < looks.replace(looks.get() + 1)
}

impl Drop for Session {
    fn drop(&mut self) {
        self.client.close(self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use protocol::control::{ClusterConfig, ControlState};
    use protocol::op::{Op, OpKind};
    use protocol::request::LocalRows;
    use types::wire::Bytes;
    use types::{ClusterId, SchemaVersion};

    use super::*;
    use crate::task::Executor;

    struct NoRows;

    impl LocalRows for NoRows {
        fn read_latest(
            &self,
            _state: &ControlState,
            _table: &Table,
            _key: &[u8],
            _now: u64,
            _visit: &mut dyn FnMut(Option<&[u8]>),
        ) -> bool {
            false
        }
    }

    fn batch(count: usize) -> Batch {
        let kind = OpKind::Delete { key: Bytes(vec![1]), filter: None };
        let op = Op { table: TableId(2), version: SchemaVersion(1), kind };
        Batch { ops: vec![op; count], ..Batch::default() }
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Others {
        Silent,
        AskBefore,
        AskMeanwhile,
    }
    use Others::{AskBefore, AskMeanwhile, Silent};

    /// Executes a batch that is answered 300 microseconds later; returns the time until the session continues after that.
    fn rest(operations: usize, others: Others, is_background: bool) -> u64 {
        let config = ClusterConfig {
            cluster: ClusterId(1),
            nodes: Vec::new(),
            replicas: 1,
            shards_per_group: 1,
            heartbeat_ms: protocol::control::HEARTBEAT_MS_DEFAULT,
            durability: protocol::control::Durability::default(),
        };
        let state = Arc::new(ControlState::new(config, Catalogue::default()));
        let client = Client::new(NodeId(2), state, Arc::new(NoRows), 1);
        let mut executor = Executor::new();
        let done = Rc::new(Cell::new(false));
        let (mut session, told) = (client.session(), Rc::clone(&done));
        session.set_background(is_background);
        if others == AskBefore {
            let mut other = client.session();
            executor.spawn(Box::pin(async move {
                let _ = other.execute(batch(1)).await;
            }));
            executor.run();
            client.take_request().expect("the other's batch");
        }
        executor.spawn(Box::pin(async move {
            session.execute(batch(operations)).await.expect("executed");
            told.set(true);
        }));
        executor.run();
        let (id, _) = client.take_request().expect("the batch");
        if others == AskMeanwhile {
            let mut other = client.session();
            executor.spawn(Box::pin(async move {
                let _ = other.execute(batch(1)).await;
            }));
            executor.run();
        }
        client.set_clock(0, 300);
        client.deliver(id, Reply::Executed(BatchResult::default()));
        for rested in 0..10_000 {
            client.set_clock(0, 300 + rested);
            client.wake_timers();
            executor.run();
            if done.get() {
                return rested;
            }
        }
        panic!("it rests for ever")
    }

    /// A long transaction rests twice as long as it worked while others ask for something, and a session in the background also where
    /// they asked a moment before; a short transaction never does.
    #[test]
    fn long_transactions_make_room() {
        assert_eq!(rest(LONG_TRANSACTION + 1, AskMeanwhile, false), 600);
        assert_eq!(rest(LONG_TRANSACTION + 1, Silent, false), 0);
        assert_eq!(rest(LONG_TRANSACTION, AskMeanwhile, false), 0);
        assert_eq!(rest(1, AskMeanwhile, true), 600);
        assert_eq!(rest(1, Silent, true), 0);
        assert_eq!(rest(LONG_TRANSACTION + 1, AskBefore, false), 0);
        assert_eq!(rest(1, AskBefore, true), 600);
    }
}
