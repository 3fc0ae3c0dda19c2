//! Counts of rows and time for each step of a plan: EXPLAIN ANALYZE.
//!
//! A step is named by the address of the node of the plan that it runs, and by its stage in that
//! node ([`Spot`]). The plan outlives the statement, so an address names the same step when the
//! counts are read. A session without EXPLAIN ANALYZE has no [`Profile`]: each step then costs one
//! comparison per batch of rows, or per query.
//!
//! | steps | time |
//! |---|---|
//! | operators, which are pulled | the time inside of the operator and of its inputs |
//! | stages of a query, into which rows are pushed | the time from the start of the query to the row |
//!
//! Time is that of the client's clock, which the driver sets when it receives input.

use std::collections::BTreeMap;

use super::Context;
use crate::plan::{Operator, SelectPlan};

/// A step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot(usize, Stage);

/// Stages of a query in the order in which rows pass them; an operator has no other stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Operator,
    /// Rows that the shards send: rows of the table that pass their filter, or partial groups.
    Source,
    /// Rows that pass the terms that are not checked at the shards.
    LocalFilter,
    Groups,
    Having,
    Windows,
    Sort,
    Distinct,
    Limit,
}

/// Stages that a query starts together.
const QUERY_STAGES: [Stage; 8] = [
    Stage::Source,
    Stage::LocalFilter,
    Stage::Groups,
    Stage::Having,
    Stage::Windows,
    Stage::Sort,
    Stage::Distinct,
    Stage::Limit,
];

impl Spot {
    pub fn operator(operator: &Operator) -> Spot {
        Spot(std::ptr::from_ref(operator).addr(), Stage::Operator)
    }
    pub fn stage(plan: &SelectPlan, stage: Stage) -> Spot {
        Spot(std::ptr::from_ref(plan).addr(), stage)
    }
}

/// The counts of one step. Times are microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter {
    pub loops: u64,
    /// Of all loops.
    pub rows: u64,
    /// From the start of a loop to its first row, and to its end; sums over all loops.
    pub first: u64,
    pub total: u64,
    /// When the loop at hand began; only steps into which rows are pushed need it.
    started: u64,
    /// Of the loop at hand.
    spent: u64,
    has_row: bool,
}

impl Counter {
    fn begin(&mut self, now: u64) {
        self.end();
        self.loops += 1;
        self.started = now;
        self.spent = 0;
        self.has_row = false;
    }
    /// A loop without a row has its first row at its end.
    fn end(&mut self) {
        if 0 < self.loops && !self.has_row {
            self.first += self.spent;
            self.has_row = true;
        }
    }
    fn spend(&mut self, micros: u64) {
        self.spent += micros;
        self.total += micros;
    }
    fn add_rows(&mut self, count: usize) {
        if 0 < count && !self.has_row {
            self.first += self.spent;
            self.has_row = true;
        }
        self.rows += count as u64;
    }
}

/// The counts of a statement.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    counters: BTreeMap<Spot, Counter>,
}

impl Profile {
    /// The counts of a step; `None` for a step that has not run.
    pub fn counter(&self, spot: Spot) -> Option<Counter> {
        let mut counter = *self.counters.get(&spot)?;
        counter.end();
        (0 < counter.loops).then_some(counter)
    }

    /// Forgets a run that failed and is repeated.
    pub fn clear(&mut self) {
        self.counters.clear();
    }

    fn begin(&mut self, spot: Spot, now: u64) {
        self.counters.entry(spot).or_default().begin(now);
    }

    /// Rows that a stage passes on, or with no rows: the end of the stage.
    fn push(&mut self, spot: Spot, count: usize, now: u64) {
        let counter = self.counters.entry(spot).or_default();
        let elapsed = now.saturating_sub(counter.started);
        counter.spend(elapsed.saturating_sub(counter.spent));
        counter.add_rows(count);
    }

    fn pull(&mut self, spot: Spot, count: usize, micros: u64) {
        let counter = self.counters.entry(spot).or_default();
        counter.spend(micros);
        counter.add_rows(count);
    }
}

impl Context<'_> {
    fn clock_and_profile(&mut self) -> Option<(u64, &mut Profile)> {
        if !self.is_profiled() {
            return None;
        }
        let now = self.node().now();
        self.profile().map(|profile| (now, profile))
    }
    /// The moment of the client's clock; `None` if the statement is not analysed.
    pub fn profile_clock(&self) -> Option<u64> {
        self.is_profiled().then(|| self.node().now())
    }
    /// Starts a loop of an operator.
    pub fn begin_operator(&mut self, operator: &Operator) {
        if let Some((now, profile)) = self.clock_and_profile() {
            profile.begin(Spot::operator(operator), now);
        }
    }
    /// Counts rows that an operator gives, and the time since `since` ([`Context::profile_clock`]).
    pub fn count_pulled(&mut self, operator: &Operator, count: usize, since: Option<u64>) {
        let Some(since) = since else { return };
        if let Some((now, profile)) = self.clock_and_profile() {
            profile.pull(Spot::operator(operator), count, now.saturating_sub(since));
        }
    }
    /// Starts a loop of a query.
    pub fn begin_query(&mut self, plan: &SelectPlan) {
        if let Some((now, profile)) = self.clock_and_profile() {
            for stage in QUERY_STAGES {
                profile.begin(Spot::stage(plan, stage), now);
            }
        }
    }
    /// Counts rows that a stage of a query passes on; zero rows mark the end of the stage.
    pub fn count_pushed(&mut self, plan: &SelectPlan, stage: Stage, count: usize) {
        if let Some((now, profile)) = self.clock_and_profile() {
            profile.push(Spot::stage(plan, stage), count, now);
        }
    }
    /// The end of the last stages of a query.
    pub fn end_query(&mut self, plan: &SelectPlan) {
        for stage in [Stage::Sort, Stage::Distinct, Stage::Limit] {
            self.count_pushed(plan, stage, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_sums_over_loops() {
        let mut profile = Profile::default();
        let spot = Spot(1, Stage::Operator);
        assert!(profile.counter(spot).is_none());
        profile.begin(spot, 0);
        profile.pull(spot, 0, 5);
        profile.pull(spot, 2, 10);
        profile.pull(spot, 3, 10);
        profile.begin(spot, 100);
        profile.pull(spot, 0, 7);
        let counter = profile.counter(spot).expect("it ran");
        assert_eq!((counter.loops, counter.rows), (2, 5));
        // The second loop has no row.
        assert_eq!((counter.first, counter.total), (15 + 7, 25 + 7));
    }

    #[test]
    fn stages_count_from_the_start_of_their_query() {
        let mut profile = Profile::default();
        let spot = Spot(1, Stage::Sort);
        profile.begin(spot, 1_000);
        profile.push(spot, 1, 1_030);
        profile.push(spot, 1, 1_050);
        profile.push(spot, 0, 1_060);
        let counter = profile.counter(spot).expect("it ran");
        assert_eq!((counter.first, counter.total, counter.rows), (30, 60, 2));
    }
}
