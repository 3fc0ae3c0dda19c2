//! Aggregates over small groups: in one state, split over two and merged, and through the wire.

use super::{context, parse, shown};
use crate::expr::{Aggregate, AggregateFunction, AggregateState, Expr, OrderKey, ResultType};
use crate::wire::Wire;
use crate::{Collation, ColumnType, IntWidth, Value};

fn values(texts: &[&str]) -> Vec<Value> {
    let row: Vec<Value> = Vec::new();
    texts
        .iter()
        .map(|text| crate::expr::eval(&parse(text), &row, &mut context()).expect("a constant"))
        .collect()
}

fn named(name: &str) -> Aggregate {
    let (name, distinct) = match name.strip_suffix(" DISTINCT") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let function = AggregateFunction::by_name(name).expect("an aggregate");
    Aggregate { distinct, ..Aggregate::new(function, None) }
}

fn state(aggregate: &Aggregate, values: &[Value]) -> AggregateState {
    let mut state = AggregateState::new(aggregate);
    for value in values {
        state.update(value.as_ref(), Vec::new(), &mut context().convert).expect("within range");
    }
    state
}

/// The result over all values, however they are split between two states.
fn result(name: &str, texts: &[&str]) -> String {
    let aggregate = named(name);
    let values = values(texts);
    let cx = &mut context().convert;
    let whole = shown(&state(&aggregate, &values).finish(cx).expect("within range"));
    for split in 0..=values.len() {
        let mut left = state(&aggregate, &values[..split]);
        let right = state(&aggregate, &values[split..]);
        let right = AggregateState::from_bytes(&right.to_bytes()).expect("round trip");
        left.merge(right, cx).expect("the same aggregate");
        let merged = shown(&left.finish(cx).expect("within range"));
        assert_eq!(merged, whole, "{name} of {texts:?} split at {split}");
    }
    whole
}

#[test]
fn results() {
    let odd: &[&str] = &["NULL", "3", "1", "NULL", "2", "3"];
    let empty: &[&str] = &["NULL", "NULL"];
    let texts: &[&str] = &["'b'", "'A'", "'a'", "NULL", "'C'"];
    for (name, group, expected) in [
        ("COUNT", odd, "4"),
        ("COUNT DISTINCT", odd, "3"),
        ("COUNT", empty, "0"),
        ("SUM", odd, "9"),
        ("SUM DISTINCT", odd, "6"),
        ("SUM", empty, "NULL"),
        ("AVG", odd, "2.2500"),
        ("AVG DISTINCT", odd, "2.0000"),
        ("AVG", empty, "NULL"),
        ("MIN", odd, "1"),
        ("MAX", odd, "3"),
        ("MAX", empty, "NULL"),
        ("BIT_AND", odd, "0"),
        ("BIT_OR", odd, "3"),
        ("BIT_XOR", odd, "3"),
        ("BIT_AND", empty, "18446744073709551615"),
        ("BIT_OR", empty, "0"),
        ("VAR_POP", &["1", "2", "3", "4"], "1.25"),
        ("VAR_SAMP", &["1", "3"], "2"),
        ("STDDEV", &["1", "3"], "1"),
        ("STDDEV_SAMP", &["5"], "NULL"),
        ("VAR_POP", &["5"], "0"),
        ("STD", empty, "NULL"),
        ("COUNT DISTINCT", texts, "3"),
        ("GROUP_CONCAT", texts, "b,A,a,C"),
        ("GROUP_CONCAT", empty, "NULL"),
        ("SUM", &["1.50", "2.5"], "4.00"),
        ("AVG", &["1.50", "2.5"], "2.000000"),
        ("SUM", &["1e0", "2.5"], "3.5"),
        ("SUM", &["'1'", "'2'"], "3"),
        ("SUM", &["9223372036854775807", "9223372036854775807"], "18446744073709551614"),
        ("SUM", &["18446744073709551615", "1"], "18446744073709551616"),
        ("MIN", &["DATE '2024-01-02'", "DATE '2023-01-02'"], "2023-01-02"),
        ("MAX", &["'b'", "'C'", "'a'"], "C"),
        ("ANY_VALUE", &["7"], "7"),
    ] {
        assert_eq!(result(name, group), expected, "{name} of {group:?}");
    }
}

/// GROUP_CONCAT stops at 1,024 bytes, between characters, with one warning.
#[test]
fn group_concat_is_bounded() {
    let aggregate = named("GROUP_CONCAT");
    let mut context = context();
    let cx = &mut context.convert;
    let mut state = AggregateState::new(&aggregate);
    for _ in 0..1000 {
        let value = Value::text("ää", Collation::DEFAULT);
        state.update(value.as_ref(), Vec::new(), cx).expect("bounded");
    }
    let text = shown(&state.finish(cx).expect("bounded"));
    assert!((1021..=1024).contains(&text.len()), "{}", text.len());
    assert_eq!(cx.warnings.total(), 1);
}

/// Rows of several states are put together in one order; what is kept for that is bounded.
#[test]
fn group_concat_in_order() {
    let key = |column, descending| OrderKey { expr: Expr::Column(column), descending };
    for distinct in [false, true] {
        let aggregate = Aggregate {
            argument: Some(Expr::Column(2)),
            order_by: vec![key(0, true), key(1, false)],
            ..named(if distinct { "GROUP_CONCAT DISTINCT" } else { "GROUP_CONCAT" })
        };
        let rows = [(1, 2, "a"), (2, 9, "b"), (1, 1, "c"), (3, 0, "d"), (2, 9, "b")];
        let rows = rows.map(|(first, second, text)| {
            vec![Value::Int(first), Value::Int(second), Value::text(text, Collation::DEFAULT)]
        });
        let state = |rows: &[Vec<Value>]| {
            let mut state = AggregateState::new(&aggregate);
            for row in rows {
                aggregate.add_row(row, &mut state, &mut context()).expect("a few");
            }
            state
        };
        for split in 0..=rows.len() {
            let cx = &mut context().convert;
            let mut left = state(&rows[..split]);
            let right = state(&rows[split..]).to_bytes();
            let right = AggregateState::from_bytes(&right).expect("round trip");
            left.merge(right, cx).expect("the same aggregate");
            let expected = if distinct { "d,b,c,a" } else { "d,b,b,c,a" };
            assert_eq!(shown(&left.finish(cx).expect("a few")), expected, "split at {split}");
        }
    }
    let aggregate = Aggregate {
        argument: Some(Expr::Column(0)),
        order_by: vec![key(0, false)],
        ..named("GROUP_CONCAT")
    };
    let row = vec![Value::text(&"x".repeat(1 << 20), Collation::DEFAULT)];
    let mut state = AggregateState::new(&aggregate);
    let mut add = || aggregate.add_row(&row, &mut state, &mut context());
    let taken = (0..100).take_while(|_| add().is_ok()).count();
    assert_eq!(taken, 31, "twice a mebibyte each, of 64");
    assert_eq!(add().expect_err("full").code(), 1038);
}

/// A set that outgrows its bound is refused with an error, not with the machine's memory.
#[test]
fn distinct_is_bounded() {
    let aggregate = named("COUNT DISTINCT");
    let mut state = AggregateState::new(&aggregate);
    let cx = &mut context().convert;
    let mut refused = None;
    for number in 0..100 {
        let text = format!("{number}{}", "x".repeat(1 << 20));
        let value = Value::text(&text, Collation::DEFAULT);
        if let Err(error) = state.update(value.as_ref(), Vec::new(), cx) {
            refused = Some(error.code());
            break;
        }
    }
    assert_eq!(refused, Some(1038));
    assert!(state.size() <= 2 * crate::expr::KEPT_BYTES_MAX);
}

/// States of different aggregates do not merge.
#[test]
fn mismatched_states_are_refused() {
    let cx = &mut context().convert;
    let mut sum = AggregateState::new(&named("SUM"));
    assert!(sum.merge(AggregateState::new(&named("COUNT")), cx).is_err());
    assert!(sum.merge(AggregateState::new(&named("SUM DISTINCT")), cx).is_err());
}

#[test]
fn static_types() {
    let column = |column_type| ResultType::new(column_type, false);
    let int = column(ColumnType::Int { width: IntWidth::W4, unsigned: false });
    let decimal = column(ColumnType::Decimal { precision: 10, scale: 2, unsigned: false });
    let double = column(ColumnType::Double);
    for (name, argument, expected) in [
        ("SUM", &int, "decimal(32,0)"),
        ("AVG", &int, "decimal(14,4)"),
        ("SUM", &decimal, "decimal(32,2)"),
        ("AVG", &decimal, "decimal(14,6)"),
        ("SUM", &double, "double"),
        ("MIN", &int, "int"),
        ("COUNT", &int, "bigint"),
        ("BIT_OR", &int, "bigint unsigned"),
        ("VAR_POP", &int, "double"),
        ("GROUP_CONCAT", &int, "text"),
    ] {
        let aggregate = Aggregate { argument: Some(parse("c0")), ..named(name) };
        let found = aggregate.result_type(std::slice::from_ref(argument), &[]);
        assert_eq!(found.column_type.expect("a type").sql_name(), expected, "{name}");
        assert_eq!(found.nullable, !matches!(name, "COUNT" | "BIT_OR"));
    }
}

/// A grouping has as many states as groups.
#[test]
fn a_state_is_short() {
    assert!(size_of::<AggregateState>() <= 80, "{}", size_of::<AggregateState>());
}

/// Integers, decimals and doubles in one sum, in any order, are those of the parts.
#[test]
fn sums_of_mixed_numbers() {
    let aggregate = named("SUM");
    let exact = values(&["3", "1.25", "18446744073709551615", "-4"]);
    for first in 0..exact.len() {
        let mut order = exact.clone();
        order.rotate_left(first);
        for split in 0..=order.len() {
            let mut left = state(&aggregate, &order[..split]);
            let right = state(&aggregate, &order[split..]).to_bytes();
            let right = AggregateState::from_bytes(&right).expect("round trip");
            left.merge(right, &mut context().convert).expect("within range");
            let sum = left.finish(&mut context().convert).expect("within range");
            assert_eq!(shown(&sum), "18446744073709551615.25");
        }
    }
}

/// Documents of one row each become one, and documents are counted, summed and ordered by their values.
#[test]
fn documents() {
    let cases: [(&str, &[&str], &str); 8] = [
        (
            "JSON_ARRAYAGG",
            &["JSON_ARRAY(1)", "JSON_ARRAY(NULL)", "JSON_ARRAY('a')"],
            r#"[1, null, "a"]"#,
        ),
        ("JSON_ARRAYAGG", &[], "NULL"),
        (
            "JSON_OBJECTAGG",
            &["JSON_OBJECT('b', 1)", "JSON_OBJECT('a', 2)", "JSON_OBJECT('b', JSON_ARRAY())"],
            r#"{"a": 2, "b": []}"#,
        ),
        ("JSON_OBJECTAGG", &[], "NULL"),
        ("MIN", &["CAST('[1]' AS JSON)", "CAST('10' AS JSON)", "CAST('9' AS JSON)"], "9"),
        ("MAX", &["CAST('[1]' AS JSON)", "CAST('10' AS JSON)", "CAST('9' AS JSON)"], "[1]"),
        (
            "COUNT DISTINCT",
            &["CAST('1' AS JSON)", "CAST('1.0' AS JSON)", "CAST('\"1\"' AS JSON)"],
            "2",
        ),
        ("SUM", &["CAST('1.5' AS JSON)", "CAST('\"2\"' AS JSON)"], "3.5"),
    ];
    for (name, group, expected) in cases {
        assert_eq!(result(name, group), expected, "{name} of {group:?}");
    }
}
