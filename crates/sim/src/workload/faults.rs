//! Statements that panic where the rows are, beside others that do not: the panic refuses its statement with error 1815,
//! the transaction around it is rolled back by its session, and nothing else is noticed.
//!
//! Each session counts rows up in transactions of one or two statements. Some have a statement more, whose filter,
//! assignment or aggregate panics for one of the rows. What such a transaction wrote must never be seen; all other
//! increments must be.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use client::{Lock, OpKind, ReadAt, Refusal, Scan, ScanOutput, Session};
use types::expr::{Aggregate, AggregateFunction, BinaryOp, Function};
use types::{Expr, IndexId, Table};

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, Disturbance, is_unheard, next_session};
use crate::tables::{batch, compare, integers, op, plus, scan_rows, update};

const NAME: &str = "faults";

/// What an evaluation that has panicked is refused with.
const INTERNAL_ERROR: u16 = 1815;

/// Acknowledged increments, and those with a COMMIT of unknown outcome.
#[derive(Clone, Copy, Default)]
struct Tally {
    acknowledged: i64,
    unheard: i64,
}

struct Faults {
    tallies: Rc<RefCell<Vec<Tally>>>,
    panics: Rc<Cell<u64>>,
}

pub fn make(random: &mut Random) -> Box<dyn Work> {
    types::contain::let_tests_panic();
    let count = random.between(4, 12) as usize;
    let tallies = Rc::new(RefCell::new(vec![Tally::default(); count]));
    Box::new(Faults { tallies, panics: Rc::default() })
}

impl Work for Faults {
    fn tables(&self) -> Vec<Table> {
        vec![integers(NAME, &["id", "count"])]
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        (0..self.tallies.borrow().len()).map(|id| (NAME, vec![id as i64, 0])).collect()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor, Rc::clone(&self.tallies), Rc::clone(&self.panics)))
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        for (row, tally) in contents.numbers(NAME).iter().zip(&*self.tallies.borrow()) {
            let most = tally.acknowledged + tally.unheard;
            if !(tally.acknowledged..=most).contains(&row[1]) {
                return Err(format!(
                    "row {} of faults is {}; {} increments were acknowledged, {} are of unknown outcome",
                    row[0], row[1], tally.acknowledged, tally.unheard
                ));
            }
        }
        if self.panics.get() == 0 {
            return Err("no statement has panicked".into());
        }
        Ok(())
    }
}

async fn run(mut actor: Actor, tallies: Rc<RefCell<Vec<Tally>>>, panics: Rc<Cell<u64>>) {
    let table = actor.table(NAME);
    let client = actor.client.clone();
    let mut session = client.session();
    let count = tallies.borrow().len();
    while !actor.stage.is_stopping() {
        actor.think().await;
        let lock_wait_ms = actor.draw_lock_wait_ms();
        let id = actor.random.index(count);
        let panics_at = actor.random.chance(500).then(|| actor.random.index(count) as i64);
        let is_asked = Cell::new(false);
        let ask = || {
            is_asked.set(true);
            tallies.borrow_mut()[id].unheard += 1;
        };
        let kind = actor.random.below(4);
        let outcome =
            increment(&table, &mut session, id as i64, panics_at, kind, lock_wait_ms, ask).await;
        let outcome = Some(outcome);
        tallies.borrow_mut()[id].unheard -= i64::from(is_asked.get() && !is_unheard(&outcome));
        match &outcome {
            Some(Ok(())) if panics_at.is_some() => {
                actor.stage.fail("a statement that panics was acknowledged".into());
            }
            Some(Ok(())) => tallies.borrow_mut()[id].acknowledged += 1,
            Some(Err(Refusal::Eval(error))) if error.code() == INTERNAL_ERROR => {
                panics.set(panics.get() + 1);
                if panics_at.is_none() {
                    actor.stage.fail("a statement without a fault has panicked".into());
                }
            }
            Some(Err(_)) | None => {}
        }
        if let Some(outcome) = &outcome {
            let panicked = matches!(outcome, Err(Refusal::Eval(_)));
            if !panicked {
                actor.ended("fault", outcome, Disturbance::None, lock_wait_ms);
            }
        }
        session = next_session(&client, session, &outcome).await;
    }
}

/// One more in the row, and a statement that panics at the row `panics_at` before the commit. `ask` is called when the
/// commit is about to be requested.
async fn increment(
    table: &Table,
    session: &mut Session,
    id: i64,
    panics_at: Option<i64>,
    kind: u64,
    lock_wait_ms: u32,
    ask: impl FnOnce(),
) -> Result<(), Refusal> {
    session.next_statement();
    let ops = vec![update(table, id, 1, plus(1, 1), None)];
    session.execute(batch(ops, ReadAt::Transaction, lock_wait_ms)).await?;
    if let Some(panics_at) = panics_at {
        session.next_statement();
        let panic = || Expr::Function(Function::Panic, vec![Expr::Column(0)]);
        let op = match kind {
            0 => update(table, panics_at, 1, panic(), None),
            1 => update(table, panics_at, 1, plus(1, 1), Some(panic())),
            2 => {
                // True for one row only: on the way there the scan has locked others.
                let at = compare(0, BinaryOp::Equal, panics_at);
                let filter = Expr::And(vec![at, panic()]);
                let scan = scan_rows(IndexId(0));
                let scan = Scan { filter: Some(filter), lock: Lock::Exclusive, ..scan };
                op(table, OpKind::Scan(Box::new(scan)))
            }
            _ => {
                let sum = Aggregate::new(AggregateFunction::Sum, Some(panic()));
                let output = ScanOutput::Groups { group_by: Vec::new(), aggregates: vec![sum] };
                op(table, OpKind::Scan(Box::new(Scan { output, ..scan_rows(IndexId(0)) })))
            }
        };
        let result = session.execute(batch(vec![op], ReadAt::Transaction, lock_wait_ms)).await;
        if let Err(refusal) = result {
            session.rollback().await;
            return Err(refusal);
        }
    }
    session.next_statement();
    ask();
    session.commit().await
}
