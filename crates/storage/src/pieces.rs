//! A list that grows to millions of entries without ever moving one.
//!
//! `Vec` copies all its entries when it doubles: 36 MB at half a million of a transaction's writes,
//! during which a worker serves no session. Here growth takes one more piece.

use std::ops::{Index, IndexMut, Range};

/// Entries of a piece.
const PIECE_LENGTH: usize = 256;

/// Entries in order of their places, in pieces of [`PIECE_LENGTH`]; added and removed at the end.
#[derive(Debug)]
pub struct Pieces<T> {
    /// All are full but the last, which is not empty.
    pieces: Vec<Vec<T>>,
}

impl<T> Pieces<T> {
    pub fn new() -> Pieces<T> {
        Pieces { pieces: Vec::new() }
    }
    pub fn len(&self) -> usize {
        match self.pieces.last() {
            Some(last) => (self.pieces.len() - 1) * PIECE_LENGTH + last.len(),
            None => 0,
        }
    }
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
    pub fn push(&mut self, entry: T) {
        match self.pieces.last_mut() {
            Some(last) if last.len() < PIECE_LENGTH => last.push(entry),
            // The first grows as it must: most lists are short.
            None => self.pieces.push(vec![entry]),
            Some(_) => {
                let mut piece = Vec::with_capacity(PIECE_LENGTH);
                piece.push(entry);
                self.pieces.push(piece);
            }
        }
    }
    pub fn pop(&mut self) -> Option<T> {
        let last = self.pieces.last_mut()?;
        let entry = last.pop();
        if last.is_empty() {
            self.pieces.pop();
        }
        entry
    }
    pub fn last(&self) -> Option<&T> {
        self.pieces.last()?.last()
    }
    pub fn get(&self, place: usize) -> Option<&T> {
        self.pieces.get(place / PIECE_LENGTH)?.get(place % PIECE_LENGTH)
    }
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.pieces.get_mut(place / PIECE_LENGTH)?.get_mut(place % PIECE_LENGTH)
    }
    /// The entries of these places, as far as there are any.
    pub fn range(&self, places: Range<usize>) -> impl Iterator<Item = &T> {
        places.map_while(|place| self.get(place))
    }
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().flatten()
    }
}

impl<T> Default for Pieces<T> {
    fn default() -> Pieces<T> {
        Pieces::new()
    }
}

impl<T> Index<usize> for Pieces<T> {
    type Output = T;
    fn index(&self, place: usize) -> &T {
        &self.pieces[place / PIECE_LENGTH][place % PIECE_LENGTH]
    }
}
impl<T> IndexMut<usize> for Pieces<T> {
    fn index_mut(&mut self, place: usize) -> &mut T {
        &mut self.pieces[place / PIECE_LENGTH][place % PIECE_LENGTH]
    }
}

impl<T> Extend<T> for Pieces<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, entries: I) {
        entries.into_iter().for_each(|entry| self.push(entry));
    }
}
impl<T> FromIterator<T> for Pieces<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Pieces<T> {
        let mut pieces = Pieces::new();
        pieces.extend(entries);
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same as a vector, across the ends of pieces.
    #[test]
    fn pieces_are_a_list() {
        let count = 3 * PIECE_LENGTH + 1;
        let mut pieces: Pieces<usize> = (0..count).collect();
        assert_eq!(
            (pieces.len(), pieces.last(), pieces.get(count)),
            (count, Some(&(count - 1)), None)
        );
        assert!(pieces.iter().copied().eq(0..count));
        let middle = PIECE_LENGTH - 2..PIECE_LENGTH + 2;
        assert!(pieces.range(middle.clone()).copied().eq(middle));
        pieces[PIECE_LENGTH] = 7;
        assert_eq!(pieces[PIECE_LENGTH], 7);
        pieces[PIECE_LENGTH] = PIECE_LENGTH;
        for place in (0..count).rev() {
            assert_eq!((pieces.pop(), pieces.len()), (Some(place), place));
        }
        assert!(pieces.is_empty() && pieces.pop().is_none() && pieces.last().is_none());
        pieces.push(1);
        assert_eq!(pieces.iter().collect::<Vec<_>>(), [&1]);
    }
}
