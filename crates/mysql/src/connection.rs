//! A connection: bytes in, bytes out, and a task in between.
//!
//! The driver (crate `io`, or the simulator) owns the socket and an executor. It gives received bytes to
//! [`Connection::receive`], runs the woken tasks, and sends what [`Connection::output`] shows. The task is straight-line
//! code: greeting, login ([`crate::login`]), commands ([`crate::commands`]). Nothing here has a clock: deadlines (10 s for the
//! login, wait_timeout between statements) are the driver's, which asks [`Connection::is_authenticated`] and
//! [`Connection::idle_timeout_seconds`].
//!
//! Memory: before login below 64 KiB (see [`crate::limits`]; TLS adds rustls's own buffers); after it one packet of at most
//! `max_allowed_packet`, at most as much long data, and output up to its mark plus one row.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use sql::{ConnectionId, KillKind, Server};
use types::WorkerId;
use types::account::ClientHost;

use crate::auth::RsaKey;
use crate::backend::{Host, SqlHost};
use crate::commands::Task;
use crate::handshake::{SCRAMBLE_SIZE, printable_scramble};
use crate::packet;
use crate::pipe::{Disconnect, Pipe, give_back};
use crate::resultset;

/// What all connections of a node share. Made once.
#[derive(Default)]
pub struct ConnectionConfig {
    /// Offered to clients when there; see [`crate::tls`].
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Clients over TCP must use TLS: others get error 3159.
    pub tls_required: bool,
    /// For passwords over plain TCP. Without it such clients cannot use caching_sha2_password's full exchange.
    pub rsa: Option<Arc<RsaKey>>,
}

/// Where a connection comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    Tcp {
        /// The peer's address is one of this machine.
        peer_is_local: bool,
        /// "address:port", for SHOW PROCESSLIST and messages.
        peer: String,
    },
    UnixSocket,
}

impl Transport {
    pub fn is_local(&self) -> bool {
        match self {
            Transport::Tcp { peer_is_local, .. } => *peer_is_local,
            Transport::UnixSocket => true,
        }
    }
    /// As SHOW PROCESSLIST shows it.
    pub fn host(&self) -> &str {
        match self {
            Transport::Tcp { peer, .. } => peer,
            Transport::UnixSocket => "localhost",
        }
    }
    /// For the hosts of accounts.
    pub fn client_host(&self) -> ClientHost {
        let address = match self {
            Transport::Tcp { peer, .. } => peer.parse::<SocketAddr>().ok().map(|peer| peer.ip()),
            Transport::UnixSocket => None,
        };
        ClientHost { is_local: self.is_local(), address }
    }
    /// As an account's host: "localhost", or the address without the port.
    pub fn account_host(&self) -> &str {
        match self {
            Transport::Tcp { peer_is_local: false, peer } => {
                peer.rsplit_once(':').map_or(peer.as_str(), |(address, _)| address)
            }
            Transport::Tcp { peer_is_local: true, .. } | Transport::UnixSocket => "localhost",
        }
    }
}

/// What identifies a connection.
#[derive(Clone, Debug)]
pub struct ConnectionStart {
    /// From [`Server::register`]; the connection's task unregisters it.
    pub id: ConnectionId,
    pub worker: WorkerId,
    pub transport: Transport,
    /// 20 random bytes from the driver's source, new for every connection.
    pub random: [u8; SCRAMBLE_SIZE],
}

/// Cancels what the session runs.
pub(crate) type Killer = Rc<dyn Fn(KillKind)>;

/// What the driver's and the task's side share.
#[derive(Default)]
pub(crate) struct Shared {
    pub pipe: Rc<RefCell<Pipe>>,
    /// Set once there is a session.
    pub kill: RefCell<Option<Killer>>,
    /// The timeout that runs while the task waits for a command, or for a piece of a file.
    pub idle_timeout_seconds: Cell<Option<u64>>,
    /// net_write_timeout as of the last command; 0 before login.
    pub write_timeout_seconds: Cell<u64>,
    /// net_read_timeout as of the last command, for the files of LOAD DATA LOCAL.
    pub read_timeout_seconds: Cell<u64>,
}

/// The driver's side of a connection.
pub struct Connection {
    shared: Rc<Shared>,
    /// What is being sent; those before `sent` are gone.
    sending: Vec<u8>,
    sent: usize,
}

impl Connection {
    /// Makes a connection and its task. The driver spawns the task on this thread's executor; the first thing it does is
    /// to greet. Dropping the task ends the connection at once, without rollback being awaited.
    pub fn new(
        server: Arc<Server>,
        client: client::Session,
        config: Arc<ConnectionConfig>,
        start: ConnectionStart,
    ) -> (Connection, Pin<Box<dyn Future<Output = ()>>>) {
        let node = client.client().clone();
        Connection::with_host(SqlHost { server, client: Some(client), node }, config, start)
    }
    /// The same for any host; tests bring their own.
    pub fn with_host<H: Host>(
        host: H,
        config: Arc<ConnectionConfig>,
        start: ConnectionStart,
    ) -> (Connection, Pin<Box<dyn Future<Output = ()>>>) {
        let shared = Rc::new(Shared::default());
        let scramble = printable_scramble(start.random);
        let task = Task::new(host, config, start, scramble, shared.clone());
        let connection = Connection { shared, sending: Vec::new(), sent: 0 };
        (connection, Box::pin(task.run()))
    }

    /// Bytes from the socket. Wakes the task. One read of at most 1 MiB may follow after [`Connection::wants_input`] has
    /// turned false; more ends the connection.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.shared.pipe.borrow_mut().receive(bytes);
    }
    /// Should the driver go on reading from the socket?
    pub fn wants_input(&self) -> bool {
        self.shared.pipe.borrow().wants_input()
    }
    /// Bytes to send now; empty when there are none. Those that were sent are reported by
    /// [`Connection::consume_output`]; the rest is shown again.
    pub fn output(&mut self) -> &[u8] {
        if self.sent == self.sending.len() {
            self.sending.clear();
            self.sent = 0;
            give_back(&mut self.sending);
            self.shared.pipe.borrow_mut().take_output(&mut self.sending);
        }
        &self.sending[self.sent..]
    }
    pub fn consume_output(&mut self, size: usize) {
        assert!(size <= self.sending.len() - self.sent);
        self.sent += size;
        self.shared.pipe.borrow_mut().output_consumed(size);
    }
    /// Is there anything to send? Cheaper than [`Connection::output`].
    pub fn has_output(&self) -> bool {
        self.sent < self.sending.len() || self.shared.pipe.borrow().has_output()
    }
    /// The socket is closed or broken. A statement that runs is cancelled: nobody would read its answer, and a lock it
    /// waits for should not be taken.
    pub fn peer_closed(&mut self) {
        self.shared.pipe.borrow_mut().peer_closed();
        self.kill_session(KillKind::Connection);
    }
    /// The task has ended: the driver closes the socket when the output is sent.
    pub fn is_closing(&self) -> bool {
        self.shared.pipe.borrow().is_closing()
    }
    /// Memory of this connection's buffers in bytes, without rustls's own and without what its statement uses.
    pub fn memory_size(&self) -> usize {
        self.sending.capacity() + self.shared.pipe.borrow().memory_size()
    }
    /// Has the client logged in? The driver closes connections that have not after 10 s.
    pub fn is_authenticated(&self) -> bool {
        self.shared.pipe.borrow().is_authenticated()
    }
    /// Seconds after which the driver should disconnect a client that sends nothing; None before login, and while a statement
    /// runs that waits for nothing of the client. The time begins when this is `Some` again.
    pub fn idle_timeout_seconds(&self) -> Option<u64> {
        self.shared.idle_timeout_seconds.get()
    }
    /// Seconds after which the driver should cut off a client that does not read; None before login.
    pub fn write_timeout_seconds(&self) -> Option<u64> {
        let seconds = self.shared.write_timeout_seconds.get();
        (0 < seconds).then_some(seconds)
    }
    /// KILL, as told by [`Server::take_kills`].
    pub fn kill(&mut self, kind: KillKind) {
        self.kill_session(kind);
        match kind {
            KillKind::Query => {}
            KillKind::Connection => self.disconnect(Disconnect::Killed),
        }
    }
    /// Ends the connection as soon as no statement runs.
    pub fn disconnect(&mut self, reason: Disconnect) {
        self.shared.pipe.borrow_mut().disconnect(reason);
    }
    fn kill_session(&self, kind: KillKind) {
        // `kill` may wake tasks: no borrow is held meanwhile.
        let handle = self.shared.kill.borrow().clone();
        if let Some(kill) = handle {
            kill(kind);
        }
    }
}

/// What a client is sent when [`Server::register`] has no place for it; the driver then closes the socket.
pub fn refusal_too_many_connections() -> Vec<u8> {
    refusal(sql::code::ER_CON_COUNT_ERROR, "Too many connections")
}

/// What a client is sent that came to a port where no MySQL is spoken; the driver then closes the socket.
pub fn refusal_wrong_port(why: &str) -> Vec<u8> {
    refusal(sql::code::ER_HANDSHAKE_ERROR, why)
}

fn refusal(code: u16, message: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let start = packet::begin(&mut out);
    resultset::put_error(&mut out, code, None, message);
    packet::finish(&mut out, start, &mut 0);
    out
}
