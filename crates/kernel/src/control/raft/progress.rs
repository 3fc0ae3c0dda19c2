//! What a leader knows about one other voter.
//!
//! ```text
//!   Probe ---- AppendOk -----> Replicate        next runs ahead of matched, up to a window of bytes
//!     ^  <--- AppendRefused ----  |
//!     |                           |
//!     +--- lost or AppendOk --- Snapshot        the entries it needs are gone: one snapshot, then wait
//! ```
//!
//! A probe sends one append and pauses until an answer or a heartbeat's answer shows that the peer is there.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgressState {
    Probe { paused: bool },
    Replicate,
    Snapshot { index: u64, elapsed_ticks: u32 },
}

#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub state: ProgressState,
    /// Highest index known to be persisted at the peer and equal to ours. Only grows within a term.
    pub matched: u64,
    /// Index of the next entry to send. Invariant: matched < next.
    pub next: u64,
    /// Heard from since the last quorum check.
    pub recently_active: bool,
    /// The latest round of heartbeats it has answered.
    pub round: u64,
}

impl Progress {
    pub fn new(next: u64) -> Progress {
        assert!(0 < next);
        Progress {
            state: ProgressState::Probe { paused: false },
            matched: 0,
            next,
            recently_active: false,
            round: 0,
        }
    }

    pub fn become_probe(&mut self, next: u64) {
        self.state = ProgressState::Probe { paused: false };
        self.next = next.max(self.matched + 1);
    }

    pub fn resume(&mut self) {
        if let ProgressState::Probe { paused } = &mut self.state {
            *paused = false;
        }
    }

    /// The peer persisted everything up to `matched`. `base_index` is where our own log begins.
    pub fn on_append_ok(&mut self, matched: u64, base_index: u64) {
        if matched < self.matched {
            return;
        }
        let grown = self.matched < matched;
        self.matched = matched;
        self.next = self.next.max(matched + 1);
        match self.state {
            ProgressState::Replicate => {}
            // An answer that tells nothing new still shows that the logs agree at `matched`, unless it is the empty
            // answer a peer gives to a leader of an older term.
            ProgressState::Probe { .. } if 0 < matched => {
                self.state = ProgressState::Replicate;
                self.next = matched + 1;
            }
            ProgressState::Probe { .. } => {}
            ProgressState::Snapshot { .. } => {
                if grown && base_index <= matched {
                    self.state = ProgressState::Replicate;
                    self.next = matched + 1;
                }
            }
        }
    }

    /// The peer does not have our entry at `prev_index`; `hint` is the highest index worth trying. True if the news is
    /// current and an append should follow.
    pub fn on_append_refused(&mut self, prev_index: u64, hint: u64) -> bool {
        match self.state {
            ProgressState::Snapshot { .. } => false,
            ProgressState::Replicate if prev_index <= self.matched => false,
            ProgressState::Replicate => {
                self.become_probe(self.matched + 1);
                true
            }
            ProgressState::Probe { .. } if prev_index + 1 != self.next => false,
            ProgressState::Probe { .. } => {
                self.become_probe(prev_index.min(hint + 1));
                true
            }
        }
    }
}
