//! The content of the log of a part, in a backup and in the archive behind it; and the last moment
//! that all parts have.
//!
//! An archive may end, or have a hole, anywhere: its disk was full, a file is damaged, its node was
//! away. So only moments that the marks prove are restored; another requested moment is refused,
//! with the missing part.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use disk::copy::CopyReader;
use kernel::{Span, Survey};
use protocol::backup::{ArchiveContents, ArchiveMark, BackupContents, CopyBlock, History};
use protocol::disk::DiskEntry;
use protocol::message::RecordKind;
use types::wire::Bytes;
use types::{Lineage, ShardId, Timestamp};

use super::pipeline::Pipeline;
use super::{Source, files_below, next_block, text};
use crate::archive::{self, MARK_INTERVAL_US};
use crate::clock::format_unix_micros;

/// Marks follow each other in half a second under load, and in this while nothing is committed; and what a slow disk may take.
const SILENCE_MAX_US: i64 = MARK_INTERVAL_US as i64 + 2_000_000;

/// Longest time before a checkpoint with newer commits is done: half a second as a rule, and the delay of slow disks.
const BEHIND_MAX_US: i64 = 3_000_000;

/// An archive is read so far behind the moment that is wanted: marks of other nodes say the same a little later.
const PASSED_US: i64 = 60_000_000;

/// A part's log, without rows.
#[derive(Default)]
pub(super) struct PartSurvey {
    pub shards: Vec<ShardId>,
    /// The files in the order of the log, and up to where in it each is to be read.
    pub paths: Vec<(PathBuf, u64)>,
    pub survey: Survey,
    /// The log up to here was seen.
    place: u64,
    marks: Vec<Mark>,
    /// At these places its node was a member, and its disk had everything that was committed up to these timestamps.
    attested: Vec<(u64, Timestamp)>,
    /// The replica that began there has got the last of its rows from another one here.
    filled: BTreeMap<(ShardId, u64), u64>,
    newest: Newest,
    /// Timestamps that some shard's log is closed at: a look at them before a closer one.
    closed: BTreeSet<Timestamp>,
    /// Why nothing is known behind `place`, if that is not because the archive ends.
    damage: Vec<String>,
}

/// A mark, and the newest commit that the log has before it.
struct Mark {
    mark: ArchiveMark,
    newest: Timestamp,
}

/// The newest commit of the newest lineage.
#[derive(Default)]
struct Newest {
    lineage: Lineage,
    ts: Timestamp,
}

impl Newest {
    fn add(&mut self, lineage: Lineage, ts: Timestamp) {
        if self.lineage < lineage {
            // What came behind the end of the one before never was.
            *self = Newest { lineage, ts: Timestamp::ZERO };
        }
        if self.lineage == lineage {
            self.ts = self.ts.max(ts);
        }
    }
}

impl PartSurvey {
    pub fn new(shards: Vec<ShardId>) -> PartSurvey {
        PartSurvey { shards, ..PartSurvey::default() }
    }

    pub fn read_backup(
        &mut self,
        path: &Path,
        source: &Source,
        pipeline: &Pipeline,
    ) -> Result<(), String> {
        let mut reader = CopyReader::open(path, source.secret.as_ref()).map_err(text)?;
        let (mut is_whole, mut at) = (false, Timestamp::ZERO);
        while let Some(block) = next_block(&mut reader, pipeline)? {
            match block {
                CopyBlock::Entries(entries) => self.add_all(&entries, path)?,
                CopyBlock::Backup { contents, .. } => at = contents.at,
                CopyBlock::End { up_to } => {
                    self.place = up_to;
                    self.attested.push((up_to, at));
                    is_whole = true;
                }
                _ => {}
            }
        }
        self.paths.push((path.to_path_buf(), u64::MAX));
        match is_whole {
            true => Ok(()),
            false => Err(format!("{} is not whole: its end is missing", path.display())),
        }
    }

    /// The files of the archive that continue where the backup ends, as far as they can be read, and are needed for this moment.
    pub fn read_archive(
        &mut self,
        dir: &Path,
        own: &ArchiveContents,
        until: i64,
        pipeline: &Pipeline,
    ) -> Result<(), String> {
        // By their names: files of other parts may be unreadable.
        let prefix = archive::prefix(own.node, own.part.0, own.store);
        let all = files_below(dir, "archive")?.into_iter();
        let mut files: Vec<(u64, PathBuf)> =
            all.filter_map(|path| Some((archive::first_place(&path, &prefix)?, path))).collect();
        files.sort();
        // The last one that begins where the backup has the log, others that begin there, and those behind it.
        let first = files.iter().map(|(from, _)| *from).rfind(|from| *from <= self.place);
        let Some(first) = first else {
            return Err(format!(
                "{} does not go on where {} ends: the archive was begun after the backup, or is of another cluster",
                dir.display(),
                self.paths[0].0.display()
            ));
        };
        let mut begun = first;
        for (from, path) in files.into_iter().filter(|(from, _)| first <= *from) {
            if self.place < from {
                self.damage.push(format!("what comes before {} is missing", path.display()));
                return Ok(());
            }
            // Nothing is missing, then: the damaged part was there a second time, like a file that had only its name.
            if begun < from {
                self.damage.clear();
            }
            begun = from;
            let own = ArchiveContents { from, ..own.clone() };
            let before = self.place;
            let read = self.read_archive_file(&path, &own, until, pipeline);
            if before < self.place {
                self.damage.clear();
            }
            if self.has_passed(until) {
                break;
            }
            if let Err(why) = read {
                pipeline.go_on()?;
                self.damage.push(why);
            }
        }
        Ok(())
    }

    fn read_archive_file(
        &mut self,
        path: &Path,
        own: &ArchiveContents,
        until: i64,
        pipeline: &Pipeline,
    ) -> Result<(), String> {
        let mut reader = CopyReader::open(path, None).map_err(text)?;
        match next_block(&mut reader, pipeline)? {
            Some(CopyBlock::Archive(contents)) if contents == *own => {}
            // It was just made.
            None => return Ok(()),
            Some(_) => return Err(format!("{} is not what its name says", path.display())),
        }
        self.paths.push((path.to_path_buf(), own.from));
        let mut place = own.from;
        while let Some(block) = next_block(&mut reader, pipeline)? {
            match block {
                CopyBlock::Entries(entries) => {
                    self.add_all(&entries, path)?;
                    place = entries.last().map_or(place, |(place, _)| *place);
                    self.paths.last_mut().expect("just added").1 = place;
                }
                CopyBlock::Mark(mark) => {
                    self.attested.push((place, mark.at));
                    self.add_mark(mark);
                    if self.has_passed(until) {
                        break;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What comes now is of no use for that moment: what other nodes' marks say of it is in this log by now.
    fn has_passed(&self, until: i64) -> bool {
        let last = self.marks.last().map(|last| last.mark.unix_micros);
        last.is_some_and(|last| until.saturating_add(PASSED_US) < last)
    }

    fn add_mark(&mut self, mark: ArchiveMark) {
        if let Some(history) = &mark.history {
            self.newest.add(history.lineage, Timestamp::ZERO);
        }
        self.marks.push(Mark { mark, newest: self.newest.ts });
    }

    fn add_all(&mut self, entries: &[(u64, Bytes)], path: &Path) -> Result<(), String> {
        for (place, bytes) in entries {
            if *place <= self.place {
                continue;
            }
            let entry = DiskEntry::without_rows(bytes)
                .map_err(|error| format!("{}, entry at {place}: {error}", path.display()))?;
            self.add(*place, &entry);
            self.place = *place;
        }
        Ok(())
    }

    fn add(&mut self, place: u64, entry: &DiskEntry) {
        match entry {
            DiskEntry::Begun { shard, .. } => {
                self.filled.insert((*shard, place), place);
            }
            DiskEntry::Stamped { lineage, ts, .. } => self.newest.add(*lineage, *ts),
            DiskEntry::Record { shard, lineage, record, .. } => match &record.kind {
                RecordKind::Commit { ts: Some(ts), .. }
                | RecordKind::Decision { commit: Some(ts) } => self.newest.add(*lineage, *ts),
                RecordKind::Copy { .. } => {
                    let begun = self.filled.range((*shard, 0)..=(*shard, place)).next_back();
                    let begun = begun.map_or(0, |((_, begun), _)| *begun);
                    self.filled.insert((*shard, begun), place);
                }
                RecordKind::Closed { at } => {
                    self.closed.insert(*at);
                }
                _ => {}
            },
            _ => {}
        }
        self.survey.add(place, entry);
    }

    /// Has the log everything that was committed up to this timestamp, and nothing that was not?
    fn has(&self, at: Timestamp, restarts: &BTreeMap<Lineage, Timestamp>) -> bool {
        self.closed.contains(&at)
            && self.shards.iter().all(|shard| {
                let span = self.survey.span(*shard, at, restarts);
                span.is_some_and(|span| self.vouches(*shard, span, at))
            })
    }

    /// Did the replica have everything at this timestamp? Its log is closed there; if it had begun with nothing, it had the last of its
    /// rows before: only a replica that is filled gets copies. And its node has said of this timestamp or a later one that it was a
    /// member with it: not while it was being filled, then, and not of what only it had when it was excluded.
    ///
    /// What the node said before that does not matter. The first timestamp that it says may be older than what it was filled at, and while
    /// nothing is committed it says no other.
    fn vouches(&self, shard: ShardId, span: Span, at: Timestamp) -> bool {
        let filled = self.filled.get(&(shard, span.from));
        let is_own = |place: u64| span.from < place && place < span.replica_ends;
        filled.is_none_or(|filled| *filled < span.to)
            && self.attested.iter().any(|(place, own)| is_own(*place) && at <= *own)
    }

    /// Until when its archive says something.
    fn reach(&self, backup: &BackupContents) -> i64 {
        self.marks.last().map_or(backup.unix_micros, |last| last.mark.unix_micros)
    }
}

/// A global checkpoint that was done by this time.
#[derive(Clone, Copy)]
pub(super) struct Moment<'a> {
    pub at: Timestamp,
    pub unix_micros: i64,
    pub history: &'a History,
}

impl PartSurvey {
    fn moments<'a>(&'a self, backup: &'a BackupContents) -> impl Iterator<Item = Moment<'a>> {
        let mut history = &backup.history;
        let moments = self.marks.iter().map(move |Mark { mark, .. }| {
            history = mark.history.as_ref().unwrap_or(history);
            Moment { at: mark.at, unix_micros: mark.unix_micros, history }
        });
        moments.filter(|moment| backup.at <= moment.at)
    }
}

/// The last moment that is not behind `until` and that the archives of all parts have.
pub(super) fn latest<'a>(
    parts: &'a [PartSurvey],
    until: i64,
    backup: &'a BackupContents,
) -> Result<Moment<'a>, String> {
    if until < backup.unix_micros {
        return Err(format!(
            "the backup is of {}: for an earlier moment take an earlier backup",
            format_unix_micros(backup.unix_micros)
        ));
    }
    let least = parts.iter().min_by_key(|part| part.reach(backup)).expect("a backup has parts");
    if least.reach(backup) < until {
        let because = if least.damage.is_empty() { "" } else { ", because " };
        return Err(format!(
            "the archive ends at {}{because}{}: give that or an earlier moment",
            format_unix_micros(least.reach(backup)),
            least.damage.join("; ")
        ));
    }
    // Of each checkpoint the last time before, and the first time behind: while nothing is committed the same one is marked for days.
    let first = Moment { at: backup.at, unix_micros: backup.unix_micros, history: &backup.history };
    let mut before = BTreeMap::from([(first.at, first)]);
    let mut behind: BTreeMap<Timestamp, Moment<'a>> = BTreeMap::new();
    for moment in parts.iter().flat_map(|part| part.moments(backup)) {
        let is_behind = until < moment.unix_micros;
        let known = if is_behind { &mut behind } else { &mut before };
        let known = known.entry(moment.at).or_insert(moment);
        if (moment.unix_micros < known.unix_micros) == is_behind {
            *known = moment;
        }
    }
    let has_all = |moment: &&Moment<'a>| {
        parts.iter().all(|part| part.has(moment.at, &moment.history.restarts))
    };
    let chosen = before.values().rev().find(has_all);
    let chosen = *chosen.ok_or("the archives of the parts have no moment in common")?;
    // Marks that are missing say that something is, and what was committed meanwhile nobody knows. Those that are there say when there was
    // something newer: without a checkpoint of that, because a disk held it up, the moment is another than the one that was asked for.
    let earliest = |is_it: &dyn Fn(&&Mark) -> bool| {
        let of_parts = parts.iter().filter_map(|part| part.marks.iter().find(is_it));
        of_parts.map(|mark| mark.mark.unix_micros).min()
    };
    let done_from = earliest(&|mark| mark.mark.at == chosen.at).unwrap_or(chosen.unix_micros);
    let newer_from = earliest(&|mark| chosen.at < mark.newest).map(|from| from.max(done_from));
    let silent = (chosen.unix_micros, chosen.unix_micros + SILENCE_MAX_US);
    let held_up = newer_from.map_or(silent, |from| (from, from + BEHIND_MAX_US));
    let is_held_up = held_up.1 < silent.1;
    let (from, to) = if is_held_up { held_up } else { silent };
    if to < until {
        let is_other = |moment: &&Moment<'a>| !is_held_up || chosen.at < moment.at;
        let next = behind.values().filter(is_other).find(has_all);
        let next = next.map(|next| format_unix_micros(next.unix_micros));
        return Err(format!(
            "the archive has nothing between {} and {}: give a moment before or behind it",
            format_unix_micros(from),
            next.unwrap_or_else(|| "its end".into())
        ));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    use disk::copy::CopyWriter;
    use protocol::backup::BackupPart;
    use protocol::message::Record;
    use types::wire::Wire;
    use types::{Catalogue, ClusterId, LogPosition, NodeId, TableId, TransactionId, WorkerId};

    use crate::restore::{find, read_all};

    const SHARD: ShardId = ShardId(0);
    const SECOND: i64 = 1_000_000;

    fn record(kind: RecordKind) -> DiskEntry {
        let record = Record { transaction: TransactionId::default(), kind, writes: Vec::new() };
        let (lineage, position) = (Lineage(1), LogPosition(1));
        DiskEntry::Record { shard: SHARD, lineage, position, record }
    }
    fn closed(at: u64) -> DiskEntry {
        record(RecordKind::Closed { at: Timestamp(at) })
    }
    fn copied(complete_from: u64) -> DiskEntry {
        let complete_from = Timestamp(complete_from);
        record(RecordKind::Copy { table: TableId(9), rows: Vec::new(), complete_from })
    }
    fn begun() -> DiskEntry {
        let (lineage, position) = (Lineage(1), LogPosition(1));
        DiskEntry::Begun { shard: SHARD, lineage, position }
    }
    fn history() -> History {
        let (restarts, catalogue) = (BTreeMap::new(), Catalogue::default());
        History { lineage: Lineage(1), restarts, catalogue }
    }

    fn backup() -> BackupContents {
        BackupContents {
            cluster: ClusterId(1),
            id: 1,
            run: 1,
            at: Timestamp(10),
            unix_micros: 100 * SECOND,
            history: history(),
            parts: Vec::new(),
        }
    }

    /// A part's log, with what its node attests at places.
    fn part(entries: &[(u64, DiskEntry)], attested: &[(u64, u64)]) -> PartSurvey {
        let mut part = PartSurvey::new(vec![SHARD]);
        for (place, entry) in entries {
            part.add(*place, entry);
        }
        part.attested = attested.iter().map(|(place, at)| (*place, Timestamp(*at))).collect();
        part
    }

    fn moments_of(part: &PartSurvey) -> Vec<u64> {
        (0..100).filter(|at| part.has(Timestamp(*at), &BTreeMap::new())).collect()
    }

    /// A moment is taken of a replica's log only where its node has said that it had everything: not of when it was being filled, though
    /// the log is closed then, nor of the end of a log whose node was excluded.
    #[test]
    fn who_was_away_vouches_for_nothing() {
        let log = [
            (10, closed(10)),
            (20, closed(20)),
            (30, begun()),
            (40, closed(30)),
            (50, copied(25)),
            (60, closed(40)),
            (70, closed(50)),
        ];
        assert_eq!(moments_of(&part(&log, &[(15, 10), (75, 50)])), [10, 40, 50]);
        assert_eq!(moments_of(&part(&log, &[(15, 10)])), [10], "it was never filled");
        assert_eq!(
            moments_of(&part(&log, &[(15, 10), (65, 30)])),
            [10],
            "it says less than it has"
        );
    }

    /// While nothing is committed a node that has come back says one timestamp again and again: it counts as soon as it says it.
    #[test]
    fn who_has_come_back_vouches_for_what_stands_still() {
        let log = [(10, closed(10)), (20, begun()), (30, copied(10)), (40, closed(40))];
        assert_eq!(moments_of(&part(&log, &[(15, 10), (45, 40)])), [10, 40]);
    }

    fn marked(entries: &[(u64, DiskEntry)], marks: &[(i64, u64)]) -> PartSurvey {
        let last = entries.last().map_or(0, |(place, _)| *place);
        let attested: Vec<(u64, u64)> = marks.iter().map(|(_, at)| (last + 1, *at)).collect();
        let mut part = part(entries, &attested);
        let mark = |(seconds, at): &(i64, u64)| ArchiveMark {
            unix_micros: seconds * SECOND,
            at: Timestamp(*at),
            history: None,
        };
        part.marks = marks.iter().map(mark).map(|mark| Mark { newest: mark.at, mark }).collect();
        part
    }

    /// What the marks leave out is refused, not answered with what was long before; the moments around it are named, and are restored.
    #[test]
    fn holes_are_named() {
        let backup = backup();
        let log = [(10, closed(10)), (20, closed(20)), (30, closed(30)), (40, closed(40))];
        // The second node makes no mark for a minute, in which the first continues.
        let whole = [(100, 10), (105, 20), (130, 30), (165, 40), (170, 40)];
        let parts =
            [marked(&log, &whole), marked(&log[..2], &[(105, 20)]), marked(&log, &[(170, 40)])];
        let take = |parts: &[PartSurvey], until: i64| {
            let moment = latest(parts, until * SECOND, &backup);
            moment.map(|moment| (moment.at.0, moment.unix_micros / SECOND))
        };
        assert_eq!(take(&parts[..1], 131), Ok((30, 130)));
        assert_eq!(take(&parts[..1], 137), Ok((30, 130)), "no later than marks may be");
        let said = take(&parts[..1], 140).unwrap_err();
        assert!(said.contains("nothing between 1970-01-01T00:02:10"), "{said}");
        assert!(said.contains("and 1970-01-01T00:02:45"), "{said}");
        assert_eq!(take(&parts[..1], 130), Ok((30, 130)), "the moment that is named");
        assert_eq!(take(&parts[..1], 165), Ok((40, 165)));
        let said = take(&parts[..2], 140).unwrap_err();
        assert!(said.contains("ends at 1970-01-01T00:01:45"), "{said}");
        let mut away = marked(&log, &[(105, 20), (170, 40)]);
        away.closed.remove(&Timestamp(30));
        let parts = [marked(&log, &whole), away];
        assert_eq!(take(&parts, 110), Ok((20, 105)));
        let said = take(&parts, 131).unwrap_err();
        assert!(said.contains("between 1970-01-01T00:01:45"), "{said}");
        assert!(said.contains("and 1970-01-01T00:02:45"), "{said}");
        assert_eq!(
            take(&parts, 172).unwrap_err().split(':').next(),
            Some("the archive ends at 1970-01-01T00")
        );
    }

    /// While a disk holds up the checkpoints, marks go on as they do while nothing is committed: what is newer in the log tells.
    #[test]
    fn a_checkpoint_that_is_held_up_is_no_moment() {
        let backup = backup();
        let commit = |lineage: u64, ts: u64| {
            let (ts, lineage) = (Some(Timestamp(ts)), Lineage(lineage));
            let kind = RecordKind::Commit { ts, participants: Vec::new(), joined: Vec::new() };
            let DiskEntry::Record { shard, position, record, .. } = record(kind) else {
                unreachable!("it is a record")
            };
            DiskEntry::Record { shard, lineage, position, record }
        };
        let mut part = PartSurvey::new(vec![SHARD]);
        let mark = |part: &mut PartSurvey, seconds: i64, at: u64, lineage: Option<u64>| {
            let history = lineage.map(|of| History { lineage: Lineage(of), ..history() });
            let (unix_micros, at) = (seconds * SECOND, Timestamp(at));
            part.attested.push((part.place + 1, at));
            part.add_mark(ArchiveMark { unix_micros, at, history });
        };
        part.add(10, &closed(20));
        // Nothing is committed for a minute, then something; its checkpoint is done half a minute later.
        (100..=160).step_by(5).for_each(|second| mark(&mut part, second, 20, None));
        part.add(20, &commit(1, 30));
        (161..=191).step_by(5).for_each(|second| mark(&mut part, second, 20, None));
        part.add(30, &closed(30));
        (192..=212).step_by(5).for_each(|second| mark(&mut part, second, 30, None));
        // It is lost in a restart, which nothing is committed behind.
        part.add(40, &commit(1, 50));
        mark(&mut part, 213, 30, None);
        (220..=300).step_by(5).for_each(|second| mark(&mut part, second, 30, Some(2)));
        let parts = [part];
        let take = |until: i64| latest(&parts, until * SECOND, &backup).map(|moment| moment.at.0);
        assert_eq!((take(158), take(163), take(193), take(212)), (Ok(20), Ok(20), Ok(30), Ok(30)));
        let said = take(180).unwrap_err();
        assert!(said.contains("nothing between 1970-01-01T00:02:41"), "{said}");
        assert!(said.contains("and 1970-01-01T00:03:12"), "{said}");
    }

    /// A file of a backup that is another one, or shorter, when its rows are read than when it was looked through: nothing gets its name.
    #[test]
    fn a_file_that_changes_meanwhile_is_found_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node-2.part-0.backup");
        let write = |run: u64, is_whole: bool| {
            let _ = std::fs::remove_file(&path);
            let own = BackupPart { node: NodeId(2), part: WorkerId(0), shards: Vec::new() };
            let contents = BackupContents { run, parts: vec![own], ..backup() };
            let mut writer = CopyWriter::create_open(&path, [7; 24]).unwrap();
            let first = CopyBlock::Backup { contents, part: 0, store: 5 };
            writer.add(&first.to_bytes()).unwrap();
            if is_whole {
                writer.add(&CopyBlock::End { up_to: 10 }.to_bytes()).unwrap();
            }
        };
        write(1, true);
        let source = Source { dir: dir.path().to_path_buf(), secret: None, until: None };
        let found = find(&source, &Pipeline::new(1)).unwrap();
        for (run, is_whole, is_same) in [(1, true, true), (1, false, false), (2, true, false)] {
            write(run, is_whole);
            let pipeline = Pipeline::new(1);
            read_all(&found, &BTreeMap::new(), &[], &pipeline, 1);
            let failure = pipeline.failure().unwrap_or_default();
            assert_eq!(failure.is_empty(), is_same, "{run} {is_whole}: {failure}");
            assert!(is_same || failure.contains("another one than it was"), "{failure}");
        }
    }

    /// The end of an archive is where something is damaged or missing; files of others, and such as have got no further than their names,
    /// are nobody's business.
    #[test]
    fn damage_is_an_end() {
        let dir = tempfile::tempdir().unwrap();
        let own = ArchiveContents {
            cluster: ClusterId(1),
            node: NodeId(2),
            part: WorkerId(0),
            store: 5,
            from: 0,
        };
        let prefix = archive::prefix(own.node, 0, own.store);
        let path = |from: u64, number: u32| {
            dir.path().join(format!("{prefix}{from:020}-{number:04}.archive"))
        };
        let write = |from: u64, to: u64| {
            let mut writer = CopyWriter::create_open(&path(from, 1), [from as u8; 24]).unwrap();
            let contents = ArchiveContents { from, ..own.clone() };
            writer.add(&CopyBlock::Archive(contents).to_bytes()).unwrap();
            for place in (from + 10..=to).step_by(10) {
                let entries = vec![(place, Bytes(closed(place).to_bytes()))];
                writer.add(&CopyBlock::Entries(entries).to_bytes()).unwrap();
                let (unix_micros, at) = (place as i64 * SECOND, Timestamp(place));
                let mark = ArchiveMark { unix_micros, at, history: None };
                writer.add(&CopyBlock::Mark(mark).to_bytes()).unwrap();
            }
        };
        write(0, 30);
        write(30, 60);
        write(60, 90);
        let pipeline = Pipeline::new(1);
        let until = std::cell::Cell::new(i64::MAX);
        let read = || {
            let mut part = PartSurvey::new(vec![SHARD]);
            part.paths.push((dir.path().to_path_buf(), u64::MAX));
            part.read_archive(dir.path(), &own, until.get(), &pipeline).map(|()| part)
        };
        let reads = |place: u64, damaged: &str| {
            let part = read().unwrap();
            assert_eq!((part.place, part.marks.len() as u64), (place, place / 10));
            let damage = part.damage.join("; ");
            assert!(damage.contains(damaged), "{damage}");
            // Leftovers are passed over; they are told of where the archive ends, for they may be why.
            assert!(part.damage.len() <= 2, "{damage}");
            let ends = part.paths.iter().skip(1).map(|(_, up_to)| *up_to).collect::<Vec<_>>();
            assert_eq!(ends.last(), Some(&place));
        };
        reads(90, "");
        // What is behind a moment by more than a minute is not read for it.
        until.set(-31 * SECOND);
        reads(30, "");
        until.set(i64::MAX);
        for name in
            ["old.archive".into(), "node-2.part-0.0.archive".into(), format!("{prefix}x.archive")]
        {
            std::fs::write(dir.path().join(name), "not ours").unwrap();
        }
        std::fs::write(path(60, 0), "").unwrap();
        std::fs::write(path(30, 2), "cut").unwrap();
        reads(90, "");
        let second = std::fs::read(path(30, 1)).unwrap();
        let mut flipped = second.clone();
        let middle = flipped.len() * 2 / 3;
        flipped[middle] ^= 1;
        std::fs::write(path(30, 1), flipped).unwrap();
        let part = read().unwrap();
        assert!((30..60).contains(&part.place), "{}", part.place);
        assert!(part.damage.join("; ").contains(&path(30, 1).display().to_string()));
        std::fs::write(path(30, 1), second).unwrap();
        let third = std::fs::read(path(60, 1)).unwrap();
        let mut flipped = third.clone();
        flipped[70] ^= 1;
        std::fs::write(path(60, 1), flipped).unwrap();
        let part = read().unwrap();
        let damage = part.damage.join("; ");
        assert!(damage.contains(&path(60, 1).display().to_string()), "{damage}");
        assert_eq!(part.place, 60);
        std::fs::remove_file(path(60, 1)).unwrap();
        std::fs::write(path(90, 0), third).unwrap();
        reads(60, "what comes before");
        pipeline.fail("it was aborted".into());
        assert_eq!(read().err().as_deref(), Some("it was aborted"));
    }
}
