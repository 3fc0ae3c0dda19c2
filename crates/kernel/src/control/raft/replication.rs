//! Replication: appends, acknowledgements, commitment, heartbeats, snapshots.

use super::limits::{
    APPEND_ENTRY_COUNT_MAX, APPEND_SIZE_MAX, LOG_SIZE_MAX, SNAPSHOT_RESEND_ELECTION_TIMEOUTS,
    UNCOMMITTED_SIZE_MAX, UNSTABLE_SIZE_MAX, WINDOW_SIZE_MAX,
};
use super::log::RaftLog;
use super::message::Body;
use super::progress::{Progress, ProgressState};
use super::{Raft, RaftEntry, RaftError, RaftSnapshot, Role};

impl Raft {
    pub(super) fn tick_leader(&mut self) {
        let quorum_due = self.election_timeout <= self.election_elapsed;
        let quorum = self.quorum();
        let resend_ticks = self.election_timeout * SNAPSHOT_RESEND_ELECTION_TIMEOUTS;
        let Role::Leader { peers } = &mut self.role else {
            panic!("only leaders come here");
        };
        for peer in peers.values_mut() {
            if let ProgressState::Snapshot { elapsed_ticks, .. } = &mut peer.state {
                *elapsed_ticks += 1;
                if resend_ticks <= *elapsed_ticks {
                    peer.become_probe(peer.matched + 1);
                }
            }
        }
        if quorum_due {
            self.election_elapsed = 0;
            let active = peers.values().filter(|peer| peer.recently_active).count();
            if active + 1 < quorum {
                self.become_follower(self.term, None);
                return;
            }
            for peer in peers.values_mut() {
                peer.recently_active = false;
            }
        }
        self.heartbeat_elapsed += 1;
        if self.heartbeat_interval <= self.heartbeat_elapsed {
            self.heartbeat_elapsed = 0;
            self.send_heartbeats();
        }
    }

    fn send_heartbeats(&mut self) {
        let Role::Leader { peers } = &self.role else {
            panic!("only leaders send heartbeats");
        };
        self.round += 1;
        let round = self.round;
        let commit = self.log.commit();
        // A peer must not commit what it is not known to hold: its log may differ from ours beyond `matched`.
        let heartbeats: Vec<(u64, u64)> =
            peers.iter().map(|(peer, progress)| (*peer, commit.min(progress.matched))).collect();
        for (peer, commit) in heartbeats {
            self.send(peer, self.term, Body::Heartbeat { commit, round });
        }
    }

    /// Sends every peer the entries it lacks, as far as its window allows; and the commit index.
    pub(super) fn send_appends(&mut self) {
        let commit_untold = std::mem::take(&mut self.commit_untold);
        if !self.is_leader() {
            return;
        }
        for peer in self.others() {
            let mut sent = false;
            while self.send_append(peer, false) {
                sent = true;
            }
            if commit_untold && !sent {
                self.send_append(peer, true);
            }
        }
    }

    /// Sends one append, or a snapshot if the entries are gone. Without `even_empty` only if it carries something.
    /// False if nothing was sent.
    fn send_append(&mut self, to: u64, even_empty: bool) -> bool {
        let Role::Leader { peers } = &mut self.role else {
            panic!("only leaders append");
        };
        let peer = peers.get_mut(&to).expect("every other voter has progress");
        if matches!(
            peer.state,
            ProgressState::Probe { paused: true } | ProgressState::Snapshot { .. }
        ) {
            return false;
        }
        let prev_index = peer.next - 1;
        let Some(prev_term) = self.log.term_at(prev_index) else {
            return self.send_snapshot(to);
        };
        let entries = append_entries(&self.log, peer);
        if entries.is_empty() && !even_empty {
            return false;
        }
        match &mut peer.state {
            ProgressState::Probe { paused } => *paused = true,
            ProgressState::Replicate => peer.next += entries.len() as u64,
            ProgressState::Snapshot { .. } => panic!("returned above"),
        }
        let commit = self.log.commit();
        self.send(to, self.term, Body::Append { prev_index, prev_term, commit, entries });
        true
    }

    fn send_snapshot(&mut self, to: u64) -> bool {
        let Role::Leader { peers } = &mut self.role else {
            panic!("only leaders send snapshots");
        };
        let peer = peers.get_mut(&to).expect("every other voter has progress");
        assert!(peer.next <= self.log.base_index());
        // A snapshot is large; one to a peer that is gone would be built again and again.
        if !peer.recently_active {
            return false;
        }
        let snapshot = self.snapshot.clone().expect("a log with a base has a snapshot");
        assert!(self.log.base_index() <= snapshot.index);
        peer.state = ProgressState::Snapshot { index: snapshot.index, elapsed_ticks: 0 };
        peer.next = snapshot.index + 1;
        self.send(to, self.term, Body::InstallSnapshot(snapshot));
        true
    }

    /// Commits what a quorum holds, if it is of this term (Raft, section 5.4.2).
    pub(super) fn commit_by_quorum(&mut self) {
        let Role::Leader { peers } = &self.role else {
            return;
        };
        let mut matched: Vec<u64> = peers.values().map(|peer| peer.matched).collect();
        matched.push(self.log.stable());
        matched.sort_unstable_by(|a, b| b.cmp(a));
        let held = matched[self.quorum() - 1];
        if self.log.commit() < held && self.log.term_at(held) == Some(self.term) {
            self.log.commit_to(held);
            self.commit_untold = true;
        }
    }

    /// The sender leads the current term; there can be no other leader in it.
    fn follow(&mut self, from: u64) -> Result<(), RaftError> {
        match &self.role {
            Role::Leader { .. } => return Err(RaftError::RuleBroken),
            Role::Follower if self.leader == Some(from) => self.election_elapsed = 0,
            Role::Follower if self.leader.is_some() => return Err(RaftError::RuleBroken),
            Role::Follower | Role::PreCandidate { .. } | Role::Candidate { .. } => {
                self.become_follower(self.term, Some(from));
            }
        }
        self.sign_from = Some(from);
        self.sign_elapsed = 0;
        Ok(())
    }

    pub(super) fn on_append(
        &mut self,
        from: u64,
        prev_index: u64,
        prev_term: u64,
        commit: u64,
        entries: Vec<RaftEntry>,
    ) -> Result<(), RaftError> {
        self.follow(from)?;
        if prev_index < self.log.commit() {
            // Late. What is committed here is what the leader has, too.
            self.send(from, self.term, Body::AppendOk { matched: self.log.commit() });
            return Ok(());
        }
        if self.log.term_at(prev_index) != Some(prev_term) {
            let (hint_index, hint_term) = self.log.agreement_hint(prev_index, prev_term);
            self.send(from, self.term, Body::AppendRefused { prev_index, hint_index, hint_term });
            return Ok(());
        }
        if self.ignore_append_over_bounds() {
            return Ok(());
        }
        let matched = prev_index + entries.len() as u64;
        for entry in entries {
            match self.log.term_at(entry.index) {
                Some(term) if term == entry.term => continue,
                Some(_) => self.log.truncate(entry.index),
                None => {}
            }
            self.log.append(entry);
        }
        self.log.commit_to(commit.min(matched));
        self.send(from, self.term, Body::AppendOk { matched });
        Ok(())
    }

    /// More than the disk keeps up with, or than memory is meant to hold. The leader will try again.
    fn ignore_append_over_bounds(&self) -> bool {
        let last = self.log.last_index();
        let total = self.log.size_between(self.log.base_index(), last);
        UNSTABLE_SIZE_MAX < self.log.size_between(self.log.stable(), last)
            || LOG_SIZE_MAX + UNCOMMITTED_SIZE_MAX < total
    }

    pub(super) fn on_append_ok(&mut self, from: u64, matched: u64) -> Result<(), RaftError> {
        let Role::Leader { peers } = &mut self.role else {
            return Ok(());
        };
        if self.log.last_index() < matched {
            return Err(RaftError::RuleBroken);
        }
        let peer = peers.get_mut(&from).expect("every other voter has progress");
        peer.recently_active = true;
        peer.on_append_ok(matched, self.log.base_index());
        self.commit_by_quorum();
        Ok(())
    }

    pub(super) fn on_append_refused(
        &mut self,
        from: u64,
        prev_index: u64,
        hint_index: u64,
        hint_term: u64,
    ) {
        let Role::Leader { peers } = &mut self.role else {
            return;
        };
        let peer = peers.get_mut(&from).expect("every other voter has progress");
        peer.recently_active = true;
        let (hint, _) = self.log.agreement_hint(hint_index, hint_term);
        if peer.on_append_refused(prev_index, hint) {
            self.send_append(from, true);
        }
    }

    pub(super) fn on_heartbeat(
        &mut self,
        from: u64,
        commit: u64,
        round: u64,
    ) -> Result<(), RaftError> {
        self.follow(from)?;
        if self.log.last_index() < commit {
            return Err(RaftError::RuleBroken);
        }
        self.log.commit_to(commit);
        self.send(from, self.term, Body::HeartbeatOk { round });
        Ok(())
    }

    pub(super) fn on_heartbeat_ok(&mut self, from: u64, round: u64) -> Result<(), RaftError> {
        let Role::Leader { peers } = &mut self.role else {
            return Ok(());
        };
        if self.round < round {
            return Err(RaftError::RuleBroken);
        }
        let peer = peers.get_mut(&from).expect("every other voter has progress");
        peer.recently_active = true;
        peer.round = peer.round.max(round);
        peer.resume();
        // An append at the end of the sent entries is refused if an earlier one was lost.
        if peer.matched < self.log.last_index() {
            self.send_append(from, true);
        }
        Ok(())
    }

    pub(super) fn on_install_snapshot(
        &mut self,
        from: u64,
        snapshot: RaftSnapshot,
    ) -> Result<(), RaftError> {
        self.follow(from)?;
        if self.log.commit() < snapshot.index {
            if self.log.term_at(snapshot.index) == Some(snapshot.term) {
                // Starting over would drop entries above it that this voter has acknowledged.
                self.log.commit_to(snapshot.index);
            } else {
                self.log.reset(snapshot.index, snapshot.term);
                self.applying = snapshot.index;
                self.snapshot = Some(snapshot);
                self.snapshot_unsaved = true;
                self.snapshot_uninstalled = true;
            }
        }
        self.send(from, self.term, Body::AppendOk { matched: self.log.commit() });
        Ok(())
    }
}

/// What goes into the next append to `peer`: one probe's worth, or as much as the window still takes.
fn append_entries(log: &RaftLog, peer: &Progress) -> Vec<RaftEntry> {
    let sent = peer.next - 1;
    if peer.state == ProgressState::Replicate {
        let floor = peer.matched.max(log.base_index()).min(sent);
        if WINDOW_SIZE_MAX <= log.size_between(floor, sent) {
            return Vec::new();
        }
    }
    log.entries(sent, log.last_index(), APPEND_SIZE_MAX as u64, APPEND_ENTRY_COUNT_MAX)
}
