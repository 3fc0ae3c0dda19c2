//! Schema changes as a session sees them, and this worker's adoption of new definitions.
//!
//! The worker sends a change to the control plane's leader until it answers; the change is done
//! when every node has adopted it. A worker has adopted a version when none of its transactions
//! uses an older definition of a table that changed, and its shards have filled every building
//! index (rule R27), or given it up for want of memory.
//!
//! A killed change is withdrawn, and answered when it is known whether the withdrawal came in time.
//!
//! A session that creates an index fills and publishes it. If the session ends before that, or does
//! not wait for an answer, this worker has the index dropped.

use std::collections::BTreeMap;

use protocol::Message;
use protocol::Refusal;
use protocol::control::ControlOutcome;
use protocol::message::{ChangeSchema, ChangeSchemaDone, SchemaAdopted};
use protocol::request::{Reply, SessionId};
use protocol::schema::{SchemaChange, SchemaError};
use types::{Address, SchemaVersion, WorkerId};

use super::{Asked, Coordinator, Pending, Phase};
use crate::limits::RESEND_INTERVAL_US;
use crate::node::Mutation;
use crate::participant;
use crate::worker::{Context, Time};

#[derive(Default)]
pub struct SchemaRequests {
    sequence_last: u64,
    /// Sent to the leader, not answered; and for which session, if one waits for the answer.
    asked: BTreeMap<u64, (Option<SessionId>, SchemaChange)>,
    /// The request for an index that each of these sessions made last, while the index may be there and not public.
    builds: BTreeMap<SessionId, u64>,
    resend_at: Time,
    /// The version this worker has told its node's control block.
    adopted: SchemaVersion,
    waits_for_transactions: bool,
}

impl SchemaRequests {
    pub(super) fn waits_for_transactions(&self) -> bool {
        self.waits_for_transactions
    }

    pub(super) fn on_state(&mut self) {
        self.waits_for_transactions = true;
    }

    /// The session does not wait for an answer any more: the index that it was to build is given up.
    pub(super) fn forget(&mut self, session: SessionId, context: &mut Context<'_>) {
        let begun = self.builds.remove(&session);
        // Before its answer has come it may be in the log all the same.
        let is_asked = begun.is_some_and(|begun| self.asked.contains_key(&begun));
        self.asked.retain(|_, (asker, _)| *asker != Some(session));
        let is_there = |begun: &u64| {
            let mut builds = context.state.index_builds.values();
            builds.any(|build| build.requester == context.address && build.sequence == *begun)
        };
        if let Some(asked) = begun.filter(|begun| is_asked || is_there(begun))
            && context.node.mutation != Mutation::IndexNotGivenUp
        {
            self.ask(None, SchemaChange::GiveUpIndex { asked }, context);
        }
    }

    /// The session gives up the change that it waits for. True if it must wait all the same, for
    /// the answer whether the change is done: it may be in the log already.
    pub(super) fn withdraw(&mut self, session: SessionId, context: &mut Context<'_>) -> bool {
        // The others have not been sent.
        let Some(mut first) = self.asked.first_entry() else { return false };
        let (asker, change) = first.get_mut();
        if *asker != Some(session) {
            return false;
        }
        match change {
            // Whatever becomes of these, the index is dropped.
            SchemaChange::CreateIndex { .. } | SchemaChange::PublishIndex { .. } => false,
            change => {
                *change = SchemaChange::Withdraw;
                self.send(context);
                true
            }
        }
    }

    fn ask(
        &mut self,
        session: Option<SessionId>,
        mut change: SchemaChange,
        context: &mut Context<'_>,
    ) {
        self.sequence_last += 1;
        match (session, &mut change) {
            (Some(session), SchemaChange::CreateIndex { .. }) => {
                self.builds.insert(session, self.sequence_last);
            }
            (Some(session), SchemaChange::PublishIndex { asked, .. }) => {
                *asked = self.builds.get(&session).copied().unwrap_or_default();
            }
            _ => {}
        }
        self.asked.insert(self.sequence_last, (session, change));
        self.resend_at = context.now + RESEND_INTERVAL_US;
        if self.asked.len() == 1 {
            self.send(context);
        }
    }

    /// Asks every voter: the leader takes it, the others let it fall.
    pub(super) fn on_tick(&mut self, context: &mut Context<'_>) {
        if self.asked.is_empty() || context.now < self.resend_at {
            return;
        }
        self.resend_at = context.now + RESEND_INTERVAL_US;
        self.send(context);
    }

    fn send(&self, context: &mut Context<'_>) {
        // One at a time, so that the control plane's memory of a requester is its newest request.
        let Some((sequence, (_, change))) = self.asked.first_key_value() else { return };
        for node in context.node.config.voters() {
            let message = ChangeSchema { sequence: *sequence, change: change.clone() };
            let address = Address { node, worker: WorkerId(0) };
            context.send(address, Message::ChangeSchema(message));
        }
    }
}

impl Coordinator {
    pub(super) fn change_schema(
        &mut self,
        session: SessionId,
        change: SchemaChange,
        context: &mut Context<'_>,
    ) {
        let request = self.next_request(session);
        let entry = self.sessions.get_mut(&session).expect("the session is open");
        assert!(entry.transaction.is_none(), "a schema change is no part of a transaction");
        entry.pending = Some(Pending {
            phase: Phase::Schema,
            commit: false,
            ..Pending::new(request, Asked::Commit, context.now)
        });
        self.schema.ask(Some(session), change, context);
    }

    pub(crate) fn on_change_schema_done(
        &mut self,
        message: &ChangeSchemaDone,
        context: &mut Context<'_>,
    ) {
        let version = match &message.outcome {
            ControlOutcome::Done(version) => *version,
            ControlOutcome::Refused(_) => SchemaVersion(0),
        };
        if context.state.catalogue.version < version {
            // This worker's copy of the schema is behind the answer: the next tick tries again.
            return;
        }
        let Some((session, _)) = self.schema.asked.remove(&message.sequence) else { return };
        self.schema.send(context);
        let Some(session) = session else { return };
        self.take_pending(session);
        let reply = match &message.outcome {
            ControlOutcome::Done(_) => {
                Reply::Schema(std::sync::Arc::new(context.state.catalogue.clone()))
            }
            ControlOutcome::Refused(SchemaError::Withdrawn) => Reply::Refused(Refusal::Cancelled),
            ControlOutcome::Refused(error) => {
                self.schema.builds.retain(|_, begun| *begun != message.sequence);
                Reply::Refused(Refusal::Schema(error.clone()))
            }
        };
        self.finish(session, reply, context);
    }

    /// Tells the node's control block which schema version this worker has adopted.
    pub(super) fn adopt_schema(&mut self, context: &mut Context<'_>) {
        let version = context.state.catalogue.version;
        if self.schema.adopted == version {
            self.schema.waits_for_transactions = false;
            return;
        }
        let tables = &context.state.catalogue.tables;
        let outdated = self.sessions.values().filter_map(|s| s.transaction.as_ref()).any(|t| {
            t.tables
                .iter()
                .any(|(id, used)| tables.get(id).is_none_or(|table| table.version != *used))
        });
        if outdated {
            return;
        }
        let Some(given_up) = participant::indexes_given_up(context) else { return };
        self.schema.adopted = version;
        self.schema.waits_for_transactions = false;
        let control = Address { node: context.address.node, worker: WorkerId(0) };
        let message = SchemaAdopted { version, given_up: given_up.into_iter().collect() };
        context.send(control, Message::SchemaAdopted(message));
    }
}
