//! The control block: membership, views, placement and schema, decided once and for all by a Raft log.
//!
//! It lives on worker 0 of every node. Voters keep the log ([`raft`]) and apply its entries ([`state`]) to a
//! [`ControlState`]; the leader proposes entries at the request of nodes; nodes that are no voters get copies of the
//! state. Whatever a node does on the data path it does by its newest copy.
//!
//! Schema changes are paced by adoption (rule R27): the leader proposes the next one only when every data node has adopted the
//! last, so at most two neighbouring versions of a table are ever in use.
//!
//! A voter writes its log to its host's [`Journal`](crate::Journal) before it sends anything that
//! rests on it (rule R24), and continues from there when it starts again. A voter that has lost its
//! journal has forgotten its votes: no node counts it as a voter (rule R5).
//!
//! A node that starts again is another boot. Its directory proves that the boot before is over,
//! since one process at a time has it; that boot is excluded first, then the new one is admitted,
//! as a learner if it is to hold rows.

mod handover;
pub(crate) mod lease;
mod lossy;
pub mod raft;
mod restart;
mod schema;
mod slow;
pub(crate) mod state;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use protocol::Message;
use protocol::control::{ControlEntry, ControlOutcome, ControlState, RaftMessage};
use protocol::message::{
    Alive, ChangeSchema, ChangeSchemaDone, ControlCopy, LearnerReady, LoadRows, Loaded, NodeDead,
    RegisterNode, SchemaAdopted,
};
use protocol::schema::{SchemaChange, SchemaError};
use types::hash::hash64;
use types::wire::{Bytes, Wire};
use types::{Address, Home, Incarnation, NodeId, SchemaVersion, ShardId, View, WorkerId};

use self::raft::{
    PROPOSAL_SIZE_MAX, Raft, RaftConfig, RaftPersist, RaftReady, RaftRestored, RaftSnapshot,
    SNAPSHOT_SIZE_MAX,
};
use crate::limits::{
    DEAD_INTERVAL_US, RAFT_ELECTION_TICKS, RAFT_HEARTBEAT_TICKS, RESEND_INTERVAL_US,
};
use crate::node::NodeShared;
use crate::worker::{Context, Origin, Time};

pub struct Control {
    /// None on a node that is not a voter.
    raft: Option<Raft>,
    /// What Raft wants done when the journal's record of this number is durable.
    writing: Option<(u64, RaftReady)>,
    state: ControlState,
    config_digest: u64,
    register_next: Time,
    /// What this boot had made of its disk when it asked last.
    registered_as: Loaded,
    /// What each worker of this node has adopted, and what the node as a whole has told the voters.
    workers_adopted: BTreeMap<WorkerId, SchemaAdopted>,
    adopted: SchemaAdopted,
    adopted_next: Time,
    /// Boots that are known to be over and not excluded, and when the voters are told again.
    dead: BTreeSet<(NodeId, Incarnation)>,
    dead_next: Time,
    /// How often they were told, of those that are there now.
    dead_told: u32,
    /// Messages logged of each node, so that each is logged once.
    told: BTreeSet<(NodeId, &'static str)>,

    // The leader's; others keep what they hear, in case they become it.
    nodes_adopted: BTreeMap<NodeId, SchemaAdopted>,
    /// Schema changes waiting for the one before to be adopted.
    queue: VecDeque<(Address, ChangeSchema)>,
    /// Entries proposed and not yet applied: a change is not proposed twice in a row.
    proposed: u32,
    /// Answers owed: (requester, sequence) by the version that all must have adopted.
    answers: Vec<(Address, u64, SchemaVersion)>,
    /// The homes of the voters by the log that this one had when it started: the state names them
    /// only when a leader reports which entries are committed, and before that this voter may vote.
    homes_known: BTreeMap<NodeId, Home>,
    /// The term in which the others have got the state of this leader.
    copied_in_term: u64,
    leases: lease::Leases,
    handovers: handover::Handovers,
    restarts: restart::Restarts,
    /// Shards that learners hold.
    ready: BTreeMap<Incarnation, BTreeSet<ShardId>>,
}

impl Control {
    pub(crate) fn new(node: &NodeShared, seed: u64) -> Control {
        let voters = node.config.voters();
        let mut homes_known = BTreeMap::new();
        let mut state = (*node.state()).clone();
        let raft = voters.contains(&node.node).then(|| {
            let restored = restore(&node.journal.read());
            homes_known = homes_of(&restored);
            if let Some(snapshot) = &restored.snapshot {
                state = state_of(snapshot, node);
            }
            let is_first_boot = restored == RaftRestored::default();
            let config = RaftConfig {
                id: u64::from(node.node.0),
                voters: voters.iter().map(|voter| u64::from(voter.0)).collect(),
                seed,
                election_timeout_ticks: RAFT_ELECTION_TICKS,
                heartbeat_ticks: RAFT_HEARTBEAT_TICKS,
            };
            let mut raft = Raft::restore(config, restored);
            if voters.first() == Some(&node.node) && is_first_boot {
                // All begin at once: no need to wait for a timeout.
                raft.campaign();
            }
            raft
        });
        Control {
            raft,
            writing: None,
            state,
            config_digest: hash64(&node.config.to_bytes()),
            register_next: 0,
            registered_as: Loaded::NotYet,
            workers_adopted: BTreeMap::new(),
            adopted: SchemaAdopted::default(),
            adopted_next: 0,
            dead: BTreeSet::new(),
            dead_next: 0,
            dead_told: 0,
            told: BTreeSet::new(),
            nodes_adopted: BTreeMap::new(),
            queue: VecDeque::new(),
            proposed: 0,
            answers: Vec::new(),
            copied_in_term: 0,
            homes_known,
            leases: lease::Leases::default(),
            handovers: handover::Handovers::default(),
            restarts: restart::Restarts::default(),
            ready: BTreeMap::new(),
        }
    }

    pub(crate) fn is_leader(&self) -> bool {
        self.raft.as_ref().is_some_and(Raft::is_leader)
    }

    /// And has applied every entry from before its term: before that it does not know the members and their states.
    fn is_current_leader(&self) -> bool {
        self.raft.as_ref().is_some_and(Raft::is_current_leader)
    }

    /// Does this node lead, and take another for dead that is not excluded yet?
    pub(crate) fn condemns(&self) -> bool {
        self.is_leader() && self.leases.condemns()
    }

    /// The nodes that the leader does not admit yet because they were slow repeatedly; and the rest of the pause, in microseconds.
    pub(crate) fn puts_off(&self, now: Time) -> Vec<(NodeId, Time)> {
        let paused = self.leases.slow().paused(now);
        paused.filter(|_| self.is_leader()).collect()
    }

    /// Does it lead, and find some node slow? It may be excluded for that, even if it is well by now.
    pub(crate) fn finds_slow(&self) -> bool {
        self.is_leader() && self.leases.slow().nodes().next().is_some()
    }

    pub(crate) fn note_unread(&mut self, node: NodeId, now: Time) {
        self.leases.note_unread(node, now);
    }

    /// True when the node's control state is newer than before.
    pub(crate) fn on_tick(&mut self, context: &mut Context<'_>) -> bool {
        let is_unread = |id: u64| {
            u16::try_from(id).is_ok_and(|id| self.leases.is_unread(NodeId(id), context.now))
        };
        if let Some(raft) = &mut self.raft
            && !raft.leader().is_some_and(is_unread)
        {
            raft.tick();
        }
        self.register(context);
        if context.now >= self.adopted_next {
            self.tell_adopted(context);
        }
        if context.now >= self.dead_next {
            self.tell_dead(context);
        }
        self.leases.on_tick(&self.state, context);
        self.exclude_silent(context);
        self.handovers.on_tick(&self.state, context);
        if self.is_leader() && !self.ready.is_empty() {
            self.promote(context);
        }
        self.lead_handovers(context);
        self.lead_restart(context);
        let published = self.drive_raft(context);
        self.lead(context);
        self.drive_raft(context) || published
    }

    /// A node lives. Gives it a lease, if this one leads.
    pub(crate) fn on_alive(&mut self, from: Origin, message: &Alive, context: &mut Context<'_>) {
        self.leases.on_alive(self.raft.as_ref(), &self.state, from, message, context);
    }

    /// The leader proposes to exclude those that have been silent or cut off for too long.
    fn exclude_silent(&mut self, context: &mut Context<'_>) {
        let Some(raft) = self.raft.as_ref().filter(|raft| raft.is_leader()) else { return };
        for (node, incarnation, why) in self.leases.lead(raft, &self.state, context) {
            if self.propose(&ControlEntry::ExcludeNode { node, incarnation }, context) {
                let pause = self.leases.on_proposed(node, incarnation, context);
                let until = match pause.div_ceil(1_000_000) {
                    0 => String::new(),
                    seconds => format!("; again, so it is let in after {seconds} s"),
                };
                context.outbox.log.push(format!("node {node} is excluded: {why}{until}"));
            }
        }
    }

    /// Tells the others how this node is, at once.
    pub(crate) fn send_alive(&mut self, context: &mut Context<'_>) {
        self.leases.send_alive(context);
    }

    /// Why the operator had better not stop this node, as far as this one knows.
    pub(crate) fn why_not_stop(&self, node: NodeId, context: &Context<'_>) -> Option<String> {
        let is_there =
            |node: &NodeId| *node == context.address.node || !self.leases.is_silent(*node, context);
        let nodes = context.state.incarnations.keys().copied();
        let there: Vec<NodeId> = nodes.filter(is_there).collect();
        match self.leases.stopping(context) {
            Some(other) if other == node => Some(format!("node {node} is being stopped already")),
            Some(other) => Some(format!("node {other} is being stopped: one at a time")),
            None => handover::why_not_stop(node, &there, context.state),
        }
    }

    fn lead_handovers(&mut self, context: &mut Context<'_>) {
        if !self.is_leader() {
            return self.handovers.follow();
        }
        if let Some((entry, why)) = self.handovers.lead(&self.state, context.now)
            && self.propose(&entry, context)
        {
            context.outbox.log.push(why);
        }
    }

    fn lead_restart(&mut self, context: &mut Context<'_>) {
        let node_state = context.node.state();
        self.restarts.follow(&node_state, context);
        self.restarts.end_lossy(&self.state, &self.leases, context);
        if self.is_current_leader()
            && self.proposed == 0
            && let Some((entry, why)) = self.restarts.lead(&self.state, &self.leases, context)
            && self.propose(&entry, context)
        {
            context.outbox.log.push(why);
        }
    }

    /// This boot of a node is over, and the host knows it for certain. True when the control state is newer than before.
    pub(crate) fn on_node_died(
        &mut self,
        node: NodeId,
        incarnation: Incarnation,
        context: &mut Context<'_>,
    ) -> bool {
        if self.dead.insert((node, incarnation))
            && let Some(raft) = &mut self.raft
        {
            // Once: its next boot may lead when the others are told again.
            raft.voter_is_gone(u64::from(node.0));
        }
        self.dead_told = 0;
        self.tell_dead(context);
        self.drive_raft(context)
    }

    /// Tells the voters of the dead: the leader excludes them, the others let it fall.
    fn tell_dead(&mut self, context: &mut Context<'_>) {
        let state = &self.state;
        self.dead.retain(|(node, incarnation)| {
            let is_current = |known: &Incarnation| known == incarnation;
            !state.is_over(*incarnation) && state.incarnations.get(node).is_none_or(is_current)
        });
        self.dead_next = context.now + DEAD_INTERVAL_US;
        self.dead_told += 1;
        self.succeed_dead_leader(context);
        for (node, incarnation) in self.dead.clone() {
            let message = NodeDead { node, incarnation };
            self.on_node_dead(context.address, &message, context);
            for voter in context.node.config.voters() {
                let address = Address { node: voter, worker: WorkerId(0) };
                let is_other = voter != context.address.node && voter != node;
                if is_other && !context.is_half_full(address, false) {
                    context.send(address, Message::NodeDead(message.clone()));
                }
            }
        }
    }

    /// If the dead node led the control plane, the election need not wait for a timeout. The first
    /// of the remaining voters campaigns at once, and repeatedly at longer intervals: the others
    /// may learn of the death later.
    fn succeed_dead_leader(&mut self, context: &Context<'_>) {
        let Some(raft) = &mut self.raft else { return };
        let voters = context.node.config.voters();
        let is_dead = |voter: &NodeId| self.dead.iter().any(|(node, _)| node == voter);
        let first = voters.iter().find(|voter| !is_dead(voter));
        let is_first = first == Some(&context.address.node);
        let is_due = !self.dead.is_empty() && self.dead_told.is_power_of_two();
        if is_first && is_due && raft.leader().is_none() {
            raft.campaign();
        }
    }

    fn on_node_dead(&mut self, from: Address, message: &NodeDead, context: &mut Context<'_>) {
        let NodeDead { node, incarnation } = *message;
        if !self.is_leader() {
            return;
        }
        if self.state.may_exclude(node, incarnation) {
            self.propose(&ControlEntry::ExcludeNode { node, incarnation }, context);
        } else if self.state.is_over(incarnation) {
            self.send_copy(from.node, context);
        }
    }

    /// True when the node's control state is newer than before.
    pub(crate) fn on_message(
        &mut self,
        from: Address,
        message: Message,
        context: &mut Context<'_>,
    ) -> bool {
        match message {
            Message::Raft(m) => self.on_raft(from, &m, context),
            Message::RegisterNode(m) => self.on_register_node(from, &m, context),
            Message::ChangeSchema(m) => self.on_change_schema(from, m, context),
            Message::SchemaAdopted(m) => self.on_schema_adopted(from, m, context),
            Message::ControlCopy(m) => return self.on_control_copy(from, &m, context),
            Message::NodeDead(m) => self.on_node_dead(from, &m, context),
            Message::LearnerReady(m) => self.on_learner_ready(&m, context),
            Message::AskLeave(m) if self.is_leader() => {
                let (state, now) = (&self.state, context.now);
                let asked = self.handovers.on_ask_leave(from.node, m.incarnation, state, now);
                self.propose_any(asked, context);
            }
            Message::Handover(m) if self.is_leader() => {
                let ready = self.handovers.on_ready(from.node, m.begun, &self.state, context.now);
                self.propose_any(ready, context);
            }
            Message::RowsLoaded(m) => self.restarts.on_loaded(m, &self.state, context.now),
            Message::LoadRows(m) => self.on_load_rows(&m, context),
            Message::AskLeave(_) | Message::Handover(_) => {}
            _ => unreachable!("the worker sends only control-plane messages here"),
        }
        self.on_durable(context)
    }

    fn on_raft(&mut self, from: Address, message: &RaftMessage, context: &mut Context<'_>) {
        let is_other = |home: &Home| *home != message.home;
        let known = self.state.voter_homes.get(&from.node);
        if known.or(self.homes_known.get(&from.node)).is_some_and(is_other) {
            let what = "has lost the directory with its votes: it is no voter any more; the others go on without it";
            self.tell_once(from.node, what, context);
            return;
        }
        if let Some(raft) = &mut self.raft
            && let Err(error) = raft.step(u64::from(from.node.0), &message.payload)
        {
            context.outbox.log.push(format!("{from:?}: control-plane message: {error}"));
        }
    }

    fn tell_once(&mut self, node: NodeId, what: &'static str, context: &mut Context<'_>) {
        if self.told.insert((node, what)) {
            context.outbox.log.push(format!("node {node} {what}"));
        }
    }

    fn on_learner_ready(&mut self, message: &LearnerReady, context: &mut Context<'_>) {
        let LearnerReady { shard, node, incarnation } = *message;
        if !self.is_leader() || !self.state.may_promote(node, incarnation) {
            return;
        }
        self.ready.entry(incarnation).or_default().insert(shard);
        self.promote(context);
    }

    /// Learners that hold everything count from now on, if they and all others hear each other.
    fn promote(&mut self, context: &mut Context<'_>) {
        let mut counting = Vec::new();
        for group in self.state.groups.values() {
            for learner in group.learners() {
                let (node, incarnation) = (learner.node, learner.incarnation);
                let holds =
                    |shard| self.ready.get(&incarnation).is_some_and(|ready| ready.contains(shard));
                if group.primaries.keys().all(holds)
                    && self.leases.is_connected(node, &self.state, context)
                {
                    counting.push((node, incarnation));
                }
            }
        }
        for (node, incarnation) in counting {
            // The other reports are sent again.
            self.ready.clear();
            self.propose(&ControlEntry::PromoteNode { node, incarnation }, context);
        }
    }

    /// Asks for admission until this boot finds itself in the state.
    fn register(&mut self, context: &mut Context<'_>) {
        let here = context.address.node;
        let is_in = self.state.incarnations.get(&here) == Some(&context.node.incarnation);
        let is_over = self.state.is_over(context.node.incarnation);
        if is_in || is_over || !context.node.has_booted() {
            return;
        }
        let loaded = context.node.candidates();
        if context.now < self.register_next && self.registered_as == loaded {
            return;
        }
        let is_heard = |voter: &NodeId| *voter == here || !self.leases.is_silent(*voter, context);
        let mut voters = context.node.config.voters();
        voters.retain(is_heard);
        if voters.is_empty() {
            return;
        }
        self.register_next = context.now + RESEND_INTERVAL_US;
        self.registered_as = loaded;
        // It names the nodes that this one hears: a leader that it does not hear does not admit it.
        self.leases.send_alive(context);
        let message = RegisterNode {
            config_digest: self.config_digest,
            home: context.node.home,
            disk: context.node.disk.told.clone(),
            loaded,
        };
        for voter in voters {
            let address = Address { node: voter, worker: WorkerId(0) };
            context.send(address, Message::RegisterNode(message.clone()));
        }
    }

    fn on_register_node(
        &mut self,
        from: Address,
        message: &RegisterNode,
        context: &mut Context<'_>,
    ) {
        if message.config_digest != self.config_digest {
            context.outbox.log.push(format!(
                "node {} was configured differently from this node: it is not let in; give all \
                 nodes of the cluster the same configuration",
                from.node
            ));
            return;
        }
        if !self.is_current_leader() {
            return;
        }
        let Some(incarnation) = incarnation_of(from, context) else { return };
        let (node, home) = (from.node, message.home);
        let has_rows = self.state.config.node(node).is_some_and(|config| config.data);
        if has_rows {
            self.restarts.on_register(node, incarnation, message, context.now);
        }
        if !self.leases.hears_us(node, incarnation, context) {
            return;
        }
        match self.state.incarnations.get(&node).copied() {
            None if self.state.is_over(incarnation) => {}
            None if self.leases.slow().pause(node, context.now) > 0 => {}
            None if has_rows && self.state.restart.is_some() => {}
            None if has_rows && self.restarts.is_needed(&self.state, &self.leases, context) => {}
            None => self.let_in(node, incarnation, message, context),
            Some(known) if known == incarnation => self.send_copy(node, context),
            Some(_) if self.state.homes.get(&node) != Some(&home) => {
                let what = "was started from another directory while its process is taken to run: refused; stop one of them, \
                            or wait until the other is known to be over";
                self.tell_once(node, what, context);
            }
            Some(known) if self.state.may_exclude(node, known) && self.has_heir(node, context) => {
                self.propose(&ControlEntry::ExcludeNode { node, incarnation: known }, context);
            }
            // It held the last copy of its rows in memory: the cluster starts again.
            Some(_) => {}
        }
    }

    /// Whose disk has rows that its group might have still loads them first.
    fn let_in(
        &mut self,
        node: NodeId,
        incarnation: Incarnation,
        message: &RegisterNode,
        context: &mut Context<'_>,
    ) {
        if self.state.groups.is_empty() && message.disk.is_used {
            let what = "has rows of a cluster on its disk, of which no voter knows, so nothing is begun: bring the voters' control \
                        files back, or begin anew without those rows (--initial)";
            self.tell_once(node, what, context);
            return;
        }
        let point = match message.loaded {
            Loaded::NotYet => self.restarts.point_to_load(node, &self.state),
            Loaded::Loading => return,
            Loaded::Rows | Loaded::Nothing => None,
        };
        let Some(at) = point else {
            let (home, has_rows) = (message.home, message.loaded == Loaded::Rows);
            let entry = ControlEntry::RegisterNode { node, incarnation, home, has_rows };
            self.propose(&entry, context);
            return;
        };
        self.send_copy(node, context);
        let message = LoadRows { incarnation, at, applied: self.state.applied };
        context.send(Address { node, worker: WorkerId(0) }, Message::LoadRows(message));
    }

    /// The control state may be on its way: the next registration requests it again.
    fn on_load_rows(&mut self, message: &LoadRows, context: &mut Context<'_>) {
        let is_for_us = message.incarnation == context.node.incarnation;
        if is_for_us
            && message.applied <= self.state.applied
            && context.node.begin_candidates(&self.state, message.at)
        {
            context.outbox.load = true;
        }
    }

    /// Whether a live node has the rows that this node had, if it had any.
    fn has_heir(&self, node: NodeId, context: &Context<'_>) -> bool {
        let group = self.state.group_of_node(node).map(|group| self.state.group(group));
        let Some(group) = group.filter(|group| group.active().any(|active| active == node)) else {
            return true;
        };
        // A learner has not: it is filled by those that have.
        let mut others = restart::active(group).filter(|member| member.node != node);
        others.any(|other| !self.restarts.is_gone(other, &self.state, &self.leases, context))
    }

    fn on_change_schema(
        &mut self,
        from: Address,
        message: ChangeSchema,
        context: &mut Context<'_>,
    ) {
        if !self.is_leader() {
            return;
        }
        let sequence = message.sequence;
        if let Some(record) = self.state.requests.get(&from)
            && self.state.incarnations.get(&from.node) == Some(&record.incarnation)
            && record.sequence >= sequence
        {
            // Whoever does not want it any more need not wait until all have adopted it.
            let is_withdrawn = matches!(message.change, SchemaChange::Withdraw);
            if record.sequence == sequence && (is_withdrawn || !self.owes(from, sequence)) {
                // Applied under a leader before this one, or its answer was lost with it.
                match record.outcome {
                    ControlOutcome::Done(version) if !is_withdrawn => {
                        self.answers.push((from, sequence, version));
                    }
                    _ => {
                        let outcome = record.outcome.clone();
                        self.send_done(from, sequence, outcome, context);
                    }
                }
            }
            return;
        }
        let mut queue = self.queue.iter_mut();
        match queue.find(|(address, queued)| *address == from && queued.sequence == sequence) {
            // It may have been withdrawn meanwhile.
            Some((_, queued)) => *queued = message,
            None => self.queue.push_back((from, message)),
        }
    }

    fn owes(&self, to: Address, sequence: u64) -> bool {
        self.answers.iter().any(|(address, owed, _)| *address == to && *owed == sequence)
    }

    fn on_schema_adopted(
        &mut self,
        from: Address,
        message: SchemaAdopted,
        context: &mut Context<'_>,
    ) {
        if from.node == context.address.node && message.version > self.adopted.version {
            let workers = context.node.config.node(from.node).map_or(1, |node| node.workers);
            self.workers_adopted.insert(from.worker, message);
            let all = self.workers_adopted.len() == usize::from(workers);
            let oldest = self.workers_adopted.values().map(|adopted| adopted.version).min();
            if let Some(version) = oldest.filter(|oldest| all && *oldest > self.adopted.version) {
                let of_workers = self.workers_adopted.values();
                let given_up = of_workers.flat_map(|adopted| adopted.given_up.iter().copied());
                self.adopted = SchemaAdopted { version, given_up: given_up.collect() };
                self.tell_adopted(context);
            }
        } else {
            let known = self.nodes_adopted.entry(from.node).or_default();
            if known.version < message.version {
                *known = message;
            }
        }
    }

    /// Tells the voters what this node has adopted: at once, and again now and then for a new leader.
    fn tell_adopted(&mut self, context: &mut Context<'_>) {
        self.adopted_next = context.now + RESEND_INTERVAL_US;
        self.nodes_adopted.insert(context.address.node, self.adopted.clone());
        for voter in context.node.config.voters() {
            let address = Address { node: voter, worker: WorkerId(0) };
            let is_told = voter != context.address.node && self.adopted.version > SchemaVersion(0);
            if is_told && !context.is_half_full(address, false) {
                context.send(address, Message::SchemaAdopted(self.adopted.clone()));
            }
        }
    }

    fn on_control_copy(
        &mut self,
        from: Address,
        message: &ControlCopy,
        context: &mut Context<'_>,
    ) -> bool {
        match ControlState::from_bytes(&message.state) {
            Ok(state) if state.applied > self.state.applied => {
                let here = context.address.node;
                if self.raft.is_some() && state.voter_homes.get(&here) == Some(&context.node.home) {
                    // Meant for the voter of another directory: this one has its own votes.
                    return false;
                }
                (self.raft, self.writing) = (None, None);
                self.state = state;
                self.publish(context)
            }
            Ok(_) => false,
            Err(error) => {
                context.outbox.log.push(format!("{from:?}: control state: {error}"));
                false
            }
        }
    }

    /// The leader's own work: answer adopted changes, remove dropped objects, propose the next change.
    fn lead(&mut self, context: &mut Context<'_>) {
        if !self.is_leader() {
            self.queue.clear();
            self.answers.clear();
            self.proposed = 0;
            return;
        }
        let is_new = self.raft.as_ref().map(Raft::term) != Some(self.copied_in_term);
        if is_new && self.state.applied > 0 {
            // The leader before may have died before it sent these.
            self.send_copies(context);
        }
        if !self.is_current_leader() {
            // What was decided before its term may change the schema, too.
            return;
        }
        let adopted = self.adopted_everywhere();
        let (done, owed) = std::mem::take(&mut self.answers)
            .into_iter()
            .partition(|(_, _, version)| *version <= adopted);
        self.answers = owed;
        let done: Vec<(Address, u64, SchemaVersion)> = done;
        for (to, sequence, version) in done {
            self.send_done(to, sequence, ControlOutcome::Done(version), context);
        }
        let settled = self.state.catalogue.version <= adopted || !self.state.is_formed();
        if self.proposed > 0 {
            return;
        }
        let is_withdrawn = |(_, message): &(Address, ChangeSchema)| {
            matches!(message.change, SchemaChange::Withdraw)
        };
        let needs_no_adoption = |queued: &(Address, ChangeSchema)| {
            is_withdrawn(queued) || schema::overtakes(&self.state.catalogue, &queued.1.change)
        };
        if let Some(place) = self.queue.iter().position(needs_no_adoption) {
            // No transaction uses a definition that it changes.
            let (requester, message) = self.queue.remove(place).expect("just found");
            return self.propose_change(requester, message, context);
        }
        if !settled {
            return;
        }
        if schema::has_dropped(&self.state) {
            self.propose(&ControlEntry::RemoveDropped, context);
        } else if let Some((requester, message)) = self.queue.pop_front() {
            if let Some(error) = self.why_not_publish(&message.change) {
                let outcome = ControlOutcome::Refused(error);
                return self.send_done(requester, message.sequence, outcome, context);
            }
            self.propose_change(requester, message, context);
        }
    }

    fn propose_change(
        &mut self,
        requester: Address,
        message: ChangeSchema,
        context: &mut Context<'_>,
    ) {
        let Some(incarnation) = self.state.incarnations.get(&requester.node).copied() else {
            return;
        };
        let sequence = message.sequence;
        let change = message.change.clone();
        let entry = ControlEntry::ChangeSchema { requester, incarnation, sequence, change };
        if self.propose(&entry, context) {
            return;
        }
        let size = entry.to_bytes().len();
        if size > PROPOSAL_SIZE_MAX {
            let what = format!("bytes of a definition ({size}, and at most {PROPOSAL_SIZE_MAX})");
            let outcome = ControlOutcome::Refused(SchemaError::TooMany(what));
            self.send_done(requester, sequence, outcome, context);
        } else {
            self.queue.push_front((requester, message));
        }
    }

    /// The newest version that every data node has adopted.
    fn adopted_everywhere(&self) -> SchemaVersion {
        let nodes = self.state.data_nodes();
        let adopted = nodes.iter().map(|node| self.nodes_adopted.get(node));
        let versions = adopted.map(|adopted| adopted.map_or(SchemaVersion(0), |a| a.version));
        versions.min().unwrap_or_default()
    }

    /// An index that some node has no room for stays as it is, until whoever asked for it drops it. Asked when all have adopted the
    /// definition that it is in.
    fn why_not_publish(&self, change: &SchemaChange) -> Option<SchemaError> {
        let SchemaChange::PublishIndex { table, index, .. } = change else { return None };
        let mut given_up = self.nodes_adopted.values().flat_map(|adopted| &adopted.given_up);
        given_up.any(|other| *other == (*table, *index)).then_some(SchemaError::MemoryFull(*table))
    }

    fn propose_any(&mut self, entry: Option<ControlEntry>, context: &mut Context<'_>) {
        if let Some(entry) = entry {
            self.propose(&entry, context);
        }
    }

    /// False if it was not taken: then it is in no log.
    fn propose(&mut self, entry: &ControlEntry, context: &mut Context<'_>) -> bool {
        let bytes = entry.to_bytes();
        if bytes.len() > PROPOSAL_SIZE_MAX {
            context.outbox.log.push(format!("a change of {} bytes is too large", bytes.len()));
            return false;
        }
        let raft = self.raft.as_mut().expect("leaders are voters");
        let is_taken = raft.propose(bytes).is_ok();
        self.proposed += u32::from(is_taken);
        is_taken
    }

    /// Sends Raft's messages and applies its committed entries. True when the state is newer.
    fn drive_raft(&mut self, context: &mut Context<'_>) -> bool {
        let before = self.state.applied;
        while let Some(ready) = self.next_ready(context) {
            send_raft(ready.messages, context);
            if let Some(snapshot) = &ready.install_snapshot {
                let state = state_of(snapshot, context.node);
                let before = std::mem::replace(&mut self.state, state);
                self.on_changed(&before.incarnations, &before.views(), context);
            }
            for entry in ready.committed {
                self.apply(&entry.data, entry.term == ready.term, context);
            }
            self.raft.as_mut().expect("ready came from it").advance();
            self.compact_log(context);
        }
        if self.writing.is_some()
            && let Some(raft) = &mut self.raft
        {
            send_raft(raft.leader_messages(), context);
        }
        if self.state.applied == before {
            return false;
        }
        if self.is_leader() {
            self.send_copies(context);
        }
        self.publish(context)
    }

    /// What Raft wants done next, if what that rests on is durable.
    fn next_ready(&mut self, context: &Context<'_>) -> Option<RaftReady> {
        let raft = self.raft.as_mut()?;
        let journal = &context.node.journal;
        if self.writing.is_none() {
            let ready = raft.ready()?;
            let number = match &ready.persist {
                Some(RaftPersist { snapshot: Some(_), .. }) => {
                    journal.replace(&raft.persisted().to_bytes())
                }
                Some(persist) => journal.append(&persist.to_bytes()),
                None => return Some(ready),
            };
            self.writing = Some((number, ready));
        }
        let written = self.writing.take_if(|(number, _)| *number <= journal.durable());
        written.map(|(_, ready)| ready)
    }

    /// More of the journal is durable. True when the node's control state is newer than before.
    pub(crate) fn on_durable(&mut self, context: &mut Context<'_>) -> bool {
        let published = self.drive_raft(context);
        self.lead(context);
        self.drive_raft(context) || published
    }

    /// Keeps the state instead of the entries that made it, when these have become many.
    fn compact_log(&mut self, context: &mut Context<'_>) {
        let raft = self.raft.as_mut().expect("the caller looked");
        if raft.size_since_snapshot() <= context.node.control_log_bytes_max() {
            return;
        }
        let state = self.state.to_bytes();
        if state.len() <= SNAPSHOT_SIZE_MAX {
            raft.compact(raft.applied(), state);
        } else {
            let what = "has a control state that is too large for a snapshot: drop tables that are not needed";
            self.tell_once(context.address.node, what, context);
        }
    }

    fn send_copies(&mut self, context: &mut Context<'_>) {
        self.copied_in_term = self.raft.as_ref().expect("leaders are voters").term();
        let nodes: Vec<NodeId> = context.node.config.nodes.iter().map(|node| node.id).collect();
        for node in nodes {
            self.send_copy(node, context);
        }
    }

    /// Makes the state the node's. Not one that this boot is not in yet, of a cluster that is formed, or starts again: it speaks of
    /// the boot before. True if the node's is newer now.
    fn publish(&self, context: &mut Context<'_>) -> bool {
        let own = context.node.incarnation;
        let knows_us = self.state.incarnations.get(&context.address.node) == Some(&own)
            || self.state.is_over(own)
            || !self.state.is_formed() && self.state.restart.is_none();
        if self.state.is_over(own) {
            context.end("the log says");
            if !self.state.is_formed() {
                // The cluster starts again: without views nothing can be asked of anybody.
                return false;
            }
        }
        if knows_us {
            context.node.publish(Arc::new(self.state.clone()));
        }
        knows_us
    }

    /// `is_new`: it was proposed in this term. What was before, its requester asks about again.
    fn apply(&mut self, data: &[u8], is_new: bool, context: &mut Context<'_>) {
        let entry = ControlEntry::from_bytes(data).expect("a leader proposed it");
        let before = self.state.incarnations.clone();
        let views = self.state.views();
        let outcome = state::apply(&mut self.state, &entry);
        if let ControlEntry::ExcludeNode { incarnation, .. } = entry {
            self.leases.on_applied(incarnation);
        }
        self.on_changed(&before, &views, context);
        if !self.is_leader() {
            return;
        }
        self.proposed = self.proposed.saturating_sub(u32::from(is_new));
        if !is_new {
            return;
        }
        if let ControlEntry::ChangeSchema { requester, sequence, .. } = entry {
            match outcome {
                Some(ControlOutcome::Done(version)) => {
                    self.answers.push((requester, sequence, version));
                }
                Some(refused @ ControlOutcome::Refused(_)) => {
                    self.send_done(requester, sequence, refused, context);
                }
                None => {}
            }
        }
    }

    /// The state has become another one than that with these boots and views.
    fn on_changed(
        &mut self,
        before: &BTreeMap<NodeId, Incarnation>,
        views: &[View],
        context: &Context<'_>,
    ) {
        if self.state.views() != views {
            self.handovers.on_views(context.now);
        }
        for (node, boot) in before {
            if self.state.is_over(*boot) {
                // Its next boot will report what it has adopted, and repeat its requests.
                self.leases.on_applied(*boot);
                self.nodes_adopted.remove(node);
                self.queue.retain(|(requester, _)| requester.node != *node);
                self.answers.retain(|(to, ..)| to.node != *node);
            }
        }
        for (node, boot) in &self.state.incarnations {
            if before.get(node) != Some(boot) {
                self.leases.on_registered(*node, *boot, context.now);
            }
        }
    }

    fn send_done(
        &self,
        to: Address,
        sequence: u64,
        outcome: ControlOutcome,
        context: &mut Context<'_>,
    ) {
        let message = Message::ChangeSchemaDone(ChangeSchemaDone { sequence, outcome });
        context.send(to, message);
    }

    fn send_copy(&self, node: NodeId, context: &mut Context<'_>) {
        // Voters have the log, unless they have lost it.
        let (homes, voter_homes) = (&self.state.homes, &self.state.voter_homes);
        let has_log = context.node.config.voters().contains(&node)
            && (homes.get(&node) == voter_homes.get(&node) || !voter_homes.contains_key(&node));
        if has_log || node == context.address.node {
            return;
        }
        let copy = ControlCopy { state: Bytes(self.state.to_bytes()) };
        context.send(Address { node, worker: WorkerId(0) }, Message::ControlCopy(copy));
    }
}

fn send_raft(messages: Vec<(u64, Vec<u8>)>, context: &mut Context<'_>) {
    for (to, payload) in messages {
        let node = NodeId(u16::try_from(to).expect("voters are node ids"));
        let address = Address { node, worker: WorkerId(0) };
        if context.is_half_full(address, true) {
            // Messages for a voter that is away for days would hold up all writers in the end. Raft asks again when it is back.
            continue;
        }
        let message = RaftMessage { home: context.node.home, payload: Bytes(payload) };
        context.send(address, Message::Raft(message));
    }
}

/// What a voter had written when it stopped.
fn restore(records: &[Vec<u8>]) -> RaftRestored {
    let mut restored = RaftRestored::default();
    for record in records {
        let persist =
            RaftPersist::from_bytes(record).expect("the journal gives back what it was given");
        restored.add(persist);
    }
    restored
}

/// The state in a snapshot. Its configuration is this node's: a node with another one is not admitted.
fn state_of(snapshot: &RaftSnapshot, node: &NodeShared) -> ControlState {
    let state = ControlState::from_bytes(&snapshot.data).expect("a voter of this cluster made it");
    ControlState { config: node.config.clone(), ..state }
}

/// Where each voter registered from first, by a voter's log.
fn homes_of(restored: &RaftRestored) -> BTreeMap<NodeId, Home> {
    let mut homes = BTreeMap::new();
    for entry in restored.entries.iter().filter(|entry| !entry.data.is_empty()) {
        if let Ok(ControlEntry::RegisterNode { node, home, .. }) =
            ControlEntry::from_bytes(&entry.data)
        {
            homes.entry(node).or_insert(home);
        }
    }
    homes
}

/// The boot that the sender's messages come from.
fn incarnation_of(from: Address, context: &Context<'_>) -> Option<Incarnation> {
    if from.node == context.address.node {
        return Some(context.node.incarnation);
    }
    context.channels.linked(from)
}
