//! From an expression to steps.

use super::Argument;
use super::steps::{Cell, Limit, Register, Step, Steps};
use crate::convert::constant_datetime;
use crate::decimal::SCALE_MAX;
use crate::expr::aggregate::ExactKind;
use crate::expr::{
    Aggregate, AggregateFunction, BinaryOp, EvalContext, Expr, Function, NoColumns, UnaryOp, eval,
};
use crate::temporal::DATE_SHIFT;
use crate::{ColumnType, RowLayout, Value};

/// Operators and operands of an expression that is compiled. Larger ones gain less from it.
const NODES_MAX: usize = 256;
/// Registers of a program.
const REGISTERS_MAX: usize = 4_096;

pub struct Compiler<'c> {
    layout: &'c RowLayout,
    context: &'c EvalContext<'c>,
    steps: Steps,
    register_count: usize,
}

/// A compiled expression.
#[derive(Clone, Copy)]
struct Typed {
    register: Register,
    /// None: it is NULL, whatever the row is.
    kind: Option<ExactKind>,
}

impl<'c> Compiler<'c> {
    pub fn new(layout: &'c RowLayout, context: &'c EvalContext<'_>) -> Compiler<'c> {
        Compiler { layout, context, steps: Steps::default(), register_count: 0 }
    }
    pub fn step_count(&self) -> usize {
        self.steps.count()
    }
    pub fn finish(self) -> Steps {
        self.steps
    }

    /// The register with the truth of `expr`: NULL, 0, or another number for true.
    pub fn truth(&mut self, expr: &Expr) -> Option<Register> {
        let compiled = self.whole(expr, Compiler::logical)?;
        Some(compiled.register)
    }

    /// Compiles an expression, or leaves no step of it.
    fn whole(
        &mut self,
        expr: &Expr,
        compile: fn(&mut Self, &Expr) -> Option<Typed>,
    ) -> Option<Typed> {
        if !is_small(expr) {
            return None;
        }
        let count = self.steps.count();
        let compiled = compile(self, expr);
        if compiled.is_none() {
            self.steps.truncate(count);
        }
        compiled
    }

    pub fn argument(&mut self, aggregate: &Aggregate) -> Argument {
        use AggregateFunction as F;
        let is_extreme = matches!(aggregate.function, F::Min | F::Max);
        let is_known =
            matches!(aggregate.function, F::Count | F::Sum | F::Avg { .. }) || is_extreme;
        if !is_known || (aggregate.distinct && !is_extreme) {
            return Argument::Interpreted;
        }
        let compiled = match &aggregate.argument {
            None => return Argument::Rows,
            // Of any type.
            Some(Expr::Column(column)) if aggregate.function == F::Count => self.presence(*column),
            Some(argument) => self.whole(argument, Compiler::compile),
        };
        match compiled {
            None => Argument::Interpreted,
            Some(Typed { register, kind }) => Argument::of(&aggregate.function, register, kind),
        }
    }

    /// NULL where the column is, of whatever type.
    fn presence(&mut self, column: u16) -> Option<Typed> {
        let is_null = self.step(Step::IsColumnNull(column))?;
        let (null, one) = (self.constant(None)?, self.constant(Some(1))?);
        self.truth_step(Step::Select(is_null, null, one))
    }

    fn step(&mut self, step: Step) -> Option<Register> {
        self.register_count += 1;
        (self.register_count <= REGISTERS_MAX).then(|| self.steps.add(step))
    }
    fn constant(&mut self, value: Cell) -> Option<Register> {
        self.register_count += 1;
        (self.register_count <= REGISTERS_MAX).then(|| self.steps.constant(value))
    }
    fn null(&mut self) -> Option<Typed> {
        Some(Typed { register: self.constant(None)?, kind: None })
    }
    fn truth_step(&mut self, step: Step) -> Option<Typed> {
        Some(Typed { register: self.step(step)?, kind: Some(ExactKind::Int) })
    }

    /// An operand of an operator of logic: an integer.
    fn logical(&mut self, expr: &Expr) -> Option<Typed> {
        let compiled = self.compile(expr)?;
        match compiled.kind {
            None | Some(ExactKind::Int | ExactKind::UInt) => Some(compiled),
            Some(_) => None,
        }
    }

    fn compile(&mut self, expr: &Expr) -> Option<Typed> {
        if !has_columns(expr) {
            let value = self.constant_value(expr)?;
            return self.constant_of(&value);
        }
        match expr {
            Expr::Column(column) => {
                let kind = kind_of_column(self.layout.column_type(usize::from(*column)))?;
                Some(Typed { register: self.step(Step::Column(*column))?, kind: Some(kind) })
            }
            Expr::Unary(UnaryOp::Not, operand) => {
                let operand = self.logical(operand)?;
                self.truth_step(Step::Not(operand.register))
            }
            Expr::Unary(UnaryOp::Negate, operand) => {
                let operand = self.compile(operand)?;
                let (limit, kind) = match operand.kind {
                    None => return Some(operand),
                    Some(ExactKind::Int | ExactKind::UInt) => (Limit::Bigint, ExactKind::Int),
                    Some(kind @ ExactKind::Decimal(_)) => (Limit::None, kind),
                    Some(_) => return None,
                };
                let register = self.step(Step::Negate(operand.register, limit))?;
                Some(Typed { register, kind: Some(kind) })
            }
            Expr::Binary(op, left, right) => self.binary(*op, left, right),
            Expr::And(terms) => self.terms(terms, Step::And),
            Expr::Or(terms) => self.terms(terms, Step::Or),
            Expr::IsNull(operand, negated) => {
                let is_null = match &**operand {
                    Expr::Column(column) => self.truth_step(Step::IsColumnNull(*column))?,
                    operand => {
                        let operand = self.compile(operand)?;
                        self.truth_step(Step::IsNull(operand.register))?
                    }
                };
                self.negated(is_null, *negated)
            }
            Expr::IsTruth(operand, asked, negated) => {
                let operand = self.logical(operand)?;
                let is_truth = self.truth_step(Step::IsTruth(operand.register, *asked))?;
                self.negated(is_truth, *negated)
            }
            Expr::Between { operand, low, high, negated } => {
                let above = self.comparison(BinaryOp::GreaterOrEqual, operand, low)?;
                let below = self.comparison(BinaryOp::LessOrEqual, operand, high)?;
                let inside = self.truth_step(Step::And(above.register, below.register))?;
                self.negated(inside, *negated)
            }
            Expr::In { operand, list, negated } => {
                let found = self.list(operand, list)?;
                self.negated(found, *negated)
            }
            Expr::Case { operand: None, branches, otherwise } => {
                let mut result = match otherwise {
                    Some(otherwise) => self.compile(otherwise)?,
                    None => self.null()?,
                };
                for (when, then) in branches.iter().rev() {
                    let (when, then) = (self.logical(when)?, self.compile(then)?);
                    result = self.select(when, then, result)?;
                }
                Some(result)
            }
            Expr::Function(Function::If, arguments) => {
                let [condition, then, otherwise] = arguments.as_slice() else { return None };
                let condition = self.logical(condition)?;
                let (then, otherwise) = (self.compile(then)?, self.compile(otherwise)?);
                self.select(condition, then, otherwise)
            }
            Expr::Function(Function::IfNull | Function::Coalesce, arguments) => {
                let mut present = self.null()?;
                for argument in arguments {
                    let next = self.compile(argument)?;
                    let kind = common_kind(present.kind, next.kind)?;
                    let register = self.step(Step::Present(present.register, next.register))?;
                    present = Typed { register, kind };
                }
                Some(present)
            }
            Expr::Convert(operand, target) => {
                let operand = self.compile(operand)?;
                self.convert(operand, target)
            }
            // Not a text.
            Expr::InCollation(operand, _) => self.compile(operand),
            _ => None,
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Typed> {
        use BinaryOp::*;
        match op {
            Add | Subtract | Multiply => {
                let (a, b) = (self.compile(left)?, self.compile(right)?);
                self.arithmetic(op, a, b)
            }
            Equal | NullSafeEqual | NotEqual | Less | LessOrEqual | Greater | GreaterOrEqual => {
                self.comparison(op, left, right)
            }
            Divide | IntegerDivide | Modulo | Xor | BitAnd | BitOr | BitXor | ShiftLeft
            | ShiftRight => None,
        }
    }

    fn arithmetic(&mut self, op: BinaryOp, a: Typed, b: Typed) -> Option<Typed> {
        let (Some(left), Some(right)) = (a.kind, b.kind) else {
            let are_numbers = [a, b].iter().filter_map(|own| own.kind).all(ExactKind::is_number);
            return if are_numbers { self.null() } else { None };
        };
        if !left.is_number() || !right.is_number() {
            return None;
        }
        let step = match op {
            BinaryOp::Add => Step::Add,
            BinaryOp::Subtract => Step::Subtract,
            _ => Step::Multiply,
        };
        let (a, b, limit, kind) = match (left, right) {
            (ExactKind::Decimal(_), _) | (_, ExactKind::Decimal(_)) => match op {
                BinaryOp::Multiply => {
                    // More digits behind the point are cut.
                    let scale = left.scale() + right.scale();
                    if SCALE_MAX < scale {
                        return None;
                    }
                    (a.register, b.register, Limit::None, ExactKind::Decimal(scale))
                }
                _ => {
                    let scale = left.scale().max(right.scale());
                    let (a, b) = (self.scaled(a, scale)?, self.scaled(b, scale)?);
                    (a, b, Limit::None, ExactKind::Decimal(scale))
                }
            },
            (ExactKind::Int, ExactKind::Int) => {
                (a.register, b.register, Limit::Bigint, ExactKind::Int)
            }
            _ => (a.register, b.register, Limit::BigintUnsigned, ExactKind::UInt),
        };
        Some(Typed { register: self.step(step(a, b, limit))?, kind: Some(kind) })
    }

    /// The register with the mantissa of a number at this scale, which is not smaller than its own.
    fn scaled(&mut self, number: Typed, scale: u8) -> Option<Register> {
        let own = number.kind.map_or(scale, ExactKind::scale);
        match u32::from(scale - own) {
            0 => Some(number.register),
            zeros => self.step(Step::Scale(number.register, 10i128.pow(zeros))),
        }
    }

    fn comparison(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Typed> {
        let (a, b) = (self.compared(left, right)?, self.compared(right, left)?);
        let (a, b) = match (a.kind, b.kind) {
            (None, _) | (_, None) => (a.register, b.register),
            (Some(left), Some(right)) if left.is_number() && right.is_number() => {
                let scale = left.scale().max(right.scale());
                (self.scaled(a, scale)?, self.scaled(b, scale)?)
            }
            (Some(left), Some(right)) if left == right => (a.register, b.register),
            (Some(ExactKind::Date), Some(ExactKind::DateTime)) => {
                (self.at_midnight(a)?.register, b.register)
            }
            (Some(ExactKind::DateTime), Some(ExactKind::Date)) => {
                (a.register, self.at_midnight(b)?.register)
            }
            _ => return None,
        };
        self.truth_step(Step::Compare(op, a, b))
    }

    /// An operand of a comparison with `other`: a constant text is a moment beside a date.
    fn compared(&mut self, expr: &Expr, other: &Expr) -> Option<Typed> {
        if has_columns(expr) {
            return self.compile(expr);
        }
        let value = self.constant_value(expr)?;
        if let Value::Text(text, _) = &value
            && let Expr::Column(column) = other
            && matches!(
                kind_of_column(self.layout.column_type(usize::from(*column))),
                Some(ExactKind::Date | ExactKind::DateTime)
            )
        {
            let moment = constant_datetime(text, &self.context.convert)?;
            return self.constant_of(&Value::DateTime(moment));
        }
        self.constant_of(&value)
    }

    fn at_midnight(&mut self, date: Typed) -> Option<Typed> {
        let register = self.step(Step::Scale(date.register, 1 << DATE_SHIFT))?;
        Some(Typed { register, kind: Some(ExactKind::DateTime) })
    }

    fn list(&mut self, operand: &Expr, list: &[Expr]) -> Option<Typed> {
        /// Longer lists are sets.
        const COMPARED_MAX: usize = 8;
        if list.len() <= COMPARED_MAX {
            let mut found = self.comparison(BinaryOp::Equal, operand, list.first()?)?;
            for item in &list[1..] {
                let next = self.comparison(BinaryOp::Equal, operand, item)?;
                found = self.truth_step(Step::Or(found.register, next.register))?;
            }
            return Some(found);
        }
        let operand = self.compile(operand)?;
        let kind = operand.kind?;
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            let value = match item {
                Expr::Const(_) | Expr::Param(_) => self.constant_value(item)?,
                _ => return None,
            };
            let (cell, own) = exact_of(&value)?;
            // Integers of both signs are compared as numbers.
            let integers = [ExactKind::Int, ExactKind::UInt];
            if own != Some(kind)
                && !(own.is_some_and(|own| integers.contains(&own)) && integers.contains(&kind))
            {
                return None;
            }
            items.push(cell?);
        }
        items.sort_unstable();
        self.truth_step(Step::In(operand.register, items))
    }

    fn terms(&mut self, terms: &[Expr], step: fn(Register, Register) -> Step) -> Option<Typed> {
        let mut joined = self.logical(terms.first()?)?;
        for term in &terms[1..] {
            let next = self.logical(term)?;
            joined = self.truth_step(step(joined.register, next.register))?;
        }
        Some(joined)
    }

    fn negated(&mut self, truth: Typed, negated: bool) -> Option<Typed> {
        if negated { self.truth_step(Step::Not(truth.register)) } else { Some(truth) }
    }

    fn select(&mut self, condition: Typed, then: Typed, otherwise: Typed) -> Option<Typed> {
        let kind = common_kind(then.kind, otherwise.kind)?;
        let step = Step::Select(condition.register, then.register, otherwise.register);
        Some(Typed { register: self.step(step)?, kind })
    }

    fn convert(&mut self, operand: Typed, target: &ColumnType) -> Option<Typed> {
        let Some(kind) = operand.kind else { return Some(operand) };
        match (kind, target) {
            (ExactKind::Int, ColumnType::Int { unsigned: false, .. })
            | (ExactKind::UInt, ColumnType::Int { unsigned: true, .. })
            | (ExactKind::Date, ColumnType::Date)
            | (ExactKind::DateTime, ColumnType::DateTime { .. } | ColumnType::Timestamp { .. })
            | (ExactKind::Time, ColumnType::Time { .. }) => Some(operand),
            (ExactKind::Date, ColumnType::DateTime { .. } | ColumnType::Timestamp { .. }) => {
                self.at_midnight(operand)
            }
            (_, ColumnType::Decimal { scale, .. }) if kind.is_number() => {
                let scale = kind.scale().max(*scale);
                let register = self.scaled(operand, scale)?;
                Some(Typed { register, kind: Some(ExactKind::Decimal(scale)) })
            }
            _ => None,
        }
    }

    fn constant_of(&mut self, value: &Value) -> Option<Typed> {
        let (cell, kind) = exact_of(value)?;
        Some(Typed { register: self.constant(cell)?, kind })
    }

    /// The value of an expression without columns, if it gives no error and no warning: those come with the rows.
    fn constant_value(&self, expr: &Expr) -> Option<Value> {
        match expr {
            Expr::Const(value) => return Some(value.clone()),
            Expr::Function(Function::Panic, _) => return None,
            _ => {}
        }
        let own = &self.context;
        let mut context = EvalContext::with(own.params, own.convert.settings());
        context.faulty = own.faulty;
        let value = eval(expr, &NoColumns, &mut context).ok()?;
        (context.convert.warnings.total() == 0).then_some(value)
    }
}

fn kind_of_column(column_type: &ColumnType) -> Option<ExactKind> {
    /// Of which every mantissa has 128 bits.
    const PRECISION_MAX: u8 = 37;
    Some(match *column_type {
        ColumnType::Int { unsigned: false, .. } => ExactKind::Int,
        ColumnType::Int { unsigned: true, .. } => ExactKind::UInt,
        ColumnType::Decimal { precision, scale, .. } if precision <= PRECISION_MAX => {
            ExactKind::Decimal(scale)
        }
        ColumnType::Date => ExactKind::Date,
        ColumnType::Time { .. } => ExactKind::Time,
        ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => ExactKind::DateTime,
        _ => return None,
    })
}

/// What a register holds for a constant, and of which kind it is.
fn exact_of(value: &Value) -> Option<(Cell, Option<ExactKind>)> {
    let (number, kind) = match value {
        Value::Null => return Some((None, None)),
        Value::Int(value) => (i128::from(*value), ExactKind::Int),
        Value::UInt(value) => (i128::from(*value), ExactKind::UInt),
        Value::Decimal(value) => {
            let (mantissa, scale) = value.to_parts()?;
            (mantissa, ExactKind::Decimal(scale))
        }
        Value::Date(value) => (i128::from(value.pack()), ExactKind::Date),
        Value::Time(value) => (i128::from(value.pack()), ExactKind::Time),
        Value::DateTime(value) => (i128::from(value.pack()), ExactKind::DateTime),
        Value::Float(_)
        | Value::Double(_)
        | Value::Text(..)
        | Value::Bytes(_)
        | Value::Json(_)
        | Value::Label(..) => return None,
    };
    Some((Some(number), Some(kind)))
}

/// That of two branches. The outer None: they have none.
fn common_kind(a: Option<ExactKind>, b: Option<ExactKind>) -> Option<Option<ExactKind>> {
    match (a, b) {
        (None, kind) | (kind, None) => Some(kind),
        (a, b) if a == b => Some(a),
        _ => None,
    }
}

fn has_columns(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(_)) || expr.children().into_iter().any(has_columns)
}

fn is_small(expr: &Expr) -> bool {
    fn count(expr: &Expr, left: usize) -> Option<usize> {
        let mut left = left.checked_sub(1)?;
        match expr {
            // Long lists of constants are sets.
            Expr::In { operand, list, .. } if list.iter().all(is_leaf) => count(operand, left),
            _ => {
                for child in expr.children() {
                    left = count(child, left)?;
                }
                Some(left)
            }
        }
    }
    count(expr, NODES_MAX).is_some()
}

fn is_leaf(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(_) | Expr::Param(_))
}
