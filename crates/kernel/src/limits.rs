//! Every bound of the kernel, with the arithmetic that produced it.

/// Microseconds between housekeeping ticks of a worker: timeouts, wait edges, garbage, acknowledgements.
pub const TICK_INTERVAL_US: u64 = 10_000;

/// Raft's logical clock runs once a tick; an election after 20 to 40 of them (200 to 400 ms) without a leader.
pub const RAFT_ELECTION_TICKS: u32 = 20;
pub const RAFT_HEARTBEAT_TICKS: u32 = 5;
/// Bytes of applied entries after which a voter keeps a snapshot of the state instead: some ten thousand views, or a thousand tables.
/// What it reads when it starts, and what it sends to one that was away for long, is little more than the state.
pub const CONTROL_LOG_BYTES_MAX: u64 = 1 << 20;

/// Of the requests that get a snapshot with one message, so many are begun at once: each may read as many rows as a step bears.
pub const BEGUN_TOGETHER_MAX: usize = 4;

/// When a node was heard last is written down to within so much.
pub const HEARD_STEP_US: u64 = 1_000;
/// A leader is sure that nobody else can be elected for so long after it sent heartbeats that a quorum has answered: an election
/// timeout, less a tick that a voter's may be short of, and a hundredth of both for clocks that differ.
pub const RAFT_LEADS_US: u64 = (RAFT_ELECTION_TICKS as u64 - 1) * TICK_INTERVAL_US * 98 / 100;
/// A node is taken for dead, and a lease lasts, so many heartbeats.
pub const SILENCE_HEARTBEATS: u64 = 4;
/// A node that was away for so much of a heartbeat has not heard others because of that.
pub const AWAY_HEARTBEATS: u64 = 1;
/// Without a lease a node asks for one so often.
pub const LEASE_ASK_INTERVAL_US: u64 = 20_000;
/// A node that is let in, or a leader that starts, may wait so long for its connections: they are tried again every second.
pub const CONNECTED_AFTER_US: u64 = 1_500_000;
/// A node that has been without a lease for so long tells those who wait.
pub const CUT_OFF_AFTER_US: u64 = 1_000_000;

/// A message that must be sent until it is answered (registration, schema change) goes out this often.
pub const RESEND_INTERVAL_US: u64 = 100_000;

/// A cluster restart that could be begun waits so long for the other nodes of the last views.
pub const RESTART_WAIT_US: u64 = 5_000_000;
/// One that would lose commits waits so long for a last member that has not come back: it may be looking through a disk that has them,
/// and a gigabyte of log takes some seconds.
pub const LOSSY_RESTART_WAIT_US: u64 = 4 * RESTART_WAIT_US;
/// Those who load their rows wait so long for one that was to load with them and has ended: then they begin again without it.
pub const LOADING_WAIT_US: u64 = 4 * RESTART_WAIT_US;

/// With so many bytes of its log waiting for the disk of this node no transaction that writes begins here.
pub const LOG_BACKLOG_MAX: u64 = 256 << 20;

/// Nor when a global checkpoint takes so long, whatever the reason. What is told while one is made only the next has, so twice that is
/// what a failure of the power may take. (One takes a flush of all disks as a rule, an exclusion two seconds.)
pub const CHECKPOINT_LATE_US: u64 = 5_000_000;
/// After so long it is not waited for any more: who begins to write is refused, and who waits to be told that a commit is durable is told
/// that it is not.
pub const CHECKPOINT_MISSED_US: u64 = 30_000_000;

/// Bytes of memory that a transaction's write takes until it ends, beside key and row: its place in the list, how it is undone, the lock.
/// (155 to 250 when measured by the process's memory.)
pub const KEPT_PER_WRITE: usize = 256;

/// A node that loads its rows ends while so many bytes of its memory are free beside what the next row takes.
pub const LOADING_LEFT_MIN: u64 = 1 << 20;

/// A part's log grows by so many bytes at least until all of its rows are written again: with few rows most of what the disk costs is that.
pub const LOG_GROWTH_MIN: u64 = 120 << 20;
/// Where there is no room for more log, this: to write them frees files of the log.
pub const LOG_GROWTH_SHORT_OF_ROOM: u64 = 64 << 20;

/// In so many turns all rows of a part are written to local checkpoints again, and in a turn rows that take so many bytes at least.
pub const CHECKPOINT_TURNS: u64 = 8;
pub const CHECKPOINT_TURN_BYTES_MIN: u64 = 16 << 20;

/// A local checkpoint is written at least so fast, on each worker: 1 GiB in two minutes, and some 5 % of a core.
pub const CHECKPOINT_BYTES_PER_SECOND_MIN: u64 = 8 << 20;
/// Rows are copied for a local checkpoint so many at a time, or so many bytes: who asks for something meanwhile waits for some 10 us.
pub const CHECKPOINT_ROWS_MAX: usize = 16;
pub const CHECKPOINT_BYTES_MAX: usize = 16 << 10;
/// Where sections are small, so that even a few rows are several.
pub const CHECKPOINT_ROWS_SMALL: usize = 4;
/// Rows of a local checkpoint are compressed so many bytes at a time.
pub const CHECKPOINT_BLOCK_BYTES: usize = 128 << 10;

/// A local checkpoint that was given up is made again after so long: it costs as much as one that is written.
pub const CHECKPOINT_PAUSE_US: u64 = 10_000_000;
/// While a transaction is open for long, a part whose log it keeps is looked at again after so long.
pub const CHECKPOINT_LOOK_US: u64 = 1_000_000;
/// A device that has not had so many of them, one after the other, as they were written is given up.
pub const CHECKPOINTS_REFUSED_MAX: u32 = 3;

/// Between the beginnings of global checkpoints, while something is committed and nobody waits for one: what the whole cluster loses when
/// all nodes lose their power at once, and a sync.
pub const CHECKPOINT_INTERVAL_US: u64 = 500_000;

/// A shard remembers commits of one shard so long, for coordinators whose answer was lost with the primary: they ask at
/// once when they hear of its death.
pub const COMMITS_KEPT_US: u64 = 10_000_000;
/// Home remembers commits over several shards so long, for participants that lost their coordinator.
pub const DECISIONS_KEPT_US: u64 = 60_000_000;

/// What became of a transaction whose client could not be told, is known so long.
pub const OUTCOMES_KEPT_US: u64 = 24 * 3_600 * 1_000_000;
/// Commits that a shard remembers of coordinators that are over, but for the last that ended: 16 MiB of them. A node that fails
/// again and again must not fill the memory of others.
pub const OUTCOMES_KEPT_MAX: usize = 1 << 18;
/// A client that waits for its COMMIT is told after so long that its outcome is not known, if nobody can be reached who knows.
pub const COMMIT_TIMEOUT_US: u64 = 5_000_000;

/// An acknowledgement comes with the next message or tick, in 20 ms at most: one that takes so long is late.
pub const LATE_ACK_US: u64 = 100_000;
/// A peer from which nothing comes for so many heartbeats, though it is to acknowledge something, hangs. Two seconds are enough for the
/// largest row over a link of 300 Mbit/s.
pub const STALL_HEARTBEATS: u64 = 20;
/// Each worker probes those of other nodes after so many heartbeats, and tells of acknowledgements for so many; for as long a node is held
/// for slow of which nobody else says anything now.
pub const PROBE_HEARTBEATS: u64 = 4;
pub const PROBES_COUNT_HEARTBEATS: u64 = 20;
/// How far away a peer is, those of so long say: ten, the one in the middle of which chance hardly moves.
pub const ROUND_TRIPS_HEARTBEATS: u64 = 40;
pub const ROUND_TRIPS_KEPT: usize = 12;
/// With more bytes under way, in either direction, a probe tells of these: 64 KiB take 5 ms over 100 Mbit/s.
pub const PROBE_QUIET_BYTES: usize = 64 << 10;
/// A node is slow when probes take longer than a heartbeat and than so long, and so many times as long as between others: where each
/// core had three busy threads, and one node three hundred clients with long statements, they took 0.15 s, in a box. Until they take less
/// than half of that it is not well again. It is put up with for so many heartbeats, five seconds.
pub const SLOW_ROUND_TRIP_MIN_US: u64 = 50_000;
pub const SLOW_TIMES: u64 = 4;
pub const SLOW_HEARTBEATS: u64 = 50;
/// Who was slow, comes back and is slow again within so long is let in after a pause, which doubles.
pub const SLOW_AGAIN_US: u64 = 1_200_000_000;
pub const SLOW_PAUSE_MIN_US: u64 = 60_000_000;
pub const SLOW_PAUSE_MAX_US: u64 = 300_000_000;

/// The voters are told of a dead node again in so long: writes to its group wait for it.
pub const DEAD_INTERVAL_US: u64 = 20_000;

/// A node that is to stop is given so long for its transactions and everybody's to end, while others wait to begin; then these go
/// on, and it is tried again.
pub const LEAVE_PATIENCE_US: u64 = 500_000;
/// The same for a node that gives back what it led for another: nobody has asked for that.
pub const SHARE_PATIENCE_US: u64 = 200_000;
/// The pause before it is tried again doubles, up to so much for a node that is to stop, and for one that gives back.
pub const HANDOVER_PAUSE_US: u64 = 1_000_000;
pub const LEAVE_PAUSE_MAX_US: u64 = 2_000_000;
pub const SHARE_PAUSE_MAX_US: u64 = 60_000_000;
/// Who leads more than its share is looked for so often, and not sooner than that after a change of views.
pub const SHARE_AFTER_US: u64 = 1_000_000;

/// Wait edges older than this go to the deadlock detector: most waits end before (a commit takes well under a millisecond).
pub const WAIT_EDGE_AGE_MIN_US: u64 = 10_000;

/// With more lock waits in a shard than this, only the edges from which the others follow go to the detector.
pub const WAITS_TOLD_IN_FULL_MAX: usize = 32;

/// With more lock waits on a node than this a wait that begins is not looked at by itself: the work grows with their
/// square. Circles are left to the detector then.
pub const WAITS_LOOKED_AT_MAX: usize = 128;

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

/// Bytes of a channel that are with the host and not acknowledged: half a second of a 1 Gbit/s link, and what a link that
/// comes back is given at once.
pub const CHANNEL_WINDOW_BYTES: usize = 64 << 20;

/// A chunk is closed at this size, and the next message begins another: what is handed to a link in one piece is at most one
/// message longer.
pub const CHUNK_BYTES_MAX: usize = 1 << 20;

/// Bytes a peer that does not acknowledge may make us keep before no new statements are begun: 256 MiB is ten seconds of
/// a 25 MB/s replication stream.
pub const CHANNEL_UNACKED_BYTES_MAX: usize = 256 << 20;

/// Messages held until this worker has heard of their view or boot; beyond this their frames are refused, and come again.
pub const HELD_MESSAGES_MAX: usize = 65_536;

/// Rows a scan looks at before it hands back what it has: about a millisecond, so that short statements pass.
pub const SCAN_ROWS_VISITED_MAX: u32 = 4_096;
/// The same for a scan under locks, whose rows all cost a lock and mostly come back as writes: a tenth of a millisecond.
pub const SCAN_ROWS_LOCKED_MAX: u32 = 64;
/// Bytes of rows, or of groups, in one scan answer.
pub const SCAN_BYTES_MAX: usize = 1 << 20;
/// Bytes of rows a scan looks at before it hands back what it has: a long row is copied for that.
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
/// A record of a copy has so many rows, or, but for the last of them, so many bytes.
pub const FILL_ROWS_MAX: usize = 64;
pub const FILL_BYTES_MAX: usize = 64 << 10;
/// A learner takes no more of what it is filled with while so many bytes of its log wait for its disk: when it counts, commits may wait for
/// that.
pub const FILL_BACKLOG_MAX: u64 = 32 << 20;
/// So many pieces, each of as many rows as a record of a copy, are offered in a record: a millisecond of hashing on both sides.
pub const OFFER_PIECES_MAX: usize = 16;
/// A record of decisions has so many.
pub const FILL_DECISIONS_MAX: usize = 1_024;
/// So many records of what it is filled with are on their way to a learner.
pub const FILL_RECORDS_IN_FLIGHT_MAX: usize = 2;
/// When a shard is asked for more than so much in a tick, others want it: then so many of these records are sent in a tick, one
/// on its way.
pub const FILL_ASKED_FEW: u64 = 4;
pub const FILL_RECORDS_WHEN_BUSY: u32 = 24;

/// Locks in one piece of a report: each is a row to be looked up, so a piece takes about a millisecond and, at 100 bytes a
/// lock, 200 KB.
pub const LOCKS_PER_REPORT: usize = 2_048;
/// Places of a lock table looked at for one piece, most of which may be empty: 1.6 MB of memory.
pub const LOCK_PLACES_PER_REPORT: usize = 16_384;
/// Of a wait, the locks that it waits for are told up to so many, and so many of all waits of a shard, but always one: a
/// crowd of n waits has n * n / 2 of them. 500 KB.
pub const BLOCKING_TOLD_MAX: usize = 64;
pub const BLOCKING_PER_REPORT: usize = 16_384;
/// Sessions of a worker, and transactions of a shard, that one report tells: as many as a node has connections at most.
pub const SESSIONS_TOLD_MAX: usize = 10_000;
pub const HOLDINGS_TOLD_MAX: usize = 10_000;

/// Deadlocks remembered by the detector, and transactions of each: with statements of 1 KB, 2 MB at most.
pub const DEADLOCKS_KEPT_MAX: usize = 32;
pub const DEADLOCK_MEMBERS_MAX: usize = 64;
/// Victims a coordinator remembers until the detector has asked who they were, which takes a round trip.
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
