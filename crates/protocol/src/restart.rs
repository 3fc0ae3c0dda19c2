//! The checkpoint, the durations and the losses of a cluster restart: for `skarv.restart_info` and
//! the log.

use types::{CommitId, Lineage, NodeId, Timestamp, wire_struct};

/// The last cluster restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestartReport {
    /// Of the cluster since then.
    pub lineage: Lineage,
    /// The last one before that clients were served in.
    pub ended: Lineage,
    /// What was committed in it up to this is there, and the rest is as if it had never been.
    pub at: Timestamp,
    /// All data nodes had been stopped as planned, when the disks had everything: nothing was lost, and that is known.
    pub is_clean: bool,
    /// The operator has allowed it to begin with less than the last members had: commits that only they had are lost, uncounted.
    pub is_lossy: bool,
    /// Commits behind `at` that the disks have, each counted once.
    pub lost: LostRange,
    /// The first of them, in the order of their timestamps.
    pub lost_first: Vec<LostTransaction>,
    /// In the order of their ids.
    pub nodes: Vec<NodeLoaded>,
}
wire_struct!(RestartReport { lineage, ended, at, is_clean, is_lossy, lost, lost_first, nodes });

/// Commits that were found on a disk behind what the cluster began with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostRange {
    pub count: u64,
    /// Of those whose timestamp is known; none when that is of none.
    pub oldest: Option<Timestamp>,
    pub newest: Option<Timestamp>,
}
wire_struct!(LostRange { count, oldest, newest });

impl LostRange {
    /// Of the timestamps of these commits.
    pub fn of(timestamps: impl Iterator<Item = Option<Timestamp>>) -> LostRange {
        timestamps.fold(LostRange::default(), |so_far, ts| {
            let LostRange { count, oldest, newest } = so_far;
            let oldest = oldest.into_iter().chain(ts).min();
            LostRange { count: count + 1, oldest, newest: newest.max(ts) }
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostTransaction {
    pub commit: CommitId,
    /// None: its COMMIT is on a disk and the timestamp that was to follow is on none.
    pub ts: Option<Timestamp>,
    /// Whose disk has it; of several the first.
    pub node: NodeId,
}
wire_struct!(LostTransaction { commit, ts, node });

/// What a member of a restart has loaded, and how long each step took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeLoaded {
    pub node: NodeId,
    /// Of its disk, loaded beside each other.
    pub parts: u16,
    /// Rows of its local checkpoints, and the bytes of their keys and values.
    pub rows: u64,
    pub row_bytes: u64,
    /// Entries of the logs behind them that were read.
    pub entries: u64,
    pub entry_bytes: u64,
    /// Looking through the disk, when the process started.
    pub looked_us: u64,
    /// From then until it was told what to begin with: for the voters and the other nodes.
    pub waited_us: u64,
    pub loaded_us: u64,
    /// What its parts took together, which load beside each other.
    pub busy_us: u64,
    /// From then until all members had loaded theirs; the leader knows.
    pub others_us: u64,
    pub lost: LostRange,
}
wire_struct!(NodeLoaded {
    node,
    parts,
    rows,
    row_bytes,
    entries,
    entry_bytes,
    looked_us,
    waited_us,
    loaded_us,
    busy_us,
    others_us,
    lost,
});
