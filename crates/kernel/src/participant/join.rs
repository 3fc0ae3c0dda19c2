//! Joined commits: many sessions that write one row.
//!
//! A row's lock lasts until every member holds the record of its writer, so such sessions would get
//! one commit per round trip. But a transaction whose whole work is one write of a row need not
//! wait for the round trip: a transaction that is about to commit takes it in.
//!
//! ```text
//!   lock of a row:  A commits | B, C, D wait, each with one write and its commit | E waits, with more to do
//!   A's record:     COMMIT of A, joined by B, C, D: the row as D left it         | E continues when it is decided
//! ```
//! They write as later statements of A, in the order of the queue, and are decided with it: all or
//! none, at one timestamp. In between no session can have seen the row, so it is as if they had
//! followed each other at once. A transaction that cannot join ends the row's turn and waits as
//! before: one that has more to do or holds locks already, and one that would fail, because its
//! error must refer to committed rows.

use protocol::op::OpKind;
use types::TransactionId;

use super::execute::Progress;
use super::parked::Parked;
use super::shard::{Answer, Shard};
use crate::worker::Context;

impl Shard {
    /// Executes, as part of `leader`, which is about to commit here alone, what waits for its rows and can join it. Who
    /// that is, and what they are told when it is decided.
    pub(super) fn join_waiting(
        &mut self,
        leader: TransactionId,
        context: &Context<'_>,
    ) -> Vec<(TransactionId, Answer)> {
        let mut joined = Vec::new();
        for queue in self.locks.waiting_behind(leader, context.node.record_rows_max()) {
            for token in queue {
                // It stays one that ends in one step and whose record fits a frame, with a row of any length on top.
                if self.transactions[&leader].writes.len() >= context.node.record_rows_max()
                    || self.is_long(leader, context)
                {
                    return joined;
                }
                match self.join(leader, token, context) {
                    Some(joins) => joined.push(joins),
                    None => break,
                }
            }
        }
        joined
    }

    fn join(
        &mut self,
        leader: TransactionId,
        token: u64,
        context: &Context<'_>,
    ) -> Option<(TransactionId, Answer)> {
        let can_join = self.parked.get(&token).is_some_and(|parked| self.can_join(parked));
        if !can_join {
            return None;
        }
        let last = self.transactions[&leader].writes.last().expect("the leader has written");
        let next_statement = last.statement.checked_add(1)?;
        let mut parked = self.parked.remove(&token).expect("just looked");
        let execute = &mut parked.execute;
        let (transaction, statement) = (execute.transaction, execute.statement);
        execute.transaction = leader;
        execute.statement = next_statement;
        let mut progress = Progress::default();
        if self.run_ops(execute, &mut progress, context).is_err() {
            let (granted, is_undone) = self.undo_some(leader, execute.statement, 1);
            assert!(is_undone, "one operation writes one row");
            assert!(granted.is_empty(), "the leader had the row's lock before");
            execute.transaction = transaction;
            execute.statement = statement;
            self.parked.insert(token, parked);
            return None;
        }
        let granted = self.locks.cancel(token);
        assert!(granted.is_empty(), "the leader holds the row");
        let entry = self.transactions.remove(&transaction).expect("made when it began here");
        assert!(entry.writes.is_empty(), "all it has written is the leader's");
        Some((transaction, Answer::Execute { request: execute.request, result: progress.results }))
    }

    /// Is all that the transaction does one write of the row it waits for?
    fn can_join(&self, parked: &Parked) -> bool {
        let execute = &parked.execute;
        let writes_one = match execute.ops.as_slice() {
            [(_, op)] => match op.kind {
                OpKind::Insert { .. }
                | OpKind::Put { .. }
                | OpKind::Update { .. }
                | OpKind::Delete { .. } => true,
                OpKind::Read { .. } | OpKind::Scan(_) => false,
            },
            _ => false,
        };
        // What is refused when it was changed since a snapshot looks at committed versions.
        writes_one
            && execute.commit
            && !execute.refuse_changed
            && self.locks.held_by(execute.transaction) == 0
            && self.transactions[&execute.transaction].writes.is_empty()
    }
}
