//! The file of a section of a checkpoint.
//!
//! ```text
//!   rows-N:        "skarv-ck" | version u32 | store u64 | number u64 | crc32c u32 of these
//!                  for each block:  raw length u32 | length u32 | crc32c u32 | bytes (zstd)
//!                                   the checksum is of store, number, place in the file, lengths and bytes
//! ```
//! The manifest says how long it is and the checksum of all block headers, so nothing can be missing at its end.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread::LocalKey;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::{CParameter, ParamSwitch};

use crate::DiskError;
use crate::checkpoints::Section;
use crate::files::Files;
use crate::format::{DEVICE_BLOCK, VERSION, crc, crc_behind, damaged, io_error, u32_at};

const MAGIC: &[u8; 8] = b"skarv-ck";
const HEADER_SIZE: usize = 8 + 4 + 8 + 8 + 4;
pub const BLOCK_HEADER_SIZE: usize = 12;
/// Of a block, before it is compressed. What is longer is damage.
pub const BLOCK_SIZE_MAX: usize = 256 << 20;
const ZSTD_LEVEL: i32 = 1;
/// Bytes of a section that are read back at a time.
const PROOF_BYTES: usize = 1 << 20;
/// A hash table of 16 KiB: it takes little of a core's own cache, and finds no fewer matches in rows.
const ZSTD_HASH_LOG: u32 = 12;
/// Where nothing repeats, only one position in this many bytes is examined; the bytes themselves
/// are coded all the same, which the library skips by itself.
const ZSTD_STEP: u32 = 4;

pub fn header(store: u64, number: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_SIZE);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(store.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.extend(crc(&[&bytes]).to_le_bytes());
    bytes
}

fn block_crc(store: u64, number: u64, at: u64, lengths: &[u8], bytes: &[u8]) -> u32 {
    let (store, number, at) = (store.to_le_bytes(), number.to_le_bytes(), at.to_le_bytes());
    crc(&[&store, &number, &at, lengths, bytes])
}

/// What is compressed.
pub struct Packed {
    pub raw_length: usize,
    pub bytes: Vec<u8>,
}

pub fn pack(raw: &[u8]) -> std::io::Result<Packed> {
    assert!(raw.len() <= BLOCK_SIZE_MAX, "blocks are pieces of tables");
    let compress = |with: &mut Compressor<'_>| with.compress(raw);
    let bytes = with_kept(&COMPRESSOR, compressor, compress)?;
    Ok(Packed { raw_length: raw.len(), bytes })
}

/// Half as fast again as the level by itself, for files that are 4 % longer (rows of sysbench).
fn compressor() -> std::io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(ZSTD_LEVEL)?;
    compressor.set_parameter(CParameter::HashLog(ZSTD_HASH_LOG))?;
    compressor.set_parameter(CParameter::TargetLength(ZSTD_STEP))?;
    compressor.set_parameter(CParameter::LiteralCompressionMode(ParamSwitch::Enable))?;
    Ok(compressor)
}

thread_local! {
    // To make one costs more than to use it for a block.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Does something with what the thread keeps for that, made when it is first wanted.
fn with_kept<T, R>(
    kept: &'static LocalKey<RefCell<Option<T>>>,
    make: impl FnOnce() -> std::io::Result<T>,
    work: impl FnOnce(&mut T) -> std::io::Result<R>,
) -> std::io::Result<R> {
    kept.with_borrow_mut(|kept| {
        if kept.is_none() {
            *kept = Some(make()?);
        }
        work(kept.as_mut().expect("just made"))
    })
}

/// A block as it is in the file at this place.
pub fn block(store: u64, number: u64, at: u64, packed: &Packed) -> Vec<u8> {
    let Packed { raw_length, bytes: compressed } = packed;
    let mut bytes = Vec::with_capacity(BLOCK_HEADER_SIZE + compressed.len());
    bytes.extend((*raw_length as u32).to_le_bytes());
    bytes.extend((compressed.len() as u32).to_le_bytes());
    bytes.extend(block_crc(store, number, at, &bytes, compressed).to_le_bytes());
    bytes.extend(compressed);
    bytes
}

/// The lengths in a block's header, raw and compressed; None if they are not those of a block.
pub fn lengths(header: &[u8]) -> Option<(usize, usize)> {
    let (raw_length, length) = (u32_at(header, 0)? as usize, u32_at(header, 4)? as usize);
    let is_possible =
        raw_length <= BLOCK_SIZE_MAX && length <= zstd::zstd_safe::compress_bound(raw_length) + 64;
    is_possible.then_some((raw_length, length))
}

/// Are these the bytes that the header was made for?
pub fn is_whole(store: u64, number: u64, at: u64, header: &[u8], bytes: &[u8]) -> bool {
    u32_at(header, 8) == Some(block_crc(store, number, at, &header[..8], bytes))
}

pub fn decompress(bytes: &[u8], raw_length: usize) -> Option<Vec<u8>> {
    let decompress = |with: &mut Decompressor<'_>| with.decompress(bytes, raw_length);
    let raw = with_kept(&DECOMPRESSOR, Decompressor::new, decompress).ok()?;
    (raw.len() == raw_length).then_some(raw)
}

/// The checksum of a file so far, and the next block's header.
pub fn add_to_crc(sum: u32, block: &[u8]) -> u32 {
    crc_behind(sum, &block[..BLOCK_HEADER_SIZE])
}

/// Returns the bytes from a place on, as many as asked for or as there are.
type ReadFile<'a> = dyn FnMut(u64, usize) -> Result<Vec<u8>, DiskError> + 'a;
/// Sees a block, compressed: its place, and the length that it had before.
type VisitPacked<'a> = dyn FnMut(u64, usize, &[u8]) -> Result<(), DiskError> + 'a;

/// Reads a section to which nothing is added any more.
pub struct SectionReader {
    pub files: Arc<dyn Files>,
    pub store: u64,
    pub section: Section,
}

impl SectionReader {
    /// Visits its blocks in order.
    pub fn read(
        &self,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), DiskError> {
        let name = &self.section.name();
        let mut read = |at: u64, count| self.files.read_at(name, at, count).map_err(io_error(name));
        self.check(&mut read, &mut |at, raw_length, bytes| {
            let Some(raw) = decompress(bytes, raw_length) else {
                return damaged(name, format!("the block at byte {at} cannot be decompressed"));
            };
            visit(&raw).map_err(DiskError::Visitor)
        })
    }

    /// Is all of it on the device, as it was written? Says each time how many bytes it has read.
    pub fn prove(
        &self,
        on_read: &mut dyn FnMut(usize) -> Result<(), String>,
    ) -> Result<(), DiskError> {
        let name = &self.section.name();
        let (mut found, mut found_at) = (Vec::new(), 0);
        let mut read = |at: u64, count: usize| {
            let end = at + count as u64;
            if at < found_at || found_at + (found.len() as u64) < end {
                found_at = at / DEVICE_BLOCK as u64 * DEVICE_BLOCK as u64;
                let length = PROOF_BYTES.max((end - found_at) as usize);
                let read = self.files.read_from_device(name, found_at, length);
                found = read.map_err(io_error(name))?;
                on_read(found.len()).map_err(DiskError::Visitor)?;
            }
            let begin = ((at - found_at) as usize).min(found.len());
            Ok(found[begin..found.len().min(begin + count)].to_vec())
        };
        self.check(&mut read, &mut |_, _, _| Ok(()))
    }

    /// Visits its blocks in order, if they are what they are to be, and closes the file.
    fn check(&self, read: &mut ReadFile<'_>, visit: &mut VisitPacked<'_>) -> Result<(), DiskError> {
        let name = self.section.name();
        let checked = self.check_blocks(&name, read, visit);
        self.files.close(&name);
        checked
    }

    fn check_blocks(
        &self,
        name: &str,
        read: &mut ReadFile<'_>,
        visit: &mut VisitPacked<'_>,
    ) -> Result<(), DiskError> {
        let (store, Section { number, bytes: length, crc: sum }) = (self.store, self.section);
        if read(0, HEADER_SIZE)? != header(store, number) {
            return damaged(name, "its header is not that of this section");
        }
        let mut at = HEADER_SIZE as u64;
        let mut found = 0;
        while at < length {
            let head = read(at, BLOCK_HEADER_SIZE)?;
            let Some((raw_length, count)) = lengths(&head) else {
                return damaged(name, format!("no block begins at byte {at}"));
            };
            let bytes = match at + (BLOCK_HEADER_SIZE + count) as u64 <= length {
                true => read(at + BLOCK_HEADER_SIZE as u64, count)?,
                false => Vec::new(),
            };
            if bytes.len() != count || !is_whole(store, number, at, &head, &bytes) {
                return damaged(name, format!("the block at byte {at} does not fit its checksum"));
            }
            visit(at, raw_length, &bytes)?;
            found = add_to_crc(found, &head);
            at += (BLOCK_HEADER_SIZE + count) as u64;
        }
        match at == length && found == sum {
            true => Ok(()),
            false => damaged(name, "it is not as long as it was, or blocks are missing"),
        }
    }
}
