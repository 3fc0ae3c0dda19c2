//! Filters and aggregates of a scan, compiled for numbers, dates and times.
//!
//! The interpreter ([`super::eval`]) finds out for each operator of each row which kinds its operands have, and makes a value
//! of each result. A scan of millions of rows spends its time there. The kinds follow from the columns' types, so they are
//! found out once: a compiled expression is a list of steps ([`steps`]), each of which writes one register of 128 bits. An
//! exact number is its mantissa at a scale that the compiler knows, a date or a time is the packed form that orders as it,
//! and truth is 0 or 1.
//!
//! A step that cannot give the interpreter's value ends the program for that row: a number leaves 128 bits, or an integer
//! leaves BIGINT. The interpreter then evaluates the row, and its value, error or warning counts. So the steps themselves
//! have no errors and no warnings, and both ways give the same results (the tests compare them). What the compiler does not
//! know (texts, doubles, most functions) it leaves to the interpreter, each term of a filter and each aggregate by itself.

mod compiler;
mod steps;
#[cfg(test)]
mod tests;

use super::aggregate::{ExactKind, Partial};
use super::eval::{eval_predicate, eval_truth};
use super::{Aggregate, AggregateFunction, AggregateState, EvalContext, EvalError, Expr};
use crate::{RowLayout, RowView};
use compiler::Compiler;
use steps::{Cell, Register, Steps};

/// The filter and the aggregates of one scan. Compiling takes as long as interpreting some rows.
pub struct ScanProgram<'e> {
    steps: Steps,
    filter: Option<&'e Expr>,
    /// The filter's terms, all of which must be true, in their order.
    terms: Vec<Term<'e>>,
    /// Steps of all terms; those behind them are for the aggregates.
    filter_steps: usize,
    aggregates: &'e [Aggregate],
    arguments: Vec<Argument>,
    /// The interpreter evaluates the rest of the current row.
    is_row_left: bool,
}

/// A term of a filter.
struct Term<'e> {
    expr: &'e Expr,
    /// Where its truth is, when the steps up to this one are done. None: the interpreter's.
    compiled: Option<(usize, Register)>,
}

/// What is added up for an aggregate.
#[derive(Clone, Copy)]
enum Argument {
    Interpreted,
    /// COUNT(*).
    Rows,
    /// Values that are not NULL.
    Present(Register),
    Sum(Register, ExactKind),
    /// MIN and MAX.
    Extreme(Register, ExactKind, std::cmp::Ordering),
}

impl<'e> ScanProgram<'e> {
    /// Compiles what it can for rows of `layout`. Parameters have the values that `context` has for them.
    pub fn new(
        layout: &RowLayout,
        filter: Option<&'e Expr>,
        aggregates: &'e [Aggregate],
        context: &EvalContext<'_>,
    ) -> ScanProgram<'e> {
        let mut compiler = Compiler::new(layout, context);
        let terms = match filter {
            None => &[],
            Some(Expr::And(terms)) => terms.as_slice(),
            Some(term) => std::slice::from_ref(term),
        };
        let terms = terms
            .iter()
            .map(|expr| {
                let truth = compiler.truth(expr);
                Term { expr, compiled: truth.map(|truth| (compiler.step_count(), truth)) }
            })
            .collect();
        let filter_steps = compiler.step_count();
        let arguments = aggregates.iter().map(|aggregate| compiler.argument(aggregate)).collect();
        ScanProgram {
            steps: compiler.finish(),
            filter,
            terms,
            filter_steps,
            aggregates,
            arguments,
            is_row_left: false,
        }
    }

    /// Whether the filter is true on the row, as [`eval_predicate`].
    pub fn passes(
        &mut self,
        row: &RowView<'_>,
        context: &mut EvalContext<'_>,
    ) -> Result<bool, EvalError> {
        let Some(filter) = self.filter else {
            self.is_row_left = false;
            return Ok(true);
        };
        if self.terms.iter().all(|term| term.compiled.is_none()) {
            self.is_row_left = false;
            return eval_predicate(filter, row, context);
        }
        let mut done = 0;
        self.is_row_left = false;
        for term in &self.terms {
            let truth = match term.compiled {
                Some((end, truth)) if !self.is_row_left => {
                    match self.steps.run(done..end, row) {
                        Some(()) => {
                            done = end;
                            self.steps.cell(truth).map(|own| own != 0)
                        }
                        None => {
                            // Later terms may use what these steps have not written.
                            self.is_row_left = true;
                            eval_truth(term.expr, row, context)?
                        }
                    }
                }
                _ => eval_truth(term.expr, row, context)?,
            };
            if truth != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds a row, which [`ScanProgram::passes`] has just passed, to its group. Returns the bytes that the states grew by.
    pub fn add(
        &mut self,
        partials: &mut [Partial],
        states: &mut [AggregateState],
        row: &RowView<'_>,
        context: &mut EvalContext<'_>,
    ) -> Result<usize, EvalError> {
        if !self.is_row_left {
            let range = self.filter_steps..self.steps.count();
            self.is_row_left = self.steps.run(range, row).is_none();
        }
        let mut grown = 0;
        for (position, aggregate) in self.aggregates.iter().enumerate() {
            let (partial, state) = (&mut partials[position], &mut states[position]);
            let argument = match self.is_row_left {
                true => Argument::Interpreted,
                false => self.arguments[position],
            };
            if !argument.add(partial, state, &self.steps)? {
                let before = state.size();
                aggregate.add_row(row, state, context)?;
                grown += state.size().saturating_sub(before) as usize;
            }
        }
        Ok(grown)
    }

    /// Moves the partial results of a group into its states.
    pub fn flush(
        &self,
        partials: &mut [Partial],
        states: &mut [AggregateState],
    ) -> Result<(), EvalError> {
        for ((argument, partial), state) in self.arguments.iter().zip(partials).zip(states) {
            state.take(argument.kind(), partial)?;
        }
        Ok(())
    }
}

impl Argument {
    /// That of an aggregate whose argument is in a register, if it can be added up there.
    fn of(function: &AggregateFunction, argument: Register, kind: Option<ExactKind>) -> Argument {
        use AggregateFunction as F;
        match (function, kind) {
            (F::Count, _) => Argument::Present(argument),
            (F::Sum | F::Avg { .. }, Some(kind)) if kind.is_number() => {
                Argument::Sum(argument, kind)
            }
            (F::Min, Some(kind)) => Argument::Extreme(argument, kind, std::cmp::Ordering::Less),
            (F::Max, Some(kind)) => Argument::Extreme(argument, kind, std::cmp::Ordering::Greater),
            _ => Argument::Interpreted,
        }
    }
    fn kind(self) -> ExactKind {
        match self {
            Argument::Interpreted | Argument::Rows | Argument::Present(_) => ExactKind::Int,
            Argument::Sum(_, kind) | Argument::Extreme(_, kind, _) => kind,
        }
    }
    /// False if the interpreter has to add the row.
    fn add(
        self,
        partial: &mut Partial,
        state: &mut AggregateState,
        steps: &Steps,
    ) -> Result<bool, EvalError> {
        let cell: Cell = match self {
            Argument::Interpreted => return Ok(false),
            Argument::Rows => Some(1),
            Argument::Present(register)
            | Argument::Sum(register, _)
            | Argument::Extreme(register, ..) => steps.cell(register),
        };
        let Some(value) = cell else { return Ok(true) };
        match self {
            Argument::Sum(_, kind) => {
                let sum = match partial.value.checked_add(value) {
                    Some(sum) => sum,
                    None => {
                        state.take(kind, partial)?;
                        value
                    }
                };
                partial.value = sum;
            }
            Argument::Extreme(_, _, wanted) => {
                if partial.count == 0 || value.cmp(&partial.value) == wanted {
                    partial.value = value;
                }
            }
            Argument::Interpreted | Argument::Rows | Argument::Present(_) => {}
        }
        partial.count += 1;
        Ok(true)
    }
}
