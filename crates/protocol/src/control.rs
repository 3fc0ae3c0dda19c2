//! The control plane's replicated state: membership, views, placement, the sequencer and the schema, and the entries
//! that change it.
//!
//! Every node holds a copy: voters from the Raft log, others from a voter. A copy is never newer than the log and never
//! mixes two entries; everything a node decides it decides by one copy.

use std::collections::BTreeMap;

use types::wire::Bytes;
use types::{
    Address, BUCKET_COUNT, BucketId, Catalogue, ClusterId, GroupId, Home, Incarnation, IndexId,
    Lineage, NodeId, ShardId, TableId, Timestamp, View, WorkerId, wire_enum, wire_struct,
};

use crate::restart::RestartReport;
use crate::schema::{SchemaChange, SchemaError};

/// The cluster as its operator configured it. Equal on every node, or the nodes refuse each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterConfig {
    pub cluster: ClusterId,
    pub nodes: Vec<NodeConfig>,
    /// Copies of every row, 1 to 4: groups of that many data nodes, in the order of their ids.
    pub replicas: u16,
    /// Shards a group's rows are split into; a multiple of `replicas`, so that every member is primary of as many.
    pub shards_per_group: u16,
    /// Interval of heartbeats, in milliseconds. A node that is silent for four times as long is
    /// excluded soon; a lease lasts as long.
    pub heartbeat_ms: u32,
    /// Of sessions that ask for nothing else.
    pub durability: Durability,
}
wire_struct!(ClusterConfig {
    cluster,
    nodes,
    replicas,
    shards_per_group,
    heartbeat_ms,
    durability
});

/// When a commit is acknowledged. At every level all members of its groups hold it in memory, and
/// half a second later on their disks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// At once.
    Memory,
    /// The same, but where one of its groups has only one member, when the disks hold it.
    #[default]
    WhenAlone,
    /// When the disks hold it.
    Always,
}
wire_enum!(Durability { 0 => Memory, 1 => WhenAlone, 2 => Always });

impl Durability {
    pub const ALL: [Durability; 3] =
        [Durability::Memory, Durability::WhenAlone, Durability::Always];

    /// As configurations and sessions call it.
    pub fn name(self) -> &'static str {
        match self {
            Durability::Memory => "memory",
            Durability::WhenAlone => "durable_when_alone",
            Durability::Always => "always",
        }
    }
    pub fn of_name(name: &str) -> Option<Durability> {
        Durability::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }
}

/// What `heartbeat_ms` may be: below, a busy machine's scheduler is taken for a failure; above, a failure takes hours.
pub const HEARTBEAT_MS: std::ops::RangeInclusive<u32> = 20..=600_000;
pub const HEARTBEAT_MS_DEFAULT: u32 = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    pub id: NodeId,
    pub voter: bool,
    pub data: bool,
    /// Worker threads; 1 for a node that is a voter only.
    pub workers: u16,
}
wire_struct!(NodeConfig { id, voter, data, workers });

impl ClusterConfig {
    pub fn node(&self, id: NodeId) -> Option<&NodeConfig> {
        self.nodes.iter().find(|node| node.id == id)
    }
    pub fn voters(&self) -> Vec<NodeId> {
        self.nodes.iter().filter(|node| node.voter).map(|node| node.id).collect()
    }
    pub fn data_nodes(&self) -> Vec<NodeId> {
        self.nodes.iter().filter(|node| node.data).map(|node| node.id).collect()
    }
    /// Refuses a configuration that must not start, with the reason; an even number of voters among them (rule R12).
    pub fn check(&self) -> Result<(), String> {
        let voters = self.voters().len();
        let data = self.data_nodes().len();
        if data == 0 {
            return Err("no node has the role data".into());
        }
        if !matches!(voters, 1 | 3 | 5) {
            return Err(format!("{voters} voters: a cluster has 1, 3 or 5, never an even number"));
        }
        if !(1..=4).contains(&self.replicas) {
            return Err(format!("{} replicas: 1 to 4 are possible", self.replicas));
        }
        if !data.is_multiple_of(usize::from(self.replicas)) {
            return Err(format!("{data} data nodes do not make node groups of {}", self.replicas));
        }
        if self.shards_per_group == 0 || !self.shards_per_group.is_multiple_of(self.replicas) {
            return Err("shards per group must be a multiple of the replicas".into());
        }
        let shards = data / usize::from(self.replicas) * usize::from(self.shards_per_group);
        if shards > usize::from(BUCKET_COUNT) {
            return Err(format!("{shards} shards: at most {BUCKET_COUNT} are possible"));
        }
        if self.nodes.iter().any(|node| node.workers == 0 || node.workers > 256) {
            return Err("a node has 1 to 256 workers".into());
        }
        if !HEARTBEAT_MS.contains(&self.heartbeat_ms) {
            let (least, most) = (HEARTBEAT_MS.start(), HEARTBEAT_MS.end());
            return Err(format!(
                "a heartbeat of {} ms: {least} to {most} are possible",
                self.heartbeat_ms
            ));
        }
        let mut ids: Vec<NodeId> = self.nodes.iter().map(|node| node.id).collect();
        ids.sort();
        ids.dedup();
        if ids.len() != self.nodes.len() || ids.first() == Some(&NodeId(0)) {
            return Err("node ids must be different and start at 1".into());
        }
        Ok(())
    }
}

/// What the control-plane log has made so far.
#[derive(Clone, Debug)]
pub struct ControlState {
    /// Entries applied. Copies are compared by it.
    pub applied: u64,
    pub config: ClusterConfig,
    pub lineage: Lineage,
    /// The boot of each node that takes part (rule R5).
    pub incarnations: BTreeMap<NodeId, Incarnation>,
    /// Boots that are over: whatever still comes from them is refused, and nothing is sent to them (rules R2, R5).
    pub excluded: BTreeMap<Incarnation, NodeId>,
    /// The directory that each node keeps its identity in. One process at a time has it, so a second boot from it means that
    /// the first is over.
    pub homes: BTreeMap<NodeId, Home>,
    /// The directories that hold the voters' votes. A voter without its own has forgotten them, and is none any more (rule R5).
    pub voter_homes: BTreeMap<NodeId, Home>,
    pub groups: BTreeMap<GroupId, Group>,
    pub sequencer: Option<Sequencer>,
    /// Shards are being handed over: no transaction begins until that is done or given up.
    pub handover: Option<Handover>,
    /// The cluster starts again from its disks: views are formed when all members have loaded their rows.
    pub restart: Option<Restart>,
    /// The end of each lineage before this one: its commits up to then are kept, and later ones never existed.
    pub restarts: BTreeMap<Lineage, Timestamp>,
    /// `buckets[b]` keeps bucket b. Empty until the first views are formed.
    pub buckets: Vec<ShardId>,
    pub catalogue: Catalogue,
    /// The requests whose sessions fill the indexes that are not public yet. Indexes without one are dropped.
    pub index_builds: BTreeMap<(TableId, IndexId), SchemaRequest>,
    /// The newest request of each requester and its outcome, so that one sent again is not done again.
    pub requests: BTreeMap<Address, RequestRecord>,
    /// The last cluster restart that was ended.
    pub restarted: Option<RestartReport>,
}
wire_struct!(ControlState {
    applied,
    config,
    lineage,
    incarnations,
    excluded,
    homes,
    voter_homes,
    groups,
    sequencer,
    handover,
    restart,
    restarts,
    buckets,
    catalogue,
    index_builds,
    requests,
    restarted,
});

/// A change of the schema that was asked for by a boot of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaRequest {
    pub requester: Address,
    pub incarnation: Incarnation,
    pub sequence: u64,
}
wire_struct!(SchemaRequest { requester, incarnation, sequence });

/// One view of a node group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub view: View,
    /// The view in which locks were lost last, with a node of this group or of another.
    pub lost_in: View,
    /// The active ones in the order of their ids, behind them the learners.
    pub members: Vec<Member>,
    /// The primary of each of the group's shards, all changed together with the view.
    pub primaries: BTreeMap<ShardId, NodeId>,
}
wire_struct!(Group { view, lost_in, members, primaries });

impl Group {
    pub fn active(&self) -> impl Iterator<Item = NodeId> {
        let active = self.members.iter().filter(|member| member.state == MemberState::Active);
        active.map(|member| member.node)
    }
    /// Which shards an active member leads when each has its share: in turn.
    pub fn shares(&self) -> BTreeMap<ShardId, NodeId> {
        let members: Vec<NodeId> = self.active().collect();
        self.primaries.keys().copied().zip(members.into_iter().cycle()).collect()
    }
    /// A member that leads more than its share.
    pub fn leads_too_much(&self) -> Option<NodeId> {
        let share = self.primaries.len().div_ceil(self.active().count());
        let leads = |node: NodeId| self.primaries.values().filter(|led| **led == node).count();
        self.active().find(|node| leads(*node) > share)
    }
    /// The active member that leads fewest shards; of several the first.
    pub fn leads_least(&self) -> Option<NodeId> {
        let leads = |node: &NodeId| self.primaries.values().filter(|led| *led == node).count();
        self.active().min_by_key(leads)
    }
    /// Those that have come back and do not count yet, in the order in which they came.
    pub fn learners(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.state != MemberState::Active)
    }
    /// The one that is filled first.
    pub fn learner(&self) -> Option<NodeId> {
        self.learners().next().map(|member| member.node)
    }
    /// Has it loaded rows from its disk, that are to be compared?
    pub fn is_learner_with_rows(&self, node: NodeId) -> bool {
        let with_rows = |member: &Member| member.state == MemberState::LearnerWithRows;
        self.learners().any(|member| member.node == node && with_rows(member))
    }
    pub fn is_learner(&self, node: NodeId) -> bool {
        self.learners().any(|member| member.node == node)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub node: NodeId,
    pub incarnation: Incarnation,
    pub state: MemberState,
}
wire_struct!(Member { node, incarnation, state });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// Holds every acknowledged record of the group; counted for every acknowledgement.
    Active,
    /// Being filled: it gets every record, and answers nothing.
    Learner,
    /// The same, and it has loaded rows from its disk: what equals is not copied.
    LearnerWithRows,
}
wire_enum!(MemberState { 0 => Active, 1 => Learner, 2 => LearnerWithRows });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequencer {
    pub node: NodeId,
    /// One more at each takeover and cluster restart (rule R10).
    pub epoch: u16,
}
wire_struct!(Sequencer { node, epoch });

/// A data node gives away shards that it leads, at a moment when no transaction is under way anywhere: so nothing of any is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    pub node: NodeId,
    pub incarnation: Incarnation,
    pub purpose: HandoverPurpose,
    /// The place in the log of the entry that began it.
    pub begun: u64,
}
wire_struct!(Handover { node, incarnation, purpose, begun });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoverPurpose {
    /// The node is to stop: it gives away all that it leads, the sequencer's office too, and leaves its group.
    Leave,
    /// It leads more than its share, since another one was away: it gives that back.
    Share,
}
wire_enum!(HandoverPurpose { 0 => Leave, 1 => Share });

/// A cluster restart: the members of the groups load the commits up to `at` from their disks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The place in the log of the entry that began it.
    pub begun: u64,
    pub at: Timestamp,
    /// Of the sequencer, when views are formed.
    pub epoch: u16,
    /// The lineage that it ends: the last that clients were served in.
    pub ended: Lineage,
    /// All data nodes had been stopped as planned.
    pub is_clean: bool,
    /// The operator has allowed it to begin with less than the last members had.
    pub is_lossy: bool,
    /// The members of all groups when clients were served last.
    pub last: Vec<Member>,
}
wire_struct!(Restart { begun, at, epoch, ended, is_clean, is_lossy, last });

/// A boot whose disk holds what a cluster restart begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartMember {
    pub node: NodeId,
    pub incarnation: Incarnation,
}
wire_struct!(RestartMember { node, incarnation });

#[derive(Clone, Debug)]
pub struct RequestRecord {
    pub incarnation: Incarnation,
    pub sequence: u64,
    pub outcome: ControlOutcome,
}
wire_struct!(RequestRecord { incarnation, sequence, outcome });

/// What became of a command: the catalogue version it made, or why it was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlOutcome {
    Done(types::SchemaVersion),
    Refused(SchemaError),
}
wire_enum!(ControlOutcome { 0 => Done(version), 1 => Refused(error) });

/// An entry of the control-plane log.
#[derive(Clone, Debug)]
pub enum ControlEntry {
    /// A node's boot. When the last data node of the configuration is there, the first views are formed. A data node whose boot
    /// before was excluded comes back as a learner of its group.
    RegisterNode {
        node: NodeId,
        incarnation: Incarnation,
        home: Home,
        /// It has loaded rows from its disk.
        has_rows: bool,
    },
    ChangeSchema {
        requester: Address,
        incarnation: Incarnation,
        sequence: u64,
        change: SchemaChange,
    },
    /// Every node has stopped using the dropped tables: they are removed, and so are indexes that no session fills any more.
    RemoveDropped,
    /// This boot of a node is over: it leaves its group's view, and other members take over its roles.
    ExcludeNode { node: NodeId, incarnation: Incarnation },
    /// The learner holds what the active members hold, and every acknowledgement waits for it: it is active.
    PromoteNode { node: NodeId, incarnation: Incarnation },
    /// This boot of a node hands over its shards: transactions that have not begun wait.
    BeginHandover { node: NodeId, incarnation: Incarnation, purpose: HandoverPurpose },
    /// The handover that was begun so is done, or given up.
    EndHandover { begun: u64, done: bool },
    /// No member of some group is left: all groups begin again with the commits up to `at`, as
    /// these disks hold them. Only if no entry behind number `after` was applied. A lossy one may
    /// be led by nodes that were no members at the end.
    BeginRestart {
        after: u64,
        at: Timestamp,
        is_clean: bool,
        is_lossy: bool,
        members: Vec<RestartMember>,
    },
    /// All members of the restart that was begun so have loaded their rows.
    EndRestart { begun: u64, report: RestartReport },
}
wire_enum!(ControlEntry {
    0 => RegisterNode { node, incarnation, home, has_rows },
    1 => ChangeSchema { requester, incarnation, sequence, change },
    2 => RemoveDropped,
    3 => ExcludeNode { node, incarnation },
    4 => PromoteNode { node, incarnation },
    5 => BeginHandover { node, incarnation, purpose },
    6 => EndHandover { begun, done },
    7 => BeginRestart { after, at, is_clean, is_lossy, members },
    8 => EndRestart { begun, report },
});

impl ControlState {
    pub fn new(config: ClusterConfig, catalogue: Catalogue) -> ControlState {
        ControlState {
            applied: 0,
            config,
            lineage: Lineage(1),
            incarnations: BTreeMap::new(),
            excluded: BTreeMap::new(),
            homes: BTreeMap::new(),
            voter_homes: BTreeMap::new(),
            groups: BTreeMap::new(),
            sequencer: None,
            handover: None,
            restart: None,
            restarts: BTreeMap::new(),
            buckets: Vec::new(),
            catalogue,
            index_builds: BTreeMap::new(),
            requests: BTreeMap::new(),
            restarted: None,
        }
    }

    /// Do the first views exist?
    pub fn is_formed(&self) -> bool {
        self.sequencer.is_some()
    }

    /// Whether the node's last boot is over, and no other one was admitted since.
    pub fn is_excluded(&self, node: NodeId) -> bool {
        !self.incarnations.contains_key(&node)
            && self.excluded.values().any(|excluded| *excluded == node)
    }
    pub fn is_over(&self, incarnation: Incarnation) -> bool {
        self.excluded.contains_key(&incarnation)
    }
    /// Is this boot of a node a member that counts, or of a node that has no rows?
    pub fn is_active(&self, node: NodeId, incarnation: Incarnation) -> bool {
        let is_active = |group: &Group| group.active().any(|active| active == node);
        let has_no_rows = self.config.node(node).is_some_and(|config| !config.data);
        self.incarnations.get(&node) == Some(&incarnation)
            && (has_no_rows || self.groups.values().any(is_active))
    }
    /// The data nodes that take part.
    pub fn data_nodes(&self) -> Vec<NodeId> {
        let mut nodes = self.config.data_nodes();
        nodes.retain(|node| !self.is_excluded(*node));
        nodes
    }
    /// Whether this boot may be excluded in this state. The last active member of its group may not: no other node has its rows.
    pub fn may_exclude(&self, node: NodeId, incarnation: Incarnation) -> bool {
        let is_there = self.incarnations.get(&node) == Some(&incarnation);
        let may_lose = |id: GroupId| {
            let group = self.group(id);
            let is_active = group.active().any(|active| active == node);
            // Who does not come to load its rows is waited for, or another restart begins.
            self.restart.is_none() && (!is_active || group.active().count() >= 2)
        };
        is_there && self.group_of_node(node).is_none_or(may_lose)
    }
    /// Whether this boot may hand over: another member is active, too, and no node is being filled, whose records would not end.
    pub fn may_hand_over(
        &self,
        node: NodeId,
        incarnation: Incarnation,
        purpose: HandoverPurpose,
    ) -> bool {
        let is_member = |group: &Group| {
            let has_others = group.active().count() >= 2;
            has_others && group.active().any(|member| member == node)
        };
        self.handover.is_none()
            && self.restart.is_none()
            && self.incarnations.get(&node) == Some(&incarnation)
            && self.groups.values().all(|group| group.learner().is_none())
            && self.groups.values().any(|group| {
                is_member(group)
                    && match purpose {
                        HandoverPurpose::Leave => true,
                        HandoverPurpose::Share => group.leads_too_much() == Some(node),
                    }
            })
    }
    /// May it be promoted?
    pub fn may_promote(&self, node: NodeId, incarnation: Incarnation) -> bool {
        let mut learners = self.groups.values().flat_map(Group::learners);
        learners.any(|member| member.node == node && member.incarnation == incarnation)
    }

    pub fn shard_of(&self, bucket: BucketId) -> ShardId {
        self.buckets[usize::from(bucket.0)]
    }
    pub fn shard_count(&self) -> u16 {
        let groups = u16::try_from(self.groups.len()).expect("at most 4096 groups");
        groups * self.config.shards_per_group
    }
    pub fn shards(&self) -> impl Iterator<Item = ShardId> {
        (0..self.shard_count()).map(ShardId)
    }
    pub fn group_of(&self, shard: ShardId) -> GroupId {
        GroupId(shard.0 / self.config.shards_per_group)
    }
    pub fn group(&self, group: GroupId) -> &Group {
        &self.groups[&group]
    }
    /// Of each group, in order.
    pub fn views(&self) -> Vec<View> {
        self.groups.values().map(|group| group.view).collect()
    }
    /// The shards that a data node keeps by the configuration, before there are views.
    pub fn shards_of(&self, node: NodeId) -> Vec<ShardId> {
        let place = self.config.data_nodes().iter().position(|other| *other == node);
        let Some(place) = place.and_then(|place| u16::try_from(place).ok()) else {
            return Vec::new();
        };
        let count = self.config.shards_per_group;
        let first = place / self.config.replicas * count;
        (first..first + count).map(ShardId).collect()
    }
    /// The group a data node belongs to.
    pub fn group_of_node(&self, node: NodeId) -> Option<GroupId> {
        let mut groups = self.groups.iter();
        let found = groups.find(|(_, group)| group.members.iter().any(|m| m.node == node));
        found.map(|(id, _)| *id)
    }
    pub fn primary(&self, shard: ShardId) -> NodeId {
        self.group(self.group_of(shard)).primaries[&shard]
    }
    /// The worker that owns a shard's replica on a node: shards are dealt out in turn.
    pub fn owner(&self, shard: ShardId, node: NodeId) -> Address {
        let workers = self.config.node(node).map_or(1, |config| config.workers);
        let index = shard.0 % self.config.shards_per_group;
        // The members' primaries alternate over the shards, so deal by rounds: each worker gets as many of each.
        Address { node, worker: WorkerId(index / self.config.replicas % workers) }
    }
}

/// A message of the control plane's consensus, as its library encodes it.
#[derive(Clone, Debug)]
pub struct RaftMessage {
    /// Where the sender keeps its votes.
    pub home: Home,
    pub payload: Bytes,
}
wire_struct!(RaftMessage { home, payload });
