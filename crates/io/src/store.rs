//! What a data node keeps of its rows on disk, as its kernel sees it ([`disk`] does the work).

use std::ffi::OsStr;
use std::fs::DirEntry;
use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use disk::{Disk, DiskError, Options, is_loss};
use kernel::{CheckpointFound, Store, Visit, VisitBlock};
use protocol::control::ClusterConfig;
use protocol::message::Room;
use types::{NodeId, WorkerId};

use crate::archive::{Archive, ArchiveNote};
use crate::log::NodeLog;
use crate::options::StartError;
use crate::{files, panic, random};

/// Of a file of the log: a second of a busy worker.
const FILE_BYTES: u64 = 16 << 20;
/// Files of the log that are kept to be used again, at most. One that is made is written twice, first with zeros.
const SPARES_MAX: usize = 12;
/// Those that are kept for when the device has no room for another.
const RESERVE: usize = 2;
/// What the checkpoints of a worker may write and read back beside the load: half of it is reading. With less a turn takes longer than the
/// log takes to grow by the next one while a table is filled.
const CHECKPOINT_BYTES_PER_SECOND: u64 = 128 << 20;

#[cfg(target_arch = "x86_64")]
const CACHE_LINE: usize = 64;

/// In the directory: why it is not to be used any more, as the process has found that used it last.
const DAMAGED: &str = "damaged";
/// In the directory: what cluster the rows are of, in words. With another one they would be taken for rows of other shards, or for none.
const SHAPE: &str = "cluster";
/// So many directories with damage are kept: they may hold the last copy of something, so none is removed.
const ASIDE_MAX: usize = 3;

/// Time after which an archive that cannot be listed may hang.
const ARCHIVE_WAIT: Duration = Duration::from_secs(10);

pub struct FileStore {
    pub disk: Disk,
    path: PathBuf,
    /// What cluster it is of, as far as it says so.
    shape: Option<String>,
    /// Where the log of each part ended when it was opened.
    began_at: Vec<u64>,
    /// The archive could not be listed in time, so all of the log is kept until it can.
    pub archive_is_late: bool,
    /// What was found since it was opened.
    damage: Mutex<Option<String>>,
}

/// Why a store cannot be used.
pub enum NoStore {
    /// The content is not the one that was written.
    Damaged(String),
    Error(StartError),
}

/// The directory of a node's rows.
pub fn path_of(dir: &Path, node: NodeId) -> PathBuf {
    dir.join(format!("node{node}.rows"))
}

impl FileStore {
    /// Removes what a node has on disk, but not the directory, which may be a device of its own. The caller holds the node's lock.
    pub fn remove(dir: &Path, node: NodeId) -> Result<(), StartError> {
        let path = path_of(dir, node);
        let remove_all = || -> std::io::Result<()> {
            for entry in entries_of(&path)? {
                match entry.file_type()?.is_dir() {
                    true => std::fs::remove_dir_all(entry.path())?,
                    false => std::fs::remove_file(entry.path())?,
                }
            }
            Ok(())
        };
        match remove_all() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|error| StartError::Directory {
                path: path.clone(),
                reason: error.to_string(),
            }),
        }
    }

    /// Opens the store, or makes it. The caller holds the node's lock.
    pub fn open(
        dir: &Path,
        node: NodeId,
        workers: u16,
        archive: Option<&Archive>,
    ) -> Result<FileStore, NoStore> {
        let path = path_of(dir, node);
        let refused = |name: &str, error: &std::io::Error| {
            let reason = format!("{name}: {error}");
            NoStore::Error(StartError::Directory { path: path.clone(), reason })
        };
        match std::fs::read_to_string(path.join(DAMAGED)) {
            Ok(what) => return Err(NoStore::Damaged(what)),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            // It is there, whatever it says.
            Err(error) if is_loss(&error) => {
                return Err(NoStore::Damaged(format!("{DAMAGED}: {error}")));
            }
            Err(error) => return Err(refused(DAMAGED, &error)),
        }
        let shape = match std::fs::read_to_string(path.join(SHAPE)) {
            Ok(text) => match unsealed(&text) {
                Some(found) => Some(found.to_string()),
                None => return Err(NoStore::Damaged(format!("{SHAPE} is damaged"))),
            },
            // One that was made by an earlier version, or is new.
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) if is_loss(&error) => {
                return Err(NoStore::Damaged(format!("{SHAPE}: {error}")));
            }
            Err(error) => return Err(refused(SHAPE, &error)),
        };
        let archive = archive.cloned();
        let archive_is_late = Arc::new(AtomicBool::new(false));
        let is_late = Arc::clone(&archive_is_late);
        // What cannot be looked at may lack anything.
        let place_in_archive = move |part, store| {
            let archive = archive.as_ref()?;
            if is_late.load(Ordering::Relaxed) {
                return Some(0);
            }
            let place = archive.place_within(part, store, ARCHIVE_WAIT);
            if place.is_none() {
                is_late.store(true, Ordering::Relaxed);
            }
            Some(place.flatten().unwrap_or(0))
        };
        let options = Options {
            dir: path.clone(),
            parts: workers,
            file_bytes: FILE_BYTES,
            spares_max: SPARES_MAX,
            reserve: RESERVE,
            checkpoint_bytes_per_second: CHECKPOINT_BYTES_PER_SECOND,
            seed: random::nonzero_u64(),
            kept_from: Box::new(place_in_archive),
        };
        match Disk::open(&options) {
            Ok(disk) => {
                let archive_is_late = archive_is_late.load(Ordering::Relaxed);
                let began_at = (0..workers).map(|part| disk.end(part)).collect();
                Ok(FileStore {
                    disk,
                    path,
                    shape,
                    began_at,
                    archive_is_late,
                    damage: Mutex::default(),
                })
            }
            Err(error @ DiskError::Damaged { .. }) => Err(NoStore::Damaged(error.to_string())),
            Err(error) => {
                let reason = error.to_string();
                Err(NoStore::Error(StartError::Directory { path, reason }))
            }
        }
    }

    /// Refuses rows of a cluster of another shape. While there are none the shape is noted, for when there are.
    pub fn check_shape(&self, shape: &str, is_used: bool) -> Result<(), StartError> {
        let refused = |reason: String| StartError::Directory { path: self.path.clone(), reason };
        match &self.shape {
            Some(found) if found == shape => Ok(()),
            Some(found) if is_used => Err(refused(format!(
                "what is in it is of a cluster with {found} The configuration says {shape} Put that back, or begin anew without these rows \
                 (--initial)"
            ))),
            _ => {
                let path = self.path.join(SHAPE);
                let written = files::write_durably(&path, sealed(shape).as_bytes());
                written.map_err(|error| refused(format!("{SHAPE}: {error}")))
            }
        }
    }

    /// What is damaged, if something was read that is.
    pub fn damage(&self) -> Option<String> {
        lock(&self.damage).clone()
    }

    fn note_damage(&self, error: DiskError) -> String {
        let what = error.to_string();
        if let DiskError::Damaged { .. } = error {
            lock(&self.damage).get_or_insert(what.clone());
        }
        what
    }

    /// The next process puts it aside.
    pub fn mark_damaged(&self, what: &str) -> std::io::Result<()> {
        mark_damaged(&self.path, what)
    }

    /// Moves a node's files aside, for a rescue, and returns their new place. The caller holds the node's lock.
    pub fn put_aside(dir: &Path, node: NodeId, what: &str) -> Result<PathBuf, StartError> {
        let path = path_of(dir, node);
        let refused = |reason: String| StartError::Directory { path: path.clone(), reason };
        let io_refused = |error: std::io::Error| refused(format!("{what}; {error}"));
        let beside = |number: usize| dir.join(format!("node{node}.rows.damaged-{number}"));
        // Where the directory is a device of its own.
        let inside = |number: usize| path.join(format!("damaged-{number}"));
        // One without the mark, which goes last, is not whole yet.
        let is_taken =
            |number: &usize| beside(*number).exists() || inside(*number).join(DAMAGED).exists();
        let Some(number) = (1..=ASIDE_MAX).find(|number| !is_taken(number)) else {
            return Err(refused(format!(
                "{what}; and {ASIDE_MAX} directories with damage are kept already ({} and others): look at its device, and remove \
                 what is not needed any more",
                beside(1).display()
            )));
        };
        match std::fs::rename(&path, beside(number)) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                let to = inside(number);
                put_inside(&path, &to, what).map(|()| to).map_err(io_refused)
            }
            renamed => renamed.map(|()| beside(number)).map_err(io_refused),
        }
    }

    pub fn archive_note(&self, part: u16) -> ArchiveNote {
        ArchiveNote::new(self.path.join(format!("archive-{part}")))
    }
    /// Where the log of a part ended when this was opened.
    pub fn began_at(&self, part: u16) -> u64 {
        self.began_at[usize::from(part)]
    }

    /// Starts the threads that write. One that panics ends the process, as a worker does.
    pub fn start(
        &self,
        log: Arc<NodeLog>,
        on_progress: impl Fn(WorkerId) + Send + Sync + 'static,
        on_failure: impl Fn(String) + Send + Sync + 'static,
    ) -> Result<(), StartError> {
        let told = move |part: u16| on_progress(WorkerId(part));
        let on_thread = move || panic::this_thread_is_fail_stop(Arc::clone(&log));
        let (told, on_failure, on_thread) =
            (Arc::new(told), Arc::new(on_failure), Arc::new(on_thread));
        let started = self.disk.start(told, on_failure, on_thread, become_idle);
        started.map_err(|error| StartError::System {
            action: "start the threads that write the rows",
            reason: error.to_string(),
        })
    }
}

/// Whether a file system has made the directory in its root, not the node. Most of these must not be moved or read by users of the rest.
pub fn is_of_file_system(name: &OsStr) -> bool {
    name == "lost+found"
}

/// What a node has in its directory, which may be a device of its own.
fn entries_of(path: &Path) -> std::io::Result<Vec<DirEntry>> {
    let entries: Vec<DirEntry> = std::fs::read_dir(path)?.collect::<Result<_, _>>()?;
    Ok(entries.into_iter().filter(|entry| !is_of_file_system(&entry.file_name())).collect())
}

/// The line, with a checksum: with one changed letter the rows would be those of another cluster.
fn sealed(line: &str) -> String {
    format!("{line} {:08x}", crc32c::crc32c(line.as_bytes()))
}

fn unsealed(text: &str) -> Option<&str> {
    text.rsplit_once(' ').map(|(line, _)| line).filter(|line| sealed(line) == text)
}

/// What may not change while there are rows, of what a cluster's configuration says, in words that end with a full stop.
pub fn shape_of(cluster: &ClusterConfig, node: NodeId) -> String {
    let nodes: Vec<String> = cluster.data_nodes().iter().map(ToString::to_string).collect();
    let workers = cluster.node(node).map_or(0, |node| node.workers);
    format!(
        "data nodes {}, {} replicas, {} shards a node group and {workers} workers at node {node}.",
        nodes.join(", "),
        cluster.replicas,
        cluster.shards_per_group
    )
}

/// Moves the content of a directory into one within it. A node that ends meanwhile continues with that at its next start.
fn put_inside(path: &Path, to: &Path, what: &str) -> std::io::Result<()> {
    // What is moved in part must not be taken for whole.
    mark_damaged(path, what)?;
    let names = entries_of(path)?.into_iter().map(|entry| entry.file_name());
    let moved = names.filter(|name| !name.to_string_lossy().starts_with(DAMAGED));
    match std::fs::create_dir(to) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    for name in moved.chain([DAMAGED.into()]) {
        std::fs::rename(path.join(&name), to.join(&name))?;
    }
    Ok(())
}

/// This thread runs only while no other wants the core, and yields it at once when one does.
fn become_idle() {
    // SAFETY: the structure lives through the call, which reads it and changes how this thread is scheduled, and nothing else.
    #[allow(unsafe_code)]
    let done = unsafe {
        let parameter = libc::sched_param { sched_priority: 0 };
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameter)
    };
    // Refused by no system that is known. It would be a thread like others.
    let _ = done;
}

/// Has the processor fetch where an entry of this length will be written next: else the worker would wait for that when it gives the
/// lock of the log back, because the thread that wrote such a buffer out had it last.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn fetch(room: &[MaybeUninit<u8>], length: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in room.chunks(CACHE_LINE).take(length / CACHE_LINE + 2) {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // SAFETY: it reads and writes nothing, whatever the address.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_ET0>(line.as_ptr().cast());
        }
    }
}

impl Store for FileStore {
    fn append(
        &self,
        part: WorkerId,
        size: usize,
        write: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Range<u64> {
        self.disk.append_expected(part.0, size, |out| {
            let begin = out.len();
            write(out);
            let length = out.len() - begin;
            fetch(out.spare_capacity_mut(), length);
        })
    }
    fn flush(&self, part: WorkerId) {
        self.disk.flush(part.0);
    }
    fn durable(&self, part: WorkerId) -> u64 {
        self.disk.durable(part.0)
    }
    fn end(&self, part: WorkerId) -> u64 {
        self.disk.end(part.0)
    }
    fn room(&self) -> Room {
        match self.disk.room() {
            disk::Room::Ample => Room::Ample,
            disk::Room::Reserve => Room::Reserve,
            disk::Room::Nothing => Room::Nothing,
            disk::Room::Failed => Room::Failed,
        }
    }
    fn begin_checkpoint(&self, part: WorkerId) {
        self.disk.begin_checkpoint(part.0);
    }
    fn has_room(&self, part: WorkerId) -> bool {
        self.disk.has_room(part.0)
    }
    fn begin_section(&self, part: WorkerId, section: u64) {
        self.disk.begin_section(part.0, section);
    }
    fn keep_section(&self, part: WorkerId, section: u64) {
        self.disk.keep_section(part.0, section);
    }
    fn add_block(&self, part: WorkerId, block: Vec<u8>) -> Vec<u8> {
        self.disk.add_block(part.0, block)
    }
    fn end_checkpoint(&self, part: WorkerId, log: Range<u64>, contents: Vec<u8>) {
        self.disk.end_checkpoint(part.0, log, contents);
    }
    fn is_writing_checkpoint(&self, part: WorkerId) -> bool {
        self.disk.is_writing_checkpoint(part.0)
    }
    fn checkpoint_written(&self, part: WorkerId) -> Option<u64> {
        self.disk.checkpoint_written(part.0)
    }
    fn checkpoint_refused(&self, part: WorkerId) -> Option<String> {
        self.disk.checkpoint_refused(part.0)
    }
    fn accept_checkpoint(&self, part: WorkerId, number: u64) {
        self.disk.accept_checkpoint(part.0, number);
    }
    fn checkpoints(&self, part: WorkerId) -> Vec<CheckpointFound> {
        let found = self.disk.checkpoints(part.0).into_iter();
        let found = found.map(|found| CheckpointFound {
            number: found.number,
            log_from: found.log_from,
            contents: found.contents,
        });
        found.collect()
    }
    fn read_checkpoint(
        &self,
        part: WorkerId,
        number: u64,
        visit: &mut VisitBlock<'_>,
    ) -> Result<(), String> {
        self.disk.read_checkpoint(part.0, number, visit).map_err(|error| self.note_damage(error))
    }
    fn begin(&self, part: WorkerId) -> u64 {
        self.disk.begin(part.0)
    }
    fn parts(&self) -> u16 {
        self.disk.parts()
    }
    fn read_log(&self, part: WorkerId, from: u64, visit: &mut Visit<'_>) -> Result<(), String> {
        self.disk.read_log(part.0, from, visit).map_err(|error| self.note_damage(error))
    }
    fn for_each_part(&self, work: &(dyn Fn(WorkerId) + Sync)) {
        std::thread::scope(|scope| {
            for part in 0..self.parts() {
                scope.spawn(move || work(WorkerId(part)));
            }
        });
    }
}

fn mark_damaged(path: &Path, what: &str) -> std::io::Result<()> {
    files::write_durably(&path.join(DAMAGED), what.as_bytes())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding this lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: NodeId = NodeId(3);

    fn damage_of(dir: &Path) -> Option<String> {
        match FileStore::open(dir, NODE, 1, None) {
            Ok(_) => None,
            Err(NoStore::Damaged(what)) => Some(what),
            Err(NoStore::Error(error)) => panic!("{error}"),
        }
    }

    /// With another configuration rows are not begun with, and nothing is changed.
    #[test]
    fn a_cluster_of_another_shape_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let check = |shape: &str, is_used: bool| match FileStore::open(dir.path(), NODE, 1, None) {
            Ok(store) => store.check_shape(shape, is_used).map_err(|error| error.to_string()),
            Err(NoStore::Damaged(what)) => panic!("{what}"),
            Err(NoStore::Error(error)) => panic!("{error}"),
        };
        assert_eq!(check("data nodes 2.", false), Ok(()));
        assert_eq!(check("data nodes 2, 3.", false), Ok(()), "there are no rows yet");
        let refused = check("data nodes 2, 3, 4.", true).unwrap_err();
        let said = "with data nodes 2, 3. The configuration says data nodes 2, 3, 4. Put";
        assert!(refused.contains(said), "{refused}");
        assert_eq!(check("data nodes 2, 3.", true), Ok(()));
        let path = path_of(dir.path(), NODE).join(SHAPE);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace('3', "4")).unwrap();
        assert!(damage_of(dir.path()).is_some_and(|what| what.contains("cluster is damaged")));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(check("data nodes 2.", true), Ok(()), "it is of an earlier version");
        assert!(check("data nodes 2, 3.", true).is_err());
    }

    /// The mark of damage is there, whatever can be read of it: that directory is not begun with.
    #[test]
    fn a_mark_that_cannot_be_read_is_one() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(damage_of(dir.path()), None);
        std::fs::write(path_of(dir.path(), NODE).join(DAMAGED), [0xff, 0xfe]).unwrap();
        assert!(damage_of(dir.path()).is_some_and(|what| what.starts_with(DAMAGED)));
    }

    /// What was found while the rows were loaded is known to the next process, which puts them aside and begins anew. Three are kept; then
    /// nothing is removed, and the node does not start.
    #[test]
    fn damage_is_put_aside() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        for number in 1..=ASIDE_MAX {
            assert_eq!(damage_of(dir), None);
            let path = path_of(dir, NODE);
            std::fs::write(path.join("part-0").join("rescue"), number.to_string()).unwrap();
            mark_damaged(&path, "redo-0000000001 is damaged").unwrap();
            assert_eq!(damage_of(dir).as_deref(), Some("redo-0000000001 is damaged"));
            let aside = FileStore::put_aside(dir, NODE, "redo-0000000001 is damaged").unwrap();
            assert_eq!(aside, dir.join(format!("node3.rows.damaged-{number}")));
            let rescued = std::fs::read_to_string(aside.join("part-0").join("rescue")).unwrap();
            assert_eq!(rescued, number.to_string());
        }
        assert_eq!(damage_of(dir), None);
        let refused = FileStore::put_aside(dir, NODE, "it is damaged again").unwrap_err();
        let text = refused.to_string();
        assert!(text.contains("it is damaged again; and 3 directories with damage"), "{text}");
        assert_eq!(damage_of(dir), None, "nothing was moved");
    }

    /// A directory that is a device of its own: directories of its file system stay, and an unfinished move is ended.
    #[test]
    fn damage_is_put_inside() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(damage_of(dir.path()), None);
        let path = path_of(dir.path(), NODE);
        let (own, inside) = (path.join("lost+found"), path.join("damaged-1"));
        std::fs::create_dir(&own).unwrap();
        // A process has come so far: one of its files is moved, and the mark is not.
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(inside.join("rescue"), "a file").unwrap();
        put_inside(&path, &inside, "it is damaged").unwrap();
        assert!(inside.join("part-0").is_dir() && inside.join("rescue").is_file());
        assert_eq!(std::fs::read_to_string(inside.join(DAMAGED)).unwrap(), "it is damaged");
        assert!(own.is_dir());
        assert_eq!(damage_of(dir.path()), None, "it begins with an empty disk");
        std::fs::write(own.join("of the system"), "stays").unwrap();
        FileStore::remove(dir.path(), NODE).unwrap();
        assert!(own.join("of the system").is_file());
        assert!(!path.join("part-0").exists() && !inside.exists());
    }
}
