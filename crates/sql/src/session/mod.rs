//! A connection's session.
use std::rc::Rc;
use std::sync::Arc;

use types::{Value, WorkerId};

use crate::{ColumnInfo, ConnectionId, KillKind, ResultSink, Server, SqlError, StatusFlags};

/// What the handshake told about a connection.
#[derive(Clone, Debug, Default)]
pub struct ConnectionInfo {
    pub id: ConnectionId,
    pub worker: WorkerId,
    pub user: String,
    /// The client's host as SHOW PROCESSLIST and CURRENT_USER() show it: "localhost" or "address:port".
    pub host: String,
    pub database: Option<String>,
    /// The collation number of the handshake.
    pub collation_id: u16,
    /// CLIENT_FOUND_ROWS: an UPDATE's affected rows are the matched ones.
    pub found_rows: bool,
    /// CLIENT_MULTI_STATEMENTS.
    pub multi_statements: bool,
    /// CLIENT_INTERACTIVE: interactive_timeout is its wait_timeout.
    pub interactive: bool,
    pub attributes: Vec<(String, String)>,
    /// Name of the TLS cipher in use, e.g. "TLS_AES_256_GCM_SHA384".
    pub tls_cipher: Option<String>,
    /// "TLSv1.3" and the like.
    pub tls_version: Option<String>,
}

/// What PREPARE answers.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedInfo {
    pub id: u32,
    pub params: Vec<ColumnInfo>,
    /// Empty for statements without a result set.
    pub columns: Vec<ColumnInfo>,
    pub warnings: u16,
}

/// One a connection; runs one statement at a time.
pub struct Session {}

/// Ends what a session runs, from another task of its worker (the session itself is borrowed by its statement).
#[derive(Clone)]
pub struct KillHandle {}

impl KillHandle {
    pub fn kill(&self, _kind: KillKind) {}
}

impl Session {
    /// Fails with 1049 when the database of the handshake does not exist.
    pub fn new(
        server: Arc<Server>,
        client: client::Session,
        info: ConnectionInfo,
    ) -> Result<Session, SqlError>;
    pub fn kill_handle(&self) -> KillHandle;
    /// Was KILL CONNECTION called? The connection is then closed after the error that the statement got.
    pub fn is_killed(&self) -> bool;
    /// Runs every statement of the text (several when CLIENT_MULTI_STATEMENTS is set). SQL errors go to `sink.error`.
    pub async fn query(&mut self, text: &[u8], sink: &mut dyn ResultSink);
    pub async fn prepare(&mut self, text: &[u8]) -> Result<PreparedInfo, SqlError>;
    /// `params` already include long data; one a `?`.
    pub async fn execute(&mut self, statement_id: u32, params: Vec<Value>, sink: &mut dyn ResultSink);
    pub fn param_count(&self, statement_id: u32) -> Option<u16>;
    pub fn close_statement(&mut self, statement_id: u32);
    /// COM_STMT_RESET: 1243 when there is no such statement.
    pub fn reset_statement(&mut self, statement_id: u32) -> Result<(), SqlError>;
    /// COM_INIT_DB.
    pub async fn use_database(&mut self, name: &[u8]) -> Result<(), SqlError>;
    /// COM_RESET_CONNECTION: rollback, drop prepared statements and user variables, defaults.
    pub async fn reset(&mut self);
    /// COM_CHANGE_USER after authentication. `info.id` and `info.worker` stay.
    pub async fn change_user(&mut self, info: ConnectionInfo) -> Result<(), SqlError>;
    /// COM_FIELD_LIST: the columns of a table whose names match the pattern (empty: all).
    pub async fn field_list(&mut self, table: &[u8], pattern: &[u8]) -> Result<Vec<ColumnInfo>, SqlError>;
    pub fn status_flags(&self) -> StatusFlags;
    pub fn warning_count(&self) -> u16;
    /// COM_STATISTICS.
    pub fn server_status_text(&self) -> String;
    /// Rolls back and unregisters the connection.
    pub async fn close(&mut self);
    pub fn database(&self) -> Option<&str>;
    pub fn max_allowed_packet(&self) -> u64;
    /// Seconds without a statement after which the connection is closed (interactive_timeout for interactive ones).
    pub fn wait_timeout_seconds(&self) -> u64;
    pub fn net_write_timeout_seconds(&self) -> u64;
}
