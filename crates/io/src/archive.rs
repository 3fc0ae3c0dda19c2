//! The archive of a node's log: a copy of everything that its disk held, in another place, so that
//! any moment behind a backup can be restored.
//!
//! ```text
//!   DIR/node-{node}.part-{part}.{store}.{first place}-{number}.archive    blocks, as `protocol::backup` has them, in files of `disk::copy`
//! ```
//! A thread for each part reads newly durable records a few times a second, and writes them behind
//! the earlier ones. From time to time it marks the time of a global checkpoint. Records that are
//! not on the archive's disk yet stay on the node's own: a full archive disk fills that, too, and
//! the log reports both. The same holds when an operator removes the archive's file or directory.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Weak, mpsc};
use std::time::Duration;

use disk::copy::{CopyReader, CopyWriter};
use disk::{DiskError, Follower};
use protocol::backup::{ArchiveContents, ArchiveMark, CopyBlock, History};
use protocol::control::ControlState;
use types::wire::{Bytes, Wire};
use types::{ClusterId, Lineage, NodeId, SchemaVersion, Timestamp, WorkerId};

use crate::backup::ENTRIES_BYTES;
use crate::files::{make_dir, sync_directory_of, write_durably};
use crate::server::Shared;
use crate::{clock, random};

const FILE_BYTES: u64 = 256 << 20;
/// So much may be written between two syncs, where there is much to be copied.
const SETTLED_BYTES: u64 = 64 << 20;
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

    /// The place behind the last archived record; None: it has nothing of this part and store.
    pub fn place(&self, part: u16, store: u64) -> Option<u64> {
        let prefix = self.prefix(part, store);
        let files = std::fs::read_dir(&self.dir).ok()?.flatten().map(|file| file.path());
        let mut paths: Vec<PathBuf> =
            files.filter(|path| first_place(path, &prefix).is_some()).collect();
        paths.sort();
        // The last one may not have got further than its name.
        paths.iter().rev().find_map(|path| place_behind(path))
    }

    fn has_any(&self, part: u16, store: u64) -> bool {
        let prefix = self.prefix(part, store);
        let mut files = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        files.any(|file| first_place(&file.path(), &prefix).is_some())
    }

    /// The place, if the archive's disk says so within that time: it may hang.
    pub fn place_within(&self, part: u16, store: u64, limit: Duration) -> Option<Option<u64>> {
        let (archive, (told, heard)) = (self.clone(), mpsc::channel());
        let ask = move || {
            // Who asked may not wait any more.
            let _ = told.send(archive.place(part, store));
        };
        std::thread::Builder::new().name("archive place".into()).spawn(ask).ok()?;
        heard.recv_timeout(limit).ok()
    }
}

/// Its content becomes durable first: a killed process leaves unsynced writes to the system, and
/// the log before this place is not kept on the node's own disk any more.
fn place_behind(path: &Path) -> Option<u64> {
    File::open(path).and_then(|file| file.sync_all()).ok()?;
    sync_directory_of(path).ok()?;
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

/// With the log of a part: what its node knows of its archive. It goes with the log.
pub struct ArchiveNote {
    path: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noted {
    /// There is an archive: a start that finds none there knows that it is gone.
    Here,
    /// The same, and nothing of the log behind this place is in it.
    NotSince(u64),
    /// What is there is of a later time than the log.
    Ahead,
}

impl ArchiveNote {
    pub fn new(path: PathBuf) -> ArchiveNote {
        ArchiveNote { path }
    }
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// What it says of that directory.
    fn read(&self, dir: &Path) -> Option<Noted> {
        let text = std::fs::read(&self.path).ok()?;
        let what = text.strip_suffix(dir.as_os_str().as_bytes())?.strip_suffix(b" in ")?;
        match std::str::from_utf8(what).ok()? {
            "archived" => Some(Noted::Here),
            "put back, and not archived" => Some(Noted::Ahead),
            what => {
                what.strip_prefix("not archived since place ")?.parse().ok().map(Noted::NotSince)
            }
        }
    }
    fn write(&self, noted: Noted, dir: &Path) -> Result<(), DiskError> {
        if self.read(dir) == Some(noted) {
            return Ok(());
        }
        let what = match noted {
            Noted::Here => "archived".to_string(),
            Noted::Ahead => "put back, and not archived".to_string(),
            Noted::NotSince(place) => format!("not archived since place {place}"),
        };
        let text = [what.as_bytes(), b" in ", dir.as_os_str().as_bytes()].concat();
        write_durably(&self.path, &text).map_err(|error| failed(&self.path, &error.to_string()))
    }
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
        let rows = shared.store.as_ref().expect("a node without rows archives nothing");
        let disk = &rows.disk;
        let (store, begin) = (disk.store(part), disk.log_begin(part));
        let note = rows.archive_note(part);
        let noted = note.read(&archive.dir);
        // Until this process has archived something. What a process before has not archived either counts, too: the log has grown since.
        let log_ends = kept.is_none().then(|| match noted {
            Some(Noted::NotSince(place)) => place.min(rows.began_at(part)),
            _ => rows.began_at(part),
        });
        if let (Some(place), Some(Noted::Here | Noted::NotSince(_))) = (log_ends, noted) {
            note.write(Noted::NotSince(place), &archive.dir)?;
        }
        let is_known_ahead = noted == Some(Noted::Ahead) && archive.has_any(part, store);
        let place = if is_known_ahead { None } else { archive.place(part, store) };
        if place.is_none() && matches!(noted, Some(Noted::Here | Noted::NotSince(_))) {
            let what = format!(
                "the archive of part {part} has gone: its disk is not mounted, or somebody has taken it away. Bring it back; or remove \
                 {}, and the archive begins anew with what the node has kept",
                note.path().display()
            );
            return Err(failed(&archive.dir, &what));
        }
        // It would be taken for the continuation of this log, also when that has grown.
        if is_known_ahead || place.zip(log_ends).is_some_and(|(place, ends)| ends < place) {
            note.write(Noted::Ahead, &archive.dir)?;
            let what = format!(
                "it has more of part {part} than the node's own disk, which has been put back to an earlier state, then: take the files \
                 {}* away, and make a backup",
                archive.prefix(part, store)
            );
            return Err(failed(&archive.dir, &what));
        }
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
        let created = OpenFile::create(archive, part, store, from);
        match created.and_then(|file| note.write(Noted::Here, &archive.dir).map(|()| file)) {
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
            // In this order: a checkpoint done by then was done before that time.
            let at = shared.node.checkpointed();
            let unix_micros = clock::unix_micros();
            // The tables of that moment are unknown while they change: the next time.
            let is_settled = version_of(&shared.node.state()) == version_of(&state);
            // One that was excluded and has not heard of it has no lease.
            let is_member = state.is_active(shared.node.node, shared.node.incarnation)
                && shared.node.has_lease(clock::now());
            let store = shared.store.as_ref().expect("its log is copied");
            let up_to = store.disk.durable(self.part);
            drop(shared);
            self.copy(up_to)?;
            let is_due = self.has_copied
                || self.marked.at < at
                || self.marked.when + MARK_INTERVAL_US <= clock::now()
                || self.marked.history != Some(version_of(&state));
            if is_member && is_settled && at > Timestamp::ZERO && is_due {
                self.mark(at, unix_micros, &state)?;
                self.has_copied = false;
            }
            self.settle()?;
            std::thread::sleep(POLL);
        }
    }

    /// What was written becomes durable, and the node's disk need not keep it any more.
    fn settle(&mut self) -> Result<(), DiskError> {
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
        Ok(())
    }

    /// The log up to there: it grows meanwhile, and may do so as fast as it is copied.
    fn copy(&mut self, up_to: u64) -> Result<(), DiskError> {
        while self.follower.place() < up_to {
            let mut entries = Vec::new();
            let more = self.follower.read(ENTRIES_BYTES as u64, &mut |place, bytes| {
                entries.push((place, Bytes(bytes.to_vec())));
                Ok(())
            })?;
            if !entries.is_empty() {
                self.has_copied = true;
                self.add(&CopyBlock::Entries(entries))?;
            }
            if self.durable + SETTLED_BYTES <= self.follower.place() {
                self.settle()?;
            }
            if !more {
                break;
            }
        }
        Ok(())
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
            let synced = sync_directory_of(&path).and_then(|()| identity(&path));
            let identity = synced.map_err(|error| failed(&path, &error.to_string()))?;
            Ok(OpenFile { path: path.clone(), identity, writer })
        };
        begun().inspect_err(|_| {
            let _ = std::fs::remove_file(&path);
        })
    }

    /// Whether the written records are where a restore looks for them.
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

    /// A disk that hangs is not waited for.
    #[test]
    fn the_place_may_not_be_said() {
        let dir = tempfile::tempdir().unwrap();
        let archive = archive(dir.path());
        let name = format!("{}{:020}-0000.archive", archive.prefix(0, 5), 0);
        let status = std::process::Command::new("mkfifo").arg(dir.path().join(name)).status();
        assert!(status.unwrap().success());
        assert_eq!(archive.place_within(0, 5, Duration::from_millis(50)), None);
        assert_eq!(archive.place_within(1, 5, Duration::from_secs(60)), Some(None));
    }

    #[test]
    fn a_note_says_what_it_was_told_of_that_directory() {
        let dir = tempfile::tempdir().unwrap();
        let note = ArchiveNote::new(dir.path().join("archive-0"));
        let (here, there) = (Path::new("/archive"), Path::new("/other/archive"));
        assert_eq!(note.read(here), None);
        for noted in [Noted::Here, Noted::NotSince(81), Noted::NotSince(u64::MAX), Noted::Ahead] {
            note.write(noted, here).unwrap();
            assert_eq!((note.read(here), note.read(there)), (Some(noted), None));
        }
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
