//! Reads backups and archives back: their content, and the transactions up to a moment, as rows for
//! tables of this cluster.
//!
//! A file of a backup is read twice. First without rows: for the place where the log of each shard
//! is closed at the timestamp, and the place from which it counts. Then the rows themselves, as a
//! cluster restart would load them ([`kernel::Replay`]), but into a cluster of any shape: each goes
//! to the lane of the shard that has its key here, and a task of a worker writes the rows of a
//! lane, one transaction of a few rows after the other. With an archive the log continues in its
//! files.

mod pipeline;
mod survey;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use disk::copy::{CopyEnd, CopyReader, Secret};
use kernel::{PassedOver, Replay, Rows, Span};
use protocol::backup::{ArchiveContents, BackupContents, CopyBlock, History};
use protocol::disk::{CheckpointBlock, DiskEntry};
use protocol::schema::SEQUENCES_TABLE;
use storage::RowChange;
use types::hash::{bucket_of, hash64};
use types::wire::Wire;
use types::{RowLayout, RowView, ShardId, Table, TableId, Timestamp, ValueRef};

pub use self::pipeline::{Change, Pipeline, Target};
use self::survey::PartSurvey;
use crate::clock::format_unix_micros;

/// One transaction's rows: what fits into one record of a shard's log.
const BATCH_ROWS: usize = 64;
const BATCH_BYTES: usize = 192 << 10;
const CHANGED: &str =
    "it is another one than it was a moment ago: restore again when nobody writes there";

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
    /// Of the backup.
    run: u64,
    parts: Vec<PartFound>,
}

/// The files of one part, in the order of the log, and up to where in it each is to be read.
struct PartFound {
    paths: Vec<(PathBuf, u64)>,
    spans: Vec<(ShardId, Span)>,
}

/// Looks through all files, unless the pipeline has failed meanwhile. Errors say which one is wrong, and what to do.
pub fn find(source: &Source, pipeline: &Pipeline) -> Result<Found, String> {
    let backups = backup_files(source, pipeline)?;
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
    let survey_until = |until: i64| -> Result<Vec<PartSurvey>, String> {
        let mut parts = Vec::new();
        for (index, backup) in &backups {
            let of = &contents.parts[*index as usize];
            let mut part = PartSurvey::new(of.shards.clone());
            part.read_backup(&backup.path, source, pipeline)?;
            if let Some((_, archive)) = &source.until {
                let own = ArchiveContents {
                    cluster: contents.cluster,
                    node: of.node,
                    part: of.part,
                    store: backup.store,
                    from: 0,
                };
                part.read_archive(archive, &own, until, pipeline)?;
            }
            parts.push(part);
        }
        Ok(parts)
    };
    let (parts, at, unix_micros, history) = match &source.until {
        None => {
            let parts = survey_until(0)?;
            (parts, contents.at, contents.unix_micros, contents.history.clone())
        }
        Some((until, _)) => {
            let mut parts = survey_until(*until)?;
            if survey::latest(&parts, *until, &contents).is_err() {
                // What moment could be taken instead may be anywhere behind it.
                parts = survey_until(i64::MAX)?;
            }
            let moment = survey::latest(&parts, *until, &contents)?;
            let (at, unix_micros, history) =
                (moment.at, moment.unix_micros, moment.history.clone());
            (parts, at, unix_micros, history)
        }
    };
    let mut found = Vec::new();
    for part in parts {
        let mut spans = Vec::new();
        for shard in &part.shards {
            let span = part.survey.span(*shard, at, &history.restarts);
            let Some(span) = span else {
                return Err(format!(
                    "{} does not hold all of shard {shard} up to {}: it cannot be restored",
                    part.paths[0].0.display(),
                    format_unix_micros(unix_micros)
                ));
            };
            spans.push((*shard, span));
        }
        found.push(PartFound { paths: part.paths, spans });
    }
    let secret = source.secret.clone();
    Ok(Found { at, unix_micros, history, secret, run: contents.run, parts: found })
}

struct BackupFile {
    path: PathBuf,
    contents: BackupContents,
    store: u64,
}

/// The files of the one backup that is in the directory, or in directories in it, by their place in its contents.
fn backup_files(source: &Source, pipeline: &Pipeline) -> Result<BTreeMap<u32, BackupFile>, String> {
    let shown = source.dir.display();
    let mut found: BTreeMap<u32, BackupFile> = BTreeMap::new();
    for path in files_below(&source.dir, "backup")? {
        let mut reader = CopyReader::open(&path, source.secret.as_ref()).map_err(text)?;
        let first = next_block(&mut reader, pipeline)?;
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
fn next_block(reader: &mut CopyReader, pipeline: &Pipeline) -> Result<Option<CopyBlock>, String> {
    pipeline.go_on()?;
    match reader.next_block().map_err(text)? {
        Ok(bytes) => CopyBlock::from_bytes(&bytes)
            .map(Some)
            .map_err(|error| format!("{}: {error}", reader.path().display())),
        Err(CopyEnd::Clean | CopyEnd::Torn) => Ok(None),
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
                    if let Err(why) = read_part(found, (index, part), targets, buckets, pipeline) {
                        return pipeline.fail(why);
                    }
                }
            });
        }
    });
    pipeline.end();
}

fn read_part(
    found: &Found,
    (number, part): (usize, &PartFound),
    targets: &BTreeMap<TableId, Target>,
    buckets: &[ShardId],
    pipeline: &Pipeline,
) -> Result<(), String> {
    let mut replay = Replay::new(found.at, found.history.restarts.clone());
    // Where the replica began empty, the checkpoint is of its earlier content.
    let mut begun_anew: BTreeSet<ShardId> = BTreeSet::new();
    for (shard, Span { from, to, .. }) in &part.spans {
        if *from > 0 {
            begun_anew.insert(*shard);
            replay.begin_behind(&[(*shard, *from)]);
        }
        replay.stop_behind(*shard, *to);
    }
    let lanes = pipeline.lane_count();
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
    let last = part.spans.iter().map(|(_, span)| span.to).max().unwrap_or(0);
    let mut place = 0;
    for (index, (path, up_to)) in part.paths.iter().enumerate() {
        let is_backup = index == 0;
        // Behind that nothing is needed, and it may be damaged.
        let up_to = if is_backup { *up_to } else { last.min(*up_to) };
        let secret = found.secret.as_ref().filter(|_| is_backup);
        let mut reader = CopyReader::open(path, secret).map_err(text)?;
        let wrong = |what: String| format!("{}: {what}", path.display());
        let mut is_whole = !is_backup;
        while place < up_to
            && let Some(block) = next_block(&mut reader, pipeline)?
        {
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
                CopyBlock::Backup { contents, part, .. } => {
                    if (contents.run, part as usize) != (found.run, number) {
                        return Err(wrong(CHANGED.into()));
                    }
                }
                CopyBlock::End { .. } => is_whole = true,
                CopyBlock::Archive(_) | CopyBlock::Mark(_) => {}
            }
        }
        // When it was read first all of it was there.
        if !is_whole || !is_backup && place < up_to {
            return Err(wrong(CHANGED.into()));
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
            pipeline::lock(&self.pipeline.sequences).insert(TableId(table), next);
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
        let change = Change {
            table: target.to,
            key: key.to_vec(),
            row,
            is_of_visible: target.from.unique_of.is_none(),
        };
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
