//! The last deadlocks, kept by the detector for reports.
//!
//! The detector knows the transactions of a circle; only their coordinators know the sessions and
//! statements, and are asked at once, while they have them. A victim's coordinator remembers them
//! until then.

use std::collections::{BTreeMap, VecDeque};

use protocol::Message;
use protocol::message::{DeadlockAnswer, DeadlockQuery};
use protocol::report::{DeadlockMember, DeadlockReport};
use types::{Address, TransactionId};

use crate::limits::DEADLOCKS_KEPT_MAX;
use crate::worker::{Context, Time};

#[derive(Default)]
pub(super) struct Records {
    /// Oldest first.
    kept: VecDeque<Record>,
}

struct Record {
    found: Time,
    victim: TransactionId,
    members: Vec<DeadlockMember>,
}

impl Records {
    /// Remembers a deadlock, and asks whose transactions they were.
    pub fn add(
        &mut self,
        victim: TransactionId,
        members: Vec<DeadlockMember>,
        context: &mut Context<'_>,
    ) {
        let mut asked: BTreeMap<Address, Vec<TransactionId>> = BTreeMap::new();
        for member in &members {
            asked.entry(member.transaction.coordinator).or_default().push(member.transaction);
        }
        // A repeated message to a victim is still the same deadlock.
        self.kept.retain(|record| record.victim != victim);
        if self.kept.len() == DEADLOCKS_KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(Record { found: context.now, victim, members });
        for (coordinator, transactions) in asked {
            context.send(coordinator, Message::DeadlockQuery(DeadlockQuery { transactions }));
        }
    }

    pub fn complete(&mut self, answer: &DeadlockAnswer) {
        for (transaction, connection) in &answer.connections {
            for record in &mut self.kept {
                for member in &mut record.members {
                    if member.transaction == *transaction && member.connection.is_none() {
                        member.connection = Some(connection.clone());
                    }
                }
            }
        }
    }

    pub fn report(&self, now: Time) -> Vec<DeadlockReport> {
        let newest_first = self.kept.iter().rev();
        let report = |record: &Record| DeadlockReport {
            age_us: now.saturating_sub(record.found),
            victim: record.victim,
            members: record.members.clone(),
        };
        newest_first.map(report).collect()
    }
}
