//! What befalls nodes: they die, freeze, are cut off, hang, crawl or are stopped, and come back.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernel::{Input, Store, Time};
use protocol::control::ControlState;
use protocol::message::Room;
use types::{Address, NodeId, WorkerId};

use super::{
    Event, HASTY_PAUSE, LATE_MAX, LEAVE_MAX, Lost, OUTAGE_MAX, RESTART_MAX, World, boot, disk_of,
};
use crate::options::{
    CRASH_TOLD_SPREAD, Crash, FOUND_OUT_MAX, Failure, MILLISECOND, STALL_FOUND_OUT_MAX,
};
use crate::random::Random;

impl World {
    pub(super) fn fail(&mut self, crash: Crash) {
        if self.faults_are_over {
            return;
        }
        if crash.is_hasty && !(self.is_alive(crash.node) && self.may_fail(crash.node)) {
            return self.schedule(self.now + HASTY_PAUSE, Event::Crash(crash));
        }
        if !self.is_alive(crash.node) {
            return;
        }
        let (node, lasts) = (crash.node, crash.failure.lasts());
        self.trace.add(11 << 32 | u64::from(node.0));
        self.print(Address { node, worker: WorkerId(0) }, || format!("{:?}", crash.failure));
        let until = self.now + lasts;
        match &crash.failure {
            Failure::Dies => return self.crash(crash),
            // It leads nothing, and is in no view to be taken out of.
            Failure::Leaves if self.puts_off() => return self.crash(crash),
            Failure::Leaves => return self.leave(crash),
            Failure::Freezes { .. } => {
                self.counts.freezes += 1;
                self.frozen.insert(node, until);
                self.suspects.insert(node);
            }
            Failure::Hangs { .. } => {
                self.counts.hangs += 1;
                let last = self.workers.keys().rfind(|address| address.node == node);
                let last = *last.expect("it is alive");
                self.hung.insert(last, until);
                self.suspects.insert(node);
            }
            Failure::Crawls { takes, .. } => {
                self.counts.crawls += 1;
                self.network.slow_down(node, until, *takes);
                self.suspects.insert(node);
            }
            Failure::CutOff { from, hears, is_heard, waits, .. } => {
                self.counts.cut_offs += 1;
                self.suspects.insert(node);
                self.suspects.extend(from.iter().copied());
                for other in from {
                    if !hears {
                        self.network.block(*other, node, until, *waits);
                    }
                    if !is_heard {
                        self.network.block(node, *other, until, *waits);
                    }
                }
            }
        }
        self.failing += 1;
        let found_out_max = match crash.failure {
            Failure::Hangs { .. } => STALL_FOUND_OUT_MAX,
            Failure::Crawls { .. } => lasts + FOUND_OUT_MAX,
            _ => FOUND_OUT_MAX,
        };
        self.note_lost(node, self.now + found_out_max);
        for node in crash.failure.sufferers(node) {
            self.troubled.borrow_mut().insert(node, None);
        }
        self.schedule(until, Event::FailureEnds(crash));
    }

    /// Whoever waits for this node may do so until then, and as long as a node crawls: another boot of it is no faster. Where a cluster
    /// restart began again, because of damage, a node that ends for that does not end the time that the power failure gives them.
    fn note_lost(&mut self, node: NodeId, told_at: Time) {
        let crawls = self.network.slow_until().map_or(0, |until| until + FOUND_OUT_MAX);
        let before = self.lost.get().filter(|_| self.load_failed_in.is_some());
        let told_at = told_at.max(crawls).max(before.map_or(0, |lost| lost.told_at));
        self.lost.set(Some(Lost { node, told_at }));
    }

    /// Is another node of its group there that has its rows and serves?
    pub(super) fn may_fail(&self, node: NodeId) -> bool {
        let config = self.options.cluster_config();
        let data = config.data_nodes();
        let mut groups = data.chunks(usize::from(config.replicas));
        let group = groups.find(|group| group.contains(&node)).expect("a data node fails");
        let is_there = |other: &NodeId| {
            *other != node && self.is_alive(*other) && !self.leaving.contains_key(other)
        };
        self.failing == 0
            && !self.condemns()
            && group.iter().any(|other| is_there(other) && self.node_serves(*other))
    }
    /// Is some node about to be excluded?
    pub(super) fn condemns(&self) -> bool {
        self.workers.values().any(|worker| worker.kernel.condemns())
    }
    /// Whether a node is not admitted yet because it was slow.
    pub fn puts_off(&self) -> bool {
        self.workers.values().any(|worker| worker.kernel.puts_off(worker.clock.read(self.now)))
    }
    /// Does the leader find a node slow? So it may for a while after that is well again.
    pub fn finds_slow(&self) -> bool {
        self.workers.values().any(|worker| worker.kernel.finds_slow())
    }
    pub(super) fn node_serves(&self, node: NodeId) -> bool {
        let mut own = self.workers.iter().filter(|(address, _)| address.node == node);
        own.all(|(_, worker)| self.serves(worker))
    }

    /// A node is to stop: it hands over, and ends when that is done. Others lose nothing by it.
    pub(super) fn leave(&mut self, crash: Crash) {
        let node = crash.node;
        let first = Address { node, worker: WorkerId(0) };
        self.failing += 1;
        self.troubled.borrow_mut().insert(node, None);
        self.leaving.insert(node, crash.clone());
        self.schedule(self.now + LEAVE_MAX, Event::LeaveEnds(crash));
        self.step(first, Input::Leave(true));
        self.settle(first);
    }

    /// The node has handed over, or is not waited for any longer.
    pub(super) fn end_leave(&mut self, node: NodeId, has_left: bool) {
        let Some(mut crash) = self.leaving.remove(&node) else { return };
        self.failing -= 1;
        if has_left {
            self.counts.leaves += 1;
        } else {
            assert!(
                !self.options.faults.are_mild(),
                "node {node} does not get rid of what it leads"
            );
            crash.failure = Failure::Dies;
        }
        self.schedule(self.now, Event::Ends(crash));
    }

    /// What was frozen or cut off is so no more.
    pub(super) fn end_failure(&mut self, crash: Crash) {
        let node = crash.node;
        self.trace.add(12 << 32 | u64::from(node.0));
        self.print(Address { node, worker: WorkerId(0) }, || "that is over".into());
        self.failing -= 1;
        self.frozen.remove(&node);
        self.hung.retain(|address, _| address.node != node);
        self.network.go_on(node);
        if let Failure::CutOff { from, waits, .. } = &crash.failure {
            for other in from {
                self.network.unblock(*other, node);
                self.network.unblock(node, *other);
            }
            if !waits {
                // What was lost is missed on its link, which breaks.
                for id in self.network.ids() {
                    let is_between = |a: NodeId, b: NodeId| a == node && from.contains(&b);
                    let (low, high) = (id.low.node, id.high.node);
                    if is_between(low, high) || is_between(high, low) {
                        let closed = self.network.cut(id);
                        let at = self.now + self.random.below(20 * MILLISECOND);
                        self.schedule(at, Event::Open(closed));
                    }
                }
            }
        }
        self.note_lost(node, self.now + FOUND_OUT_MAX);
        self.next_crash = Some(crash);
    }

    /// All nodes end, and start again one after the other; some so late that the others begin without them, if they can.
    pub(super) fn lose_power(&mut self) {
        if self.faults_are_over {
            return;
        }
        self.counts.power_failures += 1;
        self.trace.add(13 << 32);
        let mut random = self.random.fork();
        let damaged = self.draw_damaged(&mut random);
        let late = self.draw_late();
        let nodes: Vec<NodeId> = self.nodes.keys().copied().collect();
        for node in nodes {
            let restart_after = random.logarithmic(MILLISECOND, OUTAGE_MAX);
            let restart_after = Some(late.get(&node).copied().unwrap_or(restart_after));
            self.crash(Crash {
                node,
                failure: Failure::Dies,
                at: 0,
                told_after: Time::MAX,
                restart_after,
                then: Vec::new(),
                is_hasty: true,
                seed: random.draw(),
            });
        }
        for node in damaged {
            self.damage(node, random.chance(500));
        }
        for node in self.options.cluster_config().data_nodes() {
            // Until others are there, and the rows are loaded.
            let back = if late.is_empty() { OUTAGE_MAX } else { LATE_MAX };
            self.note_lost(node, self.now + back + RESTART_MAX);
        }
    }

    /// Of some groups one that counts, if another one does, and after how long it has its power again.
    fn draw_late(&self) -> BTreeMap<NodeId, Time> {
        // By a generator of its own, so that everything else stays what the seed stands for.
        let mut random = Random::new(self.options.seed ^ self.counts.power_failures ^ 0x1a7e);
        let states = self.nodes.values().map(|node| node.state());
        let mut late = BTreeMap::new();
        for group in states.max_by_key(|state| state.applied).iter().flat_map(|s| s.groups.values())
        {
            let active: Vec<NodeId> = group.active().collect();
            if 1 < active.len() && random.chance(self.options.late_per_mille) {
                let node = active[random.index(active.len())];
                late.insert(node, random.between(OUTAGE_MAX, LATE_MAX));
            }
        }
        late
    }

    /// Nodes whose rows are lost with the power: of each group one at most, if another one counts that has them all.
    fn draw_damaged(&mut self, random: &mut Random) -> Vec<NodeId> {
        let states = self.nodes.values().map(|node| node.state());
        let newest = states.max_by_key(|state| state.applied);
        // Who was damaged in the power failure before counts until the restart behind it is over.
        let is_over = |state: &Arc<ControlState>| {
            state.restart.is_none() && self.damaged_in.is_none_or(|before| before < state.lineage)
        };
        let Some(state) = newest.filter(|state| state.is_formed() && is_over(state)) else {
            return Vec::new();
        };
        let mut damaged = Vec::new();
        for group in state.groups.values() {
            let active: Vec<NodeId> = group.active().collect();
            let is_whole = active.iter().all(|node| !self.damaged.contains(node));
            if 1 < active.len() && is_whole && random.chance(self.options.disks_lost_per_mille) {
                damaged.push(active[random.index(active.len())]);
                self.damaged_in = Some(state.lineage);
            }
        }
        damaged
    }

    /// The rows of this node, which is down, are damaged. It sees that when it looks through its disk, or only when it loads them.
    fn damage(&mut self, node: NodeId, is_seen_first: bool) {
        self.counts.lost_disks += 1;
        if is_seen_first {
            self.print(Address { node, worker: WorkerId(0) }, || "its rows are lost".into());
            disk_of(&mut self.disks, node).lose_rows();
        } else {
            self.damaged.insert(node);
        }
    }

    /// A node has its rows, or sees that they are damaged.
    pub(super) fn end_load(&mut self, node: NodeId) {
        if self.damaged.remove(&node) {
            return self.fail_load(node);
        }
        let node = &self.nodes[&node];
        self.counts.loads += u64::from(node.state().restart.is_none());
        for part in 0..node.parts() {
            let loaded = node.load_part(part).expect("the disk gives back what it was given");
            node.part_is_loaded(loaded, 0);
        }
    }

    /// The process ends, and the next one puts its rows aside.
    fn fail_load(&mut self, node: NodeId) {
        let state = self.nodes[&node].state();
        let failed_in = state.restart.as_ref().map(|_| state.lineage);
        self.load_failed_in = self.load_failed_in.max(failed_in);
        self.print(Address { node, worker: WorkerId(0) }, || "its rows are damaged".into());
        self.counts.failed_loads += 1;
        disk_of(&mut self.disks, node).lose_rows();
        self.note_lost(node, self.now + RESTART_MAX);
        self.crash(self.own_end(node));
    }

    pub(super) fn spoil_checkpoint(&mut self, node: NodeId) {
        if self.faults_are_over {
            return;
        }
        if let Some(store) = &disk_of(&mut self.disks, node).store {
            self.counts.spoiled += 1;
            store.spoil_checkpoint();
        }
    }

    /// A disk has less room for what its node gives it, or more again.
    pub(super) fn set_room(&mut self, node: NodeId, room: Room) {
        let Some(store) = &disk_of(&mut self.disks, node).store else { return };
        if store.room() == room || room != Room::Ample && self.faults_are_over {
            return;
        }
        store.set_room(room);
        self.trace.add(14 << 32 | u64::from(node.0));
        self.counts.full_disks += u64::from(room != Room::Ample);
        let of_node = |address: &&Address| address.node == node;
        let workers: Vec<Address> = self.workers.keys().filter(of_node).copied().collect();
        for worker in workers {
            self.step(worker, Input::Durable);
            self.settle(worker);
        }
    }

    /// The node's workers and the tasks on them are gone; the others are told later.
    pub(super) fn crash(&mut self, crash: Crash) {
        let failed = crash.node;
        if !self.is_alive(failed) {
            return;
        }
        self.crashed.push(failed);
        self.returning.retain(|node| *node != failed);
        self.troubled.borrow_mut().remove(&failed);
        self.ending.remove(&failed);
        if let Some(leave) = self.leaving.remove(&failed) {
            // It was to stop, and has died of something else. What was planned behind that comes all the same.
            self.failing -= 1;
            self.next_crash.get_or_insert(leave);
        }
        for hung in self.hung.extract_if(.., |address, _| address.node == failed) {
            // What has waited for it is not for the next boot.
            self.events.retain(|_, event| event.worker() != Some(hung.0));
        }
        let mut random = Random::new(crash.seed);
        self.disks.get_mut(&failed).expect("every node has one").crash(&mut random);
        self.counts.crashes += 1;
        self.trace.add(8 << 32 | u64::from(failed.0));
        self.print(Address { node: failed, worker: WorkerId(0) }, || "the node dies".into());
        for id in self.network.ids() {
            if id.low.node == failed || id.high.node == failed {
                self.network.end(id, random.chance(500));
            }
        }
        self.workers.retain(|address, _| address.node != failed);
        let shared = self.nodes.remove(&failed).expect("a node dies once");
        let is_told = crash.restart_after.is_none_or(|after| crash.told_after < after);
        let told_first = match crash.restart_after {
            Some(after) if !is_told => self.now + after,
            _ => self.now + crash.told_after,
        };
        if is_told {
            let survivors: Vec<NodeId> = self.nodes.keys().copied().collect();
            for survivor in survivors {
                let to = Address { node: survivor, worker: WorkerId(0) };
                let at = told_first + random.below(CRASH_TOLD_SPREAD);
                let incarnation = shared.incarnation;
                self.schedule(at, Event::NodeDied { to, node: failed, incarnation });
            }
        }
        let told_at = told_first + CRASH_TOLD_SPREAD;
        if crash.failure != Failure::Leaves {
            self.note_lost(failed, told_at);
        }
        if crash.is_hasty && !crash.then.is_empty() {
            self.next_crash = Some(crash.clone());
        }
        if let Some(after) = crash.restart_after {
            self.down.insert(failed);
            self.schedule(self.now + after, Event::Restart(crash));
        }
    }

    /// The node's next boot. Its disk is unchanged; its clock continues from anywhere.
    pub(super) fn restart(&mut self, crash: Crash) {
        let id = crash.node;
        self.trace.add(10 << 32 | u64::from(id.0));
        self.print(Address { node: id, worker: WorkerId(0) }, || "the node starts again".into());
        // No two boots may draw the same: the seed of a crash is that of others, too.
        let mut random = self.random.fork();
        let config = self.options.cluster_config();
        let node = config.node(id).expect("a node of this cluster");
        let per_mille = self.options.disks_lost_per_mille;
        let may_be_damaged = self.options.power_failures.is_empty() && 0 < per_mille;
        if may_be_damaged && self.disks[&id].store.is_some() && random.chance(per_mille) {
            self.damage(id, random.chance(500));
        }
        let disk = &self.disks[&id];
        let (shared, started) = boot(&self.options, &config, node, disk, self.now, &mut random);
        self.nodes.insert(id, shared);
        let addresses: Vec<Address> = started.keys().copied().collect();
        self.workers.extend(started);
        for address in addresses {
            self.plan_first_tick(address);
        }
        let nodes = &self.nodes;
        for id in self.network.revive(|node| nodes.contains_key(&node)) {
            let at = self.now + self.random.below(20 * MILLISECOND);
            self.schedule(at, Event::Open(id));
        }
        self.down.remove(&id);
        self.returning.push(id);
        if !crash.is_hasty {
            self.next_crash.get_or_insert(crash);
        }
    }
}
