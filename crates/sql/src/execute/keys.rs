//! Bounds to key bytes: what an [`IndexPath`] means for the values at hand.
//!
//! A comparison of a column with a value of another kind is a comparison of keys only if the value can be said in the
//! column's type: `id = '5'` can, `id = 5.5` finds nothing, `id < 5.5` is `id <= 5`, `name = 5` (which MySQL compares as
//! numbers) cannot. Then the answer is [`Keys::Unusable`] and the caller scans with the whole filter.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use client::KeyRange;
use types::convert::{
    ConvertContext, StoreMode, plain_integer, store, to_bytes, to_decimal, to_f64, to_integer,
};
use types::expr::{EvalContext, NoColumns, eval};
use types::value::{YEAR_RANGE, bit_max, int_range};
use types::{ColumnType, Decimal, Expr, Index, LabelKind, Labels, Table, Value, ValueRef, key};

use super::eval_error;
use crate::SqlError;
use crate::error::code;
use crate::plan::{IndexPath, PartBound, PathKind, RangeBound};

/// Most keys or ranges one path may become; beyond, the rows are scanned.
const KEY_COUNT_MAX: usize = 65_536;
/// Bytes of the bounds of ranges, which each shard is sent with each piece of the scan; beyond, the rows are scanned.
pub const RANGE_BYTES_MAX: usize = 4 << 20;

#[derive(Debug, PartialEq)]
pub enum Keys {
    /// Encoded keys of the primary key (or of a unique key's entries), in order, each once.
    Keys(Vec<Vec<u8>>),
    /// In order and disjoint.
    Ranges(Vec<KeyRange>),
    /// No row can match.
    Nothing,
    /// The bounds do not hold for keys.
    Unusable,
}

/// A value as a key of a column sees it.
#[derive(Debug, PartialEq)]
enum Fit {
    Exact(Value),
    /// Between `value` and the next one of the column's type.
    Above(Value),
    /// Between the one before `value` and `value`.
    Below(Value),
    /// Larger, smaller than everything the type holds.
    TooHigh,
    TooLow,
    Null,
    Unusable,
}

/// `keyed` is the table whose primary key is read: the table itself, or the entries table of a unique key.
pub fn resolve(
    table: &Table,
    keyed: &Table,
    path: &IndexPath,
    context: &mut EvalContext<'_>,
) -> Result<Keys, SqlError> {
    let index = &table.indexes[path.index];
    if path.kind != PathKind::Range {
        let mut key = Vec::new();
        match put_single_key(table, keyed, path, context, &mut key)? {
            SingleKey::Put => return Ok(Keys::Keys(vec![key])),
            SingleKey::Unusable => return Ok(Keys::Unusable),
            SingleKey::Other => {}
        }
    }
    // For each leading part the values it may have.
    let mut parts: Vec<Vec<Value>> = Vec::with_capacity(path.equal.len());
    for (bound, part) in path.equal.iter().zip(&index.parts) {
        let column_type = &table.columns[usize::from(part.column)].column_type;
        let mut values = Vec::new();
        let mut add = |expr: &Expr, null_matches: bool, context: &mut EvalContext<'_>| {
            let value = constant(expr, context)?;
            match fit(value.as_ref(), column_type, context) {
                Fit::Exact(value) => values.push(value),
                Fit::Null if null_matches => values.push(Value::Null),
                Fit::Above(_) | Fit::Below(_) | Fit::TooHigh | Fit::TooLow | Fit::Null => {}
                Fit::Unusable => return Ok(false),
            }
            Ok::<bool, SqlError>(true)
        };
        let usable = match bound {
            PartBound::Equal(expr) => add(expr, false, context)?,
            PartBound::NullSafeEqual(expr) => add(expr, true, context)?,
            PartBound::IsNull => {
                values.push(Value::Null);
                true
            }
            PartBound::In(list) => {
                let mut usable = true;
                for expr in list {
                    usable &= add(expr, false, context)?;
                }
                usable
            }
        };
        if !usable {
            return Ok(Keys::Unusable);
        }
        if values.is_empty() {
            return Ok(Keys::Nothing);
        }
        parts.push(values);
    }
    let count = parts.iter().try_fold(1usize, |product, values| product.checked_mul(values.len()));
    if count.is_none_or(|count| KEY_COUNT_MAX < count) {
        return Ok(Keys::Unusable);
    }
    if path.kind != PathKind::Range {
        let mut keys = Vec::with_capacity(count.unwrap_or(1));
        for_each_combination(&parts, &mut |values| {
            keys.push(key::primary_key_of_values(keyed, values).map_err(|_| too_long())?);
            Ok(())
        })?;
        if 1 < keys.len() {
            keys.sort_unstable();
            keys.dedup();
        }
        return Ok(Keys::Keys(keys));
    }
    let mut ranges = Vec::new();
    let mut usable = true;
    let mut bytes = 0;
    for_each_combination(&parts, &mut |values| {
        if !usable {
            return Ok(());
        }
        let counted = ranges.len();
        if path.ranges.is_empty() {
            let prefix = key::index_key_prefix(table, index, values).map_err(|_| too_long())?;
            ranges.push(if values.is_empty() { KeyRange::all() } else { KeyRange::prefix(prefix) });
        }
        for range in &path.ranges {
            match range_of(table, index, values, range, context)? {
                Ranged::Range(range) => ranges.push(range),
                Ranged::Nothing => {}
                Ranged::Unusable => usable = false,
            }
        }
        bytes += ranges[counted..].iter().map(range_size).sum::<usize>();
        usable &= bytes <= RANGE_BYTES_MAX;
        Ok(())
    })?;
    if !usable {
        return Ok(Keys::Unusable);
    }
    if ranges.is_empty() {
        return Ok(Keys::Nothing);
    }
    if 1 < ranges.len() {
        ranges = disjoint(ranges);
    }
    Ok(Keys::Ranges(ranges))
}

/// Bytes of its bounds.
fn range_size(range: &KeyRange) -> usize {
    let size = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Included(key) | Bound::Excluded(key) => key.len(),
        Bound::Unbounded => 0,
    };
    size(&range.lower) + size(&range.upper)
}

/// The ranges in order, those that meet made one. Every one of them includes its lower end and not its upper.
fn disjoint(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.sort_by(|a, b| lower_bytes(a).cmp(lower_bytes(b)));
    let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        let Some(last) = merged.last_mut() else {
            merged.push(range);
            continue;
        };
        let Bound::Excluded(end) = &last.upper else {
            // Unbounded: it holds all that come behind it.
            break;
        };
        if end.as_slice() < lower_bytes(&range) {
            merged.push(range);
            continue;
        }
        let reaches_further = match &range.upper {
            Bound::Excluded(further) | Bound::Included(further) => end < further,
            Bound::Unbounded => true,
        };
        if reaches_further {
            last.upper = range.upper;
        }
    }
    merged
}

/// What became of a path as one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SingleKey {
    Put,
    /// As [`Keys::Unusable`].
    Unusable,
    /// More than one key, or none, or a bound that is no plain equality.
    Other,
}

/// Appends the one key that plain equalities make, the way of most statements: no lists to combine.
pub fn put_single_key(
    table: &Table,
    keyed: &Table,
    path: &IndexPath,
    context: &mut EvalContext<'_>,
    out: &mut Vec<u8>,
) -> Result<SingleKey, SqlError> {
    let start = out.len();
    let (index, own) = (&table.indexes[path.index], keyed.primary_key());
    assert_eq!(path.equal.len(), own.parts.len());
    for ((bound, part), own) in path.equal.iter().zip(&index.parts).zip(&own.parts) {
        let PartBound::Equal(expr) = bound else { return Ok(SingleKey::Other) };
        let column_type = &table.columns[usize::from(part.column)].column_type;
        let fitted = match expr {
            Expr::Param(number) if context.faulty.is_empty() => {
                let params = context.params;
                fit(params[usize::from(*number)].as_ref(), column_type, context)
            }
            _ => fit(constant(expr, context)?.as_ref(), column_type, context),
        };
        match fitted {
            Fit::Exact(value) => key::encode_part(keyed, own, value.as_ref(), out),
            Fit::Unusable => return Ok(SingleKey::Unusable),
            // A later part may still be unusable, or fail: that is found out the general way.
            Fit::Above(_) | Fit::Below(_) | Fit::TooHigh | Fit::TooLow | Fit::Null => {
                return Ok(SingleKey::Other);
            }
        }
    }
    if key::KEY_SIZE_MAX < out.len() - start {
        return Err(too_long());
    }
    Ok(SingleKey::Put)
}

fn lower_bytes(range: &KeyRange) -> &[u8] {
    match &range.lower {
        Bound::Included(key) | Bound::Excluded(key) => key,
        Bound::Unbounded => &[],
    }
}

fn too_long() -> SqlError {
    SqlError::new(code::ER_TOO_LONG_KEY, "Specified key was too long; max key length is 3072 bytes")
}

/// The value of an expression without columns; borrowing ones are not copied twice.
pub fn constant(expr: &Expr, context: &mut EvalContext<'_>) -> Result<Value, SqlError> {
    match expr {
        Expr::Const(value) => Ok(value.clone()),
        Expr::Param(number) if context.faulty.is_empty() => {
            Ok(context.params[usize::from(*number)].clone())
        }
        _ => eval(expr, &NoColumns, context).map_err(|error| eval_error(&error)),
    }
}

/// Calls `visit` with every combination of one value a part.
fn for_each_combination(
    parts: &[Vec<Value>],
    visit: &mut dyn FnMut(&[ValueRef<'_>]) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let mut positions = vec![0usize; parts.len()];
    let mut values: Vec<ValueRef<'_>> = Vec::with_capacity(parts.len());
    loop {
        values.clear();
        values.extend(positions.iter().zip(parts).map(|(&position, part)| part[position].as_ref()));
        visit(&values)?;
        // The next combination, last part fastest.
        let mut part = parts.len();
        loop {
            if part == 0 {
                return Ok(());
            }
            part -= 1;
            positions[part] += 1;
            if positions[part] < parts[part].len() {
                break;
            }
            positions[part] = 0;
        }
    }
}

enum Ranged {
    Range(KeyRange),
    Nothing,
    Unusable,
}

/// A bound in terms of the column's own values.
enum Edge {
    /// No bound on this side.
    Open,
    /// From (or to) this value, with or without it.
    At(Value, bool),
    /// Nothing is on the right side of it.
    Empty,
}

fn range_of(
    table: &Table,
    index: &Index,
    equal: &[ValueRef<'_>],
    range: &RangeBound,
    context: &mut EvalContext<'_>,
) -> Result<Ranged, SqlError> {
    let part = &index.parts[equal.len()];
    let column = &table.columns[usize::from(part.column)];
    if column.column_type.labels().is_some() && (range.lower.is_some() || range.upper.is_some()) {
        // Keys have the order of numbers, comparisons that of texts.
        return Ok(Ranged::Unusable);
    }
    let mut edge =
        |bound: &Option<(Expr, bool)>, is_lower: bool| -> Result<Option<Edge>, SqlError> {
            let Some((expr, inclusive)) = bound else { return Ok(Some(Edge::Open)) };
            let value = constant(expr, context)?;
            Ok(match (fit(value.as_ref(), &column.column_type, context), is_lower) {
                (Fit::Exact(value), _) => Some(Edge::At(value, *inclusive)),
                // 5 < 5.5 < 6: above 5 without it, up to 5 with it.
                (Fit::Above(value), true) => Some(Edge::At(value, false)),
                (Fit::Above(value), false) => Some(Edge::At(value, true)),
                (Fit::Below(value), true) => Some(Edge::At(value, true)),
                (Fit::Below(value), false) => Some(Edge::At(value, false)),
                (Fit::TooHigh, true) | (Fit::TooLow, false) | (Fit::Null, _) => Some(Edge::Empty),
                (Fit::TooHigh, false) | (Fit::TooLow, true) => Some(Edge::Open),
                (Fit::Unusable, _) => None,
            })
        };
    let (Some(low), Some(high)) = (edge(&range.lower, true)?, edge(&range.upper, false)?) else {
        return Ok(Ranged::Unusable);
    };
    if matches!(low, Edge::Empty) || matches!(high, Edge::Empty) {
        return Ok(Ranged::Nothing);
    }
    let prefix_of = |value: ValueRef<'_>| {
        let mut values = equal.to_vec();
        values.push(value);
        key::index_key_prefix(table, index, &values).map_err(|_| too_long())
    };
    // What lies before, and behind, all keys of one value.
    let before = |value: &Value| Ok::<_, SqlError>(Bound::Included(prefix_of(value.as_ref())?));
    let behind = |value: &Value| {
        let key = prefix_of(value.as_ref())?;
        Ok::<_, SqlError>(key::prefix_successor(&key))
    };
    // A prefix in the key is equal for values that differ behind it: such a bound takes its own value in.
    let cut = part.prefix.is_some();
    // In a descending part larger values have smaller keys.
    let (first, last) = if part.descending { (high, low) } else { (low, high) };
    let all_equal = key::index_key_prefix(table, index, equal).map_err(|_| too_long())?;
    let null_key = if column.nullable { Some(prefix_of(ValueRef::Null)?) } else { None };
    let lower = match first {
        Edge::At(value, inclusive) if inclusive || cut => before(&value)?,
        Edge::At(value, _) => match behind(&value)? {
            Some(key) => Bound::Included(key),
            None => return Ok(Ranged::Nothing),
        },
        _ => match &null_key {
            // NULLs come first in an ascending part, and no comparison is true for them.
            Some(null) if !part.descending => match key::prefix_successor(null) {
                Some(key) => Bound::Included(key),
                None => return Ok(Ranged::Nothing),
            },
            _ if equal.is_empty() => Bound::Unbounded,
            _ => Bound::Included(all_equal.clone()),
        },
    };
    let upper = match last {
        Edge::At(value, inclusive) if inclusive || cut => match behind(&value)? {
            Some(key) => Bound::Excluded(key),
            None => Bound::Unbounded,
        },
        Edge::At(value, _) => Bound::Excluded(prefix_of(value.as_ref())?),
        _ => match &null_key {
            Some(null) if part.descending => Bound::Excluded(null.clone()),
            _ if equal.is_empty() => Bound::Unbounded,
            _ => match key::prefix_successor(&all_equal) {
                Some(key) => Bound::Excluded(key),
                None => Bound::Unbounded,
            },
        },
    };
    let is_empty = match (&lower, &upper) {
        (Bound::Included(lower), Bound::Excluded(upper)) => upper <= lower,
        _ => false,
    };
    Ok(if is_empty { Ranged::Nothing } else { Ranged::Range(KeyRange { lower, upper }) })
}

/// The value in the column's type, or where it lies between two of its values.
fn fit(value: ValueRef<'_>, column_type: &ColumnType, context: &mut EvalContext<'_>) -> Fit {
    if value.is_null() {
        return Fit::Null;
    }
    match column_type {
        ColumnType::Int { width, unsigned } => match value {
            ValueRef::Int(number) => {
                fit_integer(i128::from(number), *unsigned, int_range(*width, *unsigned))
            }
            ValueRef::UInt(number) => {
                fit_integer(i128::from(number), *unsigned, int_range(*width, *unsigned))
            }
            ValueRef::Text(text, _) => match plain_integer(text.as_bytes()) {
                Some(number) => fit_integer(number, *unsigned, int_range(*width, *unsigned)),
                None => Fit::Unusable,
            },
            _ => match number_of(value) {
                Some(number) => {
                    fit_decimal_as_integer(number, *unsigned, int_range(*width, *unsigned))
                }
                None => Fit::Unusable,
            },
        },
        ColumnType::Decimal { precision, scale, unsigned } => match number_of(value) {
            Some(number) => fit_decimal(number, *precision, *scale, *unsigned),
            None => Fit::Unusable,
        },
        ColumnType::Double => match value {
            ValueRef::Double(number) => Fit::Exact(Value::Double(number + 0.0)),
            ValueRef::Int(_) | ValueRef::UInt(_) | ValueRef::Decimal(_) => {
                let number = to_f64(value, &mut ConvertContext::default());
                Fit::Exact(Value::Double(number + 0.0))
            }
            _ => Fit::Unusable,
        },
        ColumnType::Float => Fit::Unusable,
        ColumnType::Char { .. } | ColumnType::Varchar { .. } | ColumnType::Text { .. } => {
            match value {
                ValueRef::Text(text, _) => {
                    let collation = column_type.collation().expect("a character type has one");
                    // CHAR is kept without trailing spaces, and so are its keys. With a PAD SPACE collation they do not count anyway,
                    // with another no key says where they would be.
                    let text = match column_type {
                        ColumnType::Char { .. } if collation.is_pad_space() => {
                            text.trim_end_matches(' ')
                        }
                        ColumnType::Char { .. } if text.ends_with(' ') => return Fit::Unusable,
                        _ => text,
                    };
                    Fit::Exact(Value::Text(text.into(), collation))
                }
                _ => Fit::Unusable,
            }
        }
        ColumnType::Binary { length } => match value {
            // Stored padded to its length; a shorter value equals none of the column's.
            ValueRef::Bytes(bytes) if bytes.len() == *length as usize => {
                Fit::Exact(value.to_value())
            }
            ValueRef::Text(text, own) if own.charset().size_of(text) == *length as usize => {
                Fit::Exact(Value::Bytes(to_bytes(value).into()))
            }
            _ => Fit::Unusable,
        },
        ColumnType::Varbinary { .. } | ColumnType::Blob { .. } => match value {
            ValueRef::Bytes(_) => Fit::Exact(value.to_value()),
            ValueRef::Text(..) => Fit::Exact(Value::Bytes(to_bytes(value).into())),
            _ => Fit::Unusable,
        },
        ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => {
            fit_datetime(value, column_type, context)
        }
        ColumnType::Labelled(labels) => fit_label(value, labels),
        ColumnType::Year | ColumnType::Bit { .. } => {
            let high = match column_type {
                ColumnType::Bit { length } => bit_max(*length),
                _ => *YEAR_RANGE.end(),
            };
            match number_of(value) {
                Some(number) => match fit_decimal_as_integer(number, true, (0, high.into())) {
                    // Between 0 and 1901 there is no year.
                    Fit::Exact(Value::UInt(1..1901)) | Fit::Above(Value::UInt(0..1901))
                        if *column_type == ColumnType::Year =>
                    {
                        Fit::Above(Value::UInt(0))
                    }
                    fit => fit,
                },
                None => Fit::Unusable,
            }
        }
        // No key has one.
        ColumnType::Json => Fit::Unusable,
        ColumnType::Time { .. } => match value {
            ValueRef::Time(_) | ValueRef::Text(..) => stored_exactly(value, column_type, context),
            _ => Fit::Unusable,
        },
    }
}

/// The number of a label, for equality: texts and numbers do not order labels alike. A text that is no label equals no value.
fn fit_label(value: ValueRef<'_>, labels: &Arc<Labels>) -> Fit {
    let exact = |number: u64| Fit::Exact(Value::Label(number, labels.clone()));
    match value {
        ValueRef::Label(number, own) if own == labels => exact(number),
        // Characters beyond these may equal the comma between labels.
        ValueRef::Text(text, _)
            if labels.kind() == LabelKind::Set
                && !text.bytes().all(|b| matches!(b, b' '..=b'~')) =>
        {
            Fit::Unusable
        }
        ValueRef::Text(text, _) => match labels.number_of_text(text) {
            // Two numbers have this text.
            Some(_) if labels.is_empty(text) && labels.has_empty_label() => Fit::Unusable,
            Some(number) => exact(number),
            None => Fit::TooHigh,
        },
        ValueRef::Label(number, own) => {
            let text = own.text(number);
            fit_label(ValueRef::Text(&text, labels.collation()), labels)
        }
        ValueRef::Int(_) | ValueRef::UInt(_) => {
            let number = to_integer(value, &mut ConvertContext::default());
            match u64::try_from(number) {
                Ok(number) if number <= labels.number_max() => exact(number),
                _ => Fit::TooHigh,
            }
        }
        _ => Fit::Unusable,
    }
}

fn fit_integer(number: i128, unsigned: bool, (low, high): (i128, i128)) -> Fit {
    if number < low {
        return Fit::TooLow;
    }
    if high < number {
        return Fit::TooHigh;
    }
    Fit::Exact(integer(number, unsigned))
}

fn integer(number: i128, unsigned: bool) -> Value {
    if unsigned {
        Value::UInt(u64::try_from(number).expect("within the column's range"))
    } else {
        Value::Int(i64::try_from(number).expect("within the column's range"))
    }
}

fn fit_decimal_as_integer(number: Decimal, unsigned: bool, range: (i128, i128)) -> Fit {
    let Some(floor) = number.floor().and_then(|floor| floor.to_i128_round()) else {
        return if number.is_negative() { Fit::TooLow } else { Fit::TooHigh };
    };
    match fit_integer(floor, unsigned, range) {
        Fit::Exact(value) if Some(number) == number.floor() => Fit::Exact(value),
        Fit::Exact(value) => Fit::Above(value),
        // -0.5 lies just below an unsigned column's 0.
        Fit::TooLow if floor + 1 == range.0 && Some(number) != number.floor() => {
            Fit::Below(integer(range.0, unsigned))
        }
        other => other,
    }
}

fn fit_decimal(number: Decimal, precision: u8, scale: u8, unsigned: bool) -> Fit {
    let out = if number.is_negative() { Fit::TooLow } else { Fit::TooHigh };
    if unsigned && number.is_negative() {
        return Fit::TooLow;
    }
    let Some(rounded) = number.rescale(scale) else { return out };
    if !rounded.fits(precision, scale) {
        return out;
    }
    match number.cmp(&rounded) {
        Ordering::Equal => Fit::Exact(Value::Decimal(rounded)),
        Ordering::Greater => Fit::Above(Value::Decimal(rounded)),
        Ordering::Less => Fit::Below(Value::Decimal(rounded)),
    }
}

/// A number that compares exactly: integers, decimals, whole doubles, and text that is nothing but a short number.
fn number_of(value: ValueRef<'_>) -> Option<Decimal> {
    match value {
        ValueRef::Int(_) | ValueRef::UInt(_) | ValueRef::Decimal(_) => {
            Some(to_decimal(value, &mut ConvertContext::default()))
        }
        ValueRef::Double(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
            Decimal::from_f64(number)
        }
        ValueRef::Text(text, _) if text.len() <= 15 => {
            plain_integer(text.as_bytes()).and_then(|_| Decimal::parse(text))
        }
        _ => None,
    }
}

fn fit_datetime(
    value: ValueRef<'_>,
    column_type: &ColumnType,
    context: &mut EvalContext<'_>,
) -> Fit {
    match value {
        ValueRef::Date(_) | ValueRef::DateTime(_) | ValueRef::Text(..) => {}
        _ => return Fit::Unusable,
    }
    if let ValueRef::Text(text, _) = value
        && !types::DateTime::parse(text).is_some_and(|parsed| parsed.complete)
    {
        return Fit::Unusable;
    }
    stored_exactly(value, column_type, context)
}

/// The value as the column would store it, if it loses nothing by that.
fn stored_exactly(
    value: ValueRef<'_>,
    column_type: &ColumnType,
    context: &mut EvalContext<'_>,
) -> Fit {
    let stored = store(value, column_type, StoreMode::Strict, &mut context.convert);
    let Ok((stored, None)) = stored else { return Fit::Unusable };
    let same = types::convert::compare(stored.as_ref(), value, &mut ConvertContext::default());
    if same != Some(Ordering::Equal) {
        return Fit::Unusable;
    }
    let offset = context.convert.time_zone_offset_seconds;
    match (&stored, column_type) {
        (Value::DateTime(local), ColumnType::Timestamp { .. }) if offset != 0 => {
            match local.add_micros(-i64::from(offset) * 1_000_000) {
                Some(utc) => Fit::Exact(Value::DateTime(utc)),
                None => Fit::Unusable,
            }
        }
        _ => Fit::Exact(stored),
    }
}
