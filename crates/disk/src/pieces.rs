//! What a log is about to be given.

use std::collections::VecDeque;

use crate::format::BLOCK;
use crate::redo::{PIECE_HEADER_SIZE, RECORD_HEADER_SIZE};

/// A piece of this size gets no more records. A write of 128 KiB takes 28 us of a core, one of 1
/// MiB 65 us; a record that does not fit into a file begins another one. Tests have full pieces and
/// others.
const PIECE_BYTES: usize = if cfg!(test) { 300 } else { 512 << 10 };
/// What its last record may add, and its buffer need not be another one. A record of half of it is a long one.
const RECORD_BYTES: usize = 64 << 10;
/// Of the buffer of a piece.
const BUFFER_BYTES: usize = BLOCK + PIECE_BYTES + RECORD_BYTES;
/// Buffers that are kept to be used again, and bytes of each at most.
const EMPTY_MAX: usize = 4;
const EMPTY_BYTES_MAX: usize = 2 << 20;

/// Records, put together to pieces that are each written at once. The buffers of those that were written are used again: memory that is new
/// is cleared page by page when it is first touched, and that would be done by the worker.
#[derive(Default)]
pub struct Pieces {
    waiting: VecDeque<Piece>,
    empty: Vec<Vec<u8>>,
}

/// Room for a header, and records behind it.
pub struct Piece {
    bytes: Vec<u8>,
    /// Where the header is: at an address that is a multiple of [`BLOCK`], unless a long record has moved it.
    begin: usize,
}

impl Piece {
    fn begin(mut bytes: Vec<u8>) -> Piece {
        bytes.clear();
        let begin = bytes.as_ptr().align_offset(BLOCK);
        bytes.resize(begin + PIECE_HEADER_SIZE, 0);
        Piece { bytes, begin }
    }

    /// Of its header and its records.
    pub fn length(&self) -> usize {
        self.bytes.len() - self.begin
    }

    pub fn is_full(&self) -> bool {
        PIECE_BYTES <= self.length()
    }

    /// Header and records, and zeros behind them up to this length.
    pub fn filled_up(&mut self, length: usize) -> &mut [u8] {
        self.bytes.resize(self.begin + length, 0);
        &mut self.bytes[self.begin..]
    }

    /// It was not written: the zeros behind its records are none of them.
    pub fn cut(&mut self, length: usize) {
        self.bytes.truncate(self.begin + length);
    }
}

impl Pieces {
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a record behind all others: what `write` appends. Returns how many bytes longer the log will be, and whether there is a piece
    /// now that is given no more.
    pub fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> (u64, bool) {
        if self.waiting.back().is_none_or(Piece::is_full) {
            self.begin_piece();
        }
        let piece = self.waiting.back_mut().expect("there is one");
        let header = piece.bytes.len();
        let begin = header + RECORD_HEADER_SIZE;
        piece.bytes.resize(begin, 0);
        write(&mut piece.bytes);
        let length = (piece.bytes.len() - begin) as u32;
        piece.bytes[header..begin].copy_from_slice(&length.to_le_bytes());
        let (added, is_full) = ((piece.bytes.len() - header) as u64, piece.is_full());
        (added, is_full || 1 < self.waiting.len())
    }

    /// What is added from now on is not in the last piece.
    pub fn begin_piece(&mut self) {
        let bytes = self.empty.pop().unwrap_or_else(|| Vec::with_capacity(BUFFER_BYTES));
        self.waiting.push_back(Piece::begin(bytes));
    }

    /// A record of about `size` bytes is added next. A long one that does not fit begins a piece, of no more memory than it needs: a
    /// buffer that grows is twice as long.
    pub fn expect(&mut self, size: usize) {
        let room = |piece: &Piece| piece.bytes.capacity() - piece.bytes.len();
        let fits = |piece: &Piece| !piece.is_full() && size <= room(piece);
        if size < RECORD_BYTES / 2 || self.waiting.back().is_some_and(fits) {
            return;
        }
        match size <= RECORD_BYTES {
            true => self.begin_piece(),
            false => {
                let bytes = Vec::with_capacity(BLOCK + PIECE_HEADER_SIZE + size);
                self.waiting.push_back(Piece::begin(bytes));
            }
        }
    }

    /// Takes those of another, behind its own, and gives it its empty buffers for them.
    pub fn take(&mut self, other: &mut Pieces) {
        self.waiting.append(&mut other.waiting);
        other.empty.append(&mut self.empty);
        other.empty.truncate(EMPTY_MAX);
    }

    pub fn first_mut(&mut self) -> Option<&mut Piece> {
        self.waiting.front_mut()
    }

    /// The first one is needed no more.
    pub fn drop_first(&mut self) {
        let piece = self.waiting.pop_front().expect("there is one");
        let is_usual = (BUFFER_BYTES..=EMPTY_BYTES_MAX).contains(&piece.bytes.capacity());
        if self.empty.len() < EMPTY_MAX && is_usual {
            self.empty.push(piece.bytes);
        }
    }

    pub fn clear(&mut self) {
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records that are too long to share a piece do not pile up: one is ready as soon as another comes behind it.
    #[test]
    fn pieces_of_long_records_are_ready() {
        let mut pieces = Pieces::default();
        let ready = [2, 4, 8].map(|longer| {
            pieces.expect(longer * RECORD_BYTES);
            // Not as long as was said: in tests that would be a full piece by itself.
            pieces.add(|out| out.extend([7; 10])).1
        });
        assert_eq!(ready, [false, true, true]);
    }

    /// Records of any length, as they are expected, take little more memory than they have bytes.
    #[test]
    fn long_records_take_no_more_memory_than_they_need() {
        for length in [RECORD_BYTES / 2, RECORD_BYTES, 200_000, 3 << 20] {
            let mut pieces = Pieces::default();
            for number in 0..8 {
                pieces.expect(length + 100);
                pieces.add(|out| out.extend(vec![number; length]));
            }
            let taken: usize = pieces.waiting.iter().map(|piece| piece.bytes.capacity()).sum();
            let given = 8 * (length + RECORD_HEADER_SIZE);
            // In tests a piece has room for few of the shorter ones.
            let most = if RECORD_BYTES < length { given / 20 * 21 } else { 3 * given };
            assert!(taken <= most, "{length}: {taken} for {given}");
        }
    }
}
