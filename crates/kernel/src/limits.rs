//! Every bound of the kernel, with the arithmetic that produced it.

/// Microseconds between housekeeping ticks of a worker: timeouts, wait edges, garbage, acknowledgements.
pub const TICK_INTERVAL_US: u64 = 10_000;

/// Raft's logical clock runs once a tick; an election after 20 to 40 of them (200 to 400 ms) without a leader.
pub const RAFT_ELECTION_TICKS: u32 = 20;
pub const RAFT_HEARTBEAT_TICKS: u32 = 5;
/// Bytes of applied entries after which a voter keeps a snapshot of the state instead: some ten
/// thousand views, or a thousand tables. A starting voter, and one that was away for long, reads
/// little more than the state.
pub const CONTROL_LOG_BYTES_MAX: u64 = 1 << 20;

/// Requests that get their snapshot with one message and are begun in one step: each may read as
/// many rows as a step bears.
pub const BEGUN_TOGETHER_MAX: usize = 4;

/// Precision of the times at which nodes were heard last.
pub const HEARD_STEP_US: u64 = 1_000;
/// Time after a leader sent heartbeats that a quorum has answered, for which no other leader can be
/// elected: an election timeout, less the tick by which a voter's may be shorter, and a hundredth
/// of both for clocks that differ.
pub const RAFT_LEADS_US: u64 = (RAFT_ELECTION_TICKS as u64 - 1) * TICK_INTERVAL_US * 98 / 100;
/// Heartbeats of silence after which a node is taken for dead.
pub const SILENCE_HEARTBEATS: u64 = 4;
/// Length of a lease, in heartbeats. A cut is reported after `SILENCE_HEARTBEATS`, and one of its two nodes is excluded when its
/// last lease, granted until that report, is over: a cut pauses for the sum of both and half a heartbeat. A lease survives the
/// loss of one heartbeat and its repetition; one that ends by accident only delays answers until the next grant.
pub const LEASE_HEARTBEATS: u64 = 3;
/// Heartbeats for which a node must have been away to count the silence of others as its own fault.
pub const AWAY_HEARTBEATS: u64 = 1;
/// Interval at which a node without a lease asks for one.
pub const LEASE_ASK_INTERVAL_US: u64 = 20_000;
/// Time that an admitted node, or a starting leader, may take to connect: connections are tried
/// again every second.
pub const CONNECTED_AFTER_US: u64 = 1_500_000;
/// Time without a lease after which a node answers waiting requests with "cut off".
pub const CUT_OFF_AFTER_US: u64 = 1_000_000;

/// A message that must be sent until it is answered (registration, schema change) goes out this often.
pub const RESEND_INTERVAL_US: u64 = 100_000;

/// Time that a possible cluster restart waits for the other nodes of the last views.
pub const RESTART_WAIT_US: u64 = 5_000_000;
/// Time that a lossy restart waits for a last member that has not come back: that node may be
/// reading a disk that has the commits, and a gigabyte of log takes some seconds.
pub const LOSSY_RESTART_WAIT_US: u64 = 4 * RESTART_WAIT_US;
/// Time that loading members wait for a member that has ended; then they begin again without it.
pub const LOADING_WAIT_US: u64 = 4 * RESTART_WAIT_US;

/// Bytes of its log that may wait for the disk of this node; above that no transaction that writes
/// begins here.
pub const LOG_BACKLOG_MAX: u64 = 256 << 20;

/// Duration of a global checkpoint above which no transaction begins to write, whatever the reason.
/// Commits acknowledged during one checkpoint are in the next, so a failure of the power may take
/// twice this time. (A checkpoint takes a flush of all disks as a rule, an exclusion two seconds.)
pub const CHECKPOINT_LATE_US: u64 = 5_000_000;
/// Duration of a global checkpoint after which waiting ends: new writes are refused, and commits
/// that wait for durability are reported as not durable.
pub const CHECKPOINT_MISSED_US: u64 = 30_000_000;

/// Bytes of memory that a transaction's write takes until it ends, beside key and row: its place in the list, how it is undone, the lock.
/// (155 to 250 when measured by the process's memory.)
pub const KEPT_PER_WRITE: usize = 256;

/// A node that loads its rows ends when less of its memory than this is free beside the next row.
pub const LOADING_LEFT_MIN: u64 = 1 << 20;

/// Least growth of a part's log in which all of its rows are written again: with few rows this
/// growth is most of the room on disk.
pub const LOG_GROWTH_MIN: u64 = 120 << 20;
/// Where there is no room for more log, this: to write them frees files of the log.
pub const LOG_GROWTH_SHORT_OF_ROOM: u64 = 64 << 20;

/// Turns in which all rows of a part are written to local checkpoints again, and the least bytes of
/// rows in a turn.
pub const CHECKPOINT_TURNS: u64 = 8;
pub const CHECKPOINT_TURN_BYTES_MIN: u64 = 16 << 20;

/// A local checkpoint is written at least so fast, on each worker: 1 GiB in two minutes, and some 5 % of a core.
pub const CHECKPOINT_BYTES_PER_SECOND_MIN: u64 = 8 << 20;
/// Rows, or bytes, that are copied at a time for a local checkpoint: other requests wait for some
/// 10 us meanwhile.
pub const CHECKPOINT_ROWS_MAX: usize = 16;
pub const CHECKPOINT_BYTES_MAX: usize = 16 << 10;
/// Where sections are small, so that even a few rows are several.
pub const CHECKPOINT_ROWS_SMALL: usize = 4;
/// Bytes of rows of a local checkpoint that are compressed at a time.
pub const CHECKPOINT_BLOCK_BYTES: usize = 128 << 10;

/// Pause before a local checkpoint that was given up is made again: it costs as much as a finished
/// one.
pub const CHECKPOINT_PAUSE_US: u64 = 10_000_000;
/// Interval at which a part is examined again whose log a long transaction keeps.
pub const CHECKPOINT_LOOK_US: u64 = 1_000_000;
/// Consecutive local checkpoints that a device may fail to return as they were written, before the
/// node gives it up.
pub const CHECKPOINTS_REFUSED_MAX: u32 = 3;

/// Time between the beginnings of global checkpoints while transactions commit and no session waits
/// for one: with a sync, the commits that the cluster loses when all nodes lose their power at
/// once.
pub const CHECKPOINT_INTERVAL_US: u64 = 500_000;

/// Time for which a shard remembers commits of one shard, for coordinators whose answer was lost
/// with the primary: they ask as soon as they learn of its death.
pub const COMMITS_KEPT_US: u64 = 10_000_000;
/// Time for which home remembers commits over several shards, for participants that lost their
/// coordinator.
pub const DECISIONS_KEPT_US: u64 = 60_000_000;

/// Time for which the outcome of a transaction is known whose client got no answer.
pub const OUTCOMES_KEPT_US: u64 = 24 * 3_600 * 1_000_000;
/// Commits that a shard remembers of coordinators that are over, but for the last that ended: 16 MiB of them. A node that fails
/// again and again must not fill the memory of others.
pub const OUTCOMES_KEPT_MAX: usize = 1 << 18;
/// Time after which a client that waits for its COMMIT gets "outcome unknown", if no node that
/// knows the outcome can be reached.
pub const COMMIT_TIMEOUT_US: u64 = 5_000_000;

/// Delay above which an acknowledgement is late: it comes with the next message or tick, within 20
/// ms.
pub const LATE_ACK_US: u64 = 100_000;
/// Heartbeats for which a peer sends nothing, though it has to acknowledge something, before it
/// counts as hanging. Two seconds are enough for the largest row over a link of 300 Mbit/s.
pub const STALL_HEARTBEATS: u64 = 20;
/// A worker probes every remote worker once per `PROBE_HEARTBEATS`. A round-trip sample, and a
/// "slow" verdict that no other node renews, expires after `PROBES_COUNT_HEARTBEATS`.
pub const PROBE_HEARTBEATS: u64 = 4;
pub const PROBES_COUNT_HEARTBEATS: u64 = 20;
/// Heartbeats whose round trips determine the distance of a peer: ten samples, whose median chance
/// hardly moves.
pub const ROUND_TRIPS_HEARTBEATS: u64 = 40;
pub const ROUND_TRIPS_KEPT: usize = 12;
/// With more bytes under way, in either direction, a probe tells of these: 64 KiB take 5 ms over 100 Mbit/s.
pub const PROBE_QUIET_BYTES: usize = 64 << 10;
/// A node is slow when probes take longer than a heartbeat and this time, and the given multiple of
/// the time between others: with three busy threads per core, and three hundred clients with long
/// statements on one node, they took 0.15 s in a box. It has recovered when they take less than
/// half of that. It is excluded after the given heartbeats, five seconds.
pub const SLOW_ROUND_TRIP_MIN_US: u64 = 50_000;
pub const SLOW_TIMES: u64 = 4;
pub const SLOW_HEARTBEATS: u64 = 50;
/// A node that was excluded as slow, and is slow again within this time after it came back, is
/// admitted after a pause, which doubles.
pub const SLOW_AGAIN_US: u64 = 1_200_000_000;
pub const SLOW_PAUSE_MIN_US: u64 = 60_000_000;
pub const SLOW_PAUSE_MAX_US: u64 = 300_000_000;

/// Interval at which the death of a node is reported to the voters again: writes to its group wait
/// for its exclusion.
pub const DEAD_INTERVAL_US: u64 = 20_000;

/// Time that a planned stop has for all open transactions to end while others wait to begin; then
/// the waiting ones begin, and the stop is tried again.
pub const LEAVE_PATIENCE_US: u64 = 500_000;
/// The same for a node that gives shards back: no operator waits for it.
pub const SHARE_PATIENCE_US: u64 = 200_000;
/// First pause before a handover is tried again. It doubles up to the maximum of a planned stop, or
/// of giving back.
pub const HANDOVER_PAUSE_US: u64 = 1_000_000;
pub const LEAVE_PAUSE_MAX_US: u64 = 2_000_000;
pub const SHARE_PAUSE_MAX_US: u64 = 60_000_000;
/// Interval at which the leader looks for nodes that lead more than their share, and the least time
/// after a change of views.
pub const SHARE_AFTER_US: u64 = 1_000_000;

/// Wait edges older than this go to the deadlock detector: most waits end before (a commit takes well under a millisecond).
pub const WAIT_EDGE_AGE_MIN_US: u64 = 10_000;

/// With more lock waits in a shard than this, only the edges from which the others follow go to the detector.
pub const WAITS_TOLD_IN_FULL_MAX: usize = 32;

/// With more lock waits on a node than this a wait that begins is not looked at by itself: the work grows with their
/// square. Circles are left to the detector then.
pub const WAITS_LOOKED_AT_MAX: usize = 128;

/// Interval at which the victim of a deadlock that still waits gets its message again.
pub const BREAK_DEADLOCK_AGAIN_US: u64 = 100_000;

/// Interval at which a worker reports its oldest snapshot, and the least age of old versions of hot
/// rows: at 50,000 updates/s of 200 bytes, 50 ms keep 500 KB.
pub const HORIZON_INTERVAL_US: u64 = 50_000;

/// Frames after which a bare acknowledgement is sent, or at the next tick: the data that a peer
/// keeps for resending stays small.
pub const ACK_FRAMES_MAX: u64 = 64;

/// Frames received ahead of a missing one; beyond this they are dropped and sent again.
pub const CHANNEL_EARLY_MAX: usize = 1024;

/// Bytes sent again at a time when no acknowledgement comes: the loss of 20 ms on a 100 Mbit/s
/// link.
pub const RESEND_BYTES_MAX: usize = 256 << 10;
/// Doublings of the wait for an acknowledgement, one per resend: 32 times the first at most.
pub const RESEND_DOUBLINGS_MAX: u32 = 5;

/// Bytes of a channel that are with the host and not acknowledged: half a second of a 1 Gbit/s link, and what a link that
/// comes back is given at once.
pub const CHANNEL_WINDOW_BYTES: usize = 64 << 20;

/// Size at which a chunk is closed, and the next message begins another: a link gets at most one
/// message more than this in one piece.
pub const CHUNK_BYTES_MAX: usize = 1 << 20;

/// Bytes a peer that does not acknowledge may make us keep before no new statements are begun: 256 MiB is ten seconds of
/// a 25 MB/s replication stream.
pub const CHANNEL_UNACKED_BYTES_MAX: usize = 256 << 20;

/// Messages held until this worker has heard of their view or boot; beyond this their frames are refused, and come again.
pub const HELD_MESSAGES_MAX: usize = 65_536;

/// Rows that a scan reads before it returns its results so far: about a millisecond, so that short
/// statements pass.
pub const SCAN_ROWS_VISITED_MAX: u32 = 4_096;
/// The same for a scan under locks, whose rows all cost a lock and mostly come back as writes: a tenth of a millisecond.
pub const SCAN_ROWS_LOCKED_MAX: u32 = 64;
/// Bytes of rows, or of groups, in one scan answer.
pub const SCAN_BYTES_MAX: usize = 1 << 20;
/// Bytes of rows that a scan reads before it returns its results so far: a long row is copied to be
/// read.
pub const SCAN_BYTES_LOOKED_AT_MAX: usize = 8 << 20;
/// Bytes of rows that reads by key answer together: the one that passes it is the last. More than the SQL layer asks for at once where
/// rows are short.
pub const READ_BYTES_MAX: usize = 20 << 20;
/// Bytes of rows that operations under locks on a shard look at and write before others have their turn: the one that passes it is the
/// last. A long row is copied for each.
pub const TURN_BYTES_MAX: usize = SCAN_BYTES_LOOKED_AT_MAX;
/// Groups of a partial aggregate in one scan answer.
pub const SCAN_GROUPS_MAX: usize = 16_384;

/// Operations in a batch: what a multi-row INSERT of 64 MiB of one-byte rows would bring, refused beyond.
pub const BATCH_OPS_MAX: usize = u16::MAX as usize;

/// Rows and bytes of a record, and rows of a transaction that are ended in one step: about a tenth of a millisecond, because
/// others wait behind several of these, at their coordinator, primary and backup. The last row may go beyond, so a record is
/// at most 64 MiB longer, which a frame takes.
pub const RECORD_ROWS_MAX: usize = 64;
pub const RECORD_BYTES_MAX: usize = 256 << 10;
/// Parts of a shard that not every member holds yet. The records of others wait behind these on the link, and behind their
/// being applied: two keep both ends busy, more only add to that wait.
pub const PARTS_IN_FLIGHT_MAX: usize = 2;

/// Versions dropped and index entries made in one step of a shard's housekeeping: a twentieth of a millisecond, which whoever
/// waits behind it hardly notices.
pub const UPKEEP_ROWS_MAX: usize = 64;
/// Steps of that kind which build the indexes of a shard in a tick, while sessions use the node: some seventh of the time of a
/// worker of four shards.
pub const BUILD_STEPS_WHEN_USED: u32 = 3;
/// Time for which a node counts as used by sessions after an operation of theirs. Longer than the gaps of some ten transactions
/// a second: in such a gap a build would take all cores, and the next client would wait for one.
pub const USED_FOR_US: u64 = 200_000;
/// Rows of a record of a copy, and its bytes without the last row.
pub const FILL_ROWS_MAX: usize = 64;
pub const FILL_BYTES_MAX: usize = 64 << 10;
/// Bytes of a learner's log that may wait for its disk while it takes more of its filling: once it
/// counts, commits may wait for them.
pub const FILL_BACKLOG_MAX: u64 = 32 << 20;
/// So many pieces, each of as many rows as a record of a copy, are offered in a record: a millisecond of hashing on both sides.
pub const OFFER_PIECES_MAX: usize = 16;
/// Decisions in a record of decisions.
pub const FILL_DECISIONS_MAX: usize = 1_024;
/// Records of a filling that are on their way to a learner at a time.
pub const FILL_RECORDS_IN_FLIGHT_MAX: usize = 2;
/// Requests of a shard in a tick above which other sessions want it: then the given number of
/// filling records is sent per tick, one on its way.
pub const FILL_ASKED_FEW: u64 = 4;
pub const FILL_RECORDS_WHEN_BUSY: u32 = 24;

/// Locks in one piece of a report: each is a row to be looked up, so a piece takes about a millisecond and, at 100 bytes a
/// lock, 200 KB.
pub const LOCKS_PER_REPORT: usize = 2_048;
/// Places of a lock table looked at for one piece, most of which may be empty: 1.6 MB of memory.
pub const LOCK_PLACES_PER_REPORT: usize = 16_384;
/// Locks listed of one wait, and of all waits of a shard, but always one: n waiting transactions
/// have n * n / 2 of them. 500 KB.
pub const BLOCKING_TOLD_MAX: usize = 64;
pub const BLOCKING_PER_REPORT: usize = 16_384;
/// Sessions of a worker, and transactions of a shard, that one report tells: as many as a node has connections at most.
pub const SESSIONS_TOLD_MAX: usize = 10_000;
pub const HOLDINGS_TOLD_MAX: usize = 10_000;

/// Deadlocks remembered by the detector, and transactions of each: with statements of 1 KB, 2 MB at most.
pub const DEADLOCKS_KEPT_MAX: usize = 32;
pub const DEADLOCK_MEMBERS_MAX: usize = 64;
/// Victims that a coordinator remembers until the detector has asked for their sessions, which
/// takes a round trip.
pub const VICTIMS_KEPT_MAX: usize = 64;

/// Transactions that a cluster restart has lost, of which the control state keeps the ids: 32 KB, in an entry of its log and in every
/// copy of the state.
pub const LOST_TOLD_MAX: usize = 1_000;

/// Nodes that have not answered a report by then count as unreachable.
pub const REPORT_TIMEOUT_US: u64 = 2_000_000;
/// The same where all rows of a table are summed up for it: a hundred million of them.
pub const REPORT_SUMS_TIMEOUT_US: u64 = 60_000_000;
/// Rows that are summed up in one step, or bytes of them: half a millisecond.
pub const SUMMED_ROWS_MAX: usize = 1_024;
pub const SUMMED_BYTES_MAX: usize = 1 << 20;
