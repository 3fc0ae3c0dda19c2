//! Executing a batch: routing, snapshots (rules.md#timestamps), gathering results, undoing a refused statement.

use protocol::Message;
use protocol::Refusal;
use protocol::message::{
    Committed, Execute, ExecuteOk, ExecuteRefused, Holds, ReadView, TransactionUnknown, Undo,
    UndoOk,
};
use protocol::op::{Batch, BatchResult, Lock, Op, OpKind, ReadAt};
use protocol::request::{Reply, SessionId};
use types::hash::{bucket_of, hash64};
use types::{ShardId, TableId, TableState, Timestamp, TransactionId};

use super::request::{holds, send_cancel, send_to_primary};
use super::{Asked, Coordinator, Pending, Phase, Snapshot, Transaction, close_snapshot};
use crate::limits::BATCH_OPS_MAX;
use crate::node::{Mutation, NodeStatistics};
use crate::worker::{Context, Time};

/// The operations of a batch for one shard, each with its position in the batch.
struct Part {
    shard: ShardId,
    ops: Vec<(u16, Op)>,
}

impl Coordinator {
    pub(super) fn execute(&mut self, session: SessionId, batch: Batch, context: &mut Context<'_>) {
        if let Err(refusal) = self.admit(session, &batch, context) {
            context.reply(session, Reply::Refused(refusal));
            return;
        }
        if let Some(result) = self.read_at_once(session, &batch, context) {
            context.reply(session, Reply::Executed(result));
            return;
        }
        self.begin_statement(session, &batch, context);
        if self.transaction(session).snapshot.is_some_and(|s| s.expired) && reads_snapshot(&batch) {
            self.roll_back(session, context);
            context.reply(session, Reply::Refused(Refusal::SnapshotTooOld));
            return;
        }
        if let Some(table) = self.filled_since(session, &batch, context) {
            self.roll_back(session, context);
            context.reply(session, Reply::Refused(Refusal::DefinitionChanged { table }));
            return;
        }
        let request = self.next_request(session);
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        let mut pending = Pending {
            phase: Phase::Executing,
            commit: batch.commit,
            ..Pending::new(request, Asked::Execute, context.now)
        };
        let transaction = entry.transaction.as_ref().expect("begun above");
        let missing = transaction.snapshot.is_none() && needs_snapshot(&batch, context);
        if !missing {
            entry.pending = Some(pending);
            self.dispatch(session, batch, context);
            return;
        }
        let sequencer = context.state.sequencer.expect("views are formed");
        if sequencer.node == context.address.node && context.node.has_lease(context.now) {
            entry.pending = Some(pending);
            let at = context.node.open_snapshot();
            let (read_at, age_max_ms) = (batch.read_at, batch.snapshot_age_max_ms);
            self.set_snapshot(session, at, true, read_at, age_max_ms, context);
            self.dispatch(session, batch, context);
        } else {
            pending.phase = Phase::Snapshot(Box::new(batch));
            entry.pending = Some(pending);
            context.wanted.snapshots.push((session, request));
        }
    }

    /// A table of the batch whose rows a definition has written since the transaction's snapshot was taken, which does not
    /// have them.
    fn filled_since(
        &mut self,
        session: SessionId,
        batch: &Batch,
        context: &Context<'_>,
    ) -> Option<TableId> {
        let tables = &context.state.catalogue.tables;
        let transaction = self.transaction(session);
        if transaction.snapshot.is_none() {
            transaction.snapshot_schema = context.state.catalogue.version;
            return None;
        }
        let known = transaction.snapshot_schema;
        if known == context.state.catalogue.version || !reads_snapshot(batch) {
            return None;
        }
        let is_later =
            |id: &TableId| tables.get(id).is_some_and(|table| known < table.rewriting.rows_since);
        batch.ops.iter().map(|op| op.table).find(is_later)
    }

    /// An autocommit batch of plain key reads of one shard, answered by this node's replica at once: nothing about it
    /// outlives this call, so it needs no transaction and no messages. None if it is another kind of batch, or must wait.
    fn read_at_once(
        &self,
        session: SessionId,
        batch: &Batch,
        context: &Context<'_>,
    ) -> Option<BatchResult> {
        if !batch.commit || self.sessions.get(&session)?.transaction.is_some() {
            return None;
        }
        let mut shard = None;
        for op in &batch.ops {
            if !is_plain_read(&op.kind) {
                return None;
            }
            let own = shard_of(op, context)?;
            if *shard.get_or_insert(own) != own {
                return None;
            }
        }
        let shard = shard?;
        if reader(shard, ReadView::Latest, context) != context.address.node
            || !context.node.has_lease(context.now)
        {
            return None;
        }
        context.node.try_shard(shard)?.read_latest(batch, context)
    }

    /// A snapshot was granted: it is open from now on, and the batch that waits for it may begin.
    pub(crate) fn on_snapshot(
        &mut self,
        session: SessionId,
        request: u64,
        at: Timestamp,
        context: &mut Context<'_>,
    ) {
        if let Some(Phase::Snapshot(batch)) = self.awaiting_snapshot(session, request) {
            let (read_at, age_max_ms) = (batch.read_at, batch.snapshot_age_max_ms);
            self.set_snapshot(session, at, false, read_at, age_max_ms, context);
        }
    }

    /// Begins what the session has got its snapshot for.
    pub(crate) fn begin(&mut self, session: SessionId, request: u64, context: &mut Context<'_>) {
        let Some(phase) = self.awaiting_snapshot(session, request) else { return };
        let Phase::Snapshot(batch) = std::mem::replace(phase, Phase::Executing) else {
            unreachable!("just looked")
        };
        self.dispatch(session, *batch, context);
    }

    /// What the session does, if it is to wait for the snapshot of this request. One that was granted for an earlier request is older
    /// than what the session has been told since.
    fn awaiting_snapshot(&mut self, session: SessionId, request: u64) -> Option<&mut Phase> {
        let pending = self.sessions.get_mut(&session)?.pending.as_mut()?;
        let is_it = pending.request == request && matches!(pending.phase, Phase::Snapshot(_));
        is_it.then_some(&mut pending.phase)
    }

    fn set_snapshot(
        &mut self,
        session: SessionId,
        at: Timestamp,
        local: bool,
        read_at: ReadAt,
        age_max_ms: u32,
        context: &Context<'_>,
    ) {
        let transaction = self.transaction(session);
        let mutant = context.node.mutation == Mutation::SnapshotPerStatement;
        let statement = match read_at {
            ReadAt::Transaction if !mutant => None,
            ReadAt::Transaction | ReadAt::Statement => Some(transaction.statement),
        };
        let expires_at = match age_max_ms {
            0 => Time::MAX,
            age => context.now.saturating_add(u64::from(age) * 1_000),
        };
        transaction.snapshot = Some(Snapshot { at, statement, local, expires_at, expired: false });
    }

    /// Is the batch something this node can execute by the schema it knows?
    fn admit(
        &mut self,
        session: SessionId,
        batch: &Batch,
        context: &Context<'_>,
    ) -> Result<(), Refusal> {
        if batch.ops.len() > BATCH_OPS_MAX {
            return Err(Refusal::LimitReached(format!(
                "{} operations in a batch; at most {BATCH_OPS_MAX} are possible",
                batch.ops.len()
            )));
        }
        let used = self.sessions.get(&session).and_then(|entry| entry.transaction.as_ref());
        for op in &batch.ops {
            let known = context.state.catalogue.tables.get(&op.table);
            // One that has used it may go on while it closes.
            let uses = |used: &Transaction| used.tables.iter().any(|(own, _)| *own == op.table);
            let current = known.is_some_and(|table| {
                table.version == op.version
                    && table.state == TableState::Public
                    && (table.is_open()
                        || used.is_some_and(uses)
                        || context.node.mutation == Mutation::ClosedTableUsed)
            });
            // A transaction may go on with the definition it began with.
            let kept = known.is_some()
                && used.is_some_and(|used| used.tables.contains(&(op.table, op.version)));
            if !current && !kept {
                return Err(Refusal::SchemaChanged { table: op.table });
            }
        }
        Ok(())
    }

    fn begin_statement(&mut self, session: SessionId, batch: &Batch, context: &mut Context<'_>) {
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        let transaction = match &mut entry.transaction {
            Some(transaction) => transaction,
            none => {
                self.transaction_last += 1;
                let id = TransactionId {
                    coordinator: context.address,
                    incarnation: context.node.incarnation,
                    sequence: self.transaction_last,
                };
                NodeStatistics::add(&context.node.statistics.transactions_open, 1);
                // Before the cluster's time is known all are equally old, and their ids decide.
                let started = context.node.cluster_time(context.now).unwrap_or(0);
                none.insert(Transaction::new(id, context.now, started))
            }
        };
        for op in &batch.ops {
            let seen = |(table, _): &(types::TableId, _)| *table == op.table;
            if !transaction.tables.iter().any(seen) {
                transaction.tables.push((op.table, op.version));
            }
        }
        if transaction.statement != batch.statement {
            transaction.statement = batch.statement;
            transaction.statement_shards.clear();
        }
        let outdated = transaction
            .snapshot
            .is_some_and(|snapshot| snapshot.statement.is_some_and(|of| of != batch.statement));
        if outdated {
            close_snapshot(transaction, context);
        }
    }

    /// Sends the batch's parts to their shards.
    fn dispatch(&mut self, session: SessionId, batch: Batch, context: &mut Context<'_>) {
        let count = batch.ops.len();
        let Batch { ops, params, statement, commit, settings, .. } = batch;
        let parts = split(ops, context);
        let whole = parts.len() == 1;
        let transaction = self.transaction(session);
        let (id, started) = (transaction.id, transaction.started);
        let alone = transaction.shards.is_empty();
        let read = match transaction.snapshot {
            Some(snapshot) if !snapshot.expired => ReadView::Snapshot(snapshot.at),
            // Locks and writes go on without the snapshot.
            Some(_) | None => ReadView::Latest,
        };
        let mut sends = Vec::with_capacity(parts.len());
        let mut changes_nothing = alone;
        for part in parts {
            let writes = part.ops.iter().any(|(_, op)| !is_plain_read(&op.kind));
            changes_nothing &= part.ops.iter().all(|(_, op)| is_read(&op.kind));
            let node = if writes || transaction.shards.contains(&part.shard) {
                context.state.primary(part.shard)
            } else {
                reader(part.shard, read, context)
            };
            // A transaction whose only shard this is commits with the same message.
            let commit = commit && whole && (alone || transaction.shards == [part.shard]);
            if writes && !transaction.shards.contains(&part.shard) {
                transaction.shards.push(part.shard);
            }
            if writes && !transaction.statement_shards.contains(&part.shard) {
                transaction.statement_shards.push(part.shard);
            }
            sends.push((part, node, commit));
        }
        let pending = self.pending(session);
        pending.commits_at_once = matches!(sends[..], [(_, _, true)]);
        pending.changes_nothing = changes_nothing;
        let only = sends.first().filter(|_| pending.commits_at_once && !changes_nothing);
        pending.commits_on = only.map(|(part, ..)| part.shard);
        pending.results.results = vec![Vec::new(); count];
        pending.waiting = sends.iter().map(|(part, ..)| part.shard).collect();
        let request = pending.request;
        if sends.is_empty() {
            self.executed(session, context);
            return;
        }
        let mut params = Some(params);
        let last = sends.len() - 1;
        for (index, (part, node, commit)) in sends.into_iter().enumerate() {
            let params = if index == last { params.take() } else { params.clone() };
            let execute = Execute {
                transaction: id,
                request,
                shard: part.shard,
                statement,
                ops: part.ops,
                params: params.expect("taken with the last"),
                read,
                commit,
                settings,
                lock_wait_timeout_ms: batch.lock_wait_timeout_ms,
                wait: batch.wait,
                lock_ranges: batch.lock_ranges,
                refuse_changed: batch.refuse_changed,
                started,
            };
            context.send_to_replica(part.shard, node, Message::Execute(Box::new(execute)));
        }
    }

    pub(crate) fn on_execute_ok(&mut self, message: ExecuteOk, context: &mut Context<'_>) {
        let Some(session) = self.session_of(message.request, message.shard) else { return };
        let transaction = self.transaction(session);
        assert_eq!(transaction.id, message.transaction);
        transaction.note(message.shard, message.holds);
        let pending = self.pending(session);
        gather(&mut pending.results, message.result);
        if let Committed::WhenHeld(position) = message.committed {
            // The primary's record and this answer may come on different channels.
            if !holds(message.shard, position, message.transaction, message.request, context) {
                pending.phase = Phase::Held(position);
                pending.waiting.push(message.shard);
                return;
            }
        }
        if pending.waiting.is_empty() {
            match message.committed {
                Committed::No => self.executed(session, context),
                Committed::Decided(_) | Committed::WhenHeld(_) => self.committed(session, context),
            }
        }
    }

    pub(crate) fn on_execute_refused(
        &mut self,
        message: ExecuteRefused,
        context: &mut Context<'_>,
    ) {
        let Some(session) = self.session_of(message.request, message.shard) else { return };
        let transaction = self.transaction(session);
        assert_eq!(transaction.id, message.transaction);
        // The refusing shard has undone the statement itself.
        transaction.statement_shards.retain(|shard| *shard != message.shard);
        transaction.note(message.shard, message.holds);
        let id = transaction.id;
        let pending = self.pending(session);
        let refusal = match (&pending.cancelled, message.refusal) {
            (Some(reason), Refusal::Cancelled) => reason.clone(),
            (_, refusal) => refusal,
        };
        if matches!(refusal, Refusal::Deadlock) {
            self.note_victim(session, context);
        }
        let pending = self.pending(session);
        // One that ends the transaction outweighs one that ends the statement.
        let outweighs = match &pending.refusal {
            None => true,
            Some(first) => refusal.ends_transaction() && !first.ends_transaction(),
        };
        if outweighs {
            pending.refusal = Some(refusal.clone());
        }
        if pending.waiting.is_empty() {
            self.executed(session, context);
        } else if pending.cancelled.is_none() {
            // The statement has failed: what it waits for elsewhere is not worth waiting for.
            pending.cancelled = Some(refusal);
            let request = pending.request;
            for shard in pending.waiting.clone() {
                send_cancel(shard, id, request, context);
            }
        }
    }

    /// A shard has lost a transaction it was part of.
    pub(crate) fn on_transaction_unknown(
        &mut self,
        message: &TransactionUnknown,
        context: &mut Context<'_>,
    ) {
        // Others may not have answered, nor even begun.
        let Some(session) = self.session_of(message.request, message.shard) else { return };
        self.lose(session, Refusal::RolledBack, context);
    }

    /// Every shard has answered.
    fn executed(&mut self, session: SessionId, context: &mut Context<'_>) {
        let pending = self.pending(session);
        if pending.refusal.is_none() {
            pending.has_results = true;
            if pending.commit {
                self.commit_transaction(session, context);
            } else {
                let pending = self.take_pending(session);
                self.finish(session, Reply::Executed(pending.results), context);
            }
            return;
        }
        let refusal = pending.refusal.clone().expect("just looked");
        if refusal.ends_transaction() || pending.commit {
            self.take_pending(session);
            self.roll_back(session, context);
            self.finish(session, Reply::Refused(refusal), context);
            return;
        }
        let statement = self.transaction(session).statement;
        self.send_undo(session, statement, context);
    }

    pub(super) fn undo(&mut self, session: SessionId, statement: u32, context: &mut Context<'_>) {
        let entry = self.sessions.get(&session).expect("the session is open");
        if entry.transaction.is_none() {
            context.reply(session, Reply::Done);
            return;
        }
        let request = self.next_request(session);
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        let transaction = entry.transaction.as_mut().expect("just looked");
        transaction.statement_shards = transaction.shards.clone();
        entry.pending = Some(Pending {
            phase: Phase::Undoing,
            commit: false,
            ..Pending::new(request, Asked::Undo, context.now)
        });
        self.send_undo(session, statement, context);
    }

    fn send_undo(&mut self, session: SessionId, statement: u32, context: &mut Context<'_>) {
        let transaction = self.transaction(session);
        let id = transaction.id;
        let shards = std::mem::take(&mut transaction.statement_shards);
        let pending = self.pending(session);
        pending.phase = Phase::Undoing;
        pending.waiting = shards.clone();
        let request = pending.request;
        if shards.is_empty() {
            self.undone(session, context);
            return;
        }
        for shard in shards {
            let undo = Undo { transaction: id, request, shard, statement };
            send_to_primary(shard, Message::Undo(undo), context);
        }
    }

    pub(crate) fn on_undo_ok(&mut self, message: &UndoOk, context: &mut Context<'_>) {
        let Some(session) = self.session_of(message.request, message.shard) else { return };
        if self.pending(session).waiting.is_empty() {
            self.undone(session, context);
        }
    }

    fn undone(&mut self, session: SessionId, context: &mut Context<'_>) {
        let pending = self.take_pending(session);
        let reply = match pending.refusal {
            Some(refusal) => Reply::Refused(refusal),
            None => Reply::Done,
        };
        self.finish(session, reply, context);
    }
}

impl Transaction {
    /// A shard says what the transaction has there now.
    fn note(&mut self, shard: ShardId, holds: Holds) {
        let add = |list: &mut Vec<ShardId>| {
            if !list.contains(&shard) {
                list.push(shard);
            }
        };
        match holds {
            Holds::Nothing => self.shards.retain(|held| *held != shard),
            Holds::Locks | Holds::Writes => add(&mut self.shards),
        }
        match holds {
            Holds::Nothing | Holds::Locks => self.written.retain(|written| *written != shard),
            Holds::Writes => add(&mut self.written),
        }
    }

    fn new(id: TransactionId, began: Time, started: u64) -> Transaction {
        Transaction {
            id,
            began,
            started,
            shards: Vec::new(),
            written: Vec::new(),
            tables: Vec::new(),
            snapshot: None,
            snapshot_schema: Default::default(),
            statement: 0,
            statement_shards: Vec::new(),
        }
    }
}

/// Plain or under locks.
fn is_read(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Read { .. } | OpKind::Scan(_))
}

pub(super) fn is_plain_read(kind: &OpKind) -> bool {
    match kind {
        OpKind::Read { lock, .. } => *lock == Lock::None,
        OpKind::Scan(scan) => scan.lock == Lock::None,
        OpKind::Insert { .. }
        | OpKind::Put { .. }
        | OpKind::Update { .. }
        | OpKind::Delete { .. } => false,
    }
}

/// Does what the batch does depend on the transaction's snapshot? Locks and writes work on the latest versions, unless they
/// are to be refused when the snapshot has others.
fn reads_snapshot(batch: &Batch) -> bool {
    batch.refuse_changed || batch.ops.iter().any(|op| is_plain_read(&op.kind))
}

/// A batch of plain reads needs a snapshot timestamp when its transaction reads again later by the same view, or when its
/// reads on several shards must fit together. What one shard shows at one moment fits together by itself. An empty batch
/// is there for the snapshot alone.
fn needs_snapshot(batch: &Batch, context: &Context<'_>) -> bool {
    let lasts = batch.read_at == ReadAt::Transaction && !batch.commit;
    if batch.ops.is_empty() {
        return lasts;
    }
    let mut plain = batch.ops.iter().filter(|op| is_plain_read(&op.kind)).peekable();
    if plain.peek().is_none() {
        return false;
    }
    // A scan may go on in further batches of the statement.
    if lasts || batch.reads_on {
        return true;
    }
    if context.node.mutation == Mutation::StatementWithoutSnapshot {
        return false;
    }
    let mut first: Option<ShardId> = None;
    for op in plain {
        match shard_of(op, context) {
            None => return true,
            Some(shard) => {
                if *first.get_or_insert(shard) != shard {
                    return true;
                }
            }
        }
    }
    false
}

/// The shard that an operation's key belongs to; none for a scan, which may find rows on all (and go on later).
fn shard_of(op: &Op, context: &Context<'_>) -> Option<ShardId> {
    match &op.kind {
        OpKind::Read { key, .. }
        | OpKind::Insert { key, .. }
        | OpKind::Put { key, .. }
        | OpKind::Update { key, .. }
        | OpKind::Delete { key, .. } => Some(context.state.shard_of(bucket_of(hash64(key)))),
        OpKind::Scan(_) => None,
    }
}

fn split(ops: Vec<Op>, context: &Context<'_>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut add = |shard: ShardId, position: u16, op: Op| match parts
        .iter_mut()
        .find(|part| part.shard == shard)
    {
        Some(part) => part.ops.push((position, op)),
        None => parts.push(Part { shard, ops: vec![(position, op)] }),
    };
    for (position, op) in (0u16..).zip(ops) {
        if let Some(shard) = shard_of(&op, context) {
            add(shard, position, op);
            continue;
        }
        let OpKind::Scan(scan) = &op.kind else { unreachable!("only scans have no key") };
        match scan.shard {
            Some(shard) => add(shard, position, op),
            None => {
                for shard in context.state.shards() {
                    add(shard, position, op.clone());
                }
            }
        }
    }
    parts
}

/// The node that a plain read goes to: this one whenever its replica shows what the primary would.
///
/// The latest version: any active member's replica will do, because a commit is told to nobody before all members hold
/// it, and one that is not known to be decided makes the reader wait. At a snapshot a backup must have heard of every
/// commit up to it. Where rows have two copies it has if this node is the sequencer (it stamps the primary's commits as they
/// arrive, so those up to the snapshot are here), or if the primary is (its records came before the grant, on the same
/// channel, which one worker a node makes sure of). Transactions over several shards get their timestamp after every
/// participant's PREPARE is held by all members, so the marker is here too.
fn reader(shard: ShardId, read: ReadView, context: &Context<'_>) -> types::NodeId {
    let here = context.address.node;
    let group = context.state.group(context.state.group_of(shard));
    let primary = group.primaries[&shard];
    if primary == here || !group.active().any(|member| member == here) {
        return primary;
    }
    let complete = match read {
        ReadView::Latest => true,
        ReadView::Snapshot(_) if context.node.mutation == Mutation::SnapshotFromAnyBackup => true,
        ReadView::Snapshot(_) => {
            let sequencer = context.state.sequencer.expect("views are formed").node;
            let workers = |node| context.node.config.node(node).map_or(1, |config| config.workers);
            let one_channel = workers(here) == 1 && workers(primary) == 1;
            context.state.config.replicas == 2
                && (sequencer == here || (sequencer == primary && one_channel))
        }
    };
    if complete { here } else { primary }
}

/// Puts one shard's results into the batch's.
fn gather(into: &mut BatchResult, part: BatchResult) {
    // The part's operations carry their positions: results come in the same order.
    for (position, results) in part.positions.into_iter().zip(part.results) {
        into.results[usize::from(position)].extend(results);
    }
    into.warnings.extend(part.warnings);
}
