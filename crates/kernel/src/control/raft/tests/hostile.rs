//! Peers that lie: no bytes and no sequence of well-formed messages make a voter panic, and what it writes to disk can
//! always be read back.

use crate::control::raft::message::{Body, Message};
use crate::control::raft::{Raft, RaftEntry, RaftSnapshot};

use super::world::{Disk, Random, config};

/// Small numbers meet the state of the voter often; large ones try the arithmetic.
fn number(random: &mut Random, calm: bool) -> u64 {
    match random.below(12) {
        _ if calm => random.below(12),
        0 => random.next(),
        1 => u64::MAX - random.below(3),
        2 => (1 << 62) + random.below(3) - 1,
        _ => random.below(12),
    }
}

fn body(random: &mut Random, calm: bool) -> Body {
    let kind = random.below(13);
    let mut next = || number(random, calm);
    let (one, two, three) = (next(), next(), next());
    match kind {
        0 => Body::PreVote { last_index: one, last_term: two },
        1 => Body::PreVoteOk,
        2 => Body::PreVoteRefused,
        3 => Body::Vote { last_index: one, last_term: two },
        4 => Body::VoteOk,
        5 => Body::VoteRefused,
        6 | 7 => {
            let prev_index = one % (1 << 63);
            let mut term = two;
            let entry = |index| {
                term = term.saturating_add(random.below(2));
                RaftEntry { index, term, data: vec![1; random.below(4) as usize] }
            };
            let count = three % 4;
            let entries = (prev_index + 1..=prev_index + count).map(entry).collect();
            Body::Append { prev_index, prev_term: two, commit: three, entries }
        }
        8 => Body::AppendOk { matched: one },
        9 => Body::AppendRefused { prev_index: one, hint_index: two, hint_term: three },
        10 => Body::Heartbeat { commit: one, round: two },
        11 => Body::HeartbeatOk { round: one },
        _ => Body::InstallSnapshot(RaftSnapshot { index: one, term: two, data: vec![2; 3] }),
    }
}

/// One voter among liars, through every call of its interface.
#[test]
fn liars_cause_no_panic() {
    let (mut led, mut installed, mut refused) = (0, 0, 0);
    for seed in 0..400 {
        let random = &mut Random::new(seed);
        let voter_count = [3, 5][seed as usize % 2];
        // Wild numbers soon drive the term to its bound, where nothing more happens; calm ones let the voter lead.
        let calm = 0 < seed % 3;
        let mut raft = Raft::new(config(1, voter_count, seed));
        let mut disk = Disk::default();
        let mut ready = None;
        for _ in 0..1500 {
            match random.below(20) {
                0..12 => {
                    let term = match random.below(4) {
                        0 => number(random, calm),
                        _ => raft.term() + random.below(2),
                    };
                    let from = 2 + random.below(voter_count - 1);
                    let message = Message { term, body: body(random, calm) };
                    refused += u64::from(raft.step(from, &message.encode()).is_err());
                }
                12 => raft.tick(),
                13 => {
                    (2..=voter_count).for_each(|voter| raft.voter_is_gone(voter));
                    raft.campaign();
                    let term = raft.term() + 1;
                    for body in [Body::PreVoteOk, Body::VoteOk] {
                        for from in 2..=voter_count {
                            let message = Message { term, body: body.clone() };
                            refused += u64::from(raft.step(from, &message.encode()).is_err());
                        }
                    }
                }
                14 => led += u64::from(raft.propose(vec![5; 1 + random.below(9) as usize]).is_ok()),
                15 if random.one_in(20) => {
                    raft = Raft::restore(config(1, voter_count, seed), disk.state.clone());
                    ready = None;
                }
                16 => raft.compact(raft.applied(), vec![6; 4]),
                _ => match ready.take() {
                    None => ready = raft.ready(),
                    Some(done) => {
                        if let Some(persist) = &done.persist {
                            disk.save(persist);
                        }
                        installed += u64::from(done.install_snapshot.is_some());
                        raft.advance();
                    }
                },
            }
        }
    }
    println!("led {led}, installed {installed}, refused {refused}");
    assert!(500 < led);
    assert!(500 < installed);
    assert!(10_000 < refused);
}

/// Random bytes, and real messages with bytes changed, cut and added.
#[test]
fn bytes_cause_no_panic() {
    let random = &mut Random::new(1);
    let mut raft = Raft::new(config(1, 3, 1));
    let mut decoded = 0;
    for _ in 0..200_000 {
        let mut bytes = if random.one_in(3) {
            (0..random.below(60)).map(|_| random.next() as u8).collect()
        } else {
            Message { term: random.below(9), body: body(random, false) }.encode()
        };
        for _ in 0..random.below(3) {
            if let Some(position) = random.next().checked_rem(bytes.len() as u64) {
                bytes[position as usize] = random.next() as u8;
            }
        }
        match random.below(4) {
            0 => bytes.truncate(random.below(bytes.len() as u64 + 1) as usize),
            1 => bytes.push(random.next() as u8),
            _ => {}
        }
        if let Ok(message) = Message::decode(&bytes) {
            decoded += 1;
            assert_eq!(message.encode(), bytes, "one message, one encoding");
        }
        if raft.step(2 + random.below(2), &bytes).is_ok() && raft.ready().is_some() {
            raft.advance();
        }
    }
    assert!(10_000 < decoded);
}
