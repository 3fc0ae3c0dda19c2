//! Ending a transaction with COMMIT (rules.md#commit).
//!
//! | shards written  | messages                                                                                 |
//! |-----------------|------------------------------------------------------------------------------------------|
//! | none            | nothing                                                                                  |
//! | one             | Commit to its primary                                                                    |
//! | several         | Prepare to all but home; when all are prepared, Commit to home; then Decide to the others |
//!
//! Home is a shard whose primary is on this node if there is one: its decision is then one round trip away. The client
//! hears when every member of home's group holds the decision; the others hear off the critical path.

use protocol::control::Durability;
use protocol::message::{Commit, CommitOk, Committed, Prepare, PrepareOk};
use protocol::request::{Reply, SessionId};
use protocol::{Message, Refusal};
use types::{CommitId, NodeId, ShardId, Timestamp};

use super::request::{holds, send_decide, send_to_primary};
use super::{Asked, Coordinator, Pending, Phase};
use crate::limits::COMMIT_TIMEOUT_US;
use crate::node::Mutation;
use crate::worker::Context;

impl Coordinator {
    pub(super) fn commit(&mut self, session: SessionId, context: &mut Context<'_>) {
        let entry = self.sessions.get(&session).expect("the session is open");
        if entry.transaction.is_none() {
            context.reply(session, Reply::Done);
            return;
        }
        if let Some(node) = self.cannot_be_durable(session, context) {
            self.roll_back(session, context);
            let refusal = context.node.refused_by_disk(node, true);
            context.reply(session, Reply::Refused(refusal));
            return;
        }
        let request = self.next_request(session);
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        entry.pending = Some(Pending {
            phase: Phase::Executing,
            commit: true,
            ..Pending::new(request, Asked::Commit, context.now)
        });
        self.commit_transaction(session, context);
    }

    /// Commits what the session's transaction has done; a request is in flight that is answered at the end.
    pub(super) fn commit_transaction(&mut self, session: SessionId, context: &mut Context<'_>) {
        let written = self.transaction(session).written.clone();
        match written.as_slice() {
            [] => self.committed(session, context),
            [only] => self.send_commit(session, *only, Vec::new(), Timestamp::ZERO, 0, context),
            several => {
                let here = context.address.node;
                let local = several.iter().find(|shard| context.state.primary(**shard) == here);
                let home = *local.unwrap_or(&several[0]);
                if context.node.mutation == Mutation::TimestampBeforePrepare {
                    // The broken order: home decides while the others are not prepared.
                    let others = several.iter().copied().filter(|shard| *shard != home).collect();
                    self.send_commit(session, home, others, Timestamp::ZERO, 0, context);
                    return;
                }
                self.send_prepare(session, home, several, context);
            }
        }
    }

    fn send_prepare(
        &mut self,
        session: SessionId,
        home: ShardId,
        shards: &[ShardId],
        context: &mut Context<'_>,
    ) {
        let transaction = self.transaction(session).id;
        let pending = self.pending(session);
        let request = pending.request;
        pending.phase = Phase::Preparing { home, min_commit: Timestamp::ZERO, epoch_max: 0 };
        pending.waiting = shards.iter().copied().filter(|shard| *shard != home).collect();
        for shard in pending.waiting.clone() {
            let prepare = Prepare { transaction, request, shard, home };
            send_to_primary(shard, Message::Prepare(prepare), context);
        }
    }

    pub(crate) fn on_prepare_ok(&mut self, message: &PrepareOk, context: &mut Context<'_>) {
        self.raise_bounds(message);
        if let Some(position) = message.held_at
            && !holds(message.shard, position, message.transaction, message.request, context)
        {
            // Told again, as a CommitOk, when the record is here.
            return;
        }
        self.on_prepared(message.request, message.shard, context);
    }

    fn raise_bounds(&mut self, message: &PrepareOk) {
        let Some(session) = self.requests.get(&message.request).copied() else { return };
        let pending = self.pending(session);
        if let Phase::Preparing { min_commit, epoch_max, .. } = &mut pending.phase {
            *min_commit = (*min_commit).max(message.min_commit);
            *epoch_max = (*epoch_max).max(message.epoch_max);
        }
    }

    fn on_prepared(&mut self, request: u64, shard: ShardId, context: &mut Context<'_>) {
        let Some(session) = self.session_of(request, shard) else { return };
        let pending = self.pending(session);
        if !pending.waiting.is_empty() {
            return;
        }
        let Phase::Preparing { home, min_commit, epoch_max } = pending.phase else {
            panic!("prepared while the request is in another phase")
        };
        let others = self.transaction(session).written.iter().copied();
        let participants = others.filter(|shard| *shard != home).collect();
        self.send_commit(session, home, participants, min_commit, epoch_max, context);
    }

    fn send_commit(
        &mut self,
        session: SessionId,
        shard: ShardId,
        participants: Vec<ShardId>,
        min_commit: Timestamp,
        epoch_max: u16,
        context: &mut Context<'_>,
    ) {
        let transaction = self.transaction(session).id;
        let pending = self.pending(session);
        pending.phase = Phase::Committing { participants: participants.clone() };
        pending.commit_asked_at = context.now;
        pending.waiting = vec![shard];
        let request = pending.request;
        let commit = Commit { transaction, request, shard, participants, min_commit, epoch_max };
        send_to_primary(shard, Message::Commit(commit), context);
    }

    pub(crate) fn on_commit_ok(&mut self, message: &CommitOk, context: &mut Context<'_>) {
        let Some(session) = self.requests.get(&message.request).copied() else { return };
        match &self.pending(session).phase {
            Phase::Preparing { .. } => {
                self.on_prepared(message.request, message.shard, context);
            }
            Phase::Held(_) => {
                if self.session_of(message.request, message.shard).is_some() {
                    self.committed(session, context);
                }
            }
            Phase::Committing { .. } => self.on_home_committed(message, context),
            Phase::Snapshot(_)
            | Phase::Executing
            | Phase::Undoing
            | Phase::Asking { .. }
            | Phase::Durable(..)
            | Phase::Schema => {
                panic!("no commit was asked for")
            }
        }
    }

    fn on_home_committed(&mut self, message: &CommitOk, context: &mut Context<'_>) {
        let Some(session) = self.session_of(message.request, message.shard) else { return };
        let pending = self.pending(session);
        let Phase::Committing { participants } = &pending.phase else {
            unreachable!("the caller looked")
        };
        let participants = participants.clone();
        match message.committed {
            Committed::WhenHeld(position) => {
                assert!(participants.is_empty(), "a decision for others carries its timestamp");
                if !holds(message.shard, position, message.transaction, message.request, context) {
                    let pending = self.pending(session);
                    pending.phase = Phase::Held(position);
                    pending.waiting.push(message.shard);
                    return;
                }
            }
            Committed::Decided(ts) => {
                for shard in participants {
                    send_decide(shard, message.transaction, Some(ts), context);
                }
            }
            Committed::No => assert!(participants.is_empty(), "home decides for its participants"),
        }
        self.committed(session, context);
    }

    /// The transaction is committed, or had nothing to commit.
    pub(super) fn committed(&mut self, session: SessionId, context: &mut Context<'_>) {
        let pending = self.take_pending(session);
        let must_be_durable = self.must_be_durable(session, &pending, context);
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        let mut commit = None;
        if let Some(transaction) = entry.transaction.take() {
            let shard = transaction.written.first().copied().or(pending.commits_on);
            commit = shard.map(|shard| CommitId { transaction: transaction.id, shard });
            // Where it only held locks it took no part in the commit.
            let locked = transaction.shards.iter().filter(|s| !transaction.written.contains(s));
            for shard in locked {
                send_decide(*shard, transaction.id, None, context);
            }
            self.end_transaction(transaction, context);
        }
        let reply = match (pending.asked, pending.refusal) {
            (_, Some(refusal)) => Reply::Refused(refusal),
            (Asked::Execute, None) => Reply::Executed(pending.results),
            (Asked::Commit | Asked::Undo, None) => Reply::Done,
        };
        let Some(commit) = commit.filter(|_| must_be_durable) else {
            return self.finish(session, reply, context);
        };
        let request = self.next_request(session);
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        let phase = Phase::Durable(Box::new(reply), commit);
        entry.pending =
            Some(Pending { phase, ..Pending::new(request, pending.asked, context.now) });
        context.wanted.checkpoints.push((session, request));
    }

    /// Must the disks hold the transaction's commit before its session hears of it?
    fn must_be_durable(
        &self,
        session: SessionId,
        pending: &Pending,
        context: &Context<'_>,
    ) -> bool {
        let entry = &self.sessions[&session];
        let Some(transaction) = &entry.transaction else { return false };
        if context.node.store.is_none() || pending.refusal.is_some() {
            return false;
        }
        let has_written = !transaction.written.is_empty() || pending.commits_on.is_some();
        has_written && waits_for_disks(entry.durability, context)
    }

    /// The session's transaction is to be told of when the disks have it, and that of this node takes nothing any more: nothing of the
    /// commit has begun, so it need not.
    fn cannot_be_durable(&self, session: SessionId, context: &Context<'_>) -> Option<NodeId> {
        let entry = &self.sessions[&session];
        let has_written = entry.transaction.as_ref().is_some_and(|of| !of.written.is_empty());
        if context.node.store.is_none()
            || !has_written
            || !waits_for_disks(entry.durability, context)
        {
            return None;
        }
        context.node.takes_nothing(context.state)
    }

    /// Tells those whose commits no disk has had room for, or no checkpoint has held for whatever reason, for too long.
    pub(super) fn tell_not_durable(&mut self, context: &mut Context<'_>) {
        let is_missed = context.node.is_checkpoint_missed(context.now);
        if !is_missed && context.node.takes_nothing(context.state).is_none() {
            return;
        }
        let waiting = self.sessions.iter().filter_map(|(id, session)| {
            let pending = session.pending.as_ref()?;
            let Phase::Durable(_, commit) = &pending.phase else { return None };
            (context.now > pending.commit_asked_at + COMMIT_TIMEOUT_US).then_some((*id, *commit))
        });
        let waiting: Vec<(SessionId, CommitId)> = waiting.collect();
        for (session, commit) in waiting {
            self.take_pending(session);
            self.note_committed(commit.transaction, context.now);
            self.finish(session, Reply::Refused(Refusal::NotDurable(commit)), context);
        }
    }

    /// The disks hold the commits of these requests.
    pub(crate) fn on_durable(&mut self, waited: Vec<(SessionId, u64)>, context: &mut Context<'_>) {
        for (session, request) in waited {
            if self.requests.get(&request) != Some(&session) {
                continue;
            }
            let Phase::Durable(reply, _) = self.take_pending(session).phase else {
                panic!("it waited for nothing else")
            };
            self.finish(session, *reply, context);
        }
    }
}

/// Whether the disks must hold the writes before the commit is acknowledged.
fn waits_for_disks(durability: Option<Durability>, context: &Context<'_>) -> bool {
    match durability.unwrap_or(context.node.config.durability) {
        Durability::Memory => false,
        // Told from memory it would be lost with the last member of any group, as all begin again then; and without checkpoints more and
        // more would be.
        Durability::WhenAlone => {
            let mut groups = context.state.groups.values();
            context.node.is_checkpoint_late(context.now)
                || groups.any(|group| group.active().count() == 1)
                    && context.node.mutation != Mutation::AloneNotAwaited
        }
        Durability::Always => context.node.mutation != Mutation::AlwaysNotAwaited,
    }
}
