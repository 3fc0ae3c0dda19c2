//! A node's part of a backup: its disk's local checkpoints and logs, copied beside the load by a thread a part.
//!
//! ```text
//!   DIR/BACKUP-{id}/node-{node}.part-{part}.backup    blocks, as `protocol::backup` has them, in a file of `disk::copy`
//! ```
//! What is copied is durable already, so nothing of the rows in memory is touched, and no version of a row is kept for it. A file has its
//! name when it is whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use disk::Disk;
use disk::copy::{CopyWriter, Lock, Salt};
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
/// Entries of a log are put together to blocks of about so many bytes.
pub const ENTRIES_BYTES: usize = 1 << 20;
/// Of runs that are over: the last few are remembered.
const RUNS_MAX: usize = 16;

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
    begun: u64,
    dir: PathBuf,
    state: Mutex<BackupState>,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
    is_aborted: AtomicBool,
    /// The files that it has made.
    files: Mutex<Vec<PathBuf>>,
}

/// Why a part was not copied.
enum CopyError {
    TooLate,
    Aborted,
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
        let run = Arc::new(Run {
            begun: crate::clock::now(),
            dir: dir.join(name_of(plan.contents.id)),
            state: Mutex::new(BackupState::Running),
            bytes_read: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            is_aborted: AtomicBool::new(false),
            files: Mutex::default(),
        });
        let mut runs = lock(&self.runs);
        if runs.values().any(|other| other.is_running()) {
            run.set(BackupState::Failed(
                "another backup is being made: wait for it, or ABORT it".into(),
            ));
        }
        while runs.len() >= RUNS_MAX {
            let oldest = runs.iter().min_by_key(|(_, run)| run.begun).map(|(id, _)| *id);
            runs.remove(&oldest.expect("there are some"));
        }
        runs.insert(plan.contents.run, Arc::clone(&run));
        drop(runs);
        if run.is_running() {
            let (node, store, log) = (self.node, Arc::clone(&self.store), Arc::clone(&self.log));
            let (plan, copied) = (plan.clone(), Arc::clone(&run));
            let thread = std::thread::Builder::new().name("backup".into());
            let spawned = thread.spawn(move || copy_all(node, &store.disk, &plan, &copied, &log));
            if let Err(error) = spawned {
                run.set(BackupState::Failed(format!("cannot start a thread: {error}")));
            }
        }
        run.report()
    }
}

impl Backups for FileBackups {
    fn answer(&self, request: &BackupRequest) -> BackupReport {
        let run = |id: &u64| lock(&self.runs).get(id).cloned();
        match request {
            BackupRequest::Begin(plan) => self.begin(plan),
            BackupRequest::Status { run: id } => {
                run(id).map(|run| run.report()).unwrap_or_default()
            }
            BackupRequest::Abort { run: id } => {
                let Some(run) = run(id) else { return BackupReport::default() };
                run.is_aborted.store(true, Ordering::Release);
                if !run.is_running() {
                    run.remove();
                }
                run.report()
            }
        }
    }
}

impl Run {
    fn set(&self, state: BackupState) {
        *lock(&self.state) = state;
    }
    fn is_running(&self) -> bool {
        *lock(&self.state) == BackupState::Running
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

fn copy_all(node: NodeId, store: &Disk, plan: &BackupPlan, run: &Run, log: &NodeLog) {
    let own = plan.contents.parts.iter().enumerate().filter(|(_, part)| part.node == node);
    let own: Vec<(usize, &BackupPart)> = own.collect();
    let id = plan.contents.id;
    let made = make_dir(node, &run.dir);
    let mut outcome = made.map_err(CopyError::Failed);
    if outcome.is_ok() {
        log.info(&format!("backup {id} begins: {} parts to {}", own.len(), run.dir.display()));
        let copied: Vec<Result<(), CopyError>> = std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (index, part) in own.iter().copied() {
                threads.push(scope.spawn(move || copy_part(store, plan, index, part, run)));
            }
            let ended = threads.into_iter().map(|thread| thread.join());
            ended
                .map(|ended| match ended {
                    Ok(ended) => ended,
                    Err(_) => Err(CopyError::Failed("its thread has panicked".into())),
                })
                .collect()
        });
        outcome = copied.into_iter().collect();
        if outcome.is_err() || run.is_aborted.load(Ordering::Acquire) {
            run.remove();
        }
    }
    let written = run.bytes_written.load(Ordering::Relaxed);
    let state = match outcome {
        Ok(()) => {
            log.info(&format!("backup {id}: this node's part is done, {written} bytes"));
            BackupState::Done
        }
        Err(CopyError::TooLate) => BackupState::TooLate,
        Err(CopyError::Aborted) => BackupState::Failed("it was aborted".into()),
        Err(CopyError::Failed(why)) => {
            log.warn(&format!("backup {id} failed: {why}"));
            BackupState::Failed(why)
        }
    };
    run.set(state);
}

/// Nobody's files are overwritten.
fn make_dir(node: NodeId, dir: &Path) -> Result<(), String> {
    let shown = dir.display();
    disk::make_dir(dir, 0o700)
        .map_err(|error| format!("cannot make the directory {shown}: {error}"))?;
    let there = files_of(node, dir).map_err(|error| format!("cannot read {shown}: {error}"))?;
    // What is not finished is in nobody's way: a process has died over it, or another cluster is about to write its own.
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
    let _held = store.hold_checkpoints(part);
    let up_to = store.durable(part);
    let (checkpoint, log_from) = oldest(store, part, at)?;
    let mut follower = store.follow(part, log_from);
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
        follower.read(ENTRIES_BYTES as u64, &mut |place, bytes| {
            let entry = DiskEntry::without_rows(bytes).map_err(|error| error.to_string())?;
            survey.add(place, &entry);
            entries.push((place, Bytes(bytes.to_vec())));
            Ok(())
        })?;
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
        if self.run.is_aborted.load(Ordering::Acquire) {
            return Err(CopyError::Aborted);
        }
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

    /// What was left unfinished by a process that died is in nobody's way; what is whole is.
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
}
