//! Global checkpoints: a timestamp such that the disks of all members hold everything that was committed up to it
//! (rules.md#checkpoints; rule R9).
//!
//! ```text
//!   sequencer           --CloseLogs(at)-->    every worker of the data nodes
//!   owner, of a primary: the log is closed at `at`, and all members hold that          --LogsClosed(shards, members)-->  sequencer
//!   owner, of any replica: its disk holds the closed logs of all its shards            --LogsDurable-->                  sequencer
//!   sequencer: all shards are closed, all workers of all members durable               --CheckpointDone(at)-->           all workers
//! ```
//! The timestamp is the last one given out when the checkpoint begins. Safety does not depend on
//! the node that makes it: a checkpoint is done because of the content of the disks, and the
//! primaries name the nodes of these disks, each by its view: every node without which it decides
//! nothing. A node that was excluded and does not know it leads no shard that others follow, so it
//! makes none.
//!
//! When the members change the checkpoint begins anew, with another timestamp, and a primary that
//! has not adopted the change closes no log at that: a log that is closed before a learner's log
//! begins is closed for all members but the learner, whose disk could never confirm it.
//!
//! A node that learns that a checkpoint is done marks that on its disk. While it has a lease it is
//! not excluded, so every primary that reported its logs as closed has counted it among the
//! members: up to there its disk has everything that the others have, and no undecided record. A
//! restart from the disks of the last members needs no mark; a lossy restart, from the disk of an
//! excluded node, relies on it, because that node may have closed its logs behind records that no
//! other node has.
//!
//! Checkpoints follow each other in half a second; sooner when a session waits, and not at all
//! while nothing is committed, unless a learner is to be promoted, whose disk must hold one first.

use std::collections::{BTreeMap, BTreeSet};

use protocol::disk::DiskEntry;
use protocol::message::{
    AwaitCheckpoint, CheckpointDone, CheckpointMark, CloseLogs, LogsClosed, LogsDurable,
};
use protocol::request::{Reply, SessionId};
use protocol::{Message, Refusal};
use types::wire::Wire;
use types::{
    Address, Catalogue, Index, IndexKind, IndexState, NodeId, ShardId, Timestamp, View, WorkerId,
};

use crate::limits::{CHECKPOINT_INTERVAL_US, CHECKPOINT_LATE_US, RESEND_INTERVAL_US};
use crate::participant::{self, sequencer_address};
use crate::worker::{Context, Time};

#[derive(Default)]
pub struct CheckpointBlock {
    // As an owner of shards.
    closing: Option<Closing>,
    /// The newest that is marked on the disk, by the node's first worker; and when the mark is to be durable, if nothing else has
    /// flushed the disk before.
    marked: Timestamp,
    mark_flush_at: Option<Time>,

    // For the sessions of this worker that wait.
    request_last: u64,
    /// Sessions that wait for the request under way, and those for the next.
    asked: Vec<(SessionId, u64)>,
    /// The request that they wait for.
    asked_request: u64,
    ask_again: Time,
    wanted: Vec<(SessionId, u64)>,
    /// Sessions that wait for one that begins from now on, each with the request that asks for it.
    watching: Vec<(u64, SessionId)>,
    /// The node rests when this checkpoint, which was requested, or the next one is done.
    rests: Option<u64>,

    // On the sequencer's worker 0.
    making: Option<Making>,
    /// Those that were seen last.
    views: Vec<View>,
    /// Of the one that was begun last.
    begun: Timestamp,
    begin_next: Time,
    /// Who waits for one that begins from now on, and with which request.
    waiting: BTreeMap<Address, u64>,
}

struct Closing {
    at: Timestamp,
    asked_by: Address,
    has_told_closed: bool,
    has_told_durable: bool,
}

/// A checkpoint that is being made.
struct Making {
    at: Timestamp,
    /// A change of views begins another one.
    views: Vec<View>,
    /// Of the control state that the views are of.
    applied: u64,
    ask_next: Time,
    closed: BTreeSet<ShardId>,
    /// Whose disks are to hold it.
    members: BTreeSet<NodeId>,
    durable: BTreeSet<Address>,
    /// Next time at which a late checkpoint logs its reason.
    told_late_next: Time,
    /// Who waits for this one.
    waiting: BTreeMap<Address, u64>,
}

impl CheckpointBlock {
    pub(crate) fn on_close_logs(
        &mut self,
        from: Address,
        message: &CloseLogs,
        context: &mut Context<'_>,
    ) {
        let CloseLogs { at, applied } = *message;
        context.node.note_checkpoint_asked(at, context.now);
        if context.state.applied < applied {
            return;
        }
        self.closing =
            Some(Closing { at, asked_by: from, has_told_closed: false, has_told_durable: false });
        participant::close(at, context);
        self.go_on(context);
    }

    /// Tells how far it is, if that is further.
    pub(crate) fn go_on(&mut self, context: &mut Context<'_>) {
        let Some(closing) = &mut self.closing else { return };
        let (at, to) = (closing.at, closing.asked_by);
        if !closing.has_told_closed
            && let Some((shards, members)) = participant::closed(at, context)
        {
            closing.has_told_closed = true;
            if !shards.is_empty() {
                context.send(to, Message::LogsClosed(LogsClosed { at, shards, members }));
            }
        }
        if !closing.has_told_durable && participant::is_closed_on_disk(at, context) {
            closing.has_told_durable = true;
            context.send(to, Message::LogsDurable(LogsDurable { at }));
        }
        if closing.has_told_closed && closing.has_told_durable {
            self.closing = None;
        }
    }

    /// Marks on the disk that this checkpoint is done.
    fn mark(&mut self, at: Timestamp, context: &mut Context<'_>) {
        let (node, state) = (context.node, context.state);
        let Some(store) = &node.store else { return };
        let is_first = context.address.worker == WorkerId(0);
        let is_member = state.is_formed() && state.is_active(node.node, node.incarnation);
        if !is_first || at <= self.marked || !is_member || !node.has_lease(context.now) {
            return;
        }
        // Began with less it would have the key and not all of its entries.
        if has_unfilled_keys(&state.catalogue) {
            return;
        }
        self.marked = at;
        let (lineage, table_id_next) = (state.lineage, state.catalogue.table_id_next);
        let mark = CheckpointMark { at, lineage, table_id_next };
        let done = DiskEntry::Checkpointed { mark };
        store.append(WorkerId(0), 0, &mut |out| done.encode(out));
        // Where checkpoints follow each other the next one flushes it, too: waiting sessions cost no further sync.
        self.mark_flush_at.get_or_insert(context.now + RESEND_INTERVAL_US);
    }

    fn flush_mark(&mut self, context: &Context<'_>) {
        if self.mark_flush_at.take_if(|at| *at <= context.now).is_some()
            && let Some(store) = &context.node.store
        {
            store.flush(WorkerId(0));
        }
    }

    // Who waits.

    /// Of these requests the commits are decided.
    pub(crate) fn on_wanted(&mut self, wanted: Vec<(SessionId, u64)>, context: &mut Context<'_>) {
        self.wanted.extend(wanted);
        self.ask_next(context);
    }

    /// The node's clients are gone.
    pub(crate) fn rest(&mut self, context: &mut Context<'_>) {
        if context.node.store.is_none() || !context.state.is_formed() {
            context.outbox.has_rested = true;
            return;
        }
        // One that is under way may have begun before the last commit.
        self.request_last += 1;
        self.rests = Some(self.request_last);
        self.ask(context);
    }

    /// A session wants a checkpoint of everything that was committed before.
    pub(crate) fn watch(&mut self, session: SessionId, context: &mut Context<'_>) {
        if context.node.store.is_none() || !context.state.is_formed() {
            let why = "this node keeps no rows on a disk, or the cluster is starting".to_string();
            context.reply(session, Reply::Refused(Refusal::Unavailable(why)));
            return;
        }
        self.request_last += 1;
        self.watching.push((self.request_last, session));
        self.ask(context);
    }

    fn ask_next(&mut self, context: &mut Context<'_>) {
        if self.asked.is_empty() && !self.wanted.is_empty() {
            self.asked = std::mem::take(&mut self.wanted);
            self.request_last += 1;
            self.asked_request = self.request_last;
            self.ask(context);
        }
    }

    /// Sent repeatedly: a new sequencer does not know the waiting sessions.
    fn ask(&mut self, context: &mut Context<'_>) {
        self.ask_again = context.now + RESEND_INTERVAL_US;
        // If the sequencer is gone no node makes a checkpoint.
        context.node.note_checkpoint_asked(Timestamp::MAX, context.now);
        if let Some(sequencer) = sequencer_address(context) {
            let message = AwaitCheckpoint { request: self.request_last };
            context.send(sequencer, Message::AwaitCheckpoint(message));
        }
    }

    /// Returns those whose commits it holds.
    pub(crate) fn on_checkpoint_done(
        &mut self,
        message: &CheckpointDone,
        context: &mut Context<'_>,
    ) -> Vec<(SessionId, u64)> {
        context.node.set_checkpointed(message.at);
        self.mark(message.at, context);
        // What answers a request has all that those before it wait for; others may have come since.
        let answers = |request: u64| request <= message.request;
        for (_, session) in self.watching.extract_if(.., |(request, _)| answers(*request)) {
            context.reply(session, Reply::Checkpointed(message.at));
        }
        if self.rests.is_some_and(answers) {
            context.outbox.has_rested = true;
            self.rests = None;
        }
        if !answers(self.asked_request) {
            return Vec::new();
        }
        let waited = std::mem::take(&mut self.asked);
        self.ask_next(context);
        waited
    }

    // The sequencer's side.

    pub(crate) fn on_await_checkpoint(
        &mut self,
        from: Address,
        message: &AwaitCheckpoint,
        context: &mut Context<'_>,
    ) {
        let making = self.making.as_ref().and_then(|making| making.waiting.get(&from));
        if making != Some(&message.request) {
            self.waiting.insert(from, message.request);
            self.make(context);
        }
    }

    pub(crate) fn on_logs_closed(&mut self, message: LogsClosed, context: &mut Context<'_>) {
        if let Some(making) = self.making.as_mut().filter(|making| making.at == message.at) {
            making.closed.extend(message.shards);
            making.members.extend(message.members);
            self.make(context);
        }
    }

    pub(crate) fn on_logs_durable(
        &mut self,
        from: Address,
        message: &LogsDurable,
        context: &mut Context<'_>,
    ) {
        if let Some(making) = self.making.as_mut().filter(|making| making.at == message.at) {
            making.durable.insert(from);
            self.make(context);
        }
    }

    pub(crate) fn on_tick(&mut self, context: &mut Context<'_>) {
        if context.node.store.is_none() {
            return;
        }
        let waits = !self.asked.is_empty() || !self.watching.is_empty() || self.rests.is_some();
        if waits && context.now >= self.ask_again {
            self.ask(context);
        }
        self.flush_mark(context);
        participant::go_on_closing(context);
        self.go_on(context);
        self.make(context);
    }

    /// Boots of these nodes are over: they wait for nothing.
    pub(crate) fn forget(&mut self, is_over: impl Fn(NodeId) -> bool) {
        self.waiting.retain(|from, _| !is_over(from.node));
        if let Some(making) = &mut self.making {
            making.waiting.retain(|from, _| !is_over(from.node));
        }
    }

    /// Begins a checkpoint, continues it, and ends it, as far as that is possible now.
    fn make(&mut self, context: &mut Context<'_>) {
        if sequencer_address(context) != Some(context.address) {
            // Waiting workers send their requests to the sequencer again.
            self.making = None;
            self.waiting.clear();
            return;
        }
        let views = context.state.views();
        if self.views != views {
            // A member left alone gets the commits acknowledged from memory on its disk first, without any new commit
            // (rule R4).
            self.views.clone_from(&views);
            self.begin_next = 0;
        }
        if let Some(making) = self.making.take_if(|making| making.views != views) {
            self.give_up(making);
        }
        if self.making.as_ref().is_some_and(|making| making.is_done(context)) {
            let Making { at, waiting, .. } = self.making.take().expect("just seen");
            tell_done(at, &waiting, context);
        }
        if self.making.is_none() {
            self.begin(views, context);
        }
        if let Some(making) = self.making.as_mut().filter(|making| making.ask_next <= context.now) {
            making.ask(context);
        }
    }

    fn give_up(&mut self, making: Making) {
        for (from, request) in making.waiting {
            self.waiting.entry(from).or_insert(request);
        }
    }

    fn begin(&mut self, views: Vec<View>, context: &mut Context<'_>) {
        if context.now < self.begin_next && self.waiting.is_empty() {
            return;
        }
        let mut at = context.node.last_timestamp();
        let waiting = std::mem::take(&mut self.waiting);
        let is_done = at <= context.node.checkpointed();
        let mut groups = context.state.groups.values();
        // A learner counts when its disk holds a checkpoint, be it of nothing new.
        if is_done && !groups.any(|group| group.learner().is_some()) {
            // No commit since, as far as this node knows: without a lease it may have been excluded, and others commit.
            if !context.node.has_lease(context.now) {
                self.waiting = waiting;
            } else if !waiting.is_empty() {
                tell_done(at, &waiting, context);
            }
            return;
        }
        if is_done || at == self.begun {
            at = context.node.next_timestamps(1);
        }
        self.begun = at;
        self.begin_next = context.now + CHECKPOINT_INTERVAL_US;
        self.making = Some(Making {
            at,
            views,
            applied: context.state.applied,
            ask_next: context.now,
            closed: BTreeSet::new(),
            members: BTreeSet::new(),
            durable: BTreeSet::new(),
            told_late_next: context.now + RESEND_INTERVAL_US,
            waiting,
        });
    }
}

impl Making {
    fn is_done(&self, context: &Context<'_>) -> bool {
        self.open(context).next().is_none() && self.not_durable(context).next().is_none()
    }

    /// The shards whose logs are not closed yet.
    fn open(&self, context: &Context<'_>) -> impl Iterator<Item = ShardId> {
        context.state.shards().filter(|shard| !self.closed.contains(shard))
    }

    /// The members, as far as they are known, whose disks do not hold them yet.
    fn not_durable(&self, context: &Context<'_>) -> impl Iterator<Item = NodeId> {
        let is_durable =
            |node: NodeId| context.workers_of(node).all(|worker| self.durable.contains(&worker));
        self.members.iter().copied().filter(move |node| !is_durable(*node))
    }

    /// The reason of the delay, in words.
    fn waits_for(&self, context: &Context<'_>) -> String {
        let groups: BTreeSet<u16> =
            self.open(context).map(|shard| context.state.group_of(shard).0).collect();
        let groups = groups.into_iter().map(|group| format!("node group {group}"));
        let disks = self.not_durable(context).map(|node| format!("the disk of node {node}"));
        groups.chain(disks).collect::<Vec<_>>().join(", ")
    }

    /// Asks primaries and possible members that have not answered; now, and again after a while.
    fn ask(&mut self, context: &mut Context<'_>) {
        self.ask_next = context.now + RESEND_INTERVAL_US;
        if context.node.is_checkpoint_late(context.now) && self.told_late_next <= context.now {
            self.told_late_next = Time::MAX;
            context.outbox.log.push(format!(
                "no global checkpoint has been done for {} seconds: it waits for {}; until then transactions that write wait to begin",
                CHECKPOINT_LATE_US / 1_000_000,
                self.waits_for(context)
            ));
        }
        let state = context.state;
        for node in state.data_nodes() {
            for worker in context.workers_of(node) {
                let leads = |shard: &ShardId| {
                    state.primary(*shard) == node && state.owner(*shard, node) == worker
                };
                if !self.durable.contains(&worker) || self.open(context).any(|shard| leads(&shard))
                {
                    let message = CloseLogs { at: self.at, applied: self.applied };
                    context.send(worker, Message::CloseLogs(message));
                }
            }
        }
    }
}

/// Is a unique key on its way to some table, so that its entries may not be there for all rows? Or a copy, whose rows may not?
fn has_unfilled_keys(catalogue: &Catalogue) -> bool {
    let is_unfilled = |index: &Index| {
        let is_on_its_way = matches!(index.state, IndexState::DeleteOnly | IndexState::Building);
        is_on_its_way && matches!(index.kind, IndexKind::Unique { .. })
    };
    catalogue
        .tables
        .values()
        .any(|table| table.rewriting.copy.is_some() || table.indexes.iter().any(is_unfilled))
}

/// Reports the end to all workers: restarts from their disks rest on it.
fn tell_done(at: Timestamp, waiting: &BTreeMap<Address, u64>, context: &mut Context<'_>) {
    for node in context.state.data_nodes() {
        for worker in context.workers_of(node) {
            let request = waiting.get(&worker).copied().unwrap_or(0);
            context.send(worker, Message::CheckpointDone(CheckpointDone { at, request }));
        }
    }
    context.node.set_checkpointed(at);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use types::TableId;

    /// While a unique key is on its way its entries may not be there for all rows; when it is there, or goes, they are, or are not needed.
    #[test]
    fn keys_on_their_way_are_seen() {
        let with = |state: IndexState, kind: IndexKind| {
            let mut catalogue = crate::bootstrap_catalogue();
            let first = catalogue.tables.values_mut().next().expect("some");
            let mut table = (**first).clone();
            table.indexes.push(Index { state, kind, ..table.indexes[0].clone() });
            *first = Arc::new(table);
            has_unfilled_keys(&catalogue)
        };
        let unique = || IndexKind::Unique { entries: TableId(9) };
        assert!(with(IndexState::DeleteOnly, unique()));
        assert!(with(IndexState::Building, unique()));
        for state in [IndexState::Public, IndexState::Dropping, IndexState::Ending] {
            assert!(!with(state, unique()), "{state:?}");
        }
        assert!(
            !with(IndexState::Building, IndexKind::Ordinary),
            "it is made when rows are loaded"
        );
    }
}
