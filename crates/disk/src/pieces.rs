//! What a log is about to be given.

use std::collections::VecDeque;

use crate::redo::{PIECE_HEADER_SIZE, RECORD_HEADER_SIZE};

/// A piece that has so many bytes is given no more records: it and the next one stay in a core's own cache, so that what the worker
/// writes into it drives nothing else out.
const PIECE_BYTES: usize = 128 << 10;
/// Buffers that are kept to be used again, and bytes of each at most.
const EMPTY_MAX: usize = 16;
const EMPTY_BYTES_MAX: usize = 1 << 20;

/// Records, put together to pieces that are each written at once. The buffers of those that were written are used again: memory that is new
/// is cleared page by page when it is first touched, and that would be done by the worker.
#[derive(Default)]
pub struct Pieces {
    /// Each has room for its header before its records.
    waiting: VecDeque<Vec<u8>>,
    empty: Vec<Vec<u8>>,
}

impl Pieces {
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a record behind all others: what `write` appends. Returns how many bytes longer the log will be, and whether a piece is full
    /// with it.
    pub fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> (u64, bool) {
        if self.waiting.back().is_none_or(|piece| PIECE_BYTES <= piece.len()) {
            self.begin_piece();
        }
        let piece = self.waiting.back_mut().expect("there is one");
        let header = piece.len();
        let begin = header + RECORD_HEADER_SIZE;
        piece.resize(begin, 0);
        write(piece);
        let length = (piece.len() - begin) as u32;
        piece[header..begin].copy_from_slice(&length.to_le_bytes());
        ((piece.len() - header) as u64, PIECE_BYTES <= piece.len())
    }

    /// What is added from now on is not in the last piece.
    pub fn begin_piece(&mut self) {
        let mut piece = self.empty.pop().unwrap_or_default();
        piece.resize(PIECE_HEADER_SIZE, 0);
        self.waiting.push_back(piece);
    }

    /// Takes those of another, behind its own, and gives it its empty buffers for them.
    pub fn take(&mut self, other: &mut Pieces) {
        self.waiting.append(&mut other.waiting);
        other.empty.append(&mut self.empty);
        other.empty.truncate(EMPTY_MAX);
    }

    pub fn first_mut(&mut self) -> Option<&mut Vec<u8>> {
        self.waiting.front_mut()
    }

    /// The first one is needed no more.
    pub fn drop_first(&mut self) {
        let mut piece = self.waiting.pop_front().expect("there is one");
        if self.empty.len() < EMPTY_MAX && piece.capacity() <= EMPTY_BYTES_MAX {
            piece.clear();
            self.empty.push(piece);
        }
    }

    pub fn clear(&mut self) {
        self.waiting.clear();
    }
}
