//! The simulated world: a whole cluster in one thread, from one seed.
//!
//! Everything that happens is an event with a time and a number; the world takes the earliest,
//! hands it to its worker, and makes new events of the worker's output. Time passes only between
//! events. The world owns the only clock and the only generator of random numbers, so a seed is a
//! history: the trace hash over all events shows whether two are equal.
//!
//! A worker is the same as in the real program: a kernel, and on data nodes a client with the tasks
//! of its sessions. The world does the work of the worker's loop there, and nothing that a kernel
//! could not meet there: links lose frames only when they report it, workers of one node receive
//! each other's messages in order.
//!
//! A node may be lost ([`crate::options::Crash`]): from one event to the next its workers and their
//! tasks are gone, its sent frames may still arrive, and some time later each of the other nodes
//! gets the report. It may come back, as another boot with nothing but its disk.

mod failures;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use client::Client;
use client::task::{Executor, TaskId};
use kernel::{
    Boot, Input, Kernel, KernelConfig, LocalMessage, MemoryStore, NodeShared, Outbox, Store, Time,
};
use protocol::control::{ClusterConfig, HEARTBEAT_MS_DEFAULT, NodeConfig};
use protocol::envelope::{decode_header, decode_message};
use protocol::message::Room;
use protocol::request::{Request, SessionId};
use types::hash::hash64;
use types::{Address, Home, Incarnation, Lineage, NodeId, WorkerId};

use crate::bulletin::Bulletin;
use crate::clock::Clock;
use crate::disk::{Disk, DiskJournal};
use crate::network::{ConnectionId, Network};
use crate::options::{Crash, Failure, Faults, FullDisk, MILLISECOND, Options, SECOND};
use crate::random::Random;

/// A node's memory: far more than any workload takes.
const MEMORY_LIMIT_BYTES: u64 = 256 << 20;
/// The Unix time at which worlds begin: 2026-01-01.
const UNIX_MICROS_AT_START: i64 = 1_767_225_600_000_000;

pub struct World {
    pub options: Options,
    faults: Faults,
    now: Time,
    /// The same, for tasks to see.
    clock: Rc<Cell<Time>>,
    /// Told whenever a worker with sessions takes over a newer control state.
    schema_news: Rc<Bulletin>,
    /// What the sessions tell each other.
    news: Rc<Bulletin>,
    /// The node that has failed last, for tasks to see.
    lost: Rc<Cell<Option<Lost>>>,
    /// Nodes that are frozen or cut off, or were: and since when they serve again.
    troubled: Rc<RefCell<BTreeMap<NodeId, Option<Time>>>>,
    event_last: u64,
    /// By their times, and then in the order of planning. Boxed: a map moves its values.
    events: BTreeMap<(Time, u64), Box<Event>>,
    random: Random,
    network: Network,
    /// Those that are alive, and their workers.
    nodes: BTreeMap<NodeId, Arc<NodeShared>>,
    workers: BTreeMap<Address, Worker>,
    /// Of every node, also while it is down.
    disks: BTreeMap<NodeId, Disk>,
    /// Nodes that have crashed, and nodes that serve again, since they were taken.
    crashed: Vec<NodeId>,
    returned: Vec<NodeId>,
    /// Nodes that were started again and do not serve yet.
    returning: Vec<NodeId>,
    /// Nodes that are down and will be started again.
    down: BTreeSet<NodeId>,
    /// Nodes that do nothing until then.
    frozen: BTreeMap<NodeId, Time>,
    /// Workers that do nothing until then, while the others of their nodes continue.
    hung: BTreeMap<Address, Time>,
    /// Freezes, cuts and the like that are not over.
    failing: u32,
    /// Nodes that hand over, because they are to stop.
    leaving: BTreeMap<NodeId, Crash>,
    /// Nodes that end themselves now.
    ending: BTreeSet<NodeId>,
    /// Nodes that others may have taken for dead.
    suspects: BTreeSet<NodeId>,
    /// What is to come when they serve.
    next_crash: Option<Crash>,
    faults_are_over: bool,
    /// In which lineage rows were lost with the power last.
    damaged_in: Option<Lineage>,
    /// Nodes with damaged rows, as is seen when they are loaded.
    damaged: BTreeSet<NodeId>,
    /// In which lineage that was seen last: others that load for the same restart begin again.
    load_failed_in: Option<Lineage>,
    trace: Trace,
    pub counts: Counts,
    /// What kernels wrote to their logs, the last few.
    log: Vec<String>,
    /// Reused by every step.
    outbox: Outbox,
}

struct Worker {
    kernel: Kernel,
    session: Option<SessionHost>,
    clock: Clock,
    /// When local messages from each of the node's workers arrive at the earliest: they stay in order.
    local_arrives_last: BTreeMap<WorkerId, Time>,
    /// The tick and the timer that are scheduled.
    tick_at: Time,
    timer_at: Option<Time>,
}

/// A data node's worker has sessions.
struct SessionHost {
    client: Client,
    executor: Executor,
}

/// The delay after which a failure that must not happen yet is tried again.
const HASTY_PAUSE: Time = 20 * MILLISECOND;

/// The time after which a node that is to stop ends, whether it has handed over or not.
const LEAVE_MAX: Time = 5 * SECOND;

/// The last node has its power again by then, or, if it is late, by then; and what a cluster restart may take, with its wait for nodes that
/// do not come.
const OUTAGE_MAX: Time = 3 * SECOND;
const LATE_MAX: Time = 10 * SECOND;
const RESTART_MAX: Time = 8 * SECOND + LOAD_MAX;

/// Longer than a member may be silent.
const LOAD_MAX: Time = 2 * SECOND;

/// A crash that has happened.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    pub node: NodeId,
    /// By then every other node has been told.
    pub told_at: Time,
}

#[derive(Default, Clone, Copy, Debug)]
pub struct Counts {
    pub events: u64,
    pub frames: u64,
    pub frames_lost: u64,
    pub frames_doubled: u64,
    pub cuts: u64,
    pub crashes: u64,
    pub power_failures: u64,
    pub full_disks: u64,
    pub lost_disks: u64,
    /// Of those, where the damage was seen when the rows were loaded.
    pub failed_loads: u64,
    /// Local checkpoints that could not be read back as they were written.
    pub spoiled: u64,
    /// Of the nodes that ended, those that had handed over before.
    pub leaves: u64,
    pub freezes: u64,
    pub hangs: u64,
    pub crawls: u64,
    pub cut_offs: u64,
    /// Nodes that lived and were excluded.
    pub exclusions: u64,
    pub returns: u64,
    /// Nodes that loaded their disks before they were admitted, and rows of those that had not to be copied.
    pub loads: u64,
    pub rows_kept: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.events += more.events;
        self.frames += more.frames;
        self.frames_lost += more.frames_lost;
        self.frames_doubled += more.frames_doubled;
        self.cuts += more.cuts;
        self.crashes += more.crashes;
        self.power_failures += more.power_failures;
        self.full_disks += more.full_disks;
        self.lost_disks += more.lost_disks;
        self.failed_loads += more.failed_loads;
        self.spoiled += more.spoiled;
        self.leaves += more.leaves;
        self.freezes += more.freezes;
        self.hangs += more.hangs;
        self.crawls += more.crawls;
        self.cut_offs += more.cut_offs;
        self.exclusions += more.exclusions;
        self.returns += more.returns;
        self.loads += more.loads;
        self.rows_kept += more.rows_kept;
    }
}

enum Event {
    Tick(Address),
    Timer(Address),
    Frame {
        from: Address,
        to: Address,
        generation: u64,
        chunk: Arc<Vec<u8>>,
        start: usize,
        end: usize,
    },
    Local {
        to: Address,
        message: LocalMessage,
    },
    /// The write of this number, of worker 0's node, is durable.
    Written {
        to: Address,
        write: u64,
    },
    /// A write of this worker's part of its node's store is durable, if it is still that boot.
    Stored {
        to: Address,
        incarnation: Incarnation,
    },
    PowerFails,
    /// The node's disk has this room now.
    Room(NodeId, Room),
    /// The node's next local checkpoint cannot be read back as it was written.
    Spoil(NodeId),
    /// This boot of worker 0's node has loaded its rows, or sees that they are damaged.
    LoadEnds {
        to: Address,
        incarnation: Incarnation,
    },
    Open(ConnectionId),
    /// Some connection is cut, and the next cut is planned.
    Cut,
    Crash(Crash),
    /// A node that was excluded ends itself.
    Ends(Crash),
    Restart(Crash),
    /// The node that was frozen or cut off is so no more.
    FailureEnds(Crash),
    /// The node that is to stop has had its time.
    LeaveEnds(Crash),
    /// A worker gets the report of the crash.
    NodeDied {
        to: Address,
        node: NodeId,
        incarnation: Incarnation,
    },
}

impl Event {
    /// The worker it happens at, if it happens at one.
    fn worker(&self) -> Option<Address> {
        match self {
            Event::Tick(address) | Event::Timer(address) => Some(*address),
            Event::Frame { to, .. }
            | Event::Local { to, .. }
            | Event::Written { to, .. }
            | Event::Stored { to, .. }
            | Event::LoadEnds { to, .. }
            | Event::NodeDied { to, .. } => Some(*to),
            Event::Open(_)
            | Event::Cut
            | Event::PowerFails
            | Event::Room(..)
            | Event::Spoil(_)
            | Event::Crash(_)
            | Event::Ends(_)
            | Event::Restart(_)
            | Event::FailureEnds(_)
            | Event::LeaveEnds(_) => None,
        }
    }
}

struct Trace {
    hash: u64,
    print: bool,
}

impl Trace {
    fn add(&mut self, value: u64) {
        self.hash = (self.hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

impl World {
    pub fn new(options: Options, print_trace: bool) -> World {
        let mut random = Random::new(options.seed ^ 0x5ca1_ab1e);
        let config = options.cluster_config();
        let mut nodes = BTreeMap::new();
        let mut workers = BTreeMap::new();
        let mut disks = BTreeMap::new();
        for node in &config.nodes {
            let home = Home(u64::from(node.id.0));
            let has_rows = node.data && (options.has_disks || !options.power_failures.is_empty());
            let disk = Disk::new(home, has_rows);
            let (shared, started) = boot(&options, &config, node, &disk, 0, &mut random);
            workers.extend(started);
            nodes.insert(node.id, shared);
            disks.insert(node.id, disk);
        }
        let addresses: Vec<Address> = workers.keys().copied().collect();
        let mut world = World {
            faults: options.faults.clone(),
            now: 0,
            clock: Rc::new(Cell::new(0)),
            schema_news: Rc::default(),
            news: Rc::default(),
            lost: Rc::default(),
            troubled: Rc::default(),
            event_last: 0,
            events: BTreeMap::new(),
            network: Network::new(&addresses),
            nodes,
            workers,
            disks,
            crashed: Vec::new(),
            returned: Vec::new(),
            returning: Vec::new(),
            down: BTreeSet::new(),
            frozen: BTreeMap::new(),
            hung: BTreeMap::new(),
            failing: 0,
            leaving: BTreeMap::new(),
            ending: BTreeSet::new(),
            suspects: BTreeSet::new(),
            next_crash: None,
            faults_are_over: false,
            damaged_in: None,
            damaged: BTreeSet::new(),
            load_failed_in: None,
            trace: Trace { hash: options.seed, print: print_trace },
            counts: Counts::default(),
            log: Vec::new(),
            outbox: Outbox::default(),
            random,
            options,
        };
        for address in addresses {
            world.plan_first_tick(address);
        }
        for id in world.network.ids() {
            let at = world.random.below(20 * MILLISECOND);
            world.schedule(at, Event::Open(id));
        }
        world.plan_cut();
        world
    }

    pub fn now(&self) -> Time {
        self.now
    }
    pub fn clock(&self) -> Rc<Cell<Time>> {
        Rc::clone(&self.clock)
    }
    pub fn schema_news(&self) -> Rc<Bulletin> {
        Rc::clone(&self.schema_news)
    }
    pub fn news(&self) -> Rc<Bulletin> {
        Rc::clone(&self.news)
    }
    pub fn lost(&self) -> Rc<Cell<Option<Lost>>> {
        Rc::clone(&self.lost)
    }
    pub fn troubled(&self) -> Rc<RefCell<BTreeMap<NodeId, Option<Time>>>> {
        Rc::clone(&self.troubled)
    }
    pub fn trace_hash(&self) -> u64 {
        self.trace.hash
    }
    pub fn log(&self) -> &[String] {
        &self.log
    }
    /// The nodes that are alive.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<NodeShared>> {
        self.nodes.values()
    }
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }
    /// The nodes that have crashed since this was asked last.
    pub fn take_crashed(&mut self) -> Vec<NodeId> {
        std::mem::take(&mut self.crashed)
    }
    /// The nodes that have come back and serve, since this was asked last.
    pub fn take_returned(&mut self) -> Vec<NodeId> {
        std::mem::take(&mut self.returned)
    }
    pub fn is_alive(&self, node: NodeId) -> bool {
        self.nodes.contains_key(&node)
    }
    /// The workers that have sessions, of nodes that are alive.
    pub fn hosts(&self) -> Vec<Address> {
        let hosts = self.workers.iter().filter(|(_, worker)| worker.session.is_some());
        hosts.map(|(address, _)| *address).collect()
    }
    pub fn client(&self, host: Address) -> Client {
        self.host(host).client.clone()
    }
    pub fn kernel(&self, address: Address) -> &Kernel {
        &self.workers[&address].kernel
    }
    /// Can every node that is alive serve?
    pub fn is_ready(&self) -> bool {
        self.down.is_empty() && self.workers.values().all(|worker| self.serves(worker))
    }
    /// Whether all act by the same views, and no node hands over.
    pub fn is_settled(&self) -> bool {
        let mut states = self.workers.values().map(|worker| worker.kernel.state());
        let first = states.next().expect("a cluster has workers");
        first.handover.is_none() && states.all(|state| state.applied == first.applied)
    }
    fn serves(&self, worker: &Worker) -> bool {
        let now = worker.clock.read(self.now);
        worker.kernel.is_ready() && worker.kernel.node().has_lease(now)
    }

    fn host(&self, address: Address) -> &SessionHost {
        self.workers[&address].session.as_ref().expect("a data node's worker")
    }

    /// Gives a task to a worker; it is polled first when something happens there, at the latest with the next tick.
    pub fn spawn(&mut self, host: Address, task: Pin<Box<dyn Future<Output = ()>>>) -> TaskId {
        let worker = self.workers.get_mut(&host).expect("a worker of this cluster");
        worker.session.as_mut().expect("a data node's worker").executor.spawn(task)
    }
    pub fn is_finished(&self, host: Address, task: TaskId) -> bool {
        self.host(host).executor.is_finished(task)
    }
    /// Tasks that are not finished, on all workers.
    pub fn task_count(&self) -> usize {
        let hosts = self.workers.values().filter_map(|worker| worker.session.as_ref());
        hosts.map(|host| host.executor.len()).sum()
    }

    /// The sessions begin to work: the crash will come when it is due.
    pub fn plan_crash(&mut self) {
        if let Some(crash) = self.options.crash.clone() {
            self.schedule(self.now + crash.at, Event::Crash(crash));
        }
        for after in self.options.power_failures.clone() {
            self.schedule(self.now + after, Event::PowerFails);
        }
        for (node, after) in self.options.checkpoints_spoiled.clone() {
            self.schedule(self.now + after, Event::Spoil(node));
        }
        for full in self.options.full_disks.clone() {
            let FullDisk { node, at, room, lasts } = full;
            self.schedule(self.now + at, Event::Room(node, room));
            self.schedule(self.now + at + lasts, Event::Room(node, Room::Ample));
        }
    }

    /// No node fails any more. True when none that has failed is still frozen or cut off.
    pub fn stop_failing(&mut self) -> bool {
        self.faults_are_over = true;
        self.failing == 0
    }

    /// Ends all faults: links come up and stay up, and lose nothing any more.
    pub fn heal(&mut self) {
        self.faults = Faults::NONE;
        self.faults_are_over = true;
        for node in self.nodes.values() {
            node.set_contention(0, 0);
        }
        for node in self.options.cluster_config().data_nodes() {
            self.set_room(node, Room::Ample);
        }
        for id in self.network.ids() {
            if !self.network.is_up(id) {
                self.schedule(self.now, Event::Open(id));
            }
        }
    }

    /// Lets the world run until the condition holds; false if it does not within `limit`. It is looked at now and then.
    pub fn run_until(&mut self, limit: Time, mut condition: impl FnMut(&World) -> bool) -> bool {
        const LOOK_INTERVAL: Time = 5 * MILLISECOND;
        let end = self.now + limit;
        loop {
            if condition(self) {
                return true;
            }
            if self.now >= end {
                return false;
            }
            self.run_for(LOOK_INTERVAL.min(end - self.now));
            self.look_for_returned();
        }
    }

    pub fn run_for(&mut self, duration: Time) {
        let end = self.now + duration;
        while let Some(entry) = self.events.first_entry() {
            if entry.key().0 > end {
                break;
            }
            let ((at, _), event) = entry.remove_entry();
            assert!(at >= self.now, "time does not go back");
            self.now = at;
            self.clock.set(at);
            self.happen(*event);
            while self.schema_news.take_fresh() | self.news.take_fresh() {
                for host in self.hosts() {
                    if !self.frozen.contains_key(&host.node) {
                        self.settle(host);
                    }
                }
            }
        }
        self.now = end;
        self.clock.set(end);
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.event_last += 1;
        self.events.insert((at, self.event_last), Box::new(event));
    }

    fn happen(&mut self, event: Event) {
        self.counts.events += 1;
        self.trace.add(self.now);
        if event.worker().is_some_and(|worker| !self.is_alive(worker.node)) {
            return;
        }
        if let Some(thaws_at) = self.thaws_at(&event) {
            return self.schedule(thaws_at, event);
        }
        match event {
            Event::Tick(address) => {
                self.trace.add(1 << 32 | key_of(address));
                self.step(address, Input::Tick);
                self.settle(address);
            }
            Event::Timer(address) => {
                self.trace.add(2 << 32 | key_of(address));
                let worker = self.workers.get_mut(&address).expect("known");
                // A timer overtaken by an earlier deadline wakes no worker: if it planned the next one, there would be more and more.
                if worker.timer_at.is_some_and(|at| at <= worker.clock.read(self.now)) {
                    worker.timer_at = None;
                    self.settle(address);
                }
            }
            Event::Frame { from, to, generation, chunk, start, end } => {
                if !self.network.delivers(from, to, generation) {
                    self.trace.add(3 << 32 | key_of(to));
                    self.counts.frames_lost += 1;
                    return;
                }
                let frame = &chunk[start..end];
                self.trace.add(hash64(frame));
                if self.trace.print {
                    self.print_frame(frame);
                }
                self.step(to, Input::Frame(frame));
                self.settle(to);
            }
            Event::Local { to, message } => {
                self.trace.add(4 << 32 | key_of(to));
                self.print(to, || format!("local {message:?}"));
                self.step(to, Input::Local(message));
                self.settle(to);
            }
            Event::Written { to, write } => {
                let disk = self.disks.get_mut(&to.node).expect("every node has one");
                if disk.writes.take_if(|under_way| *under_way == write).is_some() {
                    self.trace.add(11 << 32 | key_of(to));
                    disk.journal.write_next();
                    self.step(to, Input::Durable);
                    self.settle(to);
                }
            }
            Event::Stored { to, incarnation } => {
                if self.nodes[&to.node].incarnation == incarnation {
                    self.trace.add(12 << 32 | key_of(to));
                    disk_of(&mut self.disks, to.node).end_store(to.worker);
                    self.step(to, Input::Durable);
                    self.settle(to);
                }
            }
            Event::PowerFails => self.lose_power(),
            Event::Room(node, room) => self.set_room(node, room),
            Event::Spoil(node) => self.spoil_checkpoint(node),
            Event::LoadEnds { to, incarnation } => {
                if self.nodes[&to.node].incarnation == incarnation {
                    self.trace.add(15 << 32 | key_of(to));
                    self.end_load(to.node);
                }
            }
            Event::Open(id) => {
                if self.network.open(id) {
                    self.trace.add(5 << 32 | key_of(id.low) ^ key_of(id.high).rotate_left(16));
                    self.print(id.low, || format!("link to {:?} is up", id.high));
                    for (at, peer) in [(id.low, id.high), (id.high, id.low)] {
                        let incarnation = self.nodes[&peer.node].incarnation;
                        self.step(at, Input::LinkUp { peer, incarnation });
                        self.settle(at);
                    }
                }
            }
            Event::Cut => self.cut_some_connection(),
            Event::Crash(crash) => self.fail(crash),
            Event::Ends(crash) => self.crash(crash),
            Event::Restart(crash) => self.restart(crash),
            Event::FailureEnds(crash) => self.end_failure(crash),
            Event::LeaveEnds(crash) => {
                // Unless that was another time.
                if self.leaving.get(&crash.node).is_some_and(|last| last.seed == crash.seed) {
                    self.end_leave(crash.node, false);
                }
            }
            Event::NodeDied { to, node, incarnation } => {
                self.trace.add(9 << 32 | key_of(to));
                self.print(to, || format!("told that node {node} has died"));
                self.step(to, Input::NodeDied { node, incarnation });
                self.settle(to);
            }
        }
    }

    fn plan_cut(&mut self) {
        if let Some(interval) = self.faults.cut_interval {
            let at = self.now + self.random.between(1, 2 * interval);
            self.schedule(at, Event::Cut);
        }
    }

    fn cut_some_connection(&mut self) {
        let ids = self.network.ids();
        if self.faults.cut_interval.is_some() && !ids.is_empty() {
            self.counts.cuts += 1;
            let id = *self.random.pick(&ids);
            self.trace.add(6 << 32 | key_of(id.low) ^ key_of(id.high).rotate_left(16));
            self.print(id.low, || format!("link to {:?} is cut", id.high));
            let closed = self.network.cut(id);
            let at = self.now + self.random.logarithmic(MILLISECOND, self.faults.cut_max);
            self.schedule(at, Event::Open(closed));
        }
        self.plan_cut();
    }

    /// When the node that an event is for does something again, if it does nothing now; when nothing is in the way of a connection.
    fn thaws_at(&self, event: &Event) -> Option<Time> {
        let thaws_at = |address: &Address| {
            self.frozen.get(&address.node).copied().max(self.hung.get(address).copied())
        };
        match event {
            Event::Open(id) => thaws_at(&id.low)
                .max(thaws_at(&id.high))
                .max(self.network.blocked_until(id.low.node, id.high.node)),
            event => thaws_at(&event.worker()?),
        }
    }

    /// Looks whether nodes that were started again serve, and plans the next crash when they do.
    fn look_for_returned(&mut self) {
        let serves = |node: &NodeId| self.node_serves(*node);
        let (ready, others) = self.returning.iter().partition(|node| serves(node));
        let ready: Vec<NodeId> = ready;
        let can_recover = self.failing == 0;
        for (node, since) in self.troubled.borrow_mut().iter_mut() {
            if can_recover && since.is_none() && serves(node) {
                *since = Some(self.now);
            }
        }
        let is_calm = !self.condemns()
            && self.failing == 0
            && others.is_empty()
            && self.down.is_empty()
            && self.is_ready();
        self.returning = others;
        self.counts.returns += ready.len() as u64;
        for node in &ready {
            let kept = &self.nodes[node].statistics.rows_kept;
            self.counts.rows_kept += kept.load(std::sync::atomic::Ordering::Relaxed);
        }
        self.returned.extend(ready);
        let is_due = |next: &mut Crash| is_calm || next.is_hasty;
        if let Some(mut crash) = self.next_crash.take_if(is_due)
            && !crash.then.is_empty()
            && !self.faults_are_over
        {
            let (node, after, failure) = crash.then.remove(0);
            let crash = Crash { node, failure, seed: crash.seed.wrapping_add(1), ..crash };
            self.schedule(self.now + after, Event::Crash(crash));
        }
    }

    /// Workers do not start, nor tick, at the same moment.
    fn plan_first_tick(&mut self, address: Address) {
        let delay = self.random.below(10 * MILLISECOND);
        let worker = self.workers.get_mut(&address).expect("just started");
        worker.tick_at = worker.clock.read(self.now + delay);
        self.schedule(self.now + delay, Event::Tick(address));
    }

    /// One step of a worker's kernel, and its output.
    fn step(&mut self, address: Address, input: Input<'_>) {
        let mut outbox = std::mem::take(&mut self.outbox);
        let worker = self.workers.get_mut(&address).expect("a worker of this cluster");
        let now = worker.clock.read(self.now);
        if let Some(host) = &worker.session {
            host.client.set_clock(UNIX_MICROS_AT_START + self.now as i64, now);
        }
        worker.kernel.step(now, input, &mut outbox);
        let pool = &self.nodes[&address.node].pool;
        let (used, limit) = (pool.used(), pool.limit());
        assert!(
            used <= limit,
            "rows take {used} bytes of node {}, which has {limit}",
            address.node
        );
        if let (Some(host), Some(state)) = (&worker.session, outbox.state.take()) {
            host.client.set_state(state);
            self.schema_news.post(0);
        }
        for (session, reply) in outbox.replies.drain(..) {
            self.print(address, || format!("reply to session {}: {reply:?}", session.0));
            self.host(address).client.deliver(session, reply);
        }
        for (to, chunk) in outbox.frames.drain(..) {
            self.send_chunk(address, to, chunk);
        }
        for (to, message) in outbox.local.drain(..) {
            self.send_local(address, to, message);
        }
        for line in outbox.log.drain(..) {
            self.print(address, || format!("log: {line}"));
            if self.log.len() < 100 {
                self.log.push(format!("{} us, {address:?}: {line}", self.now));
            }
        }
        if std::mem::take(&mut outbox.load) {
            let incarnation = self.nodes[&address.node].incarnation;
            let to = Address { node: address.node, worker: WorkerId(0) };
            let at = self.now + self.random.logarithmic(MILLISECOND / 10, LOAD_MAX);
            self.schedule(at, Event::LoadEnds { to, incarnation });
        }
        if std::mem::take(&mut outbox.has_left) {
            self.end_leave(address.node, true);
        }
        if let Some(end) = outbox.ends.take() {
            self.end_excluded(address.node, end.why());
        }
        outbox.state = None;
        self.outbox = outbox;
        self.write_to_disk(address.node);
    }

    /// Begins the next write, if something waits for it.
    fn write_to_disk(&mut self, node: NodeId) {
        let disk = disk_of(&mut self.disks, node);
        if disk.writes.is_none() && disk.journal.is_behind() {
            let write = self.event_last;
            disk.writes = Some(write);
            let at = self.now + self.random.between(1, self.options.write_max);
            let to = Address { node, worker: WorkerId(0) };
            self.schedule(at, Event::Written { to, write });
        }
        let begun = disk_of(&mut self.disks, node).begin_stores();
        let incarnation = self.nodes[&node].incarnation;
        for worker in begun {
            let at = self.now + self.random.between(1, self.options.write_max);
            let to = Address { node, worker };
            self.schedule(at, Event::Stored { to, incarnation });
        }
    }

    /// A node that lives was taken for dead: it ends itself, and is started again.
    fn end_excluded(&mut self, node: NodeId, reason: &str) {
        // Whoever is being filled begins anew when a member dies that could have gone on filling it.
        let is_filled = self.returning.contains(&node) && self.options.shape.replicas() > 2;
        // A node that comes back empty may be admitted before a cluster restart begins, which ends all earlier boots.
        let lineage = |shared: &NodeShared| shared.state().lineage;
        let newest = self.nodes.values().map(|shared| lineage(shared)).max();
        let own = Some(lineage(&self.nodes[&node]));
        let (is_early, begins_again) = (own < newest, own <= self.load_failed_in);
        let is_suspect = self.suspects.contains(&node) || is_filled || is_early || begins_again;
        assert!(is_suspect, "nobody had a reason to exclude it: {reason}");
        if !self.ending.insert(node) {
            return;
        }
        self.counts.exclusions += 1;
        self.schedule(self.now, Event::Ends(self.own_end(node)));
    }

    /// The node ends itself now, and is started again.
    fn own_end(&self, node: NodeId) -> Crash {
        let (failure, told_after, then) = (Failure::Dies, Time::MAX, Vec::new());
        match self.options.crash.clone() {
            Some(model) => {
                let seed = model.seed ^ self.now;
                Crash { node, failure, told_after, then, seed, ..model }
            }
            None => {
                let (restart_after, is_hasty, seed) = (Some(MILLISECOND), true, self.now);
                Crash { node, failure, at: 0, told_after, restart_after, then, is_hasty, seed }
            }
        }
    }

    /// Runs the worker's tasks and their requests until all of them wait, then sets its timers.
    fn settle(&mut self, address: Address) {
        while let Some((session, request)) = self.next_request(address) {
            self.print(address, || format!("request of session {}: {request:?}", session.0));
            self.trace.add(7 << 32 | session.0);
            self.step(address, Input::Request { session, request });
        }
        let worker = self.workers.get_mut(&address).expect("a worker of this cluster");
        let clock = worker.clock;
        let wake_at = worker.kernel.wake_at();
        let tick = (worker.tick_at != wake_at).then_some(wake_at);
        worker.tick_at = wake_at;
        let deadline = worker.session.as_ref().and_then(|host| host.client.next_deadline());
        let timer = deadline.filter(|deadline| worker.timer_at.is_none_or(|at| *deadline < at));
        if timer.is_some() {
            worker.timer_at = timer;
        }
        if let Some(at) = tick {
            self.schedule(clock.when(at).max(self.now), Event::Tick(address));
        }
        if let Some(at) = timer {
            self.schedule(clock.when(at).max(self.now), Event::Timer(address));
        }
    }

    /// Lets the worker's tasks run, and takes a request if one has been made.
    fn next_request(&mut self, address: Address) -> Option<(SessionId, Request)> {
        let worker = self.workers.get_mut(&address).expect("a worker of this cluster");
        let host = worker.session.as_mut()?;
        let now = worker.clock.read(self.now);
        host.client.set_clock(UNIX_MICROS_AT_START + self.now as i64, now);
        loop {
            host.client.wake_timers();
            if let Some(request) = host.client.take_request() {
                return Some(request);
            }
            if !host.executor.run() {
                return None;
            }
        }
    }

    fn send_chunk(&mut self, from: Address, to: Address, chunk: Arc<Vec<u8>>) {
        let mut start = 0;
        while start < chunk.len() {
            let length = chunk[start..start + 4].try_into().expect("four bytes");
            start += 4;
            let end = start + u32::from_le_bytes(length) as usize;
            let (generation, arrivals) =
                self.network.send(self.now, from, to, &self.faults, &mut self.random);
            self.counts.frames += 1;
            match arrivals.len() {
                0 => self.counts.frames_lost += 1,
                1 => {}
                _ => self.counts.frames_doubled += 1,
            }
            for at in arrivals {
                let chunk = Arc::clone(&chunk);
                self.schedule(at, Event::Frame { from, to, generation, chunk, start, end });
            }
            start = end;
        }
    }

    fn send_local(&mut self, from: Address, to: WorkerId, message: LocalMessage) {
        let to = Address { node: from.node, worker: to };
        let arrives = self.now + self.random.between(1, 50);
        let worker = self.workers.get_mut(&to).expect("a worker of this node");
        let last = worker.local_arrives_last.entry(from.worker).or_insert(0);
        *last = arrives.max(*last);
        let at = *last;
        self.schedule(at, Event::Local { to, message });
    }

    fn print(&self, at: Address, what: impl FnOnce() -> String) {
        if self.trace.print {
            println!("{:>10} {at:?} {}", self.now, shortened(what()));
        }
    }

    fn print_frame(&self, frame: &[u8]) {
        let header = decode_header(frame).expect("a kernel made it");
        let message = decode_message(frame).expect("a kernel made it");
        let what = message.map_or("(acknowledgement)".into(), |m| shortened(format!("{m:?}")));
        println!(
            "{:>10} {:?} -> {:?} #{} {what}",
            self.now, header.from, header.to, header.sequence
        );
    }
}

fn disk_of(disks: &mut BTreeMap<NodeId, Disk>, node: NodeId) -> &mut Disk {
    disks.get_mut(&node).expect("every node has one")
}

/// Boots a node at this time of the world.
fn boot(
    options: &Options,
    config: &ClusterConfig,
    node: &NodeConfig,
    disk: &Disk,
    now: Time,
    random: &mut Random,
) -> (Arc<NodeShared>, BTreeMap<Address, Worker>) {
    let boot = Boot {
        node: node.id,
        incarnation: Incarnation(random.draw()),
        home: disk.home,
        journal: Arc::<DiskJournal>::clone(&disk.journal),
        store: disk.store.as_ref().map(|store| Arc::<MemoryStore>::clone(store) as Arc<dyn Store>),
    };
    let memory = options.memories.get(&node.id).copied().unwrap_or(MEMORY_LIMIT_BYTES);
    let shared = NodeShared::new(boot, config.clone(), memory, options.mutation);
    let shared = shared.expect("the disk gives back what it was given");
    shared.set_contention(options.faults.contention_per_mille, random.draw());
    shared.set_record_rows_max(options.record_rows_max);
    if let Some(bytes) = options.turn_bytes_max {
        shared.set_turn_bytes_max(bytes);
    }
    if let Some(backlog) = options.fill_backlog_max {
        shared.set_fill_backlog_max(backlog);
        if options.heartbeat_ms == HEARTBEAT_MS_DEFAULT {
            // A member may be further behind than a learner is filled, and here often is. The report that it has caught up may be lost;
            // it comes again with the next heartbeat.
            shared.set_log_backlog_max(backlog + 8);
        }
    }
    if let Some(count) = options.fill_rows_max {
        shared.set_fill_rows_max(count);
    }
    shared.set_control_log_bytes_max(options.control_log_bytes_max);
    if let Some(entries) = options.log_growth_max {
        shared.set_log_growth_max(entries);
    }
    let clock = Clock::draw(options.drift_max_ppm, random);
    let mut workers = BTreeMap::new();
    for worker in (0..node.workers).map(WorkerId) {
        let kernel_config = KernelConfig { worker, seed: random.draw(), channel: options.channel };
        let kernel = Kernel::new(kernel_config, Arc::clone(&shared), clock.read(now));
        let session = node.data.then(|| SessionHost {
            client: Client::new(
                node.id,
                shared.state(),
                Arc::<NodeShared>::clone(&shared),
                random.draw(),
            ),
            executor: Executor::new(),
        });
        let worker = Worker {
            tick_at: kernel.wake_at(),
            kernel,
            session,
            clock,
            local_arrives_last: BTreeMap::new(),
            timer_at: None,
        };
        workers.insert(worker.kernel.address(), worker);
    }
    (shared, workers)
}

fn key_of(address: Address) -> u64 {
    u64::from(address.node.0) << 16 | u64::from(address.worker.0)
}

fn shortened(text: String) -> String {
    const LENGTH_MAX: usize = 2_000;
    match text.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
