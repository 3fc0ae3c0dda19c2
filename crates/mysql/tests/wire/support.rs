//! A scripted SQL layer, an executor of one task, and a client that knows no manners.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use mysql::capabilities as cap;
use mysql::limits::{CHUNK_MAX, HEADER_SIZE};
use mysql::{Backend, Connection, ConnectionConfig, ConnectionStart, Host, Transport};
use sql::{
    ColumnFlags, ColumnInfo, ConnectionId, ConnectionInfo, KillKind, OkInfo, PreparedInfo,
    ResultSink, SqlError, StatusFlags,
};
use types::account::{AuthPlugin, ClientHost, TlsRequirement};
use types::{
    Account, AccountName, Collation, ColumnType, Date, DateTime, Decimal, IntWidth, Time, Value,
    ValueRef, WorkerId,
};

/// What happened behind the connection, one line each.
pub type Log = Rc<RefCell<Vec<String>>>;

/// A node with accounts: root without a password, `nat` with mysql_native_password, the others with
/// caching_sha2_password, whose hash the node knows for some. The password is "secret" each time.
pub struct ScriptedHost {
    pub log: Log,
}

pub const PASSWORD: &[u8] = b"secret";

impl Host for ScriptedHost {
    type Session = Scripted;
    fn version(&self) -> &str {
        "8.0.40-test"
    }
    fn account(&self, user: &str, host: ClientHost) -> Option<Arc<Account>> {
        let account = Account::new(AccountName::new(user, "%"));
        let sha2 = || types::password::sha2_text(PASSWORD, &[7; 20]);
        let native = || types::password::native_text(PASSWORD).into_bytes();
        let account = match user {
            "root" if host.is_local => account,
            "nat" => Account { plugin: AuthPlugin::Native, secret: native(), ..account },
            "sha" | "new" => Account { secret: sha2(), ..account },
            "locked" => Account { secret: sha2(), is_locked: true, ..account },
            "expired" => Account { secret: sha2(), is_expired: true, ..account },
            "two" => Account {
                secret: types::password::sha2_text(b"other", &[8; 20]),
                secret_before: Some(sha2()),
                ..account
            },
            "tls" => Account { tls: TlsRequirement::Ssl, ..account },
            "nobody" => Account { plugin: AuthPlugin::NoLogin, ..account },
            _ => return None,
        };
        Some(Arc::new(account))
    }
    fn fast_hash(&self, account: &Account) -> Option<[u8; 32]> {
        let is_known = matches!(&*account.name.user, "sha" | "locked" | "expired");
        is_known.then(|| types::password::sha2_fast_hash(PASSWORD))
    }
    fn keep_fast_hash(&self, account: &Account, secret: Vec<u8>, hash: [u8; 32]) {
        assert!(types::password::sha2_text_matches(PASSWORD, &secret));
        assert_eq!(hash, types::password::sha2_fast_hash(PASSWORD));
        self.log.borrow_mut().push(format!("keep hash of {}", account.name));
    }
    async fn matching_secret(&self, password: Vec<u8>, stored: Vec<Vec<u8>>) -> Option<Vec<u8>> {
        stored.into_iter().find(|text| types::password::sha2_text_matches(&password, text))
    }
    fn open(&mut self, info: ConnectionInfo) -> Result<Scripted, SqlError> {
        self.log.borrow_mut().push(format!(
            "open {} {:?} {} {} {:?}",
            info.user, info.database, info.collation_id, info.found_rows, info.attributes
        ));
        if info.database.as_deref() == Some("nowhere") {
            return Err(error(1049, "Unknown database 'nowhere'", false));
        }
        Ok(Scripted {
            log: self.log.clone(),
            statements: BTreeMap::new(),
            statement_id_last: 0,
            killed: Rc::default(),
        })
    }
    fn unregister(&self, id: ConnectionId) {
        self.log.borrow_mut().push(format!("unregister {id}"));
    }
}

fn error(code: u16, message: &str, fatal: bool) -> SqlError {
    SqlError { code, message: message.into(), fatal }
}

#[derive(Default)]
struct Killed {
    kind: Cell<Option<KillKind>>,
    waker: RefCell<Option<Waker>>,
}

/// A session that does what its statements say; see `query`.
pub struct Scripted {
    log: Log,
    statements: BTreeMap<u32, u16>,
    statement_id_last: u32,
    killed: Rc<Killed>,
}

pub fn column(name: &str, column_type: ColumnType) -> ColumnInfo {
    let collation_id = column_type.collation().map_or(63, |collation| collation.id());
    ColumnInfo {
        coercibility: types::expr::Coercibility::Implicit,
        schema: "shop".into(),
        table: "orders".into(),
        table_alias: "o".into(),
        name: name.into(),
        org_name: name.to_uppercase(),
        decimals: column_type.decimals(),
        display: types::NumberDisplay::default(),
        length: column_type.display_length(),
        nullable: true,
        flags: ColumnFlags::default(),
        collation_id,
        null_type: false,
        column_type,
    }
}

const FLAGS: StatusFlags = StatusFlags {
    in_transaction: false,
    in_read_only_transaction: false,
    autocommit: true,
    no_backslash_escapes: false,
    results: Some(types::Collation::DEFAULT),
    schema_changed: false,
};

fn ok_info() -> OkInfo {
    OkInfo { flags: FLAGS, ..OkInfo::default() }
}

/// Every column type with a value of it, as the oracle prints it.
pub fn all_types() -> Vec<(ColumnType, Value, &'static str)> {
    let int = |width, unsigned| ColumnType::Int { width, unsigned };
    let collation = Collation::default();
    let text = |text: &str| Value::Text(text.into(), collation);
    let day = Date::new(2024, 2, 29).unwrap();
    let moment = |micros| DateTime::new(day, 13, 5, 9, micros).unwrap();
    vec![
        (int(IntWidth::W1, false), Value::Int(-128), "-128"),
        (int(IntWidth::W1, true), Value::UInt(255), "255"),
        (int(IntWidth::W2, false), Value::Int(-32768), "-32768"),
        (int(IntWidth::W2, true), Value::UInt(65535), "65535"),
        (int(IntWidth::W3, false), Value::Int(-8_388_608), "-8388608"),
        (int(IntWidth::W3, true), Value::UInt(16_777_215), "16777215"),
        (int(IntWidth::W4, false), Value::Int(-2_147_483_648), "-2147483648"),
        (int(IntWidth::W4, true), Value::UInt(4_294_967_295), "4294967295"),
        (int(IntWidth::W8, false), Value::Int(i64::MIN), "-9223372036854775808"),
        (int(IntWidth::W8, true), Value::UInt(u64::MAX), "18446744073709551615"),
        (ColumnType::Float, Value::Float(1.5), "1.5"),
        (ColumnType::Double, Value::Double(-0.25), "-0.25"),
        (
            ColumnType::Decimal { precision: 10, scale: 3, unsigned: false },
            Value::Decimal(Decimal::parse("-12.340").unwrap()),
            "-12.340",
        ),
        (ColumnType::Char { length: 3, collation }, text("å"), "å"),
        (ColumnType::Varchar { length: 30, collation }, text("vår"), "vår"),
        (ColumnType::Text { bytes_max: 65535, collation }, text(""), ""),
        (ColumnType::Binary { length: 2 }, Value::Bytes([0, 255].into()), "\0\u{fffd}"),
        (ColumnType::Varbinary { length: 2 }, Value::Bytes((*b"ab").into()), "ab"),
        (ColumnType::Blob { bytes_max: 65535 }, Value::Bytes([].into()), ""),
        (ColumnType::Date, Value::Date(day), "2024-02-29"),
        (ColumnType::Date, Value::Date(Date::ZERO), "0000-00-00"),
        (
            ColumnType::Time { fsp: 0 },
            Value::Time(Time::new(true, 838, 59, 59, 0).unwrap()),
            "-838:59:59",
        ),
        (
            ColumnType::Time { fsp: 3 },
            Value::Time(Time::new(false, 1, 2, 3, 450_000).unwrap()),
            "01:02:03.450",
        ),
        (ColumnType::Time { fsp: 0 }, Value::Time(Time::ZERO), "00:00:00"),
        (ColumnType::DateTime { fsp: 0 }, Value::DateTime(moment(0)), "2024-02-29 13:05:09"),
        (ColumnType::DateTime { fsp: 6 }, Value::DateTime(moment(7)), "2024-02-29 13:05:09.000007"),
        (
            ColumnType::DateTime { fsp: 0 },
            Value::DateTime(day.at_midnight()),
            "2024-02-29 00:00:00",
        ),
        (ColumnType::Timestamp { fsp: 0 }, Value::DateTime(DateTime::ZERO), "0000-00-00 00:00:00"),
        (int(IntWidth::W8, false), Value::Null, "NULL"),
    ]
}

impl Scripted {
    fn note(&self, line: String) {
        self.log.borrow_mut().push(line);
    }
    /// The output of `work`, or None, answered with its error, when it is killed before.
    async fn until_killed<T>(
        &self,
        work: impl Future<Output = T>,
        sink: &mut dyn ResultSink,
    ) -> Option<T> {
        let killed = self.killed.clone();
        let mut work = std::pin::pin!(work);
        let output = poll_fn(|context| {
            if killed.kind.get().is_some() {
                return Poll::Ready(None);
            }
            *killed.waker.borrow_mut() = Some(context.waker().clone());
            work.as_mut().poll(context).map(Some)
        })
        .await;
        if output.is_none() {
            let is_query = killed.kind.get() == Some(KillKind::Query);
            sink.error(&error(1317, "Query execution was interrupted", !is_query));
            if is_query {
                killed.kind.set(None);
            }
        }
        output
    }
    async fn load(&self, text: &str, sink: &mut dyn ResultSink) {
        if !sink.sends_files() {
            return sink.error(&error(3948, "Loading local data is disabled", false));
        }
        sink.request_file("data.csv");
        let limit = text.strip_prefix("load ").and_then(|n| n.parse::<usize>().ok());
        let (mut size, mut sum) = (0, 0);
        while limit.is_none_or(|limit| size < limit) {
            let killed = self.killed.clone();
            let next = {
                let mut piece = sink.file_piece();
                poll_fn(|context| {
                    if killed.kind.get().is_some() {
                        return Poll::Ready(Err(error(1317, "interrupted", true)));
                    }
                    *killed.waker.borrow_mut() = Some(context.waker().clone());
                    piece.as_mut().poll(context)
                })
                .await
            };
            match next {
                Ok(Some(piece)) => {
                    assert!(!piece.is_empty());
                    size += piece.len();
                    sum += piece.iter().map(|&byte| u64::from(byte)).sum::<u64>();
                }
                Ok(None) => {
                    self.note(format!("file of {size} bytes, sum {sum}"));
                    return sink.ok(&ok_info());
                }
                Err(failure) => return sink.error(&failure),
            }
            match text {
                "load panic" => {
                    let panicked = types::contain::contain(|| -> () { panic!("for the test") });
                    return sink.error(&error(1815, &panicked.unwrap_err().message(), false));
                }
                "load wait" => {
                    self.until_killed(poll_fn(|_| Poll::<()>::Pending), sink).await;
                    return;
                }
                _ => {}
            }
        }
        sink.error(&error(1366, "Incorrect integer value", false));
    }
}

impl Backend for Scripted {
    fn killer(&self) -> Box<dyn Fn(KillKind)> {
        let killed = self.killed.clone();
        Box::new(move |kind| {
            killed.kind.set(Some(kind));
            if let Some(waker) = killed.waker.take() {
                waker.wake();
            }
        })
    }
    fn is_killed(&self) -> bool {
        self.killed.kind.get() == Some(KillKind::Connection)
    }
    /// `types`: a row of every type. `rows N`: that many rows. `big N`: a row with a text of N bytes. `fail`, `fatal`, `late`
    /// (an error behind a row). `two`: two results. `wait`: until it is killed. `load`: takes a file; `load N`: fails when it
    /// has N bytes of it; `load panic`, `load wait`: does that behind its first bytes. Else OK.
    async fn query(&mut self, text: &[u8], sink: &mut dyn ResultSink) {
        let text = String::from_utf8_lossy(&text[..text.len().min(100)]).into_owned();
        self.note(format!("query {text}"));
        let number = |prefix: &str| text.strip_prefix(prefix).and_then(|n| n.parse::<usize>().ok());
        let words = ColumnType::Text { bytes_max: 1 << 24, collation: Collation::default() };
        let number_column = column("n", ColumnType::Int { width: IntWidth::W8, unsigned: false });
        if text == "types" {
            let all = all_types();
            let columns: Vec<_> = all.iter().map(|(t, _, _)| column("c", t.clone())).collect();
            sink.columns(&columns);
            sink.row(&all.iter().map(|(_, value, _)| value.as_ref()).collect::<Vec<_>>());
            sink.end_of_rows(&ok_info());
        } else if let Some(count) = number("rows ") {
            sink.columns(&[number_column]);
            for index in 0..count.min(1_000_000) {
                if sink.is_full() {
                    self.note(format!("full at {index}"));
                    sink.drained().await;
                }
                sink.row(&[ValueRef::Int(index as i64)]);
            }
            sink.end_of_rows(&OkInfo { warnings: 2, ..ok_info() });
        } else if let Some(size) = number("big ") {
            sink.columns(&[column("b", words)]);
            let big = "x".repeat(size.min(1 << 25));
            sink.row(&[ValueRef::Text(&big, Collation::default())]);
            sink.end_of_rows(&ok_info());
        } else if text == "fail" {
            sink.error(&error(1064, "You have an error in your SQL syntax", false));
        } else if text == "fatal" {
            sink.error(&error(1053, "Server shutdown in progress", true));
        } else if text == "late" {
            sink.columns(&[number_column]);
            sink.row(&[ValueRef::Int(1)]);
            sink.error(&error(1317, "Query execution was interrupted", false));
        } else if text == "two" {
            sink.ok(&OkInfo { affected_rows: 1, more_results: true, ..ok_info() });
            sink.columns(&[number_column]);
            sink.row(&[ValueRef::Int(2)]);
            sink.end_of_rows(&ok_info());
        } else if text == "latin1" {
            let flags = StatusFlags { results: Some(types::Collation::Latin1SwedishCi), ..FLAGS };
            sink.ok(&OkInfo { flags, more_results: true, ..ok_info() });
            let words = ColumnType::Varchar { length: 10, collation: Collation::default() };
            sink.columns(&[column("é", words), number_column]);
            sink.row(&[ValueRef::Text("å€✓", Collation::default()), ValueRef::Int(1)]);
            sink.error(&error(1064, "near 'é✓'", false));
        } else if text == "wait" {
            self.until_killed(poll_fn(|_| Poll::<()>::Pending), sink).await;
        } else if text.starts_with("load") {
            self.load(&text, sink).await;
        } else {
            sink.ok(&OkInfo {
                affected_rows: 300,
                last_insert_id: 70_000,
                warnings: 3,
                info: "Rows matched: 1".into(),
                flags: StatusFlags { in_transaction: true, ..FLAGS },
                more_results: false,
            });
        }
    }
    async fn prepare(&mut self, text: &[u8]) -> Result<PreparedInfo, SqlError> {
        if text == b"fail" {
            return Err(error(1064, "You have an error in your SQL syntax", false));
        }
        let count = text.iter().filter(|&&byte| byte == b'?').count().min(65_535);
        self.statement_id_last += 1;
        self.statements.insert(self.statement_id_last, count as u16);
        let words = ColumnType::Varchar { length: 10, collation: Collation::default() };
        Ok(PreparedInfo {
            id: self.statement_id_last,
            params: vec![column("?", words.clone()); count],
            columns: vec![column("r", words)],
            warnings: 0,
        })
    }
    /// Answers with its parameters.
    async fn execute(&mut self, statement_id: u32, params: Vec<Value>, sink: &mut dyn ResultSink) {
        assert_eq!(self.statements.get(&statement_id).copied(), Some(params.len() as u16));
        let kinds: Vec<_> = params.iter().map(|value| value.as_ref().kind_name()).collect();
        if params.len() < 20 {
            self.note(format!("execute {kinds:?}"));
        }
        if params.is_empty() {
            return sink.ok(&ok_info());
        }
        let columns: Vec<_> =
            params.iter().map(|value| column("p", type_of(value.as_ref()))).collect();
        sink.columns(&columns);
        sink.row(&params.iter().map(Value::as_ref).collect::<Vec<_>>());
        sink.end_of_rows(&ok_info());
    }
    fn param_count(&self, statement_id: u32) -> Option<u16> {
        self.statements.get(&statement_id).copied()
    }
    fn close_statement(&mut self, statement_id: u32) {
        self.statements.remove(&statement_id);
    }
    fn reset_statement(&mut self, statement_id: u32) -> Result<(), SqlError> {
        let known = self.statements.contains_key(&statement_id);
        if known { Ok(()) } else { Err(error(1243, "Unknown prepared statement handler", false)) }
    }
    async fn use_database(&mut self, name: &[u8]) -> Result<(), SqlError> {
        if name == b"nowhere" {
            return Err(error(1049, "Unknown database 'nowhere'", false));
        }
        self.note(format!("use {}", String::from_utf8_lossy(name)));
        Ok(())
    }
    async fn reset(&mut self) {
        self.statements.clear();
        self.note("reset".into());
    }
    async fn change_user(&mut self, info: ConnectionInfo) -> Result<(), SqlError> {
        self.statements.clear();
        self.note(format!("change to {} {:?}", info.user, info.database));
        Ok(())
    }
    async fn field_list(
        &mut self,
        table: &[u8],
        pattern: &[u8],
    ) -> Result<Vec<ColumnInfo>, SqlError> {
        if table != b"orders" {
            return Err(error(1146, "Table 'shop.x' doesn't exist", false));
        }
        assert!(pattern.len() < 1000);
        Ok(vec![column("day", ColumnType::Date)])
    }
    fn set_multi_statements(&mut self, allowed: bool) {
        self.note(format!("multi statements {allowed}"));
    }
    fn status_flags(&self) -> StatusFlags {
        FLAGS
    }
    fn statistics(&self) -> String {
        "Uptime: 1  Threads: 1".into()
    }
    async fn close(&mut self) {
        self.note("close".into());
    }
    fn max_allowed_packet(&self) -> u64 {
        MAX_ALLOWED_PACKET as u64
    }
    fn wait_timeout_seconds(&self) -> u64 {
        28_800
    }
    fn write_timeout_seconds(&self) -> u64 {
        60
    }
    fn read_timeout_seconds(&self) -> u64 {
        30
    }
    fn client_charset(&self) -> types::Charset {
        types::Charset::Utf8mb4
    }
    fn literal_collation(&self) -> Collation {
        Collation::default()
    }
}

/// Small, so that tests reach it: two full chunks and a bit.
pub const MAX_ALLOWED_PACKET: usize = 2 * CHUNK_MAX + 1000;

fn type_of(value: ValueRef<'_>) -> ColumnType {
    let collation = Collation::default();
    match value {
        ValueRef::Int(_) => ColumnType::Int { width: IntWidth::W8, unsigned: false },
        ValueRef::UInt(_) => ColumnType::Int { width: IntWidth::W8, unsigned: true },
        ValueRef::Float(_) => ColumnType::Float,
        ValueRef::Double(_) => ColumnType::Double,
        ValueRef::Decimal(_) => ColumnType::Decimal { precision: 65, scale: 30, unsigned: false },
        ValueRef::Null | ValueRef::Text(..) => ColumnType::Varchar { length: 100, collation },
        ValueRef::Bytes(_) => ColumnType::Varbinary { length: 100 },
        ValueRef::Date(_) => ColumnType::Date,
        ValueRef::Time(_) => ColumnType::Time { fsp: 6 },
        ValueRef::DateTime(_) => ColumnType::DateTime { fsp: 6 },
        ValueRef::Json(_) => ColumnType::Json,
        ValueRef::Label(_, labels) => ColumnType::Labelled(labels.clone()),
    }
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub fn tcp(peer_is_local: bool) -> Transport {
    Transport::Tcp { peer_is_local, peer: "10.0.0.9:4711".into() }
}

pub const RANDOM: [u8; 20] = *b"abcdefghijklmnopqrst";

/// A connection with its task, and the other end of its wire.
pub struct Peer {
    pub connection: Connection,
    task: Option<Pin<Box<dyn Future<Output = ()>>>>,
    woken: Arc<Woken>,
    /// What the server has sent and nobody has read.
    pub received: Vec<u8>,
    pub log: Log,
    /// Does the socket take what the server sends?
    pub reads: bool,
}

impl Peer {
    pub fn new(config: ConnectionConfig, transport: Transport) -> Peer {
        Peer::with_config(Arc::new(config), transport)
    }
    pub fn with_config(config: Arc<ConnectionConfig>, transport: Transport) -> Peer {
        let log = Log::default();
        let start = ConnectionStart { id: 7, worker: WorkerId(0), transport, random: RANDOM };
        let host = ScriptedHost { log: log.clone() };
        let (connection, task) = Connection::with_host(host, config, start);
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let received = Vec::new();
        let mut peer = Peer { connection, task: Some(task), woken, received, log, reads: true };
        peer.run();
        peer
    }
    /// Over TCP from this machine, without TLS and RSA.
    pub fn local() -> Peer {
        Peer::new(ConnectionConfig::default(), tcp(true))
    }
    /// Greeted and logged in as root, with these capabilities beside the usual ones.
    pub fn logged_in(capabilities: u32) -> Peer {
        let mut peer = Peer::local();
        peer.read_payload();
        peer.send_packet(1, &response(BASE | capabilities, b"root", b"", None));
        let ok = peer.read_payload();
        assert_eq!(ok[0], 0, "login failed: {ok:?}");
        peer
    }
    /// Lets the task run and the wire carry, until nothing moves any more.
    pub fn run(&mut self) {
        loop {
            let mut moved = false;
            if self.woken.0.swap(false, Ordering::SeqCst)
                && let Some(task) = &mut self.task
            {
                let waker = Waker::from(self.woken.clone());
                if task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                    self.task = None;
                }
                moved = true;
            }
            while self.reads {
                let output = self.connection.output();
                if output.is_empty() {
                    break;
                }
                self.received.extend_from_slice(output);
                let size = output.len();
                self.connection.consume_output(size);
                moved = true;
            }
            if !moved {
                return;
            }
        }
    }
    /// In pieces of the size that a driver reads.
    pub fn send(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(64 * 1024) {
            self.connection.receive(piece);
            self.run();
        }
    }
    /// A payload of less than 16 MB.
    pub fn send_packet(&mut self, sequence: u8, payload: &[u8]) {
        self.send(&packet(sequence, payload));
    }
    pub fn command(&mut self, payload: &[u8]) {
        self.send_packet(0, payload);
    }
    /// The next packet, or None.
    pub fn try_read(&mut self) -> Option<(u8, Vec<u8>)> {
        let header = self.received.first_chunk::<HEADER_SIZE>()?;
        let [a, b, c, sequence] = *header;
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        if self.received.len() < HEADER_SIZE + length {
            return None;
        }
        let payload = self.received[HEADER_SIZE..HEADER_SIZE + length].to_vec();
        self.received.drain(..HEADER_SIZE + length);
        Some((sequence, payload))
    }
    pub fn read(&mut self) -> (u8, Vec<u8>) {
        self.try_read().expect("the server has answered")
    }
    pub fn read_payload(&mut self) -> Vec<u8> {
        self.read().1
    }
    /// Reads everything there is as packets; they must end where the bytes end.
    pub fn read_all(&mut self) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        while let Some((_, payload)) = self.try_read() {
            packets.push(payload);
        }
        assert!(self.received.is_empty(), "half a packet is left");
        packets
    }
    /// An error packet's number and SQLSTATE.
    pub fn read_error(&mut self) -> (u16, String) {
        let payload = self.read_payload();
        error_of(&payload).unwrap_or_else(|| panic!("not an error: {payload:?}"))
    }
    /// Nothing more is to be said, and the connection ends.
    pub fn assert_closed(&mut self) {
        assert!(self.received.is_empty(), "left: {:?}", self.received);
        assert!(self.connection.is_closing());
        assert!(self.task.is_none());
        assert_eq!(self.log.borrow().last().map(String::as_str), Some("unregister 7"));
    }
    pub fn is_done(&self) -> bool {
        self.task.is_none()
    }
    pub fn logged(&self, line: &str) -> bool {
        self.log.borrow().iter().any(|logged| logged == line)
    }
}

pub fn error_of(payload: &[u8]) -> Option<(u16, String)> {
    if payload.len() < 9 || payload[0] != 0xff || payload[3] != b'#' {
        return None;
    }
    let state = String::from_utf8(payload[4..9].to_vec()).ok()?;
    Some((u16::from_le_bytes([payload[1], payload[2]]), state))
}

/// What every client of today asks for.
pub const BASE: u32 = cap::PROTOCOL_41
    | cap::LONG_PASSWORD
    | cap::SECURE_CONNECTION
    | cap::PLUGIN_AUTH
    | cap::TRANSACTIONS
    | cap::MULTI_RESULTS
    | cap::PLUGIN_AUTH_LENENC_CLIENT_DATA;

pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    assert!(payload.len() <= CHUNK_MAX);
    let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(sequence);
    bytes.extend_from_slice(payload);
    bytes
}

/// A handshake response for caching_sha2_password, or what `plugin` says.
pub fn response(capabilities: u32, user: &[u8], token: &[u8], plugin: Option<&[u8]>) -> Vec<u8> {
    response_with(capabilities, user, token, plugin.unwrap_or(b"caching_sha2_password"), b"")
}

pub fn response_with(
    capabilities: u32,
    user: &[u8],
    token: &[u8],
    plugin: &[u8],
    database: &[u8],
) -> Vec<u8> {
    let mut payload = capabilities.to_le_bytes().to_vec();
    payload.extend_from_slice(&(1u32 << 24).to_le_bytes());
    payload.push(45);
    payload.extend_from_slice(&[0; 23]);
    payload.extend_from_slice(user);
    payload.push(0);
    match token.len() {
        length @ 0..=250 => payload.push(length as u8),
        length => payload.extend_from_slice(&[0xfc, length as u8, (length >> 8) as u8]),
    }
    payload.extend_from_slice(token);
    if capabilities & cap::CONNECT_WITH_DB != 0 {
        payload.extend_from_slice(database);
        payload.push(0);
    }
    if capabilities & cap::PLUGIN_AUTH != 0 {
        payload.extend_from_slice(plugin);
        payload.push(0);
    }
    if capabilities & cap::CONNECT_ATTRS != 0 {
        payload.extend_from_slice(b"\x0a\x04_pid\x044321");
    }
    payload
}
