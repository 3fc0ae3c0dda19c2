//! The door: one worker's kernel, its inputs and outputs, and the dispatch of messages to blocks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use protocol::Message;
use protocol::Refusal;
use protocol::control::ControlState;
use protocol::envelope::{Header, NO_GROUP, decode_header, decode_message};
use protocol::message::{Excluded, Handover, HandoverStep, ReportQuery, Room, StopNode};
use protocol::report::ReportRequest;
use protocol::request::{Reply, Request, SessionId};
use types::{Address, GroupId, Incarnation, NodeId, ShardId, TransactionId, View, WorkerId};

use crate::channel::{ChannelConfig, Channels, Identity, Received};
use crate::checkpoint::CheckpointBlock;
use crate::control::Control;
use crate::coordinator::Coordinator;
use crate::deadlock::Deadlock;
use crate::handover::HandoverBlock;
use crate::limits::{BEGUN_TOGETHER_MAX, HEARD_STEP_US, HELD_MESSAGES_MAX, TICK_INTERVAL_US};
use crate::local_checkpoint::LocalCheckpoints;
use crate::node::{Mutation, NodeShared, NodeStatistics};
use crate::outbox::{Outbox, ProcessEnd};
use crate::pace::Paces;
use crate::report::Reports;
use crate::sequencer::SequencerBlock;
use crate::{control, deadlock, participant, report};

/// Microseconds of the host's monotonic clock. Only intervals mean anything.
pub type Time = u64;

/// Fixed at start.
#[derive(Clone, Debug)]
pub struct KernelConfig {
    pub worker: WorkerId,
    /// Drives election timeouts.
    pub seed: u64,
    pub channel: ChannelConfig,
}

pub enum Input<'a> {
    /// One frame from the worker of another node, without its length.
    Frame(&'a [u8]),
    /// The link to that worker is up, for the first time or again, and this boot of its node is at the other end.
    LinkUp {
        peer: Address,
        incarnation: Incarnation,
    },
    /// From another worker of this node.
    Local(LocalMessage),
    Request {
        session: SessionId,
        request: Request,
    },
    /// `wake_at` has come.
    Tick,
    /// The host knows for certain that this boot of another node is over: its process was reaped.
    NodeDied {
        node: NodeId,
        incarnation: Incarnation,
    },
    /// More of what the node has given its host to keep is durable: for the worker whose part of the store it is, and worker 0, whose
    /// the journal is.
    Durable,
    /// The node is to stop, and its clients are gone: it hands over its shards, then
    /// [`Outbox::has_left`] allows the host to end it. False cancels that. For worker 0.
    Leave(bool),
    /// The whole cluster is to stop, and this node's clients are gone: when the disks hold what they have committed,
    /// [`Outbox::has_rested`] says so. For worker 0.
    Rest,
}

/// What workers of one node exchange: messages as they are, not encoded.
#[derive(Debug)]
pub struct LocalMessage {
    arrived: Arrived,
    content: LocalContent,
}

/// Whose message it is: a worker of one boot of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub address: Address,
    pub boot: Incarnation,
}

/// What a message came with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub from: Origin,
    /// The group that it is about, and the view of it that the sender was in.
    pub group: GroupId,
    pub view: View,
}

impl Arrived {
    fn of(header: &Header) -> Arrived {
        let from = Origin { address: header.from, boot: header.incarnation };
        Arrived { from, group: header.group, view: header.view }
    }
}

#[derive(Debug)]
enum LocalContent {
    Message(Message),
    /// The node's control state is newer.
    StatePublished,
    /// Long transactions or the housekeeping of this shard are waiting for their next step.
    GoOn(ShardId),
    /// The local checkpoint waits for its next step.
    Checkpoint,
    /// Rows of a table wait to be summed up.
    Describe,
    /// These requests have got their snapshots.
    Begin(Vec<(SessionId, u64)>),
}

/// What handlers need from other blocks, asked for when they are done.
#[derive(Default)]
pub(crate) struct Wanted {
    /// Began to wait for a lock: a look for circles over the node's shards.
    pub circles: Vec<TransactionId>,
    /// With their requests.
    pub snapshots: Vec<(SessionId, u64)>,
    pub timestamps: Vec<(ShardId, TransactionId)>,
    /// Committed, and told when the disks hold it.
    pub checkpoints: Vec<(SessionId, u64)>,
}

/// What a handler may use besides its block.
pub struct Context<'a> {
    pub now: Time,
    pub address: Address,
    pub node: &'a NodeShared,
    pub state: &'a Arc<ControlState>,
    pub(crate) queue: &'a mut VecDeque<(Arrived, Message)>,
    pub(crate) channels: &'a mut Channels,
    pub(crate) wanted: &'a mut Wanted,
    pub outbox: &'a mut Outbox,
}

impl Context<'_> {
    /// What a message about this group, from this worker to one of this node, comes with.
    fn own(&self, group: GroupId) -> Arrived {
        let from = Origin { address: self.address, boot: self.node.incarnation };
        Arrived { from, group, view: self.view_of(group) }
    }
    fn view_of(&self, group: GroupId) -> View {
        if group == NO_GROUP { View(0) } else { self.state.group(group).view }
    }

    /// The same by another control state.
    pub(crate) fn by_state<'b>(&'b mut self, state: &'b Arc<ControlState>) -> Context<'b> {
        Context {
            now: self.now,
            address: self.address,
            node: self.node,
            state,
            queue: self.queue,
            channels: self.channels,
            wanted: self.wanted,
            outbox: self.outbox,
        }
    }

    /// This boot is out of the cluster, for the reason `says`: it has handed over, or was taken for dead.
    pub(crate) fn end(&mut self, says: &str) {
        if self.node.is_leaving() {
            self.outbox.has_left = true;
            return;
        }
        self.outbox.ends = Some(ProcessEnd::Excluded(format!(
            "node {} was taken for dead and excluded by the cluster, as {says}: this process ends; started again it is \
             filled, and serves",
            self.address.node
        )));
    }

    pub(crate) fn workers_of(&self, node: NodeId) -> impl Iterator<Item = Address> + use<> {
        let workers = self.node.config.node(node).map_or(1, |config| config.workers);
        (0..workers).map(move |worker| Address { node, worker: WorkerId(worker) })
    }

    /// Sends a message that belongs to no group's view.
    pub fn send(&mut self, to: Address, message: Message) {
        self.send_in(NO_GROUP, to, message);
    }

    /// Sends a message about a shard, in the current view of its group.
    pub fn send_for(&mut self, shard: ShardId, to: Address, message: Message) {
        self.send_in(self.state.group_of(shard), to, message);
    }

    /// Sends to the worker that owns the shard's replica on a node; on this node the message is handled in place if the
    /// shard is free.
    pub fn send_to_replica(&mut self, shard: ShardId, node: NodeId, message: Message) {
        if node == self.address.node {
            let arrived = self.own(self.state.group_of(shard));
            self.queue.push_back((arrived, message));
        } else {
            let owner = self.state.owner(shard, node);
            self.send_for(shard, owner, message);
        }
    }

    /// Leaves a message to another worker of this node, as it came.
    pub(crate) fn hand_over(&mut self, to: Address, arrived: Arrived, message: Message) {
        assert_eq!(to.node, self.address.node, "only workers of one node share its shards");
        let content = LocalContent::Message(message);
        self.outbox.local.push((to.worker, LocalMessage { arrived, content }));
    }

    /// Has the owner of a shard of this node continue its long transactions and its housekeeping, behind the work that waits
    /// for it now.
    pub(crate) fn go_on_later(&mut self, shard: ShardId) {
        let owner = self.state.owner(shard, self.address.node);
        let message =
            LocalMessage { arrived: self.own(NO_GROUP), content: LocalContent::GoOn(shard) };
        self.outbox.local.push((owner.worker, message));
    }

    /// Has this worker continue its local checkpoint, behind the work that waits for it now.
    pub(crate) fn checkpoint_later(&mut self) {
        let message =
            LocalMessage { arrived: self.own(NO_GROUP), content: LocalContent::Checkpoint };
        self.outbox.local.push((self.address.worker, message));
    }

    /// Has this worker continue the sums that others wait for, behind the work that waits for it now.
    pub(crate) fn describe_later(&mut self) {
        let message = LocalMessage { arrived: self.own(NO_GROUP), content: LocalContent::Describe };
        self.outbox.local.push((self.address.worker, message));
    }

    /// Has this worker begin these requests, behind the work that waits for it now.
    fn begin_later(&mut self, granted: Vec<(SessionId, u64)>) {
        let message =
            LocalMessage { arrived: self.own(NO_GROUP), content: LocalContent::Begin(granted) };
        self.outbox.local.push((self.address.worker, message));
    }

    pub(crate) fn send_in(&mut self, group: GroupId, to: Address, message: Message) {
        if to == self.address {
            let arrived = self.own(group);
            self.queue.push_back((arrived, message));
        } else if to.node == self.address.node {
            self.hand_over(to, self.own(group), message);
        } else if let Some(boot) = self.boot_to_reach(to, is_for_strangers(&message)) {
            let view = self.view_of(group);
            NodeStatistics::add(&self.node.statistics.messages_sent, 1);
            self.channels.send(to, boot, group, view, &message);
        }
    }

    /// Whether half of the allowed data has piled up for the receiver of such a message.
    pub(crate) fn is_half_full(&self, to: Address, strangers_too: bool) -> bool {
        let boot = self.boot_to_reach(to, strangers_too);
        boot.is_some_and(|boot| self.channels.is_half_full(to, boot))
    }

    /// Whom is a message to this worker for? The boot of its node that takes part, or a stranger at the other end of the link that
    /// may hear it: another boot of the node must not. None, if nobody there is to hear it; without a boot, if none is known.
    #[expect(clippy::option_option, reason = "nobody, and somebody unknown")]
    fn boot_to_reach(&self, to: Address, strangers_too: bool) -> Option<Option<Incarnation>> {
        let linked = self.channels.linked(to);
        let stranger = linked.filter(|boot| strangers_too && !self.state.is_over(*boot));
        let member = self.state.incarnations.get(&to.node).copied();
        match stranger.or(member) {
            Some(boot) => Some(Some(boot)),
            None => (!self.state.is_excluded(to.node)).then_some(linked),
        }
    }

    pub fn reply(&mut self, session: SessionId, reply: Reply) {
        self.outbox.replies.push((session, reply));
    }
}

/// What a block of this kernel may use: all but the blocks, so that it can be borrowed beside one of them.
macro_rules! context {
    ($kernel:ident, $now:expr, $outbox:expr) => {
        Context {
            now: $now,
            address: $kernel.address,
            node: &$kernel.node,
            state: &$kernel.state,
            queue: &mut $kernel.queue,
            channels: &mut $kernel.channels,
            wanted: &mut $kernel.wanted,
            outbox: $outbox,
        }
    };
}

/// Messages that a boot may send and receive before it is admitted.
fn is_for_strangers(message: &Message) -> bool {
    message.is_unnumbered()
        || matches!(
            message,
            Message::Raft(_)
                | Message::RegisterNode(_)
                | Message::ControlCopy(_)
                | Message::LoadRows(_)
                // The leader may itself be a node that is admitted after the restart.
                | Message::RowsLoaded(_)
        )
}

/// The transaction of a message to its coordinator.
fn coordinated(message: &Message) -> Option<TransactionId> {
    match message {
        Message::ExecuteOk(m) => Some(m.transaction),
        Message::ExecuteRefused(m) => Some(m.transaction),
        Message::UndoOk(m) => Some(m.transaction),
        Message::PrepareOk(m) => Some(m.transaction),
        Message::CommitOk(m) => Some(m.transaction),
        Message::TransactionUnknown(m) => Some(m.transaction),
        Message::Outcome(m) => Some(m.transaction),
        Message::BreakDeadlock(m) => Some(m.transaction),
        _ => None,
    }
}

/// One worker's state machine.
pub struct Kernel {
    address: Address,
    node: Arc<NodeShared>,
    /// The control state this worker acts by: the node's newest, as of the last step that looked.
    state: Arc<ControlState>,
    channels: Channels,
    /// Messages of this node still to be handled in this step.
    queue: VecDeque<(Arrived, Message)>,
    wanted: Wanted,
    /// Messages of views or of boots that this worker has not heard of yet, in order of arrival (rule R2).
    held: VecDeque<(Arrived, Message)>,
    /// When boots that are over were told so last, by where they were.
    told_excluded: BTreeMap<Address, Time>,
    paces: Paces,
    tick_next: Time,
    /// Worker 0 only.
    control: Option<Control>,
    coordinator: Coordinator,
    sequencer: SequencerBlock,
    checkpoints: CheckpointBlock,
    local_checkpoints: LocalCheckpoints,
    deadlock: Deadlock,
    handover: HandoverBlock,
    reports: Reports,
}

impl Kernel {
    pub fn new(config: KernelConfig, node: Arc<NodeShared>, now: Time) -> Kernel {
        let address = Address { node: node.node, worker: config.worker };
        let state = node.state();
        let identity = Identity {
            cluster: node.config.cluster,
            lineage: state.lineage,
            address,
            incarnation: node.incarnation,
        };
        let is_first = config.worker == WorkerId(0);
        Kernel {
            address,
            channels: Channels::new(identity, config.channel),
            queue: VecDeque::new(),
            wanted: Wanted::default(),
            held: VecDeque::new(),
            told_excluded: BTreeMap::new(),
            paces: Paces::default(),
            tick_next: now + TICK_INTERVAL_US,
            control: is_first.then(|| Control::new(&node, config.seed)),
            coordinator: Coordinator::new(),
            sequencer: SequencerBlock::new(),
            checkpoints: CheckpointBlock::default(),
            local_checkpoints: LocalCheckpoints::default(),
            deadlock: Deadlock::new(),
            handover: HandoverBlock::default(),
            reports: Reports::new(now),
            state,
            node,
        }
    }

    pub fn address(&self) -> Address {
        self.address
    }
    pub fn node(&self) -> &Arc<NodeShared> {
        &self.node
    }
    pub fn state(&self) -> &Arc<ControlState> {
        &self.state
    }
    /// When the host must call `step` with [`Input::Tick`] at the latest.
    pub fn wake_at(&self) -> Time {
        self.tick_next
    }
    /// Does this worker's node lead the control plane?
    pub fn is_control_leader(&self) -> bool {
        self.control.as_ref().is_some_and(Control::is_leader)
    }
    /// Whether it takes a node for dead that is not excluded yet. For the simulator, which chooses the next failure.
    pub fn condemns(&self) -> bool {
        self.control.as_ref().is_some_and(Control::condemns)
    }
    /// Whether it leads, and does not admit a repeatedly slow node yet. For the simulator, which waits for that node.
    pub fn puts_off(&self, now: Time) -> bool {
        self.control.as_ref().is_some_and(|control| !control.puts_off(now).is_empty())
    }
    /// Whether it leads, and finds some node slow. For the simulator: the leader may still exclude that node.
    pub fn finds_slow(&self) -> bool {
        self.control.as_ref().is_some_and(Control::finds_slow)
    }
    /// Can this node serve: views formed, this node in one?
    pub fn is_ready(&self) -> bool {
        self.state.is_formed() && self.state.is_active(self.address.node, self.node.incarnation)
    }

    /// The host has frames of this worker that it has not handed out yet: the worker is not missed until the next tick.
    pub fn note_unread(&mut self, now: Time, peer: Address) {
        let Some(boot) = self.channels.linked(peer) else { return };
        if self.is_stranger(Origin { address: peer, boot }) {
            return;
        }
        self.node.hear(peer.node, boot, now);
        self.paces.note_unread(peer, now);
        if let Some(control) = &mut self.control {
            control.note_unread(peer.node, now);
        }
    }

    /// Handles one input to its end.
    pub fn step(&mut self, now: Time, input: Input<'_>, outbox: &mut Outbox) {
        self.catch_up(now, outbox);
        match input {
            Input::Frame(frame) => self.on_frame(now, frame, outbox),
            // A boot that is over takes no channel.
            Input::LinkUp { incarnation, .. } if self.state.is_over(incarnation) => {}
            Input::LinkUp { peer, incarnation } => {
                if self.control.is_some() && peer.worker == WorkerId(0) {
                    // Its hello has come, or the answer to ours.
                    self.hear(now, Origin { address: peer, boot: incarnation });
                }
                self.channels.on_link_up(now, peer, incarnation, outbox);
            }
            Input::Local(message) => match message.content {
                LocalContent::Message(content) => {
                    self.queue.push_back((message.arrived, content));
                }
                LocalContent::StatePublished => self.adopt_state(now, outbox),
                LocalContent::Begin(granted) => {
                    let (coordinator, mut context) = self.coordinator_and_context(now, outbox);
                    for (session, request) in granted {
                        coordinator.begin(session, request, &mut context);
                    }
                }
                LocalContent::Checkpoint => {
                    self.local_checkpoints.on_go_on(&mut context!(self, now, outbox));
                }
                LocalContent::Describe => {
                    self.reports.describe_some(&mut context!(self, now, outbox));
                }
                LocalContent::GoOn(shard) => {
                    let mut context = context!(self, now, outbox);
                    participant::go_on(shard, &mut context);
                    self.checkpoints.go_on(&mut context);
                }
            },
            Input::Request { session, request } => self.on_request(now, session, request, outbox),
            Input::Tick => self.on_tick(now, outbox),
            Input::NodeDied { node, incarnation } => {
                self.on_control(now, outbox, |control, context| {
                    control.on_node_died(node, incarnation, context)
                });
            }
            Input::Durable => {
                if self.control.is_some() {
                    self.on_control(now, outbox, |control, context| control.on_durable(context));
                }
                self.checkpoints.go_on(&mut context!(self, now, outbox));
            }
            Input::Rest => self.checkpoints.rest(&mut context!(self, now, outbox)),
            Input::Leave(leaves) => {
                self.node.set_leaving(leaves);
                let mut context = context!(self, now, outbox);
                self.control.as_mut().expect("worker 0 is told").send_alive(&mut context);
            }
        }
        self.run_queue(now, outbox);
        self.node.memories.tell(self.node.node, &self.state, &self.channels, outbox);
        self.channels.flush(now, outbox);
        assert!(self.queue.is_empty(), "a step runs to completion");
    }

    fn on_request(&mut self, now: Time, session: SessionId, request: Request, outbox: &mut Outbox) {
        let mut context = context!(self, now, outbox);
        match request {
            Request::Report { node, query } => {
                self.reports.ask(session, node, &query, &mut context);
            }
            Request::StopNode { node, restart } => {
                let control = self.control.as_ref().expect("the first worker is asked");
                let reply = match control.why_not_stop(node, &context) {
                    Some(why) => Reply::Refused(Refusal::Unavailable(why)),
                    None => {
                        let to = Address { node, worker: WorkerId(0) };
                        context.send(to, Message::StopNode(StopNode { restart }));
                        Reply::Done
                    }
                };
                context.reply(session, reply);
            }
            Request::AwaitCheckpoint => self.checkpoints.watch(session, &mut context),
            request => self.coordinator.on_request(session, request, &mut context),
        }
    }

    fn coordinator_and_context<'a>(
        &'a mut self,
        now: Time,
        outbox: &'a mut Outbox,
    ) -> (&'a mut Coordinator, Context<'a>) {
        let context = context!(self, now, outbox);
        (&mut self.coordinator, context)
    }

    fn run_queue(&mut self, now: Time, outbox: &mut Outbox) {
        loop {
            self.ask_blocks(now, outbox);
            let Some((arrived, message)) = self.queue.pop_front() else { return };
            self.catch_up(now, outbox);
            if self.is_refused(arrived.from) {
                // Its boot is over since this came, and its requests have gone to other nodes by now.
                continue;
            }
            self.on_message(now, arrived, message, outbox);
        }
    }

    fn ask_blocks(&mut self, now: Time, outbox: &mut Outbox) {
        let Wanted { circles, snapshots, timestamps, checkpoints } = &self.wanted;
        if circles.is_empty()
            && snapshots.is_empty()
            && timestamps.is_empty()
            && checkpoints.is_empty()
        {
            return;
        }
        let mut wanted = std::mem::take(&mut self.wanted);
        let checkpoints = std::mem::take(&mut wanted.checkpoints);
        let mut context = context!(self, now, outbox);
        if !wanted.circles.is_empty() {
            deadlock::on_waits_begun(&wanted.circles, &mut context);
        }
        self.sequencer.on_wanted(wanted, &mut context);
        self.checkpoints.on_wanted(checkpoints, &mut context);
    }

    /// A frame of a peer: identity first, then the message (rules R2, R5, R13).
    fn on_frame(&mut self, now: Time, frame: &[u8], outbox: &mut Outbox) {
        let decoded = decode_header(frame).and_then(|header| {
            if let Some(reason) = self.refuse_header(&header) {
                if self.state.is_over(header.incarnation) {
                    return Ok(Err(self.tell_excluded(now, &header, outbox).then_some(reason)));
                }
                return Ok(Err(Some(reason)));
            }
            self.hear(now, Origin { address: header.from, boot: header.incarnation });
            decode_message(frame).map(|message| Ok((header, message)))
        });
        let reason = match decoded {
            Ok(Ok((header, Some(message))))
                if self.held.len() >= HELD_MESSAGES_MAX
                    && self.must_wait(&Arrived::of(&header), &message) =>
            {
                // Not acknowledged, so it comes again.
                return;
            }
            Ok(Ok((header, message))) => {
                match self.channels.receive(now, frame.len(), header, message) {
                    Received::Nothing => return,
                    Received::Deliver(messages) => {
                        for (header, message) in messages {
                            self.on_arrived(Arrived::of(&header), message);
                        }
                        return;
                    }
                    Received::OtherIncarnation => {
                        format!("node {} sent from another boot than before", header_node(frame))
                    }
                }
            }
            Ok(Err(Some(reason))) => reason,
            Ok(Err(None)) => return,
            Err(error) => error.to_string(),
        };
        NodeStatistics::add(&self.node.statistics.frames_refused, 1);
        outbox.log.push(format!("frame refused: {reason}"));
    }

    /// Says so to a boot that is over, now and then: it may have much to say. True if that was now.
    fn tell_excluded(&mut self, now: Time, header: &Header, outbox: &mut Outbox) -> bool {
        let last = self.told_excluded.get(&header.from);
        if last.is_some_and(|last| now < last + TICK_INTERVAL_US) {
            NodeStatistics::add(&self.node.statistics.frames_refused, 1);
            return false;
        }
        self.told_excluded.insert(header.from, now);
        let message = Message::Excluded(Excluded { incarnation: header.incarnation });
        self.channels.send_unnumbered(header.from, &message, outbox);
        true
    }

    fn refuse_header(&self, header: &Header) -> Option<String> {
        let ours = &self.channels.identity;
        if header.cluster != ours.cluster {
            return Some(format!(
                "the peer belongs to cluster {:x}, this node to {:x}",
                header.cluster.0, ours.cluster.0
            ));
        }
        if header.lineage != ours.lineage {
            return Some(format!(
                "the peer is of restart lineage {}, this node of {}",
                header.lineage, ours.lineage
            ));
        }
        if header.to != self.address {
            return Some(format!("sent to {:?}, this is {:?}", header.to, self.address));
        }
        if self.node.config.node(header.from.node).is_none()
            || header.from.node == self.address.node
        {
            return Some(format!("node {} is not another node of this cluster", header.from.node));
        }
        let is_over = self.state.is_over(header.incarnation);
        is_over.then(|| format!("this boot of node {} was excluded, and is over", header.from.node))
    }

    fn is_refused(&self, from: Origin) -> bool {
        from.address.node != self.address.node && self.state.is_over(from.boot)
    }

    /// Whether it is of an earlier node's boot that is not admitted, as far as this worker knows.
    fn is_stranger(&self, from: Origin) -> bool {
        let node = from.address.node;
        match self.state.incarnations.get(&node) {
            Some(member) => *member != from.boot,
            None => self.state.is_excluded(node),
        }
    }

    fn hear(&self, now: Time, from: Origin) {
        // Most frames come soon behind another one: then there is nothing to note, and no node to look up.
        let node = from.address.node;
        if self.node.heard_at(node) + HEARD_STEP_US <= now && !self.is_stranger(from) {
            self.node.hear(node, from.boot, now);
        }
    }

    /// Is it of a view, or a boot, that this worker has not heard of? First the control state, then the message.
    fn must_wait(&self, arrived: &Arrived, message: &Message) -> bool {
        // In a cluster restart there are groups before there are views.
        let group = self.state.groups.get(&arrived.group).filter(|_| self.state.is_formed());
        let known = group.map_or(View(0), |group| group.view);
        let is_newer = arrived.group != NO_GROUP && arrived.view > known;
        is_newer || !is_for_strangers(message) && self.is_behind_held(arrived.from)
    }

    /// Whether the origin is a stranger, or an earlier message of the same worker waits. Their order counts: a snapshot is granted
    /// behind the records of the commits that it contains (rules R1, R3).
    fn is_behind_held(&self, from: Origin) -> bool {
        let is_held = |(arrived, _): &(Arrived, Message)| arrived.from == from;
        self.is_stranger(from)
            || self.held.iter().any(is_held) && self.node.mutation != Mutation::GrantOvertakes
    }

    /// A message of a live boot. A node that has left the views is refused by its boot, and a
    /// primary that stays remains one: so a message of an older view than this worker's is as good
    /// as one of this view, except requests of a coordinator that has not adopted the exclusion
    /// (its transaction may have lost locks): the shard refuses those.
    fn on_arrived(&mut self, arrived: Arrived, message: Message) {
        let waits = self.must_wait(&arrived, &message);
        let queue = if waits { &mut self.held } else { &mut self.queue };
        queue.push_back((arrived, message));
    }

    /// Another worker may have published a newer control state and brought the shards up to it at any moment. What this one learns of
    /// them then, such as a commit of the new epoch, it must not act on by the state before.
    fn catch_up(&mut self, now: Time, outbox: &mut Outbox) {
        let is_behind = self.state.applied < self.node.applied();
        if is_behind && self.node.mutation != Mutation::WorkerBehind {
            self.adopt_state(now, outbox);
        }
    }

    /// Takes over a newer control state of the node.
    fn adopt_state(&mut self, now: Time, outbox: &mut Outbox) {
        let state = self.node.state();
        if state.applied == self.state.applied {
            return;
        }
        let before = std::mem::replace(&mut self.state, Arc::clone(&state));
        self.channels.set_members(&state.incarnations);
        outbox.state = Some(state);
        let moved = self.take_over(now, &before, outbox);
        for (arrived, message) in std::mem::take(&mut self.held) {
            self.on_arrived(arrived, message);
        }
        let (coordinator, mut context) = self.coordinator_and_context(now, outbox);
        // The shards first: a version is adopted when their new indexes are filled, which only they know of.
        participant::on_state(&mut context);
        coordinator.on_state(&moved, &mut context);
    }

    /// What a newer control state says of nodes that are gone or come back. Returns the shards that have another primary than
    /// before.
    fn take_over(&mut self, now: Time, before: &ControlState, outbox: &mut Outbox) -> Vec<ShardId> {
        let state = Arc::clone(&self.state);
        if state.excluded.len() == before.excluded.len() && state.views() == before.views() {
            return Vec::new();
        }
        self.held.retain(|(arrived, _)| !state.is_over(arrived.from.boot));
        let is_over =
            |node: NodeId| before.incarnations.get(&node).is_some_and(|boot| state.is_over(*boot));
        self.channels.forget(|peer, boot| match boot {
            Some(boot) => state.is_over(boot),
            None => is_over(peer.node),
        });
        if !state.is_formed() {
            return Vec::new();
        }
        let mut context = context!(self, now, outbox);
        // Whichever worker hears of it first does this for all: it must be done before one of them acts by the new views.
        participant::on_views(&mut context);
        if !before.is_formed() {
            return Vec::new();
        }
        self.sequencer.forget(is_over);
        if state.sequencer != before.sequencer {
            self.sequencer.on_takeover(&mut context);
        }
        self.checkpoints.forget(is_over);
        self.deadlock.forget(is_over);
        self.reports.forget(is_over, &mut context);
        // Also when the same node leads again, as another boot.
        let moved = |shard: &ShardId| {
            let led = before.primary(*shard);
            state.primary(*shard) != led || is_over(led)
        };
        state.shards().filter(moved).collect()
    }

    /// Worker 0 gets a message about the control plane.
    fn on_control(
        &mut self,
        now: Time,
        outbox: &mut Outbox,
        told: impl FnOnce(&mut Control, &mut Context<'_>) -> bool,
    ) {
        let mut context = context!(self, now, outbox);
        if told(self.control.as_mut().expect("worker 0 is told"), &mut context) {
            self.publish_state(now, outbox);
        }
    }

    fn on_tick(&mut self, now: Time, outbox: &mut Outbox) {
        self.tick_next = now + TICK_INTERVAL_US;
        let mut published = false;
        let mut context = context!(self, now, outbox);
        if let Some(control) = &mut self.control {
            if context.node.watch_room() {
                tell_room(&mut context);
            }
            if let Some(short) = context.node.memories.to_say(now) {
                context.outbox.log.push(format!(
                    "node {short} has no memory left for rows: statements that would add to those it keeps fail with error 1114, deletes \
                     still work; delete rows, or start the nodes with more (--memory)"
                ));
            }
            published |= control.on_tick(&mut context);
        }
        if context.state.is_formed() {
            self.coordinator.on_tick(&mut context);
            participant::on_tick(&mut context);
            self.sequencer.on_tick(&self.coordinator, &mut context);
            context.node.watch_disk(context.address.worker);
            self.checkpoints.on_tick(&mut context);
            self.local_checkpoints.on_tick(&mut context);
            self.deadlock.on_tick(&mut context);
            self.handover.on_tick(&mut self.coordinator, &mut context);
        }
        self.reports.on_tick(&mut context);
        self.paces.on_tick(&mut context);
        self.channels.on_tick(now, outbox);
        if published {
            self.publish_state(now, outbox);
        }
    }

    /// The control block made a newer state: this worker takes it over, the others are told.
    fn publish_state(&mut self, now: Time, outbox: &mut Outbox) {
        let workers = self.node.config.node(self.address.node).map_or(1, |node| node.workers);
        for worker in 1..workers {
            let arrived = context!(self, now, outbox).own(NO_GROUP);
            let message = LocalMessage { arrived, content: LocalContent::StatePublished };
            outbox.local.push((WorkerId(worker), message));
        }
        self.adopt_state(now, outbox);
    }

    fn on_message(&mut self, now: Time, arrived: Arrived, message: Message, outbox: &mut Outbox) {
        if coordinated(&message).is_some_and(|id| id.incarnation != self.node.incarnation) {
            // An answer to the boot before.
            return;
        }
        let from = arrived.from.address;
        let mut context = context!(self, now, outbox);
        let context = &mut context;
        let mut published = false;
        match message {
            Message::Raft(_)
            | Message::RegisterNode(_)
            | Message::ChangeSchema(_)
            | Message::SchemaAdopted(_)
            | Message::ControlCopy(_)
            | Message::NodeDead(_)
            | Message::LearnerReady(_)
            | Message::AskLeave(_)
            | Message::RowsLoaded(_)
            | Message::LoadRows(_)
            | Message::Handover(Handover { step: HandoverStep::Ready, .. }) => {
                if let Some(control) = &mut self.control {
                    published = control.on_message(from, message, context);
                }
            }
            Message::Probe(_) => {}
            Message::Excluded(m) => {
                if m.incarnation == self.node.incarnation {
                    context.end(&format!("node {} says", from.node));
                }
            }
            Message::Alive(m) => {
                if let Some(control) = &mut self.control {
                    control.on_alive(arrived.from, &m, context);
                }
            }
            Message::StopNode(m) => {
                context.node.set_stopping(true);
                if let Some(control) = &mut self.control {
                    control.send_alive(context);
                }
                context.outbox.stop = Some(m.restart);
            }
            Message::Handover(m) => self.handover.on_step(from, &m, context),
            Message::LeaseGranted(m) => control::lease::on_granted(&m, context),
            Message::MemoryLeft(m) => context.node.memories.learn(from.node, m),
            Message::ChangeSchemaDone(m) => self.coordinator.on_change_schema_done(&m, context),

            Message::ExecuteOk(m) => self.coordinator.on_execute_ok(m, context),
            Message::ExecuteRefused(m) => self.coordinator.on_execute_refused(m, context),
            Message::UndoOk(m) => self.coordinator.on_undo_ok(&m, context),
            Message::PrepareOk(m) => self.coordinator.on_prepare_ok(&m, context),
            Message::CommitOk(m) => self.coordinator.on_commit_ok(&m, context),
            Message::TransactionUnknown(m) => self.coordinator.on_transaction_unknown(&m, context),
            Message::Outcome(m) => self.coordinator.on_outcome(&m, context),
            Message::BreakDeadlock(m) => self.coordinator.on_break_deadlock(&m, context),

            Message::Execute(_)
            | Message::Undo(_)
            | Message::Prepare(_)
            | Message::Commit(_)
            | Message::Decide(_)
            | Message::Cancel(_)
            | Message::Replicate(_)
            | Message::ReplicateOk(_)
            | Message::CommitIndex(_)
            | Message::JoinMarker(_)
            | Message::OfferAnswer(_)
            | Message::AskTail(_)
            | Message::Tail(_)
            | Message::AskOutcome(_)
            | Message::AskDecision(_) => {
                participant::on_message(arrived, message, context);
            }

            Message::SnapshotRequest(m) => self.sequencer.on_snapshot_request(from, &m, context),
            Message::SnapshotGranted(m) => {
                let mut granted = self.sequencer.on_snapshot_granted(&m);
                for (session, request) in &granted {
                    self.coordinator.on_snapshot(*session, *request, m.at, context);
                }
                // What a crowd of long statements begins with takes a while: the rest comes behind the work that waits for this worker now.
                let rest = granted.split_off(granted.len().min(BEGUN_TOGETHER_MAX));
                for some in rest.chunks(BEGUN_TOGETHER_MAX) {
                    context.begin_later(some.to_vec());
                }
                for (session, request) in granted {
                    self.coordinator.begin(session, request, context);
                }
                self.sequencer.send_next_snapshot_request(context);
            }
            Message::TimestampRequest(m) => self.sequencer.on_timestamp_request(from, &m, context),
            Message::TimestampGranted(m) => {
                for (shard, transaction, ts) in self.sequencer.on_timestamp_granted(&m) {
                    participant::on_timestamp(shard, transaction, ts, context);
                }
            }
            Message::HorizonReport(m) => self.sequencer.on_horizon_report(from, &m),
            Message::HorizonAdvanced(m) => {
                context.node.advance_horizon(m.horizon);
                context.node.learn_cluster_time(m.time, now);
            }

            Message::CloseLogs(m) => self.checkpoints.on_close_logs(from, &m, context),
            Message::LogsClosed(m) => self.checkpoints.on_logs_closed(m, context),
            Message::LogsDurable(m) => self.checkpoints.on_logs_durable(from, &m, context),
            Message::AwaitCheckpoint(m) => self.checkpoints.on_await_checkpoint(from, &m, context),
            Message::CheckpointDone(m) => {
                let waited = self.checkpoints.on_checkpoint_done(&m, context);
                self.coordinator.on_durable(waited, context);
            }

            Message::WaitEdges(m) => self.deadlock.on_wait_edges(from, m, context),
            Message::DeadlockFound(m) => self.deadlock.on_deadlock_found(m, context),
            Message::DeadlockQuery(m) => self.coordinator.on_deadlock_query(from, &m, context),
            Message::DeadlockAnswer(m) => self.deadlock.on_deadlock_answer(&m),

            Message::ReportRequest(ReportQuery {
                request,
                query: ReportRequest::Partitions { table },
            }) => self.reports.describe(from, request, table, context),
            Message::ReportRequest(ReportQuery {
                request,
                query: ReportRequest::Statistics { tables, anew },
            }) => self.reports.survey(from, request, (tables, anew), context),
            Message::ReportRequest(m) => {
                let blocks = report::Blocks {
                    reports: &self.reports,
                    control_leader: self.control.as_ref().is_some_and(Control::is_leader),
                    coordinator: &self.coordinator,
                    deadlock: &self.deadlock,
                };
                report::on_report_request(from, &m, &blocks, context);
            }
            Message::ReportAnswer(m) => self.reports.on_report_answer(from, m, context),
        }
        if published {
            self.publish_state(now, outbox);
        }
    }
}

fn tell_room(context: &mut Context<'_>) {
    let said = match context.node.room_of(context.address.node) {
        Room::Ample => "the disk has room again: rows are written as before",
        Room::Reserve => {
            "the disk is full: statements that would add to the rows kept here fail with error 1021, deletes still work, until there \
             is room again; make some"
        }
        Room::Nothing => {
            "the disk is full, and what was kept back of it, too: nothing can be written to the rows kept here (error 1021) until \
             there is room again; make some"
        }
        Room::Failed => {
            "no other node has the rows kept here, so they are still read: nothing can be written to them (error 1026) until this node is \
             started again with a disk that works"
        }
    };
    context.outbox.log.push(said.into());
}

fn header_node(frame: &[u8]) -> u16 {
    decode_header(frame).map_or(0, |header| header.from.node.0)
}

#[cfg(test)]
mod tests;
