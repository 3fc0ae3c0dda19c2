//! What a seed decides before its world begins: the shape of the cluster, the kinds of faults and how strong they are, and
//! what its sessions do. Each kind of fault is on in half of the seeds, so that bugs that need one to be *off* show too.

use std::collections::BTreeMap;

use kernel::{ChannelConfig, Mutation, Time};
use protocol::control::{
    ClusterConfig, Durability, HEARTBEAT_MS, HEARTBEAT_MS_DEFAULT, NodeConfig,
};
use protocol::message::Room;
use types::{ClusterId, NodeId};

use crate::random::Random;

pub const MILLISECOND: Time = 1_000;
pub const SECOND: Time = 1_000_000;

/// A cluster's shape: (data nodes, replicas, voters).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One node, which is everything.
    Single,
    /// Two data nodes and a voter.
    Pair,
    /// Two data nodes that vote too, and a voter.
    PairOfVoters,
    /// Two groups of two, and a voter.
    TwoGroups,
    /// One group of three, and a voter.
    Triple,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub seed: u64,
    /// How long the sessions work, in simulated seconds.
    pub seconds: u64,
    pub mutation: Mutation,
    pub shape: Shape,
    /// Of each data node.
    pub workers: u16,
    pub shards_per_group: u16,
    pub heartbeat_ms: u32,
    pub durability: Durability,
    pub channel: ChannelConfig,
    /// A transaction with more rows in a shard ends in steps.
    pub record_rows_max: usize,
    /// Operations under locks that have worked on more bytes of rows let others have their turn.
    pub turn_bytes_max: Option<usize>,
    /// A voter with more bytes of applied entries keeps a snapshot instead.
    pub control_log_bytes_max: u64,
    /// The longest time in which a disk makes records durable.
    pub write_max: Time,
    pub faults: Faults,
    /// A node that is lost while the sessions work.
    pub crash: Option<Crash>,
    /// Data nodes keep their rows on disks, though the power does not fail.
    pub has_disks: bool,
    /// Rows that a learner is offered and copied at a time.
    pub fill_rows_max: Option<usize>,
    /// Entries of its log that may wait for a learner's disk while it is filled.
    pub fill_backlog_max: Option<u64>,
    /// Entries by which a part's log grows until a local checkpoint is begun.
    pub log_growth_max: Option<u64>,
    /// When all nodes lose their power at once, in simulated time since the sessions began to work.
    pub power_failures: Vec<Time>,
    /// The cases of a thousand in which one node of a group is back only when the others have begun
    /// without it, if they can.
    pub late_per_mille: u32,
    /// Instead of writing rows when the power fails, delete them.
    pub only_deletes: bool,
    /// Statements panic where the rows are, now and then.
    pub statements_panic: bool,
    /// Sessions on each worker of a data node that take user-level locks.
    pub user_locks: u32,
    /// When the disk of a node has no room for its rows, counted as above.
    pub full_disks: Vec<FullDisk>,
    /// The cases of a thousand in which the disk of a node that comes back is damaged. After a
    /// failure of the power, that of one node of a group, if another of the group is whole.
    pub disks_lost_per_mille: u32,
    /// When the next local checkpoint of a node cannot be read back as it was written, counted as above.
    pub checkpoints_spoiled: Vec<(NodeId, Time)>,
    /// Bytes of memory for the rows of each data node, if it is to be full now and then.
    pub memories: BTreeMap<NodeId, u64>,
    /// Sessions of each kind of work on each worker of a data node, in the order of `workload::KINDS`.
    pub sessions: Vec<u32>,
    /// So much faster or slower than the world's a node's clock may run.
    pub drift_max_ppm: u32,
    /// The longest pause of a session between two transactions.
    pub think_max: Time,
}

/// How links and workers behave until they are healed.
#[derive(Clone, Debug)]
pub struct Faults {
    pub delay: Delay,
    pub loss_per_mille: u32,
    pub duplicate_per_mille: u32,
    /// Frames of one link may pass each other.
    pub reorder_within_link: bool,
    /// The mean interval at which a link is cut; it comes back after at most `cut_max`.
    pub cut_interval: Option<Time>,
    pub cut_max: Time,
    /// The cases of a thousand in which a worker finds another worker's shard busy.
    pub contention_per_mille: u32,
}

/// What befalls a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The end of its process: its memory is lost.
    Dies,
    /// It does nothing for this time, and then continues.
    Freezes { lasts: Time },
    /// One of its workers does nothing for this time; the others continue, and send heartbeats.
    Hangs { lasts: Time },
    /// For a time, every message to it and from it takes longer.
    Crawls { takes: Time, lasts: Time },
    /// It is stopped as planned: it hands over its shards, and then its process ends.
    Leaves,
    /// For a time nothing comes to it from these others, or from it to them, or both.
    CutOff { from: Vec<NodeId>, hears: bool, is_heard: bool, lasts: Time, waits: bool },
}

/// One node fails, and then another one.
#[derive(Clone, Debug)]
pub struct Crash {
    pub node: NodeId,
    pub failure: Failure,
    /// Since the sessions began to work.
    pub at: Time,
    /// So much later the first of the others may hear of it. Never, when it is later than it comes back: that says it.
    pub told_after: Time,
    /// None: it does not come back; else the time after which it does, with its disk.
    pub restart_after: Option<Time>,
    /// The next failures, each with the time after the node before is back: short enough that only that node holds some commits.
    pub then: Vec<(NodeId, Time, Failure)>,
    /// The next one fails while others are away or are being filled, if its group has another node that serves. Else each waits
    /// until all is well again.
    pub is_hasty: bool,
    /// Decides what of its frames still arrives, and when each of the others hears of it.
    pub seed: u64,
}

/// Nodes hear of a crash at different moments, so far apart at most.
pub const CRASH_TOLD_SPREAD: Time = 20 * MILLISECOND;

/// Where no supervisor reports a failure: the time by which the others have detected and handled it.
pub const FOUND_OUT_MAX: Time = 1_500 * MILLISECOND;

/// The same where a worker hangs: twenty heartbeats, and its node's lease.
pub const STALL_FOUND_OUT_MAX: Time = 3_500 * MILLISECOND;

/// The greatest drift of clocks: ten times that of quartz.
const DRIFT_MAX_PPM: u32 = 10_000;

/// How many failures a world of failures has. Each is over in some three seconds.
const FAILURES_PER_10_S: u64 = 3;

/// A frame takes `low ..= high`, and in `tail_per_mille` cases up to `tail_max`.
#[derive(Clone, Copy, Debug)]
pub struct Delay {
    pub low: Time,
    pub high: Time,
    pub tail_per_mille: u32,
    pub tail_max: Time,
}

impl Delay {
    pub const MILD: Delay = Delay { low: 50, high: 500, tail_per_mille: 0, tail_max: 500 };

    pub fn draw(&self, random: &mut Random) -> Time {
        if random.chance(self.tail_per_mille) {
            random.logarithmic(self.high, self.tail_max)
        } else {
            random.between(self.low, self.high)
        }
    }
}

impl Faults {
    pub const NONE: Faults = Faults {
        delay: Delay::MILD,
        loss_per_mille: 0,
        duplicate_per_mille: 0,
        reorder_within_link: false,
        cut_interval: None,
        cut_max: 0,
        contention_per_mille: 0,
    };

    fn draw(random: &mut Random) -> Faults {
        let mut faults = Faults::NONE;
        if random.chance(500) {
            let high = match random.below(10) {
                0..=5 => 500,
                6..=7 => random.logarithmic(500, 5 * MILLISECOND),
                8 => random.logarithmic(5 * MILLISECOND, 50 * MILLISECOND),
                _ => random.logarithmic(50 * MILLISECOND, 500 * MILLISECOND),
            };
            let tail_per_mille = random.between(1, 30) as u32;
            let tail_max = random.logarithmic(high, 500 * MILLISECOND);
            faults.delay = Delay { low: 50, high, tail_per_mille, tail_max };
        }
        if random.chance(500) {
            faults.loss_per_mille = random.logarithmic(1, 300) as u32;
        }
        if random.chance(500) {
            faults.duplicate_per_mille = random.logarithmic(1, 100) as u32;
        }
        faults.reorder_within_link = random.chance(500);
        if random.chance(500) {
            faults.cut_interval = Some(random.logarithmic(200 * MILLISECOND, 5 * SECOND));
            faults.cut_max = random.logarithmic(5 * MILLISECOND, 2 * SECOND);
        }
        if random.chance(500) {
            faults.contention_per_mille = random.logarithmic(10, 500) as u32;
        }
        faults
    }

    /// So little, if anything, that heartbeats are not missed for it.
    fn draw_little(random: &mut Random) -> Faults {
        let mut faults = Faults::NONE;
        if random.chance(500) {
            faults.loss_per_mille = random.logarithmic(1, 10) as u32;
            faults.duplicate_per_mille = random.logarithmic(1, 100) as u32;
            faults.reorder_within_link = true;
            faults.delay.tail_per_mille = random.between(1, 30) as u32;
            faults.delay.tail_max = random.logarithmic(500, 20 * MILLISECOND);
        }
        faults
    }

    /// Do answers come within milliseconds, so that bounds on time can be tight?
    pub fn are_mild(&self) -> bool {
        // Several of the slowest may come one after the other: of half a second each they are more than anybody's patience.
        let Delay { high, tail_max, .. } = self.delay;
        let is_fast = high <= MILLISECOND && tail_max <= 100 * MILLISECOND;
        self.loss_per_mille == 0 && self.cut_interval.is_none() && is_fast
    }
}

/// A disk with less room than its node wants.
#[derive(Clone, Debug)]
pub struct FullDisk {
    pub node: NodeId,
    pub at: Time,
    pub room: Room,
    pub lasts: Time,
}

/// Bytes kept for a node that is away; of repeated messages half as much at most.
const CHANNEL_BYTES_MIN: usize = 64 << 10;

impl Options {
    /// What a seed stands for.
    pub fn of_seed(seed: u64, seconds: u64) -> Options {
        let mut random = Random::new(seed);
        let shape = match random.below(20) {
            0..=7 => Shape::Pair,
            8..=10 => Shape::PairOfVoters,
            11..=14 => Shape::TwoGroups,
            15..=17 => Shape::Triple,
            _ => Shape::Single,
        };
        let workers = if random.chance(500) { 1 } else { 2 };
        let replicas = shape.replicas();
        let shards_per_group = replicas * random.between(1, 2) as u16 * workers;
        let mut faults = Faults::draw(&mut random);
        if shape == Shape::PairOfVoters {
            // A leader is elected only while answers come within an election timeout (200 ms).
            faults.delay.high = faults.delay.high.min(30 * MILLISECOND);
            faults.delay.tail_max = faults.delay.tail_max.min(200 * MILLISECOND);
        }
        if shape == Shape::Triple {
            // A commit waits for more messages one after the other than in a pair, and bounds on time are those of a pair.
            let tail_max = (100 * MILLISECOND).max(faults.delay.high);
            faults.delay.tail_max = faults.delay.tail_max.min(tail_max);
        }
        let mut options = Options {
            seed,
            seconds,
            mutation: Mutation::None,
            shape,
            workers,
            shards_per_group,
            heartbeat_ms: HEARTBEAT_MS_DEFAULT,
            durability: Durability::WhenAlone,
            channel: ChannelConfig::new(random.between(30, 50) * MILLISECOND),
            record_rows_max: usize::MAX,
            turn_bytes_max: None,
            control_log_bytes_max: u64::MAX,
            // By a generator of its own, so that everything else stays what the seed stands for.
            write_max: Random::new(seed ^ 0xd15c).logarithmic(MILLISECOND / 10, 30 * MILLISECOND),
            faults,
            crash: None,
            has_disks: false,
            fill_rows_max: None,
            fill_backlog_max: None,
            log_growth_max: None,
            power_failures: Vec::new(),
            late_per_mille: 0,
            only_deletes: false,
            statements_panic: false,
            user_locks: 0,
            full_disks: Vec::new(),
            disks_lost_per_mille: 0,
            checkpoints_spoiled: Vec::new(),
            memories: BTreeMap::new(),
            sessions: Vec::new(),
            drift_max_ppm: 0,
            think_max: random.logarithmic(4 * MILLISECOND, 60 * MILLISECOND),
        };
        let is_silent =
            options.faults.delay.tail_max > 3 * MILLISECOND * u64::from(options.heartbeat_ms);
        if !options.faults.are_mild() || is_silent {
            // Links that are slow, cut or lose much, or bring nothing for four heartbeats, are not to look like dead nodes here.
            options.heartbeat_ms = *HEARTBEAT_MS.end();
        }
        options.draw_sessions(&mut random);
        if random.chance(300) {
            // So small that statements wait for it, and large enough for the messages of every tick over the slowest links.
            options.channel.window_bytes = random.logarithmic(1 << 14, 1 << 17) as usize;
            options.channel.unacked_bytes_max =
                options.channel.window_bytes / random.between(1, 16) as usize;
        }
        if options.faults.loss_per_mille > 0 {
            // What is lost of a window is sent again 256 KiB at a time, which is a safety net for links that lose nothing.
            options.channel.window_bytes = options.channel.window_bytes.min(1 << 20);
        }
        if random.chance(400) {
            options.record_rows_max = random.between(1, 3) as usize;
        }
        // By a generator of its own, too: a row or a few of them.
        let mut turns = Random::new(seed ^ 0x7042);
        if turns.chance(400) {
            options.turn_bytes_max = Some(turns.between(0, 100) as usize);
        }
        if random.chance(500) {
            options.control_log_bytes_max = random.logarithmic(1, 1 << 12);
        }
        options
    }

    /// The same with the loss of a node, if one may be lost. It is decided by a generator of its own, so everything else stays what the
    /// seed stands for.
    pub fn with_crash(mut self) -> Options {
        let mut random = Random::new(self.seed ^ 0xdead_beef);
        let candidates = self.shape.nodes_that_may_die();
        if candidates.is_empty() {
            return self;
        }
        let duration = self.seconds * SECOND;
        self.crash = Some(Crash {
            node: *random.pick(&candidates),
            failure: Failure::Dies,
            at: random.between(duration / 10, duration / 10 * 8),
            told_after: random.logarithmic(MILLISECOND / 5, 50 * MILLISECOND),
            restart_after: None,
            then: Vec::new(),
            is_hasty: false,
            seed: random.draw(),
        });
        self
    }

    /// The same, and the node comes back; when it is there again its partner, or another node, dies, and comes back, and so on.
    pub fn with_returns(self) -> Options {
        let mut options = self.with_crash();
        let Some(crash) = &mut options.crash else { return options };
        let mut random = Random::new(options.seed ^ 0xb00b_1e55);
        let duration = options.seconds * SECOND;
        crash.at = random.between(duration / 20, duration / 10 * 4);
        crash.restart_after = Some(random.logarithmic(MILLISECOND, SECOND));
        if random.chance(300) {
            // Nobody says that it is over.
            crash.told_after = Time::MAX;
        }
        let nodes = options.shape.nodes_that_may_die();
        let mut last = crash.node;
        for _ in 0..random.between(1, 4) {
            let others: Vec<NodeId> = nodes.iter().copied().filter(|node| *node != last).collect();
            let partner = NodeId(last.0 ^ 1);
            let next = match nodes.contains(&partner) && random.chance(700) {
                true => partner,
                false => *random.pick(&others),
            };
            crash.then.push((next, random.logarithmic(MILLISECOND, SECOND), Failure::Dies));
            last = next;
        }
        crash.is_hasty = options.shape.bears_two_failures() && random.chance(500);
        options.has_disks = random.chance(500);
        options.fill_rows_max = random.chance(700).then(|| random.between(1, 8) as usize);
        if options.has_disks && random.chance(500) {
            options.log_growth_max = Some(random.logarithmic(1, 3_000));
        }
        options.fill_backlog_max = random.chance(500).then(|| random.below(8));
        // By a generator of its own, so that everything else stays what the seed stands for.
        let mut random = Random::new(options.seed ^ 0xd15_c0de);
        if options.has_disks && random.chance(400) {
            options.disks_lost_per_mille = random.between(100, 700) as u32;
        }
        options
    }

    /// The same, but data nodes are stopped as planned.
    pub fn with_leaves(self) -> Options {
        let mut options = self.with_returns();
        let data = options.cluster_config().data_nodes();
        let Some(crash) = &mut options.crash else { return options };
        crash.told_after = Time::MAX;
        let planned = |node: NodeId| match data.contains(&node) {
            true => Failure::Leaves,
            false => Failure::Dies,
        };
        crash.failure = planned(crash.node);
        for (node, _, failure) in &mut crash.then {
            *failure = planned(*node);
        }
        options
    }

    /// The same, but nodes also freeze, are cut off and are stopped as planned, one after the other
    /// as long as the world lasts, and no supervisor reports a death: the others detect it. Links
    /// lose little, since only then the time for that is bounded; clocks run at different speeds.
    /// Sessions take their time: these worlds look for faults in the failures, and need many of
    /// them.
    pub fn with_failures(self) -> Options {
        let mut options = self.with_returns();
        let data = options.cluster_config().data_nodes();
        let Some(crash) = &mut options.crash else { return options };
        let mut random = Random::new(options.seed ^ 0xfee1_dead);
        options.faults = Faults {
            contention_per_mille: options.faults.contention_per_mille,
            ..Faults::draw_little(&mut random)
        };
        options.heartbeat_ms = HEARTBEAT_MS_DEFAULT;
        options.drift_max_ppm = DRIFT_MAX_PPM;
        options.think_max *= 8;
        crash.told_after = Time::MAX;
        let nodes: Vec<NodeId> = options.shape.nodes().collect();
        crash.failure = Failure::draw(crash.node, &nodes, &data, &mut random);
        let candidates = options.shape.nodes_that_may_die();
        while (crash.then.len() as u64) < options.seconds * FAILURES_PER_10_S / 10 {
            let node = *random.pick(&candidates);
            crash.then.push((node, random.logarithmic(MILLISECOND, SECOND), Failure::Dies));
        }
        for (node, _, failure) in &mut crash.then {
            *failure = Failure::draw(*node, &nodes, &data, &mut random);
        }
        options
    }

    /// The same with nothing but failures of power: all nodes end at once, now and then, and come
    /// back with their disks. The last acknowledged commits may be lost then, so only workloads run
    /// that know.
    pub fn with_power_failures(mut self) -> Options {
        let mut random = Random::new(self.seed ^ 0x0ff_0ff);
        self.faults = Faults {
            contention_per_mille: self.faults.contention_per_mille,
            ..Faults::draw_little(&mut random)
        };
        self.heartbeat_ms = HEARTBEAT_MS_DEFAULT;
        self.late_per_mille = 200;
        // The losses of a restart are one message.
        let channel = &mut self.channel;
        channel.unacked_bytes_max = channel.unacked_bytes_max.max(CHANNEL_BYTES_MIN);
        self.write_max = random.logarithmic(MILLISECOND / 10, 30 * MILLISECOND);
        if random.chance(700) {
            self.log_growth_max = Some(random.logarithmic(1, 3_000));
        }
        let mut at = 0;
        while self.power_failures.is_empty() || at < self.seconds * SECOND {
            at += random.logarithmic(100 * MILLISECOND, 8 * SECOND);
            self.power_failures.push(at);
        }
        // By a generator of its own, so that everything else stays what the seed stands for.
        self.durability = match Random::new(self.seed ^ 0xd07ab1e).below(4) {
            0 => Durability::Always,
            1 => Durability::Memory,
            _ => Durability::WhenAlone,
        };
        self.fill_rows_max = random.chance(700).then(|| random.between(1, 8) as usize);
        self.fill_backlog_max = random.chance(500).then(|| random.below(8));
        self.with_work(&["bank", "unique"], 1)
    }

    /// The same, but once the rows are written nothing is done but that they are deleted, beside many local checkpoints.
    pub fn with_deletions(mut self) -> Options {
        self.only_deletes = true;
        // No commit waits for a disk: these worlds are about commits that a disk lacks when the power fails.
        (self.fill_backlog_max, self.durability) = (None, Durability::WhenAlone);
        self.late_per_mille = 0;
        self.log_growth_max = Some(Random::new(self.seed ^ 0xde1e7e).logarithmic(1, 60));
        self.with_work(&[], 0)
    }

    /// The same, and disks that have no room for a while, whose rows are found damaged when the power is back, or whose checkpoints are
    /// not there as they were written.
    pub fn with_disk_faults(self) -> Options {
        let mut options = self.with_power_failures();
        let mut random = Random::new(options.seed ^ 0xd15_cfa);
        let kind = random.below(3);
        if kind != 0 {
            options.disks_lost_per_mille = random.between(100, 700) as u32;
        }
        let nodes = options.cluster_config().data_nodes();
        let mut at = 0;
        while kind != 1 && at < options.seconds * SECOND {
            at += random.logarithmic(100 * MILLISECOND, 4 * SECOND);
            let room = if random.chance(500) { Room::Reserve } else { Room::Nothing };
            let lasts = random.logarithmic(MILLISECOND, 2 * SECOND);
            options.full_disks.push(FullDisk {
                node: nodes[random.index(nodes.len())],
                at,
                room,
                lasts,
            });
        }
        let mut random = Random::new(options.seed ^ 0x05b0_11ed);
        let mut at = 0;
        while random.chance(900) && at < options.seconds * SECOND {
            at += random.logarithmic(100 * MILLISECOND, 4 * SECOND);
            options.checkpoints_spoiled.push((nodes[random.index(nodes.len())], at));
        }
        options
    }

    /// Sessions that take user-level locks, beside what else the world does.
    pub fn with_user_locks(mut self) -> Options {
        self.user_locks = 2;
        self
    }

    /// Statements that panic, beside what else the world does.
    pub fn with_panics(mut self) -> Options {
        self.statements_panic = true;
        self
    }

    /// Little memory, another one for each data node, and nothing but work that fills it. What a node says reaches the others soon: what
    /// is taken meanwhile must fit into what they keep back.
    pub fn with_little_memory(mut self) -> Options {
        let mut random = Random::new(self.seed ^ 0x3e3);
        self.faults = Faults {
            delay: Delay::MILD,
            contention_per_mille: self.faults.contention_per_mille,
            ..Faults::NONE
        };
        self.heartbeat_ms = HEARTBEAT_MS_DEFAULT;
        // What a shard has free in its pages is no room for another.
        let least = 24 + u64::from(self.shards_per_group);
        let nodes = self.cluster_config().data_nodes().into_iter();
        self.memories = nodes.map(|node| (node, random.between(least, 2 * least) << 20)).collect();
        self.with_work(&[], 0)
    }

    /// Three to six kinds of work, with about a dozen sessions together, whatever the number of workers.
    fn draw_sessions(&mut self, random: &mut Random) {
        let kinds = crate::workload::KINDS.len();
        let hosts = u64::from(self.shape.data_nodes() * self.workers);
        let mut sessions = vec![0u32; kinds];
        for _ in 0..random.between(3, 6) {
            let kind = random.index(kinds);
            sessions[kind] = (4 / hosts).max(1) as u32;
        }
        self.sessions = sessions;
    }

    /// Only these kinds of work.
    pub fn with_work(mut self, kinds: &[&str], sessions: u32) -> Options {
        let wanted = |name: &str| if kinds.contains(&name) { sessions } else { 0 };
        self.sessions = crate::workload::KINDS.iter().map(|kind| wanted(kind.name)).collect();
        assert_eq!(self.sessions.iter().filter(|count| 0 < **count).count(), kinds.len());
        self
    }

    pub fn cluster_config(&self) -> ClusterConfig {
        let voter = |id: u16, data: bool| NodeConfig {
            id: NodeId(id),
            voter: true,
            data,
            workers: if data { self.workers } else { 1 },
        };
        let member = |id: u16| NodeConfig {
            id: NodeId(id),
            voter: false,
            data: true,
            workers: self.workers,
        };
        let nodes = match self.shape {
            Shape::Single => vec![voter(1, true)],
            Shape::PairOfVoters => vec![voter(1, false), voter(2, true), voter(3, true)],
            Shape::Pair | Shape::TwoGroups | Shape::Triple => {
                let data = (2..2 + self.shape.data_nodes()).map(member);
                std::iter::once(voter(1, false)).chain(data).collect()
            }
        };
        let config = ClusterConfig {
            cluster: ClusterId(self.seed),
            nodes,
            replicas: self.shape.replicas(),
            shards_per_group: self.shards_per_group,
            heartbeat_ms: self.heartbeat_ms,
            durability: self.durability,
        };
        config.check().expect("the shapes are sound");
        config
    }
}

impl Failure {
    pub fn lasts(&self) -> Time {
        match self {
            Failure::Dies | Failure::Leaves => 0,
            Failure::Freezes { lasts }
            | Failure::Hangs { lasts }
            | Failure::Crawls { lasts, .. }
            | Failure::CutOff { lasts, .. } => *lasts,
        }
    }
    /// Nodes whose clients may have to wait until it is over. Of two that do not hear each other that may be either.
    pub fn sufferers(&self, node: NodeId) -> Vec<NodeId> {
        match self {
            Failure::Dies | Failure::Leaves => Vec::new(),
            Failure::Freezes { .. } | Failure::Hangs { .. } | Failure::Crawls { .. } => vec![node],
            Failure::CutOff { from, .. } if from.len() > 1 => vec![node],
            Failure::CutOff { from, .. } => from.iter().copied().chain([node]).collect(),
        }
    }
    fn draw(node: NodeId, nodes: &[NodeId], data: &[NodeId], random: &mut Random) -> Failure {
        let lasts = random.logarithmic(20 * MILLISECOND, 6 * SECOND);
        match random.below(14) {
            0..=2 => Failure::Dies,
            3..=5 => Failure::Freezes { lasts },
            12 if data.contains(&node) => Failure::Hangs { lasts: 2 * lasts },
            13 if data.contains(&node) => Failure::Crawls {
                takes: random.logarithmic(20 * MILLISECOND, 160 * MILLISECOND),
                lasts: random.between(SECOND, 16 * SECOND),
            },
            6..=7 if data.contains(&node) => Failure::Leaves,
            _ => {
                let mut from: Vec<NodeId> = nodes.iter().copied().filter(|n| *n != node).collect();
                if random.chance(500) {
                    from = vec![*random.pick(&from)];
                }
                let (hears, is_heard) =
                    *random.pick(&[(false, false), (true, false), (false, true)]);
                Failure::CutOff { from, hears, is_heard, lasts, waits: random.chance(500) }
            }
        }
    }
}

impl Shape {
    fn nodes(self) -> impl Iterator<Item = NodeId> {
        (1..2 + self.data_nodes()).map(NodeId)
    }
    /// All but the only voter, and the only data node.
    fn nodes_that_may_die(self) -> Vec<NodeId> {
        let ids = match self {
            Shape::Single => 0..0,
            Shape::Pair => 2..4,
            Shape::Triple => 2..5,
            Shape::PairOfVoters => 1..4,
            Shape::TwoGroups => 2..6,
        };
        ids.map(NodeId).collect()
    }
    /// If they are not of the same pair. Of voters only one may fail.
    fn bears_two_failures(self) -> bool {
        matches!(self, Shape::TwoGroups | Shape::Triple)
    }
    pub fn data_nodes(self) -> u16 {
        match self {
            Shape::Single => 1,
            Shape::Pair | Shape::PairOfVoters => 2,
            Shape::Triple => 3,
            Shape::TwoGroups => 4,
        }
    }
    pub fn replicas(self) -> u16 {
        match self {
            Shape::Single => 1,
            Shape::Pair | Shape::PairOfVoters | Shape::TwoGroups => 2,
            Shape::Triple => 3,
        }
    }
}
