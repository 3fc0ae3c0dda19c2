//! Commits whose clients get "outcome not known" (rules.md#answers).
//!
//! A client gets that answer when it has waited for [`COMMIT_TIMEOUT_US`] and a node that the
//! outcome depends on has been silent for about as long: this node is cut off, or one that takes
//! part in the commit is. The commit continues without its client, in a session of its own, because
//! prepared parts must be decided; its outcome is kept for [`OUTCOMES_KEPT_US`].

use std::collections::BTreeMap;

use protocol::Refusal;
use protocol::message::Outcome;
use protocol::report::TransactionOutcome;
use protocol::request::{Reply, SessionId};
use types::{CommitId, NodeId, ShardId, TransactionId};

use super::{Coordinator, Pending, Phase, Session};
use crate::limits::{COMMIT_TIMEOUT_US, OUTCOMES_KEPT_US, TICK_INTERVAL_US};
use crate::worker::{Context, Time};

#[derive(Default)]
pub(super) struct Unknown {
    /// What became of the transactions of clients that were told so.
    ended: BTreeMap<TransactionId, (Time, TransactionOutcome)>,
    /// Sessions without clients are numbered from the end.
    session_count: u64,
    /// The last tick: a worker that was away for a while has received nothing because of that.
    ticked_at: Time,
    awake_since: Time,
}

impl Unknown {
    pub fn ended(&mut self, transaction: TransactionId, reply: &Reply, now: Time) {
        let outcome = match reply {
            Reply::Refused(Refusal::OutcomeUnknown(_) | Refusal::NotDurable(_)) => return,
            Reply::Refused(_) => TransactionOutcome::RolledBack,
            _ => TransactionOutcome::Committed,
        };
        self.ended.insert(transaction, (now, outcome));
    }
}

/// The shard that was asked to commit, while it is not known whether it has.
fn asked_to_commit(pending: &Pending) -> Option<ShardId> {
    let is_asked = match pending.phase {
        Phase::Executing => pending.commits_at_once && !pending.changes_nothing,
        Phase::Asking { .. } | Phase::Committing { .. } | Phase::Held(_) => true,
        Phase::Snapshot(_)
        | Phase::Undoing
        | Phase::Preparing { .. }
        | Phase::Durable(..)
        | Phase::Schema => false,
    };
    pending.waiting.first().copied().filter(|_| is_asked)
}

impl Coordinator {
    /// The refusal for a client that can ask later.
    pub(super) fn refuse_unknown(
        &mut self,
        message: &Outcome,
        outcome: TransactionOutcome,
        context: &Context<'_>,
    ) -> Refusal {
        self.unknown.ended.insert(message.transaction, (context.now, outcome));
        Refusal::OutcomeUnknown(CommitId { transaction: message.transaction, shard: message.shard })
    }

    /// A client was told that its commit is not on the disks.
    pub(super) fn note_committed(&mut self, transaction: TransactionId, now: Time) {
        self.unknown.ended.insert(transaction, (now, TransactionOutcome::Committed));
    }

    /// Refuses sessions that have waited too long for a commit.
    pub(super) fn tell_unknown(&mut self, context: &mut Context<'_>) {
        let now = context.now;
        if now > self.unknown.ticked_at + context.node.heartbeat_us() + TICK_INTERVAL_US {
            self.unknown.awake_since = now;
        }
        self.unknown.ticked_at = now;
        self.unknown.ended.retain(|_, (since, _)| *since + OUTCOMES_KEPT_US > now);
        // Who lives has said so since.
        let is_awake = now > self.unknown.awake_since + context.node.silence_us();
        let patience_us = COMMIT_TIMEOUT_US.max(context.node.silence_us());
        let is_silent = |node: NodeId| {
            let heard_at = context.node.heard_at(node);
            node != context.address.node && is_awake && now > heard_at + patience_us
        };
        // Others may be heard that do not hear this one.
        let is_cut_off = context.node.is_cut_off(now.saturating_sub(COMMIT_TIMEOUT_US / 2));
        // A commit takes all members of the shard's group, and the sequencer.
        let is_lost = |shard: ShardId| {
            let group = context.state.group(context.state.group_of(shard));
            let sequencer = context.state.sequencer.map(|sequencer| sequencer.node);
            is_cut_off || group.active().chain(sequencer).any(is_silent)
        };
        let late = self.sessions.iter().filter_map(|(id, session)| {
            let pending = session.pending.as_ref().filter(|_| session.goes_on_alone.is_none())?;
            let is_late = now > pending.commit_asked_at + COMMIT_TIMEOUT_US;
            let shard = asked_to_commit(pending).filter(|shard| is_late && is_lost(*shard))?;
            Some((*id, shard))
        });
        let late: Vec<(SessionId, ShardId)> = late.collect();
        for (session, shard) in late {
            let transaction = self.leave_alone(session);
            let refusal = Refusal::OutcomeUnknown(CommitId { transaction, shard });
            self.finish(session, Reply::Refused(refusal), context);
        }
    }

    /// Moves a session's commit to a session of its own.
    fn leave_alone(&mut self, session: SessionId) -> TransactionId {
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        let (transaction, pending) = (entry.transaction.take(), entry.pending.take());
        let id = transaction.as_ref().expect("it is committing").id;
        self.unknown.session_count += 1;
        let alone = SessionId(u64::MAX - self.unknown.session_count);
        self.requests.insert(pending.as_ref().expect("it is committing").request, alone);
        let goes_on_alone = Some(id);
        let alone_entry = Session {
            transaction,
            pending,
            closing: true,
            goes_on_alone,
            has_lost: false,
            durability: None,
        };
        self.sessions.insert(alone, alone_entry);
        id
    }

    /// What became of a transaction of this coordinator's that a client was told nothing certain about.
    pub(crate) fn outcome(&self, transaction: TransactionId) -> TransactionOutcome {
        let is_it = |session: &Session| {
            session.transaction.as_ref().is_some_and(|own| own.id == transaction)
        };
        match self.unknown.ended.get(&transaction) {
            Some((_, outcome)) => *outcome,
            None if self.sessions.values().any(is_it) => TransactionOutcome::InProgress,
            None => TransactionOutcome::Forgotten,
        }
    }
}
