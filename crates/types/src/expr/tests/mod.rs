//! Expressions against tables of expected results, written as SQL.

mod aggregates;
mod parse;
mod rows;
mod table;
mod temporal;

use parse::parse;

use crate::Value;
use crate::convert::to_text;
use crate::expr::{EvalContext, NoColumns, eval};

/// What the statement's clock shows in these tests.
const NOW: &str = "2024-02-29 12:34:56";

fn context() -> EvalContext<'static> {
    let mut ctx = EvalContext::new(&[]);
    ctx.convert.now = crate::DateTime::parse(NOW).expect("a datetime").value;
    ctx
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Bytes(bytes) if std::str::from_utf8(bytes).is_err() => {
            bytes.iter().map(|byte| format!("\\x{byte:02X}")).collect()
        }
        value => to_text(value.as_ref()).into_owned(),
    }
}

/// The value as text, or "ERROR number"; then the numbers of the warnings.
fn evaluate(text: &str) -> String {
    let expr = parse(text);
    assert!(expr.check(0, 0), "{text}");
    let mut ctx = context();
    let mut out = match eval(&expr, &NoColumns, &mut ctx) {
        Ok(value) => shown(&value),
        Err(error) => format!("ERROR {}", error.code()),
    };
    for warning in ctx.convert.warnings.list() {
        out.push_str(&format!(" [{}]", warning.code));
    }
    out
}

/// Each line is `expression -> result`; all that differ are reported together.
fn check(table: &str) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (expression, expected) = line.rsplit_once(" -> ").expect("expression -> result");
        count += 1;
        let expected = if expected == "''" { "" } else { expected };
        let found = evaluate(expression);
        if found != expected {
            wrong.push(format!("{expression}\n    expected {expected}\n    found    {found}"));
        }
    }
    assert!(count > 0);
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
