//! Every bound of the real world, with the arithmetic behind it. Times are microseconds where their name says nothing else.

/// Bytes asked of one `read`. A worker has one buffer of this size for all its sockets: replication under load brings
/// tens of kilobytes a turn, and a multi-row INSERT should not take hundreds of calls.
pub const READ_SIZE: usize = 256 * 1024;

/// Bytes that a link inside TLS keeps encrypted ahead of its socket: what a `write` of a turn under load brings.
pub const SECURED_BUFFER_SIZE: usize = 256 * 1024;

/// Bytes taken from one client in one turn, so that a client that sends 64 MiB does not stop the others. Crate `mysql`
/// accepts one read of at most 1 MiB beyond its mark.
pub const CLIENT_READ_PER_TURN: usize = 1024 * 1024;

/// Readiness events taken from the kernel at once.
pub const EVENTS_MAX: usize = 512;

/// The longest frame between nodes: a statement of 64 MiB (MySQL's longest packet), of which a filter and an assignment may be, and its
/// parameters of 64 MiB, with as much again that was sent before them; or rows of an answer, of which the last is of 64 MiB. Who makes
/// operations for many rows counts what each of them carries.
pub const FRAME_SIZE_MAX: usize = 320 << 20;

/// The longest first message of a link; refusals carry a text.
pub const HELLO_SIZE_MAX: usize = 256;

/// A stranger on the node port is turned away after so long.
pub const HELLO_TIMEOUT: u64 = 900_000;

/// A node that is not connected to any other since it started says so after so long.
pub const LONELY_AFTER: u64 = 3_000_000;

/// Strangers that have not said hello yet, at a time; with another one the first of them is turned away.
pub const HELLO_PENDING_MAX: usize = 256;

/// Pauses between attempts to connect a link, doubling. The longer bound is for a peer whose machine
/// refuses the connection, as its process does not listen; the other one for a peer that does not
/// answer, as the network may be whole again at any moment.
pub const RECONNECT_AFTER_MIN: u64 = 10_000;
pub const RECONNECT_AFTER_MAX: u64 = 1_000_000;
pub const RECONNECT_UNANSWERED_MAX: u64 = 200_000;

/// Heartbeats, and the least time, for the peer's system to confirm a connection: the peer's
/// process need not run for that, and a round trip takes less than a heartbeat. TCP itself would
/// try again after one second, then two, then four.
pub const HANDSHAKE_HEARTBEATS: u64 = 3;
pub const HANDSHAKE_TIMEOUT_MIN: u64 = 300_000;

/// Time for the hello on a confirmed connection. The door of the peer closes it before
/// ([`HELLO_TIMEOUT`]).
pub const GREETING_TIMEOUT: u64 = 1_000_000;
const _: () = assert!(HELLO_TIMEOUT < GREETING_TIMEOUT);

/// Bytes queued for one link. The channel gives it a window of 64 MiB, and the chunk that reaches it, which is a MiB and a
/// frame of 320 MiB at most. More means that the peer acknowledges what it does not read.
pub const LINK_QUEUE_BYTES_MAX: usize = 448 << 20;

/// Chunks a `writev` takes: more than a turn of 64 requests makes.
pub const WRITEV_CHUNKS_MAX: usize = 64;

/// Heartbeats for which bytes may stay unacknowledged by the peer's system before the link breaks,
/// and the bounds of that time. Each worker probes each peer every four heartbeats. Longer than the
/// silence after which a node is excluded; short, because TCP doubles the time after which it sends
/// again: after a cut of five seconds it could stay silent for three more. A frozen process does
/// not break its links, unless its buffers are full: its system acknowledges.
pub const UNACKED_HEARTBEATS: u64 = 8;
pub const UNACKED_TIMEOUT_MIN: u64 = 500_000;
pub const UNACKED_TIMEOUT_MAX: u64 = 10_000_000;

/// Links are TCP and lose nothing while they are up; what breaks with them is sent again when they are back.
pub const RESEND_AFTER: u64 = 20_000_000;

/// Items in a worker's inbox. Each open statement of the node causes a few; 10,000 connections a few ten thousand.
pub const INBOX_ITEMS_MAX: usize = 1 << 22;

/// A client must have logged in by then.
pub const LOGIN_TIMEOUT: u64 = 10_000_000;

/// Before login, the time after which a client that reads nothing of its answer is cut off; after it net_write_timeout holds.
pub const CLIENT_STALL_TIMEOUT: u64 = 60_000_000;

/// A closed connection whose last packets the client does not read is dropped after so long.
pub const CLIENT_LINGER_TIMEOUT: u64 = 2_000_000;

/// Connections accepted in one turn, so that a flood of them does not stop those that are in.
pub const ACCEPT_PER_TURN: usize = 64;

/// No accepting for so long when the system has no more file descriptors or memory for sockets.
pub const ACCEPT_PAUSE: u64 = 100_000;

/// Clients whose deadlines are looked at once in so long.
pub const CLIENT_CHECK_INTERVAL: u64 = 500_000;

/// Messages of other workers are handled so long in a turn, and frames of peers, or as long as sessions were in the last one: a third of
/// the time is for each. Then heartbeats, timers and clients have theirs.
pub const TURN_INPUT_MIN: u64 = 1_000;
pub const TURN_INPUT_MAX: u64 = 5_000;
/// Sessions are worked on so long before what they ask of this node is done, and that before they are worked on again. The others, and
/// what is left of their requests, have their turn after the sockets and the heartbeats.
pub const TURN_TASKS_MAX: u64 = 1_000;

/// Answered requests are taken up again in the same turn so long, then the sockets get their turn: a long statement with its
/// rows here takes about one step of its own, and not as many as fit.
pub const SETTLE_TIME_MAX: u64 = 100;

/// Statements that run at a shutdown may take so long.
pub const SHUTDOWN_GRACE: u64 = 5_000_000;
/// After that, sessions roll back so long.
pub const SHUTDOWN_ROLLBACK: u64 = 1_000_000;

/// Management connections at a time, and the longest request line.
pub const MANAGEMENT_CONNECTIONS_MAX: usize = 64;
pub const MANAGEMENT_LINE_MAX: usize = 64 * 1024;

/// A log file is put aside at this size; three are kept.
pub const LOG_SIZE_MAX: u64 = 8 << 20;
/// The same line again within so long is counted, not written.
pub const LOG_REPEAT_INTERVAL: u64 = 10_000_000;
/// Different lines remembered for that.
pub const LOG_REPEAT_LINES_MAX: usize = 64;

/// A thread's stack: the depth limits of the parser and of expressions are set for it, in unoptimised builds.
pub const STACK_SIZE: usize = 16 << 20;

/// A node that is stopped while its cluster goes on waits so long for transactions elsewhere to end.
pub const DEPARTURE_TIME_MAX: u64 = 30_000_000;
/// And when it has handed over it says what it still has to say, if it leads the control plane: a heartbeat of that is 50 ms.
pub const DEPARTURE_LINGER: u64 = 100_000;

/// Threads for computations that would hold up a worker, and the time that one without work stays. Statements that compute for
/// seconds share the cores with the workers, so they are few.
pub const COMPUTERS_MAX: usize = 2;
pub const COMPUTER_IDLE: std::time::Duration = std::time::Duration::from_secs(10);

/// Threads that write and read temporary files. They also sort the rows before they write them, so they are few; with more
/// than one, a statement with a long sort does not hold up all others.
pub const TEMP_FILE_THREADS_MAX: usize = 4;
/// Bytes of the device that temporary files leave free. The log needs files of some ten megabytes, and a checkpoint is
/// written beside the one before.
pub const TEMP_ROOM_MIN: u64 = 256 << 20;
