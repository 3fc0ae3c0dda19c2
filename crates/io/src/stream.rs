//! A connected socket of either kind.

use std::io::{self, Read, Write};

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

use crate::secure::Secured;

#[derive(Debug)]
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    /// A link between nodes that have keys.
    Secured(Box<Secured>),
}

/// What one call brought. Interrupted calls are repeated inside.
#[derive(Debug)]
pub enum Transfer {
    Bytes(usize),
    /// Nothing now; readiness will be announced.
    Blocked,
    /// End of file, or an error that ends the connection.
    Ended(Option<io::Error>),
}

impl Stream {
    pub fn read(&mut self, buffer: &mut [u8]) -> Transfer {
        loop {
            let result = match self {
                Stream::Tcp(stream) => stream.read(buffer),
                Stream::Unix(stream) => stream.read(buffer),
                Stream::Secured(stream) => return stream.read(buffer),
            };
            match transfer(result, true) {
                Some(transfer) => return transfer,
                None => continue,
            }
        }
    }
    pub fn write(&mut self, bytes: &[u8]) -> Transfer {
        loop {
            let result = match self {
                Stream::Tcp(stream) => stream.write(bytes),
                Stream::Unix(stream) => stream.write(bytes),
                Stream::Secured(stream) => {
                    return stream.write_vectored(&[io::IoSlice::new(bytes)]);
                }
            };
            match transfer(result, false) {
                Some(transfer) => return transfer,
                None => continue,
            }
        }
    }
    pub fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> Transfer {
        loop {
            let result = match self {
                Stream::Tcp(stream) => stream.write_vectored(slices),
                Stream::Unix(stream) => stream.write_vectored(slices),
                Stream::Secured(stream) => return stream.write_vectored(slices),
            };
            match transfer(result, false) {
                Some(transfer) => return transfer,
                None => continue,
            }
        }
    }

    /// Has it taken bytes that its socket has not?
    pub fn has_pending(&self) -> bool {
        match self {
            Stream::Tcp(_) | Stream::Unix(_) => false,
            Stream::Secured(stream) => stream.has_pending(),
        }
    }
    /// Sends those.
    pub fn flush(&mut self) -> Transfer {
        match self {
            Stream::Tcp(_) | Stream::Unix(_) => Transfer::Bytes(0),
            Stream::Secured(stream) => stream.flush(),
        }
    }
}

/// None: again.
fn transfer(result: io::Result<usize>, zero_is_end: bool) -> Option<Transfer> {
    match result {
        Ok(0) if zero_is_end => Some(Transfer::Ended(None)),
        Ok(size) => Some(Transfer::Bytes(size)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(Transfer::Blocked),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
        Err(error) => Some(Transfer::Ended(Some(error))),
    }
}

/// Why a connection ended, as a text.
pub fn ended_text(error: Option<&io::Error>) -> String {
    error.map_or_else(|| "the peer closed it".to_string(), ToString::to_string)
}

impl Source for Stream {
    fn register(
        &mut self,
        registry: &Registry,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.register(registry, token, interest),
            Stream::Unix(stream) => stream.register(registry, token, interest),
            Stream::Secured(stream) => stream.wire.socket.register(registry, token, interest),
        }
    }
    fn reregister(
        &mut self,
        registry: &Registry,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.reregister(registry, token, interest),
            Stream::Unix(stream) => stream.reregister(registry, token, interest),
            Stream::Secured(stream) => stream.wire.socket.reregister(registry, token, interest),
        }
    }
    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.deregister(registry),
            Stream::Unix(stream) => stream.deregister(registry),
            Stream::Secured(stream) => stream.wire.socket.deregister(registry),
        }
    }
}
