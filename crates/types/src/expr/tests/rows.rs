//! Expressions on rows: columns, parameters, strict mode, hostile shapes, static types.

use super::{context, parse, settled, shown};
use crate::expr::{
    EvalContext, Expr, ResultType, UnaryOp, eval, eval_predicate, merge_types, result_type,
};
use crate::wire::{Wire, WireError};
use crate::{Collation, ColumnType, IntWidth, Value, ValueRef};

/// A predicate over columns and parameters, through every kind of row.
#[test]
fn predicates_on_rows() {
    let row = vec![Value::Int(7), Value::text("Ab", Collation::DEFAULT), Value::Null];
    let params = [Value::Int(7), Value::text("aB", Collation::DEFAULT)];
    for (text, holds) in [
        ("c0 = 7", true),
        ("c0 = $0", true),
        ("c0 > $0", false),
        ("c1 = $1", true),
        ("c1 = $1 COLLATE utf8mb4_bin", false),
        ("c2 = 1", false),
        ("NOT (c2 = 1)", false),
        ("c2 IS NULL", true),
        ("c0 = 7 AND c1 LIKE 'a%' AND c2 <=> NULL", true),
        ("c0 = 7 AND c2 = 1", false),
        ("c0 = 8 OR c0 = 7", true),
        ("c0 IN (1, $0)", true),
        ("c0 BETWEEN 1 AND $0", true),
        ("c0 + 1 = 8", true),
    ] {
        let expr = settled(text, &row, &params);
        assert!(expr.check(3, 2));
        assert!(!expr.check(0, 0), "{text} uses columns");
        let mut ctx = EvalContext::new(&params);
        assert_eq!(eval_predicate(&expr, &row, &mut ctx), Ok(holds), "{text}");
        let borrowed: Vec<ValueRef<'_>> = row.iter().map(Value::as_ref).collect();
        assert_eq!(eval_predicate(&expr, &borrowed, &mut ctx), Ok(holds), "{text}");
        // What travels is the same expression.
        let back = Expr::from_bytes(&expr.to_bytes()).expect("round trip");
        assert_eq!(eval_predicate(&back, &row[..], &mut ctx), Ok(holds), "{text}");
    }
}

/// A column's collation beats a literal's; an explicit one beats both.
#[test]
fn collations_of_columns_and_literals() {
    let row = vec![Value::text("a", Collation::Utf8mb4Bin)];
    let mut ctx = context();
    for (text, holds) in [
        ("c0 = 'A'", false),
        ("'A' = c0", false),
        ("c0 = 'A' COLLATE utf8mb4_general_ci", true),
        ("c0 IN ('A')", false),
        ("c0 LIKE 'A'", false),
        ("CASE c0 WHEN 'A' THEN 1 ELSE 0 END", false),
    ] {
        let expr = settled(text, &row, &[]);
        assert_eq!(eval_predicate(&expr, &row, &mut ctx), Ok(holds), "{text}");
    }
}

/// In strict mode a warning becomes the statement's error, once.
#[test]
fn strict_mode_raises_warnings() {
    for (text, code) in [("'abc' + 1", 1292), ("1 / 0", 1365), ("1 = 'x' AND 0", 1292)] {
        let mut ctx = context();
        ctx.convert.strict = true;
        let row: Vec<Value> = Vec::new();
        let error = eval(&parse(text), &row, &mut ctx).expect_err("raised");
        assert_eq!(error.code(), code, "{text}");
        assert_eq!(ctx.convert.warnings.total(), 0);
        assert_eq!(
            eval(&parse("1 + 1"), &row, &mut ctx).map(|value| shown(&value)),
            Ok("2".into())
        );
    }
}

#[test]
fn out_of_range_is_explained() {
    let mut ctx = context();
    let row = vec![Value::Int(i64::MIN)];
    let error = eval(&parse("-c0"), &row, &mut ctx).expect_err("overflow");
    assert_eq!(error.message(), "BIGINT value is out of range in '-(-9223372036854775808)'");
    let error = eval(&parse("9223372036854775807 + 1"), &row, &mut ctx).expect_err("overflow");
    assert_eq!(error.message(), "BIGINT value is out of range in '(9223372036854775807 + 1)'");
    let error = eval(&parse("CAST(1 AS UNSIGNED) - 2"), &row, &mut ctx).expect_err("overflow");
    assert_eq!(error.message(), "BIGINT UNSIGNED value is out of range in '(1 - 2)'");
}

/// Warnings are bounded; all of them are counted.
#[test]
fn warnings_are_bounded() {
    let mut ctx = context();
    let row: Vec<Value> = Vec::new();
    for _ in 0..3000 {
        eval(&parse("'x' + 1"), &row, &mut ctx).expect("a warning is no error");
    }
    assert_eq!(ctx.convert.warnings.total(), 3000);
    assert_eq!(ctx.convert.warnings.take().len(), crate::convert::WARNING_COUNT_MAX);
    assert_eq!(ctx.convert.warnings.total(), 0);
}

fn nested(depth: usize, wrap: impl Fn(Expr) -> Expr) -> Expr {
    (0..depth).fold(Expr::Const(Value::Int(1)), |inner, _| wrap(inner))
}

/// As deep as the wire allows, evaluation does not overflow the stack; deeper is refused, not overrun.
#[test]
fn nesting_is_bounded() {
    let shapes: [fn(Expr) -> Expr; 5] = [
        |inner| Expr::Unary(UnaryOp::Negate, Box::new(inner)),
        |inner| Expr::Function(crate::expr::Function::Abs, vec![inner]),
        |inner| Expr::And(vec![inner, Expr::Const(Value::Int(1))]),
        |inner| Expr::Case { operand: None, branches: vec![(inner, parse("1"))], otherwise: None },
        |inner| Expr::In { operand: Box::new(inner), list: vec![parse("1")], negated: false },
    ];
    let deepest = crate::wire::DEPTH_MAX as usize - 1;
    let check = move || {
        for shape in shapes {
            let expr = nested(deepest, shape);
            assert!(expr.check(0, 0));
            let row: Vec<Value> = Vec::new();
            assert!(eval(&expr, &row, &mut context()).is_ok());
            let types: Vec<ResultType> = Vec::new();
            assert!(result_type(&expr, &types, &types).column_type.is_some());
            assert!(Expr::from_bytes(&expr.to_bytes()).is_ok());
            let deep = nested(deepest + 10, shape);
            assert!(!deep.check(0, 0));
            let bytes = deep.to_bytes();
            assert_eq!(Expr::from_bytes(&bytes).err(), Some(WireError::TooDeep));
        }
    };
    // The stack of the threads that run statements.
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(check).expect("a thread");
    thread.join().expect("no panic");
}

/// Bytes of a peer that are no expression are errors, whatever they are.
#[test]
fn hostile_bytes_are_errors() {
    let good = parse(
        "IF(c0 LIKE 'a%' AND c1 IN (1, 2.5, NULL), DATE '2024-01-02' + INTERVAL 1 DAY, CAST(c0 AS CHAR(3)))",
    );
    let bytes = good.to_bytes();
    for cut in 0..bytes.len() {
        assert!(Expr::from_bytes(&bytes[..cut]).is_err());
    }
    let mut state = 1u64;
    for _ in 0..20_000 {
        let mut mutated = bytes.clone();
        state = crate::hash::hash64(&state.to_le_bytes());
        let at = (state >> 8) as usize % mutated.len();
        mutated[at] = state as u8;
        if let Ok(expr) = Expr::from_bytes(&mutated)
            && expr.check(2, 0)
        {
            let row = vec![Value::text("abc", Collation::DEFAULT), Value::Int(2)];
            let mut ctx = context();
            // An answer or an error, no panic.
            if let Ok(value) = eval(&expr, &row, &mut ctx) {
                assert!(!shown(&value).is_empty() || !value.is_null());
            }
        }
    }
}

/// Every function on every pair of odd arguments answers or refuses: no panic, and what is static is what comes out.
#[test]
fn functions_on_odd_arguments() {
    let odd = [
        "NULL",
        "0",
        "-1",
        "9223372036854775807",
        "18446744073709551615",
        "-9223372036854775808",
        "1.5",
        "-99999999999999999999999999999999999.999",
        "1e308",
        "-1e-308",
        "''",
        "'abc'",
        "'ä€😀'",
        "X'00FF'",
        "'2024-02-29'",
        "'9999-12-31 23:59:59.999999'",
        "'0000-00-00'",
        "'-838:59:59'",
        "DATE '2024-02-29'",
        "TIME '-838:59:59'",
        "TIMESTAMP '9999-12-31 23:59:59'",
        "'%Y-%m-%d %H:%i:%s.%f %W %j %v %x'",
        "'(a+)+$'",
        "'{\"a\": [1, \"b\"]}'",
        "'$.a[0]'",
        "CAST('{\"a\": [1, \"b\"]}' AS JSON)",
        "CAST('[1, 2.5, true]' AS JSON)",
        "CAST('\"2024-02-29\"' AS JSON)",
    ];
    let values: Vec<Expr> = odd.iter().map(|text| parse(text)).collect();
    let row: Vec<Value> = Vec::new();
    for function in crate::expr::Function::all() {
        let (least, most) = function.arity();
        let counts = least..=most.min(least + 1).min(4);
        for count in counts.filter(|count| function.takes(*count)) {
            // Positions beyond the second repeat the first two.
            for a in &values {
                for b in &values {
                    let arguments: Vec<Expr> = (0..count)
                        .map(|position| if position % 2 == 0 { a.clone() } else { b.clone() })
                        .collect();
                    let expr = Expr::Function(function, arguments);
                    let mut ctx = context();
                    ctx.max_allowed_packet = 1 << 16;
                    let expected = result_type(&expr, &[], &[]);
                    let found = eval(&expr, &row, &mut ctx);
                    if let Ok(value) = &found
                        && value.is_null()
                        && let Some(column_type) = &expected.column_type
                    {
                        assert!(column_type.is_sound(), "{expr:?}: {column_type:?}");
                    }
                }
            }
        }
    }
}

fn types_of(text: &str) -> String {
    let int = |width, unsigned| ResultType::new(ColumnType::Int { width, unsigned }, false);
    let columns = [
        int(IntWidth::W4, false),
        int(IntWidth::W8, true),
        ResultType::new(ColumnType::Decimal { precision: 10, scale: 2, unsigned: false }, true),
        ResultType::new(ColumnType::Varchar { length: 20, collation: Collation::DEFAULT }, true),
        ResultType::new(ColumnType::Date, false),
        ResultType::new(ColumnType::DateTime { fsp: 3 }, false),
        ResultType::new(ColumnType::Double, false),
    ];
    let found = result_type(&parse(text), &columns, &[]);
    let name = found.column_type.map_or("null".into(), |column_type| column_type.sql_name());
    if found.nullable { name } else { format!("{name} not null") }
}

/// Static types as MySQL announces them.
#[test]
fn static_types() {
    for (text, expected) in [
        ("1", "bigint not null"),
        ("18446744073709551615", "bigint unsigned not null"),
        ("1.50", "decimal(3,2) not null"),
        ("1e0", "double not null"),
        ("'abc'", "varchar(3) not null"),
        ("NULL", "null"),
        ("c0 + c0", "bigint not null"),
        ("c0 + c1", "bigint unsigned not null"),
        ("c0 / 2", "decimal(14,4)"),
        ("c0 DIV 2", "bigint"),
        ("c2 + 1", "decimal(22,2)"),
        ("c2 * c2", "decimal(20,4)"),
        ("c0 + c6", "double not null"),
        ("c0 = 1", "bigint not null"),
        ("c2 > 1 AND c0", "bigint"),
        ("c3 IS NULL", "bigint not null"),
        ("CONCAT(c3, 'ab')", "varchar(22)"),
        ("UPPER(c3)", "varchar(20)"),
        ("LENGTH(c3)", "bigint"),
        ("c4 + INTERVAL 1 DAY", "date"),
        ("c4 + INTERVAL 1 HOUR", "datetime"),
        ("c5 + INTERVAL 1 DAY", "datetime(3)"),
        ("IF(c0, c0, c2)", "decimal(12,2)"),
        ("COALESCE(c3, 'x')", "varchar(20) not null"),
        ("CASE WHEN c0 THEN 1 END", "bigint"),
        ("CAST(c3 AS DECIMAL(5,1))", "decimal(5,1)"),
        ("CAST(c0 AS CHAR(5))", "varchar(5) not null"),
        ("c0 & 1", "bigint unsigned not null"),
        ("ROUND(c2, 1)", "decimal(10,1)"),
        ("MD5(c3)", "varchar(32)"),
        ("DATE(c5)", "date"),
        ("NULLIF(c0, 1)", "int"),
    ] {
        assert_eq!(types_of(text), expected, "{text}");
    }
    let tiny = ResultType::new(ColumnType::Int { width: IntWidth::W1, unsigned: false }, false);
    let unsigned = ResultType::new(ColumnType::Int { width: IntWidth::W8, unsigned: true }, false);
    let merged = merge_types(&tiny, &unsigned).column_type.expect("a type");
    assert_eq!(merged.sql_name(), "decimal(20,0)");
}

/// A duration is read in the session's zone where a literal names its own.
#[test]
fn time_zones() {
    let mut ctx = context();
    ctx.convert.time_zone_offset_seconds = 7200;
    let row: Vec<Value> = Vec::new();
    for (text, expected) in [
        ("UNIX_TIMESTAMP('1970-01-01 02:00:01')", "1"),
        ("FROM_UNIXTIME(0)", "1970-01-01 02:00:00"),
        ("CAST('2024-01-01 00:00:00+00:00' AS DATETIME)", "2024-01-01 02:00:00"),
    ] {
        let value = eval(&parse(text), &row, &mut ctx).expect("evaluates");
        assert_eq!(shown(&value), expected, "{text}");
    }
    let value = Value::DateTime(crate::DateTime::parse("2024-01-01 00:00:00").expect("real").value);
    for (function, expected) in [
        (crate::expr::Function::UtcToLocal, "2024-01-01 02:00:00"),
        (crate::expr::Function::LocalToUtc, "2023-12-31 22:00:00"),
    ] {
        let expr = Expr::Function(function, vec![Expr::Const(value.clone())]);
        assert_eq!(shown(&eval(&expr, &row, &mut ctx).expect("evaluates")), expected);
    }
}
