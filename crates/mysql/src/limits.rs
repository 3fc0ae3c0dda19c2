//! Bounds of a connection, and the arithmetic behind them.

/// The longest payload one packet header can announce; a payload of exactly this length is continued in the next packet.
pub const CHUNK_MAX: usize = 0xff_ffff;

/// Length and sequence number in front of every packet.
pub const HEADER_SIZE: usize = 4;

/// The longest packet a client may send before it has logged in: 32 bytes fixed, a user name, a token of at most 255
/// bytes, a database, a plugin name, and attributes (drivers send less than 1 KiB; 8 are left for them).
pub const PACKET_BEFORE_AUTH_MAX: usize = 16 * 1024;

/// Bytes received and not yet read that are kept before login. With the packet being assembled (16 KiB, which grows by
/// doubling from 16 KiB) and the answer (below 2 KiB) a connection that has not logged in stays below 64 KiB.
pub const INPUT_BEFORE_AUTH_MAX: usize = 24 * 1024;

/// Above this many unread bytes `wants_input` is false.
pub const INPUT_MARK: usize = 256 * 1024;

/// Unread bytes kept at most. The driver may deliver one more full read (of up to 1 MiB) after `wants_input` turned false.
pub const INPUT_MAX: usize = INPUT_MARK + 1024 * 1024;

/// Bytes of a client's file that a statement is given at once: some tenths of a millisecond of its work.
pub const FILE_PIECE_MAX: usize = 64 * 1024;

/// The longest packet after login: MySQL's default for `max_allowed_packet`, and the most this server accepts.
pub const PACKET_MAX: usize = 64 * 1024 * 1024;

/// Above this many unsent bytes a result set waits for the client to read.
pub const OUTPUT_MARK: usize = 256 * 1024;

/// Buffers longer than this are given back when they are empty, so that one big statement does not stay in memory for the
/// life of its connection.
pub const BUFFER_KEPT_MAX: usize = 64 * 1024;

/// Connection attributes kept; MySQL's performance schema keeps 512 bytes of them.
pub const ATTRIBUTE_COUNT_MAX: usize = 64;

/// Parameters of one statement: what the packet's 16-bit count can say.
pub const PARAMETER_COUNT_MAX: usize = 65_535;

/// Longest user name that is looked up: 32 characters of 4 bytes, as mysql.user declares it.
pub const USER_NAME_SIZE_MAX: usize = 128;
