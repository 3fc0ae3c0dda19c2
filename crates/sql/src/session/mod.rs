//! A connection's session: its state, and its commands. The life of a statement is in [`crate::statement`].
//!
//! A session runs one statement at a time; whoever owns it polls its future. What other tasks may do meanwhile is to kill
//! it, through a [`KillHandle`]. State is of three kinds: what the client set ([`Settings`], user variables, prepared
//! statements), what the last statement left (warnings, counts, LAST_INSERT_ID), and the transaction, most of which lives
//! in [`client::Session`].
//!
//! | module | part |
//! |---|---|
//! | `query` | text: digest, plan cache, several statements |
//! | `prepared` | prepared statements of both protocols |
//! | `statement` | everything that has no plan |
//! | `schema` | CREATE, DROP, ALTER, ... |
//! | `indexes` | indexes of a table |
//! | `temporary` | the same for temporary tables |
//! | `rewrite` | ALTER TABLE that changes rows |
//! | `create_select` | CREATE TABLE ... SELECT |
//! | `load` | may LOAD DATA have its file? |
//! | `set`, `variables` | SET and system variables |
//! | `transaction` | BEGIN, COMMIT, autocommit |
//! | `lookup` | one row by its primary key, without an executor |
//! | `user_locks` | GET_LOCK and its like |
//! | `functions` | what functions take from a session and leave in it |
//! | `statistics` | rows of tables, for plans of joins |
//! | `guard` | time limits and what a session forbids itself |

mod columns;
mod constraints;
mod create_select;
mod definition;
mod foreign_keys;
mod functions;
mod guard;
mod indexes;
mod instant;
mod load;
mod lookup;
mod prepared;
mod query;
mod rewrite;
mod schema;
mod set;
mod statement;
pub(crate) mod statistics;
mod table_locks;
mod temporary;
mod token;
mod transaction;
mod user_locks;
pub mod variables;
mod view;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

use client::Refusal;
use types::charset::names;
use types::convert::{SqlWarning, WarningLevel, to_text};
use types::{AccountName, Charset, Collation, SqlMode, TableId, Value, WorkerId};

use crate::bind::{Environment, SessionValues};
use crate::error::{SqlError, code};
use crate::execute::Failure;
use crate::execute::budget::Budget;
use crate::parser::ast;
use crate::server::{Counters, Process, ProcessInfo, process_lock};
use crate::statement::Frame;
use crate::statistics::TableStatistics;
use crate::{ColumnInfo, ConnectionId, KillKind, OkInfo, Server};
use prepared::Prepared;
pub(crate) use temporary::changes_only_temporary;
use transaction::Transaction;
use variables::Settings;

/// What the handshake told about a connection.
#[derive(Clone, Debug, Default)]
pub struct ConnectionInfo {
    pub id: ConnectionId,
    pub worker: WorkerId,
    pub user: String,
    /// CURRENT_USER(): the account that the client has proved to be.
    pub account: AccountName,
    /// The client's host as SHOW PROCESSLIST and USER() show it: "localhost", or its address.
    pub host: String,
    pub database: Option<String>,
    /// The collation number of the handshake.
    pub collation_id: u16,
    /// CLIENT_FOUND_ROWS: an UPDATE's affected rows are the matched ones.
    pub found_rows: bool,
    /// CLIENT_MULTI_STATEMENTS.
    pub multi_statements: bool,
    /// CLIENT_IGNORE_SPACE: the sql_mode IGNORE_SPACE is set.
    pub ignore_space: bool,
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
pub struct Session {
    pub(crate) server: Arc<Server>,
    /// This connection's line in the process list.
    process: Arc<Process>,
    pub(crate) client: client::Session,
    pub(crate) info: ConnectionInfo,
    pub(crate) settings: Settings,
    pub(crate) environment: Arc<Environment>,
    pub(crate) user_variables: BTreeMap<String, Value>,
    prepared: BTreeMap<u32, Prepared>,
    /// Statements of PREPARE name FROM, by lower-case name.
    prepared_names: BTreeMap<String, u32>,
    prepared_id_last: u32,
    pub(crate) transaction: Transaction,
    /// Of the transaction, in the order they were set: lower-case name, and the place to go back to.
    pub(crate) savepoints: Vec<(String, u32)>,
    temporary: temporary::TemporaryNames,
    /// Of LOCK TABLES; empty without it.
    locked_tables: Vec<table_locks::LockedTable>,
    /// Of the statement under way, or what the last one left.
    pub(crate) frame: Frame,
    /// Of the statements around the one under way, the outermost first, each with whether it does nothing behind it.
    pub(crate) outer_frames: Vec<(Frame, bool)>,
    /// LAST_INSERT_ID().
    pub(crate) last_insert_id: u64,
    /// ROW_COUNT().
    pub(crate) row_count: i64,
    /// FOUND_ROWS().
    pub(crate) found_rows: u64,
    /// The current database changed with the running statement.
    pub(crate) schema_changed: bool,
    /// The locks of GET_LOCK().
    user_locks: client::UserLocks,
    /// Calls of its functions so far.
    pub(crate) user_lock_calls: u64,
    /// Memory for the key that a statement looks up.
    pub(crate) key_buffer: Vec<u8>,
    /// What every command asks of the kept variables.
    limits: Cell<CommandLimits>,
    kill: Rc<KillState>,
    is_closed: bool,
}

/// Kept variables are texts by name; these are asked for with every packet or statement. Read again when a variable was set.
#[derive(Clone, Copy, Default)]
struct CommandLimits {
    /// [`Server::globals_version`] and [`Settings::kept_version`] when they were read; 0, 0 at first, which neither is.
    versions: (u64, u64),
    max_allowed_packet: u64,
    wait_timeout_seconds: u64,
    net_read_timeout_seconds: u64,
    net_write_timeout_seconds: u64,
    tmp_table_size: u64,
    tmp_space_max: u64,
    error_count_max: u64,
}

struct KillState {
    canceller: client::Canceller,
    /// A statement runs: a request may be in flight.
    running: Cell<bool>,
    query: Cell<bool>,
    connection: Cell<bool>,
    /// Of a statement that sleeps.
    sleeper: RefCell<Option<Waker>>,
}

/// Ends what a session runs, from another task of its worker (the session itself is borrowed by its statement).
#[derive(Clone)]
pub struct KillHandle {
    state: Rc<KillState>,
}

impl KillHandle {
    pub fn kill(&self, kind: KillKind) {
        match kind {
            KillKind::Query if !self.state.running.get() => return,
            KillKind::Query => self.state.query.set(true),
            KillKind::Connection => self.state.connection.set(true),
        }
        if self.state.running.get() {
            self.state.canceller.cancel();
        }
        // Taken out first: who is woken may ask for the next wake at once.
        let sleeper = self.state.sleeper.borrow_mut().take();
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
    }
    /// Was KILL CONNECTION called?
    pub fn is_connection_killed(&self) -> bool {
        self.state.connection.get()
    }
    /// 1317 if the statement is to end.
    pub(crate) fn check(&self) -> Result<(), SqlError> {
        self.state.check()
    }
    /// The output of `work`; None, at once, when KILL ends the statement before.
    pub(crate) async fn until_killed<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.state.until_killed(work).await
    }
}

impl KillState {
    fn check(&self) -> Result<(), SqlError> {
        if self.connection.get() {
            return Err(SqlError { fatal: true, ..SqlError::interrupted() });
        }
        if self.query.get() {
            return Err(SqlError::interrupted());
        }
        Ok(())
    }

    async fn until_killed<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let output = std::future::poll_fn(|context| {
            if self.check().is_err() {
                return Poll::Ready(None);
            }
            self.sleeper.replace(Some(context.waker().clone()));
            work.as_mut().poll(context).map(Some)
        })
        .await;
        self.sleeper.take();
        output
    }
}

impl Session {
    /// Fails with 1049 when the database of the handshake does not exist.
    pub fn new(
        server: Arc<Server>,
        client: client::Session,
        info: ConnectionInfo,
    ) -> Result<Session, SqlError> {
        let kill = Rc::new(KillState {
            canceller: client.canceller(),
            running: Cell::new(false),
            query: Cell::new(false),
            connection: Cell::new(false),
            sleeper: RefCell::default(),
        });
        let settings = Settings::default();
        let mut session = Session {
            savepoints: Vec::new(),
            temporary: temporary::TemporaryNames::default(),
            locked_tables: Vec::new(),
            transaction: Transaction {
                explicit: false,
                read_only: settings.read_only,
                isolation: settings.isolation,
            },
            environment: Arc::new(settings.environment(None)),
            process: server.process(info.id, info.worker),
            user_locks: client::UserLocks::new(client.client().clone(), info.id),
            user_lock_calls: 0,
            server,
            client,
            info,
            settings,
            user_variables: BTreeMap::new(),
            prepared: BTreeMap::new(),
            prepared_names: BTreeMap::new(),
            prepared_id_last: 0,
            frame: Frame::default(),
            outer_frames: Vec::new(),
            last_insert_id: 0,
            row_count: 0,
            found_rows: 0,
            schema_changed: false,
            key_buffer: Vec::new(),
            limits: Cell::default(),
            kill,
            is_closed: false,
        };
        session.set_defaults()?;
        let now = session.client.client().wall_clock_micros();
        let (info, id) = (session.info.clone(), session.client.id());
        session.update_process(|process| {
            process.user.clone_from(&info.user);
            process.host.clone_from(&info.host);
            process.command = "Sleep";
            process.since_micros = now;
            process.session = Some(id);
        });
        Ok(session)
    }

    /// Settings as of a new connection: the global values, the handshake's character set and database.
    fn set_defaults(&mut self) -> Result<(), SqlError> {
        self.settings = Settings::default();
        self.client.set_durability(None);
        self.limits.take();
        for (name, value) in self.server.globals() {
            // Checked when it was set.
            let _ = self.assign_global_default(&name, value);
        }
        // As MySQL does, a number of no collation, or of a character set that statements cannot be written in, means the default.
        let charset = match names::charset_of_number(self.info.collation_id) {
            None | Some("ucs2" | "utf16" | "utf16le" | "utf32") => Charset::Utf8mb4,
            Some(name) => {
                Charset::by_name(name).ok_or_else(|| SqlError::unknown_character_set(name))?
            }
        };
        self.settings.character_set_client = charset;
        let collation = Collation::by_id(self.info.collation_id);
        let collation = collation.unwrap_or_else(|| charset.default_collation());
        self.settings.character_set_results = Some(collation);
        self.settings.collation_connection = collation;
        if self.info.ignore_space {
            self.settings.sql_mode = self.settings.sql_mode.with(SqlMode::IGNORE_SPACE);
        }
        self.end_transaction();
        let database = match self.info.database.clone() {
            Some(database) if !database.is_empty() => Some(self.known_database(&database)?),
            _ => None,
        };
        self.set_environment(database);
        Ok(())
    }

    /// A database's own spelling; 1049 if there is none.
    pub(crate) fn known_database(&self, name: &str) -> Result<String, SqlError> {
        if let Some(schema) = crate::information_schema::schema_named(name) {
            return Ok(schema.into());
        }
        match self.catalogue().database(name) {
            Some(database) => Ok(database.name.clone()),
            None => Err(SqlError::unknown_database(name)),
        }
    }

    pub(crate) fn environment(&self) -> Arc<Environment> {
        Arc::clone(&self.environment)
    }

    pub(crate) fn set_environment(&mut self, database: Option<String>) {
        let environment = self.settings.environment(database);
        self.environment = Arc::new(self.with_temporary_version(environment));
    }

    pub(crate) fn refused(&self, refusal: Refusal) -> Failure {
        let is_timeout = matches!(refusal, Refusal::LockWaitTimeout);
        let mut failure = Failure::refused(refusal, &self.catalogue());
        if is_timeout && self.server.global("innodb_rollback_on_timeout").as_deref() == Some("ON") {
            failure.ends_transaction = true;
        }
        failure
    }

    /// What refused it belongs to another session of this one's: nothing of the statement is undone yet.
    pub(crate) fn refused_aside(&self, refusal: Refusal) -> Failure {
        Failure { is_undone: false, ..self.refused(refusal) }
    }

    pub fn kill_handle(&self) -> KillHandle {
        KillHandle { state: self.kill.clone() }
    }
    /// Was KILL CONNECTION called? The connection is then closed after the error that its statement got.
    pub fn is_killed(&self) -> bool {
        self.kill.connection.get()
    }
    pub(crate) fn check_killed(&self) -> Result<(), SqlError> {
        self.kill.check()
    }

    /// SLEEP(): over when the time is, or at once when the statement is killed.
    pub(crate) async fn sleep_until_killed(&self, milliseconds: u64) {
        self.kill.until_killed(self.client.client().sleep_ms(milliseconds)).await;
    }

    /// Runs a long computation on another thread. KILL ends the statement at once; the thread drops the result.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        compute: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SqlError> {
        self.statement_budget().compute(compute).await
    }

    /// The memory of a new statement.
    pub(crate) fn statement_budget(&self) -> Rc<Budget> {
        let CommandLimits { tmp_table_size, tmp_space_max, .. } = self.limits();
        let limits = (tmp_table_size, tmp_space_max);
        let server = (Arc::clone(&self.server), self.info.worker);
        Budget::new(limits, self.client.client().clone(), self.kill_handle(), server)
    }

    /// What every command does first.
    pub(crate) fn begin_command(&mut self) {
        self.kill.query.set(false);
        self.kill.running.set(true);
        self.schema_changed = false;
        if !self.outer_frames.is_empty() {
            // Nobody polled the last command to its end.
            self.leave_all_frames();
        }
    }
    pub(crate) fn end_command(&mut self) {
        self.kill.running.set(false);
        self.kill.query.set(false);
    }

    /// COM_INIT_DB.
    pub async fn use_database(&mut self, name: &[u8]) -> Result<(), SqlError> {
        self.begin_command();
        let name = self.decoded(name);
        self.frame.diagnostics.expect_statement();
        let result = self.change_database(&name);
        self.end_command();
        result
    }

    pub(crate) fn change_database(&mut self, name: &str) -> Result<(), SqlError> {
        let database = self.known_database(name)?;
        self.update_process(|process| {
            process.database = Some(database.clone());
        });
        self.set_environment(Some(database));
        self.schema_changed = true;
        Ok(())
    }

    /// COM_RESET_CONNECTION: rollback, drop prepared statements and user variables, defaults.
    pub async fn reset(&mut self) {
        self.rollback_transaction().await;
        self.user_locks.free().await;
        self.forget();
        // The current database stays if it is still there.
        let current = self.environment.database.clone();
        self.info.database = current.filter(|name| self.known_database(name).is_ok());
        let defaults = self.set_defaults();
        assert!(defaults.is_ok(), "the database was looked up just before");
    }

    fn forget(&mut self) {
        self.drop_all_temporary();
        self.user_variables.clear();
        self.prepared.clear();
        self.prepared_names.clear();
        self.frame = Frame::default();
        self.last_insert_id = 0;
        self.row_count = 0;
        self.found_rows = 0;
    }

    /// COM_CHANGE_USER after authentication. The connection's id and worker stay.
    pub async fn change_user(&mut self, info: ConnectionInfo) -> Result<(), SqlError> {
        self.rollback_transaction().await;
        self.user_locks.free().await;
        self.forget();
        let (id, worker) = (self.info.id, self.info.worker);
        self.info = ConnectionInfo { id, worker, ..info };
        self.set_environment(None);
        self.set_defaults()?;
        let info = self.info.clone();
        self.update_process(|process| {
            process.user.clone_from(&info.user);
            process.host.clone_from(&info.host);
            process.database.clone_from(&info.database);
        });
        Ok(())
    }

    /// COM_FIELD_LIST: the columns of a table whose names match the pattern (empty: all).
    pub async fn field_list(
        &mut self,
        table: &[u8],
        pattern: &[u8],
    ) -> Result<Vec<ColumnInfo>, SqlError> {
        let name = ast::ObjectName::new(None, self.decoded(table));
        let pattern = self.decoded(pattern);
        let catalogue = self.catalogue();
        let current = self.environment.database.as_deref();
        if let Some(view) = crate::bind::view::find_view(&catalogue, current, &name) {
            let mut columns = self.view_columns(view)?;
            let is_wanted = |name: &str| {
                pattern.is_empty() || Collation::default().like(name, &pattern, Some('\\'))
            };
            columns.retain(|column| is_wanted(&column.name));
            return Ok(columns);
        }
        let table = crate::bind::find_table(&catalogue, current, &name)?;
        let visible = (0..table.columns.len()).filter(|&column| {
            let own = &table.columns[column];
            !own.hidden
                && (pattern.is_empty()
                    || Collation::default().like(&own.name, &pattern, Some('\\')))
        });
        Ok(visible.map(|column| crate::bind::column_info(&table, column, &table.name)).collect())
    }

    pub fn warning_count(&self) -> u16 {
        u16::try_from(self.frame.diagnostics.count()).unwrap_or(u16::MAX)
    }
    /// A name that a command carries beside a statement, in the client's character set.
    fn decoded(&self, bytes: &[u8]) -> String {
        let bytes = self.settings.character_set_client.decode(bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// What the client writes in: parameters of prepared statements are in it.
    pub fn character_set_client(&self) -> Charset {
        self.settings.literal_charset()
    }
    /// Of string literals and of parameters that are characters.
    pub fn collation_connection(&self) -> Collation {
        self.settings.collation_connection
    }

    /// COM_STATISTICS.
    pub fn server_status_text(&self) -> String {
        let now = self.client.client().wall_clock_micros();
        let uptime = self.server.uptime_seconds(now);
        let questions = self.server.total(|own| &own.questions);
        format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: 0  Flush tables: 0  \
             Open tables: {}  Queries per second avg: {:.3}",
            self.server.connection_count(),
            self.server.total(|own| &own.slow),
            self.catalogue().tables.len(),
            questions as f64 / uptime.max(1) as f64,
        )
    }

    /// Rolls back, frees its user-level locks, and unregisters the connection, whose number another one may have then. Called once,
    /// when the connection is gone.
    pub async fn close(&mut self) {
        if self.is_closed {
            return;
        }
        self.is_closed = true;
        self.client.rollback().await;
        self.user_locks.free().await;
        self.forget();
        self.server.unregister(self.info.id);
    }

    pub fn database(&self) -> Option<&str> {
        self.environment.database.as_deref()
    }
    pub fn connection_info(&self) -> &ConnectionInfo {
        &self.info
    }
    /// COM_SET_OPTION: whether a text may hold several statements.
    pub fn set_multi_statements(&mut self, allowed: bool) {
        self.info.multi_statements = allowed;
    }
    pub fn max_allowed_packet(&self) -> u64 {
        self.limits().max_allowed_packet
    }
    fn limits(&self) -> CommandLimits {
        let versions = (self.server.globals_version(), self.settings.kept_version);
        let known = self.limits.get();
        if known.versions == versions {
            return known;
        }
        let own = if self.info.interactive && !self.settings.kept.contains_key("wait_timeout") {
            "interactive_timeout"
        } else {
            "wait_timeout"
        };
        let limits = CommandLimits {
            versions,
            max_allowed_packet: self.kept_number("max_allowed_packet"),
            wait_timeout_seconds: self.kept_number(own),
            net_read_timeout_seconds: self.kept_number("net_read_timeout"),
            net_write_timeout_seconds: self.kept_number("net_write_timeout"),
            tmp_table_size: self.kept_number("tmp_table_size"),
            tmp_space_max: self.kept_number("max_tmp_total_space_usage"),
            error_count_max: self.kept_number("max_error_count"),
        };
        self.limits.set(limits);
        limits
    }
    /// Conditions of a statement that its diagnostics keep.
    pub(crate) fn error_count_max(&self) -> u64 {
        self.limits().error_count_max
    }
    /// Seconds without a statement after which the connection is closed (interactive_timeout for interactive ones).
    pub fn wait_timeout_seconds(&self) -> u64 {
        self.limits().wait_timeout_seconds
    }
    pub fn net_read_timeout_seconds(&self) -> u64 {
        self.limits().net_read_timeout_seconds
    }
    pub fn net_write_timeout_seconds(&self) -> u64 {
        self.limits().net_write_timeout_seconds
    }

    /// Shows in the process list what a long statement is doing, until it ends.
    pub(crate) fn show_progress(&self, progress: Option<String>) {
        self.update_process(|process| process.progress = progress);
    }
    fn update_process(&self, update: impl FnOnce(&mut ProcessInfo)) {
        update(&mut process_lock(&self.process));
    }
    fn counters(&self) -> &Counters {
        self.server.counters(self.info.worker)
    }

    /// An OK without rows.
    pub(crate) fn ok_info(&self, more_results: bool) -> OkInfo {
        OkInfo {
            warnings: self.warning_count(),
            more_results,
            flags: self.status_flags(),
            ..OkInfo::default()
        }
    }

    /// Remembers an error for SHOW WARNINGS and counts it.
    pub(crate) fn note_error(&mut self, error: &SqlError) {
        Counters::add(&self.counters().errors, 1);
        self.row_count = -1;
        self.frame.diagnostics.begin_once();
        self.push_condition(SqlWarning {
            level: WarningLevel::Error,
            code: error.code,
            message: error.message.clone(),
        });
    }

    pub(crate) fn note(&mut self, level: WarningLevel, error: SqlError) {
        if level == WarningLevel::Note && !self.settings.sql_notes {
            return;
        }
        self.push_condition(SqlWarning { level, code: error.code, message: error.message });
    }
}

impl SessionValues for Session {
    fn user_variable(&self, name: &str) -> Option<&Value> {
        self.user_variables.get(name)
    }
    fn system_variable(&self, scope: ast::VariableScope, name: &str) -> Result<Value, SqlError> {
        self.read_variable(scope, name)
    }
    fn user(&self) -> String {
        let host =
            self.info.host.rsplit_once(':').map_or(self.info.host.as_str(), |(host, _)| host);
        format!("{}@{host}", self.info.user)
    }
    fn current_user(&self) -> String {
        self.info.account.to_string()
    }
    fn version(&self) -> String {
        self.server.config().version_text.clone()
    }
    fn connection_id(&self) -> u32 {
        self.info.id
    }
    fn time_zone_offset_seconds(&self) -> i32 {
        self.settings.time_zone_offset_seconds
    }
    fn statistics(&self, table: TableId) -> Option<Arc<TableStatistics>> {
        match table.is_temporary() {
            true => {
                Some(Arc::new(TableStatistics::counted(self.client.temporary_row_count(table))))
            }
            false => self.server.statistics(table),
        }
    }
    fn now_micros(&self) -> i64 {
        self.client.client().wall_clock_micros()
    }
    fn check_locked(&self, database: &str, name: &str, writes: bool) -> Result<(), SqlError> {
        Session::check_locked(self, database, name, writes)
    }
}

/// A value as SET sees it: text of anything but NULL.
pub fn value_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => Some(to_text(value.as_ref()).into_owned()),
    }
}

/// The code for "no such statement" and friends needs a name for COM_STMT_* commands.
pub(crate) fn unknown_handler(id: u32, command: &str) -> SqlError {
    SqlError::new(
        code::ER_UNKNOWN_STMT_HANDLER,
        format!("Unknown prepared statement handler ({id}) given to {command}"),
    )
}
