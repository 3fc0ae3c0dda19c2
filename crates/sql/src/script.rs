//! Scripts of statements with what they should answer: tests as data.
//!
//! The format follows sqllogictest, with what SQL tests of this engine need:
//!
//! ```text
//! # a comment
//! statement ok                       the statement succeeds
//! INSERT INTO t VALUES (1)
//!
//! statement count 2                  it succeeds and affects so many rows
//! UPDATE t SET a = a + 1
//!
//! statement error 1062 part of it    it fails with that number and a message that contains the text (if any)
//! INSERT INTO t VALUES (1)
//!
//! query                              rows in this order; `query sorted` compares them in any order
//! SELECT a, b FROM t
//! ----
//! 1   NULL                           values as the text protocol shows them, separated by tabs
//! ```
//!
//! A statement ends at an empty line or at `----`, expected rows at an empty line. An empty value is written (empty), a tab or
//! line break in a value as \t or \n.

use std::pin::Pin;

use types::convert::to_text;
use types::{ColumnType, ValueRef};

use crate::session::Session;
use crate::{ColumnInfo, OkInfo, ResultSink, SqlError};

/// What a statement answered, as text.
#[derive(Debug, Default)]
pub struct Answer {
    pub columns: Vec<ColumnInfo>,
    pub rows: Vec<Vec<String>>,
    pub ok: Option<OkInfo>,
    pub error: Option<SqlError>,
}

impl ResultSink for Answer {
    fn columns(&mut self, columns: &[ColumnInfo]) {
        self.columns = columns.to_vec();
    }
    fn row(&mut self, values: &[ValueRef<'_>]) {
        assert_eq!(values.len(), self.columns.len(), "a row has a value for every column");
        let row = values.iter().zip(&self.columns).map(|(value, column)| shown(*value, column));
        self.rows.push(row.collect());
    }
    fn end_of_rows(&mut self, info: &OkInfo) {
        self.ok = Some(info.clone());
    }
    fn ok(&mut self, info: &OkInfo) {
        self.ok = Some(info.clone());
    }
    fn error(&mut self, error: &SqlError) {
        self.error = Some(error.clone());
    }
    fn is_full(&self) -> bool {
        false
    }
    fn drained(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// A value as the text protocol sends it.
pub fn shown(value: ValueRef<'_>, column: &ColumnInfo) -> String {
    let fsp = match column.column_type {
        ColumnType::Time { fsp } | ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => {
            fsp
        }
        _ => 0,
    };
    let text = match value {
        ValueRef::Null => return "NULL".into(),
        ValueRef::Time(value) => value.format(fsp),
        ValueRef::DateTime(value) => value.format(fsp),
        ValueRef::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => to_text(other).into_owned(),
    };
    if text.is_empty() {
        return "(empty)".into();
    }
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}

/// Runs one text and gathers what it answers; of several statements the last one's.
pub async fn run(session: &mut Session, text: &str) -> Answer {
    let mut answer = Answer::default();
    session.query(text.as_bytes(), &mut answer).await;
    answer
}

/// Runs a script. The error names the line and shows what was wanted and what came. Returns how many statements ran.
pub async fn run_script(session: &mut Session, text: &str) -> Result<usize, String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut position = 0;
    let mut count = 0;
    while position < lines.len() {
        let head = lines[position].trim();
        let number = position + 1;
        position += 1;
        if head.is_empty() || head.starts_with('#') {
            continue;
        }
        let mut statement = String::new();
        while position < lines.len()
            && !lines[position].trim().is_empty()
            && lines[position] != "----"
        {
            if !statement.is_empty() {
                statement.push('\n');
            }
            statement.push_str(lines[position]);
            position += 1;
        }
        let mut expected: Vec<String> = Vec::new();
        if position < lines.len() && lines[position] == "----" {
            position += 1;
            while position < lines.len() && !lines[position].is_empty() {
                expected.push(lines[position].to_string());
                position += 1;
            }
        }
        let answer = run(session, &statement).await;
        count += 1;
        check(head, &answer, expected)
            .map_err(|problem| format!("line {number}: {statement}\n{problem}"))?;
    }
    Ok(count)
}

fn check(head: &str, answer: &Answer, mut expected: Vec<String>) -> Result<(), String> {
    let words: Vec<&str> = head.split_whitespace().collect();
    if let ["statement", "error", code, ..] = words.as_slice() {
        let Some(error) = &answer.error else {
            return Err(format!("wanted error {code}, but it succeeded"));
        };
        let message = head.splitn(4, ' ').nth(3).unwrap_or("").trim();
        if error.code.to_string() != *code || !error.message.contains(message) {
            return Err(format!("wanted error {code} '{message}', got {error}"));
        }
        return Ok(());
    }
    if let Some(error) = &answer.error {
        return Err(format!("got {error}"));
    }
    match words.as_slice() {
        ["statement", "ok"] => Ok(()),
        ["statement", "count", count] => {
            let affected = answer.ok.as_ref().map_or(0, |ok| ok.affected_rows);
            if affected.to_string() == *count {
                Ok(())
            } else {
                Err(format!("wanted {count} affected rows, got {affected}"))
            }
        }
        ["query", rest @ ..] => {
            let mut got: Vec<String> = answer.rows.iter().map(|row| row.join("\t")).collect();
            if rest.contains(&"sorted") {
                got.sort();
                expected.sort();
            }
            if got == expected {
                return Ok(());
            }
            Err(format!("wanted\n{}\ngot\n{}", expected.join("\n"), got.join("\n")))
        }
        _ => Err(format!("no such directive: {head}")),
    }
}

#[cfg(test)]
mod tests {
    use types::{IntWidth, Value};

    use super::*;

    fn answer(rows: &[&[i64]]) -> Answer {
        let own = types::expr::ResultType {
            column_type: Some(ColumnType::Int { width: IntWidth::W8, unsigned: false }),
            nullable: true,
        };
        let column = crate::bind::expression_info("a", &own, types::Collation::default());
        let mut answer = Answer::default();
        answer.columns(&vec![column; rows.first().map_or(1, |row| row.len())]);
        for row in rows {
            let values: Vec<Value> = row.iter().map(|own| Value::Int(*own)).collect();
            let values: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
            answer.row(&values);
        }
        answer.end_of_rows(&OkInfo { affected_rows: 3, ..OkInfo::default() });
        answer
    }

    /// Each directive accepts what it says and nothing else.
    #[test]
    fn directives() {
        let lines = |lines: &[&str]| lines.iter().map(|line| line.to_string()).collect::<Vec<_>>();
        let two = answer(&[&[1, 2], &[0, 5]]);
        assert!(check("query", &two, lines(&["1\t2", "0\t5"])).is_ok());
        assert!(check("query", &two, lines(&["0\t5", "1\t2"])).is_err());
        assert!(check("query sorted", &two, lines(&["0\t5", "1\t2"])).is_ok());
        assert!(check("query", &two, lines(&["1\t2"])).is_err());
        assert!(check("statement ok", &two, Vec::new()).is_ok());
        assert!(check("statement count 3", &two, Vec::new()).is_ok());
        assert!(check("statement count 4", &two, Vec::new()).is_err());
        assert!(check("statement error 1062", &two, Vec::new()).is_err());
        assert!(check("statment ok", &two, Vec::new()).is_err());
        let mut failed = Answer::default();
        failed.error(&SqlError::duplicate_entry("1", "t.PRIMARY"));
        assert!(check("statement ok", &failed, Vec::new()).is_err());
        assert!(check("query", &failed, Vec::new()).is_err());
        assert!(check("statement error 1062", &failed, Vec::new()).is_ok());
        assert!(check("statement error 1062 t.PRIMARY", &failed, Vec::new()).is_ok());
        assert!(check("statement error 1062 u.PRIMARY", &failed, Vec::new()).is_err());
        assert!(check("statement error 1064", &failed, Vec::new()).is_err());
    }
}
