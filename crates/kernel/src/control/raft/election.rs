//! Elections: timers, pre-votes, votes, and the changes of role they cause.

use std::collections::BTreeMap;

use super::limits::TERM_MAX;
use super::message::Body;
use super::progress::Progress;
use super::{Raft, RaftEntry, Role, mix};

enum Outcome {
    Open,
    Won,
    Lost,
}

impl Raft {
    /// Starts an election now instead of at the timeout, for a node that starts up or knows that the leader is gone.
    /// Voters that hear from a leader ignore it; a leader, or a voter that hears one, does nothing.
    pub fn campaign(&mut self) {
        // A term that high can only come from a peer that lies; staying put keeps the arithmetic sound.
        if self.is_leader() || self.hears_leader() || TERM_MAX <= self.term {
            return;
        }
        self.leader = None;
        self.reset_timers();
        self.role = Role::PreCandidate { votes: BTreeMap::from([(self.id, true)]) };
        if self.quorum() == 1 {
            self.become_candidate();
            return;
        }
        let (last_index, last_term) = (self.log.last_index(), self.log.last_term());
        for peer in self.others() {
            self.send(peer, self.term + 1, Body::PreVote { last_index, last_term });
        }
    }

    fn become_candidate(&mut self) {
        assert!(matches!(self.role, Role::PreCandidate { .. }));
        self.term += 1;
        self.vote = Some(self.id);
        self.leader = None;
        self.reset_timers();
        self.role = Role::Candidate { votes: BTreeMap::from([(self.id, true)]) };
        if self.quorum() == 1 {
            self.become_leader();
            return;
        }
        let (last_index, last_term) = (self.log.last_index(), self.log.last_term());
        for peer in self.others() {
            self.send(peer, self.term, Body::Vote { last_index, last_term });
        }
    }

    fn become_leader(&mut self) {
        assert!(matches!(self.role, Role::Candidate { .. }));
        assert_eq!(self.vote, Some(self.id));
        self.leader = Some(self.id);
        self.reset_timers();
        // The first heartbeats go with the next tick.
        self.heartbeat_elapsed = self.heartbeat_interval;
        self.round = 0;
        let next = self.log.last_index() + 1;
        let peers = self.others().into_iter().map(|peer| (peer, Progress::new(next))).collect();
        self.role = Role::Leader { peers };
        self.log.append(RaftEntry { index: next, term: self.term, data: Vec::new() });
    }

    pub(super) fn become_follower(&mut self, term: u64, leader: Option<u64>) {
        assert!(self.term <= term);
        assert_ne!(leader, Some(self.id));
        if self.term < term {
            self.term = term;
            self.vote = None;
        }
        self.leader = leader;
        self.role = Role::Follower;
        self.reset_timers();
    }

    pub(super) fn reset_timers(&mut self) {
        self.random = mix(self.random);
        self.election_elapsed = 0;
        self.heartbeat_elapsed = 0;
        let drawn = self.random % u64::from(self.election_timeout);
        self.election_deadline = self.election_timeout + drawn as u32;
    }

    /// Within the shortest election timeout of a leader's last sign, this voter elects no other leader: also when it has seen a
    /// higher term since, or does not remember the leader.
    pub(super) fn hears_leader(&self) -> bool {
        self.is_leader() || self.sign_elapsed < self.election_timeout
    }

    /// Raft, section 5.4.1: the log of a candidate must not be behind.
    fn is_up_to_date(&self, last_index: u64, last_term: u64) -> bool {
        (self.log.last_term(), self.log.last_index()) <= (last_term, last_index)
    }

    /// Whether this voter may vote for `candidate` in the current term, as far as votes are concerned.
    fn has_vote_for(&self, candidate: u64) -> bool {
        match self.vote {
            Some(vote) => vote == candidate,
            None => self.leader.is_none(),
        }
    }

    pub(super) fn on_pre_vote(&mut self, from: u64, term: u64, last_index: u64, last_term: u64) {
        assert!(self.term <= term);
        let free = self.term < term || self.has_vote_for(from);
        if free && self.is_up_to_date(last_index, last_term) {
            self.send(from, term, Body::PreVoteOk);
        } else {
            // At term 0 the log is empty and the term asked for is higher, so this voter would not be here.
            self.send(from, self.term, Body::PreVoteRefused);
        }
    }

    pub(super) fn on_pre_vote_ok(&mut self, from: u64, term: u64) {
        // Answers to an earlier campaign name a term that is no longer the next one.
        if term != self.term + 1 {
            return;
        }
        let Role::PreCandidate { votes } = &mut self.role else {
            return;
        };
        votes.insert(from, true);
        match self.count_votes() {
            Outcome::Won => self.become_candidate(),
            Outcome::Open | Outcome::Lost => {}
        }
    }

    pub(super) fn on_pre_vote_refused(&mut self, from: u64) {
        let Role::PreCandidate { votes } = &mut self.role else {
            return;
        };
        votes.entry(from).or_insert(false);
        match self.count_votes() {
            Outcome::Lost => self.become_follower(self.term, None),
            Outcome::Open | Outcome::Won => {}
        }
    }

    pub(super) fn on_vote(&mut self, from: u64, last_index: u64, last_term: u64) {
        if self.hears_leader() && !self.is_leader() && self.vote != Some(from) {
            // It has come to this term otherwise, and the lease of the leader it heard is not over.
            return;
        }
        if self.has_vote_for(from) && self.is_up_to_date(last_index, last_term) {
            // A repeated request changes nothing; a leader may have been found meanwhile.
            if self.vote.is_none() {
                self.become_follower(self.term, None);
                self.vote = Some(from);
            }
            self.send(from, self.term, Body::VoteOk);
        } else {
            self.send(from, self.term, Body::VoteRefused);
        }
    }

    pub(super) fn on_vote_answer(&mut self, from: u64, granted: bool) {
        let Role::Candidate { votes } = &mut self.role else {
            return;
        };
        votes.entry(from).or_insert(granted);
        match self.count_votes() {
            Outcome::Won => self.become_leader(),
            Outcome::Lost => self.become_follower(self.term, None),
            Outcome::Open => {}
        }
    }

    fn count_votes(&self) -> Outcome {
        let (Role::PreCandidate { votes } | Role::Candidate { votes }) = &self.role else {
            panic!("only candidates count votes");
        };
        let granted = votes.values().filter(|granted| **granted).count();
        let refused = votes.len() - granted;
        if self.quorum() <= granted {
            Outcome::Won
        } else if self.voters.len() - self.quorum() < refused {
            Outcome::Lost
        } else {
            Outcome::Open
        }
    }
}
