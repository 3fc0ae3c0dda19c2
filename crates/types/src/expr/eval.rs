//! Evaluation of an expression on a row.
//!
//! Constants, parameters and columns are borrowed; only what an operator makes is owned. So a comparison of a column
//! with a constant, or a chain of them, allocates nothing. The part that knows the row's type ([`operand`]) only walks
//! the tree; computing is done on values, once for all kinds of row.
//!
//! The walk recurses as deep as the expression nests, which binder and wire format keep within
//! [`crate::wire::DEPTH_MAX`] levels; wide lists (AND, OR, IN) are loops.
//!
//! Types and collations were settled when the expression was bound ([`super::settle_node`]): nothing here looks at an operand's
//! expression to decide how its value is treated, but for bare constants and parameters, which take the collation of
//! what they are compared with.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::{BinaryOp, Expr, Function, UnaryOp, arithmetic, functions, interval};
use crate::contain::Panicked;
use crate::convert::{
    self, ConvertContext, EvalSettings, SqlWarning, compare, is_true, to_bytes, to_text,
};
use crate::row::RowView;
use crate::{Collation, Value, ValueRef, wire_enum};

/// A row an expression can be evaluated on.
pub trait Columns {
    /// The value of the column at `index`. Panics beyond the last column: [`Expr::check`] comes first.
    fn column(&self, index: usize) -> ValueRef<'_>;
}

impl Columns for RowView<'_> {
    fn column(&self, index: usize) -> ValueRef<'_> {
        self.get(index)
    }
}
impl Columns for [Value] {
    fn column(&self, index: usize) -> ValueRef<'_> {
        self[index].as_ref()
    }
}
impl Columns for Vec<Value> {
    fn column(&self, index: usize) -> ValueRef<'_> {
        self[index].as_ref()
    }
}
impl Columns for [ValueRef<'_>] {
    fn column(&self, index: usize) -> ValueRef<'_> {
        self[index]
    }
}
impl Columns for Vec<ValueRef<'_>> {
    fn column(&self, index: usize) -> ValueRef<'_> {
        self[index]
    }
}

/// The row of an expression that names no column.
pub struct NoColumns;

impl Columns for NoColumns {
    fn column(&self, index: usize) -> ValueRef<'_> {
        panic!("column {index} of an expression without columns")
    }
}

/// MySQL's default max_allowed_packet: the largest string a function makes.
pub const MAX_ALLOWED_PACKET: usize = 64 << 20;

/// Work that the evaluation of one row may take where it holds up a worker. A unit of work is about a nanosecond of a core,
/// or the copy of a byte. Heartbeats are sent by workers, so a worker that evaluates for longer than a node may be silent
/// ends its node.
pub const ROW_WORK_MAX: usize = 250_000_000;

/// Work per byte of a text or binary value that passes from one operator to the next, which copies or converts it.
const WORK_PER_BYTE: usize = 2;
/// Work per byte that two texts of a collation are compared for: letters with accents take that long.
const WORK_PER_COMPARED_BYTE: usize = 30;
/// Work per step of LIKE.
const WORK_PER_STEP: usize = 4;
/// Shorter values are not counted: to walk the tree takes longer.
const COUNTED_BYTES_MIN: usize = 256;

/// What evaluation needs beside the row. One serves a whole statement: warnings gather in `convert.warnings`.
pub struct EvalContext<'a> {
    pub params: &'a [Value],
    /// Parameters whose values could not be computed: an expression that asks for one fails so.
    pub faulty: &'a [(u16, SqlWarning)],
    pub convert: ConvertContext,
    /// Longer results of string functions are NULL, with warning 1301. Bytes.
    pub max_allowed_packet: usize,
    /// Evaluation that would take more work than this fails with [`EvalError::TooMuchWork`].
    pub work_max: usize,
    /// Units since [`EvalContext::take_work`].
    work: usize,
    pub(super) regex: functions::RegexCache,
    /// Lists of IN as sets, for a context that keeps its expressions: see [`EvalContext::keep_sets`].
    sets: Option<Sets>,
}

impl<'a> EvalContext<'a> {
    /// In the default session.
    pub fn new(params: &'a [Value]) -> EvalContext<'a> {
        EvalContext::with(params, EvalSettings::default())
    }
    pub fn with(params: &'a [Value], settings: EvalSettings) -> EvalContext<'a> {
        EvalContext {
            params,
            faulty: &[],
            convert: ConvertContext::new(settings),
            max_allowed_packet: MAX_ALLOWED_PACKET,
            work_max: ROW_WORK_MAX,
            work: 0,
            regex: functions::RegexCache::default(),
            sets: None,
        }
    }
    /// Makes sets of the long lists of IN, which serve all rows. Only for a caller whose expressions outlive this context and
    /// stay where they are in memory: sets are found by the place of their list.
    pub fn keep_sets(&mut self) {
        self.sets = Some(Sets::default());
    }
    /// Units of work since the last call. Rows are no measure of time where a function makes megabytes of a number.
    pub fn take_work(&mut self) -> usize {
        std::mem::take(&mut self.work)
    }
    /// Counts work before it is done.
    pub(super) fn spend(&mut self, work: usize) -> Result<(), EvalError> {
        self.work = self.work.saturating_add(work);
        if self.work_max < self.work { Err(EvalError::TooMuchWork) } else { Ok(()) }
    }
    /// Units of work until evaluation fails.
    pub(super) fn work_left(&self) -> usize {
        self.work_max.saturating_sub(self.work)
    }
    /// Counts a value that the next operator works on.
    fn spend_on(&mut self, value: ValueRef<'_>) -> Result<(), EvalError> {
        match value.held_bytes() {
            0..COUNTED_BYTES_MIN => Ok(()),
            bytes => self.spend(bytes * WORK_PER_BYTE),
        }
    }
}

/// The errors of expressions. A statement that meets one fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// 1690: `kind` is BIGINT, BIGINT UNSIGNED, DECIMAL or DOUBLE; `expression` is shown with its values.
    OutOfRange { kind: String, expression: String },
    /// A refusal with its own number, or a warning that strict mode turned into an error.
    Raised(SqlWarning),
    /// The values of one row would hold up a worker for too long: see [`EvalContext::work_max`].
    TooMuchWork,
}
wire_enum!(EvalError {
    0 => OutOfRange { kind, expression },
    1 => Raised(warning),
    2 => TooMuchWork
});

impl EvalError {
    /// MySQL's error number.
    pub fn code(&self) -> u16 {
        match self {
            EvalError::OutOfRange { .. } => 1690,
            EvalError::Raised(raised) => raised.code,
            EvalError::TooMuchWork => 50811,
        }
    }
    pub fn message(&self) -> String {
        match self {
            EvalError::OutOfRange { kind, expression } => {
                format!("{kind} value is out of range in '{expression}'")
            }
            EvalError::Raised(raised) => raised.message.clone(),
            EvalError::TooMuchWork => {
                "To evaluate the expressions of one row takes too long, because its values are too \
                 large. A shard (WHERE, SET, aggregates) allows a quarter of a second a row, the \
                 select list ten seconds: select the values, and compute with them there or in \
                 the application"
                    .into()
            }
        }
    }
    /// 1815: evaluation has panicked.
    pub fn panicked(panicked: &Panicked) -> EvalError {
        EvalError::raised(1815, panicked.message())
    }
    pub(super) fn raised(code: u16, message: impl Into<String>) -> EvalError {
        let level = convert::WarningLevel::Error;
        EvalError::Raised(SqlWarning { level, code, message: message.into() })
    }
}

impl std::fmt::Display for EvalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message())
    }
}
impl std::error::Error for EvalError {}

/// A value on its way up the tree: borrowed from row, plan or parameters, or made by an operator.
pub(super) enum Operand<'r> {
    Ref(ValueRef<'r>),
    Owned(Value),
}

impl Operand<'_> {
    pub(super) fn get(&self) -> ValueRef<'_> {
        match self {
            Operand::Ref(value) => *value,
            Operand::Owned(value) => value.as_ref(),
        }
    }
    fn into_value(self) -> Value {
        match self {
            Operand::Ref(value) => value.to_value(),
            Operand::Owned(value) => value,
        }
    }
    fn is_null(&self) -> bool {
        self.get().is_null()
    }
}

/// The value of `expr` on `row`.
pub fn eval<R: Columns + ?Sized>(
    expr: &Expr,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Value, EvalError> {
    let value = operand(expr, row, ctx)?.into_value();
    check_raised(ctx)?;
    Ok(value)
}

/// Whether `expr` is true on `row`: NULL is not.
pub fn eval_predicate<R: Columns + ?Sized>(
    expr: &Expr,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<bool, EvalError> {
    let holds = match expr {
        Expr::And(terms) => {
            let mut all = true;
            for term in terms {
                if truth(term, row, ctx)? != Some(true) {
                    all = false;
                    break;
                }
            }
            all
        }
        _ => truth(expr, row, ctx)? == Some(true),
    };
    check_raised(ctx)?;
    Ok(holds)
}

/// The truth of `expr` on `row`; None is unknown.
pub(super) fn eval_truth<R: Columns + ?Sized>(
    expr: &Expr,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Option<bool>, EvalError> {
    let truth = truth(expr, row, ctx)?;
    check_raised(ctx)?;
    Ok(truth)
}

fn check_raised(ctx: &mut EvalContext<'_>) -> Result<(), EvalError> {
    if ctx.convert.has_raised() {
        let raised = ctx.convert.take_raised().expect("asked just before");
        return Err(EvalError::Raised(raised));
    }
    Ok(())
}

fn truth_value(truth: Option<bool>) -> Operand<'static> {
    Operand::Ref(match truth {
        None => ValueRef::Null,
        Some(truth) => ValueRef::Int(i64::from(truth)),
    })
}

/// The truth of `expr`, without making a value of it where it is an operator of logic.
fn truth<R: Columns + ?Sized>(
    expr: &Expr,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Option<bool>, EvalError> {
    match expr {
        Expr::And(terms) => truth_of_terms(terms, false, row, ctx),
        Expr::Or(terms) => truth_of_terms(terms, true, row, ctx),
        Expr::Binary(op, left, right) if is_comparison(*op) => {
            truth_of_comparison(*op, left, right, row, ctx)
        }
        Expr::Unary(UnaryOp::Not, operand) => Ok(truth(operand, row, ctx)?.map(|truth| !truth)),
        Expr::IsNull(operand_expr, negated) => {
            Ok(Some(uncounted_operand(operand_expr, row, ctx)?.is_null() != *negated))
        }
        Expr::IsTruth(operand, asked, negated) => {
            Ok(Some((truth(operand, row, ctx)? == Some(*asked)) != *negated))
        }
        Expr::Between { operand, low, high, negated } => {
            truth_of_between(operand, low, high, *negated, row, ctx)
        }
        Expr::In { operand, list, negated } => truth_of_in(operand, list, *negated, row, ctx),
        Expr::Like { operand, pattern, escape, negated } => {
            truth_of_like(operand, pattern, escape.as_deref(), *negated, row, ctx)
        }
        _ => {
            let value = operand(expr, row, ctx)?;
            Ok(is_true(value.get(), &mut ctx.convert))
        }
    }
}

/// AND (`decisive` false) and OR (`decisive` true): the decisive value ends it, an unknown one taints the rest.
fn truth_of_terms<R: Columns + ?Sized>(
    terms: &[Expr],
    decisive: bool,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Option<bool>, EvalError> {
    if SET_LENGTH_MIN <= terms.len() {
        ctx.spend(terms.len() * WORK_PER_ITEM)?;
    }
    let mut result = Some(!decisive);
    for term in terms {
        match truth(term, row, ctx)? {
            Some(truth) if truth == decisive => return Ok(Some(decisive)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::*;
    match op {
        Equal | NullSafeEqual | NotEqual | Less | LessOrEqual | Greater | GreaterOrEqual => true,
        Add | Subtract | Multiply | Divide | IntegerDivide | Modulo | Xor | BitAnd | BitOr
        | BitXor | ShiftLeft | ShiftRight => false,
    }
}

fn truth_of_comparison<R: Columns + ?Sized>(
    op: BinaryOp,
    left: &Expr,
    right: &Expr,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Option<bool>, EvalError> {
    // Most are of a column with a constant: these are compared where they are.
    if let (Some(a), Some(b)) = (leaf(left, row, ctx), leaf(right, row, ctx)) {
        return truth_of_compared(op, left, a, right, b, ctx);
    }
    let a = operand(left, row, ctx)?;
    if a.is_null() && op != BinaryOp::NullSafeEqual {
        return Ok(None);
    }
    let b = operand(right, row, ctx)?;
    truth_of_compared(op, left, a.get(), right, b.get(), ctx)
}

fn truth_of_compared(
    op: BinaryOp,
    left: &Expr,
    a: ValueRef<'_>,
    right: &Expr,
    b: ValueRef<'_>,
    ctx: &mut EvalContext<'_>,
) -> Result<Option<bool>, EvalError> {
    let ordering = compare_operands(left, a, right, b, ctx)?;
    Ok(match (op, ordering) {
        (BinaryOp::NullSafeEqual, None) => Some(a.is_null() && b.is_null()),
        (_, None) => None,
        (BinaryOp::Equal | BinaryOp::NullSafeEqual, Some(ordering)) => Some(ordering.is_eq()),
        (BinaryOp::NotEqual, Some(ordering)) => Some(ordering.is_ne()),
        (BinaryOp::Less, Some(ordering)) => Some(ordering.is_lt()),
        (BinaryOp::LessOrEqual, Some(ordering)) => Some(ordering.is_le()),
        (BinaryOp::Greater, Some(ordering)) => Some(ordering.is_gt()),
        (BinaryOp::GreaterOrEqual, Some(ordering)) => Some(ordering.is_ge()),
        (op, Some(_)) => unreachable!("{op:?} is no comparison"),
    })
}

/// The collation two texts are compared in. They have one, or one of them is a bare literal, which yields to the other.
fn collation_of(left: &Expr, a: Collation, right: &Expr, b: Collation) -> Collation {
    if a == b {
        return a;
    }
    match (left, right) {
        (Expr::Param(_), _) => b,
        (_, Expr::Param(_)) => a,
        (Expr::Const(_), _) => b,
        _ => a,
    }
}

/// The text of a label that is compared with another value, but for a number: that is compared with the label's.
fn label_text(value: ValueRef<'_>, other: ValueRef<'_>) -> Option<Value> {
    match value {
        ValueRef::Label(number, labels) if !convert::is_number(other) => {
            Some(Value::text(&labels.text(number), labels.collation()))
        }
        _ => None,
    }
}

/// [`compare`] with what the expressions say about collations, and with MySQL's error for a constant that is compared
/// with a date and spells none.
fn compare_operands(
    left: &Expr,
    a: ValueRef<'_>,
    right: &Expr,
    b: ValueRef<'_>,
    ctx: &mut EvalContext<'_>,
) -> Result<Option<Ordering>, EvalError> {
    if let (ValueRef::Int(a), ValueRef::Int(b)) = (a, b) {
        return Ok(Some(a.cmp(&b)));
    }
    let (text_a, text_b);
    let (a, b) = match (a, b) {
        (ValueRef::Label(..), _) | (_, ValueRef::Label(..)) => {
            (text_a, text_b) = (label_text(a, b), label_text(b, a));
            (text_a.as_ref().map_or(a, Value::as_ref), text_b.as_ref().map_or(b, Value::as_ref))
        }
        _ => (a, b),
    };
    if let (ValueRef::Text(text_a, collation_a), ValueRef::Text(text_b, collation_b)) = (a, b) {
        let collation = collation_of(left, collation_a, right, collation_b);
        let bytes = text_a.len().min(text_b.len());
        if COUNTED_BYTES_MIN < bytes && !collation.is_binary() {
            ctx.spend(bytes * WORK_PER_COMPARED_BYTE)?;
        }
        return Ok(Some(collation.compare(text_a, text_b)));
    }
    if !check_temporal_constant(a, right, b, &mut ctx.convert)
        || !check_temporal_constant(b, left, a, &mut ctx.convert)
    {
        return Ok(None);
    }
    Ok(compare(a, b, &mut ctx.convert))
}

/// Whether `value` can be compared with `temporal`; raises 1525 for a constant that spells no date.
fn check_temporal_constant(
    temporal: ValueRef<'_>,
    other: &Expr,
    value: ValueRef<'_>,
    cx: &mut ConvertContext,
) -> bool {
    let kind = match temporal {
        ValueRef::Date(_) => "DATE",
        ValueRef::DateTime(_) => "DATETIME",
        ValueRef::Time(_) => "TIME",
        _ => return true,
    };
    if !matches!(value, ValueRef::Text(..)) || !matches!(other, Expr::Const(_) | Expr::Param(_)) {
        return true;
    }
    let text = to_text(value);
    let readable = match temporal {
        ValueRef::Time(_) => crate::Time::parse(&text).is_some(),
        _ => convert::constant_datetime(&text, cx).is_some(),
    };
    if !readable {
        let text = convert::shown(text.as_bytes());
        cx.raise(1525, format!("Incorrect {kind} value: '{text}'"));
    }
    readable
}

fn truth_of_between<R: Columns + ?Sized>(
    operand_expr: &Expr,
    low: &Expr,
    high: &Expr,
    negated: bool,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Option<bool>, EvalError> {
    let leaves = (leaf(operand_expr, row, ctx), leaf(low, row, ctx), leaf(high, row, ctx));
    let (above, below) = if let (Some(value), Some(low_value), Some(high_value)) = leaves {
        let above = compare_operands(operand_expr, value, low, low_value, ctx)?;
        (above, compare_operands(operand_expr, value, high, high_value, ctx)?)
    } else {
        let value = operand(operand_expr, row, ctx)?;
        let low_value = operand(low, row, ctx)?;
        let high_value = operand(high, row, ctx)?;
        let above = compare_operands(operand_expr, value.get(), low, low_value.get(), ctx)?;
        (above, compare_operands(operand_expr, value.get(), high, high_value.get(), ctx)?)
    };
    let inside = match (above.map(Ordering::is_ge), below.map(Ordering::is_le)) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    };
    Ok(inside.map(|inside| inside != negated))
}

fn truth_of_in<R: Columns + ?Sized>(
    operand_expr: &Expr,
    list: &[Expr],
    negated: bool,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Option<bool>, EvalError> {
    let value = operand(operand_expr, row, ctx)?;
    if value.is_null() {
        return Ok(None);
    }
    if SET_LENGTH_MIN <= list.len() {
        if let Some(found) = find_in_set(value.get(), operand_expr, list, ctx) {
            return Ok(found.map(|found| found != negated));
        }
        ctx.spend(list.len() * WORK_PER_ITEM)?;
    }
    let mut result = Some(negated);
    for item in list {
        let ordering = match leaf(item, row, ctx) {
            Some(item_value) => compare_operands(operand_expr, value.get(), item, item_value, ctx)?,
            None => {
                let item_value = operand(item, row, ctx)?;
                compare_operands(operand_expr, value.get(), item, item_value.get(), ctx)?
            }
        };
        match ordering {
            Some(Ordering::Equal) => return Ok(Some(!negated)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

/// Shorter lists are compared item by item.
const SET_LENGTH_MIN: usize = 32;
/// Work per item of a list that is compared item by item.
const WORK_PER_ITEM: usize = 10;

/// Long lists of IN, by the place in memory of their first item.
#[derive(Default)]
struct Sets {
    by_place: BTreeMap<usize, InSet>,
}

/// The items of a list, if they are constants of one kind.
enum InSet {
    Integers {
        items: Vec<i128>,
        has_null: bool,
    },
    /// Keys of equality in one collation.
    Texts {
        collation: Collation,
        keys: BTreeSet<Vec<u8>>,
        has_null: bool,
    },
    /// Items are compared one by one.
    None,
}

/// Whether `value` is in the list, as far as a set knows: Some(None) for unknown, None if there is no set.
fn find_in_set(
    value: ValueRef<'_>,
    operand_expr: &Expr,
    list: &[Expr],
    ctx: &mut EvalContext<'_>,
) -> Option<Option<bool>> {
    let params = ctx.params;
    let place = list.as_ptr().addr();
    let set = ctx.sets.as_mut()?.by_place.entry(place);
    let set = set.or_insert_with(|| InSet::of(value, operand_expr, list, params));
    let (found, has_null) = match (set, value) {
        (InSet::Integers { items, has_null }, ValueRef::Int(_) | ValueRef::UInt(_)) => {
            (items.binary_search(&integer(value)?).is_ok(), *has_null)
        }
        (InSet::Texts { collation, keys, has_null }, ValueRef::Text(_, own))
            if own == *collation =>
        {
            (keys.contains(&equality_key(value)), *has_null)
        }
        _ => return None,
    };
    Some(if found || !has_null { Some(found) } else { None })
}

fn integer(value: ValueRef<'_>) -> Option<i128> {
    match value {
        ValueRef::Int(value) => Some(value.into()),
        ValueRef::UInt(value) => Some(value.into()),
        _ => None,
    }
}

fn equality_key(value: ValueRef<'_>) -> Vec<u8> {
    let mut key = Vec::new();
    convert::group_key(value, &mut key);
    key
}

impl InSet {
    /// For operands of the kind of `value`.
    fn of(value: ValueRef<'_>, operand_expr: &Expr, list: &[Expr], params: &[Value]) -> InSet {
        let mut values: Vec<ValueRef<'_>> = Vec::with_capacity(list.len());
        for item in list {
            values.push(match item {
                Expr::Const(value) => value.as_ref(),
                Expr::Param(position) => params[usize::from(*position)].as_ref(),
                _ => return InSet::None,
            });
        }
        let count = values.len();
        values.retain(|value| !value.is_null());
        let has_null = values.len() < count;
        if integer(value).is_some() {
            let items: Option<Vec<i128>> = values.into_iter().map(integer).collect();
            return match items {
                Some(mut items) => {
                    items.sort_unstable();
                    InSet::Integers { items, has_null }
                }
                None => InSet::None,
            };
        }
        // Constants yield to the collation of anything else: see `collation_of`.
        let is_constant = matches!(operand_expr, Expr::Const(_) | Expr::Param(_));
        let (ValueRef::Text(_, collation), false) = (value, is_constant) else {
            return InSet::None;
        };
        let key = |value: ValueRef<'_>| match value {
            ValueRef::Text(text, _) => Some(equality_key(ValueRef::Text(text, collation))),
            _ => None,
        };
        match values.into_iter().map(key).collect() {
            Some(keys) => InSet::Texts { collation, keys, has_null },
            None => InSet::None,
        }
    }
}

fn truth_of_like<R: Columns + ?Sized>(
    operand_expr: &Expr,
    pattern_expr: &Expr,
    escape_expr: Option<&Expr>,
    negated: bool,
    row: &R,
    ctx: &mut EvalContext<'_>,
) -> Result<Option<bool>, EvalError> {
    let value = operand(operand_expr, row, ctx)?;
    let pattern = operand(pattern_expr, row, ctx)?;
    let escape = match escape_expr {
        None => Some('\\'),
        Some(expr) => match operand(expr, row, ctx)?.get() {
            ValueRef::Null => Some('\\'),
            value => {
                let text = to_text(value);
                let mut characters = text.chars();
                let escape = characters.next();
                if characters.next().is_some() {
                    return Err(EvalError::raised(1210, "Incorrect arguments to ESCAPE"));
                }
                escape
            }
        },
    };
    let (value, pattern) = (value.get(), pattern.get());
    if value.is_null() || pattern.is_null() {
        return Ok(None);
    }
    let steps_max = ctx.work_max.saturating_sub(ctx.work) / WORK_PER_STEP;
    let mut steps = steps_max;
    let matched = if matches!(value, ValueRef::Bytes(_)) || matches!(pattern, ValueRef::Bytes(_)) {
        let escape = escape.and_then(|escape| u8::try_from(escape).ok());
        crate::collation::like_bytes(&to_bytes(value), &to_bytes(pattern), escape, &mut steps)
    } else {
        let collation = match (value, pattern) {
            (ValueRef::Text(_, a), ValueRef::Text(_, b)) => {
                collation_of(operand_expr, a, pattern_expr, b)
            }
            (ValueRef::Text(_, collation), _) | (_, ValueRef::Text(_, collation)) => collation,
            _ => Collation::DEFAULT,
        };
        collation.like_within(&to_text(value), &to_text(pattern), escape, &mut steps)
    };
    ctx.spend((steps_max - steps) * WORK_PER_STEP)?;
    let matched = matched.ok_or(EvalError::TooMuchWork)?;
    Ok(Some(matched != negated))
}

/// The value of a constant, a column or a parameter, if it is short: the values of most operands.
#[inline(always)]
fn leaf<'r, 'a: 'r, R: Columns + ?Sized>(
    expr: &'r Expr,
    row: &'r R,
    ctx: &EvalContext<'a>,
) -> Option<ValueRef<'r>> {
    let value = match expr {
        Expr::Const(value) => value.as_ref(),
        Expr::Column(position) => row.column(usize::from(*position)),
        Expr::Param(position) if ctx.faulty.is_empty() => {
            let params: &'a [Value] = ctx.params;
            params[usize::from(*position)].as_ref()
        }
        _ => return None,
    };
    (value.held_bytes() < COUNTED_BYTES_MIN).then_some(value)
}

/// The value of `expr`, borrowed where it can be.
pub(super) fn operand<'r, 'a: 'r, R: Columns + ?Sized>(
    expr: &'r Expr,
    row: &'r R,
    ctx: &mut EvalContext<'a>,
) -> Result<Operand<'r>, EvalError> {
    let value = uncounted_operand(expr, row, ctx)?;
    ctx.spend_on(value.get())?;
    Ok(value)
}

fn uncounted_operand<'r, 'a: 'r, R: Columns + ?Sized>(
    expr: &'r Expr,
    row: &'r R,
    ctx: &mut EvalContext<'a>,
) -> Result<Operand<'r>, EvalError> {
    match expr {
        Expr::Const(value) => Ok(Operand::Ref(value.as_ref())),
        Expr::Column(position) => Ok(Operand::Ref(row.column(usize::from(*position)))),
        Expr::Param(position) => {
            if let Some((_, fault)) = ctx.faulty.iter().find(|(own, _)| own == position) {
                return Err(EvalError::Raised(fault.clone()));
            }
            let params: &'a [Value] = ctx.params;
            Ok(Operand::Ref(params[usize::from(*position)].as_ref()))
        }
        Expr::And(_)
        | Expr::Or(_)
        | Expr::IsNull(..)
        | Expr::IsTruth(..)
        | Expr::Between { .. }
        | Expr::In { .. }
        | Expr::Like { .. }
        | Expr::Unary(UnaryOp::Not, _) => Ok(truth_value(truth(expr, row, ctx)?)),
        Expr::Unary(op, inner) => operand_of_unary(*op, inner, row, ctx),
        Expr::Binary(op, ..) if is_comparison(*op) => Ok(truth_value(truth(expr, row, ctx)?)),
        Expr::Binary(op, left, right) => operand_of_binary(*op, left, right, row, ctx),
        Expr::Case { operand, branches, otherwise } => {
            operand_of_case(operand.as_deref(), branches, otherwise.as_deref(), row, ctx)
        }
        Expr::Cast(inner, target) => {
            let value = operand(inner, row, ctx)?;
            Ok(Operand::Owned(convert::cast(value.get(), target, &mut ctx.convert)))
        }
        Expr::Collate(inner, collation) => {
            Ok(operand_with_collation(operand(inner, row, ctx)?, *collation))
        }
        Expr::Convert(inner, target) => {
            let value = operand(inner, row, ctx)?;
            Ok(Operand::Owned(convert::to_type(value.get(), target, &mut ctx.convert)))
        }
        // A literal that the collation's character set cannot hold was refused when the expression
        // was settled. What the session supplies keeps such characters: they equal no others, and
        // are `?` among bytes.
        Expr::InCollation(inner, collation) => Ok(match operand(inner, row, ctx)? {
            Operand::Ref(ValueRef::Text(text, _)) => Operand::Ref(ValueRef::Text(text, *collation)),
            Operand::Owned(Value::Text(text, _)) => Operand::Owned(Value::Text(text, *collation)),
            other => match other.get() {
                ValueRef::Label(number, labels) => {
                    Operand::Owned(Value::text(&labels.text(number), *collation))
                }
                _ => other,
            },
        }),
        Expr::Interval { operand, amount, unit, subtract } => {
            operand_of_interval(operand, amount, *unit, *subtract, row, ctx)
        }
        Expr::Function(function, arguments) => operand_of_function(*function, arguments, row, ctx),
    }
}

pub(super) fn is_constant(expr: &Expr) -> bool {
    !matches!(expr, Expr::Column(_)) && expr.children().into_iter().all(is_constant)
}

fn operand_of_unary<'r, R: Columns + ?Sized>(
    op: UnaryOp,
    inner: &'r Expr,
    row: &'r R,
    ctx: &mut EvalContext<'_>,
) -> Result<Operand<'r>, EvalError> {
    let value = operand(inner, row, ctx)?;
    let result = match op {
        UnaryOp::Negate => match arithmetic::negate(value.get(), &mut ctx.convert) {
            // A constant beyond BIGINT is negated as a decimal.
            Err(_) if is_constant(inner) => {
                let number = convert::to_decimal(value.get(), &mut ctx.convert);
                Value::Decimal(number.neg())
            }
            result => result?,
        },
        UnaryOp::BitNot => arithmetic::bit_not(value.get(), &mut ctx.convert),
        UnaryOp::Not => unreachable!("NOT is answered by truth"),
    };
    Ok(Operand::Owned(result))
}

fn operand_of_binary<'r, R: Columns + ?Sized>(
    op: BinaryOp,
    left: &'r Expr,
    right: &'r Expr,
    row: &'r R,
    ctx: &mut EvalContext<'_>,
) -> Result<Operand<'r>, EvalError> {
    if op == BinaryOp::Xor {
        let (a, b) = (truth(left, row, ctx)?, truth(right, row, ctx)?);
        return Ok(truth_value(a.zip(b).map(|(a, b)| a != b)));
    }
    if let (Some(a), Some(b)) = (leaf(left, row, ctx), leaf(right, row, ctx)) {
        return Ok(match a.is_null() {
            true => Operand::Ref(ValueRef::Null),
            false => Operand::Owned(arithmetic::binary(op, a, b, &mut ctx.convert)?),
        });
    }
    let a = operand(left, row, ctx)?;
    if a.is_null() {
        return Ok(Operand::Ref(ValueRef::Null));
    }
    let b = operand(right, row, ctx)?;
    Ok(Operand::Owned(arithmetic::binary(op, a.get(), b.get(), &mut ctx.convert)?))
}

fn operand_of_case<'r, 'a: 'r, R: Columns + ?Sized>(
    subject: Option<&'r Expr>,
    branches: &'r [(Expr, Expr)],
    otherwise: Option<&'r Expr>,
    row: &'r R,
    ctx: &mut EvalContext<'a>,
) -> Result<Operand<'r>, EvalError> {
    match subject {
        None => {
            for (when, then) in branches {
                if truth(when, row, ctx)? == Some(true) {
                    return operand(then, row, ctx);
                }
            }
        }
        Some(subject) => {
            let value = operand(subject, row, ctx)?;
            // NULL equals nothing, so that nothing is evaluated for it.
            let branches = if value.is_null() { &[] } else { branches };
            for (when, then) in branches {
                let candidate = operand(when, row, ctx)?;
                let ordering = compare_operands(subject, value.get(), when, candidate.get(), ctx)?;
                if ordering == Some(Ordering::Equal) {
                    return operand(then, row, ctx);
                }
            }
        }
    }
    match otherwise {
        Some(otherwise) => operand(otherwise, row, ctx),
        None => Ok(Operand::Ref(ValueRef::Null)),
    }
}

fn operand_with_collation(operand: Operand<'_>, collation: Collation) -> Operand<'_> {
    match operand {
        Operand::Ref(ValueRef::Text(text, _)) => Operand::Ref(ValueRef::Text(text, collation)),
        Operand::Owned(Value::Text(text, _)) => Operand::Owned(Value::Text(text, collation)),
        Operand::Ref(ValueRef::Null) | Operand::Owned(Value::Null) => Operand::Ref(ValueRef::Null),
        other if matches!(other.get(), ValueRef::Bytes(_)) => other,
        other => Operand::Owned(Value::Text(to_text(other.get()).into(), collation)),
    }
}

fn operand_of_interval<'r, R: Columns + ?Sized>(
    date: &'r Expr,
    amount: &'r Expr,
    unit: super::IntervalUnit,
    subtract: bool,
    row: &'r R,
    ctx: &mut EvalContext<'_>,
) -> Result<Operand<'r>, EvalError> {
    let date = operand(date, row, ctx)?;
    let amount = operand(amount, row, ctx)?;
    let result = interval::add(date.get(), amount.get(), unit, subtract, &mut ctx.convert);
    Ok(Operand::Owned(result))
}

fn operand_of_function<'r, 'a: 'r, R: Columns + ?Sized>(
    function: Function,
    arguments: &'r [Expr],
    row: &'r R,
    ctx: &mut EvalContext<'a>,
) -> Result<Operand<'r>, EvalError> {
    match function {
        Function::If => {
            let branch = if truth(&arguments[0], row, ctx)? == Some(true) { 1 } else { 2 };
            operand(&arguments[branch], row, ctx)
        }
        Function::IfNull | Function::Coalesce => {
            for argument in arguments {
                let value = operand(argument, row, ctx)?;
                if !value.is_null() {
                    return Ok(value);
                }
            }
            Ok(Operand::Ref(ValueRef::Null))
        }
        Function::NullIf => {
            let a = operand(&arguments[0], row, ctx)?;
            let b = operand(&arguments[1], row, ctx)?;
            match compare_operands(&arguments[0], a.get(), &arguments[1], b.get(), ctx)? {
                Some(Ordering::Equal) => Ok(Operand::Ref(ValueRef::Null)),
                _ => Ok(a),
            }
        }
        _ => {
            // Without a list of them for the few that most functions have.
            match arguments {
                [a] => {
                    let a = operand(a, row, ctx)?;
                    return Ok(Operand::Owned(functions::call(function, &[a.get()], ctx)?));
                }
                [a, b] => {
                    let (a, b) = (operand(a, row, ctx)?, operand(b, row, ctx)?);
                    let values = [a.get(), b.get()];
                    return Ok(Operand::Owned(functions::call(function, &values, ctx)?));
                }
                [a, b, c] => {
                    let (a, b) = (operand(a, row, ctx)?, operand(b, row, ctx)?);
                    let c = operand(c, row, ctx)?;
                    let values = [a.get(), b.get(), c.get()];
                    return Ok(Operand::Owned(functions::call(function, &values, ctx)?));
                }
                _ => {}
            }
            let mut values = Vec::with_capacity(arguments.len());
            for argument in arguments {
                values.push(operand(argument, row, ctx)?);
            }
            let values: Vec<ValueRef<'_>> = values.iter().map(Operand::get).collect();
            Ok(Operand::Owned(functions::call(function, &values, ctx)?))
        }
    }
}
