//! The parts of a node's store, and the threads that write them.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::checkpoints::{CheckpointFound, Checkpoints};
use crate::files::{Directory, Files, is_no_room, make_dir};
use crate::format::io_error;
use crate::idle::IdleCompressor;
use crate::manifest::KIND;
use crate::pieces::Pieces;
use crate::redo::{LogReader, Mutation, Redo, RedoOptions, Written};
use crate::{DiskError, Room, VisitRecord, segment};

pub struct Options {
    pub dir: PathBuf,
    pub parts: u16,
    /// Of a file of the log.
    pub file_bytes: u64,
    /// Files that are kept to be used again, of each part.
    pub spares_max: usize,
    /// Files that are kept for when the device has no room for another, of each part.
    pub reserve: usize,
    /// What checkpoints may write and read back, of each part.
    pub checkpoint_bytes_per_second: u64,
    /// Random, of this start.
    pub seed: u64,
    /// The place from which a copy of the log of a part is still to be made, given the part and its store; None: no copy.
    pub kept_from: Box<dyn Fn(u16, u64) -> Option<u64> + Sync>,
}

/// A file that says that all parts have been made, and how many.
const MADE: &str = "made";
/// Bytes of a log that are written before a sync that no session waits for: a sync costs as much as a few thousand commits.
const UNSYNCED_MAX: u64 = 8 << 20;
/// Blocks that wait to be written, in bytes.
const BLOCKS_WAITING_MAX: usize = 4 << 20;
/// Of blocks that are done, buffers that are kept for the next ones, and bytes of each at most.
const EMPTY_MAX: usize = 2;
const EMPTY_BYTES_MAX: usize = 2 << 20;
/// How long a full disk is left alone before it is tried again.
const ROOM_WAIT: Duration = Duration::from_millis(100);

/// Called when more of a part is durable, or there is room for blocks again.
pub type OnProgress = dyn Fn(u16) + Send + Sync;
/// Called first by threads that run only while no other thread wants the core.
pub type BecomeIdle = fn();
/// Called once, when a write or a sync has failed: nothing is written any more.
pub type OnFailure = dyn Fn(String) + Send + Sync;
/// Called first by threads that write: without one of them nothing would become durable, in silence.
pub type OnThread = dyn Fn() + Send + Sync;

pub struct Disk {
    parts: Vec<Arc<Part>>,
    checkpoint_bytes_per_second: u64,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Part {
    name: String,
    queue: Mutex<Queue>,
    changed: Condvar,
    durable: AtomicU64,
    /// A [`Room`].
    room: AtomicU8,
    begin: u64,
    redo: Mutex<Redo>,
    checkpoints: Mutex<Checkpoints>,
    blocks: Mutex<Blocks>,
    blocks_changed: Condvar,
    kept: Mutex<Kept>,
}

/// Files that stay for a copy though the part itself needs them no more.
#[derive(Default)]
struct Kept {
    /// The log from these places on, by reader; under [`AWAITED`], for a reader that has still to come.
    logs: BTreeMap<u64, u64>,
    reader_last: u64,
    /// So many read checkpoints, of those up to this one.
    checkpoint_readers: u32,
    held_to: Option<u64>,
    /// Is to be accepted again when there are none.
    accept: Option<u64>,
    /// The part itself needs the log from here on.
    needed: u64,
}

/// The reader for which the log of a part was kept when it was opened: the first that follows it.
const AWAITED: u64 = 0;

impl Kept {
    /// The log before this may go.
    fn release(&self) -> u64 {
        self.logs.values().copied().min().unwrap_or(u64::MAX).min(self.needed)
    }
}

/// What the log's thread is to do.
#[derive(Default)]
struct Queue {
    pieces: Pieces,
    end: u64,
    /// All of it is to be durable soon.
    is_wanted: bool,
    /// It is to be written, so that it does not pile up.
    is_much: bool,
    /// The log before this is needed no more.
    release: Option<u64>,
    is_closed: bool,
}

/// What the checkpoints' thread is to do.
#[derive(Default)]
struct Blocks {
    steps: VecDeque<Step>,
    bytes: usize,
    empty: Vec<Vec<u8>>,
    /// Of the newest that is durable.
    newest: Option<u64>,
    /// One was ended, and is neither durable nor given up.
    is_ending: bool,
    /// The one that is being written found no room, or could not be read back as it was written: what belongs with it falls.
    is_given_up: bool,
    given_up: u64,
    /// Of the last one that was given up: why it could not be proved.
    refused: Option<String>,
    is_closed: bool,
}

enum Step {
    Begin,
    BeginSection(u64),
    KeepSection(u64),
    Block(Vec<u8>),
    End { log: Range<u64>, contents: Vec<u8> },
    Accept(u64),
}

impl Disk {
    /// Opens the store, or makes it. Errors name damaged files.
    pub fn open(options: &Options) -> Result<Disk, DiskError> {
        let dir = options.dir.display().to_string();
        let io =
            |error: std::io::Error| DiskError::Io { file: dir.clone(), reason: error.to_string() };
        let there =
            (0..).take_while(|part| options.dir.join(format!("part-{part}")).exists()).count();
        let is_whole = options.dir.join(MADE).exists();
        let parts = usize::from(options.parts);
        let made_for = match std::fs::read_to_string(options.dir.join(MADE)) {
            Ok(text) => text.trim().parse().unwrap_or(there),
            Err(_) => there,
        };
        if is_whole && made_for != parts {
            return Err(DiskError::Io {
                file: dir,
                reason: format!(
                    "it was made for {made_for} workers, and there are {parts} now: that cannot be changed"
                ),
            });
        }
        if is_whole && there < parts {
            let what = format!("of {parts} parts {there} are there");
            return Err(DiskError::Damaged { file: dir, what });
        }
        // Whoever may not read the rows may not read these files.
        let make = |path: &std::path::Path| make_dir(path, 0o700);
        make(&options.dir).map_err(io)?;
        let open = |part: u16| {
            let name = format!("part-{part}");
            let path = options.dir.join(&name);
            make(&path).map_err(io)?;
            let files = Arc::new(Directory::new(&path));
            Part::open(files, &path.display().to_string(), part, options, !is_whole)
        };
        let opened: Vec<Result<Part, DiskError>> = std::thread::scope(|scope| {
            let open = &open;
            let threads: Vec<_> =
                (0..options.parts).map(|part| scope.spawn(move || open(part))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let mut parts = Vec::new();
        for part in opened {
            parts.push(Arc::new(part?));
        }
        if !is_whole {
            let mut made = std::fs::File::create(options.dir.join(MADE)).map_err(io)?;
            made.write_all(format!("{}\n", options.parts).as_bytes()).map_err(io)?;
            made.sync_all().map_err(io)?;
        }
        std::fs::File::open(&options.dir).and_then(|dir| dir.sync_all()).map_err(io)?;
        let checkpoint_bytes_per_second = options.checkpoint_bytes_per_second;
        Ok(Disk { parts, checkpoint_bytes_per_second, threads: Mutex::default() })
    }

    /// Ends the threads that write, when all given records are written, unless there is no room for them.
    pub fn close(&self) {
        for part in &self.parts {
            lock(&part.queue).is_closed = true;
            lock(&part.blocks).is_closed = true;
            part.changed.notify_all();
            part.blocks_changed.notify_all();
        }
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            // One of them may itself have held the store last.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }

    /// Starts the threads that write.
    pub fn start(
        &self,
        on_progress: Arc<OnProgress>,
        on_failure: Arc<OnFailure>,
        on_thread: Arc<OnThread>,
        become_idle: BecomeIdle,
    ) -> std::io::Result<()> {
        let mut threads = lock(&self.threads);
        let rate = self.checkpoint_bytes_per_second;
        for (number, part) in (0..).zip(&self.parts) {
            let idle = IdleCompressor::start(become_idle)?;
            let (of_log, of_checkpoints) = (Arc::clone(part), Arc::clone(part));
            let (told, told_of_log) = (Arc::clone(&on_progress), Arc::clone(&on_progress));
            let (failed, failed_of_log) = (Arc::clone(&on_failure), Arc::clone(&on_failure));
            let (begun, begun_of_log) = (Arc::clone(&on_thread), Arc::clone(&on_thread));
            threads.push(thread("redo", move || {
                begun_of_log();
                if let Err(error) = of_log.write_log(&|| told_of_log(number)) {
                    of_log.fail();
                    failed_of_log(format!("{}: {error}", of_log.name));
                    told_of_log(number);
                }
            })?);
            threads.push(thread("checkpoint", move || {
                begun();
                let part = of_checkpoints;
                if let Err(error) = part.write_checkpoints(&idle, rate, &|| told(number)) {
                    part.fail();
                    failed(format!("{}: {error}", part.name));
                    told(number);
                }
            })?);
        }
        Ok(())
    }

    pub fn parts(&self) -> u16 {
        u16::try_from(self.parts.len()).expect("made from u16")
    }
    fn part(&self, part: u16) -> &Part {
        &self.parts[usize::from(part)]
    }

    /// Takes a record behind all others, which `write` appends to its argument; waits for no disk.
    /// Returns the places before and behind it. The record is written with the next
    /// [`Disk::flush`], or when there are many.
    pub fn append(&self, part: u16, write: impl FnOnce(&mut Vec<u8>)) -> Range<u64> {
        self.append_expected(part, 0, write)
    }
    /// The same for a record of about `size` bytes: a long one takes no more memory than it needs.
    pub fn append_expected(
        &self,
        part: u16,
        size: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Range<u64> {
        self.part(part).append(size, write)
    }
    /// What the part was given so far is to be durable soon.
    pub fn flush(&self, part: u16) {
        let part = self.part(part);
        lock(&part.queue).is_wanted = true;
        part.changed.notify_one();
    }
    /// The part's log is durable up to this place.
    pub fn durable(&self, part: u16) -> u64 {
        self.part(part).durable.load(Ordering::Acquire)
    }
    /// The place behind the last record.
    pub fn end(&self, part: u16) -> u64 {
        lock(&self.part(part).queue).end
    }
    /// What the log of that part can be given that has least.
    pub fn room(&self) -> Room {
        let rooms = self.parts.iter().map(|part| part.room.load(Ordering::Relaxed));
        match rooms.max() {
            Some(3) => Room::Failed,
            Some(2) => Room::Nothing,
            Some(1) => Room::Reserve,
            _ => Room::Ample,
        }
    }

    /// Begins a checkpoint, instead of one that was not ended.
    pub fn begin_checkpoint(&self, part: u16) {
        self.part(part).give_step(Step::Begin, 0);
    }
    /// May another block be added now?
    pub fn has_room(&self, part: u16) -> bool {
        lock(&self.part(part).blocks).bytes < BLOCKS_WAITING_MAX
    }
    /// The blocks from now on are of this section: a number that no section of the part has that is there.
    pub fn begin_section(&self, part: u16, section: u64) {
        self.part(part).give_step(Step::BeginSection(section), 0);
    }
    /// A section of a checkpoint that there is belongs to this one as it is, and is not written again.
    pub fn keep_section(&self, part: u16, section: u64) {
        self.part(part).give_step(Step::KeepSection(section), 0);
    }
    /// Returns a buffer for another block: one that was used before, if there is one. New memory is cleared page by page when it is first
    /// touched.
    pub fn add_block(&self, part: u16, block: Vec<u8>) -> Vec<u8> {
        let bytes = block.len();
        self.part(part).give_step(Step::Block(block), bytes);
        lock(&self.part(part).blocks).empty.pop().unwrap_or_default()
    }
    /// The log from `log.start` on belongs with it, and without that up to `log.end` it is of no use: whoever finds it without does not
    /// find it. The contents are the caller's.
    pub fn end_checkpoint(&self, part: u16, log: Range<u64>, contents: Vec<u8>) {
        lock(&self.part(part).blocks).is_ending = true;
        self.part(part).give_step(Step::End { log, contents }, 0);
    }
    /// One was ended, and is neither durable nor given up.
    pub fn is_writing_checkpoint(&self, part: u16) -> bool {
        lock(&self.part(part).blocks).is_ending
    }
    /// The number of the newest that is durable, and was read back.
    pub fn checkpoint_written(&self, part: u16) -> Option<u64> {
        lock(&self.part(part).blocks).newest
    }
    /// Checkpoints that were given up: there was no room, or they could not be read back as they were written.
    pub fn checkpoints_given_up(&self, part: u16) -> u64 {
        lock(&self.part(part).blocks).given_up
    }
    /// Of the last one that was given up: why it could not be read back as it was written. None if there was no room.
    pub fn checkpoint_refused(&self, part: u16) -> Option<String> {
        lock(&self.part(part).blocks).refused.clone()
    }
    /// Those before it go, and the log that only they needed.
    pub fn accept_checkpoint(&self, part: u16, number: u64) {
        self.part(part).give_step(Step::Accept(number), 0);
    }

    /// Those that there are, the newest first.
    pub fn checkpoints(&self, part: u16) -> Vec<CheckpointFound> {
        lock(&self.part(part).checkpoints).found()
    }
    pub fn read_checkpoint(
        &self,
        part: u16,
        number: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), DiskError> {
        let part = self.part(part);
        // Other threads may continue meanwhile.
        let reader = lock(&part.checkpoints).reader(number);
        let read = reader.and_then(|reader| reader.read(visit));
        read.map_err(|error| error.within(&part.name))
    }
    /// The place of the first record that there was when it was opened.
    pub fn begin(&self, part: u16) -> u64 {
        self.part(part).begin
    }
    /// Visits the records that there were when it was opened, from the first that ends behind `from`: the place behind each, and its bytes.
    pub fn read_log(
        &self,
        part: u16,
        from: u64,
        visit: &mut VisitRecord<'_>,
    ) -> Result<(), DiskError> {
        let part = self.part(part);
        lock(&part.redo).visit(from, visit).map_err(|error| error.within(&part.name))
    }
    /// The place of the first record that there is now.
    pub fn log_begin(&self, part: u16) -> u64 {
        lock(&self.part(part).redo).begin()
    }
    /// Random, of the part: another one if it was made anew.
    pub fn store(&self, part: u16) -> u64 {
        lock(&self.part(part).checkpoints).manifest.store
    }
    /// Reads the log from behind `from` while it grows; the unread part is kept.
    pub fn follow(&self, part: u16, from: u64) -> Follower {
        let mut follower = self.follow_held(part, from);
        let mut kept = lock(&follower.part.kept);
        kept.reader_last += 1;
        let id = kept.reader_last;
        kept.logs.insert(id, from);
        kept.logs.remove(&AWAITED);
        drop(kept);
        follower.id = Some(id);
        follower
    }
    /// The same of a log that a [`Held`] keeps: when that is dropped, the unread part may be gone, and reading it an error.
    pub fn follow_held(&self, part: u16, from: u64) -> Follower {
        let part = Arc::clone(&self.parts[usize::from(part)]);
        let reader = lock(&part.redo).reader(from);
        Follower { part, id: None, reader }
    }
    /// The checkpoints that there are now stay, and the log that belongs with them, until this is dropped.
    pub fn hold_checkpoints(&self, part: u16) -> Held {
        let part = Arc::clone(&self.parts[usize::from(part)]);
        let checkpoints = lock(&part.checkpoints);
        let mut kept = lock(&part.kept);
        kept.checkpoint_readers += 1;
        kept.held_to = checkpoints.newest();
        drop((kept, checkpoints));
        Held { part }
    }
    /// Bytes of all files of the logs.
    pub fn log_bytes(&self) -> u64 {
        self.parts.iter().map(|part| lock(&part.redo).bytes()).sum()
    }
}

/// Reads a log while it grows.
pub struct Follower {
    part: Arc<Part>,
    /// The number under which the log is kept for it.
    id: Option<u64>,
    reader: LogReader,
}

impl Follower {
    /// Visits durable records that were not visited before, of about `bytes_max` bytes at most.
    /// Returns whether there may be more.
    pub fn read(&mut self, bytes_max: u64, visit: &mut VisitRecord<'_>) -> Result<bool, DiskError> {
        let up_to = self.part.durable.load(Ordering::Acquire);
        let list = lock(&self.part.redo).list();
        let begin = self.reader.place();
        while self.reader.place() - begin < bytes_max {
            if !self.reader.read(&list, up_to, visit)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
    /// Up to here it has read.
    pub fn place(&self) -> u64 {
        self.reader.place()
    }
    /// What it has read need not be kept for it.
    pub fn forget(&self) {
        if let Some(id) = self.id {
            lock(&self.part.kept).logs.insert(id, self.reader.place());
            self.part.release();
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            lock(&self.part.kept).logs.remove(&id);
            self.part.release();
        }
    }
}

pub struct Held {
    part: Arc<Part>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut kept = lock(&self.part.kept);
        kept.checkpoint_readers -= 1;
        let accept = if kept.checkpoint_readers == 0 { kept.accept.take() } else { None };
        drop(kept);
        if let Some(number) = accept {
            self.part.give_step(Step::Accept(number), 0);
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.close();
    }
}

impl Part {
    fn open(
        files: Arc<dyn Files>,
        name: &str,
        part: u16,
        options: &Options,
        is_new: bool,
    ) -> Result<Part, DiskError> {
        let in_part = |error: DiskError| error.within(name);
        let seed = options.seed.wrapping_add(u64::from(part)).wrapping_mul(0x2545_f491_4f6c_dd1d);
        let mut checkpoints =
            Checkpoints::open(Arc::clone(&files), seed, is_new).map_err(in_part)?;
        let kept_from = (options.kept_from)(part, checkpoints.manifest.store);
        let redo = Redo::open(
            files,
            RedoOptions {
                store: checkpoints.manifest.store,
                file_bytes: options.file_bytes,
                spares_max: options.spares_max,
                reserve: options.reserve,
                seed,
                needed: checkpoints.log_needed(),
                accepted: checkpoints.log_accepted(),
                kept_from,
                mutation: Mutation::None,
            },
        )
        .map_err(in_part)?;
        checkpoints.on_log_end(redo.end).map_err(|error| in_part(io_error(KIND)(error)))?;
        let blocks = Blocks { newest: checkpoints.newest(), ..Blocks::default() };
        let logs = kept_from.map(|from| (AWAITED, from)).into_iter().collect();
        let kept = Kept { logs, needed: checkpoints.log_needed(), ..Kept::default() };
        Ok(Part {
            name: name.to_string(),
            queue: Mutex::new(Queue { end: redo.end, ..Queue::default() }),
            changed: Condvar::new(),
            durable: AtomicU64::new(redo.durable),
            room: AtomicU8::new(redo.room() as u8),
            begin: redo.begin(),
            redo: Mutex::new(redo),
            checkpoints: Mutex::new(checkpoints),
            blocks: Mutex::new(blocks),
            blocks_changed: Condvar::new(),
            kept: Mutex::new(kept),
        })
    }

    /// Removes the log that is not needed any more.
    fn release(&self) {
        let before = lock(&self.kept).release();
        lock(&self.queue).release = Some(before);
        self.changed.notify_one();
    }

    /// After a failed write or sync the content of the device is unknown. Neither is ever retried (rule R17). The queued
    /// records are dropped; the thread that writes the log sees the failure under the queue's lock before any is.
    fn fail(&self) {
        self.room.store(Room::Failed as u8, Ordering::Relaxed);
        lock(&self.queue).pieces.clear();
        let mut blocks = lock(&self.blocks);
        let bytes = |step: Step| if let Step::Block(raw) = step { raw.len() } else { 0 };
        let dropped: usize = blocks.steps.drain(..).map(bytes).sum();
        // What is being written is taken off when it is done.
        blocks.bytes -= dropped;
    }
    /// True if that is news.
    fn set_room(&self, room: u8) -> bool {
        let is_news = |known: u8| known != room && known != Room::Failed as u8;
        let set = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |known| {
            is_news(known).then_some(room)
        });
        set.is_ok()
    }
    fn has_failed(&self) -> bool {
        self.room.load(Ordering::Relaxed) == Room::Failed as u8
    }

    fn append(&self, size: usize, write: impl FnOnce(&mut Vec<u8>)) -> Range<u64> {
        let mut queue = lock(&self.queue);
        if self.has_failed() {
            queue.pieces.clear();
        }
        queue.pieces.expect(size);
        let (added, is_much) = queue.pieces.add(write);
        let begin = queue.end;
        queue.end += added;
        let place = begin..queue.end;
        queue.is_much |= is_much;
        drop(queue);
        if is_much {
            self.changed.notify_one();
        }
        place
    }

    fn give_step(&self, step: Step, bytes: usize) {
        let mut blocks = lock(&self.blocks);
        if self.has_failed() {
            return;
        }
        blocks.steps.push_back(step);
        blocks.bytes += bytes;
        drop(blocks);
        self.blocks_changed.notify_one();
    }

    /// Until the store is closed, and all is written.
    fn write_log(&self, on_progress: &dyn Fn()) -> std::io::Result<()> {
        let mut pieces = Pieces::default();
        let mut is_wanted = false;
        loop {
            let release = {
                let mut queue = lock(&self.queue);
                let is_asked =
                    |queue: &Queue| queue.is_wanted || queue.is_much || queue.release.is_some();
                while !is_asked(&queue) && pieces.is_empty() {
                    if queue.is_closed {
                        break;
                    }
                    let is_short = self.room.load(Ordering::Relaxed) != Room::Ample as u8;
                    if is_short {
                        // There may be room again, though nothing is to be written.
                        let waited = self.changed.wait_timeout(queue, ROOM_WAIT);
                        queue = waited.expect("nobody panics while holding this lock").0;
                        break;
                    }
                    queue = wait(&self.changed, queue);
                }
                if self.has_failed() {
                    // The other thread has: records may have been dropped, and none may be there that came behind them.
                    return Ok(());
                }
                is_wanted |= std::mem::take(&mut queue.is_wanted) || queue.is_closed;
                queue.is_much = false;
                pieces.take(&mut queue.pieces);
                queue.release.take()
            };
            let mut redo = lock(&self.redo);
            if let Some(needed) = release {
                redo.release(needed)?;
            }
            let written = redo.write(&mut pieces)?;
            if is_wanted || UNSYNCED_MAX <= redo.end - redo.durable {
                redo.sync()?;
            }
            redo.keep_reserve()?;
            let (durable, room) = (redo.durable, redo.room() as u8);
            drop(redo);
            let has_room_changed = self.set_room(room);
            if self.durable.swap(durable, Ordering::AcqRel) < durable || has_room_changed {
                on_progress();
            }
            is_wanted &= written == Written::NoRoom;
            let queue = lock(&self.queue);
            let is_done = written == Written::NoRoom || queue.pieces.is_empty();
            if queue.is_closed && is_done {
                return Ok(());
            }
            if written == Written::NoRoom {
                let waited = self.changed.wait_timeout(queue, ROOM_WAIT);
                drop(waited.expect("nobody panics while holding this lock"));
            }
        }
    }

    fn write_checkpoints(
        &self,
        idle: &IdleCompressor,
        rate: u64,
        on_progress: &dyn Fn(),
    ) -> std::io::Result<()> {
        let mut next_at = Instant::now();
        loop {
            let (mut step, is_given_up, is_late) = {
                let mut blocks = lock(&self.blocks);
                loop {
                    if blocks.is_closed {
                        // What is not ended is worth nothing.
                        return Ok(());
                    }
                    if let Some(step) = blocks.steps.pop_front() {
                        break (step, blocks.is_given_up, BLOCKS_WAITING_MAX / 2 < blocks.bytes);
                    }
                    blocks = wait(&self.blocks_changed, blocks);
                }
            };
            let (is_begin, is_end) =
                (matches!(step, Step::Begin), matches!(step, Step::End { .. }));
            let (mut taken, mut packed, mut empty) = (0, None, None);
            if let Step::Block(raw) = &mut step {
                taken = raw.len();
                let raw = std::mem::take(raw);
                if is_given_up {
                    empty = Some(raw);
                } else if is_late {
                    (packed, empty) = (Some(segment::pack(&raw)?), Some(raw));
                } else {
                    let (made, raw) = idle.pack(raw)?;
                    (packed, empty) = (Some(made), raw);
                }
            }
            let is_next = matches!(step, Step::BeginSection(_) | Step::KeepSection(_));
            let ends_section = is_next || is_end;
            let refused = match ends_section && !is_given_up {
                true => self.prove_section(rate, &mut next_at)?,
                false => None,
            };
            let mut checkpoints = lock(&self.checkpoints);
            let done = match step {
                _ if refused.is_some() => Ok(0),
                Step::Begin => checkpoints.begin().map(|()| 0),
                Step::Accept(number) => match self.accept(number, &mut checkpoints) {
                    Err(error) if is_no_room(&error) => {
                        // It is what gives room back, so it is tried again.
                        drop(checkpoints);
                        lock(&self.blocks).steps.push_front(step);
                        self.pause_until(Instant::now() + ROOM_WAIT);
                        continue;
                    }
                    accepted => accepted.map(|()| 0),
                },
                _ if is_given_up => Ok(0),
                Step::BeginSection(section) => checkpoints.begin_section(section).map(|()| 0),
                Step::KeepSection(section) => {
                    checkpoints.keep_section(section);
                    Ok(0)
                }
                Step::Block(_) => checkpoints.add_block(packed.expect("just made")),
                Step::End { log, contents } => checkpoints.end(log, contents).map(|()| 0),
            };
            let (written, gives_up) = match done {
                Ok(written) => (written, refused.is_some()),
                Err(error) if is_no_room(&error) => (0, true),
                Err(error) => return Err(error),
            };
            if gives_up {
                checkpoints.give_up()?;
            }
            let newest = checkpoints.newest();
            drop(checkpoints);
            let mut blocks = lock(&self.blocks);
            let was_full = BLOCKS_WAITING_MAX <= blocks.bytes;
            blocks.bytes -= taken;
            if let Some(empty) = empty.filter(|empty| empty.capacity() <= EMPTY_BYTES_MAX)
                && blocks.empty.len() < EMPTY_MAX
            {
                blocks.empty.push(empty);
            } else if is_end {
                blocks.empty.clear();
            }
            let has_room_again = was_full && blocks.bytes < BLOCKS_WAITING_MAX;
            let is_news = has_room_again || gives_up || is_end || blocks.newest != newest;
            blocks.newest = newest;
            if gives_up {
                blocks.given_up += 1;
                blocks.refused = refused;
            }
            blocks.is_given_up = gives_up || blocks.is_given_up && !is_begin;
            blocks.is_ending &= !is_end;
            drop(blocks);
            if is_news {
                on_progress();
            }
            self.pause_for(written, rate, &mut next_at);
        }
    }

    /// The section that was being written, if one was, is durable, and read back (rule R19): why it could not be, as it was written.
    fn prove_section(&self, rate: u64, next_at: &mut Instant) -> std::io::Result<Option<String>> {
        // Others may look at the checkpoints while it is read.
        let Some(reader) = lock(&self.checkpoints).sync_section()? else { return Ok(None) };
        let proved = reader.prove(&mut |bytes| {
            self.pause_for(bytes as u64, rate, next_at);
            match lock(&self.blocks).is_closed {
                true => Err("the store is closed".into()),
                false => Ok(()),
            }
        });
        if proved.is_ok() {
            lock(&self.checkpoints).end_section();
        }
        Ok(proved.err().map(|error| error.within(&self.name).to_string()))
    }

    fn accept(&self, number: u64, checkpoints: &mut Checkpoints) -> std::io::Result<()> {
        let mut kept = lock(&self.kept);
        if kept.checkpoint_readers > 0 {
            // Checkpoints after those that a reader may use are removed all the same; the log stays. A reader that ends does not wait.
            kept.accept = Some(number);
            let held_to = kept.held_to;
            drop(kept);
            return checkpoints.accept(number, held_to);
        }
        drop(kept);
        checkpoints.accept(number, None)?;
        lock(&self.kept).needed = checkpoints.log_needed();
        self.release();
        Ok(())
    }

    /// Writes a piece, and then pauses: the log's syncs wait for the reads and writes beside them.
    /// Where there is no room for more log nothing is more urgent than to free some.
    fn pause_for(&self, bytes: u64, rate: u64, next_at: &mut Instant) {
        if self.room.load(Ordering::Relaxed) != Room::Ample as u8 {
            return;
        }
        let pause = Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
        *next_at = (*next_at).max(Instant::now()) + pause;
        self.pause_until(*next_at);
    }

    fn pause_until(&self, at: Instant) {
        let mut blocks = lock(&self.blocks);
        while let Some(left) = at.checked_duration_since(Instant::now()) {
            if blocks.is_closed {
                return;
            }
            let waited = self.blocks_changed.wait_timeout(blocks, left);
            blocks = waited.expect("nobody panics while holding this lock").0;
        }
    }
}

pub fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).spawn(work)
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding this lock")
}

pub fn wait<'a, T>(changed: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    changed.wait(guard).expect("nobody panics while holding this lock")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::memory::MemoryFiles;
    use crate::tests::real::{options, wait_until};

    /// A checkpoint of which a section is not on the device as it was written is given up, says why, and leaves no file; the next one is
    /// written as if it had not been.
    #[test]
    fn what_is_not_proved_is_given_up() {
        let memory = MemoryFiles::default();
        let files: Arc<dyn Files> = Arc::new(memory.clone());
        let options = options(std::path::Path::new("nowhere"), 1);
        let part = Arc::new(Part::open(files, "part-0", 0, &options, true).unwrap());
        let idle = IdleCompressor::start(|| ()).unwrap();
        let of_thread = Arc::clone(&part);
        let written = thread("checkpoint", move || {
            of_thread.write_checkpoints(&idle, u64::MAX, &|| ()).expect("no write fails");
        });
        let write = |section: u64| {
            lock(&part.blocks).is_ending = true;
            part.give_step(Step::Begin, 0);
            for number in [section, section + 1] {
                part.give_step(Step::BeginSection(number), 0);
                part.give_step(Step::Block(vec![7; 1_000]), 1_000);
            }
            part.give_step(Step::End { log: 0..0, contents: Vec::new() }, 0);
            wait_until("it is written or given up", || !lock(&part.blocks).is_ending);
            let blocks = lock(&part.blocks);
            (blocks.newest, blocks.given_up, blocks.refused.clone())
        };
        for (given_up, spoiled) in [(1, "rows-0000000001"), (2, "rows-0000000002")] {
            memory.spoil(spoiled, 50);
            let what = format!(
                "part-0/{spoiled} is damaged: the block at byte 32 does not fit its checksum"
            );
            assert_eq!(write(1), (None, given_up, Some(what)));
            assert_eq!(memory.list().unwrap(), ["manifest-1", "reserve-0000000000"]);
        }
        memory.spoil("nothing", 0);
        let (newest, given_up, _) = write(1);
        assert!(newest.is_some() && given_up == 2);
        lock(&part.blocks).is_closed = true;
        part.blocks_changed.notify_one();
        written.unwrap().join().unwrap();
    }
}
