//! Links: one connection for each pair of workers on different nodes, carrying frames: TCP, or a unix socket between nodes
//! of one machine that share a directory.
//!
//! The worker with the lower node id connects, again and again until the peer is there; the other waits for it. After
//! both hellos the link is up and the kernel is told, whose channels then send again what the last connection lost. So a
//! link promises nothing: what is queued when it breaks is dropped.
//!
//! A cut cable breaks a link after [`Patience`], and the lower node connects several times a second
//! until the cable is whole: TCP itself could stay silent for as long again as the cut lasted. The
//! higher node may not have noticed the cut; a connection that arrives replaces the link that is up.
//!
//! ```text
//!   connecting side:   Waiting ──> Connecting ──> Greeting ──> Up ──┐
//!                         ^             │             │             │ broken
//!                         └── back-off ─┴─────────────┴─────────────┘
//!   accepting side:    Waiting ──> Up ──> Waiting
//! ```
//!
//! Writing: chunks of frames are queued and leave with one `writev` a turn. Reading: a turn's bytes come into the worker's
//! buffer and frames are handled from there; only a frame that is cut off is kept, and grows with what really arrived: to
//! the length it announces when a mebibyte of it is there, not before.

use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kernel::Time;
use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use rustix::net::sockopt;
use types::{Address, Incarnation};

use crate::hello::{self, First, Hello};
use crate::limits::{
    FRAME_SIZE_MAX, GREETING_TIMEOUT, HANDSHAKE_HEARTBEATS, HANDSHAKE_TIMEOUT_MIN,
    LINK_QUEUE_BYTES_MAX, RECONNECT_AFTER_MAX, RECONNECT_AFTER_MIN, RECONNECT_UNANSWERED_MAX,
    UNACKED_HEARTBEATS, UNACKED_TIMEOUT_MAX, UNACKED_TIMEOUT_MIN, WRITEV_CHUNKS_MAX,
};
use crate::secure::{LinkKeys, Secured, tls_text};
use crate::stream::{Stream, Transfer, ended_text};

/// A cut-off frame of which so much is there gets room for all of it; its buffer is given back.
const PARTIAL_KEPT_MAX: usize = 1 << 20;

pub struct Link {
    pub peer: Address,
    /// Where to connect, if this side does.
    connect_to: Option<LinkAddress>,
    /// Over TCP, inside TLS.
    keys: Option<Arc<LinkKeys>>,
    token: Token,
    patience: Patience,
    state: State,
    /// Waiting: when to connect. Connecting and Greeting: when to give up.
    deadline: Time,
    reconnect_after: Time,
    /// Since the link is up: chunks to send, and how much of the first is sent already.
    queue: VecDeque<Arc<Vec<u8>>>,
    queue_offset: usize,
    queue_bytes: usize,
    /// The socket took no more; writability will be announced.
    blocked: bool,
    /// The beginning of a frame whose rest has not arrived; behind frames whose turn it was not yet, if any wait.
    partial: Vec<u8>,
    frames_wait: bool,
    /// Bytes may wait in the socket although no readiness will be announced any more.
    unread: bool,
    /// The end of the stream was announced: read on until it is there.
    ending: bool,
}

/// Time that a link gives the system of its peer. The process of the peer need not run for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// To confirm a connection, in microseconds.
    handshake: Time,
    /// To acknowledge bytes.
    unacked: Duration,
}

impl Patience {
    /// `heartbeat`: of the cluster, in microseconds.
    pub fn new(heartbeat: Time) -> Patience {
        let unacked = UNACKED_HEARTBEATS * heartbeat;
        Patience {
            handshake: (HANDSHAKE_HEARTBEATS * heartbeat).max(HANDSHAKE_TIMEOUT_MIN),
            unacked: Duration::from_micros(unacked.clamp(UNACKED_TIMEOUT_MIN, UNACKED_TIMEOUT_MAX)),
        }
    }
}

/// Where a peer listens for links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkAddress {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl std::fmt::Display for LinkAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LinkAddress::Tcp(address) => write!(f, "{address}"),
            LinkAddress::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

enum State {
    Waiting,
    Connecting(Stream),
    /// Our hello is sent.
    Greeting(Stream),
    Up(Stream),
}

/// What a link has to tell after it was driven.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    Nothing,
    Up(Incarnation),
    /// It was up. The reason is for the log.
    Down(String),
    /// Somebody is there, but not the one we want, or one who does not want us. Other attempts fail silently.
    Refused(String),
}

impl Link {
    /// `connect_to`: the peer's address if this side connects. `keys`: for TCP, if the node has any.
    pub fn new(
        peer: Address,
        connect_to: Option<LinkAddress>,
        keys: Option<Arc<LinkKeys>>,
        token: Token,
        patience: Patience,
        now: Time,
    ) -> Link {
        let deadline = if connect_to.is_some() { now } else { Time::MAX };
        Link {
            peer,
            connect_to,
            keys,
            token,
            patience,
            state: State::Waiting,
            deadline,
            reconnect_after: RECONNECT_AFTER_MIN,
            queue: VecDeque::new(),
            queue_offset: 0,
            queue_bytes: 0,
            blocked: false,
            partial: Vec::new(),
            frames_wait: false,
            unread: false,
            ending: false,
        }
    }

    pub fn is_up(&self) -> bool {
        matches!(self.state, State::Up(_))
    }
    /// When [`Link::on_time`] has something to do.
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Connects, or gives up an attempt.
    pub fn on_time(&mut self, now: Time, registry: &Registry) -> Event {
        if now < self.deadline {
            return Event::Nothing;
        }
        match self.state {
            State::Waiting => self.connect(now, registry),
            State::Connecting(_) => {
                self.close(now, registry, "no answer".into(), RECONNECT_UNANSWERED_MAX)
            }
            State::Greeting(_) => self.down(now, registry, "no hello".into()),
            State::Up(_) => unreachable!("a link that is up has no deadline"),
        }
    }

    fn connect(&mut self, now: Time, registry: &Registry) -> Event {
        let address = self.connect_to.as_ref();
        let connected = match address.expect("only the side that connects has a deadline") {
            LinkAddress::Tcp(address) => TcpStream::connect(*address).map(Stream::Tcp),
            LinkAddress::Unix(path) => UnixStream::connect(path).map(Stream::Unix),
        };
        let mut stream = match connected {
            Ok(stream) => stream,
            Err(error) => {
                self.back_off(now, reconnect_max(&error));
                return Event::Nothing;
            }
        };
        self.deadline = now + self.patience.handshake;
        let interest = Interest::READABLE | Interest::WRITABLE;
        if stream.register(registry, self.token, interest).is_err() {
            self.back_off(now, RECONNECT_AFTER_MAX);
            return Event::Nothing;
        }
        self.state = State::Connecting(stream);
        Event::Nothing
    }

    /// Connects again after a pause, which doubles up to `max`.
    fn back_off(&mut self, now: Time, max: Time) {
        self.state = State::Waiting;
        self.deadline = now + self.reconnect_after.min(max);
        self.reconnect_after = (self.reconnect_after * 2).min(max);
    }

    /// Closes the connection, whatever state it is in.
    pub fn down(&mut self, now: Time, registry: &Registry, reason: String) -> Event {
        self.close(now, registry, reason, RECONNECT_AFTER_MAX)
    }

    /// The same. The connecting side pauses for `reconnect_max` at most.
    fn close(
        &mut self,
        now: Time,
        registry: &Registry,
        reason: String,
        reconnect_max: Time,
    ) -> Event {
        let was_up = self.is_up();
        match &mut self.state {
            State::Waiting => {}
            State::Connecting(stream) | State::Greeting(stream) | State::Up(stream) => {
                // Closing takes it out of the poll anyway; an error here changes nothing.
                let _ = stream.deregister(registry);
            }
        }
        self.queue.clear();
        self.queue_offset = 0;
        self.queue_bytes = 0;
        self.partial = Vec::new();
        self.frames_wait = false;
        self.blocked = false;
        self.unread = false;
        self.ending = false;
        if was_up {
            self.reconnect_after = RECONNECT_AFTER_MIN;
        }
        match &self.connect_to {
            Some(_) => self.back_off(now, reconnect_max),
            None => {
                self.state = State::Waiting;
                self.deadline = Time::MAX;
            }
        }
        if was_up { Event::Down(reason) } else { Event::Nothing }
    }

    fn up(&mut self, stream: Stream) {
        assert!(self.queue.is_empty());
        self.state = State::Up(stream);
        self.deadline = Time::MAX;
        self.reconnect_after = RECONNECT_AFTER_MIN;
    }

    /// The accepting side: takes over a connection whose hello was in order, and answers it.
    pub fn accept(
        &mut self,
        now: Time,
        registry: &Registry,
        mut stream: Stream,
        ours: &Hello,
        incarnation: Incarnation,
    ) -> Event {
        assert!(self.connect_to.is_none(), "the lower node connects");
        // A peer that comes again has given up its last connection, whether we have noticed or not.
        self.down(now, registry, String::new());
        set_options(&stream, &self.patience);
        let answer = hello::encode_hello(ours);
        let sent = matches!(stream.write(&answer), Transfer::Bytes(size) if size == answer.len());
        if !sent || stream.register(registry, self.token, Interest::READABLE).is_err() {
            return Event::Nothing;
        }
        self.up(stream);
        self.unread = true;
        Event::Up(incarnation)
    }

    /// The socket is ready; `ending` if the end of its stream was announced. A link that is up is to be read.
    pub fn on_ready(
        &mut self,
        now: Time,
        registry: &Registry,
        ours: &Hello,
        ending: bool,
        buffer: &mut [u8],
    ) -> Event {
        match &mut self.state {
            State::Waiting => Event::Nothing,
            State::Connecting(_) => self.on_connected(now, registry, ours),
            State::Greeting(_) => self.on_greeted(now, registry, ours, buffer),
            State::Up(_) => {
                self.blocked = false;
                self.ending |= ending;
                self.unread = true;
                Event::Nothing
            }
        }
    }

    fn on_connected(&mut self, now: Time, registry: &Registry, ours: &Hello) -> Event {
        let State::Connecting(stream) = &mut self.state else { unreachable!("by the caller") };
        let (error, is_connected) = match stream {
            Stream::Tcp(stream) => (stream.take_error(), stream.peer_addr().is_ok()),
            Stream::Unix(stream) => (stream.take_error(), stream.peer_addr().is_ok()),
            Stream::Secured(_) => unreachable!("secured when it is connected"),
        };
        if let Ok(Some(error)) | Err(error) = error {
            let max = reconnect_max(&error);
            return self.close(now, registry, "cannot connect".into(), max);
        }
        if !is_connected {
            return Event::Nothing;
        }
        self.deadline = now + GREETING_TIMEOUT;
        set_options(stream, &self.patience);
        let connecting = std::mem::replace(&mut self.state, State::Waiting);
        let State::Connecting(stream) = connecting else { unreachable!("by the caller") };
        let secured = match (stream, &self.keys) {
            (Stream::Tcp(socket), Some(keys)) => keys.connect(socket, self.peer.node).map(secure),
            (stream, _) => Ok(stream),
        };
        let mut stream = match secured {
            Ok(stream) => stream,
            Err(reason) => return self.refused(now, registry, reason),
        };
        let bytes = hello::encode_hello(ours);
        let sent = matches!(stream.write(&bytes), Transfer::Bytes(size) if size == bytes.len());
        let watched = stream.reregister(registry, self.token, Interest::READABLE).is_ok();
        self.state = State::Greeting(stream);
        match sent && watched {
            true => Event::Nothing,
            false => self.down(now, registry, "cannot send the hello".into()),
        }
    }

    /// Somebody is there with whom there can be no link: nothing gets better soon.
    fn refused(&mut self, now: Time, registry: &Registry, reason: String) -> Event {
        self.down(now, registry, String::new());
        self.reconnect_after = RECONNECT_AFTER_MAX;
        self.deadline = now + RECONNECT_AFTER_MAX;
        Event::Refused(reason)
    }

    fn on_greeted(
        &mut self,
        now: Time,
        registry: &Registry,
        ours: &Hello,
        buffer: &mut [u8],
    ) -> Event {
        let State::Greeting(stream) = &mut self.state else { unreachable!("by the caller") };
        // Byte by byte would do: until the hello is complete, nothing behind it is read from the socket.
        loop {
            let missing = hello::missing(&self.partial);
            match stream.read(&mut buffer[..missing]) {
                Transfer::Bytes(size) => self.partial.extend_from_slice(&buffer[..size]),
                Transfer::Blocked => return Event::Nothing,
                Transfer::Ended(Some(error)) if error.kind() == ErrorKind::InvalidData => {
                    return self.refused(now, registry, tls_text(&error));
                }
                Transfer::Ended(_) => {
                    return self.down(now, registry, "closed before its hello".into());
                }
            }
            let refused = match hello::parse(&self.partial) {
                First::Incomplete => continue,
                First::Refusal(text) => format!("the peer says: {text}"),
                First::Stranger(text) => text,
                First::Hello(theirs, size) => {
                    assert_eq!(size, self.partial.len());
                    let expected = (theirs.from == self.peer)
                        .then_some(())
                        .ok_or_else(|| format!("{:?} answers in its place", theirs.from));
                    match hello::check(&theirs, ours).and(expected) {
                        Ok(()) => {
                            self.partial.clear();
                            let greeted = std::mem::replace(&mut self.state, State::Waiting);
                            let State::Greeting(stream) = greeted else { unreachable!("as above") };
                            self.up(stream);
                            self.unread = true;
                            return Event::Up(theirs.incarnation);
                        }
                        Err(text) => text,
                    }
                }
            };
            return self.refused(now, registry, refused);
        }
    }

    /// Must [`Link::read`] be called?
    pub fn has_unread(&self) -> bool {
        self.unread
    }

    /// Reads once. Frames that arrived are handed out one by one, without their length, until `on_frame` says that it was enough.
    pub fn read(
        &mut self,
        now: Time,
        registry: &Registry,
        buffer: &mut [u8],
        on_frame: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Event {
        let State::Up(stream) = &mut self.state else { return Event::Nothing };
        if self.frames_wait {
            let bytes = std::mem::take(&mut self.partial);
            return self.take(now, registry, &bytes, on_frame);
        }
        self.unread = false;
        let size = match stream.read(buffer) {
            Transfer::Bytes(size) => size,
            Transfer::Blocked => return Event::Nothing,
            Transfer::Ended(error) => {
                return self.down(now, registry, ended_text(error.as_ref()));
            }
        };
        // What filled only a part of the buffer was all there is, and more will be announced; unless the end was announced
        // with it. A full buffer gives the other sockets their turn first.
        self.unread = size == buffer.len() || self.ending;
        self.take(now, registry, &buffer[..size], on_frame)
    }

    fn take(
        &mut self,
        now: Time,
        registry: &Registry,
        bytes: &[u8],
        on_frame: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Event {
        match take_frames(&mut self.partial, bytes, on_frame) {
            Ok(goes_on) => {
                // What was announced of the socket may be forgotten by then: it is looked at again.
                self.unread |= !goes_on || self.frames_wait;
                self.frames_wait = !goes_on;
                Event::Nothing
            }
            Err(length) => {
                let reason = format!("it announces a frame of {length} bytes");
                self.down(now, registry, reason)
            }
        }
    }

    /// Queues a chunk of whole frames. Dropped while the link is not up: the channel keeps it.
    pub fn push(&mut self, chunk: Arc<Vec<u8>>) {
        if self.is_up() {
            self.queue_bytes += chunk.len();
            self.queue.push_back(chunk);
        }
    }
    pub fn has_output(&self) -> bool {
        let has_pending = matches!(&self.state, State::Up(stream) if stream.has_pending());
        (!self.queue.is_empty() || has_pending) && !self.blocked
    }

    /// Sends what the socket takes.
    pub fn flush(&mut self, now: Time, registry: &Registry) -> Event {
        while !self.queue.is_empty() {
            let State::Up(stream) = &mut self.state else {
                unreachable!("only then it has output")
            };
            let mut slices = [IoSlice::new(&[]); WRITEV_CHUNKS_MAX];
            let count = self.queue.len().min(WRITEV_CHUNKS_MAX);
            let mut wanted = 0;
            for (index, slice) in slices[..count].iter_mut().enumerate() {
                let start = if index == 0 { self.queue_offset } else { 0 };
                let bytes = &self.queue[index][start..];
                wanted += bytes.len();
                *slice = IoSlice::new(bytes);
            }
            match stream.write_vectored(&slices[..count]) {
                Transfer::Bytes(size) => {
                    self.on_sent(size);
                    if size == wanted {
                        continue;
                    }
                }
                Transfer::Blocked => {}
                Transfer::Ended(error) => {
                    return self.down(now, registry, ended_text(error.as_ref()));
                }
            }
            return self.on_blocked(now, registry);
        }
        let State::Up(stream) = &mut self.state else { unreachable!("only then it has output") };
        match stream.flush() {
            Transfer::Bytes(_) => Event::Nothing,
            Transfer::Blocked => self.on_blocked(now, registry),
            Transfer::Ended(error) => self.down(now, registry, ended_text(error.as_ref())),
        }
    }

    fn on_sent(&mut self, size: usize) {
        self.queue_bytes -= size;
        let mut sent = self.queue_offset + size;
        while let Some(first) = self.queue.front() {
            if sent < first.len() {
                break;
            }
            sent -= first.len();
            self.queue.pop_front();
        }
        self.queue_offset = sent;
    }

    fn on_blocked(&mut self, now: Time, registry: &Registry) -> Event {
        if self.queue_bytes > LINK_QUEUE_BYTES_MAX {
            let reason = format!("it does not read: {} bytes are queued", self.queue_bytes);
            return self.down(now, registry, reason);
        }
        self.blocked = true;
        let State::Up(stream) = &mut self.state else {
            unreachable!("the caller has just written")
        };
        // Once asked for, writability stays announced: it costs a spurious look now and then on a link that has been
        // full, and saves a system call each time it is.
        let interest = Interest::READABLE | Interest::WRITABLE;
        match stream.reregister(registry, self.token, interest) {
            Ok(()) => Event::Nothing,
            Err(error) => self.down(now, registry, error.to_string()),
        }
    }
}

/// Cuts `bytes` into frames until `on_frame` says that it was enough. The rest goes to `partial`: the beginning of a frame that is cut
/// off, behind those that were too many. False if there may be such. Error: the length that is too much.
fn take_frames(
    partial: &mut Vec<u8>,
    bytes: &[u8],
    on_frame: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<bool, usize> {
    let mut rest = bytes;
    let mut goes_on = true;
    if !partial.is_empty() {
        // Only as much as completes the frame is copied.
        if partial.len() < 4 {
            let (head, tail) = rest.split_at(rest.len().min(4 - partial.len()));
            partial.extend_from_slice(head);
            rest = tail;
        }
        let Some(length) = frame_length(partial)? else { return Ok(true) };
        let left = length + 4 - partial.len();
        let (body, tail) = rest.split_at(rest.len().min(left));
        if PARTIAL_KEPT_MAX <= partial.len() {
            // A long frame that grows by doubling is copied over and over, half of it in one piece.
            partial.reserve_exact(left);
        }
        partial.extend_from_slice(body);
        rest = tail;
        if partial.len() < length + 4 {
            return Ok(true);
        }
        goes_on = on_frame(&partial[4..]);
        partial.clear();
        if partial.capacity() > PARTIAL_KEPT_MAX {
            *partial = Vec::new();
        }
    }
    while goes_on && let Some(length) = frame_length(rest)? {
        let Some(frame) = rest.get(4..length + 4) else { break };
        goes_on = on_frame(frame);
        rest = &rest[length + 4..];
    }
    partial.extend_from_slice(rest);
    Ok(goes_on)
}

fn frame_length(bytes: &[u8]) -> Result<Option<usize>, usize> {
    let Some(length) = bytes.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize;
    if length > FRAME_SIZE_MAX { Err(length) } else { Ok(Some(length)) }
}

fn secure(stream: Secured) -> Stream {
    Stream::Secured(Box::new(stream))
}

/// The longest pause after an attempt that failed with this error.
fn reconnect_max(error: &std::io::Error) -> Time {
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => RECONNECT_AFTER_MAX,
        _ => RECONNECT_UNANSWERED_MAX,
    }
}

/// No waiting for more to send with it, and an end to peers that vanished without a word.
fn set_options(stream: &Stream, patience: &Patience) {
    let stream = match stream {
        Stream::Tcp(stream) => stream,
        Stream::Secured(stream) => &stream.wire.socket,
        Stream::Unix(_) => return,
    };
    // Each is an improvement only; a kernel that lacks one is no reason to have no link.
    let _ = stream.set_nodelay(true);
    let _ = sockopt::set_socket_keepalive(stream, true);
    let _ = sockopt::set_tcp_keepidle(stream, Duration::from_secs(5));
    let _ = sockopt::set_tcp_keepintvl(stream, Duration::from_secs(2));
    let _ = sockopt::set_tcp_keepcnt(stream, 3);
    let timeout = u32::try_from(patience.unacked.as_millis()).expect("seconds");
    let _ = sockopt::set_tcp_user_timeout(stream, timeout);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(node: u16) -> Address {
        Address { node: types::NodeId(node), worker: types::WorkerId(0) }
    }

    fn hello(from: u16, to: u16) -> Hello {
        Hello {
            cluster: types::ClusterId(7),
            lineage: types::Lineage(1),
            config: 3,
            from: address(from),
            to: address(to),
            incarnation: Incarnation(u64::from(from)),
        }
    }

    /// The link of node 1 to node 2, with heartbeats of so many milliseconds.
    fn link_to(connect_to: Option<LinkAddress>, heartbeat_ms: Time) -> Link {
        let patience = Patience::new(heartbeat_ms * 1_000);
        Link::new(address(2), connect_to, None, Token(9), patience, 0)
    }

    /// Waits for readiness until the condition holds.
    fn until(poll: &mut mio::Poll, mut is_reached: impl FnMut(&Registry) -> bool) {
        let mut events = mio::Events::with_capacity(8);
        for _ in 0..1_000 {
            if is_reached(poll.registry()) {
                return;
            }
            poll.poll(&mut events, Some(Duration::from_millis(10))).expect("a poll works");
        }
        panic!("it does not happen");
    }

    #[test]
    fn patience_follows_the_heartbeat() {
        for (heartbeat_ms, handshake_ms, unacked_ms) in
            [(20, 300, 500), (100, 300, 800), (250, 750, 2_000), (5_000, 15_000, 10_000)]
        {
            let patience = Patience::new(heartbeat_ms * 1_000);
            assert_eq!(patience.handshake, handshake_ms * 1_000);
            assert_eq!(patience.unacked, Duration::from_millis(unacked_ms));
        }
    }

    /// While nothing answers, a link connects again and again, with short pauses: when the network is
    /// whole, the next attempt is at most one handshake and one pause away. In simulated time.
    #[test]
    fn unanswered_attempts_are_repeated_soon() {
        // With its queue full, a listening socket answers nobody.
        let listening = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listening, 0).unwrap();
        let target = listening.local_addr().unwrap();
        let mut queued = Vec::new();
        while let Ok(stream) =
            std::net::TcpStream::connect_timeout(&target, Duration::from_millis(100))
        {
            queued.push(stream);
        }
        let poll = mio::Poll::new().unwrap();
        let mut link = link_to(Some(LinkAddress::Tcp(target)), 100);
        let (mut now, mut attempts) = (0, 0);
        while now < 10_000_000 {
            now = link.deadline();
            assert_eq!(link.on_time(now, poll.registry()), Event::Nothing);
            attempts += usize::from(matches!(link.state, State::Connecting(_)));
            assert!(link.deadline() <= now + link.patience.handshake.max(RECONNECT_UNANSWERED_MAX));
        }
        assert!(20 <= attempts, "{attempts} attempts in ten seconds");
        // When the queue has room, an attempt arrives.
        listening.set_nonblocking(true).unwrap();
        while listening.accept().is_ok() {}
        let ours = hello(1, 2);
        let mut buffer = [0; 1000];
        let mut poll = poll;
        until(&mut poll, |registry| {
            if link.deadline() < now + 60_000_000 && matches!(link.state, State::Waiting) {
                link.on_time(link.deadline(), registry);
            }
            let _ = link.on_ready(now, registry, &ours, false, &mut buffer);
            matches!(link.state, State::Greeting(_))
        });
        assert_eq!(link.deadline(), now + GREETING_TIMEOUT);
    }

    /// A refused connection means that the process is not there: the pauses grow to a second.
    #[test]
    fn refused_attempts_are_repeated_later() {
        let path = tempfile::tempdir().unwrap().path().join("gone.sock");
        let poll = mio::Poll::new().unwrap();
        let mut link = link_to(Some(LinkAddress::Unix(path)), 100);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let now = link.deadline();
            link.on_time(now, poll.registry());
            pauses.push((link.deadline() - now) / 1_000);
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
    }

    /// A connection of the same boot replaces the one that is up, which the peer sees closed; the
    /// system breaks a connection whose bytes stay unacknowledged.
    #[test]
    fn newer_connection_replaces_the_older() {
        let listening = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let poll = mio::Poll::new().unwrap();
        let mut link = link_to(None, 100);
        let connect = |link: &mut Link| {
            let near = std::net::TcpStream::connect(listening.local_addr().unwrap()).unwrap();
            let (far, _) = listening.accept().unwrap();
            far.set_nonblocking(true).unwrap();
            let stream = Stream::Tcp(TcpStream::from_std(far));
            let event = link.accept(5, poll.registry(), stream, &hello(1, 2), Incarnation(2));
            assert_eq!(event, Event::Up(Incarnation(2)));
            near
        };
        let mut first = connect(&mut link);
        let mut second = connect(&mut link);
        let mut read = Vec::new();
        std::io::Read::read_to_end(&mut first, &mut read).expect("it was closed");
        assert_eq!(read, hello::encode_hello(&hello(1, 2)));
        let State::Up(Stream::Tcp(stream)) = &link.state else { panic!("it is up") };
        assert_eq!(sockopt::tcp_user_timeout(stream), Ok(800));
        // What is sent goes to the newer one, and its frames are read.
        link.push(Arc::new(vec![3, 0, 0, 0, 7, 7, 7]));
        assert_eq!(link.flush(6, poll.registry()), Event::Nothing);
        let mut answer = vec![0; read.len() + 7];
        std::io::Read::read_exact(&mut second, &mut answer).unwrap();
        assert_eq!(answer[read.len()..], [3, 0, 0, 0, 7, 7, 7]);
    }

    /// Frames come out whole and in order however their bytes are cut and however often it is enough, and a length beyond the bound is an
    /// error.
    #[test]
    fn frames_survive_any_cut() {
        let frames: Vec<Vec<u8>> = (0u8..40).map(|n| vec![n; usize::from(n) * 7 % 64]).collect();
        let mut wire = Vec::new();
        for frame in &frames {
            wire.extend_from_slice(&u32::try_from(frame.len()).unwrap().to_le_bytes());
            wire.extend_from_slice(frame);
        }
        for (cut, enough) in
            (1..200).flat_map(|cut| [1, 2, 3, usize::MAX].map(|enough| (cut, enough)))
        {
            let mut partial = Vec::new();
            let mut seen = Vec::new();
            let mut take = |bytes: &[u8], partial: &mut Vec<u8>| {
                let mut left = enough;
                let mut on_frame = |frame: &[u8]| {
                    seen.push(frame.to_vec());
                    left -= 1;
                    left > 0
                };
                take_frames(partial, bytes, &mut on_frame).unwrap()
            };
            for piece in wire.chunks(cut) {
                let mut goes_on = take(piece, &mut partial);
                while !goes_on {
                    let bytes = std::mem::take(&mut partial);
                    goes_on = take(&bytes, &mut partial);
                }
            }
            assert_eq!(seen, frames, "pieces of {cut}, {enough} at a time");
            assert!(partial.is_empty());
        }
        let huge = u32::try_from(FRAME_SIZE_MAX + 1).unwrap().to_le_bytes();
        for cut in 1..=4 {
            let mut partial = Vec::new();
            let results: Vec<_> =
                huge.chunks(cut).map(|p| take_frames(&mut partial, p, &mut |_| true)).collect();
            assert!(results.contains(&Err(FRAME_SIZE_MAX + 1)));
        }
    }

    /// A length alone reserves nothing, and a long frame does not grow by doubling: both would be memory that nobody uses.
    #[test]
    fn a_frame_that_comes_in_pieces_takes_as_much_as_it_needs() {
        const LENGTH: usize = 5 * PARTIAL_KEPT_MAX + 77;
        let mut partial = Vec::new();
        let (mut seen, mut come) = (0, 0);
        let mut on_frame = |frame: &[u8]| {
            seen += frame.len();
            true
        };
        take_frames(&mut partial, &(LENGTH as u32).to_le_bytes(), &mut on_frame).unwrap();
        while come < LENGTH {
            let piece = vec![7; (LENGTH - come).min(100_000)];
            come += piece.len();
            take_frames(&mut partial, &piece, &mut on_frame).unwrap();
            let max = if come <= PARTIAL_KEPT_MAX { 2 * PARTIAL_KEPT_MAX } else { LENGTH + 4 };
            assert!(partial.capacity() <= max, "{} for {come} of {LENGTH}", partial.capacity());
        }
        assert_eq!((seen, partial.capacity()), (LENGTH, 0));
    }
}
