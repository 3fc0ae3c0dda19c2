//! Every bound of the kernel, with the arithmetic that produced it.

/// Microseconds between housekeeping ticks of a worker: timeouts, wait edges, garbage, acknowledgements.
pub const TICK_INTERVAL_US: u64 = 10_000;

/// Raft's logical clock runs once a tick; an election after 20 to 40 of them (200 to 400 ms) without a leader.
pub const RAFT_ELECTION_TICKS: u32 = 20;
pub const RAFT_HEARTBEAT_TICKS: u32 = 5;

/// A message that must be sent until it is answered (registration, schema change) goes out this often.
pub const RESEND_INTERVAL_US: u64 = 100_000;

/// Wait edges older than this go to the deadlock detector: most waits end before (a commit takes well under a millisecond).
pub const WAIT_EDGE_AGE_MIN_US: u64 = 10_000;

/// With more lock waits in a shard than this, only the edges from which the others follow go to the detector.
pub const WAITS_TOLD_IN_FULL_MAX: usize = 32;

/// The victim of a deadlock that still waits in one after so long is told again.
pub const BREAK_DEADLOCK_AGAIN_US: u64 = 100_000;

/// Snapshots and garbage: how often a worker reports its oldest snapshot. Old versions of hot rows live so long at least:
/// at 50,000 updates/s of 200 bytes, 50 ms keep 500 KB.
pub const HORIZON_INTERVAL_US: u64 = 50_000;

/// A bare acknowledgement leaves after so many frames, or at the next tick: what a peer keeps for resending stays small.
pub const ACK_FRAMES_MAX: u64 = 64;

/// Frames received ahead of a missing one; beyond this they are dropped and sent again.
pub const CHANNEL_EARLY_MAX: usize = 1024;

/// Bytes sent again at a time when nothing is acknowledged: enough to fill what was lost on a 100 Mbit/s link in 20 ms.
pub const RESEND_BYTES_MAX: usize = 256 << 10;
/// The wait for an acknowledgement doubles with each resend, so often at most: 32 times the first.
pub const RESEND_DOUBLINGS_MAX: u32 = 5;

/// Bytes a peer that does not acknowledge may make us keep: 256 MiB is ten seconds of a 25 MB/s replication stream.
pub const CHANNEL_UNACKED_BYTES_MAX: usize = 256 << 20;

/// Messages held until this worker's copy of the control state has caught up.
pub const HELD_MESSAGES_MAX: usize = 65_536;

/// Rows a scan looks at before it hands back what it has: about a millisecond, so that short statements pass.
pub const SCAN_ROWS_VISITED_MAX: u32 = 4_096;
/// Bytes of rows in one scan answer.
pub const SCAN_BYTES_MAX: usize = 1 << 20;
/// Groups of a partial aggregate in one scan answer.
pub const SCAN_GROUPS_MAX: usize = 16_384;

/// Operations in a batch: what a multi-row INSERT of 64 MiB of one-byte rows would bring, refused beyond.
pub const BATCH_OPS_MAX: usize = u16::MAX as usize;

/// Garbage rows looked at in one tick and shard: 2,000 take about a millisecond.
pub const PRUNE_BUDGET: usize = 2_000;
/// Rows an index build adds in one tick and shard.
pub const INDEX_BUILD_ROWS: usize = 5_000;

/// Nodes that have not answered a report by then count as unreachable.
pub const REPORT_TIMEOUT_US: u64 = 2_000_000;
