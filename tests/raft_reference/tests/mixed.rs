//! What is shown: in a group of voters some of which are ours and some are `raft` 0.7.0, there is one leader a term,
//! all apply the same sequence, nobody refuses a message of the other kind, and a healed group makes progress. How: a
//! seeded network with loss, repetition, reordering, partitions and restarts, as in the kernel's own tests.

use std::collections::BTreeMap;

use raft::eraftpb::{self, Entry, MessageType};
use raft::storage::MemStorage;
use raft::{Config, RawNode, StateRole};
use raft_reference::control::raft::{Raft, RaftConfig, RaftReady, RaftRestored};

const ELECTION_TIMEOUT: u32 = 10;
const HEARTBEAT: u32 = 2;

fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// Our bytes to theirs, by the layout that the essay of the kernel's `message.rs` draws.
fn to_reference(from: u64, to: u64, voters: &[u64], bytes: &[u8]) -> eraftpb::Message {
    let mut rest = &bytes[2..];
    let mut take = |length: usize| {
        let (taken, after) = rest.split_at(length);
        rest = after;
        taken
    };
    let kind = bytes[1];
    let mut message = eraftpb::Message { from, to, ..Default::default() };
    let mut number = |length: usize| {
        let mut padded = [0; 8];
        padded[..length].copy_from_slice(take(length));
        u64::from_le_bytes(padded)
    };
    message.term = number(8);
    message.set_msg_type(match kind {
        1 => MessageType::MsgRequestPreVote,
        2 | 3 => MessageType::MsgRequestPreVoteResponse,
        4 => MessageType::MsgRequestVote,
        5 | 6 => MessageType::MsgRequestVoteResponse,
        7 => MessageType::MsgAppend,
        8 | 9 => MessageType::MsgAppendResponse,
        10 => MessageType::MsgHeartbeat,
        11 => MessageType::MsgHeartbeatResponse,
        12 => MessageType::MsgSnapshot,
        _ => panic!("unknown kind {kind}"),
    });
    message.reject = matches!(kind, 3 | 6 | 9);
    match kind {
        1 | 4 => (message.index, message.log_term) = (number(8), number(8)),
        7 => {
            (message.index, message.log_term, message.commit) = (number(8), number(8), number(8));
            let count = number(4);
            let mut entries = Vec::new();
            for index in message.index + 1..=message.index + count {
                let term = number(8);
                let length = number(4) as usize;
                let data = (0..length).map(|_| number(1) as u8).collect();
                entries.push(Entry { index, term, data, ..Default::default() });
            }
            message.entries = entries;
        }
        8 => message.index = number(8),
        9 => {
            (message.index, message.reject_hint, message.log_term) =
                (number(8), number(8), number(8));
        }
        10 => message.commit = number(8),
        12 => {
            let (index, term) = (number(8), number(8));
            let length = number(4) as usize;
            let snapshot = message.mut_snapshot();
            snapshot.data = (0..length).map(|_| number(1) as u8).collect();
            snapshot.mut_metadata().index = index;
            snapshot.mut_metadata().term = term;
            snapshot.mut_metadata().mut_conf_state().voters = voters.to_vec();
        }
        _ => {}
    }
    assert!(rest.is_empty());
    message
}

/// Their message in our bytes. Their storage makes snapshots without data; `position` is what belongs there.
fn from_reference(message: &eraftpb::Message, position: usize) -> Vec<u8> {
    let (kind, numbers) = match (message.get_msg_type(), message.reject) {
        (MessageType::MsgRequestPreVote, _) => (1, vec![message.index, message.log_term]),
        (MessageType::MsgRequestPreVoteResponse, false) => (2, vec![]),
        (MessageType::MsgRequestPreVoteResponse, true) => (3, vec![]),
        (MessageType::MsgRequestVote, _) => (4, vec![message.index, message.log_term]),
        (MessageType::MsgRequestVoteResponse, false) => (5, vec![]),
        (MessageType::MsgRequestVoteResponse, true) => (6, vec![]),
        (MessageType::MsgAppend, _) => (7, vec![message.index, message.log_term, message.commit]),
        (MessageType::MsgAppendResponse, false) => (8, vec![message.index]),
        (MessageType::MsgAppendResponse, true) => {
            (9, vec![message.index, message.reject_hint, message.log_term])
        }
        (MessageType::MsgHeartbeat, _) => (10, vec![message.commit]),
        (MessageType::MsgHeartbeatResponse, _) => (11, vec![]),
        (MessageType::MsgSnapshot, _) => {
            let metadata = message.get_snapshot().get_metadata();
            (12, vec![metadata.index, metadata.term])
        }
        other => panic!("unexpected {other:?}"),
    };
    let mut bytes = vec![1, kind];
    for number in std::iter::once(message.term).chain(numbers) {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    if kind == 7 {
        bytes.extend_from_slice(&(message.entries.len() as u32).to_le_bytes());
        for entry in &message.entries {
            bytes.extend_from_slice(&entry.term.to_le_bytes());
            bytes.extend_from_slice(&(entry.data.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&entry.data);
        }
    }
    if kind == 12 {
        bytes.extend_from_slice(&8_u32.to_le_bytes());
        bytes.extend_from_slice(&(position as u64).to_le_bytes());
    }
    bytes
}

enum Voter {
    Ours { raft: Box<Raft>, disk: RaftRestored },
    Reference { node: Box<RawNode<MemStorage>>, storage: MemStorage, drawn_for: (u64, StateRole) },
}

struct World {
    seed: u64,
    random: u64,
    now: u64,
    ids: Vec<u64>,
    voters: Vec<Voter>,
    /// How much of `applied` each voter has applied.
    positions: Vec<usize>,
    applied: Vec<(u64, u64, Vec<u8>)>,
    leaders: BTreeMap<u64, u64>,
    flights: BTreeMap<(u64, u64), (u64, u64, Vec<u8>)>,
    sent: u64,
    proposed: u64,
    sides: Vec<u64>,
    calm: bool,
    snapshots_to_reference: u64,
    snapshots_to_ours: u64,
}

fn our_config(id: u64, voters: &[u64], seed: u64) -> RaftConfig {
    RaftConfig {
        id,
        voters: voters.to_vec(),
        seed,
        election_timeout_ticks: ELECTION_TIMEOUT,
        heartbeat_ticks: HEARTBEAT,
    }
}

fn reference_voter(id: u64, storage: MemStorage) -> Voter {
    let config = Config {
        id,
        election_tick: ELECTION_TIMEOUT as usize,
        heartbeat_tick: HEARTBEAT as usize,
        pre_vote: true,
        check_quorum: true,
        ..Default::default()
    };
    let logger = slog::Logger::root(slog::Discard, slog::o!());
    let node = RawNode::new(&config, storage.clone(), &logger).expect("a valid configuration");
    Voter::Reference { node: Box::new(node), storage, drawn_for: (u64::MAX, StateRole::Leader) }
}

impl World {
    fn new(seed: u64) -> World {
        let count = [3, 5][seed as usize % 2];
        let ids: Vec<u64> = (1..=count).collect();
        // At least one of each kind.
        let kinds = 1 + mix(seed) % ((1 << count) - 2);
        let voter = |id: &u64| {
            if kinds >> (id - 1) & 1 == 0 {
                let raft = Box::new(Raft::new(our_config(*id, &ids, seed)));
                Voter::Ours { raft, disk: RaftRestored::default() }
            } else {
                let state = (ids.clone(), vec![]);
                reference_voter(*id, MemStorage::new_with_conf_state(state))
            }
        };
        World {
            seed,
            random: mix(seed ^ 77),
            now: 0,
            voters: ids.iter().map(voter).collect(),
            positions: vec![0; ids.len()],
            sides: vec![0; ids.len()],
            ids,
            applied: Vec::new(),
            leaders: BTreeMap::new(),
            flights: BTreeMap::new(),
            sent: 0,
            proposed: 0,
            calm: false,
            snapshots_to_reference: 0,
            snapshots_to_ours: 0,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(1);
        mix(self.random) % bound
    }

    fn storm(&mut self, one_in: u64) -> bool {
        !self.calm && self.below(one_in) == 0
    }

    fn tick(&mut self) {
        self.now += 1;
        if self.storm(60) {
            for position in 0..self.sides.len() {
                self.sides[position] = self.below(2);
            }
        } else if self.storm(60) {
            self.sides.fill(0);
        }
        if self.storm(80) {
            let position = self.below(self.ids.len() as u64) as usize;
            self.restart(position);
        }
        while let Some(flight) = self.flights.first_entry() {
            if self.now < flight.key().0 {
                break;
            }
            let (from, to, bytes) = flight.remove();
            let (source, target) = (from as usize - 1, to as usize - 1);
            if self.sides[source] == self.sides[target] {
                self.deliver(from, target, &bytes);
                self.work(target);
            }
        }
        for position in 0..self.voters.len() {
            match &mut self.voters[position] {
                Voter::Ours { raft, .. } => raft.tick(),
                Voter::Reference { node, .. } => {
                    node.tick();
                }
            }
            self.work(position);
        }
        let position = self.below(self.ids.len() as u64) as usize;
        if !self.calm {
            self.propose(position);
            self.work(position);
        }
    }

    fn propose(&mut self, position: usize) -> bool {
        self.proposed += 1;
        let data = self.proposed.to_le_bytes().to_vec();
        match &mut self.voters[position] {
            Voter::Ours { raft, .. } => raft.propose(data).is_ok(),
            Voter::Reference { node, .. } => {
                node.raft.state == StateRole::Leader && node.propose(vec![], data).is_ok()
            }
        }
    }

    fn deliver(&mut self, from: u64, target: usize, bytes: &[u8]) {
        let to = self.ids[target];
        match &mut self.voters[target] {
            Voter::Ours { raft, .. } => {
                raft.step(from, bytes).expect("the other kind follows the rules, too");
            }
            Voter::Reference { node, .. } => {
                self.snapshots_to_reference += u64::from(bytes[1] == 12);
                let message = to_reference(from, to, &self.ids, bytes);
                node.step(message).expect("the other kind takes what we send");
            }
        }
    }

    fn restart(&mut self, position: usize) {
        let id = self.ids[position];
        let (voter, snapshot) = match &self.voters[position] {
            Voter::Ours { disk, .. } => {
                let config = our_config(id, &self.ids, self.seed);
                let raft = Box::new(Raft::restore(config, disk.clone()));
                let snapshot = disk.snapshot.as_ref().map(|snapshot| snapshot.data.clone());
                (Voter::Ours { raft, disk: disk.clone() }, snapshot)
            }
            // Their storage keeps no snapshot data; a voter that got one would have to keep its position.
            Voter::Reference { storage, .. } => {
                if 1 < raft::Storage::first_index(storage).expect("memory does not fail") {
                    return;
                }
                (reference_voter(id, storage.clone()), None)
            }
        };
        self.voters[position] = voter;
        self.positions[position] = snapshot.map_or(0, |data| position_of(&data));
    }

    fn work(&mut self, position: usize) {
        self.draw_timeout(position);
        while self.work_once(position) {
            self.draw_timeout(position);
        }
        let (is_leader, term) = match &self.voters[position] {
            Voter::Ours { raft, .. } => (raft.is_leader(), raft.term()),
            Voter::Reference { node, .. } => (node.raft.state == StateRole::Leader, node.raft.term),
        };
        if is_leader {
            let id = self.ids[position];
            assert_eq!(*self.leaders.entry(term).or_insert(id), id, "two leaders in a term");
        }
    }

    /// Their timeouts come from an unseeded generator; this makes a run repeatable.
    fn draw_timeout(&mut self, position: usize) {
        let seed = self.seed ^ mix(self.now) ^ position as u64;
        if let Voter::Reference { node, drawn_for, .. } = &mut self.voters[position] {
            let now = (node.raft.term, node.raft.state);
            if *drawn_for != now {
                *drawn_for = now;
                let timeout = u64::from(ELECTION_TIMEOUT) + mix(seed) % u64::from(ELECTION_TIMEOUT);
                node.raft.set_randomized_election_timeout(timeout as usize);
            }
        }
    }

    fn work_once(&mut self, position: usize) -> bool {
        match &mut self.voters[position] {
            Voter::Ours { raft, .. } => {
                let Some(ready) = raft.ready() else {
                    return false;
                };
                self.work_ours(position, ready);
            }
            Voter::Reference { node, .. } => {
                if !node.has_ready() {
                    return false;
                }
                self.work_reference(position);
            }
        }
        true
    }

    fn work_ours(&mut self, position: usize, ready: RaftReady) {
        let Voter::Ours { raft, disk } = &mut self.voters[position] else {
            panic!("only called for ours");
        };
        if let Some(persist) = &ready.persist {
            if let Some(snapshot) = &persist.snapshot {
                disk.entries.retain(|entry| snapshot.index < entry.index);
                disk.snapshot = Some(snapshot.clone());
            }
            if let Some(from) = persist.truncate_from {
                disk.entries.retain(|entry| entry.index < from);
            }
            disk.entries.extend(persist.entries.iter().cloned());
            (disk.term, disk.vote) = (persist.term, persist.vote);
        }
        raft.advance();
        if let Some(snapshot) = &ready.install_snapshot {
            let leader = self.voters.get(ready.leader.map_or(0, |leader| leader as usize - 1));
            let by_reference = matches!(leader, Some(Voter::Reference { .. }));
            self.snapshots_to_ours += u64::from(by_reference);
            self.positions[position] = position_of(&snapshot.data);
        }
        let from = self.ids[position];
        for (to, bytes) in ready.messages {
            self.send(from, to, bytes);
        }
        for entry in ready.committed {
            self.apply(position, (entry.index, entry.term, entry.data));
        }
        let compacts = self.below(40) == 0;
        let data = (self.positions[position] as u64).to_le_bytes().to_vec();
        if let Voter::Ours { raft, .. } = &mut self.voters[position]
            && compacts
            && 0 < raft.applied()
        {
            raft.compact(raft.applied(), data);
        }
    }

    fn work_reference(&mut self, position: usize) {
        let Voter::Reference { node, storage, .. } = &mut self.voters[position] else {
            panic!("only called for theirs");
        };
        let mut ready = node.ready();
        let mut messages = ready.take_messages();
        let snapshot = ready.snapshot().clone();
        if snapshot != eraftpb::Snapshot::default() {
            self.positions[position] = position_of(&snapshot.data);
            storage.wl().apply_snapshot(snapshot).expect("a snapshot that is ahead");
        }
        storage.wl().append(ready.entries()).expect("entries without a gap");
        if let Some(state) = ready.hs() {
            storage.wl().set_hardstate(state.clone());
        }
        messages.extend(ready.take_persisted_messages());
        let mut committed = ready.take_committed_entries();
        let mut light = node.advance(ready);
        if let Some(commit) = light.commit_index() {
            storage.wl().mut_hard_state().commit = commit;
        }
        messages.extend(light.take_messages());
        committed.extend(light.take_committed_entries());
        node.advance_apply();
        for entry in committed {
            if !entry.data.is_empty() {
                self.apply(position, (entry.index, entry.term, entry.data));
            }
        }
        if self.below(2000) == 0
            && let Voter::Reference { node, storage, .. } = &mut self.voters[position]
        {
            let applied = node.raft.raft_log.applied();
            storage.wl().compact(applied).expect("what is applied is there");
        }
        for message in messages {
            let covered = message.get_snapshot().get_metadata().index;
            if let (true, Voter::Reference { node, .. }) = (0 < covered, &mut self.voters[position])
            {
                // Their caller tells that the snapshot has left; ours does without.
                node.report_snapshot(message.to, raft::SnapshotStatus::Finish);
            }
            let data = self.applied.iter().take_while(|entry| entry.0 <= covered).count();
            self.send(message.from, message.to, from_reference(&message, data));
        }
    }

    fn send(&mut self, from: u64, to: u64, bytes: Vec<u8>) {
        for _ in 0..1 + u64::from(self.storm(15)) {
            if self.storm(15) {
                continue;
            }
            let delay = if self.calm { 1 } else { 1 + self.below(4) };
            self.sent += 1;
            self.flights.insert((self.now + delay, self.sent), (from, to, bytes.clone()));
        }
    }

    fn apply(&mut self, position: usize, entry: (u64, u64, Vec<u8>)) {
        let next = self.positions[position];
        if next == self.applied.len() {
            self.applied.push(entry);
        } else {
            assert_eq!(self.applied[next], entry, "state machines differ");
        }
        self.positions[position] += 1;
    }
}

fn position_of(data: &[u8]) -> usize {
    u64::from_le_bytes(data.try_into().expect("a snapshot is eight bytes")) as usize
}

#[test]
fn mixed_groups_agree() {
    let (mut led_by_ours, mut led_by_reference, mut applied) = (0, 0, 0);
    let (mut snapshots_to_reference, mut snapshots_to_ours) = (0, 0);
    for seed in 0..300 {
        let mut world = World::new(seed);
        for _ in 0..1500 {
            world.tick();
        }
        world.calm = true;
        world.sides.fill(0);
        for _ in 0..200 {
            world.tick();
        }
        let before = world.applied.len();
        let mut taken = 0;
        for position in 0..world.ids.len() {
            taken += u64::from(world.propose(position));
        }
        assert_eq!(taken, 1, "a healed group has one leader (seed {seed})");
        for _ in 0..50 {
            world.tick();
        }
        assert_eq!(world.applied.len(), before + 1, "no progress (seed {seed})");
        assert!(world.positions.iter().all(|position| *position == before + 1), "seed {seed}");
        for leader in world.leaders.values() {
            match world.voters[*leader as usize - 1] {
                Voter::Ours { .. } => led_by_ours += 1,
                Voter::Reference { .. } => led_by_reference += 1,
            }
        }
        applied += world.applied.len();
        snapshots_to_reference += world.snapshots_to_reference;
        snapshots_to_ours += world.snapshots_to_ours;
    }
    println!("terms led by ours {led_by_ours}, by the reference {led_by_reference}");
    println!("applied {applied}");
    println!("snapshots to the reference {snapshots_to_reference}, from it {snapshots_to_ours}");
    assert!(1_000 < led_by_ours);
    assert!(1_000 < led_by_reference);
    assert!(20_000 < applied);
    assert!(50 < snapshots_to_reference);
    assert!(10 < snapshots_to_ours);
}
