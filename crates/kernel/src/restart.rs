//! Starting again from the disk: its state when the process starts, and the rows that a cluster restart begins with
//! (rules.md#checkpoints; rules R9, R18).
//!
//! A replica's log on the disk has the records of the log in memory, so loading it repeats the work
//! of a backup: records in their order, and of each transaction only changes committed up to the
//! restart's timestamp. Later and undecided records are passed over: here, and in every restart
//! after this one, because the control plane keeps the end of each lineage.
//!
//! Records passed over are counted: a COMMIT behind that timestamp in the lineage that ends may
//! have been acknowledged. Commits that no disk has are unknown; nothing is certainly lost only
//! where all nodes have written, as their last entry, that they ended as planned.
//!
//! A restart can begin with a log at a timestamp at which the log is closed, if every COMMIT before
//! that place has its own timestamp on the disk, and if the rows copied into it, when its replica
//! was filled, are no newer. Whether a global checkpoint was done there matters only to a lossy
//! restart: the node marks it on its disk when it learns of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::Ordering;

use protocol::disk::{
    CheckpointBlock, CheckpointContents, CheckpointRow, CheckpointSection, DiskEntry,
};
use protocol::message::{CheckpointMark, DiskFound, DiskPoint, RecordKind, Write};
use protocol::restart::{LostRange, LostTransaction, NodeLoaded};
use storage::{RowChange, Sorting};
use types::hash::hash64;
use types::wire::Wire;
use types::{
    CommitId, Incarnation, Lineage, LogPosition, NodeId, ShardId, TableId, Timestamp,
    TransactionId, WorkerId,
};

use crate::limits::LOST_TOLD_MAX;
use crate::node::{Mutation, NodeShared};
use crate::participant::Shard;
use crate::replay::{PassedOver, Replay, Rows};
use crate::returning::ToLoad;
use crate::store::{CheckpointFound, Store};
use crate::worker::Time;

/// So many points are told of, the newest: others' disks may lack the last ones. (16 and 24 bytes each.)
const POINTS_TOLD_IN_FULL: usize = 512;
/// Further points before those, of which one in two is reported, then one in four, and so on to one
/// in 2 to this power: with --lossy points of some minutes may count, though checkpoints follow
/// each other at once. So the older of two disks has 16,000 behind its last one.
const POINTS_TOLD_THINNED: usize = 64;
const POINTS_ZEROS_MAX: u32 = 8;

/// What a disk held when its process started.
#[derive(Default)]
pub(crate) struct Found {
    /// What the others are told.
    pub told: DiskFound,
    /// Where on the disk the log of each shard is closed.
    closed: BTreeMap<ShardId, BTreeMap<Timestamp, u64>>,
    /// Parts whose log has all of their rows, for each of their replicas began with nothing in it: what checkpoints have was before that.
    filled: BTreeSet<WorkerId>,
}

/// What the log of a part has.
#[derive(Default)]
struct PartFound {
    boots: Vec<Incarnation>,
    done: Vec<CheckpointMark>,
    rested: Option<Incarnation>,
    survey: Survey,
}

fn look_through(store: &dyn Store, part: WorkerId) -> Result<PartFound, String> {
    let mut found = PartFound::default();
    store.read_log(part, 0, &mut |place, bytes| {
        let entry = DiskEntry::without_rows(bytes)
            .map_err(|error| format!("part {part}, entry at {place}: {error}"))?;
        match &entry {
            DiskEntry::Booted { incarnation } => found.boots.push(*incarnation),
            DiskEntry::Rested { incarnation } => found.rested = Some(*incarnation),
            DiskEntry::Checkpointed { mark } => found.done.push(*mark),
            _ => {}
        }
        found.survey.add(place, &entry);
        Ok(())
    })?;
    Ok(found)
}

/// Looks through the whole disk for what this node could begin with, given the shards it keeps.
pub(crate) fn look(store: &dyn Store, shards: &[ShardId]) -> Result<Found, String> {
    let looked = parking_lot::Mutex::new(BTreeMap::new());
    store.for_each_part(&|part| {
        let found = look_through(store, part);
        looked.lock().insert(part, found);
    });
    let mut boots: Vec<Incarnation> = Vec::new();
    let mut done: Vec<CheckpointMark> = Vec::new();
    let mut rested = None;
    let mut logs: BTreeMap<ShardId, LogFound> = BTreeMap::new();
    let mut shards_of: BTreeMap<WorkerId, Vec<ShardId>> = BTreeMap::new();
    for (part, found) in looked.into_inner() {
        let found = found?;
        boots.extend(found.boots);
        done.extend(found.done);
        rested = found.rested.or(rested);
        shards_of.insert(part, found.survey.logs.keys().copied().collect());
        // Only the replica that the disk had last counts.
        let last = |(shard, mut logs): (ShardId, Vec<LogFound>)| Some((shard, logs.pop()?));
        logs.extend(found.survey.logs.into_iter().filter_map(last));
    }
    let is_used = !logs.is_empty() || !done.is_empty();
    let of_shard = |shard: &ShardId| logs.get(shard).map(LogFound::points).unwrap_or_default();
    let mut all = shards.iter().map(of_shard);
    let first = all.next().unwrap_or_default();
    let mut points = all.fold(first, |points, other| &points & &other);
    let is_filled = |shard: &ShardId| logs[shard].begun > 0;
    if logs.keys().any(is_filled) {
        // It had rows before it had this disk.
        boots.clear();
    }
    if !done.is_empty() {
        // There were rows that all disks had: what a part lacks of them now is lost, and the cluster was not empty.
        boots.clear();
    }
    shards_of.retain(|_, shards| !shards.is_empty() && shards.iter().all(is_filled));
    let filled: BTreeSet<WorkerId> = shards_of.into_keys().collect();
    let closed = logs.into_iter().map(|(shard, log)| (shard, log.places)).collect();
    let mut found = Found { told: DiskFound::default(), closed, filled };
    for part in (0..store.parts()).map(WorkerId).filter(|part| store.begin(*part) > 0) {
        // The log before that has gone: only from what took its place on can it be begun with.
        boots.clear();
        if !found.filled.contains(&part) {
            let checkpoints = checkpoints(store, part)?;
            points.retain(|point| checkpoints.iter().any(|(_, of)| found.fits(of, point.at)));
        }
    }
    let points = told(points);
    done.retain(|mark| points.contains(&DiskPoint { at: mark.at, lineage: mark.lineage }));
    let points = points.into_iter().collect();
    found.told = DiskFound { points, done, boots, rested, is_used };
    Ok(found)
}

/// The newest of these, and of those before them fewer and fewer: which ones depends on nothing but themselves, so a disk
/// whose node was away for long has some in common with the others.
fn told(points: BTreeSet<DiskPoint>) -> BTreeSet<DiskPoint> {
    let (mut zeros, mut left) = (0, POINTS_TOLD_IN_FULL);
    let mut told = BTreeSet::new();
    for point in points.into_iter().rev() {
        if hash64(&point.at.0.to_le_bytes()).trailing_zeros() < zeros {
            continue;
        }
        told.insert(point);
        left -= 1;
        if left == 0 {
            (zeros, left) = (zeros + 1, POINTS_TOLD_THINNED);
        }
        if POINTS_ZEROS_MAX < zeros {
            break;
        }
    }
    told
}

impl Found {
    /// Has this local checkpoint nothing newer, and are its logs closed at this timestamp behind where it begins?
    fn fits(&self, contents: &CheckpointContents, at: Timestamp) -> bool {
        let is_behind = |(shard, begin): &(ShardId, u64)| {
            let closed = self.closed.get(shard).and_then(|closed| closed.get(&at));
            closed.is_some_and(|place| begin < place)
        };
        contents.newest <= at && contents.shards.iter().all(is_behind)
    }
}

/// The local checkpoints of a part, the newest first.
fn checkpoints(
    store: &dyn Store,
    part: WorkerId,
) -> Result<Vec<(CheckpointFound, CheckpointContents)>, String> {
    let contents = |found: CheckpointFound| {
        let contents = CheckpointContents::from_bytes(&found.contents)
            .map_err(|error| format!("part {part}, checkpoint {}: {error}", found.number))?;
        Ok((found, contents))
    };
    store.checkpoints(part).into_iter().map(contents).collect()
}

/// A look through the log of a part, for which no rows are needed: where the logs of its shards could be begun with.
#[derive(Default)]
pub struct Survey {
    /// Of each shard the logs of the replicas that it had here, one after the other.
    logs: BTreeMap<ShardId, Vec<LogFound>>,
}

impl Survey {
    /// The next entry, and the place behind it.
    pub fn add(&mut self, place: u64, entry: &DiskEntry) {
        let Some(shard) = entry.shard() else { return };
        let logs = self.logs.entry(shard).or_default();
        if logs.is_empty() || matches!(entry, DiskEntry::Begun { .. }) {
            logs.push(LogFound::default());
        }
        let log = logs.last_mut().expect("just looked");
        match entry {
            DiskEntry::Booted { .. }
            | DiskEntry::Rested { .. }
            | DiskEntry::Checkpointed { .. } => {}
            DiskEntry::Begun { .. } => log.begun = place,
            DiskEntry::Record { lineage, position, record, .. } => {
                log.add(*lineage, *position, place, &record.kind);
            }
            DiskEntry::Stamped { position, .. } => log.stamp(*position, place),
        }
    }

    /// What a shard's log must be read of for everything that was committed up to `at`. None if it is not closed there, or was closed there
    /// in a lineage of which that was cut off. That the replica had all rows then, and that the timestamp is one that a global
    /// checkpoint was done for, is for the caller to know.
    pub fn span(
        &self,
        shard: ShardId,
        at: Timestamp,
        restarts: &BTreeMap<Lineage, Timestamp>,
    ) -> Option<Span> {
        let is_left = |lineage: Lineage| restarts.get(&lineage).is_none_or(|end| at <= *end);
        let is_closed = |log: &LogFound| {
            log.points().into_iter().any(|point| point.at == at && is_left(point.lineage))
        };
        let logs = self.logs.get(&shard)?;
        let index = logs.iter().rposition(is_closed)?;
        let replica_ends = logs.get(index + 1).map_or(u64::MAX, |next| next.begun);
        Some(Span { from: logs[index].begun, to: logs[index].settled[&at], replica_ends })
    }
}

/// Some of the log of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Entries behind this place. 0 unless the replica began empty there: then everything before, in a checkpoint too, is obsolete.
    pub from: u64,
    /// Up to this place.
    pub to: u64,
    /// Here another replica of the shard begins with nothing.
    pub replica_ends: u64,
}

/// What the disk has of a shard's log.
#[derive(Default)]
struct LogFound {
    /// The replica began with nothing here.
    begun: u64,
    lineage: Lineage,
    unstamped: BTreeSet<LogPosition>,
    complete_from: Timestamp,
    /// Where in it, and at what. These wait for timestamps of COMMITs before them.
    closed: VecDeque<(LogPosition, DiskPoint)>,
    points: BTreeSet<DiskPoint>,
    /// Where it is closed at them, and behind what else everything is there that belongs to that.
    places: BTreeMap<Timestamp, u64>,
    settled: BTreeMap<Timestamp, u64>,
}

impl LogFound {
    fn add(&mut self, lineage: Lineage, position: LogPosition, place: u64, kind: &RecordKind) {
        if self.lineage != lineage {
            // What was under way in the one before never got any further.
            (self.lineage, self.unstamped, self.closed) =
                (lineage, BTreeSet::new(), VecDeque::new());
        }
        match kind {
            RecordKind::Commit { ts: None, .. } => {
                self.unstamped.insert(position);
            }
            RecordKind::Copy { complete_from, .. } => {
                self.complete_from = self.complete_from.max(*complete_from);
            }
            RecordKind::Closed { at } => {
                self.closed.push_back((position, DiskPoint { at: *at, lineage }));
                self.places.insert(*at, place);
                self.settle(place);
            }
            _ => {}
        }
    }

    fn stamp(&mut self, position: LogPosition, place: u64) {
        self.unstamped.remove(&position);
        self.settle(place);
    }

    fn settle(&mut self, place: u64) {
        // COMMITs behind it are of later timestamps, whichever those are. Under load there is always one that has none yet.
        let first = self.unstamped.first().copied();
        let is_settled = |position| first.is_none_or(|unstamped| position < unstamped);
        while let Some((_, point)) = self.closed.pop_front_if(|(position, _)| is_settled(*position))
        {
            self.settled.insert(point.at, place);
            self.points.insert(point);
        }
    }

    fn points(&self) -> BTreeSet<DiskPoint> {
        self.points.iter().copied().filter(|point| self.complete_from <= point.at).collect()
    }
}

impl NodeShared {
    /// Loads the rows that one part of the disk has, in a cluster restart or as a node that comes
    /// back; each part once, on any thread. Errors name the part and the fault: then this node must
    /// not serve, unless it can do without ([`NodeShared::do_without`]). The host reports the
    /// duration ([`NodeShared::part_is_loaded`]).
    pub fn load_part(&self, part: u16) -> Result<PartLoaded, NotLoaded> {
        let to_load = self.to_load.lock().clone().expect("the host was asked to load");
        let loaded = PartLoaded::default();
        let mut loading = Loading { node: self, to_load: &to_load, loaded, needs_memory: false };
        match self.load_part_into(WorkerId(part), &mut loading) {
            Ok(()) => Ok(loading.loaded),
            Err(why) if loading.needs_memory => Err(NotLoaded::NeedsMemory(why)),
            Err(why) => Err(NotLoaded::Unfit(why)),
        }
    }

    fn load_part_into(&self, part: WorkerId, loading: &mut Loading<'_>) -> Result<(), String> {
        let to_load = loading.to_load;
        let store = self.store.as_ref().expect("what is loaded is on a disk");
        let at = to_load.at;
        let mut replay = Replay::new(at, to_load.state.restarts.clone());
        if self.mutation == Mutation::TailNotCut {
            replay.forget_cuts();
        }
        let found = checkpoints(store.as_ref(), part)?;
        let fits = |contents: &CheckpointContents| {
            contents.newest <= replay.limit(contents.lineage) && self.disk.fits(contents, at)
        };
        let newest = found.into_iter().find(|(_, contents)| fits(contents));
        if let Some((found, contents)) = &newest {
            replay.begin_behind(&contents.shards);
            store.read_checkpoint(part, found.number, &mut |bytes| {
                let block = CheckpointBlock::from_bytes(bytes).map_err(|error| {
                    format!("part {part}, checkpoint {}: {error}", found.number)
                })?;
                loading.loaded.add_block(&block);
                replay.take_block(block, loading)
            })?;
            for CheckpointSection { number, shard, table, .. } in &contents.sections {
                loading.with(*shard, |shard| {
                    shard.note_section(*table, *number);
                    Ok(())
                })?;
            }
            if to_load.is_restart() {
                loading.loaded.checkpoint = Some((part, found.number));
            }
        }
        let all_of_log = if self.disk.filled.contains(&part) { store.begin(part) } else { 0 };
        let log_from = newest.map_or(all_of_log, |(found, _)| found.log_from);
        if log_from < store.begin(part) {
            return Err(format!("part {part}: no checkpoint is old enough for what its log lacks"));
        }
        store.read_log(part, log_from, &mut |place, bytes| {
            let entry = DiskEntry::from_bytes(bytes)
                .map_err(|error| format!("part {part}, entry at {place}: {error}"))?;
            loading.loaded.entries += 1;
            loading.loaded.entry_bytes += bytes.len() as u64;
            replay.take(place, entry, loading)
        })?;
        let mut sorting = Sorting::default();
        for (shard, position) in replay.end(loading) {
            loading.with(shard, |shard| shard.end_loading(position, at, &mut sorting))?;
        }
        Ok(())
    }

    /// Has the disk the log of any shard?
    pub fn disk_is_used(&self) -> bool {
        self.disk.told.is_used
    }

    /// That part is loaded.
    pub fn part_is_loaded(&self, part: PartLoaded, took_us: Time) {
        self.loaded.lock().add(part, took_us);
        self.parts_loaded.fetch_add(1, Ordering::SeqCst);
    }

    /// How long the host has looked through the disk, before the node was made.
    pub fn set_looked(&self, took_us: Time) {
        self.loaded.lock().figures.looked_us = took_us;
    }

    /// This boot ends as planned, with its cluster: no worker of it does anything any more, and all that it has committed is on the disks.
    /// Returns the place that the first part of its disk must be durable to, for that to be known later.
    pub fn note_rested(&self) -> u64 {
        let Some(store) = &self.store else { return 0 };
        let incarnation = self.incarnation;
        let rested = DiskEntry::Rested { incarnation };
        let place = store.append(WorkerId(0), 0, &mut |out| rested.encode(out)).end;
        store.flush(WorkerId(0));
        place
    }
    pub fn is_rest_noted(&self, place: u64) -> bool {
        self.store.as_ref().is_none_or(|store| place <= store.durable(WorkerId(0)))
    }

    /// The local checkpoint that this boot has begun with in a cluster restart, with the part's rows.
    pub(crate) fn loaded_from(&self, part: WorkerId) -> Option<u64> {
        self.loaded.lock().checkpoints.get(&part).copied()
    }

    /// Parts that are to be loaded.
    pub fn parts(&self) -> u16 {
        self.parts
    }

    /// Nothing is, and all of it may be loaded again.
    pub(crate) fn forget_loaded(&self) {
        let mut loaded = self.loaded.lock();
        let looked_us = loaded.figures.looked_us;
        *loaded = Loaded::default();
        loaded.figures.looked_us = looked_us;
        self.parts_loaded.store(0, Ordering::SeqCst);
    }

    /// All are.
    pub(crate) fn is_loaded(&self) -> bool {
        self.parts_loaded.load(Ordering::SeqCst) >= u64::from(self.parts())
    }
}

/// Why what a part of the disk has cannot be loaded.
#[derive(Debug)]
pub enum NotLoaded {
    /// There are more rows than the node has memory for.
    NeedsMemory(String),
    /// It cannot be read, or differs from the written content.
    Unfit(String),
}

impl std::fmt::Display for NotLoaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (NotLoaded::NeedsMemory(why) | NotLoaded::Unfit(why)) = self;
        f.write_str(why)
    }
}

/// What a part of the disk had.
#[derive(Debug, Default)]
pub struct PartLoaded {
    /// In a cluster restart: the local checkpoint that its rows are of.
    checkpoint: Option<(WorkerId, u64)>,
    /// Rows of its local checkpoint, and the bytes of their keys and values.
    pub rows: u64,
    pub row_bytes: u64,
    /// Entries of the log behind it.
    pub entries: u64,
    pub entry_bytes: u64,
    /// Commits that are passed over.
    pub lost: BTreeMap<CommitId, Option<Timestamp>>,
}

impl PartLoaded {
    fn add_block(&mut self, block: &CheckpointBlock<'_>) {
        self.rows += block.rows.len() as u64;
        let size = |row: &CheckpointRow<'_>| (row.key.len() + row.row.len()) as u64;
        self.row_bytes += block.rows.iter().map(size).sum::<u64>();
    }

    fn lose(
        &mut self,
        shard: ShardId,
        transaction: TransactionId,
        joined: &[TransactionId],
        ts: Option<Timestamp>,
    ) {
        for transaction in joined.iter().copied().chain([transaction]) {
            self.lost.insert(CommitId { transaction, shard }, ts);
        }
    }
}

/// What the node has loaded so far.
#[derive(Default)]
pub(crate) struct Loaded {
    figures: NodeLoaded,
    checkpoints: BTreeMap<WorkerId, u64>,
    /// No two parts have the same: each has the logs of its shards.
    lost: BTreeMap<CommitId, Option<Timestamp>>,
}

impl Loaded {
    fn add(&mut self, part: PartLoaded, took_us: Time) {
        let figures = &mut self.figures;
        figures.rows += part.rows;
        figures.row_bytes += part.row_bytes;
        figures.entries += part.entries;
        figures.entry_bytes += part.entry_bytes;
        figures.busy_us += took_us;
        self.checkpoints.extend(part.checkpoint);
        self.lost.extend(part.lost);
    }

    /// The report to the leader, without the durations; with the first lost transactions.
    pub fn told(&self, node: NodeId, parts: u16) -> (NodeLoaded, Vec<LostTransaction>) {
        let lost = LostRange::of(self.lost.values().copied());
        let mut first: Vec<LostTransaction> = self
            .lost
            .iter()
            .map(|(commit, ts)| LostTransaction { commit: *commit, ts: *ts, node })
            .collect();
        first.sort_by_key(|lost| (lost.ts, lost.commit));
        first.truncate(LOST_TOLD_MAX);
        (NodeLoaded { node, parts, lost, ..self.figures }, first)
    }
}

/// The replicas of a node take what its disk has.
struct Loading<'a> {
    node: &'a NodeShared,
    to_load: &'a ToLoad,
    loaded: PartLoaded,
    /// What has ended it is that.
    needs_memory: bool,
}

impl Loading<'_> {
    /// Nothing is done for a shard that the node does not keep.
    fn with(
        &mut self,
        shard: ShardId,
        load: impl FnOnce(&mut Shard) -> Result<(), NotLoaded>,
    ) -> Result<(), String> {
        let loaded = match self.to_load.is_restart() {
            true => self.node.shard(shard).map_or(Ok(()), |mut shard| load(&mut shard)),
            false => self.to_load.with_candidate(shard, load),
        };
        loaded.map_err(|not_loaded| {
            self.needs_memory = matches!(not_loaded, NotLoaded::NeedsMemory(_));
            not_loaded.to_string()
        })
    }
}

impl Rows for Loading<'_> {
    fn change(
        &mut self,
        shard: ShardId,
        table: TableId,
        key: &[u8],
        change: RowChange<'_>,
        ts: Timestamp,
    ) -> Result<(), String> {
        self.with(shard, |shard| shard.load_row(table, key, change, ts))
    }
    fn commit(&mut self, shard: ShardId, writes: &[Write], ts: Timestamp) -> Result<(), String> {
        self.with(shard, |shard| shard.load_writes(writes, ts))
    }
    fn add(
        &mut self,
        shard: ShardId,
        table: TableId,
        rows: &[CheckpointRow<'_>],
    ) -> Result<(), String> {
        self.with(shard, |shard| shard.load_rows(table, rows))
    }
    fn clear(&mut self, shard: ShardId) -> Result<(), String> {
        let state = &self.to_load.state;
        self.with(shard, |shard| {
            shard.clear(state);
            Ok(())
        })
    }
    fn pass_over(&mut self, commit: PassedOver<'_>) {
        if Some(commit.lineage) == self.to_load.ended {
            self.loaded.lose(commit.shard, commit.transaction, commit.joined, commit.ts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two disks of which one was left behind, while checkpoints followed each other at once: they have some of its last points in
    /// common, and each reports a bounded number.
    #[test]
    fn disks_have_points_in_common() {
        let points = |range: std::ops::Range<u64>| {
            told(range.map(|at| DiskPoint { at: Timestamp(at), lineage: Lineage(1) }).collect())
        };
        let latest = points(1_000..100_000);
        let told_max = POINTS_TOLD_IN_FULL + POINTS_ZEROS_MAX as usize * POINTS_TOLD_THINNED;
        assert_eq!(latest.len(), told_max);
        assert!((100_000 - 512..100_000).all(|at| latest.iter().any(|point| point.at.0 == at)));
        for behind in [100, 2_000, 16_000] {
            let older = points(1_000..100_000 - behind);
            let common = (&latest & &older).last().map(|point| point.at.0);
            let lost = common.map(|common| 100_000 - behind - common);
            assert!(lost.is_some_and(|lost| lost < 1_024), "{behind}: {lost:?}");
        }
        assert_eq!(points(5..9).len(), 4);
    }
}
