//! What becomes of a session's transaction when the primary of some of its shards dies.
//!
//! Locks and writes that the dead node had not replicated are gone, so a transaction that had any there is rolled back,
//! unless its end was asked for:
//!
//! | the request in flight                    | and the shard that moved                   | then                                |
//! |------------------------------------------|--------------------------------------------|-------------------------------------|
//! | none                                     | had locks or writes                        | rolled back; the next one fails     |
//! | commit of one shard, or of home          | is that one                                | AskOutcome to its new primary       |
//! | the same, or waits for the record here   | is another: prepared, so it is not lost    | continues                           |
//! | waits for the record here (`Held`)       | is that one                                | committed if the record is here     |
//! | any other                                | had locks or writes, or was to answer      | rolled back, refused                |
//!
//! "Rolled back" is definite: the client may run the transaction again. A commit is never run again before its new primary
//! has answered whether it was made (rule R16).

use protocol::Message;
use protocol::Refusal;
use protocol::message::{AskOutcome, KnownOutcome, Outcome};
use protocol::report::TransactionOutcome;
use protocol::request::{Reply, SessionId};
use types::ShardId;

use super::request::{send_decide, send_decide_behind, send_to_primary};
use super::{Asked, Coordinator, Phase, Session};
use crate::limits::{COMMITS_KEPT_US, DECISIONS_KEPT_US};
use crate::node::Mutation;
use crate::participant::{cut_off, is_within};
use crate::worker::Context;

/// What is to be done with a session.
enum Fate {
    GoesOn,
    RolledBack,
    Committed,
    Asks(ShardId, Vec<ShardId>),
}

impl Coordinator {
    /// These shards have another primary than before.
    pub(super) fn on_moved(&mut self, moved: &[ShardId], context: &mut Context<'_>) {
        let ids: Vec<SessionId> = self.sessions.keys().copied().collect();
        for id in ids {
            match self.fate(id, moved, context) {
                Fate::GoesOn => {}
                Fate::RolledBack => self.lose(id, Refusal::RolledBack, context),
                Fate::Committed => self.committed(id, context),
                Fate::Asks(shard, participants) => {
                    let transaction = self.transaction(id).id;
                    let pending = self.pending(id);
                    pending.waiting = vec![shard];
                    let (request, of_several) = (pending.request, !participants.is_empty());
                    pending.phase = Phase::Asking { participants };
                    let age_us = context.now.saturating_sub(pending.commit_asked_at);
                    let ask = AskOutcome { transaction, request, shard, of_several, age_us };
                    send_to_primary(shard, Message::AskOutcome(ask), context);
                }
            }
        }
    }

    fn fate(&self, session: SessionId, moved: &[ShardId], context: &Context<'_>) -> Fate {
        let entry = &self.sessions[&session];
        let Some(transaction) = &entry.transaction else { return Fate::GoesOn };
        let has_lost = transaction.shards.iter().any(|shard| moved.contains(shard));
        let Some(pending) = &entry.pending else {
            let mutant = context.node.mutation == Mutation::LostTransactionGoesOn;
            return if has_lost && !mutant { Fate::RolledBack } else { Fate::GoesOn };
        };
        let silent = pending.waiting.iter().copied().find(|shard| moved.contains(shard));
        match (&pending.phase, silent) {
            // What it would have read, it can read again.
            (Phase::Executing, Some(shard))
                if pending.commits_at_once && !pending.changes_nothing =>
            {
                Fate::Asks(shard, Vec::new())
            }
            (Phase::Committing { participants }, Some(shard))
            | (Phase::Asking { participants }, Some(shard)) => {
                Fate::Asks(shard, participants.clone())
            }
            (Phase::Committing { .. } | Phase::Asking { .. } | Phase::Held(_), None) => {
                Fate::GoesOn
            }
            (Phase::Held(position), Some(shard)) => {
                let replica = context.node.shard(shard).expect("this node was the backup");
                match replica.has_received(*position) {
                    true => Fate::Committed,
                    false => Fate::RolledBack,
                }
            }
            _ if has_lost || silent.is_some() => Fate::RolledBack,
            _ => Fate::GoesOn,
        }
    }

    /// Rolls back the rest of a transaction, and refuses its session's request: the present one, or the next.
    pub(super) fn lose(&mut self, session: SessionId, why: Refusal, context: &mut Context<'_>) {
        let was_asked = self.sessions[&session].pending.is_some();
        if was_asked {
            self.take_pending(session);
        }
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        if let Some(transaction) = entry.transaction.take() {
            for shard in &transaction.shards {
                send_decide_behind(*shard, transaction.id, context);
            }
            self.end_transaction(transaction, context);
        }
        if was_asked {
            self.finish(session, Reply::Refused(why), context);
        } else {
            self.sessions.get_mut(&session).expect("the session is open").has_lost = true;
        }
    }

    /// This node is cut off: whoever waits for others hears so. A commit that was asked for is waited for: it may have been done.
    pub(super) fn end_what_waits(&mut self, context: &mut Context<'_>) {
        let waits = |session: &Session| {
            session.pending.as_ref().is_some_and(|pending| match pending.phase {
                Phase::Executing => pending.changes_nothing || !pending.commits_at_once,
                Phase::Snapshot(_) | Phase::Undoing | Phase::Preparing { .. } => true,
                Phase::Asking { .. }
                | Phase::Committing { .. }
                | Phase::Held(_)
                | Phase::Durable(..)
                | Phase::Schema => false,
            })
        };
        let waiting = self.sessions.iter().filter(|(_, session)| waits(session));
        let ids: Vec<SessionId> = waiting.map(|(id, _)| *id).collect();
        for id in ids {
            self.lose(id, cut_off(context), context);
        }
        for session in self.held_back.take_all() {
            self.roll_back(session, context);
            self.finish(session, Reply::Refused(cut_off(context)), context);
        }
    }

    pub(crate) fn on_outcome(&mut self, message: &Outcome, context: &mut Context<'_>) {
        let Some(session) = self.session_of(message.request, message.shard) else { return };
        let pending = self.pending(session);
        let Phase::Asking { participants } = &pending.phase else { panic!("nothing was asked") };
        let participants = participants.clone();
        let asked_for = context.now.saturating_sub(pending.commit_asked_at);
        let kept_us = if participants.is_empty() { COMMITS_KEPT_US } else { DECISIONS_KEPT_US };
        match message.known {
            KnownOutcome::Committed(ts) => {
                for shard in participants {
                    send_decide(shard, message.transaction, Some(ts), context);
                }
                let pending = self.pending(session);
                if pending.asked == Asked::Execute && !pending.has_results {
                    // It is committed, and its result was lost with the dead node.
                    let refusal =
                        self.refuse_unknown(message, TransactionOutcome::Committed, context);
                    self.pending(session).refusal = Some(refusal);
                }
                self.committed(session, context);
            }
            KnownOutcome::Aborted => self.lose(session, Refusal::RolledBack, context),
            // The question may have waited with a node that was frozen: by this clock it must hold, too.
            KnownOutcome::NotFound if is_within(asked_for, kept_us) => {
                self.lose(session, Refusal::RolledBack, context);
            }
            KnownOutcome::NotFound | KnownOutcome::Forgotten => {
                // Committed or not, where it only held locks it is over. What is prepared for it elsewhere stays so.
                let refusal = self.refuse_unknown(message, TransactionOutcome::Forgotten, context);
                self.pending(session).refusal = Some(refusal);
                self.committed(session, context);
            }
        }
    }
}
