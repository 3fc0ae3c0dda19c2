//! The leader's part in planned changes: which node may hand over, when, and for how long others
//! wait for it ([`crate::handover`]).

use protocol::Message;
use protocol::control::{ControlEntry, ControlState, Group, Handover, HandoverPurpose};
use protocol::message::AskLeave;
use types::{Address, Incarnation, NodeId, WorkerId};

use crate::limits::{
    HANDOVER_PAUSE_US, LEAVE_PATIENCE_US, LEAVE_PAUSE_MAX_US, RESEND_INTERVAL_US, SHARE_AFTER_US,
    SHARE_PATIENCE_US, SHARE_PAUSE_MAX_US,
};
use crate::worker::{Context, Time};

#[derive(Default)]
pub(super) struct Handovers {
    /// When this node asks again to be relieved.
    ask_next: Time,

    // The leader's.
    /// The handover there is, and since when this leader knows of it.
    since: Option<(u64, Time)>,
    /// When its end is proposed again: a proposal may be lost with a term.
    end_next: Time,
    leaves: Attempts,
    shares: Attempts,
}

/// Handovers of one purpose that came to nothing are tried again after a pause, which grows.
#[derive(Default)]
struct Attempts {
    next: Time,
    failed: u32,
}

impl Attempts {
    /// A handover begins now; the pause after it is twice the one before, `pause_max` at most.
    fn begin(&mut self, now: Time, pause_max: Time) {
        let pause = HANDOVER_PAUSE_US << self.failed.min(16);
        self.next = now + pause.min(pause_max);
        self.failed += 1;
    }
}

impl Handovers {
    /// A node that is to stop asks to be relieved until this boot is out.
    pub fn on_tick(&mut self, state: &ControlState, context: &mut Context<'_>) {
        let incarnation = context.node.incarnation;
        let is_in = state.incarnations.get(&context.address.node) == Some(&incarnation);
        if !context.node.is_leaving() || !is_in || context.now < self.ask_next {
            return;
        }
        self.ask_next = context.now + RESEND_INTERVAL_US;
        for voter in context.node.config.voters() {
            let to = Address { node: voter, worker: WorkerId(0) };
            context.send(to, Message::AskLeave(AskLeave { incarnation }));
        }
    }

    /// A node asks the leader to relieve it. Returns the entries to propose.
    pub fn on_ask_leave(
        &mut self,
        node: NodeId,
        incarnation: Incarnation,
        state: &ControlState,
        now: Time,
    ) -> Option<ControlEntry> {
        let purpose = HandoverPurpose::Leave;
        // What it leads need not be shared before.
        self.shares.next = self.shares.next.max(now + SHARE_AFTER_US);
        if now < self.leaves.next || !state.may_hand_over(node, incarnation, purpose) {
            return None;
        }
        self.leaves.begin(now, LEAVE_PAUSE_MAX_US);
        Some(ControlEntry::BeginHandover { node, incarnation, purpose })
    }

    /// Nothing is under way anywhere. What the leader is to propose.
    pub fn on_ready(
        &mut self,
        from: NodeId,
        begun: u64,
        state: &ControlState,
        now: Time,
    ) -> Option<ControlEntry> {
        let is_it = |handover: &Handover| handover.node == from && handover.begun == begun;
        state.handover.filter(is_it)?;
        self.end(begun, true, now)
    }

    fn end(&mut self, begun: u64, done: bool, now: Time) -> Option<ControlEntry> {
        if now < self.end_next {
            return None;
        }
        self.end_next = now + RESEND_INTERVAL_US;
        Some(ControlEntry::EndHandover { begun, done })
    }

    /// The leader's part of a tick: gives up what takes too long, and has nodes that came back lead their share again. What it is
    /// to propose, and to write into its log.
    pub fn lead(&mut self, state: &ControlState, now: Time) -> Option<(ControlEntry, String)> {
        let Some(handover) = state.handover else {
            self.since = None;
            return self.share(state, now);
        };
        let since = match self.since {
            Some((begun, since)) if begun == handover.begun => since,
            _ => now,
        };
        self.since = Some((handover.begun, since));
        let patience = match handover.purpose {
            HandoverPurpose::Leave => LEAVE_PATIENCE_US,
            HandoverPurpose::Share => SHARE_PATIENCE_US,
        };
        if now < since + patience {
            return None;
        }
        let why = format!(
            "node {} does not hand over yet: for {} ms there was a transaction that had begun and not ended, or a snapshot older than \
             a node's return; it is tried again",
            handover.node,
            patience / 1_000
        );
        Some((self.end(handover.begun, false, now)?, why))
    }

    /// Another node leads.
    pub fn follow(&mut self) {
        self.since = None;
        self.end_next = 0;
    }

    fn share(&mut self, state: &ControlState, now: Time) -> Option<(ControlEntry, String)> {
        if now < self.shares.next || !state.is_formed() {
            return None;
        }
        self.shares.next = now + SHARE_AFTER_US;
        let purpose = HandoverPurpose::Share;
        let (node, incarnation) = state.groups.values().find_map(|group| {
            let node = group.leads_too_much()?;
            let incarnation = *state.incarnations.get(&node)?;
            state.may_hand_over(node, incarnation, purpose).then_some((node, incarnation))
        })?;
        self.shares.begin(now, SHARE_PAUSE_MAX_US);
        let why = format!("node {node} gives back what it leads for others");
        Some((ControlEntry::BeginHandover { node, incarnation, purpose }, why))
    }

    /// The views have changed: a node that came back has a moment to settle, and a handover that failed may succeed now.
    pub fn on_views(&mut self, now: Time) {
        self.leaves = Attempts::default();
        self.shares = Attempts { next: now + SHARE_AFTER_US, failed: 0 };
    }
}

/// Why the operator had better not stop this node: with it would go the last copy of rows, or the quorum of the voters. `there` are
/// the nodes that take part and are heard.
pub(super) fn why_not_stop(node: NodeId, there: &[NodeId], state: &ControlState) -> Option<String> {
    if state.config.node(node).is_none() {
        return Some(format!("there is no node {node}"));
    }
    if !state.is_formed() {
        return Some("the cluster is starting: not every node is there yet".into());
    }
    if !there.contains(&node) {
        return Some(format!("node {node} does not run, or has not joined the cluster yet"));
    }
    why_not_lose_copy(node, state).or_else(|| why_not_lose_vote(node, there, state))
}

fn why_not_lose_copy(node: NodeId, state: &ControlState) -> Option<String> {
    let group = state.group(state.group_of_node(node)?);
    if !group.active().any(|active| active == node) {
        return None;
    }
    match (group.active().count(), group.learner()) {
        (1, None) => Some(format!(
            "node {node} has the only copy of its rows, which would be lost; `skarv down` stops the whole cluster"
        )),
        (1, Some(learner)) => Some(format!(
            "node {node} has the only whole copy of its rows, and node {learner} is being filled: wait until that is done \
             (ALL STATUS shows how far it is)"
        )),
        _ => {
            // Its records do not end, so no node hands over meanwhile.
            let learner = state.groups.values().find_map(Group::learner)?;
            Some(format!(
                "node {learner} is being filled: wait until that is done (ALL STATUS shows how far it is)"
            ))
        }
    }
}

fn why_not_lose_vote(node: NodeId, there: &[NodeId], state: &ControlState) -> Option<String> {
    let voters = state.config.voters();
    let needed = voters.len() / 2 + 1;
    let left = voters.iter().filter(|voter| **voter != node && there.contains(voter)).count();
    if !voters.contains(&node) {
        return None;
    }
    if voters.len() == 1 {
        return Some(format!("node {node} is the only voter: without it nobody would be answered"));
    }
    (left < needed).then(|| {
        format!(
            "without node {node} only {left} of {} voters would run, and nobody would be answered: {needed} are needed",
            voters.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::state::apply;
    use protocol::control::{ClusterConfig, HEARTBEAT_MS_DEFAULT, NodeConfig};
    use types::{ClusterId, Home};

    /// The end of a handover is proposed again and again, by this leader and by the next one: a proposal may be lost with its term.
    #[test]
    fn the_end_is_proposed_until_it_is_there() {
        let node = |id: u16| NodeConfig { id: NodeId(id), voter: id == 2, data: true, workers: 1 };
        let config = ClusterConfig {
            cluster: ClusterId(7),
            nodes: vec![node(2), node(3)],
            replicas: 2,
            shards_per_group: 2,
            heartbeat_ms: HEARTBEAT_MS_DEFAULT,
            durability: protocol::control::Durability::default(),
        };
        let mut state = ControlState::new(config, crate::bootstrap_catalogue());
        for id in [2, 3] {
            let (node, incarnation) = (NodeId(id), Incarnation(u64::from(id)));
            apply(
                &mut state,
                &ControlEntry::RegisterNode {
                    node,
                    incarnation,
                    home: Home(u64::from(id)),
                    has_rows: false,
                },
            );
        }
        let mut handovers = Handovers::default();
        let (node, incarnation) = (NodeId(3), Incarnation(3));
        let asked = handovers.on_ask_leave(node, incarnation, &state, 1);
        apply(&mut state, &asked.expect("it may leave"));
        let begun = state.handover.expect("begun").begun;
        let is_end = |entry: Option<ControlEntry>, wanted: bool| match entry {
            Some(ControlEntry::EndHandover { begun: of, done }) => of == begun && done == wanted,
            _ => false,
        };
        let given_up =
            |handovers: &mut Handovers, now| handovers.lead(&state, now).map(|(entry, _)| entry);

        let began = 10;
        assert!(given_up(&mut handovers, began).is_none());
        assert!(given_up(&mut handovers, began + LEAVE_PATIENCE_US - 1).is_none());
        let late = began + LEAVE_PATIENCE_US;
        assert!(is_end(given_up(&mut handovers, late), false));
        assert!(given_up(&mut handovers, late + RESEND_INTERVAL_US - 1).is_none(), "just done");
        assert!(is_end(given_up(&mut handovers, late + RESEND_INTERVAL_US), false));

        // Another leader in between: this one begins to wait anew, and serves requests at once.
        handovers.follow();
        let again = late + RESEND_INTERVAL_US + 1;
        assert!(given_up(&mut handovers, again).is_none());
        assert!(handovers.on_ready(NodeId(2), begun, &state, again).is_none(), "not that node's");
        assert!(handovers.on_ready(node, begun + 1, &state, again).is_none(), "another one");
        assert!(is_end(handovers.on_ready(node, begun, &state, again), true));
        let next = again + RESEND_INTERVAL_US;
        assert!(
            is_end(handovers.on_ready(node, begun, &state, next), true),
            "lost, and said again"
        );
        apply(&mut state, &ControlEntry::EndHandover { begun, done: true });
        assert!(state.is_over(incarnation) && state.handover.is_none());
    }
}
