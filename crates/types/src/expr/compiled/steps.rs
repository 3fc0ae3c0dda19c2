//! What a compiled expression does on a row: steps on registers.

use std::cmp::Ordering;
use std::ops::Range;

use crate::RowView;
use crate::expr::BinaryOp;

/// What a register holds; None is NULL.
pub type Cell = Option<i128>;

/// The position of a register.
pub type Register = u16;

/// The integers that a result may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Any of 128 bits: mantissas.
    None,
    Bigint,
    BigintUnsigned,
}

impl Limit {
    fn admits(self, value: i128) -> bool {
        match self {
            Limit::None => true,
            Limit::Bigint => i64::try_from(value).is_ok(),
            Limit::BigintUnsigned => u64::try_from(value).is_ok(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The number, date or time in a column ([`RowView::exact`]).
    Column(u16),
    /// Whether a column is NULL.
    IsColumnNull(u16),
    Add(Register, Register, Limit),
    Subtract(Register, Register, Limit),
    Multiply(Register, Register, Limit),
    Negate(Register, Limit),
    /// Multiplied by a constant: a mantissa at a larger scale, a date as a datetime.
    Scale(Register, i128),
    /// One of the operators that compare.
    Compare(BinaryOp, Register, Register),
    And(Register, Register),
    Or(Register, Register),
    Not(Register),
    IsNull(Register),
    /// `IS TRUE` or `IS FALSE`.
    IsTruth(Register, bool),
    /// Among constants, in order and without NULL.
    In(Register, Vec<i128>),
    /// The second if the first is true, else the third.
    Select(Register, Register, Register),
    /// The first that is not NULL.
    Present(Register, Register),
}

/// The steps of a program and its registers.
#[derive(Default)]
pub struct Steps {
    steps: Vec<(Register, Step)>,
    /// Constants are there from the beginning.
    cells: Vec<Cell>,
}

fn truth(truth: bool) -> Cell {
    Some(i128::from(truth))
}

impl Steps {
    pub fn count(&self) -> usize {
        self.steps.len()
    }
    pub fn cell(&self, register: Register) -> Cell {
        self.cells[usize::from(register)]
    }
    /// The register with this constant.
    pub fn constant(&mut self, value: Cell) -> Register {
        self.cells.push(value);
        self.last_register()
    }
    /// The register that this step writes; that of an earlier one if it is the same.
    pub fn add(&mut self, step: Step) -> Register {
        if let Some((register, _)) = self.steps.iter().find(|(_, own)| *own == step) {
            return *register;
        }
        self.cells.push(None);
        let register = self.last_register();
        self.steps.push((register, step));
        register
    }
    /// Removes the steps behind the first `count`. Their registers stay.
    pub fn truncate(&mut self, count: usize) {
        self.steps.truncate(count);
    }
    fn last_register(&self) -> Register {
        Register::try_from(self.cells.len() - 1).expect("the size of expressions is bounded")
    }

    /// Does some of the steps on a row. None: the interpreter has to evaluate it.
    pub fn run(&mut self, range: Range<usize>, row: &RowView<'_>) -> Option<()> {
        for (register, step) in &self.steps[range] {
            self.cells[usize::from(*register)] = step.run(&self.cells, row)?;
        }
        Some(())
    }
}

impl Step {
    /// The outer None: the interpreter's.
    fn run(&self, cells: &[Cell], row: &RowView<'_>) -> Option<Cell> {
        let cell = |register: &Register| cells[usize::from(*register)];
        let limited = |value: Option<i128>, limit: &Limit| -> Option<Cell> {
            let value = value?;
            limit.admits(value).then_some(Some(value))
        };
        Some(match self {
            Step::Column(column) => row.exact(usize::from(*column)),
            Step::IsColumnNull(column) => truth(row.is_null(usize::from(*column))),
            Step::Add(a, b, limit) => match (cell(a), cell(b)) {
                (Some(a), Some(b)) => return limited(a.checked_add(b), limit),
                _ => None,
            },
            Step::Subtract(a, b, limit) => match (cell(a), cell(b)) {
                (Some(a), Some(b)) => return limited(a.checked_sub(b), limit),
                _ => None,
            },
            Step::Multiply(a, b, limit) => match (cell(a), cell(b)) {
                (Some(a), Some(b)) => return limited(multiply(a, b), limit),
                _ => None,
            },
            Step::Negate(a, limit) => match cell(a) {
                Some(a) => return limited(a.checked_neg(), limit),
                None => None,
            },
            Step::Scale(a, factor) => match cell(a) {
                Some(a) => Some(multiply(a, *factor)?),
                None => None,
            },
            Step::Compare(op, a, b) => compare(*op, cell(a), cell(b)),
            Step::And(a, b) => match (cell(a).map(|a| a != 0), cell(b).map(|b| b != 0)) {
                (Some(false), _) | (_, Some(false)) => truth(false),
                (Some(true), Some(true)) => truth(true),
                _ => None,
            },
            Step::Or(a, b) => match (cell(a).map(|a| a != 0), cell(b).map(|b| b != 0)) {
                (Some(true), _) | (_, Some(true)) => truth(true),
                (Some(false), Some(false)) => truth(false),
                _ => None,
            },
            Step::Not(a) => cell(a).map(|a| i128::from(a == 0)),
            Step::IsNull(a) => truth(cell(a).is_none()),
            Step::IsTruth(a, asked) => truth(cell(a).map(|a| a != 0) == Some(*asked)),
            Step::In(a, items) => cell(a).map(|a| i128::from(items.binary_search(&a).is_ok())),
            Step::Select(condition, a, b) => match cell(condition) {
                Some(condition) if condition != 0 => cell(a),
                _ => cell(b),
            },
            Step::Present(a, b) => cell(a).or(cell(b)),
        })
    }
}

/// The product; numbers of 64 bits, which most are, take the short way.
#[inline]
fn multiply(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

fn compare(op: BinaryOp, a: Cell, b: Cell) -> Cell {
    let (Some(a), Some(b)) = (a, b) else {
        return match op {
            BinaryOp::NullSafeEqual => truth(a.is_none() && b.is_none()),
            _ => None,
        };
    };
    let ordering = a.cmp(&b);
    truth(match op {
        BinaryOp::Equal | BinaryOp::NullSafeEqual => ordering == Ordering::Equal,
        BinaryOp::NotEqual => ordering != Ordering::Equal,
        BinaryOp::Less => ordering == Ordering::Less,
        BinaryOp::LessOrEqual => ordering != Ordering::Greater,
        BinaryOp::Greater => ordering == Ordering::Greater,
        BinaryOp::GreaterOrEqual => ordering != Ordering::Less,
        op => unreachable!("{op:?} is no comparison"),
    })
}
