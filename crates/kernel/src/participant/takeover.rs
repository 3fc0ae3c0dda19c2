//! Takeover: a node of the cluster is excluded, and what it was is taken up by others (rules.md#views).
//!
//! What a shard does when the control state says that a node is gone, before anything else is done in the new view:
//!
//! | the node was | then this shard                                                                              |
//! |--------------|----------------------------------------------------------------------------------------------|
//! | its primary  | is the primary: every record here is committed, prepared transactions are armed again; where  |
//! |              | rows have more than two copies, when all members hold the same ([`super::reconcile`])         |
//! | its backup   | waits for it no more: what only it did not hold is decided, what it was to stamp is stamped    |
//! | coordinator  | rolls back what was not asked to commit; what is prepared is in doubt                        |
//!
//! A primary that has handed over ([`crate::handover`]) is a backup from the new view on, and had nothing under way.
//!
//! A transaction in doubt asks its home how it was decided, again and again, and holds its rows until home answers (rule R8).
//! Home remembers the commits of its log ([`super::commits`]). A coordinator asks in the same way about a commit that only a
//! dead primary had received.

use std::collections::BTreeSet;

use protocol::Message;
use protocol::message::{AskDecision, AskOutcome, Decide, KnownOutcome, Outcome, RecordKind};
use protocol::report::TransactionOutcome;
use storage::{Acquired, LockMode};
use types::{Incarnation, LogPosition, NodeId, ShardId, Timestamp, TransactionId};

use super::long::End;
use super::parked::WaitsFor;
use super::shard::{Shard, ShardTransaction, TransactionState};
use crate::node::Mutation;
use crate::worker::Context;

impl Shard {
    /// Remembers a commit of the log.
    pub(super) fn remember(
        &mut self,
        transaction: TransactionId,
        kind: &RecordKind,
        ts: Timestamp,
        context: &Context<'_>,
    ) {
        let RecordKind::Commit { participants, joined, .. } = kind else { return };
        if !participants.is_empty() {
            self.commits.add_decision(transaction, ts, context.now);
            return;
        }
        for id in std::iter::once(transaction).chain(joined.iter().copied()) {
            self.commits.add_single(id, ts, context.now);
        }
    }

    /// Takes over the view and the exclusions of the worker's control state.
    pub(super) fn adopt_view(&mut self, context: &mut Context<'_>) {
        if context.state.applied < self.applied {
            // Another worker has brought it further.
            return;
        }
        self.applied = context.state.applied;
        let excluded: BTreeSet<Incarnation> = context.state.excluded.keys().copied().collect();
        // Of those that were over before this replica was made, it knows what it is told.
        self.commits.bury(&(&excluded - &self.excluded), context.now);
        self.excluded = excluded;
        let group = context.state.group(context.state.group_of(self.id));
        let here = context.address.node;
        if group.view > self.view && group.members.iter().any(|member| member.node == here) {
            self.view = group.view;
            self.is_learner = group.is_learner(here);
            let is_all_compared = self.unconfirmed.is_none();
            assert!(self.is_learner || is_all_compared, "promoted with rows that nobody compared");
            let primary = group.primaries[&self.id];
            let leads = primary == here;
            let leads_now = leads && !self.is_primary;
            if std::mem::replace(&mut self.primary, primary) != primary {
                // What came early waits for a record that the primary before has not sent: it is of no view any more.
                self.early.clear();
            }
            if !leads {
                self.reconciling = None;
            }
            if self.is_primary && !leads {
                self.step_down();
            }
            if !leads_now {
                self.adopt_learner(group, context);
            }
            let filled = self.filling.as_ref().filter(|filling| filling.counts).map(|f| f.node);
            let backups: Vec<NodeId> =
                group.active().filter(|member| *member != here).chain(filled).collect();
            let has_lost = backups.len() < self.backups.len();
            self.backups = backups;
            if self.is_primary && has_lost {
                self.forget_backups(context);
            } else if self.is_primary {
                // Whoever counts from now on may not have heard.
                self.tell_commit_index(context);
            } else if leads_now && !self.is_pair {
                self.reconcile(context);
            } else if leads_now {
                self.promote(context);
                self.adopt_learner(group, context);
            }
        }
        self.end_orphans(context);
    }

    /// On a primary whose backup is gone.
    fn forget_backups(&mut self, context: &mut Context<'_>) {
        let backups = self.backups.clone();
        let mut unstamped = Vec::new();
        for record in &mut self.in_flight {
            record.missing.retain(|member| backups.contains(member));
            if matches!(record.kind, RecordKind::Commit { ts: None, .. }) {
                unstamped.push((record.position, record.transaction));
            }
        }
        for (position, transaction) in unstamped {
            // Only the sequencer was asked to stamp what it backs up, and its partner has taken over from it. It may have done
            // so, and granted a snapshot behind it, before it died: such a snapshot cannot be told what it should see.
            let ts = context.node.next_timestamps(1);
            let floor = self.transactions[&transaction].min_commit;
            let (low, high) = self.restamped.unwrap_or((floor, ts));
            self.restamped = Some((low.min(floor), high.max(ts)));
            self.stamp_record(position, ts, context);
        }
        let granted = self.decide_held(context);
        self.tell_commit_index(context);
        self.resume(granted, context);
        self.go_on_later(context);
    }

    /// Nothing of any transaction is left here: the handover may be done.
    pub(super) fn seal(&mut self, begun: u64) -> bool {
        if self.is_quiescent() {
            self.sealed = Some(begun);
        }
        self.sealed == Some(begun)
    }

    /// May every snapshot that is open be read here?
    pub(super) fn is_complete(&self, context: &Context<'_>) -> bool {
        self.complete_from <= context.node.horizon()
    }

    /// Is nothing to be begun here until the handover is over?
    pub(super) fn is_sealed(&self, context: &Context<'_>) -> bool {
        let current = context.state.handover.map(|handover| handover.begun);
        self.is_primary && self.sealed.is_some() && self.sealed == current
    }

    /// Has it led, and handed over?
    pub(super) fn has_stepped_down(&self) -> bool {
        !self.is_primary && self.sealed.is_some()
    }

    /// Begins what came while it was sealed.
    pub(super) fn begin_sealed(&mut self, context: &mut Context<'_>) {
        if !self.parked.is_empty() && !self.is_sealed(context) {
            self.begin_parked(WaitsFor::Handover, context);
        }
    }

    /// On a primary that has handed over: it is a backup now.
    fn step_down(&mut self) {
        assert!(self.transactions.is_empty() && self.in_flight.is_empty(), "handed over at rest");
        self.is_primary = false;
        self.give_up_closing();
        self.received = self.position;
    }

    /// On a backup that becomes the primary. Whatever was acknowledged is here, because nothing is without this member.
    pub(super) fn promote(&mut self, context: &mut Context<'_>) {
        // Every member that is left holds all of it.
        self.advance_commit_index(self.received, context);
        self.is_primary = true;
        self.sealed = None;
        self.early.clear();
        self.held_waiters.clear();
        // Rows that still show a transaction as undecided have no locks to keep writers away.
        for (transaction, mut ending) in std::mem::take(&mut self.endings) {
            while !self.end_rows_some(&mut ending, context) {}
            self.resume_readers(transaction, context);
        }
        self.position = self.received;
        for (transaction, prepared) in std::mem::take(&mut self.prepared) {
            if context.node.mutation == Mutation::PreparedForgotten {
                self.end_applied(transaction, prepared.rows, None, context);
                continue;
            }
            for (table, row) in prepared.rows.iter() {
                let (table, row) = (*table, *row);
                let Some(replica) = self.tables.get(&table) else { continue };
                let key = replica.partition.key_of(row).into_owned();
                self.token_last += 1;
                let (mode, token) = (LockMode::Exclusive, self.token_last);
                let acquired = self.locks.acquire(table, &key, mode, transaction, token);
                assert_eq!(acquired, Acquired::Granted, "one transaction writes a row at a time");
            }
            let mut entry = ShardTransaction::new();
            entry.state = match prepared.home {
                Some(_) => TransactionState::Prepared,
                // Its parts came, and nothing that ends them: it will be rolled back as an orphan.
                None => TransactionState::Sending,
            };
            entry.home = prepared.home;
            entry.prepared = prepared.since;
            entry.applied = prepared.rows;
            entry.is_in_doubt = true;
            self.transactions.insert(transaction, entry);
        }
        self.begin_parked(WaitsFor::Records, context);
    }

    /// Rolls back what nobody can commit any more, and asks for the decision of what somebody may have committed.
    pub(super) fn end_orphans(&mut self, context: &mut Context<'_>) {
        let is_dead = |id: &TransactionId| context.state.is_over(id.incarnation);
        let mutant = context.node.mutation == Mutation::InDoubtRolledBack;
        let mut lost = Vec::new();
        for (id, entry) in &mut self.transactions {
            let is_orphan = is_dead(id) || entry.is_in_doubt;
            match entry.state {
                TransactionState::Active | TransactionState::Sending if is_orphan => lost.push(*id),
                TransactionState::Prepared if is_orphan && mutant => lost.push(*id),
                TransactionState::Prepared if is_orphan => entry.is_in_doubt = true,
                _ => {}
            }
        }
        for transaction in lost {
            self.on_decide(&Decide { transaction, shard: self.id, commit: None }, context);
        }
        // Plain reads of dead coordinators: nobody waits for their answers.
        self.parked.retain(|_, parked| !is_dead(&parked.execute.transaction));
        self.ask_decisions(context);
    }

    /// Asks the homes of the transactions in doubt.
    pub(super) fn ask_decisions(&mut self, context: &mut Context<'_>) {
        if self.excluded.is_empty() {
            return;
        }
        let in_doubt = self.transactions.iter().filter(|(_, entry)| entry.is_in_doubt);
        let asked: Vec<(TransactionId, ShardId, u64)> = in_doubt
            .filter_map(|(id, entry)| Some((*id, entry.home?, entry.prepared.age(context.now))))
            .collect();
        for (transaction, home, age_us) in asked {
            let ask = AskDecision { transaction, shard: home, participant: self.id, age_us };
            let primary = context.state.primary(home);
            context.send_to_replica(home, primary, Message::AskDecision(ask));
        }
    }

    /// Forgets old commits, and asks again for what is in doubt.
    pub(super) fn on_takeover_tick(&mut self, context: &mut Context<'_>) {
        self.commits.expire(context.now);
        self.ask_decisions(context);
    }

    /// As home.
    pub(super) fn on_ask_decision(&mut self, message: &AskDecision, context: &mut Context<'_>) {
        let AskDecision { transaction, participant, age_us, .. } = *message;
        if !self.is_primary || self.transactions.contains_key(&transaction) {
            return;
        }
        let commit = self.commits.decision(transaction);
        let is_over = self.excluded.contains(&transaction.incarnation);
        let commits = &self.commits;
        if commit.is_none()
            && !commits.remembers(transaction, is_over)
            && !commits.remembers_since(true, age_us, context.now)
        {
            let shard = self.id;
            context.outbox.log.push(format!(
                "{transaction:?} is in doubt on {participant:?}, for longer than {shard:?} remembers what it decided"
            ));
            return;
        }
        let decide = Decide { transaction, shard: participant, commit };
        let primary = context.state.primary(participant);
        context.send_to_replica(participant, primary, Message::Decide(decide));
    }

    /// As the new primary of a shard whose old one was asked to commit.
    pub(super) fn on_ask_outcome(&mut self, message: &AskOutcome, context: &mut Context<'_>) {
        if self.answers_when_it_leads(message, context.now) {
            return;
        }
        let AskOutcome { transaction, request, shard, of_several, age_us } = *message;
        let found = match of_several {
            true => self.commits.decision(transaction),
            false => self.commits.single(transaction, context.now),
        };
        let known = match found {
            _ if context.node.mutation == Mutation::OutcomeNotAsked => KnownOutcome::Aborted,
            Some(ts) => KnownOutcome::Committed(ts),
            None if self.commits.remembers(transaction, false) => KnownOutcome::Aborted,
            None if self.commits.remembers_since(of_several, age_us, context.now) => {
                KnownOutcome::NotFound
            }
            None => KnownOutcome::Forgotten,
        };
        if matches!(known, KnownOutcome::Aborted | KnownOutcome::NotFound) {
            self.on_decide(&Decide { transaction, shard, commit: None }, context);
        }
        let outcome = Message::Outcome(Outcome { transaction, request, shard, known });
        context.send_for(shard, transaction.coordinator, outcome);
    }

    /// What became of a transaction that was to be decided here, as far as this shard can tell: of coordinators that are over only.
    /// Others may not have asked yet.
    pub(crate) fn outcome(&self, transaction: TransactionId) -> Option<TransactionOutcome> {
        if !self.is_primary || !self.excluded.contains(&transaction.incarnation) {
            return None;
        }
        match self.is_under_way(transaction) {
            true => Some(TransactionOutcome::InProgress),
            false => Some(self.commits.outcome(transaction)),
        }
    }

    /// Is anything of it here that is not decided, its own or as one that has joined another?
    fn is_under_way(&self, id: TransactionId) -> bool {
        let is_asked = |end: &Option<End>| match end {
            Some(End::Commit(asked)) => asked.answers.iter().any(|(joined, _)| *joined == id),
            _ => false,
        };
        let is_joined = |kind: &RecordKind| match kind {
            RecordKind::Commit { joined, .. } => joined.contains(&id),
            _ => false,
        };
        self.transactions.contains_key(&id)
            || self.transactions.values().any(|entry| is_asked(&entry.end))
            || self.in_flight.iter().any(|record| is_joined(&record.kind))
    }

    /// Is the record of this position here, now that nobody sends it any more?
    pub(crate) fn has_received(&self, position: LogPosition) -> bool {
        self.received >= position
    }
}
