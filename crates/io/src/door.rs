//! What listens, on worker 0: the node port and socket, the MySQL port and socket, the management socket.
//!
//! Whoever connects is handed on: clients to the workers in turn, links to the worker their hello names. The MySQL side
//! opens only when the node can serve. When the system has no descriptors left, accepting pauses: what waits in the
//! kernel's queues is not lost, and a full machine is not made fuller by trying.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use kernel::Time;
use mio::net::{TcpListener, TcpStream, UnixListener};
use mio::{Interest, Registry, Token};
use mysql::Transport;
use slab::Slab;
use types::NodeId;

use crate::hello::{self, First, Hello};
use crate::limits::{
    ACCEPT_PAUSE, ACCEPT_PER_TURN, HELLO_PENDING_MAX, HELLO_SIZE_MAX, HELLO_TIMEOUT,
};
use crate::log::NodeLog;
use crate::ports;
use crate::secure::{LinkKeys, tls_text};
use crate::stream::{Stream, Transfer};

/// Sockets bound at the start of a node. Those of the nodes and of management listen already.
pub struct BoundSockets {
    pub node: OwnedFd,
    pub node_unix: Option<OwnedFd>,
    pub management: OwnedFd,
    pub mysql: MysqlSockets,
    /// Removed when the node ends.
    pub paths: Vec<PathBuf>,
}

/// Bound, and not listening yet.
pub struct MysqlSockets {
    pub tcp: Option<OwnedFd>,
    pub unix: Option<OwnedFd>,
}

/// A connection to hand on.
pub enum Arrival {
    Client(Stream, Transport),
    Management(Stream),
    /// Its hello is well-formed, no more.
    Link(Stream, Hello),
}

pub struct Door {
    listeners: Vec<Listener>,
    /// Bound, and listening when the node can serve.
    mysql_tcp: Option<OwnedFd>,
    mysql_unix: Option<OwnedFd>,
    strangers: Slab<Stranger>,
    /// Who comes to the node port must show that it belongs to the cluster.
    keys: Option<Arc<LinkKeys>>,
    /// No accepting before.
    accept_after: Time,
    paths: Vec<PathBuf>,
    listener_token: fn(usize) -> Token,
    stranger_token: fn(usize) -> Token,
}

struct Listener {
    kind: Kind,
    socket: ListenerSocket,
    /// Connections may wait although no readiness will be announced.
    waiting: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Node,
    Management,
    Mysql,
}

enum ListenerSocket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Connected to the node port or socket, hello not complete.
struct Stranger {
    stream: Stream,
    /// None at the socket: a process of this machine.
    from: Option<SocketAddr>,
    deadline: Time,
    received: Vec<u8>,
}

impl Door {
    /// Takes the sockets over.
    pub fn open(
        sockets: BoundSockets,
        keys: Option<Arc<LinkKeys>>,
        registry: &Registry,
        listener_token: fn(usize) -> Token,
        stranger_token: fn(usize) -> Token,
    ) -> io::Result<Door> {
        let mut door = Door {
            listeners: Vec::new(),
            mysql_tcp: sockets.mysql.tcp,
            mysql_unix: sockets.mysql.unix,
            strangers: Slab::new(),
            keys,
            accept_after: 0,
            paths: sockets.paths,
            listener_token,
            stranger_token,
        };
        door.listen_tcp(Kind::Node, sockets.node, registry)?;
        if let Some(socket) = sockets.node_unix {
            door.listen_unix(Kind::Node, socket, registry)?;
        }
        door.listen_unix(Kind::Management, sockets.management, registry)?;
        Ok(door)
    }

    /// The MySQL side was closed, and is to be opened again.
    pub fn take_mysql(&mut self, sockets: MysqlSockets) {
        (self.mysql_tcp, self.mysql_unix) = (sockets.tcp, sockets.unix);
    }

    /// Opens the MySQL side. On an error it may be called again.
    pub fn open_mysql(&mut self, registry: &Registry) -> io::Result<()> {
        for socket in [&self.mysql_tcp, &self.mysql_unix].into_iter().flatten() {
            ports::start_listening(socket)?;
        }
        if let Some(socket) = self.mysql_tcp.take() {
            self.listen_tcp(Kind::Mysql, socket, registry)?;
        }
        if let Some(socket) = self.mysql_unix.take() {
            self.listen_unix(Kind::Mysql, socket, registry)?;
        }
        Ok(())
    }

    /// No more clients.
    pub fn close_mysql(&mut self) {
        self.mysql_tcp = None;
        self.mysql_unix = None;
        // The places stay, because tokens are indexes.
        for listener in self.listeners.iter_mut().filter(|listener| listener.kind == Kind::Mysql) {
            listener.waiting = false;
        }
        while self.listeners.last().is_some_and(|listener| listener.kind == Kind::Mysql) {
            self.listeners.pop();
        }
    }

    fn listen_tcp(&mut self, kind: Kind, socket: OwnedFd, registry: &Registry) -> io::Result<()> {
        let mut socket = TcpListener::from_std(std::net::TcpListener::from(socket));
        let token = (self.listener_token)(self.listeners.len());
        registry.register(&mut socket, token, Interest::READABLE)?;
        self.listeners.push(Listener { kind, socket: ListenerSocket::Tcp(socket), waiting: true });
        Ok(())
    }
    fn listen_unix(&mut self, kind: Kind, socket: OwnedFd, registry: &Registry) -> io::Result<()> {
        let mut socket = UnixListener::from_std(std::os::unix::net::UnixListener::from(socket));
        let token = (self.listener_token)(self.listeners.len());
        registry.register(&mut socket, token, Interest::READABLE)?;
        self.listeners.push(Listener { kind, socket: ListenerSocket::Unix(socket), waiting: true });
        Ok(())
    }

    /// When [`Door::on_time`] has something to do.
    pub fn deadline(&self) -> Time {
        let accept =
            if self.listeners.iter().any(|l| l.waiting) { self.accept_after } else { Time::MAX };
        let strangers = self.strangers.iter().map(|(_, stranger)| stranger.deadline);
        strangers.min().unwrap_or(Time::MAX).min(accept)
    }

    pub fn on_listener_ready(&mut self, index: usize) {
        if let Some(listener) = self.listeners.get_mut(index) {
            listener.waiting = true;
        }
    }

    /// Accepts waiting connections, and closes those of strangers that are silent for too long.
    pub fn on_time(
        &mut self,
        now: Time,
        registry: &Registry,
        log: &NodeLog,
        arrivals: &mut Vec<Arrival>,
    ) {
        if now >= self.accept_after {
            for index in 0..self.listeners.len() {
                if self.listeners[index].waiting {
                    self.accept(index, now, registry, log, arrivals);
                }
            }
        }
        let late: Vec<usize> = self
            .strangers
            .iter()
            .filter(|(_, stranger)| stranger.deadline <= now)
            .map(|(index, _)| index)
            .collect();
        for index in late {
            let stranger = self.strangers.remove(index);
            let reason = if stranger.received.is_empty() {
                "it says nothing, or does not finish its TLS handshake; MySQL clients wait like that, for them \
                 there is the MySQL port"
            } else {
                "its hello does not arrive"
            };
            refuse(stranger, reason, log);
        }
    }

    fn accept(
        &mut self,
        index: usize,
        now: Time,
        registry: &Registry,
        log: &NodeLog,
        arrivals: &mut Vec<Arrival>,
    ) {
        for _ in 0..ACCEPT_PER_TURN {
            let listener = &mut self.listeners[index];
            let accepted = match &listener.socket {
                ListenerSocket::Tcp(socket) => {
                    socket.accept().map(|(stream, from)| (Stream::Tcp(stream), Some(from)))
                }
                ListenerSocket::Unix(socket) => {
                    socket.accept().map(|(stream, _)| (Stream::Unix(stream), None))
                }
            };
            match (accepted, listener.kind) {
                (Ok((stream, from)), Kind::Mysql) => {
                    let transport = transport_of(&stream, from);
                    arrivals.push(Arrival::Client(stream, transport));
                }
                (Ok((stream, _)), Kind::Management) => arrivals.push(Arrival::Management(stream)),
                (Ok((stream, from)), Kind::Node) => {
                    self.add_stranger(stream, from, now, registry, log);
                }
                (Err(error), kind) => match error.kind() {
                    ErrorKind::WouldBlock => {
                        listener.waiting = false;
                        return;
                    }
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => {
                        // No descriptors or no memory: nothing else makes accept fail on a socket that listens.
                        log.warn_limited(&format!(
                            "cannot accept a {} connection: {error} (raise the limit of open files)",
                            kind.name()
                        ));
                        self.accept_after = now + ACCEPT_PAUSE;
                        return;
                    }
                },
            }
        }
    }

    fn add_stranger(
        &mut self,
        mut stream: Stream,
        from: Option<SocketAddr>,
        now: Time,
        registry: &Registry,
        log: &NodeLog,
    ) {
        if self.strangers.len() >= HELLO_PENDING_MAX {
            // The one that has had most time goes: a newcomer may be a node.
            let first = self.strangers.iter().min_by_key(|(_, stranger)| stranger.deadline);
            let (first, _) = first.expect("there are too many");
            let stranger = self.strangers.remove(first);
            refuse(stranger, "too many connections to the node port say nothing", log);
        }
        let entry = self.strangers.vacant_entry();
        let token = (self.stranger_token)(entry.key());
        if registry.register(&mut stream, token, Interest::READABLE).is_ok() {
            let deadline = now + HELLO_TIMEOUT;
            entry.insert(Stranger { stream, from, deadline, received: Vec::new() });
        }
    }

    /// A stranger says something.
    pub fn on_stranger_ready(
        &mut self,
        index: usize,
        registry: &Registry,
        log: &NodeLog,
        arrivals: &mut Vec<Arrival>,
    ) {
        loop {
            let Some(stranger) = self.strangers.get_mut(index) else { return };
            if stranger.received.is_empty()
                && let (Stream::Tcp(socket), Some(keys)) = (&stranger.stream, &self.keys)
            {
                match begins_tls(socket) {
                    None => return,
                    Some(false) => {}
                    Some(true) => {
                        let Stranger { stream, from, deadline, received } =
                            self.strangers.remove(index);
                        let Stream::Tcp(socket) = stream else { unreachable!("just looked") };
                        // The place is free: the same one is taken again, which the socket's token names.
                        let Ok(secured) = keys.accept(socket) else { return };
                        let stream = Stream::Secured(Box::new(secured));
                        let place =
                            self.strangers.insert(Stranger { stream, from, deadline, received });
                        assert_eq!(place, index);
                        continue;
                    }
                }
            }
            let mut buffer = [0; HELLO_SIZE_MAX + 1];
            match stranger.stream.read(&mut buffer) {
                Transfer::Bytes(size) => stranger.received.extend_from_slice(&buffer[..size]),
                Transfer::Blocked => return,
                Transfer::Ended(Some(error)) if error.kind() == ErrorKind::InvalidData => {
                    let stranger = self.strangers.remove(index);
                    return refuse(stranger, &tls_text(&error), log);
                }
                Transfer::Ended(_) => {
                    let stranger = self.strangers.remove(index);
                    return refuse(stranger, "it closed the connection before its hello", log);
                }
            }
            let reason = match hello::parse(&stranger.received) {
                First::Incomplete => continue,
                First::Hello(hello, size) if size == stranger.received.len() => {
                    match check_keys(&stranger.stream, self.keys.as_deref(), hello.from.node) {
                        Err(reason) => reason,
                        Ok(()) => {
                            let mut stranger = self.strangers.remove(index);
                            if registry.deregister(&mut stranger.stream).is_ok() {
                                arrivals.push(Arrival::Link(stranger.stream, hello));
                            }
                            return;
                        }
                    }
                }
                First::Hello(..) => "it goes on before its hello was answered".into(),
                First::Refusal(_) => "it begins with a refusal".into(),
                First::Stranger(reason) => reason,
            };
            let stranger = self.strangers.remove(index);
            return refuse(stranger, &reason, log);
        }
    }
}

/// Whether the received bytes begin a TLS handshake; None without any.
fn begins_tls(socket: &TcpStream) -> Option<bool> {
    const HANDSHAKE: u8 = 0x16;
    let mut first = [0];
    match socket.peek(&mut first) {
        Ok(size) => Some(size == 1 && first[0] == HANDSHAKE),
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        // Reading will say it again.
        Err(_) => Some(false),
    }
}

/// May this be the node it says it is? At a unix socket the file system has asked already.
fn check_keys(stream: &Stream, keys: Option<&LinkKeys>, node: NodeId) -> Result<(), String> {
    match (stream, keys) {
        (Stream::Secured(stream), Some(keys)) => keys.check_peer(stream, node),
        (Stream::Tcp(_), Some(_)) => Err(format!(
            "node {node} has no keys and this node has: give it those of the cluster (skarv keys)"
        )),
        (Stream::Tcp(_) | Stream::Unix(_) | Stream::Secured(_), _) => Ok(()),
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Node => "node",
            Kind::Management => "management",
            Kind::Mysql => "MySQL",
        }
    }
}

fn refuse(mut stranger: Stranger, reason: &str, log: &NodeLog) {
    // The address without the port, so that repeated attempts are one line.
    let from = stranger.from.map_or("a local process".into(), |from| from.ip().to_string());
    log.warn_limited(&format!("connection of {from} to the node port refused: {reason}"));
    // Best effort: a node of another version can at least show it. Who waits to be spoken to, in plain text, may be a MySQL client.
    let is_plain = !matches!(stranger.stream, Stream::Secured(_));
    let refusal = match stranger.received.is_empty() && is_plain {
        true => mysql::refusal_wrong_port(
            "this is the port of the Skarv nodes among themselves, not the MySQL port",
        ),
        false => hello::encode_refusal(reason),
    };
    let _ = stranger.stream.write(&refusal);
}

fn transport_of(stream: &Stream, from: Option<SocketAddr>) -> Transport {
    match (stream, from) {
        (Stream::Tcp(stream), Some(from)) => {
            let _ = stream.set_nodelay(true);
            let _ = rustix::net::sockopt::set_socket_keepalive(stream, true);
            let peer = SocketAddr::new(from.ip().to_canonical(), from.port());
            let own = stream.local_addr().map(|own| own.ip().to_canonical());
            let peer_is_local = peer.ip().is_loopback() || own.is_ok_and(|own| own == peer.ip());
            Transport::Tcp { peer_is_local, peer: peer.to_string() }
        }
        (Stream::Tcp(_) | Stream::Unix(_) | Stream::Secured(_), _) => Transport::UnixSocket,
    }
}
