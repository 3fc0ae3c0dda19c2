//! A node's part of a backup: its disk's local checkpoints and logs, copied beside the load by a thread a part.
//!
//! ```text
//!   DIR/BACKUP-{id}/node-{node}.part-{part}.backup    blocks, as `protocol::backup` has them, in a file of `disk::copy`
//! ```
//! The copied data is durable already, so no row in memory is touched, and no version of a row is
//! kept for it. A file gets its name when it is whole.
//!
//! Data that is still to be copied stays on the node's disk, however long that takes: where that
//! leaves the log no room the backup ends, not the cluster. The backup's directory may hang, with
//! every thread that touches it: so none of the node's own threads does, least of all a worker, and
//! a thread with no other work ends the backup when it should end, whatever the others wait for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use disk::copy::{CopyWriter, Lock, Salt};
use disk::{Disk, Held, Room};
use kernel::Survey;
use protocol::backup::{
    BackupLock, BackupPart, BackupPlan, BackupReport, BackupRequest, BackupState, CopyBlock,
};
use protocol::disk::{CheckpointContents, DiskEntry};
use protocol::request::Backups;
use types::wire::{Bytes, Wire};
use types::{NodeId, ShardId};

use crate::log::NodeLog;
use crate::random;
use crate::store::FileStore;

/// What a part may read of the disk in a second, beside the load.
const BYTES_PER_SECOND: u64 = 128 << 20;
/// Bytes of a block of log entries, about.
pub const ENTRIES_BYTES: usize = 1 << 20;
/// Of runs that are over: the last few are remembered.
const RUNS_MAX: usize = 16;
/// How often it is looked whether a run is to end.
const WATCH: Duration = Duration::from_millis(200);
/// Time to wait for the threads of an ended backup: longer than a thread copies a block, and
/// shorter than the wait of the requester.
const PATIENCE: Duration = Duration::from_secs(5);
/// A node that follows a run asks for its progress five times a second. Without a question for this
/// time it is gone.
const FORSAKEN_US: u64 = 30_000_000;
const ABORTED: &str = "it was aborted";
const SHORT_OF_ROOM: &str = "the disk of this node is short of room";

pub struct FileBackups {
    node: NodeId,
    /// Where backups go that name no place.
    dir: PathBuf,
    store: Arc<FileStore>,
    log: Arc<NodeLog>,
    runs: Mutex<BTreeMap<u64, Arc<Run>>>,
}

/// This node's part of one backup.
struct Run {
    id: u32,
    begun: u64,
    dir: PathBuf,
    state: Mutex<BackupState>,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    /// The time of the last question for the progress.
    asked: AtomicU64,
    /// A thread of its own writes to the directory, or removes what is there, be it that nobody waits for it any more.
    works: AtomicBool,
    /// Since when it has been to end before it is done, and why.
    ended: OnceLock<(Instant, String)>,
    /// What is still to be copied stays on the node's disk as long as these are here.
    held: Mutex<Vec<Held>>,
    /// The files that it has made.
    files: Mutex<Vec<PathBuf>>,
}

/// Why a part was not copied.
enum CopyError {
    TooLate,
    /// The run has ended.
    Ended,
    Failed(String),
}

impl<E: std::fmt::Display> From<E> for CopyError {
    fn from(error: E) -> CopyError {
        CopyError::Failed(error.to_string())
    }
}

/// The directory of a node's backups.
pub fn default_dir(dir: &Path) -> PathBuf {
    dir.join("backups")
}

pub fn name_of(id: u32) -> String {
    format!("BACKUP-{id}")
}

pub fn file_name(node: NodeId, part: u16) -> String {
    format!("node-{node}.part-{part}.backup")
}

impl FileBackups {
    pub fn new(node: NodeId, dir: &Path, store: Arc<FileStore>, log: Arc<NodeLog>) -> FileBackups {
        FileBackups { node, dir: default_dir(dir), store, log, runs: Mutex::default() }
    }

    fn begin(&self, plan: &BackupPlan) -> BackupReport {
        let dir = plan.dir.as_ref().map_or_else(|| self.dir.clone(), PathBuf::from);
        let run = Arc::new(Run::new(plan.contents.id, &dir, crate::clock::now()));
        let refused =
            |why: &str| BackupReport { state: BackupState::Failed(why.into()), ..run.report() };
        if self.store.disk.room() != Room::Ample {
            return refused(&format!("{SHORT_OF_ROOM}: make some first"));
        }
        let mut runs = lock(&self.runs);
        if runs.values().any(|other| other.is_running()) {
            return refused("another backup is being made: wait for it, or ABORT it");
        }
        if runs.values().any(|other| other.dir == run.dir && other.works.load(Ordering::Acquire)) {
            let dir = run.dir.display();
            return refused(&format!(
                "what another backup has written to {dir} is still being removed: wait, or choose another id"
            ));
        }
        while runs.len() >= RUNS_MAX {
            let idle = runs.iter().filter(|(_, run)| !run.works.load(Ordering::Acquire));
            let oldest = idle.min_by_key(|(_, run)| run.begun).map(|(id, _)| *id);
            let Some(oldest) = oldest else {
                return refused("the directories of too many backups do not answer");
            };
            runs.remove(&oldest);
        }
        runs.insert(plan.contents.run, Arc::clone(&run));
        drop(runs);
        let (node, store, log) = (self.node, Arc::clone(&self.store), Arc::clone(&self.log));
        let (plan, copied) = (plan.clone(), Arc::clone(&run));
        self.watch(&run, move || copy_all(node, &store.disk, &plan, &copied, &log));
        run.report()
    }

    /// Has a thread do this work of a run, which touches its files, and another one see to it that the run ends.
    fn watch(&self, run: &Arc<Run>, work: impl FnOnce() -> Result<(), CopyError> + Send + 'static) {
        let (store, log, watched) =
            (Arc::clone(&self.store), Arc::clone(&self.log), Arc::clone(run));
        let (done, outcome) = channel();
        let working = Arc::clone(run);
        run.works.store(true, Ordering::Release);
        let worked = spawn("backup", move || {
            let outcome = work();
            working.works.store(false, Ordering::Release);
            let _ = done.send(outcome);
        });
        if worked.is_err() {
            run.works.store(false, Ordering::Release);
        }
        let watching = worked.and_then(|()| {
            spawn("backup watch", move || {
                let outcome = watched.await_outcome(&outcome, &store.disk);
                watched.end_with(outcome, &log);
            })
        });
        if let Err(error) = watching {
            let why = format!("cannot start a thread: {error}");
            run.end(&why);
            run.set(BackupState::Failed(why));
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(work).map(|_| ())
}

impl Backups for FileBackups {
    fn answer(&self, request: &BackupRequest) -> BackupReport {
        let run = |id: &u64| lock(&self.runs).get(id).cloned();
        match request {
            BackupRequest::Begin(plan) => self.begin(plan),
            BackupRequest::Status { run: id } => {
                let Some(run) = run(id) else { return BackupReport::default() };
                run.asked.store(crate::clock::now(), Ordering::Relaxed);
                run.report()
            }
            BackupRequest::Abort { run: id } => {
                let Some(run) = run(id) else { return BackupReport::default() };
                run.end(ABORTED);
                if run.was_done() {
                    let removed = Arc::clone(&run);
                    self.watch(&run, move || {
                        removed.remove();
                        Err(CopyError::Ended)
                    });
                }
                run.report()
            }
        }
    }
}

impl Run {
    fn new(id: u32, dir: &Path, now: u64) -> Run {
        Run {
            id,
            begun: now,
            dir: dir.join(name_of(id)),
            state: Mutex::new(BackupState::Running),
            bytes_read: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            asked: AtomicU64::new(now),
            works: AtomicBool::new(false),
            ended: OnceLock::new(),
            held: Mutex::default(),
            files: Mutex::default(),
        }
    }

    fn set(&self, state: BackupState) {
        *lock(&self.state) = state;
    }
    fn is_running(&self) -> bool {
        *lock(&self.state) == BackupState::Running
    }
    /// Runs again, then: its files are to go.
    fn was_done(&self) -> bool {
        let mut state = lock(&self.state);
        let was_done = *state == BackupState::Done;
        if was_done {
            *state = BackupState::Running;
        }
        was_done
    }

    /// What there is of this part's log and its checkpoints stays until the run is over.
    fn hold(&self, store: &Disk, part: u16) -> Result<(), CopyError> {
        // Without the lock, that a worker takes: the node's disk may be waited for.
        let new = store.hold_checkpoints(part);
        let mut held = lock(&self.held);
        self.check()?;
        held.push(new);
        Ok(())
    }
    fn release(&self) {
        drop(std::mem::take(&mut *lock(&self.held)));
    }
    /// It ends, and data that it has not copied by now need not stay.
    fn end(&self, why: &str) {
        self.ended.get_or_init(|| (Instant::now(), why.to_string()));
        self.release();
    }
    fn check(&self) -> Result<(), CopyError> {
        self.ended.get().map_or(Ok(()), |_| Err(CopyError::Ended))
    }
    /// Why its threads are not waited for any more.
    fn hangs(&self) -> Option<String> {
        let (since, why) = self.ended.get()?;
        (PATIENCE <= since.elapsed()).then(|| {
            let dir = self.dir.display();
            format!("{why}; {dir} does not answer: what was written there goes when it does")
        })
    }

    /// Ends it, if that is better than to continue.
    fn look(&self, room: Room, now: u64) {
        let asked = self.asked.load(Ordering::Relaxed);
        match room {
            Room::Ample if now < asked + FORSAKEN_US => {}
            Room::Ample => self.end("the node that made it does not ask for it any more"),
            Room::Reserve | Room::Nothing => self.end(&format!(
                "{SHORT_OF_ROOM}, and what is still to be copied would have to stay there"
            )),
            Room::Failed => self.end("the disk of this node has failed"),
        }
    }

    /// What its thread says; or why that is not waited for any more.
    fn await_outcome(
        &self,
        outcome: &Receiver<Result<(), CopyError>>,
        store: &Disk,
    ) -> Result<(), CopyError> {
        loop {
            match outcome.recv_timeout(WATCH) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Disconnected) => {
                    self.works.store(false, Ordering::Release);
                    return Err(CopyError::Failed("its thread has panicked".into()));
                }
                Err(RecvTimeoutError::Timeout) => self.look(store.room(), crate::clock::now()),
            }
            if let Some(why) = self.hangs() {
                return Err(CopyError::Failed(why));
            }
        }
    }

    fn end_with(&self, outcome: Result<(), CopyError>, log: &NodeLog) {
        self.release();
        let id = self.id;
        let ended = || self.ended.get().map(|(_, why)| why.clone()).unwrap_or_default();
        let why = match outcome {
            Ok(()) => {
                let written = self.bytes_written.load(Ordering::Relaxed);
                log.info(&format!("backup {id}: this node's part is done, {written} bytes"));
                return self.set(BackupState::Done);
            }
            Err(CopyError::TooLate) => return self.set(BackupState::TooLate),
            Err(CopyError::Ended) => ended(),
            Err(CopyError::Failed(why)) => why,
        };
        log.warn(&format!("backup {id} failed: {why}"));
        self.set(BackupState::Failed(why));
    }

    /// What this node has written of it goes, and the directory, unless others have something in it.
    fn remove(&self) {
        for path in std::mem::take(&mut *lock(&self.files)) {
            let _ = std::fs::remove_file(path);
        }
        let _ = std::fs::remove_dir(&self.dir);
    }
    fn report(&self) -> BackupReport {
        BackupReport {
            state: lock(&self.state).clone(),
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            bytes_written: self.bytes_written.load(Ordering::Relaxed),
            dir: self.dir.display().to_string(),
        }
    }
}

/// Leaves nothing when it fails.
fn copy_all(
    node: NodeId,
    store: &Disk,
    plan: &BackupPlan,
    run: &Run,
    log: &NodeLog,
) -> Result<(), CopyError> {
    let own = plan.contents.parts.iter().enumerate().filter(|(_, part)| part.node == node);
    let own: Vec<(usize, &BackupPart)> = own.collect();
    make_dir(node, &run.dir).map_err(|why| {
        run.remove();
        CopyError::Failed(why)
    })?;
    let (id, dir) = (run.id, run.dir.display());
    log.info(&format!("backup {id} begins: {} parts to {dir}", own.len()));
    let copied: Vec<Result<(), CopyError>> = std::thread::scope(|scope| {
        let threads = own.into_iter().map(|(index, part)| {
            let copy = move || {
                let copied = copy_part(store, plan, index, part, run);
                if let Err(CopyError::Failed(why)) = &copied {
                    // The others need not continue either.
                    run.end(why);
                }
                copied
            };
            std::thread::Builder::new().spawn_scoped(scope, copy)
        });
        let threads: Vec<_> = threads.collect();
        let ended = threads.into_iter().map(|thread| match thread.map(|thread| thread.join()) {
            Ok(Ok(copied)) => copied,
            Ok(Err(_)) => Err(CopyError::Failed("its thread has panicked".into())),
            Err(error) => Err(CopyError::Failed(format!("cannot start a thread: {error}"))),
        });
        ended.collect()
    });
    let outcome = run.check().and_then(|()| copied.into_iter().collect());
    if outcome.is_err() {
        run.remove();
    }
    outcome
}

/// Nobody's files are overwritten.
fn make_dir(node: NodeId, dir: &Path) -> Result<(), String> {
    let shown = dir.display();
    disk::make_dir(dir, 0o700)
        .map_err(|error| format!("cannot make the directory {shown}: {error}"))?;
    let there = files_of(node, dir).map_err(|error| format!("cannot read {shown}: {error}"))?;
    // Unfinished files are no obstacle: a process has died over them, or another cluster is about to write its own.
    match there.iter().all(|path| path.extension().is_some_and(|ending| ending == "unfinished")) {
        true => Ok(()),
        false => Err(format!(
            "there is a backup in {shown} already: choose another id, or remove that directory"
        )),
    }
}

/// Those of a node in the directory of a backup.
fn files_of(node: NodeId, dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let prefix = format!("node-{node}.");
    let is_own = |file: &std::fs::DirEntry| file.file_name().to_string_lossy().starts_with(&prefix);
    let files = std::fs::read_dir(dir)?.flatten().filter(is_own);
    Ok(files.map(|file| file.path()).collect())
}

pub fn copy_lock(lock: &BackupLock) -> Lock {
    let password = lock.password.as_ref().and_then(|password| {
        let salt: Salt = password.salt.0.as_slice().try_into().ok()?;
        Some((salt, password.iterations))
    });
    Lock { key: lock.key.0, password }
}

fn copy_part(
    store: &Disk,
    plan: &BackupPlan,
    index: usize,
    own: &BackupPart,
    run: &Run,
) -> Result<(), CopyError> {
    let (part, at) = (own.part.0, plan.contents.at);
    let path = run.dir.join(file_name(own.node, part));
    let lock = plan.lock.as_ref().map(copy_lock);
    run.hold(store, part)?;
    let up_to = store.durable(part);
    let (checkpoint, log_from) = oldest(store, part, at)?;
    let mut follower = store.follow_held(part, log_from);
    let writer = CopyWriter::create(&path, lock.as_ref(), random::bytes())?;
    crate::backup::lock(&run.files).push(writer.temporary().to_path_buf());
    let mut out = Copying { writer, run, begun: Instant::now(), read: 0 };
    out.add(&CopyBlock::Backup {
        contents: plan.contents.clone(),
        part: index as u32,
        store: store.store(part),
    })?;
    let mut begins: Vec<(ShardId, u64)> = Vec::new();
    if let Some((number, contents)) = checkpoint {
        begins = contents.shards;
        out.add(&CopyBlock::Begins(begins.clone()))?;
        let mut failed = None;
        let read = store.read_checkpoint(part, number, &mut |block| {
            let added = out.add(&CopyBlock::Rows(Bytes(block.to_vec())));
            added.map_err(|error| {
                failed = Some(error);
                String::new()
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        read?;
    }
    let mut survey = Survey::default();
    while follower.place() < up_to {
        let mut entries = Vec::new();
        let read = follower.read(ENTRIES_BYTES as u64, &mut |place, bytes| {
            let entry = DiskEntry::without_rows(bytes).map_err(|error| error.to_string())?;
            survey.add(place, &entry);
            entries.push((place, Bytes(bytes.to_vec())));
            Ok(())
        });
        if read.is_err() && log_from < store.log_begin(part) {
            // It was about to go when it was looked for.
            return Err(CopyError::TooLate);
        }
        read?;
        out.add(&CopyBlock::Entries(entries))?;
    }
    // Whoever restores it finds everything that was committed up to there, and can tell.
    for shard in &own.shards {
        let span = survey.span(*shard, at, &plan.contents.history.restarts);
        let begin = begins.iter().find(|(begun, _)| begun == shard).map_or(0, |(_, begin)| *begin);
        if span.is_none_or(|span| span.to <= begin) {
            return Err(CopyError::TooLate);
        }
    }
    out.add(&CopyBlock::End { up_to: follower.place() })?;
    out.writer.sync()?;
    run.check()?;
    out.writer.end()?;
    crate::backup::lock(&run.files).push(path);
    Ok(())
}

type Checkpoint = Option<(u64, CheckpointContents)>;

/// The oldest local checkpoint, for the newest may not be relied on yet; and from where on the log belongs with it. The first one may not
/// either, while the log has everything.
fn oldest(store: &Disk, part: u16, at: types::Timestamp) -> Result<(Checkpoint, u64), CopyError> {
    if store.log_begin(part) == 0 {
        return Ok((None, 0));
    }
    for found in store.checkpoints(part).into_iter().rev() {
        let contents = CheckpointContents::from_bytes(&found.contents)?;
        if contents.newest <= at {
            return Ok((Some((found.number, contents)), found.log_from));
        }
    }
    Err(CopyError::TooLate)
}

/// A file that is being written, not faster than it may be.
struct Copying<'a> {
    writer: CopyWriter,
    run: &'a Run,
    begun: Instant,
    read: u64,
}

impl Copying<'_> {
    fn add(&mut self, block: &CopyBlock) -> Result<(), CopyError> {
        self.run.check()?;
        let bytes = block.to_bytes();
        let before = self.writer.bytes();
        self.writer.add(&bytes)?;
        self.read += bytes.len() as u64;
        self.run.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.run.bytes_written.fetch_add(self.writer.bytes() - before, Ordering::Relaxed);
        let due = Duration::from_secs_f64(self.read as f64 / BYTES_PER_SECOND as f64);
        if let Some(left) = due.checked_sub(self.begun.elapsed()) {
            std::thread::sleep(left);
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding this lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unfinished files of a dead process are no obstacle; whole ones are.
    #[test]
    fn what_is_whole_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("BACKUP-1");
        let node = NodeId(2);
        assert_eq!(make_dir(node, &dir), Ok(()));
        let path = dir.join(file_name(node, 0));
        std::fs::write(path.with_extension("unfinished"), "cut").unwrap();
        assert_eq!(make_dir(node, &dir), Ok(()));
        std::fs::write(path, "whole").unwrap();
        assert!(make_dir(node, &dir).unwrap_err().contains("there is a backup in"));
        assert_eq!(make_dir(NodeId(3), &dir), Ok(()), "others are others");
    }

    /// A run ends when the node that made it is gone, or the disk of rows is short of room; the first reason counts.
    #[test]
    fn what_ends_a_run() {
        let begun = || Run::new(1, Path::new("/nowhere"), 5);
        let why = |run: &Run| run.ended.get().map(|(_, why)| why.clone());
        let run = begun();
        run.look(Room::Ample, 5 + FORSAKEN_US - 1);
        assert!(why(&run).is_none() && run.check().is_ok());
        run.look(Room::Ample, 5 + FORSAKEN_US);
        assert!(why(&run).unwrap().contains("does not ask") && run.check().is_err());
        run.look(Room::Reserve, 5);
        assert!(why(&run).unwrap().contains("does not ask"));
        assert_eq!(run.hangs(), None, "its threads are waited for first");
        for (room, said) in [
            (Room::Reserve, "short of room"),
            (Room::Nothing, "short of room"),
            (Room::Failed, "failed"),
        ] {
            let run = begun();
            run.look(room, 5);
            assert!(why(&run).unwrap().contains(said));
        }
    }
}
