//! The commits of a shard's log whose outcome a coordinator, a participant or a client may still request (rule R8). Every
//! member remembers them, because any member may become the primary.
//!
//! | a question of                               | about a commit    | is answered for                                     |
//! |---------------------------------------------|-------------------|-----------------------------------------------------|
//! | a coordinator whose primary died            | of this shard     | [`COMMITS_KEPT_US`]                                 |
//! | a participant whose coordinator died        | of several shards | [`DECISIONS_KEPT_US`]                               |
//! | a client whose coordinator could not tell   | either            | [`OUTCOMES_KEPT_US`] from the coordinator's end on  |
//!
//! A commit that is not remembered was never made, and never will be: this shard's part of the
//! transaction is gone. Unless the commit was forgotten. Two things prove that it was not. The
//! first two kinds of question state for how long the commit may have been decided. And
//! coordinators number their transactions: of each one the greatest forgotten number is kept, and a
//! transaction with a greater one that is not there was never committed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use protocol::message::Forgotten;
use protocol::report::TransactionOutcome;
use types::{Address, Incarnation, Timestamp, TransactionId};

use crate::limits::{COMMITS_KEPT_US, DECISIONS_KEPT_US, OUTCOMES_KEPT_MAX, OUTCOMES_KEPT_US};
use crate::worker::Time;

#[derive(Default)]
pub(super) struct Commits {
    /// Of one shard only.
    single: VecDeque<(Time, TransactionId, Timestamp)>,
    /// The same, in order, while there are questions: when it was used last.
    single_by_id: Option<(Time, BTreeMap<TransactionId, Timestamp>)>,
    /// Of several shards, this one being home.
    decisions: BTreeMap<TransactionId, Timestamp>,
    decided: VecDeque<(Time, TransactionId)>,
    /// The greatest number that was forgotten.
    forgotten: BTreeMap<(Incarnation, Address), u64>,
    /// Of coordinators that are over.
    over: BTreeMap<Incarnation, Over>,
    /// On a member that came later: since when it hears of commits of one shard.
    pub since: Option<Time>,
}

/// What is remembered of a boot that is over.
struct Over {
    since: Time,
    commits: BTreeMap<TransactionId, Timestamp>,
    forgotten: BTreeMap<Address, u64>,
}

impl Over {
    fn new(since: Time) -> Over {
        Over { since, commits: BTreeMap::new(), forgotten: BTreeMap::new() }
    }
}

/// Whether the age is within the time kept. Clocks of two nodes run nearly as fast, and messages take a moment.
pub(crate) fn is_within(age_us: u64, kept_us: Time) -> bool {
    age_us < kept_us / 10 * 9
}

fn raise<K: Ord>(greatest: &mut BTreeMap<K, u64>, key: K, number: u64) {
    let own = greatest.entry(key).or_default();
    *own = number.max(*own);
}

impl Commits {
    /// A commit of this shard only.
    pub fn add_single(&mut self, id: TransactionId, ts: Timestamp, now: Time) {
        if let Some(over) = self.over.get_mut(&id.incarnation) {
            over.commits.insert(id, ts);
        }
        if let Some((_, by_id)) = &mut self.single_by_id {
            by_id.insert(id, ts);
        }
        self.single.push_back((now, id, ts));
    }

    /// A commit of several shards.
    pub fn add_decision(&mut self, id: TransactionId, ts: Timestamp, now: Time) {
        if let Some(over) = self.over.get_mut(&id.incarnation) {
            over.commits.insert(id, ts);
        }
        self.decisions.insert(id, ts);
        self.decided.push_back((now, id));
    }

    /// These boots are over: only their commits in flight are still decided.
    pub fn bury(&mut self, boots: &BTreeSet<Incarnation>, now: Time) {
        let new: BTreeSet<Incarnation> =
            boots.iter().copied().filter(|boot| !self.over.contains_key(boot)).collect();
        if new.is_empty() {
            return;
        }
        self.over.extend(new.iter().map(|boot| (*boot, Over::new(now))));
        let single = self.single.iter().map(|(_, id, ts)| (*id, *ts));
        let all = single.chain(self.decisions.iter().map(|(id, ts)| (*id, *ts)));
        for (id, ts) in all.filter(|(id, _)| new.contains(&id.incarnation)) {
            self.over.get_mut(&id.incarnation).expect("just made").commits.insert(id, ts);
        }
        let over = &mut self.over;
        self.forgotten.retain(|(boot, coordinator), number| match over.get_mut(boot) {
            Some(over) => {
                raise(&mut over.forgotten, *coordinator, *number);
                false
            }
            None => true,
        });
        let mut count: usize = self.over.values().map(|over| over.commits.len()).sum();
        while count > OUTCOMES_KEPT_MAX && self.over.len() > 1 {
            let oldest = self.over.iter().min_by_key(|(_, over)| over.since).map(|(boot, _)| *boot);
            let over = oldest.and_then(|boot| self.over.remove(&boot)).expect("there are two");
            count -= over.commits.len();
        }
    }

    pub fn decision(&self, id: TransactionId) -> Option<Timestamp> {
        let of_over = || self.over.get(&id.incarnation)?.commits.get(&id);
        self.decisions.get(&id).or_else(of_over).copied()
    }

    /// A commit of this shard only.
    pub fn single(&mut self, id: TransactionId, now: Time) -> Option<Timestamp> {
        let Commits { single, single_by_id, .. } = self;
        let (used, by_id) = single_by_id
            .get_or_insert_with(|| (now, single.iter().map(|(_, id, ts)| (*id, *ts)).collect()));
        *used = now;
        by_id.get(&id).copied()
    }

    /// Would it be here if it had been committed, no longer ago than this?
    pub fn remembers_since(&self, of_several: bool, age_us: u64, now: Time) -> bool {
        let kept_us = match (of_several, self.since) {
            (true, _) => DECISIONS_KEPT_US,
            (false, None) => COMMITS_KEPT_US,
            (false, Some(since)) => COMMITS_KEPT_US.min(now.saturating_sub(since)),
        };
        is_within(age_us, kept_us)
    }

    /// Would it be here if it had been committed, whenever that was? `is_over`: its coordinator is.
    pub fn remembers(&self, id: TransactionId, is_over: bool) -> bool {
        let forgotten = match self.over.get(&id.incarnation) {
            Some(over) => over.forgotten.get(&id.coordinator),
            None if is_over => return false,
            None => self.forgotten.get(&(id.incarnation, id.coordinator)),
        };
        id.sequence > forgotten.copied().unwrap_or(0)
    }

    /// What became of a transaction of a coordinator that is over, of which nothing is under way here.
    pub fn outcome(&self, id: TransactionId) -> TransactionOutcome {
        let over = self.over.get(&id.incarnation);
        match over.is_some_and(|over| over.commits.contains_key(&id)) {
            true => TransactionOutcome::Committed,
            false if self.remembers(id, true) => TransactionOutcome::RolledBack,
            false => TransactionOutcome::Forgotten,
        }
    }

    pub fn expire(&mut self, now: Time) {
        if self.single_by_id.as_ref().is_some_and(|(used, _)| used + COMMITS_KEPT_US < now) {
            self.single_by_id = None;
        }
        while let Some((at, id, _)) = self.single.front().copied()
            && at.saturating_add(COMMITS_KEPT_US) < now
        {
            if let Some((_, by_id)) = &mut self.single_by_id {
                by_id.remove(&id);
            }
            self.single.pop_front();
            self.forget(id);
        }
        while let Some((at, id)) = self.decided.front().copied()
            && at.saturating_add(DECISIONS_KEPT_US) < now
        {
            self.decisions.remove(&id);
            self.decided.pop_front();
            self.forget(id);
        }
        self.over.retain(|_, over| over.since.saturating_add(OUTCOMES_KEPT_US) >= now);
    }

    fn forget(&mut self, id: TransactionId) {
        // Of one that is over it stays.
        if !self.over.contains_key(&id.incarnation) {
            raise(&mut self.forgotten, (id.incarnation, id.coordinator), id.sequence);
        }
    }

    // For a member that comes later.

    /// Some decisions behind this one, in order, with all commits of coordinators that are over.
    pub fn told_after(
        &self,
        after: Option<TransactionId>,
        count: usize,
    ) -> Vec<(TransactionId, Timestamp)> {
        let start = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let over = self.over.values().map(|over| &over.commits);
        let mut next: BTreeMap<TransactionId, Timestamp> = BTreeMap::new();
        for commits in over.chain([&self.decisions]) {
            next.extend(commits.range(start).take(count));
        }
        next.into_iter().take(count).collect()
    }

    /// What such a member will not know, whose log begins now.
    pub fn unknown_to_learner(&self) -> Forgotten {
        let mut greatest = self.forgotten.clone();
        for (_, id, _) in &self.single {
            if !self.over.contains_key(&id.incarnation) {
                raise(&mut greatest, (id.incarnation, id.coordinator), id.sequence);
            }
        }
        let mut up_to: Vec<(Address, Incarnation, u64)> =
            greatest.into_iter().map(|((boot, from), number)| (from, boot, number)).collect();
        for (boot, over) in &self.over {
            up_to.extend(over.forgotten.iter().map(|(from, number)| (*from, *boot, *number)));
        }
        Forgotten { up_to, over: self.over.keys().copied().collect() }
    }

    /// As such a member. The last record has no decision, and repeats the forgotten numbers.
    pub fn learn(
        &mut self,
        decided: Vec<(TransactionId, Timestamp)>,
        forgotten: Forgotten,
        now: Time,
    ) {
        if decided.is_empty() {
            let known: BTreeSet<Incarnation> =
                forgotten.up_to.iter().map(|(_, boot, _)| *boot).collect();
            self.over.retain(|boot, _| known.contains(boot) || forgotten.over.contains(boot));
        }
        self.bury(&forgotten.over.into_iter().collect(), now);
        for (coordinator, boot, number) in forgotten.up_to {
            match self.over.entry(boot) {
                Entry::Occupied(mut over) => {
                    raise(&mut over.get_mut().forgotten, coordinator, number);
                }
                Entry::Vacant(_) => raise(&mut self.forgotten, (boot, coordinator), number),
            }
        }
        for (id, ts) in decided {
            self.add_decision(id, ts, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use types::{NodeId, WorkerId};

    use super::*;

    fn id(boot: u64, sequence: u64) -> TransactionId {
        let coordinator = Address { node: NodeId(3), worker: WorkerId(0) };
        TransactionId { coordinator, incarnation: Incarnation(boot), sequence }
    }

    fn bury(commits: &mut Commits, boot: u64, now: Time) {
        commits.bury(&BTreeSet::from([Incarnation(boot)]), now);
    }

    /// A day after its end no transaction of a coordinator has an answer any more.
    #[test]
    fn a_day_later_it_is_forgotten() {
        let mut commits = Commits::default();
        commits.add_single(id(1, 7), Timestamp::new(1, 1), 1_000);
        bury(&mut commits, 1, 2_000);
        commits.expire(2_000 + OUTCOMES_KEPT_US);
        assert_eq!(commits.outcome(id(1, 7)), TransactionOutcome::Committed);
        assert_eq!(commits.outcome(id(1, 6)), TransactionOutcome::RolledBack);
        commits.expire(2_001 + OUTCOMES_KEPT_US);
        assert_eq!(commits.outcome(id(1, 7)), TransactionOutcome::Forgotten);
        assert_eq!(commits.outcome(id(1, 6)), TransactionOutcome::Forgotten);
    }

    /// A participant that was away for long asks for the decision: that is kept for the time that answers cover.
    #[test]
    fn decisions_of_a_coordinator_that_is_over_are_kept() {
        let mut commits = Commits::default();
        let ts = Timestamp::new(1, 1);
        commits.add_decision(id(1, 7), ts, 1_000);
        bury(&mut commits, 1, 2_000);
        commits.expire(2_000 + OUTCOMES_KEPT_US);
        assert!(commits.remembers(id(1, 7), true));
        assert_eq!(commits.decision(id(1, 7)), Some(ts));
        commits.expire(2_001 + OUTCOMES_KEPT_US);
        assert!(!commits.remembers(id(1, 7), true));
    }

    /// What was forgotten between being listed and being told is not vouched for.
    #[test]
    fn a_later_member_is_told_again_at_the_end() {
        let mut first = Commits::default();
        first.add_decision(id(1, 5), Timestamp::new(1, 1), 0);
        bury(&mut first, 1, 0);
        first.add_decision(id(2, 3), Timestamp::new(1, 2), 0);
        let mut second = Commits::default();
        let told = first.told_after(None, 0);
        second.learn(vec![(id(9, 1), Timestamp::new(1, 9))], first.unknown_to_learner(), 0);
        assert!(second.remembers(id(1, 5), true) && second.remembers(id(2, 3), false));
        // A boot goes to make room, and a decision is a minute old.
        first.over.clear();
        first.expire(DECISIONS_KEPT_US + 1);
        second.learn(told, first.unknown_to_learner(), 0);
        assert!(!second.remembers(id(1, 5), true) && !second.remembers(id(2, 3), false));
    }

    /// Boots that end again and again do not pile up: the oldest are forgotten, and questions about them have no answer.
    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let mut commits = Commits::default();
        for boot in 1..=3 {
            let now = boot * 1_000;
            for sequence in 1..=OUTCOMES_KEPT_MAX as u64 / 2 {
                commits.add_single(id(boot, sequence), Timestamp::new(1, sequence), now);
            }
            bury(&mut commits, boot, now);
        }
        let outcomes = [1, 2, 3].map(|boot| commits.outcome(id(boot, 1)));
        let committed = TransactionOutcome::Committed;
        assert_eq!(outcomes, [TransactionOutcome::Forgotten, committed, committed]);
        // The last one is kept whole, however much it is.
        for sequence in 1..=2 * OUTCOMES_KEPT_MAX as u64 {
            commits.add_single(id(4, sequence), Timestamp::new(1, sequence), 4_000);
        }
        bury(&mut commits, 4, 4_000);
        assert_eq!(commits.outcome(id(4, 1)), committed);
        assert_eq!(commits.outcome(id(3, 1)), TransactionOutcome::Forgotten);
    }

    /// The knowledge of a later member: what it received, what it has seen since, and what it cannot know.
    #[test]
    fn a_later_member_knows_what_it_does_not() {
        let mut first = Commits::default();
        first.add_single(id(1, 5), Timestamp::new(1, 1), 0);
        bury(&mut first, 1, 0);
        first.add_single(id(2, 3), Timestamp::new(1, 2), 0);
        let mut second = Commits::default();
        second.learn(first.told_after(None, 10), first.unknown_to_learner(), 0);
        second.add_single(id(2, 9), Timestamp::new(1, 3), 1);
        bury(&mut second, 2, 2);
        let said = [(1, 5), (1, 6), (2, 3), (2, 2), (2, 9), (2, 8), (3, 1)];
        let said = said.map(|(boot, sequence)| second.outcome(id(boot, sequence)));
        let (committed, rolled_back, forgotten) = (
            TransactionOutcome::Committed,
            TransactionOutcome::RolledBack,
            TransactionOutcome::Forgotten,
        );
        let right =
            [committed, rolled_back, forgotten, forgotten, committed, rolled_back, forgotten];
        assert_eq!(said, right);
    }
}
