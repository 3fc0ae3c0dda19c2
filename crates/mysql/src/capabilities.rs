//! Capability flags: what client and server agree to in the handshake.

pub const LONG_PASSWORD: u32 = 1;
pub const FOUND_ROWS: u32 = 1 << 1;
pub const LONG_FLAG: u32 = 1 << 2;
pub const CONNECT_WITH_DB: u32 = 1 << 3;
pub const LOCAL_FILES: u32 = 1 << 7;
pub const IGNORE_SPACE: u32 = 1 << 8;
pub const PROTOCOL_41: u32 = 1 << 9;
pub const INTERACTIVE: u32 = 1 << 10;
pub const SSL: u32 = 1 << 11;
pub const IGNORE_SIGPIPE: u32 = 1 << 12;
pub const TRANSACTIONS: u32 = 1 << 13;
pub const RESERVED: u32 = 1 << 14;
pub const SECURE_CONNECTION: u32 = 1 << 15;
pub const MULTI_STATEMENTS: u32 = 1 << 16;
pub const MULTI_RESULTS: u32 = 1 << 17;
pub const PS_MULTI_RESULTS: u32 = 1 << 18;
pub const PLUGIN_AUTH: u32 = 1 << 19;
pub const CONNECT_ATTRS: u32 = 1 << 20;
pub const PLUGIN_AUTH_LENENC_CLIENT_DATA: u32 = 1 << 21;
pub const DEPRECATE_EOF: u32 = 1 << 24;
pub const QUERY_ATTRIBUTES: u32 = 1 << 27;

/// What this server offers. Not offered: compression (TLS and compression together leak, and a local network does not
/// need it), session tracking, optional metadata. Files of clients are offered whatever `local_infile` is: it may be set later.
pub const OFFERED: u32 = LONG_PASSWORD
    | FOUND_ROWS
    | LONG_FLAG
    | CONNECT_WITH_DB
    | LOCAL_FILES
    | IGNORE_SPACE
    | PROTOCOL_41
    | INTERACTIVE
    | IGNORE_SIGPIPE
    | TRANSACTIONS
    | RESERVED
    | SECURE_CONNECTION
    | MULTI_STATEMENTS
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | PLUGIN_AUTH
    | CONNECT_ATTRS
    | PLUGIN_AUTH_LENENC_CLIENT_DATA
    | DEPRECATE_EOF
    | QUERY_ATTRIBUTES;

/// Server status flags of OK and EOF packets.
pub mod status {
    pub const IN_TRANSACTION: u16 = 1;
    pub const AUTOCOMMIT: u16 = 1 << 1;
    pub const MORE_RESULTS: u16 = 1 << 3;
    pub const DATABASE_DROPPED: u16 = 1 << 8;
    pub const NO_BACKSLASH_ESCAPES: u16 = 1 << 9;
    pub const IN_READ_ONLY_TRANSACTION: u16 = 1 << 13;
}
