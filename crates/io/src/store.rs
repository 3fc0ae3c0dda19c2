//! What a data node keeps of its rows on disk, as its kernel sees it ([`disk`] does the work).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::{Disk, Options};
use kernel::{CheckpointFound, Store, Visit, VisitBlock};
use protocol::message::Room;
use types::{NodeId, WorkerId};

use crate::archive::Archive;
use crate::options::StartError;
use crate::random;

/// Of a file of the log: some seconds of a busy worker.
const FILE_BYTES: u64 = 64 << 20;
const SPARES_MAX: usize = 4;
/// What the checkpoints of a worker may write beside the load.
const CHECKPOINT_BYTES_PER_SECOND: u64 = 64 << 20;

pub struct FileStore(pub Disk);

/// The directory of a node's rows.
pub fn path_of(dir: &Path, node: NodeId) -> PathBuf {
    dir.join(format!("node{node}.rows"))
}

impl FileStore {
    /// Removes what a node has on disk, but not the directory, which may be a device of its own. The caller holds the node's lock.
    pub fn remove(dir: &Path, node: NodeId) -> Result<(), StartError> {
        let path = path_of(dir, node);
        let remove_all = || -> std::io::Result<()> {
            for entry in std::fs::read_dir(&path)? {
                let entry = entry?;
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

    /// Opens what is there, or makes it. The caller holds the node's lock.
    pub fn open(
        dir: &Path,
        node: NodeId,
        workers: u16,
        archive: Option<&Archive>,
    ) -> Result<FileStore, StartError> {
        let path = path_of(dir, node);
        let archive = archive.cloned();
        let options = Options {
            dir: path.clone(),
            parts: workers,
            file_bytes: FILE_BYTES,
            spares_max: SPARES_MAX,
            checkpoint_bytes_per_second: CHECKPOINT_BYTES_PER_SECOND,
            seed: random::nonzero_u64(),
            kept_from: Box::new(move |part, store| archive.as_ref()?.place(part, store)),
        };
        let opened = Disk::open(&options);
        opened
            .map(FileStore)
            .map_err(|error| StartError::Directory { path, reason: error.to_string() })
    }

    /// Starts the threads that write.
    pub fn start(
        &self,
        on_progress: impl Fn(WorkerId) + Send + Sync + 'static,
        on_failure: impl Fn(String) + Send + Sync + 'static,
    ) -> Result<(), StartError> {
        let told = move |part: u16| on_progress(WorkerId(part));
        let started = self.0.start(Arc::new(told), Arc::new(on_failure));
        started.map_err(|error| StartError::System {
            action: "start the threads that write the rows",
            reason: error.to_string(),
        })
    }
}

impl Store for FileStore {
    fn append(&self, part: WorkerId, entry: &[u8]) -> u64 {
        self.0.append(part.0, entry)
    }
    fn flush(&self, part: WorkerId) {
        self.0.flush(part.0);
    }
    fn durable(&self, part: WorkerId) -> u64 {
        self.0.durable(part.0)
    }
    fn end(&self, part: WorkerId) -> u64 {
        self.0.end(part.0)
    }
    fn room(&self) -> Room {
        match self.0.room() {
            disk::Room::Ample => Room::Ample,
            disk::Room::Reserve => Room::Reserve,
            disk::Room::Nothing => Room::Nothing,
        }
    }
    fn begin_checkpoint(&self, part: WorkerId) {
        self.0.begin_checkpoint(part.0);
    }
    fn has_room(&self, part: WorkerId) -> bool {
        self.0.has_room(part.0)
    }
    fn add_block(&self, part: WorkerId, block: Vec<u8>) {
        self.0.add_block(part.0, block);
    }
    fn end_checkpoint(&self, part: WorkerId, log_from: u64, contents: Vec<u8>) {
        self.0.end_checkpoint(part.0, log_from, contents);
    }
    fn is_writing_checkpoint(&self, part: WorkerId) -> bool {
        self.0.is_writing_checkpoint(part.0)
    }
    fn checkpoint_written(&self, part: WorkerId) -> Option<u64> {
        self.0.checkpoint_written(part.0)
    }
    fn accept_checkpoint(&self, part: WorkerId, number: u64) {
        self.0.accept_checkpoint(part.0, number);
    }
    fn checkpoints(&self, part: WorkerId) -> Vec<CheckpointFound> {
        let found = self.0.checkpoints(part.0).into_iter();
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
        self.0.read_checkpoint(part.0, number, visit).map_err(|error| error.to_string())
    }
    fn begin(&self, part: WorkerId) -> u64 {
        self.0.begin(part.0)
    }
    fn parts(&self) -> u16 {
        self.0.parts()
    }
    fn read_log(&self, part: WorkerId, from: u64, visit: &mut Visit<'_>) -> Result<(), String> {
        self.0.read_log(part.0, from, visit).map_err(|error| error.to_string())
    }
}
