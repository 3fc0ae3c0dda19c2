//! The activity of the cluster: sessions, transactions, locks and deadlocks of all nodes, gathered
//! from their reports.
//!
//! Each answer is bounded, and so is their sum: items left out are counted. Pieces are of different
//! moments, so a transaction that begins or ends meanwhile may be in one and not in another.

use std::collections::{BTreeMap, BTreeSet};

use protocol::report::{
    DeadlockReport, Holding, LockReport, NodeStatus, Report, ReportRequest, SessionReport,
    TransactionOutcome,
};
use types::{CommitId, NodeId, ShardId};

use crate::session::Session;

/// Locks of one node that are told: at about 1 KB each as a row of a result, 100 MB a node.
pub const LOCKS_TOLD_MAX: u64 = 100_000;

/// What was told by all nodes.
#[derive(Debug)]
pub struct Told<T> {
    pub items: Vec<T>,
    pub left_out: u64,
    /// Nodes that did not answer in time.
    pub unreachable: BTreeSet<NodeId>,
}

impl<T> Default for Told<T> {
    fn default() -> Told<T> {
        Told { items: Vec::new(), left_out: 0, unreachable: BTreeSet::new() }
    }
}

impl Session {
    pub async fn sessions(&mut self) -> Told<(NodeId, SessionReport)> {
        let mut told = Told::default();
        for (node, report) in self.report(None, ReportRequest::Sessions).await {
            match report {
                Report::Sessions(own) => {
                    told.items.extend(own.sessions.into_iter().map(|session| (node, session)));
                    told.left_out += own.left_out;
                }
                _ => told.miss(node),
            }
        }
        told
    }

    /// What each transaction has on each shard.
    pub async fn holdings(&mut self) -> Told<(ShardId, Holding)> {
        let mut told = Told::default();
        for (node, report) in self.report(None, ReportRequest::Holdings).await {
            match report {
                Report::Holdings(shards) => {
                    for own in shards {
                        let shard = own.shard;
                        told.items.extend(own.holdings.into_iter().map(|holding| (shard, holding)));
                        told.left_out += own.left_out;
                    }
                }
                _ => told.miss(node),
            }
        }
        told
    }

    /// What each node says of itself.
    pub async fn node_statuses(&mut self) -> Told<NodeStatus> {
        let mut told = Told::default();
        for (node, report) in self.report(None, ReportRequest::Status).await {
            match report {
                Report::Status(own) => told.items.push(own),
                _ => told.miss(node),
            }
        }
        told
    }

    /// Newest first.
    pub async fn deadlocks(&mut self) -> Told<DeadlockReport> {
        let mut told = Told::default();
        for (node, report) in self.report(None, ReportRequest::Deadlocks).await {
            match report {
                Report::Deadlocks(own) => told.items.extend(own),
                _ => told.miss(node),
            }
        }
        told.items.sort_by_key(|deadlock| deadlock.age_us);
        told
    }

    /// The outcome of a transaction whose client got `Refusal::OutcomeUnknown`, or lost its connection.
    /// An answer that is not `InProgress` stays true, but may be forgotten after a day.
    pub async fn transaction_outcome(&mut self, commit: CommitId) -> TransactionOutcome {
        if !self.client().may_know(&commit) {
            return TransactionOutcome::Forgotten;
        }
        let reports = self.report(None, ReportRequest::Outcome { commit }).await;
        let outcomes = reports.into_iter().filter_map(|(_, report)| match report {
            Report::Outcome(outcome) => outcome,
            _ => None,
        });
        // Only one has a say, unless they have heard of the coordinator's end at different times.
        outcomes.max().unwrap_or(TransactionOutcome::InProgress)
    }

    /// The locks of all primaries, [`LOCKS_TOLD_MAX`] of each node at most.
    pub async fn locks(&mut self) -> Told<LockReport> {
        let mut shards: BTreeMap<NodeId, Vec<(ShardId, u64)>> = BTreeMap::new();
        for placement in self.client().shards() {
            shards.entry(placement.primary).or_default().push((placement.shard, 0));
        }
        let mut told = Told::default();
        for (node, from) in shards {
            self.locks_of_node(node, from, &mut told).await;
        }
        told
    }

    async fn locks_of_node(
        &mut self,
        node: NodeId,
        mut from: Vec<(ShardId, u64)>,
        told: &mut Told<LockReport>,
    ) {
        let mut count = 0;
        let mut of_shard: BTreeMap<ShardId, u64> = BTreeMap::new();
        while !from.is_empty() {
            let query = ReportRequest::Locks { from: std::mem::take(&mut from) };
            for (_, report) in self.report(Some(node), query).await {
                let Report::Locks(pieces) = report else {
                    told.miss(node);
                    continue;
                };
                for piece in pieces {
                    let so_far = of_shard.entry(piece.shard).or_default();
                    *so_far += piece.locks.len() as u64;
                    count += piece.locks.len() as u64;
                    told.items.extend(piece.locks);
                    match piece.next {
                        Some(next) if count < LOCKS_TOLD_MAX => from.push((piece.shard, next)),
                        Some(_) => told.left_out += piece.total.saturating_sub(*so_far),
                        None => {}
                    }
                }
            }
        }
    }
}

impl<T> Told<T> {
    fn miss(&mut self, node: NodeId) {
        self.unreachable.insert(node);
    }
}
