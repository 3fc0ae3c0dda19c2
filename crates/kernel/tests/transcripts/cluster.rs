//! A cluster of real kernels in one thread, with every message between them in plain sight.
//!
//! Frames of a kernel lie on their link until the script delivers them; time stands still until the
//! script moves it. Nothing here knows the meaning of a message: links carry frames, and print
//! their content.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use kernel::{
    Boot, ChannelConfig, Input, Kernel, KernelConfig, LocalMessage, MemoryJournal, MemoryStore,
    Mutation, NodeShared, Outbox, Store, Time,
};
use protocol::Message;
use protocol::control::{ClusterConfig, NodeConfig};
use protocol::envelope::{Header, decode_header, decode_message};
use protocol::message::Room;
use protocol::report::Connection;
use protocol::request::{Connections, Reply, Request, SessionId};
use storage::Page;
use types::{Address, ClusterId, Home, Incarnation, NodeId, WorkerId};

use crate::describe::Names;

pub const MEMORY_LIMIT_BYTES: u64 = 64 << 20;
pub const TICK: Time = 10_000;
/// Rounds of deliveries after which messages are taken to go round in a circle.
const ROUNDS_MAX: usize = 1_000;

/// Kinds that come and go with time and say nothing about the exchange at hand.
const HOUSEKEEPING: [&str; 9] = [
    "Ack",
    "Raft",
    "HorizonReport",
    "HorizonAdvanced",
    "SchemaAdopted",
    "Alive",
    "LeaseGranted",
    "MemoryLeft",
    "Probe",
];

pub type Link = (Address, Address);

pub struct Setup {
    pub data: u16,
    pub voters: u16,
    pub replicas: u16,
    pub workers: u16,
    pub shards_per_group: u16,
    /// The node whose operator wrote another configuration than the others'.
    pub misconfigured: Option<NodeId>,
    pub mutation: Mutation,
    pub channel: ChannelConfig,
    /// A transaction with more rows in a shard ends in steps.
    pub record_rows_max: Option<u16>,
    pub turn_bytes_max: Option<u16>,
    /// Rows that a learner is offered or copied at a time.
    pub fill_rows_max: Option<u16>,
    /// Entries of its log that may wait for a learner's disk while it is filled.
    pub fill_backlog_max: Option<u16>,
    pub log_backlog_max: Option<u16>,
    pub memory_limit_bytes: u64,
    /// Voters keep a snapshot instead of more bytes of entries.
    pub control_log_bytes_max: Option<u16>,
    /// Scripts that are not about heartbeats have none but the first.
    pub heartbeat_ms: u32,
    /// What a node's clock is ahead of that of the script, where it is.
    pub clocks: BTreeMap<NodeId, Time>,
    /// Data nodes keep their rows on disks, too.
    pub has_disks: bool,
    /// Entries by which the log of a part grows until a local checkpoint is begun.
    pub log_growth_max: Option<u16>,
}

/// A frame on its way.
#[derive(Clone)]
pub struct Flight {
    pub bytes: Vec<u8>,
    /// Messages one after the other that led to it, itself included, from a request on.
    pub hops: u32,
}

struct LocalFlight {
    message: LocalMessage,
    hops: u32,
}

/// Whoever asks for a session's connection hears its number.
struct Numbered;

impl Connections for Numbered {
    fn connections(
        &self,
        _worker: WorkerId,
        session: Option<SessionId>,
    ) -> Vec<(SessionId, Connection)> {
        let connection = |id: SessionId| Connection {
            id: u32::try_from(id.0).expect("scripts have few sessions"),
            user: "root".into(),
            host: "localhost".into(),
            database: None,
            command: "Query".into(),
            since_micros: 0,
            statement: Some(format!("a statement of session {}", id.0)),
            progress: None,
            isolation: "REPEATABLE READ".into(),
            read_only: false,
        };
        session.into_iter().map(|id| (id, connection(id))).collect()
    }
}

/// Which links, and which kind of message on them; `None` is any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub from: Option<NodeId>,
    pub to: Option<NodeId>,
    pub from_worker: Option<WorkerId>,
    pub to_worker: Option<WorkerId>,
    pub kind: Option<String>,
}

/// An answer that a session got, and the messages between nodes it took.
pub struct Answer {
    pub session: SessionId,
    pub reply: Reply,
    pub hops: u32,
    pub sent: Sent,
}

/// Messages sent between nodes so far: those that are not housekeeping, and the packets they left in.
#[derive(Clone, Copy, Default)]
pub struct Sent {
    pub messages: u32,
    pub packets: u32,
}

pub struct Cluster {
    pub setup: Setup,
    pub config: ClusterConfig,
    pub now: Time,
    pub nodes: BTreeMap<NodeId, Arc<NodeShared>>,
    pub kernels: BTreeMap<Address, Kernel>,
    /// Boots that are over.
    dead: BTreeMap<NodeId, Incarnation>,
    /// Of each node, also while it is down.
    journals: BTreeMap<NodeId, Arc<MemoryJournal>>,
    stores: BTreeMap<NodeId, Arc<MemoryStore>>,
    homes: BTreeMap<NodeId, Home>,
    links: BTreeMap<Link, VecDeque<Flight>>,
    locals: BTreeMap<Link, VecDeque<LocalFlight>>,
    /// Nodes, or single workers of them, that do nothing; their messages wait.
    pub frozen: BTreeSet<(NodeId, Option<WorkerId>)>,
    /// What `deliver_all` leaves where it is.
    pub held: Vec<Pattern>,
    /// Pages that others have of what a node may take.
    pub others_memory: BTreeMap<NodeId, Vec<Page>>,
    /// Nodes that see that something has come for them, and have no time for it.
    pub unread: BTreeSet<NodeId>,
    /// Frames that have left once: (link, sender's boot, sequence).
    seen: BTreeSet<(Link, Incarnation, u64)>,
    pub hidden: BTreeSet<String>,
    pub names: Names,
    pub sessions: BTreeMap<SessionId, String>,
    incarnation_last: u64,
    // Filled by every step, taken by the player.
    pub said: Vec<String>,
    pub answers: Vec<Answer>,
    pub sent: Sent,
}

impl Cluster {
    pub fn new(setup: Setup) -> Cluster {
        let config = configuration(&setup);
        assert_eq!(config.check(), Ok(()));
        let mut cluster = Cluster {
            names: Names { several_workers: setup.workers > 1, ..Names::default() },
            config,
            now: 1_000_000,
            nodes: BTreeMap::new(),
            kernels: BTreeMap::new(),
            dead: BTreeMap::new(),
            journals: BTreeMap::new(),
            stores: BTreeMap::new(),
            homes: BTreeMap::new(),
            links: BTreeMap::new(),
            locals: BTreeMap::new(),
            frozen: BTreeSet::new(),
            held: Vec::new(),
            others_memory: BTreeMap::new(),
            unread: BTreeSet::new(),
            seen: BTreeSet::new(),
            hidden: HOUSEKEEPING.map(String::from).into(),
            sessions: BTreeMap::new(),
            incarnation_last: 0,
            said: Vec::new(),
            answers: Vec::new(),
            sent: Sent::default(),
            setup,
        };
        for node in cluster.config.nodes.clone() {
            cluster.start(node.id);
        }
        let ids: Vec<NodeId> = cluster.nodes.keys().copied().collect();
        for (place, low) in ids.iter().enumerate() {
            for high in &ids[place + 1..] {
                cluster.link_up(*low, *high);
            }
        }
        cluster
    }

    /// Boots a node, for the first time or after a crash: with a new incarnation and nothing in memory.
    pub fn start(&mut self, id: NodeId) {
        self.incarnation_last += 1;
        let incarnation = Incarnation(self.incarnation_last);
        let mut config = self.config.clone();
        if self.setup.misconfigured == Some(id) {
            config.shards_per_group *= 2;
        }
        let mutation = self.setup.mutation;
        let journal = Arc::clone(self.journals.entry(id).or_default());
        let home = *self.homes.entry(id).or_insert(Home(u64::from(id.0)));
        let is_data = self.config.node(id).is_some_and(|node| node.data);
        let store = (self.setup.has_disks && is_data).then(|| {
            let store = self.stores.entry(id).or_default();
            Arc::<MemoryStore>::clone(store) as Arc<dyn Store>
        });
        let boot = Boot { node: id, incarnation, home, journal, store };
        let shared = NodeShared::new(boot, config, self.setup.memory_limit_bytes, mutation);
        let shared = shared.expect("the disk gives back what it was given");
        if let Some(backlog) = self.setup.fill_backlog_max {
            shared.set_fill_backlog_max(u64::from(backlog));
        }
        if let Some(backlog) = self.setup.log_backlog_max {
            shared.set_log_backlog_max(u64::from(backlog));
        }
        if let Some(count) = self.setup.fill_rows_max {
            shared.set_fill_rows_max(usize::from(count));
        }
        if let Some(count) = self.setup.record_rows_max {
            shared.set_record_rows_max(usize::from(count));
        }
        if let Some(bytes) = self.setup.turn_bytes_max {
            shared.set_turn_bytes_max(usize::from(bytes));
        }
        if let Some(count) = self.setup.log_growth_max {
            shared.set_log_growth_max(u64::from(count));
        }
        if let Some(count) = self.setup.control_log_bytes_max {
            shared.set_control_log_bytes_max(u64::from(count));
        }
        shared.set_connections(Arc::new(Numbered));
        let workers = self.config.node(id).expect("a node of this cluster").workers;
        self.links.retain(|(from, to), _| from.node != id && to.node != id);
        self.seen.retain(|((from, to), ..)| from.node != id && to.node != id);
        self.locals.retain(|(from, _), _| from.node != id);
        for worker in (0..workers).map(WorkerId) {
            let seed = u64::from(id.0) * 100 + u64::from(worker.0);
            let config = KernelConfig { worker, seed, channel: self.setup.channel };
            let kernel = Kernel::new(config, Arc::clone(&shared), self.now(id));
            self.kernels.insert(Address { node: id, worker }, kernel);
        }
        let is_back = self.nodes.insert(id, shared).is_some() || self.dead.contains_key(&id);
        if is_back {
            let others: Vec<NodeId> = self.nodes.keys().copied().filter(|o| *o != id).collect();
            for other in others {
                self.link_up(id, other);
            }
        }
    }

    /// A node's directory is lost.
    pub fn wipe(&mut self, id: NodeId) {
        self.journals.remove(&id);
        self.stores.remove(&id);
        self.homes.insert(id, Home(1_000 + u64::from(id.0)));
    }

    /// What a node's disk has of rows is lost, or was put aside because it is damaged.
    pub fn lose_rows(&mut self, id: NodeId) {
        self.stores.remove(&id);
    }

    /// All processes end, with what their disks do not hold. Their journals are faster.
    pub fn lose_power(&mut self) {
        for store in self.stores.values() {
            store.lose_power();
            store.set_slow(false);
        }
        let nodes: Vec<NodeId> = self.nodes.keys().copied().collect();
        for node in nodes {
            self.die(node);
        }
        self.links.clear();
    }

    /// A node's process ends. Its sent frames are on their way, frames to it arrive nowhere.
    pub fn die(&mut self, id: NodeId) {
        let node = self.nodes.remove(&id).expect("it lives");
        self.dead.insert(id, node.incarnation);
        self.kernels.retain(|address, _| address.node != id);
        self.locals.retain(|(from, _), _| from.node != id);
        if let Some(store) = self.stores.get(&id) {
            store.close();
        }
    }

    /// A node's host has no clients any more, because the whole cluster is to stop.
    pub fn rest(&mut self, id: NodeId) {
        self.step(Address { node: id, worker: WorkerId(0) }, Input::Rest, 0);
    }

    /// After that its process ends.
    pub fn end_at_rest(&mut self, id: NodeId) {
        let node = &self.nodes[&id];
        let place = node.note_rested();
        assert!(node.is_rest_noted(place), "a fast disk has it at once");
        self.die(id);
    }

    /// A node's host learns that another node's process has ended.
    pub fn tell_death(&mut self, dead: NodeId, at: NodeId) {
        let living = self.nodes.get(&dead).map(|node| node.incarnation);
        let incarnation = living.unwrap_or_else(|| self.dead[&dead]);
        let worker = Address { node: at, worker: WorkerId(0) };
        self.step(worker, Input::NodeDied { node: dead, incarnation }, 0);
    }

    /// What a node's disk has of its rows; with `disks=1`.
    pub fn store(&self, id: NodeId) -> &Arc<MemoryStore> {
        &self.stores[&id]
    }

    pub fn fill_memory(&mut self, id: NodeId, left: usize) {
        let pool = Arc::clone(&self.nodes[&id].pool);
        let mut pages: Vec<Page> = std::iter::from_fn(|| pool.try_allocate().ok()).collect();
        pages.truncate(pages.len() - left);
        assert!(self.others_memory.insert(id, pages).is_none(), "it is full");
    }

    pub fn set_room(&mut self, id: NodeId, room: &str) {
        self.store(id).set_room(match room {
            "ample" => Room::Ample,
            "reserve" => Room::Reserve,
            "nothing" => Room::Nothing,
            "failed" => Room::Failed,
            other => panic!("there is no room {other:?}"),
        });
    }

    /// What a node writes from now on is durable when its disk is fast again.
    pub fn set_slow_disk(&mut self, id: NodeId, is_slow: bool) {
        self.journals[&id].set_slow(is_slow);
        if let Some(store) = self.stores.get(&id) {
            store.set_slow(is_slow);
        }
        let workers = self.config.node(id).expect("a node of this cluster").workers;
        for worker in (0..workers).map(WorkerId).filter(|_| !is_slow) {
            self.step(Address { node: id, worker }, Input::Durable, 0);
        }
    }

    /// A node's host has it hand over its shards, or not.
    pub fn set_leaving(&mut self, id: NodeId, leaves: bool) {
        self.step(Address { node: id, worker: WorkerId(0) }, Input::Leave(leaves), 0);
    }

    /// What a node's clock shows.
    pub fn now(&self, node: NodeId) -> Time {
        self.now + self.setup.clocks.get(&node).copied().unwrap_or(0)
    }

    pub fn is_formed(&self) -> bool {
        let has_lease = |(id, node): (&NodeId, &Arc<NodeShared>)| node.has_lease(self.now(*id));
        self.kernels.values().all(Kernel::is_ready) && self.nodes.iter().all(has_lease)
    }

    pub fn request(&mut self, at: Address, session: SessionId, request: Request) {
        self.step(at, Input::Request { session, request }, 0);
    }

    /// Both ends learn that their link is up again, but for workers that are frozen alone.
    pub fn link_up(&mut self, a: NodeId, b: NodeId) {
        let ends: Vec<Address> = self.kernels.keys().copied().collect();
        let is_frozen = |at: &Address| self.frozen.contains(&(at.node, Some(at.worker)));
        let awake: Vec<Address> = ends.iter().copied().filter(|at| !is_frozen(at)).collect();
        for (at, peer) in [(a, b), (b, a)] {
            for from in awake.iter().filter(|address| address.node == at) {
                for to in ends.iter().filter(|address| address.node == peer) {
                    let incarnation = self.nodes[&to.node].incarnation;
                    self.step(*from, Input::LinkUp { peer: *to, incarnation }, 0);
                }
            }
        }
    }

    fn is_frozen(&self, at: Address) -> bool {
        let Address { node, worker } = at;
        self.frozen.contains(&(node, None)) || self.frozen.contains(&(node, Some(worker)))
    }

    /// Moves time by one tick of every worker; nothing is delivered.
    pub fn tick(&mut self) {
        self.now += TICK;
        let due: Vec<Address> = self
            .kernels
            .iter()
            .filter(|(address, _)| !self.is_frozen(**address))
            .filter(|(address, kernel)| kernel.wake_at() <= self.now(address.node))
            .map(|(address, _)| *address)
            .collect();
        for address in due {
            let now = self.now(address.node);
            let here = |link: &Link| link.1 == address && self.unread.contains(&address.node);
            let unread = self.links.iter().filter(|(link, queue)| here(link) && !queue.is_empty());
            for ((peer, _), _) in unread {
                self.kernels.get_mut(&address).expect("just listed").note_unread(now, *peer);
            }
            self.step(address, Input::Tick, 0);
        }
    }

    /// Delivers the frames under way and their consequences, until only held messages are left. In
    /// rounds: frames that leave in one arrive in the next, as on links of the same length.
    pub fn deliver_all(&mut self) {
        for _ in 0..ROUNDS_MAX {
            let mut moved = false;
            let links: Vec<(Link, usize)> =
                self.links.iter().map(|(link, queue)| (*link, queue.len())).collect();
            let locals: Vec<(Link, usize)> =
                self.locals.iter().map(|(link, queue)| (*link, queue.len())).collect();
            for (link, count) in locals {
                for _ in 0..count {
                    moved |= self.deliver_local(link);
                }
            }
            for (link, count) in links {
                for _ in 0..count {
                    let Some(first) = self.links[&link].front() else { break };
                    if self.is_held(link, first) {
                        break;
                    }
                    let flight = self.links.get_mut(&link).and_then(VecDeque::pop_front);
                    self.arrive(link, &flight.expect("just looked"));
                    moved = true;
                }
            }
            if !moved {
                return;
            }
        }
        panic!("messages go round in a circle");
    }

    fn deliver_local(&mut self, link: Link) -> bool {
        let Some(first) = self.locals.get(&link).and_then(VecDeque::front) else { return false };
        let kind = local_name(&first.message);
        if self.is_frozen(link.1) {
            return false;
        }
        if self.held.iter().any(|pattern| pattern.covers(link, &kind)) {
            return false;
        }
        let flight = self.locals.get_mut(&link).and_then(VecDeque::pop_front);
        let flight = flight.expect("just looked");
        self.step(link.1, Input::Local(flight.message), flight.hops);
        true
    }

    fn is_held(&self, link: Link, flight: &Flight) -> bool {
        self.is_frozen(link.1)
            || self.held.iter().any(|pattern| pattern.covers(link, kind_of(flight)))
    }

    /// The first `count` frames on their way that a pattern covers, or all: link and place in its queue, in order. Frames
    /// of kinds that are not shown do not count, but come along with one they are in front of.
    pub fn find(&self, pattern: &Pattern, count: Option<usize>) -> Vec<(Link, usize)> {
        let mut found = Vec::new();
        let mut left = count.unwrap_or(usize::MAX);
        for (link, queue) in &self.links {
            for (place, flight) in queue.iter().enumerate() {
                let kind = kind_of(flight);
                if left == 0 || !pattern.covers(*link, kind) {
                    continue;
                }
                found.push((*link, place));
                if pattern.kind.is_some() || self.is_shown(kind) {
                    left -= 1;
                }
            }
        }
        assert!(count.is_none() || left == 0, "too few such frames are on their way");
        found
    }

    pub fn take(&mut self, link: Link, place: usize) -> Flight {
        let queue = self.links.get_mut(&link).expect("a link in use");
        queue.remove(place).expect("a frame found there")
    }
    pub fn flight(&self, link: Link, place: usize) -> &Flight {
        &self.links[&link][place]
    }
    pub fn put(&mut self, link: Link, place: usize, flight: Flight) {
        self.links.entry(link).or_default().insert(place, flight);
    }

    /// Hands a frame to the worker at the end of the link.
    pub fn arrive(&mut self, link: Link, flight: &Flight) {
        self.step(link.1, Input::Frame(&flight.bytes), flight.hops);
    }

    fn step(&mut self, at: Address, input: Input<'_>, hops: u32) {
        let mut outbox = Outbox::default();
        let now = self.now(at.node);
        // The dead hear nothing.
        let Some(kernel) = self.kernels.get_mut(&at) else { return };
        kernel.step(now, input, &mut outbox);
        if let Some(state) = outbox.state {
            for (id, table) in &state.catalogue.tables {
                self.names.tables.insert(*id, table.name.trim_start_matches('#').to_string());
            }
        }
        let here = self.names.address(at);
        for line in outbox.log {
            self.said.push(format!("{here} log: {line}"));
        }
        if outbox.stop.is_some() {
            self.said.push(format!("{here} is to stop"));
        }
        if outbox.has_rested {
            self.said.push(format!("{here} has rested"));
        }
        if outbox.load {
            let node = Arc::clone(&self.nodes[&at.node]);
            for part in 0..node.parts() {
                let loaded = node.load_part(part).expect("the disk gives back what it was given");
                node.part_is_loaded(loaded, 0);
            }
        }
        let ends = outbox.ends.take();
        // The replies of a step do not wait for its messages.
        for (session, reply) in outbox.replies {
            let name = self.sessions.get(&session).expect("answers go to sessions of the script");
            self.said.push(format!("{name} <- {}", self.names.reply(&reply)));
            self.answers.push(Answer { session, reply, hops, sent: self.sent });
        }
        for (to, chunk) in outbox.frames {
            self.send_chunk(at, to, &chunk, hops);
        }
        for (worker, message) in outbox.local {
            let to = Address { node: at.node, worker };
            let content = local_name(&message);
            if self.is_shown(&content) {
                self.said.push(format!("{here}~>{} {content}", self.names.address(to)));
            }
            self.locals.entry((at, to)).or_default().push_back(LocalFlight { message, hops });
        }
        if let Some(end) = ends {
            self.said.push(format!("{here} ends: {}", end.why()));
            self.die(at.node);
        } else if outbox.has_left && self.nodes.contains_key(&at.node) {
            self.said.push(format!("{here} has left"));
            self.die(at.node);
        }
    }

    fn send_chunk(&mut self, from: Address, to: Address, chunk: &[u8], hops: u32) {
        let mut rest = chunk;
        let mut counts = false;
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let (frame, after) = after.split_at(u32::from_le_bytes(*length) as usize);
            rest = after;
            let header = decode_header(frame).expect("a kernel made it");
            let message = decode_message(frame).expect("a kernel made it");
            let again = header.sequence != 0
                && !self.seen.insert(((from, to), header.incarnation, header.sequence));
            let kind = message.as_ref().map_or("Ack", Message::name);
            if !again && !HOUSEKEEPING.contains(&kind) {
                self.sent.messages += 1;
                counts = true;
            }
            if self.is_shown(kind) {
                let line = self.line(from, to, &header, message.as_ref());
                self.said.push(format!("{line}{}", if again { " (again)" } else { "" }));
            }
            let flight = Flight { bytes: frame.to_vec(), hops: hops + 1 };
            self.links.entry((from, to)).or_default().push_back(flight);
        }
        self.sent.packets += u32::from(counts);
    }

    fn line(
        &self,
        from: Address,
        to: Address,
        header: &Header,
        message: Option<&Message>,
    ) -> String {
        let what = match message {
            Some(message) => self.names.message(message),
            None => format!("Ack {}", header.acknowledged),
        };
        format!("{}->{} {what}", self.names.address(from), self.names.address(to))
    }

    /// The messages on their way, link by link.
    pub fn in_flight(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for ((from, to), queue) in &self.links {
            for flight in queue.iter().filter(|flight| self.is_shown(kind_of(flight))) {
                let header = decode_header(&flight.bytes);
                let message = decode_message(&flight.bytes);
                lines.push(match (header, message) {
                    (Ok(header), Ok(message)) => self.line(*from, *to, &header, message.as_ref()),
                    _ => format!(
                        "{}->{} (damaged)",
                        self.names.address(*from),
                        self.names.address(*to)
                    ),
                });
            }
        }
        lines
    }

    fn is_shown(&self, kind: &str) -> bool {
        !self.hidden.contains(kind)
    }
}

impl Pattern {
    fn covers(&self, (from, to): Link, kind: &str) -> bool {
        self.from.is_none_or(|node| node == from.node)
            && self.to.is_none_or(|node| node == to.node)
            && self.from_worker.is_none_or(|worker| worker == from.worker)
            && self.to_worker.is_none_or(|worker| worker == to.worker)
            && self.kind.as_ref().is_none_or(|wanted| wanted == kind)
    }
}

fn kind_of(flight: &Flight) -> &'static str {
    match decode_message(&flight.bytes) {
        Ok(Some(message)) => message.name(),
        Ok(None) => "Ack",
        Err(_) => "Damaged",
    }
}

/// The kind of a message between workers of a node, whose insides are the kernel's own: as its debug form names it.
fn local_name(message: &LocalMessage) -> String {
    let text = format!("{message:?}");
    let (_, content) = text.split_once("content: ").expect("a message has a content");
    let kind = content.strip_prefix("Message(").unwrap_or(content);
    kind.chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// Nodes 1 to n: the first is a voter only, data nodes follow; with three voters, the first two data nodes vote too.
fn configuration(setup: &Setup) -> ClusterConfig {
    let voter = NodeConfig { id: NodeId(1), voter: true, data: false, workers: 1 };
    let data = (2..setup.data + 2).map(|id| NodeConfig {
        id: NodeId(id),
        voter: id <= setup.voters,
        data: true,
        workers: setup.workers,
    });
    ClusterConfig {
        cluster: ClusterId(0x5ca1e),
        nodes: std::iter::once(voter).chain(data).collect(),
        replicas: setup.replicas,
        shards_per_group: setup.shards_per_group,
        heartbeat_ms: setup.heartbeat_ms,
        durability: protocol::control::Durability::default(),
    }
}
