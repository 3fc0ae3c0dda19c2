//! The parts of transactions that take effect at one moment each: the vertices of the graph.
//!
//! When that moment is, as far as the history tells: of locked parts after the last lock was asked for and before the end
//! was told; of a snapshot while the first statement that reads at it is under way; of a read of the latest version
//! while its own statement is.

use std::collections::BTreeMap;
use std::fmt;

use super::versions::{Look, Versions};
use super::{Level, Object, Operation, Statement, Transaction, View};

/// What of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The plain reads of one statement.
    Statement(usize),
    /// One plain read of a statement that waits for locks in between: (statement, operation).
    Read(usize, usize),
    /// The plain reads at the transaction's snapshot.
    Snapshot,
    /// Writes and reads under locks. The last part of a transaction to take effect.
    Locked,
}

#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub transaction: usize,
    pub session: u64,
    part: Part,
    pub view: View,
    pub called: u64,
    /// None: it may take effect at any time after it was called.
    pub returned: Option<u64>,
    /// Lists, and how much of each was seen.
    pub reads: Vec<(Object, usize)>,
}

impl Unit {
    /// The part with the transaction's writes.
    pub fn is_locked(&self) -> bool {
        self.part == Part::Locked
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "T{}", self.transaction)?;
        match self.part {
            Part::Statement(number) => write!(out, " (statement {})", number + 1),
            Part::Read(statement, operation) => {
                write!(out, " (statement {}, read {})", statement + 1, operation + 1)
            }
            Part::Snapshot => write!(out, " (snapshot)"),
            Part::Locked => Ok(()),
        }
    }
}

/// In the order of transactions, and of the moments within each.
pub(super) fn units_of(transactions: &[Transaction], versions: &Versions) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut looks = versions.looks.iter().peekable();
    for (number, transaction) in transactions.iter().enumerate() {
        let mut parts: BTreeMap<Part, Vec<(Object, usize)>> = BTreeMap::new();
        while let Some(look) = looks.next_if(|look| look.transaction == number) {
            let part = part_of(transaction, look);
            parts.entry(part).or_default().push((look.object, look.length));
        }
        let mut operations = transaction.statements.iter().flat_map(|s| &s.operations);
        let writes = operations.any(|operation| matches!(operation, Operation::Append { .. }));
        if writes && versions.happened[number] {
            parts.entry(Part::Locked).or_default();
        }
        let first = units.len();
        units.extend(parts.into_iter().map(|(part, reads)| {
            let (called, returned) = moments_of(transaction, part);
            let view = view_of(transaction, part);
            let session = transaction.session;
            Unit { transaction: number, session, part, view, called, returned, reads }
        }));
        // A snapshot is taken between the statements before and after its first read.
        units[first..].sort_by_key(|unit| (unit.is_locked(), unit.called));
    }
    assert!(looks.next().is_none(), "looks are in the order of transactions");
    units
}

fn part_of(transaction: &Transaction, look: &Look) -> Part {
    let statement = &transaction.statements[look.statement];
    match (transaction.level, look.view) {
        (Level::Serializable, _) | (_, View::Locked) => Part::Locked,
        (Level::RepeatableRead, View::Snapshot) => Part::Snapshot,
        (Level::ReadCommitted, View::Snapshot) => Part::Statement(look.statement),
        (_, View::Latest) if takes_locks(statement) => Part::Read(look.statement, look.operation),
        (_, View::Latest) => Part::Statement(look.statement),
    }
}

fn view_of(transaction: &Transaction, part: Part) -> View {
    match part {
        Part::Locked => View::Locked,
        Part::Snapshot => View::Snapshot,
        Part::Read(..) => View::Latest,
        Part::Statement(number) => {
            let statement = &transaction.statements[number];
            if reads_at_snapshot(statement) { View::Snapshot } else { View::Latest }
        }
    }
}

fn reads_at_snapshot(statement: &Statement) -> bool {
    let at_snapshot =
        |operation: &Operation| matches!(operation, Operation::Read { view: View::Snapshot, .. });
    statement.operations.iter().any(at_snapshot)
}

fn takes_locks(statement: &Statement) -> bool {
    let locks = |operation: &Operation| match operation {
        Operation::Append { .. } | Operation::Read { view: View::Locked, .. } => true,
        Operation::Read { view: View::Latest | View::Snapshot, .. } => false,
    };
    statement.operations.iter().any(locks)
}

/// When it was called and answered.
fn moments_of(transaction: &Transaction, part: Part) -> (u64, Option<u64>) {
    let statements = &transaction.statements;
    match part {
        Part::Statement(number) | Part::Read(number, _) => {
            (statements[number].called, statements[number].returned)
        }
        Part::Snapshot => {
            // A statement that was refused may have taken the snapshot; one that was answered has.
            let mut reading = statements.iter().filter(|statement| reads_at_snapshot(statement));
            let first = reading.next().expect("there is a read at the snapshot");
            let answered = |statement: &&Statement| !statement.undone;
            let returned = std::iter::once(first).chain(reading).find(answered);
            (first.called, returned.and_then(|statement| statement.returned))
        }
        Part::Locked => {
            let is_strict = transaction.level == Level::Serializable;
            let mut last = statements.iter().rev().filter(|statement| {
                let counts = is_strict || takes_locks(statement);
                counts && !statement.undone && statement.returned.is_some()
            });
            let called = last.next().map_or(transaction.called, |statement| statement.called);
            (called, transaction.returned)
        }
    }
}
