//! Aggregates: what GROUP BY computes over the rows of a group.
//!
//! A state takes values one by one; states of the same aggregate merge, so that every node that scans keeps its own and
//! only states travel. Sums of exact numbers are exact; those of doubles depend on the order of their rows, as
//! anywhere. DISTINCT keeps every different value until the end, and ORDER BY every value, bounded by [`KEPT_BYTES_MAX`]:
//! only the union of the nodes' sets can be counted, or put in order.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::{Columns, EvalContext, EvalError, Expr, ResultType, arithmetic, eval};
use crate::convert::{ConvertContext, group_key, sort_compare, to_decimal, to_f64, to_text};
use crate::decimal::{DIV_PRECISION_INCREMENT, PRECISION_MAX, SCALE_MAX};
use crate::json::{Json, JsonRef, Object, encode};
use crate::wire::{Bytes, Reader, Wire, WireError};
use crate::{
    Collation, ColumnType, Date, DateTime, Decimal, IntWidth, NumberDisplay, Time, Value, ValueRef,
    wire_enum, wire_struct,
};

/// Bytes GROUP_CONCAT makes at most, unless it is told another number: MySQL's default group_concat_max_len.
pub const GROUP_CONCAT_LENGTH_DEFAULT: u32 = 1_024;

/// A longer GROUP_CONCAT is a TEXT, as in MySQL.
const GROUP_CONCAT_VARCHAR_MAX: u32 = 512;

/// Bytes the values may take that one aggregate keeps until the end.
pub const KEPT_BYTES_MAX: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AggregateFunction {
    Count,
    Sum,
    /// Digits behind the point that it shows beyond those of its argument: div_precision_increment.
    Avg {
        increment: u8,
    },
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    StddevPop,
    StddevSamp,
    VarPop,
    VarSamp,
    /// Of at most so many bytes.
    GroupConcat {
        separator: String,
        length_max: u32,
    },
    AnyValue,
    /// JSON_ARRAYAGG: the elements of its argument's arrays in one.
    JsonArray,
    /// JSON_OBJECTAGG: the members of its argument's objects in one.
    JsonObject,
}
wire_enum!(AggregateFunction {
    0 => Count, 1 => Sum, 2 => Avg { increment }, 3 => Min, 4 => Max, 5 => BitAnd, 6 => BitOr, 7 => BitXor,
    8 => StddevPop, 9 => StddevSamp, 10 => VarPop, 11 => VarSamp, 12 => GroupConcat { separator, length_max },
    13 => AnyValue, 14 => JsonArray, 15 => JsonObject,
});

impl AggregateFunction {
    /// By MySQL's name, in any case; GROUP_CONCAT with a comma and its default length, AVG with the default increment.
    pub fn by_name(name: &str) -> Option<AggregateFunction> {
        use AggregateFunction::*;
        Some(match name.to_ascii_uppercase().as_str() {
            "COUNT" => Count,
            "SUM" => Sum,
            "AVG" => Avg { increment: DIV_PRECISION_INCREMENT },
            "MIN" => Min,
            "MAX" => Max,
            "BIT_AND" => BitAnd,
            "BIT_OR" => BitOr,
            "BIT_XOR" => BitXor,
            "STD" | "STDDEV" | "STDDEV_POP" => StddevPop,
            "STDDEV_SAMP" => StddevSamp,
            "VARIANCE" | "VAR_POP" => VarPop,
            "VAR_SAMP" => VarSamp,
            "GROUP_CONCAT" => {
                GroupConcat { separator: ",".into(), length_max: GROUP_CONCAT_LENGTH_DEFAULT }
            }
            "ANY_VALUE" => AnyValue,
            "JSON_ARRAYAGG" => JsonArray,
            "JSON_OBJECTAGG" => JsonObject,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug)]
pub struct Aggregate {
    pub function: AggregateFunction,
    /// None is COUNT(*).
    pub argument: Option<Expr>,
    pub distinct: bool,
    /// Of GROUP_CONCAT: how its values are put together.
    pub order_by: Vec<OrderKey>,
}
wire_struct!(Aggregate { function, argument, distinct, order_by });

#[derive(Clone, Debug)]
pub struct OrderKey {
    pub expr: Expr,
    pub descending: bool,
}
wire_struct!(OrderKey { expr, descending });

impl Aggregate {
    /// In no order.
    pub fn new(function: AggregateFunction, argument: Option<Expr>) -> Aggregate {
        Aggregate { function, argument, distinct: false, order_by: Vec::new() }
    }

    /// All that it computes from a row.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.argument.iter().chain(self.order_by.iter().map(|key| &key.expr))
    }
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.argument.iter_mut().chain(self.order_by.iter_mut().map(|key| &mut key.expr))
    }

    /// Adds a row to a state of this aggregate.
    pub fn add_row<R: Columns + ?Sized>(
        &self,
        row: &R,
        state: &mut AggregateState,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), EvalError> {
        let value = match &self.argument {
            None => Value::Int(1),
            Some(argument) => eval(argument, row, cx)?,
        };
        let mut order = Vec::new();
        for key in &self.order_by {
            order.push(eval(&key.expr, row, cx)?);
        }
        state.update(value.as_ref(), order, &mut cx.convert)
    }

    /// The static type of the result, as `result_type` for expressions.
    pub fn result_type(&self, columns: &[ResultType], params: &[ResultType]) -> ResultType {
        use AggregateFunction::*;
        let argument = match &self.argument {
            Some(argument) => super::result_type(argument, columns, params),
            None => ResultType::of(None, false),
        };
        let bigint = |unsigned| ColumnType::Int { width: IntWidth::W8, unsigned };
        let (column_type, nullable) = match &self.function {
            Count => (Some(bigint(false)), false),
            BitAnd | BitOr | BitXor => (Some(bigint(true)), false),
            Min | Max => return argument.of_value(true),
            AnyValue => return ResultType { nullable: true, ..argument },
            JsonArray | JsonObject => (Some(ColumnType::Json), true),
            StddevPop | StddevSamp | VarPop | VarSamp => (Some(ColumnType::Double), true),
            GroupConcat { length_max, .. } => {
                let collation = argument.column_type.as_ref().and_then(ColumnType::collation);
                let collation = collation.unwrap_or(Collation::DEFAULT);
                let text = |bytes_max| ColumnType::Text { bytes_max, collation };
                let column_type = match *length_max {
                    length if length <= GROUP_CONCAT_VARCHAR_MAX => {
                        ColumnType::Varchar { length, collation }
                    }
                    // What functions make of it is as long as it is, and not as long as a TEXT may be.
                    length if length <= 0xffff => text(length),
                    length if length <= 0xff_ffff => text(0xff_ffff),
                    _ => text(u32::MAX),
                };
                (Some(column_type), true)
            }
            Sum | Avg { .. } => {
                let (wider, finer) = match self.function {
                    Avg { increment } => (increment, increment),
                    _ => (22, 0),
                };
                let exact = argument.exact_digits().map(|(precision, scale)| {
                    let scale = (scale + finer).min(SCALE_MAX);
                    let precision = (precision + wider).clamp(scale, PRECISION_MAX);
                    ColumnType::Decimal { precision, scale, unsigned: false }
                });
                let decimals = argument.display.decimals.map(|own| (own + finer).min(SCALE_MAX));
                let display = NumberDisplay::of_decimals(decimals.filter(|_| exact.is_none()));
                let own = ResultType::new(exact.unwrap_or(ColumnType::Double), true);
                return ResultType { display, ..own };
            }
        };
        ResultType::of(column_type, nullable)
    }
}

/// What an aggregate knows of the values so far.
///
/// A node holds one for each group, so what few aggregates need is behind a pointer.
#[derive(Clone, Debug)]
pub struct AggregateState {
    so_far: Accumulator,
    distinct: Option<Box<Distinct>>,
}
wire_struct!(AggregateState { so_far, distinct });

/// The different values of a DISTINCT aggregate, by what makes them equal, with what they are put in order by.
#[derive(Clone, Debug, Default)]
struct Distinct {
    values: BTreeMap<Bytes, (Value, Vec<Value>)>,
    size: u64,
}
wire_struct!(Distinct { values, size });

#[derive(Clone, Debug)]
enum Accumulator {
    Count(u64),
    Sum(Sum),
    /// With the digits behind the point that the division adds.
    Avg(Sum, u8),
    Min(Value),
    Max(Value),
    BitAnd(u64),
    BitOr(u64),
    BitXor(u64),
    StddevPop(Moments),
    StddevSamp(Moments),
    VarPop(Moments),
    VarSamp(Moments),
    Concat(Box<Concat>),
    Any(Option<Value>),
    Sorted(Box<Sorted>),
    Documents(Box<Documents>),
}
wire_enum!(Accumulator {
    0 => Count(count), 1 => Sum(sum), 2 => Avg(sum, increment), 3 => Min(value), 4 => Max(value),
    5 => BitAnd(bits), 6 => BitOr(bits), 7 => BitXor(bits), 8 => StddevPop(moments),
    9 => StddevSamp(moments), 10 => VarPop(moments), 11 => VarSamp(moments), 12 => Concat(concat),
    13 => Any(value), 14 => Sorted(sorted), 15 => Documents(documents),
});

/// Exact numbers and doubles are added apart, and integers among themselves: the exact ones stay exact, and integers stay
/// fast. No number of rows overflows 128 bits with 64-bit values.
#[derive(Clone, Debug, Default)]
struct Sum {
    count: u64,
    exact: Exact,
    /// NaN, which no sum is, until the first double.
    doubles: Doubles,
}

#[derive(Clone, Debug)]
enum Exact {
    /// The halves of a number, low and high: so it is aligned as the other case.
    Integers([u64; 2]),
    /// The integers before the first decimal, too.
    Decimals(Decimal),
}

impl Default for Exact {
    fn default() -> Exact {
        Exact::Integers([0; 2])
    }
}

#[derive(Clone, Copy, Debug)]
struct Doubles(f64);

impl Default for Doubles {
    fn default() -> Doubles {
        Doubles(f64::NAN)
    }
}

impl Doubles {
    fn get(self) -> Option<f64> {
        (!self.0.is_nan()).then_some(self.0)
    }
}

fn whole(halves: [u64; 2]) -> i128 {
    (u128::from(halves[1]) << 64 | u128::from(halves[0])) as i128
}
fn halves(number: i128) -> [u64; 2] {
    [number as u64, (number >> 64) as u64]
}

/// As (count, sum of integers, sum of decimals, sum of doubles).
impl Wire for Sum {
    fn encode(&self, out: &mut Vec<u8>) {
        let (integers, decimals) = match self.exact {
            Exact::Integers(own) => (whole(own), None),
            Exact::Decimals(own) => (0, Some(own)),
        };
        self.count.encode(out);
        integers.encode(out);
        decimals.encode(out);
        self.doubles.get().encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Sum, WireError> {
        let count = u64::decode(input)?;
        let integers = i128::decode(input)?;
        let decimals = Option::<Decimal>::decode(input)?;
        let doubles = Option::<f64>::decode(input)?.unwrap_or(f64::NAN);
        let exact = match decimals {
            None => Exact::Integers(halves(integers)),
            Some(own) => {
                let sum = own.add(Decimal::from_i128(integers));
                Exact::Decimals(sum.ok_or(WireError::Invalid("sum"))?)
            }
        };
        Ok(Sum { count, exact, doubles: Doubles(doubles) })
    }
}

impl Sum {
    fn add(&mut self, value: ValueRef<'_>, cx: &mut ConvertContext) -> Result<(), EvalError> {
        self.count += 1;
        match value {
            ValueRef::Int(v) => self.add_integer(i128::from(v))?,
            ValueRef::UInt(v) => self.add_integer(i128::from(v))?,
            ValueRef::Float(_)
            | ValueRef::Double(_)
            | ValueRef::Text(..)
            | ValueRef::Bytes(_)
            | ValueRef::Json(_)
            | ValueRef::Label(..) => {
                self.add_double(to_f64(value, cx))?;
            }
            ValueRef::Decimal(_)
            | ValueRef::Date(_)
            | ValueRef::Time(_)
            | ValueRef::DateTime(_) => self.add_decimal(to_decimal(value, cx))?,
            ValueRef::Null => unreachable!("aggregates skip NULL"),
        }
        Ok(())
    }
    fn add_double(&mut self, value: f64) -> Result<(), EvalError> {
        let sum = self.doubles.get().unwrap_or(0.0) + value;
        if !sum.is_finite() {
            return Err(sum_out_of_range("DOUBLE"));
        }
        self.doubles = Doubles(sum);
        Ok(())
    }
    fn add_integer(&mut self, value: i128) -> Result<(), EvalError> {
        match &mut self.exact {
            Exact::Integers(own) => {
                *own = halves(whole(*own).saturating_add(value));
                Ok(())
            }
            Exact::Decimals(_) => self.add_decimal(Decimal::from_i128(value)),
        }
    }
    fn add_decimal(&mut self, value: Decimal) -> Result<(), EvalError> {
        let sum = match self.exact {
            Exact::Integers([0, 0]) => Decimal::ZERO.add(value),
            Exact::Integers(own) => Decimal::from_i128(whole(own)).add(value),
            Exact::Decimals(own) => own.add(value),
        };
        self.exact = Exact::Decimals(sum.ok_or_else(|| sum_out_of_range("DECIMAL"))?);
        Ok(())
    }
    fn merge(&mut self, other: Sum) -> Result<(), EvalError> {
        self.count = self.count.saturating_add(other.count);
        match other.exact {
            Exact::Integers(others) => self.add_integer(whole(others))?,
            Exact::Decimals(others) => self.add_decimal(others)?,
        }
        match other.doubles.get() {
            Some(doubles) => self.add_double(doubles),
            None => Ok(()),
        }
    }
    fn exact(&self) -> Decimal {
        match self.exact {
            Exact::Integers(own) => Decimal::from_i128(whole(own)),
            Exact::Decimals(own) => own,
        }
    }
    /// The sum, or the average with its additional digits behind the point.
    fn finish(&self, average: Option<u8>) -> Value {
        if self.count == 0 {
            return Value::Null;
        }
        match (self.doubles.get(), self.exact()) {
            (Some(doubles), exact) => {
                let sum = doubles + exact.to_f64();
                Value::Double(if average.is_some() { sum / self.count as f64 } else { sum })
            }
            (None, sum) => {
                let count = Decimal::from_u64(self.count);
                let result = match average {
                    Some(increment) => sum.div(count, increment),
                    None => Some(sum),
                };
                result.map_or(Value::Null, Value::Decimal)
            }
        }
    }
}

fn sum_out_of_range(kind: &str) -> EvalError {
    EvalError::OutOfRange { kind: kind.into(), expression: "sum()".into() }
}

/// Which exact values the numbers of a [`Partial`] stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExactKind {
    Int,
    UInt,
    /// Mantissas at a scale.
    Decimal(u8),
    /// Packed, as the others.
    Date,
    Time,
    DateTime,
}

impl ExactKind {
    pub fn is_number(self) -> bool {
        matches!(self, ExactKind::Int | ExactKind::UInt | ExactKind::Decimal(_))
    }
    /// Digits behind the point.
    pub fn scale(self) -> u8 {
        match self {
            ExactKind::Decimal(scale) => scale,
            _ => 0,
        }
    }
    /// The value that a number stands for; None if there is none.
    fn value(self, number: i128) -> Option<Value> {
        Some(match self {
            ExactKind::Int => Value::Int(number.try_into().ok()?),
            ExactKind::UInt => Value::UInt(number.try_into().ok()?),
            ExactKind::Decimal(scale) => Value::Decimal(Decimal::from_parts(number, scale)),
            ExactKind::Date => Value::Date(Date::unpack(number.try_into().ok()?)?),
            ExactKind::Time => Value::Time(Time::unpack(number.try_into().ok()?)?),
            ExactKind::DateTime => Value::DateTime(DateTime::unpack(number.try_into().ok()?)?),
        })
    }
}

/// What COUNT, SUM, AVG, MIN or MAX knows of values whose kind the compiler knew: their sum, or the least or the largest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Partial {
    /// Values that were not NULL.
    pub count: u64,
    pub value: i128,
}

/// Welford's running mean and sum of squared distances from it: no cancellation as with sums of squares.
#[derive(Clone, Debug, Default)]
struct Moments {
    count: u64,
    mean: f64,
    distance: f64,
}
wire_struct!(Moments { count, mean, distance });

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.distance += before * (value - self.mean);
    }
    /// Chan, Golub, LeVeque: the moments of two sets together.
    fn merge(&mut self, other: &Moments) {
        let count = self.count.saturating_add(other.count);
        if count == 0 {
            return;
        }
        let apart = other.mean - self.mean;
        let (own, others, all) = (self.count as f64, other.count as f64, count as f64);
        self.distance += other.distance + apart * apart * own * others / all;
        self.mean += apart * others / all;
        self.count = count;
    }
    fn variance(&self, sample: bool) -> Option<f64> {
        let divisor = self.count.checked_sub(u64::from(sample))?;
        if divisor == 0 { None } else { Some(self.distance / divisor as f64) }
    }
}

#[derive(Clone, Debug)]
struct Concat {
    separator: String,
    length_max: u32,
    /// None until the first value.
    text: Option<String>,
    collation: Collation,
    /// Bytes of `text` in its character set; `length_max` bounds them.
    size: u64,
    was_cut: bool,
}
wire_struct!(Concat { separator, length_max, text, collation, size, was_cut });

impl Concat {
    fn add_value(&mut self, value: ValueRef<'_>, cx: &mut ConvertContext) {
        if let Some(collation) = value.collation() {
            self.collation = collation;
        }
        self.add(&to_text(value), cx);
    }
    fn add(&mut self, text: &str, cx: &mut ConvertContext) {
        let charset = self.collation.charset();
        let size_of = |text: &str| charset.size_of(text) as u64;
        let joined = match self.text.take() {
            None => {
                self.size = size_of(text);
                text.to_string()
            }
            Some(mut joined) => {
                if !self.was_cut {
                    let separator = charset.replace_missing(&self.separator);
                    joined.push_str(&separator);
                    joined.push_str(text);
                    self.size += size_of(&separator) + size_of(text);
                }
                joined
            }
        };
        self.text = Some(joined);
        self.cut(cx);
    }
    fn value(&self) -> Value {
        match &self.text {
            None => Value::Null,
            Some(text) => Value::text(text, self.collation),
        }
    }
    fn cut(&mut self, cx: &mut ConvertContext) {
        let Some(text) = &mut self.text else { return };
        if self.size > u64::from(self.length_max) {
            let charset = self.collation.charset();
            text.truncate(charset.prefix_of_size(text, self.length_max as usize));
            self.size = charset.size_of(text) as u64;
            self.was_cut = true;
            cx.warn(1260, "A row was cut by GROUP_CONCAT()".into());
        }
    }
}

/// What will be put together in order.
#[derive(Clone, Debug)]
struct Sorted {
    empty: Concat,
    descending: Vec<bool>,
    /// Each with what it is put in order by.
    values: Vec<(Value, Vec<Value>)>,
    size: u64,
}
wire_struct!(Sorted { empty, descending, values, size });

impl Sorted {
    fn add(&mut self, value: Value, order: Vec<Value>) -> Result<(), EvalError> {
        keep_bytes(&mut self.size, kept_size(&value, &order))?;
        self.values.push((value, order));
        Ok(())
    }
    fn merge(&mut self, other: Sorted) -> Result<(), EvalError> {
        keep_bytes(&mut self.size, other.size)?;
        self.values.extend(other.values);
        Ok(())
    }
    fn finish(&self, cx: &mut ConvertContext) -> Concat {
        let mut values: Vec<&(Value, Vec<Value>)> = self.values.iter().collect();
        values.sort_by(|(_, left), (_, right)| {
            let pairs = left.iter().zip(right).zip(&self.descending);
            let mut compared = pairs.map(|((left, right), descending)| {
                let ordering = sort_compare(left.as_ref(), right.as_ref());
                if *descending { ordering.reverse() } else { ordering }
            });
            compared.find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
        });
        let mut concat = self.empty.clone();
        values.into_iter().for_each(|(value, _)| concat.add_value(value.as_ref(), cx));
        concat
    }
}

/// What will be one JSON array, or one JSON object.
#[derive(Clone, Debug)]
struct Documents {
    is_object: bool,
    /// Whether there was a row: without one the result is NULL.
    has_rows: bool,
    elements: Vec<Bytes>,
    members: BTreeMap<String, Bytes>,
    size: u64,
}
wire_struct!(Documents { is_object, has_rows, elements, members, size });

impl Documents {
    fn new(is_object: bool) -> Documents {
        let (elements, members) = (Vec::new(), BTreeMap::new());
        Documents { is_object, has_rows: false, elements, members, size: 0 }
    }
    /// Takes the elements or the members of a document.
    fn add(&mut self, value: ValueRef<'_>) -> Result<(), EvalError> {
        let ValueRef::Json(document) = value else { return Err(mismatch()) };
        let container = JsonRef::new(document).container();
        let container = container.filter(|own| own.is_object() == self.is_object);
        let container = container.ok_or_else(mismatch)?;
        self.has_rows = true;
        for position in 0..container.len() {
            let value = Bytes(container.value(position).to_document().into());
            match self.is_object {
                true => self.add_member(container.name(position).into(), value)?,
                false => self.add_element(value)?,
            }
        }
        Ok(())
    }
    fn add_element(&mut self, value: Bytes) -> Result<(), EvalError> {
        keep_bytes(&mut self.size, (ENTRY_SIZE + value.len()) as u64)?;
        self.elements.push(value);
        Ok(())
    }
    /// The last one of a name stays.
    fn add_member(&mut self, name: String, value: Bytes) -> Result<(), EvalError> {
        keep_bytes(&mut self.size, (ENTRY_SIZE + name.len() + value.len()) as u64)?;
        self.members.insert(name, value);
        Ok(())
    }
    fn merge(&mut self, other: Documents) -> Result<(), EvalError> {
        if self.is_object != other.is_object {
            return Err(mismatch());
        }
        self.has_rows |= other.has_rows;
        for value in other.elements {
            self.add_element(value)?;
        }
        for (name, value) in other.members {
            self.add_member(name, value)?;
        }
        Ok(())
    }
    fn finish(&self) -> Result<Value, EvalError> {
        if !self.has_rows {
            return Ok(Value::Null);
        }
        let tree = |document: &Bytes| JsonRef::new(document).to_json();
        let document = match self.is_object {
            true => {
                let members = self.members.iter();
                let members = members.map(|(name, value)| (name.as_str().into(), tree(value)));
                Json::Object(Object::of_members(members.collect()))
            }
            false => Json::Array(self.elements.iter().map(tree).collect()),
        };
        encode(&document).map(Value::Json).map_err(super::functions::document_error)
    }
}

/// What an entry of a list takes: headers, and a share of a tree's nodes.
const ENTRY_SIZE: usize = 96;

fn kept_size(value: &Value, order: &[Value]) -> u64 {
    let values = std::iter::once(value).chain(order);
    values.map(|value| (ENTRY_SIZE + value.held_bytes()) as u64).sum()
}

fn keep_bytes(size: &mut u64, bytes: u64) -> Result<(), EvalError> {
    *size = size.saturating_add(bytes);
    if *size <= KEPT_BYTES_MAX {
        return Ok(());
    }
    let message = "Out of memory for the values of a DISTINCT or ordered aggregate";
    Err(EvalError::raised(1038, message))
}

impl AggregateState {
    pub fn new(aggregate: &Aggregate) -> AggregateState {
        use AggregateFunction as F;
        let so_far = match &aggregate.function {
            F::Count => Accumulator::Count(0),
            F::Sum => Accumulator::Sum(Sum::default()),
            F::Avg { increment } => Accumulator::Avg(Sum::default(), *increment),
            F::Min => Accumulator::Min(Value::Null),
            F::Max => Accumulator::Max(Value::Null),
            F::BitAnd => Accumulator::BitAnd(u64::MAX),
            F::BitOr => Accumulator::BitOr(0),
            F::BitXor => Accumulator::BitXor(0),
            F::StddevPop => Accumulator::StddevPop(Moments::default()),
            F::StddevSamp => Accumulator::StddevSamp(Moments::default()),
            F::VarPop => Accumulator::VarPop(Moments::default()),
            F::VarSamp => Accumulator::VarSamp(Moments::default()),
            F::GroupConcat { separator, length_max } => {
                let empty = Concat {
                    separator: separator.clone(),
                    length_max: *length_max,
                    text: None,
                    collation: Collation::DEFAULT,
                    size: 0,
                    was_cut: false,
                };
                let descending: Vec<bool> =
                    aggregate.order_by.iter().map(|key| key.descending).collect();
                match descending.is_empty() {
                    true => Accumulator::Concat(Box::new(empty)),
                    false => {
                        let values = Vec::new();
                        let sorted = Sorted { empty, descending, values, size: 0 };
                        Accumulator::Sorted(Box::new(sorted))
                    }
                }
            }
            F::AnyValue => Accumulator::Any(None),
            F::JsonArray => Accumulator::Documents(Box::new(Documents::new(false))),
            F::JsonObject => Accumulator::Documents(Box::new(Documents::new(true))),
        };
        // For these a value counts the same once or often.
        let idempotent =
            matches!(aggregate.function, F::Min | F::Max | F::BitAnd | F::BitOr | F::AnyValue);
        let distinct = (aggregate.distinct && !idempotent).then(Box::default);
        AggregateState { so_far, distinct }
    }

    /// Takes the argument's value on one row. For COUNT(*), any value but NULL. NULL is skipped (ANY_VALUE takes it).
    pub(super) fn update(
        &mut self,
        value: ValueRef<'_>,
        order: Vec<Value>,
        cx: &mut ConvertContext,
    ) -> Result<(), EvalError> {
        if value.is_null() && !matches!(self.so_far, Accumulator::Any(_)) {
            return Ok(());
        }
        match &mut self.distinct {
            None => self.so_far.add(value, order, cx),
            Some(distinct) => distinct.add(value, order),
        }
    }

    /// Takes the values of a partial result, which is empty then.
    pub fn take(&mut self, kind: ExactKind, partial: &mut Partial) -> Result<(), EvalError> {
        let Partial { count, value } = std::mem::take(partial);
        if count == 0 {
            return Ok(());
        }
        match &mut self.so_far {
            Accumulator::Count(own) => *own += count,
            Accumulator::Sum(sum) | Accumulator::Avg(sum, _) => {
                sum.count += count;
                match kind {
                    ExactKind::Decimal(scale) => {
                        sum.add_decimal(Decimal::from_parts(value, scale))?;
                    }
                    _ => sum.add_integer(value)?,
                }
            }
            Accumulator::Min(_) | Accumulator::Max(_) => {
                let value = kind.value(value).expect("the value was in a row");
                self.so_far.add(value.as_ref(), Vec::new(), &mut ConvertContext::default())?;
            }
            _ => unreachable!("no other aggregate is compiled"),
        }
        Ok(())
    }

    /// Takes what `other`, a state of the same aggregate, has seen.
    pub fn merge(
        &mut self,
        other: AggregateState,
        cx: &mut ConvertContext,
    ) -> Result<(), EvalError> {
        match (&mut self.distinct, other.distinct) {
            (Some(own), Some(others)) => {
                for (key, (value, order)) in others.values {
                    own.insert(key, value, order)?;
                }
                Ok(())
            }
            (None, None) => self.so_far.merge(other.so_far, cx),
            _ => Err(mismatch()),
        }
    }

    pub fn finish(&self, cx: &mut ConvertContext) -> Result<Value, EvalError> {
        let value = match &self.distinct {
            None => self.so_far.finish(cx)?,
            Some(distinct) => {
                let mut so_far = self.so_far.clone();
                for (value, order) in distinct.values.values() {
                    so_far.add(value.as_ref(), order.clone(), cx)?;
                }
                so_far.finish(cx)?
            }
        };
        match value {
            // Squares of large values, or a sum of them.
            Value::Double(number) if !number.is_finite() => Err(sum_out_of_range("DOUBLE")),
            value => Ok(value),
        }
    }

    /// Roughly the memory taken beyond the state itself, in bytes.
    pub fn size(&self) -> u64 {
        let held = match &self.so_far {
            Accumulator::Min(value) | Accumulator::Max(value) | Accumulator::Any(Some(value)) => {
                value.held_bytes() as u64
            }
            Accumulator::Concat(concat) => concat.text.as_ref().map_or(0, String::len) as u64,
            Accumulator::Sorted(sorted) => sorted.size,
            Accumulator::Documents(documents) => documents.size,
            _ => 0,
        };
        held + self.distinct.as_ref().map_or(0, |distinct| distinct.size)
    }
}

/// States that do not belong together can only come from a peer that is out of step.
fn mismatch() -> EvalError {
    EvalError::raised(1105, "partial results of different aggregates cannot be merged")
}

impl Distinct {
    fn add(&mut self, value: ValueRef<'_>, order: Vec<Value>) -> Result<(), EvalError> {
        let mut key = Vec::new();
        group_key(value, &mut key);
        self.insert(Bytes(key), value.to_value(), order)
    }
    fn insert(&mut self, key: Bytes, value: Value, order: Vec<Value>) -> Result<(), EvalError> {
        if self.values.contains_key(&key) {
            return Ok(());
        }
        keep_bytes(&mut self.size, key.len() as u64 + kept_size(&value, &order))?;
        self.values.insert(key, (value, order));
        Ok(())
    }
}

impl Accumulator {
    fn add(
        &mut self,
        value: ValueRef<'_>,
        order: Vec<Value>,
        cx: &mut ConvertContext,
    ) -> Result<(), EvalError> {
        match self {
            Accumulator::Count(count) => *count += 1,
            Accumulator::Sum(sum) | Accumulator::Avg(sum, _) => sum.add(value, cx)?,
            Accumulator::Min(least) => keep(least, value, Ordering::Less),
            Accumulator::Max(most) => keep(most, value, Ordering::Greater),
            Accumulator::BitAnd(bits) => *bits &= arithmetic::to_bits(value, cx),
            Accumulator::BitOr(bits) => *bits |= arithmetic::to_bits(value, cx),
            Accumulator::BitXor(bits) => *bits ^= arithmetic::to_bits(value, cx),
            Accumulator::StddevPop(moments)
            | Accumulator::StddevSamp(moments)
            | Accumulator::VarPop(moments)
            | Accumulator::VarSamp(moments) => moments.add(to_f64(value, cx)),
            Accumulator::Concat(concat) => concat.add_value(value, cx),
            Accumulator::Sorted(sorted) => sorted.add(value.to_value(), order)?,
            Accumulator::Documents(documents) => documents.add(value)?,
            Accumulator::Any(any) => {
                any.get_or_insert_with(|| value.to_value());
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: Accumulator, cx: &mut ConvertContext) -> Result<(), EvalError> {
        use Accumulator::*;
        match (self, other) {
            (Count(a), Count(b)) => *a = a.saturating_add(b),
            (Sum(a), Sum(b)) | (Avg(a, _), Avg(b, _)) => a.merge(b)?,
            (Min(a), Min(b)) => keep(a, b.as_ref(), Ordering::Less),
            (Max(a), Max(b)) => keep(a, b.as_ref(), Ordering::Greater),
            (BitAnd(a), BitAnd(b)) => *a &= b,
            (BitOr(a), BitOr(b)) => *a |= b,
            (BitXor(a), BitXor(b)) => *a ^= b,
            (StddevPop(a), StddevPop(b))
            | (StddevSamp(a), StddevSamp(b))
            | (VarPop(a), VarPop(b))
            | (VarSamp(a), VarSamp(b)) => a.merge(&b),
            (Concat(a), Concat(b)) => {
                if let Some(text) = b.text {
                    a.collation = b.collation;
                    a.add(&text, cx);
                }
            }
            (Sorted(a), Sorted(b)) => a.merge(*b)?,
            (Documents(a), Documents(b)) => a.merge(*b)?,
            (Any(a), Any(b)) => {
                if a.is_none() {
                    *a = b;
                }
            }
            _ => return Err(mismatch()),
        }
        Ok(())
    }

    fn finish(&self, cx: &mut ConvertContext) -> Result<Value, EvalError> {
        let double = |value: Option<f64>| value.map_or(Value::Null, Value::Double);
        Ok(match self {
            Accumulator::Count(count) => Value::Int(i64::try_from(*count).unwrap_or(i64::MAX)),
            Accumulator::Sum(sum) => sum.finish(None),
            Accumulator::Avg(sum, increment) => sum.finish(Some(*increment)),
            Accumulator::Min(value) | Accumulator::Max(value) => value.clone(),
            Accumulator::BitAnd(bits) | Accumulator::BitOr(bits) | Accumulator::BitXor(bits) => {
                Value::UInt(*bits)
            }
            Accumulator::StddevPop(moments) => double(moments.variance(false).map(f64::sqrt)),
            Accumulator::StddevSamp(moments) => double(moments.variance(true).map(f64::sqrt)),
            Accumulator::VarPop(moments) => double(moments.variance(false)),
            Accumulator::VarSamp(moments) => double(moments.variance(true)),
            Accumulator::Concat(concat) => concat.value(),
            Accumulator::Sorted(sorted) => sorted.finish(cx).value(),
            Accumulator::Documents(documents) => documents.finish()?,
            Accumulator::Any(value) => value.clone().unwrap_or(Value::Null),
        })
    }
}

/// Keeps `value` if it is `wanted` compared with what is kept. NULL is not kept.
fn keep(kept: &mut Value, value: ValueRef<'_>, wanted: Ordering) {
    if value.is_null() {
        return;
    }
    let ordering = match (value, kept.as_ref()) {
        // All digits count, so that the result does not depend on the order of the rows.
        (ValueRef::Decimal(value), ValueRef::Decimal(kept)) => value.cmp(&kept),
        (value, kept) => sort_compare(value, kept),
    };
    if kept.is_null() || ordering == wanted {
        *kept = value.to_value();
    }
}
