//! MySQL connections of a worker: their sockets, deadlines, and when their answers are sent.
//!
//! The protocol itself is crate `mysql`'s, as a task on the worker's executor. After the tasks ran,
//! some connections have something to send. To check all of them would cost 1,000 connections a
//! cache miss each in every turn; instead each task is wrapped so that it notes its connection when
//! it is polled, and only those are checked.
//!
//! Readiness is edge-triggered. The worker asks for writability only while a socket is full: a unix socket announces it each
//! time the client reads, which would wake the worker once more for every answer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use client::task::Executor;
use kernel::Time;
use mio::event::Source;
use mio::{Interest, Registry, Token};
use mysql::{Connection, ConnectionConfig, ConnectionStart, Disconnect, Transport};
use slab::Slab;
use sql::{ConnectionId, KillKind, Server};
use types::WorkerId;

use crate::limits::{
    CLIENT_CHECK_INTERVAL, CLIENT_LINGER_TIMEOUT, CLIENT_READ_PER_TURN, CLIENT_STALL_TIMEOUT,
    LOGIN_TIMEOUT,
};
use crate::random;
use crate::stream::{Stream, Transfer};

pub struct Front {
    worker: WorkerId,
    server: Arc<Server>,
    config: Arc<ConnectionConfig>,
    token: fn(usize) -> Token,
    clients: Slab<Client>,
    by_id: BTreeMap<ConnectionId, usize>,
    /// Connections whose tasks were polled since the last flush.
    polled: Polled,
    /// Connections whose sockets may have bytes that nothing will announce.
    unread: Vec<usize>,
    check_at: Time,
}

/// Noted by [`Noted`] tasks. An index may come twice, or belong to another connection by now: a check in vain does no harm.
pub type Polled = Rc<RefCell<Vec<usize>>>;

struct Client {
    id: ConnectionId,
    connection: Connection,
    /// None once it is closed, while the task still rolls back.
    stream: Option<Stream>,
    /// In `unread`.
    is_unread: bool,
    /// The end of the stream was announced: read on until it is there.
    ending: bool,
    /// The socket is full.
    blocked: bool,
    watches_writable: bool,
    accepted_at: Time,
    /// When bytes last went either way, or the server began to wait for the client.
    active_at: Time,
    /// The server waits for the client.
    is_awaited: bool,
}

/// A task that notes its connection each time it is polled.
pub struct Noted {
    index: usize,
    polled: Polled,
    task: Pin<Box<dyn Future<Output = ()>>>,
}

impl Noted {
    pub fn new(index: usize, polled: &Polled, task: Pin<Box<dyn Future<Output = ()>>>) -> Noted {
        Noted { index, polled: Rc::clone(polled), task }
    }
}

impl Future for Noted {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let index = self.index;
        self.polled.borrow_mut().push(index);
        self.task.as_mut().poll(context)
    }
}

impl Front {
    pub fn new(
        worker: WorkerId,
        server: Arc<Server>,
        config: Arc<ConnectionConfig>,
        token: fn(usize) -> Token,
    ) -> Front {
        Front {
            worker,
            server,
            config,
            token,
            clients: Slab::new(),
            by_id: BTreeMap::new(),
            polled: Polled::default(),
            unread: Vec::new(),
            check_at: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Takes a connection on and spawns its task, or turns it away if there are too many.
    pub fn add(
        &mut self,
        mut stream: Stream,
        transport: Transport,
        now: Time,
        registry: &Registry,
        client: &client::Client,
        executor: &mut Executor,
    ) {
        let registered =
            self.server.register(self.worker, transport.host(), client.wall_clock_micros());
        let Ok(id) = registered else {
            // Best effort, as MySQL does it: the client has not said anything yet.
            let _ = stream.write(&mysql::refusal_too_many_connections());
            return;
        };
        let entry = self.clients.vacant_entry();
        let index = entry.key();
        if stream.register(registry, (self.token)(index), Interest::READABLE).is_err() {
            self.server.unregister(id);
            return;
        }
        let start = ConnectionStart { id, worker: self.worker, transport, random: random::bytes() };
        let server = Arc::clone(&self.server);
        let config = Arc::clone(&self.config);
        let (connection, task) = Connection::new(server, client.session(), config, start);
        executor.spawn(Box::pin(Noted::new(index, &self.polled, task)));
        entry.insert(Client {
            id,
            connection,
            stream: Some(stream),
            is_unread: false,
            ending: false,
            blocked: false,
            watches_writable: false,
            accepted_at: now,
            active_at: now,
            is_awaited: false,
        });
        self.by_id.insert(id, index);
    }

    /// The socket is readable, writable or both.
    pub fn on_ready(
        &mut self,
        index: usize,
        event: &mio::event::Event,
        now: Time,
        buffer: &mut [u8],
    ) {
        let Some(client) = self.clients.get_mut(index) else { return };
        if event.is_writable() && client.blocked {
            client.blocked = false;
            self.polled.borrow_mut().push(index);
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            client.ending |= event.is_read_closed() || event.is_error();
            self.read(index, now, buffer);
        }
    }

    fn read(&mut self, index: usize, now: Time, buffer: &mut [u8]) {
        let Some(client) = self.clients.get_mut(index) else { return };
        let Some(stream) = &mut client.stream else { return };
        let mut taken = 0;
        let more = loop {
            if taken >= CLIENT_READ_PER_TURN || !client.connection.wants_input() {
                break true;
            }
            match stream.read(buffer) {
                Transfer::Bytes(size) => {
                    client.connection.receive(&buffer[..size]);
                    client.active_at = now;
                    taken += size;
                    // What filled only a part of the buffer was all there is.
                    if size < buffer.len() && !client.ending {
                        break false;
                    }
                }
                Transfer::Blocked => break false,
                Transfer::Ended(_) => {
                    client.hang_up();
                    self.polled.borrow_mut().push(index);
                    return;
                }
            }
        };
        if more && !client.is_unread {
            client.is_unread = true;
            self.unread.push(index);
        }
    }

    /// Is there a socket to be read although nothing is announced?
    pub fn has_unread(&self) -> bool {
        let wants = |index: &usize| {
            self.clients.get(*index).is_some_and(|client| client.connection.wants_input())
        };
        self.unread.iter().any(wants)
    }
    pub fn read_unread(&mut self, now: Time, buffer: &mut [u8]) {
        if self.unread.is_empty() {
            return;
        }
        for index in std::mem::take(&mut self.unread) {
            if let Some(client) = self.clients.get_mut(index) {
                client.is_unread = false;
                self.read(index, now, buffer);
            }
        }
    }

    /// Sends what the polled tasks have written. False if no task was polled since the last time.
    pub fn flush(&mut self, now: Time, registry: &Registry) -> bool {
        let mut polled = std::mem::take(&mut *self.polled.borrow_mut());
        for index in &polled {
            self.flush_client(*index, now, registry);
        }
        let any = !polled.is_empty();
        polled.clear();
        let mut noted = self.polled.borrow_mut();
        if noted.is_empty() {
            // The buffer goes round, so that noting does not allocate.
            *noted = polled;
        }
        any
    }

    fn flush_client(&mut self, index: usize, now: Time, registry: &Registry) {
        let Some(client) = self.clients.get_mut(index) else { return };
        client.note_wait(now);
        client.send(now, registry, (self.token)(index));
        let sent = client.stream.is_none() || !client.connection.has_output();
        if client.connection.is_closing() && sent {
            self.remove(index);
        }
    }

    fn remove(&mut self, index: usize) {
        let client = self.clients.remove(index);
        self.by_id.remove(&client.id);
    }

    /// KILL, told to this worker.
    pub fn take_kills(&mut self) {
        for (id, kind) in self.server.take_kills(self.worker) {
            if let Some(client) = self.by_id.get(&id).and_then(|index| self.clients.get_mut(*index))
            {
                client.connection.kill(kind);
            }
        }
    }

    /// When [`Front::on_time`] has something to do.
    pub fn deadline(&self) -> Time {
        if self.clients.is_empty() { Time::MAX } else { self.check_at }
    }

    /// Closes connections that took too long: to log in, to read their answer, to say something.
    pub fn on_time(&mut self, now: Time) {
        if now < self.check_at {
            return;
        }
        self.check_at = now + CLIENT_CHECK_INTERVAL;
        let mut polled = self.polled.borrow_mut();
        for (index, client) in &mut self.clients {
            if client.check_deadlines(now) {
                polled.push(index);
            }
        }
    }

    /// The node ends: connections close as soon as no statement of theirs runs.
    pub fn begin_shutdown(&mut self) {
        for (_, client) in &mut self.clients {
            client.connection.disconnect(Disconnect::Shutdown);
        }
    }
    /// The grace is over: statements are cancelled.
    pub fn cut_all(&mut self) {
        let mut polled = self.polled.borrow_mut();
        for (index, client) in &mut self.clients {
            client.connection.kill(KillKind::Connection);
            client.hang_up();
            polled.push(index);
        }
    }
}

impl Client {
    /// Closes the socket; the task notices, rolls back and ends.
    fn hang_up(&mut self) {
        if self.stream.take().is_some() {
            self.connection.peer_closed();
        }
    }

    /// A statement that was busy for long and then wants more of its file has not waited for the client meanwhile.
    fn note_wait(&mut self, now: Time) {
        let is_awaited = self.connection.idle_timeout_seconds().is_some();
        if is_awaited && !self.is_awaited {
            self.active_at = now;
        }
        self.is_awaited = is_awaited;
    }

    fn send(&mut self, now: Time, registry: &Registry, token: Token) {
        let Some(stream) = &mut self.stream else { return };
        while !self.blocked {
            let bytes = self.connection.output();
            let wanted = bytes.len();
            if wanted == 0 {
                break;
            }
            match stream.write(bytes) {
                Transfer::Bytes(size) => {
                    self.connection.consume_output(size);
                    self.active_at = now;
                    self.blocked = size < wanted;
                }
                Transfer::Blocked => self.blocked = true,
                Transfer::Ended(_) => return self.hang_up(),
            }
        }
        if self.blocked == self.watches_writable {
            return;
        }
        self.watches_writable = self.blocked;
        let interest = match self.blocked {
            true => Interest::READABLE | Interest::WRITABLE,
            false => Interest::READABLE,
        };
        if stream.reregister(registry, token, interest).is_err() {
            self.hang_up();
        }
    }

    /// True if the connection is to be looked at because of it.
    fn check_deadlines(&mut self, now: Time) -> bool {
        let quiet = now.saturating_sub(self.active_at);
        if self.connection.is_closing() || self.stream.is_none() {
            let over = self.stream.is_some() && quiet > CLIENT_LINGER_TIMEOUT;
            if over {
                self.hang_up();
            }
            return over;
        }
        let login_late =
            !self.connection.is_authenticated() && now > self.accepted_at + LOGIN_TIMEOUT;
        let write_timeout = self
            .connection
            .write_timeout_seconds()
            .map_or(CLIENT_STALL_TIMEOUT, |seconds| seconds.saturating_mul(1_000_000));
        let stalled = self.blocked && quiet > write_timeout;
        if login_late || stalled {
            self.hang_up();
            return true;
        }
        let idle_max = self.connection.idle_timeout_seconds();
        if idle_max.is_some_and(|seconds| quiet > seconds.saturating_mul(1_000_000)) {
            self.connection.disconnect(Disconnect::Idle);
            return true;
        }
        false
    }
}
