//! Back-pressure: no new writes while a peer, or the disk of an active node, does not keep up (rule R22), or no global
//! checkpoint gets done; and no new transactions while shards are handed over.
//!
//! Data that a channel keeps for a peer that does not acknowledge is memory of this node, and
//! records that wait for a disk are memory of the disk's node; commits that no checkpoint holds are
//! lost with the power. Transactions that begin to write or lock, at first or behind reads, would
//! add to these, so they wait, in the order they came, until the backlog has drained. Transactions
//! that hold locks continue, because their end frees the locks; that adds a transaction per session
//! at most. Plain reads continue.

use std::collections::VecDeque;

use protocol::Refusal;
use protocol::op::Batch;
use protocol::request::{Reply, SessionId};

use super::Coordinator;
use super::execute::is_plain_read;
use crate::limits::{CHECKPOINT_LATE_US, CHECKPOINT_MISSED_US};
use crate::node::Mutation;
use crate::participant::sequencer_address;
use crate::worker::{Context, Time};

/// Batches that have not begun.
#[derive(Default)]
pub(super) struct HeldBack {
    batches: VecDeque<(SessionId, Batch)>,
}

impl HeldBack {
    pub(super) fn push(&mut self, session: SessionId, batch: Batch) {
        self.batches.push_back((session, batch));
    }

    /// Forgets all batches; whose they were.
    pub(super) fn take_all(&mut self) -> Vec<SessionId> {
        self.batches.drain(..).map(|(session, _)| session).collect()
    }

    /// Forgets a session's batch; was there one?
    pub(super) fn take(&mut self, session: SessionId) -> bool {
        let before = self.batches.len();
        self.batches.retain(|(of, _)| *of != session);
        self.batches.len() < before
    }
}

impl Coordinator {
    /// Whether the batch would begin a transaction that must not begin now. While shards are handed
    /// over, that is every batch but those of transactions with locks or writes: also reads,
    /// because their replica changes. Otherwise it is a batch that would add to the backlog; while
    /// others are held back it queues behind them.
    pub(super) fn must_wait(
        &self,
        session: SessionId,
        batch: &Batch,
        context: &mut Context<'_>,
    ) -> bool {
        let transaction = self.sessions[&session].transaction.as_ref();
        let has_begun = transaction.is_some_and(|transaction| !transaction.shards.is_empty());
        if !has_begun && is_handing_over(context) {
            // What has begun may wait for it: an AUTO_INCREMENT value, which is another session's to reserve.
            let begun = context.state.handover.map(|handover| handover.begun);
            return !batch.is_waited_for || self.drained == begun;
        }
        // What has only read holds nothing that anybody waits for.
        if has_begun {
            return false;
        }
        let overloaded = context.channels.overloaded();
        let behind = context.node.disk_behind(context.state);
        // Who waits for an AUTO_INCREMENT value may hold locks.
        let is_late = context.node.is_checkpoint_late(context.now) && !batch.is_waited_for;
        let is_pressed = overloaded.is_some() || behind.is_some() || is_late;
        if !is_pressed && (self.held_back.batches.is_empty() || batch.is_waited_for) {
            return false;
        }
        let waits = !has_only_plain_reads(batch);
        if waits && let Some(peer) = overloaded {
            context.outbox.log.push(format!(
                "node {} does not keep up with what it is sent: transactions that write wait to begin",
                peer.node
            ));
        }
        if waits && let Some(node) = behind {
            context.outbox.log.push(format!(
                "the disk of node {node} does not keep up: transactions that write wait to begin"
            ));
        }
        if waits && is_late {
            context.outbox.log.push(format!(
                "{}: transactions that write wait to begin",
                no_checkpoint(CHECKPOINT_LATE_US, context)
            ));
        }
        waits
    }

    /// Begins batches that were held back, as far as there is room again.
    pub(super) fn begin_held_back(&mut self, context: &mut Context<'_>) {
        if is_handing_over(context) {
            return;
        }
        for _ in 0..self.held_back.batches.len() {
            let Some((session, batch)) = self.held_back.batches.pop_front() else { return };
            let is_pressed = context.channels.is_piling_up()
                || context.node.disk_behind(context.state).is_some()
                || context.node.is_checkpoint_late(context.now);
            if is_pressed && !has_only_plain_reads(&batch) {
                self.held_back.push(session, batch);
            } else {
                self.execute(session, batch, context);
            }
        }
    }

    /// Tells those that wait for a checkpoint, if it is known why there is none, or if it may never be done.
    pub(super) fn refuse_held_back(&mut self, context: &mut Context<'_>) {
        if self.held_back.batches.is_empty()
            || is_handing_over(context)
            || !context.node.is_checkpoint_late(context.now)
        {
            return;
        }
        let without_room = context.node.takes_nothing(context.state);
        if without_room.is_none() && !context.node.is_checkpoint_missed(context.now) {
            return;
        }
        for session in self.held_back.take_all() {
            self.roll_back(session, context);
            let refusal = match without_room {
                Some(node) => context.node.refused_by_disk(node, true),
                None => Refusal::Unavailable(format!(
                    "{}: what is committed would be lost with the power. Rows are written again when a disk that hangs goes on, or a node \
                     is back of a node group whose nodes are all away",
                    no_checkpoint(CHECKPOINT_MISSED_US, context)
                )),
            };
            self.finish(session, Reply::Refused(refusal), context);
        }
    }
}

fn has_only_plain_reads(batch: &Batch) -> bool {
    batch.ops.iter().all(|op| is_plain_read(&op.kind))
}

fn is_handing_over(context: &Context<'_>) -> bool {
    context.state.handover.is_some() && context.node.mutation != Mutation::HandoverNotWaitedFor
}

fn no_checkpoint(for_us: Time, context: &Context<'_>) -> String {
    let sequencer = sequencer_address(context).unwrap_or(context.address).node;
    format!(
        "no global checkpoint has been done for {} seconds (the log of node {sequencer} says why)",
        for_us / 1_000_000
    )
}
