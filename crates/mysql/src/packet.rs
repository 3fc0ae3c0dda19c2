//! Packets and the numbers and strings inside them.
//!
//! ```text
//!   +----------------+----------+---------------------+
//!   | length (3, LE) | sequence | payload             |   a payload of 2^24-1 bytes goes on in the next packet
//!   +----------------+----------+---------------------+
//! ```
//!
//! [`Assembler`] puts a payload together from whatever pieces arrive and checks the sequence numbers. Writing is the other
//! way round: [`begin`] leaves room for a header in the output buffer, the payload is appended there, and [`finish`] fills
//! the header in (and, for the rare payload above 16 MB, moves it apart to make room for more headers). So an answer
//! is written once, where it is sent from.
//!
//! [`Reader`] takes a payload apart. Every read is checked against the bytes that are there; nothing is allocated by it.

use crate::limits::{CHUNK_MAX, HEADER_SIZE};

/// The payload is not what its kind of packet looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The bytes of a payload still to be read.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes }
    }
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.bytes.split_at_checked(count).ok_or(Malformed)?;
        self.bytes = tail;
        Ok(head)
    }
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.bytes.split_first_chunk::<N>().ok_or(Malformed)?;
        self.bytes = tail;
        Ok(*head)
    }
    /// Everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(u8::from_le_bytes(self.array()?))
    }
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array()?))
    }
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }
    /// A length-encoded integer. 0xfb (NULL) and 0xff (an error packet's mark) are not integers.
    pub fn lenenc(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            short @ 0..=0xfa => Ok(u64::from(short)),
            0xfc => Ok(u64::from(self.u16()?)),
            0xfd => {
                let [a, b, c] = self.array()?;
                Ok(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xfe => self.u64(),
            0xfb | 0xff => Err(Malformed),
        }
    }
    /// A string behind its length-encoded length.
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.lenenc()?).map_err(|_| Malformed)?;
        self.take(length)
    }
    /// A string that ends with a zero byte, which is taken too.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.bytes.iter().position(|&byte| byte == 0).ok_or(Malformed)?;
        let text = self.take(length)?;
        self.take(1)?;
        Ok(text)
    }
    /// A string up to a zero byte, or to the end: some clients leave the last terminator out.
    pub fn nul_bytes_or_rest(&mut self) -> &'a [u8] {
        match self.nul_bytes() {
            Ok(text) => text,
            Err(Malformed) => self.rest(),
        }
    }
}

pub fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0xfa => out.push(value as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(value as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Leaves room for a packet's header; returns where the packet starts, for [`finish`].
pub fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_SIZE]);
    start
}

/// Fills in the header of the packet that started at `start` and moves `sequence` on. A payload that does not fit one
/// packet is cut into several.
pub fn finish(out: &mut Vec<u8>, start: usize, sequence: &mut u8) {
    let length = out.len().checked_sub(start + HEADER_SIZE).expect("begin left room for a header");
    if length < CHUNK_MAX {
        put_header(&mut out[start..], length, *sequence);
        *sequence = sequence.wrapping_add(1);
        return;
    }
    // The last chunk is the one that is not full, so a payload of exactly n full chunks ends with an empty one.
    let full_count = length / CHUNK_MAX;
    out.resize(out.len() + full_count * HEADER_SIZE, 0);
    for index in (0..=full_count).rev() {
        let chunk_length = if index == full_count { length % CHUNK_MAX } else { CHUNK_MAX };
        let source = start + HEADER_SIZE + index * CHUNK_MAX;
        let target = source + index * HEADER_SIZE;
        out.copy_within(source..source + chunk_length, target);
        let chunk_sequence = sequence.wrapping_add(index as u8);
        put_header(&mut out[target - HEADER_SIZE..], chunk_length, chunk_sequence);
    }
    *sequence = sequence.wrapping_add(full_count as u8).wrapping_add(1);
}

/// Writes `sequence` and the numbers after it into the headers of whole packets, and moves it on.
pub fn renumber(mut packets: &mut [u8], sequence: &mut u8) {
    while let Some((header, rest)) = packets.split_first_chunk_mut::<HEADER_SIZE>() {
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        header[3] = *sequence;
        *sequence = sequence.wrapping_add(1);
        packets = &mut rest[length as usize..];
    }
}

fn put_header(out: &mut [u8], length: usize, sequence: u8) {
    assert!(length <= CHUNK_MAX);
    out[..3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
    out[3] = sequence;
}

/// Why a stream of packets cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// A packet's sequence number is not the next one.
    OutOfOrder,
    /// The payload is longer than allowed.
    TooLarge,
}

/// Puts payloads together.
#[derive(Default)]
pub struct Assembler {
    /// The sequence number that the next packet must have. Whoever writes packets moves it too.
    pub sequence: u8,
    header: [u8; HEADER_SIZE],
    /// Bytes of `header` that are there; 4 while a payload is being read.
    header_size: usize,
    /// Bytes missing of the current chunk.
    chunk_left: usize,
    /// The current chunk is a full one: another follows.
    continued: bool,
}

impl Assembler {
    /// Takes bytes from `input` and appends them to `payload` (which the caller empties before a new payload). Says how
    /// many bytes were taken and whether the payload is complete. Memory follows the bytes that came, not the length that
    /// was announced.
    pub fn feed(
        &mut self,
        input: &[u8],
        payload: &mut Vec<u8>,
        size_max: usize,
    ) -> Result<(usize, bool), FrameError> {
        let mut taken = 0;
        loop {
            if self.header_size < HEADER_SIZE {
                let count = (HEADER_SIZE - self.header_size).min(input.len() - taken);
                self.header[self.header_size..self.header_size + count]
                    .copy_from_slice(&input[taken..taken + count]);
                self.header_size += count;
                taken += count;
                if self.header_size < HEADER_SIZE {
                    return Ok((taken, false));
                }
                let [a, b, c, sequence] = self.header;
                let length = u32::from_le_bytes([a, b, c, 0]) as usize;
                if sequence != self.sequence {
                    return Err(FrameError::OutOfOrder);
                }
                if payload.len() + length > size_max {
                    return Err(FrameError::TooLarge);
                }
                self.sequence = self.sequence.wrapping_add(1);
                self.chunk_left = length;
                self.continued = length == CHUNK_MAX;
            }
            let count = self.chunk_left.min(input.len() - taken);
            payload.extend_from_slice(&input[taken..taken + count]);
            taken += count;
            self.chunk_left -= count;
            if self.chunk_left > 0 {
                return Ok((taken, false));
            }
            self.header_size = 0;
            if !self.continued {
                return Ok((taken, true));
            }
        }
    }
    /// A payload has begun and is not complete.
    pub fn is_inside(&self) -> bool {
        self.header_size > 0 || self.continued
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Length-encoded integers come back as they were put, at every boundary of their sizes; what is no integer is refused.
    #[test]
    fn lenenc_round_trip() {
        for value in [0, 1, 250, 251, 252, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, u64::MAX] {
            let mut bytes = Vec::new();
            put_lenenc(&mut bytes, value);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.lenenc(), Ok(value));
            assert!(reader.is_empty());
            for cut in 0..bytes.len() {
                assert_eq!(Reader::new(&bytes[..cut]).lenenc(), Err(Malformed));
            }
        }
        assert_eq!(Reader::new(&[0xfb]).lenenc(), Err(Malformed));
        assert_eq!(Reader::new(&[0xff]).lenenc(), Err(Malformed));
        let endless = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(Reader::new(&endless).lenenc_bytes(), Err(Malformed));
    }

    /// Payloads around the sizes where a packet is continued come back whole when they arrive in odd pieces, and the
    /// packets are cut as the protocol says.
    #[test]
    fn payloads_are_cut_and_put_together() {
        for (length, packet_count) in [
            (0, 1),
            (1, 1),
            (CHUNK_MAX - 1, 1),
            (CHUNK_MAX, 2),
            (CHUNK_MAX + 1, 2),
            (2 * CHUNK_MAX, 3),
        ] {
            let payload: Vec<u8> = (0..length).map(|i| (i * 31 + i / 251) as u8).collect();
            let mut out = vec![9, 9];
            let start = begin(&mut out);
            out.extend_from_slice(&payload);
            let mut sequence = 254;
            finish(&mut out, start, &mut sequence);
            assert_eq!(sequence, 254u8.wrapping_add(packet_count));
            assert_eq!(out.len(), 2 + length + usize::from(packet_count) * HEADER_SIZE);
            let mut assembler = Assembler { sequence: 254, ..Assembler::default() };
            let mut read = Vec::new();
            let mut complete = false;
            for piece in out[2..].chunks(1_000_003) {
                let (taken, done) = assembler.feed(piece, &mut read, 3 * CHUNK_MAX).unwrap();
                assert_eq!(taken, piece.len());
                complete = done;
            }
            assert!(complete, "length {length}");
            assert!(!assembler.is_inside());
            assert!(read == payload, "length {length}");
            let as_begun = out[2..].to_vec();
            let mut from = 7;
            renumber(&mut out[2..], &mut from);
            assert!(from == 7 + packet_count && (out[5] == 7 && out[2..] != as_begun));
            renumber(&mut out[2..], &mut 254);
            assert!(out[2..] == as_begun, "length {length}");
        }
    }

    /// A wrong sequence number and a payload above the limit are refused at their header, before any of the payload is
    /// kept; a chain of packets is limited as a whole.
    #[test]
    fn frames_are_checked() {
        let mut payload = Vec::new();
        let mut assembler = Assembler::default();
        let refused = assembler.feed(&[1, 0, 0, 1, 7], &mut payload, 100);
        assert_eq!(refused, Err(FrameError::OutOfOrder));
        let mut assembler = Assembler::default();
        assert_eq!(assembler.feed(&[101, 0, 0, 0], &mut payload, 100), Err(FrameError::TooLarge));
        assert!(payload.is_empty());
        let mut assembler = Assembler::default();
        let mut chunk = vec![0xff, 0xff, 0xff, 0];
        chunk.resize(HEADER_SIZE + CHUNK_MAX, 1);
        let limit = CHUNK_MAX + 10;
        assert_eq!(assembler.feed(&chunk, &mut payload, limit), Ok((chunk.len(), false)));
        assert!(assembler.is_inside());
        assert_eq!(assembler.feed(&[11, 0, 0, 1], &mut payload, limit), Err(FrameError::TooLarge));
    }

    /// Byte by byte is as good as all at once, and what follows a packet is left alone.
    #[test]
    fn one_byte_at_a_time() {
        let stream = [3, 0, 0, 0, b'a', b'b', b'c', 1, 0, 0, 0, b'd'];
        let mut assembler = Assembler::default();
        let mut payload = Vec::new();
        for (index, byte) in stream[..7].iter().enumerate() {
            let (taken, complete) = assembler.feed(&[*byte], &mut payload, 10).unwrap();
            assert_eq!((taken, complete), (1, index == 6));
        }
        assert_eq!(payload, b"abc");
        payload.clear();
        assembler.sequence = 0;
        assert_eq!(assembler.feed(&stream[7..], &mut payload, 10), Ok((5, true)));
        let mut assembler = Assembler::default();
        payload.clear();
        assert_eq!(assembler.feed(&stream, &mut payload, 10), Ok((7, true)));
    }
}
