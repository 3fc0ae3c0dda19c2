//! Expressions against tables of expected results, written as SQL.

mod aggregates;
mod collations;
mod json;
mod parse;
mod rows;
mod table;
mod temporal;
mod work;

use parse::parse;

use crate::convert::to_text;
use crate::expr::{
    Coercibility, Derivation, EvalContext, Expr, NoColumns, ResultType, Typing, eval, result_type,
    settle,
};
use crate::{Collation, Value};

/// What the statement's clock shows in these tests.
const NOW: &str = "2024-02-29 12:34:56";

fn context() -> EvalContext<'static> {
    let mut ctx = EvalContext::new(&[]);
    ctx.convert.now = crate::DateTime::parse(NOW).expect("a datetime").value;
    ctx
}

/// Of expressions without columns and parameters.
fn typing(connection: Collation) -> Typing<'static> {
    Typing {
        columns: &[],
        column_coercibilities: &[],
        params: &[],
        param_derivations: &[],
        param_values: &[],
        connection,
    }
}

/// The expression with its collations settled, on columns and parameters of the kinds of these values.
fn settled(text: &str, row: &[Value], params: &[Value]) -> Expr {
    let types = |values: &[Value]| -> Vec<ResultType> {
        let of = |value: &Value| result_type(&Expr::Const(value.clone()), &[], &[]);
        values.iter().map(of).collect()
    };
    let (columns, params) = (types(row), types(params));
    let of_param =
        |own: &ResultType| Derivation::of_type(own.column_type.as_ref(), Coercibility::Coercible);
    let param_derivations: Vec<Derivation> = params.iter().map(of_param).collect();
    let mut expr = parse(text);
    let typing = Typing {
        columns: &columns,
        params: &params,
        param_derivations: &param_derivations,
        ..typing(Collation::DEFAULT)
    };
    settle(&mut expr, &typing).expect("collations that mix");
    expr
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
fn evaluate(text: &str, mut ctx: EvalContext<'static>) -> String {
    let mut expr = parse(text);
    assert!(expr.check(0, 0), "{text}");
    if let Err(mix) = settle(&mut expr, &typing(Collation::DEFAULT)) {
        return format!("ERROR {}", mix.code());
    }
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
    check_in(context, table);
}

/// As [`check`], in a session of the caller's.
fn check_in(session: impl Fn() -> EvalContext<'static>, table: &str) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (expression, expected) = line.rsplit_once(" -> ").expect("expression -> result");
        count += 1;
        let expected = if expected == "''" { "" } else { expected };
        let found = evaluate(expression, session());
        if found != expected {
            wrong.push(format!("{expression}\n    expected {expected}\n    found    {found}"));
        }
    }
    assert!(count > 0);
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
