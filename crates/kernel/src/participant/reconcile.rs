//! Groups of three and more: the heir of a dead primary makes the members' logs equal before it leads (rules.md#views).
//!
//! Every member holds every acknowledged record. Behind those, each survivor may hold more or fewer
//! of the records that the dead primary was sending. No member undoes any of them: the heir fetches
//! the records it lacks, sends the others the records they lack, and when all hold the same, all
//! records are decided.
//!
//! ```text
//!   heir                                   another member
//!   AskTail{behind: received}         -->  in the heir's view: takes nothing from the dead boot any more
//!                                     <--  Replicate ... (what the heir lacks), Tail{position: received}
//!   has the longest of all: Replicate -->  (what that one lacks)
//!                                     <--  ReplicateOk
//!   every member holds it: leads, CommitIndex -->
//! ```
//! So the log of every member is always a prefix of one and the same log, also when the heir dies
//! in the middle of this and the next one begins anew. This requires that members answer only in
//! the heir's view: later frames of the dead boot are refused, so no log grows without the heir's
//! knowledge. Until it leads, the heir answers nothing and decides nothing, because its records
//! might be lost with it; requests wait.
//!
//! Each backup of such a group keeps the records behind its commit index. Whoever lacks some lacks none that is not kept: a member
//! holds all records up to anybody's commit index.

use std::collections::{BTreeMap, BTreeSet};

use protocol::Message;
use protocol::message::{AskOutcome, AskTail, Record, Replicate, Tail};
use types::{Address, LogPosition, NodeId};

use super::parked::WaitsFor;
use super::shard::Shard;
use crate::node::Mutation;
use crate::worker::{Context, Time};

/// On an heir that does not lead yet.
#[derive(Default)]
pub(super) struct Reconciling {
    asked: BTreeSet<NodeId>,
    /// What the other members hold.
    held: BTreeMap<NodeId, LogPosition>,
    /// They were sent what they lack.
    is_sent: bool,
    /// Coordinators that ask what became of their commits, and since when.
    outcomes: Vec<(Time, AskOutcome)>,
}

impl Shard {
    /// This member is to lead, in a view that may have changed again since it began to prepare for that.
    pub(super) fn reconcile(&mut self, context: &mut Context<'_>) {
        let behind = self.received;
        let members = self.backups.clone();
        let state = self.reconciling.get_or_insert_default();
        state.held.retain(|member, _| members.contains(member));
        for member in members {
            if state.asked.insert(member) {
                let owner = context.state.owner(self.id, member);
                let ask = AskTail { shard: self.id, behind };
                context.send_for(self.id, owner, Message::AskTail(ask));
            }
        }
        self.go_on_reconciling(context);
    }

    pub(super) fn on_ask_tail(
        &mut self,
        from: Address,
        message: &AskTail,
        context: &mut Context<'_>,
    ) {
        if self.is_primary {
            // The asker is the heir of a view before this one's.
            return;
        }
        self.send_kept(from.node, message.behind, context);
        let tail = Tail { shard: self.id, position: self.received };
        let owner = context.state.owner(self.id, from.node);
        context.send_for(self.id, owner, Message::Tail(tail));
    }

    /// Sends a member the records that it lacks.
    fn send_kept(&self, member: NodeId, behind: LogPosition, context: &mut Context<'_>) {
        let owner = context.state.owner(self.id, member);
        let mut next = LogPosition(behind.0 + 1);
        for (position, record) in self.kept.iter().filter(|(position, _)| *position > behind) {
            assert_eq!(*position, next, "a member lacks nothing that is not kept");
            next = LogPosition(next.0 + 1);
            let replicate = Replicate {
                shard: self.id,
                position: *position,
                commit_index: self.commit_index,
                schema: self.schema_version,
                record: record.clone(),
            };
            context.send_for(self.id, owner, Message::Replicate(replicate));
        }
        assert!(next > self.received, "a member lacks nothing that is not kept");
    }

    pub(super) fn on_tail(&mut self, from: Address, message: &Tail, context: &mut Context<'_>) {
        let Some(state) = &mut self.reconciling else { return };
        if self.backups.contains(&from.node) {
            state.held.insert(from.node, message.position);
            self.go_on_reconciling(context);
        }
    }

    /// Another member acknowledges records, perhaps ones that this node sent when it led before:
    /// unlike the member's tail, that does not prove that the member has adopted this view.
    pub(super) fn on_member_holds(
        &mut self,
        member: NodeId,
        position: LogPosition,
        context: &mut Context<'_>,
    ) {
        let state = self.reconciling.as_mut();
        if let Some(held) = state.and_then(|state| state.held.get_mut(&member)) {
            *held = position.max(*held);
            self.go_on_reconciling(context);
        }
    }

    /// Leads, if all members hold the same.
    pub(super) fn go_on_reconciling(&mut self, context: &mut Context<'_>) {
        let Some(state) = &mut self.reconciling else { return };
        let is_early = context.node.mutation == Mutation::TailNotFetched;
        let is_silent = |member: &NodeId| !state.held.contains_key(member);
        if self.backups.iter().any(is_silent) && !is_early {
            return;
        }
        let end = state.held.values().copied().max().unwrap_or_default().max(self.received);
        if self.received < end && !is_early {
            // On its way.
            return;
        }
        if !std::mem::replace(&mut state.is_sent, true) {
            for (member, held) in state.held.clone() {
                self.send_kept(member, held, context);
            }
        }
        let state = self.reconciling.as_ref().expect("as above");
        let is_unequal = state.held.values().any(|held| *held < end);
        if is_unequal && !is_early {
            return;
        }
        let state = self.reconciling.take().expect("as above");
        self.promote(context);
        let group = context.state.group(context.state.group_of(self.id));
        self.adopt_learner(group, context);
        self.tell_commit_index(context);
        self.end_orphans(context);
        for (since, mut asked) in state.outcomes {
            asked.age_us += context.now.saturating_sub(since);
            self.on_ask_outcome(&asked, context);
        }
        self.begin_parked(WaitsFor::Heir, context);
    }

    /// What a coordinator wants to know, the heir knows when it leads. True if it has to wait for that.
    pub(super) fn answers_when_it_leads(&mut self, message: &AskOutcome, now: Time) -> bool {
        let Some(state) = &mut self.reconciling else { return false };
        state.outcomes.push((now, message.clone()));
        true
    }

    /// On a backup: another one may lack this record when the primary dies.
    pub(super) fn keep(&mut self, position: LogPosition, record: Record) {
        self.kept.push_back((position, record));
    }
    pub(super) fn drop_kept(&mut self) {
        while self.kept.front().is_some_and(|(position, _)| *position <= self.commit_index) {
            self.kept.pop_front();
        }
    }
}
