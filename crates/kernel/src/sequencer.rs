//! The sequencer block: timestamps for snapshots and commits (rules.md#timestamps), and the horizon below which versions may
//! go. Its only state is the epoch: a takeover copies nothing (rule R23).
//!
//! One node is the sequencer: its counter, with its epoch in the high bits, orders all commits. Its
//! own workers take from the counter directly (but a request that one had sent to another node
//! before a takeover is sent again); workers of other nodes send requests, one under way at a time,
//! so that all waiting sessions share the cost. A snapshot must be granted after its session needed
//! it (otherwise it could miss a commit that the session knows of), so a session that comes while a
//! request is under way uses the next one.
//!
//! The horizon (rule R14): each worker reports its oldest snapshot. Grants that a report cannot know of yet are remembered here
//! until a report says that they arrived, so the horizon never passes a snapshot on its way.

use std::collections::{BTreeMap, VecDeque};

use protocol::Message;
use protocol::message::{
    HorizonAdvanced, HorizonReport, SnapshotGranted, SnapshotRequest, TimestampGranted,
    TimestampRequest,
};
use protocol::request::SessionId;
use types::{Address, NodeId, ShardId, Timestamp, TransactionId, WorkerId};

use crate::coordinator::Coordinator;
use crate::limits::HORIZON_INTERVAL_US;
use crate::node::Mutation;
use crate::participant::sequencer_address;
use crate::worker::{Context, Time, Wanted};

#[derive(Default)]
pub struct SequencerBlock {
    // As a worker that requests.
    request_last: u64,
    /// Sessions of the request under way, and those of the next.
    snapshots_asked: Vec<(SessionId, u64)>,
    snapshots_waiting: Vec<(SessionId, u64)>,
    snapshot_granted_last: u64,
    timestamps_asked: VecDeque<(u64, Vec<(ShardId, TransactionId)>)>,
    report_next: Time,

    // On the sequencer's worker 0.
    reporters: BTreeMap<Address, Reporter>,
    /// Requests for snapshots without a lease: a snapshot might be older than commits elsewhere (rule R3).
    unleased: Vec<(Address, SnapshotRequest)>,
    horizon_next: Time,
}

#[derive(Default)]
struct Reporter {
    oldest: Option<Timestamp>,
    has_reported: bool,
    /// Grants that no report has confirmed: (request, timestamp).
    unconfirmed: VecDeque<(u64, Timestamp)>,
}

impl SequencerBlock {
    pub fn new() -> SequencerBlock {
        SequencerBlock::default()
    }

    pub(crate) fn on_wanted(&mut self, wanted: Wanted, context: &mut Context<'_>) {
        let mutant = context.node.mutation == Mutation::SnapshotAskedBefore;
        if mutant && !self.snapshots_asked.is_empty() {
            self.snapshots_asked.extend(wanted.snapshots);
        } else {
            self.snapshots_waiting.extend(wanted.snapshots);
        }
        self.send_next_snapshot_request(context);
        if !wanted.timestamps.is_empty() {
            self.request_last += 1;
            let count = u32::try_from(wanted.timestamps.len()).expect("bounded by one step");
            self.timestamps_asked.push_back((self.request_last, wanted.timestamps));
            let request = TimestampRequest { request: self.request_last, count };
            self.send(Message::TimestampRequest(request), context);
        }
    }

    /// Sends in the view of the sequencer's group: a node that has not adopted its office yet does so first.
    fn send(&self, message: Message, context: &mut Context<'_>) {
        let sequencer = sequencer_address(context).expect("asked for only when views are formed");
        let group = context.state.group_of_node(sequencer.node).expect("a data node");
        context.send_in(group, sequencer, message);
    }

    /// Another sequencer has taken over: requests that the earlier one, if it died, did not grant
    /// are sent again, and the new one learns the open snapshots from their nodes.
    pub(crate) fn on_takeover(&mut self, context: &mut Context<'_>) {
        self.unleased.clear();
        self.snapshots_waiting.splice(0..0, self.snapshots_asked.drain(..));
        let timestamps = self.timestamps_asked.drain(..).flat_map(|(_, asked)| asked).collect();
        self.report_next = context.now;
        let wanted = Wanted { timestamps, ..Wanted::default() };
        self.on_wanted(wanted, context);
    }

    /// Boots of these nodes are over: what they had open is closed, and the next ones have not reported yet.
    pub(crate) fn forget(&mut self, is_over: impl Fn(NodeId) -> bool) {
        self.reporters.retain(|from, _| !is_over(from.node));
        self.unleased.retain(|(from, _)| !is_over(from.node));
    }

    pub(crate) fn send_next_snapshot_request(&mut self, context: &mut Context<'_>) {
        if !self.snapshots_asked.is_empty() || self.snapshots_waiting.is_empty() {
            return;
        }
        self.snapshots_asked = std::mem::take(&mut self.snapshots_waiting);
        self.request_last += 1;
        let request = SnapshotRequest { request: self.request_last };
        self.send(Message::SnapshotRequest(request), context);
    }

    /// The sessions and requests that the grant is for.
    pub(crate) fn on_snapshot_granted(
        &mut self,
        message: &SnapshotGranted,
    ) -> Vec<(SessionId, u64)> {
        assert!(message.request <= self.request_last);
        self.snapshot_granted_last = message.request;
        std::mem::take(&mut self.snapshots_asked)
    }

    pub(crate) fn on_timestamp_granted(
        &mut self,
        message: &TimestampGranted,
    ) -> Vec<(ShardId, TransactionId, Timestamp)> {
        let (request, transactions) =
            self.timestamps_asked.pop_front().expect("granted because it was asked for");
        assert_eq!(request, message.request, "grants come in the order of the requests");
        assert_eq!(message.count as usize, transactions.len());
        let numbered = transactions.into_iter().zip(message.first.0..);
        numbered.map(|((shard, transaction), ts)| (shard, transaction, Timestamp(ts))).collect()
    }

    // The sequencer's side.

    pub(crate) fn on_snapshot_request(
        &mut self,
        from: Address,
        message: &SnapshotRequest,
        context: &mut Context<'_>,
    ) {
        assert_is_sequencer(context);
        if !context.node.has_lease(context.now) {
            self.unleased.push((from, message.clone()));
            return;
        }
        let at = context.node.last_timestamp();
        let reporter = self.reporters.entry(from).or_default();
        reporter.unconfirmed.push_back((message.request, at));
        let granted = SnapshotGranted { request: message.request, at };
        context.send(from, Message::SnapshotGranted(granted));
    }

    pub(crate) fn on_timestamp_request(
        &mut self,
        from: Address,
        message: &TimestampRequest,
        context: &mut Context<'_>,
    ) {
        assert_is_sequencer(context);
        let first = context.node.next_timestamps(message.count);
        let granted = TimestampGranted { request: message.request, first, count: message.count };
        context.send(from, Message::TimestampGranted(granted));
    }

    pub(crate) fn on_horizon_report(&mut self, from: Address, message: &HorizonReport) {
        let reporter = self.reporters.entry(from).or_default();
        reporter.has_reported = true;
        reporter.oldest = message.oldest;
        while reporter.unconfirmed.front().is_some_and(|(request, _)| *request <= message.granted) {
            reporter.unconfirmed.pop_front();
        }
    }

    pub(crate) fn on_tick(&mut self, coordinator: &Coordinator, context: &mut Context<'_>) {
        let Some(sequencer) = sequencer_address(context) else { return };
        if context.now >= self.report_next {
            self.report_next = context.now + HORIZON_INTERVAL_US;
            let report = HorizonReport {
                oldest: coordinator.oldest_snapshot(),
                granted: self.snapshot_granted_last,
            };
            self.send(Message::HorizonReport(report), context);
        }
        if sequencer == context.address && context.node.has_lease(context.now) {
            for (from, request) in std::mem::take(&mut self.unleased) {
                self.on_snapshot_request(from, &request, context);
            }
        }
        if sequencer == context.address && context.now >= self.horizon_next {
            self.horizon_next = context.now + HORIZON_INTERVAL_US;
            self.advance_horizon(context);
        }
    }

    /// Tells every data node the horizon and the cluster's time.
    fn advance_horizon(&mut self, context: &mut Context<'_>) {
        if let Some(horizon) = self.oldest_snapshot(context) {
            context.node.advance_horizon(horizon);
        }
        // The first sequencer's clock is the cluster's; a later one continues from the last time it received.
        let time = context.node.cluster_time(context.now).unwrap_or(context.now);
        context.node.learn_cluster_time(time, context.now);
        let horizon = context.node.horizon();
        let here = context.address.node;
        for node in context.state.data_nodes().into_iter().filter(|node| *node != here) {
            let first = Address { node, worker: WorkerId(0) };
            // The last of a group is not excluded when it dies, and each of these is worth all before it.
            if !context.is_half_full(first, false) {
                context.send(first, Message::HorizonAdvanced(HorizonAdvanced { horizon, time }));
            }
        }
    }

    /// Of all nodes; none while one of them has not reported.
    fn oldest_snapshot(&self, context: &Context<'_>) -> Option<Timestamp> {
        if context.node.mutation == Mutation::HorizonPassesOpen {
            return Some(context.node.last_timestamp());
        }
        let mut horizon = context.node.oldest_snapshot();
        for node in context.state.data_nodes() {
            for address in context.workers_of(node) {
                let reporter = self.reporters.get(&address).filter(|known| known.has_reported)?;
                let mutant = context.node.mutation == Mutation::HorizonPassesGrants;
                let unconfirmed =
                    reporter.unconfirmed.front().filter(|_| !mutant).map(|(_, at)| *at);
                let oldest = reporter.oldest.into_iter().chain(unconfirmed).min();
                horizon = oldest.map_or(horizon, |oldest| horizon.min(oldest));
            }
        }
        Some(horizon)
    }
}

fn assert_is_sequencer(context: &Context<'_>) {
    let sequencer = sequencer_address(context).expect("views are formed");
    assert_eq!(sequencer, context.address, "only the sequencer gives out timestamps");
}
