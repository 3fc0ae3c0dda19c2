//! All invariants hold in every reachable state, and every state that must be reached is; without
//! any one rule, some invariant breaks.

use std::fmt::Debug;
use std::hash::Hash;
use std::slice;
use std::time::Instant;

use models::commit::{self, Commit};
use models::leases::{self, Leases};
use models::restart::{self, Level, Restart};
use models::snapshots::{self, Snapshots};
use models::tail::{self, Heir, Tail};
use models::view_change::{self, ViewChange};
use models::{Verdict, explore};
use stateright::Model;

/// Explores the model, whole or until a property is broken, and prints how much that was.
fn run<M>(model: M, until: &[&'static str]) -> Verdict
where
    M: Model + Debug + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq,
{
    let began = Instant::now();
    let name = format!("{model:?}");
    let verdict = explore(model, until);
    println!("{name}: {} states in {:.1?}", verdict.states, began.elapsed());
    verdict
}

/// No invariant is violated, and every state that must be reached is: otherwise the model shows nothing.
fn holds<M>(model: M)
where
    M: Model + Clone + Debug + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq,
{
    let verdict = run(model.clone(), &[]);
    assert!(verdict.violated.is_empty(), "{model:?}: {:?}\n{}", verdict.violated, verdict.trace);
    assert!(verdict.unreached.is_empty(), "{model:?} never: {:?}", verdict.unreached);
}

/// There is a way to violate this property.
fn breaks<M>(model: M, property: &'static str)
where
    M: Model + Clone + Debug + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq,
{
    let verdict = run(model.clone(), &[property]);
    assert!(verdict.violated.contains(property), "{model:?} keeps: {property}");
}

const THREE: Tail = Tail { replicas: 3, writes: 2, views: 3, heir: Heir::Fixed, broken: None };

#[test]
fn tails_of_three_are_reconciled() {
    for heir in [Heir::Fixed, Heir::Fetches, Heir::Longest] {
        holds(Tail { heir, ..THREE });
    }
    holds(Tail { writes: 3, heir: Heir::Fetches, ..THREE });
}

/// With four a second heir may find logs that the first one has half reconciled.
#[test]
fn tails_of_four_are_reconciled() {
    for heir in [Heir::Fixed, Heir::Fetches] {
        holds(Tail { replicas: 4, writes: 1, heir, ..THREE });
    }
    holds(Tail { replicas: 4, writes: 1, views: 2, heir: Heir::Longest, ..THREE });
}

#[test]
fn no_rule_of_tails_can_be_left_out() {
    for (rule, heir, property) in tail::Rule::ALL {
        breaks(Tail { heir: *heir, broken: Some(*rule), ..THREE }, property);
    }
}

/// An heir that fetches first does without cutting: so no backup ever has to undo an applied record.
#[test]
fn who_fetches_needs_not_cut() {
    for rule in tail::Rule::NOT_WHEN_FETCHED {
        holds(Tail { heir: Heir::Fetches, broken: Some(*rule), ..THREE });
    }
}

const TWO: ViewChange = ViewChange { rows: 2, writes: 2, views: 5, boots: 2, broken: None };
/// Long enough for both nodes to be back.
const BOTH_BACK: ViewChange = ViewChange { rows: 1, views: 7, ..TWO };

#[test]
fn a_node_goes_and_comes_back() {
    holds(TWO);
    holds(BOTH_BACK);
}

#[test]
fn no_rule_of_view_changes_can_be_left_out() {
    for (rule, property) in view_change::Rule::ALL {
        // What was sent to a boot that is over must fit the log of the next one, by chance.
        let setting = match rule {
            view_change::Rule::BootIsAddressed => BOTH_BACK,
            _ => TWO,
        };
        breaks(ViewChange { broken: Some(*rule), ..setting }, property);
    }
}

const TIMED: Leases = Leases { time_max: 3, broken: None };

#[test]
fn who_is_deposed_answers_nobody() {
    holds(TIMED);
}

#[test]
fn no_rule_of_leases_can_be_left_out() {
    for rule in leases::Rule::ALL {
        breaks(Leases { broken: Some(*rule), ..TIMED }, leases::FRESH);
    }
}

const ONE_READER: Snapshots = Snapshots { writers: &[&[0, 1], &[0]], readers: 1, broken: None };

#[test]
fn snapshots_are_exact() {
    holds(ONE_READER);
    holds(Snapshots { writers: &[&[0, 1], &[0, 1]], ..ONE_READER });
    holds(Snapshots { writers: &[&[0, 1]], readers: 2, ..ONE_READER });
}

#[test]
fn no_rule_of_snapshots_can_be_left_out() {
    for (rule, property) in snapshots::Rule::ALL {
        breaks(Snapshots { broken: Some(*rule), ..ONE_READER }, property);
    }
}

#[test]
fn both_parts_end_the_same_way() {
    holds(Commit { broken: &[] });
}

#[test]
fn no_rule_of_commits_can_be_left_out() {
    for (rules, property) in commit::Rule::ALL {
        breaks(Commit { broken: rules }, property);
    }
}

/// Of the two fences against a late Commit each holds it alone.
#[test]
fn one_fence_is_enough_against_a_late_commit() {
    for rule in commit::Rule::ONE_IS_ENOUGH {
        let verdict = run(Commit { broken: slice::from_ref(rule) }, &[]);
        assert!(verdict.violated.is_empty(), "{rule:?}: {:?}\n{}", verdict.violated, verdict.trace);
    }
}

#[test]
fn the_power_fails() {
    for level in [Level::Memory, Level::Always] {
        holds(Restart { level, broken: None });
    }
}

#[test]
fn no_rule_of_restarts_can_be_left_out() {
    for (rule, level, property) in restart::Rule::ALL {
        breaks(Restart { level: *level, broken: Some(*rule) }, property);
    }
}
