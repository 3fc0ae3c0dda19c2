//! Values in the type that several operands have together.

use super::{
    ConvertContext, json, to_bytes, to_decimal, to_f64, to_fuzzy_datetime, to_integer, to_text,
};
use crate::{ColumnType, Time, Value, ValueRef};

/// The value as one of `target`, the type of IF, COALESCE and the like, which every operand fits:
/// nothing is cut or clamped. Unlike CAST it keeps a decimal's digits and a date's zero parts.
pub fn to_type(value: ValueRef<'_>, target: &ColumnType, cx: &mut ConvertContext) -> Value {
    if value.is_null() {
        return Value::Null;
    }
    match target {
        ColumnType::Int { unsigned, .. } => {
            let number = to_integer(value, cx);
            match unsigned {
                true => Value::UInt(u64::try_from(number).unwrap_or(0)),
                false => Value::Int(i64::try_from(number).unwrap_or(i64::MAX)),
            }
        }
        ColumnType::Float => Value::Float(to_f64(value, cx) as f32),
        ColumnType::Double => Value::Double(to_f64(value, cx)),
        ColumnType::Decimal { scale, .. } => {
            let number = to_decimal(value, cx);
            Value::Decimal(number.show(number.shown_scale().max(*scale)))
        }
        ColumnType::Char { collation, .. }
        | ColumnType::Varchar { collation, .. }
        | ColumnType::Text { collation, .. } => match value {
            ValueRef::Bytes(_) => value.to_value(),
            ValueRef::Text(text, own) if own.charset() != collation.charset() => {
                Value::text(&collation.charset().replace_missing(text), *collation)
            }
            _ => Value::Text(to_text(value).into(), *collation),
        },
        ColumnType::Binary { .. } | ColumnType::Varbinary { .. } | ColumnType::Blob { .. } => {
            Value::Bytes(to_bytes(value).into())
        }
        ColumnType::Labelled(labels) => match value {
            ValueRef::Label(_, own) if own == labels => value.to_value(),
            _ => Value::Label(labels.number(&to_text(value)).0, labels.clone()),
        },
        ColumnType::Year | ColumnType::Bit { .. } => {
            Value::UInt(u64::try_from(to_integer(value, cx)).unwrap_or(0))
        }
        ColumnType::DateTime { .. } | ColumnType::Timestamp { .. } => match value {
            ValueRef::Date(date) => Value::DateTime(date.at_midnight()),
            ValueRef::DateTime(_) => value.to_value(),
            _ => to_fuzzy_datetime(value, cx).map_or(Value::Null, Value::DateTime),
        },
        ColumnType::Date => match value {
            ValueRef::Date(_) => value.to_value(),
            _ => to_fuzzy_datetime(value, cx).map_or(Value::Null, |own| Value::Date(own.date())),
        },
        ColumnType::Time { .. } => match value {
            ValueRef::Time(_) => value.to_value(),
            ValueRef::DateTime(own) => Value::Time(own.time()),
            ValueRef::Date(_) => Value::Time(Time::ZERO),
            _ => super::to_time(value, cx).map_or(Value::Null, Value::Time),
        },
        ColumnType::Json => json::to_document(value, cx),
    }
}
