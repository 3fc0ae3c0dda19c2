//! JSON_TABLE: rows made of a document.
//!
//! A path gives the values that rows are made of, and each column takes something from such a value: its number among them,
//! the value at a path of its own, or whether there is one. A nested path does the same inside of each value. The rows of
//! several nested paths stand below each other, each with NULL in the columns of the others; a value without any nested row
//! is one row.

use super::functions::{document_error, json_number};
use super::{EvalContext, EvalError, KEPT_BYTES_MAX};
use crate::convert::{ConvertContext, StoreMode, document_of_text, store};
use crate::json::{Json, JsonRef, Path, View, encode, print};
use crate::{Collation, ColumnType, Value, ValueRef};

/// Work per value that a path leads to, and per value that a row gets.
const WORK_PER_VALUE: usize = 50;
/// Bytes of a row for each column, beside what its value holds.
const VALUE_SIZE: usize = 32;

#[derive(Clone, Debug)]
pub struct JsonTable {
    pub path: Path,
    pub columns: Vec<JsonTableColumn>,
}

/// Positions are those among all columns of the table, nested ones included.
#[derive(Clone, Debug)]
pub enum JsonTableColumn {
    /// The number of the value, from 1.
    Ordinality {
        position: usize,
    },
    /// The value at a path, in a type.
    Value {
        position: usize,
        name: String,
        column_type: ColumnType,
        path: Path,
        on_empty: JsonTableResponse,
        on_error: JsonTableResponse,
    },
    /// Whether there is a value at a path.
    Exists {
        position: usize,
        column_type: ColumnType,
        path: Path,
    },
    Nested(JsonTable),
}

/// What a column has where there is no value, or one that its type does not hold.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonTableResponse {
    Null,
    Error,
    Default(Value),
}

impl JsonTableResponse {
    fn value(&self, error: impl FnOnce() -> EvalError) -> Result<Value, EvalError> {
        match self {
            JsonTableResponse::Null => Ok(Value::Null),
            JsonTableResponse::Error => Err(error()),
            JsonTableResponse::Default(value) => Ok(value.clone()),
        }
    }
}

/// The document of JSON_TABLE's first argument; None for NULL.
pub fn json_table_document(value: Value) -> Result<Option<Box<[u8]>>, EvalError> {
    match value {
        Value::Null => Ok(None),
        Value::Json(document) => Ok(Some(document)),
        Value::Text(text, _) => document_of_text(&text, 1, "json_table")
            .map(Some)
            .map_err(|(code, message)| EvalError::raised(code, message)),
        Value::Bytes(_) => {
            let message = "Cannot create a JSON value from a string with CHARACTER SET 'binary'.";
            Err(EvalError::raised(3144, message))
        }
        _ => {
            let message = "Invalid data type for JSON data in argument 1 to function json_table; a \
                           JSON string or JSON type is required.";
            Err(EvalError::raised(3146, message))
        }
    }
}

/// The rows so far of one document.
pub struct JsonTableRows {
    pub rows: Vec<Vec<Value>>,
    width: usize,
    bytes: u64,
}

impl JsonTableRows {
    /// For tables of `width` columns.
    pub fn new(width: usize) -> JsonTableRows {
        JsonTableRows { rows: Vec::new(), width, bytes: 0 }
    }
    fn push(&mut self, row: Vec<Value>) -> Result<(), EvalError> {
        let held: usize = row.iter().map(Value::held_bytes).sum();
        self.bytes += (held + VALUE_SIZE * self.width) as u64;
        if KEPT_BYTES_MAX < self.bytes {
            return Err(EvalError::raised(1038, "Out of memory for the rows of JSON_TABLE"));
        }
        self.rows.push(row);
        Ok(())
    }
}

fn seek<'d>(
    value: JsonRef<'d>,
    path: &Path,
    cx: &mut EvalContext<'_>,
) -> Result<Vec<JsonRef<'d>>, EvalError> {
    let steps_max = cx.work_left() / WORK_PER_VALUE;
    let mut steps = steps_max;
    let found = path.seek(value, &mut steps);
    cx.spend((steps_max - steps) * WORK_PER_VALUE)?;
    found.ok_or(EvalError::TooMuchWork)
}

impl JsonTable {
    /// The values of a document that rows are made of.
    pub fn values<'d>(
        &self,
        document: JsonRef<'d>,
        cx: &mut EvalContext<'_>,
    ) -> Result<Vec<JsonRef<'d>>, EvalError> {
        seek(document, &self.path, cx)
    }

    /// Appends the rows of one value, the `number`th.
    pub fn expand(
        &self,
        value: JsonRef<'_>,
        number: u64,
        into: &mut JsonTableRows,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), EvalError> {
        let row = vec![Value::Null; into.width];
        self.expand_in(value, number, row, into, cx)
    }

    /// The same, in the columns of this table within a row of the tables around it.
    fn expand_in(
        &self,
        value: JsonRef<'_>,
        number: u64,
        mut row: Vec<Value>,
        into: &mut JsonTableRows,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), EvalError> {
        cx.spend(self.columns.len() * WORK_PER_VALUE)?;
        for column in &self.columns {
            match column {
                JsonTableColumn::Ordinality { position } => row[*position] = Value::UInt(number),
                JsonTableColumn::Value {
                    position,
                    name,
                    column_type,
                    path,
                    on_empty,
                    on_error,
                } => {
                    let found = seek(value, path, cx)?;
                    row[*position] = column_value(&found, name, column_type, on_empty, on_error)?;
                }
                JsonTableColumn::Exists { position, column_type, path } => {
                    let is_there = !seek(value, path, cx)?.is_empty();
                    row[*position] = stored_truth(is_there, column_type);
                }
                JsonTableColumn::Nested(_) => {}
            }
        }
        let first = into.rows.len();
        for column in &self.columns {
            let JsonTableColumn::Nested(nested) = column else { continue };
            for (position, inner) in nested.values(value, cx)?.into_iter().enumerate() {
                let held: usize = row.iter().map(Value::held_bytes).sum();
                cx.spend(held + self.columns.len() * WORK_PER_VALUE)?;
                nested.expand_in(inner, position as u64 + 1, row.clone(), into, cx)?;
            }
        }
        if into.rows.len() == first { into.push(row) } else { Ok(()) }
    }
}

fn stored_truth(is_there: bool, column_type: &ColumnType) -> Value {
    if *column_type == ColumnType::Json {
        return encode(&Json::Int(i64::from(is_there))).map_or(Value::Null, Value::Json);
    }
    let number = ValueRef::Int(i64::from(is_there));
    let stored = store(number, column_type, StoreMode::Lenient, &mut ConvertContext::default());
    stored.map_or(Value::Null, |(value, _)| value)
}

fn column_value(
    found: &[JsonRef<'_>],
    name: &str,
    column_type: &ColumnType,
    on_empty: &JsonTableResponse,
    on_error: &JsonTableResponse,
) -> Result<Value, EvalError> {
    let value = match found {
        [] => {
            let message = format!("Missing value for JSON_TABLE column '{name}'");
            return on_empty.value(|| EvalError::raised(3665, message));
        }
        [value] => *value,
        values if *column_type == ColumnType::Json => {
            let elements = values.iter().map(|value| value.to_json()).collect();
            let array = encode(&Json::Array(elements)).map_err(document_error)?;
            return Ok(Value::Json(array));
        }
        _ => return on_error.value(|| no_scalar(name)),
    };
    match json_table_value(value, name, column_type) {
        Ok(value) => Ok(value),
        Err(error) => on_error.value(|| error),
    }
}

/// 3666.
fn no_scalar(name: &str) -> EvalError {
    let message =
        format!("Can't store an array or an object in the scalar JSON_TABLE column '{name}'");
    EvalError::raised(3666, message)
}

/// A value of a document in a column's type; NULL for null, which only a JSON column keeps.
pub fn json_table_value(
    value: JsonRef<'_>,
    name: &str,
    column_type: &ColumnType,
) -> Result<Value, EvalError> {
    match value.view() {
        _ if *column_type == ColumnType::Json => return Ok(Value::Json(value.to_document())),
        View::Null => return Ok(Value::Null),
        View::Array(_) | View::Object(_) => return Err(no_scalar(name)),
        _ => {}
    }
    let own = if column_type.is_numeric() {
        number_in(value, name, column_type)?
    } else {
        moment_or_text(value, column_type)
    };
    let mut cx = ConvertContext::default();
    match store(own.as_ref(), column_type, StoreMode::Strict, &mut cx) {
        Ok((stored, _)) => Ok(stored),
        Err(_) => {
            let message = format!("Value is out of range for JSON_TABLE's column '{name}'");
            Err(EvalError::raised(3669, message))
        }
    }
}

fn number_in(value: JsonRef<'_>, name: &str, column_type: &ColumnType) -> Result<Value, EvalError> {
    let (number, kind) = json_number(value, column_type);
    number.ok_or_else(|| match value.view() {
        View::Double(_) | View::Decimal(_) => {
            let message =
                format!("Out of range JSON value for CAST to {kind} from column {name} at row 1");
            EvalError::raised(3155, message)
        }
        _ => {
            let message =
                format!("Invalid JSON value for CAST to {kind} from column {name} at row 1");
            EvalError::raised(3156, message)
        }
    })
}

/// A date goes into a column of dates and a time into one of times as they are; everything else as text.
fn moment_or_text(value: JsonRef<'_>, column_type: &ColumnType) -> Value {
    match (value.view(), column_type) {
        (View::Time(time), ColumnType::Time { .. }) => Value::Time(time),
        (
            View::Date(date),
            ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::Timestamp { .. },
        ) => Value::Date(date),
        (
            View::DateTime(moment),
            ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::Timestamp { .. },
        ) => Value::DateTime(moment),
        _ => Value::text(&print::to_unquoted(value), Collation::Utf8mb4Bin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    fn table(path: &str, columns: Vec<JsonTableColumn>) -> JsonTable {
        JsonTable { path: Path::parse(path).unwrap(), columns }
    }

    fn rows(table: &JsonTable, document: &str, width: usize) -> Result<JsonTableRows, EvalError> {
        let document = encode(&parse(document).unwrap()).unwrap();
        let mut rows = JsonTableRows::new(width);
        let mut cx = EvalContext::new(&[]);
        for (position, value) in
            table.values(JsonRef::new(&document), &mut cx)?.into_iter().enumerate()
        {
            table.expand(value, position as u64 + 1, &mut rows, &mut cx)?;
        }
        Ok(rows)
    }

    #[test]
    fn kept_rows_are_bounded() {
        let mut rows = JsonTableRows::new(1);
        let half = Value::bytes(&vec![0; KEPT_BYTES_MAX as usize / 2]);
        rows.push(vec![half.clone()]).unwrap();
        assert_eq!(rows.push(vec![half]).unwrap_err().code(), 1038);
    }

    /// Each nest multiplies the rows of one value.
    #[test]
    fn rows_of_nests_are_bounded() {
        let number = |position| JsonTableColumn::Ordinality { position };
        let mut nested = table("$[*]", vec![number(0)]);
        for position in 1..8 {
            nested = table(
                "$",
                vec![
                    number(position),
                    JsonTableColumn::Nested(JsonTable {
                        path: Path::parse("$**.a").unwrap(),
                        ..nested
                    }),
                ],
            );
        }
        let document = format!("{}1{}", r#"{"a":"#.repeat(90), "}".repeat(90));
        assert!(rows(&nested, &document, 8).is_err());
        assert_eq!(rows(&nested, "1", 8).unwrap().rows.len(), 1);
    }
}
