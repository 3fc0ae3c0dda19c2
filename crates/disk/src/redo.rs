//! The log of a part.
//!
//! ```text
//!   redo-N:   "skarv-rd" | version u32 | crc32c u32 of the rest | store u64 | salt u64 | number u64 | first place u64,
//!             at byte 0, and again at byte 4,096: a block that is damaged does not hide the file
//!             from byte 8,192 on pieces, each at the next multiple of 8 bytes, or of 4,096 if it is a full one:
//!             length u32 | crc32c u32 of salt and the rest | place u64 | durable u64 | records, each: length u32 | bytes
//! ```
//! A *piece* is a write: the records given since the one before. It has its place in the log, and
//! the place up to which the log was durable when it was written. It does not cross files; the next
//! file begins at the place where the one before ends. The blocks of a file are allocated with it,
//! as zeros, or come from earlier use: its salt is another one after each start, so no earlier
//! content fits, not even a piece meant for the same place before a crash.
//!
//! Where a file begins with a piece that says that all before it was durable, the log does not end before that file: only what comes then
//! is looked through to find its end. What is damaged before that is found when it is read.
//!
//! Reading ends at the first piece that is not whole. That is the torn end of the log, with two exceptions. The next file
//! may begin at that place, because an earlier start has cut the log there. Or a later piece records that the log was
//! durable behind that place: then the piece is damaged (rule R18). Writes that were not synced reach the disk in any order,
//! so a whole piece behind it proves nothing by itself.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::files::{Files, is_no_room};
use crate::format::{BLOCK, VERSION, crc, damaged, io_error, list, numbered, u32_at, u64_at};
use crate::pieces::Pieces;
use crate::{DiskError, Room, VisitRecord};

pub const KIND: &str = "redo";
const SPARE: &str = "spare";
/// So many are kept, if they may, and one for each four of the log; or as many as were given back last.
const SPARES_MIN: usize = 2;
const RESERVE: &str = "reserve";
const MAGIC: &[u8; 8] = b"skarv-rd";
const HEADER_SIZE: usize = 48;
/// Where its second copy is, in another block, and where the pieces begin. Files of tests are short.
const HEADER_COPY_AT: usize = if cfg!(any(test, fuzzing)) { 512 } else { BLOCK };
pub const PIECES_AT: usize = 2 * HEADER_COPY_AT;
const _: () = assert!(
    PIECES_AT.is_multiple_of(BLOCK),
    "a file that is as long as its first piece needs has room for it"
);
pub const PIECE_HEADER_SIZE: usize = 24;
/// Pieces begin at multiples of this.
const ALIGNMENT: usize = 8;
/// Bytes of a file that are read at once where its records are visited: some pieces, and no more than a processor keeps close. Tests
/// have pieces that are larger, and some that end in it.
const WINDOW: usize = if cfg!(test) { 100 } else { 4 << 20 };
pub const RECORD_HEADER_SIZE: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileHeader {
    store: u64,
    salt: u64,
    number: u64,
    first: u64,
}

impl FileHeader {
    fn encode(&self) -> Vec<u8> {
        let mut rest = Vec::with_capacity(HEADER_SIZE - 16);
        for value in [self.store, self.salt, self.number, self.first] {
            rest.extend(value.to_le_bytes());
        }
        let mut bytes = Vec::with_capacity(HEADER_SIZE);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(crc(&[&VERSION.to_le_bytes(), &rest]).to_le_bytes());
        bytes.extend(rest);
        bytes
    }
    /// None if it is torn, or not the header of this file.
    /// Of two that are whole, one may be of what the file was before.
    fn decode(bytes: &[u8], store: u64, number: u64) -> Option<FileHeader> {
        let copy = || FileHeader::decode_one(bytes.get(HEADER_COPY_AT..)?, store, number);
        FileHeader::decode_one(bytes, store, number).or_else(copy)
    }
    fn decode_one(bytes: &[u8], store: u64, number: u64) -> Option<FileHeader> {
        let header = FileHeader {
            store: u64_at(bytes, 16)?,
            salt: u64_at(bytes, 24)?,
            number: u64_at(bytes, 32)?,
            first: u64_at(bytes, 40)?,
        };
        let is_ours = (header.store, header.number) == (store, number)
            && bytes[..HEADER_SIZE] == header.encode();
        is_ours.then_some(header)
    }
}

fn piece_header(salt: u64, place: u64, durable: u64, records: &[u8]) -> [u8; PIECE_HEADER_SIZE] {
    let length = (records.len() as u32).to_le_bytes();
    let (place, durable) = (place.to_le_bytes(), durable.to_le_bytes());
    let crc = crc(&[&salt.to_le_bytes(), &length, &place, &durable, records]);
    let mut header = [0; PIECE_HEADER_SIZE];
    header[..4].copy_from_slice(&length);
    header[4..8].copy_from_slice(&crc.to_le_bytes());
    header[8..16].copy_from_slice(&place);
    header[16..].copy_from_slice(&durable);
    header
}

/// A whole piece in a file.
struct Piece<'a> {
    place: u64,
    durable: u64,
    records: &'a [u8],
}

impl Piece<'_> {
    fn at(file: &[u8], at: usize, salt: u64) -> Option<Piece<'_>> {
        let length = u32_at(file, at)? as usize;
        let from = at + PIECE_HEADER_SIZE;
        let records = file.get(from..from.checked_add(length)?)?;
        let (place, durable) = (u64_at(file, at + 8)?, u64_at(file, at + 16)?);
        let is_whole = length > 0 && file[at..from] == piece_header(salt, place, durable, records);
        is_whole.then_some(Piece { place, durable, records })
    }
    fn size(&self) -> usize {
        piece_size(self.records.len())
    }
}

fn piece_size(length: usize) -> usize {
    (PIECE_HEADER_SIZE + length).next_multiple_of(ALIGNMENT)
}

/// A test breaks a rule, to see that it is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    None,
    SyncSkipped,
    DirectoryNotSynced,
    SaltNotNew,
    NotWrittenAgain,
    DamageIsCut,
}

pub struct Redo {
    files: Arc<dyn Files>,
    store: u64,
    file_bytes: u64,
    spares_max: usize,
    /// So many files are to be kept for when there is no room for another.
    reserve_wanted: usize,
    /// Those that there are.
    reserve: BTreeSet<u64>,
    /// There was no room for the last piece.
    is_full: bool,
    /// Drawn anew each time the store is opened; a file's salt comes from it and its number.
    seed: u64,
    /// Of the log, the oldest first: number, and first place.
    redo: VecDeque<(u64, u64)>,
    spares: Vec<u64>,
    salt: u64,
    /// In the newest file, where the next piece goes, and how long the file is.
    offset: u64,
    length: u64,
    /// None: the log ends at the newest file, and goes on in another one.
    is_open: bool,
    /// Its directory entry may not be durable.
    is_new: bool,
    pub end: u64,
    pub durable: u64,
    /// Where it ended when it was opened.
    pub found: u64,
    mutation: Mutation,
}

/// What became of a write.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    All,
    /// There is no room for another file: the pieces that are left wait for it.
    NoRoom,
}

pub struct RedoOptions {
    pub store: u64,
    pub file_bytes: u64,
    pub spares_max: usize,
    /// So many files are kept for when there is no room for another.
    pub reserve: usize,
    pub seed: u64,
    /// The log before this is not needed any more.
    pub needed: u64,
    /// But what there is of it from here on is kept.
    pub kept_from: Option<u64>,
    /// It was durable up to here: a checkpoint was accepted behind that, and the log before is gone.
    pub accepted: u64,
    pub mutation: Mutation,
}

impl Redo {
    /// Finds the log, and where it ends.
    pub fn open(files: Arc<dyn Files>, options: RedoOptions) -> Result<Redo, DiskError> {
        let RedoOptions {
            store,
            file_bytes,
            spares_max,
            reserve,
            seed,
            needed,
            accepted,
            kept_from,
            mutation,
        } = options;
        let spares = list(files.as_ref(), SPARE)?;
        let mut redo = Redo {
            files,
            store,
            file_bytes,
            spares_max,
            reserve_wanted: reserve,
            reserve: BTreeSet::new(),
            is_full: false,
            seed,
            redo: VecDeque::new(),
            spares,
            salt: 0,
            offset: 0,
            length: 0,
            is_open: false,
            is_new: false,
            end: needed,
            durable: needed,
            found: needed,
            mutation,
        };
        redo.find(needed, accepted, kept_from.unwrap_or(u64::MAX).min(needed))?;
        for reserve in list(redo.files.as_ref(), RESERVE)? {
            let name = numbered(RESERVE, reserve);
            let length = redo.files.length(&name).map_err(io_error(&name))?;
            // It may have been cut short by a crash while it was made.
            if redo.wants_reserve() && file_bytes <= length {
                redo.reserve.insert(reserve);
            } else {
                redo.files.remove(&name).map_err(io_error(&name))?;
            }
        }
        redo.keep_reserve().map_err(io_error(RESERVE))?;
        Ok(redo)
    }

    /// All of a file. Into memory that is there, for most are of one size and new memory is cleared first.
    fn read(&self, number: u64, bytes: &mut Vec<u8>) -> Result<(), DiskError> {
        let name = numbered(KIND, number);
        self.files.read_into(&name, 0, usize::MAX, bytes).map_err(io_error(&name))
    }

    fn header(&self, number: u64) -> Result<Option<FileHeader>, DiskError> {
        let name = numbered(KIND, number);
        let bytes = self.files.read_at(&name, 0, PIECES_AT).map_err(io_error(&name))?;
        Ok(FileHeader::decode(&bytes, self.store, number))
    }

    fn find(&mut self, needed: u64, accepted: u64, kept_from: u64) -> Result<(), DiskError> {
        let numbers = list(self.files.as_ref(), KIND)?;
        let mut whole: Vec<FileHeader> = Vec::new();
        let mut torn: Vec<u64> = Vec::new();
        for number in &numbers {
            match self.header(*number)? {
                Some(header) => whole.push(header),
                None => torn.push(*number),
            }
        }
        // The one that has the first place that is needed; those before it were about to go.
        let kept = whole.iter().rposition(|header| header.first <= kept_from);
        let first = kept.or_else(|| whole.iter().position(|header| header.first <= needed));
        let Some(first) = first else {
            if needed > 0 || accepted > 0 || !whole.is_empty() {
                return damaged(KIND, format!("no file begins at place {needed} or before"));
            }
            return self.remove(&torn);
        };
        let mut old: Vec<u64> = whole.drain(..first).map(|header| header.number).collect();
        // One that was being used again, by another name that is not there.
        let first = whole[0].number;
        old.extend(torn.extract_if(.., |number| *number < first));
        let proven = self.begins_behind_what_is_durable(&whole)?;
        self.redo.extend(whole.drain(..proven).map(|header| (header.number, header.first)));
        let mut end = whole[0].first;
        let mut behind: VecDeque<FileHeader> = whole.into();
        let mut last = None;
        let mut bytes = Vec::new();
        while let Some(header) = behind.pop_front() {
            self.redo.push_back((header.number, header.first));
            self.read(header.number, &mut bytes)?;
            let (stopped_at, offset) =
                walk((0, &bytes), PIECES_AT, header.salt, header.first, &mut |_, _| Ok(()))?;
            end = stopped_at;
            last = Some((header, offset));
            let goes_on = |next: &FileHeader| next.number == header.number + 1 && next.first == end;
            if behind.front().is_some_and(goes_on) {
                continue;
            }
            self.check_torn(&bytes, &header, end, offset, &behind)?;
            if end < accepted {
                let what = format!(
                    "it ends at place {end}, and a checkpoint was accepted behind place {accepted}"
                );
                return damaged(&numbered(KIND, header.number), what);
            }
            self.write_again(&bytes[..offset.min(bytes.len())], &header)?;
            // The log continues in another file: many starts of a node take little of its device.
            let length = offset.next_multiple_of(BLOCK);
            if length < bytes.len() {
                let name = numbered(KIND, header.number);
                self.files.cut(&name, length as u64).map_err(io_error(&name))?;
            }
            break;
        }
        let newest = last.expect("there is one").0.number;
        let gone: Vec<u64> = torn.iter().copied().chain(behind.iter().map(|h| h.number)).collect();
        if let Some(damage) = torn.iter().find(|number| **number < newest) {
            return damaged(&numbered(KIND, *damage), "its header cannot be read");
        }
        self.remove(&gone)?;
        self.remove(&old)?;
        (self.end, self.durable, self.found) = (end, end, end);
        Ok(())
    }

    /// The newest of these files that begins behind what its own first piece says to be durable; the oldest, if none does.
    fn begins_behind_what_is_durable(&self, files: &[FileHeader]) -> Result<usize, DiskError> {
        let mut bytes = Vec::new();
        for (index, header) in files.iter().enumerate().skip(1).rev() {
            let name = numbered(KIND, header.number);
            let mut read = |length| {
                let read = self.files.read_into(&name, PIECES_AT as u64, length, &mut bytes);
                read.map_err(io_error(&name)).map(|()| u32_at(&bytes, 0).unwrap_or(0) as usize)
            };
            let length = read(PIECE_HEADER_SIZE)?;
            read(piece_size(length))?;
            let piece = Piece::at(&bytes, 0, header.salt);
            if piece
                .is_some_and(|piece| piece.place == header.first && piece.place <= piece.durable)
            {
                return Ok(index);
            }
        }
        Ok(0)
    }

    /// The newest file was read, and its durable part is unknown: its writer may have been killed
    /// before the sync, or have died of it. It must be durable before anything is written behind
    /// it. The part that a piece records as durable is.
    fn write_again(&self, bytes: &[u8], header: &FileHeader) -> Result<(), DiskError> {
        if self.mutation == Mutation::NotWrittenAgain {
            return Ok(());
        }
        let mut durable = header.first;
        let walked = |visit: &mut dyn FnMut(usize, Piece<'_>)| {
            walk((0, bytes), PIECES_AT, header.salt, header.first, &mut |at, piece| {
                visit(at, piece);
                Ok(())
            })
        };
        walked(&mut |_, piece| durable = durable.max(piece.durable))?;
        let mut from = PIECES_AT;
        walked(&mut |at, piece| {
            from = if piece.place < durable { at + piece.size() } else { from };
        })?;
        let name = numbered(KIND, header.number);
        let from = from.min(bytes.len());
        let parts = [(0, &bytes[..from.min(PIECES_AT)]), (from, &bytes[from..])];
        let write = |(at, part): &(usize, &[u8])| self.files.write_at(&name, *at as u64, part);
        parts.iter().try_for_each(write).map_err(io_error(&name))?;
        self.files.sync(&name).map_err(io_error(&name))?;
        self.files.sync_directory().map_err(io_error("the directory"))
    }

    /// The log ends here, in the middle of what there is: does anything behind say that it was durable further?
    fn check_torn(
        &self,
        bytes: &[u8],
        header: &FileHeader,
        end: u64,
        offset: usize,
        behind: &VecDeque<FileHeader>,
    ) -> Result<(), DiskError> {
        let name = numbered(KIND, header.number);
        // Nothing has more places of the log before it in a file than bytes: what rows of a client look like is not to be read as pieces.
        let durable = |bytes: &[u8], (from, first): (usize, u64), salt: u64| {
            let places = (from..bytes.len()).step_by(ALIGNMENT);
            let pieces = places.filter(|at| {
                let last = first.saturating_add((at - from) as u64);
                u64_at(bytes, at + 8).is_some_and(|place| end < place && place <= last)
            });
            pieces.filter_map(|at| Piece::at(bytes, at, salt)).map(|piece| piece.durable).max()
        };
        let mut furthest = durable(bytes, (offset, end), header.salt).unwrap_or(0);
        let mut bytes = Vec::new();
        for next in behind {
            self.read(next.number, &mut bytes)?;
            let found = durable(&bytes, (PIECES_AT, next.first), next.salt);
            // It was made when everything before it was durable.
            furthest = furthest.max(next.first).max(found.unwrap_or(0));
        }
        if self.mutation == Mutation::DamageIsCut {
            return Ok(());
        }
        if furthest > end {
            return damaged(
                &name,
                format!(
                    "the piece at byte {offset}, place {end} of the log, does not fit its checksum, and was durable: the log is so \
                     up to place {furthest}"
                ),
            );
        }
        Ok(())
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), DiskError> {
        for number in numbers {
            let name = numbered(KIND, *number);
            self.files.remove(&name).map_err(io_error(&name))?;
        }
        match numbers.is_empty() {
            true => Ok(()),
            false => self.files.sync_directory().map_err(io_error("the directory")),
        }
    }

    /// The place of the first record that there is.
    pub fn begin(&self) -> u64 {
        self.redo.front().map_or(self.end, |(_, first)| *first)
    }

    /// Visits the records that there were when it was opened, from the first that ends behind `from`: the place behind each, and its bytes.
    pub fn visit(&self, from: u64, visit: &mut VisitRecord<'_>) -> Result<(), DiskError> {
        let mut bytes = Vec::new();
        for (index, (number, first)) in self.redo.iter().enumerate() {
            let next = self.redo.get(index + 1).map_or(self.found, |(_, first)| *first);
            if next <= from || self.found <= *first {
                continue;
            }
            let name = numbered(KIND, *number);
            let Some(header) = self.header(*number)? else {
                return damaged(&name, "its header cannot be read any more");
            };
            // What the file has behind that was cut off: a start has gone on there in another.
            let (mut end, mut at, mut window) = (header.first, PIECES_AT, WINDOW);
            loop {
                let read = self.files.read_into(&name, at as u64, window, &mut bytes);
                read.map_err(io_error(&name))?;
                let walked = walk((at, &bytes), at, header.salt, end, &mut |_, piece| {
                    let visit = &mut |place, record: &[u8]| match from < place && place <= next {
                        true => visit(place, record),
                        false => Ok(()),
                    };
                    each_record(piece.place, piece.records, visit).map_err(DiskError::Visitor)
                })?;
                let (is_all, has_more) = (bytes.len() < window, at < walked.1);
                // Where nothing was whole, the log of this file ends, or the piece does not end in the window.
                let needed = next_piece(at).filter_map(|next| {
                    let piece = bytes.get(next - at..).unwrap_or(&[]);
                    let is_next = u64_at(piece, 8) == Some(end);
                    is_next.then(|| next - at + piece_size(u32_at(piece, 0).unwrap_or(0) as usize))
                });
                let needed = needed.max().unwrap_or(0);
                (end, at) = walked;
                if is_all || !has_more && needed <= window {
                    break;
                }
                window = if has_more { WINDOW } else { needed };
            }
            if end < next {
                return damaged(
                    &name,
                    format!("it ends at place {end}, and ended at {next} before"),
                );
            }
        }
        Ok(())
    }

    pub fn room(&self) -> Room {
        match (self.is_full, self.wants_reserve()) {
            (true, _) => Room::Nothing,
            (false, true) => Room::Reserve,
            (false, false) => Room::Ample,
        }
    }

    fn wants_reserve(&self) -> bool {
        self.reserve.len() < self.reserve_wanted
    }
    /// No other file of the reserve has this number.
    fn reserve_next(&self) -> u64 {
        (0..).find(|number| !self.reserve.contains(number)).expect("there are few")
    }

    /// Makes the files that are kept for when there is no room for another: those that are not there and that there is room for.
    pub fn keep_reserve(&mut self) -> std::io::Result<()> {
        while self.wants_reserve() && !self.is_full && self.file_bytes <= self.files.room()? {
            let number = self.reserve_next();
            match self.files.keep_places(&numbered(RESERVE, number), self.file_bytes) {
                Err(error) if is_no_room(&error) => break,
                made => made?,
            }
            self.reserve.insert(number);
        }
        Ok(())
    }

    /// Writes these pieces, which begin where the log ends, and drops them. They are durable after a [`Redo::sync`].
    pub fn write(&mut self, pieces: &mut Pieces) -> std::io::Result<Written> {
        while let Some(piece) = pieces.first_mut() {
            let alignment = if piece.is_full() { BLOCK } else { ALIGNMENT };
            let length = piece.length();
            let size = length.next_multiple_of(alignment);
            let at = self.offset.next_multiple_of(alignment as u64);
            let end = at + size as u64;
            if !self.is_open || self.length < end {
                if self.is_open {
                    self.sync()?;
                    self.files.close(&self.newest());
                    self.is_open = false;
                }
                match self.open_next(size as u64) {
                    Err(error) if is_no_room(&error) => {
                        self.is_full = true;
                        return Ok(Written::NoRoom);
                    }
                    opened => opened?,
                }
                continue;
            }
            let bytes = piece.filled_up(size);
            let (header, records) = bytes[..length].split_at_mut(PIECE_HEADER_SIZE);
            header.copy_from_slice(&piece_header(self.salt, self.end, self.durable, records));
            let place = self.end + records.len() as u64;
            match self.files.write_at(&self.newest(), at, bytes) {
                // A file system that never writes where something was may have no room for what a file had its places for.
                Err(error) if is_no_room(&error) => {
                    piece.cut(length);
                    self.is_full = true;
                    return Ok(Written::NoRoom);
                }
                written => written?,
            }
            (self.end, self.offset, self.is_full) = (place, end, false);
            pieces.drop_first();
        }
        Ok(Written::All)
    }

    /// What was written is durable.
    pub fn sync(&mut self) -> std::io::Result<()> {
        if self.durable == self.end {
            return Ok(());
        }
        self.sync_newest()?;
        if self.is_new && self.mutation != Mutation::DirectoryNotSynced {
            self.files.sync_directory()?;
        }
        self.is_new = false;
        self.durable = self.end;
        Ok(())
    }

    fn sync_newest(&self) -> std::io::Result<()> {
        if self.mutation == Mutation::SyncSkipped {
            return Ok(());
        }
        self.files.sync(&self.newest())
    }

    fn newest(&self) -> String {
        numbered(KIND, self.redo.back().expect("one is open").0)
    }

    /// Goes on in another file, with room for a piece of this size.
    fn open_next(&mut self, size: u64) -> std::io::Result<()> {
        let number = self.redo.back().map_or(1, |(number, _)| number + 1);
        let name = numbered(KIND, number);
        let least = PIECES_AT as u64 + size;
        let spare = self.spares.pop();
        let length = match spare {
            Some(spare) => self.files.length(&numbered(SPARE, spare))?,
            None => 0,
        };
        match spare.filter(|_| least <= length) {
            Some(spare) => {
                self.files.rename(&numbered(SPARE, spare), &name)?;
                self.length = length;
            }
            None => {
                self.spares.extend(spare);
                self.length = self.file_bytes.max(least);
                let mut created = self.create(&name);
                // A record longer than any of these files gets their room, because the log behind it waits for it.
                while self.file_bytes < least
                    && created.as_ref().is_err_and(is_no_room)
                    && self.give_up_one()?
                {
                    created = self.create(&name);
                }
                match created {
                    Err(error) if is_no_room(&error) => self.use_reserve(&name, least, error)?,
                    created => created?,
                }
            }
        }
        self.salt = self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if self.mutation == Mutation::SaltNotNew {
            self.salt = 7;
        }
        let first = self.end;
        let header = FileHeader { store: self.store, salt: self.salt, number, first };
        let mut bytes = vec![0; PIECES_AT];
        for at in [0, HEADER_COPY_AT] {
            bytes[at..at + HEADER_SIZE].copy_from_slice(&header.encode());
        }
        if let Err(error) = self.files.write_at(&name, 0, &bytes) {
            if is_no_room(&error) {
                self.files.remove(&name)?;
            }
            return Err(error);
        }
        self.redo.push_back((number, first));
        self.offset = PIECES_AT as u64;
        (self.is_open, self.is_new) = (true, true);
        Ok(())
    }

    /// Its files, the oldest first: number, and first place.
    pub fn list(&self) -> Vec<(u64, u64)> {
        self.redo.iter().copied().collect()
    }

    /// Goes through the log from behind `from`, while it is being written.
    pub fn reader(&self, from: u64) -> LogReader {
        LogReader { files: Arc::clone(&self.files), store: self.store, from, file: None, next: 0 }
    }

    fn create(&self, name: &str) -> std::io::Result<()> {
        // Asked first: what does not fit would be written for nothing, again and again.
        match self.files.room()? < self.length {
            true => Err(std::io::ErrorKind::StorageFull.into()),
            false => self.files.create(name, self.length),
        }
    }

    /// A file that was kept to be used again goes, or one of the reserve; false if there is none.
    fn give_up_one(&mut self) -> std::io::Result<bool> {
        let spare = self.spares.pop().map(|number| numbered(SPARE, number));
        let one = spare.or_else(|| self.reserve.pop_last().map(|number| numbered(RESERVE, number)));
        match &one {
            Some(name) => self.files.remove(name).map(|()| true),
            None => Ok(false),
        }
    }

    fn use_reserve(
        &mut self,
        name: &str,
        least: u64,
        no_room: std::io::Error,
    ) -> std::io::Result<()> {
        let last = self.reserve.last().copied();
        let Some(reserve) = last.filter(|_| least <= self.file_bytes) else {
            return Err(no_room);
        };
        self.files.rename(&numbered(RESERVE, reserve), name)?;
        self.reserve.remove(&reserve);
        self.length = self.file_bytes;
        Ok(())
    }

    /// The log before this place is needed no more, and what says so is durable: its files may be used again.
    pub fn release(&mut self, needed: u64) -> std::io::Result<()> {
        let before = self.redo.len();
        while self.redo.get(1).is_some_and(|(_, first)| *first <= needed) {
            let (number, _) = self.redo.pop_front().expect("there are two");
            let name = numbered(KIND, number);
            let is_whole = || self.files.length(&name).is_ok_and(|l| self.file_bytes <= l);
            if self.wants_reserve() && is_whole() {
                let reserve = self.reserve_next();
                self.files.rename(&name, &numbered(RESERVE, reserve))?;
                self.reserve.insert(reserve);
            } else if self.spares.len() < self.spares_max && is_whole() {
                self.files.rename(&name, &numbered(SPARE, number))?;
                self.spares.push(number);
            } else {
                self.files.remove(&name)?;
            }
        }
        // As much will be needed again until the next time.
        let given_back = before - self.redo.len();
        let wanted = given_back.max(SPARES_MIN + self.redo.len() / 4);
        while 0 < given_back && wanted < self.spares.len() {
            let spare = self.spares.pop().expect("there are some");
            self.files.remove(&numbered(SPARE, spare))?;
        }
        Ok(())
    }

    /// Bytes of its files.
    pub fn bytes(&self) -> u64 {
        let names = self.redo.iter().map(|(number, _)| numbered(KIND, *number));
        let spares = self.spares.iter().map(|number| numbered(SPARE, *number));
        let reserve = self.reserve.iter().map(|number| numbered(RESERVE, *number));
        names.chain(spares).chain(reserve).filter_map(|name| self.files.length(&name).ok()).sum()
    }
}

/// Reads the durable part of a log, in order. While it exists the files are not used again.
pub struct LogReader {
    files: Arc<dyn Files>,
    store: u64,
    /// Records up to here were visited, or are not wanted.
    from: u64,
    /// The file, and where in it the next piece is.
    file: Option<(FileHeader, usize)>,
    /// The place in the log where that piece begins.
    next: u64,
}

impl LogReader {
    /// Records up to here were visited.
    pub fn place(&self) -> u64 {
        self.from
    }

    /// Visits the records of the next piece, if it is durable and not behind `up_to`; false if there is none. `list` are the log's files.
    pub fn read(
        &mut self,
        list: &[(u64, u64)],
        up_to: u64,
        visit: &mut VisitRecord<'_>,
    ) -> Result<bool, DiskError> {
        if up_to <= self.from {
            return Ok(false);
        }
        loop {
            let (header, offset) = match self.file {
                Some((header, offset)) if !goes_on(list, header.number, self.next) => {
                    (header, offset)
                }
                _ => {
                    // It may have no piece: the process ended when it had just been made.
                    self.file = Some(self.open_next(list)?);
                    continue;
                }
            };
            let name = numbered(KIND, header.number);
            let mut found = None;
            for at in next_piece(offset) {
                if found.is_none() {
                    let piece = self.whole_piece(&name, at, header.salt)?;
                    found = piece.map(|piece| (at, piece));
                }
            }
            let Some((at, piece)) = found else {
                return damaged(
                    &name,
                    format!(
                        "the piece at byte {offset}, place {} of the log, was durable, and cannot be read",
                        self.next
                    ),
                );
            };
            let (from, records) = (self.from, &piece[PIECE_HEADER_SIZE..]);
            each_record(self.next, records, &mut |place, record| match from < place {
                true => visit(place, record),
                false => Ok(()),
            })
            .map_err(DiskError::Visitor)?;
            self.next += records.len() as u64;
            self.file = Some((header, at + piece_size(records.len())));
            if self.from < self.next {
                self.from = self.next;
                return Ok(true);
            }
        }
    }

    /// The bytes of the next piece, if it is at this byte of the file.
    fn whole_piece(&self, name: &str, at: usize, salt: u64) -> Result<Option<Vec<u8>>, DiskError> {
        let read = |at: usize, length: usize| {
            self.files.read_at(name, at as u64, length).map_err(io_error(name))
        };
        let mut bytes = read(at, PIECE_HEADER_SIZE)?;
        if u64_at(&bytes, 8) != Some(self.next) {
            return Ok(None);
        }
        let length = u32_at(&bytes, 0).unwrap_or(0) as usize;
        bytes.extend(read(at + PIECE_HEADER_SIZE, length)?);
        let is_whole = Piece::at(&bytes, 0, salt).is_some();
        Ok(is_whole.then_some(bytes))
    }

    fn open_next(&mut self, list: &[(u64, u64)]) -> Result<(FileHeader, usize), DiskError> {
        let found = match self.file {
            Some((header, _)) => list.iter().find(|(number, _)| header.number < *number),
            None => list.iter().rfind(|(_, first)| *first <= self.from),
        };
        let Some((number, first)) = found else {
            return damaged(KIND, format!("the log before place {} has gone", self.from));
        };
        let name = numbered(KIND, *number);
        let bytes = self.files.read_at(&name, 0, PIECES_AT).map_err(io_error(&name))?;
        let header = FileHeader::decode(&bytes, self.store, *number);
        let Some(header) = header.filter(|header| header.first == *first) else {
            return damaged(&name, "its header cannot be read any more");
        };
        self.next = *first;
        Ok((header, PIECES_AT))
    }
}

/// Is there another file that begins where this one has been read to?
fn goes_on(list: &[(u64, u64)], number: u64, next: u64) -> bool {
    list.iter().any(|(other, first)| number < *other && *first == next)
}

/// Goes through the whole pieces of a file from byte `at` on, of which the first begins at `place`, and tells where each begins.
/// `bytes` is the file from byte `from` on. Returns the place and the byte behind them.
fn walk(
    (from, bytes): (usize, &[u8]),
    mut at: usize,
    salt: u64,
    mut place: u64,
    visit: &mut dyn FnMut(usize, Piece<'_>) -> Result<(), DiskError>,
) -> Result<(u64, usize), DiskError> {
    let piece_at = |place: u64, at: usize| {
        let piece = Piece::at(bytes, at - from, salt).filter(|piece| piece.place == place);
        piece.map(|piece| (at, piece))
    };
    while let Some((begin, piece)) = next_piece(at).find_map(|at| piece_at(place, at)) {
        (place, at) = (place + piece.records.len() as u64, begin + piece.size());
        visit(begin, piece)?;
    }
    Ok((place, at))
}

/// Where the piece may be that follows one which ends at this byte of the file: a full one is at the next block.
fn next_piece(at: usize) -> impl Iterator<Item = usize> {
    let block = at.next_multiple_of(BLOCK);
    [at, block].into_iter().take(if at == block { 1 } else { 2 })
}

fn each_record(first: u64, records: &[u8], visit: &mut VisitRecord<'_>) -> Result<(), String> {
    let mut at = 0;
    while let Some(length) = u32_at(records, at) {
        let from = at + RECORD_HEADER_SIZE;
        let end = from + length as usize;
        let record = records.get(from..end).ok_or("a record is longer than its piece")?;
        visit(first + end as u64, record)?;
        at = end;
    }
    match at == records.len() {
        true => Ok(()),
        false => Err("a piece is longer than its records".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is used again, and of whose two headers the device has lost the first when they were written.
    #[test]
    fn a_header_of_the_file_before_does_not_hide_the_other() {
        let header = |number: u64| FileHeader { store: 5, salt: 9 + number, number, first: 100 };
        let mut bytes = header(1).encode();
        bytes.resize(HEADER_COPY_AT, 0);
        bytes.extend(header(7).encode());
        assert_eq!(FileHeader::decode(&bytes, 5, 7), Some(header(7)));
        assert_eq!(FileHeader::decode(&bytes, 5, 1), Some(header(1)));
        assert_eq!(FileHeader::decode(&bytes, 5, 2), None);
        assert_eq!(FileHeader::decode(&bytes, 6, 7), None);
    }
}
