//! The deadlock block: circles of waiting transactions over several shards and nodes.
//!
//! Each worker sends the wait edges of its shards, once they have lasted a while, to the sequencer's worker 0, which keeps
//! the last report of each and looks for circles. The youngest transaction of a circle is rolled back. An edge may be over
//! by the time it is looked at, so a circle is acted on only when two reports in a row of every worker concerned showed
//! it: a wait that ends by itself is gone from the second.

use std::collections::{BTreeMap, BTreeSet};

use protocol::Message;
use protocol::message::{BreakDeadlock, WaitEdge, WaitEdges};
use types::{Address, TransactionId};

use crate::limits::{BREAK_DEADLOCK_AGAIN_US, WAIT_EDGE_AGE_MIN_US};
use crate::node::Mutation;
use crate::participant::{owned_shards, sequencer_address};
use crate::worker::{Context, Time};

#[derive(Default)]
pub struct Deadlock {
    // On every worker.
    has_reported_edges: bool,
    // On the detector.
    reports: BTreeMap<Address, Report>,
    /// Victims told, and when, until their edges are gone. What was told may have crossed the end of the wait on its way, and
    /// the transaction may wait in a circle again: after a while it is told again.
    broken: BTreeMap<TransactionId, Time>,
}

#[derive(Default)]
struct Report {
    previous: Vec<WaitEdge>,
    current: Vec<WaitEdge>,
}

impl Deadlock {
    pub fn new() -> Deadlock {
        Deadlock::default()
    }

    pub(crate) fn on_tick(&mut self, context: &mut Context<'_>) {
        let Some(detector) = sequencer_address(context) else { return };
        if context.node.mutation == Mutation::DeadlocksIgnored {
            return;
        }
        let mut edges = Vec::new();
        let before = context.now.saturating_sub(WAIT_EDGE_AGE_MIN_US);
        for shard in owned_shards(context) {
            if let Some(shard) = context.node.shard(shard) {
                shard.wait_edges(before, &mut edges);
            }
        }
        // One empty report after the last edges, to say that they are gone.
        if !edges.is_empty() || self.has_reported_edges {
            self.has_reported_edges = !edges.is_empty();
            context.send(detector, Message::WaitEdges(WaitEdges { edges }));
        }
    }

    pub(crate) fn on_wait_edges(
        &mut self,
        from: Address,
        message: WaitEdges,
        context: &mut Context<'_>,
    ) {
        let report = self.reports.entry(from).or_default();
        report.previous = std::mem::replace(&mut report.current, message.edges);
        let mut started: BTreeMap<TransactionId, u64> = BTreeMap::new();
        let mut waits_for: BTreeMap<TransactionId, Vec<TransactionId>> = BTreeMap::new();
        for report in self.reports.values() {
            for edge in report.current.iter().filter(|edge| report.previous.contains(edge)) {
                started.insert(edge.waiter, edge.started);
                waits_for.entry(edge.waiter).or_default().push(edge.holder);
            }
        }
        let tell_again = context.now.saturating_sub(BREAK_DEADLOCK_AGAIN_US);
        self.broken.retain(|victim, told| waits_for.contains_key(victim) && *told > tell_again);
        for victim in self.broken.keys() {
            waits_for.remove(victim);
        }
        while let Some(cycle) = find_cycle(&waits_for) {
            let victim = youngest(&cycle, &started);
            waits_for.remove(&victim);
            self.broken.insert(victim, context.now);
            let message = Message::BreakDeadlock(BreakDeadlock { transaction: victim });
            context.send(victim.coordinator, message);
        }
    }
}

/// The one that began last; of those that began at the same moment, the one with the highest id.
fn youngest(cycle: &[TransactionId], started: &BTreeMap<TransactionId, u64>) -> TransactionId {
    let by_age = cycle.iter().max_by_key(|transaction| (started.get(transaction), **transaction));
    *by_age.expect("a cycle has members")
}

/// Some cycle of the graph, if it has one. Depth first with an explicit stack.
fn find_cycle(
    waits_for: &BTreeMap<TransactionId, Vec<TransactionId>>,
) -> Option<Vec<TransactionId>> {
    let mut finished: BTreeSet<TransactionId> = BTreeSet::new();
    for start in waits_for.keys() {
        let mut path: Vec<(TransactionId, usize)> = vec![(*start, 0)];
        while let Some((transaction, next)) = path.last_mut() {
            let edges = waits_for.get(transaction).map_or(&[][..], Vec::as_slice);
            let Some(holder) = edges.get(*next).copied() else {
                finished.insert(*transaction);
                path.pop();
                continue;
            };
            *next += 1;
            if let Some(from) = path.iter().position(|(on_path, _)| *on_path == holder) {
                return Some(path[from..].iter().map(|(on_path, _)| *on_path).collect());
            }
            if !finished.contains(&holder) {
                path.push((holder, 0));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Incarnation;

    fn transaction(sequence: u64) -> TransactionId {
        TransactionId { coordinator: Address::default(), incarnation: Incarnation(1), sequence }
    }

    fn graph(edges: &[(u64, u64)]) -> BTreeMap<TransactionId, Vec<TransactionId>> {
        let mut graph: BTreeMap<TransactionId, Vec<TransactionId>> = BTreeMap::new();
        for (waiter, holder) in edges {
            graph.entry(transaction(*waiter)).or_default().push(transaction(*holder));
        }
        graph
    }

    /// Circles of any length are found wherever they hang; waiting in line is none.
    #[test]
    fn cycles_are_found_and_chains_are_not() {
        type Case<'a> = (&'a [(u64, u64)], Option<&'a [u64]>);
        let cases: [Case<'_>; 5] = [
            (&[], None),
            (&[(1, 2), (2, 3), (1, 3), (4, 3)], None),
            (&[(1, 2), (2, 1)], Some(&[1, 2])),
            (&[(1, 2), (2, 3), (3, 4), (4, 2)], Some(&[2, 3, 4])),
            (&[(1, 5), (2, 5), (5, 6), (6, 7), (7, 5)], Some(&[5, 6, 7])),
        ];
        for (edges, expected) in cases {
            let found = find_cycle(&graph(edges)).map(|mut cycle| {
                cycle.sort();
                cycle
            });
            let expected =
                expected.map(|members| members.iter().map(|m| transaction(*m)).collect::<Vec<_>>());
            assert_eq!(found, expected, "{edges:?}");
        }
    }

    /// The transaction that began last is the victim; ids decide between equals.
    #[test]
    fn the_youngest_is_the_victim() {
        let cycle = [transaction(1), transaction(2), transaction(3)];
        let started =
            BTreeMap::from([(transaction(1), 30), (transaction(2), 10), (transaction(3), 30)]);
        assert_eq!(youngest(&cycle, &started), transaction(3));
    }
}
