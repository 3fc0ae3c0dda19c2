//! Applying the log's entries: a pure function of the state and the entry, the same on every voter.

use protocol::control::{
    ControlEntry, ControlOutcome, ControlState, Group, Handover, HandoverPurpose, Member,
    MemberState, RequestRecord, Restart, RestartMember, SchemaRequest, Sequencer,
};
use types::{BUCKET_COUNT, GroupId, Incarnation, Lineage, NodeId, ShardId, Timestamp, View};

/// Applies one entry. The outcome is of a schema change that was not applied before.
pub(crate) fn apply(state: &mut ControlState, entry: &ControlEntry) -> Option<ControlOutcome> {
    state.applied += 1;
    match entry {
        ControlEntry::RegisterNode { node, incarnation, home, has_rows } => {
            // A node that is there already keeps its boot: another one is not the member that the view names (rule R5).
            let is_free = !state.incarnations.contains_key(node) && !state.is_over(*incarnation);
            // Rows come from its members' disks: other nodes are admitted when it is done.
            let is_restarting = state.restart.is_some();
            if let Some(config) = state.config.node(*node)
                && is_free
                && !(config.data && is_restarting)
            {
                if config.voter {
                    state.voter_homes.entry(*node).or_insert(*home);
                }
                state.homes.insert(*node, *home);
                let comes_back = state.is_formed() && config.data;
                state.incarnations.insert(*node, *incarnation);
                if comes_back {
                    learn(state, *node, *incarnation, *has_rows);
                } else if !is_restarting {
                    form(state);
                }
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
            let request = SchemaRequest {
                requester: *requester,
                incarnation: *incarnation,
                sequence: *sequence,
            };
            let outcome = match super::schema::change(state, &request, change) {
                Ok(()) => {
                    // The boot that closes a table may be over by now.
                    super::schema::open_abandoned(state);
                    ControlOutcome::Done(state.catalogue.version)
                }
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
            super::schema::remove_dropped(state);
            None
        }
        ControlEntry::ExcludeNode { node, incarnation } => {
            // Two nodes may have proposed it, or the view may have changed since: an outdated entry has no effect.
            if state.may_exclude(*node, *incarnation) {
                exclude(state, *node, *incarnation);
            }
            None
        }
        ControlEntry::PromoteNode { node, incarnation } => {
            if state.may_promote(*node, *incarnation) {
                promote(state, *node);
            }
            None
        }
        ControlEntry::BeginHandover { node, incarnation, purpose } => {
            if state.may_hand_over(*node, *incarnation, *purpose) {
                let (node, incarnation, purpose) = (*node, *incarnation, *purpose);
                let begun = state.applied;
                state.handover = Some(Handover { node, incarnation, purpose, begun });
            }
            None
        }
        ControlEntry::EndHandover { begun, done } => {
            if let Some(handover) = state.handover.take_if(|handover| handover.begun == *begun)
                && *done
            {
                hand_over(state, handover);
            }
            None
        }
        ControlEntry::BeginRestart { after, at, is_clean, is_lossy, members } => {
            if *after + 1 == state.applied {
                begin_restart(state, *at, *is_clean, *is_lossy, members);
            }
            None
        }
        ControlEntry::EndRestart { begun, report } => {
            if let Some(restart) = state.restart.take_if(|restart| restart.begun == *begun) {
                let first = state.groups.values().flat_map(Group::active).next();
                let node = first.expect("a restart has members");
                state.sequencer = Some(Sequencer { node, epoch: restart.epoch });
                state.restarted = Some(report.clone());
            }
            None
        }
    }
}

/// Nothing is under way anywhere: no locks go with the node.
fn hand_over(state: &mut ControlState, handover: Handover) {
    let Handover { node, incarnation, purpose, .. } = handover;
    match purpose {
        HandoverPurpose::Leave => exclude(state, node, incarnation),
        HandoverPurpose::Share => {
            let id = state.group_of_node(node).expect("a change of views gives a handover up");
            let group = state.groups.get_mut(&id).expect("just found");
            group.view = View(group.view.0 + 1);
            group.primaries = group.shares();
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
        state
            .groups
            .insert(GroupId(group), Group { view: View(1), lost_in: View(0), members, primaries });
    }
    let shard_count = state.shard_count();
    state.buckets = (0..BUCKET_COUNT).map(|bucket| ShardId(bucket % shard_count)).collect();
    state.sequencer = Some(Sequencer { node: nodes[0], epoch: 1 });
}

/// All boots that had rows are over, and the members take part anew: each group is led by those whose disks are loaded. The lineage is
/// another one from now on, so what the one before had behind `at` can never come back.
fn begin_restart(
    state: &mut ControlState,
    at: Timestamp,
    is_clean: bool,
    is_lossy: bool,
    members: &[RestartMember],
) {
    let (sequencer, before) = (state.sequencer.take(), state.restart.take());
    let (epoch, ended, is_clean, is_lossy, last) = match (sequencer, before) {
        (Some(sequencer), _) => {
            let last = state.groups.values().flat_map(super::restart::active).cloned().collect();
            (sequencer.epoch, state.lineage, is_clean, is_lossy, last)
        }
        // A restart that was begun and not ended: no client was served since, and its knowledge holds if the next begins the same way.
        (None, Some(restart)) => {
            let is_clean = restart.is_clean && restart.at == at;
            let is_lossy = is_lossy || restart.is_lossy;
            (restart.epoch, restart.ended, is_clean, is_lossy, restart.last)
        }
        (None, None) => return,
    };
    // Behind a timestamp that a restart goes back to nothing of the lineages before is left either, for all restarts to come.
    for end in state.restarts.values_mut() {
        *end = (*end).min(at);
    }
    state.restarts.insert(state.lineage, at);
    state.lineage = Lineage(state.lineage.0 + 1);
    let (begun, epoch) = (state.applied, epoch + 1);
    state.restart = Some(Restart { begun, at, epoch, ended, is_clean, is_lossy, last });
    state.handover = None;
    super::schema::settle(state);
    for node in state.config.data_nodes() {
        if let Some(boot) = state.incarnations.remove(&node) {
            state.excluded.insert(boot, node);
        }
    }
    for RestartMember { node, incarnation } in members {
        state.excluded.remove(incarnation);
        state.incarnations.insert(*node, *incarnation);
    }
    let ids: Vec<GroupId> = state.groups.keys().copied().collect();
    for id in ids {
        let of_group = members.iter().filter(|member| configured_group(state, member.node) == id);
        let members = of_group.map(|member| {
            let RestartMember { node, incarnation } = *member;
            Member { node, incarnation, state: MemberState::Active }
        });
        let members: Vec<Member> = members.collect();
        let group = state.groups.get_mut(&id).expect("just listed");
        group.view = View(group.view.0 + 1);
        group.lost_in = group.view;
        group.members = members;
        group.primaries = group.shares();
    }
}

/// The group that the configuration puts a data node into.
pub(super) fn configured_group(state: &ControlState, node: NodeId) -> GroupId {
    let place = state.config.data_nodes().iter().position(|other| *other == node);
    let index = place.expect("a data node") / usize::from(state.config.replicas);
    GroupId(u16::try_from(index).expect("at most 4096 groups"))
}

/// The data node comes back: it gets the records of its group, and counts for nothing yet.
fn learn(state: &mut ControlState, node: NodeId, incarnation: Incarnation, has_rows: bool) {
    let id = configured_group(state, node);
    state.handover = None;
    let group = state.groups.get_mut(&id).expect("formed: has all groups");
    group.view = View(group.view.0 + 1);
    let state = if has_rows { MemberState::LearnerWithRows } else { MemberState::Learner };
    group.members.push(Member { node, incarnation, state });
}

/// The learner holds everything: it counts from now on. Who leads stays as it is.
fn promote(state: &mut ControlState, node: NodeId) {
    let id = state.group_of_node(node).expect("a learner is a member");
    let group = state.groups.get_mut(&id).expect("just found");
    group.view = View(group.view.0 + 1);
    let learner = group.members.iter_mut().find(|member| member.node == node);
    learner.expect("just found").state = MemberState::Active;
    // Stable: learners stay in the order in which they came.
    group.members.sort_by_key(|member| match member.state {
        MemberState::Active => (0, member.node),
        MemberState::Learner | MemberState::LearnerWithRows => (1, NodeId(0)),
    });
}

/// Takes a node out of its group's view: every bucket keeps its shard, and other members lead the
/// node's shards. The views of all groups are one higher: locks are lost with an active member, so
/// the next request of a coordinator that has not adopted this must not be done, on any shard.
/// (After a handover no locks are lost.)
fn exclude(state: &mut ControlState, node: NodeId, incarnation: Incarnation) {
    end_boot(state, node, incarnation);
    super::schema::open_abandoned(state);
}

fn end_boot(state: &mut ControlState, node: NodeId, incarnation: Incarnation) {
    state.excluded.insert(incarnation, node);
    state.incarnations.remove(&node);
    state.handover = None;
    let is_active = |group: &Group| group.active().any(|active| active == node);
    let had_locks = state.groups.values().any(is_active);
    for group in state.groups.values_mut() {
        group.view = View(group.view.0 + 1);
        if had_locks {
            group.lost_in = group.view;
        }
    }
    let Some(id) = state.group_of_node(node) else { return };
    let group = state.groups.get_mut(&id).expect("just found");
    let led = |(shard, led_by): (&ShardId, &NodeId)| (*led_by == node).then_some(*shard);
    let led: Vec<ShardId> = group.primaries.iter().filter_map(led).collect();
    group.members.retain(|member| member.node != node);
    if !led.is_empty() {
        // A log has ended by which learners were being filled: they begin anew, as other boots.
        for learner in group.learners() {
            state.excluded.insert(learner.incarnation, learner.node);
            state.incarnations.remove(&learner.node);
        }
        group.members.retain(|member| member.state == MemberState::Active);
    }
    for shard in led {
        let heir = group.leads_least().expect("may_exclude leaves one");
        group.primaries.insert(shard, heir);
    }
    let heir = group.active().next().expect("may_exclude leaves one");
    let sequencer = state.sequencer.as_mut().expect("formed");
    if sequencer.node == node {
        // In a pair its partner: whoever asked the dead one to stamp a record can stamp it then.
        *sequencer = Sequencer { node: heir, epoch: sequencer.epoch + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::control::{ClusterConfig, NodeConfig};
    use types::{ClusterId, Home};

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
            heartbeat_ms: protocol::control::HEARTBEAT_MS_DEFAULT,
            durability: protocol::control::Durability::default(),
        }
    }

    fn register(node: u16, boot: u64) -> ControlEntry {
        let (node, incarnation) = (NodeId(node), Incarnation(boot));
        ControlEntry::RegisterNode {
            node,
            incarnation,
            home: Home(u64::from(node.0)),
            has_rows: false,
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
                apply(&mut state, &register(node.0, u64::from(node.0)));
            }
            assert!(state.is_formed());
            apply(&mut state, &register(2, 99));
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

    /// The others lead what the excluded node led, in equal shares, and the first of them is the sequencer in the next epoch if that
    /// was it; all views are one higher. Said twice, of another boot or of the last member, it changes nothing.
    #[test]
    fn exclusion_leaves_the_others() {
        for (data, replicas) in [(2, 2), (4, 2), (3, 3), (2, 1)] {
            let config = config(data, replicas);
            let mut state = ControlState::new(config.clone(), crate::bootstrap_catalogue());
            for node in config.data_nodes() {
                apply(&mut state, &register(node.0, u64::from(node.0)));
            }
            let exclude = |state: &mut ControlState, node: u16, boot: u64| {
                let (node, incarnation) = (NodeId(node), Incarnation(boot));
                apply(state, &ControlEntry::ExcludeNode { node, incarnation });
                state.excluded.len()
            };
            assert_eq!(exclude(&mut state, 2, 99), 0, "another boot");
            let count = usize::from(replicas > 1);
            assert_eq!(exclude(&mut state, 2, 2), count, "{data} nodes, {replicas} replicas");
            if count == 0 {
                continue;
            }
            assert_eq!(exclude(&mut state, 2, 2), 1, "once");
            assert_eq!(state.sequencer, Some(Sequencer { node: NodeId(3), epoch: 2 }));
            assert!(state.groups.values().all(|group| group.view == View(2)));
            let group = state.group(GroupId(0));
            let share = group.primaries.len() / group.active().count();
            for heir in group.active() {
                let led = group.primaries.values().filter(|node| **node == heir).count();
                assert_eq!(led, share, "{data} nodes, {replicas} replicas");
            }
            assert_eq!(group.leads_too_much(), None);
            assert_eq!(state.data_nodes().len(), usize::from(data) - 1);
            let left = replicas - 2;
            assert_eq!(exclude(&mut state, 3, 3), usize::from(1 + left), "unless it is the last");
        }
    }

    /// An excluded node comes back as a learner, under another boot only; it can be excluded again, and its partner cannot. Once
    /// promoted it counts: then its partner can. Who leads stays until then.
    #[test]
    fn a_node_comes_back() {
        let config = config(4, 2);
        let mut state = ControlState::new(config.clone(), crate::bootstrap_catalogue());
        for node in config.data_nodes() {
            apply(&mut state, &register(node.0, u64::from(node.0)));
        }
        let entry = |promote: bool, node: u16, boot: u64| {
            let (node, incarnation) = (NodeId(node), Incarnation(boot));
            match promote {
                true => ControlEntry::PromoteNode { node, incarnation },
                false => ControlEntry::ExcludeNode { node, incarnation },
            }
        };
        apply(&mut state, &entry(false, 2, 2));
        apply(&mut state, &register(2, 2));
        assert!(state.is_excluded(NodeId(2)), "that boot is over");
        apply(&mut state, &register(2, 12));
        let group = state.group(GroupId(0)).clone();
        assert_eq!((group.view, group.lost_in), (View(3), View(2)));
        assert_eq!(group.learner(), Some(NodeId(2)));
        assert_eq!(group.active().collect::<Vec<_>>(), [NodeId(3)]);
        assert!(!state.is_active(NodeId(2), Incarnation(12)));
        assert_eq!(state.group(GroupId(1)).view, View(2));
        assert!(!state.may_exclude(NodeId(3), Incarnation(3)), "the only one that has the rows");

        apply(&mut state, &entry(false, 2, 12));
        apply(&mut state, &entry(true, 2, 12));
        assert!(state.is_excluded(NodeId(2)), "promoted too late");
        apply(&mut state, &register(2, 22));
        apply(&mut state, &entry(true, 2, 22));
        assert!(state.is_active(NodeId(2), Incarnation(22)));
        let group = state.group(GroupId(0));
        assert!(group.primaries.values().all(|primary| *primary == NodeId(3)));
        apply(&mut state, &entry(false, 3, 3));
        let group = state.group(GroupId(0));
        assert!(group.primaries.values().all(|primary| *primary == NodeId(2)));
        assert_eq!(state.sequencer, Some(Sequencer { node: NodeId(2), epoch: 3 }));
    }
}
