//! Applying the log's entries: a pure function of the state and the entry, the same on every voter.

use protocol::control::{
    ControlEntry, ControlOutcome, ControlState, Group, Member, MemberState, RequestRecord,
    Sequencer,
};
use types::{BUCKET_COUNT, GroupId, Incarnation, NodeId, ShardId, View};

/// Applies one entry. The outcome is of a schema change that was not applied before.
pub(super) fn apply(state: &mut ControlState, entry: &ControlEntry) -> Option<ControlOutcome> {
    state.applied += 1;
    match entry {
        ControlEntry::RegisterNode { node, incarnation } => {
            // A node that is there already keeps its boot: another one is not the member that the view names (R5).
            if state.config.node(*node).is_some() {
                state.incarnations.entry(*node).or_insert(*incarnation);
                form(state);
            }
            None
        }
        ControlEntry::ChangeSchema { requester, incarnation, sequence, change } => {
            if let Some(record) = state.requests.get(requester)
                && record.incarnation == *incarnation
                && record.sequence >= *sequence
            {
                return None;
            }
            let outcome = match super::schema::change(&mut state.catalogue, change) {
                Ok(()) => ControlOutcome::Done(state.catalogue.version),
                Err(error) => ControlOutcome::Refused(error),
            };
            let record = RequestRecord {
                incarnation: *incarnation,
                sequence: *sequence,
                outcome: outcome.clone(),
            };
            state.requests.insert(*requester, record);
            Some(outcome)
        }
        ControlEntry::RemoveDropped => {
            super::schema::remove_dropped(&mut state.catalogue);
            None
        }
        ControlEntry::ExcludeNode { node, incarnation } => {
            // Two may have proposed it, or the view may have changed since: what is not so any more does nothing.
            if state.may_exclude(*node, *incarnation) {
                exclude(state, *node, *incarnation);
            }
            None
        }
    }
}

/// Forms the first views when the last data node is there: groups in the order of node ids, primaries in turn over the
/// members, buckets in turn over all shards, the sequencer on the first data node.
fn form(state: &mut ControlState) {
    let nodes = state.config.data_nodes();
    let complete = nodes.iter().all(|node| state.incarnations.contains_key(node));
    if state.is_formed() || !complete {
        return;
    }
    let shards_per_group = state.config.shards_per_group;
    let grouped: Vec<Vec<NodeId>> =
        nodes.chunks(usize::from(state.config.replicas)).map(<[NodeId]>::to_vec).collect();
    for (group, members) in (0u16..).zip(&grouped) {
        let shards = (0..shards_per_group).map(|index| ShardId(group * shards_per_group + index));
        let primaries = shards.zip(members.iter().copied().cycle()).collect();
        let member = |node: &NodeId| Member {
            node: *node,
            incarnation: state.incarnations[node],
            state: MemberState::Active,
        };
        let members = members.iter().map(member).collect();
        state.groups.insert(GroupId(group), Group { view: View(1), members, primaries });
    }
    let shard_count = state.shard_count();
    state.buckets = (0..BUCKET_COUNT).map(|bucket| ShardId(bucket % shard_count)).collect();
    state.sequencer = Some(Sequencer { node: nodes[0], epoch: 1 });
}

/// Takes a node out of its group's view: every bucket keeps its shard, and the other member leads them all. The views of all
/// groups are one higher: locks are gone with the node, so what a coordinator that has not heard of it does next, wherever that
/// is, must not be done.
fn exclude(state: &mut ControlState, node: NodeId, incarnation: Incarnation) {
    state.excluded.insert(node, incarnation);
    for group in state.groups.values_mut() {
        group.view = View(group.view.0 + 1);
    }
    let Some(id) = state.group_of_node(node) else { return };
    let group = state.groups.get_mut(&id).expect("just found");
    group.members.retain(|member| member.node != node);
    let heir = group.members.first().expect("there were two").node;
    for primary in group.primaries.values_mut().filter(|primary| **primary == node) {
        *primary = heir;
    }
    let sequencer = state.sequencer.as_mut().expect("formed");
    if sequencer.node == node {
        // Its partner: whoever asked the dead one to stamp a record can stamp it then.
        *sequencer = Sequencer { node: heir, epoch: sequencer.epoch + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::control::{ClusterConfig, NodeConfig};
    use types::ClusterId;

    fn config(data: u16, replicas: u16) -> ClusterConfig {
        let voter = NodeConfig { id: NodeId(1), voter: true, data: false, workers: 1 };
        let others = (2..data + 2).map(|id| NodeConfig {
            id: NodeId(id),
            voter: false,
            data: true,
            workers: 2,
        });
        ClusterConfig {
            cluster: ClusterId(7),
            nodes: std::iter::once(voter).chain(others).collect(),
            replicas,
            shards_per_group: replicas * 2,
        }
    }

    /// Views are formed with the last data node's registration, not before; a second boot of a node changes nothing; every
    /// member is primary of as many shards, and every shard has its share of the buckets.
    #[test]
    fn views_are_formed_once_and_evenly() {
        for (data, replicas) in [(1, 1), (2, 2), (3, 3), (4, 2), (8, 4)] {
            let config = config(data, replicas);
            assert_eq!(config.check(), Ok(()));
            let mut state = ControlState::new(config.clone(), crate::bootstrap_catalogue());
            for node in config.data_nodes() {
                assert!(!state.is_formed());
                let incarnation = Incarnation(u64::from(node.0));
                apply(&mut state, &ControlEntry::RegisterNode { node, incarnation });
            }
            assert!(state.is_formed());
            let again =
                ControlEntry::RegisterNode { node: NodeId(2), incarnation: Incarnation(99) };
            apply(&mut state, &again);
            assert_eq!(state.incarnations[&NodeId(2)], Incarnation(2));
            for group in state.groups.values() {
                for member in &group.members {
                    let led = group.primaries.values().filter(|node| **node == member.node).count();
                    assert_eq!(led, 2, "{data} nodes, {replicas} replicas");
                }
            }
            let share = usize::from(BUCKET_COUNT) / usize::from(state.shard_count());
            for shard in state.shards() {
                let buckets = state.buckets.iter().filter(|owner| **owner == shard).count();
                assert!(buckets.abs_diff(share) <= 1);
            }
        }
    }

    /// The partner leads what the excluded node led, and is the sequencer in the next epoch if that was it; all views are one
    /// higher. Said twice, of another boot, of the last member or of one of three, it changes nothing.
    #[test]
    fn exclusion_leaves_the_partner() {
        for (data, replicas) in [(2, 2), (4, 2), (3, 3), (2, 1)] {
            let config = config(data, replicas);
            let mut state = ControlState::new(config.clone(), crate::bootstrap_catalogue());
            for node in config.data_nodes() {
                let incarnation = Incarnation(u64::from(node.0));
                apply(&mut state, &ControlEntry::RegisterNode { node, incarnation });
            }
            let exclude = |state: &mut ControlState, node: u16, boot: u64| {
                let (node, incarnation) = (NodeId(node), Incarnation(boot));
                apply(state, &ControlEntry::ExcludeNode { node, incarnation });
                state.excluded.len()
            };
            assert_eq!(exclude(&mut state, 2, 99), 0, "another boot");
            let count = usize::from(replicas == 2);
            assert_eq!(exclude(&mut state, 2, 2), count, "{data} nodes, {replicas} replicas");
            if count == 0 {
                continue;
            }
            assert_eq!(exclude(&mut state, 2, 2), 1, "once");
            assert_eq!(exclude(&mut state, 3, 3), 1, "the last of its group");
            assert_eq!(state.sequencer, Some(Sequencer { node: NodeId(3), epoch: 2 }));
            assert!(state.groups.values().all(|group| group.view == View(2)));
            let led = state.group(GroupId(0)).primaries.values();
            assert!(led.copied().all(|node| node == NodeId(3)));
            assert_eq!(state.data_nodes().len(), usize::from(data) - 1);
        }
    }
}
