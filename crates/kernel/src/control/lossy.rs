//! A cluster restart that begins with less than the last members had, because the operator says so (`--lossy`).
//!
//! When the last member of a group is gone for good no restart without loss is possible
//! ([`super::restart`]). An earlier member, which was excluded before, may have come back with its
//! older disk: with that the cluster can begin, with whole transactions up to one timestamp, and
//! later commits are lost. Only the operator can know that there is no better disk to wait for, so
//! a voter does it only where it was started with that option, once, and never where the strict way
//! is possible.
//!
//! The disk of an earlier member may be closed at a timestamp that it must not begin with. A node
//! that was excluded and did not know it may have closed its logs for a checkpoint behind records
//! of its own that were never decided; another node may have closed the others for the same
//! checkpoint, and a disk on which a replica was being filled may have half of its rows. So only
//! checkpoints count that the disk itself marks as done while its node was a member
//! ([`crate::checkpoint`]): up to there it has everything that the others have.
//!
//! The schema is the newest all the same, for the voters have it: tables that were made later are empty, and those that were dropped or
//! emptied since stay so. A unique key that a table has got later would lack the entries of all its rows: then it is refused.
//!
//! How the lineage ends is kept, as in any restart. So what a disk that was not used has behind that can never come back: its node is
//! filled when it comes, and later restarts pass over it.

use std::collections::BTreeSet;
use std::sync::Arc;

use protocol::control::{ControlEntry, ControlState, Member, RestartMember};
use protocol::message::{CheckpointMark, DiskPoint};
use types::{
    Catalogue, GroupId, IndexKind, IndexState, NodeId, Table, TableId, TableState, Timestamp,
};

use super::lease::Leases;
use super::restart::{Restarts, Returned, active, is_home, list, members_before};
use super::state::configured_group;
use crate::limits::{LOSSY_RESTART_WAIT_US, RESTART_WAIT_US};
use crate::worker::{Context, Time};

const RESTORE: &str = "restore a backup into a cluster that is begun with --initial";

/// What it would begin with.
struct Beginning {
    at: Timestamp,
    members: Vec<RestartMember>,
}

impl Beginning {
    fn nodes(&self) -> String {
        list(self.members.iter().map(|member| member.node))
    }
    fn nodes_have(&self) -> String {
        let have = if self.members.len() == 1 { "has" } else { "have" };
        format!("{} {have}", self.nodes())
    }
    fn is_by(&self, node: NodeId) -> bool {
        self.members.iter().any(|member| member.node == node)
    }
}

impl Restarts {
    /// The option is for a cluster that cannot start. When it serves, be it after a restart or because it had never ended, it is over.
    pub fn end_lossy(&self, state: &ControlState, leases: &Leases, context: &mut Context<'_>) {
        let node = context.node;
        if node.is_lossy() && state.is_formed() && !self.is_needed(state, leases, context) {
            node.set_lossy(false);
            if node.config.voters().contains(&node.node) {
                context
                    .outbox
                    .log
                    .push("the cluster serves: --lossy has no effect any more".into());
            }
        }
    }

    /// No restart is possible that loses nothing, for this reason: what the leader is to propose if it may lose something, or what
    /// it says that it waits for.
    pub(super) fn lead_lossy(
        &mut self,
        why_not: String,
        live: &[Member],
        state: &ControlState,
        context: &mut Context<'_>,
    ) -> Option<(ControlEntry, String)> {
        if self.returned.is_empty() {
            self.waits_since = None;
            if state.restart.is_some() && !live.is_empty() {
                self.tell_waiting(why_not, context);
            }
            return None;
        }
        let found = self.find_beginning(live, state);
        let waited = context.now - *self.waits_since.get_or_insert(context.now);
        let (is_allowed, wait) = (context.node.is_lossy(), self.lossy_wait(state));
        let mut last = state.groups.values().flat_map(active);
        if waited < RESTART_WAIT_US && !last.any(|member| self.successor(member).is_some()) {
            // The last members may only be silent, or a moment behind.
            return None;
        }
        let what_else = match found {
            Ok(found) if is_allowed && wait <= waited => return Some(self.begin(&found, state)),
            Ok(found) if is_allowed => format!(
                "; if no other disk comes within {} s the cluster begins, as --lossy allows, with what node {} up to {:?}",
                wait / 1_000_000,
                found.nodes_have(),
                found.at
            ),
            // Not at once: a disk with more may come a moment later.
            Ok(found) if RESTART_WAIT_US <= waited => format!(
                "; or start the voters with --lossy to begin with what node {} up to {:?}, and lose what was committed later",
                found.nodes_have(),
                found.at
            ),
            Err(reason) if is_allowed => format!("; --lossy does not help: {reason}"),
            Ok(_) | Err(_) => String::new(),
        };
        self.tell_waiting(why_not + &what_else, context);
        None
    }

    /// How long it waits for other disks.
    fn lossy_wait(&self, state: &ControlState) -> Time {
        let has_returned = |node: &NodeId| self.returned.contains_key(node);
        let mut last = state.groups.values().flat_map(active).map(|member| member.node);
        match last.all(|node| has_returned(&node)) {
            true if state.config.data_nodes().iter().all(has_returned) => 0,
            true => RESTART_WAIT_US,
            false => LOSSY_RESTART_WAIT_US,
        }
    }

    fn begin(&mut self, found: &Beginning, state: &ControlState) -> (ControlEntry, String) {
        let last = state.groups.values().flat_map(active).map(|member| member.node);
        let unused: Vec<String> = last
            .filter(|node| !found.is_by(*node))
            .map(|node| match self.returned.contains_key(&node) {
                true => format!("node {node} (it holds nothing that fits)"),
                false => format!("node {node} (it has not come back)"),
            })
            .collect();
        let Beginning { at, members } = found;
        let (at, nodes) = (*at, found.nodes());
        let why = format!(
            "the cluster starts again, as --lossy allows, with what was committed up to {at:?}, from the disks of node {nodes}: what was \
             committed later is lost; of the last members the disks of these are not used: {}",
            unused.join(", ")
        );
        self.waits_since = None;
        self.loaded.clear();
        let (after, members) = (state.applied, members.clone());
        (ControlEntry::BeginRestart { after, at, is_clean: false, is_lossy: true, members }, why)
    }

    /// The newest that each group has a disk for, whoever was a member last; or why there is none.
    fn find_beginning(&self, live: &[Member], state: &ControlState) -> Result<Beginning, String> {
        if !live.is_empty() {
            let nodes = list(live.iter().map(|member| member.node));
            return Err(format!("node {nodes} runs and has its rows: stop it, and start it again"));
        }
        let mut common: Option<BTreeSet<Timestamp>> = None;
        for id in state.groups.keys() {
            let of_group = self.disks(state).filter(|(node, _)| in_group(*node, *id, state));
            let of_group = of_group.flat_map(|(node, disk)| self.lossy_points(node, disk, state));
            let points: BTreeSet<Timestamp> = of_group.collect();
            if points.is_empty() {
                return Err(format!(
                    "no disk of group {id} has come back that has its rows up to some global checkpoint; {RESTORE}"
                ));
            }
            common = Some(match common {
                Some(common) => &common & &points,
                None => points,
            });
        }
        let newest = common.and_then(|common| common.last().copied());
        let at = newest.ok_or_else(|| {
            format!("the disks that are there have no checkpoint in common; {RESTORE}")
        })?;
        let mut marks = self.disks(state).flat_map(|(_, disk)| marks_of(disk, state));
        let mark = marks.find(|mark| mark.at == at);
        if let Some(key) = mark.and_then(|mark| key_made_later(&state.catalogue, &mark)) {
            return Err(format!(
                "{key} was made after {at:?}, and has nothing of the rows that there were then; {RESTORE}"
            ));
        }
        let has_it = |(node, disk): &(NodeId, &Returned)| {
            self.lossy_points(*node, disk, state).contains(&at)
        };
        let members = self.disks(state).filter(has_it).map(|(node, disk)| {
            let incarnation = disk.incarnation;
            RestartMember { node, incarnation }
        });
        Ok(Beginning { at, members: members.collect() })
    }

    /// The disks that have come back, from where the control state knows their nodes to keep them.
    fn disks(&self, state: &ControlState) -> impl Iterator<Item = (NodeId, &Returned)> {
        let returned = self.returned.iter().map(|(node, disk)| (*node, disk));
        returned.filter(|(node, disk)| is_home(*node, disk, state))
    }

    /// The timestamps that the disk could begin with: as in any restart if its node was a member to the last, else where a checkpoint
    /// is known to have been done. Without any rows `--initial` begins.
    fn lossy_points(
        &self,
        node: NodeId,
        disk: &Returned,
        state: &ControlState,
    ) -> BTreeSet<Timestamp> {
        let mut last = state.groups.values().flat_map(active).chain(members_before(state));
        let member = last.find(|member| member.node == node);
        let mut points = member.map_or_else(BTreeSet::new, |last| self.points_of(last, state));
        points.extend(marks_of(disk, state).map(|mark| mark.at));
        points.remove(&Timestamp::ZERO);
        points
    }
}

/// The checkpoints that are known to have been done, and are left by the restarts since.
fn marks_of(disk: &Returned, state: &ControlState) -> impl Iterator<Item = CheckpointMark> {
    let done = disk.disk.done.iter().copied();
    done.filter(|mark| {
        let CheckpointMark { at, lineage, .. } = *mark;
        super::restart::is_left(&DiskPoint { at, lineage }, state)
    })
}

fn in_group(node: NodeId, id: GroupId, state: &ControlState) -> bool {
    configured_group(state, node) == id
}

/// A unique key, of a table that there was when the checkpoint was made, which the table has got since. One that is not public is dropped
/// when the cluster starts again. Or a table that ALTER TABLE has put into the place of one that there was.
fn key_made_later(catalogue: &Catalogue, mark: &CheckpointMark) -> Option<String> {
    let is_later = |table: &&Arc<Table>| {
        let was_there = |origin: TableId| origin.0 < mark.table_id_next;
        mark.table_id_next <= table.id.0
            && table.state != TableState::Dropping
            && table.rewriting.origin.is_some_and(was_there)
    };
    if let Some(table) = catalogue.tables.values().find(is_later) {
        return Some(format!("table {}.{}", table.database, table.name));
    }
    let known = catalogue
        .tables
        .values()
        .filter(|table| table.id.0 < mark.table_id_next && table.state != TableState::Dropping);
    let mut keys = known.flat_map(|table| table.indexes.iter().map(move |index| (table, index)));
    let is_later = |kind: &IndexKind| match kind {
        IndexKind::Unique { entries } => mark.table_id_next <= entries.0,
        IndexKind::Primary | IndexKind::Ordinary => false,
    };
    let found = keys.find(|(_, index)| index.state == IndexState::Public && is_later(&index.kind));
    found.map(|(table, index)| {
        format!("unique key {} of {}.{}", index.name, table.database, table.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Index, Lineage};

    /// A table of this id, with a unique key whose entries are in that hidden table.
    fn table(id: u32, entries: u32, state: TableState) -> Arc<Table> {
        let hidden = crate::bootstrap_catalogue();
        let mut table: Table = (**hidden.tables.values().next().expect("some")).clone();
        let mut key: Index = table.indexes[0].clone();
        key.kind = IndexKind::Unique { entries: TableId(entries) };
        key.state = IndexState::Public;
        table.indexes.push(key);
        (table.id, table.state) = (TableId(id), state);
        Arc::new(table)
    }

    /// A key that a table has got since the checkpoint is in the way. One that it had then is not, nor is a table that came later or
    /// that goes.
    #[test]
    fn keys_without_entries_are_found() {
        let mark = CheckpointMark { at: Timestamp(9), lineage: Lineage(1), table_id_next: 10 };
        let later = |id: u32, entries: u32, state: TableState| {
            let mut catalogue = crate::bootstrap_catalogue();
            catalogue.tables.insert(TableId(id), table(id, entries, state));
            key_made_later(&catalogue, &mark).is_some()
        };
        assert!(later(8, 10, TableState::Public));
        assert!(!later(8, 9, TableState::Public), "it had it");
        assert!(!later(10, 11, TableState::Public), "it came later");
        let mut catalogue = crate::bootstrap_catalogue();
        for (origin, is_in_the_way) in [(9, true), (10, false)] {
            let mut table = Table::clone(&table(11, 12, TableState::Public));
            table.rewriting.origin = Some(TableId(origin));
            catalogue.tables.insert(TableId(11), Arc::new(table));
            assert_eq!(key_made_later(&catalogue, &mark).is_some(), is_in_the_way, "{origin}");
        }
        assert!(!later(8, 10, TableState::Dropping), "it goes");
        for state in [IndexState::DeleteOnly, IndexState::Building, IndexState::Dropping] {
            let mut catalogue = crate::bootstrap_catalogue();
            let mut unfinished = Table::clone(&table(8, 10, TableState::Public));
            unfinished.indexes.iter_mut().skip(1).for_each(|index| index.state = state);
            catalogue.tables.insert(TableId(8), Arc::new(unfinished));
            assert!(key_made_later(&catalogue, &mark).is_none(), "{state:?}");
        }
    }
}
