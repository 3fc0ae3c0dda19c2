//! The task of a connection: greeting and login, then one command after the other.
//!
//! Errors of two kinds: those of a statement are answered and the connection goes on; those of the protocol (packets out
//! of order, too long, or not what their command looks like) are answered and end it, because what follows cannot be trusted.

use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use sql::{ConnectionInfo, ResultSink, SqlError, StatusFlags, code};
use types::contain::contained;
use types::{AccountName, Value};

use crate::auth::Plugin;
use crate::backend::{Backend, Host};
use crate::capabilities as cap;
use crate::command::{self, Command, ExecuteError, Parameter, ParameterType};
use crate::connection::{ConnectionConfig, ConnectionStart, Shared, Transport};
use crate::handshake::{
    self, FirstPacket, HandshakeResponse, SCRAMBLE_SIZE, parse_change_user, put_greeting, text_of,
};
use crate::limits::{PACKET_BEFORE_AUTH_MAX, PACKET_MAX};
use crate::login::LoginError;
use crate::parameters::{bytes_value, value_of};
use crate::pipe::{Disconnect, ReadEnd, read_packet};
use crate::sink::{self, Sink, status_bits};

/// Error numbers that only the protocol knows.
mod wire_code {
    pub const ER_NOT_SUPPORTED_AUTH_MODE: u16 = 1251;
    pub const ER_ILLEGAL_VALUE_FOR_TYPE: u16 = 1367;
    pub const ER_STMT_HAS_NO_OPEN_CURSOR: u16 = 1421;
    pub const ER_MALFORMED_PACKET: u16 = 1835;
    pub const ER_SECURE_TRANSPORT_REQUIRED: u16 = 3159;
    pub const ER_CLIENT_INTERACTION_TIMEOUT: u16 = 4031;
}

/// The collation of clients that name none.
const DEFAULT_COLLATION_ID: u16 = 255;

/// The task's side of a connection.
pub(crate) struct Task<H: Host> {
    pub host: H,
    pub config: Arc<ConnectionConfig>,
    pub start: ConnectionStart,
    pub scramble: [u8; SCRAMBLE_SIZE],
    pub shared: Rc<Shared>,
    pub tls_is_on: bool,
    /// What both sides agreed to.
    capabilities: u32,
    /// Prepared statements by id, of which the session knows more.
    statements: BTreeMap<u32, Statement>,
    /// Bytes of long data in `statements`, which together are bounded by max_allowed_packet.
    long_data_size: usize,
}

/// A client that changes its user is to have proved it after so long.
const LOGIN_AGAIN_SECONDS: u64 = 10;

/// The wire's side of a prepared statement.
#[derive(Default)]
struct Statement {
    /// As bound by the last execution that bound any.
    types: Vec<ParameterType>,
    /// Sent ahead by COM_STMT_SEND_LONG_DATA, by parameter.
    long_data: BTreeMap<u16, Vec<u8>>,
    /// The long data was too much, or for a parameter that is not there; the next execution says so.
    long_data_refused: bool,
}

/// The connection ends; what there was to say has been said.
struct End;

impl<H: Host> Drop for Task<H> {
    /// The registration goes with the task, also when the driver drops it in the middle.
    fn drop(&mut self) {
        self.host.unregister(self.start.id);
    }
}

impl<H: Host> Task<H> {
    pub fn new(
        host: H,
        config: Arc<ConnectionConfig>,
        start: ConnectionStart,
        scramble: [u8; SCRAMBLE_SIZE],
        shared: Rc<Shared>,
    ) -> Task<H> {
        Task {
            host,
            config,
            start,
            scramble,
            shared,
            tls_is_on: false,
            capabilities: 0,
            statements: BTreeMap::new(),
            long_data_size: 0,
        }
    }

    /// Serves the connection to its end. A panic ends it; those of statements end their statement before that.
    pub async fn run(mut self) {
        let result = contained(pin!(Some(self.run_commands()))).await;
        if let Err(panicked) = result {
            self.put_error(code::ER_INTERNAL_ERROR, &panicked.message());
        }
        self.shared.kill.borrow_mut().take();
        self.shared.pipe.borrow_mut().close();
    }

    async fn run_commands(&mut self) {
        let mut payload = Vec::new();
        if let Ok(info) = self.greet_and_log_in(&mut payload).await {
            match self.host.open(info) {
                Ok(session) => self.serve(session, payload).await,
                Err(error) => self.put_sql_error(&error),
            }
        }
    }

    pub fn put_packet(&self, write: impl FnOnce(&mut Vec<u8>)) {
        self.shared.pipe.borrow_mut().put_packet(write);
    }
    fn put_error(&self, code: u16, message: &str) {
        sink::put_error(&self.shared.pipe, code, message);
    }
    fn put_sql_error(&self, error: &SqlError) {
        self.put_error(error.code, &error.message);
    }

    /// Says why there will be no next packet, where somebody listens.
    fn end_read(&self, end: ReadEnd) -> End {
        match end {
            ReadEnd::Gone | ReadEnd::Disconnect(Disconnect::Killed) => {}
            ReadEnd::OutOfOrder => {
                self.put_error(code::ER_NET_PACKETS_OUT_OF_ORDER, "Got packets out of order")
            }
            ReadEnd::TooLarge => self.put_error(
                code::ER_NET_PACKET_TOO_LARGE,
                "Got a packet bigger than 'max_allowed_packet' bytes",
            ),
            ReadEnd::Disconnect(Disconnect::Idle) => self.put_error(
                wire_code::ER_CLIENT_INTERACTION_TIMEOUT,
                "The client was disconnected by the server because of inactivity. See \
                 wait_timeout and interactive_timeout for configuring this behavior.",
            ),
            ReadEnd::Disconnect(Disconnect::Shutdown) => {
                self.put_error(code::ER_SERVER_SHUTDOWN, "Server shutdown in progress");
            }
        }
        End
    }
    fn end_malformed(&self) -> End {
        self.put_error(wire_code::ER_MALFORMED_PACKET, "Malformed communication packet.");
        End
    }
    fn end_bad_handshake(&self) -> End {
        self.put_error(code::ER_HANDSHAKE_ERROR, "Bad handshake");
        End
    }

    async fn read(&self, payload: &mut Vec<u8>, size_max: usize) -> Result<(), End> {
        read_packet(&self.shared.pipe, payload, size_max).await.map_err(|end| self.end_read(end))
    }

    async fn greet_and_log_in(&mut self, payload: &mut Vec<u8>) -> Result<ConnectionInfo, End> {
        let mut offered = cap::OFFERED;
        if self.config.tls.is_some() {
            offered |= cap::SSL;
        }
        let (id, scramble) = (self.start.id, self.scramble);
        let version = self.host.version();
        let status = status_bits(StatusFlags { autocommit: true, ..Default::default() }, false);
        let plugin = Plugin::CachingSha2.name();
        self.put_packet(|out| {
            put_greeting(out, version, id, &scramble, offered, status, plugin);
        });
        let response = self.read_response(payload).await?;
        self.capabilities = response.capabilities & offered;
        if self.config.tls_required
            && !self.tls_is_on
            && self.start.transport != Transport::UnixSocket
        {
            self.put_error(
                wire_code::ER_SECURE_TRANSPORT_REQUIRED,
                "Connections using insecure transport are prohibited while \
                 --require_secure_transport=ON.",
            );
            return Err(End);
        }
        let logged_in = self.log_in(&response, payload).await;
        let account = logged_in.map_err(|error| self.end_login(error))?;
        self.shared.pipe.borrow_mut().set_authenticated();
        Ok(self.connection_info(response, account))
    }

    fn end_login(&self, error: LoginError) -> End {
        match error {
            LoginError::Read(end) => self.end_read(end),
            LoginError::Denied => End,
        }
    }

    async fn read_response(&mut self, payload: &mut Vec<u8>) -> Result<HandshakeResponse, End> {
        loop {
            self.read(payload, PACKET_BEFORE_AUTH_MAX).await?;
            let first = handshake::parse_first_packet(payload, self.tls_is_on)
                .map_err(|_| self.end_bad_handshake())?;
            match first {
                FirstPacket::Response(response) => return Ok(response),
                FirstPacket::TooOld => {
                    self.put_error(
                        wire_code::ER_NOT_SUPPORTED_AUTH_MODE,
                        "Client does not support authentication protocol requested by server; \
                         consider upgrading MySQL client",
                    );
                    return Err(End);
                }
                FirstPacket::TlsRequest { .. } => {
                    let Some(tls) = &self.config.tls else { return Err(self.end_bad_handshake()) };
                    self.shared.pipe.borrow_mut().start_tls(tls);
                    self.tls_is_on = true;
                }
            }
        }
    }

    fn connection_info(&self, response: HandshakeResponse, account: AccountName) -> ConnectionInfo {
        let has = |capability: u32| self.capabilities & capability != 0;
        let collation_id = match response.collation_id {
            0 => DEFAULT_COLLATION_ID,
            id => id,
        };
        let (tls_cipher, tls_version) = self.shared.pipe.borrow().tls_names().unzip();
        ConnectionInfo {
            id: self.start.id,
            worker: self.start.worker,
            account,
            user: text_of(&response.user),
            host: self.start.transport.host().to_string(),
            database: response.database.as_deref().map(text_of),
            collation_id,
            found_rows: has(cap::FOUND_ROWS),
            multi_statements: has(cap::MULTI_STATEMENTS),
            ignore_space: has(cap::IGNORE_SPACE),
            interactive: has(cap::INTERACTIVE),
            attributes: response.attributes,
            tls_cipher,
            tls_version,
        }
    }

    async fn serve(&mut self, mut session: H::Session, mut payload: Vec<u8>) {
        *self.shared.kill.borrow_mut() = Some(session.killer().into());
        let mut sink = Sink::new(self.shared.clone(), self.capabilities);
        sink.put_plain_ok(session.status_flags());
        loop {
            self.shared.pipe.borrow_mut().restart_sequence();
            self.shared.idle_timeout_seconds.set(Some(session.wait_timeout_seconds()));
            self.shared.write_timeout_seconds.set(session.write_timeout_seconds());
            self.shared.read_timeout_seconds.set(session.read_timeout_seconds());
            let size_max = packet_size_max(&session);
            let read = self.read(&mut payload, size_max).await;
            self.shared.idle_timeout_seconds.set(None);
            if read.is_err() {
                break;
            }
            let ended = self.on_packet(&mut session, &mut sink, &mut payload).await.is_err();
            if ended || sink.fatal || session.is_killed() {
                break;
            }
        }
        session.close().await;
    }

    async fn on_packet(
        &mut self,
        session: &mut H::Session,
        sink: &mut Sink,
        payload: &mut Vec<u8>,
    ) -> Result<(), End> {
        let command =
            command::parse(payload, self.capabilities).map_err(|_| self.end_malformed())?;
        sink.begin(session.status_flags());
        match command {
            Command::Query { text } => {
                session.query(text, sink).await;
                sink.finish_file().await;
            }
            Command::StatementExecute { statement_id, body } => {
                self.on_execute(session, sink, statement_id, body).await?;
            }
            Command::StatementPrepare { text } => match session.prepare(text).await {
                Ok(prepared) => {
                    self.statements.insert(prepared.id, Statement::default());
                    sink.put_prepared(&prepared);
                }
                Err(error) => sink.error(&error),
            },
            Command::StatementSendLongData { statement_id, parameter_index, data } => {
                self.on_long_data(session, statement_id, parameter_index, data);
            }
            Command::StatementClose { statement_id } => {
                self.take_long_data(statement_id);
                self.statements.remove(&statement_id);
                session.close_statement(statement_id);
            }
            Command::StatementReset { statement_id } => {
                self.take_long_data(statement_id);
                let result = session.reset_statement(statement_id);
                self.answer(session, sink, result);
            }
            Command::StatementFetch { statement_id } => sink.put_error(
                wire_code::ER_STMT_HAS_NO_OPEN_CURSOR,
                &format!("The statement ({statement_id}) has no open cursor."),
            ),
            Command::Quit => return Err(End),
            Command::Ping => sink.put_plain_ok(session.status_flags()),
            Command::InitDb { database } => {
                let result = session.use_database(database).await;
                self.answer(session, sink, result);
            }
            Command::FieldList { table, pattern } => {
                match session.field_list(table, pattern).await {
                    Ok(columns) => sink.put_field_list(&columns, session.status_flags()),
                    Err(error) => sink.error(&error),
                }
            }
            Command::Statistics => {
                let text = session.statistics();
                self.put_packet(|out| out.extend_from_slice(text.as_bytes()));
            }
            Command::ProcessInfo => session.query(b"SHOW PROCESSLIST", sink).await,
            Command::ProcessKill { connection_id } => {
                session.query(format!("KILL {connection_id}").as_bytes(), sink).await;
            }
            Command::Debug => sink.put_plain_end(session.status_flags()),
            Command::SetOption { option: option @ (0 | 1) } => {
                session.set_multi_statements(option == 0);
                sink.put_plain_end(session.status_flags());
            }
            Command::SetOption { .. } | Command::Unknown { .. } => {
                sink.put_error(code::ER_UNKNOWN_COM_ERROR, "Unknown command");
            }
            Command::ResetConnection => {
                self.forget_statements();
                session.reset().await;
                sink.put_plain_ok(session.status_flags());
            }
            Command::ChangeUser { body } => {
                let response =
                    parse_change_user(body, self.capabilities).map_err(|_| self.end_malformed())?;
                self.on_change_user(session, sink, response, payload).await?;
            }
        }
        Ok(())
    }

    fn answer(&self, session: &H::Session, sink: &mut Sink, result: Result<(), SqlError>) {
        match result {
            Ok(()) => sink.put_plain_ok(session.status_flags()),
            Err(error) => sink.error(&error),
        }
    }

    async fn on_change_user(
        &mut self,
        session: &mut H::Session,
        sink: &mut Sink,
        response: HandshakeResponse,
        payload: &mut Vec<u8>,
    ) -> Result<(), End> {
        // Before the client is asked anything: it may never answer, and what it has locked would stay.
        self.forget_statements();
        session.reset().await;
        self.shared.idle_timeout_seconds.set(Some(LOGIN_AGAIN_SECONDS));
        let logged_in = self.log_in(&response, payload).await;
        self.shared.idle_timeout_seconds.set(None);
        let account = logged_in.map_err(|error| self.end_login(error))?;
        let info = self.connection_info(response, account);
        match session.change_user(info).await {
            Ok(()) => {
                sink.put_plain_ok(session.status_flags());
                Ok(())
            }
            Err(error) => {
                self.put_sql_error(&error);
                Err(End)
            }
        }
    }

    fn forget_statements(&mut self) {
        self.statements.clear();
        self.long_data_size = 0;
    }

    /// There is no answer to this command: what is wrong is said by the next execution.
    fn on_long_data(
        &mut self,
        session: &H::Session,
        statement_id: u32,
        parameter_index: u16,
        data: &[u8],
    ) {
        let Some(statement) = self.statements.get_mut(&statement_id) else { return };
        let known = session.param_count(statement_id).is_some_and(|count| parameter_index < count);
        if !known || self.long_data_size + data.len() > packet_size_max(session) {
            statement.long_data_refused = true;
            return;
        }
        self.long_data_size += data.len();
        statement.long_data.entry(parameter_index).or_default().extend_from_slice(data);
    }

    /// What was sent for the statement, and whether some of it was refused: from now on there is nothing.
    fn take_long_data(&mut self, statement_id: u32) -> (BTreeMap<u16, Vec<u8>>, bool) {
        let Some(statement) = self.statements.get_mut(&statement_id) else {
            return (BTreeMap::new(), false);
        };
        let taken = std::mem::take(&mut statement.long_data);
        let size: usize = taken.values().map(Vec::len).sum();
        self.long_data_size =
            self.long_data_size.checked_sub(size).expect("every byte was counted once");
        (taken, std::mem::take(&mut statement.long_data_refused))
    }

    async fn on_execute(
        &mut self,
        session: &mut H::Session,
        sink: &mut Sink,
        statement_id: u32,
        body: &[u8],
    ) -> Result<(), End> {
        // Also when this fails: sent again it would go behind what is there.
        let (long_data, is_refused) = self.take_long_data(statement_id);
        let known = session.param_count(statement_id).zip(self.statements.get_mut(&statement_id));
        let Some((count, statement)) = known else {
            let message = format!(
                "Unknown prepared statement handler ({statement_id}) given to mysqld_stmt_execute"
            );
            sink.put_error(code::ER_UNKNOWN_STMT_HANDLER, &message);
            return Ok(());
        };
        let types = &mut statement.types;
        if is_refused {
            sink.put_error(
                code::ER_UNKNOWN_ERROR,
                "Parameter of prepared statement which is set through mysql_send_long_data() is \
                 longer than 'max_allowed_packet' bytes or not there",
            );
            return Ok(());
        }
        let is_long = |index: usize| long_data.contains_key(&(index as u16));
        let parsed =
            command::parse_execute(body, usize::from(count), self.capabilities, types, is_long);
        let parameters = match parsed {
            Ok(parameters) => parameters,
            Err(ExecuteError::Malformed) => return Err(self.end_malformed()),
            Err(ExecuteError::WrongArguments) => {
                let message = "Incorrect arguments to mysqld_stmt_execute";
                sink.put_error(code::ER_WRONG_ARGUMENTS, message);
                return Ok(());
            }
        };
        let (charset, collation) = (session.client_charset(), session.literal_collation());
        let mut values: Vec<Value> = Vec::with_capacity(parameters.len());
        for (index, parameter) in parameters.into_iter().enumerate() {
            let value = match (parameter, long_data.get(&(index as u16))) {
                (Parameter::Long { text }, Some(data)) => {
                    Ok(bytes_value(data, text, charset, collation))
                }
                (parameter, _) => value_of(parameter, charset, collation),
            };
            match value {
                Ok(value) => values.push(value),
                Err(illegal) => {
                    let (kind, text) = (illegal.kind, illegal.text);
                    let message = format!("Illegal {kind} '{text}' value found during parsing");
                    sink.put_error(wire_code::ER_ILLEGAL_VALUE_FOR_TYPE, &message);
                    return Ok(());
                }
            }
        }
        sink.binary = true;
        session.execute(statement_id, values, sink).await;
        Ok(())
    }
}

fn packet_size_max(session: &impl Backend) -> usize {
    usize::try_from(session.max_allowed_packet()).unwrap_or(PACKET_MAX).min(PACKET_MAX)
}
