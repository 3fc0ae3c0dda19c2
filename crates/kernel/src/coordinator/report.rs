//! What a coordinator tells of its sessions and their transactions.

use std::collections::{BTreeMap, VecDeque};

use protocol::Message;
use protocol::message::{DeadlockAnswer, DeadlockQuery};
use protocol::report::{Activity, Connection, SessionReport, SessionsReport, TransactionReport};
use protocol::request::SessionId;
use types::{Address, TransactionId};

use super::{Coordinator, Phase, Session, Transaction};
use crate::limits::{SESSIONS_TOLD_MAX, VICTIMS_KEPT_MAX};
use crate::worker::{Context, Time};

/// Victims of deadlocks, as they were when they were told: soon after their sessions run something else.
#[derive(Default)]
pub(super) struct Victims {
    kept: VecDeque<(TransactionId, Connection)>,
}

impl Coordinator {
    /// Every session of this worker that is connected or has asked something of it.
    pub(crate) fn report(&self, context: &Context<'_>) -> SessionsReport {
        let mut connections: BTreeMap<SessionId, Connection> = match context.node.connections() {
            Some(known) => known.connections(context.address.worker, None).into_iter().collect(),
            None => BTreeMap::new(),
        };
        let mut report = SessionsReport::default();
        for (id, session) in &self.sessions {
            let connection = connections.remove(id);
            // One that was opened, used and left at rest by a program that is no client.
            if connection.is_none() && session.transaction.is_none() && session.pending.is_none() {
                continue;
            }
            report.sessions.push(session.report(connection, context.now));
        }
        let idle = connections.into_values();
        report.sessions.extend(idle.map(|own| Session::default().report(Some(own), context.now)));
        report.left_out = report.sessions.len().saturating_sub(SESSIONS_TOLD_MAX) as u64;
        report.sessions.truncate(SESSIONS_TOLD_MAX);
        report
    }

    /// Remembers the session that gets the error of a deadlock victim.
    pub(super) fn note_victim(&mut self, session: SessionId, context: &Context<'_>) {
        let transaction = self.transaction(session).id;
        let Some(connection) = connection_of(session, context) else { return };
        if self.victims.kept.len() == VICTIMS_KEPT_MAX {
            self.victims.kept.pop_front();
        }
        self.victims.kept.push_back((transaction, connection));
    }

    pub(crate) fn on_deadlock_query(
        &self,
        from: Address,
        message: &DeadlockQuery,
        context: &mut Context<'_>,
    ) {
        let find = |wanted: &TransactionId| {
            let mut victims = self.victims.kept.iter();
            if let Some((_, connection)) = victims.find(|(victim, _)| victim == wanted) {
                return Some(connection.clone());
            }
            let has_it = |session: &Session| {
                session.transaction.as_ref().is_some_and(|own| own.id == *wanted)
            };
            let (id, _) = self.sessions.iter().find(|(_, session)| has_it(session))?;
            connection_of(*id, context)
        };
        let known = message.transactions.iter().filter_map(|id| Some((*id, find(id)?)));
        let connections: Vec<_> = known.collect();
        if !connections.is_empty() {
            context.send(from, Message::DeadlockAnswer(DeadlockAnswer { connections }));
        }
    }
}

fn connection_of(session: SessionId, context: &Context<'_>) -> Option<Connection> {
    let known = context.node.connections()?;
    let found = known.connections(context.address.worker, Some(session));
    found.into_iter().next().map(|(_, connection)| connection)
}

impl Session {
    fn report(&self, connection: Option<Connection>, now: Time) -> SessionReport {
        let activity = match self.pending.as_ref().map(|pending| &pending.phase) {
            None => Activity::Idle,
            Some(Phase::Snapshot(_)) => Activity::WaitsForSnapshot,
            Some(Phase::Executing) => Activity::Executes,
            Some(Phase::Undoing) => Activity::Undoes,
            Some(
                Phase::Preparing { .. }
                | Phase::Committing { .. }
                | Phase::Asking { .. }
                | Phase::Held(_)
                | Phase::Durable(..),
            ) => Activity::Commits,
            Some(Phase::Schema) => Activity::ChangesSchema,
        };
        let transaction = self.transaction.as_ref().map(|transaction| transaction.report(now));
        SessionReport { connection, activity, transaction }
    }
}

impl Transaction {
    fn report(&self, now: Time) -> TransactionReport {
        TransactionReport {
            id: self.id,
            age_us: now.saturating_sub(self.began),
            tables: self.tables.len() as u64,
            snapshot: self.snapshot.map(|snapshot| snapshot.at),
        }
    }
}
