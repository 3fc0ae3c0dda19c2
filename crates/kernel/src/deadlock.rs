//! The deadlock block: circles of waiting transactions over several shards and nodes (rule R26).
//!
//! When a lock wait begins, its worker looks for a circle over all shards of its node. Whoever waits longer may be in one
//! over several nodes: each worker sends the wait edges of its shards, once they have lasted a while, to the sequencer's
//! worker 0, which keeps the last report of each and looks for circles. The youngest transaction of a circle is rolled
//! back. An edge may be over by the time it is looked at, so a circle is acted on only when two reports in a row of every
//! worker concerned showed it: a wait that ends by itself is gone from the second.

mod record;

use std::collections::{BTreeMap, BTreeSet};

use protocol::Message;
use protocol::message::{BreakDeadlock, DeadlockAnswer, DeadlockFound, WaitEdge, WaitEdges};
use protocol::report::{DeadlockMember, DeadlockReport, LockedThing};
use types::{Address, NodeId, ShardId, TransactionId};

use crate::limits::{
    BREAK_DEADLOCK_AGAIN_US, DEADLOCK_MEMBERS_MAX, WAIT_EDGE_AGE_MIN_US, WAITS_LOOKED_AT_MAX,
};
use crate::node::Mutation;
use crate::participant::{Shard, owned_shards, sequencer_address};
use crate::worker::{Context, Time};
use record::Records;

#[derive(Default)]
pub struct Deadlock {
    // On every worker.
    has_reported_edges: bool,
    // On the detector.
    reports: BTreeMap<Address, Report>,
    /// Victims, with the time of the message, until their edges are gone. The message may have
    /// crossed the end of the wait, and the transaction may wait in a circle again: after a while
    /// the victim gets it again.
    broken: BTreeMap<TransactionId, Time>,
    records: Records,
}

#[derive(Default)]
struct Report {
    previous: Vec<WaitEdge>,
    current: Vec<WaitEdge>,
    locks: Vec<(TransactionId, LockedThing)>,
}

impl Report {
    fn waits(&self) -> Waits<'_> {
        (&self.current, &self.locks)
    }
}

impl Deadlock {
    pub fn new() -> Deadlock {
        Deadlock::default()
    }

    pub(crate) fn on_tick(&mut self, context: &mut Context<'_>) {
        let Some(detector) = sequencer_address(context) else { return };
        // A crowd's edges, told at each tick, would be what a slow link is busy with.
        let is_slow = context.channels.is_backed_up(detector);
        if context.node.mutation == Mutation::DeadlocksIgnored || is_slow {
            return;
        }
        let (mut edges, mut locks) = (Vec::new(), Vec::new());
        let before = context.now.saturating_sub(WAIT_EDGE_AGE_MIN_US);
        for shard in owned_shards(context) {
            if let Some(shard) = context.node.shard(shard) {
                shard.wait_edges(before, &mut edges);
                shard.waited_locks(before, &mut locks);
            }
        }
        // One empty report after the last edges, to say that they are gone.
        if !edges.is_empty() || self.has_reported_edges {
            self.has_reported_edges = !edges.is_empty();
            context.send(detector, Message::WaitEdges(WaitEdges { edges, locks }));
        }
    }

    /// The waits that nodes which are over have told of are over too.
    pub(crate) fn forget(&mut self, is_over: impl Fn(NodeId) -> bool) {
        self.reports.retain(|from, _| !is_over(from.node));
        // The next detector has heard nothing yet.
        self.has_reported_edges = true;
    }

    pub(crate) fn on_wait_edges(
        &mut self,
        from: Address,
        message: WaitEdges,
        context: &mut Context<'_>,
    ) {
        let report = self.reports.entry(from).or_default();
        report.previous = std::mem::replace(&mut report.current, message.edges);
        report.locks = message.locks;
        let mut graph = Graph::default();
        for report in self.reports.values() {
            graph.add(report.current.iter().filter(|edge| report.previous.contains(edge)));
        }
        let tell_again = context.now.saturating_sub(BREAK_DEADLOCK_AGAIN_US);
        self.broken
            .retain(|victim, told| graph.waits_for.contains_key(victim) && *told > tell_again);
        for victim in self.broken.keys() {
            graph.waits_for.remove(victim);
        }
        while let Some((victim, cycle)) = graph.take_cycle() {
            self.broken.insert(victim, context.now);
            let members = members(&cycle, self.reports.values().map(Report::waits));
            self.records.add(victim, members, context);
            tell(victim, context);
        }
    }

    /// A node has found a circle of its own and broken it.
    pub(crate) fn on_deadlock_found(&mut self, message: DeadlockFound, context: &mut Context<'_>) {
        self.records.add(message.victim, message.members, context);
    }

    pub(crate) fn on_deadlock_answer(&mut self, message: &DeadlockAnswer) {
        self.records.complete(message);
    }

    /// The deadlocks remembered here, newest first.
    pub(crate) fn report(&self, now: Time) -> Vec<DeadlockReport> {
        self.records.report(now)
    }
}

/// These transactions have begun to wait for a lock on this node: breaks the circles over several of its shards that there
/// are now. Holds one shard at a time, so an edge may be over when the next shard is looked at; but edges that are there
/// in two walks in a row were all there between the two, and such a circle does not end by itself.
pub(crate) fn on_waits_begun(waiters: &[TransactionId], context: &mut Context<'_>) {
    let state = context.state;
    let here = context.address.node;
    let mut shards = context.node.local_shards();
    shards.retain(|shard| state.primary(*shard) == here);
    // Within a shard the circle was found by its lock table.
    if shards.len() < 2 || context.node.mutation == Mutation::DeadlocksIgnored {
        return;
    }
    let waits = |shard: &ShardId| context.node.shard(*shard).map_or(0, |own| own.wait_count());
    if shards.iter().map(waits).sum::<usize>() > WAITS_LOOKED_AT_MAX {
        return;
    }
    // Is there a circle at all? Few edges tell.
    let few = walk(&shards, Shard::next_wait_edges, context);
    let mut graph = Graph::default();
    graph.add(few.iter());
    if !waiters.iter().any(|waiter| graph.leads_back_to(*waiter)) {
        return;
    }
    let edges = |shard: &Shard, edges: &mut Vec<WaitEdge>| shard.wait_edges(Time::MAX, edges);
    let first = walk(&shards, edges, context);
    let second = walk(&shards, edges, context);
    let mut graph = Graph::default();
    graph.add(first.iter().filter(|edge| second.contains(edge)));
    while let Some((victim, cycle)) = graph.take_cycle() {
        let locks = walk(&shards, |shard, locks| shard.waited_locks(Time::MAX, locks), context);
        let members = members(&cycle, std::iter::once((&second[..], &locks[..])));
        if let Some(detector) = sequencer_address(context) {
            context.send(detector, Message::DeadlockFound(DeadlockFound { victim, members }));
        }
        tell(victim, context);
    }
}

/// What these shards tell of their waits, one shard after the other.
fn walk<T>(
    shards: &[ShardId],
    told_by: impl Fn(&Shard, &mut Vec<T>),
    context: &Context<'_>,
) -> Vec<T> {
    let mut told = Vec::new();
    for shard in shards {
        if let Some(shard) = context.node.shard(*shard) {
            told_by(&shard, &mut told);
        }
    }
    told
}

/// Wait edges, and the locks that are waited for.
type Waits<'a> = (&'a [WaitEdge], &'a [(TransactionId, LockedThing)]);

/// The transactions of a circle, each with the lock for which it waits for the next one.
fn members<'a>(
    cycle: &[TransactionId],
    waits: impl Iterator<Item = Waits<'a>> + Clone,
) -> Vec<DeadlockMember> {
    let lock = |waiter: TransactionId, holder: TransactionId| {
        let is_it = |edge: &WaitEdge| edge.waiter == waiter && edge.holder == holder;
        let (_, locks) = waits.clone().find(|(edges, _)| edges.iter().any(is_it))?;
        let found = locks.iter().find(|(own, _)| *own == waiter);
        found.map(|(_, lock)| lock.clone())
    };
    let holders = cycle.iter().cycle().skip(1);
    let pairs = cycle.iter().zip(holders).take(DEADLOCK_MEMBERS_MAX);
    let member = |(waiter, holder): (&TransactionId, &TransactionId)| DeadlockMember {
        transaction: *waiter,
        lock: lock(*waiter, *holder),
        connection: None,
    };
    pairs.map(member).collect()
}

fn tell(victim: TransactionId, context: &mut Context<'_>) {
    let message = Message::BreakDeadlock(BreakDeadlock { transaction: victim });
    context.send(victim.coordinator, message);
}

/// The waits between transactions.
#[derive(Default)]
struct Graph {
    started: BTreeMap<TransactionId, u64>,
    waits_for: BTreeMap<TransactionId, Vec<TransactionId>>,
}

impl Graph {
    fn add<'a>(&mut self, edges: impl Iterator<Item = &'a WaitEdge>) {
        for edge in edges {
            self.started.insert(edge.waiter, edge.started);
            self.waits_for.entry(edge.waiter).or_default().push(edge.holder);
        }
    }

    /// Some circle, whose youngest is taken out of the graph; none if there is no circle.
    fn take_cycle(&mut self) -> Option<(TransactionId, Vec<TransactionId>)> {
        let cycle = find_cycle(&self.waits_for)?;
        let victim = youngest(&cycle, &self.started);
        self.waits_for.remove(&victim);
        Some((victim, cycle))
    }

    /// Does a transaction wait for itself, by way of others?
    fn leads_back_to(&self, transaction: TransactionId) -> bool {
        let mut reached = BTreeSet::new();
        let mut left = vec![transaction];
        while let Some(next) = left.pop() {
            for holder in self.waits_for.get(&next).into_iter().flatten() {
                if *holder == transaction {
                    return true;
                }
                if reached.insert(*holder) {
                    left.push(*holder);
                }
            }
        }
        false
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

    /// A transaction that closes a circle leads back to itself; one that waits in line, or for a circle of others, does not.
    #[test]
    fn a_circle_leads_back() {
        let waits_for = graph(&[(1, 2), (2, 3), (3, 2), (4, 5), (5, 6), (6, 4)]);
        let graph = Graph { waits_for, ..Graph::default() };
        let led_back: Vec<u64> =
            (1..=7).filter(|number| graph.leads_back_to(transaction(*number))).collect();
        assert_eq!(led_back, [2, 3, 4, 5, 6]);
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
