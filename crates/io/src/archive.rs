//! The archive of a node's log: everything that its disk held, kept somewhere else, so that any moment behind a backup can be restored.
//!
//! ```text
//!   DIR/node-{node}.part-{part}.{store}.{first place}-{number}.archive    blocks, as `protocol::backup` has them, in files of `disk::copy`
//! ```
//! A thread for each part reads what has become durable a few times a second, and writes it behind what it wrote before. Now and then it
//! marks which global checkpoint was done at what time. What it has not got on the archive's disk yet is kept on the node's own: who
//! fills the archive's disk fills that, too, and both are said. So it is when somebody takes the archive's file or directory away.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::Duration;

use disk::copy::{CopyReader, CopyWriter};
use disk::{DiskError, Follower};
use protocol::backup::{ArchiveContents, ArchiveMark, CopyBlock, History};
use protocol::control::ControlState;
use types::wire::{Bytes, Wire};
use types::{ClusterId, Lineage, NodeId, SchemaVersion, Timestamp, WorkerId};

use crate::backup::ENTRIES_BYTES;
use crate::files::make_dir;
use crate::server::Shared;
use crate::{clock, random};

const FILE_BYTES: u64 = 256 << 20;
const POLL: Duration = Duration::from_millis(200);
/// While nothing is committed, a mark says so this often. Otherwise one is behind whatever was copied: so it is known from when on
/// something newer was there, though no checkpoint of it may be done for long.
pub const MARK_INTERVAL_US: u64 = 5_000_000;
/// After a failure.
const RETRY: Duration = Duration::from_secs(5);

/// The archive of one node.
#[derive(Clone)]
pub struct Archive {
    pub dir: PathBuf,
    pub cluster: ClusterId,
    pub node: NodeId,
}

/// How the names of a part's files begin; the first place, in twenty digits, comes next.
pub fn prefix(node: NodeId, part: u16, store: u64) -> String {
    format!("node-{node}.part-{part}.{store:016x}.")
}

/// The first place of a file of that part, by its name; None: it is none.
pub fn first_place(path: &Path, prefix: &str) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix(prefix)?.split('-').next()?.parse().ok()
}

impl Archive {
    fn prefix(&self, part: u16, store: u64) -> String {
        prefix(self.node, part, store)
    }

    /// Where the log goes on that is not in it yet; None: it has nothing of this part and store.
    pub fn place(&self, part: u16, store: u64) -> Option<u64> {
        let prefix = self.prefix(part, store);
        let files = std::fs::read_dir(&self.dir).ok()?.flatten().map(|file| file.path());
        let mut paths: Vec<PathBuf> =
            files.filter(|path| first_place(path, &prefix).is_some()).collect();
        paths.sort();
        // The last one may not have got further than its name.
        paths.iter().rev().find_map(|path| place_behind(path))
    }
}

/// What is there becomes durable first: a process that was killed leaves to the system what it had not synced, and the log behind this
/// place is not kept on the node's own disk any more.
fn place_behind(path: &Path) -> Option<u64> {
    File::open(path).and_then(|file| file.sync_all()).ok()?;
    sync_dir(path).ok()?;
    let mut reader = CopyReader::open(path, None).ok()?;
    let mut place = None;
    while let Ok(Ok(bytes)) = reader.next_block() {
        match CopyBlock::from_bytes(&bytes).ok()? {
            CopyBlock::Archive(contents) => place = Some(contents.from),
            CopyBlock::Entries(entries) => {
                place = entries.last().map(|(place, _)| *place).or(place);
            }
            _ => {}
        }
    }
    place
}

/// Copies the log of a part until the node ends.
pub fn run(archive: &Archive, part: u16, shared: &Weak<Shared>) {
    // Between two tries, too, the node's disk keeps what the archive lacks.
    let mut kept: Option<Kept> = None;
    loop {
        let Some(strong) = shared.upgrade() else { return };
        let begun = Writing::begin(archive, part, &strong, &mut kept);
        drop(strong);
        let outcome = begun.and_then(|mut writing| {
            drop(kept.take());
            let outcome = writing.run(shared);
            kept = Some(Kept { _follower: writing.follower, durable: writing.durable });
            outcome
        });
        let Err(error) = outcome else { return };
        let Some(shared) = shared.upgrade() else { return };
        shared.log.warn(&format!(
            "the archive does not go on: {error}; the node keeps the log of part {part} on its own disk meanwhile, and tries again"
        ));
        drop(shared);
        std::thread::sleep(RETRY);
    }
}

/// What the try before leaves.
struct Kept {
    _follower: Follower,
    durable: u64,
}

struct Writing<'a> {
    archive: &'a Archive,
    part: u16,
    store: u64,
    follower: Follower,
    /// The archive's disk has the log up to here.
    durable: u64,
    file: OpenFile,
    /// What the last mark in this file said.
    marked: Marked,
    /// Since the last mark something of the log was.
    has_copied: bool,
    /// What was written and is not durable.
    is_behind: bool,
}

#[derive(Default)]
struct Marked {
    at: Timestamp,
    when: u64,
    history: Option<(Lineage, usize, SchemaVersion)>,
}

impl Writing<'_> {
    fn begin<'a>(
        archive: &'a Archive,
        part: u16,
        shared: &Shared,
        kept: &mut Option<Kept>,
    ) -> Result<Writing<'a>, DiskError> {
        let disk = &shared.store.as_ref().expect("a node without rows archives nothing").disk;
        let (store, begin) = (disk.store(part), disk.log_begin(part));
        let place = archive.place(part, store);
        if place.unwrap_or(0) < begin {
            shared.log.warn(&format!(
                "the archive of part {part} lacks something: the log before place {begin} has gone; only moments behind a backup that is made \
                 from now on can be restored"
            ));
        }
        // After a sync that failed the file may say what the disk never gets, and the next sync be content.
        let durable = kept.as_ref().map_or(u64::MAX, |kept| kept.durable);
        let from = place.unwrap_or(0).min(durable).max(begin);
        let follower = disk.follow(part, from);
        match OpenFile::create(archive, part, store, from) {
            Ok(file) => {
                let (durable, marked) = (from, Marked::default());
                Ok(Writing {
                    archive,
                    part,
                    store,
                    follower,
                    durable,
                    file,
                    marked,
                    has_copied: false,
                    is_behind: true,
                })
            }
            Err(error) => {
                *kept = Some(Kept { _follower: follower, durable: from });
                Err(error)
            }
        }
    }

    fn run(&mut self, shared: &Weak<Shared>) -> Result<(), DiskError> {
        loop {
            let Some(shared) = shared.upgrade() else { return Ok(()) };
            let state = shared.node.state();
            // In this order: what was done by then was done before that time.
            let at = shared.node.checkpointed();
            let unix_micros = clock::unix_micros();
            // What the tables were then, nobody can tell while that changes: the next time.
            let is_settled = version_of(&shared.node.state()) == version_of(&state);
            // One that was excluded and has not heard of it has no lease.
            let is_member = state.is_active(shared.node.node, shared.node.incarnation)
                && shared.node.has_lease(clock::now());
            drop(shared);
            self.copy()?;
            let is_due = self.has_copied
                || self.marked.at < at
                || self.marked.when + MARK_INTERVAL_US <= clock::now()
                || self.marked.history != Some(version_of(&state));
            if is_member && is_settled && at > Timestamp::ZERO && is_due {
                self.mark(at, unix_micros, &state)?;
                self.has_copied = false;
            }
            if self.is_behind {
                self.file.writer.sync()?;
                self.file.check_there()?;
                self.is_behind = false;
                self.durable = self.follower.place();
                self.follower.forget();
            }
            if self.file.writer.bytes() > FILE_BYTES {
                let from = self.follower.place();
                self.file = OpenFile::create(self.archive, self.part, self.store, from)?;
                self.marked.history = None;
            }
            std::thread::sleep(POLL);
        }
    }

    /// Everything that is durable by now.
    fn copy(&mut self) -> Result<(), DiskError> {
        loop {
            let mut entries = Vec::new();
            let more = self.follower.read(ENTRIES_BYTES as u64, &mut |place, bytes| {
                entries.push((place, Bytes(bytes.to_vec())));
                Ok(())
            })?;
            if !entries.is_empty() {
                self.has_copied = true;
                self.add(&CopyBlock::Entries(entries))?;
            }
            if !more {
                return Ok(());
            }
        }
    }

    fn mark(
        &mut self,
        at: Timestamp,
        unix_micros: i64,
        state: &ControlState,
    ) -> Result<(), DiskError> {
        let version = version_of(state);
        let is_new = self.marked.history != Some(version);
        let history = is_new.then(|| History {
            lineage: state.lineage,
            restarts: state.restarts.clone(),
            catalogue: state.catalogue.clone(),
        });
        self.add(&CopyBlock::Mark(ArchiveMark { unix_micros, at, history }))?;
        self.marked = Marked { at, when: clock::now(), history: Some(version) };
        Ok(())
    }

    fn add(&mut self, block: &CopyBlock) -> Result<(), DiskError> {
        self.is_behind = true;
        self.file.writer.add(&block.to_bytes())
    }
}

fn version_of(state: &ControlState) -> (Lineage, usize, SchemaVersion) {
    (state.lineage, state.restarts.len(), state.catalogue.version)
}

/// The file that is being written.
struct OpenFile {
    path: PathBuf,
    /// Device and number: which file was made there.
    identity: (u64, u64),
    writer: CopyWriter,
}

impl OpenFile {
    /// When this fails it leaves nothing.
    fn create(archive: &Archive, part: u16, store: u64, from: u64) -> Result<OpenFile, DiskError> {
        let dir = &archive.dir;
        make_dir(dir).map_err(|error| failed(dir, &error.to_string()))?;
        let prefix = archive.prefix(part, store);
        let name = |number: u32| format!("{prefix}{from:020}-{number:04}.archive");
        // It may have been begun here before, and have got no further.
        let mut paths = (0..).map(|number| dir.join(name(number)));
        let path = paths.find(|path| !path.exists()).expect("there are enough numbers");
        let contents = ArchiveContents {
            cluster: archive.cluster,
            node: archive.node,
            part: WorkerId(part),
            store,
            from,
        };
        let begun = || {
            let mut writer = CopyWriter::create_open(&path, random::bytes())?;
            writer.add(&CopyBlock::Archive(contents).to_bytes())?;
            writer.sync()?;
            let synced = sync_dir(&path).and_then(|()| identity(&path));
            let identity = synced.map_err(|error| failed(&path, &error.to_string()))?;
            Ok(OpenFile { path: path.clone(), identity, writer })
        };
        begun().inspect_err(|_| {
            let _ = std::fs::remove_file(&path);
        })
    }

    /// Is what was written where somebody who restores it looks for it?
    fn check_there(&self) -> Result<(), DiskError> {
        match identity(&self.path) {
            Ok(found) if found == self.identity => Ok(()),
            Ok(_) => Err(failed(&self.path, "another file has taken its place")),
            Err(error) => Err(failed(&self.path, &error.to_string())),
        }
    }
}

fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    let found = std::fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

fn sync_dir(path: &Path) -> std::io::Result<()> {
    File::open(path.parent().expect("a file is in a directory"))?.sync_all()
}

fn failed(path: &Path, reason: &str) -> DiskError {
    DiskError::Io { file: path.display().to_string(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(dir: &Path) -> Archive {
        Archive { dir: dir.to_path_buf(), cluster: ClusterId(7), node: NodeId(2) }
    }

    /// The place is behind what the last file has that says one, whatever else is there.
    #[test]
    fn the_place_is_behind_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let archive = archive(dir.path());
        assert_eq!(archive.place(0, 5), None);
        let mut first = OpenFile::create(&archive, 0, 5, 40).unwrap();
        assert_eq!(archive.place(0, 5), Some(40));
        let entries = vec![(50, Bytes(vec![1])), (60, Bytes(vec![2]))];
        first.writer.add(&CopyBlock::Entries(entries).to_bytes()).unwrap();
        assert_eq!(archive.place(0, 5), Some(60));
        assert_eq!((archive.place(1, 5), archive.place(0, 6)), (None, None));
        let prefix = archive.prefix(0, 5);
        for name in [format!("{prefix}{:020}-0000.archive", 60), format!("{prefix}note.archive")] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(archive.place(0, 5), Some(60));
        assert_eq!(first_place(&first.path, &prefix), Some(40));
    }

    /// A file that was taken away, or replaced, does not take anything any more.
    #[test]
    fn a_file_that_was_taken_away_is_missed() {
        let dir = tempfile::tempdir().unwrap();
        let open = OpenFile::create(&archive(dir.path()), 0, 5, 0).unwrap();
        assert!(open.check_there().is_ok());
        std::fs::rename(&open.path, dir.path().join("elsewhere")).unwrap();
        assert!(open.check_there().is_err());
        std::fs::write(&open.path, "").unwrap();
        assert!(open.check_there().unwrap_err().to_string().contains("another file"));
    }
}
