//! The messages a coordinator sends to shards.

use protocol::Message;
use protocol::message::{Cancel, Decide};
use types::{LogPosition, ShardId, Timestamp, TransactionId};

use crate::node::Mutation;
use crate::worker::Context;

/// Whether this node, the shard's only backup, holds the record. If not, a `CommitOk` follows when it does.
pub(super) fn holds(
    shard: ShardId,
    position: LogPosition,
    transaction: TransactionId,
    request: u64,
    context: &Context<'_>,
) -> bool {
    if context.node.mutation == Mutation::HeldNotAwaited {
        return true;
    }
    let replica = context.node.shard(shard);
    let mut replica = replica.expect("this node is the backup");
    replica.holds_or_tell(position, context.address, transaction, request)
}

/// Sends to the shard's primary.
pub(super) fn send_to_primary(shard: ShardId, message: Message, context: &mut Context<'_>) {
    let primary = context.state.primary(shard);
    context.send_to_replica(shard, primary, message);
}

pub(super) fn send_decide(
    shard: ShardId,
    transaction: TransactionId,
    commit: Option<Timestamp>,
    context: &mut Context<'_>,
) {
    let message = Message::Decide(Decide { transaction, shard, commit });
    send_to_primary(shard, message, context);
}

/// Rolls the transaction back on a shard that may still have an operation of it to do: the
/// operation may have been left to the shard's owner on this node, so the owner gets the decision,
/// behind that.
pub(super) fn send_decide_behind(
    shard: ShardId,
    transaction: TransactionId,
    context: &mut Context<'_>,
) {
    let owner = context.state.owner(shard, context.state.primary(shard));
    let message = Message::Decide(Decide { transaction, shard, commit: None });
    context.send_for(shard, owner, message);
}

/// Waits are on the primary, except a plain read's on this node's own replica: both are told.
pub(super) fn send_cancel(
    shard: ShardId,
    transaction: TransactionId,
    request: u64,
    context: &mut Context<'_>,
) {
    let cancel = Cancel { transaction, request, shard };
    let primary = context.state.primary(shard);
    if primary != context.address.node && context.node.local_shards().contains(&shard) {
        let message = Message::Cancel(cancel.clone());
        context.send_to_replica(shard, context.address.node, message);
    }
    context.send_to_replica(shard, primary, Message::Cancel(cancel));
}
