//! The file of LOAD DATA LOCAL: requested from the client in the middle of a statement.
//!
//! ```text
//!   server: 0xfb and the name ──>
//!   client: packets of the file, then an empty one ──>
//!   server: OK or an error
//! ```
//!
//! A client sends its whole file before it reads anything, whatever becomes of the statement. So an answer that is ready before
//! waits until the rest of the file has come, which is dropped. Pieces are taken as they arrive, not packet by packet: memory is
//! bounded by the input buffer however long the packets are, and a client is not read from while the statement is behind.

use std::cell::Cell;
use std::rc::Rc;

use sql::{OkInfo, SqlError, code};

use crate::connection::Shared;
use crate::pipe::{Disconnect, ReadEnd, read_piece};

/// A file that the client is sending.
#[derive(Default)]
pub struct OpenFile {
    /// The packet under way has had bytes: it is not the one that ends the file.
    is_inside: bool,
    /// What the statement has answered meanwhile.
    pub answer: Option<Answer>,
}

/// The end of a statement.
pub enum Answer {
    Ok(OkInfo),
    Error { code: u16, message: String },
}

/// The clock of net_read_timeout, which runs while the server waits for the client.
struct ReadTimer<'s>(&'s Cell<Option<u64>>);

impl Drop for ReadTimer<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl OpenFile {
    /// The next piece; `None` at the end of the file. `drains`: it is dropped, so that the node's shutdown does not wait.
    pub async fn read(
        &mut self,
        shared: &Rc<Shared>,
        drains: bool,
    ) -> Result<Option<Vec<u8>>, ReadEnd> {
        let timer = ReadTimer(&shared.idle_timeout_seconds);
        timer.0.set(Some(shared.read_timeout_seconds.get()));
        loop {
            let (piece, is_end) = read_piece(&shared.pipe, drains).await?;
            let is_empty = piece.is_empty() && !self.is_inside;
            self.is_inside = !is_end;
            match (piece.is_empty(), is_end && is_empty) {
                (false, _) => return Ok(Some(piece)),
                (true, true) => return Ok(None),
                // The packet before had the greatest size, which another one continues.
                (true, false) => {}
            }
        }
    }
}

/// The error of a statement whose file does not arrive. The connection ends with it.
pub fn read_error(end: ReadEnd) -> SqlError {
    match end {
        ReadEnd::Gone | ReadEnd::Disconnect(Disconnect::Killed | Disconnect::Shutdown) => {
            SqlError::fatal(code::ER_NET_READ_ERROR, "Got an error reading communication packets")
        }
        ReadEnd::Disconnect(Disconnect::Idle) => SqlError::fatal(
            code::ER_NET_READ_INTERRUPTED,
            "Got timeout reading communication packets",
        ),
        ReadEnd::OutOfOrder => {
            SqlError::fatal(code::ER_NET_PACKETS_OUT_OF_ORDER, "Got packets out of order")
        }
        ReadEnd::TooLarge => SqlError::fatal(
            code::ER_NET_PACKET_TOO_LARGE,
            "Got a packet bigger than 'max_allowed_packet' bytes",
        ),
    }
}
