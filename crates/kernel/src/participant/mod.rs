//! The participant block: executes operations on the shards of this node, commits and replicates them.
//!
//! A shard is the buckets of every table that one worker of a node group keeps: the unit of lock, log and primary. On the
//! primary it has transactions with row locks and pending versions; on a backup, what the primary's records made. Any
//! worker of the node may work on a shard whose lock is free; the owner takes what others left to it.
//!
//! ```text
//!   primary                                                backup
//!   Active --Execute(commit)/Commit--> Committing --ok--> (gone)     Replicate(Commit)   -> committed (replicas = 2: at once;
//!     |                                     ^                                               replicas >= 3: when commit_index says)
//!     +--Prepare--> Prepared --Decide------>+                        Replicate(Prepare)  -> pending, undecided
//!     +--Decide(none)--> (gone, undone)                              Replicate(Decision) -> committed or gone
//! ```
//! In `Committing` and `Prepared` the rows carry a marker: a reader that could be concerned waits for the decision (rule R11).
//! Long transactions end in steps ([`long`]); a crowd that writes one row is decided together ([`join`]). Locks are held
//! until the decision. An operation that must wait is parked
//! with what it has done so far; the end of what it waits for takes it up again.

mod check;
mod commit;
mod commits;
mod disk;
mod execute;
mod join;
mod learner;
mod long;
mod offer;
mod parked;
mod reconcile;
mod replicate;
mod report;
mod scan;
mod shard;
mod takeover;

pub use shard::Shard;

use std::collections::BTreeSet;
use std::ops::Range;

use protocol::Message;
use protocol::disk::CheckpointContents;
use protocol::message::TransactionUnknown;
use types::{Address, IndexId, NodeId, ShardId, TableId, Timestamp, TransactionId, WorkerId};

pub(crate) use self::parked::cut_off;
use self::parked::{WaitsFor, needs_transaction};
use crate::node::{Mutation, ShardGuard};
use crate::worker::{Arrived, Context};
pub(crate) use commits::is_within;

/// The next step of the long transactions, and of the housekeeping, of a shard that this worker owns.
pub fn go_on(shard: ShardId, context: &mut Context<'_>) {
    if let Some(mut shard) = context.node.shard(shard) {
        by_its_view(&mut shard, context, |shard, context| shard.go_on(context));
    }
}

/// Works on a shard by a control state that is as new as the one the shard was brought up to: another worker of the node may have
/// heard of it first.
fn by_its_view<R>(
    shard: &mut Shard,
    context: &mut Context<'_>,
    work: impl FnOnce(&mut Shard, &mut Context<'_>) -> R,
) -> R {
    if shard.applied <= context.state.applied || context.node.mutation == Mutation::WorkerBehind {
        return work(shard, context);
    }
    let state = context.node.state();
    work(shard, &mut context.by_state(&state))
}

/// Routes a message about a shard to its handler, in place if the shard is free, else to its owner.
pub(crate) fn on_message(arrived: Arrived, message: Message, context: &mut Context<'_>) {
    let from = arrived.from.address;
    let shard = shard_of(&message);
    let owner = context.state.owner(shard, context.address.node);
    let node = context.node;
    let replica = if owner == context.address { node.shard(shard) } else { node.try_shard(shard) };
    let Some(mut replica) = replica else {
        if owner != context.address {
            // Busy: the owner takes it. (It waits for the lock, which is held for one handler at most.)
            context.hand_over(owner, arrived, message);
        }
        return;
    };
    let replica = &mut *replica;
    if replica.excluded.contains(&arrived.from.boot) {
        return;
    }
    by_its_view(replica, context, |replica, context| {
        let group = context.state.groups.get(&arrived.group);
        if group.is_some_and(|group| arrived.view < group.lost_in)
            && let Some(unknown) = lost_with_its_view(&message)
        {
            context.send_for(shard, from, Message::TransactionUnknown(unknown));
            return;
        }
        on_shard(replica, from, message, context);
    });
}

fn on_shard(replica: &mut Shard, from: Address, message: Message, context: &mut Context<'_>) {
    match message {
        Message::Execute(m) => replica.on_execute(*m, context),
        Message::Undo(m) => replica.on_undo(&m, context),
        Message::Prepare(m) => replica.on_prepare(&m, context),
        Message::Commit(m) => replica.on_commit(&m, context),
        Message::Decide(m) => replica.on_decide(&m, context),
        Message::Cancel(m) => replica.on_cancel(&m, context),
        Message::Replicate(m) => replica.on_replicate(from, m, context),
        Message::ReplicateOk(m) => replica.on_replicate_ok(from, &m, context),
        Message::CommitIndex(m) => replica.on_commit_index(&m, context),
        Message::JoinMarker(m) => replica.on_join_marker(&m, context),
        Message::OfferAnswer(m) => replica.on_offer_answer(from.node, m, context),
        Message::AskTail(m) => replica.on_ask_tail(from, &m, context),
        Message::Tail(m) => replica.on_tail(from, &m, context),
        Message::AskOutcome(m) => replica.on_ask_outcome(&m, context),
        Message::AskDecision(m) => replica.on_ask_decision(&m, context),
        _ => unreachable!("the worker sends only messages about shards here"),
    }
}

fn shard_of(message: &Message) -> ShardId {
    match message {
        Message::Execute(m) => m.shard,
        Message::Undo(m) => m.shard,
        Message::Prepare(m) => m.shard,
        Message::Commit(m) => m.shard,
        Message::Decide(m) => m.shard,
        Message::Cancel(m) => m.shard,
        Message::Replicate(m) => m.shard,
        Message::ReplicateOk(m) => m.shard,
        Message::CommitIndex(m) => m.shard,
        Message::JoinMarker(m) => m.shard,
        Message::OfferAnswer(m) => m.shard,
        Message::AskTail(m) => m.shard,
        Message::Tail(m) => m.shard,
        Message::AskOutcome(m) => m.shard,
        Message::AskDecision(m) => m.shard,
        _ => unreachable!("the worker sends only messages about shards here"),
    }
}

/// What a coordinator asks for that has not heard of an exclusion, if it goes on with a transaction: that may have lost locks
/// with the node. The answer says that it is gone, and rolls it back.
fn lost_with_its_view(message: &Message) -> Option<TransactionUnknown> {
    let (transaction, request, shard) = match message {
        Message::Execute(m) if m.ops.iter().any(|(_, op)| needs_transaction(&op.kind)) => {
            (m.transaction, m.request, m.shard)
        }
        Message::Prepare(m) => (m.transaction, m.request, m.shard),
        Message::Commit(m) => (m.transaction, m.request, m.shard),
        _ => return None,
    };
    Some(TransactionUnknown { transaction, request, shard })
}

/// A commit timestamp that was asked for has come.
pub fn on_timestamp(
    shard: ShardId,
    transaction: TransactionId,
    ts: Timestamp,
    context: &mut Context<'_>,
) {
    if let Some(mut replica) = context.node.shard(shard) {
        by_its_view(&mut replica, context, |replica, context| {
            replica.on_timestamp(transaction, ts, context);
        });
    }
}

/// Views have changed: on every shard of this node, before any of its workers acts by the new ones. On all at once: another worker would
/// take what it learns of one that has changed, such as the epoch of its timestamps, to one in which a node that is excluded still
/// counts, and still stamps.
pub fn on_views(context: &mut Context<'_>) {
    let node = context.node;
    let shards = node.local_shards().into_iter().filter_map(|id| node.shard(id));
    let mut shards: Vec<ShardGuard<'_>> = shards.collect();
    for shard in &mut shards {
        shard.adopt_view(context);
    }
}

/// A newer control state: tables come, change and go on the shards this worker owns.
pub fn on_state(context: &mut Context<'_>) {
    let state = context.state;
    for_owned(context, |shard, context| {
        shard.adopt_catalogue(&state.catalogue);
        shard.take_early(context);
        shard.go_on_reconciling(context);
        shard.begin_parked(WaitsFor::Schema, context);
        shard.begin_sealed(context);
    });
}

/// Housekeeping of the shards this worker owns: timeouts, garbage, index builds.
pub fn on_tick(context: &mut Context<'_>) {
    for_owned(context, |shard, context| {
        shard.expire_parked(context);
        shard.answer_leased(context);
        shard.begin_sealed(context);
        shard.on_takeover_tick(context);
        shard.watch_disk(context);
        shard.take_early(context);
        shard.on_join_tick(context);
        shard.upkeep(context);
    });
}

/// Seals the shards that this worker owns and leads, and on which nothing of any transaction is left, for the handover that was
/// begun so. True when all are, and the others could be led here: they have all versions that an open snapshot may ask for.
pub fn seal(begun: u64, context: &mut Context<'_>) -> bool {
    let mut all = true;
    for_owned(context, |shard, context| {
        all &= match shard.is_primary() {
            true => shard.seal(begun),
            false => shard.is_complete(context) && !shard.is_reconciling(),
        };
    });
    all
}

/// The logs that this worker owns and leads are to be closed for a global checkpoint.
pub(crate) fn close(at: Timestamp, context: &mut Context<'_>) {
    for_owned(context, |shard, context| shard.close(at, context));
}

/// What the end of transactions on other shards may allow now.
pub(crate) fn go_on_closing(context: &mut Context<'_>) {
    for_owned(context, |shard, context| shard.go_on_closing(context));
}

/// The shards that this worker owns and leads, if all of their logs are closed at this, and without whom nothing is decided there.
pub(crate) fn closed(
    at: Timestamp,
    context: &mut Context<'_>,
) -> Option<(Vec<ShardId>, Vec<NodeId>)> {
    let (mut shards, mut members, mut all) = (Vec::new(), BTreeSet::new(), true);
    for_owned(context, |shard, context| {
        if shard.is_primary() {
            all &= shard.is_closed_at(at);
            shards.push(shard.id);
            members.extend(shard.deciders(context));
        }
    });
    all.then(|| (shards, members.into_iter().collect()))
}

/// The timestamp that the logs of a local checkpoint are all closed at, behind where it begins and at its newest row or later.
pub(crate) fn closed_behind(
    contents: &CheckpointContents,
    context: &mut Context<'_>,
) -> Option<Timestamp> {
    let mut newest = contents.newest;
    for (shard, begin) in &contents.shards {
        let shard = context.node.shard(*shard)?;
        newest = newest.max(shard.closed_behind(*begin).filter(|at| contents.newest <= *at)?);
    }
    Some(newest)
}

/// Is one of the shards that this worker owns being filled?
pub(crate) fn is_filled_here(context: &mut Context<'_>) -> bool {
    let mut any = false;
    for_owned(context, |shard, _| any |= shard.is_learner);
    any
}

/// The log from where the first of the shards that this worker owns begins with nothing, up to where the last one does, if all of them do
/// so: what their part of the disk had before is nobody's then.
pub(crate) fn begun_on_disk(context: &mut Context<'_>) -> Option<Range<u64>> {
    let mut begun = Vec::new();
    for_owned(context, |shard, _| begun.push(shard.begun_on_disk()));
    let begun: Vec<Range<u64>> = begun.into_iter().collect::<Option<_>>()?;
    let first = begun.iter().map(|log| log.start).min()?;
    let last = begun.iter().map(|log| log.end).max()?;
    Some(first..last)
}

/// Are all logs that this worker owns, of primaries and others, on its disk to where they are closed?
pub(crate) fn is_closed_on_disk(at: Timestamp, context: &mut Context<'_>) -> bool {
    let Some(store) = &context.node.store else { return false };
    let durable = store.durable(context.address.worker);
    let mutant = context.node.mutation == Mutation::DiskNotAwaited;
    let mut all = true;
    for_owned(context, |shard, _| {
        all &= shard.closed_place(at).is_some_and(|place| place <= durable || mutant);
    });
    all
}

/// The indexes that the shards this worker owns had no room for, once they have filled all others of the catalogue.
pub fn indexes_given_up(context: &Context<'_>) -> Option<BTreeSet<(TableId, IndexId)>> {
    let mut given_up = BTreeSet::new();
    for id in owned_shards(context) {
        let Some(shard) = context.node.shard(id) else { continue };
        if !shard.indexes_built() {
            return None;
        }
        given_up.extend(shard.indexes_given_up());
    }
    Some(given_up)
}

pub(crate) fn owned_shards(context: &Context<'_>) -> Vec<ShardId> {
    if !context.state.is_formed() {
        return Vec::new();
    }
    let mut shards = context.node.local_shards();
    shards.retain(|shard| context.state.owner(*shard, context.address.node) == context.address);
    shards
}

fn for_owned(context: &mut Context<'_>, mut body: impl FnMut(&mut Shard, &mut Context<'_>)) {
    let node = context.node;
    for id in owned_shards(context) {
        if let Some(mut shard) = node.shard(id) {
            by_its_view(&mut shard, context, &mut body);
        }
    }
}

/// The worker that gives out timestamps and looks for deadlocks.
pub(crate) fn sequencer_address(context: &Context<'_>) -> Option<Address> {
    let sequencer = context.state.sequencer?;
    Some(Address { node: sequencer.node, worker: WorkerId(0) })
}
