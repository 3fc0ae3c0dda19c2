//! Schema changes as a session sees them, and this worker's adoption of new definitions.
//!
//! A change is asked of the control plane's leader, again and again until it answers, and is done when every node has
//! adopted it. A worker has adopted a version when none of its transactions uses an older definition of a table that
//! changed, and the shards it owns have filled every building index (R27).

use std::collections::BTreeMap;

use protocol::Message;
use protocol::Refusal;
use protocol::control::ControlOutcome;
use protocol::message::{ChangeSchema, ChangeSchemaDone, SchemaAdopted};
use protocol::request::{Reply, SessionId};
use protocol::schema::SchemaChange;
use types::{Address, SchemaVersion, WorkerId};

use super::{Asked, Coordinator, Pending, Phase};
use crate::limits::RESEND_INTERVAL_US;
use crate::participant;
use crate::worker::{Context, Time};

#[derive(Default)]
pub struct SchemaRequests {
    sequence_last: u64,
    /// Sent to the leader, not answered.
    asked: BTreeMap<u64, (SessionId, SchemaChange)>,
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

    pub(super) fn forget(&mut self, session: SessionId) {
        self.asked.retain(|_, (asker, _)| *asker != session);
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
        self.schema.sequence_last += 1;
        self.schema.asked.insert(self.schema.sequence_last, (session, change));
        self.schema.resend_at = context.now + RESEND_INTERVAL_US;
        if self.schema.asked.len() == 1 {
            self.schema.send(context);
        }
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
            // This worker's copy of the schema is behind the answer: it is asked again in a moment.
            return;
        }
        let Some((session, _)) = self.schema.asked.remove(&message.sequence) else { return };
        self.schema.send(context);
        self.take_pending(session);
        let reply = match &message.outcome {
            ControlOutcome::Done(_) => {
                Reply::Schema(std::sync::Arc::new(context.state.catalogue.clone()))
            }
            ControlOutcome::Refused(error) => Reply::Refused(Refusal::Schema(error.clone())),
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
        if outdated || !participant::indexes_built(context) {
            return;
        }
        self.schema.adopted = version;
        self.schema.waits_for_transactions = false;
        let control = Address { node: context.address.node, worker: WorkerId(0) };
        context.send(control, Message::SchemaAdopted(SchemaAdopted { version }));
    }
}
