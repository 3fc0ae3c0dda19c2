//! A seeded network of voters with disks, and the checks that must hold whatever happens.

use std::collections::BTreeMap;

use crate::control::raft::{
    Raft, RaftConfig, RaftEntry, RaftPersist, RaftReady, RaftRestored, RaftSnapshot, mix,
};

pub const ELECTION_TIMEOUT: u32 = 10;
pub const HEARTBEAT: u32 = 2;

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(mix(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

pub fn config(id: u64, voter_count: u64, seed: u64) -> RaftConfig {
    RaftConfig {
        id,
        voters: (1..=voter_count).collect(),
        seed,
        election_timeout_ticks: ELECTION_TIMEOUT,
        heartbeat_ticks: HEARTBEAT,
    }
}

/// What a voter's disk holds. Knows only what the documentation of RaftPersist says.
#[derive(Clone, Default)]
pub struct Disk {
    pub state: RaftRestored,
}

impl Disk {
    pub fn save_log(&mut self, persist: &RaftPersist) {
        if let Some(snapshot) = &persist.snapshot {
            self.state.entries.retain(|entry| snapshot.index < entry.index);
            self.state.snapshot = Some(snapshot.clone());
        }
        if let Some(from) = persist.truncate_from {
            self.state.entries.retain(|entry| entry.index < from);
        }
        for entry in &persist.entries {
            let covered = self.state.snapshot.as_ref().map_or(0, |snapshot| snapshot.index);
            let last = self.state.entries.last().map_or(covered, |last| last.index);
            assert_eq!(entry.index, last + 1, "a gap on disk");
            self.state.entries.push(entry.clone());
        }
    }

    pub fn save(&mut self, persist: &RaftPersist) {
        let mut added = self.state.clone();
        added.add(persist.clone());
        self.save_log(persist);
        assert!(self.state.term <= persist.term);
        if self.state.term == persist.term && self.state.vote.is_some() {
            assert_eq!(self.state.vote, persist.vote, "a vote changed within a term");
        }
        self.state.term = persist.term;
        self.state.vote = persist.vote;
        assert_eq!(added, self.state, "what a journal gives back");
    }
}

struct Node {
    id: u64,
    raft: Option<Raft>,
    disk: Disk,
    /// Entries applied: a position in the world's sequence.
    position: usize,
    applied_index: u64,
    /// The ready under way and the tick at which its disk write is done.
    ready: Option<(RaftReady, u64)>,
    disk_ticks_max: u64,
    restart_at: u64,
    /// Commit index up to which `World::commits` has been compared.
    commit_checked: u64,
}

struct Flight {
    from: u64,
    to: u64,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
pub struct Faults {
    pub loss_one_in: u64,
    pub repeat_one_in: u64,
    pub delay_ticks_max: u64,
    pub crash_one_in: u64,
    pub partition_one_in: u64,
    pub slow_disk_one_in: u64,
}

pub const CALM: Faults = Faults {
    loss_one_in: u64::MAX,
    repeat_one_in: u64::MAX,
    delay_ticks_max: 1,
    crash_one_in: u64::MAX,
    partition_one_in: u64::MAX,
    slow_disk_one_in: u64::MAX,
};

pub struct World {
    seed: u64,
    random: Random,
    now: u64,
    nodes: Vec<Node>,
    /// (arrival, order of sending) -> message.
    flights: BTreeMap<(u64, u64), Flight>,
    sent_count: u64,
    /// Side of the partition each node is on.
    sides: Vec<u64>,
    faults: Faults,
    proposed_count: u64,
    /// Everything applied anywhere, in order: the one sequence all must follow.
    applied: Vec<RaftEntry>,
    /// index -> term of every entry any voter ever held for committed.
    commits: BTreeMap<u64, u64>,
    leaders: BTreeMap<u64, u64>,
    pub snapshots_installed: u64,
    pub trace: u64,
}

impl World {
    pub fn new(voter_count: u64, seed: u64, faults: Faults) -> World {
        let nodes = (1..=voter_count)
            .map(|id| Node {
                id,
                raft: Some(Raft::new(config(id, voter_count, seed))),
                disk: Disk::default(),
                position: 0,
                applied_index: 0,
                ready: None,
                disk_ticks_max: 1,
                restart_at: 0,
                commit_checked: 0,
            })
            .collect();
        World {
            seed,
            random: Random::new(seed),
            now: 0,
            nodes,
            flights: BTreeMap::new(),
            sent_count: 0,
            sides: vec![0; voter_count as usize],
            faults,
            proposed_count: 0,
            applied: Vec::new(),
            commits: BTreeMap::new(),
            leaders: BTreeMap::new(),
            snapshots_installed: 0,
            trace: 0,
        }
    }

    pub fn raft(&mut self, id: u64) -> &mut Raft {
        self.nodes[id as usize - 1].raft.as_mut().expect("the voter is up")
    }

    pub fn disk(&self, id: u64) -> &Disk {
        &self.nodes[id as usize - 1].disk
    }

    pub fn applied(&self) -> &[RaftEntry] {
        &self.applied
    }

    pub fn isolate(&mut self, id: u64) {
        self.sides[id as usize - 1] = 100 + id;
    }

    pub fn rejoin(&mut self) {
        self.sides.fill(0);
    }

    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    pub fn leader(&self) -> Option<u64> {
        let mut leaders: Vec<&Raft> =
            self.nodes.iter().filter_map(|node| node.raft.as_ref()).collect();
        leaders.retain(|raft| raft.is_leader());
        leaders.iter().max_by_key(|raft| raft.term()).map(|raft| raft.id)
    }

    /// Ends all faults: everybody up, connected, quick.
    pub fn heal(&mut self) {
        self.faults = CALM;
        self.sides.fill(0);
        for position in 0..self.nodes.len() {
            self.nodes[position].disk_ticks_max = 1;
            if self.nodes[position].raft.is_none() {
                self.restart(position);
            }
        }
    }

    pub fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.tick();
        }
    }

    pub fn run_proposing(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.propose_somewhere();
            self.tick();
        }
    }

    fn propose_somewhere(&mut self) {
        let position = self.random.below(self.nodes.len() as u64) as usize;
        let size = if self.random.one_in(50) { 20_000 } else { self.random.below(30) };
        let Some(raft) = &mut self.nodes[position].raft else {
            return;
        };
        self.proposed_count += 1;
        let mut data = self.proposed_count.to_le_bytes().to_vec();
        data.resize(8 + size as usize, 7);
        let last = raft.last_index();
        match raft.propose(data) {
            Ok(index) => assert_eq!(index, last + 1),
            Err(refused) => assert_eq!(refused.leader, raft.leader()),
        }
    }

    fn tick(&mut self) {
        self.now += 1;
        self.tick_faults();
        while let Some(flight) = self.flights.first_entry() {
            if self.now < flight.key().0 {
                break;
            }
            let flight = flight.remove();
            self.deliver(flight);
        }
        for position in 0..self.nodes.len() {
            if let Some(raft) = &mut self.nodes[position].raft {
                raft.tick();
            } else if self.nodes[position].restart_at <= self.now {
                self.restart(position);
            }
            self.work(position);
        }
        if self.now.is_multiple_of(100) {
            self.check_log_matching();
        }
    }

    fn tick_faults(&mut self) {
        let count = self.nodes.len() as u64;
        if self.random.one_in(self.faults.crash_one_in) {
            // Leaders have the most to lose.
            let leader = if self.random.one_in(2) { self.leader() } else { None };
            let victim = leader.unwrap_or(1 + self.random.below(count));
            self.crash(victim as usize - 1);
        }
        if self.random.one_in(self.faults.partition_one_in) {
            if self.random.one_in(2) {
                self.sides.fill(0);
            } else {
                for side in &mut self.sides {
                    *side = self.random.below(2);
                }
            }
        }
        if self.random.one_in(self.faults.slow_disk_one_in) {
            let position = self.random.below(count) as usize;
            self.nodes[position].disk_ticks_max = 1 + self.random.below(3) * self.random.below(15);
        }
    }

    fn deliver(&mut self, flight: Flight) {
        let (from, to) = (flight.from as usize - 1, flight.to as usize - 1);
        if self.sides[from] != self.sides[to] {
            return;
        }
        let Some(raft) = &mut self.nodes[to].raft else {
            return;
        };
        raft.step(flight.from, &flight.bytes).expect("voters of the group follow the rules");
        self.check_node(to);
        self.work(to);
    }

    /// Takes and finishes readies as far as the node's disk allows.
    fn work(&mut self, position: usize) {
        loop {
            let node = &mut self.nodes[position];
            let Some(raft) = &mut node.raft else {
                return;
            };
            if node.ready.is_none() {
                let Some(ready) = raft.ready() else {
                    return;
                };
                assert!(raft.ready().is_none(), "one ready at a time");
                if let Some(persist) = &ready.persist {
                    let (mut added, mut whole) = (node.disk.state.clone(), RaftRestored::default());
                    added.add(persist.clone());
                    whole.add(raft.persisted());
                    assert_eq!(whole, added, "what takes the place of everything on disk");
                }
                let wait = if ready.persist.is_some() {
                    self.random.below(node.disk_ticks_max)
                } else {
                    0
                };
                node.ready = Some((ready, self.now + wait));
            }
            let due = node.ready.as_ref().expect("just filled").1;
            if self.now < due {
                // In half of the worlds: without it a slow disk costs elections, which are to happen, too.
                let said = match (self.seed / 24).is_multiple_of(2) {
                    true => raft.leader_messages(),
                    false => Vec::new(),
                };
                for (to, bytes) in said {
                    self.send(position, to, bytes);
                }
                return;
            }
            self.finish_ready(position);
            self.check_node(position);
        }
    }

    fn finish_ready(&mut self, position: usize) {
        let node = &mut self.nodes[position];
        let (ready, _) = node.ready.take().expect("only called with a ready");
        if let Some(persist) = &ready.persist {
            node.disk.save(persist);
            self.trace = mix(self.trace ^ persist.term ^ persist.entries.len() as u64);
        }
        for (to, bytes) in ready.messages {
            for byte in &bytes {
                self.trace = (self.trace ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
            }
            self.trace = mix(self.trace ^ to);
            self.send(position, to, bytes);
        }
        if let Some(snapshot) = &ready.install_snapshot {
            self.snapshots_installed += 1;
            self.install(position, snapshot);
        }
        for entry in ready.committed {
            self.trace = mix(self.trace ^ entry.index);
            self.apply(position, entry);
        }
        let one_in_4 = self.random.one_in(4);
        let node = &mut self.nodes[position];
        let raft = node.raft.as_mut().expect("only called with a voter that is up");
        raft.advance();
        let snapshot_index = raft.snapshot.as_ref().map_or(0, |snapshot| snapshot.index);
        if snapshot_index + 20 < raft.applied() && one_in_4 {
            raft.compact(raft.applied(), (node.position as u64).to_le_bytes().to_vec());
        }
    }

    fn send(&mut self, position: usize, to: u64, bytes: Vec<u8>) {
        let from = self.nodes[position].id;
        let copies = if self.random.one_in(self.faults.repeat_one_in) { 2 } else { 1 };
        for _ in 0..copies {
            if self.random.one_in(self.faults.loss_one_in) {
                continue;
            }
            let delay = 1 + self.random.below(self.faults.delay_ticks_max);
            self.sent_count += 1;
            let flight = Flight { from, to, bytes: bytes.clone() };
            self.flights.insert((self.now + delay, self.sent_count), flight);
        }
    }

    fn apply(&mut self, position: usize, entry: RaftEntry) {
        let node = &mut self.nodes[position];
        assert!(node.applied_index < entry.index, "applied out of order or twice");
        node.applied_index = entry.index;
        if node.position == self.applied.len() {
            self.applied.push(entry);
        } else {
            assert_eq!(self.applied[node.position], entry, "state machines differ");
        }
        node.position += 1;
    }

    fn install(&mut self, position: usize, snapshot: &RaftSnapshot) {
        let node = &mut self.nodes[position];
        assert!(node.applied_index < snapshot.index);
        node.applied_index = snapshot.index;
        let bytes = snapshot.data.as_slice().try_into().expect("a snapshot is eight bytes");
        node.position = u64::from_le_bytes(bytes) as usize;
        assert!(node.position <= self.applied.len());
        let before = self.applied[..node.position].last().map_or(0, |entry| entry.index);
        assert!(before <= snapshot.index);
        if let Some(after) = self.applied.get(node.position) {
            assert!(snapshot.index < after.index);
        }
    }

    fn crash(&mut self, position: usize) {
        let fate = self.random.below(3);
        let wait = self.random.below(60);
        let node = &mut self.nodes[position];
        if node.raft.take().is_none() {
            return;
        }
        // The write under way may have reached the disk, or only its log, or nothing.
        if let Some((RaftReady { persist: Some(persist), .. }, _)) = node.ready.take() {
            match fate {
                0 => node.disk.save(&persist),
                1 => node.disk.save_log(&persist),
                _ => {}
            }
        }
        node.ready = None;
        node.restart_at = self.now + wait;
    }

    fn restart(&mut self, position: usize) {
        let voter_count = self.nodes.len() as u64;
        let node = &mut self.nodes[position];
        let state = node.disk.state.clone();
        node.applied_index = 0;
        node.position = 0;
        node.commit_checked = 0;
        let snapshot = state.snapshot.clone();
        node.raft = Some(Raft::restore(config(node.id, voter_count, self.seed), state));
        if let Some(snapshot) = snapshot {
            node.commit_checked = snapshot.index;
            self.install(position, &snapshot);
        }
        self.check_node(position);
    }

    /// Election safety, commit safety, leader completeness.
    fn check_node(&mut self, position: usize) {
        let node = &mut self.nodes[position];
        let raft = node.raft.as_ref().expect("only called with a voter that is up");
        for index in node.commit_checked + 1..=raft.committed() {
            // What lies below the base came with a snapshot, which install has checked.
            let Some(term) = raft.log.term_at(index) else {
                continue;
            };
            let before = *self.commits.entry(index).or_insert(term);
            assert_eq!(before, term, "index {index} committed twice, differently");
        }
        node.commit_checked = node.commit_checked.max(raft.committed());
        if !raft.is_leader() || self.leaders.get(&raft.term()) == Some(&raft.id) {
            return;
        }
        assert_eq!(self.leaders.insert(raft.term(), raft.id), None, "two leaders in a term");
        assert_eq!(raft.leader(), Some(raft.id));
        for (index, term) in &self.commits {
            if raft.log.base_index() <= *index {
                assert_eq!(raft.log.term_at(*index), Some(*term), "a leader lacks an entry");
            }
        }
    }

    /// If two logs agree on the term at an index, they agree on everything before.
    fn check_log_matching(&self) {
        let rafts: Vec<&Raft> = self.nodes.iter().filter_map(|node| node.raft.as_ref()).collect();
        for (position, one) in rafts.iter().enumerate() {
            for other in &rafts[position + 1..] {
                let low = one.log.base_index().max(other.log.base_index());
                let high = one.last_index().min(other.last_index());
                let mut agreed = false;
                for index in (low + 1..=high).rev() {
                    let same_term = one.log.term_at(index) == other.log.term_at(index);
                    agreed |= same_term;
                    if agreed {
                        let pick = |raft: &Raft| raft.log.entries(index - 1, index, 0, 1);
                        assert_eq!(pick(one), pick(other), "logs agree above but not here");
                    }
                }
            }
        }
    }

    /// After healing, everybody must come to hold the same, new entry within the given time.
    pub fn assert_progress(&mut self, ticks: u64) {
        self.heal();
        self.run(ticks / 2);
        let leader = self.leader().expect("a healed group has a leader");
        let data = b"the last word".to_vec();
        self.raft(leader).propose(data.clone()).expect("a healed group takes proposals");
        self.run(ticks / 2);
        assert_eq!(self.applied.last().map(|entry| &entry.data), Some(&data));
        for node in &self.nodes {
            assert_eq!(node.position, self.applied.len(), "voter {} is behind", node.id);
            assert_eq!(node.raft.as_ref().and_then(Raft::leader), Some(leader));
        }
        self.check_log_matching();
        let mut seen: Vec<&[u8]> = self.applied.iter().map(|entry| entry.data.as_slice()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), self.applied.len(), "a proposal was applied twice");
    }
}

const STORMS: [Faults; 4] = [
    Faults {
        loss_one_in: 10,
        repeat_one_in: 10,
        delay_ticks_max: 5,
        crash_one_in: u64::MAX,
        partition_one_in: u64::MAX,
        slow_disk_one_in: u64::MAX,
    },
    Faults {
        loss_one_in: 50,
        repeat_one_in: 20,
        delay_ticks_max: 3,
        crash_one_in: 60,
        partition_one_in: 80,
        slow_disk_one_in: 100,
    },
    Faults {
        loss_one_in: 30,
        repeat_one_in: 4,
        delay_ticks_max: 25,
        crash_one_in: 200,
        partition_one_in: 40,
        slow_disk_one_in: 30,
    },
    Faults {
        loss_one_in: 3,
        repeat_one_in: 3,
        delay_ticks_max: 4,
        crash_one_in: 30,
        partition_one_in: 150,
        slow_disk_one_in: 20,
    },
];

fn run_storm(seed: u64, ticks: u64) -> World {
    let voter_count = [3, 5, 3, 5, 3, 1][seed as usize % 6];
    let faults = STORMS[(seed / 6) as usize % STORMS.len()];
    let mut world = World::new(voter_count, seed, faults);
    world.run_proposing(ticks);
    world.assert_progress(400);
    world
}

/// Every safety rule after every event, and progress after healing, over 300 seeds.
#[test]
fn storms_break_no_rule() {
    let (mut applied, mut snapshots, mut elections) = (0, 0, 0);
    for seed in 0..300 {
        let world = run_storm(seed, 2000);
        applied += world.applied.len();
        snapshots += world.snapshots_installed;
        elections += world.leaders.len();
    }
    // The storms must leave room for work, or the checks above have seen nothing.
    println!("applied {applied}, snapshots installed {snapshots}, elections {elections}");
    assert!(20_000 < applied);
    assert!(300 < snapshots);
    assert!(3_000 < elections);
}

/// Two runs of a seed send the same bytes in the same order; other seeds do not.
#[test]
fn same_seed_same_trace() {
    let mut traces = Vec::new();
    for seed in 0..24 {
        let trace = run_storm(seed, 500).trace;
        assert_eq!(trace, run_storm(seed, 500).trace);
        traces.push(trace);
    }
    traces.sort_unstable();
    traces.dedup();
    assert_eq!(traces.len(), 24);
}
