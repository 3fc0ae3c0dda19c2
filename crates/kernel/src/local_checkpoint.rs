//! Local checkpoints: now and then each worker writes rows of its shards to its part of the disk, so that the log before that can go.
//!
//! Rows are taken a few at a time beside the load, as they are in the log at that moment, so a checkpoint is of no one moment: with it
//! belongs the log from where its oldest rows were copied, and of that whatever is newer than the row that was copied. What had not
//! ended then is in the log from its first record on.
//!
//! A checkpoint is written in sections, a range of keys of a table in a shard each, and the next
//! one keeps as many as it can:
//!
//! - Sections whose table has not changed in the shard since they were begun are as good as new. A partition remembers the first
//!   of them until a row changes, also by a pending version; a version that was pending while the section was copied, and may be
//!   missing in it, makes the partition forget it, too.
//! - Of the others, those that were copied last, with the log that belongs with them. So checkpoints *take turns*: each writes the
//!   oldest eighth of the changed sections again, and frees the log that only those needed. On the disk there are the rows, an
//!   eighth of them a second time, and the log of one round.
//!
//! A restart can begin with a local checkpoint at the timestamp of its newest row or later. When a global checkpoint with that
//! timestamp is done, and the log still has the checkpoint's place, the checkpoints and the log before it are removed
//! (rule R19). Files that cannot be read back as they were written never become a checkpoint. A round lasts until the log has
//! grown by seven sixteenths of the size of the rows, so a part without writes is never written again; where the disk is short of
//! room a round is shorter, because it frees the log. Copying is slow, so that sessions do not notice: the rows of a turn are
//! copied by the time the log has grown by five eighths of its growth in a turn.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use protocol::disk::{CheckpointContents, CheckpointSection};
use protocol::message::Room;
use types::wire::Wire;
use types::{ShardId, TableId, Timestamp, WorkerId};

use self::running::Running;
use crate::limits::{
    CHECKPOINT_BYTES_PER_SECOND_MIN, CHECKPOINT_LOOK_US, CHECKPOINT_PAUSE_US,
    CHECKPOINTS_REFUSED_MAX,
};
use crate::node::Mutation;
use crate::participant;
use crate::store::Store;
use crate::worker::{Context, Time};

mod running;

#[derive(Default)]
pub struct LocalCheckpoints {
    running: Option<Running>,
    ended: Option<Ended>,
    /// The last one that may be relied on.
    last: Last,
    /// Those were looked at that there were when the process started.
    has_looked: bool,
    /// The number of the last section that was begun, or found.
    section_last: u64,
    /// The last one was given up: none is begun before this.
    begin_next: Time,
    has_told_no_room: bool,
    /// So many of the last ones could not be read back.
    refused: u32,
}

/// What the next checkpoint may keep.
#[derive(Default)]
struct Last {
    newest: Timestamp,
    /// In the order of their keys.
    sections: BTreeMap<(ShardId, TableId), Vec<CheckpointSection>>,
    /// The log from here on belongs with it, and where it ended when it was begun.
    log_from: u64,
    log_end: u64,
}

/// How fast a checkpoint is written.
struct Pace {
    began: Time,
    log_end: u64,
    /// Growth of the log until the checkpoint is done.
    log_growth: u64,
    /// Those that it will have to copy, about.
    rows_expected: u64,
    rows: u64,
    bytes: u64,
}

impl Pace {
    /// It has come further than it needs to by now.
    fn is_ahead(&self, now: Time, log_end: u64) -> bool {
        let bytes_by_now = CHECKPOINT_BYTES_PER_SECOND_MIN * (now - self.began) / 1_000_000;
        let grown = u128::from(log_end - self.log_end) * u128::from(self.rows_expected);
        let rows_by_now = grown / u128::from(self.log_growth.max(1));
        bytes_by_now < self.bytes && rows_by_now < u128::from(self.rows)
    }
}

/// It is being written, or cannot be relied on yet.
struct Ended {
    /// The number of the one before it, if there is one.
    before: Option<u64>,
    contents: CheckpointContents,
    /// Its log, up to where the last of its shards was begun.
    log: Range<u64>,
    /// Where that ended when it was begun.
    log_end: u64,
    /// All its logs are closed behind where it begins, and at its newest row or later, at this.
    closed_at: Option<Timestamp>,
}

/// Some rows that were copied for a checkpoint.
#[derive(Default)]
pub(crate) struct RowsCopied {
    pub rows: usize,
    pub bytes: usize,
    /// Of them and of deletions.
    pub newest: Timestamp,
    pub has_pending: bool,
    /// The next ones are behind this key. None: that was all.
    pub next_after: Option<Vec<u8>>,
}

/// A table of a shard, for a local checkpoint.
pub(crate) struct TableSaved {
    pub table: TableId,
    pub rows: u64,
    /// Sections from this one on have its rows as they are.
    pub saved: Option<u64>,
}

impl TableSaved {
    fn is_in(&self, section: &CheckpointSection) -> bool {
        self.saved.is_some_and(|first| first <= section.number)
    }
}

impl LocalCheckpoints {
    /// Begins one when it is time, and relies on the last one when it may.
    pub(crate) fn on_tick(&mut self, context: &mut Context<'_>) {
        let Some(store) = context.node.store.clone() else { return };
        let part = context.address.worker;
        if let Some(ended) = &mut self.ended {
            let Ended { before, contents, log, log_end, closed_at } = ended;
            if closed_at.is_none() {
                *closed_at = participant::closed_behind(contents, context);
            }
            // In this order: one that is not being written any more is written, or was given up.
            let is_writing = store.is_writing_checkpoint(part);
            let written = store.checkpoint_written(part);
            if let Some(number) = written.filter(|number| *before < Some(*number))
                && (closed_at.is_some_and(|at| at <= context.node.checkpointed())
                    || context.node.mutation == Mutation::CheckpointTooNew)
                // A node that is excluded, and has not heard of it, may hear of checkpoints that its own disk was not waited for.
                && log.end <= store.durable(part)
            {
                store.accept_checkpoint(part, number);
                let (log_from, log_end) = (log.start, *log_end);
                let contents = self.ended.take().expect("just seen").contents;
                self.last = Last::new(contents, log_from, log_end);
                self.has_told_no_room = false;
                self.refused = 0;
            } else if written == *before && !is_writing {
                // One without any rows, at a fill, is tried again.
                self.has_looked &= !contents.shards.is_empty();
                self.ended = None;
                self.on_given_up(store.checkpoint_refused(part), context);
            }
        }
        let is_under_way = self.running.is_some() || self.ended.is_some();
        if !is_under_way && self.begin_next <= context.now {
            if !self.has_looked {
                self.look_first(store.as_ref(), context);
            }
            let growth = Growth::of(store.as_ref(), &self.last, context);
            if growth.is_due() && self.ended.is_none() {
                self.begin(growth, context);
            }
        }
        if self.running.as_ref().is_some_and(|running| !running.is_going_on) {
            self.go_on(context);
        }
    }

    /// The checkpoint before it stays, and the log behind that. If it was refused because it could
    /// not be read back as it was written, the others continue without this node after some
    /// refusals, before its log has filled its disk. The node hands over like one that an operator
    /// stops, so of two with the same fault one stays.
    fn on_given_up(&mut self, refused: Option<String>, context: &mut Context<'_>) {
        self.begin_next = context.now + CHECKPOINT_PAUSE_US;
        let said = match refused {
            Some(what) => {
                self.refused += 1;
                let stops = CHECKPOINTS_REFUSED_MAX <= self.refused && !context.node.is_last();
                let then = match stops {
                    true => {
                        context.outbox.stop = Some(false);
                        "it is not the first one: this node hands over what it leads and stops, and others that have its rows go on: \
                         look at the device, and start the node when that is well"
                    }
                    false => {
                        "the one before it stays, it is written again, and until then the log grows: look at the device"
                    }
                };
                format!("a local checkpoint cannot be read back as it was written: {what}; {then}")
            }
            None if std::mem::replace(&mut self.has_told_no_room, true) => return,
            None => "there was no room on the disk for a local checkpoint: it is tried again, and until then the log grows; make some"
                .into(),
        };
        context.outbox.log.push(said);
    }

    /// Before the first checkpoint, when there are shards. Where these are filled, from the log,
    /// the earlier content of their part of the disk is obsolete: it takes no more room when a
    /// checkpoint without any rows has the log from there on.
    fn look_first(&mut self, store: &dyn Store, context: &mut Context<'_>) {
        if participant::owned_shards(context).is_empty() {
            return;
        }
        if !participant::is_filled_here(context) {
            return self.look(store, context);
        }
        let Some(log) = participant::begun_on_disk(context) else { return };
        self.look(store, context);
        let (part, lineage) = (context.address.worker, context.state.lineage);
        let (newest, log_end) = (Timestamp::ZERO, log.end);
        let (shards, sections) = (Vec::new(), Vec::new());
        let contents = CheckpointContents { newest, lineage, shards, sections };
        store.begin_checkpoint(part);
        self.ended = Some(Ended::new(contents, log, log_end, part, store));
    }

    /// Examines the checkpoints that there were when the process started, and continues with the
    /// one that its rows were loaded from in a restart. A checkpoint with contents that it does not
    /// understand is dropped: none with such contents was begun here.
    fn look(&mut self, store: &dyn Store, context: &Context<'_>) {
        self.has_looked = true;
        let part = context.address.worker;
        let loaded_from = context.node.loaded_from(part);
        for found in store.checkpoints(part) {
            let Ok(contents) = CheckpointContents::from_bytes(&found.contents) else { continue };
            let numbers = contents.sections.iter().map(|section| section.number);
            self.section_last = numbers.fold(self.section_last, u64::max);
            if loaded_from == Some(found.number) {
                // It was begun when the last of them was.
                let begins = contents.sections.iter().map(|section| section.begin);
                let log_end = begins.max().unwrap_or(0);
                self.last = Last::new(contents, found.log_from, log_end);
            }
        }
    }

    fn begin(&mut self, mut growth: Growth, context: &mut Context<'_>) {
        let left = participant::owned_shards(context);
        if left.is_empty() || participant::is_filled_here(context) {
            return;
        }
        let store = context.node.store.as_ref().expect("the caller looked");
        let part = context.address.worker;
        let last = &self.last;
        let mut choice = Choice::default();
        let mut log_from = u64::MAX;
        for shard in &left {
            let Some(replica) = context.node.shard(*shard) else { continue };
            let from = replica.log_from(context);
            log_from = log_from.min(from);
            for table in replica.tables_saved() {
                choice.look_at(&table, last.sections_of(*shard, table.table), from);
            }
        }
        // What is behind a transaction that is open would not go.
        growth.piled_up = log_from.saturating_sub(last.log_from.max(store.begin(part)));
        if !growth.is_due() {
            self.begin_next = context.now + CHECKPOINT_LOOK_US;
            return;
        }
        // Where there is little room, or was none for the last one, a larger one is not tried.
        let is_small = growth.is_short || self.has_told_no_room;
        let share = if is_small { growth.of_turn() } else { growth.to_make_up() };
        let (chosen, rows_expected) = choice.choose(share, growth.of_round);
        store.begin_checkpoint(part);
        let lineage = context.state.lineage;
        let contents = CheckpointContents {
            // What was deleted, and is in none of the sections that are kept, counts in it, too.
            newest: last.newest,
            lineage,
            shards: Vec::new(),
            sections: Vec::new(),
        };
        let pace = Pace {
            began: context.now,
            log_end: store.end(part),
            log_growth: growth.of_turn() / 8 * 5,
            rows_expected,
            rows: 0,
            bytes: 0,
        };
        self.running = Some(Running::new(contents, left, chosen, pace));
    }

    /// The message to continue has come.
    pub(crate) fn on_go_on(&mut self, context: &mut Context<'_>) {
        if let Some(running) = &mut self.running {
            running.is_going_on = false;
            self.go_on(context);
        }
    }

    /// Some rows, and behind what waits for this worker the next ones, unless there is time.
    fn go_on(&mut self, context: &mut Context<'_>) {
        let Some(running) = &mut self.running else { return };
        let store = context.node.store.clone().expect("else none is begun");
        let part = context.address.worker;
        let is_short = context.node.room_of(context.address.node) != Room::Ample;
        let may_wait = !is_short && running.pace.is_ahead(context.now, store.end(part));
        if may_wait || !store.has_room(part) {
            return;
        }
        if running.is_done() {
            let running = self.running.take().expect("just seen");
            let Running { contents, log_from, log_to, pace, .. } = running;
            let (log, log_end) = (log_from..log_to, pace.log_end);
            self.ended = Some(Ended::new(contents, log, log_end, part, store.as_ref()));
            return;
        }
        running.go_on(&self.last, &mut self.section_last, context);
        running.is_going_on = true;
        context.checkpoint_later();
    }
}

impl Ended {
    fn new(
        contents: CheckpointContents,
        log: Range<u64>,
        log_end: u64,
        part: WorkerId,
        store: &dyn Store,
    ) -> Ended {
        let before = store.checkpoint_written(part);
        store.end_checkpoint(part, log.clone(), contents.to_bytes());
        Ended { before, contents, log, log_end, closed_at: None }
    }
}

impl Last {
    fn new(contents: CheckpointContents, log_from: u64, log_end: u64) -> Last {
        let mut sections: BTreeMap<(ShardId, TableId), Vec<CheckpointSection>> = BTreeMap::new();
        for section in contents.sections {
            sections.entry((section.shard, section.table)).or_default().push(section);
        }
        Last { newest: contents.newest, sections, log_from, log_end }
    }

    fn sections_of(&self, shard: ShardId, table: TableId) -> &[CheckpointSection] {
        self.sections.get(&(shard, table)).map_or(&[], Vec::as_slice)
    }
}

/// How much a part's log has grown, and may.
struct Growth {
    /// Since the last checkpoint was begun.
    grown: u64,
    /// What belongs with that, and would go if all were written.
    piled_up: u64,
    of_round: u64,
    turns: u64,
    is_short: bool,
}

impl Growth {
    fn of(store: &dyn Store, last: &Last, context: &Context<'_>) -> Growth {
        let part = context.address.worker;
        let (begin, end) = (store.begin(part), store.end(part));
        let is_short = context.node.room_of(context.address.node) != Room::Ample;
        Growth {
            grown: end.saturating_sub(last.log_end.max(begin)),
            piled_up: end.saturating_sub(last.log_from.max(begin)),
            of_round: context.node.log_growth_max(is_short),
            turns: context.node.checkpoint_turns(),
            is_short,
        }
    }

    fn of_turn(&self) -> u64 {
        self.of_round.div_ceil(self.turns)
    }

    /// The next one is to be begun: at the end of a turn, or because more has piled up than in a round, while there was no room or no
    /// global checkpoint.
    fn is_due(&self) -> bool {
        self.of_turn() <= self.grown || self.of_round + 2 * self.of_turn() <= self.piled_up
    }

    /// The part of a round's growth that the next checkpoint makes up for: sections written again
    /// are there twice meanwhile, so of a backlog not much more than a turn.
    fn to_make_up(&self) -> u64 {
        let (turn, too_much) = (self.of_turn(), self.piled_up.saturating_sub(self.of_round));
        self.grown.max(too_much.clamp(turn, turn + turn / 2))
    }
}

/// Which sections are written again.
#[derive(Default)]
struct Choice<'a> {
    /// Bytes of tables with sections that have changed.
    bytes: u64,
    /// Those of the sections that give log back.
    changed: Vec<&'a CheckpointSection>,
    /// Of tables that have no section.
    rows_new: u64,
}

impl<'a> Choice<'a> {
    /// A table of a shard whose log would begin at `from` now.
    fn look_at(&mut self, table: &TableSaved, sections: &'a [CheckpointSection], from: u64) {
        if sections.is_empty() {
            self.rows_new += table.rows;
        }
        let mut changed = sections.iter().filter(|section| !table.is_in(section)).peekable();
        if changed.peek().is_some() {
            self.bytes += sections.iter().map(|section| section.bytes).sum::<u64>();
        }
        self.changed.extend(changed.filter(|section| section.begin < from));
    }

    /// The share of them by which the log has grown of a round, the oldest first. With the rows that will be copied.
    fn choose(mut self, grown: u64, of_round: u64) -> (BTreeSet<u64>, u64) {
        let grown = u128::from(grown.min(of_round));
        let bytes = u128::from(self.bytes) * grown / u128::from(of_round.max(1));
        self.changed.sort_unstable_by_key(|section| (section.begin, section.number));
        let (mut chosen, mut rows_expected, mut sum) = (BTreeSet::new(), self.rows_new, 0);
        for section in self.changed {
            if bytes <= sum && !chosen.is_empty() {
                break;
            }
            chosen.insert(section.number);
            rows_expected += section.rows;
            sum += u128::from(section.bytes);
        }
        (chosen, rows_expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sections of ten bytes and five rows each, as (where its log begins, number).
    fn table(sections: &[(u64, u64)], saved: Option<u64>) -> (TableSaved, Vec<CheckpointSection>) {
        let section = |(begin, number): &(u64, u64)| CheckpointSection {
            number: *number,
            shard: ShardId(1),
            table: TableId(3),
            up_to: None,
            begin: *begin,
            rows: 5,
            bytes: 10,
        };
        let saved = TableSaved { table: TableId(3), rows: 7, saved };
        (saved, sections.iter().map(section).collect())
    }

    fn chosen(
        tables: &[(TableSaved, Vec<CheckpointSection>)],
        (grown, of_round): (u64, u64),
    ) -> (Vec<u64>, u64) {
        let mut choice = Choice::default();
        tables.iter().for_each(|(table, sections)| choice.look_at(table, sections, 55));
        let (chosen, rows_expected) = choice.choose(grown, of_round);
        (chosen.into_iter().collect(), rows_expected)
    }

    /// As much as the log has grown of a round, the oldest first: in a round all is written once, however its turns fall.
    #[test]
    fn what_is_oldest_is_written() {
        let changed = || table(&[(40, 4), (10, 1), (30, 3), (20, 2)], None);
        assert_eq!(chosen(&[changed()], (25, 100)), (vec![1], 5));
        assert_eq!(chosen(&[changed()], (30, 100)), (vec![1, 2], 10));
        assert_eq!(chosen(&[changed()], (75, 100)), (vec![1, 2, 3], 15));
        assert_eq!(chosen(&[changed()], (900, 100)), (vec![1, 2, 3, 4], 20));
        // Never nothing: a large section is written, too.
        assert_eq!(chosen(&[changed()], (1, 100)), (vec![1], 5));
    }

    /// Unchanged sections are not written, tables without one always. A table without further writes is done in a round.
    #[test]
    fn what_has_changed_is_written() {
        let quiet = || table(&[(10, 1), (20, 2)], Some(1));
        assert_eq!(chosen(&[quiet()], (50, 100)), (vec![], 0));
        assert_eq!(chosen(&[quiet(), table(&[], None)], (50, 100)), (vec![], 7));
        // Two of four have been written since it changed last: half of four are the other two.
        let calmed = table(&[(50, 5), (10, 1), (20, 2), (60, 6)], Some(5));
        assert_eq!(chosen(&[quiet(), calmed], (50, 100)), (vec![1, 2], 10));
        // One that begins where a transaction is open would have the same log.
        let held = table(&[(55, 1), (54, 2)], None);
        assert_eq!(chosen(&[held], (100, 100)), (vec![2], 5));
    }

    /// A turn begins when the log has grown by an eighth of a round, or with a backlog, which it makes up for.
    #[test]
    fn when_a_turn_is_due() {
        let growth =
            |grown, piled_up| Growth { grown, piled_up, of_round: 800, turns: 8, is_short: false };
        let due = |grown, piled_up| {
            let growth = growth(grown, piled_up);
            (growth.is_due(), growth.to_make_up())
        };
        assert_eq!(due(99, 940), (false, 140));
        assert_eq!(due(100, 850), (true, 100));
        assert_eq!(due(130, 700), (true, 130));
        assert_eq!(due(10, 1_000), (true, 150));
        assert_eq!(due(10, 3_000), (true, 150));
        assert_eq!(due(700, 3_000), (true, 700));
    }
}
