//! Cluster restart, as the leader of the control plane decides it (rules.md#checkpoints; rule R9).
//!
//! When no member of a group that had its rows is left, only disks have them. The nodes that come
//! back report the timestamps that their disks could begin with: those at which all their logs are
//! closed. The cluster begins with the newest one that, in each group, some member of the last view
//! has. Only these can have it: no checkpoint that a client was acknowledged for was done without
//! the disk of a member.
//!
//! | of a group's last members                      | then                                                              |
//! |------------------------------------------------|-------------------------------------------------------------------|
//! | some live                                      | it needs no restart; if another one does, they begin again too     |
//! | all are gone, and none has come back           | the leader waits for one, and logs for which                       |
//! | some have come back, and their disks fit       | after a while for the others, they are the members of the restart  |
//! | those that have come back hold nothing that fits | the leader waits for the others, and logs which rows are missing |
//! | a restart is begun, and all of its members have come back with nothing | another one begins, with all members before it |
//!
//! Disks may be found damaged while they are loaded. The disks of members that the restart has
//! begun without may lack the last commits, but no global checkpoint was done for anything that
//! they lack, and no client has been served since.
//!
//! Where the leader waits for a node that is gone for good, the operator may have the cluster begin
//! with less ([`super::lossy`]).

use std::collections::{BTreeMap, BTreeSet};

use protocol::Message;
use protocol::control::{ControlEntry, ControlState, Group, Member, Restart, RestartMember};
use protocol::message::{DiskFound, DiskPoint, Excluded, RegisterNode, RowsLoaded};
use protocol::restart::{LostRange, LostTransaction, NodeLoaded, RestartReport};
use types::{Address, CommitId, GroupId, Home, Incarnation, NodeId, Timestamp, WorkerId};

use super::lease::{Leases, is_replaced};
use super::state::configured_group;
use crate::limits::{LOADING_WAIT_US, LOST_TOLD_MAX, RESEND_INTERVAL_US, RESTART_WAIT_US};
use crate::node::Mutation;
use crate::outbox::ProcessEnd;
use crate::worker::{Context, Time};

/// A node that has not registered for this time is not there.
const RETURNED_US: Time = 10 * RESEND_INTERVAL_US;

#[derive(Default)]
pub struct Restarts {
    /// Boots that ask to be let in while the control state has another one of their node.
    pub(super) returned: BTreeMap<NodeId, Returned>,
    /// Since when a restart could be begun.
    possible_since: Option<Time>,
    /// Since when some node has been back, and no lossless restart could be begun.
    pub(super) waits_since: Option<Time>,
    /// Since when a member of a restart has been gone that has not come back.
    gone_since: Option<Time>,
    /// Members that have loaded their rows, and since when that is known.
    pub(super) loaded: BTreeMap<Incarnation, (Time, RowsLoaded)>,
    /// When this node's first step was, when it began to load, and when it had.
    started: Option<Time>,
    load_began: Time,
    /// The restart that it loads for.
    loads_for: u64,
    load_ended: Option<Time>,
    loaded_told_next: Time,
    live_told_next: Time,
    /// The last logged reason of waiting.
    told: String,
}

pub(super) struct Returned {
    pub incarnation: Incarnation,
    pub home: Home,
    pub disk: DiskFound,
    heard: Time,
}

/// Those whose disks a restart may begin with, of each group.
struct LastMembers {
    of_groups: BTreeMap<GroupId, Vec<Member>>,
    /// The restart under way cannot continue with its members: they are all members from before it.
    begins_again: bool,
}

impl LastMembers {
    fn all(&self) -> impl Iterator<Item = &Member> {
        self.of_groups.values().flatten()
    }
}

impl Restarts {
    /// A boot asks for admission.
    pub fn on_register(
        &mut self,
        node: NodeId,
        incarnation: Incarnation,
        message: &RegisterNode,
        now: Time,
    ) {
        let (home, disk) = (message.home, message.disk.clone());
        self.returned.insert(node, Returned { incarnation, home, disk, heard: now });
    }

    pub fn on_loaded(&mut self, message: RowsLoaded, state: &ControlState, now: Time) {
        if state.restart.as_ref().is_some_and(|restart| restart.begun == message.begun) {
            self.loaded.entry(message.incarnation).or_insert((now, message));
        }
    }

    /// Has this boot of the member's node been replaced by another one, or is nothing heard of it?
    pub fn is_gone(
        &self,
        member: &Member,
        state: &ControlState,
        leases: &Leases,
        context: &Context<'_>,
    ) -> bool {
        is_replaced(member.node, state, context)
            || self.successor(member).is_some()
            || member.node != context.address.node && leases.is_silent(member.node, context)
    }

    /// The boot of the member's node that has come back.
    pub(super) fn successor(&self, member: &Member) -> Option<&Returned> {
        let returned = self.returned.get(&member.node);
        returned.filter(|returned| returned.incarnation != member.incarnation)
    }

    /// Whether no member of some group, or of a restart, is left. Then no node is admitted that would have to be filled.
    pub fn is_needed(&self, state: &ControlState, leases: &Leases, context: &Context<'_>) -> bool {
        let is_gone = |member: &Member| self.is_gone(member, state, leases, context);
        let mut groups = state.groups.values();
        match &state.restart {
            Some(_) => groups.flat_map(active).any(is_gone),
            None => groups.any(|group| active(group).all(is_gone)),
        }
    }

    /// What the leader is to propose, and why.
    pub fn lead(
        &mut self,
        state: &ControlState,
        leases: &Leases,
        context: &mut Context<'_>,
    ) -> Option<(ControlEntry, String)> {
        let now = context.now;
        // A restart cannot begin with a node that was admitted since: it has its rows, or loads them.
        let is_in = |boot: Incarnation| state.incarnations.values().any(|one| *one == boot);
        self.returned.retain(|_, returned| {
            now < returned.heard + RETURNED_US
                && !is_in(returned.incarnation)
                && !state.is_over(returned.incarnation)
        });
        if !self.is_needed(state, leases, context) {
            (self.possible_since, self.waits_since, self.gone_since) = (None, None, None);
            return self.end(state, now);
        }
        let live: Vec<Member> = state
            .groups
            .values()
            .flat_map(active)
            .filter(|member| !self.is_gone(member, state, leases, context))
            .cloned()
            .collect();
        let is_away = |member: &Member| !live.contains(member) && self.successor(member).is_none();
        self.gone_since = match state.groups.values().flat_map(active).any(is_away) {
            true => self.gone_since.or(Some(now)),
            false => None,
        };
        let last = self.last_members(state);
        match self.newest_point(&last, &live, state, context) {
            Ok(at) => {
                self.waits_since = None;
                self.lead_strict(at, &last, &live, state, context)
            }
            Err(why_not) => {
                self.possible_since = None;
                self.lead_lossy(why_not, &live, state, context)
            }
        }
    }

    /// Logs the reason of waiting, once.
    pub(super) fn tell_waiting(&mut self, why_not: String, context: &mut Context<'_>) {
        if self.told != why_not {
            context.outbox.log.push(format!("the cluster cannot start again yet: {why_not}"));
            self.told = why_not;
        }
    }

    /// A restart is possible that loses nothing of what disks have.
    fn lead_strict(
        &mut self,
        at: Timestamp,
        last: &LastMembers,
        live: &[Member],
        state: &ControlState,
        context: &mut Context<'_>,
    ) -> Option<(ControlEntry, String)> {
        let now = context.now;
        let is_back = |member: &Member| live.contains(member) || self.successor(member).is_some();
        let all_are_back = last.all().all(is_back);
        let mut since = *self.possible_since.get_or_insert(now);
        if live.is_empty() {
            // Those that were told to begin again are waited for like everybody else.
            since = since.max(self.live_told_next);
        }
        let mutant = context.node.mutation == Mutation::GroupLeftOut;
        if !all_are_back && now < since + RESTART_WAIT_US && !mutant {
            return None;
        }
        if !live.is_empty() {
            self.end_live(live, context);
            return None;
        }
        self.possible_since = None;
        let members: Vec<RestartMember> = last
            .all()
            .filter(|member| self.points_of(member, state).contains(&at))
            .map(|member| {
                let node = member.node;
                RestartMember { node, incarnation: self.returned[&node].incarnation }
            })
            .collect();
        let has_rested = |member: &Member| {
            let rested = self.successor(member).and_then(|returned| returned.disk.rested);
            rested == Some(member.incarnation)
        };
        let is_clean = last.all().all(has_rested);
        let nodes = list(members.iter().map(|member| member.node));
        let mut why = format!(
            "the cluster starts again with what was committed up to {at:?}, from the disks of node {nodes}"
        );
        if let Some(restart) = state.restart.as_ref().filter(|_| last.begins_again) {
            why += &format!(
                "; those that it had begun with, up to {:?}, have come back without their rows",
                restart.at
            );
        }
        self.loaded.clear();
        let (after, is_lossy) = (state.applied, false);
        Some((ControlEntry::BeginRestart { after, at, is_clean, is_lossy, members }, why))
    }

    /// All members have loaded their rows.
    fn end(&self, state: &ControlState, now: Time) -> Option<(ControlEntry, String)> {
        let restart = state.restart.as_ref()?;
        let mut members = state.groups.values().flat_map(active);
        if !members.all(|member| self.loaded.contains_key(&member.incarnation)) {
            return None;
        }
        let report = self.report(restart, state, now);
        let why = format!("all rows are loaded: the cluster serves; {}", lost_text(&report));
        Some((ControlEntry::EndRestart { begun: restart.begun, report }, why))
    }

    /// What all members have loaded and passed over.
    fn report(&self, restart: &Restart, state: &ControlState, now: Time) -> RestartReport {
        let mut nodes: Vec<NodeLoaded> = Vec::new();
        let mut lost: BTreeMap<CommitId, LostTransaction> = BTreeMap::new();
        let mut count = 0;
        for group in state.groups.values() {
            let mut of_group = 0;
            for (heard, RowsLoaded { loaded, lost_first, .. }) in
                active(group).filter_map(|member| self.loaded.get(&member.incarnation))
            {
                nodes.push(NodeLoaded { others_us: now.saturating_sub(*heard), ..*loaded });
                of_group = loaded.lost.count.max(of_group);
                for one in lost_first {
                    let known = lost.entry(one.commit).or_insert(*one);
                    known.ts = known.ts.max(one.ts);
                }
            }
            // A transaction's COMMIT is in one shard's log, which its group's members have.
            count += of_group;
        }
        nodes.sort_by_key(|loaded| loaded.node);
        let mut lost_first: Vec<LostTransaction> = lost.into_values().collect();
        let known = LostRange::of(lost_first.iter().map(|one| one.ts));
        let lost = LostRange {
            count: known.count.max(count),
            oldest: known.oldest,
            newest: nodes.iter().map(|loaded| loaded.lost.newest).max().flatten(),
        };
        lost_first.sort_by_key(|one| (one.ts, one.commit));
        lost_first.truncate(LOST_TOLD_MAX);
        RestartReport {
            lineage: state.lineage,
            ended: restart.ended,
            at: restart.at,
            is_clean: restart.is_clean && lost.count == 0,
            is_lossy: restart.is_lossy,
            lost,
            lost_first,
            nodes,
        }
    }

    /// The members. Where all that a restart has begun with of a group have come back with nothing, because their disks were damaged, those
    /// that there were before it as well.
    fn last_members(&self, state: &ControlState) -> LastMembers {
        let mut of_groups: BTreeMap<GroupId, Vec<Member>> = BTreeMap::new();
        let members = state.groups.values().flat_map(active);
        let has_lost = |member: &Member| {
            let is_home = |returned: &Returned| is_home(member.node, returned, state);
            self.successor(member).is_some_and(is_home) && self.points_of(member, state).is_empty()
        };
        let is_lost = |group: &Group| active(group).all(has_lost);
        let begins_again = state.restart.is_some() && state.groups.values().any(is_lost);
        let before = members_before(state).filter(|_| begins_again);
        for member in members.chain(before) {
            let id = configured_group(state, member.node);
            of_groups.entry(id).or_default().push(member.clone());
        }
        LastMembers { of_groups, begins_again }
    }

    /// The timestamps that a member's disk could begin with.
    pub(super) fn points_of(&self, member: &Member, state: &ControlState) -> BTreeSet<Timestamp> {
        let Some(returned) = self.successor(member) else { return BTreeSet::new() };
        if !is_home(member.node, returned, state) {
            return BTreeSet::new();
        }
        let boots = &returned.disk.boots;
        let mut left = points_left(&returned.disk, state);
        // Until the first clients were served by what another restart had left.
        let served = state.restart.as_ref().map_or(state.lineage, |restart| restart.ended);
        let is_new = state.restarts.range(..served).all(|(_, end)| *end == Timestamp::ZERO);
        if is_new && boots.contains(&member.incarnation) {
            // It had its disk from the beginning, when there were no rows.
            left.insert(Timestamp::ZERO);
        }
        left
    }

    /// What a boot that comes back into a living group is to load first: the newest that no restart has cut off.
    pub fn point_to_load(&self, node: NodeId, state: &ControlState) -> Option<Timestamp> {
        let returned = self.returned.get(&node)?;
        let newest = points_left(&returned.disk, state).last().copied();
        newest.filter(|at| {
            is_home(node, returned, state) && state.is_formed() && Timestamp::ZERO < *at
        })
    }

    /// The newest timestamp that each group has a disk for; or the reason of waiting.
    fn newest_point(
        &self,
        last: &LastMembers,
        live: &[Member],
        state: &ControlState,
        context: &Context<'_>,
    ) -> Result<Timestamp, String> {
        // A silent member may still report that it lives: for a while no loading node begins anew because of it.
        let is_live = |member: &Member| live.contains(member);
        let is_waited_for =
            self.gone_since.is_some_and(|gone| context.now < gone + LOADING_WAIT_US);
        // Those that load their rows for a restart can begin another one with them.
        let goes_on = state.restart.as_ref().filter(|_| !last.begins_again);
        let mut common: Option<BTreeSet<Timestamp>> = None;
        for (id, members) in &last.of_groups {
            let mut points = BTreeSet::new();
            let has_live = active(&state.groups[id]).any(is_live);
            if goes_on.is_none() && has_live {
                // They end when the others could begin, and then their disks say what these have in common.
                continue;
            }
            for member in members {
                points.extend(self.points_of(member, state));
                let is_loading = !is_waited_for && is_live(member);
                points.extend(goes_on.filter(|_| is_loading).map(|restart| restart.at));
            }
            if points.is_empty() {
                if context.node.mutation == Mutation::GroupLeftOut {
                    continue;
                }
                let (back, away): (Vec<&Member>, Vec<&Member>) =
                    members.iter().partition(|member| self.successor(member).is_some());
                if has_live {
                    let ended =
                        last.all().filter(|of| !is_live(of) && self.successor(of).is_none());
                    return Err(why_not_on(ended.map(|member| member.node)));
                }
                return Err(why_not(id.0, &back, &away));
            }
            common = Some(match common {
                Some(common) => &common & &points,
                None => points,
            });
        }
        let newest = common.and_then(|common| common.last().copied());
        newest.ok_or_else(|| {
            "the disks that are there have no checkpoint in common; start the other nodes".into()
        })
    }

    /// They have their rows, and others that they belong to have lost theirs: they begin again as well.
    fn end_live(&mut self, live: &[Member], context: &mut Context<'_>) {
        if context.now < self.live_told_next {
            return;
        }
        self.live_told_next = context.now + RESEND_INTERVAL_US;
        for Member { node, incarnation, .. } in live {
            let message = Excluded { incarnation: *incarnation };
            let to = Address { node: *node, worker: WorkerId(0) };
            if to == context.address {
                context.outbox.ends = Some(ProcessEnd::Excluded(
                    "the cluster starts again, because all nodes of a group have ended: this process ends; started again it loads \
                     its rows from its disk"
                        .into(),
                ));
            } else {
                context.channels.send_unnumbered(to, &Message::Excluded(message), context.outbox);
            }
        }
    }

    /// As a member of a restart: loads the rows, and says so when that is done.
    pub fn follow(&mut self, state: &ControlState, context: &mut Context<'_>) {
        let started = *self.started.get_or_insert(context.now);
        let Some(restart) = &state.restart else { return };
        let (here, incarnation) = (context.address.node, context.node.incarnation);
        let is_data = context.node.config.node(here).is_some_and(|node| node.data);
        if !is_data || state.incarnations.get(&here) != Some(&incarnation) {
            return;
        }
        if !context.node.drop_candidates() {
            // It loads, as one that comes back: when that is done it begins again, for this.
            return;
        }
        if context.node.begin_loading() {
            (self.load_began, self.loads_for) = (context.now, restart.begun);
            context.outbox.load = true;
        }
        if context.node.is_loaded() && context.now >= self.loaded_told_next {
            assert_eq!(self.loads_for, restart.begun, "another restart begins with another boot");
            self.loaded_told_next = context.now + RESEND_INTERVAL_US;
            let load_ended = *self.load_ended.get_or_insert(context.now);
            let (loaded, lost_first) = context.node.loaded.lock().told(here, context.node.parts());
            let waited_us = self.load_began - started;
            let loaded =
                NodeLoaded { waited_us, loaded_us: load_ended - self.load_began, ..loaded };
            let message = RowsLoaded { incarnation, begun: restart.begun, loaded, lost_first };
            for node in context.node.config.voters() {
                let to = Address { node, worker: WorkerId(0) };
                // The leader may be a node that is admitted after the restart; for one that is away messages would pile up.
                if !context.is_half_full(to, true) {
                    context.send(to, Message::RowsLoaded(message.clone()));
                }
            }
        }
    }
}

/// Those that were members when clients were served last, where a restart has been begun since without them.
pub(super) fn members_before(state: &ControlState) -> impl Iterator<Item = &Member> {
    let before = state.restart.iter().flat_map(|restart| &restart.last);
    before.filter(|member| {
        let mut members = state.groups.values().flat_map(active);
        members.all(|one| one.node != member.node)
    })
}

/// Whether it is a boot of the directory that the node had at its first admission.
pub(super) fn is_home(node: NodeId, returned: &Returned, state: &ControlState) -> bool {
    state.homes.get(&node) == Some(&returned.home)
}

/// The points of a disk that no cluster restart has cut off.
fn points_left(disk: &DiskFound, state: &ControlState) -> BTreeSet<Timestamp> {
    let left = disk.points.iter().filter(|point| is_left(point, state));
    left.map(|point| point.at).collect()
}

/// Is it of the present lineage, or has none of the restarts since cut it off?
pub(super) fn is_left(point: &DiskPoint, state: &ControlState) -> bool {
    match state.restarts.get(&point.lineage) {
        Some(end) => point.at <= *end,
        None => point.lineage == state.lineage,
    }
}

pub(super) fn active(group: &Group) -> impl Iterator<Item = &Member> {
    group.members.iter().filter(|member| member.state == protocol::control::MemberState::Active)
}

/// What is lost, as far as anybody can know.
fn lost_text(report: &RestartReport) -> String {
    let LostRange { count, oldest, newest } = report.lost;
    if report.is_clean {
        return "nothing is lost: all nodes had been stopped as planned".into();
    }
    let unknown = "what was committed in the last moment and reached no disk is gone, too, unless its client waited for the disks";
    if report.is_lossy {
        return format!(
            "commits behind {:?} are lost, as --lossy allows: {count} that these disks have (skarv.lost_transactions), and all that only \
             others had",
            report.at
        );
    }
    match (count, oldest, newest) {
        (0, ..) => format!("no disk has a transaction that is lost; {unknown}"),
        (1, Some(ts), _) => format!(
            "1 transaction is lost, which was committed at {ts:?} (skarv.lost_transactions); {unknown}"
        ),
        (_, Some(oldest), Some(newest)) => format!(
            "{count} transactions are lost, which were committed between {oldest:?} and {newest:?} (skarv.lost_transactions); \
             {unknown}"
        ),
        _ => format!("{count} transactions are lost (skarv.lost_transactions); {unknown}"),
    }
}

pub(super) fn list(nodes: impl Iterator<Item = NodeId>) -> String {
    nodes.map(|node| node.to_string()).collect::<Vec<_>>().join(", ")
}

/// Some have loaded their rows for a restart, or do, and others have ended meanwhile.
fn why_not_on(ended: impl Iterator<Item = NodeId>) -> String {
    format!(
        "node {} has ended before all rows were loaded: start it; in {} s the others begin again without it, if they have all rows",
        list(ended),
        LOADING_WAIT_US / 1_000_000
    )
}

fn why_not(group: u16, back: &[&Member], away: &[&Member]) -> String {
    let list = |members: &[&Member]| list(members.iter().map(|member| member.node));
    match (back, away) {
        (_, []) => format!(
            "the disk of node {} holds nothing of the rows that the last members of group {group} had: they are lost, unless that \
             directory is brought back; or stop all nodes and start a cluster anew",
            list(back)
        ),
        ([], away) => format!(
            "nobody has come back who had the rows of group {group}: start node {}",
            list(away)
        ),
        (back, away) => format!(
            "the disk of node {} holds nothing of the rows of group {group}: start node {}",
            list(back),
            list(away)
        ),
    }
}
