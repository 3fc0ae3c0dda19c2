//! The two byte streams of a connection, between its driver (which has the socket) and its task (which has the session).
//!
//! ```text
//!   driver: receive ──> [TLS] ──> input  ──> assembler ──> payload    :task
//!   driver: output <── sending <── [TLS] <── output <── packets       :task
//! ```
//!
//! Both sides run on one thread; the pipe wakes the task when bytes came, when enough of the output has gone, and when the
//! connection ends. Output is double-buffered: the driver sends from one vector while the task fills the other.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use rustls::{ServerConfig, ServerConnection};

use crate::limits::{
    BUFFER_KEPT_MAX, FILE_PIECE_MAX, INPUT_BEFORE_AUTH_MAX, INPUT_MARK, INPUT_MAX, OUTPUT_MARK,
};
use crate::packet::{self, Assembler, FrameError};

/// Why the server ends a connection that did nothing wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disconnect {
    /// No statement for wait_timeout seconds.
    Idle,
    /// The node shuts down.
    Shutdown,
    /// KILL.
    Killed,
}

/// Why there is no next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadEnd {
    /// The peer closed, or TLS failed: nobody is there to be told anything.
    Gone,
    OutOfOrder,
    TooLarge,
    Disconnect(Disconnect),
}

#[derive(Default)]
pub struct Pipe {
    /// Received (and decrypted) bytes; those before `input_start` have been read.
    input: Vec<u8>,
    input_start: usize,
    /// More came than may be kept.
    input_overflowed: bool,
    assembler: Assembler,
    /// Memory of the payload that the task assembles.
    payload_capacity: usize,
    /// Finished packets that the driver has not taken yet, before encryption.
    output: Vec<u8>,
    /// Bytes the driver has taken and not yet sent. Moved by Connection.
    pub unsent: usize,
    tls: Option<Box<ServerConnection>>,
    /// The peer closed its side, or TLS failed. Output may still be of use (a TLS alert).
    gone: bool,
    disconnect: Option<Disconnect>,
    /// The task has ended: the connection closes when the output is sent.
    closing: bool,
    /// TLS has said goodbye.
    close_notified: bool,
    authenticated: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// A packet that is being written. If the writer panics nothing of it stays.
struct Begun<'p> {
    output: &'p mut Vec<u8>,
    start: usize,
    is_whole: bool,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if !self.is_whole {
            self.output.truncate(self.start);
        }
    }
}

impl Pipe {
    // The driver's side.

    /// Takes bytes from the socket.
    pub fn receive(&mut self, bytes: &[u8]) {
        if self.gone || self.closing {
            return;
        }
        if self.tls.is_some() {
            self.receive_tls(bytes);
        } else {
            self.push_input(bytes);
        }
        wake(&mut self.reader);
    }
    fn push_input(&mut self, bytes: &[u8]) {
        let kept_max = if self.authenticated { INPUT_MAX } else { INPUT_BEFORE_AUTH_MAX };
        if self.input_size() + bytes.len() > kept_max {
            self.input_overflowed = true;
            return;
        }
        if self.input_start > 0 {
            self.input.drain(..self.input_start);
            self.input_start = 0;
        }
        self.input.extend_from_slice(bytes);
    }
    fn receive_tls(&mut self, mut bytes: &[u8]) {
        let mut tls = self.tls.take().expect("the caller has seen it");
        while !bytes.is_empty() && !self.gone && !self.input_overflowed {
            if !matches!(tls.read_tls(&mut bytes), Ok(1..)) {
                self.gone = true;
                break;
            }
            match tls.process_new_packets() {
                Ok(state) => {
                    let mut plaintext = vec![0; state.plaintext_bytes_to_read()];
                    let read = tls.reader().read_exact(&mut plaintext);
                    assert!(read.is_ok(), "rustls has the bytes it counted");
                    self.push_input(&plaintext);
                    self.gone |= state.peer_has_closed();
                }
                // What rustls wants to say about it (an alert) is among its output.
                Err(_) => self.gone = true,
            }
        }
        self.tls = Some(tls);
        if self.gone {
            wake(&mut self.writer);
        }
    }
    pub fn input_size(&self) -> usize {
        self.input.len() - self.input_start
    }
    /// Memory of the buffers, without rustls's own.
    pub fn memory_size(&self) -> usize {
        self.input.capacity() + self.output.capacity() + self.payload_capacity
    }
    pub fn wants_input(&self) -> bool {
        let mark = if self.authenticated { INPUT_MARK } else { INPUT_BEFORE_AUTH_MAX / 2 };
        !self.gone && !self.closing && self.input_size() < mark
    }
    /// Exchanges an empty buffer for everything there is to send.
    pub fn take_output(&mut self, sending: &mut Vec<u8>) {
        assert!(sending.is_empty());
        let Some(tls) = &mut self.tls else {
            std::mem::swap(sending, &mut self.output);
            self.unsent = sending.len();
            return;
        };
        let mut taken = 0;
        loop {
            // rustls limits what it buffers: plaintext goes in and ciphertext comes out in turns.
            if !tls.is_handshaking() {
                let rest = &self.output[taken..];
                taken += tls.writer().write(rest).expect("rustls writes to memory");
            }
            // TLS's goodbye comes behind the last packet, never before it.
            if self.closing && taken == self.output.len() && !self.close_notified {
                self.close_notified = true;
                tls.send_close_notify();
            }
            if !tls.wants_write() {
                break;
            }
            while tls.wants_write() {
                tls.write_tls(sending).expect("writing to memory does not fail");
            }
        }
        self.output.drain(..taken);
        give_back(&mut self.output);
        self.unsent = sending.len();
    }
    pub fn has_output(&self) -> bool {
        !self.output.is_empty()
            || self
                .tls
                .as_ref()
                .is_some_and(|tls| tls.wants_write() || self.closing && !self.close_notified)
    }
    /// The driver has sent some; the task may go on when enough is gone.
    pub fn output_consumed(&mut self, size: usize) {
        self.unsent = self.unsent.checked_sub(size).expect("no more is sent than was taken");
        if self.output.len() + self.unsent < OUTPUT_MARK / 2 {
            wake(&mut self.writer);
        }
    }
    pub fn peer_closed(&mut self) {
        self.gone = true;
        wake(&mut self.reader);
        wake(&mut self.writer);
    }
    pub fn disconnect(&mut self, reason: Disconnect) {
        self.disconnect.get_or_insert(reason);
        wake(&mut self.reader);
    }
    /// The task ended, or nobody is left to talk to.
    pub fn is_closing(&self) -> bool {
        self.closing
    }
    pub fn is_authenticated(&self) -> bool {
        self.authenticated
    }

    // The task's side.

    pub fn set_authenticated(&mut self) {
        self.authenticated = true;
    }
    /// The last thing a task does.
    pub fn close(&mut self) {
        self.closing = true;
        self.input = Vec::new();
        self.input_start = 0;
    }
    pub fn is_full(&self) -> bool {
        !self.gone && self.output.len() + self.unsent >= OUTPUT_MARK
    }
    /// A new command begins: packets count from 0 again.
    pub fn restart_sequence(&mut self) {
        self.assembler.sequence = 0;
    }
    /// Appends one packet, whose payload `write` appends. Nothing is kept for a peer that is gone.
    pub fn put_packet(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.gone {
            return;
        }
        let start = packet::begin(&mut self.output);
        let mut begun = Begun { output: &mut self.output, start, is_whole: false };
        write(begun.output);
        begun.is_whole = true;
        drop(begun);
        packet::finish(&mut self.output, start, &mut self.assembler.sequence);
    }
    /// Appends whole packets and numbers them.
    pub fn put_packets(&mut self, packets: &[u8]) {
        if self.gone {
            return;
        }
        let start = self.output.len();
        self.output.extend_from_slice(packets);
        packet::renumber(&mut self.output[start..], &mut self.assembler.sequence);
    }
    /// TLS from the next byte on. What came behind the request is the beginning of the client's handshake, or somebody's
    /// plaintext, which is no TLS record and ends the connection: nothing received before is ever taken as if it had come
    /// encrypted.
    pub fn start_tls(&mut self, config: &Arc<ServerConfig>) {
        assert!(self.tls.is_none());
        assert!(!self.authenticated);
        let Ok(tls) = ServerConnection::new(config.clone()) else {
            self.gone = true;
            return;
        };
        self.tls = Some(Box::new(tls));
        let early = self.input.split_off(self.input_start);
        self.input = Vec::new();
        self.input_start = 0;
        self.receive_tls(&early);
    }
    /// Cipher and protocol version in use.
    pub fn tls_names(&self) -> Option<(String, String)> {
        let tls = self.tls.as_ref()?;
        let cipher = tls.negotiated_cipher_suite()?.suite().as_str()?.to_string();
        let version = match tls.protocol_version()? {
            rustls::ProtocolVersion::TLSv1_3 => "TLSv1.3".to_string(),
            rustls::ProtocolVersion::TLSv1_2 => "TLSv1.2".to_string(),
            other => format!("{other:?}"),
        };
        Some((cipher.replace("TLS13_", "TLS_"), version))
    }
    fn poll_packet(
        &mut self,
        payload: &mut Vec<u8>,
        size_max: usize,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), ReadEnd>> {
        let fed = self.assembler.feed(&self.input[self.input_start..], payload, size_max);
        self.payload_capacity = payload.capacity();
        match self.take_fed(fed) {
            Ok(true) => Poll::Ready(Ok(())),
            Ok(false) => self.poll_end(false, context).map(Err),
            Err(end) => Poll::Ready(Err(end)),
        }
    }
    /// Bytes of a packet as they come, and whether they end it.
    fn poll_piece(
        &mut self,
        drains: bool,
        context: &mut Context<'_>,
    ) -> Poll<Result<(Vec<u8>, bool), ReadEnd>> {
        let mut piece = Vec::new();
        let input = &self.input[self.input_start..];
        let input = &input[..input.len().min(FILE_PIECE_MAX)];
        let fed = self.assembler.feed(input, &mut piece, usize::MAX);
        match self.take_fed(fed) {
            Ok(is_end) if is_end || !piece.is_empty() => Poll::Ready(Ok((piece, is_end))),
            // Of a statement under way the shutdown waits.
            Ok(_) => self.poll_end(!drains, context).map(Err),
            Err(end) => Poll::Ready(Err(end)),
        }
    }
    /// Drops the input that the assembler has taken. True if it has a whole payload.
    fn take_fed(&mut self, fed: Result<(usize, bool), FrameError>) -> Result<bool, ReadEnd> {
        match fed {
            Ok((taken, complete)) => {
                self.input_start += taken;
                if self.input_start == self.input.len() {
                    self.input.clear();
                    self.input_start = 0;
                    give_back(&mut self.input);
                }
                Ok(complete)
            }
            Err(FrameError::OutOfOrder) => Err(ReadEnd::OutOfOrder),
            Err(FrameError::TooLarge) => Err(ReadEnd::TooLarge),
        }
    }
    /// Waits for input, unless there will be none.
    fn poll_end(&mut self, outlasts_shutdown: bool, context: &mut Context<'_>) -> Poll<ReadEnd> {
        if self.gone {
            return Poll::Ready(ReadEnd::Gone);
        }
        if self.input_overflowed {
            return Poll::Ready(ReadEnd::TooLarge);
        }
        if let Some(reason) = self.disconnect
            && !(outlasts_shutdown && reason == Disconnect::Shutdown)
        {
            return Poll::Ready(ReadEnd::Disconnect(reason));
        }
        self.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

/// Frees the memory of an empty buffer that has grown.
pub fn give_back(buffer: &mut Vec<u8>) {
    if buffer.is_empty() && buffer.capacity() > BUFFER_KEPT_MAX {
        *buffer = Vec::new();
    }
}

/// The next payload, into `payload`.
pub async fn read_packet(
    pipe: &Rc<RefCell<Pipe>>,
    payload: &mut Vec<u8>,
    size_max: usize,
) -> Result<(), ReadEnd> {
    payload.clear();
    give_back(payload);
    poll_fn(|context| pipe.borrow_mut().poll_packet(payload, size_max, context)).await
}

/// The next bytes of a packet as they come, and whether they end it. `drains`: they are dropped, so that the node's shutdown
/// does not wait for them.
pub async fn read_piece(
    pipe: &Rc<RefCell<Pipe>>,
    drains: bool,
) -> Result<(Vec<u8>, bool), ReadEnd> {
    poll_fn(|context| pipe.borrow_mut().poll_piece(drains, context)).await
}

/// Waits until half of the output is sent, or nobody reads it any more.
pub async fn drained(pipe: &Rc<RefCell<Pipe>>) {
    poll_fn(|context| {
        let mut pipe = pipe.borrow_mut();
        if pipe.gone || pipe.output.len() + pipe.unsent < OUTPUT_MARK / 2 {
            return Poll::Ready(());
        }
        pipe.writer = Some(context.waker().clone());
        Poll::Pending
    })
    .await;
}
