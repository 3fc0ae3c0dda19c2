//! Heartbeats, read leases, and the exclusion of nodes that are silent or cut off (rule R3).
//!
//! Every node sends all others a heartbeat, with the nodes that it does not hear. The leader
//! answers with a lease: until three heartbeats after the node *sent* its own, by its own clock, the
//! node may answer reads. A node without a lease holds its answers back ([`crate::participant`]),
//! and a sequencer without one its snapshots.
//!
//! ```text
//!   node      Alive{at}                                    answers reads until at + 3 heartbeats
//!                  \                                      /
//!   leader          granted now: excludes the node not before now + 3.5 heartbeats
//! ```
//!
//! So when the entry that excludes a node is proposed, the node's last lease has ended, whatever
//! happened to its messages, and however long the node or the leader was frozen in between. Half a
//! heartbeat covers clocks of different speeds. A leader answers for earlier leaders, too: it
//! excludes no node before that time has passed since its election, and grants no lease unless no
//! other leader can have been elected: a quorum has answered heartbeats that it sent less than an
//! election timeout ago ([`Raft::round_of_quorum`]). It knows the entries that an earlier leader
//! has committed when an entry of its own term is applied.
//!
//! A node is *condemned*, and gets no more leases, when the leader has heard nothing of it for four
//! heartbeats, or when it and another data node, or the leader, do not hear each other: then one of
//! the two is excluded. The leader never condemns the last active member of a group, nor a node
//! whose heirs it does not hear; and it excludes no node whose heirs have not sent a heartbeat
//! since.
//!
//! A node that sends heartbeats and hangs, as its waiting peers report ([`crate::pace`]), is
//! condemned, too; if it reports the same of them, their link is broken. So is a node that has been
//! slow for long ([`super::slow`]); if it comes back slow it is admitted only after a pause. A
//! learner counts when it and all active nodes have reported that they hear each other
//! ([`Leases::is_connected`]).
//!
//! Silence counts only while this node was awake itself: a frozen node has heard no other because
//! of its own fault.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use protocol::Message;
use protocol::control::{ControlState, Group};
use protocol::message::{Alive, LeaseGranted, Memory, Room, RoundTrip};
use types::{Address, Incarnation, NodeId, WorkerId};

use super::raft::Raft;
use super::slow::SlowNodes;
use crate::limits::{
    AWAY_HEARTBEATS, CONNECTED_AFTER_US, CUT_OFF_AFTER_US, LEASE_ASK_INTERVAL_US, RAFT_LEADS_US,
    SLOW_HEARTBEATS, TICK_INTERVAL_US,
};
use crate::node::Mutation;
use crate::worker::{Context, Origin, Time};

/// What a leader keeps of heartbeats that no quorum has answered.
const ROUNDS_KEPT_MAX: usize = 64;

#[derive(Default)]
pub(super) struct Leases {
    alive_sent: Time,
    /// What was said then of this node's disk.
    room_told: Room,
    behind_told: bool,
    /// And of its memory.
    memory_told: Memory,
    /// And the nodes that it did not hear.
    unheard_told: BTreeSet<NodeId>,
    /// The last tick, and since when no two of them were far apart.
    ticked_at: Time,
    awake_since: Time,
    started_at: Time,
    /// Since when this node has no lease that it needs.
    unleased_since: Option<Time>,
    /// Times at which boots were admitted, since this node runs.
    let_in: BTreeMap<Incarnation, Time>,
    /// When something had come from a node that was not handed out.
    unread: BTreeMap<NodeId, Time>,
    /// Who has said that it is about to stop, and when.
    stopping: BTreeMap<NodeId, Time>,

    // The leader's, of its term.
    term: u64,
    led_since: Time,
    /// When rounds of heartbeats were begun.
    rounds: VecDeque<(u64, Time)>,
    /// The last lease of each boot.
    granted: BTreeMap<Incarnation, Time>,
    /// Boots whose exclusion is in the log, and not applied yet.
    proposed: BTreeSet<Incarnation>,
    /// What each node said last.
    said: BTreeMap<NodeId, Said>,
    slow: SlowNodes,
    /// Why each of them gets no lease.
    condemned: BTreeMap<NodeId, String>,
    /// Those of them that are only slow.
    condemned_slow: BTreeSet<NodeId>,
}

/// A boot's last report: its time, and the nodes that the boot does not hear.
struct Said {
    boot: Incarnation,
    at: Time,
    unheard: Vec<NodeId>,
    stalled: Vec<NodeId>,
    round_trips: Vec<RoundTrip>,
}

/// The leader has answered what this node said then.
pub(crate) fn on_granted(message: &LeaseGranted, context: &mut Context<'_>) {
    let node = context.node;
    if message.incarnation == node.incarnation && message.at <= context.now {
        let mutant = node.mutation == Mutation::LeaseFromArrival;
        let from = if mutant { context.now } else { message.at };
        node.extend_lease(from + node.lease_us());
    }
}

impl Leases {
    pub fn on_tick(&mut self, state: &ControlState, context: &mut Context<'_>) {
        let away = AWAY_HEARTBEATS * context.node.heartbeat_us() + TICK_INTERVAL_US;
        if self.ticked_at == 0 {
            self.started_at = context.now;
        }
        if self.ticked_at == 0 || context.now > self.ticked_at + away {
            self.awake_since = context.now;
            self.unleased_since = None;
        }
        self.ticked_at = context.now;
        let node = context.node;
        // From when the lease is missed, not from when it ended: a node that was frozen, or needed none, could not ask.
        self.unleased_since = match node.has_lease(context.now) {
            true => None,
            false => Some(self.unleased_since.unwrap_or(context.now)),
        };
        node.set_cut_off(self.unleased_since.map(|since| since + CUT_OFF_AFTER_US));
        for other in others(context) {
            // What waits for its disk grows no more, and it may never say so: the last one of a group is not excluded.
            if node.is_disk_behind(other) && self.is_silent(other, context) {
                node.learn_disk_behind(other, false);
            }
        }
        let is_in = state.incarnations.get(&node.node) == Some(&node.incarnation);
        let must_ask = !is_in || state.is_formed() && !node.has_lease(context.now);
        // It counts once all have said that they hear it.
        let has_learner = state.groups.values().any(|group| group.learner().is_some());
        let interval = match must_ask || has_learner {
            true => node.heartbeat_us().min(LEASE_ASK_INTERVAL_US),
            false => node.heartbeat_us(),
        };
        let has_news = self.room_told != node.room_of(node.node)
            || self.behind_told != node.is_disk_behind(node.node)
            || node.memories.has_news_since(self.memory_told)
            || others(context)
                .any(|other| !self.unheard_told.contains(&other) && self.is_silent(other, context));
        if self.alive_sent == 0 || has_news || context.now >= self.alive_sent + interval {
            self.send_alive(context);
        }
    }

    /// Tells all others that this node lives.
    pub fn send_alive(&mut self, context: &mut Context<'_>) {
        self.alive_sent = context.now;
        let is_stopping = context.node.is_stopping();
        self.unheard_told =
            others(context).filter(|other| self.is_silent(*other, context)).collect();
        let unheard = self.unheard_told.iter().copied().collect();
        let stalled = context.node.stalled(context.now);
        let round_trips = context.node.round_trips(context.now);
        let room = context.node.room_of(context.node.node);
        let is_disk_behind = context.node.is_disk_behind(context.node.node);
        let memory = context.node.memories.own();
        (self.room_told, self.behind_told, self.memory_told) = (room, is_disk_behind, memory);
        let message = Message::Alive(Alive {
            at: context.now,
            unheard,
            stalled,
            round_trips,
            is_stopping,
            room,
            is_disk_behind,
            memory,
        });
        for node in others(context) {
            let to = Address { node, worker: WorkerId(0) };
            context.channels.send_unnumbered(to, &message, context.outbox);
        }
    }

    /// Has nothing been heard of it for too long, or ever?
    pub fn is_silent(&self, node: NodeId, context: &Context<'_>) -> bool {
        match heard_at(node, context) {
            0 => true,
            heard_at => context.now > heard_at.max(self.awake_since) + context.node.silence_us(),
        }
    }

    /// The node that is about to stop, as far as this one has heard. One that has not said so for a while has stopped, or died.
    pub fn stopping(&self, context: &Context<'_>) -> Option<NodeId> {
        let own = context.node.is_stopping().then_some(context.node.node);
        let is_current = |node: &NodeId, at: Time| {
            context.state.incarnations.contains_key(node)
                && context.now < at + context.node.silence_us()
        };
        let mut others = self.stopping.iter();
        own.or_else(|| others.find(|(node, at)| is_current(node, **at)).map(|(node, _)| *node))
    }

    /// Does that boot of a node hear this one, as far as it has said?
    pub fn hears_us(&self, node: NodeId, boot: Incarnation, context: &Context<'_>) -> bool {
        let said = self.said.get(&node).filter(|said| said.boot == boot);
        let here = context.node.node;
        node == here || said.is_some_and(|said| !said.unheard.contains(&here))
    }

    /// The leader's part of a tick, behind Raft's own: the nodes that get no leases, and this
    /// node's own lease. Returns the nodes to exclude now, with the reasons.
    pub fn lead(
        &mut self,
        raft: &Raft,
        state: &ControlState,
        context: &mut Context<'_>,
    ) -> Vec<(NodeId, Incarnation, String)> {
        if raft.term() != self.term {
            self.term = raft.term();
            self.led_since = context.now;
            self.rounds.clear();
            self.granted.clear();
            self.proposed.clear();
            self.said.clear();
            self.slow.clear();
            self.condemned.clear();
        }
        if self.rounds.back().is_none_or(|(round, _)| *round < raft.round()) {
            // Before it leaves: the time is that of this step.
            self.rounds.push_back((raft.round(), context.now));
        }
        let answered = raft.round_of_quorum();
        while self.rounds.len() > ROUNDS_KEPT_MAX
            || self.rounds.get(1).is_some_and(|(round, _)| *round <= answered)
        {
            self.rounds.pop_front();
        }
        if !state.is_formed() {
            return Vec::new();
        }
        self.watch_slow(state, context);
        (self.condemned, self.condemned_slow) = self.condemn(state, context);
        let (here, own) = (context.address.node, context.node.incarnation);
        if self.may_grant(raft, here, own, state, context) {
            self.granted.insert(own, context.now);
            context.node.extend_lease(context.now + context.node.lease_us());
        }
        let mut excluded = Vec::new();
        for (node, why) in &self.condemned {
            let boot = state.incarnations[node];
            let granted = self.granted.get(&boot).copied().unwrap_or(0).max(self.led_since);
            let over = granted + context.node.lease_us() + context.node.heartbeat_us() / 2;
            let is_over =
                context.now > over || context.node.mutation == Mutation::LeaseNotWaitedFor;
            // Those that are left had better be there: if they died meanwhile, this one has the last copy.
            let is_there = |heir: NodeId| {
                heir == here || self.said_by(heir, state).is_some_and(|said| said.at > over)
            };
            let is_left = |heir: &NodeId| !self.condemned.contains_key(heir);
            let are_there = heirs(*node, state).filter(is_left).all(is_there);
            if is_over
                && are_there
                && self.leads_alone(raft, context)
                && !self.proposed.contains(&boot)
            {
                excluded.push((*node, boot, why.clone()));
            }
        }
        excluded
    }

    pub fn note_unread(&mut self, node: NodeId, now: Time) {
        self.unread.insert(node, now);
    }
    /// Has something come from it, now, that is not handled yet? That may say how it is.
    pub fn is_unread(&self, node: NodeId, now: Time) -> bool {
        self.unread.get(&node).is_some_and(|at| now < at + TICK_INTERVAL_US)
    }

    /// Who was slow, again and again.
    pub fn slow(&self) -> &SlowNodes {
        &self.slow
    }

    /// Another boot of the node is admitted. It has as much time as if it had a lease.
    pub fn on_registered(&mut self, node: NodeId, incarnation: Incarnation, now: Time) {
        self.granted.insert(incarnation, now);
        self.let_in.insert(incarnation, now);
        self.slow.on_registered(node, now);
    }
    /// Whether the node and all active nodes have reported, since it was admitted, that they hear
    /// each other. Until then a learner does not count: it would be excluded soon after, and the
    /// exclusion of an active node costs transactions; again and again, until a broken link is
    /// mended. No report is expected of a node that is silent altogether: the last of its group is
    /// not excluded, and may not come back for long.
    pub fn is_connected(&self, node: NodeId, state: &ControlState, context: &Context<'_>) -> bool {
        let (here, let_in) = (context.address.node, self.let_in_at(node, state));
        let says_so = |said: &Said, to| let_in <= said.at && !said.unheard.contains(&to);
        let hears = |from: NodeId, to: NodeId| match from == here {
            true => !self.is_silent(to, context),
            false => self.said_by(from, state).is_some_and(|said| says_so(said, to)),
        };
        let active = state.groups.values().flat_map(Group::active);
        let heard = active.filter(|other| *other != here && !self.is_silent(*other, context));
        let mut others = heard.chain([here]).filter(|other| *other != node);
        others.all(|other| hears(other, node) && hears(node, other))
    }
    /// Whether this leader has condemned a node.
    pub fn condemns(&self) -> bool {
        !self.condemned.is_empty()
    }
    /// Returns the time for which the node is not admitted again, in microseconds.
    pub fn on_proposed(
        &mut self,
        node: NodeId,
        incarnation: Incarnation,
        context: &Context<'_>,
    ) -> Time {
        self.proposed.insert(incarnation);
        match self.condemned_slow.contains(&node) {
            true => self.slow.on_proposed(node, context.node.heartbeat_us(), context.now),
            false => 0,
        }
    }
    /// The entry is applied, whatever it did.
    pub fn on_applied(&mut self, incarnation: Incarnation) {
        self.proposed.remove(&incarnation);
        self.granted.remove(&incarnation);
        self.let_in.remove(&incarnation);
    }

    pub fn on_alive(
        &mut self,
        raft: Option<&Raft>,
        state: &ControlState,
        from: Origin,
        message: &Alive,
        context: &mut Context<'_>,
    ) {
        let node = from.address.node;
        context.node.learn_room(node, message.room);
        context.node.learn_disk_behind(node, message.is_disk_behind);
        context.node.memories.learn(node, message.memory);
        if message.unheard.contains(&context.node.node) {
            // It is to hear this one soon, if it can.
            self.alive_sent = 0;
        }
        if message.is_stopping {
            self.stopping.insert(node, context.now);
        } else {
            self.stopping.remove(&node);
        }
        let Some(raft) = raft.filter(|raft| raft.is_leader() && raft.term() == self.term) else {
            return;
        };
        let Alive { unheard, stalled, round_trips, .. } = message.clone();
        let said = Said { boot: from.boot, at: context.now, unheard, stalled, round_trips };
        self.said.insert(node, said);
        if self.may_grant(raft, node, from.boot, state, context) {
            self.granted.insert(from.boot, context.now);
            let grant = LeaseGranted { incarnation: from.boot, at: message.at };
            let grant = Message::LeaseGranted(grant);
            context.channels.send_unnumbered(from.address, &grant, context.outbox);
        }
    }

    fn may_grant(
        &self,
        raft: &Raft,
        node: NodeId,
        incarnation: Incarnation,
        state: &ControlState,
        context: &Context<'_>,
    ) -> bool {
        state.incarnations.get(&node) == Some(&incarnation)
            && !self.condemned.contains_key(&node)
            && !self.proposed.contains(&incarnation)
            && self.leads_alone(raft, context)
    }

    /// Nobody else can have been elected, and what others have decided before is applied here.
    fn leads_alone(&self, raft: &Raft, context: &Context<'_>) -> bool {
        let answered = raft.round_of_quorum();
        let sent = self.rounds.iter().rev().find(|(round, _)| *round <= answered && *round > 0);
        let leads = sent.is_some_and(|(_, sent)| context.now < sent + RAFT_LEADS_US);
        raft.is_current_leader() && (leads || context.node.mutation == Mutation::GrantsUnchecked)
    }

    /// What the boot of a node that takes part said last.
    fn said_by(&self, node: NodeId, state: &ControlState) -> Option<&Said> {
        self.said.get(&node).filter(|said| state.incarnations.get(&node) == Some(&said.boot))
    }

    /// Whether the leader has received no heartbeat of the node, or no report of its state, for too
    /// long. A node that was admitted a while ago, or that the leader has not watched for long, may
    /// still be connecting.
    fn is_missing(&self, node: NodeId, state: &ControlState, context: &Context<'_>) -> bool {
        let is_new = self.is_new(node, state, context);
        match self.said_by(node, state) {
            _ if self.is_silent(node, context) => !is_new || heard_at(node, context) != 0,
            Some(said) => {
                let since = said.at.max(self.awake_since).max(self.led_since);
                let since = since.max(self.let_in_at(node, state));
                let is_over = context.now > since + context.node.silence_us();
                is_over && !self.is_unread(node, context.now)
            }
            None => !is_new,
        }
    }

    /// Not all of its connections need be there yet.
    fn is_new(&self, node: NodeId, state: &ControlState, context: &Context<'_>) -> bool {
        let let_in = self.let_in_at(node, state);
        context.now < let_in.max(self.started_at) + CONNECTED_AFTER_US
    }

    /// The time at which the node was admitted, or 0 for before this one began.
    fn let_in_at(&self, node: NodeId, state: &ControlState) -> Time {
        let boot = state.incarnations.get(&node);
        boot.and_then(|boot| self.let_in.get(boot)).copied().unwrap_or(0)
    }

    /// Who is to leave its group, and why.
    fn condemn(
        &self,
        state: &ControlState,
        context: &Context<'_>,
    ) -> (BTreeMap<NodeId, String>, BTreeSet<NodeId>) {
        let here = context.address.node;
        let mut nodes = state.data_nodes();
        nodes.retain(|node| state.incarnations.contains_key(node));
        let (silent, heard): (Vec<NodeId>, Vec<NodeId>) = nodes.iter().partition(|node| {
            is_replaced(**node, state, context)
                || **node != here && self.is_missing(**node, state, context)
        });
        let mut condemned = BTreeMap::new();
        for node in silent.iter().copied() {
            if may_go(node, state, &silent, &condemned) {
                let ms = context.node.silence_us() / 1_000;
                condemned.insert(node, format!("nothing was heard of it for {ms} ms"));
            }
        }
        let mut broken: BTreeSet<(NodeId, NodeId)> = BTreeSet::new();
        for node in heard.iter().copied().chain([here]) {
            let Some(said) = self.said_by(node, state) else { continue };
            for other in &said.unheard {
                // A report from before one of them was admitted is about the boot before, or from a stranger.
                let is_new = [node, *other].iter().any(|node| {
                    self.is_new(*node, state, context) || said.at < self.let_in_at(*node, state)
                });
                if *other != node && !is_new && (heard.contains(other) || *other == here) {
                    broken.insert((node.min(*other), node.max(*other)));
                }
            }
        }
        let hanging = match context.node.mutation {
            Mutation::HangingIsKept => Hanging::default(),
            _ => self.hanging(&heard, state, context),
        };
        broken.extend(hanging.broken);
        while let Some(node) = worst(&broken, state, &silent, &condemned, here) {
            let (pair, others) = broken.iter().partition(|(a, b)| *a == node || *b == node);
            let pair: BTreeSet<(NodeId, NodeId)> = pair;
            broken = others;
            let (a, b) = pair.first().expect("it is in one");
            condemned.insert(node, format!("nodes {a} and {b} do not hear each other"));
        }
        // An heir that is slow is better than one that hangs.
        let mut unfit = silent;
        unfit.extend(hanging.nodes.iter().map(|(_, node)| node));
        condemn_one_of_a_group(why_hanging(&hanging.nodes), &unfit, state, &mut condemned);
        unfit.extend(self.slow.nodes());
        let mut slow = self.slow.for_long(context.node.heartbeat_us(), context.now);
        slow.retain(|node, _| !condemned.contains_key(node));
        let slow_nodes: BTreeSet<NodeId> = slow.keys().copied().collect();
        condemn_one_of_a_group(slow, &unfit, state, &mut condemned);
        (condemned, slow_nodes)
    }

    /// Finds slow nodes, by the reports of nodes that are heard and connected.
    fn watch_slow(&mut self, state: &ControlState, context: &mut Context<'_>) {
        let (here, now, heartbeat) =
            (context.address.node, context.now, context.node.heartbeat_us());
        if !self.slow.is_due(now, heartbeat) || context.node.mutation == Mutation::SlowIsKept {
            return;
        }
        let nodes = state.incarnations.keys().copied();
        let nodes = nodes.filter(|node| *node == here || !self.is_silent(*node, context));
        let nodes = nodes.filter(|node| !self.is_new(*node, state, context));
        let nodes: BTreeSet<NodeId> = nodes.collect();
        let own = context.node.round_trips(now);
        let mut said: BTreeMap<(NodeId, NodeId), Time> = BTreeMap::new();
        for from in nodes.iter().copied() {
            let of_other = self.said_by(from, state);
            let of_other = of_other.filter(|said| now <= said.at + context.node.silence_us());
            let round_trips =
                if from == here { Some(&own) } else { of_other.map(|said| &said.round_trips) };
            for RoundTrip { node, microseconds } in round_trips.into_iter().flatten().copied() {
                if node != from && nodes.contains(&node) {
                    said.insert((from, node), microseconds);
                }
            }
        }
        for (node, how) in self.slow.watch(&said, heartbeat, now, self.awake_since) {
            if !may_go(node, state, &[], &BTreeMap::new()) {
                continue;
            }
            let seconds = (SLOW_HEARTBEATS * heartbeat).div_ceil(1_000_000);
            context.outbox.log.push(format!(
                "node {node} is slow: {how}; if that lasts for {seconds} s it is excluded, because others have its rows"
            ));
        }
    }

    /// Who hangs, of those that are heard (rule R22).
    fn hanging(&self, heard: &[NodeId], state: &ControlState, context: &Context<'_>) -> Hanging {
        let here = context.address.node;
        let is_old = |node: &NodeId| !self.is_new(*node, state, context);
        let voters = self.said.keys().copied().filter(|node| !self.is_silent(*node, context));
        let nodes = heard.iter().copied().chain(voters).chain([here]);
        let nodes: BTreeSet<NodeId> = nodes.filter(is_old).collect();
        let mut says: BTreeSet<(NodeId, NodeId)> = BTreeSet::new();
        for node in &nodes {
            let stalled = match *node == here {
                true => context.node.stalled(context.now),
                false => self.said_by(*node, state).map_or(Vec::new(), |said| said.stalled.clone()),
            };
            let others = stalled.into_iter().filter(|other| other != node && nodes.contains(other));
            says.extend(others.map(|other| (*node, other)));
        }
        let is_mutual = |(from, late): &(NodeId, NodeId)| says.contains(&(*late, *from));
        // The link between them does not work, whoever is at fault. Between a voter and a follower nothing depends on it.
        let matters = |node: &NodeId| heard.contains(node) || *node == here;
        let both = says.iter().filter(|pair| is_mutual(pair));
        let both = both.filter(|(a, b)| matters(a) && matters(b));
        let broken = both.map(|(a, b)| (*a.min(b), *a.max(b))).collect();
        // A node that alone reports several others reports its own fault. Learners, and nodes without rows, wait for no peer.
        let says_of = |node: NodeId| says.iter().filter(|(from, _)| *from == node).count();
        let said_of = |node: NodeId| says.iter().filter(|(_, late)| *late == node).count();
        let is_believed = |pair: &&(NodeId, NodeId)| {
            let (from, late) = **pair;
            !is_mutual(pair) && is_active(from, state) && said_of(late) >= says_of(from)
        };
        Hanging { broken, nodes: says.iter().filter(is_believed).copied().collect() }
    }
}

/// The nodes of the configuration but for this one.
fn others<'a>(context: &Context<'a>) -> impl Iterator<Item = NodeId> + use<'a> {
    let (here, config) = (context.node.node, &context.node.config);
    config.nodes.iter().map(|other| other.id).filter(move |other| *other != here)
}

/// When the boot of a node that takes part was heard last, or 0. Who takes part no more was heard when any boot of it was.
fn heard_at(node: NodeId, context: &Context<'_>) -> Time {
    let member = context.state.incarnations.get(&node);
    let is_another = member.is_some_and(|boot| *boot != context.node.heard_boot(node));
    if is_another { 0 } else { context.node.heard_at(node) }
}

/// Whether another boot of the node has come, whatever the state has: the earlier boot is over, and is no heir.
pub fn is_replaced(node: NodeId, state: &ControlState, context: &Context<'_>) -> bool {
    let first = Address { node, worker: WorkerId(0) };
    let there = match node == context.address.node {
        true => Some(context.node.incarnation),
        false => context.channels.linked(first),
    };
    there.is_some_and(|boot| state.incarnations.get(&node).is_some_and(|member| *member != boot))
}

/// Nodes that live and from which nothing else comes.
#[derive(Default)]
struct Hanging {
    /// Both say so of each other.
    broken: BTreeSet<(NodeId, NodeId)>,
    /// The first says so of the second.
    nodes: BTreeSet<(NodeId, NodeId)>,
}

/// Condemns these nodes, one of a group at a time, if a fit member takes its place.
fn condemn_one_of_a_group(
    reasons: BTreeMap<NodeId, String>,
    unfit: &[NodeId],
    state: &ControlState,
    condemned: &mut BTreeMap<NodeId, String>,
) {
    for (node, reason) in reasons {
        let group = state.group_of_node(node);
        let is_first = !condemned.keys().any(|other| state.group_of_node(*other) == group);
        if is_first && may_go(node, state, unfit, condemned) {
            condemned.insert(node, reason);
        }
    }
}

/// The nodes that hang, as the first of each pair says of the second.
fn why_hanging(says: &BTreeSet<(NodeId, NodeId)>) -> BTreeMap<NodeId, String> {
    let mut by: BTreeMap<NodeId, Vec<String>> = BTreeMap::new();
    for (from, hanging) in says {
        by.entry(*hanging).or_default().push(from.to_string());
    }
    let text = |by: Vec<String>| {
        let by = by.join(", ");
        format!("it hangs: nothing but heartbeats comes from it, as seen by node {by}")
    };
    by.into_iter().map(|(node, by)| (node, text(by))).collect()
}

/// The node that most others do not hear. Of two that do not hear each other a learner goes, with which nothing is lost; else the
/// leader and the sequencer stay, or the lower id.
fn worst(
    broken: &BTreeSet<(NodeId, NodeId)>,
    state: &ControlState,
    silent: &[NodeId],
    condemned: &BTreeMap<NodeId, String>,
    leader: NodeId,
) -> Option<NodeId> {
    let ends: BTreeSet<NodeId> = broken.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let sequencer = state.sequencer.map(|sequencer| sequencer.node);
    let weight = |node: &NodeId| {
        let count = broken.iter().filter(|(a, b)| a == node || b == node).count();
        let is_learner = !is_active(*node, state);
        (count, is_learner, *node != leader, Some(*node) != sequencer, *node)
    };
    let going = ends.into_iter().filter(|node| may_go(*node, state, silent, condemned));
    going.max_by_key(weight)
}

/// Whether the data node may be excluded, and a node that takes its place is heard.
fn may_go(
    node: NodeId,
    state: &ControlState,
    silent: &[NodeId],
    condemned: &BTreeMap<NodeId, String>,
) -> bool {
    let Some(boot) = state.incarnations.get(&node) else { return false };
    let is_there = |heir: &NodeId| !silent.contains(heir) && !condemned.contains_key(heir);
    state.may_exclude(node, *boot) && heirs(node, state).any(|heir| is_there(&heir))
}

/// The active members of its group but for itself.
fn heirs(node: NodeId, state: &ControlState) -> impl Iterator<Item = NodeId> {
    let group = state.group_of_node(node).map(|group| state.group(group));
    group.into_iter().flat_map(Group::active).filter(move |active| *active != node)
}

/// Does it count in its group?
fn is_active(node: NodeId, state: &ControlState) -> bool {
    let group = state.group_of_node(node).map(|group| state.group(group));
    group.is_some_and(|group| group.active().any(|active| active == node))
}
