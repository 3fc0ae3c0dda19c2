//! The identity of a node's directory and, if the node is a voter, the log of the control plane, on
//! disk (rules R5, R24).
//!
//! ```text
//!   node{N}.control:  "skarv-cp" | version u32 | node u16 | home u64 | crc32c u32 of these
//!                     then for each record: length u32 | crc32c u32 of it | crc32c u32 of the bytes | bytes
//! ```
//! A record is on disk before the next one is begun, so only the last can be torn: it is cut off,
//! since nothing depended on it. A record that replaces all others is written into a new file,
//! which takes the place of the old one when it is durable. Anything else that does not match its
//! checksum is damage, and the node does not start: a voter that has forgotten a record must not
//! vote. Nothing is synced twice: a write or sync that fails ends the process (rule R17). Only for
//! room on a full disk the thread waits: the written part of the record is cut off again.
//!
//! A thread of its own writes, so that no worker waits for the disk.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use kernel::Journal;
use types::{Home, NodeId};

use crate::log::NodeLog;
use crate::options::StartError;
use crate::{files, panic, random};

const MAGIC: &[u8; 8] = b"skarv-cp";
const VERSION: u32 = 2;
const HEADER_SIZE: usize = 8 + 4 + 2 + 8 + 4;
const RECORD_HEADER_SIZE: usize = 12;

/// Pause before a record is tried again on a full disk: short beside the time in which an operator makes room.
const ROOM_WAIT: Duration = Duration::from_millis(100);

pub struct FileJournal {
    pub home: Home,
    /// As they were when the node started.
    records: Vec<Vec<u8>>,
    queue: Arc<Queue>,
    /// What the thread will have.
    file: Mutex<Option<JournalFile>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread is to write.
#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<Given>,
    given: u64,
    durable: u64,
    is_closed: bool,
}

enum Given {
    Append(Vec<u8>),
    Replace(Vec<u8>),
}

struct JournalFile {
    home: Home,
    node: NodeId,
    path: PathBuf,
    file: File,
}

/// The path of a node's file.
pub fn path_of(dir: &Path, node: NodeId) -> PathBuf {
    dir.join(format!("node{node}.control"))
}

impl FileJournal {
    /// Removes the node's file, if there is one. The caller holds the node's lock.
    pub fn remove(dir: &Path, node: NodeId) -> Result<(), StartError> {
        let path = path_of(dir, node);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StartError::Directory { path, reason: error.to_string() })
            }
            _ => Ok(()),
        }
    }

    /// Opens the node's file, or makes it with a new identity. The caller holds the node's lock.
    pub fn open(dir: &Path, node: NodeId) -> Result<FileJournal, StartError> {
        let path = path_of(dir, node);
        let refused = |reason: String| StartError::Directory { path: path.clone(), reason };
        let io_refused = |error: std::io::Error| refused(error.to_string());
        if !path.exists() {
            files::write_durably(&path, &header(node, Home(random::nonzero_u64())))
                .map_err(io_refused)?;
        }
        let bytes = std::fs::read(&path).map_err(io_refused)?;
        let home = home_of(&bytes, node).map_err(refused)?;
        let (records, end) = records_of(&bytes).map_err(refused)?;
        write_again(&path, &bytes[..end]).map_err(io_refused)?;
        let file = open_to_append(&path).map_err(io_refused)?;
        Ok(FileJournal {
            home,
            records,
            queue: Arc::default(),
            file: Mutex::new(Some(JournalFile { home, node, path, file })),
            thread: Mutex::default(),
        })
    }

    /// Starts the thread that writes. `on_durable` is called whenever one more record is durable. A
    /// voter whose record cannot be written must not continue (rule R17): the log gets the reason,
    /// and the process ends.
    pub fn start(
        &self,
        log: Arc<NodeLog>,
        on_durable: impl Fn() + Send + 'static,
    ) -> Result<(), StartError> {
        let file = lock(&self.file).take().expect("started once");
        let queue = Arc::clone(&self.queue);
        let writes = move || {
            panic::this_thread_is_fail_stop(Arc::clone(&log));
            file.write_all_given(&queue, &log, on_durable);
        };
        let spawned = std::thread::Builder::new().name("journal".into()).spawn(writes);
        let thread = spawned.map_err(|error| StartError::System {
            action: "start the journal's thread",
            reason: error.to_string(),
        })?;
        *lock(&self.thread) = Some(thread);
        Ok(())
    }

    fn give(&self, given: Given) -> u64 {
        let mut state = lock(&self.queue.state);
        state.waiting.push_back(given);
        state.given += 1;
        self.queue.changed.notify_all();
        state.given
    }
}

impl Drop for FileJournal {
    /// What was given is written.
    fn drop(&mut self) {
        lock(&self.queue.state).is_closed = true;
        self.queue.changed.notify_all();
        let thread = lock(&self.thread).take();
        // It may itself have held the node last.
        if let Some(thread) =
            thread.filter(|thread| thread.thread().id() != std::thread::current().id())
        {
            let _ = thread.join();
        }
    }
}

impl Journal for FileJournal {
    fn append(&self, record: &[u8]) -> u64 {
        self.give(Given::Append(record.to_vec()))
    }
    fn replace(&self, record: &[u8]) -> u64 {
        self.give(Given::Replace(record.to_vec()))
    }
    fn durable(&self) -> u64 {
        lock(&self.queue.state).durable
    }
    fn read(&self) -> Vec<Vec<u8>> {
        self.records.clone()
    }
}

impl JournalFile {
    fn write_all_given(mut self, queue: &Queue, log: &NodeLog, on_durable: impl Fn()) {
        while let Some(given) = queue.next() {
            // One at a time: only the last can be torn.
            if !self.write_when_there_is_room(&given, queue, log) {
                return;
            }
            lock(&queue.state).durable += 1;
            queue.changed.notify_all();
            on_durable();
        }
    }

    /// Whether the record is durable: one that a full disk holds up when the node ends never is, and was never reported as durable.
    fn write_when_there_is_room(&mut self, given: &Given, queue: &Queue, log: &NodeLog) -> bool {
        let mut has_waited = false;
        loop {
            let written = match given {
                Given::Append(record) => self.append(record),
                Given::Replace(record) => self.replace(record),
            };
            let path = self.path.display();
            match written {
                Ok(Written::Durable) => {
                    if has_waited {
                        log.info(&format!("there is room for {path} again"));
                    }
                    return true;
                }
                Ok(Written::NoRoom) => {
                    if !has_waited {
                        log.warn(&format!(
                            "no room for {path}: the disk is full, or the quota used up. This node takes no part in changes of \
                             the cluster until there is room"
                        ));
                    }
                    has_waited = true;
                    if queue.is_closed_within(ROOM_WAIT) {
                        return false;
                    }
                }
                Err(error) => {
                    let what = format!(
                        "cannot write {path}: {error}; this process ends, because a node that may forget what it has voted must not \
                         go on"
                    );
                    panic::end_process(log, &what, panic::EXIT_CODE_DISK);
                }
            }
        }
    }

    fn append(&mut self, record: &[u8]) -> std::io::Result<Written> {
        let end = self.file.metadata()?.len();
        match self.file.write_all(&framed(record)) {
            Err(error) if is_no_room(&error) => {
                // Cut off as far as it came. Should the node end before that is on disk, it is the last record, and torn.
                if self.file.metadata()?.len() != end {
                    self.file.set_len(end)?;
                }
                Ok(Written::NoRoom)
            }
            written => written.and_then(|()| self.file.sync_data()).map(|()| Written::Durable),
        }
    }

    fn replace(&mut self, record: &[u8]) -> std::io::Result<Written> {
        let mut bytes = header(self.node, self.home);
        bytes.extend(framed(record));
        // The new file is another one each time, so its sync may be tried again; that of the directory may not.
        match files::write_private(&self.path, &bytes) {
            Err(error) if is_no_room(&error) => return Ok(Written::NoRoom),
            written => written?,
        }
        files::sync_directory_of(&self.path)?;
        self.file = open_to_append(&self.path)?;
        Ok(Written::Durable)
    }
}

/// What has become of a record.
enum Written {
    Durable,
    /// Nothing of it is there.
    NoRoom,
}

fn is_no_room(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}

impl Queue {
    /// Waits for it; none when no more will come.
    fn next(&self) -> Option<Given> {
        let mut state = lock(&self.state);
        while state.waiting.is_empty() && !state.is_closed {
            state = self.changed.wait(state).expect("nobody panics while holding this lock");
        }
        state.waiting.pop_front()
    }

    /// Whether it is closed, or will be in that time.
    fn is_closed_within(&self, time: Duration) -> bool {
        let state = lock(&self.state);
        let waited = self.changed.wait_timeout_while(state, time, |state| !state.is_closed);
        waited.expect("nobody panics while holding this lock").0.is_closed
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding this lock")
}

/// The file holds this, and it is durable: whoever wrote it may have been killed before its sync, or have died of that.
fn write_again(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.write_all_at(bytes, 0)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()?;
    files::sync_directory_of(path)
}

fn open_to_append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).append(true).open(path)
}

fn framed(record: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(RECORD_HEADER_SIZE + record.len());
    let length = u32::try_from(record.len()).expect("entries are bounded far below 4 GiB");
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&length.to_le_bytes()).to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(record).to_le_bytes());
    bytes.extend_from_slice(record);
    bytes
}

fn header(node: NodeId, home: Home) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_SIZE);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&node.0.to_le_bytes());
    bytes.extend_from_slice(&home.0.to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

fn home_of(bytes: &[u8], node: NodeId) -> Result<Home, String> {
    let Some(found) = bytes.get(..HEADER_SIZE).filter(|found| found.starts_with(MAGIC)) else {
        return Err("it is not the control file of a node".into());
    };
    let home = Home(u64::from_le_bytes(found[14..22].try_into().expect("eight bytes")));
    let whose = u16::from_le_bytes(found[12..14].try_into().expect("two bytes"));
    if found == header(node, home) {
        return Ok(home);
    }
    if found == header(NodeId(whose), home) {
        return Err(format!("it is the file of node {whose}, not of node {node}"));
    }
    Err("its header is damaged, or of another version of skarv".into())
}

/// The records, and where the last whole one ends.
fn records_of(bytes: &[u8]) -> Result<(Vec<Vec<u8>>, usize), String> {
    let mut records = Vec::new();
    let mut at = HEADER_SIZE;
    while at < bytes.len() {
        let rest = &bytes[at..];
        if rest.len() < RECORD_HEADER_SIZE || rest.iter().all(|byte| *byte == 0) {
            // The last one was being written, or its place was made and nothing put there.
            break;
        }
        let word =
            |from: usize| u32::from_le_bytes(rest[from..from + 4].try_into().expect("four bytes"));
        let is_length = word(4) == crc32c::crc32c(&rest[..4]);
        let end = RECORD_HEADER_SIZE + usize::try_from(word(0)).expect("64 bits");
        match rest.get(RECORD_HEADER_SIZE..end) {
            Some(payload) if is_length && word(8) == crc32c::crc32c(payload) => {
                records.push(payload.to_vec());
                at += end;
            }
            // The last one, as above.
            None if is_length => break,
            Some(_) if is_length && end == rest.len() => break,
            _ => {
                return Err(format!(
                    "the record at byte {at} is damaged; move the file away to start without it, if most of the other voters \
                     have theirs: the node then holds rows again, and is no voter any more; without them nobody knows the \
                     cluster's rows"
                ));
            }
        }
    }
    Ok((records, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(dir: &Path) -> Result<FileJournal, StartError> {
        let journal = FileJournal::open(dir, NodeId(2))?;
        let log = NodeLog::open(&dir.join("node2.log"), false).unwrap();
        journal.start(Arc::new(log), || ())?;
        Ok(journal)
    }

    /// All that it was given is durable.
    fn settle(journal: &FileJournal) {
        let state = lock(&journal.queue.state);
        let is_behind = |state: &mut QueueState| state.durable < state.given;
        drop(journal.queue.changed.wait_while(state, is_behind).unwrap());
        assert_eq!(journal.durable(), lock(&journal.queue.state).given);
    }

    /// A journal returns the given records, and its identity stays; a directory without one is another.
    #[test]
    fn what_was_appended_is_there_again() {
        let dir = tempfile::tempdir().unwrap();
        let first = open(dir.path()).unwrap();
        assert_eq!(first.read(), Vec::<Vec<u8>>::new());
        first.append(b"one");
        assert_eq!(first.append(&[7; 10_000]), 2);
        settle(&first);
        let again = open(dir.path()).unwrap();
        assert_eq!(again.read(), [b"one".to_vec(), vec![7; 10_000]]);
        assert_eq!(again.home, first.home);
        again.append(b"three");
        settle(&again);
        assert_eq!(open(dir.path()).unwrap().read().len(), 3);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(open(other.path()).unwrap().home, first.home);
        FileJournal::remove(other.path(), NodeId(2)).unwrap();
        FileJournal::remove(other.path(), NodeId(2)).unwrap();
        assert!(!path_of(other.path(), NodeId(2)).exists());
        assert!(FileJournal::open(dir.path(), NodeId(3)).unwrap().read().is_empty());
        std::fs::copy(path_of(dir.path(), NodeId(2)), path_of(dir.path(), NodeId(3))).unwrap();
        let wrong = FileJournal::open(dir.path(), NodeId(3)).err().unwrap().to_string();
        assert!(wrong.contains("the file of node 2, not of node 3"), "{wrong}");
    }

    /// What replaces all records is there instead of them, in a file that is no longer than that, and others follow it. A crash before
    /// the new file takes the place of the old one leaves that.
    #[test]
    fn what_replaces_others_is_there_instead() {
        let dir = tempfile::tempdir().unwrap();
        let path = path_of(dir.path(), NodeId(2));
        let journal = open(dir.path()).unwrap();
        journal.append(&[7; 10_000]);
        journal.append(b"two");
        settle(&journal);
        let (home, before) = (journal.home, std::fs::read(&path).unwrap());
        journal.replace(b"instead");
        settle(&journal);
        assert_eq!(std::fs::read(&path).unwrap().len(), HEADER_SIZE + RECORD_HEADER_SIZE + 7);
        journal.append(b"behind it");
        settle(&journal);
        let again = open(dir.path()).unwrap();
        assert_eq!(again.read(), [b"instead".to_vec(), b"behind it".to_vec()]);
        assert_eq!(again.home, home);
        std::fs::write(path.with_extension("tmp"), b"half of a fi").unwrap();
        std::fs::write(&path, &before).unwrap();
        let again = open(dir.path()).unwrap();
        assert_eq!(again.read().len(), 2);
        again.replace(b"once more");
        settle(&again);
        assert_eq!(open(dir.path()).unwrap().read(), [b"once more".to_vec()]);
    }

    /// The thread waits for a disk without room: a record without room is not durable, the log reports it once, earlier records stay,
    /// and a node that ends meanwhile ends. (`/dev/full` has never room.) A path with room takes the record.
    #[test]
    fn a_full_disk_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = path_of(dir.path(), NodeId(2));
        drop(FileJournal::open(dir.path(), NodeId(2)).unwrap());
        let before = std::fs::read(&path).unwrap();
        let full = || OpenOptions::new().append(true).open("/dev/full").unwrap();
        let open_full = || {
            let journal = FileJournal::open(dir.path(), NodeId(2)).unwrap();
            lock(&journal.file).as_mut().unwrap().file = full();
            journal
        };
        let log_path = dir.path().join("node2.log");
        let journal = open_full();
        journal.start(Arc::new(NodeLog::open(&log_path, false).unwrap()), || ()).unwrap();
        journal.append(b"no room");
        while !std::fs::read_to_string(&log_path).unwrap().contains("no room for") {
            std::thread::yield_now();
        }
        assert_eq!(journal.durable(), 0);
        drop(journal);
        assert_eq!(std::fs::read_to_string(&log_path).unwrap().matches("no room for").count(), 1);
        assert_eq!(std::fs::read(&path).unwrap(), before);

        let journal = open_full();
        let mut file = lock(&journal.file).take().unwrap();
        assert!(matches!(file.append(b"no room"), Ok(Written::NoRoom)));
        file.file = open_to_append(&path).unwrap();
        assert!(matches!(file.append(b"room"), Ok(Written::Durable)));
        assert_eq!(open(dir.path()).unwrap().read(), [b"room".to_vec()]);
    }

    /// Cut at any byte, the records before it are left, and appending continues behind them. A flipped bit is found, but in the last
    /// record, which may be a torn one.
    #[test]
    fn torn_and_damaged_records() {
        let dir = tempfile::tempdir().unwrap();
        let path = path_of(dir.path(), NodeId(2));
        let journal = open(dir.path()).unwrap();
        for record in [&b"first"[..], b"second", b"the last"] {
            journal.append(record);
        }
        settle(&journal);
        let whole = std::fs::read(&path).unwrap();
        let ends = [HEADER_SIZE, HEADER_SIZE + 17, HEADER_SIZE + 35, whole.len()];
        for cut in HEADER_SIZE..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let journal = open(dir.path()).unwrap();
            let count = ends.iter().filter(|end| **end <= cut).count() - 1;
            assert_eq!(journal.read().len(), count, "cut at {cut}");
            journal.append(b"more");
            settle(&journal);
            assert_eq!(open(dir.path()).unwrap().read().last().unwrap(), b"more", "cut at {cut}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, &bytes).unwrap();
            match open(dir.path()) {
                Ok(journal) => {
                    assert!(ends[2] <= at, "byte {at}");
                    assert_eq!(journal.read().len(), 2);
                }
                Err(error) => assert!(at < ends[2] + 8, "byte {at}: {error}"),
            }
        }
        let mut bytes = whole.clone();
        bytes.extend_from_slice(&[0; 4096]);
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(
            open(dir.path()).unwrap().read().len(),
            3,
            "a place that was made and not filled"
        );
    }

    /// Files that chance has changed in several places: reading them never panics, and returns the written records from the first one
    /// on, or an error.
    #[test]
    fn files_that_chance_has_changed() {
        let mut seed = 7u64;
        let mut below = |limit: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % limit.max(1)
        };
        let written: Vec<Vec<u8>> = (0..40u8).map(|n| vec![n; usize::from(n) * 7 % 90]).collect();
        let mut whole = header(NodeId(2), Home(9));
        whole.extend(written.iter().flat_map(|record| framed(record)));
        let (mut read, mut refused) = (0, 0);
        for _ in 0..100_000 {
            let mut bytes = whole.clone();
            for _ in 0..=below(3) {
                if bytes.is_empty() {
                    break;
                }
                let (at, to) = (below(bytes.len()), below(bytes.len()));
                match below(6) {
                    0 => bytes[at] ^= 1 << below(8),
                    1 => bytes[at] = below(256) as u8,
                    2 => bytes.swap(at, to),
                    3 => bytes.truncate(at),
                    4 => {
                        let end = (at + 1 + below(64)).min(bytes.len());
                        let to = to.min(bytes.len() - (end - at));
                        bytes.copy_within(at..end, to);
                    }
                    _ => bytes[at.min(to)..at.max(to)].fill(if at < to { 0 } else { 0xff }),
                }
            }
            match home_of(&bytes, NodeId(2)) {
                Ok(home) => assert_eq!(home, Home(9)),
                Err(_) => continue,
            }
            match records_of(&bytes) {
                Ok((records, end)) => {
                    assert!(end <= bytes.len().max(HEADER_SIZE));
                    assert_eq!(records[..], written[..records.len()]);
                    read += 1;
                }
                Err(error) => {
                    assert!(error.contains("is damaged"), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(10_000 < read.min(refused), "{read} were read, {refused} refused");
    }
}
