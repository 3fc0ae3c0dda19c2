//! Single rules, each in the smallest group that shows it.

use crate::control::raft::message::{Body, Message};
use crate::control::raft::{
    NotLeader, PROPOSAL_SIZE_MAX, Raft, RaftEntry, RaftError, RaftRestored, RaftSnapshot,
};

use super::world::{CALM, ELECTION_TIMEOUT, Faults, World, config};

fn entry(index: u64, term: u64) -> RaftEntry {
    RaftEntry { index, term, data: vec![index as u8, term as u8] }
}

fn step(raft: &mut Raft, from: u64, term: u64, body: Body) -> Result<(), RaftError> {
    raft.step(from, &Message { term, body }.encode())
}

/// A voter that continues from there, some time after it heard from a leader.
fn restored_long_ago(state: RaftRestored) -> Raft {
    let mut raft = Raft::restore(config(1, 3, 0), state);
    raft.sign_elapsed = ELECTION_TIMEOUT;
    raft
}

/// Finishes the ready under way, if any, and gives back the messages.
fn finish(raft: &mut Raft) -> Vec<(u64, Message)> {
    let Some(ready) = raft.ready() else {
        return Vec::new();
    };
    raft.advance();
    let decode =
        |(to, bytes): (u64, Vec<u8>)| (to, Message::decode(&bytes).expect("our own message"));
    ready.messages.into_iter().map(decode).collect()
}

fn elect(raft: &mut Raft, peer: u64) {
    raft.campaign();
    let term = raft.term() + 1;
    step(raft, peer, term, Body::PreVoteOk).expect("a pre-vote");
    step(raft, peer, term, Body::VoteOk).expect("a vote");
    assert!(raft.is_leader());
}

/// A group of one leads from the start, and commits persisted entries, not before.
#[test]
fn one_voter_commits_alone() {
    let mut raft = Raft::new(config(1, 1, 0));
    assert!(raft.is_leader());
    assert_eq!(raft.propose(b"a".to_vec()), Ok(2));
    let ready = raft.ready().expect("entries to persist");
    assert!(ready.committed.is_empty());
    assert_eq!(ready.persist.map(|persist| persist.entries.len()), Some(2));
    assert_eq!(raft.committed(), 0);
    raft.advance();
    let ready = raft.ready().expect("entries to apply");
    assert_eq!(ready.committed.iter().map(|entry| entry.index).collect::<Vec<_>>(), [2]);
    raft.advance();
    assert_eq!(raft.applied(), 2);
    assert_eq!(raft.ready(), None);
}

/// The voter that campaigns at start-up leads long before the first timeout.
#[test]
fn campaign_elects_quickly() {
    for voter_count in [3, 5] {
        let mut world = World::new(voter_count, 1, CALM);
        world.raft(2).campaign();
        world.run(u64::from(ELECTION_TIMEOUT) - 1);
        assert_eq!(world.leader(), Some(2));
        assert_eq!(world.raft(1).leader(), Some(2));
        assert_eq!(world.raft(1).term(), 1);
        assert_eq!(world.raft(3).propose(vec![1]), Err(NotLeader { leader: Some(2) }));
    }
}

/// A voter that was cut off comes back without raising the term or unseating the leader.
#[test]
fn returning_voter_does_not_disturb() {
    let mut world = World::new(3, 2, CALM);
    world.raft(1).campaign();
    world.run(20);
    world.isolate(3);
    world.run_proposing(300);
    assert_eq!(world.raft(3).leader(), None);
    world.rejoin();
    world.run(50);
    assert_eq!(world.leader(), Some(1));
    assert_eq!(world.raft(3).term(), 1);
    assert_eq!(world.raft(3).leader(), Some(1));
}

/// A leader without a quorum steps down; the others elect a new one; the old one's tail is cut.
#[test]
fn isolated_leader_steps_down() {
    let mut world = World::new(3, 3, CALM);
    world.raft(1).campaign();
    world.run(20);
    world.isolate(1);
    let lost = world.raft(1).propose(b"lost".to_vec()).expect("it still leads");
    world.run(100);
    assert!(!world.raft(1).is_leader());
    assert_eq!(world.disk(1).state.entries.last().map(|entry| entry.index), Some(lost));
    let leader = world.leader().expect("two of three are enough");
    assert_ne!(leader, 1);
    world.raft(leader).propose(b"kept".to_vec()).expect("it leads");
    world.rejoin();
    world.run(50);
    assert!(world.applied().iter().all(|entry| entry.data != b"lost"));
    assert!(world.disk(1).state.entries.iter().all(|entry| entry.data != b"lost"));
    world.assert_progress(200);
}

/// A voter too far behind gets the snapshot, and the entries after it.
#[test]
fn laggard_gets_snapshot() {
    let mut world = World::new(3, 4, CALM);
    world.raft(1).campaign();
    world.run(20);
    world.isolate(3);
    world.run_proposing(1000);
    assert_eq!(world.snapshots_installed, 0);
    world.rejoin();
    world.run(30);
    assert_eq!(world.snapshots_installed, 1);
    world.assert_progress(200);
}

/// Figure 8 of the paper: an entry of an older term on a quorum is not committed by counting.
#[test]
fn old_entries_are_not_counted() {
    let state = RaftRestored { term: 4, vote: None, entries: vec![entry(1, 2)], snapshot: None };
    let mut raft = restored_long_ago(state);
    elect(&mut raft, 2);
    finish(&mut raft);
    step(&mut raft, 2, 5, Body::AppendOk { matched: 1 }).expect("an acknowledgement");
    assert_eq!(raft.committed(), 0);
    step(&mut raft, 2, 5, Body::AppendOk { matched: 2 }).expect("an acknowledgement");
    assert_eq!(raft.committed(), 2);
}

/// A leader's own entries count only once they are on its disk.
#[test]
fn leader_counts_what_it_persisted() {
    let mut raft = Raft::new(config(1, 5, 0));
    raft.campaign();
    for peer in [2, 3] {
        step(&mut raft, peer, 1, Body::PreVoteOk).expect("a pre-vote");
    }
    for peer in [2, 3] {
        step(&mut raft, peer, 1, Body::VoteOk).expect("a vote");
    }
    assert!(raft.is_leader());
    let ready = raft.ready().expect("the entry that opens the term");
    assert!(ready.persist.is_some());
    step(&mut raft, 2, 1, Body::AppendOk { matched: 1 }).expect("an acknowledgement");
    step(&mut raft, 3, 1, Body::AppendOk { matched: 1 }).expect("an acknowledgement");
    assert_eq!(raft.committed(), 0);
    raft.advance();
    assert_eq!(raft.committed(), 1);
}

/// One vote a term, also after a restart; and none for a log that is behind.
#[test]
fn votes_are_given_once() {
    let state = RaftRestored { term: 3, vote: Some(2), ..RaftRestored::default() };
    let mut raft = restored_long_ago(state);
    step(&mut raft, 3, 3, Body::Vote { last_index: 9, last_term: 3 }).expect("a candidate");
    assert_eq!(finish(&mut raft), [(3, Message { term: 3, body: Body::VoteRefused })]);
    step(&mut raft, 2, 3, Body::Vote { last_index: 9, last_term: 3 }).expect("a candidate");
    assert_eq!(finish(&mut raft), [(2, Message { term: 3, body: Body::VoteOk })]);

    let state = RaftRestored { term: 3, vote: None, entries: vec![entry(1, 3)], snapshot: None };
    let mut raft = restored_long_ago(state);
    step(&mut raft, 2, 4, Body::Vote { last_index: 9, last_term: 2 }).expect("a candidate");
    assert_eq!(finish(&mut raft), [(2, Message { term: 4, body: Body::VoteRefused })]);
}

/// Within the lease of a leader, candidates are ignored, even with a higher term.
#[test]
fn lease_holds_off_candidates() {
    let mut raft = Raft::new(config(1, 3, 0));
    step(&mut raft, 2, 1, Body::Heartbeat { commit: 0, round: 1 }).expect("a leader");
    finish(&mut raft);
    let vote = Body::Vote { last_index: 5, last_term: 1 };
    step(&mut raft, 3, 7, vote.clone()).expect("a candidate");
    assert_eq!(raft.term(), 1);
    assert_eq!(finish(&mut raft), []);
    for _ in 0..ELECTION_TIMEOUT {
        raft.tick();
    }
    step(&mut raft, 3, 7, vote).expect("a candidate");
    assert_eq!(raft.term(), 7);
}

/// The lease outlives the voter's knowledge of its leader: a higher term that it sees, and its own restart. It ends with a report
/// of the leader's death.
#[test]
fn lease_outlives_the_leaders_name() {
    let vote = Body::Vote { last_index: 5, last_term: 1 };
    let mut raft = Raft::new(config(1, 3, 0));
    step(&mut raft, 2, 1, Body::Heartbeat { commit: 0, round: 1 }).expect("a leader");
    step(&mut raft, 3, 4, Body::PreVoteRefused).expect("a higher term");
    assert_eq!((raft.term(), raft.leader()), (4, None));
    step(&mut raft, 3, 7, vote.clone()).expect("a candidate");
    raft.campaign();
    assert_eq!(raft.term(), 4);
    raft.voter_is_gone(3);
    step(&mut raft, 3, 7, vote.clone()).expect("a candidate");
    assert_eq!(raft.term(), 4);
    raft.voter_is_gone(2);
    step(&mut raft, 3, 7, vote.clone()).expect("a candidate");
    assert_eq!(raft.term(), 7);

    // Nor does it vote in the term that it has heard of otherwise.
    let mut raft = Raft::new(config(1, 3, 0));
    step(&mut raft, 2, 1, Body::Heartbeat { commit: 0, round: 1 }).expect("a leader");
    step(&mut raft, 3, 4, Body::PreVoteRefused).expect("a higher term");
    finish(&mut raft);
    step(&mut raft, 3, 4, vote.clone()).expect("a candidate");
    assert_eq!(finish(&mut raft), []);
    raft.voter_is_gone(2);
    step(&mut raft, 3, 4, vote.clone()).expect("a candidate");
    assert_eq!(finish(&mut raft), [(3, Message { term: 4, body: Body::VoteOk })]);

    let state = RaftRestored { term: 1, ..RaftRestored::default() };
    let mut raft = Raft::restore(config(1, 3, 0), state);
    raft.campaign();
    step(&mut raft, 3, 7, vote.clone()).expect("a candidate");
    assert_eq!(raft.term(), 1);
    for _ in 0..ELECTION_TIMEOUT {
        raft.tick();
    }
    step(&mut raft, 3, 7, vote).expect("a candidate");
    assert_eq!(raft.term(), 7);
}

/// A round counts when a quorum has answered it, the leader included, by answers to it or to later ones; none that was not sent
/// does. A leader is current when it has applied an entry of its own term.
#[test]
fn rounds_of_a_quorum() {
    let mut raft = Raft::new(config(1, 5, 0));
    raft.campaign();
    for body in [Body::PreVoteOk, Body::VoteOk] {
        for peer in [2, 3] {
            step(&mut raft, peer, 1, body.clone()).expect("a vote");
        }
    }
    let rounds = |raft: &Raft| (raft.round(), raft.round_of_quorum());
    while raft.round() < 3 {
        raft.tick();
        finish(&mut raft);
    }
    assert_eq!(rounds(&raft), (3, 0));
    step(&mut raft, 2, 1, Body::HeartbeatOk { round: 3 }).expect("an answer");
    assert_eq!(rounds(&raft), (3, 0));
    step(&mut raft, 4, 1, Body::HeartbeatOk { round: 2 }).expect("an answer");
    step(&mut raft, 4, 1, Body::HeartbeatOk { round: 1 }).expect("a late answer");
    assert_eq!(rounds(&raft), (3, 2));
    let unsent = step(&mut raft, 5, 1, Body::HeartbeatOk { round: 4 });
    assert_eq!((unsent, rounds(&raft)), (Err(RaftError::RuleBroken), (3, 2)));
    assert!(!raft.is_current_leader());
    for peer in [2, 3] {
        step(&mut raft, peer, 1, Body::AppendOk { matched: 1 }).expect("an acknowledgement");
    }
    assert!(!raft.is_current_leader());
    finish(&mut raft);
    assert!(raft.is_current_leader());
    step(&mut raft, 2, 9, Body::HeartbeatOk { round: 3 }).expect("a higher term");
    assert_eq!((raft.round_of_quorum(), raft.is_current_leader()), (0, false));
}

/// A conflicting tail is cut, on disk too, and the ready under way does not bring it back.
#[test]
fn conflicting_tail_is_cut() {
    let entries = vec![entry(1, 1), entry(2, 1), entry(3, 1)];
    let state = RaftRestored { term: 1, vote: None, entries, snapshot: None };
    let mut raft = Raft::restore(config(1, 3, 0), state);
    let append =
        |prev_index, prev_term, entries| Body::Append { prev_index, prev_term, commit: 0, entries };
    step(&mut raft, 2, 2, append(2, 1, vec![entry(3, 2), entry(4, 2)])).expect("a leader");
    let ready = raft.ready().expect("entries to persist");
    let persist = ready.persist.expect("entries to persist");
    assert_eq!((persist.truncate_from, persist.entries.len()), (Some(3), 2));
    step(&mut raft, 3, 3, append(3, 2, vec![entry(4, 3)])).expect("a leader");
    raft.advance();
    assert_eq!(raft.log.stable(), 3);
    let persist = raft.ready().and_then(|ready| ready.persist).expect("entries to persist");
    assert_eq!((persist.truncate_from, persist.entries), (Some(4), vec![entry(4, 3)]));
}

/// A write torn between entries and term is taken for what it is: a higher term without a vote.
#[test]
fn torn_write_raises_term() {
    let snapshot = RaftSnapshot { index: 2, term: 1, data: vec![9] };
    let entries = vec![entry(2, 1), entry(3, 6)];
    let state = RaftRestored { term: 4, vote: Some(3), entries, snapshot: Some(snapshot) };
    let mut raft = Raft::restore(config(1, 3, 0), state);
    assert_eq!((raft.term(), raft.applied(), raft.last_index()), (6, 2, 3));
    let persist = raft.ready().and_then(|ready| ready.persist).expect("the term to persist");
    assert_eq!((persist.term, persist.vote), (6, None));
}

/// Proposals without acknowledgements are refused before memory runs out.
#[test]
fn backlog_is_bounded() {
    let mut raft = Raft::new(config(1, 3, 0));
    elect(&mut raft, 2);
    let mut taken = 0;
    while raft.propose(vec![1; PROPOSAL_SIZE_MAX]).is_ok() {
        taken += 1;
        assert!(taken < 100);
        finish(&mut raft);
    }
    assert!(4 < taken);
    assert_eq!(raft.propose(vec![1; PROPOSAL_SIZE_MAX]), Err(NotLeader { leader: Some(1) }));
}

/// A leader sends a window of bytes ahead of the acknowledgements, and continues as they come.
#[test]
fn window_limits_what_is_under_way() {
    let mut raft = Raft::new(config(1, 3, 0));
    elect(&mut raft, 2);
    finish(&mut raft);
    step(&mut raft, 2, 1, Body::AppendOk { matched: 1 }).expect("an acknowledgement");
    finish(&mut raft);
    for _ in 0..7 {
        raft.propose(vec![1; PROPOSAL_SIZE_MAX]).expect("it leads");
    }
    let sent = |messages: Vec<(u64, Message)>| {
        let entries = |(to, message): &(u64, Message)| match &message.body {
            Body::Append { entries, .. } if *to == 2 => entries.len(),
            _ => 0,
        };
        messages.iter().map(entries).sum::<usize>()
    };
    assert_eq!(sent(finish(&mut raft)), 4);
    assert_eq!(sent(finish(&mut raft)), 0);
    step(&mut raft, 2, 1, Body::AppendOk { matched: 4 }).expect("an acknowledgement");
    assert_eq!(sent(finish(&mut raft)), 3);
}

/// Lost appends do not stall a peer whose window is full: the next heartbeat's answer brings them back.
#[test]
fn heavy_loss_with_large_entries_recovers() {
    let faults = Faults { loss_one_in: 2, ..CALM };
    let mut world = World::new(3, 5, CALM);
    world.raft(1).campaign();
    world.run(20);
    world.set_faults(faults);
    let mut taken = 0;
    for number in 0..8 {
        taken += u64::from(world.raft(1).propose(vec![number; PROPOSAL_SIZE_MAX]).is_ok());
        world.run(1);
    }
    assert!(4 < taken);
    world.run(20);
    world.assert_progress(300);
}

/// What no voter that follows the rules sends is refused by name.
#[test]
fn broken_rules_are_named() {
    let mut raft = Raft::new(config(1, 3, 0));
    let heartbeat =
        |commit| Message { term: 1, body: Body::Heartbeat { commit, round: 1 } }.encode();
    assert_eq!(raft.step(1, &heartbeat(0)), Err(RaftError::UnknownSender));
    assert_eq!(raft.step(9, &heartbeat(0)), Err(RaftError::UnknownSender));
    assert_eq!(raft.step(2, &heartbeat(1)), Err(RaftError::RuleBroken));
    assert_eq!(raft.step(3, &heartbeat(0)), Err(RaftError::RuleBroken));
    assert_eq!(raft.step(2, &heartbeat(0)[1..]), Err(RaftError::Malformed));
    let mut raft = Raft::new(config(1, 3, 0));
    elect(&mut raft, 2);
    assert_eq!(raft.step(2, &heartbeat(0)), Err(RaftError::RuleBroken));
    let ahead = Body::AppendOk { matched: 2 };
    assert_eq!(step(&mut raft, 2, 1, ahead), Err(RaftError::RuleBroken));
    assert!(raft.is_leader());
}

/// Messages of an older term are answered with the term of now, so that their senders learn it.
#[test]
fn older_terms_are_told() {
    let state = RaftRestored { term: 5, ..RaftRestored::default() };
    let mut raft = Raft::restore(config(1, 3, 0), state);
    finish(&mut raft);
    step(&mut raft, 2, 3, Body::Heartbeat { commit: 0, round: 1 }).expect("an old leader");
    let told = Message { term: 5, body: Body::AppendOk { matched: 0 } };
    assert_eq!(finish(&mut raft), [(2, told.clone())]);
    step(&mut raft, 3, 4, Body::PreVote { last_index: 9, last_term: 4 }).expect("a candidate");
    assert_eq!(finish(&mut raft), [(3, Message { term: 5, body: Body::PreVoteRefused })]);

    let mut leader = Raft::restore(config(2, 3, 0), RaftRestored::default());
    elect(&mut leader, 1);
    leader.step(1, &told.encode()).expect("the news");
    assert_eq!((leader.is_leader(), leader.leader(), leader.term()), (false, None, 5));
}

/// Pre-votes for the term that is already here come from an earlier campaign and count for nothing.
#[test]
fn stale_pre_votes_do_not_count() {
    let state = RaftRestored { term: 5, ..RaftRestored::default() };
    let mut raft = restored_long_ago(state);
    raft.campaign();
    step(&mut raft, 2, 5, Body::PreVoteOk).expect("a late pre-vote");
    assert_eq!(raft.term(), 5);
    step(&mut raft, 2, 6, Body::PreVoteOk).expect("a pre-vote");
    assert_eq!(raft.term(), 6);
}

/// A follower acknowledges and commits only what an append shows it to share with the leader, not its own tail.
#[test]
fn own_tail_is_not_shared() {
    let entries = vec![entry(1, 1), entry(2, 1), entry(3, 1)];
    let state = RaftRestored { term: 1, vote: None, entries, snapshot: None };
    let mut raft = Raft::restore(config(1, 3, 0), state);
    finish(&mut raft);
    let empty = |prev_index, prev_term, commit| Body::Append {
        prev_index,
        prev_term,
        commit,
        entries: Vec::new(),
    };
    step(&mut raft, 2, 2, empty(1, 1, 3)).expect("a leader");
    assert_eq!(raft.committed(), 1);
    step(&mut raft, 2, 2, empty(0, 0, 3)).expect("a leader");
    assert_eq!(raft.committed(), 1);
    let shared = Message { term: 2, body: Body::AppendOk { matched: 1 } };
    assert_eq!(finish(&mut raft), [(2, shared.clone()), (2, shared)]);
}

/// A compaction reaches the disk with the next ready, once; an older one is ignored.
#[test]
fn compaction_is_persisted() {
    let mut raft = Raft::new(config(1, 1, 0));
    for number in 1..=5 {
        raft.propose(vec![number]).expect("it leads");
    }
    finish(&mut raft);
    finish(&mut raft);
    assert_eq!(raft.applied(), 6);
    raft.compact(4, vec![4]);
    raft.compact(3, vec![3]);
    let persist = raft.ready().and_then(|ready| ready.persist).expect("a snapshot to persist");
    raft.advance();
    assert_eq!(persist.snapshot, Some(RaftSnapshot { index: 4, term: 1, data: vec![4] }));
    assert_eq!((persist.truncate_from, persist.entries), (None, Vec::new()));
    assert_eq!((raft.log.base_index(), raft.last_index()), (4, 6));
    assert_eq!(raft.ready(), None);
}

/// A refusal that an acknowledgement has overtaken sends nothing and moves nothing back.
#[test]
fn stale_refusals_are_ignored() {
    let mut raft = Raft::new(config(1, 3, 0));
    elect(&mut raft, 2);
    raft.propose(vec![1]).expect("it leads");
    finish(&mut raft);
    step(&mut raft, 2, 1, Body::AppendOk { matched: 2 }).expect("an acknowledgement");
    finish(&mut raft);
    let refused = Body::AppendRefused { prev_index: 1, hint_index: 0, hint_term: 0 };
    step(&mut raft, 2, 1, refused).expect("a late refusal");
    assert_eq!(finish(&mut raft), []);
}

/// A campaign without answers is repeated after a whole timeout, not at every tick.
#[test]
fn campaigns_are_spaced() {
    let mut raft = Raft::new(config(1, 3, 0));
    let mut campaigns = Vec::new();
    for tick in 0..10 * ELECTION_TIMEOUT {
        raft.tick();
        if !finish(&mut raft).is_empty() {
            campaigns.push(tick);
        }
    }
    assert!(4 < campaigns.len());
    assert!(campaigns.windows(2).all(|pair| ELECTION_TIMEOUT <= pair[1] - pair[0]));
}
