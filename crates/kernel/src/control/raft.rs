//! The consensus log of the control plane: a few voters agree on one sequence of entries (rule R24).
//!
//! **Problem.** Views, placement, schema, sequencer epochs and global checkpoints must be decided once, survive the loss
//! of a minority, and never be decided twice. The same decisions must come out of a simulation run bit for bit.
//!
//! **Idea.** Raft (Ongaro and Ousterhout, 2014) for a fixed set of voters, with pre-vote and check-quorum, as a state
//! machine without input or output. The caller feeds [`Raft::tick`], [`Raft::step`] and [`Raft::propose`], then takes a
//! [`RaftReady`] and does four things in this order: makes `persist` durable, sends `messages`, installs
//! `install_snapshot`, applies `committed`; then it calls [`Raft::advance`]. One ready is under way at a time; input is
//! welcome meanwhile. Everything a message promises (a vote, an acknowledgement, a term) is in the `persist` of the same
//! or an earlier ready, so whoever keeps the order cannot break a promise by crashing.
//!
//! ```text
//!               timeout, campaign()         quorum would vote       quorum voted
//!   Follower -----------------------> PreCandidate ----> Candidate ----> Leader
//!      ^                                   |                 |             |
//!      +------ higher term, a leader's message, refusal by a quorum, no answers from a quorum
//! ```
//!
//! Four rules keep it safe and calm:
//! - A leader commits only entries of its own term by counting (section 5.4.2 of the paper); it starts its term with an
//!   empty entry, so that the ones before are committed soon.
//! - A pre-vote asks first and raises no term, so a voter that was cut off does not disturb the others when it returns.
//! - A voter that heard from a leader within the shortest election timeout ignores candidates; a leader that has not
//!   heard from a quorum for that long steps down. A voter that meets a leader of an older term answers it with its own.
//!   Heartbeats have a round that their answers repeat, so a caller with a clock knows until when no other can be elected
//!   ([`Raft::round_of_quorum`]).
//! - Election timeouts are drawn from the seed, the voter's id and the number of draws. No map iterates in random order.
//!
//! **Trust.** Bytes from a peer are checked and refused, never trusted to index, to size an allocation or to hold an
//! assertion. Raft does not defend against a voter that lies consistently, and neither does this.
//!
//! **What it does not do.** No membership change: the set of voters is configuration. No reads, no leadership transfer, no
//! forwarding of proposals, no chunked snapshots: a snapshot is one message. No retransmission clock per message: lost
//! appends show up at the next heartbeat. It does not persist the commit index; after a restart entries above the snapshot
//! are handed out again once a leader says they are committed.

mod election;
mod limits;
mod log;
mod message;
mod progress;
mod replication;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use log::RaftLog;
use message::{Body, Message};
use progress::Progress;

pub use limits::{PROPOSAL_SIZE_MAX, SNAPSHOT_SIZE_MAX, VOTER_COUNT_MAX};

/// Who this voter is and how patient it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaftConfig {
    /// This voter; one of `voters`.
    pub id: u64,
    /// The whole group, this voter included: 1, 3 or 5 of them as a rule, at most [`VOTER_COUNT_MAX`].
    pub voters: Vec<u64>,
    /// Seeds the election timeouts. The same for all voters or not, as the caller likes: the id is mixed in.
    pub seed: u64,
    /// Shortest election timeout in ticks; the ones drawn lie in [this, 2 * this). More than `heartbeat_ticks`.
    pub election_timeout_ticks: u32,
    /// Ticks between a leader's heartbeats.
    pub heartbeat_ticks: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaftEntry {
    pub index: u64,
    pub term: u64,
    /// As proposed; empty for the entry that opens a leader's term.
    pub data: Vec<u8>,
}

/// The state machine after applying `index`, as bytes only the caller understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaftSnapshot {
    pub index: u64,
    pub term: u64,
    pub data: Vec<u8>,
}

/// The changes that must be durable before the messages of the same [`RaftReady`] may leave. To be applied to the disk in
/// this order, best in one atomic write:
/// 1. `snapshot` replaces the snapshot on disk; entries at or below its index may go.
/// 2. `truncate_from`: entries on disk with this or a higher index go.
/// 3. `entries` are added; they follow the remaining ones without a gap.
/// 4. `term` and `vote` replace the ones on disk. They are filled in even when they did not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaftPersist {
    pub term: u64,
    pub vote: Option<u64>,
    pub truncate_from: Option<u64>,
    pub entries: Vec<RaftEntry>,
    pub snapshot: Option<RaftSnapshot>,
}

/// The content of the disk when the voter stopped: the sum of all `RaftPersist`. The caller must restore the state machine
/// from `snapshot`; [`RaftReady::committed`] continues from there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaftRestored {
    pub term: u64,
    pub vote: Option<u64>,
    /// In order and without gaps, beginning at or below the entry after the snapshot.
    pub entries: Vec<RaftEntry>,
    pub snapshot: Option<RaftSnapshot>,
}

types::wire_struct!(RaftEntry { index, term, data });
types::wire_struct!(RaftSnapshot { index, term, data });
types::wire_struct!(RaftPersist { term, vote, truncate_from, entries, snapshot });

impl RaftRestored {
    /// What is on disk with one more of them.
    pub fn add(&mut self, persist: RaftPersist) {
        let RaftPersist { term, vote, truncate_from, entries, snapshot } = persist;
        if let Some(snapshot) = snapshot {
            self.entries.retain(|entry| entry.index > snapshot.index);
            self.snapshot = Some(snapshot);
        }
        if let Some(from) = truncate_from {
            self.entries.retain(|entry| entry.index < from);
        }
        self.entries.extend(entries);
        self.term = term;
        self.vote = vote;
    }
}

/// Work for the caller, in the order of the fields; see the essay of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaftReady {
    pub persist: Option<RaftPersist>,
    /// (receiver, bytes). May be lost, repeated and reordered.
    pub messages: Vec<(u64, Vec<u8>)>,
    /// Replaces the state machine, before `committed` is applied. It is in `persist`, too.
    pub install_snapshot: Option<RaftSnapshot>,
    /// In order, each once per start of the voter. The empty entries that open terms are left out, so indexes may skip.
    pub committed: Vec<RaftEntry>,
    pub leader: Option<u64>,
    pub term: u64,
}

/// The proposal was not taken. It is in no log and will never be committed by this call.
///
/// `leader` is the voter to ask instead. If it is this very voter, its backlog is full (or its log was never compacted):
/// propose again after it has made progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotLeader {
    pub leader: Option<u64>,
}

impl fmt::Display for NotLeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.leader {
            Some(leader) => write!(f, "proposal refused, the leader is voter {leader}"),
            None => write!(f, "proposal refused, no leader is known"),
        }
    }
}

impl std::error::Error for NotLeader {}

/// Why a message was dropped. The voter continues undisturbed; the connection it came on deserves suspicion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaftError {
    /// The bytes are no message, or one beyond the bounds.
    Malformed,
    /// The sender is not another voter of the group.
    UnknownSender,
    /// No voter that follows the rules can have sent this to this voter.
    RuleBroken,
}

impl fmt::Display for RaftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RaftError::Malformed => "malformed consensus message",
            RaftError::UnknownSender => "consensus message from outside the group",
            RaftError::RuleBroken => "consensus message that breaks the rules",
        })
    }
}

impl std::error::Error for RaftError {}

enum Role {
    Follower,
    /// Asks whether it could win. voter -> granted.
    PreCandidate {
        votes: BTreeMap<u64, bool>,
    },
    /// Asks for votes. voter -> granted.
    Candidate {
        votes: BTreeMap<u64, bool>,
    },
    /// Progress of every other voter.
    Leader {
        peers: BTreeMap<u64, Progress>,
    },
}

/// One voter.
pub struct Raft {
    id: u64,
    /// Sorted, without repetition, this voter included.
    voters: Vec<u64>,
    election_timeout: u32,
    heartbeat_interval: u32,

    // Durable, by way of RaftPersist.
    term: u64,
    /// Whom this voter gave its vote in `term`.
    vote: Option<u64>,
    log: RaftLog,
    /// Invariant: base of the log <= index of the snapshot <= commit; absent only while the base is 0.
    snapshot: Option<RaftSnapshot>,

    // Volatile.
    role: Role,
    leader: Option<u64>,
    /// State of the generator that draws election timeouts.
    random: u64,
    /// Ticks since the last sign of a leader; for a leader, since its last quorum check.
    election_elapsed: u32,
    /// The election timeout in force, drawn anew at every change of role or term.
    election_deadline: u32,
    heartbeat_elapsed: u32,
    /// The voter that gave the last sign of being a leader, of whatever term, and the ticks since. A voter that starts again does
    /// not know, and takes it that there was one just before.
    sign_from: Option<u64>,
    sign_elapsed: u32,
    /// A leader's: rounds of heartbeats in its term.
    round: u64,
    outbox: Vec<(u64, Vec<u8>)>,
    outbox_size: usize,
    /// The commit index moved since the last ready, and followers have not been told.
    commit_untold: bool,
    /// The snapshot has not been handed out for persisting.
    snapshot_unsaved: bool,
    /// The snapshot came from a leader and has not been handed out for installing.
    snapshot_uninstalled: bool,
    /// Handed out for persisting last.
    offered_term_vote: (u64, Option<u64>),
    /// Told the caller last.
    told_leader_term: (Option<u64>, u64),
    /// Highest index handed out as committed or installed. Invariant: applied <= applying <= commit.
    applying: u64,
    /// Highest index acknowledged as applied. Moved by advance.
    applied: u64,
    /// `applying` of the ready under way.
    ready_under_way: Option<u64>,
}

impl Raft {
    /// A voter that never ran before.
    pub fn new(config: RaftConfig) -> Raft {
        Raft::restore(config, RaftRestored::default())
    }

    /// A voter that continues from its persisted state. A group of one elects itself at once.
    ///
    /// Panics if the configuration makes no sense or the entries have gaps: files are checked where they are read.
    pub fn restore(config: RaftConfig, state: RaftRestored) -> Raft {
        let mut voters = config.voters;
        voters.sort_unstable();
        let voter_count = voters.len();
        voters.dedup();
        assert_eq!(voters.len(), voter_count, "a voter is named twice");
        assert!(voter_count <= VOTER_COUNT_MAX);
        assert!(voters.contains(&config.id), "a voter must be one of its group");
        assert!(0 < config.heartbeat_ticks);
        assert!(config.heartbeat_ticks < config.election_timeout_ticks);
        assert!(config.election_timeout_ticks <= u32::MAX / 8);

        let (base_index, base_term) =
            state.snapshot.as_ref().map_or((0, 0), |snapshot| (snapshot.index, snapshot.term));
        let log = RaftLog::restore(base_index, base_term, state.entries);
        // A write torn between entries and term leaves a log ahead of the term. No message of that ready left, so the
        // voter has promised nothing in the later term.
        let term = state.term.max(log.last_term());
        let vote = if term == state.term { state.vote } else { None };
        let is_first_start = term == 0 || voter_count == 1;
        let mut raft = Raft {
            id: config.id,
            voters,
            election_timeout: config.election_timeout_ticks,
            heartbeat_interval: config.heartbeat_ticks,
            term,
            vote,
            log,
            snapshot: state.snapshot,
            role: Role::Follower,
            leader: None,
            // The term is mixed in so that voters that restart together do not repeat a tie.
            random: mix(config.seed ^ mix(config.id ^ mix(term))),
            election_elapsed: 0,
            election_deadline: 0,
            heartbeat_elapsed: 0,
            sign_from: None,
            sign_elapsed: if is_first_start { u32::MAX } else { 0 },
            round: 0,
            outbox: Vec::new(),
            outbox_size: 0,
            commit_untold: false,
            snapshot_unsaved: false,
            snapshot_uninstalled: false,
            offered_term_vote: (state.term, state.vote),
            told_leader_term: (None, state.term),
            applying: base_index,
            applied: base_index,
            ready_under_way: None,
        };
        raft.reset_timers();
        if raft.quorum() == 1 {
            raft.campaign();
        }
        raft
    }

    /// One logical tick; the caller decides how long that is.
    pub fn tick(&mut self) {
        self.election_elapsed = self.election_elapsed.saturating_add(1);
        self.sign_elapsed = self.sign_elapsed.saturating_add(1);
        match &mut self.role {
            Role::Leader { .. } => self.tick_leader(),
            Role::Follower | Role::PreCandidate { .. } | Role::Candidate { .. } => {
                if self.election_deadline <= self.election_elapsed {
                    self.campaign();
                }
            }
        }
    }

    /// The caller knows for certain that this voter's process is over: if it led, there is no leader, and whoever campaigns may
    /// be elected at once.
    pub fn voter_is_gone(&mut self, id: u64) {
        if self.leader == Some(id) && id != self.id {
            self.leader = None;
        }
        if self.sign_from == Some(id) {
            self.sign_elapsed = u32::MAX;
        }
    }

    /// Takes a message of another voter. Late, repeated and outdated messages are Ok and change nothing.
    pub fn step(&mut self, from: u64, message: &[u8]) -> Result<(), RaftError> {
        if from == self.id || !self.voters.contains(&from) {
            return Err(RaftError::UnknownSender);
        }
        let Message { term, body } = Message::decode(message)?;
        if self.ignore_by_term(from, term, &body) {
            return Ok(());
        }
        match body {
            Body::PreVote { last_index, last_term } => {
                self.on_pre_vote(from, term, last_index, last_term);
            }
            Body::PreVoteOk => self.on_pre_vote_ok(from, term),
            Body::PreVoteRefused => self.on_pre_vote_refused(from),
            Body::Vote { last_index, last_term } => self.on_vote(from, last_index, last_term),
            Body::VoteOk => self.on_vote_answer(from, true),
            Body::VoteRefused => self.on_vote_answer(from, false),
            Body::Append { prev_index, prev_term, commit, entries } => {
                self.on_append(from, prev_index, prev_term, commit, entries)?;
            }
            Body::AppendOk { matched } => self.on_append_ok(from, matched)?,
            Body::AppendRefused { prev_index, hint_index, hint_term } => {
                self.on_append_refused(from, prev_index, hint_index, hint_term);
            }
            Body::Heartbeat { commit, round } => self.on_heartbeat(from, commit, round)?,
            Body::HeartbeatOk { round } => self.on_heartbeat_ok(from, round)?,
            Body::InstallSnapshot(snapshot) => self.on_install_snapshot(from, snapshot)?,
        }
        Ok(())
    }

    /// The term rules common to all messages. True if the message has been dealt with.
    fn ignore_by_term(&mut self, from: u64, term: u64, body: &Body) -> bool {
        let from_leader =
            matches!(body, Body::Append { .. } | Body::Heartbeat { .. } | Body::InstallSnapshot(_));
        if term < self.term {
            if from_leader {
                // A leader of an older term hears of this one and steps down. Without it, a voter whose term ran
                // ahead would ignore its leader, and its leader's lease would keep it from ever being elected.
                self.send(from, self.term, Body::AppendOk { matched: 0 });
            } else if matches!(body, Body::PreVote { .. }) {
                self.send(from, self.term, Body::PreVoteRefused);
            }
            return true;
        }
        if self.term < term {
            match body {
                Body::PreVote { .. } => return self.hears_leader(),
                // Carries the term the candidate would take, which is above its own.
                Body::PreVoteOk => {}
                Body::Vote { .. } if self.hears_leader() => return true,
                Body::Append { .. } | Body::Heartbeat { .. } | Body::InstallSnapshot(_) => {
                    self.become_follower(term, Some(from));
                }
                Body::Vote { .. }
                | Body::PreVoteRefused
                | Body::VoteOk
                | Body::VoteRefused
                | Body::AppendOk { .. }
                | Body::AppendRefused { .. }
                | Body::HeartbeatOk { .. } => self.become_follower(term, None),
            }
        }
        false
    }

    /// Adds `data` to the log if this voter leads. It is decided when it comes back in [`RaftReady::committed`] with
    /// the index returned here and the term of now; if another entry comes with that index, it was lost.
    ///
    /// Panics if `data` is empty or longer than [`PROPOSAL_SIZE_MAX`]: the caller bounds what it proposes.
    pub fn propose(&mut self, data: Vec<u8>) -> Result<u64, NotLeader> {
        assert!(!data.is_empty(), "empty entries are the leaders' own");
        assert!(data.len() <= PROPOSAL_SIZE_MAX);
        let last = self.log.last_index();
        let uncommitted = self.log.size_between(self.log.commit(), last);
        let total = self.log.size_between(self.log.base_index(), last);
        let full = limits::UNCOMMITTED_SIZE_MAX < uncommitted + data.len() as u64
            || limits::LOG_SIZE_MAX < total + data.len() as u64
            || limits::INDEX_MAX <= last;
        if !self.is_leader() || full {
            return Err(NotLeader { leader: self.leader });
        }
        let index = last + 1;
        self.log.append(RaftEntry { index, term: self.term, data });
        Ok(index)
    }

    /// The next piece of work, if there is any and none is under way. Ask again after [`Raft::advance`] until None:
    /// persisting alone may commit entries.
    pub fn ready(&mut self) -> Option<RaftReady> {
        if self.ready_under_way.is_some() {
            return None;
        }
        self.send_appends();
        let persist = self.ready_persist();
        let install_snapshot = if self.snapshot_uninstalled { self.snapshot.clone() } else { None };
        self.snapshot_uninstalled = false;
        let mut committed = self.log.entries(
            self.applying,
            self.log.commit(),
            limits::READY_COMMITTED_SIZE_MAX,
            usize::MAX,
        );
        let applies = !committed.is_empty();
        self.applying = committed.last().map_or(self.applying, |entry| entry.index);
        assert!(self.applied <= self.applying);
        committed.retain(|entry| !entry.data.is_empty());
        let messages = std::mem::take(&mut self.outbox);
        self.outbox_size = 0;

        let leader_term = (self.leader, self.term);
        if persist.is_none()
            && messages.is_empty()
            && install_snapshot.is_none()
            && !applies
            && leader_term == self.told_leader_term
        {
            return None;
        }
        self.told_leader_term = leader_term;
        self.ready_under_way = Some(self.applying);
        Some(RaftReady {
            persist,
            messages,
            install_snapshot,
            committed,
            leader: self.leader,
            term: self.term,
        })
    }

    /// While a ready is being made durable: what a leader has to say meanwhile. That rests on nothing but its vote for itself, which was
    /// durable before it was elected; its own entries count when [`Raft::advance`] says that they are there. So a disk that is slow
    /// for a moment costs no election.
    pub fn leader_messages(&mut self) -> Vec<(u64, Vec<u8>)> {
        if !self.is_leader() {
            return Vec::new();
        }
        self.send_appends();
        self.outbox_size = 0;
        std::mem::take(&mut self.outbox)
    }

    fn ready_persist(&mut self) -> Option<RaftPersist> {
        let snapshot = if self.snapshot_unsaved { self.snapshot.clone() } else { None };
        self.snapshot_unsaved = false;
        let (truncate_from, entries) = self.log.offer();
        let term_vote = (self.term, self.vote);
        if term_vote == self.offered_term_vote
            && truncate_from.is_none()
            && entries.is_empty()
            && snapshot.is_none()
        {
            return None;
        }
        self.offered_term_vote = term_vote;
        Some(RaftPersist { term: self.term, vote: self.vote, truncate_from, entries, snapshot })
    }

    /// Acknowledges the last ready as persisted, sent and applied.
    pub fn advance(&mut self) {
        self.applied = self.ready_under_way.take().expect("advance follows a ready");
        assert!(self.applied <= self.applying);
        self.log.offered_is_stable();
        self.commit_by_quorum();
    }

    /// The caller's state machine, after applying `applied_index`, is `snapshot`. The next ready hands it out for
    /// persisting; the entries it covers may then go. Ignored if a later snapshot is here already.
    ///
    /// Panics if entries up to `applied_index` were not handed out, or the snapshot exceeds [`SNAPSHOT_SIZE_MAX`].
    pub fn compact(&mut self, applied_index: u64, snapshot: Vec<u8>) {
        assert!(applied_index <= self.applying);
        assert!(snapshot.len() <= SNAPSHOT_SIZE_MAX);
        if applied_index <= self.snapshot_index() {
            return;
        }
        let term = self.log.term_at(applied_index).expect("it lies between base and commit");
        self.snapshot = Some(RaftSnapshot { index: applied_index, term, data: snapshot });
        self.snapshot_unsaved = true;
        self.log.compact(self.compact_keep_for_peers(applied_index));
    }

    /// Where to cut: a leader keeps a little for live peers that are almost there, to spare them a snapshot.
    fn compact_keep_for_peers(&self, applied_index: u64) -> u64 {
        let Role::Leader { peers } = &self.role else {
            return applied_index;
        };
        let needed = peers.values().filter(|peer| peer.recently_active).map(|peer| peer.matched);
        let cut = needed.min().unwrap_or(applied_index).clamp(self.log.base_index(), applied_index);
        let tail = self.log.size_between(cut, applied_index);
        if tail <= limits::COMPACTION_TAIL_SIZE_MAX { cut } else { applied_index }
    }

    /// All that is on disk once the ready under way is: for a caller that writes it in the place of everything before.
    pub fn persisted(&self) -> RaftPersist {
        let entries = self.log.offered_above(self.snapshot_index());
        RaftPersist {
            term: self.term,
            vote: self.vote,
            truncate_from: None,
            entries,
            snapshot: self.snapshot.clone(),
        }
    }

    /// Bytes of applied entries that no snapshot covers: what [`Raft::compact`] would save a voter that starts again.
    pub fn size_since_snapshot(&self) -> u64 {
        self.log.size_between(self.log.base_index().max(self.snapshot_index()), self.applied)
    }

    fn snapshot_index(&self) -> u64 {
        self.snapshot.as_ref().map_or(0, |snapshot| snapshot.index)
    }

    pub fn is_leader(&self) -> bool {
        matches!(self.role, Role::Leader { .. })
    }

    /// The rounds of heartbeats that this leader has sent in its term.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// The latest round that a quorum has answered. Until an election timeout after that round was sent, by the ticks of whoever
    /// is fastest, no other voter can be elected, unless [`Raft::voter_is_gone`] said that this one is gone.
    pub fn round_of_quorum(&self) -> u64 {
        let Role::Leader { peers } = &self.role else { return 0 };
        let mut rounds: Vec<u64> = peers.values().map(|peer| peer.round).collect();
        rounds.push(self.round);
        rounds.sort_unstable();
        rounds[rounds.len() - self.quorum()]
    }

    /// Does it lead, and has it applied all that the leaders before it have committed? It knows so when an entry of its own term
    /// is applied.
    pub fn is_current_leader(&self) -> bool {
        self.is_leader() && self.log.term_at(self.applied) == Some(self.term)
    }

    /// The leader of the current term, as far as this voter knows; itself included.
    pub fn leader(&self) -> Option<u64> {
        self.leader
    }

    pub fn term(&self) -> u64 {
        self.term
    }

    /// Highest index acknowledged as applied.
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// Highest index known to be committed.
    pub fn committed(&self) -> u64 {
        self.log.commit()
    }

    pub fn last_index(&self) -> u64 {
        self.log.last_index()
    }

    /// Bytes of entries held in memory: what [`Raft::compact`] would bring down.
    pub fn log_size(&self) -> u64 {
        self.log.size_between(self.log.base_index(), self.log.last_index())
    }

    fn quorum(&self) -> usize {
        self.voters.len() / 2 + 1
    }

    fn others(&self) -> Vec<u64> {
        self.voters.iter().copied().filter(|voter| *voter != self.id).collect()
    }

    fn send(&mut self, to: u64, term: u64, body: Body) {
        assert_ne!(to, self.id);
        assert!(0 < term);
        let bytes = Message { term, body }.encode();
        if limits::OUTBOX_COUNT_MAX <= self.outbox.len()
            || limits::OUTBOX_SIZE_MAX < self.outbox_size + bytes.len()
        {
            return;
        }
        self.outbox_size += bytes.len();
        self.outbox.push((to, bytes));
    }
}

/// The finaliser of SplitMix64.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}
