//! Operations that wait: for a row lock, for the decision of a commit they met, or for what else [`WaitsFor`] names.

use protocol::Refusal;
use protocol::message::{Cancel, Execute};
use protocol::op::{Lock, OpKind};
use storage::LockTable;
use types::TransactionId;

use super::execute::Progress;
use super::long::Undoing;
use super::shard::Shard;
use crate::node::Mutation;
use crate::worker::{Context, Time};

pub(super) struct Parked {
    pub execute: Execute,
    pub progress: Progress,
    pub waits_for: WaitsFor,
    pub since: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitsFor {
    /// A row lock; the token names the wait in the lock table.
    Lock,
    /// The decision of this transaction, whose marker a read met.
    Decision(TransactionId),
    /// The schema it was planned with.
    Schema,
    /// On a backup: the records that have come and wait for others or for the schema.
    Records,
    /// The end of a handover.
    Handover,
    /// The heir's leading: it makes the members' logs equal first.
    Heir,
    /// All is done, but the answer may be old: a lease.
    Lease,
    /// Nothing: others have their turn before the next of its operations.
    Turn,
}

/// Waits in a circle: each is for the transaction of the next one, the last for that of the first.
pub(super) struct Circle {
    pub waits: Vec<u64>,
    /// The wait to be ended: that of the youngest transaction.
    pub victim: u64,
}

impl Parked {
    pub fn waits_for_lock(&self) -> bool {
        self.waits_for == WaitsFor::Lock
    }
}

impl Shard {
    /// Takes up operations whose locks were granted, and those that granting and their results set free in turn.
    pub(super) fn resume(&mut self, granted: Vec<u64>, context: &mut Context<'_>) {
        // Every resumed operation may end its transaction and so grant more: a list, not recursion.
        let mut tokens = std::collections::VecDeque::from(granted);
        while let Some(token) = tokens.pop_front() {
            if let Some(parked) = self.parked.remove(&token) {
                tokens.extend(self.run(parked.execute, parked.progress, context));
            }
        }
    }

    /// Takes up the readers that met this transaction's marker.
    pub(super) fn resume_readers(&mut self, decided: TransactionId, context: &mut Context<'_>) {
        if self.parked.is_empty() {
            return;
        }
        let waiting = self.parked.iter();
        let readers = waiting.filter(|(_, parked)| parked.waits_for == WaitsFor::Decision(decided));
        let tokens: Vec<u64> = readers.map(|(token, _)| *token).collect();
        self.resume(tokens, context);
    }

    /// Begins the operations that waited for a schema, or for records, that are here now.
    pub(super) fn begin_parked(&mut self, waits_for: WaitsFor, context: &mut Context<'_>) {
        let waiting = self.parked.iter().filter(|(_, parked)| parked.waits_for == waits_for);
        let tokens: Vec<u64> = waiting.map(|(token, _)| *token).collect();
        for token in tokens {
            if let Some(parked) = self.parked.remove(&token) {
                self.on_execute(parked.execute, context);
            }
        }
    }

    /// Refuses a parked operation, undoing what its statement has done here.
    pub(super) fn refuse_parked(
        &mut self,
        token: u64,
        refusal: Refusal,
        context: &mut Context<'_>,
    ) {
        let Some(parked) = self.parked.remove(&token) else { return };
        let granted = match parked.waits_for {
            WaitsFor::Lock => self.locks.cancel(token),
            WaitsFor::Decision(_)
            | WaitsFor::Schema
            | WaitsFor::Records
            | WaitsFor::Handover
            | WaitsFor::Heir
            | WaitsFor::Lease
            | WaitsFor::Turn => Vec::new(),
        };
        let freed = self.refuse(&parked.execute, refusal, context);
        self.resume([granted, freed].concat(), context);
    }

    /// Undoes the statement here and refuses it. Returns the lock waits granted.
    #[must_use]
    pub(super) fn refuse(
        &mut self,
        execute: &Execute,
        refusal: Refusal,
        context: &mut Context<'_>,
    ) -> Vec<u64> {
        // Of no statement.
        let none = u32::MAX;
        let is_undone = context.node.mutation != Mutation::StatementNotUndone;
        let statement = if is_undone { execute.statement } else { none };
        let request = execute.request;
        let undoing = Undoing { statement, request, refusal: Some(refusal) };
        self.undo(execute.transaction, undoing, context)
    }

    pub(super) fn on_cancel(&mut self, message: &Cancel, context: &mut Context<'_>) {
        let mut waiting = self.parked.iter();
        let found = waiting.find(|(_, parked)| {
            parked.execute.transaction == message.transaction
                && parked.execute.request == message.request
        });
        // Not parked: it has been answered, or is about to be.
        if let Some((token, _)) = found {
            self.refuse_parked(*token, Refusal::Cancelled, context);
        }
    }

    /// Ends the waits that have lasted too long.
    pub(super) fn expire_parked(&mut self, context: &mut Context<'_>) {
        let expired = |parked: &Parked| {
            let limit = u64::from(parked.execute.lock_wait_timeout_ms) * 1_000;
            parked.waits_for_lock() && context.now >= parked.since.saturating_add(limit)
        };
        let waiting = self.parked.iter();
        let tokens: Vec<u64> =
            waiting.filter(|(_, parked)| expired(parked)).map(|(token, _)| *token).collect();
        for token in tokens {
            self.refuse_parked(token, Refusal::LockWaitTimeout, context);
        }
    }

    /// Answers what waited for a lease that is here now; refuses it when there is none for long.
    pub(super) fn answer_leased(&mut self, context: &mut Context<'_>) {
        if self.parked.is_empty() {
            return;
        }
        let waiting = self.parked.iter().filter(|(_, parked)| parked.waits_for == WaitsFor::Lease);
        let tokens: Vec<u64> = waiting.map(|(token, _)| *token).collect();
        if context.node.has_lease(context.now) {
            self.resume(tokens, context);
        } else if context.node.is_cut_off(context.now) {
            for token in tokens {
                self.refuse_parked(token, cut_off(context), context);
            }
        }
    }

    /// The circle within the shard that this wait closes, if it does. The lock table knows who waits for whom here; circles
    /// over several shards are found by the deadlock block.
    pub(super) fn deadlock(&self, token: u64, waiter: TransactionId) -> Option<Circle> {
        // A crowd of statements that wait for one row and have nothing else closes none, however large it is.
        if !self.locks.may_be_waited_for(waiter) {
            return None;
        }
        // Is there a circle at all? Few edges tell. Which is the shortest, so that no bystander in a queue goes? All do.
        self.circle(token, waiter, LockTable::next_blocking)?;
        self.circle(token, waiter, LockTable::holders_blocking)
    }

    fn circle(
        &self,
        token: u64,
        waiter: TransactionId,
        blocking: fn(&LockTable, u64) -> Vec<TransactionId>,
    ) -> Option<Circle> {
        let own = self.parked.get(&token)?;
        // Each wait reached, and the place of the one it was reached from.
        let mut reached: Vec<(u64, &Parked, usize)> = vec![(token, own, 0)];
        let mut place = 0;
        while let Some((token, ..)) = reached.get(place) {
            for holder in blocking(&self.locks, *token) {
                if holder == waiter {
                    return Some(circle_of_path(&reached, place));
                }
                let known =
                    |(_, parked, _): &(u64, &Parked, usize)| parked.execute.transaction == holder;
                if reached.iter().any(known) {
                    continue;
                }
                let waits = self.parked.iter().filter(|(_, parked)| {
                    parked.waits_for_lock() && parked.execute.transaction == holder
                });
                reached.extend(waits.map(|(token, parked)| (*token, parked, place)));
            }
            place += 1;
        }
        None
    }
}

/// This node may have been excluded, and cannot find out.
pub(crate) fn cut_off(context: &Context<'_>) -> Refusal {
    Refusal::Unavailable(format!(
        "node {} does not reach the voters of its cluster, so it cannot know whether what it holds is the newest: connect to \
         another node, or wait until it is connected again",
        context.address.node
    ))
}

/// The waits from this place back to the first; the victim is the transaction that began last.
fn circle_of_path(reached: &[(u64, &Parked, usize)], mut place: usize) -> Circle {
    let age = |place: usize| {
        let execute = &reached[place].1.execute;
        (execute.started, execute.transaction)
    };
    let mut youngest = place;
    let mut waits = vec![reached[place].0];
    while place != 0 {
        place = reached[place].2;
        waits.push(reached[place].0);
        if age(place) > age(youngest) {
            youngest = place;
        }
    }
    waits.reverse();
    Circle { waits, victim: reached[youngest].0 }
}

/// Does executing this take locks or write?
pub(super) fn needs_transaction(kind: &OpKind) -> bool {
    match kind {
        OpKind::Read { lock, .. } => *lock != Lock::None,
        OpKind::Scan(scan) => scan.lock != Lock::None,
        OpKind::Insert { .. }
        | OpKind::Put { .. }
        | OpKind::Update { .. }
        | OpKind::Delete { .. } => true,
    }
}
