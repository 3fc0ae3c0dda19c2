//! Temporary files of statements ([`client::TempFiles`]) in a directory of the node.
//!
//! A file has no name: it is removed as soon as it is made, and the system frees it when the last reference to it is
//! dropped, however its statement or the process ends. Only a process that is killed between the two steps leaves a name;
//! the next start removes the whole directory.
//!
//! The log and the checkpoints of the node are on the same device as a rule: files do not take the last of its room.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use client::{TempFile, TempFileError, TempFiles};
use types::NodeId;

use crate::computers::Pool;
use crate::limits::{TEMP_FILE_THREADS_MAX, TEMP_ROOM_MIN};
use crate::server::Shared;

/// The temporary files of a node.
pub struct TempDirectory {
    path: PathBuf,
    pool: Arc<Pool>,
    /// Bytes of all files.
    bytes: Arc<AtomicU64>,
    /// Of files that were made, for their names.
    last: AtomicU64,
    room_min: u64,
}

/// The files as one worker uses them.
pub struct WorkerTempFiles {
    pub shared: Arc<Shared>,
    pub worker: usize,
}

struct DiskFile {
    /// `None` while it is being dropped.
    file: Option<File>,
    /// Where the next bytes go.
    end: Mutex<u64>,
    directory: PathBuf,
    pool: Arc<Pool>,
    bytes: Arc<AtomicU64>,
    space_max: u64,
    room_min: u64,
}

impl TempDirectory {
    /// Removes what an earlier process left. The caller holds the node's lock.
    pub fn open(dir: &Path, node: NodeId) -> Result<TempDirectory> {
        let path = dir.join(format!("node{node}-tmp"));
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(TempDirectory {
            path,
            pool: Pool::new("temp-files", TEMP_FILE_THREADS_MAX),
            bytes: Arc::default(),
            last: AtomicU64::new(0),
            room_min: TEMP_ROOM_MIN,
        })
    }

    /// The threads that wait for the device.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    fn make(&self) -> Result<File> {
        if !self.path.exists() {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
        }
        let path = self.path.join(self.last.fetch_add(1, Ordering::Relaxed).to_string());
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(&path)?;
        Ok(file)
    }

    fn create(&self, space_max: u64) -> std::result::Result<Arc<dyn TempFile>, TempFileError> {
        let file = self.make().map_err(|error| write_error(&self.path, &error))?;
        Ok(Arc::new(DiskFile {
            file: Some(file),
            end: Mutex::new(0),
            directory: self.path.clone(),
            pool: Arc::clone(&self.pool),
            bytes: Arc::clone(&self.bytes),
            space_max,
            room_min: self.room_min,
        }))
    }
}

fn write_error(path: &Path, error: &Error) -> TempFileError {
    let file = path.display().to_string();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => TempFileError::DeviceFull { file },
        _ => TempFileError::WriteFailed { file, reason: error.to_string() },
    }
}

impl TempFiles for WorkerTempFiles {
    fn create(&self, space_max: u64) -> std::result::Result<Arc<dyn TempFile>, TempFileError> {
        self.shared.temp_files.create(space_max)
    }
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        let (shared, worker) = (Arc::clone(&self.shared), self.worker);
        let pool = Arc::clone(&shared.temp_files.pool);
        pool.run(Box::new(move || {
            job();
            shared.inboxes[worker].notify();
        }));
    }
}

impl DiskFile {
    fn file(&self) -> &File {
        self.file.as_ref().expect("it is not being dropped")
    }

    fn append_at(&self, end: u64, bytes: &[u8]) -> std::result::Result<(), TempFileError> {
        let failed = |error: Error| write_error(&self.directory, &error);
        let device = rustix::fs::fstatvfs(self.file()).map_err(|error| failed(error.into()))?;
        let room = device.f_bavail.saturating_mul(device.f_frsize);
        if room < self.room_min.saturating_add(bytes.len() as u64) {
            return Err(TempFileError::DeviceFull { file: self.directory.display().to_string() });
        }
        self.file().write_all_at(bytes, end).map_err(failed)
    }
}

impl TempFile for DiskFile {
    fn append(&self, bytes: &[u8]) -> std::result::Result<u64, TempFileError> {
        let count = bytes.len() as u64;
        let before = self.bytes.fetch_add(count, Ordering::Relaxed);
        let mut end = self.end.lock().expect("nobody panics while holding this lock");
        let appended = match before.saturating_add(count) <= self.space_max {
            true => self.append_at(*end, bytes),
            false => Err(TempFileError::LimitReached { space_max: self.space_max }),
        };
        match appended {
            Ok(()) => {
                let offset = *end;
                *end += count;
                Ok(offset)
            }
            Err(error) => {
                self.bytes.fetch_sub(count, Ordering::Relaxed);
                Err(error)
            }
        }
    }
    fn read(&self, offset: u64, length: usize) -> std::result::Result<Vec<u8>, TempFileError> {
        let mut bytes = vec![0; length];
        match self.file().read_exact_at(&mut bytes, offset) {
            Ok(()) => Ok(bytes),
            Err(error) => Err(TempFileError::ReadFailed {
                file: self.directory.display().to_string(),
                reason: error.to_string(),
            }),
        }
    }
}

/// To free the blocks of a large file takes a while: a thread of the pool does that.
impl Drop for DiskFile {
    fn drop(&mut self) {
        let end = *self.end.get_mut().expect("nobody panics while holding this lock");
        self.bytes.fetch_sub(end, Ordering::Relaxed);
        let file = self.file.take();
        Arc::clone(&self.pool).run(Box::new(move || drop(file)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(dir: &Path) -> TempDirectory {
        TempDirectory { room_min: 0, ..TempDirectory::open(dir, NodeId(2)).unwrap() }
    }

    /// What was appended is read back; a file has no name while it is used, and its bytes are free when it is gone.
    #[test]
    fn files_are_without_names() {
        let dir = tempfile::tempdir().unwrap();
        let files = open(dir.path());
        let file = files.create(u64::MAX).unwrap();
        assert_eq!(file.append(b"abc"), Ok(0));
        assert_eq!(file.append(&[7; 100_000]), Ok(3));
        assert_eq!(file.read(1, 4), Ok(vec![b'b', b'c', 7, 7]));
        assert!(matches!(file.read(100_000, 4), Err(TempFileError::ReadFailed { .. })));
        assert_eq!(fs::read_dir(dir.path().join("node2-tmp")).unwrap().count(), 0);
        assert_eq!(files.bytes.load(Ordering::Relaxed), 100_003);
        drop(file);
        assert_eq!(files.bytes.load(Ordering::Relaxed), 0);
    }

    /// The limit is one of all files together; a refused append takes nothing of it.
    #[test]
    fn files_share_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        let files = open(dir.path());
        let (one, other) = (files.create(10).unwrap(), files.create(10).unwrap());
        assert_eq!(one.append(&[1; 6]), Ok(0));
        assert_eq!(other.append(&[1; 5]), Err(TempFileError::LimitReached { space_max: 10 }));
        assert_eq!(other.append(&[1; 4]), Ok(0));
        drop(one);
        assert_eq!(other.append(&[1; 6]), Ok(4));
    }

    /// The last room of the device is for the rows.
    #[test]
    fn the_last_room_of_a_device_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let files = TempDirectory { room_min: u64::MAX, ..open(dir.path()) };
        let file = files.create(u64::MAX).unwrap();
        assert!(matches!(file.append(b"a"), Err(TempFileError::DeviceFull { .. })));
    }

    /// What a killed process left is removed at the start.
    #[test]
    fn a_start_removes_old_files() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("node2-tmp");
        fs::create_dir(&old).unwrap();
        fs::write(old.join("7"), "old").unwrap();
        let files = open(dir.path());
        assert!(!old.exists());
        assert!(files.create(1).is_ok());
    }
}
