//! What the protocol needs of the SQL layer, as two traits.
//!
//! There are two implementations: the real one below, and the scripted one of the tests, which know passwords, slow
//! readers and answers that no cluster would give on demand. Futures are polled on one thread only.

#![allow(async_fn_in_trait)]

use std::sync::Arc;

use sql::{
    ColumnInfo, ConnectionId, ConnectionInfo, KillKind, PreparedInfo, ResultSink, Server, SqlError,
    StatusFlags,
};
use types::account::ClientHost;
use types::password::sha2_text_matches;
use types::{Account, Charset, Collation, Value};

/// The node, as one connection sees it.
pub trait Host: 'static {
    type Session: Backend;
    /// The version in the greeting.
    fn version(&self) -> &str;
    /// The account that this client is, if it proves that.
    fn account(&self, user: &str, host: ClientHost) -> Option<Arc<Account>>;
    /// SHA256(SHA256(password)) of an account, if a client has proved its password to this node.
    fn fast_hash(&self, account: &Account) -> Option<[u8; 32]>;
    /// Keeps that hash for as long as the account stores this secret.
    fn keep_fast_hash(&self, account: &Account, secret: Vec<u8>, hash: [u8; 32]);
    /// The text of caching_sha2_password that was made of this password. Computed on another thread.
    async fn matching_secret(&self, password: Vec<u8>, stored: Vec<Vec<u8>>) -> Option<Vec<u8>>;
    /// Called once at most, when the user has proved to be who it says.
    fn open(&mut self, info: ConnectionInfo) -> Result<Self::Session, SqlError>;
    /// The connection is gone.
    fn unregister(&self, id: ConnectionId);
}

/// A session; see [`sql::Session`] for what the methods do.
pub trait Backend: 'static {
    /// How a running statement is cancelled from outside of the task.
    fn killer(&self) -> Box<dyn Fn(KillKind)>;
    fn is_killed(&self) -> bool;
    async fn query(&mut self, text: &[u8], sink: &mut dyn ResultSink);
    async fn prepare(&mut self, text: &[u8]) -> Result<PreparedInfo, SqlError>;
    async fn execute(&mut self, statement_id: u32, params: Vec<Value>, sink: &mut dyn ResultSink);
    fn param_count(&self, statement_id: u32) -> Option<u16>;
    fn close_statement(&mut self, statement_id: u32);
    fn reset_statement(&mut self, statement_id: u32) -> Result<(), SqlError>;
    async fn use_database(&mut self, name: &[u8]) -> Result<(), SqlError>;
    async fn reset(&mut self);
    async fn change_user(&mut self, info: ConnectionInfo) -> Result<(), SqlError>;
    async fn field_list(
        &mut self,
        table: &[u8],
        pattern: &[u8],
    ) -> Result<Vec<ColumnInfo>, SqlError>;
    /// COM_SET_OPTION.
    fn set_multi_statements(&mut self, allowed: bool);
    fn status_flags(&self) -> StatusFlags;
    /// COM_STATISTICS.
    fn statistics(&self) -> String;
    async fn close(&mut self);
    fn max_allowed_packet(&self) -> u64;
    fn wait_timeout_seconds(&self) -> u64;
    /// net_write_timeout.
    fn write_timeout_seconds(&self) -> u64;
    /// net_read_timeout, for the files of LOAD DATA LOCAL.
    fn read_timeout_seconds(&self) -> u64;
    /// What the client writes its parameters in.
    fn client_charset(&self) -> Charset;
    /// Of parameters that are characters.
    fn literal_collation(&self) -> Collation;
}

/// A node's SQL layer, and the native session that becomes the connection's.
pub struct SqlHost {
    pub server: Arc<Server>,
    pub client: Option<client::Session>,
    /// The worker's: definitions, and threads for computations.
    pub node: client::Client,
}

impl Host for SqlHost {
    type Session = sql::Session;
    fn version(&self) -> &str {
        &self.server.config().version_text
    }
    fn account(&self, user: &str, host: ClientHost) -> Option<Arc<Account>> {
        self.node.catalogue().accounts.of_client(user, host).cloned()
    }
    fn fast_hash(&self, account: &Account) -> Option<[u8; 32]> {
        self.server.fast_hash(account)
    }
    fn keep_fast_hash(&self, account: &Account, secret: Vec<u8>, hash: [u8; 32]) {
        self.server.keep_fast_hash(account, secret, hash);
    }
    async fn matching_secret(&self, password: Vec<u8>, stored: Vec<Vec<u8>>) -> Option<Vec<u8>> {
        let compare = move || stored.into_iter().find(|text| sha2_text_matches(&password, text));
        self.node.compute(compare).await.ok().flatten()
    }
    fn open(&mut self, info: ConnectionInfo) -> Result<sql::Session, SqlError> {
        let client = self.client.take().expect("a connection opens one session");
        sql::Session::new(self.server.clone(), client, info)
    }
    fn unregister(&self, id: ConnectionId) {
        self.server.unregister(id);
    }
}

impl Backend for sql::Session {
    fn killer(&self) -> Box<dyn Fn(KillKind)> {
        let handle = self.kill_handle();
        Box::new(move |kind| handle.kill(kind))
    }
    fn is_killed(&self) -> bool {
        sql::Session::is_killed(self)
    }
    async fn query(&mut self, text: &[u8], sink: &mut dyn ResultSink) {
        sql::Session::query(self, text, sink).await;
    }
    async fn prepare(&mut self, text: &[u8]) -> Result<PreparedInfo, SqlError> {
        sql::Session::prepare(self, text).await
    }
    async fn execute(&mut self, statement_id: u32, params: Vec<Value>, sink: &mut dyn ResultSink) {
        sql::Session::execute(self, statement_id, params, sink).await;
    }
    fn param_count(&self, statement_id: u32) -> Option<u16> {
        sql::Session::param_count(self, statement_id)
    }
    fn close_statement(&mut self, statement_id: u32) {
        sql::Session::close_statement(self, statement_id);
    }
    fn reset_statement(&mut self, statement_id: u32) -> Result<(), SqlError> {
        sql::Session::reset_statement(self, statement_id)
    }
    async fn use_database(&mut self, name: &[u8]) -> Result<(), SqlError> {
        sql::Session::use_database(self, name).await
    }
    async fn reset(&mut self) {
        sql::Session::reset(self).await;
    }
    async fn change_user(&mut self, info: ConnectionInfo) -> Result<(), SqlError> {
        sql::Session::change_user(self, info).await
    }
    async fn field_list(
        &mut self,
        table: &[u8],
        pattern: &[u8],
    ) -> Result<Vec<ColumnInfo>, SqlError> {
        sql::Session::field_list(self, table, pattern).await
    }
    fn set_multi_statements(&mut self, allowed: bool) {
        sql::Session::set_multi_statements(self, allowed);
    }
    fn status_flags(&self) -> StatusFlags {
        sql::Session::status_flags(self)
    }
    fn statistics(&self) -> String {
        self.server_status_text()
    }
    async fn close(&mut self) {
        sql::Session::close(self).await;
    }
    fn max_allowed_packet(&self) -> u64 {
        sql::Session::max_allowed_packet(self)
    }
    fn wait_timeout_seconds(&self) -> u64 {
        sql::Session::wait_timeout_seconds(self)
    }
    fn write_timeout_seconds(&self) -> u64 {
        sql::Session::net_write_timeout_seconds(self)
    }
    fn read_timeout_seconds(&self) -> u64 {
        sql::Session::net_read_timeout_seconds(self)
    }
    fn client_charset(&self) -> Charset {
        self.character_set_client()
    }
    fn literal_collation(&self) -> Collation {
        self.collation_connection()
    }
}
