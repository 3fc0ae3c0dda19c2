//! The local checkpoint that is being written.

use std::collections::{BTreeSet, VecDeque};

use protocol::disk::{CheckpointBlockWriter, CheckpointContents, CheckpointSection};
use types::wire::Bytes;
use types::{ShardId, TableId, Timestamp};

use super::{Last, Pace, RowsCopied};
use crate::limits::CHECKPOINT_BLOCK_BYTES;
use crate::node::Mutation;
use crate::participant::Shard;
use crate::store::Store;
use crate::worker::Context;

pub struct Running {
    pub contents: CheckpointContents,
    /// The log from here on belongs with it, and without that up to there it is of no use.
    pub log_from: u64,
    pub log_to: u64,
    pub pace: Pace,
    /// The message to continue is on its way to this worker.
    pub is_going_on: bool,
    /// Sections of the last one that are written again, if their table has changed.
    chosen: BTreeSet<u64>,
    /// Shards to be written, the one that is being written first.
    left: VecDeque<ShardId>,
    shard: Option<RunningShard>,
}

/// The shard that is being written.
struct RunningShard {
    id: ShardId,
    /// Entries of its log up to here are in the rows copied from now on, and in rows unchanged since.
    from: u64,
    /// And up to here in all of it.
    begin: u64,
    /// The last table that was begun.
    table_last: Option<TableId>,
    table: Option<RunningTable>,
}

/// The table of it that is being written.
struct RunningTable {
    id: TableId,
    left: VecDeque<Span>,
    /// Rows up to this key are done.
    after: Option<Bytes>,
    /// Where its sections begin among those of the checkpoint.
    first: usize,
    section: Option<RunningSection>,
}

/// Keys of a table, behind those before.
enum Span {
    Kept(CheckpointSection),
    /// Up to this one.
    Written(Option<Bytes>),
}

struct RunningSection {
    section: CheckpointSection,
    block: CheckpointBlockWriter,
    /// A block has been given to the disk.
    is_begun: bool,
    has_pending: bool,
}

impl Running {
    pub fn new(
        contents: CheckpointContents,
        left: Vec<ShardId>,
        chosen: BTreeSet<u64>,
        pace: Pace,
    ) -> Running {
        let left = left.into();
        Running {
            contents,
            log_from: u64::MAX,
            log_to: 0,
            pace,
            is_going_on: false,
            chosen,
            left,
            shard: None,
        }
    }

    pub fn is_done(&self) -> bool {
        self.left.is_empty()
    }

    /// The next few rows, or the next section that is kept.
    pub fn go_on(&mut self, last: &Last, section_last: &mut u64, context: &mut Context<'_>) {
        let id = self.left[0];
        let Some(mut replica) = context.node.shard(id) else {
            self.left.pop_front();
            self.shard = None;
            return;
        };
        let mut shard = self.shard.take().unwrap_or_else(|| {
            let from = replica.log_from(context);
            RunningShard { id, from, begin: from, table_last: None, table: None }
        });
        let mutation = context.node.mutation;
        if let Some(table) = &mut shard.table {
            self.go_on_in_table(table, (id, shard.from), &mut replica, section_last, context);
            if table.left.is_empty() {
                shard.table = None;
            }
        } else if let Some(table) = replica.next_table(shard.table_last) {
            let first = self.contents.sections.len();
            shard.begin_table(table, first, last, &self.chosen, &replica, mutation);
        } else {
            self.contents.newest = self.contents.newest.max(replica.complete_from());
            let begin = match mutation {
                Mutation::KeptWithoutItsLog => shard.from,
                _ => shard.begin,
            };
            self.contents.shards.push((id, begin));
            self.log_from = self.log_from.min(begin);
            self.log_to = self.log_to.max(shard.from);
            self.left.pop_front();
            return;
        }
        self.shard = Some(shard);
    }

    fn go_on_in_table(
        &mut self,
        table: &mut RunningTable,
        (shard, from): (ShardId, u64),
        replica: &mut Shard,
        section_last: &mut u64,
        context: &Context<'_>,
    ) {
        let part = context.address.worker;
        let store = context.node.store.as_ref().expect("else none is begun");
        let up_to = match table.left.pop_front().expect("the caller looked") {
            Span::Kept(section) => {
                store.keep_section(part, section.number);
                table.after = section.up_to.clone();
                self.contents.sections.push(section);
                return;
            }
            Span::Written(up_to) => up_to,
        };
        let mut running = table.section.take().unwrap_or_else(|| {
            *section_last += 1;
            replica.note_section(table.id, *section_last);
            RunningSection::new(*section_last, shard, table.id, from)
        });
        let rows_max = context.node.checkpoint_rows_max();
        let span = (table.after.as_deref(), up_to.as_deref());
        let copied = replica.copy_rows(table.id, span, rows_max, &mut running.block);
        // None: the table has been dropped.
        let RowsCopied { rows, bytes, newest, has_pending, next_after } =
            copied.unwrap_or_default();
        self.pace.rows += rows as u64;
        self.pace.bytes += bytes as u64;
        // Of rows that were deleted up to the horizon nothing may be left.
        let pruned = match context.node.mutation {
            Mutation::DeletedNotWaitedFor => Timestamp::ZERO,
            _ => context.node.horizon(),
        };
        self.contents.newest = self.contents.newest.max(newest).max(pruned);
        running.section.rows += rows as u64;
        running.has_pending |= has_pending;
        let is_long = context.node.checkpoint_section_bytes() <= running.bytes();
        let ends = next_after.is_none() || is_long;
        if ends || CHECKPOINT_BLOCK_BYTES <= running.block.size() {
            running.give_block(store.as_ref(), context);
        }
        match next_after {
            Some(key) => {
                table.left.push_front(Span::Written(up_to));
                table.after = Some(Bytes(key));
            }
            None => table.after = up_to,
        }
        if !ends {
            table.section = Some(running);
            return;
        }
        if running.has_pending {
            replica.forget_sections(table.id);
        }
        let section = CheckpointSection { up_to: table.after.clone(), ..running.section };
        if running.is_begun {
            self.contents.sections.push(section);
        } else if section.up_to.is_none()
            // There is no row here, and later changes are in the log: the section before extends to the end, like the one behind.
            && let Some(before) = self.contents.sections[table.first..].last_mut()
        {
            before.up_to = None;
        }
    }
}

impl RunningShard {
    fn begin_table(
        &mut self,
        id: TableId,
        first: usize,
        last: &Last,
        chosen: &BTreeSet<u64>,
        replica: &Shard,
        mutation: Mutation,
    ) {
        self.table_last = Some(id);
        let saved = replica.table_saved(id);
        let mut left: VecDeque<Span> = VecDeque::new();
        for section in last.sections_of(self.id, id) {
            let is_saved = saved.as_ref().is_some_and(|saved| saved.is_in(section));
            if is_saved || mutation == Mutation::ChangedNotWritten {
                let section = CheckpointSection { begin: self.from, ..section.clone() };
                left.push_back(Span::Kept(section));
            } else if !chosen.contains(&section.number) {
                self.begin = self.begin.min(section.begin);
                left.push_back(Span::Kept(section.clone()));
            } else if let Some(Span::Written(up_to)) = left.back_mut() {
                up_to.clone_from(&section.up_to);
            } else {
                left.push_back(Span::Written(section.up_to.clone()));
            }
        }
        if left.is_empty() {
            left.push_back(Span::Written(None));
        }
        self.table = Some(RunningTable { id, left, after: None, first, section: None });
    }
}

impl RunningSection {
    fn new(number: u64, shard: ShardId, table: TableId, begin: u64) -> RunningSection {
        let (up_to, rows, bytes) = (None, 0, 0);
        RunningSection {
            section: CheckpointSection { number, shard, table, up_to, begin, rows, bytes },
            block: CheckpointBlockWriter::new(shard, table),
            is_begun: false,
            has_pending: false,
        }
    }

    /// Bytes of its rows so far.
    fn bytes(&self) -> u64 {
        let waiting = if self.block.is_empty() { 0 } else { self.block.size() as u64 };
        self.section.bytes + waiting
    }

    /// What waits for it, if something does.
    fn give_block(&mut self, store: &dyn Store, context: &Context<'_>) {
        if self.block.is_empty() {
            return;
        }
        let part = context.address.worker;
        if !std::mem::replace(&mut self.is_begun, true) {
            store.begin_section(part, self.section.number);
        }
        self.section.bytes += self.block.size() as u64;
        let buffer = store.add_block(part, self.block.take());
        self.block.use_buffer(buffer);
    }
}
