//! Messages between voters and their bytes.
//!
//! ```text
//!   version u8 | kind u8 | term u64 | body          integers little-endian
//!   Vote, PreVote      last_index u64 | last_term u64
//!   Append             prev_index u64 | prev_term u64 | commit u64 | count u32 | count * (term u64 | length u32 | data)
//!   AppendOk           matched u64
//!   AppendRefused      prev_index u64 | hint_index u64 | hint_term u64
//!   Heartbeat          commit u64 | round u64
//!   HeartbeatOk        round u64
//!   InstallSnapshot    index u64 | snapshot_term u64 | length u32 | data
//!   the others         nothing
//! ```
//!
//! Decoding checks everything that can be checked without the state of a voter: lengths, bounds, that terms inside an
//! append do not fall, that nothing is left over. It allocates nothing before it has seen the bytes.

use super::limits::{
    APPEND_ENTRY_COUNT_MAX, INDEX_MAX, PROPOSAL_SIZE_MAX, ROUND_MAX, SNAPSHOT_SIZE_MAX, TERM_MAX,
};
use super::{RaftEntry, RaftError, RaftSnapshot};

const VERSION: u8 = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Term of the sender; in PreVote and PreVoteOk the term the candidate would take.
    pub term: u64,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    PreVote {
        last_index: u64,
        last_term: u64,
    },
    PreVoteOk,
    PreVoteRefused,
    Vote {
        last_index: u64,
        last_term: u64,
    },
    VoteOk,
    VoteRefused,
    Append {
        prev_index: u64,
        prev_term: u64,
        commit: u64,
        entries: Vec<RaftEntry>,
    },
    /// Everything up to `matched` is persisted at the sender. 0 tells a leader of an older term that it is one.
    AppendOk {
        matched: u64,
    },
    AppendRefused {
        prev_index: u64,
        hint_index: u64,
        hint_term: u64,
    },
    /// `commit` is never beyond what the receiver is known to hold. `round` numbers a leader's heartbeats in its term.
    Heartbeat {
        commit: u64,
        round: u64,
    },
    /// The answer to the heartbeat of that round.
    HeartbeatOk {
        round: u64,
    },
    InstallSnapshot(RaftSnapshot),
}

impl Body {
    fn kind(&self) -> u8 {
        match self {
            Body::PreVote { .. } => 1,
            Body::PreVoteOk => 2,
            Body::PreVoteRefused => 3,
            Body::Vote { .. } => 4,
            Body::VoteOk => 5,
            Body::VoteRefused => 6,
            Body::Append { .. } => 7,
            Body::AppendOk { .. } => 8,
            Body::AppendRefused { .. } => 9,
            Body::Heartbeat { .. } => 10,
            Body::HeartbeatOk { .. } => 11,
            Body::InstallSnapshot(_) => 12,
        }
    }
}

impl Message {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION, self.body.kind()];
        put_u64(&mut out, self.term);
        match &self.body {
            Body::PreVote { last_index, last_term } | Body::Vote { last_index, last_term } => {
                put_u64(&mut out, *last_index);
                put_u64(&mut out, *last_term);
            }
            Body::Append { prev_index, prev_term, commit, entries } => {
                put_u64(&mut out, *prev_index);
                put_u64(&mut out, *prev_term);
                put_u64(&mut out, *commit);
                put_length(&mut out, entries.len());
                for (entry, index) in entries.iter().zip(prev_index + 1..) {
                    assert_eq!(entry.index, index);
                    put_u64(&mut out, entry.term);
                    put_data(&mut out, &entry.data);
                }
            }
            Body::AppendOk { matched } => put_u64(&mut out, *matched),
            Body::AppendRefused { prev_index, hint_index, hint_term } => {
                put_u64(&mut out, *prev_index);
                put_u64(&mut out, *hint_index);
                put_u64(&mut out, *hint_term);
            }
            Body::Heartbeat { commit, round } => {
                put_u64(&mut out, *commit);
                put_u64(&mut out, *round);
            }
            Body::HeartbeatOk { round } => put_u64(&mut out, *round),
            Body::InstallSnapshot(snapshot) => {
                put_u64(&mut out, snapshot.index);
                put_u64(&mut out, snapshot.term);
                put_data(&mut out, &snapshot.data);
            }
            Body::PreVoteOk | Body::PreVoteRefused | Body::VoteOk | Body::VoteRefused => {}
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Message, RaftError> {
        let mut reader = Reader { rest: bytes };
        if reader.u8()? != VERSION {
            return Err(RaftError::Malformed);
        }
        let kind = reader.u8()?;
        let term = reader.at_most(TERM_MAX)?;
        if term == 0 {
            return Err(RaftError::Malformed);
        }
        let body = match kind {
            1 => Body::PreVote {
                last_index: reader.at_most(INDEX_MAX)?,
                last_term: reader.at_most(term)?,
            },
            2 => Body::PreVoteOk,
            3 => Body::PreVoteRefused,
            4 => Body::Vote {
                last_index: reader.at_most(INDEX_MAX)?,
                last_term: reader.at_most(term)?,
            },
            5 => Body::VoteOk,
            6 => Body::VoteRefused,
            7 => reader.append(term)?,
            8 => Body::AppendOk { matched: reader.at_most(INDEX_MAX)? },
            9 => Body::AppendRefused {
                prev_index: reader.at_most(INDEX_MAX)?,
                hint_index: reader.at_most(INDEX_MAX)?,
                hint_term: reader.at_most(term)?,
            },
            10 => Body::Heartbeat {
                commit: reader.at_most(INDEX_MAX)?,
                round: reader.at_most(ROUND_MAX)?,
            },
            11 => Body::HeartbeatOk { round: reader.at_most(ROUND_MAX)? },
            12 => reader.install_snapshot(term)?,
            _ => return Err(RaftError::Malformed),
        };
        if !reader.rest.is_empty() {
            return Err(RaftError::Malformed);
        }
        Ok(Message { term, body })
    }
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).expect("bounded far below 4 GiB where it entered");
    out.extend_from_slice(&length.to_le_bytes());
}

fn put_data(out: &mut Vec<u8>, data: &[u8]) {
    put_length(out, data.len());
    out.extend_from_slice(data);
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, length: usize) -> Result<&'a [u8], RaftError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(RaftError::Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    fn u8(&mut self) -> Result<u8, RaftError> {
        Ok(self.bytes(1)?[0])
    }

    fn length(&mut self, max: usize) -> Result<usize, RaftError> {
        let bytes = self.bytes(4)?.try_into().expect("four bytes were taken");
        let length = u32::from_le_bytes(bytes) as usize;
        if length <= max { Ok(length) } else { Err(RaftError::Malformed) }
    }

    fn at_most(&mut self, max: u64) -> Result<u64, RaftError> {
        let bytes = self.bytes(8)?.try_into().expect("eight bytes were taken");
        let value = u64::from_le_bytes(bytes);
        if value <= max { Ok(value) } else { Err(RaftError::Malformed) }
    }

    fn append(&mut self, term: u64) -> Result<Body, RaftError> {
        let prev_index = self.at_most(INDEX_MAX)?;
        let prev_term = self.at_most(term)?;
        let commit = self.at_most(INDEX_MAX)?;
        let count = self.length(APPEND_ENTRY_COUNT_MAX)?;
        let index_after = prev_index + count as u64;
        // Only the position before the first entry has no term.
        if INDEX_MAX < index_after || (prev_index == 0) != (prev_term == 0) {
            return Err(RaftError::Malformed);
        }
        let mut entries = Vec::new();
        let mut term_before = prev_term.max(1);
        for index in prev_index + 1..=index_after {
            let entry_term = self.at_most(term)?;
            if entry_term < term_before {
                return Err(RaftError::Malformed);
            }
            term_before = entry_term;
            let length = self.length(PROPOSAL_SIZE_MAX)?;
            let data = self.bytes(length)?.to_vec();
            entries.push(RaftEntry { index, term: entry_term, data });
        }
        Ok(Body::Append { prev_index, prev_term, commit, entries })
    }

    fn install_snapshot(&mut self, term: u64) -> Result<Body, RaftError> {
        let index = self.at_most(INDEX_MAX)?;
        let snapshot_term = self.at_most(term)?;
        if index == 0 || snapshot_term == 0 {
            return Err(RaftError::Malformed);
        }
        let length = self.length(SNAPSHOT_SIZE_MAX)?;
        let data = self.bytes(length)?.to_vec();
        Ok(Body::InstallSnapshot(RaftSnapshot { index, term: snapshot_term, data }))
    }
}
