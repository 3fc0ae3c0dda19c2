//! Local checkpoints: now and then each worker writes the rows of its shards to its part of the disk, so that the log before that can go.
//!
//! Rows are taken a few at a time beside the load, as they are in the log at that moment, so a checkpoint is of no one moment: with it
//! belongs the log from where the shard's part of it was begun, and of that whatever is newer than the row that was copied. What had not
//! ended then is in the log from its first record on.
//!
//! It is written in sections, one for a table's rows in a shard. Where nothing of them has changed since the section of the checkpoint
//! before was begun, that one is kept: a partition remembers the section that has its rows, until one of them changes, be it by something
//! that is pending; and what was pending while it was copied, and may not be in it, has it forgotten too.
//!
//! It can be begun with at its newest row's timestamp or later: when a global checkpoint that has that is done, and its place is in the log
//! that is left, those before it go, and the log before it (R19). What cannot be read back as it was written never becomes one. It is
//! begun when the log has grown by seven sixteenths of what the rows take, so a part that nobody writes to is never written again; where
//! the disk is short of room sooner, because it frees the log. It takes its time: whoever is served meanwhile should not notice. Its rows
//! are copied when the log has grown by five eighths of that again.

use std::collections::BTreeMap;
use std::ops::Range;

use protocol::disk::{CheckpointBlockWriter, CheckpointContents, CheckpointSection};
use protocol::message::Room;
use types::wire::Wire;
use types::{ShardId, TableId, Timestamp};

use crate::limits::{
    CHECKPOINT_BLOCK_BYTES, CHECKPOINT_BYTES_PER_SECOND_MIN, CHECKPOINT_PAUSE_US,
    CHECKPOINTS_REFUSED_MAX,
};
use crate::node::Mutation;
use crate::participant::{self, Shard};
use crate::store::Store;
use crate::worker::{Context, Time};

#[derive(Default)]
pub struct LocalCheckpoints {
    running: Option<Running>,
    ended: Option<Ended>,
    /// Of the checkpoints that there are; None until the first is begun.
    sections: Option<BTreeMap<u64, CheckpointSection>>,
    /// The number of the last section that was begun, or found.
    section_last: u64,
    /// Where the log began that belongs with the last one.
    log_from: u64,
    /// The last one was given up: none is begun before this.
    begin_next: Time,
    has_told_no_room: bool,
    /// So many of the last ones could not be read back.
    refused: u32,
}

struct Running {
    contents: CheckpointContents,
    log_from: u64,
    /// Shards to be written, the one that is being written first.
    left: Vec<ShardId>,
    is_in_shard: bool,
    /// The last table of it that was written, or kept.
    done: Option<TableId>,
    table: Option<RunningTable>,
    pace: Pace,
    /// A message that goes on is on its way to this worker.
    is_going_on: bool,
}

/// The table that is being written.
struct RunningTable {
    section: CheckpointSection,
    /// Rows up to this key are.
    after: Option<Vec<u8>>,
    block: CheckpointBlockWriter,
    /// A block has been given to the disk.
    is_begun: bool,
    has_pending: bool,
}

/// How fast a checkpoint is written.
struct Pace {
    began: Time,
    log_end: u64,
    /// By so much the log may grow until it is done.
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
    /// Its log, up to where the last of its shards begins.
    log: Range<u64>,
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

impl LocalCheckpoints {
    /// Begins one when it is time, and relies on the last one when it may.
    pub(crate) fn on_tick(&mut self, context: &mut Context<'_>) {
        let Some(store) = context.node.store.clone() else { return };
        let part = context.address.worker;
        if let Some(ended) = &mut self.ended {
            let Ended { before, contents, log, closed_at } = ended;
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
                self.log_from = log.start;
                self.sections = Some(by_number(std::mem::take(&mut contents.sections)));
                self.ended = None;
                self.has_told_no_room = false;
                self.refused = 0;
            } else if written == *before && !is_writing {
                self.ended = None;
                self.on_given_up(store.checkpoint_refused(part), context);
            }
        }
        let grown = store.end(part).saturating_sub(self.log_from.max(store.begin(part)));
        let is_short = context.node.room_of(context.address.node) != Room::Ample;
        let growth_max = context.node.log_growth_max(is_short);
        if growth_max <= grown
            && self.begin_next <= context.now
            && self.running.is_none()
            && self.ended.is_none()
        {
            self.begin(growth_max, context);
        }
        if self.running.as_ref().is_some_and(|running| !running.is_going_on) {
            self.go_on(context);
        }
    }

    /// The one before it stays, and the log behind that. It may have been refused because it could not be read back as it was written:
    /// after some of them others go on without this node, before its log has filled its disk. It hands over like one that is asked to
    /// stop, so of two with the same fault one stays.
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

    fn begin(&mut self, growth_max: u64, context: &mut Context<'_>) {
        let left = participant::owned_shards(context);
        if left.is_empty() || participant::is_filled_here(context) {
            return;
        }
        let store = context.node.store.as_ref().expect("the caller looked");
        let part = context.address.worker;
        if self.sections.is_none() {
            let found = store.checkpoints(part).into_iter();
            // What it does not understand it does not keep: with such contents no restart was begun here.
            let contents =
                found.filter_map(|one| CheckpointContents::from_bytes(&one.contents).ok());
            let sections = by_number(contents.flat_map(|contents| contents.sections).collect());
            self.section_last = sections.keys().last().copied().unwrap_or(0);
            self.sections = Some(sections);
        }
        let sections = self.sections.as_ref().expect("just made");
        let to_write = |shard: &ShardId| {
            let is_kept = |number: u64| sections.contains_key(&number);
            context.node.shard(*shard).map_or(0, |shard| shard.rows_unless_saved(is_kept))
        };
        let rows_expected = left.iter().map(to_write).sum();
        store.begin_checkpoint(part);
        let lineage = context.state.lineage;
        self.running = Some(Running {
            contents: CheckpointContents {
                newest: Timestamp::ZERO,
                lineage,
                shards: Vec::new(),
                sections: Vec::new(),
            },
            log_from: u64::MAX,
            left,
            is_in_shard: false,
            done: None,
            table: None,
            pace: Pace {
                began: context.now,
                log_end: store.end(part),
                log_growth: growth_max / 8 * 5,
                rows_expected,
                rows: 0,
                bytes: 0,
            },
            is_going_on: false,
        });
    }

    /// A message has come that was to go on.
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
        if running.left.is_empty() {
            let Running { contents, log_from, .. } = self.running.take().expect("just seen");
            let before = store.checkpoint_written(part);
            let log_to = contents.shards.iter().map(|(_, from)| *from).max().unwrap_or(0);
            let log = log_from..log_to;
            store.end_checkpoint(part, log.clone(), contents.to_bytes());
            self.ended = Some(Ended { before, contents, log, closed_at: None });
            return;
        }
        let sections = self.sections.as_ref().expect("begun with them");
        running.go_on_in_shard(sections, &mut self.section_last, context);
        running.is_going_on = true;
        context.checkpoint_later();
    }
}

impl Running {
    fn go_on_in_shard(
        &mut self,
        sections: &BTreeMap<u64, CheckpointSection>,
        section_last: &mut u64,
        context: &mut Context<'_>,
    ) {
        let shard = self.left[0];
        let part = context.address.worker;
        let store = context.node.store.as_ref().expect("else none is begun");
        let Some(mut replica) = context.node.shard(shard) else {
            self.left.remove(0);
            return;
        };
        if !self.is_in_shard {
            let from = replica.log_from(context);
            self.is_in_shard = true;
            self.log_from = self.log_from.min(from);
            self.contents.shards.push((shard, from));
        }
        if let Some(table) = self.table.take() {
            self.copy_some(table, &mut replica, store.as_ref(), context);
        } else if let Some(table) = replica.next_table(self.done) {
            self.done = Some(table);
            let saved = match context.node.mutation {
                Mutation::ChangedNotWritten => {
                    let is_its = |section: &&CheckpointSection| {
                        (section.shard, section.table) == (shard, table)
                    };
                    sections.values().find(is_its)
                }
                _ => replica.saved_in(table).and_then(|number| sections.get(&number)),
            };
            if let Some(section) = saved {
                store.keep_section(part, section.number);
                self.add_section(*section);
                return;
            }
            *section_last += 1;
            replica.set_saved(table, Some(*section_last));
            self.table = Some(RunningTable::new(*section_last, shard, table));
        } else {
            self.contents.newest = self.contents.newest.max(replica.complete_from());
            self.left.remove(0);
            (self.done, self.is_in_shard) = (None, false);
        }
    }

    fn copy_some(
        &mut self,
        mut table: RunningTable,
        replica: &mut Shard,
        store: &dyn Store,
        context: &Context<'_>,
    ) {
        let part = context.address.worker;
        let CheckpointSection { number, table: id, .. } = table.section;
        let copied = replica.copy_rows(id, table.after.as_deref(), &mut table.block);
        let RowsCopied { rows, bytes, newest, has_pending, next_after } =
            copied.unwrap_or_default();
        self.pace.rows += rows as u64;
        self.pace.bytes += bytes as u64;
        // Of rows that were deleted up to the horizon nothing may be left.
        let pruned = match context.node.mutation {
            Mutation::DeletedNotWaitedFor => Timestamp::ZERO,
            _ => context.node.horizon(),
        };
        table.section.newest = table.section.newest.max(newest).max(pruned);
        table.has_pending |= has_pending;
        let is_last = next_after.is_none();
        if CHECKPOINT_BLOCK_BYTES <= table.block.size() || is_last && !table.block.is_empty() {
            if !std::mem::replace(&mut table.is_begun, true) {
                store.begin_section(part, number);
            }
            let buffer = store.add_block(part, table.block.take());
            table.block.use_buffer(buffer);
        }
        if !is_last {
            self.table = Some(RunningTable { after: next_after, ..table });
        } else if table.is_begun {
            if table.has_pending {
                replica.set_saved(id, None);
            }
            self.add_section(table.section);
        } else {
            replica.set_saved(id, None);
            self.contents.newest = self.contents.newest.max(table.section.newest);
        }
    }

    fn add_section(&mut self, section: CheckpointSection) {
        self.contents.newest = self.contents.newest.max(section.newest);
        self.contents.sections.push(section);
    }
}

impl RunningTable {
    fn new(number: u64, shard: ShardId, table: TableId) -> RunningTable {
        RunningTable {
            section: CheckpointSection { number, shard, table, newest: Timestamp::ZERO },
            after: None,
            block: CheckpointBlockWriter::new(shard, table),
            is_begun: false,
            has_pending: false,
        }
    }
}

fn by_number(sections: Vec<CheckpointSection>) -> BTreeMap<u64, CheckpointSection> {
    sections.into_iter().map(|section| (section.number, section)).collect()
}
