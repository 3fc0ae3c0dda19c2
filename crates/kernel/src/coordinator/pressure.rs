//! Back-pressure: no new writes while a peer, or the disk of a node that counts, does not keep up; and nothing new while shards are
//! handed over.
//!
//! What a channel keeps for a peer that does not acknowledge is memory of this node, and what waits for a disk is memory of the
//! disk's node. Transactions that begin to write or lock, at first or behind reads, would add to it, so they wait, in the order they came,
//! until that has drained. What holds locks goes on, because its end frees them; that adds a transaction a session at most. Plain reads
//! go on, but those that a handover held back, which keep their place.

use std::collections::VecDeque;

use protocol::op::Batch;
use protocol::request::SessionId;

use super::Coordinator;
use super::execute::is_plain_read;
use crate::node::Mutation;
use crate::worker::Context;

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
        if overloaded.is_none() && behind.is_none() && self.held_back.batches.is_empty() {
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
        {
            let Some((session, batch)) = self.held_back.batches.pop_front() else { return };
            self.execute(session, batch, context);
        }
    }
}

fn is_handing_over(context: &Context<'_>) -> bool {
    context.state.handover.is_some() && context.node.mutation != Mutation::HandoverNotWaitedFor
}
