//! The archive of a node's log: everything that its disk held, kept somewhere else, so that any moment behind a backup can be restored.
//!
//! ```text
//!   DIR/node-{node}.part-{part}.{store}.{first place}-{number}.archive    blocks, as `protocol::backup` has them, in files of `disk::copy`
//! ```
//! A thread for each part reads what has become durable a few times a second, and writes it behind what it wrote before. Now and then it
//! marks which global checkpoint was done at what time. What it has not got on the archive's disk yet is kept on the node's own: who
//! fills the archive's disk fills that, too, and both are said.

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
use crate::server::Shared;
use crate::{clock, random};

const FILE_BYTES: u64 = 256 << 20;
const POLL: Duration = Duration::from_millis(200);
/// While nothing is committed, a mark says so this often.
const MARK_INTERVAL_US: u64 = 5_000_000;
/// After a failure.
const RETRY: Duration = Duration::from_secs(5);

/// The archive of one node.
#[derive(Clone)]
pub struct Archive {
    pub dir: PathBuf,
    pub cluster: ClusterId,
    pub node: NodeId,
}

impl Archive {
    fn prefix(&self, part: u16, store: u64) -> String {
        format!("node-{}.part-{part}.{store:016x}.", self.node)
    }

    /// Where the log goes on that is not in it yet; None: it has nothing of this part and store.
    pub fn place(&self, part: u16, store: u64) -> Option<u64> {
        let prefix = self.prefix(part, store);
        let files = std::fs::read_dir(&self.dir).ok()?.flatten();
        let own = files.filter(|file| file.file_name().to_string_lossy().starts_with(&prefix));
        let mut paths: Vec<PathBuf> = own.map(|file| file.path()).collect();
        paths.sort();
        // The last one may not have got further than its name.
        paths.iter().rev().find_map(|path| place_behind(path))
    }
}

fn place_behind(path: &Path) -> Option<u64> {
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
    loop {
        let Some(error) =
            Writing::begin(archive, part, shared).and_then(|writing| writing.run()).err()
        else {
            return;
        };
        let Some(shared) = shared.upgrade() else { return };
        shared.log.warn(&format!(
            "the archive does not go on: {error}; the node keeps the log of part {part} on its own disk meanwhile, and tries again"
        ));
        drop(shared);
        std::thread::sleep(RETRY);
    }
}

struct Writing<'a> {
    archive: &'a Archive,
    part: u16,
    store: u64,
    shared: &'a Weak<Shared>,
    follower: Follower,
    writer: CopyWriter,
    /// What the last mark in this file said.
    marked: Marked,
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
        shared: &'a Weak<Shared>,
    ) -> Result<Writing<'a>, DiskError> {
        let strong = shared.upgrade();
        let failed = |reason: &str| DiskError::Io {
            file: archive.dir.display().to_string(),
            reason: reason.to_string(),
        };
        let strong = strong.ok_or_else(|| failed("the node ends"))?;
        let disk = &strong.store.as_ref().ok_or_else(|| failed("the node has no rows"))?.disk;
        std::fs::create_dir_all(&archive.dir).map_err(|error| failed(&error.to_string()))?;
        let (store, begin) = (disk.store(part), disk.log_begin(part));
        let place = archive.place(part, store);
        if place.is_some_and(|place| place < begin) {
            strong.log.warn(&format!(
                "the archive of part {part} has a gap: the log before place {begin} has gone; only moments behind a backup that is made \
                 from now on can be restored"
            ));
        }
        let from = place.unwrap_or(0).max(begin);
        let follower = disk.follow(part, from);
        let writer = new_file(archive, part, store, from)?;
        Ok(Writing {
            archive,
            part,
            store,
            shared,
            follower,
            writer,
            marked: Marked::default(),
            is_behind: true,
        })
    }

    fn run(mut self) -> Result<(), DiskError> {
        loop {
            let Some(shared) = self.shared.upgrade() else { return Ok(()) };
            // In this order: what was done by then was done before that time.
            let at = shared.node.checkpointed();
            let unix_micros = clock::unix_micros();
            let state = shared.node.state();
            let is_member = state.is_active(shared.node.node, shared.node.incarnation);
            drop(shared);
            self.copy()?;
            let is_due = self.marked.at < at
                || self.marked.when + MARK_INTERVAL_US <= clock::now()
                || self.marked.history != Some(version_of(&state));
            if is_member && at > Timestamp::ZERO && is_due {
                self.mark(at, unix_micros, &state)?;
            }
            if self.is_behind {
                self.writer.sync()?;
                self.is_behind = false;
                self.follower.forget();
            }
            if self.writer.bytes() > FILE_BYTES {
                self.writer = new_file(self.archive, self.part, self.store, self.follower.place())?;
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
        self.writer.add(&block.to_bytes())
    }
}

fn version_of(state: &ControlState) -> (Lineage, usize, SchemaVersion) {
    (state.lineage, state.restarts.len(), state.catalogue.version)
}

fn new_file(archive: &Archive, part: u16, store: u64, from: u64) -> Result<CopyWriter, DiskError> {
    let prefix = archive.prefix(part, store);
    let name = |number: u32| format!("{prefix}{from:020}-{number:04}.archive");
    // It may have been begun here before, and have got no further.
    let mut paths = (0..).map(|number| archive.dir.join(name(number)));
    let path = paths.find(|path| !path.exists()).expect("there are enough numbers");
    let mut writer = CopyWriter::create_open(&path, random::bytes())?;
    let contents = ArchiveContents {
        cluster: archive.cluster,
        node: archive.node,
        part: WorkerId(part),
        store,
        from,
    };
    writer.add(&CopyBlock::Archive(contents).to_bytes())?;
    writer.sync()?;
    Ok(writer)
}
