//! Where a data node keeps its rows, beside its memory: the door to its disk.
//!
//! Each worker has a *part* of it, for the shards that it owns: a log of entries ([`protocol::disk`]), which become durable in their
//! order, behind the kernel's back. No worker waits for a disk.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use protocol::message::Room;
use types::WorkerId;

pub trait Store: Send + Sync {
    /// Takes an entry behind all others of the part, which `write` appends to its argument. Returns the places before and behind it,
    /// which only grow. The entry has about `size` bytes, where they are many. It may wait for [`Store::flush`].
    fn append(
        &self,
        part: WorkerId,
        size: usize,
        write: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Range<u64>;
    /// What the part was given so far is to be durable soon.
    fn flush(&self, part: WorkerId);
    /// The part is durable up to this place. When it is further the host tells the worker, by [`Input::Durable`](crate::Input).
    fn durable(&self, part: WorkerId) -> u64;
    /// The place behind the last entry.
    fn end(&self, part: WorkerId) -> u64;

    /// What the log of that part can be given that has least. When that changes the host tells the worker, by
    /// [`Input::Durable`](crate::Input).
    fn room(&self) -> Room;

    /// Begins a local checkpoint of the part, instead of one that was not ended.
    fn begin_checkpoint(&self, part: WorkerId);
    /// May a block be added now? When it may again the host tells the worker, by [`Input::Durable`](crate::Input).
    fn has_room(&self, part: WorkerId) -> bool;
    /// The blocks from now on are of this section; no other one that is there has the number.
    fn begin_section(&self, part: WorkerId, section: u64);
    /// This section of a checkpoint that there is belongs to the one that is being written as well.
    fn keep_section(&self, part: WorkerId, section: u64);
    /// Returns a buffer for another one.
    fn add_block(&self, part: WorkerId, block: Vec<u8>) -> Vec<u8>;
    /// With it belong the entries of the log from `log.start` on, and what the contents say of it ([`protocol::disk`]). It may be durable
    /// before the log is up to `log.end`; if that is lost, it is not found either.
    fn end_checkpoint(&self, part: WorkerId, log: Range<u64>, contents: Vec<u8>);
    /// One that was ended is being written.
    fn is_writing_checkpoint(&self, part: WorkerId) -> bool;
    /// The number of the newest that is durable, and was read back as it was written (rule R19).
    fn checkpoint_written(&self, part: WorkerId) -> Option<u64>;
    /// Of the last one that was ended, and is neither being written nor durable: why it could not be read back as it was written.
    /// None if there was no room for it.
    fn checkpoint_refused(&self, part: WorkerId) -> Option<String>;
    /// It can be begun with from now on, so those before it may go, and the log before it.
    fn accept_checkpoint(&self, part: WorkerId, number: u64);

    /// Those that there were when the process started, the newest first.
    fn checkpoints(&self, part: WorkerId) -> Vec<CheckpointFound>;
    /// Its blocks, section by section as they were added.
    fn read_checkpoint(
        &self,
        part: WorkerId,
        number: u64,
        visit: &mut VisitBlock<'_>,
    ) -> Result<(), String>;
    /// The place at which the log began when the process started: a checkpoint replaced the log before.
    fn begin(&self, part: WorkerId) -> u64;
    /// How many parts there are, those of a former boot that had more workers among them.
    fn parts(&self) -> u16;
    /// The entries that were durable when the process started, in order, from the first that ends behind this place, each with the place
    /// behind it. Errors are those of the visitor, and faults of the disk.
    fn read_log(&self, part: WorkerId, from: u64, visit: &mut Visit<'_>) -> Result<(), String>;
    /// Does this for each part, with threads of its own if there are some, and returns when all is done.
    fn for_each_part(&self, work: &(dyn Fn(WorkerId) + Sync)) {
        (0..self.parts()).map(WorkerId).for_each(work);
    }
}

#[derive(Clone, Debug)]
pub struct CheckpointFound {
    pub number: u64,
    pub log_from: u64,
    pub contents: Vec<u8>,
}

pub type VisitBlock<'a> = dyn FnMut(&[u8]) -> Result<(), String> + 'a;
pub type Visit<'a> = dyn FnMut(u64, &[u8]) -> Result<(), String> + 'a;

/// One that lasts as long as the process, and whose entries are durable at once, or when the test says so.
#[derive(Default)]
pub struct MemoryStore(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    parts: BTreeMap<WorkerId, MemoryPart>,
    is_slow: bool,
    room: Room,
    /// The next checkpoint.
    spoils: bool,
}

impl MemoryStore {
    /// The next checkpoint that is ended cannot be read back as it was written.
    pub fn spoil_checkpoint(&self) {
        self.lock().spoils = true;
    }

    /// What this part had is gone, and nothing says so.
    pub fn lose_part(&self, part: WorkerId) {
        self.lock().parts.remove(&part);
    }

    /// The room that is left. Further entries are taken all the same.
    pub fn set_room(&self, room: Room) {
        self.lock().room = room;
    }

    /// Nothing more is durable until that is over; then the host is to say so.
    pub fn set_slow(&self, is_slow: bool) {
        let mut memory = self.lock();
        memory.is_slow = is_slow;
        memory.parts.values_mut().for_each(MemoryPart::write_all);
    }

    /// The process has ended; the entries that it gave stay.
    pub fn close(&self) {
        let mut memory = self.lock();
        for part in memory.parts.values_mut() {
            part.write_all();
            part.close();
        }
    }

    /// The power fails: entries that are not durable are lost.
    pub fn lose_power(&self) {
        let mut memory = self.lock();
        memory.parts.values_mut().for_each(MemoryPart::close);
    }

    /// For a slow one: the parts with something that is not durable, and the places behind it.
    pub fn unwritten(&self) -> Vec<(WorkerId, u64)> {
        let memory = self.lock();
        let parts = memory.parts.iter().filter(|(_, part)| !part.is_written());
        parts.map(|(id, part)| (*id, part.end())).collect()
    }

    /// For a slow one: what the part was given before this place is durable.
    pub fn write(&self, part: WorkerId, place: u64) {
        self.with(part, |part| part.write_to(place));
    }

    fn with<T>(&self, part: WorkerId, work: impl FnOnce(&mut MemoryPart) -> T) -> T {
        let mut memory = self.lock();
        let is_slow = memory.is_slow;
        let part = memory.parts.entry(part).or_default();
        let result = work(part);
        if !is_slow {
            part.write_all();
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().expect("nobody panics while holding this lock")
    }
}

/// A place is a number of entries.
#[derive(Default)]
struct MemoryPart {
    /// Those before it have gone.
    begin: u64,
    entries: VecDeque<Vec<u8>>,
    durable: u64,
    /// Of those that were there when the process started.
    found: u64,
    found_begin: u64,
    /// Of the checkpoint that is being written.
    sections: Vec<MemorySection>,
    /// Ended, and not durable.
    ended: Option<MemoryCheckpoint>,
    checkpoints: Vec<MemoryCheckpoint>,
    is_refused: bool,
    number_last: u64,
}

struct MemoryCheckpoint {
    /// It is of no use without the log up to here.
    log_to: u64,
    found: CheckpointFound,
    sections: Vec<MemorySection>,
}

#[derive(Clone)]
struct MemorySection {
    number: u64,
    blocks: Vec<Vec<u8>>,
}

impl MemoryPart {
    fn end(&self) -> u64 {
        self.begin + self.entries.len() as u64
    }
    /// Is all of it durable?
    fn is_written(&self) -> bool {
        self.durable == self.end() && self.ended.is_none()
    }
    fn write_all(&mut self) {
        self.write_to(self.end());
    }
    fn write_to(&mut self, place: u64) {
        self.durable = self.durable.max(place.min(self.end()));
        // Another thread writes it: the log that it begins behind may come later.
        self.checkpoints.extend(self.ended.take());
    }
    /// The process has ended: entries that are not durable are lost.
    fn close(&mut self) {
        let left = usize::try_from(self.durable - self.begin).expect("a count of entries");
        self.entries.truncate(left);
        (self.found, self.found_begin) = (self.durable, self.begin);
        (self.sections, self.ended) = (Vec::new(), None);
        let durable = self.durable;
        self.checkpoints.retain(|checkpoint| checkpoint.log_to <= durable);
    }
    fn section(&self, number: u64) -> Option<MemorySection> {
        let mut sections = self.checkpoints.iter().flat_map(|checkpoint| &checkpoint.sections);
        sections.find(|section| section.number == number).cloned()
    }
    fn accept_checkpoint(&mut self, number: u64) {
        self.checkpoints.retain(|checkpoint| number <= checkpoint.found.number);
        let first = self.checkpoints.first().expect("it is durable").found.log_from;
        while self.begin < first {
            self.entries.pop_front().expect("the checkpoint's log is behind that");
            self.begin += 1;
        }
    }
}

impl Store for MemoryStore {
    fn append(
        &self,
        part: WorkerId,
        _size: usize,
        write: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Range<u64> {
        let mut entry = Vec::new();
        write(&mut entry);
        self.with(part, |part| {
            let begin = part.end();
            part.entries.push_back(entry);
            begin..part.end()
        })
    }
    /// Its host makes all of it durable, whoever waits for that.
    fn flush(&self, _: WorkerId) {}
    fn durable(&self, part: WorkerId) -> u64 {
        self.with(part, |part| part.durable)
    }
    fn end(&self, part: WorkerId) -> u64 {
        self.with(part, |part| part.end())
    }
    fn room(&self) -> Room {
        self.lock().room
    }
    fn begin_checkpoint(&self, part: WorkerId) {
        self.with(part, |part| (part.sections, part.ended) = (Vec::new(), None));
    }
    fn has_room(&self, _part: WorkerId) -> bool {
        true
    }
    fn begin_section(&self, part: WorkerId, section: u64) {
        self.with(part, |part| {
            assert!(part.section(section).is_none(), "section {section} is there");
            part.sections.push(MemorySection { number: section, blocks: Vec::new() });
        });
    }
    fn keep_section(&self, part: WorkerId, section: u64) {
        self.with(part, |part| {
            let kept = part.section(section).expect("of a checkpoint that there is");
            part.sections.push(kept);
        });
    }
    fn add_block(&self, part: WorkerId, block: Vec<u8>) -> Vec<u8> {
        self.with(part, |part| {
            part.sections.last_mut().expect("its section is begun").blocks.push(block);
        });
        Vec::new()
    }
    fn end_checkpoint(&self, part: WorkerId, log: Range<u64>, contents: Vec<u8>) {
        let spoils = std::mem::take(&mut self.lock().spoils);
        self.with(part, |part| {
            part.is_refused = spoils;
            if spoils {
                return;
            }
            part.number_last += 1;
            let found = CheckpointFound { number: part.number_last, log_from: log.start, contents };
            let sections = std::mem::take(&mut part.sections);
            part.ended = Some(MemoryCheckpoint { log_to: log.end, found, sections });
        });
    }
    fn is_writing_checkpoint(&self, part: WorkerId) -> bool {
        self.with(part, |part| part.ended.is_some())
    }
    fn checkpoint_written(&self, part: WorkerId) -> Option<u64> {
        self.with(part, |part| part.checkpoints.last().map(|checkpoint| checkpoint.found.number))
    }
    fn checkpoint_refused(&self, part: WorkerId) -> Option<String> {
        self.with(part, |part| part.is_refused.then(|| "it is spoiled".into()))
    }
    fn accept_checkpoint(&self, part: WorkerId, number: u64) {
        self.with(part, |part| part.accept_checkpoint(number));
    }
    fn checkpoints(&self, part: WorkerId) -> Vec<CheckpointFound> {
        self.with(part, |part| {
            part.checkpoints.iter().rev().map(|checkpoint| checkpoint.found.clone()).collect()
        })
    }
    fn read_checkpoint(
        &self,
        part: WorkerId,
        number: u64,
        visit: &mut VisitBlock<'_>,
    ) -> Result<(), String> {
        self.with(part, |part| {
            let mut all = part.checkpoints.iter();
            let checkpoint = all.find(|checkpoint| checkpoint.found.number == number);
            let checkpoint =
                checkpoint.ok_or_else(|| format!("there is no checkpoint {number}"))?;
            let mut blocks = checkpoint.sections.iter().flat_map(|section| &section.blocks);
            blocks.try_for_each(|block| visit(block))
        })
    }
    fn begin(&self, part: WorkerId) -> u64 {
        self.with(part, |part| part.found_begin)
    }
    fn parts(&self) -> u16 {
        self.lock().parts.keys().last().map_or(0, |last| last.0 + 1)
    }
    fn read_log(&self, part: WorkerId, from: u64, visit: &mut Visit<'_>) -> Result<(), String> {
        self.with(part, |part| {
            let found = (part.begin + 1..=part.found).zip(&part.entries);
            let mut found = found.skip_while(|(place, _)| *place <= from);
            found.try_for_each(|(place, entry)| visit(place, entry))
        })
    }
}
