//! Reading backups and archives back: what they hold, and what was committed up to a moment, as rows for tables of this cluster.
//!
//! A file of a backup is read twice. First without rows: where the log of each shard is closed at the timestamp, and from where on it
//! counts. Then the rows themselves, as a cluster restart would load them ([`kernel::Replay`]), but into a cluster of any shape: each goes
//! to the lane of the shard that has its key here, and a task of a worker writes what is in a lane, one transaction of a few rows after
//! the other. Where an archive is given the log goes on in its files.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use disk::copy::{CopyEnd, CopyReader, Secret};
use kernel::{PassedOver, Replay, Rows, Span, Survey};
use protocol::backup::{ArchiveContents, ArchiveMark, BackupContents, CopyBlock, History};
use protocol::disk::{CheckpointBlock, DiskEntry};
use protocol::schema::SEQUENCES_TABLE;
use storage::RowChange;
use types::hash::{bucket_of, hash64};
use types::wire::{Bytes, Wire};
use types::{RowLayout, RowView, ShardId, Table, TableId, Timestamp, ValueRef};

use crate::clock::format_unix_micros;

/// One transaction's rows: what fits into one record of a shard's log.
const BATCH_ROWS: usize = 64;
const BATCH_BYTES: usize = 192 << 10;
/// Batches that wait in a lane.
const LANE_BATCHES: usize = 4;

/// What is to be restored, and from where.
pub struct Source {
    pub dir: PathBuf,
    pub secret: Option<Secret>,
    /// Up to this moment, in microseconds of Unix time, by the archive in this directory.
    pub until: Option<(i64, PathBuf)>,
}

/// What was found of it.
pub struct Found {
    /// What was committed up to this is restored.
    pub at: Timestamp,
    /// When that was so, in microseconds of Unix time.
    pub unix_micros: i64,
    pub history: History,
    secret: Option<Secret>,
    parts: Vec<PartFound>,
}

/// The files of one part, in the order of the log.
struct PartFound {
    paths: Vec<PathBuf>,
    spans: Vec<(ShardId, Span)>,
}

/// Looks through all files. Errors say which one is wrong, and what to do.
pub fn find(source: &Source) -> Result<Found, String> {
    let mut backups = backup_files(source)?;
    let contents = backups.values().next().expect("there is one").contents.clone();
    let missing: Vec<String> = (0u32..)
        .zip(&contents.parts)
        .filter(|(index, _)| !backups.contains_key(index))
        .map(|(_, part)| crate::backup::file_name(part.node, part.part.0))
        .collect();
    if !missing.is_empty() {
        return Err(format!(
            "{} is not whole: {} missing; put the files of all nodes into one directory",
            source.dir.display(),
            missing.join(", ")
        ));
    }
    let mut parts: Vec<PartSurvey> = Vec::new();
    for (index, backup) in &mut backups {
        let shards = contents.parts[*index as usize].shards.clone();
        let mut part = PartSurvey { shards, ..PartSurvey::default() };
        part.read_backup(&backup.path, source)?;
        if let Some((_, archive)) = &source.until {
            let own = &contents.parts[*index as usize];
            let of = |found: &ArchiveContents| {
                let is_part = (found.node, found.part) == (own.node, own.part);
                is_part && found.store == backup.store && found.cluster == contents.cluster
            };
            part.read_archive(archive, &of)?;
        }
        parts.push(part);
    }
    let (at, unix_micros, history) = match &source.until {
        None => (contents.at, contents.unix_micros, contents.history.clone()),
        Some((until, _)) => latest(&parts, *until, &contents)?,
    };
    let mut found = Vec::new();
    for part in parts {
        let mut spans = Vec::new();
        for shard in &part.shards {
            let span = part.survey.span(*shard, at, &history.restarts);
            let Some(span) = span else {
                return Err(format!(
                    "{} does not hold all of shard {shard} up to {}: it cannot be restored",
                    part.paths[0].display(),
                    format_unix_micros(unix_micros)
                ));
            };
            spans.push((*shard, span));
        }
        found.push(PartFound { paths: part.paths, spans });
    }
    let secret = source.secret.clone();
    Ok(Found { at, unix_micros, history, secret, parts: found })
}

struct BackupFile {
    path: PathBuf,
    contents: BackupContents,
    store: u64,
}

/// The files of the one backup that is in the directory, or in directories in it, by their place in its contents.
fn backup_files(source: &Source) -> Result<BTreeMap<u32, BackupFile>, String> {
    let shown = source.dir.display();
    let mut found: BTreeMap<u32, BackupFile> = BTreeMap::new();
    for path in files_below(&source.dir, "backup")? {
        let mut reader = CopyReader::open(&path, source.secret.as_ref()).map_err(text)?;
        let first = next_block(&mut reader)?;
        let Some(CopyBlock::Backup { contents, part, store }) = first else {
            return Err(format!("{} does not begin as a backup does", path.display()));
        };
        if part as usize >= contents.parts.len() {
            return Err(format!("{} is of no part of its backup", path.display()));
        }
        let other = found.values().find(|other| other.contents.run != contents.run);
        if let Some(other) = other {
            return Err(format!(
                "{} and {} are of different backups: name the directory of one of them",
                path.display(),
                other.path.display()
            ));
        }
        found.insert(part, BackupFile { path, contents, store });
    }
    match found.is_empty() {
        true => Err(format!("there is no backup in {shown}")),
        false => Ok(found),
    }
}

/// Files with this ending in a directory and its own directories, in order.
fn files_below(dir: &Path, ending: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut left = vec![(dir.to_path_buf(), 0)];
    while let Some((dir, depth)) = left.pop() {
        let entries = std::fs::read_dir(&dir)
            .map_err(|error| format!("cannot read {}: {error}", dir.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.is_dir() && depth < 2 {
                left.push((path, depth + 1));
            } else if path.extension().is_some_and(|found| found == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn text(error: disk::DiskError) -> String {
    error.to_string()
}

/// None at the end of the file.
fn next_block(reader: &mut CopyReader) -> Result<Option<CopyBlock>, String> {
    match reader.next_block().map_err(text)? {
        Ok(bytes) => CopyBlock::from_bytes(&bytes)
            .map(Some)
            .map_err(|error| format!("{}: {error}", reader.path().display())),
        Err(CopyEnd::Clean | CopyEnd::Torn) => Ok(None),
    }
}

/// A part's log, without rows.
#[derive(Default)]
struct PartSurvey {
    shards: Vec<ShardId>,
    paths: Vec<PathBuf>,
    survey: Survey,
    /// The log up to here was seen.
    place: u64,
    marks: Vec<ArchiveMark>,
    /// At these places its node was a member, and its disk had everything that was committed up to these timestamps.
    attested: Vec<(u64, Timestamp)>,
}

impl PartSurvey {
    fn read_backup(&mut self, path: &Path, source: &Source) -> Result<(), String> {
        let mut reader = CopyReader::open(path, source.secret.as_ref()).map_err(text)?;
        let (mut is_whole, mut at) = (false, Timestamp::ZERO);
        while let Some(block) = next_block(&mut reader)? {
            match block {
                CopyBlock::Entries(entries) => self.add(&entries, path)?,
                CopyBlock::Backup { contents, .. } => at = contents.at,
                CopyBlock::End { up_to } => {
                    self.place = up_to;
                    self.attested.push((up_to, at));
                    is_whole = true;
                }
                _ => {}
            }
        }
        self.paths.push(path.to_path_buf());
        match is_whole {
            true => Ok(()),
            false => Err(format!("{} is not whole: its end is missing", path.display())),
        }
    }

    /// The archive's files that go on where the backup ends.
    fn read_archive(
        &mut self,
        dir: &Path,
        is_own: &dyn Fn(&ArchiveContents) -> bool,
    ) -> Result<(), String> {
        let mut own: Vec<(u64, PathBuf)> = Vec::new();
        for path in files_below(dir, "archive")? {
            let mut reader = CopyReader::open(&path, None).map_err(text)?;
            match next_block(&mut reader)? {
                Some(CopyBlock::Archive(contents)) if is_own(&contents) => {
                    own.push((contents.from, path));
                }
                // One that was just made, or is of another part.
                None | Some(CopyBlock::Archive(_)) => {}
                Some(_) => {
                    return Err(format!("{} does not begin as an archive does", path.display()));
                }
            }
        }
        own.sort();
        // The last one that begins where the backup has the log, and those behind it.
        let first = own.iter().rposition(|(from, _)| *from <= self.place);
        let Some(first) = first else {
            return Err(format!(
                "{} does not go on where {} ends: the archive was begun after the backup, or is of another cluster",
                dir.display(),
                self.paths[0].display()
            ));
        };
        for (from, path) in own.split_off(first) {
            if self.place < from {
                return Err(format!(
                    "{} does not go on where the archive's file before it ends: something is missing in between",
                    path.display()
                ));
            }
            let mut reader = CopyReader::open(&path, None).map_err(text)?;
            let mut place = from;
            while let Some(block) = next_block(&mut reader)? {
                match block {
                    CopyBlock::Entries(entries) => {
                        place = entries.last().map_or(place, |(place, _)| *place);
                        self.add(&entries, &path)?;
                    }
                    CopyBlock::Mark(mark) => {
                        self.attested.push((place, mark.at));
                        self.marks.push(mark);
                    }
                    _ => {}
                }
            }
            self.place = self.place.max(place);
            self.paths.push(path);
        }
        Ok(())
    }

    /// Did the replica have everything at this timestamp? Its node says so of one before and one behind, of the same replica: not
    /// while it was being filled, and not of what only it had when it was excluded. Where it had begun with nothing the first
    /// timestamp that it says may be an older one than it was filled at.
    fn vouches(&self, span: Span, at: Timestamp) -> bool {
        let is_own = |place: u64| span.from < place && place < span.replica_ends;
        let own = self.attested.iter().filter(|(place, _)| is_own(*place)).map(|(_, at)| *at);
        let own: Vec<Timestamp> = own.collect();
        let is_of_backup = self.attested.first().is_some_and(|(place, _)| is_own(*place));
        let first = own.first().copied().filter(|_| !is_of_backup);
        let has_before = own.iter().any(|own| Some(*own) != first && *own <= at);
        has_before && own.iter().any(|own| at <= *own)
    }

    fn add(&mut self, entries: &[(u64, Bytes)], path: &Path) -> Result<(), String> {
        for (place, bytes) in entries.iter().filter(|(place, _)| self.place < *place) {
            let entry = DiskEntry::without_rows(bytes)
                .map_err(|error| format!("{}, entry at {place}: {error}", path.display()))?;
            self.survey.add(*place, &entry);
        }
        if let Some((last, _)) = entries.last() {
            self.place = self.place.max(*last);
        }
        Ok(())
    }
}

/// The last moment that is not behind `until` and that the archives of all parts have.
fn latest(
    parts: &[PartSurvey],
    until: i64,
    backup: &BackupContents,
) -> Result<(Timestamp, i64, History), String> {
    if until < backup.unix_micros {
        return Err(format!(
            "the backup is of {}: for an earlier moment take an earlier backup",
            format_unix_micros(backup.unix_micros)
        ));
    }
    let reach =
        |part: &PartSurvey| part.marks.last().map_or(backup.unix_micros, |mark| mark.unix_micros);
    let reach = parts.iter().map(reach).min().expect("a backup has parts");
    if reach < until {
        return Err(format!(
            "the archive ends at {}: give that or an earlier moment",
            format_unix_micros(reach)
        ));
    }
    let mut candidates = vec![(backup.at, backup.unix_micros, backup.history.clone())];
    for part in parts {
        let mut history = backup.history.clone();
        for mark in part.marks.iter().take_while(|mark| mark.unix_micros <= until) {
            if let Some(newer) = &mark.history {
                history = newer.clone();
            }
            if candidates.last().is_some_and(|(at, ..)| *at <= mark.at) {
                candidates.push((mark.at, mark.unix_micros, history.clone()));
            }
        }
    }
    let has_all = |(at, _, history): &(Timestamp, i64, History)| {
        parts.iter().all(|part| {
            let span = |shard: &ShardId| part.survey.span(*shard, *at, &history.restarts);
            part.shards.iter().all(|shard| span(shard).is_some_and(|span| part.vouches(span, *at)))
        })
    };
    candidates.sort_by_key(|(at, unix_micros, _)| (*at, *unix_micros));
    let newest = candidates.into_iter().rev().find(has_all);
    newest.ok_or_else(|| "the archives of the parts have no moment in common".to_string())
}

/// A table of the backup and the one that takes its rows.
#[derive(Clone)]
pub struct Target {
    pub from: Arc<Table>,
    pub to: Arc<Table>,
}

/// A change for a table of this cluster.
pub struct Change {
    pub table: TableId,
    pub key: Vec<u8>,
    /// None: the row goes.
    pub row: Option<Vec<u8>>,
}

impl Change {
    pub fn bytes(&self) -> usize {
        self.key.len() + self.row.as_ref().map_or(0, Vec::len)
    }
}

/// Rows on their way from the files to the tables, and how far that is.
pub struct Pipeline {
    lanes: Vec<Mutex<VecDeque<Vec<Change>>>>,
    taken: Condvar,
    taken_lock: Mutex<()>,
    pub rows_read: AtomicU64,
    pub rows_written: AtomicU64,
    pub bytes_written: AtomicU64,
    /// Nothing more comes.
    is_read: AtomicBool,
    failed: Mutex<Option<String>>,
    /// The next AUTO_INCREMENT value of tables of the backup.
    pub sequences: Mutex<BTreeMap<TableId, u64>>,
}

impl Pipeline {
    pub fn new(lanes: usize) -> Pipeline {
        Pipeline {
            lanes: (0..lanes).map(|_| Mutex::default()).collect(),
            taken: Condvar::new(),
            taken_lock: Mutex::new(()),
            rows_read: AtomicU64::new(0),
            rows_written: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            is_read: AtomicBool::new(false),
            failed: Mutex::new(None),
            sequences: Mutex::default(),
        }
    }

    /// Somebody could not go on: everybody stops.
    pub fn fail(&self, why: String) {
        lock(&self.failed).get_or_insert(why);
        self.taken.notify_all();
    }
    pub fn failure(&self) -> Option<String> {
        lock(&self.failed).clone()
    }

    /// The next batch of a lane. Ok(None): there is none yet; Err: none will come.
    pub fn take(&self, lane: usize) -> Result<Option<Vec<Change>>, ()> {
        // Looked at first: what came before is in the lane.
        let is_read = self.is_read.load(Ordering::Acquire);
        if self.failure().is_some() {
            return Err(());
        }
        let batch = lock(&self.lanes[lane]).pop_front();
        if batch.is_some() {
            self.taken.notify_all();
        }
        match batch {
            None if is_read => Err(()),
            batch => Ok(batch),
        }
    }

    /// Waits while the lane is full.
    fn give(&self, lane: usize, batch: Vec<Change>) -> Result<(), String> {
        loop {
            if let Some(why) = self.failure() {
                return Err(why);
            }
            let mut waiting = lock(&self.lanes[lane]);
            if waiting.len() < LANE_BATCHES {
                waiting.push_back(batch);
                return Ok(());
            }
            drop(waiting);
            let guard = lock(&self.taken_lock);
            // Who takes does not hold this lock: what it says in between is heard a moment later.
            let waited = self.taken.wait_timeout(guard, std::time::Duration::from_millis(5));
            drop(waited.expect("nobody panics while holding this lock"));
        }
    }
}

/// Reads all parts, several at a time, and gives their rows to the lanes; `lane_of` says which one has a key. Returns when all is given.
pub fn read_all(
    found: &Found,
    targets: &BTreeMap<TableId, Target>,
    buckets: &[ShardId],
    pipeline: &Pipeline,
    threads: usize,
) {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(found.parts.len()).max(1) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed) as usize;
                    let Some(part) = found.parts.get(index) else { return };
                    if let Err(why) = read_part(found, part, targets, buckets, pipeline) {
                        return pipeline.fail(why);
                    }
                }
            });
        }
    });
    pipeline.is_read.store(true, Ordering::Release);
}

fn read_part(
    found: &Found,
    part: &PartFound,
    targets: &BTreeMap<TableId, Target>,
    buckets: &[ShardId],
    pipeline: &Pipeline,
) -> Result<(), String> {
    let mut replay = Replay::new(found.at, found.history.restarts.clone());
    // Where the replica began with nothing, the checkpoint is of what was before.
    let mut begun_anew: BTreeSet<ShardId> = BTreeSet::new();
    for (shard, Span { from, to, .. }) in &part.spans {
        if *from > 0 {
            begun_anew.insert(*shard);
            replay.begin_behind(&[(*shard, *from)]);
        }
        replay.stop_behind(*shard, *to);
    }
    let lanes = pipeline.lanes.len();
    let mut sorter = Sorter {
        targets: targets.iter().map(|(id, target)| (*id, OpenTarget::new(target))).collect(),
        sequences: found
            .history
            .catalogue
            .table_by_id(SEQUENCES_TABLE)
            .map(|table| table.row_layout()),
        buckets,
        pipeline,
        batches: (0..lanes).map(|_| (Vec::new(), 0)).collect(),
    };
    let mut place = 0;
    for path in &part.paths {
        let is_backup = path == &part.paths[0];
        let secret = found.secret.as_ref().filter(|_| is_backup);
        let mut reader = CopyReader::open(path, secret).map_err(text)?;
        let wrong = |what: String| format!("{}: {what}", path.display());
        while let Some(block) = next_block(&mut reader)? {
            match block {
                CopyBlock::Begins(shards) => {
                    let left: Vec<(ShardId, u64)> = shards
                        .into_iter()
                        .filter(|(shard, _)| !begun_anew.contains(shard))
                        .collect();
                    replay.begin_behind(&left);
                }
                CopyBlock::Rows(block) => {
                    let block = CheckpointBlock::from_bytes(&block)
                        .map_err(|error| wrong(error.to_string()))?;
                    if !begun_anew.contains(&block.shard) {
                        replay.take_block(block, &mut sorter).map_err(wrong)?;
                    }
                }
                CopyBlock::Entries(entries) => {
                    for (behind, bytes) in entries {
                        if behind <= place {
                            continue;
                        }
                        place = behind;
                        let entry = DiskEntry::from_bytes(&bytes)
                            .map_err(|error| wrong(format!("entry at {behind}: {error}")))?;
                        replay.take(behind, entry, &mut sorter).map_err(wrong)?;
                    }
                }
                CopyBlock::Backup { .. }
                | CopyBlock::Archive(_)
                | CopyBlock::Mark(_)
                | CopyBlock::End { .. } => {}
            }
        }
    }
    for lane in 0..lanes {
        sorter.send(lane)?;
    }
    Ok(())
}

struct OpenTarget {
    to: TableId,
    layout: RowLayout,
    from: Arc<Table>,
}

impl OpenTarget {
    fn new(target: &Target) -> OpenTarget {
        let from = Arc::clone(&target.from);
        OpenTarget { to: target.to.id, layout: from.row_layout(), from }
    }
}

/// Puts rows into the lanes of the shards that have their keys.
struct Sorter<'a> {
    targets: BTreeMap<TableId, OpenTarget>,
    sequences: Option<RowLayout>,
    buckets: &'a [ShardId],
    pipeline: &'a Pipeline,
    /// Of each lane, what goes with its next batch, and its bytes.
    batches: Vec<(Vec<Change>, usize)>,
}

impl Sorter<'_> {
    fn send(&mut self, lane: usize) -> Result<(), String> {
        let (batch, _) = std::mem::take(&mut self.batches[lane]);
        match batch.is_empty() {
            true => Ok(()),
            false => self.pipeline.give(lane, batch),
        }
    }

    fn note_sequence(&mut self, change: RowChange<'_>) -> Result<(), String> {
        let (Some(layout), RowChange::Put(row)) = (&self.sequences, change) else { return Ok(()) };
        RowView::check(layout, row).map_err(|error| format!("a sequence: {error}"))?;
        let view = RowView::new(layout, row);
        if let (ValueRef::UInt(table), ValueRef::UInt(next)) = (view.get(0), view.get(1))
            && let Ok(table) = u32::try_from(table)
        {
            lock(&self.pipeline.sequences).insert(TableId(table), next);
        }
        Ok(())
    }
}

impl Rows for Sorter<'_> {
    fn change(
        &mut self,
        _shard: ShardId,
        table: TableId,
        key: &[u8],
        change: RowChange<'_>,
        _ts: Timestamp,
    ) -> Result<(), String> {
        if table == SEQUENCES_TABLE {
            return self.note_sequence(change);
        }
        let Some(target) = self.targets.get(&table) else { return Ok(()) };
        let row = match change {
            RowChange::Delete => None,
            RowChange::Put(row) => {
                let name = &target.from.name;
                RowView::check(&target.layout, row)
                    .map_err(|error| format!("a row of table {name}: {error}"))?;
                let view = RowView::new(&target.layout, row);
                let own = types::key::primary_key_of_row(&target.from, &view);
                if own.as_deref().ok() != Some(key) {
                    return Err(format!(
                        "a row of table {name} has another key than its place says"
                    ));
                }
                Some(row.to_vec())
            }
        };
        let lane = usize::from(self.buckets[usize::from(bucket_of(hash64(key)).0)].0);
        let (batch, bytes) = &mut self.batches[lane];
        let change = Change { table: target.to, key: key.to_vec(), row };
        *bytes += change.bytes();
        batch.push(change);
        let is_full = batch.len() >= BATCH_ROWS || *bytes >= BATCH_BYTES;
        self.pipeline.rows_read.fetch_add(1, Ordering::Relaxed);
        match is_full {
            true => self.send(lane),
            false => Ok(()),
        }
    }

    /// Nobody asked for it.
    fn pass_over(&mut self, _commit: PassedOver<'_>) {}

    /// Never: what came before is not read.
    fn clear(&mut self, shard: ShardId) -> Result<(), String> {
        Err(format!(
            "shard {shard} begins with nothing where it did not when the file was looked through"
        ))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding this lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A moment is taken of a replica's log only between two that its node has said it had everything at: not of when it was being
    /// filled, nor of the end of a log whose node was excluded, nor of the first one said after it was filled, which may be older.
    #[test]
    fn who_was_away_vouches_for_nothing() {
        let attested = [(100, 10), (150, 15), (400, 30), (450, 40), (500, 50)];
        let attested = attested.map(|(place, at)| (place, Timestamp(at))).to_vec();
        let part = PartSurvey { attested, ..PartSurvey::default() };
        let before = Span { from: 0, to: 0, replica_ends: 300 };
        let behind = Span { from: 300, to: 0, replica_ends: u64::MAX };
        let vouches = |span: Span| -> Vec<u64> {
            (5..60).step_by(5).filter(|at| part.vouches(span, Timestamp(*at))).collect()
        };
        assert_eq!(vouches(before), [10, 15]);
        assert_eq!(vouches(behind), [40, 45, 50]);
        // A backup that was made of the second replica speaks for that from its own timestamp on.
        let attested = vec![(350, Timestamp(20)), (400, Timestamp(30))];
        let part = PartSurvey { attested, ..PartSurvey::default() };
        assert!(part.vouches(behind, Timestamp(20)) && part.vouches(behind, Timestamp(30)));
        assert!(!part.vouches(before, Timestamp(20)));
    }
}
