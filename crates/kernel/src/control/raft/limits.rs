//! Bounds of the consensus log, with the arithmetic behind them.
//!
//! The control plane writes a few entries a second at most (views, schema, global checkpoints), so the bounds are
//! chosen for memory safety, not for throughput.

/// Rounds of heartbeats in a term: at one a microsecond, more than half a million years.
pub(super) const ROUND_MAX: u64 = 1 << 63;

/// Bytes in one proposal. A `CREATE TABLE` of 4,096 columns with long names takes about 0.5 MiB; twice that.
pub const PROPOSAL_SIZE_MAX: usize = 1 << 20;

/// Bytes in one state-machine snapshot. It travels as one message, so the transport must take this much.
pub const SNAPSHOT_SIZE_MAX: usize = 64 << 20;

/// Entry bytes in one append message. One entry always fits, because a proposal is no larger than this.
pub(super) const APPEND_SIZE_MAX: usize = 1 << 20;

/// Entries in one append message.
pub(super) const APPEND_ENTRY_COUNT_MAX: usize = 1024;

/// Entry bytes sent to one peer and not yet acknowledged: four full append messages.
pub(super) const WINDOW_SIZE_MAX: u64 = 4 << 20;

/// Entry bytes a leader holds that are not committed yet. Past it, proposals are refused.
pub(super) const UNCOMMITTED_SIZE_MAX: u64 = 8 << 20;

/// Entry bytes a follower holds that are not persisted yet. Past it, appends are dropped; the leader repeats them.
pub(super) const UNSTABLE_SIZE_MAX: u64 = 16 << 20;

/// Entry bytes in the log since its base. A caller that compacts every few MiB never comes near it; a caller that
/// forgets sees its proposals refused instead of the node running out of memory.
pub(super) const LOG_SIZE_MAX: u64 = 256 << 20;

/// Entry bytes a compaction leaves in memory for peers that are alive and only a little behind.
pub(super) const COMPACTION_TAIL_SIZE_MAX: u64 = 4 << 20;

/// Entry bytes handed out as committed in one ready; the rest follows in the next one.
pub(super) const READY_COMMITTED_SIZE_MAX: u64 = 4 << 20;

/// Messages waiting for the next ready. With 7 voters, 100 heartbeat rounds; past it messages are dropped, which Raft
/// must bear anyway.
pub(super) const OUTBOX_COUNT_MAX: usize = 1024;

/// Bytes waiting for the next ready: one largest snapshot and 16 MiB of appends.
pub(super) const OUTBOX_SIZE_MAX: usize = SNAPSHOT_SIZE_MAX + (16 << 20);

/// Voters in a group. 7 survive three failures; every further voter makes each commit slower.
pub const VOTER_COUNT_MAX: usize = 7;

/// Election timeouts for which a snapshot may be under way before the leader takes it for lost and probes again.
pub(super) const SNAPSHOT_RESEND_ELECTION_TIMEOUTS: u32 = 4;

/// Highest term and index accepted from outside. Adding 1 to either cannot overflow; a real group would need
/// a billion years of elections to get there.
pub(super) const TERM_MAX: u64 = 1 << 62;
pub(super) const INDEX_MAX: u64 = 1 << 62;

/// What an entry costs beside its data, in memory and in messages.
pub(super) const ENTRY_OVERHEAD: u64 = 32;

const _: () = assert!(PROPOSAL_SIZE_MAX <= APPEND_SIZE_MAX);
const _: () = assert!(PROPOSAL_SIZE_MAX as u64 + ENTRY_OVERHEAD <= UNCOMMITTED_SIZE_MAX);
const _: () = assert!(UNCOMMITTED_SIZE_MAX < LOG_SIZE_MAX);
