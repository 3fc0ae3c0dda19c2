//! The protocol's rules as small state machines, explored exhaustively.
//!
//! The simulator runs the code in many worlds; these models run the rules in *all* worlds of a small size: every order of
//! messages, crashes and decisions of the control plane. They know nothing of the code. Each rule can be broken, and a test
//! shows for each that something is lost then: so no rule is there that the model does not need, and no model is so small that
//! it would hold without its rules.
//!
//! | model           | what may happen                                             | what must hold                                |
//! |-----------------|-------------------------------------------------------------|-----------------------------------------------|
//! | [`view_change`] | of two members one is excluded, comes back, is filled, leads | acknowledged writes are with all members       |
//! | [`tail`]        | of three or four the primary goes, and the next one          | the same, and logs are made equal              |
//! | [`commit`]      | coordinator and primaries fail while a transaction ends      | all or nothing, and every answer is true       |
//! | [`leases`]      | the node that is excluded is frozen, and runs again          | it answers nothing old                         |
//! | [`restart`]     | the power fails, twice                                       | one point of time is found, all or nothing     |
//! | [`snapshots`]   | a sequencer takes over from another, which continues         | a snapshot is all transactions up to its time  |
//!
//! A model is a [`Model`]: its state, its actions, the invariants, and the states that must be
//! reachable, or it shows nothing. No model states what happens in the end, except [`commit`], for
//! states without further actions: the checker would miss some paths.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;

use stateright::{Checker, Expectation, HasDiscoveries, Model};

pub mod commit;
pub mod leases;
pub mod restart;
pub mod snapshots;
pub mod tail;
pub mod view_change;

/// What an exploration has found.
#[derive(Debug)]
pub struct Verdict {
    pub states: usize,
    /// Invariants with a state in which they do not hold.
    pub violated: BTreeSet<&'static str>,
    /// What had to be reachable and is not, unless the search ended early.
    pub unreached: BTreeSet<&'static str>,
    /// What happened on the way to the first violation, one action a line, and the state it ends in.
    pub trace: String,
}

/// Visits every state of the model; or, if one of these invariants is to be broken, as many as it takes.
pub fn explore<M>(model: M, until: &[&'static str]) -> Verdict
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq,
{
    let mut builder = model.checker().threads(1);
    if !until.is_empty() {
        builder = builder.finish_when(HasDiscoveries::AnyOf(until.iter().copied().collect()));
    }
    let checker = builder.spawn_bfs().join();
    assert!(!until.is_empty() || checker.is_done(), "not all states were visited");
    let found = checker.discoveries();
    let mut verdict = Verdict {
        states: checker.unique_state_count(),
        violated: BTreeSet::new(),
        unreached: BTreeSet::new(),
        trace: String::new(),
    };
    for property in checker.model().properties() {
        match (property.expectation, found.get(property.name)) {
            (Expectation::Always, Some(path)) => {
                verdict.violated.insert(property.name);
                if until.first().is_none_or(|first| *first == property.name) {
                    let steps = path.clone().into_vec();
                    for (_, action) in &steps {
                        verdict.trace +=
                            &action.as_ref().map(|a| format!("{a:?}\n")).unwrap_or_default();
                    }
                    verdict.trace += &format!("{:?}", steps.last().expect("a first state").0);
                }
            }
            (Expectation::Sometimes, None) => {
                verdict.unreached.insert(property.name);
            }
            (Expectation::Eventually, _) => unreachable!("the checker misses some of these"),
            (Expectation::Always, None) | (Expectation::Sometimes, Some(_)) => {}
        }
    }
    verdict
}
