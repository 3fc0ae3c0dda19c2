//! The versions of a row as heap records.
//!
//! ```text
//!   version:  flags u16 | older u32 | stamp u64 | payload
//!   payload:  key length u16 | key | row      of a row's newest version, the head
//!             row                             of an older one (or the head's form, when KEYED)
//!             first segment u32 | length u32  of either, when CHAINED: the payload is in segments
//!             head u32 | unused               of an older one, when IN_HEAD: its payload is still the head's
//! ```
//!
//! The head is the row: hash index and ordered indexes point at its record, which keeps its place whatever versions
//! come and go. A new version is written into the head after the old one has been copied out behind it; when the head's
//! block has no room for the new one it goes to a segment elsewhere. So a write touches no index unless a key changes.
//!
//! A deletion has no row of its own, so it leaves the one it deletes where it is: a node whose memory is full of rows could not
//! delete many of them at once if each were copied first.
//!
//! The stamp is the commit timestamp, or the number of a pending state.

use std::borrow::Cow;

use crate::arena::{NIL, read_u16, read_u32, read_u64, write_u16, write_u32, write_u64};
use crate::heap::{Heap, RECORD_MAX};

/// The version deletes the row.
pub(crate) const TOMBSTONE: u16 = 1;
/// Not committed; only heads are.
pub(crate) const PENDING: u16 = 2;
const CHAINED: u16 = 4;
/// The next older version has an index entry that this one has not.
pub(crate) const KEYS_DIFFER: u16 = 8;
/// The row is in the partition's queue of rows to be pruned; only on heads.
pub(crate) const QUEUED: u16 = 16;
/// The payload begins with the primary key: heads, and old versions whose chain was handed down whole.
const KEYED: u16 = 32;
/// The payload is the head's, which is the deletion of this version. Only the version behind the head is so.
const IN_HEAD: u16 = 64;
/// Bits that say how much the payload is padded.
const PAD_SHIFT: u32 = 8;
const PAD_MASK: u16 = 0xf << PAD_SHIFT;
/// Bits a version keeps about its own bytes, whatever happens to the row.
const SHAPE: u16 = CHAINED | KEYED | IN_HEAD | PAD_MASK;

const FLAGS: usize = 0;
const OLDER: usize = 2;
const STAMP: usize = 6;
const HEADER: usize = 14;
/// Bytes of a chained payload's reference, or the head's. A head's payload is padded to them, so that it can always become one.
const CHAIN: usize = 8;
const PAYLOAD_MAX: usize = RECORD_MAX - HEADER;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub flags: u16,
    /// The next older version, or NIL.
    pub older: u32,
    pub stamp: u64,
}

impl Header {
    pub fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// The most blocks that writing a version can take: its payload in segments, or a record; and the copy of the one before.
pub(crate) fn blocks_needed(key_length: usize, row_length: usize) -> usize {
    Heap::blocks_needed(2 + key_length + row_length) + 2
}

#[inline]
pub(crate) fn header(heap: &Heap, version: u32) -> Header {
    header_of(heap.get(version))
}
#[inline]
fn header_of(record: &[u8]) -> Header {
    Header {
        flags: read_u16(record, FLAGS),
        older: read_u32(record, OLDER),
        stamp: read_u64(record, STAMP),
    }
}
/// Rewrites the header but for the bits about the payload's shape.
pub(crate) fn set_header(heap: &mut Heap, version: u32, header: Header) {
    let record = heap.get_mut(version);
    let shape = read_u16(record, FLAGS) & SHAPE;
    write_u16(record, FLAGS, header.flags & !SHAPE | shape);
    write_u32(record, OLDER, header.older);
    write_u64(record, STAMP, header.stamp);
}

/// A version's header and row, in one access.
#[inline]
pub(crate) fn header_and_row(heap: &Heap, version: u32) -> (Header, Cow<'_, [u8]>) {
    let record = heap.get(version);
    let header = header_of(record);
    (header, row_of(heap, record, header.flags))
}
/// A version's row; empty for a tombstone.
#[inline]
pub(crate) fn row(heap: &Heap, version: u32) -> Cow<'_, [u8]> {
    let record = heap.get(version);
    row_of(heap, record, read_u16(record, FLAGS))
}
#[inline]
fn row_of<'a>(heap: &'a Heap, record: &'a [u8], flags: u16) -> Cow<'a, [u8]> {
    match flags & (TOMBSTONE | IN_HEAD) {
        0 => row_in(heap, record, flags),
        TOMBSTONE => Cow::Borrowed(&[]),
        _ => row_left_in(heap, read_u32(record, HEADER)),
    }
}
/// The row that a deletion has left in its head.
fn row_left_in(heap: &Heap, head: u32) -> Cow<'_, [u8]> {
    let record = heap.get(head);
    row_in(heap, record, read_u16(record, FLAGS))
}
#[inline]
fn row_in<'a>(heap: &'a Heap, record: &'a [u8], flags: u16) -> Cow<'a, [u8]> {
    if flags & CHAINED == 0 {
        let payload = inline_payload(record, flags);
        return Cow::Borrowed(&payload[row_start(payload, flags)..]);
    }
    let first = read_u32(record, HEADER);
    heap.chain(first, row_start(heap.chain_head(first), flags))
}
/// The length of a version's row; unspecified for a tombstone.
pub(crate) fn row_length(heap: &Heap, version: u32) -> usize {
    let record = heap.get(version);
    let flags = read_u16(record, FLAGS);
    if flags & (CHAINED | IN_HEAD) == 0 {
        let payload = inline_payload(record, flags);
        return payload.len() - row_start(payload, flags);
    }
    let first = read_u32(record, HEADER);
    if flags & IN_HEAD != 0 {
        return row_length(heap, first);
    }
    heap.chain_length(first) - row_start(heap.chain_head(first), flags)
}
/// Where the row begins in a payload, of which the beginning is at hand.
#[inline]
fn row_start(payload: &[u8], flags: u16) -> usize {
    if flags & KEYED == 0 { 0 } else { 2 + usize::from(read_u16(payload, 0)) }
}
#[inline]
fn inline_payload(record: &[u8], flags: u16) -> &[u8] {
    let pad = usize::from((flags & PAD_MASK) >> PAD_SHIFT);
    &record[HEADER..record.len() - pad]
}

/// The primary key of a row, by its head.
#[inline]
pub(crate) fn key(heap: &Heap, head: u32) -> Cow<'_, [u8]> {
    let record = heap.get(head);
    let flags = read_u16(record, FLAGS);
    assert!(flags & KEYED != 0);
    let chain = read_u32(record, HEADER);
    let first = match flags & CHAINED == 0 {
        true => &record[HEADER..],
        false => heap.chain_head(chain),
    };
    let length = usize::from(read_u16(first, 0));
    if 2 + length <= first.len() {
        return Cow::Borrowed(&first[2..2 + length]);
    }
    let mut key = heap.chain(chain, 2).into_owned();
    key.truncate(length);
    Cow::Owned(key)
}

/// Is there room for the head of such a row where others have left some? Not if it is so long that it is a chain.
pub(crate) fn fits_a_hole(heap: &Heap, key_length: usize, row_length: usize) -> bool {
    heap.has_room(HEADER + 2 + key_length + row_length)
}

/// Makes the head of a new row.
pub(crate) fn create_head(heap: &mut Heap, header: Header, key: &[u8], row: &[u8]) -> u32 {
    let payload_length = 2 + key.len() + row.len();
    let inline = payload_length <= PAYLOAD_MAX;
    let length = if inline { payload_length.max(CHAIN) } else { CHAIN };
    let head = heap.allocate(HEADER + length);
    // A shape to start from: `set_payload` looks at it.
    write_u16(heap.get_mut(head), FLAGS, KEYED);
    set_payload(heap, head, key, row);
    set_header(heap, head, header);
    head
}

/// Replaces a head's payload, whose chain, if any, is somebody else's by now.
fn set_payload(heap: &mut Heap, head: u32, key: &[u8], row: &[u8]) {
    let key_length = u16::try_from(key.len()).expect("a key is bounded by KEY_SIZE_MAX");
    let payload_length = 2 + key.len() + row.len();
    let pad = CHAIN.saturating_sub(payload_length);
    if payload_length <= PAYLOAD_MAX && resize_payload(heap, head, payload_length + pad) {
        let record = heap.get_mut(head);
        let keep = read_u16(record, FLAGS) & !SHAPE;
        write_u16(record, FLAGS, keep | KEYED | (pad as u16) << PAD_SHIFT);
        let payload = &mut record[HEADER..];
        write_u16(payload, 0, key_length);
        payload[2..2 + key.len()].copy_from_slice(key);
        payload[2 + key.len()..payload_length].copy_from_slice(row);
    } else {
        let first = heap.allocate_chain(&[&key_length.to_le_bytes(), key, row]);
        set_chain(heap, head, first, payload_length as u32);
    }
}
fn set_chain(heap: &mut Heap, head: u32, first: u32, length: u32) {
    let resized = resize_payload(heap, head, CHAIN);
    assert!(resized, "shrinking always works");
    let record = heap.get_mut(head);
    let keep = read_u16(record, FLAGS) & !SHAPE;
    write_u16(record, FLAGS, keep | KEYED | CHAINED);
    write_u32(record, HEADER, first);
    write_u32(record, HEADER + 4, length);
}
fn resize_payload(heap: &mut Heap, version: u32, payload_length: usize) -> bool {
    heap.resize(version, HEADER + payload_length)
}

/// Copies the head's version out to a record of its own, and makes a new version in
/// its place.
pub(crate) fn push(
    heap: &mut Heap,
    head: u32,
    new: Header,
    key: &[u8],
    new_row: &[u8],
    scratch: &mut Vec<u8>,
) {
    let record = heap.get(head);
    let old = header_of(record);
    scratch.clear();
    let shape = if old.is(CHAINED) {
        scratch.extend_from_slice(&record[HEADER..]);
        old.flags & SHAPE
    } else if old.is(TOMBSTONE) {
        0
    } else {
        scratch.extend_from_slice(&row_of(heap, record, old.flags));
        0
    };
    let copy = heap.allocate(HEADER + scratch.len());
    let record = heap.get_mut(copy);
    record[HEADER..].copy_from_slice(scratch);
    write_u16(record, FLAGS, old.flags & (TOMBSTONE | KEYS_DIFFER) | shape);
    write_u32(record, OLDER, old.older);
    write_u64(record, STAMP, old.stamp);
    set_payload(heap, head, key, new_row);
    set_header(heap, head, Header { older: copy, ..new });
}

/// Puts a deletion in the place of the head's version, which is none, and leaves its row where it is.
pub(crate) fn push_deletion(heap: &mut Heap, head: u32, new: Header) {
    let old = header(heap, head);
    let behind = heap.allocate(HEADER + CHAIN);
    let record = heap.get_mut(behind);
    write_u16(record, FLAGS, old.flags & KEYS_DIFFER | IN_HEAD);
    write_u32(record, OLDER, old.older);
    write_u64(record, STAMP, old.stamp);
    write_u32(record, HEADER, head);
    set_header(heap, head, Header { older: behind, ..new });
}

/// The version behind the head whose row is still the head's, if there is one.
fn in_head(heap: &Heap, head: u32) -> Option<u32> {
    let newest = header(heap, head);
    let is_deletion = newest.is(TOMBSTONE) && newest.older != NIL;
    (is_deletion && header(heap, newest.older).is(IN_HEAD)).then_some(newest.older)
}

/// Gives a row that a deletion has left in the head a record of its own, before the head gets another.
pub(crate) fn take_out(heap: &mut Heap, head: u32) {
    let Some(behind) = in_head(heap, head) else { return };
    let own_key = key(heap, head).into_owned();
    let record = heap.get(head);
    let shape = read_u16(record, FLAGS) & SHAPE;
    let mut old = header(heap, behind);
    old.flags &= !SHAPE;
    if shape & CHAINED != 0 {
        let chain: [u8; CHAIN] = record[HEADER..].try_into().expect("the length of a reference");
        let record = heap.get_mut(behind);
        record[HEADER..].copy_from_slice(&chain);
        write_u16(record, FLAGS, old.flags | shape);
    } else {
        let row = row_left_in(heap, head).into_owned();
        let own = create_old(heap, old, &row);
        heap.free(behind);
        let deletion = header(heap, head);
        set_header(heap, head, Header { older: own, ..deletion });
    }
    set_payload(heap, head, &own_key, &[]);
}

/// The most blocks that this can take.
pub(crate) fn blocks_to_take_out(heap: &Heap, head: u32, key_length: usize) -> usize {
    in_head(heap, head).map_or(0, |_| 1 + Heap::blocks_needed(2 + key_length))
}

/// Replaces the head's version by another; the old bytes are gone.
pub(crate) fn replace(heap: &mut Heap, head: u32, new: Header, key: &[u8], new_row: &[u8]) {
    free_chain(heap, head);
    set_payload(heap, head, key, new_row);
    set_header(heap, head, new);
}

/// Drops the head's version and puts the next older one in its place. Keeps the head's QUEUED.
pub(crate) fn pop(heap: &mut Heap, head: u32, scratch: &mut Vec<u8>) {
    let Header { flags, older: copy, .. } = header(heap, head);
    let key_length = key(heap, head).len();
    let record = heap.get(copy);
    let old = header_of(record);
    scratch.clear();
    if old.is(IN_HEAD) {
        // It is there.
    } else if old.is(CHAINED) && old.is(KEYED) {
        let (first, length) = (read_u32(record, HEADER), read_u32(record, HEADER + 4));
        free_chain(heap, head);
        set_chain(heap, head, first, length);
    } else {
        scratch.extend_from_slice(&key(heap, head));
        if !old.is(TOMBSTONE) {
            scratch.extend_from_slice(&row_of(heap, record, old.flags));
        }
        free_chain(heap, head);
        set_payload(heap, head, &scratch[..key_length], &scratch[key_length..]);
        free_chain(heap, copy);
    }
    set_header(heap, head, Header { flags: old.flags & !SHAPE | flags & QUEUED, ..old });
    heap.free(copy);
}

/// Makes a version that is no head.
pub(crate) fn create_old(heap: &mut Heap, header: Header, row: &[u8]) -> u32 {
    if row.len() <= PAYLOAD_MAX {
        let version = heap.allocate(HEADER + row.len());
        let record = heap.get_mut(version);
        record[HEADER..].copy_from_slice(row);
        write_u16(record, FLAGS, 0);
        set_header(heap, version, header);
        version
    } else {
        let first = heap.allocate_chain(&[row]);
        let version = heap.allocate(HEADER + CHAIN);
        let record = heap.get_mut(version);
        write_u16(record, FLAGS, CHAINED);
        write_u32(record, HEADER, first);
        write_u32(record, HEADER + 4, row.len() as u32);
        set_header(heap, version, header);
        version
    }
}

/// Frees a version, its segments included.
pub(crate) fn free(heap: &mut Heap, version: u32) {
    free_chain(heap, version);
    heap.free(version);
}
fn free_chain(heap: &mut Heap, version: u32) {
    let record = heap.get(version);
    if read_u16(record, FLAGS) & CHAINED != 0 {
        let first = read_u32(record, HEADER);
        heap.free_chain(first);
    }
}
