//! Does a history of transactions keep what their isolation levels promise? A checker of dependency cycles over lists.
//!
//! The objects are lists, and the only write is to append an element that no other transaction
//! appends. So every read of a list shows the order of all writes before it (Kingsbury, Alvaro:
//! "Elle: Inferring Isolation Anomalies from Experimental Observations", 2020), and the
//! dependencies are known, not guessed:
//!
//! ```text
//!   write-write  A's element stands right before B's in a list      A is before B
//!   write-read   B read a list that ends with A's element           A is before B
//!   read-write   A read a list that B appended the next element to  A is before B
//!   within       A and B are parts of one transaction, A came first A is before B
//!   session      A and B are of one session, A came first           A is before B
//!   realtime     A was answered before B was asked                  A is before B
//! ```
//!
//! A circle of these has no explanation. It is named after Adya ("Weak Consistency", 1999): G0 of write-write only, G1c
//! with write-read, G-single with one read-write, G2 with more; `-session` or `-realtime` when it needs such an edge. Found
//! before any circle: G1a, an element that was undone is read; G1b, a transaction's element is read without its last one;
//! reads of one list that are not prefixes of each other; elements that are lost, doubled, or there without the rest of
//! their transaction; reads that miss what their own transaction has appended.
//!
//! **Levels.** A level says which parts of a transaction take effect at one moment. Each part is a vertex of its own (a
//! [`units::Unit`]), and no circle of units is allowed at any level:
//!
//! ```text
//!   level            one moment for                                    so forbidden (Adya)      allowed
//!   READ COMMITTED   all writes and reads under locks;                 G0, G1 (PL-2); torn      read skew between
//!                    each statement's plain reads                      and stale statements     statements, lost updates
//!   REPEATABLE READ  all writes and reads under locks;                 also G-single of plain   lost updates and write
//!                    all plain reads (one snapshot)                    reads: read skew         skew after plain reads
//!   SERIALIZABLE     everything                                        all, strictly (PL-SS)    nothing
//! ```
//!
//! REPEATABLE READ is InnoDB's: writes and reads under locks act on the latest committed row, whatever the snapshot is; a
//! plain read of what the transaction has written itself shows the latest row too, whose lock it holds. What is read
//! counts even if the reader is rolled back later.
//!
//! **Two graphs.** Circles are looked for among locked parts and reads at snapshots, and among locked parts and reads of the
//! latest version, but not among all three. A commit takes its place in the order of snapshots when it gets its timestamp,
//! and in the order of latest reads when all replicas hold it. Both orders agree on transactions that depend on each
//! other and on whatever was told before, not on two commits under way: a read of the latest version may miss one that a
//! snapshot, taken before and read later, shows, and see another that came behind it. Nobody is promised that it cannot.

mod graph;
#[cfg(test)]
mod tests;
mod units;
mod versions;

use std::collections::BTreeMap;
use std::fmt;

use graph::Graph;
use units::{Unit, units_of};
use versions::Versions;

pub type Object = u64;
pub type Element = i64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    /// Rolled back, or never asked to commit.
    Aborted,
    /// No answer: it has happened if some read shows it.
    Unknown,
}

/// How a read looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// At the latest version, which does not change before the transaction ends.
    Locked,
    /// At the latest version of one moment.
    Latest,
    /// At a snapshot: the statement's at READ COMMITTED, else the transaction's.
    Snapshot,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Append { object: Object, element: Element },
    Read { object: Object, seen: Vec<Element>, view: View },
}

/// Operations that were asked for together. Those on one object took effect in their order.
#[derive(Clone, Debug)]
pub struct Statement {
    pub called: u64,
    /// None: the answer was not heard, and what reads saw is not known.
    pub returned: Option<u64>,
    /// Refused or undone, while its transaction continued: its elements must never be seen, its reads are not known.
    pub undone: bool,
    pub operations: Vec<Operation>,
}

/// With the numbers of the events at which it was called and answered; no two events of a history have the same.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Transactions of a session come one after the other, unless the end of one was not heard.
    pub session: u64,
    pub level: Level,
    pub outcome: Outcome,
    pub called: u64,
    pub returned: Option<u64>,
    pub statements: Vec<Statement>,
}

/// Which order, besides that of the data, the answers must agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Data,
    Sessions,
    /// Strict: with everything that ended before it began, in any session.
    RealTime,
}

/// Returns the anomaly of the history, if it has one. `left`: the lists at the very end, when they are known; then
/// every element has its place.
pub fn check(
    transactions: &[Transaction],
    left: Option<&BTreeMap<Object, Vec<Element>>>,
    order: Order,
) -> Result<(), String> {
    for transaction in transactions {
        assert!(transaction.returned.is_none_or(|returned| transaction.called < returned));
        for statement in &transaction.statements {
            assert!(transaction.called <= statement.called);
            assert!(statement.returned.is_none_or(|returned| statement.called < returned));
        }
    }
    let versions = Versions::of(transactions, left)?;
    let units = units_of(transactions, &versions);
    for left_out in [View::Latest, View::Snapshot] {
        let graph = Graph::new(&units, &versions, order, |unit| unit.view != left_out);
        if let Some(circle) = graph.find_circle() {
            return Err(describe(&circle, &units, transactions));
        }
    }
    Ok(())
}

/// The circle as edges, then what its transactions did.
fn describe(circle: &graph::Circle, units: &[Unit], transactions: &[Transaction]) -> String {
    let mut text = format!("{}:", circle.name);
    for (from, edge) in &circle.edges {
        text += &format!("\n    {} -- {} --> {}", units[*from], edge.kind, units[edge.to]);
    }
    let mut shown: Vec<usize> =
        circle.edges.iter().map(|(from, _)| units[*from].transaction).collect();
    shown.sort_unstable();
    shown.dedup();
    for number in shown {
        text += &format!("\n    T{number}: {}", transactions[number]);
    }
    text
}

impl fmt::Display for Transaction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::ReadCommitted => "READ COMMITTED",
            Level::RepeatableRead => "REPEATABLE READ",
            Level::Serializable => "SERIALIZABLE",
        };
        let returned = self.returned.map_or("nothing".into(), |returned| returned.to_string());
        write!(
            out,
            "session {}, {level}, {:?}, events {} to {returned}:",
            self.session, self.outcome, self.called
        )?;
        for statement in &self.statements {
            let returned = statement.returned.map_or("nothing".into(), |event| event.to_string());
            let undone = if statement.undone { " undone" } else { "" };
            write!(out, " [{} to {returned}{undone}:", statement.called)?;
            for operation in &statement.operations {
                match operation {
                    Operation::Append { object, element } => {
                        write!(out, " append {element} to {object};")?;
                    }
                    Operation::Read { object, seen, view } => {
                        write!(out, " read {object} {view:?} {};", Shortened(seen))?;
                    }
                }
            }
            write!(out, "]")?;
        }
        Ok(())
    }
}

/// A list by its length and its last few elements.
struct Shortened<'a>(&'a [Element]);

impl fmt::Display for Shortened<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 4;
        let hidden = self.0.len().saturating_sub(SHOWN);
        let dots = if hidden > 0 { "..." } else { "" };
        write!(out, "({}: {dots}{:?})", self.0.len(), &self.0[hidden..])
    }
}
