//! Global checkpoints: a timestamp such that the disks of all members hold everything that was committed up to it (protocol.md 3.7; R9).
//!
//! ```text
//!   sequencer           --CloseLogs(at)-->    every worker of the data nodes
//!   owner, of a primary: the log is closed at `at`, and all members hold that          --LogsClosed(shards, members)-->  sequencer
//!   owner, of any replica: its disk holds the closed logs of all its shards            --LogsDurable-->                  sequencer
//!   sequencer: all shards are closed, all workers of all members durable               --CheckpointDone(at)-->           all workers
//! ```
//! The timestamp is the last one given out when it begins. Nothing rests on who makes it: a checkpoint is done because of what the
//! disks hold, and whose disks that are, the primaries say, each by its view: everybody without whom it decides nothing. A node that was
//! excluded and does not know it leads nothing that the others follow, so it makes none.
//!
//! When the members change it begins anew, with another timestamp, and who has not heard of the change closes nothing at that: a log
//! that is closed in front of where a learner's begins is closed for all but the learner, whose disk could never say that it holds it.
//!
//! One follows the other in half a second; sooner where somebody waits, and not at all while nothing is committed, unless a learner is to
//! be promoted, for which its disk must hold one.

use std::collections::{BTreeMap, BTreeSet};

use protocol::message::{AwaitCheckpoint, CheckpointDone, CloseLogs, LogsClosed, LogsDurable};
use protocol::request::{Reply, SessionId};
use protocol::{Message, Refusal};
use types::{Address, NodeId, ShardId, Timestamp, View};

use crate::limits::{CHECKPOINT_INTERVAL_US, RESEND_INTERVAL_US};
use crate::participant::{self, sequencer_address};
use crate::worker::{Context, Time};

#[derive(Default)]
pub struct CheckpointBlock {
    // As an owner of shards.
    closing: Option<Closing>,

    // As one who waits.
    request_last: u64,
    /// Who goes with the request under way, and who with the next.
    asked: Vec<(SessionId, u64)>,
    ask_again: Time,
    wanted: Vec<(SessionId, u64)>,
    /// Sessions that wait for one that begins from now on: the last request asks for it.
    watching: Vec<SessionId>,
    /// The node rests when the checkpoint that is asked for, or the next one, is done.
    rests: Option<u64>,

    // On the sequencer's worker 0.
    making: Option<Making>,
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
        self.watching.push(session);
        self.ask(context);
    }

    fn ask_next(&mut self, context: &mut Context<'_>) {
        if self.asked.is_empty() && !self.wanted.is_empty() {
            self.asked = std::mem::take(&mut self.wanted);
            self.request_last += 1;
            self.ask(context);
        }
    }

    /// Again and again: another sequencer knows of nobody who waits.
    fn ask(&mut self, context: &mut Context<'_>) {
        self.ask_again = context.now + RESEND_INTERVAL_US;
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
        if message.request != self.request_last {
            return Vec::new();
        }
        for session in std::mem::take(&mut self.watching) {
            context.reply(session, Reply::Checkpointed(message.at));
        }
        if self.rests == Some(message.request) {
            context.outbox.has_rested = true;
            self.rests = None;
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

    /// Begins a checkpoint, goes on with it, and ends it, as far as that is possible now.
    fn make(&mut self, context: &mut Context<'_>) {
        if sequencer_address(context) != Some(context.address) {
            // Whoever waits asks the one who is.
            self.making = None;
            self.waiting.clear();
            return;
        }
        let views = context.state.views();
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
        self.begin_next = 0;
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
            // Nothing was committed since.
            if !waiting.is_empty() {
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
            waiting,
        });
    }
}

impl Making {
    fn is_done(&self, context: &Context<'_>) -> bool {
        let is_durable =
            |node: &NodeId| context.workers_of(*node).all(|worker| self.durable.contains(&worker));
        self.closed.len() == usize::from(context.state.shard_count())
            && self.members.iter().all(is_durable)
    }

    /// Asks those that have not answered, who lead or may be members; now, and again after a while.
    fn ask(&mut self, context: &mut Context<'_>) {
        self.ask_next = context.now + RESEND_INTERVAL_US;
        let state = context.state;
        for node in state.data_nodes() {
            for worker in context.workers_of(node) {
                let leads = |shard: &ShardId| {
                    state.primary(*shard) == node && state.owner(*shard, node) == worker
                };
                let mut open = state.shards().filter(|shard| !self.closed.contains(shard));
                if !self.durable.contains(&worker) || open.any(|shard| leads(&shard)) {
                    let message = CloseLogs { at: self.at, applied: self.applied };
                    context.send(worker, Message::CloseLogs(message));
                }
            }
        }
    }
}

/// Everybody is told, for restarts of their own disks rest on it.
fn tell_done(at: Timestamp, waiting: &BTreeMap<Address, u64>, context: &mut Context<'_>) {
    for node in context.state.data_nodes() {
        for worker in context.workers_of(node) {
            let request = waiting.get(&worker).copied().unwrap_or(0);
            context.send(worker, Message::CheckpointDone(CheckpointDone { at, request }));
        }
    }
    context.node.set_checkpointed(at);
}
