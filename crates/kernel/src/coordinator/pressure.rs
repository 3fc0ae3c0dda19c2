//! Back-pressure: no new writes while a peer, or the disk of a node that counts, does not keep up, or no global checkpoint gets done; and
//! nothing new while shards are handed over.
//!
//! What a channel keeps for a peer that does not acknowledge is memory of this node, and what waits for a disk is memory of the
//! disk's node; what no checkpoint holds is lost with the power. Transactions that begin to write or lock, at first or behind reads,
//! would add to it, so they wait, in the order they came, until that has drained. What holds locks goes on, because its end frees
//! them; that adds a transaction a session at most. Plain reads go on, but those that a handover held back, which keep their place.

use std::collections::VecDeque;

use protocol::Refusal;
use protocol::op::Batch;
use protocol::request::{Reply, SessionId};

use super::Coordinator;
use super::execute::is_plain_read;
use crate::limits::CHECKPOINT_LATE_US;
use crate::node::Mutation;
use crate::participant::sequencer_address;
use crate::worker::{Context, Time};

/// Batches that have not begun, and when they came.
#[derive(Default)]
pub(super) struct HeldBack {
    batches: VecDeque<(SessionId, Batch, Time)>,
}

impl HeldBack {
    pub(super) fn push(&mut self, session: SessionId, batch: Batch, now: Time) {
        self.batches.push_back((session, batch, now));
    }

    /// Forgets all batches; whose they were.
    pub(super) fn take_all(&mut self) -> Vec<SessionId> {
        self.batches.drain(..).map(|(session, ..)| session).collect()
    }

    /// Forgets a session's batch; was there one?
    pub(super) fn take(&mut self, session: SessionId) -> bool {
        let before = self.batches.len();
        self.batches.retain(|(of, ..)| *of != session);
        self.batches.len() < before
    }
}

impl Coordinator {
    /// Would the batch begin what must not begin now? While shards are handed over, that is all but what goes on with locks or
    /// writes: also reads, as who is to answer them changes. Else it would add to what piles up; who comes while others are held
    /// back queues behind them.
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
        let is_late = context.node.is_checkpoint_late(context.now);
        if overloaded.is_none() && behind.is_none() && !is_late && self.held_back.batches.is_empty()
        {
            return false;
        }
        let waits = batch.ops.iter().any(|op| !is_plain_read(&op.kind));
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
                without_checkpoint(context)
            ));
        }
        waits
    }

    /// Begins what was held back, as far as there is room again.
    pub(super) fn begin_held_back(&mut self, context: &mut Context<'_>) {
        if is_handing_over(context) {
            return;
        }
        while !self.held_back.batches.is_empty()
            && !context.channels.is_piling_up()
            && context.node.disk_behind(context.state).is_none()
            && !context.node.is_checkpoint_late(context.now)
        {
            let Some((session, batch, _)) = self.held_back.batches.pop_front() else { return };
            self.execute(session, batch, context);
        }
    }

    /// Who waits for a checkpoint waits for somebody, perhaps for good: as long as for a lock.
    pub(super) fn refuse_held_back(&mut self, context: &mut Context<'_>) {
        if !context.node.is_checkpoint_late(context.now) {
            return;
        }
        let now = context.now;
        let has_waited = |(_, batch, since): &&(SessionId, Batch, Time)| {
            *since + u64::from(batch.lock_wait_timeout_ms) * 1_000 < now
        };
        let batches = self.held_back.batches.iter();
        let refused: Vec<SessionId> =
            batches.filter(has_waited).map(|(session, ..)| *session).collect();
        for session in refused {
            self.held_back.take(session);
            let why = format!(
                "{}, and what is committed would be lost with the power. It goes on by itself when a disk does that hangs, is full or has \
                 failed, or a node is back of a node group whose nodes are all away",
                without_checkpoint(context)
            );
            context.reply(session, Reply::Refused(Refusal::Unavailable(why)));
        }
    }
}

fn is_handing_over(context: &Context<'_>) -> bool {
    context.state.handover.is_some() && context.node.mutation != Mutation::HandoverNotWaitedFor
}

/// Says it to others than the sequencer, who knows why.
fn without_checkpoint(context: &Context<'_>) -> String {
    let sequencer = sequencer_address(context).unwrap_or(context.address).node;
    format!(
        "no global checkpoint has been done for {} seconds (the log of node {sequencer} says why)",
        CHECKPOINT_LATE_US / 1_000_000
    )
}
