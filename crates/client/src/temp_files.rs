//! Temporary files: the door through which a statement puts rows aside that do not fit into its memory.
//!
//! The client does no file work itself: the driver of the client has [`TempFiles`], whose jobs may wait for a device, and
//! the statement waits for a job as for a reply. Without a driver's own (in the simulator, and in tests) the files are
//! memory ([`MemoryFiles`]), and a job runs at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use types::contain::Panicked;

use crate::compute::on_thread;
use crate::driver::Client;

/// The temporary files of a node.
pub trait TempFiles: Send + Sync {
    /// A new, empty file; it is removed when the last reference to it is dropped. An append fails when all temporary files
    /// of the node would then have more than `space_max` bytes.
    fn create(&self, space_max: u64) -> Result<Arc<dyn TempFile>, TempFileError>;
    /// Runs `job`, which may wait for the device, and has the caller's worker look at its tasks when `job` has returned.
    fn run(&self, job: Box<dyn FnOnce() + Send>);
}

/// Both methods may wait for the device: they are for a job of [`TempFiles::run`].
pub trait TempFile: Send + Sync {
    /// Appends `bytes`. Returns their position in the file.
    fn append(&self, bytes: &[u8]) -> Result<u64, TempFileError>;
    /// Bytes that were appended before.
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, TempFileError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TempFileError {
    /// The temporary files of the node have as many bytes as they may have.
    LimitReached {
        space_max: u64,
    },
    /// The device has no room beyond its reserve for the rows.
    DeviceFull {
        file: String,
    },
    WriteFailed {
        file: String,
        reason: String,
    },
    ReadFailed {
        file: String,
        reason: String,
    },
}

impl Client {
    /// The temporary files of this node.
    pub fn temp_files(&self) -> Arc<dyn TempFiles> {
        Arc::clone(&self.shared.temp_files.borrow())
    }
    /// From now on, the temporary files are these.
    pub fn set_temp_files(&self, files: Arc<dyn TempFiles>) {
        *self.shared.temp_files.borrow_mut() = files;
    }
    /// Runs work on temporary files, which may wait for the device; a panic in it is contained.
    pub async fn on_temp_files<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let files = self.temp_files();
        on_thread(|job| files.run(job), work).await
    }
}

/// Temporary files in memory, which fail on request.
#[derive(Default)]
pub struct MemoryFiles {
    shared: Arc<MemoryShared>,
}

#[derive(Default)]
struct MemoryShared {
    /// Of all files.
    bytes: AtomicU64,
    files: AtomicUsize,
    created: AtomicU64,
    /// Operations until now, and what the operations with these numbers end with.
    operations: AtomicU64,
    faults: Mutex<BTreeMap<u64, TempFileError>>,
}

struct MemoryFile {
    shared: Arc<MemoryShared>,
    space_max: u64,
    content: Mutex<Vec<u8>>,
}

impl MemoryFiles {
    /// The operation (create, append or read) that comes as number `operation`, from 0 on, fails.
    pub fn fail(&self, operation: u64, error: TempFileError) {
        lock(&self.shared.faults).insert(operation, error);
    }
    /// No operation fails that has not failed yet.
    pub fn clear_faults(&self) {
        lock(&self.shared.faults).clear();
    }
    /// Operations until now.
    pub fn operation_count(&self) -> u64 {
        self.shared.operations.load(Ordering::Relaxed)
    }
    /// Files that are there.
    pub fn file_count(&self) -> usize {
        self.shared.files.load(Ordering::Relaxed)
    }
    /// Files that there were until now.
    pub fn created_count(&self) -> u64 {
        self.shared.created.load(Ordering::Relaxed)
    }
    /// Bytes of the files that are there.
    pub fn byte_count(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }
}

impl MemoryShared {
    fn begin_operation(&self) -> Result<(), TempFileError> {
        let number = self.operations.fetch_add(1, Ordering::Relaxed);
        lock(&self.faults).remove(&number).map_or(Ok(()), Err)
    }
}

impl TempFiles for MemoryFiles {
    fn create(&self, space_max: u64) -> Result<Arc<dyn TempFile>, TempFileError> {
        self.shared.begin_operation()?;
        self.shared.files.fetch_add(1, Ordering::Relaxed);
        self.shared.created.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&self.shared);
        Ok(Arc::new(MemoryFile { shared, space_max, content: Mutex::default() }))
    }
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        job();
    }
}

impl TempFile for MemoryFile {
    fn append(&self, bytes: &[u8]) -> Result<u64, TempFileError> {
        self.shared.begin_operation()?;
        let count = bytes.len() as u64;
        if self.space_max < self.shared.bytes.load(Ordering::Relaxed).saturating_add(count) {
            return Err(TempFileError::LimitReached { space_max: self.space_max });
        }
        self.shared.bytes.fetch_add(count, Ordering::Relaxed);
        let mut content = lock(&self.content);
        let offset = content.len() as u64;
        content.extend_from_slice(bytes);
        Ok(offset)
    }
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, TempFileError> {
        self.shared.begin_operation()?;
        let content = lock(&self.content);
        let start = usize::try_from(offset).ok();
        let end = start.and_then(|start| start.checked_add(length));
        let bytes = start.zip(end).and_then(|(start, end)| content.get(start..end));
        bytes.map(<[u8]>::to_vec).ok_or_else(|| TempFileError::ReadFailed {
            file: "memory".into(),
            reason: "the bytes were never written".into(),
        })
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        self.shared.bytes.fetch_sub(lock(&self.content).len() as u64, Ordering::Relaxed);
        self.shared.files.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding this lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_memory_keep_what_was_appended_and_fail_on_request() {
        let files = MemoryFiles::default();
        let file = files.create(10).unwrap();
        assert_eq!(file.append(b"abc"), Ok(0));
        assert_eq!(file.append(b"defg"), Ok(3));
        assert_eq!(file.read(2, 3), Ok(b"cde".to_vec()));
        assert!(matches!(file.read(5, 3), Err(TempFileError::ReadFailed { .. })));
        let other = files.create(10).unwrap();
        assert_eq!(other.append(b"hijk"), Err(TempFileError::LimitReached { space_max: 10 }));
        drop(file);
        assert_eq!(other.append(b"hijk"), Ok(0));
        assert_eq!((files.file_count(), files.created_count(), files.byte_count()), (1, 2, 4));
        let full = TempFileError::DeviceFull { file: "memory".into() };
        files.fail(files.operation_count() + 1, full.clone());
        assert_eq!(other.read(0, 4), Ok(b"hijk".to_vec()));
        assert_eq!(other.append(b"l"), Err(full));
        drop(other);
        assert_eq!((files.file_count(), files.byte_count()), (0, 0));
    }
}
