//! Local checkpoints: now and then each worker writes the rows of its shards to its part of the disk, so that the log before that can go.
//!
//! Rows are taken a few at a time beside the load, as they are in the log at that moment, so a checkpoint is of no one moment: with it
//! belongs the log from where the shard's part of it was begun, and of that whatever is newer than the row that was copied. What had not
//! ended then is in the log from its first record on.
//!
//! It can be begun with at its newest row's timestamp or later: when a global checkpoint that has that is done, and its place is in the log
//! that is left, those before it go, and the log before it (R19). It is begun when the log has grown by half of what the
//! rows take, so a part that nobody writes to is never written again; where the disk is short of room sooner, because it frees the log.

use protocol::disk::{CheckpointBlock, CheckpointContents};
use protocol::message::Room;
use types::wire::Wire;
use types::{ShardId, TableId, Timestamp};

use crate::limits::CHECKPOINT_PAUSE_US;
use crate::node::Mutation;
use crate::participant;
use crate::worker::{Context, Time};

#[derive(Default)]
pub struct LocalCheckpoints {
    running: Option<Running>,
    ended: Option<Ended>,
    /// Where the log began that belongs with the last one.
    log_from: u64,
    /// There was no room for the last one: none is begun before this.
    begin_next: Time,
    has_told_no_room: bool,
}

struct Running {
    contents: CheckpointContents,
    log_from: u64,
    /// Shards to be written, the one that is being written first.
    left: Vec<ShardId>,
    /// Where that one stands: behind this key of this table.
    table: Option<TableId>,
    after: Option<Vec<u8>>,
    is_in_shard: bool,
}

/// It is being written, or cannot be relied on yet.
struct Ended {
    /// The number of the one before it, if there is one.
    before: Option<u64>,
    contents: CheckpointContents,
    log_from: u64,
    /// All its logs are closed behind where it begins, and at its newest row or later, at this.
    closed_at: Option<Timestamp>,
}

/// Some rows of a shard for its checkpoint, and where the next ones are.
pub(crate) struct Piece {
    pub block: Option<CheckpointBlock>,
    pub newest: Timestamp,
    /// None: that was all.
    pub next: Option<(TableId, Option<Vec<u8>>)>,
}

impl LocalCheckpoints {
    /// Begins one when it is time, and relies on the last one when it may.
    pub(crate) fn on_tick(&mut self, context: &mut Context<'_>) {
        let Some(store) = context.node.store.clone() else { return };
        let part = context.address.worker;
        if let Some(ended) = &mut self.ended {
            let Ended { before, contents, log_from, closed_at } = ended;
            if closed_at.is_none() {
                *closed_at = participant::closed_behind(contents, context);
            }
            let written = store.checkpoint_written(part);
            if let Some(number) = written.filter(|number| *before < Some(*number))
                && (closed_at.is_some_and(|at| at <= context.node.checkpointed())
                    || context.node.mutation == Mutation::CheckpointTooNew)
            {
                store.accept_checkpoint(part, number);
                self.log_from = *log_from;
                self.ended = None;
                self.has_told_no_room = false;
            } else if written == *before && !store.is_writing_checkpoint(part) {
                self.ended = None;
                self.on_no_room(context);
            }
        }
        let grown = store.end(part).saturating_sub(self.log_from.max(store.begin(part)));
        let is_short = context.node.room_of(context.address.node) != Room::Ample;
        let is_due = context.node.log_growth_max(is_short) <= grown;
        if is_due
            && self.begin_next <= context.now
            && self.running.is_none()
            && self.ended.is_none()
        {
            self.begin(context);
        }
        self.go_on(context);
    }

    /// The one before it stays, and the log behind that.
    fn on_no_room(&mut self, context: &mut Context<'_>) {
        self.begin_next = context.now + CHECKPOINT_PAUSE_US;
        if !std::mem::replace(&mut self.has_told_no_room, true) {
            let said = "there was no room on the disk for a local checkpoint: it is tried again, and until then the log grows; make some";
            context.outbox.log.push(said.into());
        }
    }

    fn begin(&mut self, context: &mut Context<'_>) {
        let left = participant::owned_shards(context);
        if left.is_empty() || participant::is_filled_here(context) {
            return;
        }
        let store = context.node.store.as_ref().expect("the caller looked");
        store.begin_checkpoint(context.address.worker);
        let lineage = context.state.lineage;
        self.running = Some(Running {
            contents: CheckpointContents { newest: Timestamp::ZERO, lineage, shards: Vec::new() },
            log_from: u64::MAX,
            left,
            table: None,
            after: None,
            is_in_shard: false,
        });
    }

    /// Some rows, and behind what waits for this worker the next ones.
    pub(crate) fn go_on(&mut self, context: &mut Context<'_>) {
        let Some(running) = &mut self.running else { return };
        let store = context.node.store.clone().expect("else none is begun");
        let part = context.address.worker;
        if !store.has_room(part) {
            return;
        }
        let Some(shard) = running.left.first().copied() else {
            let Running { contents, log_from, .. } = self.running.take().expect("just seen");
            let before = store.checkpoint_written(part);
            store.end_checkpoint(part, log_from, contents.to_bytes());
            self.ended = Some(Ended { before, contents, log_from, closed_at: None });
            return;
        };
        if let Some(replica) = context.node.shard(shard) {
            if !running.is_in_shard {
                let from = replica.log_from(context);
                running.is_in_shard = true;
                running.log_from = running.log_from.min(from);
                running.contents.shards.push((shard, from));
            }
            let at = running.table.map(|table| (table, running.after.as_deref()));
            let piece = replica.checkpoint_piece(at, context.now);
            running.contents.newest = running.contents.newest.max(piece.newest);
            if let Some(block) = piece.block {
                store.add_block(part, block.to_bytes());
            }
            match piece.next {
                Some((table, after)) => (running.table, running.after) = (Some(table), after),
                None => {
                    running.left.remove(0);
                    (running.table, running.after, running.is_in_shard) = (None, None, false);
                }
            }
        }
        context.checkpoint_later();
    }
}
